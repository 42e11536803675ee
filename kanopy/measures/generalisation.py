"""Loss of generalised tables: NCP, GCP, generalisation loss, Total-IL (001, 3.2; 003).

Every measure here is a sum over rows and columns of a penalty between 0 and 1 that a row shares
with its whole cluster. The penalties, one function each, return one number per row; the totals
choose among them by column: a column of numbers (by dtype) is generalised to the range of its
cluster, any other to the cluster's set of values or, if it has a hierarchy, to the closest common
ancestor. Make a column of category numbers nominal with
``astype(object)`` or ``astype("category")``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from kanopy.instances.errors import KanopyError
from kanopy.instances.hierarchy import Hierarchy
from kanopy.instances.merge import merge_rows
from kanopy.measures import checks
from kanopy.measures.checks import Table, Weights

Domain = tuple[float, float] | int
"""Least and greatest permissible number, or how many values a nominal column may take."""

_ANY = object()  # root of a flat tree; equals no value of any column


def ncp_range(
    column: ArrayLike, labels: ArrayLike, lower: float | None = None, upper: float | None = None
) -> NDArray[np.float64]:
    """Penalty of numbers: (max − min in the cluster) / (U − L) per row (003, eq. 2; 001, def. 3.8).

    L and U default to the column's own least and greatest value, as 001 has it; a column with
    U = L loses nothing.

    >>> ncp_range([0, 4, 6, 8], [0, 0, 1, 1]).tolist()
    [0.5, 0.5, 0.25, 0.25]
    """
    values = checks.vector(column, "column")
    cluster = checks.clusters(labels, len(values))
    low = values.min() if lower is None else float(lower)
    high = values.max() if upper is None else float(upper)
    if not (low <= values.min() and values.max() <= high):
        raise KanopyError("the domain does not cover the column; widen it")
    with np.errstate(over="ignore"):
        width = checks.finite(high - low, "the width of the domain")
    if width == 0:
        return np.zeros(len(values))
    least = np.full(cluster.max() + 1, np.inf)
    greatest = np.full(cluster.max() + 1, -np.inf)
    np.minimum.at(least, cluster, values)
    np.maximum.at(greatest, cluster, values)
    return np.asarray((greatest - least)[cluster] / width)


def ncp_values(
    column: ArrayLike | pd.Series, labels: ArrayLike, domain_size: int | None = None
) -> NDArray[np.float64]:
    """Penalty of value sets: (distinct values in the cluster − 1) / |domain| per row (003, def. 8).

    The domain defaults to the values that occur. Its worst case is 1 − 1/|domain|, not 1.

    >>> ncp_values(["a", "b", "c", "c"], [0, 0, 1, 1], domain_size=4).tolist()
    [0.25, 0.25, 0.0, 0.0]
    """
    (code,) = (checks.codes(values, name) for name, values in _single(column).items())
    cluster = checks.clusters(labels, len(code))
    occurring = int(code.max()) + 1
    size = occurring if domain_size is None else checks.at_least(domain_size, 1, "domain_size")
    if size < occurring:
        raise KanopyError(f"domain_size = {size}, but {occurring} values occur")
    first = merge_rows([cluster, code])[0]
    return np.asarray((np.bincount(cluster[first]) - 1)[cluster] / size)


def ncp_hierarchy(
    column: ArrayLike | pd.Series, labels: ArrayLike, hierarchy: Hierarchy
) -> NDArray[np.float64]:
    """Penalty of a tree: size of the cluster's closest common ancestor / leaves (001, def. 3.8).

    The size of a node is the number of leaves below it, 0 for a leaf (001, def. 3.5).

    >>> tree = Hierarchy.from_paths([("dentist", "medic", "any"), ("surgeon", "medic", "any"),
    ...                              ("baker", "craft", "any"), ("painter", "craft", "any")])
    >>> ncp_hierarchy(["dentist", "surgeon", "baker", "baker"], [0, 0, 1, 1], tree).tolist()
    [0.5, 0.5, 0.0, 0.0]
    """
    leaves = len(hierarchy.leaves)
    return _by_ancestor(column, labels, hierarchy, lambda node: hierarchy.size(node) / leaves)


def height_loss(
    column: ArrayLike | pd.Series, labels: ArrayLike, hierarchy: Hierarchy
) -> NDArray[np.float64]:
    """Penalty of a tree in Total-IL: height of the closest common ancestor / height of the tree.

    See 001, end of section 3.2.

    >>> tree = Hierarchy.from_paths([("dentist", "medic", "any"), ("surgeon", "medic", "any"),
    ...                              ("baker", "craft", "any")])
    >>> height_loss(["dentist", "surgeon", "baker", "surgeon"], [0, 0, 1, 1], tree).tolist()
    [0.5, 0.5, 1.0, 1.0]
    """
    height = hierarchy.height(hierarchy.root)
    return _by_ancestor(column, labels, hierarchy, lambda node: hierarchy.height(node) / height)


def generalisation_loss(
    table: Table,
    labels: ArrayLike,
    *,
    domains: Mapping[str, Domain] | None = None,
    weights: Weights | None = None,
) -> float:
    """Generalisation loss D = Σ_i Σ_j w_j·D_ij (003, definition 4, eq. 21 and 34).

    D_ij is :func:`ncp_range` for numbers and :func:`ncp_values` for the rest (003, definition 8).
    Weights default to 1 (eq. 21); 003 asks that they add up to 1 (eq. 35), which is not enforced.

    >>> generalisation_loss({"age": [0, 4, 6, 8]}, [0, 0, 1, 1], weights=[0.5])
    0.75
    """
    return float(_penalties(table, labels, domains, {}, weights, ncp_hierarchy).sum())


def ncp(
    table: Table,
    labels: ArrayLike,
    *,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    domains: Mapping[str, Domain] | None = None,
    weights: Weights | None = None,
) -> float:
    """Normalised certainty penalty NCP(X) = Σ_i Σ_j w_j·NCP_j(x_i) (001, definition 3.8).

    Columns with a hierarchy pay :func:`ncp_hierarchy`, numbers :func:`ncp_range`. 001 has a tree
    for every category; a nominal column without one pays :func:`ncp_values`.

    >>> ncp({"age": [0, 4, 6, 8], "sex": list("ffmm")}, [0, 0, 1, 1])
    1.5
    """
    penalties = _penalties(table, labels, domains, hierarchies or {}, weights, ncp_hierarchy)
    return float(penalties.sum())


def gcp(
    table: Table, labels: ArrayLike, *, domains: Mapping[str, Domain] | None = None
) -> NDArray[np.float64]:
    """Global certainty penalty of each record, Σ_j NCP(x'_ij) unweighted (003, definition 9).

    >>> gcp({"age": [0, 4, 6, 8], "sex": list("fmmm")}, [0, 0, 1, 1]).tolist()
    [1.0, 1.0, 0.25, 0.25]
    """
    return _penalties(table, labels, domains, {}, None, ncp_hierarchy)


def total_gcp(
    table: Table, labels: ArrayLike, *, domains: Mapping[str, Domain] | None = None
) -> float:
    """Sum of the records' global certainty penalties (003, eq. 40).

    >>> total_gcp({"age": [0, 4, 6, 8], "sex": list("fmmm")}, [0, 0, 1, 1])
    2.5
    """
    return float(gcp(table, labels, domains=domains).sum())


def total_information_loss(
    table: Table,
    labels: ArrayLike,
    *,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    domains: Mapping[str, Domain] | None = None,
) -> float:
    """Total-IL, the unweighted sum of range and height penalties (001, end of 3.2).

    As :func:`ncp`, with :func:`height_loss` in place of the size of the ancestor. A nominal column
    without hierarchy has a flat tree: it loses everything as soon as two values meet.

    >>> total_information_loss({"age": [0, 4, 6, 8], "sex": list("fmmm")}, [0, 0, 1, 1])
    3.5
    """
    named = checks.columns(table)
    trees = dict(hierarchies or {})
    for name, column in named.items():
        if not _is_numeric(column) and name not in trees:
            values = checks.categories(column, name)[1]
            trees[name] = Hierarchy(dict.fromkeys(values, _ANY))
    return float(_penalties(table, labels, domains, trees, None, height_loss).sum())


def _penalties(
    table: Table,
    labels: ArrayLike,
    domains: Mapping[str, Domain] | None,
    hierarchies: Mapping[str, Hierarchy],
    weights: Weights | None,
    of_tree: Callable[[pd.Series, ArrayLike, Hierarchy], NDArray[np.float64]],
) -> NDArray[np.float64]:
    named = checks.columns(table)
    checks.unknown_names(domains or {}, list(named), "domains")
    checks.unknown_names(hierarchies, list(named), "hierarchies")
    weight = checks.column_weights(weights, list(named))
    total = np.zeros(len(next(iter(named.values()))))
    for factor, (name, column) in zip(weight, named.items(), strict=True):
        domain = (domains or {}).get(name)
        try:
            if name in hierarchies:
                penalty = of_tree(column, labels, hierarchies[name])
            elif _is_numeric(column):
                low, high = _bounds(domain)
                penalty = ncp_range(column, labels, low, high)
            else:
                if isinstance(domain, tuple):
                    raise KanopyError("a domain of categories is their number, not a pair")
                penalty = ncp_values(column, labels, domain)
        except KanopyError as error:
            raise KanopyError(f"column {name!r}: {error}") from error
        total += factor * penalty
    return total


def _bounds(domain: Domain | None) -> tuple[float | None, float | None]:
    if domain is None:
        return None, None
    if not isinstance(domain, tuple) or len(domain) != 2:
        raise KanopyError("a domain of numbers is a pair (low, high)")
    return domain


def _by_ancestor(
    column: ArrayLike | pd.Series,
    labels: ArrayLike,
    hierarchy: Hierarchy,
    penalty: Callable[[object], float],
) -> NDArray[np.float64]:
    ((code, values),) = (checks.categories(c, name) for name, c in _single(column).items())
    hierarchy.check_covers("column", values)
    cluster = checks.clusters(labels, len(code))
    first = merge_rows([cluster, code])[0]  # lexicographic: one run of distinct values a cluster
    ends = np.flatnonzero(np.diff(cluster[first])) + 1
    known: dict[tuple[int, ...], float] = {}
    of_cluster = np.empty(len(ends) + 1)
    for number, met in enumerate(np.split(code[first], ends)):
        key = tuple(met.tolist())
        if key not in known:
            known[key] = penalty(hierarchy.closest_common_ancestor(values[v] for v in key))
        of_cluster[number] = known[key]
    return of_cluster[cluster]


def _single(column: ArrayLike | pd.Series) -> dict[str, pd.Series]:
    named = checks.columns(column, "column")
    if len(named) != 1:
        raise KanopyError(f"expected one column, got {len(named)}")
    return named


def _is_numeric(column: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
