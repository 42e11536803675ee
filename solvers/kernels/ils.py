"""Iterated local search on a partition into clusters of k … 2k−1 units, for any cluster cost.

An iteration changes the partition around one unit (creates, dissolves or redistributes clusters),
descends by relocations and swaps from what was touched, and keeps the result if it is better, or
worse by no more than chance and temperature allow. Otherwise the journal, which saved every cluster
before its first change, puts everything back. So an iteration costs what it touches, whatever the
number of units.

Work is counted in priced changes. A burst ends after an amount of it, not after some time, and
therefore at the same iteration in every run.
"""

# Compiled functions carry no annotations: numba infers their types.
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kanopy.solvers.kernels.ils_costs import (
    FIRST,
    MARK,
    NONE,
    PRICE,
    RANK,
    SIZE,
    STAMP,
    SquaredErrors,
    Table,
    apart,
    join,
    leave,
    probe,
    refresh,
)
from kanopy.solvers.kernels.inner import inner, kernel

LABEL, PLACE, QUEUED = range(3)
"""Columns of ``State.units``: a unit's cluster (−1 for none), the column of its cluster that holds
it, and whether it waits in the queue."""

QUEUE, HOMELESS, ORDER = range(3)
"""Rows of ``State.lists``: units to be looked at (a ring), units without a cluster, and all cluster
numbers, those in use first."""

K, IN_USE, HEAD, WAITING, UNHOUSED, SAVED, ITERATION, PROBES, WORK, KEPT, RANDOM = range(11)
"""Entries of ``State.counters``: k, the clusters in use, first and number of the units waiting in
the queue, number of units without a cluster, length of the journal, iterations, probes, work done,
iterations kept, and the state of the random numbers."""

PATIENCE = 10_000
"""Work that a descent may take, times k²: a hundred times what most need."""

DRAWS = 14
"""Numbers drawn for the kind of a change: one dissolves, one rebuilds, four each create, swap and
redivide."""

REGION = 3
"""Clusters of a region to be rebuilt, and up to two more."""

TABLE = 1 << 20
"""Entries of a pool's table; half of them are used at most."""


class State(NamedTuple):
    """A partition under change, and the journal by which changes are taken back."""

    neighbours: NDArray[np.int64]
    """For each unit some others, the nearest first."""
    units: NDArray[np.int64]
    lists: NDArray[np.int64]
    clusters: NDArray[np.int64]
    values: NDArray[np.float64]
    saved: NDArray[np.int64]
    """Journal: rows of ``clusters``, with the cluster's number in place of its rank."""
    saved_values: NDArray[np.float64]
    counters: NDArray[np.int64]


class Pool(NamedTuple):
    """Clusters collected for a restricted master; see :mod:`kanopy.solvers.heuristics.seen`."""

    duals: NDArray[np.float64]
    """Of each unit; a cluster's reduced cost is its cost less the duals of its members."""
    keys: NDArray[np.int64]
    """A random number for each unit: their sum tells clusters apart."""
    known: NDArray[np.int64]
    """Table of the sums seen, a power of two in length."""
    clusters: NDArray[np.int32]
    """Members, padded by −1."""
    prices: NDArray[np.float64]
    counts: NDArray[np.int64]
    """Number of clusters in the pool, and of sums in the table."""


@inner
def below(counters, limit):
    """A random number among 0 … limit − 1, by Marsaglia's xorshift."""
    x = np.uint64(counters[RANDOM])
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    counters[RANDOM] = np.int64(x)
    return np.int64(((x >> np.uint64(32)) * np.uint64(limit)) >> np.uint64(32))


@inner
def _save(state, c):
    """Put cluster c into the journal unless this iteration has done so."""
    clusters, counters = state.clusters, state.counters
    if clusters[c, STAMP] == counters[ITERATION]:
        return
    clusters[c, STAMP] = counters[ITERATION]
    entry = counters[SAVED]
    counters[SAVED] = entry + 1
    saved = state.saved
    saved[entry, RANK] = c
    size = clusters[c, SIZE]
    saved[entry, SIZE] = size
    for q in range(FIRST, FIRST + size):
        saved[entry, q] = clusters[c, q]
    for t in range(state.values.shape[1]):
        state.saved_values[entry, t] = state.values[c, t]


