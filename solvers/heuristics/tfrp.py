"""TFRP, two fixed reference points (001, section 8.2; Chang et al.), and what it handed on.

First phase: with G_min and G_max the least and the greatest value in all columns, the reference
points are R₁ = (G_min, …, G_min) and R₂ = (G_max, …, G_max). In turn the unassigned row farthest
from R₁ and the one farthest from R₂ found a cluster with their k−1 nearest unassigned rows, while
there are at least k. The rest joins the clusters with the nearest centroid.

Second phase: clusters are visited by descending cost (as it was before the phase). One is dissolved
if its rows, each given to the cluster with the nearest centroid, cost less there. In the end
clusters of 2k rows or more are split by the first phase on their own.

Decided here: the row farthest from R₂ is chosen after the cluster of R₁ is made; left-over rows
look at centroids as they were before the first of them joined; a dissolved cluster's targets change
at once; the lowest row or cluster number wins ties. So it gives the values that 001, table 8.1
quotes, on EIA for the ten columns without UTILITYID, and 33.088 on Tarragona at k = 10, where the
table has 33.01.

DBA has the same second phase, SBM the same loop over two orders; both take them from here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from kanopy.solvers.kernels.chunks import Stopping, in_chunks, never
from kanopy.solvers.kernels.distance import centroid, squared_distance, sum_of_squares
from kanopy.solvers.kernels.inner import inner, kernel
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
from kanopy.solvers.kernels.prepare import finished, prepared, trivial_labels
from kanopy.solvers.kernels.quick import quick_exit, quick_partition
from kanopy.solvers.kernels.record import ONE, ZERO
from kanopy.solvers.problem import Outcome, Problem
from kanopy.solvers.registry import NoOptions, register
from kanopy.solvers.run import Run

# A gain below this share of the cost at stake is rounding, and so is a squared distance below this
# share of the largest squared norm: means of equal rows differ by that much.
_GAIN = 1e-12
_NOISE = 1e-26
_SAFE = 1.0 + 1e-9


def tfrp_labels(
    points: NDArray[np.float64], k: int, stopping: Stopping = never
) -> NDArray[np.int64]:
    """Cluster of each row by TFRP; clusters of k … 2k−1 rows.

    Parameters
    ----------
    points
        One row per record.
    k
        Least size of a cluster.
    stopping
        Once this holds, rows without a cluster get one in a hurry.

    Examples
    --------
    >>> tfrp_labels(np.array([[1.0], [9.0], [2.0], [8.0], [3.0]]), 2).tolist()
    [1, 0, 1, 0, 1]
    """
    trivial = trivial_labels(len(points), k)
    if trivial is not None:
        return trivial
    labels = first_phase(points, k, stopping)
    cost = cluster_costs(points, labels)
    labels = dissolve(points, labels, np.argsort(-cost, kind="stable"), k, stopping)
    return split_large(points, labels, k, first_phase, stopping)


def first_phase(
    points: NDArray[np.float64], k: int, stopping: Stopping = never
) -> NDArray[np.int64]:
    """Clusters around the rows farthest from two fixed points; the rest to the nearest centroid."""
    orders = np.empty((2, len(points)), dtype=np.int64)
    for side, corner in enumerate((points.min(), points.max())):
        distance = ((points - corner) ** 2).sum(axis=1)
        orders[side] = np.argsort(-distance, kind="stable")
    labels = take_in_turn(points, orders, k, np.array([k, k]), stopping)
    return finished(np.array(points), labels, int(labels.max()) + 1, k)


def search_index(points: NDArray[np.float64], most: int) -> Index:
    """Index over all rows of a table, for queries of up to ``most`` neighbours."""
    rows, rotation = prepared(points)
    index: Index = _whole_index(rows, rotation, most)
    return index


@kernel
def _whole_index(points, rotation, most):  # type: ignore[no-untyped-def]
    index = make_index(points, rotation, most, ZERO, np.empty(0), 1.0, -1.0)
    build(index, np.arange(len(points)))
    return index


def take_in_turn(
    points: NDArray[np.float64],
    orders: NDArray[np.int64],
    k: int,
    least: NDArray[np.int64],
    stopping: Stopping = never,
) -> NDArray[np.int64]:
    """Found clusters around the first unassigned row of one order and of the other, in turn.

    Parameters
    ----------
    points
        One row per record.
    orders
        Two orders of the rows.
    k
        Rows of a cluster: the founder and its nearest unassigned rows.
    least
        The loop ends when it is an order's turn and fewer rows than this are unassigned.
    stopping
        Once this holds, the unassigned rows get clusters in a hurry.

    Returns
    -------
    Cluster of each row, −1 for those that are left at the end of the loop.
    """
    labels = np.full(len(points), -1, dtype=np.int64)
    index = search_index(points, k - 1)
    state = np.array([0, len(points), 0, 0, 0], dtype=np.int64)

    def advance(steps: int) -> bool:
        return bool(_take(index, orders, k, least, labels, state, steps))

    if not in_chunks(advance, stopping):
        return finished(index.source, labels, int(state[2]), k)
    return labels


@kernel
def _take(index, orders, k, least, labels, state, steps):  # type: ignore[no-untyped-def]
    """Found up to ``steps`` clusters; True at the end.

    ``state``: whose turn it is, how many rows are left, the clusters so far, the two positions.
    """
    for _ in range(steps):
        side = state[0]
        if state[1] < least[side]:
            return True
        position = state[3 + side]
        while labels[orders[side, position]] >= 0:
            position += 1
        state[3 + side] = position
        founder = orders[side, position]
        remove(index, founder)
        nearest(index, index.source[founder], k - 1, np.inf, NONE)
        labels[founder] = state[2]
        for i in range(k - 1):
            labels[index.found[i]] = state[2]
            remove(index, index.found[i])
        state[0] = 1 - side
        state[1] -= k
        state[2] += 1
    return False


def cluster_costs(points: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Squared distances to the centroid, summed by cluster."""
    sizes = np.bincount(labels)
    cost = np.zeros(len(sizes))
    for column in points.T:
        mean = np.bincount(labels, weights=column) / sizes
        cost += np.bincount(labels, weights=(column - mean[labels]) ** 2)
    return cost


