"""Better partitions at the root: MIPs over few clusters, dives, neighbourhoods, local search.

None of them proves anything; what they find is offered to the run, and its clusters become columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kanopy.solvers.branch_and_price.column_generation import Clock
from kanopy.solvers.branch_and_price.diving import dive
from kanopy.solvers.branch_and_price.engine import Engine
from kanopy.solvers.branch_and_price.enumeration import list_clusters
from kanopy.solvers.branch_and_price.finishing import (
    FEW_COLUMNS,
    choose_from,
    listable,
    mip_seconds,
)
from kanopy.solvers.branch_and_price.master import sorted_rows
from kanopy.solvers.branch_and_price.neighbourhoods import ROUNDING, Neighbourhoods, ended
from kanopy.solvers.branch_and_price.pricer_common import reduced_costs
from kanopy.solvers.branch_and_price.pricing import Restrictions
from kanopy.solvers.branch_and_price.regions import Effort, improve
from kanopy.solvers.branch_and_price.start import labels_of, with_start
from kanopy.solvers.clock import now

SAMPLE_NODES, SAMPLE_SHARE = 50, 0.1
"""Nodes of a MIP that only looks for a better partition, and its share of the time left."""

SAMPLE_FEW, SAMPLE_MORE = 1.3, 5.0
"""Columns per row of that MIP: few take a second and mostly do, more are tried if not."""

FULL = 0.5
"""Share of the columns asked for that a list has at least if their number ended it: one that ended
for want of nodes or time would be no longer if more were asked for."""

QUICK, MORE, LARGER_SECONDS = 1.0, 1.4, 3.0
"""Seconds of such a MIP up to which more columns are tried next, how many times as many, and how
long the next may take."""

WIDE = 1e-3
"""Relative gap above which that MIP is run, and regions are searched."""

REGION_NODES, REGION_SHARE, REGION_LIST = 20, 0.2, 0.5
"""Nodes of the MIP of a region, the share of the time left that all regions may take, and the share
of that for a list of columns."""

LISTED_PER_TYPE, REGIONS_PER_TYPE = 10, 40
"""Clusters per type that are listed for regions where costs come in steps: very many are then
equally good, and the relaxation needs only some of them. The second elsewhere."""

EVOLVE_SHARE, IN_VAIN = 0.35, 2
"""Share of the time left that generations of partitions may take, and how many in a row may bring
nothing."""

REACHED = 0.5
"""Share of the gap that a list must cover to take their place."""

REFINE_SHARE = 0.5
"""Share of the time left that neighbourhoods of the best partition may take where clusters are
large."""

LAST_SEARCH = 0.5
"""Share of the time left of a local search."""


def sample(engine: Engine, per_row: float) -> bool:
    """A better partition among the clusters of least reduced cost, where the gap is wide.

    True if the best of them is found: dives hardly ever find a better one then.
    """
    if engine.done() or not wide(engine) or not engine.options.enumeration or engine.step > 0:
        return False
    most = min(FEW_COLUMNS, int(per_row * engine.problem.n))
    optimal, seconds = False, mip_seconds(engine, SAMPLE_SHARE)
    while True:
        listed = list_clusters(
            engine.pricer, engine.proof, within(engine, most), engine.listing(), most, engine.links
        )
        if listed is None:
            return optimal
        begin, before = now(), engine.upper()
        _, solved = choose_from(engine, listed, engine.proof, engine.links, SAMPLE_NODES, seconds)
        optimal |= solved
        quick = solved and now() - begin < QUICK
        if engine.trees_come_next() and engine.upper() == before:
            return optimal
        if engine.done() or not quick or listed.cutoff >= engine.target():
            return optimal
        if len(listed.costs) < FULL * most:
            return optimal
        most, seconds = int(MORE * most), LARGER_SECONDS


def search_on(engine: Engine, sampled: bool) -> None:
    """A better partition out of more clusters, then by dives and out of regions.

    Regions do little for a partition far from the best, and most for one that is near.
    """
    sampled = sample(engine, SAMPLE_MORE) or sampled
    if (sampled and not engine.far()) or listable(engine):
        return
    before = engine.upper()
    first = engine.far() or engine.step > 0
    if first:
        dives(engine, 2 if engine.step == 0 else 1)
    polish(engine)
    if not first and engine.upper() == before:
        dives(engine, 2)
    while engine.upper() < before:
        before = engine.upper()
        sample(engine, SAMPLE_MORE)
        if engine.upper() < before:
            polish(engine)


def evolves(engine: Engine) -> bool:
    """Whether generations of partitions are worth it: for large tables, not for regions of them.

    Without duals nothing tells which regions are promising.
    """
    possible = engine.options.dives and engine.proof.duals is not None and engine.step == 0
    return possible and engine.master.large and engine.inherited is None and not engine.large


def evolve(engine: Engine, carry_out: Callable[[Engine], None]) -> None:
    """Partitions by dives, each improved in large neighbourhoods and crossed with those before.

    Where a dive takes too long, the best partition is improved instead. A list that will do better
    from now on ends it.
    """
    search, earlier = Neighbourhoods(engine, carry_out), list[NDArray[np.int32]]()
    clock = engine.clock.within(EVOLVE_SHARE * engine.clock.remaining())
    clock = replace(clock, stopping=lambda: engine.clock.stopping() or reached(engine))
    vain, links, soon = 0, engine.problem.links, True
    while vain < IN_VAIN and not ended(engine, clock):
        before, partition = engine.upper(), engine.incumbent()
        if soon:
            share = float(engine.run.rng.uniform(0.1, 0.3))
            half = clock.within(0.5 * clock.remaining())
            clusters = dive(engine.generation, half, engine.run.rng, engine.links, share)
            soon = clusters is not None
            if clusters is not None and links.allow(labels_of(clusters, engine.types)):
                partition = sorted_rows(clusters)
        partition = search.improve(partition, clock)
        for other in earlier:
            partition = search.cross(partition, other, clock)
        earlier.append(partition)
        engine.found(partition)
        vain = 0 if engine.upper() < before * (1 - ROUNDING) else vain + 1


def reached(engine: Engine) -> bool:
    """Whether the clusters of a moderate list go far across a gap that is still wide.

    >>> from types import SimpleNamespace
    >>> proof = SimpleNamespace(value=90.0)
    >>> engine = SimpleNamespace(proof=proof, reach=92.0, upper=lambda: 100.0)
    >>> reached(engine)
    False
    >>> engine.reach = 96.0
    >>> reached(engine)
    True
    """
    across = engine.reach - engine.proof.value
    return wide(engine) and across > REACHED * (engine.upper() - engine.proof.value)


def refine(engine: Engine, carry_out: Callable[[Engine], None]) -> None:
    """The best partition improved in neighbourhoods, for tables of which regions can be solved."""
    if not engine.options.dives or engine.proof.duals is None or engine.inherited is not None:
        return
    clock = engine.clock.within(REFINE_SHARE * engine.clock.remaining())
    Neighbourhoods(engine, carry_out).improve(engine.incumbent(), clock)


def wide(engine: Engine) -> bool:
    """Whether a better partition is worth a search before all clusters that matter are listed.

    Lists begin at the bound that has duals, so the gap is measured from there.
    """
    return engine.upper() - engine.proof.value > WIDE * engine.upper()


def dives(
    engine: Engine, number: int, restrictions: Restrictions | None = None, effort: float = 1.0
) -> None:
    """Dives from the current relaxation; of several, more as long as they find something."""
    left = number if engine.options.dives else 0
    while left > 0 and not engine.done():
        share = float(engine.run.rng.uniform(0.1, 0.3))
        limit = engine.clock.within(0.25 * engine.clock.remaining())
        limits = restrictions or engine.links
        clusters = dive(engine.generation, limit, engine.run.rng, limits, share, effort)
        improved = clusters is not None and engine.found(clusters)
        left = max(left - 1, 2 if improved and number > 1 else 0)


def polish(engine: Engine) -> None:
    """A better partition out of the columns at hand where one MIP cannot hold them all.

    Where costs come in steps, out of others listed for that, too.
    """
    if engine.done() or not wide(engine) or not engine.options.dives or not engine.master.large:
        return
    clock = engine.clock.within(REGION_SHARE * engine.clock.remaining())
    clusters, costs = engine.master.clusters, engine.master.costs
    if not engine.large:
        per_type = LISTED_PER_TYPE if engine.step > 0 else REGIONS_PER_TYPE
        most = per_type * engine.master.types
        part = clock.within(REGION_LIST * clock.remaining())
        listed = list_clusters(
            engine.pricer, engine.proof, within(engine, most), part, most, engine.links
        )
        if listed is not None:
            both = np.concatenate([clusters, listed.clusters])
            clusters, first = np.unique(both, axis=0, return_index=True)
            costs = np.concatenate([costs, listed.costs])[first]
    improve_regions(engine, clusters, costs, clock)


def improve_regions(
    engine: Engine, clusters: NDArray[np.int32], costs: NDArray[np.float64], clock: Clock
) -> None:
    """MIPs over regions of the best partition, with these clusters to choose from."""
    relaxation = engine.generated.relaxation
    if relaxation is None or clock.over():
        return
    pool, uses = with_start(clusters, engine.incumbent())
    costs = np.concatenate([costs, engine.costs(pool[len(costs) :])])
    reduced = reduced_costs(pool, costs, relaxation.duals, engine.master.cuts)
    order = np.argsort(reduced, kind="stable")
    better, _ = improve(
        pool[order],
        costs[order],
        reduced[order],
        uses[order],
        engine.master.types,
        engine.problem.k,
        clock,
        engine.run.rng,
        Effort(nodes=REGION_NODES),
        engine.step,
    )
    engine.found(better)


def alternate(engine: Engine) -> None:
    """Local search and MIPs over regions in turn, as long as they find something.

    Dives gain next to nothing where clusters are large.
    """
    while engine.options.dives and not engine.done():
        before = engine.upper()
        polish(engine)
        clusters, costs = engine.search_locally(LAST_SEARCH)
        engine.master.add(clusters, costs)
        if not engine.upper() < before:
            return


def within(engine: Engine, most: int) -> float:
    """The target, or the lower cost up to which the columns at hand alone are so many.

    Where a list is to be short, looking for all that fit the gap would be in vain.
    """
    duals, master = engine.proof.duals, engine.master
    if duals is None or len(master) <= most:
        return engine.target()
    reduced = reduced_costs(master.clusters, master.costs, duals, engine.proof.cuts)
    highest = max(float(np.partition(reduced, most)[most]), 0.0)
    return min(engine.target(), engine.proof.value + highest)
