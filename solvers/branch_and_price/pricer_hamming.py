r"""Pricing for ``hamming``: one depth-first search per root over all cluster sizes.

The cost of a cluster is the sum of its pairwise distances (000, 4.1), whatever its size. With S
chosen and D_z = Σ_{s∈S} d(s, z), the reduced cost of S ∪ A is

    value(S) + Σ_{z∈A} (D_z − u_z) + Σ_{pairs of A} d + penalties of cuts that A triggers.

*Bound.* Let S still need r rows to reach the smallest size. Every z ∈ A has at least r−1 partners
in A, each at least as far as its nearest possible ones (copies of z itself are at distance 0), and
a pair belongs to two rows, so the reduced cost is at least value(S) + Σ_{z∈A} b_z with

    b_z = D_z − u_z + ½·(sum of the r−1 smallest distances of z) + shares of cuts,

and Σ b_z is at least the sum of the r smallest b, plus further ones as long as they are negative.
A component of rows that stay together spreads its sum evenly over its rows, which can only lower
the sum of the smallest. Distances to *all* types give a bound that holds everywhere; computing
them again among the few candidates of a root was tried and costs more than it saves.

*Each cluster once.* Candidates are sorted by b and branch p keeps p and later ones only; the loop
ends when the smallest b from p on no longer suffice.

*Removal rule* (pricing only). Taking x out of C changes the reduced cost by u_x − D_C(x) minus
penalties that vanish, so clusters above the smallest size in which some x, free to go, has
D_C(x) ≥ u_x can be ignored: repeated removal leads from any C to a searched C* ⊆ C with no larger
reduced cost. The bounds per root survive: the C* of a partition's clusters are disjoint, so a type
is the root of at most as many of them as its multiplicity says, hence
Σ_C min(0, rc(C)) ≥ Σ_C min(0, rc(C*)) ≥ Σ_types multiplicity · per_root.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kanopy.instances.microdata import Microdata
from kanopy.solvers.branch_and_price.pricer_common import (
    ALL_NODES,
    BUDGET,
    DEPTH,
    DONE,
    FULL,
    LIMITED,
    NODES,
    PAUSED,
    Floats,
    Ints,
    Items,
    Rules,
    Stopping,
    Walk,
    close_root,
    enter,
    make_items,
    make_priced,
    make_rules,
    make_walk,
    penalty,
    record,
    room,
    run,
)
from kanopy.solvers.branch_and_price.pricing import Cuts, Duals, Priced, Restrictions, Search
from kanopy.solvers.kernels.inner import inner, kernel

_LANES = 8
_ONES = np.uint64(0x0101010101010101)
_GATHER = np.uint64(0x0102040810204080)
_S4, _S2, _S1, _S56 = np.uint64(4), np.uint64(2), np.uint64(1), np.uint64(56)

_MOST_TYPES = 10_000
"""Types up to which distances between all of them are looked at once, for the nearest ones."""


class HammingPricer:
    """Prices clusters of nominal data by the sum of their pairwise distances.

    Attributes
    ----------
    k, largest
        Smallest and largest cluster size; the largest is 2k−1 by default.
    multiplicities
        Rows of each type.
    stopping
        Asked every fraction of a second; where it says True, the search ends incomplete.

    Examples
    --------
    >>> import pandas as pd
    >>> data = Microdata.from_frame(pd.DataFrame({"a": list("xxyz"), "b": list("pqpp")}))
    >>> pricer = HammingPricer(data, 2)
    >>> pricer.cost(np.array([0, 1, 2], dtype=np.int32))
    4.0
    >>> duals = Duals(np.array([1.0, 1.0, 1.0, 0.5]))
    >>> found = pricer.price(duals, Cuts(), Restrictions(), Search(per_root=1))
    >>> found.clusters.tolist(), found.reduced_costs.tolist(), found.complete
    ([[0, 1, -1], [2, 3, -1]], [-1.0, -0.5], True)
    """

    def __init__(self, data: Microdata, k: int, largest: int | None = None) -> None:
        self.k = k
        self.largest = largest or 2 * k - 1
        self.multiplicities: Ints = data.counts
        self._copies = self.multiplicities  # what bounds go by while a dive counts fewer
        self.stopping: Stopping | None = None
        self._codes = np.ascontiguousarray(data.codes[data.first_rows])
        self._weights = np.ascontiguousarray(data.nominal_weights)
        self._words, self._tables = _pack(self._codes, self._weights)
        self._near: dict[int, Floats] = {}

    def cost(self, cluster: NDArray[np.int32]) -> float:
        """Sum of the pairwise distances of a multiset of types."""
        rows = np.asarray(cluster, dtype=np.int32).reshape(1, -1)
        return float(_costs(rows, self._codes, self._weights)[0])

    def price(self, duals: Duals, cuts: Cuts, restrictions: Restrictions, search: Search) -> Priced:
        """Search for clusters below the threshold."""
        items = make_items(self.multiplicities, duals, cuts, restrictions)
        rules = make_rules(self.k, self.largest, items, duals, search)
        walk = make_walk(items, rules, search)
        near = self._nearest(rules.smallest)[items.members[items.starts[:-1]]]
        metric = _make_metric(self._words[items.members], self._tables, items.starts)
        worth = items.duals - _inner_distances(metric)
        stack = _make_stack(items, rules, worth)

        def advance() -> int:
            status: int = _advance(items, rules, walk, stack, metric, worth, near, BUDGET)
            return status

        clusters, complete = run(advance, walk, search, self.stopping)
        return make_priced(clusters, complete, self.costs, items, rules, walk, duals, cuts, search)

    def costs(self, clusters: NDArray[np.int32], sizes: Ints | None = None) -> Floats:
        """Costs of multisets of types, padded by −1."""
        costs: Floats = _costs(clusters, self._codes, self._weights)
        return costs

    def _nearest(self, smallest: int) -> Floats:
        """Sums of the 0, 1, …, smallest−1 smallest distances of each type to other rows."""
        if smallest not in self._near:
            shape = (len(self._words), smallest)
            if len(self._words) > _MOST_TYPES or smallest < 3:
                self._near[smallest] = np.zeros(shape)
            else:
                single = np.arange(len(self._words) + 1, dtype=np.int64)
                metric = _make_metric(self._words, self._tables, single)
                self._near[smallest] = _nearest_sums(metric, self._copies, smallest)
        return self._near[smallest]


class _Stack(NamedTuple):
    """Candidate lists, one a depth, in one pool; depth 0 lists all items as roots."""

    items: NDArray[np.int32]
    left: NDArray[np.int32]
    distances: Floats
    bounds: Floats
    begins: Ints
    ends: Ints
    following: Ints
    values: Floats
    taken: Ints
    needs: Ints
    mosts: Ints
    chosen: Ints
    slack: Floats
    smallest: Floats


def _make_stack(items: Items, rules: Rules, worth: Floats) -> _Stack:
    number, levels = len(items.sizes), rules.largest + 2
    stack = _Stack(
        items=np.empty(number * levels, dtype=np.int32),
        left=np.empty(number * levels, dtype=np.int32),
        distances=np.empty(number * levels),
        bounds=np.empty(number * levels),
        begins=np.zeros(levels, dtype=np.int64),
        ends=np.zeros(levels, dtype=np.int64),
        following=np.zeros(levels, dtype=np.int64),
        values=np.zeros(levels),
        taken=np.zeros(levels, dtype=np.int64),
        needs=np.zeros(levels, dtype=np.int64),
        mosts=np.zeros(levels, dtype=np.int64),
        chosen=np.zeros(levels, dtype=np.int64),
        slack=np.zeros((levels, levels)),
        smallest=np.zeros(levels),
    )
    stack.items[:number] = np.arange(number)
    stack.left[:number] = items.counts
    stack.distances[:number] = 0.0
    # at depth 0: the best dual from here on, to see when roots are hopeless
    stack.bounds[:number] = -np.maximum.accumulate((worth / items.sizes)[::-1])[::-1]
    stack.ends[0] = number
    stack.values[0] = rules.base
    stack.needs[0] = rules.smallest
    stack.mosts[0] = rules.largest
    return stack


def _pack(codes: NDArray[np.int32], weights: Floats) -> tuple[NDArray[np.uint64], Floats]:
    """Codes as bytes of 64-bit words, and the distance of two words by the bytes that differ.

    A column takes one byte, two or four, as its values need, and lies in one word; a table entry
    adds a column's weight once if any of its bytes differ.
    """
    place, lanes = 0, []
    for column in codes.T:
        largest = int(column.max(initial=0))
        width = 1 if largest < 1 << 8 else 2 if largest < 1 << 16 else 4
        if place % _LANES + width > _LANES:
            place += _LANES - place % _LANES
        lanes.append((place, width))
        place += width
    number = max(1, -(-place // _LANES))
    words = np.zeros((len(codes), number), dtype=np.uint64)
    tables = np.zeros((number, 1 << _LANES))
    patterns = np.arange(1 << _LANES)
    for column, weight, (at, width) in zip(codes.T, weights, lanes, strict=True):
        word, lane = divmod(at, _LANES)
        words[:, word] |= column.astype(np.uint64) << np.uint64(8 * lane)
        differs = (patterns >> lane) & ((1 << width) - 1) != 0
        tables[word] += np.where(differs, weight, 0.0)
    return words, tables


class _Metric(NamedTuple):
    """Packed rows by item; the first words, nearly always the only ones, lie by themselves."""

    starts: Ints
    words: NDArray[np.uint64]
    table: Floats
    more_words: NDArray[np.uint64]
    more_tables: Floats


def _make_metric(words: NDArray[np.uint64], tables: Floats, starts: Ints) -> _Metric:
    return _Metric(
        starts=starts,
        words=np.ascontiguousarray(words[:, 0]),
        table=np.ascontiguousarray(tables[0]),
        more_words=np.ascontiguousarray(words[:, 1:]),
        more_tables=np.ascontiguousarray(tables[1:]),
    )


@inner
def _pattern(different: np.uint64) -> np.uint64:
    """The bytes of a word that are not 0, as bits."""
    different |= different >> _S4
    different |= different >> _S2
    different |= different >> _S1
    return ((different & _ONES) * _GATHER) >> _S56


@inner
def _apart(metric: _Metric, a: int, b: int) -> float:
    """Distance of two rows."""
    total = metric.table[_pattern(metric.words[a] ^ metric.words[b])]
    for w in range(metric.more_words.shape[1]):
        different = metric.more_words[a, w] ^ metric.more_words[b, w]
        total += metric.more_tables[w, _pattern(different)]
    return float(total)


@inner
def _distance(metric: _Metric, a: int, b: int) -> float:
    """Sum of the distances between the rows of two items."""
    total = 0.0
    for i in range(metric.starts[a], metric.starts[a + 1]):
        for j in range(metric.starts[b], metric.starts[b + 1]):
            total += _apart(metric, i, j)
    return total


@kernel
def _inner_distances(metric: _Metric) -> Floats:
    inner = np.zeros(len(metric.starts) - 1)
    for a in range(len(inner)):
        if metric.starts[a + 1] - metric.starts[a] > 1:
            inner[a] = _distance(metric, a, a) / 2
    return inner


@kernel
def _costs(clusters: NDArray[np.int32], codes: NDArray[np.int32], weights: Floats) -> Floats:
    costs = np.zeros(len(clusters))
    for row in range(len(clusters)):
        cluster = clusters[row]
        for j in range(codes.shape[1]):
            pairs = 0
            for a in range(len(cluster)):
                if cluster[a] < 0:
                    continue
                for b in range(a):
                    if cluster[b] >= 0 and codes[cluster[a], j] != codes[cluster[b], j]:
                        pairs += 1
            costs[row] += weights[j] * pairs
    return costs


@inner
def _insert(smallest: Floats, length: int, most: int, value: float, copies: int) -> int:
    """Put copies of a value into a sorted list of at most ``most`` values; its new length."""
    for _ in range(min(copies, most)):
        if length == most:
            if most == 0 or value >= smallest[most - 1]:
                break
            length -= 1
        at = length
        while at > 0 and smallest[at - 1] > value:
            smallest[at] = smallest[at - 1]
            at -= 1
        smallest[at] = value
        length += 1
    return length


@kernel
def _nearest_sums(metric: _Metric, multiplicities: Ints, columns: int) -> Floats:
    words = metric.words
    sums = np.zeros((len(words), columns))
    nearest = np.zeros(columns)
    most = columns - 1
    for a in range(len(words)):
        length = _insert(nearest, 0, most, 0.0, multiplicities[a] - 1)
        for b in range(len(words)):
            if length == most and nearest[most - 1] == 0.0:
                break
            if b != a:
                distance = _apart(metric, a, b)
                if length < most or distance < nearest[most - 1]:
                    length = _insert(nearest, length, most, distance, multiplicities[b])
        for j in range(most):
            sums[a, j + 1] = sums[a, j] + (nearest[j] if j < length else 0.0)
    return sums


@inner
def _best_sum(smallest: Floats, length: int, need: int, most: int) -> float:
    """Least sum of ``need`` to ``most`` of the sorted values; ∞ if there are too few."""
    if length < need:
        return np.inf
    total = 0.0
    for j in range(min(length, most)):
        if j >= need and smallest[j] >= 0.0:
            break
        total += smallest[j]
    return total


@inner
def _outlook(items: Items, stack: _Stack, depth: int, position: int) -> float:
    """Least sum of bounds that the candidates from a position on can give."""
    need, most = stack.needs[depth], stack.mosts[depth]
    total, rows = 0.0, 0
    for p in range(position, stack.ends[depth]):
        bound = stack.bounds[p]
        upto = need if bound >= 0.0 else most
        if rows >= upto:
            break
        take = min(stack.left[p] * items.sizes[stack.items[p]], upto - rows)
        total += take * bound
        rows += take
    return total if rows >= need else np.inf


@inner
def _sort(stack: _Stack, begin: int, end: int) -> None:
    """Candidates by ascending bound, ties by their place."""
    if end - begin > 40:
        order = np.argsort(stack.bounds[begin:end], kind="mergesort")
        stack.items[begin:end] = stack.items[begin:end][order]
        stack.left[begin:end] = stack.left[begin:end][order]
        stack.distances[begin:end] = stack.distances[begin:end][order]
        stack.bounds[begin:end] = stack.bounds[begin:end][order]
        return
    for i in range(begin + 1, end):
        item, left = stack.items[i], stack.left[i]
        distance, bound = stack.distances[i], stack.bounds[i]
        j = i
        while j > begin and stack.bounds[j - 1] > bound:
            stack.items[j], stack.left[j] = stack.items[j - 1], stack.left[j - 1]
            stack.distances[j], stack.bounds[j] = stack.distances[j - 1], stack.bounds[j - 1]
            j -= 1
        stack.items[j], stack.left[j] = item, left
        stack.distances[j], stack.bounds[j] = distance, bound


@inner
def _filter(items: Items, rules: Rules, walk: Walk, stack: _Stack, depth: int, length: int) -> None:
    """Keep candidates that, with the best others, stay below the limit."""
    names, lefts, distances, bounds = stack.items, stack.left, stack.distances, stack.bounds
    sizes, smallest = items.sizes, stack.smallest
    need, most = stack.needs[depth], stack.mosts[depth]
    room_left = walk.limit[0] - stack.values[depth]
    with_one = _best_sum(smallest, length, max(need - 1, 0), most - 1)
    begin, end = stack.begins[depth], stack.ends[depth]
    kept = begin
    for p in range(begin, end):
        z = names[p]
        size = sizes[z]
        others = with_one
        if size > 1:
            others = _best_sum(smallest, length, max(need - size, 0), most - size)
        if size * bounds[p] + others < room_left:
            names[kept] = z
            lefts[kept] = lefts[p]
            distances[kept] = distances[p]
            bounds[kept] = bounds[p]
            kept += 1
    stack.ends[depth] = kept


@inner
def _list(
    items: Items,
    rules: Rules,
    walk: Walk,
    stack: _Stack,
    metric: _Metric,
    worth: Floats,
    near: Floats,
    depth: int,
    position: int,
) -> None:
    """List the candidates after choosing the one at a position: that one again and later ones."""
    # arrays by name, since taking them out of a tuple in the loop costs more than the loop does
    names, lefts, distances, bounds = stack.items, stack.left, stack.distances, stack.bounds
    sizes, starts, shares, blocked = items.sizes, items.starts, walk.shares, walk.blocked
    smallest, words, table = stack.smallest, metric.words, metric.table
    x = names[position]
    word = words[starts[x]]
    narrow = metric.more_words.shape[1] == 0 and sizes[x] == 1
    child = depth + 1
    begin = stack.ends[depth]
    need, most = stack.needs[child], stack.mosts[child]
    beyond = rules.removal and need == 0
    place, length = begin, 0
    for p in range(position, begin):
        z = names[p]
        left = lefts[p] - (1 if p == position else 0)
        size = sizes[z]
        if left <= 0 or size > most or blocked[z] > 0:
            continue
        distance = distances[p]
        if narrow and size == 1:
            distance += table[_pattern(word ^ words[starts[z]])]
        else:
            distance += _distance(metric, x, z)
        bound = distance - worth[z]
        if size == 1:
            if beyond and bound >= 0.0:
                continue
            bound += shares[z]
            if need > 1:
                bound += 0.5 * near[z, need - 1]
        else:
            bound = (bound + shares[z]) / size
        names[place] = z
        lefts[place] = left
        distances[place] = distance
        bounds[place] = bound
        place += 1
        if length < most or bound < smallest[most - 1]:
            length = _insert(smallest, length, most, bound, left * size)
    stack.begins[child] = begin
    stack.ends[child] = place
    _filter(items, rules, walk, stack, child, length)


@inner
def _choose(
    items: Items,
    rules: Rules,
    walk: Walk,
    stack: _Stack,
    metric: _Metric,
    worth: Floats,
    depth: int,
    position: int,
) -> bool:
    """Choose a candidate, record the cluster if it is wanted; whether it may still grow."""
    x = stack.items[position]
    child = depth + 1
    distance = stack.distances[position]
    taken = stack.taken[depth] + items.sizes[x]
    value = stack.values[depth] + distance - worth[x] + penalty(items, walk, x)
    stack.chosen[depth] = x
    tight = False  # a row that should go stands in the way of all larger sizes
    if rules.removal:
        slack = np.inf if items.sizes[x] > 1 else worth[x] - distance
        stack.slack[child, depth] = slack
        tight = slack <= 0.0
        for c in range(depth):
            rest = stack.slack[depth, c]
            if rest < np.inf:
                rest -= _distance(metric, stack.chosen[c], x)
            stack.slack[child, c] = rest
            tight = tight or rest <= 0.0
    if (
        taken >= rules.smallest
        and rules.allowed[taken]
        and value < walk.limit[0]
        and not (tight and taken > rules.smallest)
    ):
        record(items, rules, walk, stack.chosen, child, value)
    need = max(rules.smallest - taken, 0)
    most = need if tight else rules.largest - taken
    stack.values[child] = value
    stack.taken[child] = taken
    stack.needs[child] = need
    stack.mosts[child] = most
    return bool(most > 0)


@kernel
def _advance(
    items: Items,
    rules: Rules,
    walk: Walk,
    stack: _Stack,
    metric: _Metric,
    worth: Floats,
    near: Floats,
    budget: int,
) -> int:
    """Search on until the end, the budget of work, or the room for clusters is reached."""
    counters = walk.counters
    depth = counters[DEPTH]
    work = 0
    while True:
        if work > budget or not room(rules, walk):
            counters[DEPTH] = depth
            return PAUSED if work > budget else FULL
        if depth == 0:
            close_root(rules, walk)
            if not room(rules, walk):
                counters[DEPTH] = depth
                return FULL
        position = stack.following[depth]
        over = position >= stack.ends[depth]
        if not over:
            if depth == 0:
                best = stack.bounds[position]
                rows = rules.largest if best < 0.0 else rules.smallest
                over = rules.base + rows * best >= walk.limit[0]
            else:
                ahead = _outlook(items, stack, depth, position)
                over = stack.values[depth] + ahead >= walk.limit[0]
        if not over and depth > 0 and 0 < rules.most_nodes <= counters[NODES]:
            counters[LIMITED] = 1
            over = True
        if over:
            if depth == 0:
                counters[DEPTH] = depth
                return DONE
            depth -= 1
            enter(items, walk, stack.chosen[depth], -1)
            continue
        stack.following[depth] = position + 1
        x = stack.items[position]
        work += 1
        if stack.left[position] <= 0 or items.sizes[x] > stack.mosts[depth]:
            continue
        if not _choose(items, rules, walk, stack, metric, worth, depth, position):
            continue
        counters[NODES] += 1
        counters[ALL_NODES] += 1
        enter(items, walk, x, 1)
        work += stack.ends[depth] - position
        _list(items, rules, walk, stack, metric, worth, near, depth, position)
        child = depth + 1
        begin, end = stack.begins[child], stack.ends[child]
        if begin == end:
            enter(items, walk, x, -1)
            continue
        _sort(stack, begin, end)
        if depth == 0 and 0 < rules.most_candidates < end - begin:
            stack.ends[child] = begin + rules.most_candidates
            counters[LIMITED] = 1
        stack.following[child] = begin
        depth = child