def dissolve(
    points: NDArray[np.float64],
    labels: NDArray[np.int64],
    order: NDArray[np.int64],
    k: int,
    stopping: Stopping = never,
) -> NDArray[np.int64]:
    """Dissolve clusters, visited in ``order``, whose rows cost less with the nearest centroids.

    A set of a rows that joins a cluster of s rows raises its cost by
    Σ δ(x, c)² − a²/(s+a) δ(mean, c)² ≥ s/(s+a) Σ δ(x, c)², so a cluster of a rows need not look
    farther than (k+a)/k times its own cost in all.

    Returns
    -------
    Cluster of each row; the numbers of dissolved clusters are no longer used.
    """
    labels = labels.copy()
    state = _make_clusters(*prepared(points), labels)
    position = np.zeros(1, dtype=np.int64)

    def advance(steps: int) -> bool:
        return bool(_dissolve_some(state, labels, order, k, position, steps))

    in_chunks(advance, stopping)
    return labels


@kernel
def _make_clusters(points, rotation, labels):  # type: ignore[no-untyped-def]
    """Members of the clusters as linked lists, their sizes and centroids, an index of those."""
    n, columns = points.shape
    clusters = labels.max() + 1
    first = np.full(clusters, -1, np.int64)
    following = np.full(n, -1, np.int64)
    sizes = np.zeros(clusters, np.int64)
    centers = np.zeros((clusters, columns))
    for row in range(n - 1, -1, -1):
        cluster = labels[row]
        following[row] = first[cluster]
        first[cluster] = row
        sizes[cluster] += 1
    for cluster in range(clusters):
        centroid(points, _members(first, following, sizes, cluster), centers[cluster])
    reach = largest_norm(points)  # centroids will move, but never beyond the rows
    index = make_index(centers, rotation, ONE, 64 + clusters // 8, np.empty(0), 1.0, reach)
    build(index, np.arange(clusters))
    return points, first, following, sizes, centers, index, _NOISE * reach * reach


@inner
def _members(first, following, sizes, cluster):  # type: ignore[no-untyped-def]
    rows = np.empty(sizes[cluster], np.int64)
    row = first[cluster]
    for i in range(len(rows)):
        rows[i] = row
        row = following[row]
    return rows


@inner
def _first_of(target, i):  # type: ignore[no-untyped-def]
    """Where the value at i occurs first."""
    j = 0
    while target[j] != target[i]:
        j += 1
    return j


@kernel
def _dissolve_some(state, labels, order, k, position, steps):  # type: ignore[no-untyped-def]
    """Visit up to ``steps`` clusters; True at the end."""
    points, first, following, sizes, centers, index, noise = state
    mean = np.empty(points.shape[1])
    for _ in range(steps):
        if position[0] == len(order):
            return True
        cluster = order[position[0]]
        position[0] += 1
        rows = _members(first, following, sizes, cluster)
        size = len(rows)
        cost = sum_of_squares(points, rows, centers[cluster])
        room = cost * (k + size) / k * _SAFE
        target = np.empty(size, np.int64)
        for i in range(size):
            if room < 0.0 or nearest(index, points[rows[i]], ONE, room, cluster) == 0:
                room = -1.0
                break
            target[i] = index.found[0]
            room -= index.distances[0]
        if room < 0.0:
            continue
        increase = 0.0
        joining = np.empty(size, np.int64)
        for i in range(size):
            if _first_of(target, i) < i:
                continue
            count = 0
            for j in range(i, size):
                if target[j] == target[i]:
                    joining[count] = rows[j]
                    count += 1
            others = sizes[target[i]]
            centroid(points, joining[:count], mean)
            increase += sum_of_squares(points, joining[:count], mean)
            distance = squared_distance(mean, centers[target[i]])
            increase += distance * others * count / (others + count)
        if not cost - increase > _GAIN * cost + noise:
            continue
        remove(index, cluster)
        first[cluster] = -1
        sizes[cluster] = 0
        for i in range(size):
            labels[rows[i]] = target[i]
            following[rows[i]] = first[target[i]]
            first[target[i]] = rows[i]
            sizes[target[i]] += 1
        for i in range(size):
            if _first_of(target, i) == i:
                members = _members(first, following, sizes, target[i])
                centroid(points, members, centers[target[i]])
                put(index, target[i])
    return False


def split_large(
    points: NDArray[np.float64],
    labels: NDArray[np.int64],
    k: int,
    split: Callable[[NDArray[np.float64], int, Stopping], NDArray[np.int64]],
    stopping: Stopping = never,
) -> NDArray[np.int64]:
    """Divide every cluster of 2k rows or more by ``split``; clusters 0, 1, 2 … of the rows."""
    labels = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    sizes = np.bincount(labels)
    if sizes.max() < 2 * k:
        return labels
    order = np.argsort(labels, kind="stable")
    ends = np.cumsum(sizes)
    clusters = len(sizes)
    for cluster in np.flatnonzero(sizes >= 2 * k):
        rows = order[ends[cluster] - sizes[cluster] : ends[cluster]]
        part = quick_partition(points[rows], k) if stopping() else split(points[rows], k, stopping)
        labels[rows] = np.where(part == 0, cluster, clusters - 1 + part)
        clusters += int(part.max())
    return labels


@register(
    "tfrp",
    costs=("sse",),
    kinds=("numeric",),
    paper="001, section 8.2",
    summary="clusters around the rows farthest from two fixed points, then dissolve and split",
    options=NoOptions,
)
def tfrp(problem: Problem, run: Run, options: NoOptions) -> Outcome:
    """Two fixed reference points."""
    with quick_exit(run):
        labels = tfrp_labels(problem.data.points, problem.k, run.stopping)
    return Outcome(labels=labels)
