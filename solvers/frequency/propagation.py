"""Propagation: drop options and values that one sum alone rules out."""

from __future__ import annotations

import numpy as np

from kanopy.solvers.frequency.program import Mask, Program
from kanopy.solvers.kernels.inner import inner, kernel


def propagate(program: Program) -> Program:
    """The program without options and values that some sum gives no support.

    Each sum is made consistent by itself until nothing changes: an option stays iff the other
    groups can complete its amount to a value of the sum, and a value stays iff it can be reached.
    Dropped ones occur in no solution at all.
    """
    if program.infeasible:
        return program
    options = np.ones(len(program.cost), dtype=np.bool_)
    values = np.ones(len(program.sum_value), dtype=np.bool_)
    Propagation(program).drop(options, values)
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

    def drop(self, options: Mask, values: Mask) -> bool:
        """Clear the flags of what has no support; False (and no flag left) if nothing has."""
        _propagate(*self.groups, options, *self.sums, values)
        return bool(options.any())


@kernel
def _propagate(  # type: ignore[no-untyped-def]
    start, owner, options, row_start, entry_option, entry_amount, sum_start, sum_value, values
):
    """Clear the flags of unsupported options and values; all flags if nothing is left."""
    again = True
    while again:
        again = False
        for c in range(len(sum_start) - 1):
            highest = -1
            for p in range(sum_start[c], sum_start[c + 1]):
                if values[p]:
                    highest = sum_value[p]
            if highest < 0:
                options[:] = False
                values[:] = False
                return
            # Segments of entries that belong to one group.
            groups = 0
            previous = -1
            for e in range(row_start[c], row_start[c + 1]):
                group = owner[entry_option[e]]
                if group != previous:
                    groups += 1
                    previous = group
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

            width = highest + 1
            ahead = np.zeros((groups + 1, width), dtype=np.bool_)
            ahead[0, 0] = True
            for s in range(groups):
                if _keeps_zero(start, owner, options, entry_option, segment[s], segment[s + 1]):
                    ahead[s + 1] = ahead[s]
                for e in range(segment[s], segment[s + 1]):
                    step = entry_amount[e]
                    if options[entry_option[e]] and step < width:
                        for v in range(width - step):
                            if ahead[s, v]:
                                ahead[s + 1, v + step] = True
            behind = np.zeros(width, dtype=np.bool_)
            for p in range(sum_start[c], sum_start[c + 1]):
                if values[p]:
                    if ahead[groups, sum_value[p]]:
                        behind[sum_value[p]] = True
                    else:
                        values[p] = False
            for s in range(groups - 1, -1, -1):
                before = np.zeros(width, dtype=np.bool_)
                for e in range(segment[s], segment[s + 1]):
                    if not options[entry_option[e]]:
                        continue
                    step = entry_amount[e]
                    supported = False
                    for v in range(width - step):
                        if behind[v + step]:
                            before[v] = True
                            if ahead[s, v]:
                                supported = True
                    if not supported:
                        options[entry_option[e]] = False
                        again = True
                if _keeps_zero(start, owner, options, entry_option, segment[s], segment[s + 1]):
                    supported = False
                    for v in range(width):
                        if behind[v]:
                            before[v] = True
                            if ahead[s, v]:
                                supported = True
                    if not supported:
                        _drop_zeros(start, owner, options, entry_option, segment[s], segment[s + 1])
                        again = True
                behind = before


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
