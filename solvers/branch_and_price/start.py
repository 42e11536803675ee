"""Where the search starts: a partition as clusters of types, first columns, first artificials."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kanopy.instances.microdata import Microdata
from kanopy.solvers.branch_and_price.pricing import (
    Cuts,
    Duals,
    Priced,
    Pricer,
    Restrictions,
    Search,
)
from kanopy.solvers.links import Links

POLL = 1000
"""Clusters between two looks at the clock."""


def clusters_of(labels: NDArray[np.int64], types: NDArray[np.int64]) -> list[NDArray[np.int32]]:
    """The clusters of a partition as multisets of types.

    >>> [c.tolist() for c in clusters_of(np.array([0, 1, 0, 1]), np.array([2, 0, 2, 1]))]
    [[2, 2], [0, 1]]
    """
    order = np.lexsort((types, labels))
    ends = np.cumsum(np.bincount(labels))[:-1]
    return [part.astype(np.int32) for part in np.split(types[order], ends)]


def labels_of(clusters: NDArray[np.int32], types: NDArray[np.int64]) -> NDArray[np.int64]:
    """Labels of rows for a partition given as multisets of types, padded by −1.

    >>> labels_of(np.array([[2, 2], [0, 1]], dtype=np.int32), np.array([2, 0, 2, 1])).tolist()
    [0, 1, 0, 1]
    """
    rows_by_type = np.argsort(types, kind="stable")
    inside = clusters >= 0
    cluster_of = np.repeat(np.arange(len(clusters)), inside.sum(axis=1))
    by_type = np.argsort(clusters[inside], kind="stable")
    labels = np.empty(len(types), dtype=np.int64)
    labels[rows_by_type] = cluster_of[by_type]
    return labels


def padded(clusters: list[NDArray[np.int32]], width: int) -> NDArray[np.int32]:
    """Clusters of at most ``width`` types as rows padded by −1; larger ones are left out."""
    fitting = [cluster for cluster in clusters if len(cluster) <= width]
    rows = np.full((len(fitting), width), -1, dtype=np.int32)
    for row, cluster in zip(rows, fitting, strict=True):
        row[: len(cluster)] = cluster
    return rows


def with_start(
    clusters: NDArray[np.int32], partition: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Clusters (rows sorted) with those of a partition appended if missing, and its point."""
    known = {row.tobytes(): i for i, row in enumerate(clusters)}
    missing: list[NDArray[np.int32]] = []
    used: list[int] = []
    for row in partition:
        place = known.setdefault(row.tobytes(), len(clusters) + len(missing))
        if place == len(clusters) + len(missing):
            missing.append(row)
        used.append(place)
    pool = np.concatenate([clusters, np.array(missing, dtype=np.int32)]) if missing else clusters
    return pool, np.bincount(np.array(used, dtype=np.int64), minlength=len(pool)).astype(np.float64)


def split_large(labels: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Cut clusters of 2k or more rows into smaller ones, which never costs anything.

    >>> split_large(np.array([0, 0, 0, 0, 0, 1, 1]), 2).tolist()
    [0, 0, 2, 2, 2, 1, 1]
    """
    labels = labels.copy()
    fresh = int(labels.max()) + 1
    for cluster in np.flatnonzero(np.bincount(labels) >= 2 * k):
        rows = np.flatnonzero(labels == cluster)
        parts = len(rows) // k
        for part in range(1, parts):
            end = (part + 1) * k if part < parts - 1 else len(rows)
            labels[rows[part * k : end]] = fresh
            fresh += 1
    return labels


def marginal_costs(
    pricer: Pricer, clusters: list[NDArray[np.int32]], stopping: Callable[[], bool] = lambda: False
) -> NDArray[np.float64]:
    """What each type adds to the cost of its cluster at most: a first guess of its dual.

    When stopped, the guess for the remaining clusters is 0.
    """
    marginal = np.zeros(len(pricer.multiplicities))
    for number, cluster in enumerate(clusters):
        if number % POLL == 0 and stopping():
            break
        types, where = np.unique(cluster, return_index=True)
        whole = pricer.cost(cluster)
        for t, i in zip(types.tolist(), where.tolist(), strict=True):
            marginal[t] = max(marginal[t], whole - pricer.cost(np.delete(cluster, i)))
    return marginal


def first_columns(
    pricer: Pricer, marginal: NDArray[np.float64], quick: Search, links: Restrictions
) -> Priced:
    """Clusters that would pay if every type's dual were its marginal cost."""
    return pricer.price(Duals(marginal), Cuts(), links, quick)


def pure_clusters(multiplicities: NDArray[np.int64], k: int, largest: int) -> NDArray[np.int32]:
    """Clusters of one type only, of every size that its rows can fill; they cost nothing.

    >>> pure_clusters(np.array([1, 3]), 2, 3).tolist()
    [[1, 1, -1], [1, 1, 1]]
    """
    parts = [np.empty((0, largest), dtype=np.int32)]
    for size in range(k, largest + 1):
        rich = np.flatnonzero(multiplicities >= size).astype(np.int32)
        part = np.full((len(rich), largest), -1, dtype=np.int32)
        part[:, :size] = rich[:, None]
        parts.append(part)
    return np.concatenate(parts)


def link_types(links: Links, types: NDArray[np.int64]) -> Restrictions:
    """Pairs of rows as pairs of their types, which must be single."""
    return Restrictions(
        apart=tuple((int(types[a]), int(types[b])) for a, b in links.cannot),
        together=tuple((int(types[a]), int(types[b])) for a, b in links.must),
    )


class Unmerged(Microdata):
    """The same table with every row a type of its own, for branching on pairs of rows."""

    @property
    def _merged(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        rows = np.arange(self.n, dtype=np.int64)
        return rows, rows, np.ones(self.n, dtype=np.int64)


def unmerged(data: Microdata) -> Microdata:
    """``data`` with identical rows told apart.

    >>> import pandas as pd
    >>> data = Microdata.from_frame(pd.DataFrame({"a": [1.0, 1.0]}), standardize=False)
    >>> data.counts.tolist(), unmerged(data).counts.tolist()
    ([2], [1, 1])
    """
    fields = {name: getattr(data, name) for name in Microdata.__dataclass_fields__}
    return Unmerged(**fields)


def told_apart(data: Microdata, rows: NDArray[np.int64]) -> Microdata:
    """``data`` with each of these rows a type of its own; the others stay merged.

    >>> import pandas as pd
    >>> data = Microdata.from_frame(pd.DataFrame({"a": [1.0, 1.0, 1.0]}), standardize=False)
    >>> told_apart(data, np.array([1])).types.tolist()
    [0, 1, 0]
    """
    keys = data.types.copy()
    keys[rows] = len(data.counts) + np.arange(len(rows))
    _, first, types, counts = np.unique(
        keys, return_index=True, return_inverse=True, return_counts=True
    )
    copy = replace(data)
    # where the cached property keeps what it has merged
    copy.__dict__["_merged"] = tuple(a.astype(np.int64) for a in (first, types, counts))
    return copy