@inner
def _undo(state):
    """Put every cluster of the journal back."""
    clusters, units, saved = state.clusters, state.units, state.saved
    for entry in range(state.counters[SAVED]):
        c = saved[entry, RANK]
        size = saved[entry, SIZE]
        in_use = clusters[c, RANK] < state.counters[IN_USE]
        if size > 0 and not in_use:
            _open(state, c)
        elif size == 0 and in_use:
            _close(state, c)
        clusters[c, SIZE] = size
        for q in range(FIRST, FIRST + size):
            u = saved[entry, q]
            clusters[c, q] = u
            units[u, PLACE] = q
            units[u, LABEL] = c
        for t in range(state.values.shape[1]):
            state.values[c, t] = state.saved_values[entry, t]


@inner
def _remove(clusters, units, u):
    c = units[u, LABEL]
    last = FIRST + clusters[c, SIZE] - 1
    hole = units[u, PLACE]
    moved = clusters[c, last]
    clusters[c, hole] = moved
    units[moved, PLACE] = hole
    clusters[c, SIZE] -= 1
    units[u, LABEL] = NONE


@inner
def _insert(clusters, units, u, c):
    end = FIRST + clusters[c, SIZE]
    clusters[c, end] = u
    units[u, PLACE] = end
    clusters[c, SIZE] += 1
    units[u, LABEL] = c


@inner
def _place(state, c, position):
    """Exchange cluster number c with the one at a position of the order."""
    order, clusters = state.lists[ORDER], state.clusters
    other = order[position]
    old = clusters[c, RANK]
    order[old] = other
    clusters[other, RANK] = old
    order[position] = c
    clusters[c, RANK] = position


@inner
def _open(state, c):
    _place(state, c, state.counters[IN_USE])
    state.counters[IN_USE] += 1


@inner
def _close(state, c):
    state.counters[IN_USE] -= 1
    _place(state, c, state.counters[IN_USE])


@inner
def _enqueue(clusters, units, queue, counters, c):
    """Have all members of a cluster looked at."""
    for q in range(FIRST, FIRST + clusters[c, SIZE]):
        u = clusters[c, q]
        if units[u, QUEUED] == 0:
            units[u, QUEUED] = 1
            end = counters[HEAD] + counters[WAITING]
            queue[end if end < queue.shape[0] else end - queue.shape[0]] = u
            counters[WAITING] += 1


@inner
def _exchange(table, state, u, w):
    """Swap two units of different clusters."""
    clusters, units = state.clusters, state.units
    a, b = units[u, LABEL], units[w, LABEL]
    _save(state, a)
    _save(state, b)
    p, q = units[u, PLACE], units[w, PLACE]
    clusters[a, p] = w
    units[w, PLACE] = p
    units[w, LABEL] = a
    clusters[b, q] = u
    units[u, PLACE] = q
    units[u, LABEL] = b
    refresh(table, clusters, state.values, a)
    refresh(table, clusters, state.values, b)


@inner
def _relocate(table, state, u, b):
    a = state.units[u, LABEL]
    _save(state, a)
    _save(state, b)
    _remove(state.clusters, state.units, u)
    _insert(state.clusters, state.units, u, b)
    refresh(table, state.clusters, state.values, a)
    refresh(table, state.clusters, state.values, b)


@inner
def _empty(state, c):
    """Make all members of cluster c homeless, and give up its number."""
    clusters, counters = state.clusters, state.counters
    _save(state, c)
    for q in range(FIRST, FIRST + clusters[c, SIZE]):
        u = clusters[c, q]
        state.units[u, LABEL] = NONE
        state.lists[HOMELESS, counters[UNHOUSED]] = u
        counters[UNHOUSED] += 1
    clusters[c, SIZE] = 0
    state.values[c, PRICE] = 0.0
    _close(state, c)


