"""k-MEANS++ and Lloyd's rounds (001, Alg. 8 and 9).

The random choice of centres follows Alg. 9: the first is any row, each next one a row with
probability proportional to its squared distance D² to the centres so far. The rows lie in the
blocks of an index, which keeps the sum and the largest D² of each box: a new centre only looks at
boxes that it can be nearest to, and a draw walks down the sums.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kanopy.solvers.kernels.distance import squared_distance
from kanopy.solvers.kernels.inner import inner, kernel
from kanopy.solvers.kernels.neighbours import (
    NONE,
    Index,
    box_distance,
    build,
    inflate,
    largest_norm,
    make_index,
    nearest,
)
from kanopy.solvers.kernels.record import ONE, ZERO

_CENTERS, _POSITION, _ROUND = 0, 1, 2


class Means(NamedTuple):
    """Rows, centres and the nearest centre of each row; see :func:`make_means`."""

    points: NDArray[np.float64]
    centers: NDArray[np.float64]
    owner: NDArray[np.int64]
    """Number of each row's centre."""
    gap: NDArray[np.float64]
    """Squared distance of each row to its centre when that was chosen."""
    counters: NDArray[np.int64]
    rows: Index
    mass: NDArray[np.float64]
    top: NDArray[np.float64]
    places: Index
    """The centres of the clusters that are not empty."""
    movers: Index
    """Those that the last round moved."""
    moved: NDArray[np.bool_]
    cost: NDArray[np.float64]
    """Cost of the clusters after the last round."""


@kernel
def make_means(points: NDArray[np.float64], rotation: NDArray[np.float64], clusters: int) -> Means:
    """No centre yet."""
    n, d = points.shape
    reach = largest_norm(points)
    rows = make_index(points, rotation, ONE, ZERO, np.empty(0), 1.0, reach)
    build(rows, np.arange(n))
    centers = np.empty((clusters, d))
    nodes = len(rows.low)
    return Means(
        points,
        centers,
        np.full(n, NONE, np.int64),
        np.full(n, np.inf),
        np.zeros(3, np.int64),
        rows,
        np.full(nodes, np.inf),
        np.full(nodes, np.inf),
        make_index(centers, rotation, ONE, ZERO, np.empty(0), 1.0, reach),
        make_index(centers, rotation, ONE, ZERO, np.empty(0), 1.0, reach),
        np.ones(clusters, np.bool_),
        np.full(1, np.inf),
    )


@inner
def _add_center(state: Means, row: int) -> None:
    """Make a row the next centre, and bring D² up to date."""
    number = state.counters[_CENTERS]
    state.counters[_CENTERS] += 1
    state.centers[number] = state.points[row]
    center = state.centers[number]
    index = state.rows
    leaves = (len(index.low) + 1) // 2
    block = index.place[row] // index.members.shape[1]
    slot = index.place[row] % index.members.shape[1]
    query = index.blocks[block, :, slot].copy()
    margin = index.margin[0]
    pending = 1
    index.waiting[0] = 0
    while pending > 0:
        pending -= 1
        node = index.waiting[pending]
        bound = box_distance(index.low[node], index.high[node], query)
        if bound > inflate(state.top[node], margin):
            continue
        if node < leaves - 1:
            index.waiting[pending] = 2 * node + 1
            index.waiting[pending + 1] = 2 * node + 2
            pending += 2
            continue
        leaf = node - (leaves - 1)
        mass = 0.0
        top = 0.0
        for i in range(index.fill[leaf]):
            other = index.members[leaf, i]
            distance = squared_distance(state.points[other], center)
            if distance < state.gap[other]:
                state.gap[other] = distance
                state.owner[other] = number
            mass += state.gap[other]
            top = max(top, state.gap[other])
        state.mass[node] = mass
        state.top[node] = top
        while node > 0:
            node = (node - 1) // 2
            left = 2 * node + 1
            state.mass[node] = state.mass[left] + state.mass[left + 1]
            state.top[node] = max(state.top[left], state.top[left + 1])


@inner
def _draw(state: Means, share: float) -> int:
    """The row at ``share`` of the sum of D²; NONE if all rows are centres."""
    index = state.rows
    leaves = (len(index.low) + 1) // 2
    rest = share * state.mass[0]
    node = 0
    if not state.mass[0] > 0.0:
        return NONE
    while node < leaves - 1:
        left = 2 * node + 1
        if rest < state.mass[left] or state.mass[left + 1] == 0.0:
            node = left
        else:
            rest -= state.mass[left]
            node = left + 1
    leaf = node - (leaves - 1)
    chosen = NONE
    for i in range(index.fill[leaf]):
        row = index.members[leaf, i]
        if state.gap[row] > 0.0:
            chosen = row
            rest -= state.gap[row]
            if rest < 0.0:
                break
    return chosen


@kernel
def choose_centers(state: Means, steps: int, rng: np.random.Generator) -> bool:
    """Choose up to ``steps`` centres; True once all are chosen, or every row equals one."""
    for _ in range(steps):
        if state.counters[_CENTERS] == len(state.centers):
            return True
        if state.counters[_CENTERS] == 0:
            row = int(rng.integers(0, len(state.points)))
        else:
            row = _draw(state, rng.random())
        if row == NONE:
            return True
        _add_center(state, row)
    return False


@inner
def _reassign(state: Means, row: int) -> None:
    """Give a row the nearest centre, the lowest number of equals.

    It looks no farther than its own centre is now, and if that has not moved, only at those that
    have.
    """
    vector = state.points[row]
    owner = state.owner[row]
    own = squared_distance(vector, state.centers[owner])
    if state.moved[owner]:
        nearest(state.places, vector, ONE, own, NONE)
        state.owner[row] = state.places.found[0]
    elif nearest(state.movers, vector, ONE, own, NONE) > 0:
        found = state.movers.found[0]
        if state.movers.distances[0] < own or found < owner:
            state.owner[row] = found


@inner
def _update(state: Means) -> float:
    """Move each centre to the mean of its rows; the cost."""
    n, d = state.points.shape
    sizes = np.zeros(len(state.centers))
    for row in range(n):
        sizes[state.owner[row]] += 1.0
    before = state.centers.copy()
    for center in range(len(sizes)):
        if sizes[center] > 0.0:
            state.centers[center] = 0.0
    for row in range(n):
        center = state.owner[row]
        for t in range(d):
            state.centers[center, t] += state.points[row, t]
    for center in range(len(sizes)):
        state.moved[center] = False
        if sizes[center] > 0.0:
            for t in range(d):
                state.centers[center, t] /= sizes[center]
                state.moved[center] |= state.centers[center, t] != before[center, t]
    build(state.places, np.flatnonzero(sizes > 0.0))
    build(state.movers, np.flatnonzero(state.moved))
    cost = 0.0
    for row in range(n):
        cost += squared_distance(state.points[row], state.centers[state.owner[row]])
    return cost


@kernel
def lloyd(state: Means, rounds: int, tolerance: float, steps: int) -> bool:
    """Lloyd's rounds: assign up to ``steps`` rows; True at the end.

    The first assignment is that of the choice of centres.
    """
    for _ in range(steps):
        row = state.counters[_POSITION]
        if state.counters[_ROUND] > 0 and row < len(state.points):
            _reassign(state, row)
            state.counters[_POSITION] += 1
            continue
        cost = _update(state)
        state.counters[_POSITION] = 0
        state.counters[_ROUND] += 1
        if abs(state.cost[0] - cost) < tolerance or state.counters[_ROUND] >= rounds:
            return True
        state.cost[0] = cost
    return False
