"""Nearest vectors among a set that shrinks, grows and moves.

The vectors lie in blocks of WIDTH, column by column inside a block, so that one instruction works
on several of them. The blocks are the leaves of a balanced tree of boxes; a query visits only the
boxes that can hold an answer. Vectors that come later lie in spare blocks outside the tree, which
every query scans, until there are so many that the tree is built anew.

For the boxes the vectors may be rotated to their principal axes, where few coordinates tell them
apart. Rotation costs the last digits, therefore it only ever rules vectors out, with a margin for
its rounding; what remains is compared by its distance in the original coordinates. So the answers
are those of a plain scan, and the lowest number wins ties.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

from kanopy.solvers.kernels.distance import squared_distance, squared_norm
from kanopy.solvers.kernels.inner import INNER, inner
from kanopy.solvers.kernels.record import record

WIDTH = 64
"""Vectors in a block."""

NONE = cast(int, np.int64(-1))
"""No vector; of a plain type, see :mod:`kanopy.solvers.kernels.record`."""

ROUNDING = 64 * 2.0**-53
"""Times columns times the largest norm, a bound on what rounding adds to a distance."""

_LEVELS, _SPARE, _SIZE, _BUILT, _STIRRED = 0, 1, 2, 3, 4
# Of a bound only the value matters, not the order of its sum; infinities must stay what they are.
_BOUND = {"reassoc", "contract", "nsz", "arcp"}


@record
class Index:
    """A set of numbered vectors; see :func:`make_index`."""

    source: NDArray[np.float64]
    """The vectors, one a row; the caller may overwrite a row and then call :func:`put`."""
    rotation: NDArray[np.float64]
    blocks: NDArray[np.float64]
    members: NDArray[np.int64]
    fill: NDArray[np.int64]
    place: NDArray[np.int64]
    factors: NDArray[np.float64]
    """Squared distances to a vector count this many times; empty for once."""
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    counters: NDArray[np.int64]
    margin: NDArray[np.float64]
    distances: NDArray[np.float64]
    """Squared distances of the last answer, ascending."""
    found: NDArray[np.int64]
    """Numbers of the last answer."""
    buffer: NDArray[np.float64]
    query: NDArray[np.float64]
    waiting: NDArray[np.int64]
    bounds: NDArray[np.float64]


def principal_axes(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Orthogonal matrix whose columns are the principal axes, widest first."""
    centered = points - points.mean(axis=0)
    _, axes = np.linalg.eigh(centered.T @ centered)
    return np.ascontiguousarray(axes[:, ::-1])


@inner
def largest_norm(points: NDArray[np.float64]) -> float:
    """Largest Euclidean norm of a row."""
    largest = 0.0
    for vector in points:
        largest = max(largest, squared_norm(vector))
    return np.sqrt(largest)


@inner
def make_index(
    source: NDArray[np.float64],
    rotation: NDArray[np.float64],
    most: int,
    spare: int,
    factors: NDArray[np.float64],
    least: float,
    reach: float = -1.0,
) -> Index:
    """An empty index over the rows of ``source``.

    Parameters
    ----------
    source
        Vectors, one a row.
    rotation
        Orthogonal matrix, or 0 × 0 for none.
    most
        The most neighbours that a query asks for.
    spare
        How many vectors may lie outside the tree before it is built anew.
    factors, least
        :func:`nearest` multiplies squared distances by a factor per vector, which the caller may
        change, and which is never less than ``least``; empty and 1 for plain distances.
    reach
        The largest norm of a vector, now or later; negative for that of the source as it is now.
    """
    n, d = source.shape
    leaves = 1
    while leaves * WIDTH < n:
        leaves *= 2
    count = leaves + (spare + WIDTH - 1) // WIDTH + 1
    counters = np.zeros(5, np.int64)
    counters[_SPARE] = leaves
    counters[_LEVELS] = NONE
    margin = np.zeros(2)
    margin[1] = least
    if len(rotation):
        margin[0] = ROUNDING * d * (reach if reach >= 0.0 else largest_norm(source))
    return Index(
        source,
        rotation,
        np.full((count, d, WIDTH), np.inf),
        np.empty((count, WIDTH), np.int64),
        np.zeros(count, np.int64),
        np.full(n, NONE, np.int64),
        factors,
        np.empty((2 * leaves - 1, d)),
        np.empty((2 * leaves - 1, d)),
        counters,
        margin,
        np.empty(most),
        np.empty(most, np.int64),
        np.empty(WIDTH),
        np.empty(d),
        np.empty(64, np.int64),
        np.empty(64),
    )


