"""Subset-row cuts Σ_C ⌊|C ∩ T|/q⌋ x_C ≤ ⌊Σ_{t∈T} count_t / q⌋ that a fractional point violates.

Each is a sum of rows, divided by q and rounded down on both sides, which whole x allow. T is a
multiset: a row may be taken several times, and |C ∩ T| counts a type of C as often as T holds it
(rank-1 cuts; their multipliers for routing are due to Pecin, Pessoa, Poggi, Uchoa and Santos,
Operations Research Letters, 2017). Copies in C count, too. Sets grow greedily from pairs of types
that share fractional clusters and are improved by swaps of one type for another.

With q = k and |T| = jk−1 such a cut says that j−1 clusters at most have k rows in T: where a group
of so many rows lies far from all others, it is what keeps the relaxation from cutting the group
into (jk−1)/k clusters of k.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kanopy.solvers.branch_and_price.column_generation import Bound
from kanopy.solvers.branch_and_price.pricing import Cuts
from kanopy.solvers.kernels.inner import inner, kernel

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

Kind = tuple[tuple[int, ...], int]
"""How often T holds each of its types, and q."""


def _plain(*kinds: tuple[int, int]) -> tuple[Kind, ...]:
    """Kinds of cuts that hold every type once, by the number of types."""
    return tuple(((1,) * size, divisor) for size, divisor in kinds)


SINGLE: tuple[Kind, ...] = (
    *_plain((3, 2), (5, 2), (5, 3)),
    ((2, 1, 1, 1), 3),
    ((2, 2, 1, 1, 1), 3),
    ((2, 2, 1, 1, 1), 4),
    ((3, 1, 1, 1, 1), 4),
    ((3, 2, 2, 1, 1), 5),
)
"""Kinds worth trying where all types are single."""

GROUPS = (2, 3, 4)
"""Numbers j of the sets of jk−1 types that are tried with q = k."""

MOSTLY, LARGEST = 0.9, 14
"""Share of single types above which these are tried, and the largest set."""

LARGE: tuple[Kind, ...] = (
    *_plain((7, 2), (9, 2), (8, 3)),
    ((2, 2, 1, 1, 1, 1), 3),
    ((2, 1, 1, 1, 1, 1, 1), 3),
    ((3, 2, 2, 1, 1, 1, 1), 4),
)
"""Further kinds for when those of few types are nearly used up: they make pricing slower."""

FEW_CUTS = 0.05
"""Cuts per type below which those of few types count as used up."""

PARTNERS, SMALL, FEW_PARTNERS = 10, 5, 3
"""Pairs that a type begins sets of few types with, how many types these have, and pairs for larger
sets: from most pairs they grow to the same ones."""

NEARER = 0.3
"""What a set that grows counts for coming nearer to the next multiple of q, as a share of one."""

COPIES: tuple[Kind, ...] = (
    *_plain((1, 2), (2, 2), (3, 2), (4, 2), (5, 2), (3, 3), (4, 3), (5, 3), (5, 4)),
    ((2, 1, 1), 3),
    ((2, 1, 1, 1), 3),
    ((2, 2, 1, 1), 3),
    ((2, 1, 1, 1, 1), 3),
    ((2, 2, 1, 1, 1), 3),
    ((2, 1, 1), 4),
    ((2, 2, 1), 4),
    ((2, 2, 2, 1), 4),
    ((3, 2, 1, 1), 4),
    ((2, 2, 1, 1, 1), 4),
    ((2, 2, 2, 1, 1), 4),
    ((3, 2, 2, 1, 1), 5),
)
"""Kinds worth trying where types have copies."""


def kinds_of_cuts(multiplicities: Ints, k: int) -> list[Kind]:
    """Kinds worth trying: with few copies also those that keep groups of rows whole.

    >>> [(len(times), q) for times, q in kinds_of_cuts(np.ones(9, dtype=np.int64), 3)][-2:]
    [(8, 3), (11, 3)]
    """
    kinds = SINGLE if multiplicities.max() == 1 else COPIES
    groups = GROUPS if np.mean(multiplicities == 1) > MOSTLY else ()
    whole = _plain(*((j * k - 1, k) for j in groups if j * k - 1 <= LARGEST))
    return list(dict.fromkeys([*kinds, *whole]))


def separate(
    clusters: NDArray[np.int32],
    x: Floats,
    multiplicities: Ints,
    k: int,
    most: int,
    most_per_type: int = 5,
    violation: float = 0.02,
    kinds: Sequence[Kind] = (),
) -> Cuts:
    """The most violated cuts found, at most ``most`` and ``most_per_type`` on any type.

    Without ``kinds``, those of :func:`kinds_of_cuts` are tried, then larger ones if few are found.

    >>> clusters = np.array([[0, 1], [1, 2], [0, 2]], dtype=np.int32)
    >>> cuts = separate(clusters, np.full(3, 0.5), np.ones(3, dtype=np.int64), 2, 10)
    >>> cuts.members.tolist(), cuts.divisors.tolist()
    ([0, 1, 2], [2])
    """
    part = np.flatnonzero(x > 1e-6)
    rows, values = np.sort(clusters[part].astype(np.int64), axis=1), x[part]
    number = len(multiplicities)
    fractional = np.abs(values - np.round(values)) > 1e-6
    touched = np.unique(rows[fractional])
    touched = touched[touched >= 0]
    if len(touched) == 0:
        return Cuts()
    point = (rows, values, *_by_type(rows, number), multiplicities)
    alone = np.column_stack([touched, touched])
    pairs, fewer = (_partners(*point[:5], touched, most) for most in (PARTNERS, FEW_PARTNERS))
    found: dict[tuple[tuple[int, ...], int], float] = {}
    first = list(kinds) or kinds_of_cuts(multiplicities, k)
    further = [] if kinds else [kind for kind in LARGE if kind not in first]
    for tried, (held, divisor) in enumerate([*first, *further]):
        if tried >= len(first) and len(found) > FEW_CUTS * number:
            break
        wanted = np.array(held, dtype=np.int64)
        begin = alone if len(held) == 1 else pairs if len(held) <= SMALL else fewer
        sets, often, broken = _search(*point, begin, wanted, divisor, violation)
        members = np.repeat(sets, often.ravel()).reshape(len(sets), -1) if len(sets) else sets
        for row, by in zip(np.sort(members, axis=1).tolist(), broken.tolist(), strict=True):
            found[tuple(row), divisor] = by
    chosen: list[tuple[tuple[int, ...], int]] = []
    load = np.zeros(number, dtype=np.int64)
    for (members_of, q), _ in sorted(found.items(), key=lambda item: (-item[1], item[0])):
        if load[list(members_of)].max() < most_per_type:
            chosen.append((members_of, q))
            load[list(set(members_of))] += 1
            if len(chosen) == most:
                break
    lengths = [len(members_of) for members_of, _ in chosen]
    return Cuts(
        np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
        np.array([t for members_of, _ in chosen for t in members_of], dtype=np.int64),
        np.array([q for _, q in chosen], dtype=np.int64),
    )


def cuts_of_rows(cuts: Cuts, types: Ints, most: int = 12) -> Cuts:
    """The cuts on types as cuts on their rows: the same inequality, so each stays valid.

    Those on more than ``most`` rows are left out, since they slow pricing down.

    >>> cuts = Cuts(np.array([0, 2]), np.array([0, 2]), np.array([2]))
    >>> cuts = cuts_of_rows(cuts, np.array([2, 0, 1, 2]))
    >>> cuts.members.tolist(), cuts.divisors.tolist()
    ([0, 1, 3], [2])
    """
    sets = []
    for c in range(len(cuts)):
        times = np.bincount(cuts.members[cuts.starts[c] : cuts.starts[c + 1]])
        rows = np.flatnonzero(np.isin(types, np.flatnonzero(times)))
        sets.append(np.repeat(rows, times[types[rows]]))
    kept = [c for c, rows in enumerate(sets) if len(rows) <= most]
    return Cuts(
        np.cumsum([0, *(len(sets[c]) for c in kept)]).astype(np.int64),
        np.concatenate([*(sets[c] for c in kept), np.empty(0)]).astype(np.int64),
        cuts.divisors[kept],
    )


def bound_of_rows(bound: Bound, types: Ints) -> Bound:
    """A bound on types as one on their rows: each has its type's dual, and all cuts stay."""
    if bound.duals is None:
        return bound
    duals = replace(bound.duals, types=bound.duals.types[types])
    return Bound(bound.value, duals, cuts_of_rows(bound.cuts, types, len(types)))


