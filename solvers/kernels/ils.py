"""Iterated local search on a partition into clusters of k … 2k−1 units, for any cluster cost.

An iteration changes the partition around one unit (creates, dissolves or redistributes clusters),
descends by relocations and swaps from what was touched, and keeps the result if it is better, or
worse by no more than chance and temperature allow. Otherwise the journal, which saved every cluster
before its first change, puts everything back. So an iteration costs what it touches, whatever the
number of units.

Work is counted in priced changes. A burst ends after an amount of it, not after some time, and
therefore at the same iteration in every run.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from kanopy.solvers.kernels.ils_costs import (
    SSE,
    State,
    Table,
    apart,
    join,
    leave,
    probe,
    refresh,
)

IN_USE, HEAD, WAITING, SAVED, STAMP, MARK, WORK, ITERATION, HOMELESS, ACCEPTED = range(10)
"""Where ``State.counters`` keeps the number of clusters in use, the queue, the journal's length,
the last iteration and probe, the work so far, the iterations and the units without a cluster."""

CREATE, DISSOLVE, SWAP, RESPLIT = range(4)

_GAIN = 1e-10  # relative to the cost per unit: less than this is rounding
@njit(cache=True, forceinline=True)
def _next(random: NDArray[np.uint64]) -> np.uint64:
    """Marsaglia's xorshift, 64 bits."""
    x = random[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    random[0] = x
    return x


@njit(cache=True, forceinline=True)
def below(random: NDArray[np.uint64], limit: int) -> int:
    """A random number among 0 … limit − 1."""
    return np.int64(((_next(random) >> np.uint64(32)) * np.uint64(limit)) >> np.uint64(32))


@njit(cache=True, forceinline=True)
def _save(state: State, c: int) -> None:
    """Put cluster c into the journal unless this iteration has done so."""
    counters = state.counters
    if state.stamp[c] == counters[STAMP]:
        return
    state.stamp[c] = counters[STAMP]
    j = counters[SAVED]
    counters[SAVED] = j + 1
    size = state.size[c]
    state.saved[j] = c
    state.saved_size[j] = size
    state.saved_price[j] = state.price[c]
    for q in range(size):
        state.saved_members[j, q] = state.members[c, q]
    for t in range(state.center.shape[1]):
        state.saved_center[j, t] = state.center[c, t]


@njit(cache=True, forceinline=True)
def _remove(state: State, u: int) -> None:
    c = state.label[u]
    last = state.size[c] - 1
    hole = state.place[u]
    moved = state.members[c, last]
    state.members[c, hole] = moved
    state.place[moved] = hole
    state.size[c] = last
    state.label[u] = -1


@njit(cache=True, forceinline=True)
def _insert(state: State, u: int, c: int) -> None:
    size = state.size[c]
    state.members[c, size] = u
    state.place[u] = size
    state.size[c] = size + 1
    state.label[u] = c


@njit(cache=True, forceinline=True)
def _put(state: State, c: int, position: int) -> None:
    """Exchange cluster number c with the one at a position of ``order``."""
    other = state.order[position]
    old = state.rank[c]
    state.order[old] = other
    state.rank[other] = old
    state.order[position] = c
    state.rank[c] = position


@njit(cache=True, forceinline=True)
def _open(state: State, c: int) -> None:
    _put(state, c, state.counters[IN_USE])
    state.counters[IN_USE] += 1


@njit(cache=True, forceinline=True)
def _close(state: State, c: int) -> None:
    state.counters[IN_USE] -= 1
    _put(state, c, state.counters[IN_USE])


@njit(cache=True)
def _undo(state: State) -> None:
    """Put every cluster of the journal back."""
    for j in range(state.counters[SAVED]):
        c = state.saved[j]
        size = state.saved_size[j]
        if size > 0 and state.rank[c] >= state.counters[IN_USE]:
            _open(state, c)
        elif size == 0 and state.rank[c] < state.counters[IN_USE]:
            _close(state, c)
        state.size[c] = size
        state.price[c] = state.saved_price[j]
        for q in range(size):
            u = state.saved_members[j, q]
            state.members[c, q] = u
            state.place[u] = q
            state.label[u] = c
        for t in range(state.center.shape[1]):
            state.center[c, t] = state.saved_center[j, t]


@njit(cache=True, forceinline=True)
def _enqueue(state: State, c: int) -> None:
    """Have all members of a cluster looked at."""
    counters = state.counters
    capacity = state.queue.shape[0]
    for q in range(state.size[c]):
        u = state.members[c, q]
        if not state.queued[u]:
            state.queued[u] = True
            end = counters[HEAD] + counters[WAITING]
            state.queue[end if end < capacity else end - capacity] = u
            counters[WAITING] += 1


@njit(cache=True)
def _empty(state: State, c: int) -> None:
    """Make all members of cluster c homeless, and give up its number."""
    _save(state, c)
    for q in range(state.size[c]):
        u = state.members[c, q]
        state.label[u] = -1
        state.homeless[state.counters[HOMELESS]] = u
        state.counters[HOMELESS] += 1
    state.size[c] = 0
    state.price[c] = 0.0
    _close(state, c)


@njit(cache=True)
def _rehouse(table: Table, state: State) -> bool:
    """Give each homeless unit, in random order, the cheapest cluster near it that has room."""
    counters = state.counters
    count = counters[HOMELESS]
    counters[HOMELESS] = 0
    for i in range(count):
        pick = i + below(state.random, count - i)
        u = state.homeless[pick]
        state.homeless[pick] = state.homeless[i]
        least = np.inf
        home = -1
        for q in range(table.neighbours.shape[1]):
            c = state.label[table.neighbours[u, q]]
            if c >= 0 and c != home and state.size[c] < 2 * table.k - 1:
                counters[WORK] += 1
                rise = join(table, state, u, c)
                if rise < least:
                    least = rise
                    home = c
        if home < 0:
            return False
        _save(state, home)
        _insert(state, u, home)
        refresh(table, state, home)
    return True


@njit(cache=True)
def _create(table: Table, state: State, u: int) -> bool:
    """A new cluster of u and units near it; clusters left with fewer than k are dissolved."""
    k = table.k
    counters = state.counters
    if counters[IN_USE] == state.size.shape[0]:
        return False
    c = state.order[counters[IN_USE]]
    _save(state, c)
    _open(state, c)
    first = counters[SAVED]
    _save(state, state.label[u])
    _remove(state, u)
    _insert(state, u, c)
    degree = table.neighbours.shape[1]
    source = 0
    while state.size[c] < k:
        if source == state.size[c]:
            return False
        center = state.members[c, source]
        for q in range(degree):
            v = table.neighbours[center, q]
            if state.label[v] == c or below(state.random, 4) == 0:
                continue
            _save(state, state.label[v])
            _remove(state, v)
            _insert(state, v, c)
            if state.size[c] == k:
                break
        source += 1
    refresh(table, state, c)
    for j in range(first, counters[SAVED]):
        donor = state.saved[j]
        if donor == c:
            continue
        if state.size[donor] < k:
            _empty(state, donor)
        else:
            refresh(table, state, donor)
    return True


@njit(cache=True, forceinline=True)
def _swap_some(table: Table, state: State, u: int) -> bool:
    """Two random swaps near u."""
    degree = table.neighbours.shape[1]
    for _ in range(2):
        a = state.label[u]
        b = state.label[table.neighbours[u, below(state.random, degree)]]
        if a != b:
            w = state.members[b, below(state.random, state.size[b])]
            _exchange(table, state, u, w)
        u = table.neighbours[u, below(state.random, degree)]
    return True


@njit(cache=True, forceinline=True)
def _exchange(table: Table, state: State, u: int, w: int) -> None:
    a, b = state.label[u], state.label[w]
    _save(state, a)
    _save(state, b)
    p, q = state.place[u], state.place[w]
    state.members[a, p] = w
    state.place[w] = p
    state.label[w] = a
    state.members[b, q] = u
    state.place[u] = q
    state.label[u] = b
    refresh(table, state, a)
    refresh(table, state, b)


@njit(cache=True)
def _resplit(table: Table, state: State, u: int) -> bool:
    """Merge u's cluster with one nearby and split: a random unit and those near it, the rest."""
    degree = table.neighbours.shape[1]
    a = state.label[u]
    b = state.label[table.neighbours[u, below(state.random, degree)]]
    if a == b:
        return False
    _save(state, a)
    _save(state, b)
    count = 0
    for c in (a, b):
        for q in range(state.size[c]):
            state.homeless[count] = state.members[c, q]
            count += 1
        state.size[c] = 0
    seed = state.homeless[below(state.random, count)]
    part = max(table.k, count - 2 * table.k + 1)
    state.counters[WORK] += part * count // 2
    for i in range(part):
        least = np.inf
        nearest = i
        for p in range(i, count):
            gap = apart(table, seed, state.homeless[p])
            if gap < least:
                least = gap
                nearest = p
        v = state.homeless[nearest]
        state.homeless[nearest] = state.homeless[i]
        _insert(state, v, a)
    for i in range(part, count):
        _insert(state, state.homeless[i], b)
    refresh(table, state, a)
    refresh(table, state, b)
    return True


@njit(cache=True)
def _perturb(table: Table, state: State, u: int, move: int) -> bool:
    if move == CREATE:
        return _create(table, state, u) and _rehouse(table, state)
    if move == DISSOLVE:
        if state.counters[IN_USE] == 1:
            return False
        _empty(state, state.label[u])
        return _rehouse(table, state)
    if move == SWAP:
        return _swap_some(table, state, u)
    return _resplit(table, state, u)


@njit(cache=True)
def descend(table: Table, state: State, least_gain: float, limit: int) -> None:
    """Relocate and swap the units in the queue while that helps, up to a limit of work."""
    counters = state.counters
    k = table.k
    degree = table.neighbours.shape[1]
    capacity = state.queue.shape[0]
    while counters[WAITING] > 0 and counters[WORK] < limit:
        u = state.queue[counters[HEAD]]
        counters[HEAD] += 1
        if counters[HEAD] == capacity:
            counters[HEAD] = 0
        counters[WAITING] -= 1
        state.queued[u] = False
        a = state.label[u]
        counters[MARK] += 1
        probed = counters[MARK]
        state.mark[a] = probed
        left = leave(table, state, u)
        may_leave = state.size[a] > k
        best = -least_gain
        target = -1
        partner = -1
        for q in range(degree):
            b = state.label[table.neighbours[u, q]]
            if state.mark[b] == probed:
                continue
            state.mark[b] = probed
            joined, swapped, w = probe(table, state, u, left, b)
            counters[WORK] += state.size[b] + 1
            if swapped < best:
                best = swapped
                target = b
                partner = w
            if may_leave and state.size[b] < 2 * k - 1 and joined - left < best:
                best = joined - left
                target = b
                partner = -1
        if target >= 0:
            if partner >= 0:
                _exchange(table, state, u, partner)
            else:
                _save(state, a)
                _save(state, target)
                _remove(state, u)
                _insert(state, u, target)
                refresh(table, state, a)
                refresh(table, state, target)
            _enqueue(state, a)
            _enqueue(state, target)


@njit(cache=True)
def iterate(
    table: Table, state: State, hot: float, cold: float, start: int, end: int, limit: int
) -> None:
    """Iterations up to number ``end``, or a limit of work.

    The temperature falls geometrically from ``hot`` at iteration ``start`` to ``cold`` at ``end``.
    A change that raises the cost by δ is kept with probability exp(−δ/(temperature · s)), s being
    the mean cost of the clusters it touched.
    """
    counters = state.counters
    n = state.label.shape[0]
    end_of_work = counters[WORK] + limit
    while counters[ITERATION] < end and counters[WORK] < end_of_work:
        share = (counters[ITERATION] - start) / (end - start)
        temperature = hot * (cold / hot) ** share if hot > 0.0 else 0.0
        counters[ITERATION] += 1
        counters[STAMP] += 1
        counters[SAVED] = 0
        counters[HOMELESS] = 0
        counters[WORK] += 1
        u = below(state.random, n)
        move = below(state.random, 4)
        fine = _perturb(table, state, u, move)
        if fine:
            before = 0.0
            for j in range(counters[SAVED]):
                before += state.saved_price[j]
                _enqueue(state, state.saved[j])
            descend(table, state, 1e-9 * before, np.int64(2) ** 62)
            change = before = 0.0
            for j in range(counters[SAVED]):
                before += state.saved_price[j]
                change += state.price[state.saved[j]] - state.saved_price[j]
            allowed = 0.0
            if counters[SAVED] > 0:
                chance = (below(state.random, 1 << 30) + 0.5) / (1 << 30)
                allowed = -np.log(chance) * temperature * before / counters[SAVED]
            fine = change <= allowed
        if fine:
            counters[ACCEPTED] += 1
        else:
            _undo(state)


@njit(cache=True)
def load(table: Table, state: State, labels: NDArray[np.int64]) -> None:
    """Start from a partition whose clusters have at most 2k − 1 units."""
    clusters = state.size.shape[0]
    counters = state.counters
    state.size[:] = 0
    for u in range(labels.shape[0]):
        _insert(state, u, labels[u])
    used = 0
    free = clusters
    for c in range(clusters):
        if state.size[c] > 0:
            state.order[used] = c
            state.rank[c] = used
            used += 1
        else:
            free -= 1
            state.order[free] = c
            state.rank[c] = free
        refresh(table, state, c)
    counters[IN_USE] = used
    counters[SAVED] = 0
    counters[STAMP] += 1
    counters[HEAD] = counters[WAITING] = 0
    state.queued[:] = False


@njit(cache=True)
def enqueue_all(state: State) -> None:
    """Have every unit looked at; what follows is not journalled."""
    for i in range(state.counters[IN_USE]):
        c = state.order[i]
        state.stamp[c] = state.counters[STAMP]
        _enqueue(state, c)


def new_state(table: Table, seed: int) -> State:
    """An empty state for a table."""
    n = len(table.neighbours)
    clusters = max(1, n // table.k)
    width = 2 * table.k - 1
    columns = table.points.shape[1] if table.cost == SSE else 0
    whole = np.zeros(clusters, dtype=np.int32)
    spread = np.random.SeedSequence(seed).generate_state(1, np.uint64)
    return State(
        label=np.full(n, -1, dtype=np.int32),
        place=np.zeros(n, dtype=np.int32),
        members=np.zeros((clusters, width), dtype=np.int32),
        size=whole.copy(),
        price=np.zeros(clusters),
        center=np.zeros((clusters, columns)),
        order=whole.copy(),
        rank=whole.copy(),
        stamp=np.zeros(clusters, dtype=np.int64),
        saved=whole.copy(),
        saved_size=whole.copy(),
        saved_members=np.zeros((clusters, width), dtype=np.int32),
        saved_price=np.zeros(clusters),
        saved_center=np.zeros((clusters, columns)),
        queue=np.zeros(n, dtype=np.int32),
        queued=np.zeros(n, dtype=np.bool_),
        mark=np.zeros(clusters, dtype=np.int64),
        homeless=np.zeros(n, dtype=np.int32),
        random=spread | np.uint64(1),
        counters=np.zeros(10, dtype=np.int64),
    )
