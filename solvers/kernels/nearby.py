"""The nearest of a table's points to each of them, and all within some distance of it.

An index of :mod:`kanopy.solvers.kernels.neighbours` that Python holds, and asks for the neighbours
of some points at a time. With dozens of columns its blocks take a fraction of the time of a k-d
tree, which has to look at most points one by one there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kanopy.solvers.kernels.inner import kernel
from kanopy.solvers.kernels.neighbours import NONE, Index, build, make_index, nearest, within
from kanopy.solvers.kernels.prepare import prepared
from kanopy.solvers.kernels.record import ZERO


class Nearby:
    """Neighbours among ``points``, of which a point is one itself.

    >>> nearby = Nearby(np.array([[0.0], [5.0], [1.0], [3.0]]))
    >>> numbers, squared = nearby.nearest(0, 2, 3)
    >>> numbers.tolist(), squared.tolist()
    ([[0, 2, 3], [1, 3, 2]], [[0.0, 1.0, 9.0], [0.0, 4.0, 16.0]])
    >>> starts, numbers = nearby.within(np.array([1, 2]), np.array([4.0, 0.5]))
    >>> starts.tolist(), numbers.tolist()
    ([0, 2, 3], [1, 3, 2])
    """

    def __init__(self, points: NDArray[np.float64]) -> None:
        self._index: Index = _filled(*prepared(points))

    def nearest(
        self, begin: int, end: int, count: int
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Numbers and squared distances of the nearest points to those of a slice, nearest first.

        Of equally near points the one with the lowest number comes first.
        """
        numbers, squared = _nearest(self._index, begin, end, count)
        return numbers, squared

    def within(
        self, rows: NDArray[np.int64], squared: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The points within a squared distance of each row: where its own start, and the numbers.

        Those of a row ascend.
        """
        starts, numbers = _within(self._index, rows, squared)
        return starts, numbers


@kernel
def _filled(points: NDArray[np.float64], rotation: NDArray[np.float64]) -> Index:
    index = make_index(points, rotation, len(points), ZERO, np.empty(0), 1.0, -1.0)
    build(index, np.arange(len(points)))
    return index


@kernel
def _nearest(
    index: Index, begin: int, end: int, count: int
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    numbers = np.empty((end - begin, count), np.int32)
    squared = np.zeros((end - begin, count))
    for i in range(begin, end):
        numbers[i - begin] = i  # stays so where squares overflow
        have = nearest(index, index.source[i], count, np.inf, NONE, NONE)
        numbers[i - begin, :have] = index.found[:have]
        squared[i - begin, :have] = index.distances[:have]
    return numbers, squared


@kernel
def _within(
    index: Index, rows: NDArray[np.int64], squared: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    starts = np.zeros(len(rows) + 1, np.int64)
    numbers = np.empty(1024, np.int64)
    total = 0
    for r in range(len(rows)):
        count = within(index, index.source[rows[r]], squared[r])
        while total + count > len(numbers):
            longer = np.empty(2 * len(numbers), np.int64)
            longer[:total] = numbers[:total]
            numbers = longer
        numbers[total : total + count] = np.sort(index.found[:count])
        total += count
        starts[r + 1] = total
    return starts, numbers[:total].copy()