@inner
def _rehouse(table, state):
    """Give each homeless unit, in random order, the cheapest cluster near it that has room."""
    clusters, units, counters = state.clusters, state.units, state.counters
    homeless = state.lists[HOMELESS]
    count = counters[UNHOUSED]
    counters[UNHOUSED] = 0
    for i in range(count):
        pick = i + below(counters, count - i)
        u = homeless[pick]
        homeless[pick] = homeless[i]
        least = np.inf
        home = NONE
        for q in range(state.neighbours.shape[1]):
            c = units[state.neighbours[u, q], LABEL]
            if c >= 0 and c != home and clusters[c, SIZE] < 2 * counters[K] - 1:
                counters[WORK] += 1
                rise = join(table, clusters, state.values, u, c)
                if rise < least:
                    least = rise
                    home = c
        if home < 0:
            return False
        _save(state, home)
        _insert(clusters, units, u, home)
        refresh(table, clusters, state.values, home)
    return True


@inner
def _create(table, state, u):
    """A new cluster of u and units near it; clusters left with fewer than k are dissolved."""
    clusters, units, counters = state.clusters, state.units, state.counters
    k = counters[K]
    if counters[IN_USE] == clusters.shape[0]:
        return False
    c = state.lists[ORDER, counters[IN_USE]]
    _save(state, c)
    _open(state, c)
    _save(state, units[u, LABEL])
    _remove(clusters, units, u)
    _insert(clusters, units, u, c)
    source = 0
    while clusters[c, SIZE] < k:
        if source == clusters[c, SIZE]:
            return False
        center = clusters[c, FIRST + source]
        for q in range(state.neighbours.shape[1]):
            v = state.neighbours[center, q]
            if units[v, LABEL] == c or below(counters, 4) == 0:
                continue
            _save(state, units[v, LABEL])
            _remove(clusters, units, v)
            _insert(clusters, units, v, c)
            if clusters[c, SIZE] == k:
                break
        source += 1
    for entry in range(counters[SAVED]):
        donor = state.saved[entry, RANK]
        if clusters[donor, SIZE] < k:
            if clusters[donor, RANK] < counters[IN_USE]:
                _empty(state, donor)
        else:
            refresh(table, clusters, state.values, donor)
    return True


@inner
def _swap_some(table, state, u):
    """Two random swaps near u."""
    units, neighbours = state.units, state.neighbours
    degree = neighbours.shape[1]
    for _ in range(2):
        b = units[neighbours[u, below(state.counters, degree)], LABEL]
        if units[u, LABEL] != b:
            q = FIRST + below(state.counters, state.clusters[b, SIZE])
            _exchange(table, state, u, state.clusters[b, q])
        u = neighbours[u, below(state.counters, degree)]
    return True


@inner
def _nearest_first(table, homeless, begin, end, center, wanted):
    """Put the units nearest to one of homeless[begin:end], itself first, at the beginning."""
    for i in range(begin, begin + wanted):
        least = np.inf
        nearest = i
        for p in range(i, end):
            gap = apart(table, center, homeless[p])
            if gap < least:
                least = gap
                nearest = p
        homeless[i], homeless[nearest] = homeless[nearest], homeless[i]


@inner
def _resplit(table, state, u):
    """Merge u's cluster with one nearby and split: a random unit and those near it, the rest."""
    clusters, units, counters = state.clusters, state.units, state.counters
    homeless = state.lists[HOMELESS]
    a = units[u, LABEL]
    b = units[state.neighbours[u, below(counters, state.neighbours.shape[1])], LABEL]
    if a == b:
        return False
    _save(state, a)
    _save(state, b)
    count = 0
    for c in (a, b):
        for q in range(FIRST, FIRST + clusters[c, SIZE]):
            homeless[count] = clusters[c, q]
            count += 1
        clusters[c, SIZE] = 0
    seed = homeless[below(counters, count)]
    part = max(counters[K], count - 2 * counters[K] + 1)
    counters[WORK] += part * count // 2
    _nearest_first(table, homeless, 0, count, seed, part)
    for i in range(count):
        _insert(clusters, units, homeless[i], a if i < part else b)
    refresh(table, clusters, state.values, a)
    refresh(table, clusters, state.values, b)
    return True


