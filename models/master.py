r"""The master problem: set partitioning over clusters (000, eq. 4.2.1–4.3.3; 002, eq. 9).

Symbols: 𝒞 the clusters at hand, each of k to 2k−1 rows, w_C their costs, a_iC = 1 if i ∈ C::

    min   Σ_C w_C x_C                                    (4.2.1)
    s.t.  Σ_C a_iC x_C = 1           for all rows i      (4.2.2)
          x_C ∈ {0, 1}               for all C           (4.2.3)

``relaxed=True`` is the linear relaxation with x_C ≥ 0 (4.3.1–4.3.3), whose duals u_i guide column
generation. With ``rows="types"`` identical rows are merged: one constraint per distinct
combination with its count as right-hand side, clusters are multisets of combinations (given as
sorted numbers with repetitions, a_iC their multiplicity), and x_C counts how often one is used.
Both forms have the same optimum, and so do their relaxations: add up the clusters of the same
multiset in one direction, spread a multiset evenly over them in the other. ``count_cut=True``
adds Σ_C x_C ≤ ⌊n/k⌋, which every partition into clusters of at least k rows satisfies.

Components: ``use[C]`` x by number of the cluster, ``cover[i]`` (4.2.2), ``few_clusters`` (the
count cut), objective ``cost``; the relaxation has a suffix ``dual``.

>>> import pandas as pd
>>> data = Microdata.from_frame(pd.DataFrame({"a": [0.0, 2.0, 5.0, 6.0]}), standardize=False)
>>> model = master(data, 2)
>>> load_labels(model, [0, 0, 1, 1])
>>> pyo.value(model.cost)
2.5
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Literal

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike, NDArray

from kanopy.instances.errors import KanopyError, unknown
from kanopy.instances.microdata import Microdata
from kanopy.models.factory import register
from kanopy.models.pairs import cluster_costs

__all__ = ["load_labels", "master", "read_clusters", "read_duals", "read_labels"]

MOST_CLUSTERS = 200_000
_DEFAULT_COST = {"numeric": "sse", "nominal": "hamming", "mixed": "range"}


@register("master", kinds=("numeric", "nominal", "mixed"))
def master(
    data: Microdata,
    k: int,
    *,
    clusters: Sequence[Sequence[int]] | None = None,
    costs: ArrayLike | None = None,
    cost: str | None = None,
    rows: Literal["records", "types"] = "records",
    relaxed: bool = False,
    count_cut: bool = False,
) -> pyo.ConcreteModel:
    """Build the master problem.

    Parameters
    ----------
    clusters
        The clusters, as row numbers or, with ``rows="types"``, as numbers of combinations; by
        default all of k to 2k−1 rows.
    costs
        w_C of each cluster; by default computed as ``cost``.
    cost
        ``sse``, ``hamming`` or ``range``; by default what the kind of data suggests.
    rows
        One constraint per row (``"records"``) or per distinct combination (``"types"``).
    relaxed
        The linear relaxation.
    count_cut
        Add Σx ≤ ⌊n/k⌋.
    """
    if rows not in ("records", "types"):
        raise unknown("rows", rows, ("records", "types"))
    supply = np.ones(data.n, dtype=np.int64) if rows == "records" else data.counts
    row_of_record = np.arange(data.n) if rows == "records" else data.types
    some_record = np.arange(data.n) if rows == "records" else data.first_rows
    pool = _all_clusters(supply, k) if clusters is None else _checked(clusters, supply, k)
    if costs is None:
        chosen = _DEFAULT_COST[data.kind] if cost is None else cost
        price = cluster_costs(data, [some_record[list(c)].tolist() for c in pool], chosen)
    elif cost is not None:
        raise KanopyError("costs are given, so cost has no meaning; leave one of them out")
    else:
        price = np.asarray(costs, dtype=np.float64)
        if price.shape != (len(pool),) or not np.isfinite(price).all():
            raise KanopyError(f"costs must be {len(pool)} numbers, one per cluster")
    model = pyo.ConcreteModel()
    model.pool = pool
    model.row_of_record = row_of_record
    model.clusters = pyo.RangeSet(0, len(pool) - 1)
    model.rows = pyo.RangeSet(0, len(supply) - 1)
    whole = pyo.Binary if rows == "records" else pyo.NonNegativeIntegers
    model.use = pyo.Var(model.clusters, domain=pyo.NonNegativeReals if relaxed else whole)
    covering: list[list[int]] = [[] for _ in supply]
    for c, cluster in enumerate(pool):
        for i in cluster:
            covering[i].append(c)

    @model.Constraint(model.rows)
    def cover(model: pyo.ConcreteModel, i: int) -> object:
        if not covering[i]:
            return pyo.Constraint.Infeasible
        return pyo.quicksum(model.use[c] for c in covering[i]) == int(supply[i])

    if count_cut:
        model.few_clusters = pyo.Constraint(expr=pyo.quicksum(model.use.values()) <= data.n // k)
    if relaxed:
        model.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    model.cost = pyo.Objective(
        expr=pyo.quicksum(float(price[c]) * model.use[c] for c in model.clusters)
    )
    return model


def _all_clusters(supply: NDArray[np.int64], k: int) -> list[tuple[int, ...]]:
    """Every multiset of k to 2k−1 rows that the supply allows."""
    pool: list[tuple[int, ...]] = []
    total = int(supply.sum())
    for size in range(k, min(2 * k - 1, total) + 1):
        for cluster in _multisets(supply, size):
            pool.append(cluster)
            if len(pool) > MOST_CLUSTERS:
                raise KanopyError(
                    f"{total} rows have more than {MOST_CLUSTERS} clusters of {k} to "
                    f"{2 * k - 1}; give the ones you want as clusters"
                )
    return pool


def _multisets(supply: NDArray[np.int64], size: int) -> Iterator[tuple[int, ...]]:
    if supply.max() == 1:
        yield from combinations(range(len(supply)), size)
        return
    count = supply.tolist()

    def extend(start: int, left: int) -> Iterator[tuple[int, ...]]:
        if left == 0:
            yield ()
            return
        for i in range(start, len(count)):
            for times in range(1, min(left, count[i]) + 1):
                for tail in extend(i + 1, left - times):
                    yield (i,) * times + tail

    yield from extend(0, size)


def _checked(
    clusters: Iterable[Sequence[int]], supply: NDArray[np.int64], k: int
) -> list[tuple[int, ...]]:
    pool = [tuple(sorted(int(i) for i in cluster)) for cluster in clusters]
    if not pool:
        raise KanopyError("clusters is empty; a partition needs at least one")
    for number, cluster in enumerate(pool):
        if not cluster or cluster[0] < 0 or cluster[-1] >= len(supply):
            raise KanopyError(f"cluster {number} names rows outside 0 … {len(supply) - 1}, or none")
        if len(cluster) < k:
            raise KanopyError(f"cluster {number} has {len(cluster)} rows, k = {k}; give k or more")
        if np.any(np.bincount(cluster, minlength=len(supply)) > supply):
            raise KanopyError(f"cluster {number} uses a row more often than it occurs")
    return pool


def read_clusters(model: pyo.ConcreteModel) -> list[tuple[int, ...]]:
    """The clusters of an integer solution, repeated as often as they are used."""
    times = [round(pyo.value(model.use[c])) for c in model.clusters]
    return [cluster for cluster, t in zip(model.pool, times, strict=True) for _ in range(t)]


def read_labels(model: pyo.ConcreteModel) -> NDArray[np.int64]:
    """Labels of an integer solution; identical rows are dealt out in their order."""
    waiting: dict[int, list[int]] = {}
    for record, row in enumerate(model.row_of_record.tolist()):
        waiting.setdefault(row, []).append(record)
    labels = np.empty(len(model.row_of_record), dtype=np.int64)
    for number, cluster in enumerate(read_clusters(model)):
        for row in cluster:
            labels[waiting[row].pop(0)] = number
    return labels


def read_duals(model: pyo.ConcreteModel) -> tuple[NDArray[np.float64], float]:
    """Duals u of the rows and of the count cut (0 without it) of a solved relaxation.

    In a minimisation the reduced cost of a cluster is w_C − Σ_{i∈C} u_i − (dual of the cut), and
    the dual of the cut is ≤ 0.
    """
    duals = np.array([model.dual[model.cover[i]] for i in model.rows], dtype=np.float64)
    cut = model.component("few_clusters")
    return duals, 0.0 if cut is None else float(model.dual[cut])


def load_labels(model: pyo.ConcreteModel, labels: ArrayLike) -> None:
    """Use the clusters of a partition, which must all be at hand."""
    given = np.asarray(labels)
    number_of = {cluster: c for c, cluster in enumerate(model.pool)}
    model.use.set_values(dict.fromkeys(model.clusters, 0))
    for label in np.unique(given):
        cluster = tuple(sorted(model.row_of_record[given == label].tolist()))
        if cluster not in number_of:
            raise KanopyError(f"the model has no variable for the cluster labelled {label}")
        c = number_of[cluster]
        model.use[c].set_value(pyo.value(model.use[c]) + 1)
