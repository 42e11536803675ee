"""What a release reveals about confidential values: l-diversity and closeness (001, 3.3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from kanopy.instances.errors import KanopyError, unknown
from kanopy.instances.hierarchy import Hierarchy
from kanopy.instances.merge import merge_rows
from kanopy.measures import checks
from kanopy.measures.checks import Table
from kanopy.measures.earth_movers import Ground, distance
from kanopy.measures.supersets import Tree, closest_superset


def distinct_diversity(confidential: Table | pd.Series | ArrayLike, labels: ArrayLike) -> int:
    """Largest ℓ for which the table is distinct ℓ-diverse (001, definition 3.10).

    The least number of distinct confidential combinations in a cluster; ``confidential`` may have
    several columns.

    >>> distinct_diversity([1, 1, 1, 1, 2, 2, 3, 4], [0, 0, 0, 0, 1, 1, 1, 1])
    1
    """
    code, cluster = _coded(confidential, labels)
    first = merge_rows([cluster, code])[0]
    return int(np.bincount(cluster[first]).min())


def entropy_diversity(confidential: Table | pd.Series | ArrayLike, labels: ArrayLike) -> float:
    """Largest ℓ for which the table is entropy ℓ-diverse, exp(min_C E(C)) (001, definition 3.11).

    A whole number ℓ when every value of the poorest cluster is equally frequent, and never more
    than :func:`distinct_diversity`.

    >>> round(entropy_diversity([1, 2, 3, 1, 1, 2, 2, 3], [0, 0, 0, 1, 1, 1, 1, 1]), 3)
    2.872
    """
    code, cluster = _coded(confidential, labels)
    return float(np.exp(_entropies(code, cluster).min()))


def t_closeness(
    confidential: pd.Series | ArrayLike, labels: ArrayLike, ground: Ground | None = None
) -> float:
    """Smallest t for which the table is t-close: the largest EMD of a cluster (001, def. 3.13).

    Parameters
    ----------
    confidential
        The confidential attribute, one value per row.
    labels
        Cluster of each row.
    ground
        Distance between values, see :func:`kanopy.measures.emd`; ``"ordered"`` over the distinct
        values for numbers and ``"equal"`` for the rest if not given.

    Examples
    --------
    >>> t_closeness([1, 1, 1, 1, 2, 2, 3, 4], [0, 0, 0, 0, 1, 1, 1, 1], ground="equal")
    0.5
    """
    attribute = _attribute(confidential, ground)
    cluster = checks.clusters(labels, len(attribute.code))
    of_difference = distance(attribute.ground, attribute.size, attribute.values)
    whole = np.bincount(attribute.code) / len(cluster)
    return max(
        of_difference(np.bincount(members, minlength=attribute.size) / len(members) - whole)
        for members in _by_cluster(attribute.code, cluster)
    )


def mt_closeness(
    confidential: pd.Series | ArrayLike,
    labels: ArrayLike,
    m: int,
    ground: Ground | None = None,
) -> float:
    """Smallest t for which the table is (m, t)-close (001, definition 3.14), exactly.

    Each cluster is compared with the closest set of at least m rows that contains it, and the
    worst cluster decides. :mod:`kanopy.measures.supersets` says how the closest set is found: by
    convex functions on the tree of the ground distance, without enumeration or integer program.
    Each size tried costs about (distinct values)² steps: a thousand rows with 50 distinct values
    take seconds, with 200 half a minute; group finer numbers first. m = n gives
    :func:`t_closeness`.

    >>> cluster = [0, 0, 1, 1, 2, 2, 3, 3]
    >>> mt_closeness([1, 1, 2, 2, 1, 1, 2, 2], cluster, m=4)
    0.0
    >>> mt_closeness([1, 1, 2, 2, 1, 1, 2, 2], cluster, m=8)
    0.5
    """
    attribute = _attribute(confidential, ground)
    cluster = checks.clusters(labels, len(attribute.code))
    rows = len(cluster)
    if checks.at_least(m, 1, "m") > rows:
        raise KanopyError(f"m = {m}, but there are only {rows} rows; choose m ≤ {rows}")
    tree = Tree.of_ground(attribute.ground, attribute.size, attribute.values)
    whole = np.bincount(attribute.code)
    of_difference = distance(attribute.ground, attribute.size, attribute.values)
    distances: dict[tuple[int, ...], float] = {}
    for members in _by_cluster(attribute.code, cluster):
        counts = np.bincount(members, minlength=attribute.size)
        key = tuple(np.sort(members).tolist())
        if key not in distances:
            distances[key] = of_difference(counts / len(members) - whole / rows)
    # The whole table is a superset too: its distance is an upper bound, and once a worse cluster
    # has been seen, the rest need no search.
    worst = 0.0
    for key in sorted(distances, key=lambda members: -distances[members]):
        if distances[key] <= worst:
            break
        counts = np.bincount(key, minlength=attribute.size)
        worst = max(worst, closest_superset(tree, counts, whole - counts, m, worst))
    return worst


def closeness_utility(confidential: Table | pd.Series | ArrayLike, labels: ArrayLike) -> float:
    """Closeness utility U = H(X) − Σ_j |C_j|/|X|·H(C_j), entropies in bits (001, definition 3.15).

    The mutual information of cluster and confidential value; 0 if no cluster tells anything.

    >>> closeness_utility([1, 1, 2, 2], [0, 0, 1, 1])
    1.0
    """
    code, cluster = _coded(confidential, labels)
    whole = _entropies(code, np.zeros_like(cluster))[0]
    shares = np.bincount(cluster) / len(cluster)
    return max(0.0, float((whole - shares @ _entropies(code, cluster)) / np.log(2)))


def _coded(
    confidential: Table | pd.Series | ArrayLike, labels: ArrayLike
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    code = checks.combinations(confidential, "confidential")
    return code, checks.clusters(labels, len(code))


def _entropies(code: NDArray[np.int64], cluster: NDArray[np.int64]) -> NDArray[np.float64]:
    """Entropy of the values in each cluster, natural logarithm."""
    first, _, counts = merge_rows([cluster, code])
    share = counts / np.bincount(cluster)[cluster[first]]
    return np.abs(np.bincount(cluster[first], weights=share * np.log(share)))


@dataclass(frozen=True)
class _Attribute:
    """A confidential column: the number of each row's value, the values, their distance."""

    code: NDArray[np.int64]
    values: list[object]
    ground: Ground

    @property
    def size(self) -> int:
        return len(self.values)


def _attribute(confidential: pd.Series | ArrayLike, ground: Ground | None) -> _Attribute:
    named = checks.columns(confidential, "confidential")
    if len(named) != 1:
        raise KanopyError(
            f"closeness is defined for one confidential attribute, not {len(named)}; "
            "measure them one by one"
        )
    ((name, column),) = named.items()
    numeric = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    chosen = ground if ground is not None else "ordered" if numeric else "equal"
    if not isinstance(chosen, Hierarchy) and chosen not in ("ordered", "equal"):
        raise unknown("ground distance", chosen, ("ordered", "equal", "or a Hierarchy"))
    if chosen != "ordered":
        return _Attribute(*checks.categories(column, name), chosen)
    if not numeric:
        raise KanopyError(
            'ground="ordered" needs numbers; replace the values by their ranks or use "equal"'
        )
    distinct, code = np.unique(checks.vector(column, "confidential"), return_inverse=True)
    return _Attribute(code.astype(np.int64), list(distinct), chosen)


def _by_cluster(code: NDArray[np.int64], cluster: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    order = np.argsort(cluster, kind="stable")
    return np.split(code[order], np.cumsum(np.bincount(cluster))[:-1])
