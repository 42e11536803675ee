"""``ils``, kanopy's own search for any cluster cost: moves, swaps, slow cooling, and a program.

From a start (ONA* for ``sse``, identical rows together for the others, or the caller's) rows are
moved and swapped between neighbouring clusters while that helps. Then clusters are created,
dissolved, rebuilt, mixed and divided anew around random rows; each change is followed by the same
descent and kept if it is better, or worse by no more than the temperature allows. Where clusters
are large, many single moves and swaps by Metropolis' rule come before each of these changes. The
temperature falls in cycles that begin at the best partition so far. After a cycle, the clusters of
both partitions fall into independent parts, and of each part the cheaper side is taken, so a cycle
pays if it improved anything anywhere. Short cycles leave many such parts, and therefore come first;
when a round of several temperatures saves little, they become twice as long.

Under a time limit cycles take half of the time, or some seconds. The clusters that the later ones
met become columns of a set-partitioning program (:mod:`seen`), out of which MIPs choose a better
partition region by region; further cycles collect clusters that its duals ask for, and so on.

Rows are neighbours if they are near each other in the terms of the cost; identical rows count as
two neighbours at most, so that a row also sees others than its copies.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kanopy.instances.errors import KanopyError
from kanopy.instances.microdata import Microdata
from kanopy.solvers.branch_and_price.column_generation import Clock
from kanopy.solvers.clock import now
from kanopy.solvers.heuristics.ona import ona_star_labels
from kanopy.solvers.heuristics.seen import SeenClusters
from kanopy.solvers.kernels.crossover import recombine
from kanopy.solvers.kernels.ils import (
    ITERATION,
    LABEL,
    WAITING,
    WORK,
    descend_kernel,
    iterate,
    load,
    new_pool,
    new_state,
)
from kanopy.solvers.kernels.ils_costs import PRICE, Losses, Mismatches, SquaredErrors, Table
from kanopy.solvers.kernels.inner import kernel
from kanopy.solvers.kernels.nearby import Nearby
from kanopy.solvers.kernels.quick import quick_partition
from kanopy.solvers.problem import Outcome, Problem
from kanopy.solvers.registry import register
from kanopy.solvers.run import Run

BURST = 1_000_000
"""Priced changes between two looks at the stopping rule, about a tenth of a second."""

QUENCH = 0.1
"""Length of the end of a cycle, at temperature 0, as a share of the cooling."""

WARMTHS = (0.5, 1.0, 3.0)
"""Relative temperatures of the cycles in turn."""

PAYS = 1e-3
"""Share of the cost that one round of these temperatures must save; if not, cycles become longer.
"""

SLOW, LONGEST, PER_ROW = 0.5, 0.6, 0.002
"""Share of the time that cycles take before the program does, and the seconds, times k² and per
row, the greater of which they take at most: a program that begins early goes farther, while larger
clusters need longer cycles."""

STEPS, STEPPING, EVEN = 50, 6, 4.0
"""Single steps before each change under a time limit, times k², and where they are made: from this
k on, changes and descents alone doing as well in smaller clusters, and if the mean cost of clusters
is at most so many times their median, since all share one temperature."""

STEPPING_SHARE = 0.8
"""Share of the time that cycles of single steps take before the program does, nearly all of it in
one: cooling as slowly as time allows is worth more than several tries."""

STEP_UNIT = 1.5
"""Unit of the temperature of single steps, in k-ths of the median of the clusters' costs: one for
all clusters, as Metropolis' rule has it."""

COLLECTING = 0.7
"""Share of the cycles' time, its end, from which clusters are collected."""

COMBINED = 10_000
"""Types up to which the clusters seen are combined by a program."""

ROUNDS, WARM, SLACK = 5, 0.4, 0.01
"""Relaxations before a program, the relative temperature of the cycles after each, and the reduced
cost, as a share of the gap, up to which these collect."""

