"""What the depth-first pricers of ``hamming`` and ``range`` share: items, cuts, results.

The searches run over *items*: a type, with its multiplicity, or a component of types that must stay
together, once and with the size of the component. Items are numbered by falling dual (a component
by the largest of its members), and a cluster is generated only from its first item, its *root*;
so the root's type is also the first type of the cluster in this order, and a type is the root of at
most as many clusters of a partition as its multiplicity says.

A search pauses when its budget of work is spent or its output is full; all it knows is in arrays,
so the next call carries on where the last one stopped.

*Cuts.* Adding items to the chosen multiset S raises |S ∩ T|, and each time ⌊|S ∩ T|/q⌋ grows the
penalty −σ ≥ 0 is charged in full. While |S ∩ T| mod q = q−1, a further members of T cost ⌈a/q⌉
penalties, which is at least a/q, so each may be charged penalty/q in any bound. These shares are
rounded down to multiples of 2⁻³⁶: adding and removing them is then exact however often it is done.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kanopy.solvers.branch_and_price.pricing import Cuts, Duals, Priced, Restrictions, Search
from kanopy.solvers.clock import now
from kanopy.solvers.kernels.inner import inner, kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Stopping = Callable[[], bool]

DONE, PAUSED, FULL = 0, 1, 2
"""How a search can return: finished, out of budget, out of room for clusters."""

BUDGET = 10_000_000
"""Candidates looked at between two questions whether to stop (about 0.2 s of a free core)."""

_ROOM = 1 << 15

# Of Walk.counters
DEPTH, NODES, ALL_NODES, WRITTEN, KEPT, LIMITED, ROOT, SIZE = range(8)


class Items(NamedTuple):
    """The items in their order; item i holds ``members[starts[i]:starts[i + 1]]``."""

    duals: Floats
    """Sum of the members' duals."""
    sizes: Ints
    counts: Ints
    """How often an item may be used; 0 if its members must also be apart."""
    starts: Ints
    members: Ints
    apart_starts: Ints
    apart: Ints
    cut_starts: Ints
    cuts: Ints
    amounts: Ints
    """Item i has ``amounts[e]`` members in ``cuts[e]`` for e from ``cut_starts[i]`` on."""
    held_starts: Ints
    held: Ints
    held_amounts: Ints
    """The same by cut."""
    penalties: Floats
    divisors: Ints
    shares: Floats


class Rules(NamedTuple):
    """What is searched for, in the types that compiled code likes."""

    base: float
    """Reduced cost of the empty cluster: −dual of the count row."""
    threshold: float
    smallest: int
    largest: int
    allowed: NDArray[np.bool_]
    removal: bool
    per_root: int
    most_nodes: int
    most_candidates: int


class Walk(NamedTuple):
    """Where a search stands and what it has found."""

    blocked: Ints
    shares: Floats
    within: Ints
    best_values: Floats
    best: NDArray[np.int32]
    written: NDArray[np.int32]
    roots: Floats
    """Least reduced cost found per root item."""
    limit: Floats
    """The threshold, tightened to the worst of a full list of best clusters."""
    counters: Ints