def _by_type(rows: Ints, number: int) -> tuple[Ints, Ints, Ints]:
    """The columns that hold each type, and how often."""
    column = np.repeat(np.arange(len(rows)), rows.shape[1])
    types = rows.ravel()
    inside = types >= 0
    pairs, times = np.unique(
        np.column_stack([types[inside], column[inside]]), axis=0, return_counts=True
    )
    starts = np.searchsorted(pairs[:, 0], np.arange(number + 1)).astype(np.int64)
    return starts, pairs[:, 1].astype(np.int64), times.astype(np.int64)


@kernel
def _partners(
    rows: Ints, x: Floats, starts: Ints, columns: Ints, times: Ints, touched: Ints, most: int
) -> Ints:
    """For each of some types the others that share most of x with it, each pair once."""
    number = len(starts) - 1
    weight = np.zeros(number)
    others = np.empty(number, dtype=np.int64)
    pairs = np.empty((most * len(touched), 2), dtype=np.int64)
    kept = np.full((number, most), -1, dtype=np.int64)
    filled = 0
    for first in touched:
        several = 0
        for e in range(starts[first], starts[first + 1]):
            row = rows[columns[e]]
            for j in range(len(row)):
                s = row[j]
                if s >= 0 and s != first:
                    if weight[s] == 0.0:
                        others[several] = s
                        several += 1
                    weight[s] += x[columns[e]]
        order = np.argsort(-weight[others[:several]], kind="mergesort")
        for i in range(min(several, most)):
            second = others[order[i]]
            kept[first, i] = second
            known = False
            for j in range(most):
                known |= second < first and kept[second, j] == first
            if not known:
                pairs[filled, 0] = min(first, second)
                pairs[filled, 1] = max(first, second)
                filled += 1
        for i in range(several):
            weight[others[i]] = 0.0
    return pairs[:filled]


