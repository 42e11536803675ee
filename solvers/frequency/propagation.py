"""Propagation: drop options and values that one sum alone rules out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kanopy.solvers.frequency.program import Mask, Program
from kanopy.solvers.kernels.inner import inner, kernel

SLICE = 100_000_000
"""Words of reachable values that are looked at between two looks at the clock."""
MOST_WORDS = 1 << 27
"""A sum whose reachable values take more words of memory (1 GB) is left as it is."""


def propagate(program: Program, stopping: Callable[[], bool] = lambda: False) -> Program:
    """The program without options and values that some sum gives no support.

    Each sum is made consistent by itself until nothing changes: an option stays iff the other
    groups can complete its amount to a value of the sum, and a value stays iff it can be reached.
    Dropped ones occur in no solution at all, so it is no harm to stop before the end.
    """
    if program.infeasible:
        return program
    options = np.ones(len(program.cost), dtype=np.bool_)
    values = np.ones(len(program.sum_value), dtype=np.bool_)
    Propagation(program).drop(options, values, stopping)
    if options.all() and values.all():
        return program
    return program.restricted(options, values)


class Propagation:
    """Propagation within a program some of whose options and values have been dropped."""

    def __init__(self, program: Program) -> None:
        amount = program.amount
        amount.sort_indices()
        self.groups = program.start, program.owner
        self.sums = (
            amount.indptr.astype(np.int64),
            amount.indices.astype(np.int64),
            amount.data.astype(np.int64),
            program.sum_start,
            program.sum_value,
        )

    def drop(
        self, options: Mask, values: Mask, stopping: Callable[[], bool] = lambda: False
    ) -> bool:
        """Clear the flags of what has no support; False (and no flag left) if nothing has."""
        place = np.zeros(2, dtype=np.int64)
        while not _propagate(*self.groups, options, *self.sums, values, place, SLICE, MOST_WORDS):
            if stopping():
                break
        return bool(options.any())


@kernel
def _propagate(  # type: ignore[no-untyped-def]
    start,
    owner,
    options,
    row_start,
    entry_option,
    entry_amount,
    sum_start,
    sum_value,
    values,
    place,
    work,
    most_words,
):
    """Clear the flags of unsupported options and values; all flags if nothing is left.

    Sets of values are words of 64 bits. After so much work it returns False, and ``place`` holds
    the next sum and whether the present pass has dropped an option; True if all is done.
    """
    while True:
        if place[0] == len(sum_start) - 1:
            if place[1] == 0:
                return True
            place[:] = 0
        if work < 0:
            return False
        c = place[0]
        place[0] += 1
        highest = -1
        for p in range(sum_start[c], sum_start[c + 1]):
            if values[p]:
                highest = sum_value[p]
        if highest < 0:
            options[:] = False
            values[:] = False
            return True
        # Segments of entries that belong to one group.
        groups = 0
        previous = -1
        for e in range(row_start[c], row_start[c + 1]):
            group = owner[entry_option[e]]
            if group != previous:
                groups += 1
                previous = group
        words = (highest >> 6) + 1
        if (groups + 1) * words > most_words:
            continue
        segment = np.empty(groups + 1, dtype=np.int64)
        groups = 0
        previous = -1
        for e in range(row_start[c], row_start[c + 1]):
            group = owner[entry_option[e]]
            if group != previous:
                segment[groups] = e
                groups += 1
                previous = group
        segment[groups] = row_start[c + 1]
        work -= (row_start[c + 1] - row_start[c] + groups + 1) * words

        ahead = np.zeros((groups + 1, words), dtype=np.uint64)
        ahead[0, 0] = 1
        for s in range(groups):
            if _keeps_zero(start, owner, options, entry_option, segment[s], segment[s + 1]):
                ahead[s + 1] = ahead[s]
            for e in range(segment[s], segment[s + 1]):
                if options[entry_option[e]]:
                    _add_up(ahead[s], entry_amount[e], ahead[s + 1])
        behind = np.zeros(words, dtype=np.uint64)
        for p in range(sum_start[c], sum_start[c + 1]):
            if values[p]:
                word, bit = sum_value[p] >> 6, np.uint64(1) << np.uint64(sum_value[p] & 63)
                if ahead[groups, word] & bit:
                    behind[word] |= bit
                else:
                    values[p] = False
        for s in range(groups - 1, -1, -1):
            before = np.zeros(words, dtype=np.uint64)
            for e in range(segment[s], segment[s + 1]):
                if options[entry_option[e]] and not _take_off(
                    behind, entry_amount[e], before, ahead[s]
                ):
                    options[entry_option[e]] = False
                    place[1] = 1
            if _keeps_zero(
                start, owner, options, entry_option, segment[s], segment[s + 1]
            ) and not _take_off(behind, 0, before, ahead[s]):
                _drop_zeros(start, owner, options, entry_option, segment[s], segment[s + 1])
                place[1] = 1
            behind = before


@inner
def _add_up(values, step, sums):  # type: ignore[no-untyped-def]
    """Put each value plus the step into the sums; some beyond the highest do no harm."""
    skip, up = step >> 6, np.uint64(step & 63)
    for word in range(skip, len(values)):
        sums[word] |= values[word - skip] << up
    if up:
        down = np.uint64(64) - up
        for word in range(skip + 1, len(values)):
            sums[word] |= values[word - skip - 1] >> down


@inner
def _take_off(values, step, rests, wanted):  # type: ignore[no-untyped-def]
    """Put each value minus the step into the rests; whether one of these is wanted."""
    skip, down = step >> 6, np.uint64(step & 63)
    met = False
    for word in range(len(values) - skip):
        bits = values[word + skip] >> down
        if down and word + skip + 1 < len(values):
            bits |= values[word + skip + 1] << (np.uint64(64) - down)
        rests[word] |= bits
        met |= (bits & wanted[word]) != 0
    return met


@inner
def _keeps_zero(start, owner, options, entry_option, first, end):  # type: ignore[no-untyped-def]
    """Whether an option of the segment's group that adds nothing to the sum is left."""
    group = owner[entry_option[first]]
    e = first
    for option in range(start[group], start[group + 1]):
        if e < end and entry_option[e] == option:
            e += 1
        elif options[option]:
            return True
    return False


@inner
def _drop_zeros(start, owner, options, entry_option, first, end):  # type: ignore[no-untyped-def]
    group = owner[entry_option[first]]
    e = first
    for option in range(start[group], start[group + 1]):
        if e < end and entry_option[e] == option:
            e += 1
        else:
            options[option] = False