def make_items(multiplicities: Ints, duals: Duals, cuts: Cuts, restrictions: Restrictions) -> Items:
    """Merge what must stay together, number the items, and turn pairs and cuts into lists."""
    order = np.argsort(-duals.types, kind="stable").astype(np.int64)
    parent: dict[int, int] = {}

    def top(x: int) -> int:
        while parent.get(x, x) != x:
            x = parent[x]
        return x

    for a, b in restrictions.together:
        parent[top(a)] = top(b)
    number = len(order)
    item_of = np.empty(number, dtype=np.int64)
    if parent:
        item_of_top: dict[int, int] = {}
        for x in order.tolist():
            item_of[x] = item_of_top.setdefault(top(x), len(item_of_top))
        number = len(item_of_top)
    else:
        item_of[order] = np.arange(number)
    members = order[np.argsort(item_of[order], kind="stable")]
    starts = np.searchsorted(item_of[members], np.arange(number + 1)).astype(np.int64)
    sizes = np.diff(starts)
    counts = np.where(sizes == 1, multiplicities[members[starts[:-1]]], 1)

    pairs = {(int(item_of[a]), int(item_of[b])) for a, b in restrictions.apart}
    both = np.array(sorted(pairs | {(b, a) for a, b in pairs}), dtype=np.int64).reshape(-1, 2)
    counts[both[both[:, 0] == both[:, 1], 0]] = 0
    apart_starts, apart = _grouped(both[:, 0], both[:, 1], number)

    active = np.flatnonzero(duals.cuts < 0)
    cut_of, item_in = _incidences(cuts, active, item_of)
    incidences, amounts = np.unique(np.column_stack([cut_of, item_in]), axis=0, return_counts=True)
    cut_of, item_in = incidences[:, 0], incidences[:, 1]
    held_starts, held = _grouped(cut_of, item_in, len(active))
    by_item = np.argsort(item_in, kind="stable")
    cut_starts, cuts_of_item = _grouped(item_in, cut_of, number)
    penalties = -duals.cuts[active]
    divisors = cuts.divisors[active].astype(np.int64)
    return Items(
        duals=np.bincount(item_of, weights=duals.types, minlength=number).astype(np.float64),
        sizes=sizes.astype(np.int64),
        counts=counts.astype(np.int64),
        starts=starts,
        members=members,
        apart_starts=apart_starts,
        apart=apart,
        cut_starts=cut_starts,
        cuts=cuts_of_item,
        amounts=amounts[by_item].astype(np.int64),
        held_starts=held_starts,
        held=held,
        held_amounts=amounts.astype(np.int64),
        penalties=penalties,
        divisors=divisors,
        shares=np.floor(penalties / divisors * 2.0**36) / 2.0**36,
    )


def _incidences(cuts: Cuts, active: Ints, item_of: Ints) -> tuple[Ints, Ints]:
    lengths = np.diff(cuts.starts)
    cut_of = np.repeat(np.arange(len(cuts)), lengths)
    kept = np.isin(cut_of, active)
    renumbered = np.searchsorted(active, cut_of[kept])
    return renumbered, item_of[cuts.members[kept]]


def _grouped(keys: Ints, values: Ints, number: int) -> tuple[Ints, Ints]:
    """Values by key, as starts and one flat array."""
    order = np.argsort(keys, kind="stable")
    starts = np.searchsorted(keys[order], np.arange(number + 1)).astype(np.int64)
    return starts, values[order].astype(np.int64)


def make_rules(k: int, largest: int, items: Items, duals: Duals, search: Search) -> Rules:
    """Sizes, thresholds and limits of a search.

    The removal rule needs clusters of one row fewer to be searched as well. Pruning gets a margin
    above the rounding errors of sums of some duals, and below any threshold one would ask for.
    """
    sizes = sorted(set(search.sizes)) or list(range(k, largest + 1))
    allowed = np.zeros(sizes[-1] + 1, dtype=np.bool_)
    allowed[sizes] = True
    scale = 1.0 + float(np.max(np.abs(items.duals), initial=0.0)) + float(items.penalties.sum())
    return Rules(
        base=-float(duals.count),
        threshold=search.threshold + 1e-12 * scale,
        smallest=sizes[0],
        largest=sizes[-1],
        allowed=allowed,
        removal=search.per_root > 0 and sizes[-1] - sizes[0] + 1 == len(sizes),
        per_root=search.per_root,
        most_nodes=search.most_nodes,
        most_candidates=search.most_candidates,
    )


