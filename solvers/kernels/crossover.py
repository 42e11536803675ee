"""The best of two partitions: an optimal crossover of their independent parts.

Draw a graph with the clusters of both partitions as nodes and an edge where two share a unit. A
connected component holds the same units on either side, so that in each component either side's
clusters may be taken, and the cheaper ones are.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import numpy as np

from kanopy.solvers.kernels.inner import inner, kernel


@inner
def _root(parent, node):
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


@kernel
def recombine(best, best_price, other, other_price):
    """Put the cheaper components of two partitions into ``best``; says whether that changed it.

    Parameters
    ----------
    best, other
        Cluster of each unit, numbers below ``len(best_price)``. Those of ``best`` are renumbered.
    best_price, other_price
        Cost of each cluster, of equal length.
    """
    count = best_price.shape[0]
    parent = np.arange(2 * count)
    for u in range(best.shape[0]):
        x = _root(parent, best[u])
        y = _root(parent, count + other[u])
        if x != y:
            parent[y] = x
    gain = np.zeros(2 * count)
    scale = 0.0
    for c in range(count):
        gain[_root(parent, c)] += best_price[c]
        scale += best_price[c]
    for c in range(count):
        gain[_root(parent, count + c)] -= other_price[c]
    changed = False
    fresh = np.full(2 * count, -1)
    price = np.zeros(count)
    used = 0
    for u in range(best.shape[0]):
        source = np.int64(best[u])
        if gain[_root(parent, source)] > 1e-13 * scale:
            source = count + other[u]
            changed = True
        if fresh[source] < 0:
            fresh[source] = used
            price[used] = best_price[source] if source < count else other_price[source - count]
            used += 1
        best[u] = fresh[source]
    best_price[:] = price
    return changed