@inner
def _rebuild(table, state, u):
    """Dissolve clusters around u and build others from their borders inwards, as MDAV does.

    A group that lies apart may be cut into too few clusters; to get out of that all of them change.
    """
    clusters, units, counters = state.clusters, state.units, state.counters
    homeless, k = state.lists[HOMELESS], counters[K]
    _empty(state, units[u, LABEL])
    tries = REGION + below(counters, 3) - 1
    for _ in range(4 * tries):
        near = homeless[below(counters, counters[UNHOUSED])]
        c = units[state.neighbours[near, below(counters, state.neighbours.shape[1])], LABEL]
        if c >= 0:
            _empty(state, c)
            tries -= 1
            if tries == 0:
                break
    count = counters[UNHOUSED]
    begin = 0
    while count - begin >= k:
        counters[WORK] += (k + 1) * (count - begin) // 2
        origin = homeless[begin + below(counters, count - begin)]
        largest = -1.0
        border = origin
        for p in range(begin, count):
            gap = apart(table, origin, homeless[p])
            if gap > largest:
                largest = gap
                border = homeless[p]
        _nearest_first(table, homeless, begin, count, border, k)
        c = state.lists[ORDER, counters[IN_USE]]
        _save(state, c)
        _open(state, c)
        for p in range(begin, begin + k):
            _insert(clusters, units, homeless[p], c)
        refresh(table, clusters, state.values, c)
        begin += k
    for p in range(begin, count):
        homeless[p - begin] = homeless[p]
    counters[UNHOUSED] = count - begin
    return _rehouse(table, state)


@inner
def _perturb(table, state, u, draw):
    """One of the changes around u, by a number among 0 … ``DRAWS`` − 1.

    A dissolved cluster hardly ever pays and its rows make long descents; creation also dissolves.
    """
    if draw == DRAWS - 1:
        return _rebuild(table, state, u)
    if draw == 0:
        if state.counters[IN_USE] == 1:
            return False
        _empty(state, state.units[u, LABEL])
        return _rehouse(table, state)
    if draw % 3 == 0:
        return _create(table, state, u) and _rehouse(table, state)
    if draw % 3 == 1:
        return _swap_some(table, state, u)
    return _resplit(table, state, u)


@inner
def descend(table, state, least_gain, limit):
    """Relocate and swap the units in the queue while that helps, up to a limit of work."""
    clusters, values, units = state.clusters, state.values, state.units
    neighbours, counters = state.neighbours, state.counters
    queue = state.lists[QUEUE]
    k = counters[K]
    degree = neighbours.shape[1]
    while counters[WAITING] > 0 and counters[WORK] < limit:
        u = queue[counters[HEAD]]
        counters[HEAD] += 1
        if counters[HEAD] == queue.shape[0]:
            counters[HEAD] = 0
        counters[WAITING] -= 1
        units[u, QUEUED] = 0
        a = units[u, LABEL]
        counters[PROBES] += 1
        probed = counters[PROBES]
        clusters[a, MARK] = probed
        left = leave(table, clusters, values, u, a)
        may_leave = clusters[a, SIZE] > k
        # Gains within rounding errors of the prices could go round in circles for ever.
        best = -least_gain - 1e-12 * values[a, PRICE]
        target = partner = NONE
        for q in range(degree):
            b = units[neighbours[u, q], LABEL]
            if clusters[b, MARK] == probed:
                continue
            clusters[b, MARK] = probed
            joined, swapped, w = probe(table, clusters, values, u, a, left, b, best)
            counters[WORK] += clusters[b, SIZE] + 1
            noise = 1e-12 * values[b, PRICE]
            if swapped + noise < best:
                best = swapped
                target = b
                partner = w
            if may_leave and clusters[b, SIZE] < 2 * k - 1 and joined - left + noise < best:
                best = joined - left
                target = b
                partner = NONE
        if target >= 0:
            if partner >= 0:
                _exchange(table, state, u, partner)
            else:
                _relocate(table, state, u, target)
            _enqueue(clusters, units, queue, counters, a)
            _enqueue(clusters, units, queue, counters, target)


descend_kernel = kernel(descend)


@inner
def _forget(state):
    """Empty the queue; mostly it is."""
    counters, queue = state.counters, state.lists[QUEUE]
    while counters[WAITING] > 0:
        state.units[queue[counters[HEAD]], QUEUED] = 0
        counters[HEAD] += 1
        if counters[HEAD] == queue.shape[0]:
            counters[HEAD] = 0
        counters[WAITING] -= 1


