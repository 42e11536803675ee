"""The answer of ``solve``: a decision, its objective, a proven bound and the way there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kanopy.instances.microdata import Microdata
from kanopy.solvers.problem import Outcome, Problem, released_counts
from kanopy.solvers.stop import relative_gap
from kanopy.solvers.trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STATUSES = ("optimal", "feasible", "time_limit", "interrupted", "infeasible")
OPTIMALITY_GAP = 1e-6
"""A gap up to which a solution is called optimal."""


@dataclass(frozen=True, eq=False)
class Solution:
    """What ``solve`` found.

    Attributes
    ----------
    labels
        Cluster 0, 1, 2, … of each row (partition and representatives shape), else None.
    counts
        New frequency of each row of ``data.combinations`` (frequency shape), else None.
    representatives
        Row that stands for each cluster (representatives shape), else None.
    matches
        The k rows that each generalised row covers (freeform shape), else None. Such a release is
        *not* k-anonymous in the sense of Samarati and Sweeney: no two of its rows need be equal.
    objective, bound, gap
        Cost, proven lower bound (None where the method gives none) and
        ``(objective − bound) / objective``.
    status
        ``optimal`` (gap closed within 1e-6), ``feasible``, ``time_limit``, ``interrupted`` or
        ``infeasible``.
    trace
        Bounds over time.
    cpu
        Processor seconds of the method, without processes of its own; None if not known.
    """

    problem: Problem = field(repr=False)
    objective: float
    bound: float | None
    status: str
    method: str
    runtime: float
    seed: int
    labels: NDArray[np.int64] | None = field(default=None, repr=False)
    counts: NDArray[np.int64] | None = field(default=None, repr=False)
    representatives: NDArray[np.int64] | None = field(default=None, repr=False)
    matches: NDArray[np.int64] | None = field(default=None, repr=False)
    solver: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    trace: Trace = field(default_factory=Trace, repr=False)
    cpu: float | None = field(default=None, repr=False)

    @property
    def data(self) -> Microdata:
        """The instance."""
        return self.problem.data

    @property
    def k(self) -> int:
        """The anonymity asked for."""
        return self.problem.k

    @property
    def cost(self) -> str:
        """Name of the objective."""
        return self.problem.cost

    @property
    def gap(self) -> float | None:
        """(objective − bound) / objective, 0 where both are 0; None without a bound."""
        return None if self.bound is None else relative_gap(self.objective, self.bound)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Size of each cluster, or the positive frequencies, or how many rows each row covers."""
        if self.labels is not None:
            return np.bincount(self.labels).astype(np.int64)
        if self.matches is not None:
            rows, covered = self.matches.shape
            return np.full(rows, covered, dtype=np.int64)
        assert self.counts is not None
        return self.counts[self.counts > 0]

    @property
    def released_counts(self) -> NDArray[np.int64]:
        """Frequency vector over ``data.combinations`` of a member or frequency release."""
        return released_counts(self.data, self.outcome)

    @property
    def outcome(self) -> Outcome:
        """The bare decision."""
        return Outcome(
            self.labels, self.counts, self.representatives, self.matches, self.bound, self.solver
        )

    def release(
        self,
        kind: str | None = None,
        *,
        shuffle: bool = False,
        seed: int | None = None,
        keep_order: bool = True,
        keep_identifiers: bool = True,
    ) -> pd.DataFrame:
        """The anonymised table; see :func:`kanopy.release.make_release` for the kinds."""
        from kanopy.release import make_release

        return make_release(
            self,
            kind,
            shuffle=shuffle,
            seed=self.seed if seed is None else seed,
            keep_order=keep_order,
            keep_identifiers=keep_identifiers,
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Objective and bound over time."""
        from kanopy.plot import plot_trace

        return plot_trace(self, ax)

    def __str__(self) -> str:
        proof = "no bound"
        if self.bound is not None and self.gap is not None:
            proof = f"bound {self.bound:.8g}, gap {100 * self.gap:.4g} %"
        sizes = self.sizes
        groups = f"{len(sizes)} classes"
        if len(sizes):
            groups += f" of {sizes.min()} to {sizes.max()} rows"
        if sizes.sum() != self.data.n:
            groups += f", {sizes.sum()} rows instead of {self.data.n}"
        if self.matches is not None:
            groups = f"freeform, not k-anonymous: each row covers {self.k} originals"
        return (
            f"{self.method}: {self.cost} {self.objective:.8g} ({proof}), {self.status}, "
            f"k = {self.k}, {groups}, {self.runtime:.2f} s"
        )
