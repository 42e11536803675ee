"""Distance-based record linkage: how often the nearest original record is the right one.

An intruder who holds the original table links each released row to the nearest original record.
Row i is linked correctly if that is record i. Where several records are equally near, the intruder
picks one at random, so row i counts 1/(number of nearest records) if record i is among them and 0
otherwise: the measure is the expected share of correct links. It depends neither on the order of
rows nor on a random choice. Equal records are several records; a table whose rows are all equal is
linked with probability 1/n.

See Domingo-Ferrer and Torra, *Disclosure risk assessment in statistical data protection*, 2004.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from kanopy.instances.errors import KanopyError
from kanopy.instances.merge import merge_rows
from kanopy.measures import checks
from kanopy.measures.checks import Table

_TIE = 1e-9
_NEIGHBOURS = 4
_QUERIES_AT_ONCE = 4096
_DISTANCES_AT_ONCE = 4_000_000


def linkage_numeric(
    original: ArrayLike | pd.DataFrame, released: ArrayLike | pd.DataFrame
) -> float:
    """Expected share of released rows linked to their own record, Euclid on standardised numbers.

    Both tables are shifted and scaled by mean and standard deviation of the original columns
    (constant ones only shifted). Distances that differ by less than 1e-9 standard deviations are
    ties, so that rounding decides nothing. Neighbours come from a k-d tree of distinct records.

    >>> linkage_numeric([[0.0], [2.0], [9.0]], [[1.0], [1.0], [9.0]])
    0.6666666666666666
    """
    from scipy.spatial import cKDTree

    before, after = checks.matrix(original, "original"), checks.matrix(released, "released")
    checks.same_shape(before, after, ("original", "released"))
    with np.errstate(over="ignore", invalid="ignore"):
        center, scale = before.mean(axis=0), before.std(axis=0)
        scale[(np.ptp(before, axis=0) == 0) | (scale == 0)] = 1.0
        before, after = (before - center) / scale, (after - center) / scale
        largest = scale.sum() + np.abs(before).max() + np.abs(after).max()
    checks.finite(float(largest), "standardising")
    records, repeats = np.unique(before, axis=0, return_counts=True)
    rows, row = np.unique(after, axis=0, return_inverse=True)
    tree = cKDTree(records)
    ranks = list(range(1, min(_NEIGHBOURS, len(records)) + 1))
    away, found = (np.asarray(part) for part in tree.query(rows, k=ranks))
    radius = away[:, 0] + _TIE * np.maximum(away[:, 0], 1.0)
    near = away <= radius[:, None]
    tied = (near * repeats[found]).sum(axis=1)
    if len(records) > _NEIGHBOURS:
        more = np.flatnonzero(near[:, -1])  # perhaps further ties
        for start in range(0, len(more), _QUERIES_AT_ONCE):
            block = more[start : start + _QUERIES_AT_ONCE]
            ties = tree.query_ball_point(rows[block], radius[block])
            tied[block] = [repeats[each].sum() for each in ties]
    own = np.sqrt(((after - before) ** 2).sum(axis=1))
    return float(((own <= radius[row]) / tied[row]).mean())


def linkage_nominal(original: Table | ArrayLike, released: Table | ArrayLike) -> float:
    """Expected share of released rows linked to their own record by Hamming distance.

    Equal rows are merged. Released rows that occur in the original have distance 0 and cost next to
    nothing; new combinations are compared with all distinct records, in blocks of bounded memory.

    >>> linkage_nominal([["f", "GER"], ["f", "OTH"], ["m", "GER"]], [["f", "GER"]] * 3)
    0.3333333333333333
    """
    before = checks.columns(original, "original")
    after = checks.columns(released, "released")
    if list(before) != list(after):
        raise KanopyError("original and released have different columns; give the same ones")
    rows = len(next(iter(before.values())))
    coded = []
    for name in before:
        checks.same_length(after[name].to_numpy(), "released", rows)
        both = pd.concat([before[name].astype(object), after[name].astype(object)])
        coded.append(checks.codes(both, name))
    # Number the distinct rows of both tables together: most released rows occur in the original.
    first, kind, _ = merge_rows(coded)
    record, row = kind[:rows], kind[rows:]
    repeats = np.bincount(record, minlength=len(first))
    nearest = np.zeros(len(first), dtype=np.int64)
    tied = repeats.astype(np.float64)
    records = np.unique(record)
    new = np.setdiff1d(row, records)
    step = max(1, _DISTANCES_AT_ONCE // len(records))
    columns = [code[first] for code in coded]
    for start in range(0, len(new), step):
        block = new[start : start + step]
        away = _hamming([c[records] for c in columns], [c[block, None] for c in columns])
        nearest[block] = away.min(axis=1)
        is_nearest = away == nearest[block, None].astype(away.dtype)
        tied[block] = is_nearest.astype(np.float64) @ repeats[records].astype(np.float64)
    own = _hamming([code[:rows] for code in coded], [code[rows:] for code in coded])
    return float(((own == nearest[row]) / tied[row]).mean())


def _hamming(
    first: list[NDArray[np.int64]], second: list[NDArray[np.int64]]
) -> NDArray[np.integer]:
    kind = np.uint8 if len(first) < 256 else np.int64
    total: NDArray[np.integer] = (first[0] != second[0]).astype(kind)
    for a, b in zip(first[1:], second[1:], strict=True):
        total += a != b
    return total
