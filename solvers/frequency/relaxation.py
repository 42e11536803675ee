r"""The linear relaxation of a choice program, as tight as its blocks, and what its duals prove.

The relaxation chooses shares instead of options. It has a column for each option, for each value of
a sum (for its least and largest value only, if all cost the same), and for each *configuration* of
a block. A block is a small set of groups; its configurations are the joint choices in them, with
the exact costs of all sums that depend on these groups only. So the relaxation is the convex hull
of each sum by itself (the lower convex envelope of its cost) and of each block as a whole. The
shares of every group, sum and block add up to one, and homogeneous *link* rows say that they agree:
amounts of options with values of sums, and options with the configurations that contain them
(options that a block's sums cannot tell apart are one class).

**The bound.** Let π be any multipliers of the link rows, and price every column at its cost minus
what the links take, d = cost − Lᵀπ. Each solution of the program is a 0/1 point of the relaxation
with Lx = 0, so it costs Σ d over its columns. Exactly one column of each group, sum and block is
chosen, hence

.. math:: \text{cost} ≥ L(π) = \text{constant} + \sum_{\text{sets}} \min_{\text{columns in it}} d

for *any* π; the duals of the linear program make it best. The price of a chosen column may exceed
the least of its set by at most U − L(π) if the solution is to cost no more than U, since the other
sets cost at least their minimum: all other options, values and configurations can be dropped.

*Cuts* are further rows Cx ≤ 0 that hold for all solutions, though not for all points. With
multipliers π ≤ 0 they add πCx ≥ 0 to what the links take, so the bound holds as before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kanopy.models.linear_form import LinearForm
from kanopy.solvers.frequency.program import Floats, Ints, Mask, Program
from kanopy.solvers.kernels.inner import kernel


@dataclass(frozen=True, eq=False)
class Block:
    """A set of groups and their joint choices.

    ``classes[g]`` is the class of each option of ``groups[g]``; row r of ``configurations`` holds
    the class of each group in the r-th joint choice, and ``cost[r]`` what its sums cost.
    """

    groups: list[int]
    classes: list[Ints]
    configurations: Ints
    cost: Floats


@dataclass(frozen=True, eq=False)
class Relaxation:
    """Linear form over options, values of the sums in no block, and configurations.

    ``values[s]`` are the positions in ``program.sum_value`` of those values of ``sums[s]`` that
    have a column. ``owner`` numbers the set (group, sum or block) of each column, which is also the
    row that says that its shares add up to one; the other rows are links, and cuts at the end.
    """

    program: Program
    sums: Ints
    values: list[Ints]
    blocks: list[Block]
    form: LinearForm
    owner: Ints

    def options(self, x: Floats) -> Ints:
        """Numbers of the options chosen by a whole-number point."""
        chosen = x[: len(self.program.cost)] > 0.5
        return np.concatenate([self.program.decided, self.program.number[chosen]])

    def point(self, numbers: Ints) -> Floats | None:
        """The point of the form for given options; None if they are no solution of the program."""
        program = self.program
        options = program.chosen(numbers)
        if options is None:
            return None
        totals = program.totals(options)
        if program.value_positions(totals) is None:
            return None
        x = np.zeros(len(self.form.cost))
        x[options] = 1.0
        offset = len(program.cost)
        for c, positions in zip(self.sums, self.values, strict=True):
            known = program.sum_value[positions]
            above = int(np.searchsorted(known, totals[c]))
            share = 1.0
            if known[above] > totals[c]:
                share = (totals[c] - known[above - 1]) / (known[above] - known[above - 1])
                x[offset + above - 1] = 1.0 - share
            x[offset + above] = share
            offset += len(positions)
        for block in self.blocks:
            wanted = [
                classes[options[g] - program.start[g]]
                for g, classes in zip(block.groups, block.classes, strict=True)
            ]
            hit = np.flatnonzero((block.configurations == wanted).all(axis=1))
            x[offset + hit] = 1.0
            offset += len(block.cost)
        return x

    def with_cuts(self, cuts: sp.csr_array) -> Relaxation:
        """The same relaxation with further rows cuts·x ≤ 0."""
        form, number = self.form, cuts.shape[0]
        return replace(
            self,
            form=replace(
                form,
                matrix=sp.csr_array(sp.vstack([form.matrix, cuts])),
                row_lower=np.append(form.row_lower, np.full(number, -np.inf)),
                row_upper=np.append(form.row_upper, np.zeros(number)),
            ),
        )

    def lagrangian(self, duals: Floats, open_columns: Mask | None = None) -> tuple[float, Floats]:
        """L(π), rounded down, and by how much each column's price exceeds the least of its set.

        Only solutions with open columns count, if these are given; no set may be shut altogether.
        """
        return self._priced(self.form.cost, self.form.constant, duals, open_columns)

    def refuted(self, ray: Floats, open_columns: Mask | None = None) -> bool:
        """Whether these multipliers prove that there is no solution (Farkas).

        If everything were free, solutions would cost 0: none exists if L(π) is above that.
        """
        free = np.zeros_like(self.form.cost)
        return any(self._priced(free, 0.0, s * ray, open_columns)[0] > 0 for s in (1.0, -1.0))

    def _priced(
        self, cost: Floats, constant: float, duals: Floats, open_columns: Mask | None
    ) -> tuple[float, Floats]:
        sets = int(self.owner[-1]) + 1 if len(self.owner) else 0
        links = duals.copy()
        links[:sets] = 0.0
        cuts = np.isinf(self.form.row_lower)
        links[cuts] = np.minimum(links[cuts], 0.0)
        price = cost - self.form.matrix.T @ links
        if sets == 0:
            return constant, price
        if open_columns is not None:
            price[~open_columns] = np.inf
        first = np.searchsorted(self.owner, np.arange(sets))
        least = np.minimum.reduceat(price, first)
        # The rounding error of a price, a sum of so many products, is below their number times
        # 2⁻⁵² times the sum of their absolute values.
        terms = 100 + int(np.bincount(self.form.matrix.indices).max(initial=0))
        size = np.abs(cost) + abs(self.form.matrix).T @ np.abs(links)
        error = float(np.maximum.reduceat(size, first).sum()) + abs(constant)
        error *= terms * 2.0**-52
        return constant + float(least.sum()) - error, price - least[self.owner]

    def reduce(self, duals: Floats, limit: float) -> tuple[float, Program]:
        """L(π), and the program without what only solutions dearer than ``limit`` use."""
        bound, excess = self.lagrangian(duals)
        return bound, self.program.restricted(*self.within(limit, bound, excess))

    def within(self, limit: float, bound: float, excess: Floats) -> tuple[Mask, Mask]:
        """Which options and values a solution that costs at most ``limit`` may have."""
        slack = limit - bound + 1e-9 * max(1.0, abs(limit))
        kept = excess <= slack
        program = self.program
        options = kept[: len(program.cost)].copy()
        values = np.ones(len(program.sum_value), dtype=np.bool_)
        offset = len(options)
        for c, positions in zip(self.sums, self.values, strict=True):
            end = offset + len(positions)
            part = slice(program.sum_start[c], program.sum_start[c + 1])
            if len(positions) == part.stop - part.start:
                values[part] = kept[offset:end]
            else:  # between values that have a column, cost and price are straight lines
                known = program.sum_value[positions]
                values[part] = (
                    np.interp(program.sum_value[part], known, excess[offset:end]) <= slack
                )
            offset = end
        for block in self.blocks:
            possible = block.configurations[kept[offset : offset + len(block.cost)]]
            offset += len(block.cost)
            for position, (g, classes) in enumerate(zip(block.groups, block.classes, strict=True)):
                options[program.start[g] : program.start[g + 1]] &= np.isin(
                    classes, possible[:, position]
                )
        return options, values


def relax(program: Program, configurations: int, whole_sums: bool = False) -> Relaxation:
    """Relaxation with a block for the groups of each sum that have at most so many joint choices.

    Blocks within another block add nothing and are left out; with ``configurations`` = 0 there are
    none. Options are marked as whole numbers, and values of sums if asked: a back-end that keeps
    to the marks solves the program itself, without ``whole_sums`` only if the costs of the sums are
    convex, as all of ours are (an average of values then costs no less than the value between).
    """
    nesting, enumeration = _Nesting(program), _Enumeration(program)
    blocks: list[Block] = []
    folded = np.zeros(program.sums, dtype=np.bool_)
    for groups in nesting.blocks(enumeration, configurations):
        inner = nesting.inside(groups)
        blocks.append(enumeration.block(sorted(groups), inner, folded))
        folded[inner] = True
    return _assemble(program, np.flatnonzero(~folded), blocks, whole_sums)


class _Nesting:
    """Which sums depend on which groups only."""

    def __init__(self, program: Program) -> None:
        amount, owner = program.amount, program.owner
        self.members = [
            frozenset(owner[amount.indices[amount.indptr[c] : amount.indptr[c + 1]]].tolist())
            for c in range(program.sums)
        ]
        self.by_least: dict[int, list[int]] = {}
        for c, groups in enumerate(self.members):
            self.by_least.setdefault(min(groups), []).append(c)

    def inside(self, groups: frozenset[int]) -> list[int]:
        """The sums of these groups only."""
        near = (c for g in sorted(groups) for c in self.by_least.get(g, ()))
        return [c for c in near if self.members[c] <= groups]

    def blocks(self, enumeration: _Enumeration, configurations: int) -> list[frozenset[int]]:
        """Largest sets of groups of a sum with at most so many joint choices."""
        largest: list[frozenset[int]] = []
        containing: dict[int, list[frozenset[int]]] = {}
        for groups in sorted(set(self.members), key=lambda groups: (-len(groups), sorted(groups))):
            if len(groups) >= 64 or 2 ** len(groups) > configurations:  # ≥ 2 classes a group
                continue
            if any(groups < other for other in containing.get(min(groups), ())):
                continue
            if enumeration.combinations(sorted(groups), self.inside(groups)) > configurations:
                continue
            largest.append(groups)
            for g in groups:
                containing.setdefault(g, []).append(groups)
        return largest


class _Enumeration:
    """Joint choices of some groups, by columns of the amounts."""

    def __init__(self, program: Program) -> None:
        columns = program.amount.tocsc()
        columns.sort_indices()
        self.program = program
        self.columns = (
            program.start,
            columns.indptr.astype(np.int64),
            columns.indices.astype(np.int64),
            columns.data.astype(np.int64),
        )
        self.values = program.sum_start, program.sum_value, program.sum_cost
        self.local = np.full(program.sums, -1, dtype=np.int64)

    def combinations(self, groups: list[int], inner: list[int]) -> float:
        """Number of joint choices of classes."""
        members, sums = np.array(groups, dtype=np.int64), np.array(inner, dtype=np.int64)
        _, _, first = _classes(members, sums, self.local, self.columns)
        return float(np.prod(np.diff(first).astype(np.float64)))

    def block(self, groups: list[int], inner: list[int], folded: Mask) -> Block:
        """All joint choices, with the costs of the inner sums that no block has yet."""
        members, sums = np.array(groups, dtype=np.int64), np.array(inner, dtype=np.int64)
        classes, amounts, first = _classes(members, sums, self.local, self.columns)
        configurations, cost = _configurations(sums, ~folded[sums], amounts, first, self.values)
        sizes = self.program.start[members + 1] - self.program.start[members]
        split = np.split(classes, np.cumsum(sizes)[:-1])
        return Block(groups, split, configurations, cost)


@kernel
def _classes(groups, sums, local, columns):  # type: ignore[no-untyped-def]
    """Classes of the options of some groups that some sums cannot tell apart.

    Returns the class of each option, the amounts of each class, and where the classes of each
    group begin among all. ``local`` is scratch space, −1 throughout.
    """
    start, column_start, column_sum, column_amount = columns
    for row in range(len(sums)):
        local[sums[row]] = row
    options = 0
    for g in groups:
        options += start[g + 1] - start[g]
    amounts = np.zeros((options, len(sums)), dtype=np.int64)
    classes = np.empty(options, dtype=np.int64)
    first = np.zeros(len(groups) + 1, dtype=np.int64)
    column = np.zeros(len(sums), dtype=np.int64)
    seen, kinds = 0, 0
    for p in range(len(groups)):
        first[p] = kinds
        for option in range(start[groups[p]], start[groups[p] + 1]):
            column[:] = 0
            for e in range(column_start[option], column_start[option + 1]):
                if local[column_sum[e]] >= 0:
                    column[local[column_sum[e]]] = column_amount[e]
            kind = first[p]
            while kind < kinds and (amounts[kind] != column).any():
                kind += 1
            if kind == kinds:
                amounts[kind] = column
                kinds += 1
            classes[seen] = kind - first[p]
            seen += 1
    first[len(groups)] = kinds
    for row in range(len(sums)):
        local[sums[row]] = -1
    return classes, amounts[:kinds], first


@kernel
def _configurations(sums, charged, amounts, first, values):  # type: ignore[no-untyped-def]
    """All joint choices of one class per group that every sum allows, and their costs."""
    sum_start, sum_value, sum_cost = values
    groups = len(first) - 1
    # What each value of each sum costs; ∞ if it is not allowed.
    table_start = np.zeros(len(sums) + 1, dtype=np.int64)
    for row in range(len(sums)):
        highest = 0
        for p in range(groups):
            highest += amounts[first[p] : first[p + 1], row].max()
        table_start[row + 1] = table_start[row] + highest + 1
    table = np.full(table_start[-1], np.inf)
    for row in range(len(sums)):
        for e in range(sum_start[sums[row]], sum_start[sums[row] + 1]):
            place = table_start[row] + sum_value[e]
            if place < table_start[row + 1]:
                table[place] = sum_cost[e] if charged[row] else 0.0
    combinations = 1
    for p in range(groups):
        combinations *= first[p + 1] - first[p]
    configurations = np.empty((combinations, groups), dtype=np.int64)
    cost = np.empty(combinations)
    choice = np.zeros(groups, dtype=np.int64)
    found = 0
    for _ in range(combinations):
        total = 0.0
        for row in range(len(sums)):
            place = table_start[row]
            for p in range(groups):
                place += amounts[first[p] + choice[p], row]
            total += table[place]
        if total < np.inf:
            configurations[found] = choice
            cost[found] = total
            found += 1
        p = groups - 1
        while p >= 0:
            choice[p] += 1
            if choice[p] < first[p + 1] - first[p]:
                break
            choice[p] = 0
            p -= 1
    return configurations[:found], cost[:found]


def _assemble(program: Program, sums: Ints, blocks: list[Block], whole_sums: bool) -> Relaxation:
    """Columns and rows of the relaxation."""
    options, groups = len(program.cost), program.groups
    of_sums = [_columns(program, c, whole_sums) for c in sums]
    lengths = [len(part) for part in of_sums] + [len(block.cost) for block in blocks]
    owner = np.concatenate([program.owner, groups + np.repeat(np.arange(len(lengths)), lengths)])
    positions = np.concatenate([np.zeros(0, dtype=np.int64), *of_sums])
    width, sets = len(owner), groups + len(lengths)
    parts: list[tuple[NDArray[np.integer], NDArray[np.integer], Floats]] = [
        (owner, np.arange(width), np.ones(width))
    ]

    # Amounts of options make the values of sums.
    amounts = program.amount[sums].tocoo()
    parts.append((sets + amounts.coords[0], amounts.coords[1], amounts.data.astype(np.float64)))
    rows = sets + np.repeat(np.arange(len(sums)), lengths[: len(sums)])
    parts.append((rows, options + np.arange(len(rows)), -1.0 * program.sum_value[positions]))

    # Options and configurations agree, class by class; the last class follows from the others.
    row, column = sets + len(sums), options + len(positions)
    for block in blocks:
        columns = column + np.arange(len(block.cost))
        column += len(block.cost)
        for position, (g, classes) in enumerate(zip(block.groups, block.classes, strict=True)):
            last = int(classes.max())
            linked = np.flatnonzero(classes < last)
            held = np.flatnonzero(block.configurations[:, position] < last)
            parts.append((row + classes[linked], program.start[g] + linked, -np.ones(len(linked))))
            parts.append(
                (row + block.configurations[held, position], columns[held], np.ones(len(held)))
            )
            row += last
    where = (np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts]))
    matrix = sp.csr_array((np.concatenate([p[2] for p in parts]), where), shape=(row, width))
    matrix.eliminate_zeros()
    side = np.zeros(row)
    side[:sets] = 1.0
    integer = np.zeros(width, dtype=np.bool_)
    integer[: options + (len(positions) if whole_sums else 0)] = True
    costs = [program.cost, program.sum_cost[positions], *(block.cost for block in blocks)]
    form = LinearForm(
        cost=np.concatenate(costs),
        constant=program.constant,
        matrix=matrix,
        row_lower=side,
        row_upper=side,
        lower=np.zeros(width),
        upper=np.ones(width),
        integer=integer,
    )
    return Relaxation(program, sums, of_sums, blocks, form, owner)


def _columns(program: Program, c: int, whole_sums: bool) -> Ints:
    """Positions of the values of a sum that get a column."""
    first, end = program.sum_start[c], program.sum_start[c + 1]
    costs = program.sum_cost[first:end]
    if not whole_sums and end - first > 2 and np.all(costs == costs[0]):
        return np.array([first, end - 1])
    return np.arange(first, end)
