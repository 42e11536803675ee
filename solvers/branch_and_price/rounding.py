"""From a fractional point of the master to a partition: the two rounding heuristics of 002, 5.2.

*SimpleRounding* takes columns by falling x as long as they are disjoint from those taken and at
least 2k rows are left; the rest becomes a cluster of its own if it has k … 2k−1 rows, else each row
joins the cluster with the nearest centroid (centroids as they are before these rows join). Columns
of value 0 come last, in the order they were added; if all are used up, the same rule places the
rest.

*RoundingMST* looks at pairs by falling z_ij = Σ_{C∋i,j} x_C and joins the clusters of i and j if
they have at most max_cl rows together, for max_cl = k+1 … 2k−1; the result counts if all clusters
have k rows. The text leaves the order of equal z open: nearer pairs come first, and among tables of
more than ``ALL_PAIRS`` rows pairs with z = 0 are left out.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from kanopy.solvers.kernels.inner import kernel

ALL_PAIRS = 3000
"""Rows up to which pairs that share no column in use are looked at too."""


class Rounding:
    """Both heuristics for one table.

    >>> points = np.array([[0.0], [1.0], [5.0], [6.0]])
    >>> rounding = Rounding(points, 2)
    >>> clusters = np.array([[0, 1, -1], [2, 3, -1], [1, 2, -1]], dtype=np.int32)
    >>> rounding.simple(clusters, np.array([0.6, 0.5, 0.5])).tolist()
    [0, 0, 1, 1]
    >>> [labels.tolist() for labels in rounding.spanning_tree(clusters, np.array([0.6, 0.6, 0.5]))]
    [[0, 0, 1, 1]]
    """

    def __init__(self, points: NDArray[np.float64], k: int) -> None:
        self.points = points
        self.k = k
        self._every = np.empty((0, 2), dtype=np.int64)
        if len(points) <= ALL_PAIRS:
            first, second = np.triu_indices(len(points), 1)
            order = np.argsort(self._distances(first, second), kind="stable")
            self._every = np.column_stack([first, second])[order]

    def simple(self, clusters: NDArray[np.int32], x: NDArray[np.float64]) -> NDArray[np.int64]:
        """SimpleRoundingHeuristic."""
        n = len(self.points)
        order = np.argsort(-x, kind="stable")
        labels: NDArray[np.int64] = _disjoint(clusters, order, n, self.k)
        left = np.flatnonzero(labels < 0)
        number = int(labels.max()) + 1
        if self.k <= len(left) < 2 * self.k or number == 0:
            labels[left] = number
            return labels
        inside = labels >= 0
        sums = np.zeros((number, self.points.shape[1]))
        np.add.at(sums, labels[inside], self.points[inside])
        centroids = sums / np.bincount(labels[inside])[:, None]
        for row in left:
            labels[row] = int(np.argmin(((centroids - self.points[row]) ** 2).sum(axis=1)))
        return labels

    def spanning_tree(
        self, clusters: NDArray[np.int32], x: NDArray[np.float64]
    ) -> Iterator[NDArray[np.int64]]:
        """RoundingMSTHeuristic: the partitions of all max_cl that have k rows in every cluster."""
        pairs = self._pairs(clusters, x)
        for most in range(self.k + 1, 2 * self.k):
            labels = np.unique(_glued(pairs, len(self.points), most), return_inverse=True)[1]
            if np.bincount(labels).min() >= self.k:
                yield labels.astype(np.int64)

    def _pairs(self, clusters: NDArray[np.int32], x: NDArray[np.float64]) -> NDArray[np.int64]:
        """Pairs by falling z, then by distance; those that share no column in use last."""
        n = len(self.points)
        used = np.flatnonzero(x > 1e-9)
        rows = clusters[used].astype(np.int64)
        first, second = np.triu_indices(rows.shape[1], 1)
        left, right = rows[:, first].ravel(), rows[:, second].ravel()
        weight = np.repeat(x[used], len(first))
        inside = (left >= 0) & (right >= 0)
        ends = np.sort(np.column_stack([left[inside], right[inside]]), axis=1)
        keys, where = np.unique(ends[:, 0] * n + ends[:, 1], return_inverse=True)
        total = np.bincount(where.ravel(), weights=weight[inside])
        pairs = np.column_stack([keys // n, keys % n])
        # sums of the same columns in another order must stay equal
        order = np.lexsort((self._distances(*pairs.T), -np.round(total, 9)))
        return np.concatenate([pairs[order], self._every])  # pairs met before join nothing new

    def _distances(
        self, first: NDArray[np.int64], second: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        total = np.zeros(len(first))
        for column in self.points.T:
            total += (column[first] - column[second]) ** 2
        return total


@kernel
def _disjoint(
    clusters: NDArray[np.int32], order: NDArray[np.int64], n: int, k: int
) -> NDArray[np.int64]:
    """Labels by columns taken in an order while 2k rows are left; −1 for the others."""
    labels = np.full(n, -1, dtype=np.int64)
    left, number = n, 0
    for c in order:
        if left < 2 * k:
            break
        free = True
        for row in clusters[c]:
            if row >= 0 and labels[row] >= 0:
                free = False
        if free:
            for row in clusters[c]:
                if row >= 0:
                    labels[row] = number
                    left -= 1
            number += 1
    return labels


@kernel
def _glued(pairs: NDArray[np.int64], n: int, most: int) -> NDArray[np.int64]:
    """The top of each row's cluster after joining along the pairs, up to so many rows a cluster."""
    parent = np.arange(n)
    size = np.ones(n, dtype=np.int64)
    for p in range(len(pairs)):
        a, b = pairs[p, 0], pairs[p, 1]
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        if a != b and size[a] + size[b] <= most:
            parent[b] = a
            size[a] += size[b]
    for row in range(n):
        top = row
        while parent[top] != top:
            top = parent[top]
        parent[row] = top
    return parent
