"""Farthest rows among a set that shrinks.

The rows are sorted by their distance to the mean of all, and lie in that order in blocks of WIDTH,
column by column inside a block. By the triangle inequality no row is farther from a vector than the
sum of both distances to the mean, so a query ends at the first block whose rim is too close to it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kanopy.solvers.kernels.distance import centroid, squared_distance
from kanopy.solvers.kernels.inner import inner
from kanopy.solvers.kernels.neighbours import NONE, ROUNDING, WIDTH, largest_norm
from kanopy.solvers.kernels.sorting import stable_order

_BLOCKS, _SIZE, _BUILT = 0, 1, 2


class Rim(NamedTuple):
    """A set of rows by their distance to the mean; see :func:`make_rim`."""

    points: NDArray[np.float64]
    mean: NDArray[np.float64]
    """Mean of all rows."""
    radius: NDArray[np.float64]
    """Distance of each row to the mean of all."""
    blocks: NDArray[np.float64]
    members: NDArray[np.int64]
    fill: NDArray[np.int64]
    outer: NDArray[np.float64]
    place: NDArray[np.int64]
    counters: NDArray[np.int64]
    buffer: NDArray[np.float64]
    distances: NDArray[np.float64]
    """Squared distances of the last answer, descending."""
    found: NDArray[np.int64]
    """Rows of the last answer."""
    margin: float
    """What rounding may add to a distance."""


@inner
def make_rim(points: NDArray[np.float64], most: int) -> Rim:
    """All rows of ``points``, for queries of up to ``most`` rows."""
    n, d = points.shape
    mean = np.empty(d)
    centroid(points, np.arange(n), mean)
    radius = np.empty(n)
    for row in range(n):
        radius[row] = np.sqrt(squared_distance(points[row], mean))
    count = (n + WIDTH - 1) // WIDTH
    rim = Rim(
        points,
        mean,
        radius,
        np.empty((count, d, WIDTH)),
        np.empty((count, WIDTH), np.int64),
        np.zeros(count, np.int64),
        np.empty(count),
        np.empty(n, np.int64),
        np.zeros(3, np.int64),
        np.empty(WIDTH),
        np.empty(most),
        np.empty(most, np.int64),
        ROUNDING * d * largest_norm(points),
    )
    _fill(rim, stable_order(-radius))
    return rim


@inner
def _fill(rim: Rim, order: NDArray[np.int64]) -> None:
    """Put rows into blocks in the given order."""
    rim.place[:] = NONE
    rim.fill[:] = 0
    for i in range(len(order)):
        row = order[i]
        block = i // WIDTH
        slot = i % WIDTH
        for t in range(rim.points.shape[1]):
            rim.blocks[block, t, slot] = rim.points[row, t]
        rim.members[block, slot] = row
        rim.place[row] = i
        rim.fill[block] += 1
        if slot == 0:
            rim.outer[block] = rim.radius[row]
    rim.counters[_BLOCKS] = (len(order) + WIDTH - 1) // WIDTH
    rim.counters[_SIZE] = len(order)
    rim.counters[_BUILT] = len(order)


@inner
def drop(rim: Rim, row: int | np.int64) -> None:
    """Take a row out of the set."""
    block = rim.place[row] // WIDTH
    slot = rim.place[row] % WIDTH
    rim.place[row] = NONE
    rim.fill[block] -= 1
    rim.counters[_SIZE] -= 1
    last = rim.fill[block]
    if slot != last:
        moved = rim.members[block, last]
        rim.members[block, slot] = moved
        rim.place[moved] = block * WIDTH + slot
        for t in range(rim.points.shape[1]):
            rim.blocks[block, t, slot] = rim.blocks[block, t, last]
    if 2 * rim.counters[_SIZE] < rim.counters[_BUILT] and rim.counters[_SIZE] > WIDTH:
        left = np.empty(rim.counters[_SIZE], np.int64)
        inwards = np.empty(rim.counters[_SIZE])
        count = 0
        for number in range(len(rim.place)):
            if rim.place[number] >= 0:
                left[count] = number
                inwards[count] = -rim.radius[number]
                count += 1
        order = stable_order(inwards)
        for i in range(count):
            order[i] = left[order[i]]
        _fill(rim, order)


@inner
def farthest(rim: Rim, vector: NDArray[np.float64], count: int) -> int:
    """Find the ``count`` rows farthest from ``vector``; how many there are.

    ``rim.found`` holds them and ``rim.distances`` their squared distances, farthest first; of
    equally far ones the lowest number.
    """
    radius = np.sqrt(squared_distance(vector, rim.mean)) + rim.margin
    have = 0
    limit = -1.0
    for block in range(rim.counters[_BLOCKS]):
        bound = radius + rim.outer[block]
        if bound * bound * (1.0 + 1e-12) < limit:
            break
        fill = rim.fill[block]
        buffer = rim.buffer[:fill]
        buffer[:] = 0.0
        for t in range(len(vector)):
            column = rim.blocks[block, t, :fill]
            value = vector[t]
            for i in range(fill):
                difference = column[i] - value
                buffer[i] += difference * difference
        for i in range(fill):
            distance = buffer[i]
            if distance < limit:
                continue
            row = rim.members[block, i]
            if have == count:
                if distance == limit and row > rim.found[count - 1]:
                    continue
            else:
                have += 1
            slot = have - 1
            while slot > 0 and (
                rim.distances[slot - 1] < distance
                or (rim.distances[slot - 1] == distance and rim.found[slot - 1] > row)
            ):
                rim.distances[slot] = rim.distances[slot - 1]
                rim.found[slot] = rim.found[slot - 1]
                slot -= 1
            rim.distances[slot] = distance
            rim.found[slot] = row
            if have == count:
                limit = rim.distances[count - 1]
    return have
