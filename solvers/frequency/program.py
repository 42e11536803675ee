r"""Choice programs: what all frequency and aggregation problems of 000 come down to.

One option o_g is chosen from each of several finite groups. An option has a cost and adds whole
amounts to some sums, and every sum has a finite set of values with a cost for each:

.. math::

    \min \sum_g \text{cost}(o_g) + \sum_c f_c(v_c), \qquad
    v_c = \sum_g \text{amount}_c(o_g) ∈ E_c .

A frequency problem has a group for each combination of values, whose options are its possible
counts; an aggregation problem has a group for each cluster, whose options are its members. The
cells of the control tables are sums. An equation is a sum with a single value.

:func:`simplify` makes a program smaller without changing its solutions. The rules:

- what a group adds to a sum whatever is chosen, is taken out of the sum's values, and a group with
  a single option is decided;
- a sum that depends on one group only is moved into the costs of its options (those that give it
  a forbidden value are dropped);
- sums that get equal amounts from every option have equal values and become one, whose set is the
  intersection of theirs and whose cost is the sum of theirs.

After values have been dropped, the rules apply anew: sums that differed may have become equal.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Program:
    """A choice program.

    Attributes
    ----------
    start
        Group g has the options start[g] … start[g+1]−1.
    cost
        Cost of each option.
    number
        Number of each option in the program that this one was derived from.
    amount
        What each option (column) adds to each sum (row).
    sum_start, sum_value, sum_cost
        Sum c may have the values sum_value[sum_start[c]:sum_start[c+1]], ascending, with costs.
    constant
        Added to every objective; ∞ if the program has no solution.
    decided
        Numbers of the options that are already chosen.
    """

    start: Ints
    cost: Floats
    number: Ints
    amount: sp.csr_array
    sum_start: Ints
    sum_value: Ints
    sum_cost: Floats
    constant: float = 0.0
    decided: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @property
    def groups(self) -> int:
        """Number of groups."""
        return len(self.start) - 1

    @property
    def sums(self) -> int:
        """Number of sums."""
        return len(self.sum_start) - 1

    @property
    def owner(self) -> Ints:
        """Group of each option."""
        return np.repeat(np.arange(self.groups), np.diff(self.start))

    @property
    def sum_owner(self) -> Ints:
        """Sum of each value."""
        return np.repeat(np.arange(self.sums), np.diff(self.sum_start))

    @property
    def infeasible(self) -> bool:
        """Whether a group or a sum has nothing left to choose from."""
        if np.isinf(self.constant):
            return True
        return bool((np.diff(self.start) == 0).any() or (np.diff(self.sum_start) == 0).any())

    def chosen(self, numbers: Ints) -> Ints | None:
        """The options with these numbers, one per group; None if the program lacks one of them."""
        options = np.flatnonzero(np.isin(self.number, numbers))
        complete = len(options) == self.groups and np.isin(self.decided, numbers).all()
        return options if complete else None

    def totals(self, options: Ints) -> Ints:
        """Values of all sums for one option per group."""
        return np.asarray(self.amount[:, options].sum(axis=1), dtype=np.int64).ravel()

    def value_positions(self, totals: Ints) -> Ints | None:
        """Where the given value of each sum stands in ``sum_value``; None if one is missing."""
        hits = np.flatnonzero(self.sum_value == totals[self.sum_owner])
        return hits if len(hits) == self.sums else None

    def objective(self, numbers: Ints) -> float:
        """Objective of the options with these numbers; ∞ if they are no solution."""
        options = self.chosen(numbers)
        positions = None if options is None else self.value_positions(self.totals(options))
        if positions is None:
            return np.inf
        return float(self.cost[options].sum() + self.sum_cost[positions].sum()) + self.constant

    def restricted(self, options: Mask, values: Mask) -> Program:
        """The same program with some of the options and values only."""
        return replace(
            self,
            start=_starts(self.owner[options], self.groups),
            cost=self.cost[options],
            number=self.number[options],
            amount=self.amount[:, options],
            sum_start=_starts(self.sum_owner[values], self.sums),
            sum_value=self.sum_value[values],
            sum_cost=self.sum_cost[values],
        )


def simplify(program: Program) -> Program:
    """A smaller program with the same solutions and objectives."""
    while not program.infeasible:
        smaller = _merge_sums(_absorb_sums(_decide(_normalise(program))))
        if (smaller.groups, smaller.sums) == (program.groups, program.sums):
            return smaller
        program = smaller
    return program


def _starts(owner: Ints, number: int) -> Ints:
    sizes = np.bincount(owner, minlength=number)
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _normalise(program: Program) -> Program:
    """Take out of each sum what a group adds in any case."""
    entries = program.amount.tocoo()
    row, option = entries.coords
    group = program.owner[option]
    key = row.astype(np.int64) * max(program.groups, 1) + group
    order = np.argsort(key, kind="stable")
    keys, first, size = np.unique(key[order], return_index=True, return_counts=True)
    if len(keys) == 0:
        return program
    least = np.minimum.reduceat(entries.data[order], first)
    least[size < np.diff(program.start)[keys % program.groups]] = 0
    amount = entries.data.copy()
    amount[order] -= np.repeat(least, size)
    shift = np.bincount(keys // program.groups, weights=least, minlength=program.sums)
    value = program.sum_value - shift.astype(np.int64)[program.sum_owner]
    reduced = program.amount.copy()
    reduced.data = amount  # entries of a csr matrix stand in the same order as those of its coo
    reduced.eliminate_zeros()
    kept = value >= 0
    return replace(
        program,
        amount=reduced,
        sum_start=_starts(program.sum_owner[kept], program.sums),
        sum_value=value[kept],
        sum_cost=program.sum_cost[kept],
    )


def _decide(program: Program) -> Program:
    """Choose the option of groups that have only one; a normalised one adds to no sum."""
    single = np.diff(program.start) == 1
    if not single.any():
        return program
    options = program.start[:-1][single]
    kept = np.ones(len(program.cost), dtype=np.bool_)
    kept[options] = False
    return replace(
        program,
        start=np.concatenate([[0], np.cumsum(np.diff(program.start)[~single])]).astype(np.int64),
        cost=program.cost[kept],
        number=program.number[kept],
        amount=program.amount[:, kept],
        constant=program.constant + float(program.cost[options].sum()),
        decided=np.concatenate([program.decided, program.number[options]]),
    )


def _absorb_sums(program: Program) -> Program:
    """Move sums of one group into its options, and sums of none into the constant."""
    amount, owner = program.amount, program.owner
    amount.sort_indices()
    filled = np.diff(amount.indptr) > 0
    kept = np.zeros(program.sums, dtype=np.bool_)
    rows = np.flatnonzero(filled)
    first, last = amount.indptr[rows], amount.indptr[rows + 1] - 1
    kept[rows] = owner[amount.indices[first]] != owner[amount.indices[last]]
    if kept.all():
        return program
    cost, constant = program.cost.copy(), program.constant
    alive = np.ones(len(cost), dtype=np.bool_)
    for c in np.flatnonzero(~kept):
        part = slice(amount.indptr[c], amount.indptr[c + 1])
        options = amount.indices[part]
        own_values = slice(program.sum_start[c], program.sum_start[c + 1])
        pairs = zip(program.sum_value[own_values], program.sum_cost[own_values], strict=True)
        known = {int(value): float(extra) for value, extra in pairs}
        if len(options) == 0:
            constant += known.get(0, np.inf)
            continue
        group = owner[options[0]]
        own = np.arange(program.start[group], program.start[group + 1])
        added = np.zeros(len(own), dtype=np.int64)
        added[options - own[0]] = amount.data[part]
        extra = np.array([known.get(value, np.inf) for value in added.tolist()])
        alive[own] &= np.isfinite(extra)
        cost[own] += extra
    values = kept[program.sum_owner]
    return replace(
        program,
        start=_starts(owner[alive], program.groups),
        cost=cost[alive],
        number=program.number[alive],
        amount=amount[kept][:, alive],
        sum_start=np.concatenate([[0], np.cumsum(np.diff(program.sum_start)[kept])]).astype(
            np.int64
        ),
        sum_value=program.sum_value[values],
        sum_cost=program.sum_cost[values],
        constant=constant,
    )


def _merge_sums(program: Program) -> Program:
    """Make sums with equal amounts one."""
    amount = program.amount
    amount.sort_indices()
    table: dict[tuple[bytes, bytes], tuple[Ints, Floats]] = {}
    kept: list[int] = []
    for c in range(program.sums):
        part = slice(amount.indptr[c], amount.indptr[c + 1])
        values = slice(program.sum_start[c], program.sum_start[c + 1])
        value, cost = program.sum_value[values], program.sum_cost[values]
        key = amount.indices[part].tobytes(), amount.data[part].tobytes()
        if key not in table:
            kept.append(c)
            table[key] = value, cost
            continue
        twin_value, twin_cost = table[key]
        common, here, there = np.intersect1d(
            value, twin_value, assume_unique=True, return_indices=True
        )
        table[key] = common, cost[here] + twin_cost[there]
    if len(kept) == program.sums:
        return program
    sizes = [len(value) for value, _ in table.values()]
    return replace(
        program,
        amount=amount[kept],
        sum_start=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        sum_value=np.concatenate([value for value, _ in table.values()]),
        sum_cost=np.concatenate([cost for _, cost in table.values()]),
    )
