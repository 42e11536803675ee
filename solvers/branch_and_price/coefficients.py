"""Coefficients of clusters in the rows of the master: types, count row and subset-row cuts."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kanopy.solvers.branch_and_price.pricing import Cuts
from kanopy.solvers.kernels.inner import kernel

Ints = NDArray[np.int64]


def cuts_by_type(cuts: Cuts, number: int) -> tuple[Ints, Ints]:
    """The cuts that hold each type: ``cuts[starts[t]:starts[t + 1]]``."""
    lengths = np.diff(cuts.starts)
    of_member = np.repeat(np.arange(len(cuts)), lengths)
    order = np.argsort(cuts.members, kind="stable")
    counts = np.bincount(cuts.members, minlength=number)
    starts = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    return starts, of_member[order].astype(np.int64)


def coefficients(
    clusters: NDArray[np.int32], cuts: Cuts, number: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """Column-wise entries: row t < number counts type t, row ``number`` is 1, then the cuts.

    >>> starts, rows, values = coefficients(np.array([[0, 0, 2]], dtype=np.int32), Cuts(), 3)
    >>> starts.tolist(), rows.tolist(), values.tolist()
    ([0, 3], [0, 2, 3], [2.0, 1.0, 1.0])
    """
    type_starts, type_cuts = cuts_by_type(cuts, number)
    most = int(np.diff(type_starts).max(initial=0))
    room = len(clusters) * (clusters.shape[1] * (1 + most) + 1)
    starts = np.zeros(len(clusters) + 1, dtype=np.int64)
    rows = np.empty(room, dtype=np.int32)
    values = np.empty(room)
    _fill(clusters, type_starts, type_cuts, cuts.divisors, number, starts, rows, values)
    used = int(starts[-1])
    return starts.astype(np.int32), rows[:used], values[:used]


def coefficient_table(clusters: NDArray[np.int32], cuts: Cuts, number: int) -> sp.csr_array:
    """The same as a matrix whose columns are the clusters.

    >>> table = coefficient_table(np.array([[0, 0, 2]], dtype=np.int32), Cuts(), 3)
    >>> table.toarray().ravel().tolist()
    [2.0, 0.0, 1.0, 1.0]
    """
    starts, rows, values = coefficients(clusters, cuts, number)
    shape = (number + 1 + len(cuts), len(clusters))
    return sp.csr_array(sp.csc_array((values, rows, starts), shape=shape))


def cut_rows(
    clusters: NDArray[np.int32], cuts: Cuts, number: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """Row-wise entries of the cuts: the clusters with ⌊|C ∩ T|/q⌋ ≥ 1 and that number.

    >>> cuts = Cuts(np.array([0, 3]), np.array([0, 1, 2]), np.array([2]))
    >>> rows = np.array([[0, 1, -1], [0, 2, 3], [1, 3, -1]], dtype=np.int32)
    >>> starts, columns, values = cut_rows(rows, cuts, 4)
    >>> starts.tolist(), columns.tolist(), values.tolist()
    ([0, 2], [0, 1], [1.0, 1.0])
    """
    ends, rows, values = coefficients(clusters, cuts, number)
    of_cuts = np.flatnonzero(rows > number)
    column = np.repeat(np.arange(len(clusters), dtype=np.int32), np.diff(ends))[of_cuts]
    cut = rows[of_cuts] - number - 1
    order = np.argsort(cut, kind="stable")
    starts = np.searchsorted(cut[order], np.arange(len(cuts) + 1)).astype(np.int32)
    return starts, column[order], values[of_cuts][order]


def right_hand_sides(cuts: Cuts, multiplicities: Ints) -> NDArray[np.float64]:
    """⌊Σ_{t∈T} count_t / q⌋ of each cut: the sum of its rows, divided and rounded down."""
    totals = np.add.reduceat(np.append(multiplicities[cuts.members], 0), cuts.starts[:-1])
    return (totals // cuts.divisors).astype(np.float64) if len(cuts) else np.empty(0)


def violations(
    clusters: NDArray[np.int32], x: NDArray[np.float64], cuts: Cuts, multiplicities: Ints
) -> NDArray[np.float64]:
    """By how much a point breaks each cut; ≤ 0 where it does not.

    >>> cuts = Cuts(np.array([0, 3]), np.array([0, 1, 2]), np.array([2]))
    >>> rows = np.array([[0, 1], [1, 2], [0, 2]], dtype=np.int32)
    >>> violations(rows, np.full(3, 0.5), cuts, np.ones(3, dtype=np.int64)).tolist()
    [0.5]
    """
    used = np.flatnonzero(x > 0)
    starts, of_type = cuts_by_type(cuts, len(multiplicities))
    broken = -right_hand_sides(cuts, multiplicities)
    _add_activities(clusters[used], x[used], starts, of_type, cuts.divisors, broken)
    return broken


@kernel
def _add_activities(
    clusters: NDArray[np.int32],
    x: NDArray[np.float64],
    starts: Ints,
    cuts_of_type: Ints,
    divisors: Ints,
    activities: NDArray[np.float64],
) -> None:
    within = np.zeros(len(divisors), dtype=np.int64)
    for row in range(len(clusters)):
        for t in clusters[row]:
            if t >= 0:
                for e in range(starts[t], starts[t + 1]):
                    cut = cuts_of_type[e]
                    within[cut] += 1
                    if within[cut] % divisors[cut] == 0:
                        activities[cut] += x[row]
        for t in clusters[row]:
            if t >= 0:
                for e in range(starts[t], starts[t + 1]):
                    within[cuts_of_type[e]] = 0


@kernel
def _fill(
    clusters: NDArray[np.int32],
    type_starts: Ints,
    type_cuts: Ints,
    divisors: Ints,
    number: int,
    starts: Ints,
    rows: NDArray[np.int32],
    values: NDArray[np.float64],
) -> None:
    held = np.zeros(len(divisors), dtype=np.int64)
    used = 0
    for i in range(clusters.shape[0]):
        begin = used
        for j in range(clusters.shape[1]):
            t = clusters[i, j]
            if t < 0:
                continue
            place = begin
            while place < used and rows[place] != t:
                place += 1
            if place == used:
                rows[used] = t
                values[used] = 0.0
                used += 1
            values[place] += 1.0
            for e in range(type_starts[t], type_starts[t + 1]):
                held[type_cuts[e]] += 1
        rows[used] = number
        values[used] = 1.0
        used += 1
        for j in range(clusters.shape[1]):
            t = clusters[i, j]
            if t < 0:
                continue
            for e in range(type_starts[t], type_starts[t + 1]):
                c = type_cuts[e]
                if held[c] >= divisors[c]:
                    rows[used] = number + 1 + c
                    values[used] = held[c] // divisors[c]
                    used += 1
                held[c] = 0
        starts[i + 1] = used