ONA_ROWS = 20_000
"""Rows up to which ONA* is quick enough to begin with."""

_WINDOW = 20_000
"""Distinct rows up to which all are compared for neighbours; above, those near in sorted order."""

_SLICE = 2000
"""Types or points whose neighbours are sought between two looks at the clock."""


@dataclass(frozen=True)
class ILSOptions:
    """Options of the local search.

    Attributes
    ----------
    neighbours
        Rows that a row may swap with or move to the clusters of.
    hot, cold
        Temperatures at the ends of a cycle, in mean costs of the clusters that a change touches.
    first_cycle
        Iterations of the first cycle, per row.
    cycles
        Rounds of cycles without a better partition after which the search ends.
    fill_time
        Let the last cycles fill a time limit. Without, lengths never depend on the clock, so runs
        that end by another rule are alike.
    """

    neighbours: int = 12
    hot: float = 0.2
    cold: float = 0.02
    first_cycle: int = 1
    cycles: int = 5
    fill_time: bool = True

    def __post_init__(self) -> None:
        if self.neighbours < 1 or self.first_cycle < 1 or self.cycles < 1:
            raise KanopyError("neighbours, first_cycle and cycles must be at least 1")
        if not 0 <= self.cold <= self.hot or (self.hot > 0 and self.cold == 0):
            raise KanopyError(
                f"temperatures must be 0 < cold ≤ hot or both 0, got {self.cold} and {self.hot}"
            )


@register(
    "ils",
    costs=("sse", "hamming", "range"),
    kinds=("numeric", "nominal", "mixed"),
    paper="kanopy",
    summary="moves, swaps, slow cooling, and a program over the clusters met; from any start",
    options=ILSOptions,
)
def ils(problem: Problem, run: Run, options: ILSOptions) -> Outcome:
    """Search until the stopping rule says so, or cycles stop to pay."""
    labels = run.initial if run.initial is not None else start_labels(problem, run)
    run.found_labels(labels)
    k, n = problem.k, problem.n
    if n >= 2 * k and not run.stopping():
        search(problem, run, options, split_large(problem.data, labels, k))
    assert run.best is not None
    return run.best


def search(
    problem: Problem, run: Run, options: ILSOptions, labels: NDArray[np.int64]
) -> SeenClusters | None:
    """Cycles of cooling from a partition into clusters of k … 2k−1 rows; the clusters seen."""
    cooling = Cooling(problem, run, options, labels)
    if not cooling.settle():
        return None
    limited = options.fill_time and run.remaining() < math.inf
    if limited and problem.k >= STEPPING and cooling.mean_cost() <= EVEN * cooling.median_cost():
        cooling.steps = STEPS * problem.k**2
    if limited and len(problem.data.counts) <= COMBINED:
        cooling.seen = SeenClusters(problem.data, problem.k, run.seed)
    share = run.remaining()
    if cooling.seen is not None:
        longest = max(LONGEST * problem.k**2, PER_ROW * problem.n)
        share = STEPPING_SHARE * share if cooling.steps > 0 else min(SLOW * share, longest)
    end = run.elapsed() + share if limited else math.inf
    length, failures, before = options.first_cycle * problem.n, 0, math.inf
    for number, warmth in enumerate(itertools.cycle(WARMTHS), 1):
        began = run.elapsed()
        collecting = cooling.seen is not None and end - began < COLLECTING * share
        slack = math.inf if collecting else -math.inf
        done, _ = cooling.cycle(warmth * options.hot, length, slack)
        if not done:
            return cooling.seen
        longer = number % len(WARMTHS) == 0
        if longer:
            total = float(cooling.price.sum())
            failures = 0 if total < before else failures + 1
            longer, before = before - total < PAYS * total, total
        factor = math.inf if cooling.steps > 0 else 2.0 if longer else 1.0
        length = next_length(length, run.elapsed() - began, end - run.elapsed(), factor)
        if length == 0 or failures == options.cycles:
            break
    if cooling.seen is not None:
        combine(cooling, cooling.seen, options.first_cycle * problem.n)
    return cooling.seen