@inner
def _collect(state, pool, slack, c):
    """Put a cluster into the pool if its reduced cost is below ``slack``."""
    clusters, values = state.clusters, state.values
    last_slot = pool.known.shape[0] - 1
    size = clusters[c, SIZE]
    if size == 0:
        return
    reduced = values[c, PRICE]
    key = np.int64(0)
    for q in range(FIRST, FIRST + size):
        u = clusters[c, q]
        reduced -= pool.duals[u]
        key += pool.keys[u]
    at = pool.counts[0]
    if reduced >= slack or at == pool.prices.shape[0] or 2 * pool.counts[1] > last_slot:
        return
    slot = key & last_slot
    while pool.known[slot] != 0 and pool.known[slot] != key:
        slot = (slot + 1) & last_slot
    if pool.known[slot] == key:
        return
    pool.known[slot] = key
    for q in range(pool.clusters.shape[1]):
        pool.clusters[at, q] = clusters[c, FIRST + q] if q < size else -1
    pool.prices[at] = values[c, PRICE]
    pool.counts[0] += 1
    pool.counts[1] += 1


@inner
def _wander(table, state, pool, slack, unit, steps):
    """Single moves and swaps at random by Metropolis' rule, without descents.

    A rise of the cost by δ is accepted with probability exp(−δ/unit). The draw is made before the
    step is priced, so that :func:`probe` need not look at clusters too far away.
    """
    clusters, values, units = state.clusters, state.values, state.units
    neighbours, counters = state.neighbours, state.counters
    k = counters[K]
    n, degree = neighbours.shape
    for _ in range(steps):
        u = below(counters, n)
        a = units[u, LABEL]
        b = units[neighbours[u, below(counters, degree)], LABEL]
        counters[WORK] += 1
        if a == b:
            continue
        chance = (below(counters, 1 << 30) + 0.5) / (1 << 30)
        allowed = -np.log(chance) * unit
        left = leave(table, clusters, values, u, a)
        joined, swapped, w = probe(table, clusters, values, u, a, left, b, allowed)
        if w >= 0:
            counters[WORK] += clusters[b, SIZE]
        fits = clusters[a, SIZE] > k and clusters[b, SIZE] < 2 * k - 1
        if fits and joined - left < min(allowed, swapped):
            _relocate(table, state, u, b)
        elif swapped < allowed:
            _exchange(table, state, u, w)
        else:
            continue
        if slack > -np.inf and slack < np.inf:
            _collect(state, pool, slack, a)
            _collect(state, pool, slack, b)


@inner
def _quench(table, state, u, noise, limit):
    """Descend around u, so that a change there is not kept for what only cooling gains."""
    clusters, units, counters = state.clusters, state.units, state.counters
    queue = state.lists[QUEUE]
    _enqueue(clusters, units, queue, counters, units[u, LABEL])
    for q in range(state.neighbours.shape[1]):
        _enqueue(clusters, units, queue, counters, units[state.neighbours[u, q], LABEL])
    descend(table, state, noise, limit)
    _forget(state)


