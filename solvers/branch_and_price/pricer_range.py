r"""Pricing for ``range``: a depth-first search per root and cluster size, farthest row first.

A cluster of m rows costs m times its loss (003, eq. 34 and definition 8), and the loss depends on
the box around the rows alone: the least and greatest number, the set of values. With S chosen,
inc_z = loss(S + z) − loss(S) and r rows to come, the candidates are sorted by inc.

*Each cluster once.* Branch p stands for the completions whose last candidate in that order is p:
it keeps p and earlier ones only.

*Bound.* Loss never falls when a row joins, so a completion in branch p costs at least
m·(loss(S) + inc_p), and its duals sum to at most u_p and the r−1 largest among p and earlier ones,
copies counted, with the shares of cuts (see ``pricer_common``) taken off. A component of rows that
stay together spreads its dual evenly over its rows, which can only raise the sum of the largest.
Candidate x stays if its own bound is below the limit, or that of a later p with the smallest of
the r−1 largest duals exchanged for u_x. Each candidate that goes tightens the other bounds, so the
list is swept up to four times.

*Removal rule* (pricing only, above the smallest size). Without x the other m−1 rows lose no more
than loss(C), so rc(C−x) ≤ rc(C) − loss(C) + u_x; penalties only fall. Clusters in which some x,
free to go, has u_x ≤ loss(C) can be ignored: repeated removal leads from any C to a searched
C* ⊆ C with no larger reduced cost. The bounds per root survive. The root of a cluster is its
first type in one fixed order for all sizes, and the C* of a partition's clusters are disjoint, so a
type is the root of at most as many of them as its multiplicity says, hence
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
    ROOT,
    SIZE,
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

_ONE = np.uint64(1)
_BITS = 64
_SWEEPS = 4


class RangePricer:
    """Prices clusters by the generalisation loss of the box around their rows.

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
    >>> data = Microdata.from_frame(pd.DataFrame({"a": [0.0, 1.0, 4.0, 10.0], "b": list("xxyy")}))
    >>> pricer = RangePricer(data, 2)
    >>> round(pricer.cost(np.array([0, 1, 2], dtype=np.int32)), 3)
    2.7
    >>> found = pricer.price(Duals(np.ones(4)), Cuts(), Restrictions(), Search(per_root=1))
    >>> found.clusters.tolist(), found.reduced_costs.round(3).tolist(), found.complete
    ([[0, 1, -1], [1, 2, -1], [2, 3, -1]], [-1.8, -0.4, -0.8], True)
    """

    def __init__(self, data: Microdata, k: int, largest: int | None = None) -> None:
        self.k = k
        self.largest = largest or 2 * k - 1
        self.multiplicities: Ints = data.counts
        self.stopping: Stopping | None = None
        widths = data.upper - data.lower
        usable = widths > 0  # a constant column loses nothing
        factors = data.numeric_weights[usable] / widths[usable]
        # From the lower ends, since far from 0 the factors would round away what values differ by.
        above = data.X[data.first_rows][:, usable] - data.lower[usable]
        self._values = np.ascontiguousarray(above * factors)
        codes = data.codes[data.first_rows]
        losses = data.nominal_weights / data.domain_sizes
        self._masks, self._losses, self._columns = _masks(codes, losses)

    def cost(self, cluster: NDArray[np.int32]) -> float:
        """Rows times the loss of the box around a multiset of types."""
        rows = np.asarray(cluster, dtype=np.int32).reshape(1, -1)
        return float(self._price_rows(rows, np.array([rows.shape[1]]))[0])

    def price(self, duals: Duals, cuts: Cuts, restrictions: Restrictions, search: Search) -> Priced:
        """Search for clusters below the threshold."""
        items = make_items(self.multiplicities, duals, cuts, restrictions)
        rules = make_rules(self.k, self.largest, items, duals, search)
        walk = make_walk(items, rules, search)
        walk.counters[ROOT] = walk.counters[SIZE] = -1
        boxes = self._boxes(items)
        stack = _make_stack(items, rules, boxes)

        def advance() -> int:
            status: int = _advance(items, rules, walk, stack, boxes, BUDGET)
            return status

        clusters, complete = run(advance, walk, search, self.stopping)
        return make_priced(
            clusters, complete, self._price_rows, items, rules, walk, duals, cuts, search
        )

    def _price_rows(self, clusters: NDArray[np.int32], sizes: Ints) -> Floats:
        losses: Floats = _losses(clusters, self._values, self._masks, self._losses, self._columns)
        priced: Floats = sizes.astype(np.float64) * losses
        return priced

    def _boxes(self, items: Items) -> _Boxes:
        starts, members = items.starts[:-1], items.members
        low = np.minimum.reduceat(self._values[members], starts, axis=0)
        high = np.maximum.reduceat(self._values[members], starts, axis=0)
        masks = np.bitwise_or.reduceat(self._masks[members], starts, axis=0)
        inner = np.zeros(len(starts))
        for i in np.flatnonzero(items.sizes > 1):
            rows = members[items.starts[i] : items.starts[i + 1]].astype(np.int32)
            inner[i] = self.cost(rows) / len(rows)
        rates = items.duals / items.sizes
        best = np.maximum.accumulate(rates[::-1])[::-1]
        return _Boxes(low, high, masks, self._losses, inner, rates, np.ascontiguousarray(best))


class _Boxes(NamedTuple):
    """The box around each item, its loss, its dual per row, and the best of those from it on."""

    low: Floats
    high: Floats
    masks: NDArray[np.uint64]
    losses: Floats
    """Loss of one more value, per word of ``masks``."""
    inner: Floats
    rates: Floats
    best: Floats


class _Stack(NamedTuple):
    """Candidate lists in one pool, list 0 for all sizes of a root; one box for each depth."""

    items: NDArray[np.int32]
    left: NDArray[np.int32]
    increments: Floats
    bounds: Floats
    exchange: Floats
    begins: Ints
    ends: Ints
    following: Ints
    low: Floats
    high: Floats
    masks: NDArray[np.uint64]
    losses: Floats
    values: Floats
    taken: Ints
    free: Floats
    """Least dual among the chosen rows that are free to go."""
    chosen: Ints
    largest: Floats


def _make_stack(items: Items, rules: Rules, boxes: _Boxes) -> _Stack:
    number, levels = len(items.sizes), rules.largest + 2
    return _Stack(
        items=np.empty(number * levels, dtype=np.int32),
        left=np.empty(number * levels, dtype=np.int32),
        increments=np.empty(number * levels),
        bounds=np.empty(number * levels),
        exchange=np.empty(number * levels),
        begins=np.zeros(levels, dtype=np.int64),
        ends=np.zeros(levels, dtype=np.int64),
        following=np.zeros(levels, dtype=np.int64),
        low=np.zeros((levels, boxes.low.shape[1])),
        high=np.zeros((levels, boxes.low.shape[1])),
        masks=np.zeros((levels, boxes.masks.shape[1]), dtype=np.uint64),
        losses=np.zeros(levels),
        values=np.zeros(levels),
        taken=np.zeros(levels, dtype=np.int64),
        free=np.zeros(levels),
        chosen=np.zeros(levels, dtype=np.int64),
        largest=np.zeros(levels),
    )


def _masks(codes: NDArray[np.int32], losses: Floats) -> tuple[NDArray[np.uint64], Floats, Ints]:
    """One bit per value, in as many words a column as its values need; each word's loss, column."""
    words, weights, columns = [], [], []
    for j, (column, loss) in enumerate(zip(codes.T, losses, strict=True)):
        for word in range(int(column.max(initial=0)) // _BITS + 1):
            bit = _ONE << (column % _BITS).astype(np.uint64)
            words.append(np.where(column // _BITS == word, bit, np.uint64(0)))
            weights.append(loss)
            columns.append(j)
    shape = (len(codes), len(words))
    packed = np.array(words, dtype=np.uint64).reshape(shape[::-1]).T
    return (
        np.ascontiguousarray(packed),
        np.array(weights, dtype=np.float64),
        np.array(columns, dtype=np.int64),
    )


@kernel
def _losses(
    clusters: NDArray[np.int32],
    values: Floats,
    masks: NDArray[np.uint64],
    weights: Floats,
    columns: Ints,
) -> Floats:
    """Loss of each cluster."""
    losses = np.zeros(len(clusters))
    for row in range(len(clusters)):
        cluster = clusters[row]
        for j in range(values.shape[1]):
            low, high = np.inf, -np.inf
            for x in cluster:
                if x >= 0:
                    low = min(low, values[x, j])
                    high = max(high, values[x, j])
            losses[row] += high - low
        further = 0  # values after the first; to subtract the first one's loss would round
        for w in range(masks.shape[1]):
            union = np.uint64(0)
            for x in cluster:
                if x >= 0:
                    union |= masks[x, w]
            if w == 0 or columns[w] != columns[w - 1]:
                further = -1
            while union:
                further += 1
                if further > 0:
                    losses[row] += weights[w]
                union &= union - _ONE
    return losses


@inner
def _increment(stack: _Stack, boxes: _Boxes, depth: int, z: int) -> float:
    """What the loss of the chosen rows grows by when z joins."""
    total = 0.0
    for j in range(boxes.low.shape[1]):
        total += max(stack.low[depth, j] - boxes.low[z, j], 0.0)
        total += max(boxes.high[z, j] - stack.high[depth, j], 0.0)
    for w in range(boxes.masks.shape[1]):
        new = boxes.masks[z, w] & ~stack.masks[depth, w]
        while new:
            total += boxes.losses[w]
            new &= new - _ONE
    return total


@inner
def _insert(largest: Floats, length: int, most: int, value: float, copies: int) -> int:
    """Put copies of a value into a falling list of at most ``most`` values; its new length."""
    for _ in range(min(copies, most)):
        if length == most:
            if value <= largest[most - 1]:
                break
            length -= 1
        at = length
        while at > 0 and largest[at - 1] < value:
            largest[at] = largest[at - 1]
            at -= 1
        largest[at] = value
        length += 1
    return length


@inner
def _sum(largest: Floats, length: int, number: int) -> float:
    """Sum of the largest values; −∞ if there are too few."""
    if length < number:
        return -np.inf
    total = 0.0
    for j in range(number):
        total += largest[j]
    return total


@inner
def _sort(stack: _Stack, begin: int, end: int) -> None:
    """Candidates by growing increment, ties by their place."""
    if end - begin > 40:
        order = np.argsort(stack.increments[begin:end], kind="mergesort")
        stack.items[begin:end] = stack.items[begin:end][order]
        stack.left[begin:end] = stack.left[begin:end][order]
        stack.increments[begin:end] = stack.increments[begin:end][order]
        return
    for i in range(begin + 1, end):
        item, left, increment = stack.items[i], stack.left[i], stack.increments[i]
        j = i
        while j > begin and stack.increments[j - 1] > increment:
            stack.items[j], stack.left[j] = stack.items[j - 1], stack.left[j - 1]
            stack.increments[j] = stack.increments[j - 1]
            j -= 1
        stack.items[j], stack.left[j], stack.increments[j] = item, left, increment


@inner
def _rate(walk: Walk, boxes: _Boxes, items: Items, z: int) -> float:
    """Dual of z per row, less the shares of cuts."""
    return float(boxes.rates[z] - walk.shares[z] / items.sizes[z])


@inner
def _sweep(items: Items, walk: Walk, stack: _Stack, boxes: _Boxes, depth: int, rows: int) -> int:
    """Bound the branches of a sorted list for clusters of so many rows, drop what is useless."""
    begin = stack.begins[depth]
    rest = rows - stack.taken[depth]
    limit = walk.limit[0] - stack.values[depth]
    work = 0
    for _ in range(_SWEEPS):
        end = stack.ends[depth]
        work += end - begin
        length = 0
        for p in range(begin, end):
            z = stack.items[p]
            size, rate = items.sizes[z], _rate(walk, boxes, items, z)
            length = _insert(stack.largest, length, rest, rate, (stack.left[p] - 1) * size)
            others = _sum(stack.largest, length, rest - size)
            loss = stack.losses[depth] + stack.increments[p]
            stack.bounds[p] = rows * loss - size * rate - others
            # with another row in place of the worst of the others, less that row's own dual
            if rest > size and others > -np.inf:
                stack.exchange[p] = stack.bounds[p] + stack.largest[rest - size - 1]
            else:
                stack.exchange[p] = np.inf
            length = _insert(stack.largest, length, rest, rate, size)
        kept = end
        best, best_exchange = np.inf, np.inf
        for p in range(end - 1, begin - 1, -1):
            z = stack.items[p]
            useful = stack.bounds[p] < limit
            if useful and stack.exchange[p] < np.inf:
                best = min(best, stack.bounds[p])
                best_exchange = min(best_exchange, stack.exchange[p])
            elif not useful and best < limit:
                useful = items.sizes[z] > 1 or best_exchange - _rate(walk, boxes, items, z) < limit
            if useful:
                kept -= 1
                stack.items[kept], stack.left[kept] = z, stack.left[p]
                stack.increments[kept] = stack.increments[p]
                stack.bounds[kept] = stack.bounds[p]
        if kept == begin:
            break
        gone = kept - begin
        for p in range(kept, end):
            stack.items[p - gone], stack.left[p - gone] = stack.items[p], stack.left[p]
            stack.increments[p - gone] = stack.increments[p]
            stack.bounds[p - gone] = stack.bounds[p]
        stack.ends[depth] = end - gone
        if end == begin + gone:
            break
    return work


@inner
def _join(items: Items, stack: _Stack, boxes: _Boxes, depth: int, x: int, increment: float) -> None:
    """Box and sums of the next depth, where x has joined."""
    child = depth + 1
    for j in range(boxes.low.shape[1]):
        stack.low[child, j] = min(stack.low[depth, j], boxes.low[x, j])
        stack.high[child, j] = max(stack.high[depth, j], boxes.high[x, j])
    for w in range(boxes.masks.shape[1]):
        stack.masks[child, w] = stack.masks[depth, w] | boxes.masks[x, w]
    stack.losses[child] = stack.losses[depth] + increment
    stack.taken[child] = stack.taken[depth] + items.sizes[x]
    stack.free[child] = stack.free[depth]
    if items.sizes[x] == 1:
        stack.free[child] = min(stack.free[depth], items.duals[x])
    stack.chosen[depth] = x


@inner
def _list(
    items: Items,
    rules: Rules,
    walk: Walk,
    stack: _Stack,
    boxes: _Boxes,
    depth: int,
    position: int,
    rows: int,
) -> int:
    """List and bound the candidates after choosing the one at a position: it and earlier ones."""
    child = depth + 1
    rest = rows - stack.taken[child]
    removal = rules.removal and rows > rules.smallest
    loss = stack.losses[child]
    length = 0
    if rest > 1:
        for p in range(stack.begins[depth], position + 1):
            z = stack.items[p]
            left = stack.left[p] - (1 if p == position else 0)
            if left > 0 and walk.blocked[z] == 0 and items.sizes[z] <= rest:
                rate = _rate(walk, boxes, items, z)
                if length < rest or rate > stack.largest[rest - 1]:
                    copies = left * items.sizes[z]
                    length = _insert(stack.largest, length, rest, rate, copies)
    spare = walk.limit[0] - stack.values[child] - rows * loss
    spare_with_one = spare + _sum(stack.largest, length, rest - 1)
    place = begin = stack.ends[depth]
    for p in range(stack.begins[depth], position + 1):
        z = stack.items[p]
        left = stack.left[p] - (1 if p == position else 0)
        size = items.sizes[z]
        if left <= 0 or size > rest or walk.blocked[z] > 0:
            continue
        most = size * _rate(walk, boxes, items, z)
        if size == 1:
            most += spare_with_one
        else:
            most += spare + _sum(stack.largest, length, rest - size)
        if most <= 0.0:
            continue
        increment = _increment(stack, boxes, child, z)
        if rows * increment >= most:
            continue
        if removal:
            least = min(stack.free[child], items.duals[z]) if size == 1 else stack.free[child]
            if loss + increment >= least:
                continue
        stack.items[place], stack.left[place] = z, left
        stack.increments[place] = increment
        stack.bounds[place] = -np.inf
        place += 1
    stack.begins[child], stack.ends[child] = begin, place
    work: int = position + 1 - stack.begins[depth]
    if rest > 1:
        _sort(stack, begin, place)
        work += _sweep(items, walk, stack, boxes, child, rows)
    return work


@inner
def _open_root(
    items: Items, rules: Rules, walk: Walk, stack: _Stack, boxes: _Boxes, root: int
) -> int:
    """List the candidates that some cluster size may need, by growing increment."""
    stack.low[0], stack.high[0] = boxes.low[root], boxes.high[root]
    stack.masks[0] = boxes.masks[root]
    stack.losses[0] = stack.losses[1] = boxes.inner[root]
    stack.taken[0] = stack.taken[1] = items.sizes[root]
    value = rules.base - items.duals[root] + penalty(items, walk, root)
    stack.values[0] = value
    stack.free[0] = items.duals[root] if items.sizes[root] == 1 else np.inf
    stack.chosen[0] = root
    enter(items, walk, root, 1)
    place = 0
    for z in range(root, len(items.sizes)):
        left = items.counts[z] - (1 if z == root else 0)
        size = items.sizes[z]
        taken = items.sizes[root] + size
        if left <= 0 or taken > rules.largest or walk.blocked[z] > 0:
            continue
        increment = _increment(stack, boxes, 0, z)
        loss = stack.losses[0] + increment
        start = value - size * _rate(walk, boxes, items, z)
        # linear in the number of rows, so that the two ends speak for all
        few = max(rules.smallest, taken)
        useful = few * loss + start - (few - taken) * boxes.best[root] < walk.limit[0]
        if not useful and few < rules.largest:
            least = min(stack.free[0], items.duals[z]) if size == 1 else stack.free[0]
            if not rules.removal or loss < least:
                more = rules.largest
                useful = more * loss + start - (more - taken) * boxes.best[root] < walk.limit[0]
        if useful:
            stack.items[place], stack.left[place] = z, left
            stack.increments[place] = increment
            stack.bounds[place] = few * increment - size * boxes.rates[z]
            place += 1
    if 0 < rules.most_candidates < place:
        walk.counters[LIMITED] = 1
        best = np.sort(np.argsort(stack.bounds[:place], kind="mergesort")[: rules.most_candidates])
        for p in range(len(best)):
            stack.items[p], stack.left[p] = stack.items[best[p]], stack.left[best[p]]
            stack.increments[p] = stack.increments[best[p]]
        place = len(best)
    stack.begins[0], stack.ends[0] = 0, place
    _sort(stack, 0, place)
    return len(items.sizes) - root


@inner
def _open_size(
    items: Items, rules: Rules, walk: Walk, stack: _Stack, boxes: _Boxes, rows: int
) -> int:
    """The root's candidates for clusters of so many rows, as list 1."""
    rest = rows - stack.taken[0]
    removal = rules.removal and rows > rules.smallest
    place = stack.ends[0]
    for p in range(stack.ends[0]):
        z = stack.items[p]
        size = items.sizes[z]
        loss = stack.losses[0] + stack.increments[p]
        if size > rest:
            continue
        if removal:
            least = min(stack.free[0], items.duals[z]) if size == 1 else stack.free[0]
            if loss >= least:
                continue
        stack.items[place], stack.left[place] = z, stack.left[p]
        stack.increments[place] = stack.increments[p]
        place += 1
    stack.begins[1], stack.ends[1] = stack.ends[0], place
    stack.low[1], stack.high[1], stack.masks[1] = stack.low[0], stack.high[0], stack.masks[0]
    stack.free[1], stack.values[1] = stack.free[0], stack.values[0]
    work: int = stack.ends[0] + _sweep(items, walk, stack, boxes, 1, rows)
    return work


@kernel
def _advance(
    items: Items, rules: Rules, walk: Walk, stack: _Stack, boxes: _Boxes, budget: int
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
            rows = counters[SIZE] + 1
            exhausted = 0 < rules.most_nodes <= counters[NODES] and rows <= rules.largest
            if counters[SIZE] >= 0 and exhausted:
                counters[LIMITED] = 1
            if counters[SIZE] >= 0 and (exhausted or rows > rules.largest):
                enter(items, walk, stack.chosen[0], -1)
                close_root(rules, walk)
                counters[SIZE] = -1
                continue
            if counters[SIZE] < 0:
                counters[ROOT] += 1
                root = counters[ROOT]
                hopeless = root >= len(items.sizes)
                if not hopeless:
                    best = boxes.best[root]
                    most = rules.largest if best > 0.0 else rules.smallest
                    hopeless = rules.base - most * best >= walk.limit[0]
                if hopeless:
                    counters[DEPTH] = 0
                    return DONE
                if items.counts[root] == 0 or items.sizes[root] > rules.largest:
                    continue
                work += _open_root(items, rules, walk, stack, boxes, root)
                counters[SIZE] = rules.smallest - 1
                continue
            counters[SIZE] = rows
            if not rules.allowed[rows] or rows < stack.taken[0]:
                continue
            if rows == stack.taken[0]:
                value = rows * stack.losses[0] + stack.values[0]
                if value < walk.limit[0]:
                    record(items, rules, walk, stack.chosen, 1, value)
                continue
            work += _open_size(items, rules, walk, stack, boxes, rows)
            counters[NODES] += 1
            counters[ALL_NODES] += 1
            stack.following[1] = stack.begins[1]
            depth = 1
            continue
        rows = counters[SIZE]
        position = stack.following[depth]
        over = position >= stack.ends[depth]
        if not over and 0 < rules.most_nodes < counters[NODES]:
            counters[LIMITED] = 1
            over = True
        if over:
            depth -= 1
            if depth > 0:
                enter(items, walk, stack.chosen[depth], -1)
            continue
        stack.following[depth] = position + 1
        work += 1
        if stack.values[depth] + stack.bounds[position] >= walk.limit[0]:
            continue
        x = stack.items[position]
        increment = stack.increments[position]
        value = stack.values[depth] - items.duals[x] + penalty(items, walk, x)
        if stack.taken[depth] + items.sizes[x] == rows:
            total = value + rows * (stack.losses[depth] + increment)
            if total < walk.limit[0]:
                stack.chosen[depth] = x
                record(items, rules, walk, stack.chosen, depth + 1, total)
            continue
        stack.values[depth + 1] = value
        _join(items, stack, boxes, depth, x, increment)
        enter(items, walk, x, 1)
        counters[NODES] += 1
        counters[ALL_NODES] += 1
        work += _list(items, rules, walk, stack, boxes, depth, position, rows)
        depth += 1
        stack.following[depth] = stack.begins[depth]
