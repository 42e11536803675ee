"""One column in, one array out: the checks every value passes before it reaches a method.

Messages name the column and the first offending row, never a cell's value: tables may be secret.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kanopy.instances.errors import KanopyError, cause, such_as

_EXACT = 2.0**53
"""Up to here every whole number is a float64 of its own."""


def numeric_values(column: pd.Series) -> NDArray[np.float64]:
    """Finite float64 values of a number column, or an error that says what is wrong where."""
    if not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        raise KanopyError(
            f"column {column.name!r} is {column.dtype}, not numeric{such_as(_no_numbers(column))}; "
            "name it in nominal= or convert it with pandas.to_numeric"
        )
    if pd.api.types.is_complex_dtype(column):
        raise KanopyError(f"column {column.name!r} is complex; give its real parts as columns")
    _refuse_missing(column)
    values = column.to_numpy(dtype=np.float64)
    if pd.api.types.is_integer_dtype(column) and np.abs(values).max(initial=0.0) > _EXACT:
        _refuse_rounding(column, values)
    infinite = np.flatnonzero(~np.isfinite(values))
    if len(infinite):
        raise KanopyError(
            f"column {column.name!r} has {len(infinite)} infinite values, the first in row "
            f"{infinite[0]}; replace them or leave out their rows"
        )
    return values


def nominal_codes(
    column: pd.Series, missing_is_value: bool
) -> tuple[NDArray[np.int32], NDArray[np.object_]]:
    """Category number of each row and the sorted categories; a missing value, if allowed, last."""
    if not missing_is_value:
        _refuse_missing(column)
    try:
        found, uniques = pd.factorize(column, use_na_sentinel=True)
    except TypeError as error:
        raise KanopyError(
            f"column {column.name!r} holds lists or other values that cannot be compared; "
            "turn them into text or numbers"
        ) from cause(error)
    categories = np.asarray(uniques, dtype=object)
    kinds = {_kind(value) for value in categories}
    if len(kinds) > 1:
        raise KanopyError(
            f"column {column.name!r} mixes {' and '.join(sorted(kinds))}"
            f"{such_as({_kind(value): value for value in categories}.values())}; "
            "convert it to one type"
        )
    try:
        order = np.argsort(categories, kind="stable")
    except TypeError as error:
        raise KanopyError(
            f"values of column {column.name!r} have no order; turn them into text or numbers"
        ) from cause(error)
    rank = np.empty(len(order) + 1, dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    rank[-1] = len(order)  # factorize marks missing values −1
    categories = categories[order]
    if bool((found == -1).any()):
        categories = np.append(categories, np.array([None], dtype=object))
    return rank[found], categories


def _refuse_rounding(column: pd.Series, values: NDArray[np.float64]) -> None:
    """Raise if different whole numbers are the same float: what they differ by would be lost."""
    if column.nunique() > len(np.unique(values)):
        raise KanopyError(
            f"column {column.name!r} holds whole numbers beyond 2^53 that are too close for "
            "floating point; subtract a constant, or name it in nominal="
        )


def spellings(value: object) -> tuple[str, ...]:
    """How text files may write a value; the first is our own way.

    >>> spellings("a"), spellings(3.0), spellings(3), spellings(None)
    (('a',), ('3.0', '3'), ('3', '3.0'), ('',))
    """
    if value is None:
        return ("",)
    if isinstance(value, (int, float, np.number)) and not isinstance(value, (bool, np.bool_)):
        number = float(value)
        if number.is_integer() and abs(number) < 1e15:
            both = dict.fromkeys((str(value), str(int(number)), str(number)))
            return tuple(both)
    return (str(value),)


def _no_numbers(column: pd.Series) -> pd.Series:
    texts = column.dropna()
    return texts[pd.to_numeric(texts.astype(str), errors="coerce").isna()]


def _kind(value: object) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "bool"
    if isinstance(value, (int, float, np.number)):
        return "number"
    return type(value).__name__


def _refuse_missing(column: pd.Series) -> None:
    gone = np.flatnonzero(column.isna().to_numpy())
    if len(column) and len(gone) == len(column):
        raise KanopyError(f"column {column.name!r} holds no values; leave it out (--drop)")
    if len(gone):
        raise KanopyError(
            f"column {column.name!r} has {len(gone)} missing values, the first in row {gone[0]}; "
            'fill them, or pass missing="drop" or (nominal columns) missing="category" '
            "(--missing in the shell)"
        )