@inner
def _rotate(
    rotation: NDArray[np.float64], vector: NDArray[np.float64], result: NDArray[np.float64]
) -> None:
    """Coordinates of ``vector`` along the axes of an index."""
    d = len(vector)
    if len(rotation) == 0:
        for t in range(d):
            result[t] = vector[t]
        return
    for t in range(d):
        result[t] = 0.0
    for s in range(d):
        value = vector[s]
        axis = rotation[s]
        for t in range(d):
            result[t] += value * axis[t]


@inner
def build(index: Index, numbers: NDArray[np.int64]) -> None:
    """Make ``numbers`` the content of the index, all in the tree."""
    d = index.source.shape[1]
    n = len(numbers)
    levels = 0
    while WIDTH << levels < n:
        levels += 1
    index.place[:] = NONE
    for block in range(len(index.fill)):
        if index.fill[block] > 0:
            index.fill[block] = 0
            index.blocks[block] = np.inf
    index.counters[_LEVELS] = levels
    index.counters[_SIZE] = n
    index.counters[_BUILT] = n
    index.counters[_STIRRED] = 0
    rows = np.empty((n, d))
    for i in range(n):
        _rotate(index.rotation, index.source[numbers[i]], rows[i])
    order = np.arange(n)
    keys = np.empty(n)
    begin = np.empty(2 << levels, np.int64)
    end = np.empty(2 << levels, np.int64)
    begin[0] = 0
    end[0] = n
    first_leaf = (1 << levels) - 1
    for node in range(2 * first_leaf + 1):
        b = begin[node]
        e = end[node]
        low = index.low[node]
        high = index.high[node]
        low[:] = np.inf
        high[:] = -np.inf
        for i in range(b, e):
            row = rows[order[i]]
            for t in range(d):
                low[t] = min(low[t], row[t])
                high[t] = max(high[t], row[t])
        if node >= first_leaf:
            leaf = node - first_leaf
            index.fill[leaf] = e - b
            for i in range(b, e):
                row = rows[order[i]]
                for t in range(d):
                    index.blocks[leaf, t, i - b] = row[t]
                index.members[leaf, i - b] = numbers[order[i]]
                index.place[numbers[order[i]]] = leaf * WIDTH + i - b
            continue
        widest = 0
        for t in range(1, d):
            if high[t] - low[t] > high[widest] - low[widest]:
                widest = t
        middle = b + (e - b) // 2
        for i in range(b, e):
            keys[i] = rows[order[i], widest]
        _partition(keys[b:e], order[b:e], middle - b)
        begin[2 * node + 1] = b
        end[2 * node + 1] = middle
        begin[2 * node + 2] = middle
        end[2 * node + 2] = e


