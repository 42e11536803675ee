r"""Weights of pairs of rows and costs of clusters, as the papers' partition models define them.

They restate the cluster costs literally, pair by pair, for the small instances that models are
built for:

- ``sse``: Σ_{i<l∈C} (a_i − a_l)² / \|C\| (002, eq. 8; proposition 3.1 shows that it is Σ(a_i − ā)²)
- ``hamming``: Σ_{i<l∈C} w_il (000, 4.2)
- ``range``: \|C\| Σ_j w_j loss_j(C) (003, eq. 34 and definition 8)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kanopy.instances.errors import KanopyError, unknown
from kanopy.instances.microdata import Microdata

COSTS = {"sse": ("numeric",), "hamming": ("nominal",), "range": ("numeric", "nominal", "mixed")}


def hamming_distances(data: Microdata) -> NDArray[np.float64]:
    """The matrix w_il = Σ_j w_j [x_ij ≠ x_lj] (000, definition 1.1.6)."""
    differ = data.codes[:, None, :] != data.codes[None, :, :]
    return np.asarray(differ @ data.nominal_weights)


def squared_distances(data: Microdata) -> NDArray[np.float64]:
    """The matrix (a_i − a_l)² of squared distances, weights included."""
    return np.asarray(((data.points[:, None, :] - data.points[None, :, :]) ** 2).sum(axis=2))


def cluster_costs(
    data: Microdata, clusters: Sequence[Sequence[int]], cost: str
) -> NDArray[np.float64]:
    """Cost of each cluster of rows; rows may be repeated.

    >>> import pandas as pd
    >>> data = Microdata.from_frame(pd.DataFrame({"a": [0.0, 2.0, 5.0, 6.0]}), standardize=False)
    >>> cluster_costs(data, [(0, 1), (2, 3), (0, 0)], "sse").tolist()
    [2.0, 0.5, 0.0]
    """
    if cost not in COSTS:
        raise unknown("cost", cost, COSTS)
    if data.kind not in COSTS[cost]:
        raise KanopyError(
            f"cost {cost!r} needs {' or '.join(COSTS[cost])} quasi-identifiers, these are "
            f"{data.kind}"
        )
    members = [np.asarray(cluster, dtype=np.int64) for cluster in clusters]
    if cost == "range":
        return np.array([len(rows) * _loss(data, rows) for rows in members])
    pairs = squared_distances(data) if cost == "sse" else hamming_distances(data)
    sums = np.array([pairs[np.ix_(rows, rows)].sum() / 2 for rows in members])
    return sums / np.array([len(rows) for rows in members]) if cost == "sse" else sums


def checked_duals(duals: ArrayLike, n: int) -> NDArray[np.float64]:
    """One finite number per row, or an error."""
    given = np.asarray(duals, dtype=np.float64)
    if given.shape != (n,) or not np.isfinite(given).all():
        raise KanopyError(f"duals must be {n} numbers, one per row; their shape is {given.shape}")
    return given


def checked_cluster(rows: ArrayLike, allowed: Sequence[int]) -> list[int]:
    """Distinct rows of those that a model knows, sorted."""
    cluster = sorted(int(row) for row in np.asarray(rows).ravel())
    if len(set(cluster)) < len(cluster) or not set(cluster) <= set(allowed):
        raise KanopyError("a cluster must be distinct rows of the model")
    return cluster


def _loss(data: Microdata, rows: NDArray[np.int64]) -> float:
    widths = np.where(data.upper > data.lower, data.upper - data.lower, 1.0)
    numeric = np.ptp(data.X[rows], axis=0) / widths
    distinct = np.array([len(np.unique(column)) for column in data.codes[rows].T], dtype=np.int64)
    nominal = (distinct - 1) / data.domain_sizes
    return float(data.numeric_weights @ numeric + data.nominal_weights @ nominal)
