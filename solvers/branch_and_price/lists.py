"""Lists of all clusters that a better partition can hold, as they are or condensed.

From such a list on, pricing only looks at its clusters, see :mod:`pool`; :mod:`condensing` makes a
long one short.
"""

from __future__ import annotations

import math

from kanopy.solvers.branch_and_price.better_partitions import within
from kanopy.solvers.branch_and_price.column_generation import Bound, Clock
from kanopy.solvers.branch_and_price.condensing import Condensation
from kanopy.solvers.branch_and_price.engine import Engine
from kanopy.solvers.branch_and_price.enumeration import Listed, list_clusters
from kanopy.solvers.branch_and_price.finishing import FEW_COLUMNS
from kanopy.solvers.branch_and_price.pool import MOST_LISTED, SHORTER, Pool
from kanopy.solvers.branch_and_price.pricer_common import reduced_costs

CONDENSED, TRIALS = 40_000, 8
"""Clusters of the first list that is condensed, twice as many each time, and tries to find a cutoff
for about so many."""

COVERED = 0.1
"""Share of the gap that such a list must cover."""

BEYOND = 0.15
"""How far beyond a list's cutoff clusters are kept, as a share of what lies between it and the
bound."""

LOOKED_FOR, AGAIN = 5e-4, 0.1
"""Relative gap above which a MIP looks for a better partition in a condensed list, and the share of
the gap that such a partition must close for the list to be condensed again."""

LISTED_PER_ROW = 200
"""Clusters per row up to which all that fit the gap are listed as they are."""


def enlist(engine: Engine) -> bool:
    """Know only the clusters that a better partition can hold from now on, if they are few."""
    if engine.done() or not engine.lists():
        return False
    most = min(MOST_LISTED, LISTED_PER_ROW * engine.problem.n)
    listed = list_clusters(
        engine.pricer, engine.proof, engine.target(), engine.listing(), most, engine.links, trials=1
    )
    if listed is not None:
        engine.look_at(Pool(engine.pricer, listed.clusters, listed.costs))
    return engine.pool is not None


def condense(engine: Engine) -> bool:
    """Short lists of clusters that a better partition can hold, and better partitions.

    The first lists are for cutoffs below the cost of the best partition known, which is far
    from the optimum as yet: they bring better ones, until one list holds all that matter.
    """
    wanted = CONDENSED
    possible = engine.lists() and engine.options.cuts and not engine.large
    while possible and wanted <= MOST_LISTED and not engine.done():
        listed = list_about(engine, wanted, engine.target(), engine.listing())
        if listed is None:
            return False
        if covered(engine, listed) < COVERED:
            engine.reach = listed.cutoff
            return False
        short = improve_by(engine, listed)
        if short.hopeless:
            return False
        if listed.cutoff >= engine.target():
            which = short.which
            engine.look_at(Pool(engine.pricer, short.clusters[which], short.program.listing.costs))
            engine.generated = engine.generate(engine.links)
            return True
        wanted *= 2
    return False


def covered(engine: Engine, listed: Listed) -> float:
    """Share of the gap between the bound that lists begin at and the target below a list's cutoff.

    >>> from types import SimpleNamespace
    >>> proof = SimpleNamespace(value=90.0)
    >>> engine = SimpleNamespace(proof=proof, target=lambda: 100.0)
    >>> covered(engine, SimpleNamespace(cutoff=91.0))
    0.1
    """
    proven = engine.proof.value
    return (listed.cutoff - proven) / (engine.target() - proven)


def improve_by(engine: Engine, listed: Listed) -> Condensation:
    """Better partitions out of a list, and what is left of it for the best of them.

    It is condensed from its beginning for each: cuts for a lower target do more than those for
    a higher one and some more.
    """
    short = condensation(engine, listed)
    if short.hopeless or engine.done():
        return short
    if listed.cutoff < engine.target() or engine.far():
        known = engine.incumbent()
        short.sample(engine.found, known[: 0 if engine.far() else None], engine.costs)
        if listed.cutoff < engine.target():
            return short
        short = again(engine, short, listed)
    if engine.upper() - engine.lower > LOOKED_FOR * engine.upper() and not engine.done():
        short.look(engine.found, min(short.target, engine.target()))
        short = again(engine, short, listed)
    return short


def again(engine: Engine, short: Condensation, listed: Listed) -> Condensation:
    """The same list for the target of now, if that is much lower than it was and cuts help."""
    gained = short.target - engine.target()
    if gained <= AGAIN * (short.target - engine.lower) or engine.done():
        return short
    shorter = condensation(engine, listed)
    return short if shorter.hopeless else shorter


def condensation(engine: Engine, listed: Listed) -> Condensation:
    """What is left of a list for the target of now, and the bound that this proves.

    Where the list's cutoff is lower, the best partition may cost more than that: more clusters
    are kept then than a proof needs, or few of its clusters would be left.
    """
    assert engine.proof.duals is not None
    beyond = listed.cutoff + BEYOND * (listed.cutoff - engine.proof.value)
    target = min(beyond, engine.target())
    clusters, costs = listed.clusters, listed.costs
    reduced = reduced_costs(clusters, costs, engine.proof.duals, engine.proof.cuts)
    keep = reduced < target - engine.proof.value
    short = Condensation(
        clusters[keep],
        costs[keep],
        engine.copies,
        engine.problem.k,
        engine.links.range_of_clusters(engine.problem.n, engine.problem.k),
        engine.proof.cuts,
        target,
        engine.clock,
    )
    short.tighten()
    if not short.hopeless:  # a little better bound would only hide which nodes are best
        engine.prove(Bound(min(short.bound, listed.cutoff, target)))
    return short


def list_about(
    engine: Engine, wanted: int, goal: float, clock: Clock, known: Listed | None = None
) -> Listed | None:
    """A list of about so many clusters, or of all for partitions below a goal if these are fewer.

    It begins with a short one, or with one that is known: those that become too long take as much
    time as the last.
    """
    proven, best, high = engine.proof.value, known, math.inf
    cutoff = min(within(engine, FEW_COLUMNS), goal)
    if known is not None:
        times = (0.9 * wanted / max(1, len(known.costs))) ** (1 / 3)
        cutoff = min(proven + times * (known.cutoff - proven), goal)
    for _ in range(TRIALS):
        listed = list_clusters(
            engine.pricer, engine.proof, cutoff, clock, wanted, engine.links, trials=1
        )
        if listed is None:
            high = cutoff
            cutoff = 0.5 * ((proven if best is None else best.cutoff) + high)
        else:
            best = listed
            if cutoff >= goal or len(listed.costs) > 0.6 * wanted:
                break
            farther = math.sqrt(0.9 * wanted / max(1, len(listed.costs))) * (cutoff - proven)
            cutoff = min(proven + farther, 0.5 * (cutoff + high), goal)
        if clock.over():
            break
    return best


def shorten(engine: Engine) -> None:
    """Drop clusters that the bounds of today exclude from the list."""
    bound = engine.proof
    if engine.pool is None or bound.duals is None or engine.done():
        return
    gap = engine.target() - bound.value
    shorter = engine.pool.below(bound.duals, bound.cuts, engine.links, gap)
    if len(shorter) < SHORTER * len(engine.pool):
        engine.look_at(engine.pool.part(shorter))
