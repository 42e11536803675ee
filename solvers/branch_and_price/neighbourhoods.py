"""Better partitions out of large neighbourhoods: a region is freed and solved as its own table.

All clusters of a partition stay but those of a region, some hundred rows. These are a table of
their own, small enough for branch-and-price to find its best partition in seconds: with columns,
cuts, lists and a tree of its own, where MIPs over columns of the whole table (:mod:`regions`) know
only clusters that pay at the duals of the whole.

Two partitions are crossed in the same way: the region is where they differ. What dives lead to are
different local optima.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from kanopy.solvers.branch_and_price.column_generation import Clock
from kanopy.solvers.branch_and_price.diving import fit_into
from kanopy.solvers.branch_and_price.engine import Engine
from kanopy.solvers.branch_and_price.pricer_common import reduced_costs
from kanopy.solvers.branch_and_price.pricing import Cuts
from kanopy.solvers.branch_and_price.regions import NEAR, counts_of_types, region_around
from kanopy.solvers.branch_and_price.start import clusters_of, labels_of, padded
from kanopy.solvers.run import Run
from kanopy.solvers.stop import First, MaxNodes, MaxRuntime, Progress

FIRST_ROWS, MOST_ROWS = 300, 700
"""Rows of the first region, and of any, in clusters of k."""

FIRST_LARGE, MOST_LARGE = 100, 120
"""The same where clusters are large, and pricing therefore takes long."""

LARGER, SMALLER, SOON = 1.15, 0.8, 10
"""Rows of the next region, as a share of those of one that is solved with so few nodes, or not at
all."""

MOST_NODES, MOST_SECONDS, SHARE = 100, 15.0, 0.25
"""Nodes and seconds that a region may take, and its share of the time left if that is less."""

FAILURES = 6
"""Regions in a row without a better partition after which to end."""

GOOD = 1e-4
"""Relative gap below which trees do better."""

ROUNDING = 1e-12
"""Share of a cost that the order of its terms may change."""

TRIED = 0.2
"""How likely a cluster is to begin a region again after each time in vain."""


@dataclass
class Neighbourhoods:
    """A search from one partition after the other.

    Partitions are clusters of types, rows sorted and padded by −1.

    Attributes
    ----------
    engine
        The whole problem, whose relaxation has been solved.
    carry_out
        Solves a problem, see :func:`plan.carry_out`.
    rows, most
        Rows of the next region, learnt on the way, and of any.
    """

    engine: Engine
    carry_out: Callable[[Engine], None]
    rows: int = field(init=False)
    most: int = field(init=False)

    def __post_init__(self) -> None:
        large = self.engine.large
        self.rows = FIRST_LARGE if large else FIRST_ROWS
        self.most = MOST_LARGE if large else MOST_ROWS

    def improve(self, partition: NDArray[np.int32], clock: Clock) -> NDArray[np.int32]:
        """A partition that is no worse: one region after the other is solved."""
        engine, failures, tried = self.engine, 0, Counter[bytes]()
        near = counts_of_types(self.best_columns(), engine.master.types)
        while failures < FAILURES and len(partition) > 1 and not ended(engine, clock):
            first = self.draw(partition, tried)
            held = counts_of_types(partition, engine.master.types)
            size = max(2, min(self.rows // engine.problem.k, 1 + 3 * len(partition) // 4))
            region = np.zeros(len(partition), dtype=bool)
            region[region_around(near, held, size, first, engine.run.rng)] = True
            better, change = self.solve(partition, region, clock)
            self.rows = min(max(int(change * self.rows), 4 * engine.problem.k), self.most)
            if better is None:
                failures += 1
                tried[partition[first].tobytes()] += 1
            else:
                partition, failures = better, 0
                engine.found(partition)
        return partition

    def cross(
        self, partition: NDArray[np.int32], other: NDArray[np.int32], clock: Clock
    ) -> NDArray[np.int32]:
        """The best that the rows in which two partitions differ allow, or the better of the two."""
        if self.cost(other) < self.cost(partition):
            partition, other = other, partition
        region = differing(partition, other)
        if not 0 < (partition[region] >= 0).sum() <= self.most or ended(self.engine, clock):
            return partition
        better, _ = self.solve(partition, region, clock)
        return partition if better is None else better

    def draw(self, partition: NDArray[np.int32], tried: Counter[bytes]) -> int:
        """The cluster that a region grows from: one of large reduced cost, not tried often."""
        engine = self.engine
        assert engine.proof.duals is not None
        costs = engine.costs(partition)
        reduced = reduced_costs(partition, costs, engine.proof.duals, engine.proof.cuts)
        chances = np.maximum(reduced, 0.0)
        chances += chances.mean() + 1e-9 * engine.unit
        chances *= np.array([TRIED ** tried[row.tobytes()] for row in partition])
        return int(engine.run.rng.choice(len(partition), p=chances / chances.sum()))

    def best_columns(self) -> NDArray[np.int32]:
        """The columns of least reduced cost, which say what belongs into a region."""
        master, proof = self.engine.master, self.engine.proof
        assert proof.duals is not None
        reduced = reduced_costs(master.clusters, master.costs, proof.duals, proof.cuts)
        order = np.argsort(reduced, kind="stable")
        return np.asarray(master.clusters[order[: max(NEAR, master.types)]])

    def cost(self, partition: NDArray[np.int32]) -> float:
        """What a partition costs."""
        return float(self.engine.costs(partition).sum())

    def solve(
        self, partition: NDArray[np.int32], region: NDArray[np.bool_], clock: Clock
    ) -> tuple[NDArray[np.int32] | None, float]:
        """A partition that is better in the rows of some clusters, or None if none is found.

        Also how many times as large the next region is to be.
        """
        engine = self.engine
        labels = labels_of(partition, engine.types)
        rows = np.flatnonzero(region[labels])
        problem = engine.problem.restrict(rows)
        stop = First(StopOfWhole(engine.run), MaxNodes(MOST_NODES))
        if math.isfinite(clock.remaining()):  # else nothing may depend on the clock
            seconds = min(MOST_SECONDS, SHARE * clock.remaining())
            stop = First(stop, MaxRuntime(seconds))
        run = Run(problem, stop, engine.run.seed)
        run.found_labels(np.unique(labels[rows], return_inverse=True)[1])
        before = run.progress.objective
        if before == 0:
            return None, LARGER
        part = Engine(
            problem,
            run,
            replace(engine.options, tree=""),
            engine.make_pricer,
            engine.quick,
            engine.step,
        )
        part.inherited = self.inherited(part, rows)
        self.carry_out(part)
        change = SMALLER
        if part.closed():
            change = LARGER if run.progress.nodes <= SOON else 1.0
        if not run.progress.objective < before * (1 - ROUNDING):
            return None, change
        assert run.best is not None
        assert run.best.labels is not None
        labels[rows] = len(partition) + run.best.labels
        clusters = clusters_of(np.unique(labels, return_inverse=True)[1], engine.types)
        return padded(clusters, engine.largest), change

    def inherited(
        self, part: Engine, rows: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64], Cuts]:
        """The columns and cuts of the whole that lie in a region, by the region's types."""
        engine, counts = self.engine, part.problem.data.counts
        small = (engine.master.clusters[:, part.largest :] < 0).all(axis=1)
        clusters = engine.master.clusters[small, : part.largest]
        costs, cuts = engine.master.costs[small], engine.master.cuts
        if part.problem.links or len(counts) != len(np.unique(engine.types[rows])):
            # rows whose links lead out of the region are told apart in the whole only
            return clusters[:0], costs[:0], Cuts()
        number = np.full(engine.master.types + 1, -1, dtype=np.int32)  # the last for the padding
        number[engine.types[rows]] = part.types
        inside = np.flatnonzero(((number[clusters] >= 0) | (clusters < 0)).all(axis=1))
        inside = inside[fit_into(number[clusters[inside]], counts)]
        return number[clusters[inside]], costs[inside], inner_cuts(cuts, number)


