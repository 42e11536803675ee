"""Clusters that rows leave, join, dissolve and split: the common ground of ONA and ONA*.

Clusters are numbered in order of creation. A dissolved cluster leaves its number unused; when the
numbers run out, the clusters are numbered anew in the same order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kanopy.solvers.kernels.distance import centroid, squared_distance, sum_of_squares
from kanopy.solvers.kernels.inner import inner, kernel
from kanopy.solvers.kernels.leftovers import CENTROID, assign_leftovers
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
from kanopy.solvers.kernels.outside_in import CLUSTERS, make_sweep, sweep_star
from kanopy.solvers.kernels.record import NO, ONE, YES, record
from kanopy.solvers.kernels.sorting import sort_few

USED, PHASE, POSITION, ROUND, CHANGED, TARGETS = 0, 1, 2, 3, 4, 5
# Gains below this share of the cost at stake are rounding, and so are squared distances below
# this share of the largest squared norm: means of equal rows differ by that much.
GAIN = 1e-12
_NOISE = 1e-26
_SAFE = 1.0 + 1e-9


@record
class Clustering:
    """A partition that changes; see :func:`make_clustering`."""

    points: NDArray[np.float64]
    labels: NDArray[np.int64]
    members: NDArray[np.int64]
    sizes: NDArray[np.int64]
    centers: NDArray[np.float64]
    nearby: Index
    counters: NDArray[np.int64]
    target: NDArray[np.int64]
    touched: NDArray[np.int64]
    group: NDArray[np.int64]
    mean: NDArray[np.float64]
    noise: float


@inner
def make_clustering(
    points: NDArray[np.float64], rotation: NDArray[np.float64], labels: NDArray[np.int64], k: int
) -> Clustering:
    """Start from a partition with clusters of k … 3k−1 rows, numbered from 0."""
    n, d = points.shape
    numbers = np.empty(n, np.int64)
    clusters = 0
    for row in range(n):
        numbers[row] = labels[row]
        clusters = max(clusters, labels[row] + 1)
    reach = largest_norm(points)
    most = 2 * (n // k) + k + 4
    centers = np.zeros((most, d))
    state = Clustering(
        points,
        numbers,
        np.empty((most, 3 * k), np.int64),
        np.zeros(most, np.int64),
        centers,
        make_index(centers, rotation, ONE, 64 + most // 8, np.empty(0), 1.0, reach),
        np.zeros(6, np.int64),
        np.empty(3 * k, np.int64),
        np.empty(3 * k, np.int64),
        np.empty(3 * k, np.int64),
        np.empty(d),
        _NOISE * reach * reach,
    )
    state.counters[USED] = clusters
    for row in range(n):
        cluster = numbers[row]
        state.members[cluster, state.sizes[cluster]] = row
        state.sizes[cluster] += 1
    for cluster in range(clusters):
        centroid(points, state.members[cluster, : state.sizes[cluster]], centers[cluster])
    build(state.nearby, np.arange(clusters))
    return state


make_clustering_kernel = kernel(make_clustering)


@inner
def renumber(state: Clustering) -> None:
    """Close the gaps that dissolved clusters left, keeping the order and the position in it."""
    used = 0
    position = 0
    for cluster in range(state.counters[USED]):
        if cluster == state.counters[POSITION]:
            position = used
        size = state.sizes[cluster]
        if size > 0:
            if used < cluster:
                state.sizes[used] = size
                state.sizes[cluster] = 0
                for i in range(size):
                    row = state.members[cluster, i]
                    state.members[used, i] = row
                    state.labels[row] = used
                for t in range(state.centers.shape[1]):
                    state.centers[used, t] = state.centers[cluster, t]
            used += 1
    if state.counters[POSITION] >= state.counters[USED]:
        position = used
    state.counters[POSITION] = position
    state.counters[USED] = used
    build(state.nearby, np.arange(used))


@inner
def move(state: Clustering, row: int, cluster: int) -> None:
    """Let a row leave its cluster for another; centroids follow with :func:`recenter`."""
    origin = state.labels[row]
    last = state.sizes[origin] - 1
    slot = 0
    while state.members[origin, slot] != row:
        slot += 1
    state.members[origin, slot] = state.members[origin, last]
    state.sizes[origin] = last
    state.members[cluster, state.sizes[cluster]] = row
    state.sizes[cluster] += 1
    state.labels[row] = cluster


@inner
def recenter(state: Clustering, cluster: int) -> None:
    """Bring the centroid of a cluster up to date."""
    if state.sizes[cluster] == 0:
        remove(state.nearby, cluster)
        return
    rows = state.members[cluster, : state.sizes[cluster]]
    centroid(state.points, rows, state.centers[cluster])
    put(state.nearby, cluster)


@inner
def dissolve(state: Clustering, cluster: int) -> bool:
    """Give each row of a cluster to the nearest other centroid if that lowers the cost (Alg. 16).

    True if it did; ``state.touched`` then holds the ``counters[TARGETS]`` clusters that grew.

    A set A of a rows with mean m that joins a cluster of s rows raises its cost by
    cost(A) + s·a/(s+a) δ(m, c)² = Σ δ(x, c)² − a²/(s+a) δ(m, c)², which is at least half of
    Σ δ(x, c)² since a ≤ k ≤ s. So the search may end once half of the distances exceed the
    cluster's own cost.
    """
    size = state.sizes[cluster]
    rows = state.members[cluster, :size]
    sort_few(rows)  # where the rows go to, in their order, is the order of the splits to come
    cost = sum_of_squares(state.points, rows, state.centers[cluster])
    room = 2.0 * cost * _SAFE
    for i in range(size):
        if nearest(state.nearby, state.points[rows[i]], ONE, room, cluster) == 0:
            return False
        state.target[i] = state.nearby.found[0]
        room -= state.nearby.distances[0]
        if room < 0.0:
            return False
    touched = 0
    increase = 0.0
    for i in range(size):
        target = state.target[i]
        seen = False
        for j in range(touched):
            seen |= state.touched[j] == target
        if seen:
            continue
        state.touched[touched] = target
        touched += 1
        joining = 0
        for j in range(i, size):
            if state.target[j] == target:
                state.group[joining] = rows[j]
                joining += 1
        group = state.group[:joining]
        centroid(state.points, group, state.mean)
        increase += sum_of_squares(state.points, group, state.mean)
        weight = state.sizes[target] * joining / (state.sizes[target] + joining)
        increase += weight * squared_distance(state.mean, state.centers[target])
    if not cost - increase > GAIN * cost + state.noise:
        return False
    while state.sizes[cluster] > 0:
        last = state.sizes[cluster] - 1
        move(state, state.members[cluster, last], state.target[last])
    recenter(state, cluster)
    for j in range(touched):
        recenter(state, state.touched[j])
    state.counters[TARGETS] = touched
    return True


@inner
def apply_split(state: Clustering, cluster: int, parts: NDArray[np.int64]) -> None:
    """Split a cluster by the part of each member; part 0 keeps the number."""
    size = len(parts)
    rows = state.members[cluster, :size].copy()
    used = state.counters[USED]
    most = 0
    for i in range(size):
        most = max(most, parts[i])
        if parts[i] > 0:
            move(state, rows[i], used + parts[i] - 1)
    state.counters[USED] += most
    recenter(state, cluster)
    for part in range(most):
        recenter(state, used + part)


@inner
def split_star(state: Clustering, cluster: int, k: int) -> None:
    """Split a cluster of 2k … 3k−1 rows in two by MDAV*; the outer part keeps the number."""
    rows = state.members[cluster, : state.sizes[cluster]]
    sort_few(rows)
    sweep = make_sweep(state.points[rows], np.empty((0, 0)), k, YES, CENTROID)
    sweep_star(sweep, k, 1.0, NO, CENTROID, len(rows))
    assign_leftovers(sweep.points, sweep.labels, sweep.counters[CLUSTERS], CENTROID)
    apply_split(state, cluster, sweep.labels)


@inner
def reassign(state: Clustering, cluster: int, k: int) -> bool:
    """Let rows of a cluster go to the nearest other centroid, best first (Alg. 17).

    A row that leaves a cluster of s rows lowers its cost by s/(s−1) δ², and raises that of one of
    t rows by t/(t+1) δ² ≥ k/(k+1) δ², so a centroid too far away for the best gain so far need
    not be found.
    """
    changed = False
    while state.sizes[cluster] > k:
        size = state.sizes[cluster]
        best = 0.0
        leaver = NONE
        goal = NONE
        for row in state.members[cluster, :size]:
            vector = state.points[row]
            saved = squared_distance(vector, state.centers[cluster]) * size / (size - 1.0)
            reach = (saved - best) * (k + 1) / k * _SAFE
            if reach < 0.0 or nearest(state.nearby, vector, ONE, reach, cluster) == 0:
                continue
            target = state.nearby.found[0]
            others = state.sizes[target]
            gain = saved - state.nearby.distances[0] * others / (others + 1.0)
            if not gain > GAIN * saved + state.noise:
                continue
            if gain > best or (gain == best and row < leaver):
                best = gain
                leaver = row
                goal = target
        if leaver == NONE:
            break
        changed = True
        move(state, leaver, goal)
        recenter(state, cluster)
        recenter(state, goal)
        if state.sizes[goal] >= 2 * k:
            split_star(state, goal, k)
    return changed


@inner
def recluster_star(state: Clustering, k: int, rounds: int, steps: int) -> bool:
    """ONA*'s rounds (Alg. 15, line 6 to 13): visit up to ``steps`` clusters; True at the end."""
    counters = state.counters
    for _ in range(steps):
        if counters[ROUND] >= rounds:
            return True
        if counters[USED] + k + 2 > len(state.sizes):
            renumber(state)
        if counters[POSITION] >= counters[USED]:
            counters[POSITION] = 0
            if counters[PHASE] == 0:
                counters[PHASE] = 1
            else:
                if counters[CHANGED] == 0:
                    return True
                counters[PHASE] = 0
                counters[CHANGED] = 0
                counters[ROUND] += 1
            continue
        cluster = counters[POSITION]
        counters[POSITION] += 1
        if counters[PHASE] == 0:
            if state.sizes[cluster] == k and dissolve(state, cluster):
                counters[CHANGED] = 1
                for target in state.touched[: counters[TARGETS]].copy():
                    if state.sizes[target] >= 2 * k:
                        split_star(state, target, k)
        elif state.sizes[cluster] > k and reassign(state, cluster, k):
            counters[CHANGED] = 1
    return False


recluster_star_kernel = kernel(recluster_star)
