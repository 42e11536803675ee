"""Median splits: a valid partition in O(n d log n), and the kernel of the MONDRIAN family.

A block is halved along one direction: the class is thought sorted stably along it, in the order
that its parent's split gave it, and the first ⌊size/2⌋ rows go left. No block is ever really
sorted. The median is selected in linear time, and only rows that tie with it look back at the
directions of the splits above: sorted by those, the latest first, and at last by row number, is
the order that stable sorting would have carried down. So a level costs O(nd), and the rows of a
block stay in the order of memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from kanopy.solvers.kernels.inner import inner, kernel
from kanopy.solvers.run import Run

RULES = ("range", "variance", "variance-2d")
"""The direction of a split: the column of widest range, the column of largest variance, or the
largest variance among the columns and the diagonals (e_a ± e_b)/√2 of two columns."""

_TIE = 1.0 + 1e-9  # spreads within this ratio are equal, so that rounding decides nothing
_LOCAL = 65_536  # numbers that stay in the cache: below, a block is split on a copy of it
_SPARSE = 8  # rows are copied together once they are one in so many of those they lie among


@dataclass(frozen=True)
class Blocks:
    """A table cut into blocks: block b holds ``rows[bounds[b]:bounds[b + 1]]``, ascending."""

    rows: NDArray[np.int64]
    bounds: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def __getitem__(self, block: int) -> NDArray[np.int64]:
        if not 0 <= block < len(self):
            raise IndexError(block)
        return self.rows[self.bounds[block] : self.bounds[block + 1]]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Rows of each block."""
        return np.diff(self.bounds)

    def labels(self) -> NDArray[np.int64]:
        """Block of each row."""
        labels = np.empty(len(self.rows), dtype=np.int64)
        labels[self.rows] = np.repeat(np.arange(len(self)), self.sizes)
        return labels


