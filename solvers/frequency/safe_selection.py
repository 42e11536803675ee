r"""SAFE's selection rules: how a few neighbouring counts change together (000, algorithms 2 and 4).

A slice is a few entries of the frequency vector. All changes of −k … k of each of them are tried;
one is a candidate if no count falls below 0 or moves further than the allowed deviation from the
original. Candidates are compared by three numbers, the smaller the better, and the first of the
best in lexicographic order of the changes is taken:

================ ===================================== =========================================
                 algorithm 2 (elimination)             algorithm 4 (improvement)
================ ===================================== =========================================
only candidates  all \|errors\| within the bounds      counts 0 or ≥ k
first            confidentiality problems              cells with an error beyond the bound
second           penalty s: 9, 4, 1 for an error at    penalty s̃: 500, 9, 4, 1 for an error at
                 the bound, 1 and 2 below it           the bound, 1, 2 and 3 below it
third            sum of the absolute errors            sum of the absolute errors
================ ===================================== =========================================

A cell that counts the entries M ⊆ slice moves by δ = Σ_{j∈M} h_j, so cells with the same M are
added up once for each δ; a candidate is then the sum of at most 2^\|slice\| − 1 table entries
instead of a new A·c.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from kanopy.instances.tables import ControlTables
from kanopy.solvers.frequency.program import Ints
from kanopy.solvers.run import Run

PENALTY = np.array([9, 4, 1])
"""s_t of an error at the bound, one below it, two below it (000, 2.2)."""
IMPROVEMENT_PENALTY = np.array([500, 9, 4, 1])
"""s̃_t likewise."""
NOBODY = -1
"""In place of an entry, where a slice is shorter than others."""
_BATCH = 3_000_000
"""Candidates between two looks at the clock."""


class WorkingCounts:
    """A frequency vector that slices change, with the errors of all cells kept up to date."""

    def __init__(self, original: Ints, control: ControlTables, k: int, deviation: int) -> None:
        by_entry = control.matrix.tocsc()
        self.original = np.ascontiguousarray(original, dtype=np.int64)
        self.counts = self.original.copy()
        self.errors = np.zeros(len(control), dtype=np.int64)
        """A y − A y⁰."""
        self.k = k
        self.deviation = deviation
        self._cell_start = by_entry.indptr.astype(np.int64)
        self._cells = by_entry.indices.astype(np.int64)
        self._mask = np.zeros(len(control), dtype=np.int64)

    def is_problem(self) -> NDArray[np.bool_]:
        """Which entries are confidentiality problems."""
        return (self.counts > 0) & (self.counts < self.k)

    def run_through(
        self, slices: Ints, bound: Ints, run: Run, *, improving: bool
    ) -> tuple[bool, bool]:
        """Change one slice (a row of entries) after the other by algorithm 2, or 4.

        Says whether a count changed, and whether the bounds refused a candidate. Ends early if the
        run is stopping.
        """
        changed = refused = False
        batch = max(1, _BATCH // (2 * self.k + 1) ** slices.shape[1])
        for start in range(0, len(slices), batch):
            if run.stopping(iterations=min(batch, len(slices) - start)):
                break
            did_change, did_refuse = _select(
                slices[start : start + batch],
                self.counts,
                self.original,
                self.errors,
                bound,
                self._cell_start,
                self._cells,
                self._mask,
                IMPROVEMENT_PENALTY if improving else PENALTY,
                self.k,
                self.deviation,
                improving,
            )
            changed |= did_change
            refused |= did_refuse
        return changed, refused


@njit(cache=True)
def _select(  # type: ignore[no-untyped-def]
    slices,
    counts,
    original,
    errors,
    bound,
    cell_start,
    cells,
    mask,
    penalty,
    k,
    deviation,
    improving,
):
    """Change the counts of each slice in turn; ``mask`` is 0 in every cell, before and after."""
    size = slices.shape[1]
    reach = size * k
    changes = np.empty((size, 2 * k + 1), dtype=np.int64)
    options = np.empty(size, dtype=np.int64)
    position = np.empty(size, dtype=np.int64)
    best = np.empty(size, dtype=np.int64)
    touched = np.empty(size * np.max(cell_start[1:] - cell_start[:-1]), dtype=np.int64)
    tables = np.zeros((1 << size, 2 * reach + 1, 3), dtype=np.int64)
    groups = np.empty(1 << size, dtype=np.int64)
    in_use = np.zeros(1 << size, dtype=np.bool_)
    changed = refused = False
    for s in range(len(slices)):
        number = 0
        for j in range(size):
            options[j] = 0
            entry = slices[s, j]
            if entry < 0:
                changes[j, 0] = 0
                options[j] = 1
                continue
            for change in range(-k, k + 1):
                count = counts[entry] + change
                if count < 0 or abs(count - original[entry]) > deviation:
                    continue
                if improving and 0 < count < k:
                    continue
                changes[j, options[j]] = change
                options[j] += 1
            for p in range(cell_start[entry], cell_start[entry + 1]):
                if mask[cells[p]] == 0:
                    touched[number] = cells[p]
                    number += 1
                mask[cells[p]] |= 1 << j

        # Cells that count the same entries of the slice are added up, change by change.
        number_of_groups = 0
        for q in range(number):
            cell = touched[q]
            group = mask[cell]
            mask[cell] = 0
            low = high = 0
            for j in range(size):
                if group >> j & 1:
                    low += changes[j, 0]
                    high += changes[j, options[j] - 1]
            if not in_use[group]:
                in_use[group] = True
                groups[number_of_groups] = group
                number_of_groups += 1
                tables[group, reach + low : reach + high + 1] = 0
            for change in range(low, high + 1):
                error = abs(errors[cell] + change)
                below = bound[cell] - error
                tables[group, reach + change, 2] += error
                if below < 0:
                    tables[group, reach + change, 0] += 1
                elif below < len(penalty):
                    tables[group, reach + change, 1] += penalty[below]

        # Lexicographic order, the last entry of the slice fastest.
        least_first = least_second = least_third = np.iinfo(np.int64).max
        position[:] = 0
        while position[0] < options[0]:
            first = second = third = 0
            for g in range(number_of_groups):
                change = reach
                for j in range(size):
                    if groups[g] >> j & 1:
                        change += changes[j, position[j]]
                first += tables[groups[g], change, 0]
                second += tables[groups[g], change, 1]
                third += tables[groups[g], change, 2]
            allowed = True
            if not improving:
                if first > 0:
                    allowed = False
                    refused = True
                first = 0
                for j in range(size):
                    if slices[s, j] >= 0:
                        count = counts[slices[s, j]] + changes[j, position[j]]
                        first += 0 < count < k
            if allowed and (
                first < least_first
                or (
                    first == least_first
                    and (second < least_second or (second == least_second and third < least_third))
                )
            ):
                least_first, least_second, least_third = first, second, third
                for j in range(size):
                    best[j] = changes[j, position[j]]
            last = size - 1
            position[last] += 1
            while last > 0 and position[last] == options[last]:
                position[last] = 0
                last -= 1
                position[last] += 1

        for g in range(number_of_groups):
            in_use[groups[g]] = False
        if least_first == np.iinfo(np.int64).max:
            continue
        for j in range(size):
            entry = slices[s, j]
            if entry >= 0 and best[j] != 0:
                changed = True
                counts[entry] += best[j]
                for p in range(cell_start[entry], cell_start[entry + 1]):
                    errors[cells[p]] += best[j]
    return changed, refused
