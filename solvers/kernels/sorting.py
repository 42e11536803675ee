"""Sorting inside kernels; numba's own sorts take seconds to compile."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kanopy.solvers.kernels.inner import inner

_RUN = 16  # so many are sorted by insertion before runs are merged


@inner
def stable_order(keys: NDArray[np.float64]) -> NDArray[np.int64]:
    """Positions of the keys in ascending order; of equal keys the first comes first."""
    n = len(keys)
    order = np.empty(n, np.int64)
    other = np.empty(n, np.int64)
    for i in range(n):
        at = i
        while at % _RUN > 0 and keys[order[at - 1]] > keys[i]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = i
    width = _RUN
    while width < n:
        for begin in range(0, n, 2 * width):
            middle = min(begin + width, n)
            end = min(middle + width, n)
            left = begin
            right = middle
            for at in range(begin, end):
                if left < middle and (right == end or keys[order[left]] <= keys[order[right]]):
                    other[at] = order[left]
                    left += 1
                else:
                    other[at] = order[right]
                    right += 1
        order, other = other, order
        width *= 2
    return order


@inner
def sort_few(values: NDArray[np.int64]) -> None:
    """Sort a short array in place, by insertion."""
    for i in range(1, len(values)):
        value = values[i]
        at = i
        while at > 0 and values[at - 1] > value:
            values[at] = values[at - 1]
            at -= 1
        values[at] = value
