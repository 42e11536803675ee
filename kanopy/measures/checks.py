"""What a measure accepts: arrays and labels are checked here once, before any formula sees them.

Messages name sizes and columns, never a cell's value: tables may be secret.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from kanopy.instances.errors import KanopyError, cause, unknown
from kanopy.instances.merge import merge_rows

Weights = Mapping[str, float] | Sequence[float] | NDArray[np.float64]
"""One weight per column, by position or by name; columns that are not named weigh 1."""

Table = pd.DataFrame | Mapping[str, ArrayLike] | NDArray[np.generic]
"""Columns by name, or the columns of an n×d array, which are named "0", "1" and so on."""


def numbers(values: ArrayLike | pd.DataFrame, what: str) -> NDArray[np.float64]:
    """Finite float64 array of any shape with at least one entry."""
    array = np.asarray(values)
    is_text = array.dtype == object and any(isinstance(value, str) for value in array.flat)
    if array.dtype.kind not in "biufO" or is_text:
        raise KanopyError(f"{what} is not numeric; convert it with pandas.to_numeric")
    try:
        array = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise KanopyError(f"{what} holds missing values or values that are not numbers") from cause(
            error
        )
    if array.size == 0:
        raise KanopyError(f"{what} is empty; a measure needs at least one value")
    if not np.isfinite(array).all():
        bad = int((~np.isfinite(array)).sum())
        raise KanopyError(f"{what} has {bad} missing or infinite values; fill or drop them")
    return array


def matrix(values: ArrayLike | pd.DataFrame, what: str) -> NDArray[np.float64]:
    """Finite n×d float64 matrix; a plain list of numbers is one column."""
    array = numbers(values, what)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        raise KanopyError(f"{what} has {array.ndim} dimensions; give an n×d array")
    return array


def vector(values: ArrayLike, what: str, length: int | None = None) -> NDArray[np.float64]:
    """Finite float64 vector, of the given length if one is given."""
    array = numbers(values, what)
    if array.ndim != 1:
        raise KanopyError(f"{what} has {array.ndim} dimensions; give one value per entry")
    if length is not None:
        same_length(array, what, length)
    return array


def same_length(array: NDArray[np.generic], what: str, length: int) -> None:
    """Raise unless the array has this many rows."""
    if len(array) != length:
        raise KanopyError(f"{what} has {len(array)} entries where {length} are needed")


def same_shape(
    first: NDArray[np.float64], second: NDArray[np.float64], names: tuple[str, str]
) -> None:
    """Raise unless two arrays have the same shape."""
    if first.shape != second.shape:
        raise KanopyError(
            f"{names[0]} has shape {first.shape} and {names[1]} {second.shape}; "
            "they must hold the same rows and columns"
        )


def clusters(labels: ArrayLike, rows: int | None = None) -> NDArray[np.int64]:
    """Cluster of each row, renumbered 0, 1, 2, … without gaps."""
    array = np.asarray(labels)
    if array.ndim != 1 or array.size == 0:
        raise KanopyError("labels must be a list with one cluster number per row, and not empty")
    if array.dtype.kind not in "iu":
        raise KanopyError(f"labels are {array.dtype}; give whole numbers 0, 1, 2, …")
    if rows is not None:
        same_length(array, "labels", rows)
    if int(array.min()) < 0:
        raise KanopyError(
            f"{int((array < 0).sum())} labels are negative; number clusters from 0 and leave out "
            "rows that belong to none"
        )
    return np.unique(array, return_inverse=True)[1].astype(np.int64)


def columns(table: Table | pd.Series | ArrayLike, what: str = "table") -> dict[str, pd.Series]:
    """The table's columns by name, all of the same length."""
    if isinstance(table, pd.DataFrame):
        if not table.columns.is_unique:
            raise KanopyError(f"{what} has two columns of the same name; rename one")
        named = {str(name): table[name] for name in table.columns}
    elif isinstance(table, Mapping):
        named = {str(name): pd.Series(column) for name, column in table.items()}
    elif isinstance(table, pd.Series):
        named = {"0": table}
    else:
        array = np.asarray(table)
        if array.ndim not in (1, 2):
            raise KanopyError(f"{what} has {array.ndim} dimensions; give rows and columns")
        array = array[:, None] if array.ndim == 1 else array
        named = {str(j): pd.Series(column) for j, column in enumerate(array.T)}
    lengths = {len(column) for column in named.values()}
    if not named or lengths == {0}:
        raise KanopyError(f"{what} is empty; a measure needs at least one row and column")
    if len(lengths) > 1:
        raise KanopyError(f"columns of {what} have different lengths: {sorted(lengths)}")
    return named


def categories(
    column: pd.Series, name: str, *, missing: bool = False
) -> tuple[NDArray[np.int64], list[object]]:
    """Number of each row's value and the distinct values, in order of first occurrence.

    Missing values are refused or, if allowed, number 0, before all others.
    """
    try:
        found, distinct = pd.factorize(column, use_na_sentinel=True)
    except TypeError as error:
        raise KanopyError(
            f"column {name!r} holds values that cannot be compared; turn them into text"
        ) from cause(error)
    gone = int((found < 0).sum())
    if gone and not missing:
        raise KanopyError(f"column {name!r} has {gone} missing values; fill or drop them")
    if gone:
        return found.astype(np.int64) + 1, [None, *distinct]
    return found.astype(np.int64), list(distinct)


def codes(column: pd.Series, name: str, *, missing: bool = False) -> NDArray[np.int64]:
    """Number of each row's value; see :func:`categories`."""
    return categories(column, name, missing=missing)[0]


def combinations(
    table: Table | pd.Series | ArrayLike, what: str, *, missing: bool = False
) -> NDArray[np.int64]:
    """Number of each row's combination of values."""
    named = columns(table, what)
    return merge_rows([codes(column, name, missing=missing) for name, column in named.items()])[1]


def column_weights(weights: Weights | None, names: Sequence[str]) -> NDArray[np.float64]:
    """One weight ≥ 0 per column; 1 where none is given."""
    if weights is None:
        return np.ones(len(names))
    if isinstance(weights, Mapping):
        for name in weights:
            if name not in names:
                raise unknown("column in weights", name, names)
        weights = [weights.get(name, 1.0) for name in names]
    array = vector(weights, "weights", len(names))
    if (array < 0).any():
        raise KanopyError(f"weights must be ≥ 0, the least is {array.min()}")
    return array


def at_least(value: int, least: int, what: str) -> int:
    """A whole number that is large enough."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise KanopyError(f"{what} = {value}, but it must be a whole number ≥ {least}")
    return int(value)


def unknown_names(given: Iterable[Hashable], known: Sequence[str], what: str) -> None:
    """Raise if a name is not a column's."""
    for name in given:
        if name not in known:
            raise unknown(f"column in {what}", name, known)


def finite(value: float, what: str) -> float:
    """The value, unless squaring overflowed."""
    if not np.isfinite(value):
        raise KanopyError(f"{what} overflows; divide the columns by a large number first")
    return float(value)
