"""Clusters from the outside in: the common loop of MDAV+, V-MDAV, MDAV* and MDAV*γ.

All four keep one global centroid, take the unassigned row farthest from it as the next origin, and
give it its k−1 nearest unassigned rows (001, Alg. 3 to 6). They differ in how a cluster gets more
than k rows: not at all (MDAV+), by a near row right after it was made (V-MDAV), or by an origin
that joins a cluster instead of founding one (MDAV*).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kanopy.solvers.kernels.distance import centroid, squared_distance, sum_of_squares
from kanopy.solvers.kernels.inner import inner, kernel
from kanopy.solvers.kernels.leftovers import COST, ELEMENT
from kanopy.solvers.kernels.neighbours import (
    NONE,
    Index,
    build,
    largest_norm,
    make_index,
    nearest,
    put,
    remove,
)
from kanopy.solvers.kernels.record import ONE, ZERO, record
from kanopy.solvers.kernels.sorting import stable_order

_POSITION, CLUSTERS, _LEFT = 0, 1, 2
# Bounds that spare a query are raised by this, so that rounding never decides in their place.
_SAFE = 1.0 + 1e-9


@record
class Sweep:
    """State between two portions of the loop; see :func:`make_sweep`."""

    points: NDArray[np.float64]
    order: NDArray[np.int64]
    labels: NDArray[np.int64]
    counters: NDArray[np.int64]
    unassigned: Index
    sizes: NDArray[np.int64]
    sums: NDArray[np.float64]
    centers: NDArray[np.float64]
    clusters: Index
    group: NDArray[np.int64]
    other: NDArray[np.int64]
    mean: NDArray[np.float64]


@inner
def make_sweep(
    points: NDArray[np.float64], rotation: NDArray[np.float64], k: int, extend: bool, rule: int
) -> Sweep:
    """Sort the rows from the outside in; ``extend`` prepares :func:`sweep_star`."""
    n, d = points.shape
    everything = np.arange(n)
    mean = np.empty(d)
    centroid(points, everything, mean)
    outwards = np.empty(n)
    for row in range(n):
        outwards[row] = -squared_distance(points[row], mean)
    order = stable_order(outwards)
    reach = largest_norm(points)
    unassigned = make_index(points, rotation, k, ZERO, np.empty(0), 1.0, reach)
    build(unassigned, everything)
    most = n // k if extend else 0
    centers = np.empty((most, d))
    none = np.empty(0)
    if rule == ELEMENT and extend:
        clusters = make_index(points, rotation, ONE, 256 + n // 8, none, 1.0, reach)
    elif rule == COST:
        least = k / (k + 1.0)
        clusters = make_index(centers, rotation, ONE, 256 + most // 8, np.ones(most), least, reach)
    else:
        clusters = make_index(centers, rotation, ONE, 256 + most // 8, none, 1.0, reach)
    counters = np.zeros(3, np.int64)
    counters[_LEFT] = n
    return Sweep(
        points,
        order,
        np.full(n, NONE, np.int64),
        counters,
        unassigned,
        np.zeros(most, np.int64),
        np.zeros((most, d)),
        centers,
        clusters,
        np.empty(2 * k, np.int64),
        np.empty(k, np.int64),
        mean,
    )


make_sweep_kernel = kernel(make_sweep)


@inner
def _next_origin(state: Sweep) -> int:
    """The unassigned row farthest from the global centroid; it leaves the unassigned."""
    position = state.counters[_POSITION]
    while state.labels[state.order[position]] >= 0:
        position += 1
    state.counters[_POSITION] = position + 1
    origin = state.order[position]
    remove(state.unassigned, origin)
    return origin


@inner
def _neighbourhood(state: Sweep, origin: int, k: int, group: NDArray[np.int64]) -> None:
    """Write ``origin`` and its k−1 nearest unassigned rows into ``group``."""
    group[0] = origin
    nearest(state.unassigned, state.points[origin], k - 1, np.inf, origin)
    for i in range(k - 1):
        group[i + 1] = state.unassigned.found[i]


@inner
def _found_cluster(state: Sweep, size: int) -> None:
    """Make the first ``size`` rows of ``state.group`` a cluster."""
    for row in state.group[:size]:
        state.labels[row] = state.counters[CLUSTERS]
        remove(state.unassigned, row)
    state.counters[CLUSTERS] += 1
    state.counters[_LEFT] -= size


@inner
def sweep_variable(state: Sweep, k: int, gamma: float, steps: int) -> bool:
    """MDAV+ (γ = 0) and V-MDAV: found up to ``steps`` clusters; True once fewer than k are left."""
    for _ in range(steps):
        if state.counters[_LEFT] < k:
            return True
        _neighbourhood(state, _next_origin(state), k, state.group)
        for row in state.group[:k]:
            remove(state.unassigned, row)
        size = k
        while gamma > 0.0 and size < 2 * k - 1:
            # x_I, the unassigned row nearest to a member, and x_O, the one nearest to x_I
            near = np.inf
            inner = NONE
            for row in state.group[:size]:
                if nearest(state.unassigned, state.points[row], ONE, near, NONE) > 0:
                    distance = state.unassigned.distances[0]
                    number = state.unassigned.found[0]
                    if distance < near or number < inner:
                        near = distance
                        inner = number
            if inner == NONE:
                break
            # The last unassigned row has no other to stay with.
            if nearest(state.unassigned, state.points[inner], ONE, np.inf, inner) > 0 and not (
                near < gamma * state.unassigned.distances[0]
            ):
                break
            state.group[size] = inner
            remove(state.unassigned, inner)
            size += 1
        _found_cluster(state, size)
    return state.counters[_LEFT] < k


sweep_variable_kernel = kernel(sweep_variable)


@inner
def _group_cost(state: Sweep, group: NDArray[np.int64]) -> float:
    centroid(state.points, group, state.mean)
    return sum_of_squares(state.points, group, state.mean)


@inner
def _update_center(state: Sweep, cluster: int) -> None:
    size = state.sizes[cluster]
    for t in range(state.points.shape[1]):
        state.centers[cluster, t] = state.sums[cluster, t] / size


@inner
def _join(state: Sweep, cluster: int, row: int, rule: int) -> None:
    """Add a row's part to the sums of its cluster."""
    state.sizes[cluster] += 1
    for t in range(state.points.shape[1]):
        state.sums[cluster, t] += state.points[row, t]
    if rule == ELEMENT:
        put(state.clusters, row)