def make_walk(items: Items, rules: Rules, search: Search) -> Walk:
    """A search that stands at its beginning."""
    number = len(items.sizes)
    room = min(_ROOM, search.most_columns or _ROOM) + search.per_root
    shares = np.zeros(number)
    for cut in np.flatnonzero(items.divisors == 1):  # here every member is always the q-th
        inside = slice(items.held_starts[cut], items.held_starts[cut + 1])
        shares[items.held[inside]] += items.shares[cut] * items.held_amounts[inside]
    return Walk(
        blocked=np.zeros(number, dtype=np.int64),
        shares=shares,
        within=np.zeros(len(items.penalties), dtype=np.int64),
        best_values=np.zeros(max(search.per_root, 1)),
        best=np.full((max(search.per_root, 1), rules.largest), -1, dtype=np.int32),
        written=np.full((room, rules.largest), -1, dtype=np.int32),
        roots=np.full(number, np.inf),
        limit=np.array([rules.threshold]),
        counters=np.zeros(8, dtype=np.int64),
    )


def run(
    advance: Callable[[], int], walk: Walk, search: Search, stopping: Stopping | None
) -> tuple[NDArray[np.int32], bool]:
    """Carry a search on until it ends or a limit strikes: the clusters, and whether that is all."""
    parts: list[NDArray[np.int32]] = []
    found, most_columns = 0, search.most_columns
    if now() > search.deadline:
        return walk.written[:0], False
    while True:
        status = advance()
        written = int(walk.counters[WRITTEN])
        if written:
            parts.append(walk.written[:written].copy())
            found += written
            walk.counters[WRITTEN] = 0
        complete = status == DONE and not walk.counters[LIMITED]
        late = now() > search.deadline
        if status == DONE or late or (stopping is not None and stopping()):
            break
        if most_columns and found >= most_columns:
            break
    clusters = np.concatenate(parts) if parts else walk.written[:0]
    if most_columns and found > most_columns:
        return clusters[:most_columns], False
    return clusters, complete


def make_priced(
    clusters: NDArray[np.int32],
    complete: bool,
    price: Callable[[NDArray[np.int32], Ints], Floats],
    items: Items,
    rules: Rules,
    walk: Walk,
    duals: Duals,
    cuts: Cuts,
    search: Search,
) -> Priced:
    """The clusters with their exact costs, and what a complete search has proven.

    Every cluster of a root below the threshold has been found, or at least one no worse, or it is
    no better than a full list of best ones, so min(0, threshold, least found) bounds the root's
    clusters. Where even the duals alone exclude a negative reduced cost, 0 does.
    """
    rows = np.sort(np.where(clusters < 0, np.iinfo(np.int32).max, clusters), axis=1)
    clusters = np.where(rows == np.iinfo(np.int32).max, -1, rows).astype(np.int32)
    sizes = (clusters >= 0).sum(axis=1).astype(np.int64)
    costs = price(clusters, sizes)
    reduced = reduced_costs(clusters, costs, duals, cuts)
    wanted = reduced < search.threshold
    if not wanted.all():
        clusters, sizes = clusters[wanted], sizes[wanted]
        costs, reduced = costs[wanted], reduced[wanted]
    least, per_root = -math.inf, None
    if complete:
        best_dual = np.maximum.accumulate((items.duals / items.sizes)[::-1])[::-1]
        hopeless = rules.base - rules.largest * np.maximum(best_dual, 0.0) >= 0
        # the margin of the threshold also covers the rounding of the values found
        margin = rules.threshold - search.threshold
        bounds = np.minimum(np.minimum(walk.roots - margin, search.threshold), 0.0)
        per_root = np.zeros(len(duals.types))
        per_root[items.members[items.starts[:-1]]] = np.where(hopeless, 0.0, bounds)
        least = float(per_root.min(initial=0.0))
    return Priced(
        clusters=clusters,
        sizes=sizes,
        costs=costs,
        reduced_costs=reduced,
        complete=complete,
        least=least,
        per_root=per_root,
        nodes=int(walk.counters[ALL_NODES]),
    )


def reduced_costs(clusters: NDArray[np.int32], costs: Floats, duals: Duals, cuts: Cuts) -> Floats:
    """Reduced costs of clusters whose costs are known."""
    padded = np.append(duals.types, 0.0)  # the padding −1 finds the 0 at the end
    reduced: Floats = costs - padded[clusters].sum(axis=1) - duals.count
    charged = np.flatnonzero(duals.cuts[: len(cuts)])
    if len(charged):
        cuts = cuts.take(charged)
        of_member = np.repeat(np.arange(len(cuts)), np.diff(cuts.starts))
        starts, of_type = _grouped(cuts.members, of_member, len(duals.types))
        _charge_cuts(clusters, starts, of_type, cuts.divisors, duals.cuts[charged], reduced)
    return reduced


