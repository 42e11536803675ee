r"""Earth mover's distance of two distributions over the same values (001, definition 3.12).

With the ground distances of Li, Li and Venkatasubramanian (*t-closeness*, ICDE 2007), the cheapest
flow needs no linear program, because each of them is the path length in a tree whose leaves are
the values. Mass that is too much below an edge must cross it, so

.. math:: EMD(P, Q) = \sum_{edges} length \cdot |P(below) − Q(below)|.

============ ============================= ======================================================
ground       distance of values i and j    tree
============ ============================= ======================================================
"ordered"    \|i − j\| / (m − 1)             a path; below its i-th edge lie the values 1 … i
"equal"      1 if i ≠ j                    a star with edges of length ½
a Hierarchy  height of the closest common  the hierarchy; an edge is half as long as the heights
             ancestor / height of the tree of its ends differ, divided by the height of the tree
============ ============================= ======================================================
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from kanopy.instances.errors import KanopyError, unknown
from kanopy.instances.hierarchy import Hierarchy
from kanopy.measures import checks

Ground = Literal["ordered", "equal"] | Hierarchy
"""Ground distance between the values of a confidential attribute."""


def emd(
    p: ArrayLike,
    q: ArrayLike,
    ground: Ground = "ordered",
    *,
    values: Sequence[object] | None = None,
) -> float:
    """Earth mover's distance between two distributions, from 0 to 1 (001, definition 3.12).

    Parameters
    ----------
    p, q
        Mass of each value, ≥ 0; both are divided by their sums, so counts will do.
    ground
        ``"ordered"``: values in their order, |i − j| / (m − 1); ``"equal"``: 1 between any two;
        a hierarchy: height of the closest common ancestor over the height of the tree.
    values
        The leaf of each entry of p and q; needed with a hierarchy.

    Examples
    --------
    >>> round(emd([1, 1, 1, 0, 0, 0, 0, 0, 0], [1] * 9), 12)  # {3k, 4k, 5k} in 3k … 11k
    0.375
    >>> emd([1, 0, 0], [1, 1, 2], "equal")
    0.75
    """
    first = _distribution(p, "p")
    second = _distribution(q, "q")
    checks.same_length(second, "q", len(first))
    if isinstance(ground, Hierarchy) and (values is None or len(values) != len(first)):
        raise KanopyError("a hierarchy needs values=, the leaf of each entry of p and q")
    return distance(ground, len(first), values)(first - second)


def distance(
    ground: Ground, size: int, values: Sequence[object] | None = None
) -> Callable[[NDArray[np.float64]], float]:
    """EMD as a function of the difference P − Q of two distributions over ``size`` values."""
    if isinstance(ground, Hierarchy):
        below, lengths = _edges(ground, list(values or ()))
        return lambda difference: float(lengths @ np.abs(below @ difference))
    if ground == "ordered":
        scale = max(size - 1, 1)
        return lambda difference: float(np.abs(np.cumsum(difference)[:-1]).sum() / scale)
    if ground == "equal":
        return lambda difference: float(np.abs(difference).sum() / 2)
    raise unknown("ground distance", ground, ("ordered", "equal", "or a Hierarchy"))


def _edges(hierarchy: Hierarchy, values: list[object]) -> tuple[sp.csr_array, NDArray[np.float64]]:
    """Which values lie below each edge of the tree, and the edges' lengths."""
    nodes, _, lengths = tree_of_hierarchy(hierarchy, values)
    number = {node: i for i, node in enumerate(nodes)}
    rows, cols = [], []
    for j, value in enumerate(values):
        for node in hierarchy.ancestors(value)[:-1]:
            rows.append(number[node])
            cols.append(j)
    shape = (len(nodes), len(values))
    return sp.csr_array((np.ones(len(rows)), (rows, cols)), shape=shape), lengths


def tree_of_hierarchy(
    hierarchy: Hierarchy, values: list[object]
) -> tuple[list[object], list[int], NDArray[np.float64]]:
    """Nodes (the values first, children before parents), their parents, length of edges upwards."""
    hierarchy.check_covers("confidential", values)
    if len(set(values)) < len(values):
        raise KanopyError("values= names the same leaf twice; add up their masses")
    inner = {node for value in values for node in hierarchy.ancestors(value)[1:]}
    order = sorted(inner, key=hierarchy.height)  # stable, and heights grow strictly upwards
    nodes = [*values, *order]
    number = {node: i for i, node in enumerate(nodes)}
    heights = np.array([hierarchy.height(node) for node in nodes], dtype=np.float64)
    parents = [number[hierarchy.parents[node]] for node in nodes[:-1]] + [-1]
    above = np.array([*heights[parents[:-1]], heights[-1]])
    lengths = (above - heights) / (2 * hierarchy.height(hierarchy.root))
    return nodes, parents, np.asarray(lengths)


def _distribution(masses: ArrayLike, what: str) -> NDArray[np.float64]:
    array = checks.vector(masses, what)
    if (array < 0).any() or array.sum() <= 0:
        raise KanopyError(f"{what} must hold masses ≥ 0 that do not all vanish")
    return np.asarray(array / array.sum())