class StopOfWhole:
    """The stopping rule of a run, for another run that is part of it and begins now."""

    def __init__(self, run: Run) -> None:
        self.run, self.seconds = run, run.remaining()

    def __call__(self, progress: Progress) -> bool:
        """Whether the whole run is to stop."""
        return self.run.stopping()

    def time_limit(self) -> float:
        """Seconds that the whole run had left."""
        return self.seconds


def ended(engine: Engine, clock: Clock) -> bool:
    """Whether there is no time left, or the best partition is so close to its bound already."""
    good = engine.upper() - engine.lower < GOOD * engine.upper()
    return good or engine.closed() or clock.over()


def inner_cuts(cuts: Cuts, number: NDArray[np.int32]) -> Cuts:
    """The cuts whose types all have a number, by these numbers.

    >>> cuts = Cuts(np.array([0, 2, 5]), np.array([0, 2, 1, 3, 4]), np.array([2, 3]))
    >>> inner_cuts(cuts, np.array([-1, 2, 1, 0, 3], dtype=np.int32)).members.tolist()
    [0, 2, 3]
    """
    if len(cuts) == 0:
        return cuts
    least = np.minimum.reduceat(number[cuts.members], cuts.starts[:-1])
    kept = cuts.take(np.flatnonzero(least >= 0))
    members = number[kept.members].astype(np.int64)
    of_cut = np.repeat(np.arange(len(kept)), np.diff(kept.starts))
    return replace(kept, members=members[np.lexsort((members, of_cut))])


def differing(partition: NDArray[np.int32], other: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Which clusters of a partition the other does not hold, copies counted.

    >>> differing(np.array([[0, 1], [2, 3]]), np.array([[2, 3], [0, 1]])).tolist()
    [False, False]
    """
    left = Counter(row.tobytes() for row in other)
    different = np.ones(len(partition), dtype=bool)
    for i, row in enumerate(partition):
        if left[row.tobytes()] > 0:
            left[row.tobytes()] -= 1
            different[i] = False
    return different