def next_length(length: int, seconds: float, remaining: float, factor: float) -> int:
    """Length of the cycle after one that took so many seconds, that many times as long.

    At the end what is left of the time is filled; 0 if that is less than half of what the last one
    took.

    >>> next_length(1000, 0.1, 9.0, 1.0), next_length(1000, 0.1, 9.0, 2.0)
    (1000, 2000)
    >>> next_length(1000, 5.0, 4.0, 2.0), next_length(1000, 5.0, 2.0, 2.0)
    (760, 0)
    """
    fitting = remaining / max(seconds, 1e-3)
    if fitting < 0.5:
        return 0
    return max(1, int(min(factor * length, 0.95 * length * fitting)))


def combine(cooling: Cooling, seen: SeenClusters, shortest: int) -> None:
    """Let a program choose among the clusters seen, and cycles look for those it misses.

    The first half of the time left goes to cycles, the first of the ``shortest`` length, and
    relaxations, which take longer the larger the clusters are.
    """
    run, options = cooling.run, cooling.options
    clock = Clock(now() + run.remaining(), run.stopping)
    if seen.relax(cooling.best, cooling.price, clock) is None:
        return
    failures = 0
    while failures < options.cycles:
        improved = False
        half = 0.5 * run.remaining()
        while run.remaining() > half:
            value = seen.relax(cooling.best, cooling.price, clock)
            if value is None:
                return
            total = float(cooling.price.sum())
            slack = seen.base + SLACK * (total - value) + 1e-7 * total
            length, end = shortest, run.elapsed() + half / ROUNDS
            while length > 0:
                began = run.elapsed()
                done, better = cooling.cycle(WARM * options.hot, length, slack)
                improved |= better
                if not done:
                    return
                seconds = run.elapsed() - began
                factor = 1.0 if better else 2.0
                length = next_length(length, seconds, end - run.elapsed(), factor)
        if seen.relax(cooling.best, cooling.price, clock) is None:
            return
        labels, complete = seen.improve(clock.within(0.8 * run.remaining()), run.rng)
        improved |= cooling.load(labels)
        if run.stopping():
            return
        failures = failures + 1 if complete and not improved else 0