@inner
def _announce(state: Sweep, cluster: int, rule: int) -> None:
    """Let queries see a new or larger cluster."""
    _update_center(state, cluster)
    if rule == COST:
        state.clusters.factors[cluster] = state.sizes[cluster] / (state.sizes[cluster] + 1.0)
    if rule != ELEMENT:
        put(state.clusters, cluster)


@inner
def sweep_star(state: Sweep, k: int, gamma: float, second: bool, rule: int, steps: int) -> bool:
    """MDAV* (γ = 1) and, with ``second``, MDAV*γ: treat up to ``steps`` origins.

    True once fewer than k rows are left.
    """
    for _ in range(steps):
        left = state.counters[_LEFT]
        if left < k:
            return True
        origin = _next_origin(state)
        _neighbourhood(state, origin, k, state.group)
        if state.counters[CLUSTERS] > 0 and left > k:
            target = _extends(state, origin, k, gamma, second, rule)
            if target != NONE:
                state.labels[origin] = target
                state.counters[_LEFT] -= 1
                _join(state, target, origin, rule)
                _announce(state, target, rule)
                continue
        cluster = state.counters[CLUSTERS]
        for row in state.group[:k]:
            _join(state, cluster, row, rule)
        _found_cluster(state, k)
        _announce(state, cluster, rule)
    return state.counters[_LEFT] < k


sweep_star_kernel = kernel(sweep_star)


@inner
def _extends(state: Sweep, origin: int, k: int, gamma: float, second: bool, rule: int) -> int:
    """The cluster that ``origin`` should join, or NONE if it should found one.

    Two facts spare most of the work. The extension criteria are cost_E ≥ Δ/(k+1) and
    cost_E2 ≥ Δ/2, where Δ is what the origin adds to the closest cluster, so with
    Δ ≥ max(γ(k+1), 2) cost_N neither holds; and Δ ≥ k/(k+1) δ², so that only clusters near enough
    need be looked for, and the neighbourhood of the nearest neighbour only if Δ is small.
    """
    vector = state.points[origin]
    cost_new = _group_cost(state, state.group[:k]) / k
    largest = max(gamma * (k + 1), 2.0 if second else 0.0) * cost_new * _SAFE
    if rule == ELEMENT:
        nearest(state.clusters, vector, ONE, np.inf, NONE)
        target = state.labels[state.clusters.found[0]]
    else:
        reach = largest if rule == COST else largest * (k + 1) / k
        if nearest(state.clusters, vector, ONE, reach, NONE) == 0:
            return NONE
        target = state.clusters.found[0]
    size = state.sizes[target]
    center = state.centers[target]
    increase = squared_distance(vector, center) * size / (size + 1.0)
    neighbour = state.group[1]
    if increase / (k + 1) < gamma * cost_new:
        _neighbourhood(state, neighbour, k, state.other)
        cost_extend = (increase + _group_cost(state, state.other)) / (k + 1)
        if cost_extend < gamma * cost_new:
            return target
    if second:
        # The pair costs δ²/2 by itself, and 2|C|/(|C|+2) times its mean's distance to join.
        pair = squared_distance(vector, state.points[neighbour]) / 2.0
        for t in range(len(vector)):
            state.mean[t] = (vector[t] + state.points[neighbour, t]) / 2.0
        pair += squared_distance(state.mean, center) * 2.0 * size / (size + 2.0)
        if pair / 2.0 < cost_new:
            return target
    return NONE
