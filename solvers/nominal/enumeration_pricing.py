r"""Enumeration pricing (000, Alg. 6): all clusters of the row of largest dual and its nearest rows.

The row i of largest dual is joined by each choice of k − 1 … 2k − 2 among its 2k − 2 nearest rows,
until a cluster has a negative reduced cost. The thesis leaves the order of the choices open: here
the smaller come first, and of the same size those of nearer rows.

Ties of duals and of distances go to the lowest type; copies of i are its nearest rows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FOUND, NONE, PAUSED = 0, 1, 2
BUDGET = 2_000_000
"""Choices between two questions whether to stop: their number is exponential in k."""


def first_cluster(
    codes: NDArray[np.int32],
    weights: Floats,
    counts: Ints,
    duals: Floats,
    k: int,
    limit: float = 0.0,
    stopping: Callable[[], bool] = lambda: False,
) -> NDArray[np.int32] | None:
    """The first cluster of reduced cost below ``limit``, as types; None if there is none.

    ``codes`` has a row per type, ``counts`` are the rows of each type.

    >>> codes = np.array([[0], [1], [2]], dtype=np.int32)
    >>> first_cluster(codes, np.ones(1), np.array([1, 1, 1]), np.array([0.2, 0.9, 0.3]), 2).tolist()
    [1, 0]
    """
    root = int(np.argmax(duals))
    distances = (codes != codes[root]) @ weights
    others = counts.copy()
    others[root] -= 1
    order = np.argsort(distances, kind="stable")
    near = np.repeat(order, np.minimum(others[order], 2 * k - 2))[: 2 * k - 2]
    rows = np.append(root, near)
    between = (codes[rows][:, None, :] != codes[rows][None, :, :]) @ weights
    for size in range(k - 1, len(near) + 1):
        chosen = np.arange(1, size + 1)
        status = PAUSED
        while status == PAUSED:
            if stopping():
                return None
            status = _scan(between, duals[rows], chosen, limit, BUDGET)
        if status == FOUND:
            return np.asarray(rows[np.append(0, chosen)], dtype=np.int32)
    return None


@njit(cache=True)
def _scan(between: Floats, duals: Floats, chosen: Ints, limit: float, budget: int) -> int:
    """Go on from one choice to the next in lexicographic order, until one is good."""
    size, number = len(chosen), len(duals)
    for _ in range(budget):
        value = -duals[0]
        for a in range(size):
            value += between[0, chosen[a]] - duals[chosen[a]]
            for b in range(a):
                value += between[chosen[a], chosen[b]]
        if value < limit:
            return FOUND
        place = size - 1
        while place >= 0 and chosen[place] == number - size + place:
            place -= 1
        if place < 0:
            return NONE
        chosen[place] += 1
        for a in range(place + 1, size):
            chosen[a] = chosen[a - 1] + 1
    return PAUSED
