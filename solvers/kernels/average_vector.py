"""The loop of MDAV (001, Alg. 2)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kanopy.solvers.kernels.farthest import Rim, drop, farthest, make_rim
from kanopy.solvers.kernels.inner import inner, kernel
from kanopy.solvers.kernels.neighbours import (
    NONE,
    Index,
    build,
    largest_norm,
    make_index,
    nearest,
    remove,
)
from kanopy.solvers.kernels.record import ZERO

_CLUSTERS, _LEFT = 0, 1


class Rest(NamedTuple):
    """The unassigned rows and their sum; see :func:`make_rest`."""

    points: NDArray[np.float64]
    labels: NDArray[np.int64]
    counters: NDArray[np.int64]
    unassigned: Index
    rim: Rim
    total: NDArray[np.float64]
    lost: NDArray[np.float64]
    """What rounding took from ``total`` (Neumaier's compensated sum): outliers leave no trace."""
    mean: NDArray[np.float64]


@kernel
def make_rest(points: NDArray[np.float64], rotation: NDArray[np.float64], k: int) -> Rest:
    """All rows, unassigned."""
    n, d = points.shape
    unassigned = make_index(points, rotation, k, ZERO, np.empty(0), 1.0, largest_norm(points))
    build(unassigned, np.arange(n))
    counters = np.zeros(2, np.int64)
    counters[_LEFT] = n
    state = Rest(
        points,
        np.full(n, NONE, np.int64),
        counters,
        unassigned,
        make_rim(points, 1),
        np.zeros(d),
        np.zeros(d),
        np.empty(d),
    )
    for row in range(n):
        _add(state, points[row], 1.0)
    return state


@inner
def _add(state: Rest, vector: NDArray[np.float64], sign: float) -> None:
    for t in range(len(vector)):
        before = state.total[t]
        value = sign * vector[t]
        after = before + value
        if abs(before) >= abs(value):
            state.lost[t] += (before - after) + value
        else:
            state.lost[t] += (value - after) + before
        state.total[t] = after


@inner
def _take(state: Rest, origin: int, k: int) -> None:
    """Make a cluster of ``origin`` and its k−1 nearest unassigned rows."""
    nearest(state.unassigned, state.points[origin], k - 1, np.inf, origin)
    group = np.empty(k, np.int64)
    group[0] = origin
    group[1:] = state.unassigned.found[: k - 1]
    for row in group:
        state.labels[row] = state.counters[_CLUSTERS]
        remove(state.unassigned, row)
        drop(state.rim, row)
        _add(state, state.points[row], -1.0)
    state.counters[_CLUSTERS] += 1
    state.counters[_LEFT] -= k


@inner
def _outermost(state: Rest) -> int:
    """The unassigned row farthest from the mean of the unassigned rows."""
    for t in range(len(state.mean)):
        state.mean[t] = (state.total[t] + state.lost[t]) / state.counters[_LEFT]
    farthest(state.rim, state.mean, 1)
    return int(state.rim.found[0])


@kernel
def average_vector(state: Rest, k: int, steps: int) -> bool:
    """Make up to ``steps`` pairs of clusters; True once every row is assigned."""
    for _ in range(steps):
        if state.counters[_LEFT] < 3 * k:
            if state.counters[_LEFT] >= 2 * k:
                _take(state, _outermost(state), k)
            for row in range(len(state.labels)):
                if state.labels[row] < 0:
                    state.labels[row] = state.counters[_CLUSTERS]
            return True
        first = _outermost(state)
        _take(state, first, k)
        farthest(state.rim, state.points[first], 1)
        _take(state, state.rim.found[0], k)
    return False