def clusters_met(
    problem: Problem, run: Run, labels: NDArray[np.int64], length: int
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Clusters of rows, padded by −1, that one slow cycle from a partition keeps, and their costs.

    The run gets the best partition of the cycle.
    """
    options = ILSOptions()
    cooling = Cooling(problem, run, options, split_large(problem.data, labels, problem.k))
    cooling.seen = SeenClusters(problem.data, problem.k, run.seed)
    if cooling.cool(options.hot, options.cold, length, math.inf, COLLECTING):
        cooling.cool(0.0, 0.0, int(QUENCH * length), math.inf)
    cooling.keep()
    pool = cooling.seen.pool
    count = int(pool.counts[0])
    return pool.clusters[:count], pool.prices[:count]


def columns_of_search(
    problem: Problem, run: Run, labels: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Columns, clusters of types padded by −1, of a search that fills the run's time, with costs.

    The run gets the best partition.
    """
    seen = search(problem, run, ILSOptions(), split_large(problem.data, labels, problem.k))
    if seen is None:
        seen = SeenClusters(problem.data, problem.k, run.seed)
    return seen.columns()


class Cooling:
    """A partition under change, and the best one met."""

    def __init__(
        self, problem: Problem, run: Run, options: ILSOptions, labels: NDArray[np.int64]
    ) -> None:
        self.run, self.options, self._k = run, options, problem.k
        self.seen: SeenClusters | None = None
        self.steps = 0
        near = neighbour_lists(
            problem.data, problem.cost, options.neighbours, run.seed, run.stopping
        )
        self._table = cost_table(problem.data, problem.cost)
        self._state = new_state(self._table, problem.k, near, run.seed)
        self._no_pool = new_pool(problem.n, problem.k, 0, run.seed)
        self._noise = rounding_noise(self._table)
        load(self._table, self._state, labels)
        self.best, self.price = self._labels().copy(), self._prices().copy()

    def _labels(self) -> NDArray[np.int64]:
        return self._state.units[:, LABEL]

    def _prices(self) -> NDArray[np.float64]:
        return self._state.values[:, PRICE]

    def mean_cost(self) -> float:
        """Of the clusters that cost something."""
        return float(self.price.sum()) / max(1, int(np.count_nonzero(self.price)))

    def median_cost(self) -> float:
        """Of the clusters that cost something."""
        return float(np.median(self.price[self.price > 0])) if self.price.any() else 0.0

    def settle(self) -> bool:
        """Descend to a local optimum and keep it; False if the run is to stop."""
        counters, stopping = self._state.counters, False
        while counters[WAITING] > 0 and not stopping:
            descend_kernel(
                self._table, self._state, max(1e-12, self._noise), int(counters[WORK]) + BURST
            )
            stopping = self.run.stopping()
        self.keep()
        return not stopping

    def load(self, labels: NDArray[np.int64]) -> bool:
        """Descend from another partition, and go on from the best; says if it became better."""
        before = self.price.sum()
        load(self._table, self._state, labels)
        self.settle()
        return bool(self.price.sum() < before)

    def cool(self, hot: float, cold: float, length: int, slack: float, share: float = 1.0) -> bool:
        """So many iterations, False if the run is to stop.

        The last ``share`` of them collect clusters; see :func:`iterate` for ``slack``.
        """
        counters = self._state.counters
        steps = self.steps if hot > 0.0 else 0
        unit = STEP_UNIT / self._k * self.median_cost()
        pool = self.seen.pool if self.seen is not None else self._no_pool
        first = int(counters[ITERATION])
        last = first + max(1, length)
        while counters[ITERATION] < last:
            done = int(counters[ITERATION])
            limit = slack if done >= last - share * length else -math.inf
            iterate(
                self._table,
                self._state,
                pool,
                limit,
                hot,
                cold,
                first,
                last,
                BURST,
                self._noise,
                steps,
                unit,
            )
            if self.run.stopping(iterations=int(counters[ITERATION]) - done):
                return False
        return True

    def cycle(self, hot: float, length: int, slack: float) -> tuple[bool, bool]:
        """Cool down, quench and keep; False if the run is to stop, and whether it became better."""
        cold = self.options.cold
        done = self.cool(max(cold, hot), cold, length, slack)
        done = done and self.cool(0.0, 0.0, int(QUENCH * length), slack)
        return done, self.keep()

    def keep(self) -> bool:
        """Put the parts in which the state is better into the best partition; go on from that."""
        changed = bool(recombine(self.best, self.price, self._labels(), self._prices()))
        if changed:
            numbers = np.unique(self.best, return_inverse=True)[1].astype(np.int64)
            changed = self.run.found_labels(numbers)
        load(self._table, self._state, self.best)
        return changed


def start_labels(problem: Problem, run: Run) -> NDArray[np.int64]:
    """A partition to begin with."""
    data, k = problem.data, problem.k
    if problem.cost != "sse":
        return identical_first(data, k)
    if data.n <= ONA_ROWS:
        return ona_star_labels(data.points, k, stopping=run.stopping)
    return quick_partition(data.points, k)


def identical_first(data: Microdata, k: int) -> NDArray[np.int64]:
    """Clusters of k identical rows as far as they go, the other rows in lexicographic order.

    >>> import kanopy as kn
    >>> identical_first(kn.example("survey"), 2).tolist()
    [0, 0, 1, 1, 1]
    """
    order = np.argsort(data.types, kind="stable")
    starts = np.cumsum(data.counts) - data.counts
    position = np.arange(data.n) - np.repeat(starts, data.counts)
    whole = np.repeat(data.counts // k * k, data.counts)
    alone = order[position < whole]
    others = order[position >= whole]
    labels = np.empty(data.n, dtype=np.int64)
    labels[alone] = np.arange(len(alone)) // k
    used = len(alone) // k
    if len(others) >= k:
        labels[others] = used + np.minimum(np.arange(len(others)) // k, len(others) // k - 1)
    else:
        labels[others] = max(used - 1, 0)
    return split_large(data, labels, k)


def split_large(data: Microdata, labels: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Clusters of 2k rows or more cut, in the order of their types; no cost rises by that."""
    sizes = np.bincount(labels)
    if sizes.max() < 2 * k:
        return labels
    labels = labels.copy()
    free = len(sizes)
    for cluster in np.flatnonzero(sizes >= 2 * k):
        rows = np.flatnonzero(labels == cluster)
        if data.numeric:
            parts = quick_partition(data.points[rows], k)
        else:
            parts = np.empty(len(rows), dtype=np.int64)
            by_type = np.argsort(data.types[rows], kind="stable")
            parts[by_type] = np.minimum(np.arange(len(rows)) // k, len(rows) // k - 1)
        labels[rows[parts > 0]] = free - 1 + parts[parts > 0]
        free += int(parts.max())
    return labels


def cost_table(data: Microdata, cost: str) -> Table:
    """The rows in the form that the kernels of a cost read."""
    if cost == "sse":
        centered = data.points - data.points.mean(axis=0)
        padding = -centered.shape[1] % 4  # whole vectors are quicker
        points = np.ascontiguousarray(np.pad(centered, ((0, 0), (0, padding))))
        return SquaredErrors(points, (points**2).sum(axis=1), np.empty(points.shape[1]))
    codes = np.ascontiguousarray(data.codes)
    if cost == "hamming":
        return Mismatches(codes, data.nominal_weights.copy())
    return range_table(data)


def range_table(data: Microdata) -> Losses:
    """The rows in the form that the kernels of ``range`` read."""
    codes = np.ascontiguousarray(data.codes)
    return Losses(_scaled(data), codes, data.nominal_weights / data.domain_sizes)


def rounding_noise(table: Table) -> float:
    """What rounding may add to the gain of a change; less is no gain, or descents need not end."""
    if not isinstance(table, SquaredErrors):
        return 0.0
    largest = float((table.points**2).sum(axis=1).max(initial=0.0))
    return 64 * float(np.finfo(np.float64).eps) * largest


def _scaled(data: Microdata) -> NDArray[np.float64]:
    widths = data.upper - data.lower
    factor = np.divide(data.numeric_weights, widths, out=np.zeros_like(widths), where=widths > 0)
    return np.ascontiguousarray(data.X * factor)


def neighbour_lists(
    data: Microdata,
    cost: str,
    wanted: int,
    seed: int,
    stopping: Callable[[], bool] = lambda: False,
) -> NDArray[np.int32]:
    """For each row up to ``wanted`` others: two copies of it at most, and the nearest types.

    When stopped, the last types have any others instead.
    """
    wanted = min(wanted, data.n - 1)
    if cost == "sse" and len(data.counts) == data.n:
        return np.asarray(_without_self(_nearest_points(data.points, wanted + 1, stopping)))
    first = data.first_rows
    order = np.argsort(data.types, kind="stable").astype(np.int64)
    starts = (np.cumsum(data.counts) - data.counts).astype(np.int64)
    if cost == "sse":
        several = min(wanted + 1, len(first))
        found = _nearest_points(data.points[first], several, stopping)
        near_types: NDArray[np.int32] = _without_self(found)
    else:
        unit = data.nominal_weights / (data.domain_sizes if cost == "range" else 1)
        numbers = _scaled(data)[first] if cost == "range" else np.empty((len(first), 0))
        codes = data.codes[first]
        near_types = np.full((len(first), min(wanted, max(1, len(first) - 1))), -1, dtype=np.int32)
        for begin in range(0, len(first), _SLICE):
            if begin and stopping():
                break
            end = min(begin + _SLICE, len(first))
            _nearest_types(numbers, codes, unit, near_types, begin, end, _WINDOW)
    rows = _rows_of_types(near_types, data.types, order, starts, data.counts, wanted, seed)
    return np.asarray(rows)


def _nearest_points(
    points: NDArray[np.float64], several: int, stopping: Callable[[], bool]
) -> NDArray[np.int32]:
    """The nearest points of each, itself among them; when stopped, the last ones have any."""
    nearby = Nearby(points)
    number = len(points)
    near = ((np.arange(number)[:, None] + np.arange(several)) % number).astype(np.int32)
    for begin in range(0, number, _SLICE):
        if begin and stopping():
            break
        end = min(begin + _SLICE, number)
        near[begin:end] = nearby.nearest(begin, end, several)[0]
    return near


@kernel
def _without_self(near: NDArray[np.int32]) -> NDArray[np.int32]:
    rows, width = near.shape
    result = np.empty((rows, max(width - 1, 0)), dtype=np.int32)
    for i in range(rows):
        filled = 0
        for q in range(width):
            if near[i, q] != i and filled < width - 1:
                result[i, filled] = near[i, q]
                filled += 1
    return result


@kernel
def _nearest_types(
    numbers: NDArray[np.float64],
    codes: NDArray[np.int32],
    unit: NDArray[np.float64],
    near: NDArray[np.int32],
    begin: int,
    end: int,
    window: int,
) -> None:
    """For each type of a slice its nearest others, of those within ``window`` in sorted order."""
    types, wanted = near.shape
    distances = np.empty(wanted)
    for a in range(begin, end):
        distances[:] = np.inf
        for b in range(max(0, a - window // 2), min(types, a + window // 2 + 1)):
            if a == b:
                continue
            distance = 0.0
            for j in range(numbers.shape[1]):
                distance += abs(numbers[a, j] - numbers[b, j])
            for j in range(codes.shape[1]):
                if codes[a, j] != codes[b, j]:
                    distance += unit[j]
            if distance < distances[wanted - 1]:
                place = wanted - 1
                while place > 0 and distances[place - 1] > distance:
                    distances[place] = distances[place - 1]
                    near[a, place] = near[a, place - 1]
                    place -= 1
                distances[place] = distance
                near[a, place] = b


@kernel
def _rows_of_types(
    near: NDArray[np.int32],
    types: NDArray[np.int64],
    order: NDArray[np.int64],
    starts: NDArray[np.int64],
    counts: NDArray[np.int64],
    wanted: int,
    seed: int,
) -> NDArray[np.int32]:
    """Two copies of the row, then a row of each near type, chosen differently for each row."""
    n = types.shape[0]
    result = np.empty((n, wanted), dtype=np.int32)
    for i in range(n):
        own = types[i]
        filled = 0
        for step in range(1, min(3, counts[own])):
            copy = order[starts[own] + (i + step * 7919) % counts[own]]
            if copy != i and filled < wanted:
                result[i, filled] = copy
                filled += 1
        place = 0
        while filled < wanted:
            kind = np.int64(near[own, place % near.shape[1]]) if near.shape[1] > 0 else own
            if kind < 0:
                kind = own
            pick = (i * 2654435761 + place * 40503 + seed) % counts[kind]
            row = order[starts[kind] + pick]
            if row == i:
                row = order[starts[kind] + (pick + 1) % counts[kind]]
            if row == i:
                row = order[(i + place + 1) % n]
            result[i, filled] = row
            filled += 1
            place += 1
    return result
