"""Better partitions out of large neighbourhoods: a region is freed and solved as its own table.

All clusters of a partition stay but those of a region. The rows of the region are a table of their
own, with a master, a pricer and cuts of its own, small enough for its relaxation to converge in
about a second. Its bound is close to what the region costs already, so the clusters that a better
partition of the region can hold are few, and a MIP chooses from all of them: unless a limit
strikes, the region is solved. MIPs over columns of the whole table (:mod:`regions`) know only
clusters that pay at the duals of the whole.

Two partitions are crossed in the same way: the region is where they differ. What dives leave are
different local optima, and a partition of both their clusters and all others is mostly better than
either.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from kanopy.solvers.branch_and_price.column_generation import Clock, ColumnGeneration
from kanopy.solvers.branch_and_price.diving import fit_into
from kanopy.solvers.branch_and_price.engine import CLOSED, Engine
from kanopy.solvers.branch_and_price.enumeration import choose, list_clusters
from kanopy.solvers.branch_and_price.master import Master, sorted_rows
from kanopy.solvers.branch_and_price.pricer_common import reduced_costs
from kanopy.solvers.branch_and_price.pricing import Cuts
from kanopy.solvers.branch_and_price.regions import NEAR, counts_of_types, region_around
from kanopy.solvers.branch_and_price.start import labels_of, link_types, told_apart
from kanopy.solvers.branch_and_price.subset_row import kinds_of_cuts, separate

FIRST_ROWS, MOST_ROWS = 150, 600
"""Rows of the first region, and of any."""

LARGER, SMALLER = 1.15, 0.85
"""Rows of the next region, as a share of those of one that is solved soon, or not at all."""

ROUNDS, SMALL = 4, 8
"""Rounds of cuts in a region, and types of a cut at most."""

FEW_LISTED, LISTED = 1500, 4000
"""Clusters of a MIP that soon finds the best partition of a region, or that there is no better one,
and of any. A larger one is run to find something, not to prove it."""

NODES, MIP_SECONDS, MIP_SHARE = 100, 2.0, 0.004
"""Nodes of that MIP, and seconds or the share of the time left that it may take."""

FAILURES = 12
"""Regions in a row without a better partition after which to end."""


@dataclass
class Neighbourhoods:
    """The search from one partition after the other; the size of regions is learnt on the way.

    ``rows`` is the number of rows of the next region.
    """

    engine: Engine
    rows: int = FIRST_ROWS
    tried: dict[bytes, int] = field(default_factory=dict)
    """How often a region was grown from a cluster in vain."""

    def improve(self, partition: NDArray[np.int32], clock: Clock) -> NDArray[np.int32]:
        """A partition, clusters of types, that is no worse; solves one region after the other."""
        failures = 0
        near = counts_of_types(self.best_columns(), self.engine.master.types)
        self.tried.clear()
        while failures < FAILURES and not clock.over():
            first = self.draw(partition)
            held = counts_of_types(partition, self.engine.master.types)
            size = min(self.rows // self.engine.problem.k, 1 + len(partition) // 2)
            region = np.zeros(len(partition), dtype=bool)
            region[region_around(near, held, size, first, self.engine.run.rng)] = True
            better, change = self.solve(partition, region, clock)
            failures += 1
            if better is None:
                key = partition[first].tobytes()
                self.tried[key] = self.tried.get(key, 0) + 1
            else:
                partition, failures = better, 0
            self.rows = min(max(int(change * self.rows), 4 * self.engine.problem.k), MOST_ROWS)
        return partition

    def cross(
        self, partition: NDArray[np.int32], other: NDArray[np.int32], clock: Clock
    ) -> NDArray[np.int32]:
        """The best that the rows in which two partitions differ allow, or the better of the two."""
        if self.cost(other) < self.cost(partition):
            partition, other = other, partition
        region = differing(partition, other)
        rows = int((partition[region] >= 0).sum())
        if not 0 < rows <= MOST_ROWS or clock.over():
            return partition
        better, _ = self.solve(partition, region, clock)
        return partition if better is None else better

    def draw(self, partition: NDArray[np.int32]) -> int:
        """The cluster that a region grows from: one of large reduced cost, not tried often."""
        engine = self.engine
        costs = engine.costs(partition)
        assert engine.proof.duals is not None
        reduced = reduced_costs(partition, costs, engine.proof.duals, engine.proof.cuts)
        chances = np.maximum(reduced, 0.0)
        chances += chances.mean() + 1e-9 * engine.unit
        chances *= np.array([0.2 ** self.tried.get(row.tobytes(), 0) for row in partition])
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
        """A partition that is better in the rows of some clusters, and how much larger to be next.

        None if there is none, or none is found.
        """
        engine = self.engine
        rows = np.flatnonzero(region[labels_of(partition, engine.types)])
        problem = engine.problem.restrict(rows)
        linked = np.flatnonzero(np.isin(rows, engine.problem.links.rows))
        if len(linked):  # told apart as in the whole, even where the other row is elsewhere
            problem = replace(problem, data=told_apart(problem.data, linked))
        data, k = problem.data, problem.k
        links = link_types(problem.links, data.types)
        pricer = engine.make_pricer(data, k, engine.largest)
        number = np.full(engine.master.types + 1, -1, dtype=np.int32)  # the last for the padding
        number[engine.types[rows]] = data.types
        of_whole = np.zeros(len(data.counts), dtype=np.int32)
        of_whole[data.types] = engine.types[rows]
        artificials = engine.master.artificial_costs[of_whole]
        master = Master(pricer.multiplicities, k, artificials, engine.unit, engine.largest)
        start = sorted_rows(number[partition[region]])
        costs = engine.costs(partition[region])
        target = float(costs.sum()) - CLOSED * engine.upper()
        master.add(start, costs)
        columns = engine.master.clusters
        known = np.flatnonzero(((number[columns] >= 0) | (columns < 0)).all(axis=1))
        mapped = number[columns[known]]
        fitting = fit_into(mapped, pricer.multiplicities)
        master.add(mapped[fitting], engine.master.costs[known][fitting])
        master.add_cuts(_inside(engine.master.cuts, number))
        generation = ColumnGeneration(master, pricer, engine.quick)
        small = [kind for kind in kinds_of_cuts(data.counts, k) if len(kind[0]) <= SMALL]
        generated = generation.run(clock, links, cutoff=target)
        best = generated.bound
        for _ in range(ROUNDS if engine.options.cuts else 0):
            relaxation = generated.relaxation
            if best.value >= target or relaxation is None or not generated.converged:
                break
            x = np.append(relaxation.x, np.zeros(len(master) - len(relaxation.x)))
            cuts = separate(
                master.clusters, x, data.counts, k, max(20, len(rows) // 2), kinds=small
            )
            if len(cuts) == 0:
                break
            master.add_cuts(cuts)
            generated = generation.run(clock, links, cutoff=target)
            best = max(best, generated.bound, key=lambda bound: bound.value)
        if best.value >= target:
            return None, LARGER
        listed = list_clusters(pricer, best, target, clock, LISTED, links)
        if listed is None:
            return None, SMALLER
        whole = listed.cutoff >= target
        few = whole and len(listed.costs) <= FEW_LISTED
        chosen = choose(
            listed.clusters,
            listed.costs,
            data.counts,
            k,
            clock.within(max(MIP_SECONDS, MIP_SHARE * clock.remaining())),
            best.cuts,
            number_of_clusters=links.range_of_clusters(problem.n, k),
            most_nodes=NODES,
            cutoff=target,
            hopeful=not few,
        )
        change = SMALLER
        if whole and chosen.optimal:
            change = LARGER if few else 1.0
        if chosen.clusters is None:
            return None, change
        inside = np.where(chosen.clusters >= 0, of_whole[chosen.clusters], -1).astype(np.int32)
        better = np.concatenate([partition[~region], sorted_rows(inside)])
        return (better if self.cost(better) < self.cost(partition) else None), change


def differing(partition: NDArray[np.int32], other: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Which clusters of a partition the other does not hold, copies counted.

    >>> differing(np.array([[0, 1], [2, 3]]), np.array([[2, 3], [0, 1]])).tolist()
    [False, False]
    """
    left: dict[bytes, int] = {}
    for row in other:
        left[row.tobytes()] = left.get(row.tobytes(), 0) + 1
    different = np.ones(len(partition), dtype=bool)
    for i, row in enumerate(partition):
        key = row.tobytes()
        if left.get(key, 0) > 0:
            left[key] -= 1
            different[i] = False
    return different


def _inside(cuts: Cuts, number: NDArray[np.int32]) -> Cuts:
    """The cuts whose types all are in a region, with their numbers there."""
    if len(cuts) == 0:
        return cuts
    members = number[cuts.members].astype(np.int64)
    kept = cuts.take(np.flatnonzero(np.minimum.reduceat(members, cuts.starts[:-1]) >= 0))
    members = number[kept.members].astype(np.int64)
    of_cut = np.repeat(np.arange(len(kept)), np.diff(kept.starts))
    return replace(kept, members=members[np.lexsort((members, of_cut))])
