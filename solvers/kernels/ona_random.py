"""The rounds of ONA (001, Alg. 14), which start from random clusters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kanopy.solvers.kernels.distance import squared_distance
from kanopy.solvers.kernels.inner import inner, kernel
from kanopy.solvers.kernels.neighbours import nearest
from kanopy.solvers.kernels.reclustering import (
    CHANGED,
    GAIN,
    POSITION,
    ROUND,
    TARGETS,
    USED,
    Clustering,
    apply_split,
    dissolve,
    make_clustering,
    move,
    recenter,
    renumber,
)
from kanopy.solvers.kernels.record import ONE
from kanopy.solvers.kernels.sorting import sort_few

NESTED_ROUNDS = 10
"""Round limit of an ONA that splits a cluster (001, 6.5)."""


@inner
def random_clusters(n: int, k: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Labels of ⌊n/k⌋ random clusters, as equal in size as can be."""
    labels = np.arange(n) % max(1, n // k)
    for i in range(n - 1, 0, -1):
        j = rng.integers(0, i + 1)
        labels[i], labels[j] = labels[j], labels[i]
    return labels


random_clusters_kernel = kernel(random_clusters)


@inner
def visit(state: Clustering, row: int, k: int) -> bool:
    """Reassign a row of a cluster of more than k rows, or try to dissolve one of k rows.

    True if the clusters changed; ``state.touched`` then holds the ``counters[TARGETS]`` clusters
    that grew.
    """
    cluster = state.labels[row]
    size = state.sizes[cluster]
    if size == k:
        return bool(dissolve(state, cluster))
    # The row's own cluster is judged by its centroid without the row.
    vector = state.points[row]
    state.mean[:] = 0.0
    for member in state.members[cluster, :size]:
        if member != row:
            for t in range(len(vector)):
                state.mean[t] += state.points[member, t]
    for t in range(len(vector)):
        state.mean[t] /= size - 1
    own = squared_distance(vector, state.mean)
    limit = own - GAIN * own - state.noise
    if limit <= 0.0 or nearest(state.nearby, vector, ONE, limit, cluster) == 0:
        return False
    if state.nearby.distances[0] >= limit:
        return False
    target = state.nearby.found[0]
    move(state, row, target)
    recenter(state, cluster)
    recenter(state, target)
    state.touched[0] = target
    state.counters[TARGETS] = 1
    return True


@inner
def split_random(state: Clustering, cluster: int, k: int, rng: np.random.Generator) -> None:
    """Split a cluster of 2k … 3k−1 rows in two by an ONA of few rounds.

    That one never has to split in its turn: its two clusters share fewer than 3k rows and keep k.
    """
    rows = state.members[cluster, : state.sizes[cluster]]
    sort_few(rows)
    labels = random_clusters(len(rows), k, rng)
    nested = make_clustering(state.points[rows], np.empty((0, 0)), labels, k)
    for _ in range(NESTED_ROUNDS):
        changed = False
        for row in range(len(rows)):
            changed |= visit(nested, row, k)
        if not changed:
            break
    renumber(nested)
    apply_split(state, cluster, nested.labels)


@kernel
def recluster_random(
    state: Clustering, k: int, rounds: int, steps: int, rng: np.random.Generator
) -> bool:
    """ONA's rounds: visit up to ``steps`` rows; True at the end."""
    counters = state.counters
    for _ in range(steps):
        if counters[ROUND] >= rounds:
            return True
        if counters[POSITION] == len(state.points):
            if counters[CHANGED] == 0:
                return True
            counters[POSITION] = 0
            counters[CHANGED] = 0
            counters[ROUND] += 1
            continue
        row = counters[POSITION]
        if counters[USED] + k + 2 > len(state.sizes):
            renumber(state)
        counters[POSITION] = row + 1
        if visit(state, row, k):
            counters[CHANGED] = 1
            for target in state.touched[: counters[TARGETS]].copy():
                if state.sizes[target] >= 2 * k:
                    split_random(state, target, k, rng)
    return False
