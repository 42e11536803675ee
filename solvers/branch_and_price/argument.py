"""What a search has proven so far, node by node; :mod:`certificate` writes it down."""

from __future__ import annotations

from dataclasses import dataclass, field

from kanopy.solvers.branch_and_price.column_generation import Bound
from kanopy.solvers.branch_and_price.pricing import Restrictions


@dataclass(eq=False)
class Argument:
    """One node of the search tree and how it was settled.

    Attributes
    ----------
    restrictions
        The decisions on the way to the node.
    bound
        The best bound with its duals, of the node or of one above it.
    listed
        Whether a MIP over all clusters that fit the gap left nothing better.
    rows, most
        The decision: at most so many clusters hold all of these rows (``children[0]``), or more
        (``children[1]``); without rows, so many clusters there are.
    """

    restrictions: Restrictions
    bound: Bound = field(default_factory=Bound)
    listed: bool = False
    rows: tuple[int, ...] = ()
    most: int = 0
    children: tuple[Argument, Argument] | None = None

    def improve(self, bound: Bound) -> None:
        """Keep a better bound."""
        if bound.duals is not None and bound.value > self.bound.value:
            self.bound = bound

    def branch(self, more: Restrictions, less: Restrictions) -> tuple[Argument, Argument]:
        """Arguments of two children, which begin with this node's bound."""
        old = self.restrictions
        if more.clusters != old.clusters:
            assert less.clusters is not None
            self.rows, self.most = (), less.clusters[1]
        else:
            self.rows, self.most = more.together[-1], 0
        low, high = Argument(less, self.bound), Argument(more, self.bound)
        self.children = (low, high)
        return high, low
