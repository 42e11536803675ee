r"""Greedy pricing (000, Alg. 5): clusters that grow by the row that adds least to the reduced cost.

From the free row of largest dual a cluster C grows to k rows, each time by the row l of least

.. math:: \sum_{i \in C} w_{il} - u_l,

then on to 2k − 1 rows, and the size of least reduced cost stays. Its rows are free no longer, and
the next cluster begins, until one has no negative reduced cost.

Identical rows are one type with a multiplicity and one dual; ties go to the lowest type. The
algorithm as printed ends when k rows are free, its description when fewer are, as here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import njit
from numpy.typing import NDArray

from kanopy.instances.microdata import Microdata

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SLICE = 1000
"""Clusters between two looks at the clock, fewer if there are many types."""

OPERATIONS_PER_SECOND = 2e9
"""Comparisons of two codes, for an estimate of the time that a partition takes."""


def greedy_seconds(data: Microdata, k: int) -> float:
    """About how long it takes to make clusters of all rows."""
    clusters, attributes = data.n / k, data.codes.shape[1]
    return float(clusters * (2 * k - 1) * len(data.counts) * attributes / OPERATIONS_PER_SECOND)


def slice_of(columns: NDArray[np.int32], k: int) -> int:
    """Clusters of so many types that take a tenth of a second, about."""
    each = (2 * k - 1) * max(columns.size, 1)
    return int(np.clip(0.1 * OPERATIONS_PER_SECOND / each, 1, SLICE))


def greedy_clusters_until(
    columns: NDArray[np.int32],
    weights: Floats,
    free: Ints,
    duals: Floats,
    k: int,
    most: int,
    limit: float,
    stopping: Callable[[], bool],
) -> tuple[NDArray[np.int32], Floats]:
    """The same clusters as those of :func:`greedy_clusters`, or the first ones if stopped."""
    part = slice_of(columns, k)
    found, reduced = [np.zeros((0, 2 * k - 1), dtype=np.int32)], [np.zeros(0)]
    number = 0
    while number < most:
        wanted = min(part, most - number)
        clusters, values = greedy_clusters(columns, weights, free, duals, k, wanted, limit)
        found.append(clusters)
        reduced.append(values)
        number += len(clusters)
        if len(clusters) < wanted or stopping():
            break
    return np.concatenate(found), np.concatenate(reduced)


@njit(cache=True)
def greedy_clusters(
    columns: NDArray[np.int32],
    weights: Floats,
    free: Ints,
    duals: Floats,
    k: int,
    most: int,
    limit: float,
) -> tuple[NDArray[np.int32], Floats]:
    """At most ``most`` disjoint clusters of k … 2k−1 rows with reduced costs below ``limit``.

    Parameters
    ----------
    columns
        Codes of the types, one row per attribute.
    weights
        Weights of the attributes.
    free
        Rows of each type that may be used; those of the clusters are taken away.
    duals
        u of each type.

    Returns
    -------
    clusters, reduced_costs
        Types in the order in which they joined, padded by −1.

    Examples
    --------
    >>> columns = np.array([[0, 1, 2]], dtype=np.int32)
    >>> free = np.array([2, 1, 1])
    >>> clusters, reduced = greedy_clusters(
    ...     columns, np.ones(1), free, np.array([1.0, 0.5, 0.5]), 2, 9, 0.0
    ... )
    >>> clusters.tolist(), reduced.tolist(), free.tolist()
    ([[0, 0, -1]], [-2.0], [0, 1, 1])
    """
    attributes, types = columns.shape
    largest = 2 * k - 1
    rows = free.sum()
    found = np.full((min(most, rows // k), largest), -1, dtype=np.int32)
    values = np.empty(len(found))
    base = np.empty(types)
    for z in range(types):
        base[z] = -duals[z] if free[z] > 0 else np.inf
    order = np.argsort(-duals, kind="mergesort")
    increase = np.empty(types)
    cluster = np.empty(largest, dtype=np.int64)
    number, place = 0, 0
    while rows >= k and number < len(found):
        while free[order[place]] == 0:
            place += 1
        best = order[place]
        increase[:] = base
        value = 0.0
        size, best_size, best_value = 0, 0, np.inf
        while True:
            cluster[size] = best
            value += increase[best]
            size += 1
            free[best] -= 1
            if free[best] == 0:
                increase[best] = np.inf
            if size == k or (size > k and value < best_value):
                best_size, best_value = size, value
            if size in (largest, rows):
                break
            for j in range(attributes):
                column, weight = columns[j], weights[j]
                code = column[best]
                for z in range(types):
                    increase[z] += weight if column[z] != code else 0.0
            best = 0
            for z in range(1, types):
                if increase[z] < increase[best]:
                    best = z
        good = best_value < limit
        for i in range(best_size if good else 0, size):
            free[cluster[i]] += 1
        if not good:
            break
        for i in range(best_size):
            found[number, i] = cluster[i]
            if free[cluster[i]] == 0:
                base[cluster[i]] = np.inf
        values[number] = best_value
        number += 1
        rows -= best_size
    return found[:number], values[:number]