def quick_partition(points: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Classes of k … 2k−1 rows by halving along the widest column; everybody's way out.

    Fewer than 2k rows are one class. The result depends on nothing but the input.

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
    return halve(points, 2 * k - 1).labels()


@contextmanager
def plain_interrupts() -> Iterator[None]:
    """Let Ctrl-C be a KeyboardInterrupt.

    If it comes while a kernel's result is turned into Python objects, it leaves the kernel as a
    SystemError ("returned a result with an exception set") that it is only the cause of.
    """
    try:
        yield
    except SystemError as error:
        cause = error.__cause__
        while isinstance(cause, SystemError):
            cause = cause.__cause__
        if isinstance(cause, KeyboardInterrupt):
            raise KeyboardInterrupt from error
        raise


@contextmanager
def quick_exit(run: Run) -> Iterator[None]:
    """Leave a valid partition with the run when Ctrl-C ends a method that has reported none."""
    try:
        with plain_interrupts():
            yield
    except KeyboardInterrupt:
        if run.best is None:
            run.found_labels(quick_partition(run.problem.data.points, run.problem.k))
        raise


def _never() -> bool:
    return False


def halve(
    points: NDArray[np.float64],
    largest: int,
    rule: str = "range",
    limit: float = 0.0,
    stopping: Callable[[], bool] = _never,
) -> Blocks:
    """Split at medians until a block has at most ``largest`` or fewer than ``limit`` rows.

    Parameters
    ----------
    points
        One row per record.
    largest
        A block of that size or less is left alone.
    rule
        How the direction of a split is chosen, one of :data:`RULES`.
    limit
        A block of fewer rows than this is left alone, too.
    stopping
        Once this holds, blocks stay as large as they are.

    Returns
    -------
    The blocks in the order of the splits, left before right.
    """
    n, columns = points.shape
    leaf = int(min(max(1, largest, np.ceil(limit) - 1), n))
    directions = _directions(columns, rule)
    order = np.empty(n, dtype=np.int64)
    bounds = [np.zeros(1, dtype=np.int64)]
    whole = _Segment(
        0, _frozen(points), np.arange(n), np.arange(n), np.empty((0, 3), dtype=np.int64)
    )
    waiting = [whole] if n else []
    while waiting:
        segment = waiting.pop()
        start, rows, path = segment.start, segment.rows, segment.path
        end = start + len(rows)
        if len(rows) <= leaf or stopping():
            order[start:end] = segment.origin[rows]
            bounds.append(np.array([end]))
        elif len(rows) * columns <= _LOCAL:
            positions, ends = _split_all(_frozen(segment.points[rows]), leaf, directions, path)
            order[start:end] = segment.origin[rows[positions]]
            bounds.append(start + ends)
        elif len(rows) * _SPARSE <= len(segment.points):
            copy, origin = _frozen(segment.points[rows]), segment.origin[rows]
            waiting.append(_Segment(start, copy, origin, np.arange(len(rows)), path))
        else:
            path = np.vstack((path, np.zeros((1, 3), dtype=np.int64)))
            half = _split_kernel(segment.points, rows, directions, path)
            waiting.append(replace(segment, start=start + half, rows=rows[half:], path=path))
            waiting.append(replace(segment, rows=rows[:half], path=path))
    return Blocks(order, np.concatenate(bounds))


def _directions(columns: int, rule: str) -> NDArray[np.int64]:
    """What the variance rules choose from: (a, −1, 0) for x_a, (a, b, ±1) for x_a ± x_b."""
    if rule not in RULES:
        raise ValueError(f"unknown rule of splitting {rule!r}; choose one of: {', '.join(RULES)}")
    single = [(a, -1, 0) for a in range(columns)] if rule != "range" else []
    pairs = combinations(range(columns), 2) if rule == "variance-2d" else ()
    double = [(a, b, orientation) for a, b in pairs for orientation in (1, -1)]
    return np.array(single + double, dtype=np.int64).reshape(-1, 3)


def _frozen(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """A read-only view, so that kernels are compiled for one type only."""
    view = np.ascontiguousarray(points, dtype=np.float64).view()
    view.flags.writeable = False
    return view


@dataclass(frozen=True)
class _Segment:
    """Rows still to be split: row r of ``points`` is row ``origin[r]`` of the table."""

    start: int
    points: NDArray[np.float64]
    origin: NDArray[np.int64]
    rows: NDArray[np.int64]
    path: NDArray[np.int64]


@kernel
def _split_all(points, leaf, directions, path_above):  # type: ignore[no-untyped-def]
    """Depth-first splitting of one block down to the leaves: row order, ends of the leaves."""
    n = len(points)
    rows = np.arange(n)
    ends = np.empty(n, np.int64)
    count = 0
    above = len(path_above)
    path = np.empty((above + 64, 3), np.int64)
    for level in range(above):
        _write(path[level], path_above[level, 0], path_above[level, 1], path_above[level, 2])
    # Of two halves the left is done first, so at most one waits per level, and its path stays
    # valid: until it is taken up, only deeper levels are overwritten.
    waiting = np.empty((64, 3), np.int64)
    _write(waiting[0], 0, n, above)
    depth = 1
    while depth > 0:
        start, end, level = waiting[depth - 1]
        if end - start <= leaf:
            ends[count] = end
            count += 1
            depth -= 1
            continue
        middle = start + _split(points, rows[start:end], directions, path[: level + 1])
        _write(waiting[depth - 1], middle, end, level + 1)
        _write(waiting[depth], start, middle, level + 1)
        depth += 1
    return rows, ends[:count]


@inner
def _write(triple, first, second, third):  # type: ignore[no-untyped-def]
    triple[0] = first
    triple[1] = second
    triple[2] = third


@inner
def _split(points, rows, directions, path):  # type: ignore[no-untyped-def]
    """Choose the direction ``path[-1]``, bring the smaller half to the front, return its size."""
    direction = path[len(path) - 1]
    if points.shape[1] == 0:
        _write(direction, -1, -1, 0)
    elif len(directions) == 0:
        _write(direction, _widest_column(points, rows), -1, 0)
    else:
        a, b, orientation = directions[_largest_variance(points, rows, directions)]
        _write(direction, a, b, orientation)
    size = len(rows)
    half = size // 2
    goes_left = np.zeros(size, np.bool_)
    candidates = np.arange(size)
    keys = np.empty(size)
    scratch = np.empty(size)
    count = size
    wanted = half
    for level in range(len(path) - 1, -1, -1):
        _project(points, rows, candidates[:count], path[level], keys)
        for i in range(count):
            scratch[i] = keys[i]
        median = _nth_smallest(scratch[:count], wanted - 1)
        ties = 0
        for i in range(count):
            if keys[i] < median:
                goes_left[candidates[i]] = True
                wanted -= 1
            elif keys[i] == median:
                candidates[ties] = candidates[i]
                ties += 1
        count = ties
        if count == wanted:
            break
    for i in range(wanted):
        goes_left[candidates[i]] = True
    right = candidates  # its content is used up
    left_end = 0
    for i in range(size):
        if goes_left[i]:
            rows[left_end] = rows[i]
            left_end += 1
        else:
            right[i - left_end] = rows[i]
    for i in range(half, size):
        rows[i] = right[i - half]
    return half


_split_kernel = kernel(_split)


@inner
def _project(points, rows, candidates, direction, keys):  # type: ignore[no-untyped-def]
    """Coordinate of the candidates along x_a, x_a + x_b or x_a − x_b."""
    a, b, orientation = direction
    for i in range(len(candidates)):
        row = rows[candidates[i]]
        if b >= 0:
            keys[i] = points[row, a] + orientation * points[row, b]
        else:
            keys[i] = points[row, a] if a >= 0 else 0.0


@inner
def _widest_column(points, rows):  # type: ignore[no-untyped-def]
    columns = points.shape[1]
    low = points[rows[0]].copy()
    high = points[rows[0]].copy()
    for row in rows:
        values = points[row]
        for j in range(columns):
            low[j] = values[j] if values[j] < low[j] else low[j]
            high[j] = values[j] if values[j] > high[j] else high[j]
    widest = 0
    for j in range(1, columns):
        if high[j] - low[j] > _TIE * (high[widest] - low[widest]):
            widest = j
    return widest


@inner
def _largest_variance(points, rows, directions):  # type: ignore[no-untyped-def]
    """Number of the direction of largest variance.

    Var((x_a ± x_b)/√2) = (Var x_a + Var x_b)/2 ± Cov(x_a, x_b), so the covariances have it all.
    Among equals wins the direction whose median split takes away most of that variance.
    """
    mean, variance, covariance = _moments(points, rows, len(directions) > points.shape[1])
    spread = np.empty(len(directions))
    best = 0.0
    for number in range(len(directions)):
        a, b, orientation = directions[number]
        spread[number] = variance[a]
        if b >= 0:
            spread[number] = 0.5 * (variance[a] + variance[b]) + orientation * covariance[a, b]
        best = max(best, spread[number])
    equals = 0
    chosen = 0
    for number in range(len(directions) - 1, -1, -1):
        if _TIE * spread[number] >= best:
            equals += 1
            chosen = number
    if equals == 1 or best == 0.0:
        return chosen
    largest_gain = 0.0
    for number in range(len(directions)):
        if _TIE * spread[number] >= best:
            gain = _median_gain(points, rows, mean, directions[number])
            if gain > _TIE * largest_gain:
                largest_gain = gain
                chosen = number
    return chosen


@inner
def _moments(points, rows, with_covariance):  # type: ignore[no-untyped-def]
    """Mean and sums of squared deviations by column, and of products above the diagonal."""
    columns = points.shape[1]
    mean = np.zeros(columns)
    for row in rows:
        values = points[row]
        for j in range(columns):
            mean[j] += values[j]
    for j in range(columns):
        mean[j] /= len(rows)
    variance = np.zeros(columns)
    side = columns if with_covariance else 0
    covariance = np.zeros((side, side))
    centred = np.empty(columns)
    for row in rows:
        values = points[row]
        for j in range(columns):
            centred[j] = values[j] - mean[j]
            variance[j] += centred[j] * centred[j]
        for a in range(side):
            value = centred[a]
            others = centred[a:]
            products = covariance[a, a:]
            for j in range(len(products)):
                products[j] += value * others[j]
    return mean, variance, covariance


@inner
def _median_gain(points, rows, mean, direction):  # type: ignore[no-untyped-def]
    """By how much splitting at the median lowers the squared deviations along a direction."""
    a, b, orientation = direction
    size = len(rows)
    half = size // 2
    keys = np.empty(size)
    _project(points, rows, np.arange(size), direction, keys)
    center = mean[a] + (orientation * mean[b] if b >= 0 else 0.0)
    scratch = np.empty(size)
    for i in range(size):
        keys[i] -= center
        scratch[i] = keys[i]
    median = _nth_smallest(scratch, half - 1)
    left = half * median
    total = 0.0
    for i in range(size):
        total += keys[i]
        left += min(keys[i] - median, 0.0)
    between = left**2 / half + (total - left) ** 2 / (size - half)
    return between / 2 if b >= 0 else between


@inner
def _nth_smallest(values, nth):  # type: ignore[no-untyped-def]
    """The nth smallest value (from 0), by quickselect in place."""
    left = 0
    right = len(values) - 1
    state = np.uint64(88172645463325252)  # xorshift pivots: no input order is a bad one
    while left < right:
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        pivot = values[left + np.int64(state % np.uint64(right - left + 1))]
        i = left
        j = right
        while i <= j:  # values equal to the pivot change sides too, so ties keep it balanced
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if nth <= j:
            right = j
        elif nth >= i:
            left = i
        else:
            break
    return values[nth]