@inner
def _gain(
    t: int,
    weight: int,
    x: Floats,
    starts: Ints,
    columns: Ints,
    times: Ints,
    held: Ints,
    worth: Floats,
) -> float:
    """What adding type t so often to T adds to Σ x · worth[|C∩T|]."""
    gain = 0.0
    for e in range(starts[t], starts[t + 1]):
        c = columns[e]
        gain += x[c] * (worth[held[c] + weight * times[e]] - worth[held[c]])
    return gain


@inner
def _put(t: int, sign: int, starts: Ints, columns: Ints, times: Ints, held: Ints) -> None:
    for e in range(starts[t], starts[t + 1]):
        held[columns[e]] += sign * times[e]


@inner
def _alone(
    starts: Ints, columns: Ints, times: Ints, x: Floats, worth: Floats, weight: int, alone: Floats
) -> None:
    """What each type adds to Σ x · worth[|C∩T|], taken so often, if no column meets T yet."""
    for t in range(len(alone)):
        alone[t] = 0.0
        for e in range(starts[t], starts[t + 1]):
            alone[t] += x[columns[e]] * worth[weight * times[e]]


@inner
def _best_addition(
    chosen: Ints,
    size: int,
    weight: int,
    total: int,
    rows: Ints,
    x: Floats,
    starts: Ints,
    columns: Ints,
    copies: Ints,
    held: Ints,
    q: int,
    worth: Floats,
    alone: Floats,
    gains: Floats,
    near: Ints,
    mark: Ints,
    met: Ints,
    stamp: int,
) -> tuple[int, float]:
    """The type, among those that share a column with T, that violates most when added.

    Columns that do not meet T count for a type as in ``alone``, so only the others are looked at.
    """
    several = 0
    for i in range(size):
        mark[chosen[i]] = stamp
    for i in range(size):
        t = chosen[i]
        for e in range(starts[t], starts[t + 1]):
            c = columns[e]
            if met[c] == stamp:
                continue
            met[c] = stamp
            row, already = rows[c], worth[held[c]]
            j = 0
            while j < len(row):
                s, first = row[j], j
                while j < len(row) and row[j] == s:
                    j += 1
                if s < 0 or mark[s] == stamp:
                    continue
                if mark[s] != -stamp:
                    mark[s] = -stamp
                    gains[s] = alone[s]
                    near[several] = s
                    several += 1
                more = weight * (j - first)
                gains[s] += x[c] * (worth[held[c] + more] - already - worth[more])
    best, best_value = -1, -np.inf
    for i in range(several):
        s = near[i]
        value = gains[s] - ((total + weight * copies[s]) // q - total // q)
        if value > best_value + 1e-12:
            best, best_value = s, value
    return best, best_value


@kernel
def _search(
    rows: Ints,
    x: Floats,
    starts: Ints,
    columns: Ints,
    times: Ints,
    copies: Ints,
    pairs: Ints,
    wanted: Ints,
    q: int,
    violation: float,
) -> tuple[Ints, Ints, Floats]:
    """Grow and improve sets from pairs of types; of sets of one type, from the first of each.

    ``wanted`` says how often a set holds each of its types. Returns the sets, how often they hold
    each type, and by how much their cuts are violated.
    """
    size = len(wanted)
    number = len(copies)
    held = np.zeros(len(x), dtype=np.int64)
    # By |C∩T|: ⌊|C∩T|/q⌋, and the same with a little for coming nearer to the next.
    most = wanted.sum() * times.max()
    floors, nearer = np.empty(most + 1), np.empty(most + 1)
    for h in range(most + 1):
        floors[h] = h // q
        nearer[h] = h // q + NEARER * (h % q) / q
    # The same for each weight, of types whose columns do not meet T.
    heaviest = wanted.max()
    alone, alone_nearer = np.empty((2, heaviest + 1, number))
    for weight in np.unique(wanted):
        _alone(starts, columns, times, x, floors, weight, alone[weight])
        _alone(starts, columns, times, x, nearer, weight, alone_nearer[weight])
    gains, near = np.empty(number), np.empty(number, dtype=np.int64)
    mark, met = np.zeros(number, dtype=np.int64), np.zeros(len(x), dtype=np.int64)
    stamp = 0
    chosen = np.empty(size, dtype=np.int64)
    weights = wanted.copy()
    found = 0
    sets = np.empty((64, size), dtype=np.int64)
    often = np.empty((64, size), dtype=np.int64)
    broken = np.empty(64)
    seen = np.zeros(_places(4 * len(pairs)), dtype=np.uint64)
    for first, second in pairs:
        weights[:] = wanted
        filled = min(size, 2)
        chosen[0] = first
        if size > 1:
            chosen[1] = second
        total = 0
        for i in range(filled):
            _put(chosen[i], weights[i], starts, columns, times, held)
            total += weights[i] * copies[chosen[i]]
        while filled < size:
            stamp += 1
            s, _ = _best_addition(
                chosen,
                filled,
                weights[filled],
                total,
                rows,
                x,
                starts,
                columns,
                copies,
                held,
                q,
                nearer,
                alone_nearer[weights[filled]],
                gains,
                near,
                mark,
                met,
                stamp,
            )
            if s < 0:
                break
            chosen[filled] = s
            total += weights[filled] * copies[s]
            _put(s, weights[filled], starts, columns, times, held)
            filled += 1
        if filled < size or _seen(chosen, weights, seen):
            for i in range(filled):
                _put(chosen[i], -weights[i], starts, columns, times, held)
            continue
        value = -float(total // q)
        value += _held_value(chosen, filled, x, starts, columns, held, floors)
        improved = size > 1
        while improved:
            improved = False
            for i in range(size):
                out, weight = chosen[i], weights[i]
                _put(out, -weight, starts, columns, times, held)
                without = total - weight * copies[out]
                lost = _gain(out, weight, x, starts, columns, times, held, floors)
                lost -= total // q - without // q
                chosen[i], chosen[size - 1] = chosen[size - 1], out
                weights[i], weights[size - 1] = weights[size - 1], weight
                stamp += 1
                s, gained = _best_addition(
                    chosen,
                    size - 1,
                    weight,
                    without,
                    rows,
                    x,
                    starts,
                    columns,
                    copies,
                    held,
                    q,
                    floors,
                    alone[weight],
                    gains,
                    near,
                    mark,
                    met,
                    stamp,
                )
                if s >= 0 and gained > lost + 1e-9:
                    chosen[size - 1] = s
                    total = without + weight * copies[s]
                    value += gained - lost
                    improved = True
                else:
                    total = without + weight * copies[out]
                _put(chosen[size - 1], weight, starts, columns, times, held)
        if value > violation:
            if found == len(sets):
                wider = np.empty((2 * found, size), dtype=np.int64)
                wider[:found] = sets
                sets = wider
                wider = np.empty((2 * found, size), dtype=np.int64)
                wider[:found] = often
                often = wider
                more = np.empty(2 * found)
                more[:found] = broken
                broken = more
            sets[found] = chosen
            often[found] = weights
            broken[found] = value
            found += 1
        for i in range(size):
            _put(chosen[i], -weights[i], starts, columns, times, held)
    return sets[:found], often[:found], broken[:found]


@inner
def _places(least: int) -> int:
    """The next power of two."""
    places = 1
    while places < least:
        places *= 2
    return places


@inner
def _seen(chosen: Ints, weights: Ints, seen: NDArray[np.uint64]) -> bool:
    """Whether a set has been met before; it is noted if not.

    A hash table of numbers that are all but certain to differ for different sets.
    """
    key = np.uint64(0)
    for i in range(len(chosen)):
        mixed = np.uint64(chosen[i] * 64 + weights[i] + 1) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(31)
        mixed *= np.uint64(0xBF58476D1CE4E5B9)
        key += mixed ^ (mixed >> np.uint64(29))
    key |= np.uint64(1)  # 0 is an empty place
    last = np.uint64(len(seen) - 1)
    place = (key >> np.uint64(7)) & last
    while seen[place] != 0:
        if seen[place] == key:
            return True
        place = (place + np.uint64(1)) & last
    seen[place] = key
    return False


@inner
def _held_value(
    chosen: Ints, size: int, x: Floats, starts: Ints, columns: Ints, held: Ints, floors: Floats
) -> float:
    """Σ x ⌊|C∩T|/q⌋ over the columns that meet T."""
    total = 0.0
    for i in range(size):
        for e in range(starts[chosen[i]], starts[chosen[i] + 1]):
            c = columns[e]
            # A column is counted at the first member of T that it holds.
            first = True
            for h in range(i):
                for f in range(starts[chosen[h]], starts[chosen[h] + 1]):
                    if columns[f] == c:
                        first = False
            if first:
                total += x[c] * floors[held[c]]
    return total