@kernel
def iterate(table, state, pool, slack, hot, cold, start, end, limit, noise, steps, unit):
    """Iterations up to number ``end``, or a limit of work; gains below ``noise`` do not count.

    The temperature falls geometrically from ``hot`` at iteration ``start`` to ``cold`` at ``end``.
    A change that raises the cost by δ is kept with probability exp(−δ/(temperature · s)), s being
    the mean cost of the clusters it touched. Before each iteration so many single ``steps`` are
    made, with probability exp(−δ/(temperature · unit)). They are not taken back: the clusters they
    touch have the stamp of the iteration before, or are saved in vain, each at most once. Clusters
    of reduced cost below ``slack`` are collected in the pool, also those not kept; ∞ collects all
    that iterations keep, −∞ nothing.
    """
    counters, values, saved = state.counters, state.values, state.saved
    limit += counters[WORK]
    patience = PATIENCE * counters[K] * counters[K]
    while counters[ITERATION] < end and counters[WORK] < limit:
        share = (counters[ITERATION] - start) / (end - start)
        temperature = hot * (cold / hot) ** share if hot > 0.0 else 0.0
        u = below(counters, state.units.shape[0])
        if counters[ITERATION] & 1:  # in many tables a few clusters hold most of the cost
            other = below(counters, state.units.shape[0])
            if values[state.units[other, LABEL], PRICE] > values[state.units[u, LABEL], PRICE]:
                u = other
        if steps > 0:
            _wander(table, state, pool, slack, temperature * unit, steps)
            _quench(table, state, u, noise, counters[WORK] + patience)
        counters[ITERATION] += 1
        counters[SAVED] = 0
        counters[UNHOUSED] = 0
        counters[WORK] += 1
        fine = _perturb(table, state, u, below(counters, DRAWS))
        if fine:
            before = 0.0
            for entry in range(counters[SAVED]):
                before += state.saved_values[entry, PRICE]
                c = saved[entry, RANK]
                _enqueue(state.clusters, state.units, state.lists[QUEUE], counters, c)
            descend(table, state, max(1e-9 * before, noise), counters[WORK] + patience)
            _forget(state)
            change = before = 0.0
            for entry in range(counters[SAVED]):
                old = state.saved_values[entry, PRICE]
                before += old
                change += values[saved[entry, RANK], PRICE] - old
            allowed = 0.0
            if counters[SAVED] > 0:
                chance = (below(counters, 1 << 30) + 0.5) / (1 << 30)
                allowed = -np.log(chance) * temperature * before / counters[SAVED]
            fine = change <= allowed
            if slack > -np.inf and (fine or slack < np.inf):
                for entry in range(counters[SAVED]):
                    _collect(state, pool, slack, saved[entry, RANK])
        if fine:
            counters[KEPT] += 1
        else:
            _undo(state)


@kernel
def load(table, state, labels):
    """Start from a partition whose clusters have at most 2k − 1 units; the queue takes them all."""
    clusters, counters = state.clusters, state.counters
    clusters[:, SIZE] = 0
    for u in range(labels.shape[0]):
        _insert(clusters, state.units, u, labels[u])
    counters[IN_USE] = 0
    for c in range(clusters.shape[0]):
        state.lists[ORDER, c] = c
        clusters[c, RANK] = c
        clusters[c, STAMP] = counters[ITERATION]  # what descends from here is not journalled
    counters[WAITING] = 0
    state.units[:, QUEUED] = 0
    for c in range(clusters.shape[0]):
        if clusters[c, SIZE] > 0:
            _open(state, c)
            _enqueue(clusters, state.units, state.lists[QUEUE], counters, c)
        refresh(table, clusters, state.values, c)


def new_state(table: Table, k: int, neighbours: NDArray[np.int32], seed: int) -> State:
    """An empty state for a table."""
    n = len(neighbours)
    count = max(1, n // k)
    width = FIRST + 2 * k - 1
    columns = 2 + (table.points.shape[1] if isinstance(table, SquaredErrors) else 0)
    counters = np.zeros(11, dtype=np.int64)
    counters[K] = k
    drawn = np.random.SeedSequence(seed).generate_state(1, np.uint64)
    counters[RANDOM] = drawn.view(np.int64)[0] | 1
    return State(
        neighbours=neighbours.astype(np.int64),
        units=np.zeros((n, 3), dtype=np.int64),
        lists=np.zeros((3, n), dtype=np.int64),
        clusters=np.zeros((count, width), dtype=np.int64),
        values=np.zeros((count, columns)),
        saved=np.zeros((count, width), dtype=np.int64),
        saved_values=np.zeros((count, columns)),
        counters=counters,
    )


def new_pool(n: int, k: int, most: int, seed: int) -> Pool:
    """An empty pool for so many clusters at a time; 0 if none are to be collected."""
    rng = np.random.default_rng(seed)
    return Pool(
        duals=np.zeros(n),
        keys=rng.integers(1, 2**62, n),
        known=np.zeros(TABLE if most > 0 else 1, dtype=np.int64),
        clusters=np.empty((most, 2 * k - 1), dtype=np.int32),
        prices=np.empty(most),
        counts=np.zeros(2, dtype=np.int64),
    )
