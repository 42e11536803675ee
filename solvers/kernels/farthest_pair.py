"""The loop of MD (001, Alg. 1), without a matrix of distances.

The pair of unassigned rows in greatest distance is found by bounds that only ever fall: the
distance of a row to its farthest partner at some earlier time, or, before anything is known, the
sum of both rows' distances to the mean. A heap keeps the rows by their bound; if the partner of the
first row is still unassigned, its bound is a distance, and no other row has a larger one. Otherwise
the next in its list of farthest partners takes over, and once that is used up, a new one is made.
"""

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
from kanopy.solvers.kernels.sorting import stable_order

PARTNERS = 16
"""Length of the lists."""

_CLUSTERS, _LEFT, _HEAP = 0, 1, 2


class Pairs(NamedTuple):
    """The unassigned rows by their farthest partners; see :func:`make_pairs`."""

    points: NDArray[np.float64]
    labels: NDArray[np.int64]
    counters: NDArray[np.int64]
    unassigned: Index
    rim: Rim
    bound: NDArray[np.float64]
    partners: NDArray[np.int64]
    """For each row some farthest rows, in order; empty places at the end."""
    distances: NDArray[np.float64]
    current: NDArray[np.int64]
    """Which of its partners a row's bound belongs to; PARTNERS if to none."""
    heap: NDArray[np.int64]


@kernel
def make_pairs(points: NDArray[np.float64], rotation: NDArray[np.float64], k: int) -> Pairs:
    """All rows, unassigned, with bounds from the triangle inequality."""
    n = len(points)
    unassigned = make_index(points, rotation, k, ZERO, np.empty(0), 1.0, largest_norm(points))
    build(unassigned, np.arange(n))
    rim = make_rim(points, PARTNERS)
    radius = rim.radius + rim.margin
    bound = (radius + radius.max()) ** 2 * (1.0 + 1e-9)
    counters = np.zeros(3, np.int64)
    counters[_LEFT] = n
    counters[_HEAP] = n
    heap = stable_order(-bound)
    return Pairs(
        points,
        np.full(n, NONE, np.int64),
        counters,
        unassigned,
        rim,
        bound,
        np.empty((n, PARTNERS), np.int64),
        np.empty((n, PARTNERS)),
        np.full(n, PARTNERS, np.int64),
        heap,
    )


@inner
def _sink(heap: NDArray[np.int64], size: int, bound: NDArray[np.float64]) -> None:
    """Restore the heap after its first row changed: by bound, the lowest row first of equals."""
    row = heap[0]
    slot = 0
    while 2 * slot + 1 < size:
        child = 2 * slot + 1
        if child + 1 < size and _before(heap[child + 1], heap[child], bound):
            child += 1
        if not _before(heap[child], row, bound):
            break
        heap[slot] = heap[child]
        slot = child
    heap[slot] = row


@inner
def _before(a: int, b: int, bound: NDArray[np.float64]) -> bool:
    return bound[a] > bound[b] or (bound[a] == bound[b] and a < b)


@inner
def _take(state: Pairs, origin: int, k: int) -> None:
    """Make a cluster of ``origin`` and its k−1 nearest unassigned rows."""
    nearest(state.unassigned, state.points[origin], k - 1, np.inf, origin)
    group = np.empty(k, np.int64)
    group[0] = origin
    group[1:] = state.unassigned.found[: k - 1]
    for row in group:
        state.labels[row] = state.counters[_CLUSTERS]
        remove(state.unassigned, row)
        drop(state.rim, row)
    state.counters[_CLUSTERS] += 1
    state.counters[_LEFT] -= k


@inner
def _lower(state: Pairs, row: int) -> None:
    """Give a row its farthest partner among the unassigned, and its bound."""
    slot = state.current[row]
    while slot < PARTNERS and state.labels[state.partners[row, slot]] >= 0:
        slot += 1
    if slot == PARTNERS:
        have = farthest(state.rim, state.points[row], PARTNERS)
        # A short list is padded at the front; what it lacks at the end nobody misses.
        slot = PARTNERS - have
        state.partners[row, slot:] = state.rim.found[:have]
        state.distances[row, slot:] = state.rim.distances[:have]
    state.current[row] = slot
    state.bound[row] = state.distances[row, slot]


@kernel
def farthest_pair(state: Pairs, k: int, steps: int) -> bool:
    """Look at the first row of the heap up to ``steps`` times; True once fewer than 2k are left."""
    for _ in range(steps):
        if state.counters[_LEFT] < 2 * k:
            return True
        first = state.heap[0]
        if state.labels[first] >= 0:
            state.counters[_HEAP] -= 1
            state.heap[0] = state.heap[state.counters[_HEAP]]
            _sink(state.heap, state.counters[_HEAP], state.bound)
            continue
        slot = state.current[first]
        if slot == PARTNERS or state.labels[state.partners[first, slot]] >= 0:
            _lower(state, first)
            _sink(state.heap, state.counters[_HEAP], state.bound)
            continue
        # The row of higher number comes first: this order gives the printed numbers.
        second = state.partners[first, slot]
        _take(state, second, k)
        if state.labels[first] >= 0:
            farthest(state.rim, state.points[second], 1)
            first = state.rim.found[0]
        _take(state, first, k)
    return state.counters[_LEFT] < 2 * k
