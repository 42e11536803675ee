"""Clusters that are too small swallow the nearest one (MERGE, 001, Alg. 12)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kanopy.solvers.kernels.inner import kernel
from kanopy.solvers.kernels.neighbours import (
    Index,
    build,
    largest_norm,
    make_index,
    nearest,
    put,
    remove,
)
from kanopy.solvers.kernels.record import ONE, ZERO

_POSITION, _SMALL = 0, 1


class Mergers(NamedTuple):
    """Clusters and where they went; see :func:`make_mergers`."""

    sizes: NDArray[np.int64]
    sums: NDArray[np.float64]
    centers: NDArray[np.float64]
    nearby: Index
    into: NDArray[np.int64]
    """For each cluster the one that swallowed it, or itself."""
    counters: NDArray[np.int64]


@kernel
def make_mergers(
    points: NDArray[np.float64], rotation: NDArray[np.float64], labels: NDArray[np.int64]
) -> Mergers:
    """The clusters 0, 1, 2 … of a partition; some may be empty."""
    clusters = labels.max() + 1
    d = points.shape[1]
    sizes = np.zeros(clusters, np.int64)
    sums = np.zeros((clusters, d))
    for row in range(len(points)):
        sizes[labels[row]] += 1
        for t in range(d):
            sums[labels[row], t] += points[row, t]
    centers = np.zeros((clusters, d))
    for cluster in range(clusters):
        if sizes[cluster] > 0:
            centers[cluster] = sums[cluster] / sizes[cluster]
    nearby = make_index(centers, rotation, ONE, ZERO, np.empty(0), 1.0, largest_norm(points))
    build(nearby, np.flatnonzero(sizes > 0))
    return Mergers(sizes, sums, centers, nearby, np.arange(clusters), np.zeros(2, np.int64))


@kernel
def merge(state: Mergers, k: int, steps: int) -> bool:
    """Visit up to ``steps`` clusters, over and over, until none has 1 … k−1 rows."""
    clusters = len(state.sizes)
    for _ in range(steps):
        cluster = state.counters[_POSITION]
        if cluster == clusters:
            if state.counters[_SMALL] == 0:
                return True
            state.counters[_POSITION] = 0
            state.counters[_SMALL] = 0
            continue
        state.counters[_POSITION] += 1
        if not 0 < state.sizes[cluster] < k:
            continue
        if nearest(state.nearby, state.centers[cluster], ONE, np.inf, cluster) == 0:
            continue
        other = state.nearby.found[0]
        state.sizes[cluster] += state.sizes[other]
        state.sizes[other] = 0
        for t in range(state.sums.shape[1]):
            state.sums[cluster, t] += state.sums[other, t]
            state.centers[cluster, t] = state.sums[cluster, t] / state.sizes[cluster]
        state.into[other] = cluster
        remove(state.nearby, other)
        put(state.nearby, cluster)
        state.counters[_SMALL] += state.sizes[cluster] < k
    return False


@kernel
def merged_labels(state: Mergers, labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """The cluster that each row is in after all mergers."""
    result = np.empty_like(labels)
    for row in range(len(labels)):
        cluster = labels[row]
        while state.into[cluster] != cluster:
            cluster = state.into[cluster]
        result[row] = cluster
    return result