@kernel
def _charge_cuts(
    clusters: NDArray[np.int32],
    starts: Ints,
    cuts_of_type: Ints,
    divisors: Ints,
    duals: Floats,
    reduced: Floats,
) -> None:
    within = np.zeros(len(divisors), dtype=np.int64)
    for row in range(len(clusters)):
        for x in clusters[row]:
            if x >= 0:
                for e in range(starts[x], starts[x + 1]):
                    cut = cuts_of_type[e]
                    within[cut] += 1
                    if within[cut] % divisors[cut] == 0:
                        reduced[row] -= duals[cut]
        for x in clusters[row]:
            if x >= 0:
                for e in range(starts[x], starts[x + 1]):
                    within[cuts_of_type[e]] = 0


@inner
def penalty(items: Items, walk: Walk, x: int) -> float:
    """What adding item x to the chosen ones costs in cuts."""
    total = 0.0
    for e in range(items.cut_starts[x], items.cut_starts[x + 1]):
        cut = items.cuts[e]
        divisor = items.divisors[cut]
        before = walk.within[cut]
        steps = (before + items.amounts[e]) // divisor - before // divisor
        total += items.penalties[cut] * steps
    return total


@inner
def enter(items: Items, walk: Walk, x: int, amount: int) -> None:
    """Choose item x (amount 1) or take it back (amount −1): blocked items and shares of cuts."""
    for e in range(items.apart_starts[x], items.apart_starts[x + 1]):
        walk.blocked[items.apart[e]] += amount
    for e in range(items.cut_starts[x], items.cut_starts[x + 1]):
        cut = items.cuts[e]
        divisor = items.divisors[cut]
        before = walk.within[cut]
        after = before + amount * items.amounts[e]
        walk.within[cut] = after
        was = before % divisor == divisor - 1
        now = after % divisor == divisor - 1
        if was != now:
            share = items.shares[cut] if now else -items.shares[cut]
            for h in range(items.held_starts[cut], items.held_starts[cut + 1]):
                walk.shares[items.held[h]] += share * items.held_amounts[h]


@inner
def record(items: Items, rules: Rules, walk: Walk, chosen: Ints, number: int, value: float) -> None:
    """Write a cluster of chosen items: out at once, or to the list of the root's best."""
    counters = walk.counters
    walk.roots[chosen[0]] = min(walk.roots[chosen[0]], value)
    if rules.per_root == 0:
        row = walk.written[counters[WRITTEN]]
        counters[WRITTEN] += 1
    else:
        slot = counters[KEPT]
        if slot == rules.per_root:
            slot = np.argmax(walk.best_values)
        else:
            counters[KEPT] += 1
        walk.best_values[slot] = value
        if counters[KEPT] == rules.per_root:
            walk.limit[0] = min(rules.threshold, walk.best_values.max())
        row = walk.best[slot]
    length = 0
    for c in range(number):
        for e in range(items.starts[chosen[c]], items.starts[chosen[c] + 1]):
            row[length] = items.members[e]
            length += 1
    row[length:] = -1


@inner
def room(rules: Rules, walk: Walk) -> bool:
    """Whether another root, or in an enumeration another cluster, may be written."""
    return bool(walk.counters[WRITTEN] + max(rules.per_root, 1) <= len(walk.written))


@inner
def close_root(rules: Rules, walk: Walk) -> None:
    """Write out the root's best clusters and loosen the threshold again."""
    counters = walk.counters
    for b in range(counters[KEPT]):
        walk.written[counters[WRITTEN]] = walk.best[b]
        counters[WRITTEN] += 1
    counters[KEPT] = 0
    counters[NODES] = 0
    walk.limit[0] = rules.threshold
