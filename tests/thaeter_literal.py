"""The algorithms of paper 001 as they are printed, in exact numbers and without any haste.

Clusters are lists of row numbers in order of creation. Where the text leaves something open, the
readings are those of the docstrings in kanopy.solvers.heuristics.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

MOST = 16
"""Rows of a table at most."""

SCALE = math.lcm(*range(1, MOST + 1))
"""Multiples of this have whole means: floating-point numbers are as exact as Python's integers."""


class Table:
    """A table of small whole numbers times SCALE, with the notions of chapter 5."""

    def __init__(self, values):
        assert len(values) <= MOST
        self.rows = [tuple(int(v) * SCALE for v in row) for row in values]

    def __len__(self):
        return len(self.rows)

    @property
    def points(self):
        """The same table for the heuristics."""
        return np.array(self.rows, dtype=np.float64)

    def part(self, rows):
        part = Table([])
        part.rows = [self.rows[i] for i in rows]
        return part

    def distance(self, a, b):
        """δ² of two vectors."""
        return sum((x - y) ** 2 for x, y in zip(a, b, strict=True))

    def between(self, i, j):
        return self.distance(self.rows[i], self.rows[j])

    def centroid(self, cluster):
        columns = zip(*(self.rows[i] for i in cluster), strict=True)
        return tuple(sum(column) // len(cluster) for column in columns)

    def cost(self, cluster):
        center = self.centroid(cluster)
        return sum(self.distance(self.rows[i], center) for i in cluster)

    def farthest(self, vector, left):
        return max(left, key=lambda i: (self.distance(self.rows[i], vector), -i))

    def nearest(self, i, left):
        """ν(x, U), the nearest of the others."""
        return min((j for j in left if j != i), key=lambda j: (self.between(i, j), j))

    def neighbourhood(self, i, left, count):
        """N_count(x, U): the row and its nearest others."""
        others = sorted((j for j in left if j != i), key=lambda j: (self.between(i, j), j))
        return [i, *others[:count]]

    def closest(self, i, clusters, rule="centroid"):
        """Number of the closest cluster by one of the three rules."""

        def measure(cluster):
            if rule == "element":
                # of equally near rows the lowest decides
                return min((self.between(i, j), j) for j in cluster)
            if rule == "cost":
                return self.cost([*cluster, i]) - self.cost(cluster)
            return self.distance(self.rows[i], self.centroid(cluster))

        return min(range(len(clusters)), key=lambda c: (measure(clusters[c]), c))

    def with_leftovers(self, clusters, left, rule="centroid"):
        chosen = {i: self.closest(i, clusters, rule) for i in left}
        return [
            [*cluster, *(i for i in left if chosen[i] == c)] for c, cluster in enumerate(clusters)
        ]


def tables(count, seed):
    """Random tiny tables and k: ties, equal rows, one column, constant columns, n < 2k, n = k."""
    rng = np.random.default_rng(seed)
    for case in range(count):
        k = int(rng.integers(2, 5))
        n = k if case % 11 == 0 else int(rng.integers(k, MOST + 1))
        values = rng.integers(0, int(rng.integers(2, 9)), size=(n, int(rng.integers(1, 4))))
        if case % 5 == 0:
            values[:, 0] = 3
        yield Table(values.tolist()), k


def labels_of(clusters, n):
    labels = np.empty(n, dtype=np.int64)
    for number, cluster in enumerate(clusters):
        labels[list(cluster)] = number
    return labels


def md(table, k, rule="centroid"):
    """Algorithm 1."""
    left = list(range(len(table)))
    clusters = []
    while len(left) >= 2 * k:
        low, high = min(
            ((i, j) for i in left for j in left if i < j),
            key=lambda pair: (-table.between(*pair), pair),
        )
        first = table.neighbourhood(high, left, k - 1)
        left = [i for i in left if i not in first]
        if low in first:
            low = table.farthest(table.rows[high], left)
        second = table.neighbourhood(low, left, k - 1)
        left = [i for i in left if i not in second]
        clusters += [first, second]
    if len(left) >= k:
        return [*clusters, left]
    return table.with_leftovers(clusters, left, rule)


def mdav(table, k):
    """Algorithm 2."""
    left = list(range(len(table)))
    clusters = []

    def take(origin):
        clusters.append(table.neighbourhood(origin, left, k - 1))
        left[:] = [i for i in left if i not in clusters[-1]]

    while len(left) >= 3 * k:
        origin = table.farthest(table.centroid(left), left)
        take(origin)
        take(table.farthest(table.rows[origin], left))
    if len(left) >= 2 * k:
        take(table.farthest(table.centroid(left), left))
    return [*clusters, left]


def v_mdav(table, k, gamma, rule="centroid"):
    """Algorithm 4, and algorithm 3 with γ = 0."""
    left = list(range(len(table)))
    middle = table.centroid(left)
    clusters = []
    while len(left) >= k:
        cluster = table.neighbourhood(table.farthest(middle, left), left, k - 1)
        left = [i for i in left if i not in cluster]
        while gamma > 0 and left and len(cluster) < 2 * k - 1:
            inner = min(left, key=lambda i: (min(table.between(i, j) for j in cluster), i))
            near = min(table.between(inner, j) for j in cluster)
            if len(left) > 1:
                outer = table.between(inner, table.nearest(inner, left))
                if not near < gamma * outer:
                    break
            cluster = [*cluster, inner]
            left = [i for i in left if i != inner]
        clusters.append(cluster)
    return table.with_leftovers(clusters, left, rule)


def mdav_star(table, k, gamma=1, second=False, rule="centroid"):
    """Algorithm 5, and algorithm 6 with the second criterion."""
    left = list(range(len(table)))
    middle = table.centroid(left)
    clusters = []
    while len(left) >= k:
        origin = table.farthest(middle, left)
        new = table.neighbourhood(origin, left, k - 1)
        if clusters and len(left) > k:
            close = table.closest(origin, clusters, rule)
            cluster = clusters[close]
            neighbour = table.nearest(origin, left)
            rest = [i for i in left if i != origin]
            other = table.neighbourhood(neighbour, rest, k - 1)
            cost_new = Fraction(table.cost(new), k)
            extended = table.cost([*cluster, origin]) - table.cost(cluster)
            both = table.cost([*cluster, origin, neighbour]) - table.cost(cluster)
            extend = Fraction(extended + table.cost(other), k + 1) < gamma * cost_new
            if extend or (second and Fraction(both, 2) < cost_new):
                cluster.append(origin)
                left = rest
                continue
        clusters.append(new)
        left = [i for i in left if i not in new]
    return table.with_leftovers(clusters, left, rule)


def split(table, cluster, method):
    """Parts of a cluster by another algorithm on its rows alone."""
    rows = sorted(cluster)
    return [[rows[i] for i in part] for part in method(table.part(rows))]


def targets_of(table, clusters, number):
    """Nearest other centroid of each row of a cluster, empty clusters aside."""
    centers = {
        c: table.centroid(cluster) for c, cluster in enumerate(clusters) if cluster and c != number
    }
    return {
        i: min(centers, key=lambda c: (table.distance(table.rows[i], centers[c]), c))
        for i in sorted(clusters[number])
    }


def try_dissolve(table, clusters, number):
    """Algorithm 16 without the split: the clusters that grew, or None."""
    target = targets_of(table, clusters, number)
    grown = {
        c: [*clusters[c], *(i for i in clusters[number] if target[i] == c)]
        for c in dict.fromkeys(target.values())
    }
    keep = table.cost(clusters[number]) + sum(table.cost(clusters[c]) for c in grown)
    if not keep > sum(table.cost(cluster) for cluster in grown.values()):
        return None
    for c, cluster in grown.items():
        clusters[c] = cluster
    clusters[number] = []
    return list(grown)


def ona_star(table, k, initial, rounds=30):
    """Algorithms 15 to 17; clusters and rounds."""
    clusters = [sorted(cluster) for cluster in initial]
    for c in range(len(clusters)):
        if len(clusters[c]) >= 2 * k:
            clusters[c], *more = split(table, clusters[c], lambda part: v_mdav(part, k, 0))
            clusters += more

    def split_large(c):
        if len(clusters[c]) >= 2 * k:
            clusters[c], *more = split(table, clusters[c], lambda part: mdav_star(part, k))
            clusters.extend(more)

    for count in range(rounds):
        changed = False
        c = 0
        while c < len(clusters):
            if len(clusters[c]) == k and sum(map(bool, clusters)) > 1:
                grown = try_dissolve(table, clusters, c)
                if grown is not None:
                    changed = True
                    for g in grown:
                        split_large(g)
            c += 1
        c = 0
        while c < len(clusters):
            while len(clusters[c]) > k and sum(map(bool, clusters)) > 1:
                target = targets_of(table, clusters, c)

                def improvement(i, c=c, target=target):
                    own = [j for j in clusters[c] if j != i]
                    other = clusters[target[i]]
                    saved = table.cost(clusters[c]) - table.cost(own)
                    return saved - (table.cost([*other, i]) - table.cost(other))

                best = max(clusters[c], key=lambda i: (improvement(i), -i))
                if improvement(best) <= 0:
                    break
                changed = True
                clusters[c] = [i for i in clusters[c] if i != best]
                clusters[target[best]] = [*clusters[target[best]], best]
                split_large(target[best])
            c += 1
        if not changed:
            return [cluster for cluster in clusters if cluster], count
    return [cluster for cluster in clusters if cluster], rounds


def random_start(n, k, rng):
    """⌊n/k⌋ clusters of nearly equal size, shuffled after Fisher and Yates."""
    labels = np.arange(n) % max(1, n // k)
    for i in range(n - 1, 0, -1):
        j = int(rng.integers(0, i + 1))
        labels[i], labels[j] = labels[j], labels[i]
    return [np.flatnonzero(labels == c).tolist() for c in range(labels.max() + 1)]


def ona(table, k, rng, rounds=30):
    """Algorithm 14; a nested ONA has 10 rounds and does not split."""
    return _ona(table, k, random_start(len(table), k, rng), rng, rounds, True)


def _ona(table, k, clusters, rng, rounds, may_split):
    for _ in range(rounds):
        changed = False
        for i in range(len(table)):
            c = next(number for number, cluster in enumerate(clusters) if i in cluster)
            grown = []
            if len(clusters[c]) > k:
                own = table.centroid([j for j in clusters[c] if j != i])
                if sum(map(bool, clusters)) > 1:
                    target = targets_of(table, clusters, c)[i]
                    goal = table.centroid(clusters[target])
                    if table.distance(table.rows[i], goal) < table.distance(table.rows[i], own):
                        clusters[c] = [j for j in clusters[c] if j != i]
                        clusters[target] = [*clusters[target], i]
                        grown = [target]
            elif sum(map(bool, clusters)) > 1:
                grown = try_dissolve(table, clusters, c) or []
            changed |= bool(grown)
            for g in grown:
                if may_split and len(clusters[g]) >= 2 * k:
                    rows = sorted(clusters[g])
                    part = table.part(rows)
                    start = random_start(len(rows), k, rng)
                    parts = _ona(part, k, start, rng, 10, False)
                    clusters[g], *more = [[rows[j] for j in part] for part in parts]
                    clusters.extend(more)
        if not changed:
            break
    return [cluster for cluster in clusters if cluster]


def lloyd(table, owner, rounds):
    """Algorithm 8 from a first assignment, until nothing changes."""
    owner = list(owner)
    for _ in range(rounds):
        numbers = sorted(set(owner))
        centers = {c: table.centroid([i for i, o in enumerate(owner) if o == c]) for c in numbers}
        new = [
            min(centers, key=lambda c: (table.distance(row, centers[c]), c)) for row in table.rows
        ]
        if new == owner:
            break
        owner = new
    return owner


def merge(table, clusters, k):
    """Algorithm 12."""
    clusters = [list(cluster) for cluster in clusters]
    while any(0 < len(cluster) < k for cluster in clusters):
        for c in range(len(clusters)):
            if 0 < len(clusters[c]) < k:
                center = table.centroid(clusters[c])
                other = min(
                    (o for o in range(len(clusters)) if o != c and clusters[o]),
                    key=lambda o: (table.distance(center, table.centroid(clusters[o])), o),
                )
                clusters[c] += clusters[other]
                clusters[other] = []
    return [cluster for cluster in clusters if cluster]
