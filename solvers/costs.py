r"""The cluster costs, each the sum over clusters of a cost that grows when a row joins.

All are monotone (a further row never lowers a cluster's cost) and super-additive (splitting a
cluster never raises the total), so clusters of k … 2k−1 rows suffice for an optimum.

========== ==================================================================== =================
name       cost of a cluster C                                                  source
========== ==================================================================== =================
sse        Σ_{i∈C} Σ_j w_j (x_ij − mean_j)²                                     001, def. 2.13
hamming    Σ_{pairs i,l∈C} Σ_j w_j [x_ij ≠ x_lj]                                000, 4.1
range      \|C\| Σ_j w_j loss_j(C), loss = (max−min)/(U−L) for numbers and       003, eq. 34 and
           (distinct values − 1)/\|domain\| for categories                        definition 8
========== ==================================================================== =================
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from kanopy.instances.arguments import is_known
from kanopy.instances.errors import KanopyError, unknown
from kanopy.instances.merge import merge_rows
from kanopy.instances.microdata import Microdata
from kanopy.instances.tables import ControlTables

CLUSTER_COSTS: dict[str, tuple[str, ...]] = {
    "sse": ("numeric",),
    "hamming": ("nominal",),
    "range": ("numeric", "nominal", "mixed"),
}
"""Each cluster cost and the kinds of data it is defined on."""

FREQUENCY_COSTS = ("max-error", "chi2")
"""Costs of a frequency vector against control tables; see :func:`frequency_cost`."""

ClusterCost = Callable[[Microdata, NDArray[np.int64]], float]
"""Cost of the cluster of these rows."""

_ADDED: dict[str, ClusterCost] = {}

_DEFAULT = {"numeric": "sse", "nominal": "hamming", "mixed": "range"}


def register_cost(name: str, *, kinds: tuple[str, ...]) -> Callable[[ClusterCost], ClusterCost]:
    """Register the decorated function ``(data, rows) -> float`` as a further cluster cost.

    Only methods that name it among their costs can minimise it. It must be monotone and
    super-additive, as the others are, for clusters of k … 2k−1 rows to suffice; nothing here
    checks that.
    """

    def add(function: ClusterCost) -> ClusterCost:
        if name in FREQUENCY_COSTS or (name in CLUSTER_COSTS and name not in _ADDED):
            raise KanopyError(f"cost {name!r} is taken; choose another name")
        CLUSTER_COSTS[name] = kinds
        _ADDED[name] = function
        return function

    return add


def refuse_added(cost: str, what: str) -> None:
    """Raise for a cost that was added from outside, of which ``what`` knows no formula."""
    if cost in _ADDED:
        raise KanopyError(f"{what} know nothing of the added cost {cost!r}; leave them out")


def added_cost(data: Microdata, labels: NDArray[np.integer], cost: str) -> NDArray[np.float64]:
    """What :func:`register_cost` was given for each cluster of a partition."""
    clusters = range(int(labels.max()) + 1)
    return np.array([_ADDED[cost](data, np.flatnonzero(labels == c)) for c in clusters])


def default_cost(data: Microdata) -> str:
    """The cost used when none is named: ``sse``, ``hamming`` or ``range`` by kind of data."""
    return _DEFAULT[data.kind]


def check_cost(data: Microdata, cost: str) -> None:
    """Raise unless the cost exists and is defined on this kind of data."""
    if not is_known(cost, CLUSTER_COSTS):
        raise unknown("cost", cost, CLUSTER_COSTS)
    if data.kind not in CLUSTER_COSTS[cost]:
        fitting = [name for name, kinds in CLUSTER_COSTS.items() if data.kind in kinds]
        raise KanopyError(
            f"cost {cost!r} needs {' or '.join(CLUSTER_COSTS[cost])} quasi-identifiers, these are "
            f"{data.kind}; choose {' or '.join(fitting)}, or other columns in from_frame"
        )


def total_cost(data: Microdata, labels: NDArray[np.integer], cost: str) -> float:
    """Cost of a partition."""
    return float(cluster_costs(data, labels, cost).sum())


def cluster_costs(data: Microdata, labels: NDArray[np.integer], cost: str) -> NDArray[np.float64]:
    """Cost of each cluster, for labels 0, 1, 2 and so on.

    >>> import pandas as pd
    >>> data = Microdata.from_frame(pd.DataFrame({"a": [0.0, 2.0, 5.0, 6.0]}), standardize=False)
    >>> cluster_costs(data, np.array([0, 0, 1, 1]), "sse").tolist()
    [2.0, 0.5]
    """
    if cost in _ADDED:
        return added_cost(data, labels, cost)
    sizes = np.bincount(labels)
    if cost == "sse":
        return _sse(data, labels, sizes)
    if cost == "hamming":
        return _hamming(data, labels, sizes)
    return sizes * _range_loss(data, labels, sizes)


def freeform_cost(data: Microdata, matches: NDArray[np.integer]) -> float:
    """Generalisation loss where row i covers the rows ``matches[i]``: ``range``, row by row.

    >>> import pandas as pd
    >>> data = Microdata.from_frame(pd.DataFrame({"a": [0, 1, 4]}), standardize=False)
    >>> freeform_cost(data, np.array([[0, 1], [1, 2], [2, 0]]))
    2.0
    """
    total = 0.0
    widths = data.upper - data.lower
    for column, width, weight in zip(data.X.T, widths, data.numeric_weights, strict=True):
        if width > 0:
            covered = column[matches]
            total += weight * float((covered.max(axis=1) - covered.min(axis=1)).sum()) / width
    for column, domain, weight in zip(
        data.codes.T, data.domain_sizes, data.nominal_weights, strict=True
    ):
        further = np.diff(np.sort(column[matches], axis=1), axis=1) != 0
        total += weight * float(further.sum()) / domain
    return float(total)


def frequency_cost(
    control: ControlTables,
    counts: NDArray[np.integer],
    original: NDArray[np.integer],
    cost: str,
    tolerance: NDArray[np.float64] | None = None,
    deviation_weight: float = 0.0,
) -> float:
    r"""Cost of a frequency vector y in place of y⁰, with cell errors b = A y⁰ − A y.

    ``max-error``: max_t (\|b_t\| − g_t) + w Σ_i \|y_i − y⁰_i\| (000, eq. 2.1.1; with w > 0 the
    modified objective of 3.2). ``chi2``: Σ_t b_t² / (A y⁰)_t + w Σ_i \|y_i − y⁰_i\| (eq. 5.6.1).
    """
    before = control.values(original)
    errors = np.abs(before - control.values(counts)).astype(np.float64)
    deviation = deviation_weight * float(np.abs(counts - original).sum())
    if cost == "max-error":
        allowed = 0.0 if tolerance is None else tolerance
        return float(np.max(errors - allowed)) + deviation
    return float(np.sum(errors**2 / before)) + deviation


def _sse(
    data: Microdata, labels: NDArray[np.integer], sizes: NDArray[np.int64]
) -> NDArray[np.float64]:
    costs = np.zeros(len(sizes))
    some = np.empty(len(sizes))
    for values, weight in zip(data.X.T, data.numeric_weights, strict=True):
        some[labels] = values  # from one of the cluster's values: far from 0, means are rounded
        column = values - some[labels]
        mean = np.bincount(labels, weights=column) / np.maximum(sizes, 1)
        costs += weight * np.bincount(labels, weights=(column - mean[labels]) ** 2)
    return costs


def _hamming(
    data: Microdata, labels: NDArray[np.integer], sizes: NDArray[np.int64]
) -> NDArray[np.float64]:
    costs = np.zeros(len(sizes))
    for column, weight in zip(data.codes.T, data.nominal_weights, strict=True):
        first, _, counts = merge_rows([labels, column])
        equal_ordered_pairs = np.bincount(
            labels[first], weights=counts.astype(np.float64) ** 2, minlength=len(sizes)
        )
        costs += weight * (sizes.astype(np.float64) ** 2 - equal_ordered_pairs) / 2
    return costs


def _range_loss(
    data: Microdata, labels: NDArray[np.integer], sizes: NDArray[np.int64]
) -> NDArray[np.float64]:
    loss = np.zeros(len(sizes))
    widths = data.upper - data.lower
    for column, width, weight in zip(data.X.T, widths, data.numeric_weights, strict=True):
        if width == 0:  # a constant column loses nothing
            continue
        low = np.full(len(sizes), np.inf)
        high = np.full(len(sizes), -np.inf)
        np.minimum.at(low, labels, column)
        np.maximum.at(high, labels, column)
        loss += weight * np.where(sizes > 0, high - low, 0.0) / width
    for column, domain, weight in zip(
        data.codes.T, data.domain_sizes, data.nominal_weights, strict=True
    ):
        first, _, _ = merge_rows([labels, column])
        distinct = np.bincount(labels[first], minlength=len(sizes))
        loss += weight * np.maximum(distinct - 1, 0) / domain
    return loss
