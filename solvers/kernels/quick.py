"""The emergency exit: a valid partition in O(n d log n), for when a time limit strikes."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


def quick_partition(points: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Halve along the widest column until every class has k … 2k−1 rows.

    A class of 2k or more rows is cut after its ⌊size/2⌋ smallest rows in the column of widest
    range (the first of equals); rows of equal value are ordered by their number, so the result
    depends on nothing but the input. Fewer than 2k rows are one class.

    Parameters
    ----------
    points
        One row per record.
    k
        Least size of a class.

    Returns
    -------
    Class 0, 1, 2 … of each row.

    Examples
    --------
    >>> quick_partition(np.array([[5.0], [1.0], [9.0], [2.0], [8.0]]), 2).tolist()
    [1, 0, 1, 0, 1]
    """
    return np.asarray(_halve(np.ascontiguousarray(points, dtype=np.float64), max(1, int(k))))


@njit(cache=True, nogil=True)
def _halve(points, k):  # type: ignore[no-untyped-def]
    n, columns = points.shape
    labels = np.zeros(n, np.int64)
    rows = np.arange(n)
    values = np.empty(n)
    # Of the two halves the left is done first, so at most one segment per level waits: 64 suffice.
    waiting = np.empty((64, 2), np.int64)
    waiting[0, 0] = 0
    waiting[0, 1] = n
    depth = 1
    label = 0
    low = np.empty(columns)
    high = np.empty(columns)
    while depth > 0:
        depth -= 1
        start, end = waiting[depth]
        while end - start >= 2 * k:
            low[:] = np.inf
            high[:] = -np.inf
            for position in range(start, end):
                row = points[rows[position]]
                for j in range(columns):
                    low[j] = min(low[j], row[j])
                    high[j] = max(high[j], row[j])
            widest = 0
            for j in range(1, columns):
                if high[j] - low[j] > high[widest] - low[widest]:
                    widest = j
            for position in range(start, end):
                values[position] = points[rows[position], widest] if columns else 0.0
            middle = start + (end - start) // 2
            _select(values, rows, start, end, middle)
            waiting[depth, 0] = middle
            waiting[depth, 1] = end
            depth += 1
            end = middle
        for position in range(start, end):
            labels[rows[position]] = label
        label += 1
    return labels


@njit(cache=True, nogil=True)
def _select(values, rows, start, end, middle):  # type: ignore[no-untyped-def]
    """Quickselect by (value, row): the smallest ``middle − start`` move to the front."""
    left = start
    right = end - 1
    state = np.uint64(88172645463325252)  # xorshift pivots: no input order is a bad one
    while left < right:
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        pivot = left + np.int64(state % np.uint64(right - left + 1))
        pivot_value = values[pivot]
        pivot_row = rows[pivot]
        i = left
        j = right
        while i <= j:
            while values[i] < pivot_value or (values[i] == pivot_value and rows[i] < pivot_row):
                i += 1
            while values[j] > pivot_value or (values[j] == pivot_value and rows[j] > pivot_row):
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                rows[i], rows[j] = rows[j], rows[i]
                i += 1
                j -= 1
        if middle <= j:
            right = j
        elif middle >= i:
            left = i
        else:
            return
