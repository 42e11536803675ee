r"""The superset of a cluster whose confidential values are distributed most like the cluster's.

For (m, t)-closeness (001, definition 3.14) a cluster C of s rows may be completed by any rows of
the table to at least m rows. Let c_v be the cluster's rows with value v, x_v the rows added
(0 ≤ x_v ≤ u_v, the rows outside) and e = Σ x_v. Then P(C) − P(C̃) = (e·c/s − x) / (s + e), and as
the earth mover's distance is a sum over the edges of a tree (:mod:`kanopy.measures.earth_movers`),

.. math:: EMD = \frac{1}{s+e} \sum_{edges} length · |e·c(below)/s − x(below)|.

*One e.* For each node let g(X) be the least sum over the edges of its subtree when X rows are
added there. A leaf has g = 0 on [0, u]. A node's g is the infimal convolution of its children's
plus its own edge's term, so all g are convex and a convolution merges the pieces of the children
by slope. Since only whole rows count, the edge's |a − X| may be replaced by the piecewise linear
function through its values at whole X. Then every breakpoint is a whole number, and so g is exact
at whole X: g_root(e) is the optimum, without any integer program.

*All e.* With |a − X| itself instead, g_root(e) is a bound. It is convex in e and 0 at e = 0, hence
g_root(e)/e grows with e, and so does g_root(e)/(s + e). Sizes are tried upwards until this bound
reaches the best value found; every larger superset is at least as far away. If whole copies of the
cluster's counts suffice and exist outside, the distance is 0 at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kanopy.instances.hierarchy import Hierarchy
from kanopy.measures.earth_movers import Ground, tree_of_hierarchy


@dataclass(frozen=True)
class Tree:
    """Leaves first (the values), children before parents, the root last.

    Attributes
    ----------
    children
        Numbers of the children of each node.
    lengths
        Length of the edge from each node to its parent; 0 for the root.
    leaves
        How many nodes are values.
    """

    children: tuple[tuple[int, ...], ...]
    lengths: NDArray[np.float64]
    leaves: int

    @classmethod
    def of_ground(cls, ground: Ground, size: int, values: Sequence[object]) -> Tree:
        """The tree whose path lengths are the ground distance of ``size`` values."""
        if isinstance(ground, Hierarchy):
            nodes, parents, lengths = tree_of_hierarchy(ground, list(values))
            children: list[list[int]] = [[] for _ in nodes]
            for node, parent in enumerate(parents[:-1]):
                children[parent].append(node)
            return cls(tuple(map(tuple, children)), lengths, size)
        if ground == "equal" or size < 2:
            star = (*((),) * size, tuple(range(size)))
            return cls(star, np.append(np.full(size, 0.5), 0.0), size)
        # "ordered": node size + i stands for the values 0 … i + 1.
        joins = tuple((size + i - 1 if i else 0, i + 1) for i in range(size - 1))
        lengths = np.zeros(2 * size - 1)
        lengths[[0, *range(size, 2 * size - 2)]] = 1 / (size - 1)
        return cls(((),) * size + joins, lengths, size)

    def sums(self, of_leaves: NDArray[np.int64]) -> list[int]:
        """Sum over the leaves below each node."""
        total: list[int] = of_leaves.tolist()
        for children in self.children[self.leaves :]:
            total.append(sum(total[child] for child in children))
        return total


@dataclass(frozen=True)
class _Convex:
    """A convex piecewise linear function on [0, Σ widths]."""

    at_zero: float
    widths: NDArray[np.float64]
    slopes: NDArray[np.float64]

    def plus_distance(self, length: float, whole: int, part: float, rounded: bool) -> _Convex:
        """Sum with length·|a − X|, a = whole + part; rounded: made linear between integers."""
        if length == 0:
            return self
        breaks = [whole, whole + 1] if rounded and part else [whole + part]
        ends = np.cumsum(self.widths)
        limit = ends[-1] if len(ends) else 0.0
        cuts = np.union1d(ends, [b for b in breaks if 0 < b < limit])
        starts = np.concatenate(([0.0], cuts[:-1])) if len(cuts) else cuts
        slopes = self.slopes[np.searchsorted(ends, starts, side="right")]
        added = np.where(starts < breaks[0], -length, length)
        if len(breaks) == 2:
            added[(starts >= whole) & (starts < whole + 1)] = length * (1 - 2 * part)
        return _Convex(self.at_zero + length * (whole + part), cuts - starts, slopes + added)

    def at(self, x: float) -> float:
        starts = np.cumsum(self.widths) - self.widths
        return self.at_zero + float(self.slopes @ np.clip(x - starts, 0, self.widths))


def _convolve(functions: Sequence[_Convex]) -> _Convex:
    slopes = np.concatenate([f.slopes for f in functions])
    widths = np.concatenate([f.widths for f in functions])
    order = np.argsort(slopes, kind="stable")
    return _Convex(sum(f.at_zero for f in functions), widths[order], slopes[order])


def _least_distance(
    tree: Tree, inside: list[int], outside: NDArray[np.int64], added: int, rounded: bool
) -> float:
    """EMD of the cluster to its closest superset with so many added rows, or a lower bound."""
    rows = inside[-1]
    functions: list[_Convex] = []
    for node, children in enumerate(tree.children):
        if node < tree.leaves:
            widths = outside[node : node + 1].astype(np.float64)
            free = _Convex(0.0, widths[widths > 0], np.zeros(int(outside[node] > 0)))
        else:
            free = _convolve([functions[child] for child in children])
        whole, rest = divmod(added * inside[node], rows)  # exact, no rounding of e·c/s
        length = float(tree.lengths[node])
        functions.append(free.plus_distance(length, whole, rest / rows, rounded))
    return max(0.0, functions[-1].at(added)) / (rows + added)


def closest_superset(
    tree: Tree,
    counts: NDArray[np.int64],
    outside: NDArray[np.int64],
    least_size: int,
    enough: float = 0.0,
) -> float:
    """EMD between a cluster and its closest superset of at least ``least_size`` rows.

    Parameters
    ----------
    tree
        The ground distance.
    counts, outside
        How often each value occurs in the cluster and among the other rows.
    least_size
        m of (m, t)-closeness.
    enough
        Stop at a superset at most this far away: the caller has seen a worse cluster already.
    """
    inside = tree.sums(counts)
    rows = inside[-1]
    fewest = max(0, least_size - rows)
    if (-(-fewest // rows) * counts <= outside).all():
        return 0.0  # whole copies of the cluster complete it
    best = _least_distance(tree, inside, outside, fewest, rounded=True)
    for added in range(fewest + 1, int(outside.sum()) + 1):
        if best <= max(enough, _least_distance(tree, inside, outside, added, rounded=False)):
            break
        best = min(best, _least_distance(tree, inside, outside, added, rounded=True))
    return best
