r"""Rounding cuts: what whole amounts add to the link between options and a sum.

For any factor u the function ⌊u·⌋ is superadditive, so the options chosen for a sum with value v
satisfy (Chvátal and Gomory)

.. math:: \sum_g ⌊u · \text{amount}(o_g)⌋ ≤ ⌊u · v⌋ .

With a share x for each option and a share λ for each value this is the linear row
:math:`\sum_o ⌊u·\text{amount}(o)⌋ x_o − \sum_v ⌊u·v⌋ λ_v ≤ 0`. A cell of value 5, say, counts one
combination only if counts are 0 or at least 3: u = 1/3. A negative u bounds amounts from below.
"""

from __future__ import annotations

from math import gcd

import numpy as np
import scipy.sparse as sp

from kanopy.solvers.frequency.program import Floats, Ints
from kanopy.solvers.frequency.relaxation import Relaxation

LARGEST_DENOMINATOR = 8
FACTORS = [
    (sign * numerator, denominator)
    for denominator in range(2, LARGEST_DENOMINATOR + 1)
    for numerator in range(1, denominator)
    if gcd(numerator, denominator) == 1
    for sign in (1, -1)
]
"""u as pairs of whole numbers, so that rounding is exact."""
VIOLATION = 0.01
"""A row that is broken by less is not worth adding."""


class Rounding:
    """The rounding cuts of a relaxation's sums (a block already implies those of its own)."""

    def __init__(self, relaxation: Relaxation) -> None:
        program = relaxation.program
        self.amount = program.amount[relaxation.sums]
        self.row_owner = np.repeat(np.arange(len(relaxation.sums)), np.diff(self.amount.indptr))
        positions = relaxation.values
        self.owner = np.repeat(np.arange(len(positions)), [len(part) for part in positions])
        self.value = program.sum_value[np.concatenate([np.zeros(0, dtype=np.int64), *positions])]
        self.first = np.searchsorted(self.owner, np.arange(len(positions)))
        # Where not every value has a column, no value may break the row: ⌊u·v⌋ at its largest.
        lengths = np.diff(program.sum_start)[relaxation.sums]
        self.coarse = np.bincount(self.owner, minlength=len(positions)) < lengths
        self.options = len(program.cost)
        self.width = len(relaxation.form.cost)

    def violated(self, x: Floats) -> sp.csr_array:
        """For each sum, the row that a point breaks most, if it does."""
        sums = len(self.first)
        worst, numerator = np.full(sums, VIOLATION), np.zeros(sums, dtype=np.int64)
        denominator = np.ones(sums, dtype=np.int64)
        share = x[self.options : self.options + len(self.value)]
        for u in FACTORS if sums else ():
            left = np.floor_divide(self.amount.data * u[0], u[1]) * x[self.amount.indices]
            right = self._right(*(np.full(sums, part) for part in u)) * share
            broken = np.bincount(self.row_owner, left, sums) - np.bincount(self.owner, right, sums)
            more = broken > worst
            worst[more], numerator[more], denominator[more] = broken[more], *u
        return self._rows(numerator, denominator)

    def _right(self, numerator: Ints, denominator: Ints) -> Ints:
        rounded = np.floor_divide(self.value * numerator[self.owner], denominator[self.owner])
        largest = np.maximum.reduceat(rounded, self.first)
        return np.where(self.coarse[self.owner], largest[self.owner], rounded)

    def _rows(self, numerator: Ints, denominator: Ints) -> sp.csr_array:
        chosen = np.flatnonzero(numerator)
        place = np.full(len(numerator), -1)
        place[chosen] = np.arange(len(chosen))
        if len(chosen) == 0:
            return sp.csr_array((0, self.width))
        left, right = place[self.row_owner] >= 0, place[self.owner] >= 0
        owner = self.row_owner[left]
        amounts = np.floor_divide(self.amount.data[left] * numerator[owner], denominator[owner])
        entries = np.concatenate([amounts, -self._right(numerator, denominator)[right]])
        rows = np.concatenate([place[owner], place[self.owner[right]]])
        columns = np.concatenate([self.amount.indices[left], self.options + np.flatnonzero(right)])
        cuts = sp.csr_array(
            (entries.astype(np.float64), (rows, columns)), shape=(len(chosen), self.width)
        )
        cuts.eliminate_zeros()
        return cuts