@inner
def _partition(keys: NDArray[np.float64], order: NDArray[np.int64], nth: int) -> None:
    """Reorder both so that no key before ``nth`` is larger than one from ``nth`` on."""
    left = 0
    right = len(keys) - 1
    while left < right:
        a, b, c = keys[left], keys[(left + right) // 2], keys[right]
        pivot = max(min(a, b), min(max(a, b), c))
        i = left
        j = right
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while keys[j] > pivot:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if nth <= j:
            right = j
        elif nth >= i:
            left = i
        else:
            return


@inner
def _refresh(index: Index, block: int) -> None:
    """Fit the box of a leaf, and of the nodes above it, to what they hold now."""
    leaves = 1 << index.counters[_LEVELS]
    if block >= leaves or index.counters[_LEVELS] < 0:
        return
    d = index.source.shape[1]
    node = leaves - 1 + block
    changed = False
    for t in range(d):
        column = index.blocks[block, t]
        low = np.inf
        high = -np.inf
        for i in range(index.fill[block]):
            low = min(low, column[i])
            high = max(high, column[i])
        changed |= index.low[node, t] != low or index.high[node, t] != high
        index.low[node, t] = low
        index.high[node, t] = high
    while changed and node > 0:
        node = (node - 1) // 2
        changed = False
        left = 2 * node + 1
        for t in range(d):
            low = min(index.low[left, t], index.low[left + 1, t])
            high = max(index.high[left, t], index.high[left + 1, t])
            changed |= index.low[node, t] != low or index.high[node, t] != high
            index.low[node, t] = low
            index.high[node, t] = high


@inner
def _content(index: Index) -> NDArray[np.int64]:
    """The numbers in the index, ascending."""
    numbers = np.empty(index.counters[_SIZE], np.int64)
    count = 0
    for number in range(len(index.place)):
        if index.place[number] >= 0:
            numbers[count] = number
            count += 1
    return numbers


@inner
def remove(index: Index, number: int | np.int64) -> None:
    """Take a vector out of the index, if it is in."""
    place = index.place[number]
    if place < 0:
        return
    block = place // WIDTH
    slot = place % WIDTH
    index.place[number] = NONE
    index.counters[_SIZE] -= 1
    index.fill[block] -= 1
    last = index.fill[block]
    content = index.blocks[block]
    for t in range(content.shape[0]):
        content[t, slot] = content[t, last]
        content[t, last] = np.inf
    if slot != last:
        moved = index.members[block, last]
        index.members[block, slot] = moved
        index.place[moved] = block * WIDTH + slot
    _refresh(index, block)
    if 2 * index.counters[_SIZE] < index.counters[_BUILT] and index.counters[_SIZE] > WIDTH:
        build(index, _content(index))


@inner
def put(index: Index, number: int | np.int64) -> None:
    """Add row ``number`` of the source to the index, or take note that the row has changed."""
    spare = index.counters[_SPARE]
    place = index.place[number]
    if place < 0:
        block = spare
        while block < len(index.fill) and index.fill[block] == WIDTH:
            block += 1
        if block == len(index.fill):
            index.place[number] = 0
            index.counters[_SIZE] += 1
            build(index, _content(index))
            return
        place = block * WIDTH + index.fill[block]
        index.place[number] = place
        index.members[block, index.fill[block]] = number
        index.fill[block] += 1
        index.counters[_SIZE] += 1
    block = place // WIDTH
    slot = place % WIDTH
    _rotate(index.rotation, index.source[number], index.query)
    for t in range(len(index.query)):
        index.blocks[block, t, slot] = index.query[t]
    if block < spare:
        _refresh(index, block)
        # Moving vectors stretch the boxes; building anew is cheap against as many moves.
        index.counters[_STIRRED] += 1
        if index.counters[_STIRRED] > max(WIDTH, index.counters[_SIZE]):
            build(index, _content(index))


@njit(**INNER, fastmath=_BOUND)
def box_distance(
    low: NDArray[np.float64], high: NDArray[np.float64], query: NDArray[np.float64]
) -> float:
    """Squared distance to the nearest point of a box; ∞ if the box is empty."""
    total = 0.0
    for t in range(len(query)):
        outside = max(low[t] - query[t], query[t] - high[t], 0.0)
        total += outside * outside
    return total


@njit(**INNER, fastmath=_BOUND)
def _block_distances(
    block: NDArray[np.float64],
    query: NDArray[np.float64],
    limit: float,
    buffer: NDArray[np.float64],
) -> int:
    """Squared distances of a block's vectors into ``buffer``; how many are within ``limit``.

    Stops half-way (with 0) once the first coordinates rule all of them out.
    """
    d = len(query)
    for i in range(WIDTH):
        buffer[i] = 0.0
    t = 0
    within = 0
    while t < d:
        stop = min(d, t + 8)
        while t < stop:
            column = block[t]
            value = query[t]
            for i in range(WIDTH):
                difference = column[i] - value
                buffer[i] += difference * difference
            t += 1
        within = 0
        for i in range(WIDTH):
            within += buffer[i] <= limit
        if within == 0:
            return 0
    return within


@inner
def inflate(distance: float, margin: float) -> float:
    """A squared distance of rotated vectors that none at true ``distance`` or less exceeds."""
    root = np.sqrt(distance) + margin
    return root * root * (1.0 + 1e-12)


@inner
def nearest(
    index: Index,
    vector: NDArray[np.float64],
    count: int,
    bound: float,
    but: int = NONE,
    nor: int = NONE,
) -> int:
    """Find the ``count`` nearest vectors within squared distance ``bound``; how many there are.

    ``index.found`` holds their numbers and ``index.distances`` their squared distances, nearest
    first; of equally near ones the lowest number. ``but`` and ``nor`` are left out.
    """
    if count == 0:
        return 0
    query = index.query
    _rotate(index.rotation, vector, query)
    margin, least = index.margin
    weighted = len(index.factors) > 0
    have = 0
    limit = inflate(bound / least, margin)
    levels = index.counters[_LEVELS]
    first_leaf = (1 << levels) - 1 if levels >= 0 else 0
    spare = index.counters[_SPARE]
    spare_end = spare
    while spare_end < len(index.fill) and index.fill[spare_end] > 0:
        spare_end += 1
    pending = 0
    if levels >= 0:
        index.waiting[0] = 0
        index.bounds[0] = 0.0
        pending = 1
    while True:
        if spare < spare_end:
            block = spare
            spare += 1
        else:
            if pending == 0:
                return have
            pending -= 1
            if index.bounds[pending] > limit:
                continue
            node = index.waiting[pending]
            while node < first_leaf:
                left = 2 * node + 1
                to_left = box_distance(index.low[left], index.high[left], query)
                to_right = box_distance(index.low[left + 1], index.high[left + 1], query)
                if to_left <= to_right:
                    node = left
                    near, far, other = to_left, to_right, left + 1
                else:
                    node = left + 1
                    near, far, other = to_right, to_left, left
                if far <= limit:
                    index.waiting[pending] = other
                    index.bounds[pending] = far
                    pending += 1
                if not near <= limit:
                    node = NONE
                    break
            if node == NONE:
                continue
            block = node - first_leaf
        if _block_distances(index.blocks[block], query, limit, index.buffer) == 0:
            continue
        for i in range(index.fill[block]):
            if index.buffer[i] > limit:
                continue
            number = index.members[block, i]
            if number in (but, nor):
                continue
            distance = squared_distance(index.source[number], vector)
            if weighted:
                distance *= index.factors[number]
            if distance > bound:
                continue
            if have == count:
                last = count - 1
                if distance > index.distances[last] or (
                    distance == index.distances[last] and number > index.found[last]
                ):
                    continue
            else:
                have += 1
            slot = have - 1
            while slot > 0 and (
                index.distances[slot - 1] > distance
                or (index.distances[slot - 1] == distance and index.found[slot - 1] > number)
            ):
                index.distances[slot] = index.distances[slot - 1]
                index.found[slot] = index.found[slot - 1]
                slot -= 1
            index.distances[slot] = distance
            index.found[slot] = number
            if have == count:
                limit = inflate(index.distances[count - 1] / least, margin)


@inner
def within(index: Index, vector: NDArray[np.float64], bound: float) -> int:
    """Find all vectors of the tree within squared distance ``bound``; how many there are.

    ``index.found`` holds their numbers in no particular order. For an index without factors and
    spare blocks that was made for as many neighbours as vectors.
    """
    query = index.query
    _rotate(index.rotation, vector, query)
    limit = inflate(bound, index.margin[0])
    first_leaf = (1 << index.counters[_LEVELS]) - 1
    have = 0
    index.waiting[0] = 0
    pending = 1
    while pending > 0:
        pending -= 1
        node = index.waiting[pending]
        if box_distance(index.low[node], index.high[node], query) > limit:
            continue
        if node < first_leaf:
            index.waiting[pending] = 2 * node + 1
            index.waiting[pending + 1] = 2 * node + 2
            pending += 2
            continue
        block = node - first_leaf
        if _block_distances(index.blocks[block], query, limit, index.buffer) == 0:
            continue
        for i in range(index.fill[block]):
            if index.buffer[i] <= limit:
                number = index.members[block, i]
                if squared_distance(index.source[number], vector) <= bound:
                    index.found[have] = number
                    have += 1
    return have
