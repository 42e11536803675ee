"""The depth-first search behind the ``sse`` pricer, one root and one cluster size at a time.

For a cluster C of exactly m points, cost(C) = (1/m) Σ_{pairs} D_xy with D the squared distances
(002, eq. 5). So with S chosen and R still to come (r of them, m in all),

    reduced cost = base(S) + Σ_{x∈R} score_x + (1/m) Σ_{pairs of R} D + penalties,
    score_x = (1/m) Σ_{y∈S} D_xy − dual_x,

and no centroid is ever needed. What the search relies on, each with its proof:

*Node bound.* Splitting each pair of R between its two ends, x carries at least
b_x = score_x + (1/2m)·(sum of the r−1 smallest D[x,·] among the candidates, copies included), since
R∖x are r−1 candidates. Hence reduced cost ≥ base + the r smallest b, copies counted, and with x in
R at least base + b_x + the r−1 smallest b. Sums taken over a superset of the candidates are only
smaller, so those of a root serve all its nodes.

*Pairs.* The bound of the node {root, x} holds for every cluster with both, so where it is not below
the limit x is no candidate. With the neighbour sums of all types, which are smaller, it needs no
distances but those of x, and most scans end early; what is left is far fewer candidates.

*Cuts.* A cut (T, q) with dual −penalty adds penalty·⌊|C∩T|/q⌋. With c = |S∩T| mod q and
t = |R∩T|, what R adds is penalty·⌊(c+t)/q⌋ ≥ 0, and for c = q−1 it is
penalty·⌈t/q⌉ ≥ t·penalty/q: every x ∈ T carries penalty/q in b_x. The steps of ⌊·⌋ met while
adding points are charged in full to base, and then c = 0 and no share is charged.

*Each multiset once.* A node branches over its candidates in the order of b; branch p holds p (once
more, if copies are left) and later ones only, so it stands for the completions that hold candidate
p and none before. All completions of branches ≥ p cost at least base + the r smallest b from p on;
with b ascending that grows with p, so the loop may stop.

*Roots.* A cluster is generated from its first type in the order of falling duals only.

*Together.* A cluster holds all of a component or nothing. After x its missing mates are the only
next choices; a mate that is no longer a candidate was excluded by an earlier branch, which stands
for these clusters, or pruned for every completion, so the node is a dead end. A component larger
than what is left to add is no candidate.

*Removal rule* (m > k, pricing only). Taking x out of C changes the reduced cost by
dual_x − (m/(m−1))‖x − c‖² − (penalties ≥ 0), c the centroid. If a negative cluster exists, then so
does one, of the same or smaller size ≥ k and no larger reduced cost, from which no single removal
gains: there ‖x − c‖² ≤ ((m−1)/m)·dual_x for every x that may leave alone, in particular
dual_x ≥ 0, and by the triangle inequality D_xy ≤ ((m−1)/m)(√dual_x + √dual_y)². Points of a
component of two or more may not leave alone and are exempt. A sum over roots survives the rule:
shrink every cluster of a partition by gaining removals to C* ⊆ C; the C* are disjoint, so no type
is the root of more of them than it has copies.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kanopy.solvers.kernels.inner import inner, kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

HUGE = 1e150
"""A distance that no cluster can afford; squares and sums of it stay finite."""

_REFILTER = 250
"""Candidates up to which their neighbour sums are worth computing again after a filter."""

_SCAN = 50
"""Candidates that a scan looks at before it ends, roughly."""

_MOST = 8192
"""Candidates of a root at most where all clusters are wanted, since all their distances are kept:
half a gigabyte. With more, the list is not complete; a bound needs all candidates."""


@kernel
def _distance(matrix: Floats, points: Floats, a: int, b: int, use_matrix: bool) -> float:
    if use_matrix:
        return float(matrix[a, b])
    total = 0.0
    for j in range(points.shape[1]):
        difference = points[a, j] - points[b, j]
        total += difference * difference
    return total


@inner
def _sort_by_bound(bound: Floats, score: Floats, who: NDArray[np.int32], length: int) -> None:
    """Shell sort of three parallel arrays by the first, ties by candidate number."""
    gap = 1
    while gap < length // 3:
        gap = 3 * gap + 1
    while gap >= 1:
        for i in range(gap, length):
            b, s, w = bound[i], score[i], who[i]
            j = i
            while j >= gap and (bound[j - gap] > b or (bound[j - gap] == b and who[j - gap] > w)):
                bound[j], score[j], who[j] = bound[j - gap], score[j - gap], who[j - gap]
                j -= gap
            bound[j], score[j], who[j] = b, s, w
        gap //= 3


@inner
def _least_sum(
    values: Floats, who: NDArray[np.int32], copies: Ints, length: int, wanted: int, heap: Floats
) -> float:
    """Sum of the ``wanted`` least values, copies counted; ∞ if there are fewer."""
    if wanted == 0:
        return 0.0
    filled = 0
    for i in range(length):
        value = values[i]
        for _ in range(min(copies[who[i]], wanted)):
            if filled < wanted:
                place = filled
                filled += 1
            elif value < heap[wanted - 1]:
                place = wanted - 1
            else:
                break
            while place > 0 and heap[place - 1] > value:
                heap[place] = heap[place - 1]
                place -= 1
            heap[place] = value
    if filled < wanted:
        return np.inf
    total = 0.0
    for i in range(wanted):
        total += heap[i]
    return total


@inner
def _neighbour_sums(
    local: Floats,
    copies: Ints,
    alive: NDArray[np.int32],
    length: int,
    most: int,
    sums: Floats,
    heap: Floats,
) -> None:
    """``sums[x, t]``: half the sum of the t least distances of x to other candidates."""
    for i in range(length):
        x = alive[i]
        row = local[x]
        filled = 0
        for j in range(length):
            y = alive[j]
            value = row[y]
            number = copies[y]
            if x == y:
                number -= 1
                value = 0.0
            for _ in range(min(number, most)):
                if filled < most:
                    place = filled
                    filled += 1
                elif value < heap[most - 1]:
                    place = most - 1
                else:
                    break
                while place > 0 and heap[place - 1] > value:
                    heap[place] = heap[place - 1]
                    place -= 1
                heap[place] = value
        total = 0.0
        sums[x, 0] = 0.0
        for t in range(most):
            total += heap[t] if t < filled else HUGE
            sums[x, t + 1] = 0.5 * total


@inner
def _filter_pairs(
    matrix: Floats,
    points: Floats,
    use_matrix: bool,
    root: int,
    raw: Ints,
    rest: Floats,
    length: int,
    copies_of: Ints,
    dual: Floats,
    near: Floats,
    m: int,
    start_base: float,
    limit: float,
    heap: Floats,
) -> int:
    """Keep the candidates x for which root and x together can still be completed below the limit.

    The bound is that of the node {root, x}, over all candidates y that remain. They come by
    ascending ``rest``, what y carries apart from D_xy ≥ 0, so a scan may end at a y that carries
    more than all those picked so far, or once picking this y over and over is too dear.
    """
    wanted = m - 2
    for i in range(length):
        y = raw[i]
        distance = _distance(matrix, points, root, y, use_matrix)
        rest[i] = distance / m - dual[y] + 0.5 * near[y, m - 3] / m
    order = np.argsort(rest[:length])
    raw[:length] = raw[:length][order]
    rest[:length] = rest[:length][order]
    for _ in range(3):
        before = length
        i = 0
        while i < length:
            x = raw[i]
            distance = _distance(matrix, points, root, x, use_matrix)
            room = limit - (start_base + distance / m - dual[x])
            filled = 0
            dear = False
            for j in range(length):
                y = raw[j]
                least = rest[j]
                if filled == wanted and least >= heap[wanted - 1]:
                    break
                if j % 8 == 7:
                    total = 0.0
                    for t in range(wanted):
                        total += heap[t] if t < filled and heap[t] < least else least
                    if total >= room:
                        dear = True
                        break
                times = copies_of[y]
                if y == root:
                    times -= 1
                value = least
                if y == x:
                    times -= 1
                else:
                    value += _distance(matrix, points, x, y, use_matrix) / m
                for _ in range(min(times, wanted)):
                    if filled < wanted:
                        slot = filled
                        filled += 1
                    elif value < heap[wanted - 1]:
                        slot = wanted - 1
                    else:
                        break
                    while slot > 0 and heap[slot - 1] > value:
                        heap[slot] = heap[slot - 1]
                        slot -= 1
                    heap[slot] = value
            if not dear:
                total = 0.0
                for t in range(filled):
                    total += heap[t]
                dear = filled < wanted or total >= room
            if dear:
                length -= 1
                for j in range(i, length):
                    raw[j] = raw[j + 1]
                    rest[j] = rest[j + 1]
            else:
                i += 1
        if length > 0.8 * before:
            break
    return length


@inner
def _enter(
    x: int,
    cut_starts: Ints,
    cut_members: Ints,
    divisors: Ints,
    penalties: Floats,
    type_starts: Ints,
    type_cuts: Ints,
    held: Ints,
    place: Ints,
    share: Floats,
) -> float:
    """Count type x in its cuts, move shares of candidates, and return the penalties due."""
    due = 0.0
    for e in range(type_starts[x], type_starts[x + 1]):
        c = type_cuts[e]
        held[c] += 1
        rest = held[c] % divisors[c]
        if rest == 0:
            due += penalties[c]
        if rest == 0 or rest == divisors[c] - 1:
            part = penalties[c] / divisors[c]
            if rest == 0:
                part = -part
            for f in range(cut_starts[c], cut_starts[c + 1]):
                z = place[cut_members[f]]
                if z >= 0:
                    share[z] += part
    return due


@inner
def due(
    x: int, divisors: Ints, penalties: Floats, type_starts: Ints, type_cuts: Ints, held: Ints
) -> float:
    """The penalties that adding type x would charge."""
    due, times = 0.0, 0
    for e in range(type_starts[x], type_starts[x + 1]):
        c = type_cuts[e]
        # a cut that holds x several times stands here as often, one after the other
        times = times + 1 if e > type_starts[x] and type_cuts[e - 1] == c else 1
        if (held[c] + times) % divisors[c] == 0:
            due += penalties[c]
    return due


@inner
def count_in(x: int, type_starts: Ints, type_cuts: Ints, held: Ints, amount: int) -> None:
    """Count type x in its cuts so many times more."""
    for e in range(type_starts[x], type_starts[x + 1]):
        held[type_cuts[e]] += amount


@inner
def _leave(
    x: int,
    cut_starts: Ints,
    cut_members: Ints,
    divisors: Ints,
    penalties: Floats,
    type_starts: Ints,
    type_cuts: Ints,
    held: Ints,
    place: Ints,
    share: Floats,
) -> None:
    """Undo :func:`_enter`."""
    for e in range(type_starts[x], type_starts[x + 1]):
        c = type_cuts[e]
        rest = held[c] % divisors[c]
        held[c] -= 1
        if rest == 0 or rest == divisors[c] - 1:
            part = penalties[c] / divisors[c]
            if rest == 0:
                part = -part
            for f in range(cut_starts[c], cut_starts[c + 1]):
                z = place[cut_members[f]]
                if z >= 0:
                    share[z] -= part


@kernel
def search_roots(
    matrix: Floats,
    points: Floats,
    use_matrix: bool,
    k: int,
    copies_of: Ints,
    near: Floats,
    dual: Floats,
    count_dual: float,
    order: Ints,
    first: int,
    last: int,
    near_starts: Ints,
    near_types: Ints,
    sizes: Ints,
    cut_starts: Ints,
    cut_members: Ints,
    divisors: Ints,
    penalties: Floats,
    type_starts: Ints,
    type_cuts: Ints,
    component: Ints,
    component_starts: Ints,
    component_members: Ints,
    apart_starts: Ints,
    apart: Ints,
    threshold: float,
    keep: int,
    most_nodes: int,
    most_candidates: int,
    most_columns: int,
    slice_work: int,
    root_work: int,
    paired: int,
    least_of_root: Floats,
) -> tuple[int, bool, bool, int, int, NDArray[np.int32], Ints, Floats]:
    """Search the roots ``order[first:last]``, pausing between roots after ``slice_work``.

    Work is counted in candidates looked at. More than ``paired`` candidates are filtered by pairs.

    Returns
    -------
    next_root, unfinished, capped, nodes, found, clusters, sizes, reduced_costs
        ``unfinished`` says that root ``next_root`` needs more than ``root_work`` (its columns are
        left out and it is to be searched again), ``capped`` that a limit of the caller struck.
    """
    n = len(copies_of)
    largest = sizes.max()
    rank = np.empty(n, dtype=np.int64)
    for i in range(n):
        rank[order[i]] = i
    cuts = len(divisors)
    held = np.zeros(max(cuts, 1), dtype=np.int64)
    place = np.full(n, -1, dtype=np.int64)
    forbidden = np.full(n, -1, dtype=np.int64)
    whole_components = len(component_starts) - 1 == n
    taken = np.zeros(max(len(component_starts) - 1, 1), dtype=np.int64)
    heap = np.empty(largest + 1)
    raw = np.empty(n, dtype=np.int64)
    raw_bound = np.empty(n)

    room = 16
    local = np.empty((room, room))
    sums = np.empty((room, largest))
    who = np.empty((largest, room), dtype=np.int32)
    score = np.empty((largest, room))
    bound = np.empty((largest, room))
    share = np.empty(room)
    copies = np.empty(room, dtype=np.int64)
    length = np.zeros(largest, dtype=np.int64)
    position = np.zeros(largest, dtype=np.int64)
    base = np.zeros(largest)
    chosen = np.full(largest, -1, dtype=np.int64)
    forced = np.zeros(largest, dtype=np.bool_)

    capacity = 256
    out = np.full((capacity, largest), -1, dtype=np.int32)
    out_size = np.zeros(capacity, dtype=np.int64)
    out_cost = np.zeros(capacity)
    found = 0
    best = np.full((max(keep, 1), largest), -1, dtype=np.int32)
    best_size = np.zeros(max(keep, 1), dtype=np.int64)
    best_cost = np.zeros(max(keep, 1))
    candidate_row = np.empty(largest, dtype=np.int32)

    nodes = 0
    work = 0
    capped = False
    for index in range(first, last):
        if work > slice_work:
            return index, False, capped, nodes, found, out, out_size, out_cost
        root = order[index]
        ceiling = -np.inf  # Costs are ≥ 0 and later duals smaller: m·dual bounds what C can gain.
        for m in sizes:
            ceiling = max(ceiling, m * dual[root])
        if -ceiling - count_dual >= threshold:
            break
        if most_columns > 0 and found >= most_columns:
            return index, False, True, nodes, found, out, out_size, out_cost
        own = component[root]
        mates = component_starts[own + 1] - component_starts[own]
        skip = False
        for e in range(component_starts[own], component_starts[own + 1]):
            skip |= rank[component_members[e]] < index
        if skip:
            continue
        for e in range(apart_starts[root], apart_starts[root + 1]):
            forbidden[apart[e]] = root
        limit = threshold
        kept = 0
        found_before = found
        spent = 0
        work_before = work
        for m in sizes:
            removal = keep > 0 and m > k
            if mates > m or (removal and mates == 1 and dual[root] < 0):
                continue
            r = m - 1
            shrink = (m - 1) / m
            root_reach = np.sqrt(max(dual[root], 0.0))

            # Candidates by the static bound: neighbour sums over all types.
            number = 0
            start_base = -dual[root] - count_dual
            if use_matrix:
                listed = n - index
            else:
                listed = near_starts[index - first + 1] - near_starts[index - first]
            for i in range(listed):
                x = order[index + i] if use_matrix else near_types[near_starts[index - first] + i]
                if x == root:
                    if copies_of[root] < 2:
                        continue
                elif rank[x] < index or forbidden[x] == root:
                    continue
                distance = _distance(matrix, points, root, x, use_matrix)
                crowd = component_starts[component[x] + 1] - component_starts[component[x]]
                if component[x] != own and crowd > r:
                    continue
                if removal and crowd == 1:
                    if dual[x] < 0:
                        continue
                    if mates == 1:
                        reach = root_reach + np.sqrt(dual[x])
                        if distance > shrink * reach * reach * (1 + 1e-12):
                            continue
                raw[number] = x
                raw_bound[number] = distance / m - dual[x] + 0.5 * near[x, m - 2] / m
                number += 1
            # The r−1 least, copies counted; `raw` indexes copies_of directly but for the root.
            filled = 0
            wanted = r - 1
            available = 0
            for i in range(number):
                x = raw[i]
                times = copies_of[x] - 1 if x == root else copies_of[x]
                available += times
                value = raw_bound[i]
                for _ in range(min(times, wanted)):
                    if filled < wanted:
                        slot = filled
                        filled += 1
                    elif value < heap[wanted - 1]:
                        slot = wanted - 1
                    else:
                        break
                    while slot > 0 and heap[slot - 1] > value:
                        heap[slot] = heap[slot - 1]
                        slot -= 1
                    heap[slot] = value
            if available < r:
                continue
            head = start_base
            for i in range(wanted):
                head += heap[i]
            survivors = 0
            for i in range(number):
                if head + raw_bound[i] < limit:
                    raw[survivors] = raw[i]
                    raw_bound[survivors] = raw_bound[i]
                    survivors += 1
            if survivors > paired and m > 2:
                work += listed + _SCAN * survivors
                survivors = _filter_pairs(
                    matrix,
                    points,
                    use_matrix,
                    root,
                    raw,
                    raw_bound,
                    survivors,
                    copies_of,
                    dual,
                    near,
                    m,
                    start_base,
                    limit,
                    heap,
                )
            if survivors == 0:
                continue
            if most_candidates > 0 and survivors > most_candidates:
                capped = True
                nearest = np.argsort(raw_bound[:survivors])[:most_candidates]
                nearest.sort()
                for i in range(most_candidates):
                    raw[i] = raw[nearest[i]]
                survivors = most_candidates

            if keep == 0 and survivors > _MOST:
                capped = True
                break
            work += listed + survivors * survivors
            if work - work_before >= root_work:  # their distances alone take too long
                break
            # Their own little distance matrix, in units of 1/m.
            if survivors > room:
                room = max(survivors, 2 * room)
                local = np.empty((room, room))
                sums = np.empty((room, largest))
                who = np.empty((largest, room), dtype=np.int32)
                score = np.empty((largest, room))
                bound = np.empty((largest, room))
                share = np.empty(room)
                copies = np.empty(room, dtype=np.int64)
            for i in range(survivors):
                x = raw[i]
                place[x] = i
                copies[i] = copies_of[x] - 1 if x == root else copies_of[x]
                share[i] = 0.0
                who[0, i] = i
                score[0, i] = _distance(matrix, points, root, x, use_matrix) / m - dual[x]
                local[i, i] = 0.0
                for j in range(i):
                    local[i, j] = _distance(matrix, points, x, raw[j], use_matrix) / m
                    local[j, i] = local[i, j]
            if removal:
                for i in range(survivors):
                    x = raw[i]
                    if component_starts[component[x] + 1] - component_starts[component[x]] > 1:
                        continue
                    for j in range(i):
                        y = raw[j]
                        if component_starts[component[y] + 1] - component_starts[component[y]] > 1:
                            continue
                        reach = np.sqrt(dual[x]) + np.sqrt(dual[y])
                        if local[i, j] * m > shrink * reach * reach * (1 + 1e-12):
                            local[i, j] = HUGE
                            local[j, i] = HUGE
            for i in range(survivors):
                x = raw[i]
                for e in range(apart_starts[x], apart_starts[x + 1]):
                    j = place[apart[e]]
                    if j >= 0:
                        local[i, j] = HUGE
                        local[j, i] = HUGE
            start_base += _enter(
                root,
                cut_starts,
                cut_members,
                divisors,
                penalties,
                type_starts,
                type_cuts,
                held,
                place,
                share,
            )
            taken[own] += 1

            # Refine the neighbour sums among survivors and filter again.
            alive = survivors
            for _ in range(3):
                _neighbour_sums(local, copies, who[0], alive, m - 2, sums, heap)
                for i in range(alive):
                    x = who[0, i]
                    bound[0, i] = score[0, i] + share[x] + sums[x, m - 2]
                head = start_base + _least_sum(bound[0], who[0], copies, alive, r - 1, heap)
                before = alive
                alive = 0
                for i in range(before):
                    if head + bound[0, i] < limit:
                        who[0, alive] = who[0, i]
                        score[0, alive] = score[0, i]
                        bound[0, alive] = bound[0, i]
                        alive += 1
                if alive == before or alive > _REFILTER or alive == 0:
                    break
            _sort_by_bound(bound[0], score[0], who[0], alive)

            depth = 0
            length[0] = alive
            position[0] = 0
            base[0] = start_base
            chosen[0] = -1
            forced[0] = False
            if alive > 0 and taken[own] < mates:
                forced[0] = True
                if not _mate_first(
                    own,
                    component_starts,
                    component_members,
                    place,
                    copies,
                    who[0],
                    score[0],
                    bound[0],
                    alive,
                ):
                    length[0] = 0
            while depth >= 0:
                r = m - 1 - depth
                if chosen[depth] >= 0:
                    y = chosen[depth]
                    chosen[depth] = -1
                    copies[y] += 1
                    taken[component[raw[y]]] -= 1
                    _leave(
                        raw[y],
                        cut_starts,
                        cut_members,
                        divisors,
                        penalties,
                        type_starts,
                        type_cuts,
                        held,
                        place,
                        share,
                    )
                p = position[depth]
                stop = p >= length[depth] or (forced[depth] and p > 0)
                if not stop and not forced[depth]:
                    total = base[depth]
                    missing = r
                    i = p
                    while missing > 0 and i < length[depth]:
                        times = min(copies[who[depth, i]], missing)
                        total += times * bound[depth, i]
                        missing -= times
                        i += 1
                    stop = missing > 0 or total >= limit
                if (
                    stop
                    or (most_nodes > 0 and spent >= most_nodes)
                    or work - work_before >= root_work
                ):
                    if not stop:
                        capped = capped or (most_nodes > 0 and spent >= most_nodes)
                    depth -= 1
                    continue
                position[depth] = p + 1
                y = who[depth, p]
                y_type = raw[y]
                group = component[y_type]
                crowd = component_starts[group + 1] - component_starts[group]
                if copies[y] == 0 or crowd - taken[group] > r:
                    continue
                spent += 1
                work += length[depth] - p
                new_base = base[depth] + score[depth, p]
                if r == 1:
                    new_base += due(y_type, divisors, penalties, type_starts, type_cuts, held)
                    if new_base >= limit:
                        continue
                    z = -1
                else:
                    new_base += _enter(
                        y_type,
                        cut_starts,
                        cut_members,
                        divisors,
                        penalties,
                        type_starts,
                        type_cuts,
                        held,
                        place,
                        share,
                    )
                    chosen[depth] = y
                    copies[y] -= 1
                    taken[group] += 1
                begin = p if copies[y] > 0 and r > 1 else p + 1
                wants_mate = r > 1 and taken[group] < crowd

                if r > 2:
                    following = 0
                    row = local[y]
                    for i in range(begin, length[depth]):
                        z = who[depth, i]
                        if copies[z] == 0 or row[z] >= HUGE:
                            continue
                        if not whole_components:
                            other = component[raw[z]]
                            more = component_starts[other + 1] - component_starts[other]
                            if more - taken[other] > r - 1:
                                continue
                        child = score[depth, i] + row[z]
                        who[depth + 1, following] = z
                        score[depth + 1, following] = child
                        bound[depth + 1, following] = child + share[z] + sums[z, r - 2]
                        following += 1
                    head = new_base + _least_sum(
                        bound[depth + 1], who[depth + 1], copies, following, r - 2, heap
                    )
                    alive = 0
                    for i in range(following):
                        if head + bound[depth + 1, i] < limit:
                            who[depth + 1, alive] = who[depth + 1, i]
                            score[depth + 1, alive] = score[depth + 1, i]
                            bound[depth + 1, alive] = bound[depth + 1, i]
                            alive += 1
                    if alive == 0:
                        continue
                    _sort_by_bound(bound[depth + 1], score[depth + 1], who[depth + 1], alive)
                    forced[depth + 1] = wants_mate
                    if wants_mate and not _mate_first(
                        group,
                        component_starts,
                        component_members,
                        place,
                        copies,
                        who[depth + 1],
                        score[depth + 1],
                        bound[depth + 1],
                        alive,
                    ):
                        continue
                    depth += 1
                    length[depth] = alive
                    position[depth] = 0
                    base[depth] = new_base
                    chosen[depth] = -1
                    continue

                # r is 1 or 2: complete the cluster at once, with exact penalties.
                end = begin + 1 if r == 1 else length[depth]
                for i in range(begin, end):
                    value = new_base
                    if r == 2:
                        z = who[depth, i]
                        value += score[depth, i] + local[y, z]
                        if value >= limit or copies[z] == 0:
                            continue
                        other = component[raw[z]]
                        if wants_mate:
                            if other != group or taken[group] + 1 < crowd:
                                continue
                        elif component_starts[other + 1] - component_starts[other] > 1:
                            continue
                        value += due(raw[z], divisors, penalties, type_starts, type_cuts, held)
                        if value >= limit:
                            continue
                    candidate_row[:] = -1
                    candidate_row[0] = root
                    for t in range(depth):
                        candidate_row[t + 1] = raw[chosen[t]]
                    candidate_row[depth + 1] = y_type
                    if r == 2:
                        candidate_row[depth + 2] = raw[z]
                    if keep == 0:
                        if found == capacity:
                            capacity *= 2
                            out = _grown(out, capacity)
                            grown = np.zeros(capacity, dtype=np.int64)
                            grown[:found] = out_size
                            out_size = grown
                            costs = np.zeros(capacity)
                            costs[:found] = out_cost
                            out_cost = costs
                        out[found] = candidate_row
                        out_size[found] = m
                        out_cost[found] = value
                        found += 1
                        if most_columns > 0 and found >= most_columns:
                            work = work_before + root_work
                            capped = True
                            break
                    else:
                        slot = min(kept, keep - 1)
                        while slot > 0 and best_cost[slot - 1] > value:
                            best[slot] = best[slot - 1]
                            best_size[slot] = best_size[slot - 1]
                            best_cost[slot] = best_cost[slot - 1]
                            slot -= 1
                        best[slot] = candidate_row
                        best_size[slot] = m
                        best_cost[slot] = value
                        kept = min(kept + 1, keep)
                        if kept == keep:
                            limit = min(limit, best_cost[keep - 1])

            _leave(
                root,
                cut_starts,
                cut_members,
                divisors,
                penalties,
                type_starts,
                type_cuts,
                held,
                place,
                share,
            )
            taken[own] -= 1
            for i in range(survivors):
                place[raw[i]] = -1
            if most_nodes > 0 and spent >= most_nodes:
                capped = True  # further sizes may be left out
                break
            if work - work_before >= root_work:
                break

        nodes += spent
        if most_columns > 0 and found >= most_columns:
            return index, False, True, nodes, found, out, out_size, out_cost
        if work - work_before >= root_work and not (most_nodes > 0 and spent >= most_nodes):
            return index, True, capped, nodes, found_before, out, out_size, out_cost
        least_of_root[root] = threshold
        if kept > 0:
            least_of_root[root] = min(threshold, best_cost[0])
        while found + kept > capacity:
            capacity *= 2
            out = _grown(out, capacity)
            grown = np.zeros(capacity, dtype=np.int64)
            grown[:found] = out_size[:found]
            out_size = grown
            costs = np.zeros(capacity)
            costs[:found] = out_cost[:found]
            out_cost = costs
        for i in range(kept):
            out[found] = best[i]
            out_size[found] = best_size[i]
            out_cost[found] = best_cost[i]
            found += 1
    return last, False, capped, nodes, found, out, out_size, out_cost


@inner
def _grown(out: NDArray[np.int32], capacity: int) -> NDArray[np.int32]:
    wider = np.full((capacity, out.shape[1]), -1, dtype=np.int32)
    wider[: len(out)] = out
    return wider


@inner
def _mate_first(
    group: int,
    component_starts: Ints,
    component_members: Ints,
    place: Ints,
    copies: Ints,
    who: NDArray[np.int32],
    score: Floats,
    bound: Floats,
    length: int,
) -> bool:
    """Put a missing mate of a begun component in front; False if one is no candidate."""
    for e in range(component_starts[group], component_starts[group + 1]):
        z = place[component_members[e]]
        if z < 0 or copies[z] == 0:
            continue
        for i in range(length):
            if who[i] == z:
                w, s, b = who[i], score[i], bound[i]
                while i > 0:
                    who[i], score[i], bound[i] = who[i - 1], score[i - 1], bound[i - 1]
                    i -= 1
                who[0], score[0], bound[0] = w, s, b
                return True
    return False
