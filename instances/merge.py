"""Merge identical rows without comparing pairs of rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_LARGEST_KEY = np.iinfo(np.int64).max


def merge_rows(
    columns: Sequence[NDArray[np.integer]],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """First row, number per row and count of the distinct rows of non-negative integer columns.

    Distinct rows are numbered in lexicographic order. Columns are folded into one mixed-radix
    64-bit key; where the next column would overflow it, the key and, if need be, the column are
    first renumbered 0, 1, 2, …, which keeps the order and needs at most n values.

    Examples
    --------
    >>> import numpy as np
    >>> first, types, counts = merge_rows([np.array([1, 0, 1]), np.array([2, 2, 2])])
    >>> first.tolist(), types.tolist(), counts.tolist()
    ([1, 0], [1, 0, 1], [1, 2])
    """
    key = np.zeros(len(columns[0]), dtype=np.int64)
    size = 1
    for column in columns:
        radix = int(column.max()) + 1
        if size > _LARGEST_KEY // radix:
            distinct, renumbered = np.unique(key, return_inverse=True)
            key, size = renumbered.astype(np.int64), len(distinct)
        if size > _LARGEST_KEY // radix:
            distinct, column = np.unique(column, return_inverse=True)
            radix = len(distinct)
        key = key * radix + column
        size *= radix
    _, first, types, counts = np.unique(
        key, return_index=True, return_inverse=True, return_counts=True
    )
    return first.astype(np.int64), types.astype(np.int64), counts.astype(np.int64)
