"""All clusters of small reduced cost, by a complete search over sets of rows.

The reduced cost of a cluster C of m rows, times F (m for ``sse``, else 1), in whole units, is

    F·cost(C) − F·Σ_{x∈C} dual_x − F·count + Σ_T F·penalty_T·⌊|C∩T|/q_T⌋,   penalty_T = −dual_T ≥ 0.

Members are added one after the other, the one of largest dual first. A set S of them with r rows
to come is given up when no completion can stay below a threshold; the two costs have different
bounds. Both use that of j further members of a cut T with |S∩T| mod q = q − 1 at least j/q complete
a multiple of q, so each of them can be charged penalty/q.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kanopy.checking.whole import (
    largest_entry,
    nearest_sums,
    pair_entries,
    range_positions,
    value_units,
)
from kanopy.instances.microdata import Microdata

Ints = NDArray[np.int64]
Cut = tuple[tuple[int, ...], int]


@dataclass(frozen=True, eq=False)
class Prices:
    """Duals in whole units: of the types, of the number of clusters, of cuts (−penalty)."""

    types: Ints
    count: int = 0
    cuts: tuple[tuple[Cut, int], ...] = ()


@dataclass(frozen=True, eq=False)
class Allowed:
    """Which clusters count: with which types each one must, or must not, share a cluster."""

    groups: dict[int, frozenset[int]] = field(default_factory=dict)
    apart: dict[int, frozenset[int]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Partial:
    """A set of members, and the types that may still join it."""

    members: list[int]
    spent: int
    """−F·Σ dual − F·count + penalties so far."""
    types: Ints
    left: Ints
    sums: Ints
    """Pair costs: entries of each candidate with the members."""
    held: dict[int, int]
    """Members in each cut that has some."""
    charged: Ints
    """Share of penalties that each type would add."""


class Costs:
    """Whole-number costs of clusters of types, of ``largest`` rows at most, and the search."""

    def __init__(
        self, data: Microdata, rows: Ints, copies: Ints, cost: str, bits: int, largest: int
    ) -> None:
        self.largest = largest
        self.copies = copies
        self.cost = cost
        self.number = len(rows)
        self._data, self._rows, self._bits = data, rows, bits
        self._near: Ints | None = None

    @cached_property
    def entries(self) -> Ints:
        """What pairs of types cost; see :func:`pair_entries`."""
        cap = largest_entry(self.largest)
        return pair_entries(self._data, self._rows, self.cost, self._bits, cap)

    @cached_property
    def positions(self) -> Ints:
        """Values of numeric columns; see :func:`range_positions`."""
        return range_positions(self._data, self._rows, self._bits, self.largest)

    @cached_property
    def units(self) -> Ints:
        """What values of nominal columns cost; see :func:`value_units`."""
        return value_units(self._data, self._bits, self.largest)

    @cached_property
    def codes(self) -> NDArray[np.int32]:
        """Nominal values of the types."""
        return self._data.codes[self._rows]

    def near(self, most: int) -> Ints:
        """Least sums of entries; see :func:`nearest_sums`."""
        if self._near is None or self._near.shape[1] <= most:
            self._near = nearest_sums(self.entries, self.copies, most)
        return self._near

    def factor(self, size: int) -> int:
        """F."""
        return size if self.cost == "sse" else 1

    def times_cost(self, cluster: tuple[int, ...]) -> int:
        """A lower bound of F·cost(C), in units; at most one unit per row and column too low."""
        members = np.array(cluster)
        if self.cost != "range":
            return int(self.entries[np.ix_(members, members)].sum()) // 2
        return len(cluster) * int(self.losses(members[:0], members).max(initial=0))

    def losses(self, members: Ints, others: Ints) -> Ints:
        """Loss of ``members`` with each of ``others``; of all others together if no members.

        A range of n units may be n − 1 in truth, as positions are rounded down.
        """
        if len(members) == 0:
            spread = np.ptp(self.positions[others], axis=0) - 1
            distinct = [len(set(column)) - 1 for column in self.codes[others].T.tolist()]
            total = np.maximum(spread, 0).sum() + np.array(distinct, dtype=np.int64) @ self.units
            return np.array([total], dtype=np.int64)
        inside = self.positions[members]
        high = np.maximum(inside.max(axis=0), self.positions[others])
        low = np.minimum(inside.min(axis=0), self.positions[others])
        loss: Ints = np.maximum(high - low - 1, 0).sum(axis=1)
        for column, unit in zip(self.codes.T, self.units, strict=True):
            values = set(column[members].tolist())
            new = ~np.isin(column[others], list(values))
            loss = loss + (len(values) - 1 + new) * unit
        return loss

    def search(
        self, prices: Prices, allowed: Allowed, size: int, threshold: int
    ) -> Iterator[tuple[int, ...]]:
        """Every allowed cluster of ``size`` rows with F·(reduced cost) below the threshold."""
        times = self.factor(size)
        gains = times * prices.types
        order = np.argsort(-gains, kind="stable")
        rank = np.argsort(order, kind="stable")
        cuts: dict[int, list[int]] = {}
        for c, ((members, _), _) in enumerate(prices.cuts):
            for x in members:
                cuts.setdefault(x, []).append(c)
        walk = _Walk(self, prices, allowed, size, threshold, gains, cuts)
        for place, root in enumerate(order.tolist()):
            if any(rank[mate] < place for mate in allowed.groups.get(root, ())):
                continue  # met from that mate
            types = order[place:]
            begin = Partial(
                members=[],
                spent=-times * prices.count,
                types=types,
                left=np.minimum(self.copies[types], size),
                sums=np.zeros(len(types), dtype=np.int64),
                held={},
                charged=np.zeros(self.number, dtype=np.int64),
            )
            chosen = walk.choose(begin, 0)
            if chosen is not None:
                yield from walk.complete(chosen)


@dataclass(frozen=True, eq=False)
class _Walk:
    """One search: clusters of one size, below one threshold."""

    costs: Costs
    prices: Prices
    allowed: Allowed
    size: int
    threshold: int
    gains: Ints
    cuts: dict[int, list[int]]

    def choose(self, before: Partial, place: int) -> Partial | None:
        """Add the type at a place of the list, and its group; None if that cannot be.

        Types before ``place`` leave the list, as sets that hold them are met from there.
        """
        pick = int(before.types[place])
        now = Partial(
            before.members,
            before.spent,
            before.types[place:],
            before.left[place:],
            before.sums[place:],
            before.held,
            before.charged,
        )
        for x in (pick, *sorted(self.allowed.groups.get(pick, frozenset()) - {pick})):
            found = np.flatnonzero(now.types == x)
            if len(found) == 0 or len(now.members) == self.size:
                return None
            now = self._add(now, int(found[0]))
        return now

    def _add(self, now: Partial, place: int) -> Partial:
        x = int(now.types[place])
        spent = now.spent - int(self.gains[x])
        if self.costs.cost != "range":
            spent += int(now.sums[place])
        held, charged = now.held, now.charged
        if x in self.cuts:
            held, charged = dict(held), charged.copy()
            times = self.costs.factor(self.size)
            for c in self.cuts[x]:
                (members, divisor), dual = self.prices.cuts[c]
                held[c] = held.get(c, 0) + 1
                share = times * -dual // divisor
                if held[c] % divisor == divisor - 1:
                    np.add.at(charged, list(members), share)
                elif held[c] % divisor == 0:
                    np.subtract.at(charged, list(members), share)
                    spent += times * -dual
        left = now.left.copy()
        left[place] -= 1
        open_ = left > 0
        if x in self.allowed.apart:
            open_ &= ~np.isin(now.types, list(self.allowed.apart[x]))
        types = now.types[open_]
        sums = now.sums[open_]
        if self.costs.cost != "range":
            sums = sums + self.costs.entries[x, types]
        return Partial([*now.members, x], spent, types, left[open_], sums, held, charged)

    def complete(self, now: Partial) -> Iterator[tuple[int, ...]]:
        """The wanted clusters that contain these members and candidates."""
        to_come = self.size - len(now.members)
        if to_come == 0:
            spent = now.spent
            if self.costs.cost == "range":
                spent += self.costs.times_cost(tuple(now.members))
            if spent < self.threshold:
                yield tuple(sorted(now.members))
            return
        places = self._by_pairs if self.costs.cost != "range" else self._by_ranges
        for ready, place in places(now, to_come):
            chosen = self.choose(ready, place)
            if chosen is not None:
                yield from self.complete(chosen)

    def _by_pairs(self, now: Partial, to_come: int) -> Iterator[tuple[Partial, int]]:
        """Candidates by a bound of what they add, least first.

        It has the entries with the members, half of the least entries with others to come, and the
        charged penalties, less the gain. The least such sums bound what all to come add.
        """
        least = now.sums - self.gains[now.types] + now.charged[now.types]
        least = least + self.costs.near(self.size - 1)[now.types, to_come - 1] // 2
        order = np.argsort(least, kind="stable")
        least, left = least[order], now.left[order]
        each = np.repeat(least, np.minimum(left, to_come))
        if len(each) < to_come:
            return
        room = self.threshold - now.spent
        kept = int(np.searchsorted(least, room - int(each[: to_come - 1].sum()), side="left"))
        order, left, least = order[:kept], left[:kept], least[:kept]
        ready = Partial(
            now.members, now.spent, now.types[order], left, now.sums[order], now.held, now.charged
        )
        each = np.repeat(least, np.minimum(left, to_come))
        sums = np.concatenate(([0], np.cumsum(each)))
        starts = np.concatenate(([0], np.cumsum(np.minimum(left, to_come))))
        for place in range(kept):
            begin = int(starts[place])
            if begin + to_come >= len(sums) or sums[begin + to_come] - sums[begin] >= room:
                return
            yield ready, place

    def _by_ranges(self, now: Partial, to_come: int) -> Iterator[tuple[Partial, int]]:
        """Candidates by falling loss: the next one is that which widens the members most.

        Those that would widen them more are left out. A cluster loses at least what the members
        lose with that one, so size · this loss, less the best gains of the others, is a bound.
        """
        loss = self.size * self.costs.losses(np.array(now.members), now.types)
        gain = self.gains[now.types] - now.charged[now.types]
        room = self.threshold - now.spent
        most = np.sort(np.repeat(gain, np.minimum(now.left, to_come)))[::-1][: to_come - 1].sum()
        kept = np.flatnonzero(loss - gain - most < room)
        order = kept[np.argsort(-loss[kept], kind="stable")]
        loss, gain, left = loss[order], gain[order], now.left[order]
        ready = Partial(
            now.members, now.spent, now.types[order], left, now.sums[order], now.held, now.charged
        )
        best: list[int] = []  # the largest gains of those that follow, to_come − 1 at most
        fitting = []
        for place in range(len(order) - 1, -1, -1):
            others = sorted([*best, *[int(gain[place])] * min(int(left[place]) - 1, to_come - 1)])
            others = others[::-1][: to_come - 1]
            if len(others) == to_come - 1 and loss[place] - gain[place] - sum(others) < room:
                fitting.append(place)
            best = sorted([*others, int(gain[place])])[::-1][: to_come - 1]
        for place in reversed(fitting):
            yield ready, place
