"""Nominal loss: Hamming pair sums and errors in frequency tables (000)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kanopy.instances.errors import KanopyError
from kanopy.instances.frequency import allowed_extra_error as extra_error
from kanopy.instances.merge import merge_rows
from kanopy.measures import checks
from kanopy.measures.checks import Table, Weights


def hamming_pair_sum(
    codes: Table | ArrayLike, labels: ArrayLike, weights: Weights | None = None
) -> float:
    """Weight of a clustering: Hamming distances of all pairs that share a cluster.

    Σ_C Σ_{i<l∈C} Σ_j w_j·[x_ij ≠ x_lj] (000, definition 1.1.6 and 4.2), each pair once. Counted
    from how often each value occurs in each cluster, so no pair is ever formed.

    >>> hamming_pair_sum([["f", "GER"], ["f", "OTH"], ["m", "GER"]], [0, 0, 0])
    4.0
    """
    named = checks.columns(codes, "codes")
    weight = checks.column_weights(weights, list(named))
    cluster = checks.clusters(labels, len(next(iter(named.values()))))
    sizes = np.bincount(cluster).astype(np.float64)
    total = 0.0
    for (name, column), factor in zip(named.items(), weight, strict=True):
        counts = merge_rows([cluster, checks.codes(column, name)])[2].astype(np.float64)
        total += factor * ((sizes**2).sum() - (counts**2).sum()) / 2
    return float(total)


@dataclass(frozen=True)
class TableErrors:
    """Errors of frequency-table cells, overall and by table dimension (000, 6.1).

    Attributes
    ----------
    chi2
        Sum of χ² errors Σ (n_t − n̄_t)² / n̄_t over cells with n̄_t > 0.
    max_abs
        Maximum absolute error max |n_t − n̄_t| over all cells.
    max_rel
        Maximum relative error max |n_t − n̄_t| / n̄_t over cells with n̄_t > 0; 0 if there is none.
    by_dimension
        The same three for the cells of each table dimension; empty in its own entries.
    """

    chi2: float
    max_abs: float
    max_rel: float
    by_dimension: Mapping[int, TableErrors] = field(default_factory=dict)


def table_errors(values: ArrayLike, original: ArrayLike, dimension: ArrayLike) -> TableErrors:
    """Errors of cell values n_t against the original ones n̄_t, one dimension per cell (000, 6.1).

    Cells that were 0 have neither a χ² nor a relative error (000, 5.2: representatives that occur
    in the data leave them 0); they do count for the absolute error.

    >>> errors = table_errors([9, 0, 3], [6, 3, 3], [1, 1, 2])
    >>> errors.chi2, errors.max_abs, errors.max_rel
    (4.5, 3.0, 1.0)
    >>> errors.by_dimension[2].max_abs
    0.0
    """
    after, before = _cells(values, original)
    tables = np.asarray(dimension)
    if tables.ndim != 1 or tables.dtype.kind not in "iu" or (tables < 1).any():
        raise KanopyError("dimension must be one whole number ≥ 1 per cell")
    checks.same_length(tables, "dimension", len(before))
    by_dimension = {
        int(d): TableErrors(*_errors(after[tables == d], before[tables == d]))
        for d in np.unique(tables)
    }
    return TableErrors(*_errors(after, before), by_dimension)


def _errors(after: NDArray[np.float64], before: NDArray[np.float64]) -> tuple[float, float, float]:
    error = np.abs(after - before)
    occupied = before > 0
    error_there, before_there = error[occupied], before[occupied]
    chi2 = float((error_there**2 / before_there).sum())
    return chi2, float(error.max()), float((error_there / before_there).max(initial=0.0))


def deviation(counts: ArrayLike, original_counts: ArrayLike) -> float:
    """Deviation from the original frequency vector, Σ_l |y_l − y⁰_l| (000, 3.2 and eq. 5.6.1).

    >>> deviation([3, 0, 2], [2, 1, 2])
    2.0
    """
    after = _frequencies(counts, "counts")
    before = _frequencies(original_counts, "original_counts")
    checks.same_length(after, "counts", len(before))
    return float(np.abs(after - before).sum())


def confidentiality_problems(counts: ArrayLike, k: int) -> float:
    """Share of rows whose combination occurs fewer than k times (000, 1.1 and table 6.3).

    >>> confidentiality_problems([2, 1, 1, 1], k=2)
    0.6
    """
    frequencies = _frequencies(counts, "counts")
    least = checks.at_least(k, 1, "k")
    rows = frequencies.sum()
    if rows == 0:
        raise KanopyError("counts are all 0; a share needs at least one row")
    return float(frequencies[frequencies < least].sum() / rows)


def maximum_error(values: ArrayLike, original: ArrayLike, tolerance: ArrayLike = 0) -> float:
    """SAFE-basic's objective max_t (|b_t| − g_t), b = original − values (000, eq. 2.1.1).

    Negative where every error stays below its tolerance g_t, which is one number per cell (see
    :func:`allowed_extra_error`) or one for all.

    >>> maximum_error([9, 101], [6, 99], [0, 3])
    3.0
    """
    after, before = _cells(values, original)
    allowed = checks.numbers(tolerance, "tolerance")
    if allowed.ndim:
        allowed = checks.vector(tolerance, "tolerance", len(before))
    if (allowed < 0).any():
        raise KanopyError(f"tolerance must be ≥ 0, the least is {allowed.min()}")
    return float((np.abs(before - after) - allowed).max())


def allowed_extra_error(original_cell_values: ArrayLike) -> NDArray[np.int64]:
    """Extra error g_t that SAFE allows a cell, by its original value (000, Appendix A).

    >>> allowed_extra_error([9, 10, 49, 200, 1_000_000]).tolist()
    [0, 1, 2, 5, 9]
    """
    return extra_error(_frequencies(original_cell_values, "original_cell_values"))


def _cells(
    values: ArrayLike, original: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    before = _frequencies(original, "original")
    after = _frequencies(values, "values")
    checks.same_length(after, "values", len(before))
    return after, before


def _frequencies(values: ArrayLike, what: str) -> NDArray[np.float64]:
    array = checks.vector(values, what)
    if (array < 0).any():
        raise KanopyError(f"{what} has {int((array < 0).sum())} negative entries; counts are ≥ 0")
    return array
