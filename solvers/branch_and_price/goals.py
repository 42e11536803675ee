"""Goals: trees for partitions below a cost that lies between the bound and the best one known.

Where the best partition known is far from the bound, neither a list of all clusters that fit the
gap nor a tree that closes it is within reach. Such guesses of the optimum are usual in exact
methods for routing.
"""

from __future__ import annotations

import math

from kanopy.solvers.branch_and_price.branching import branch
from kanopy.solvers.branch_and_price.cut_rounds import tighten
from kanopy.solvers.branch_and_price.engine import Engine
from kanopy.solvers.branch_and_price.enumeration import Listed
from kanopy.solvers.branch_and_price.lists import CONDENSED, list_about, shorten
from kanopy.solvers.branch_and_price.pool import Pool

AIMED_PER_ROW, AIMED_ROWS, FEW_AIMED = 400, 200, 25
"""Clusters per row of the first list that has a goal, rows that a table counts for at least, and
clusters per row where all that fit the gap are listed already."""

FIRST_AIMED, MOST_AIMED = 200_000, 800_000
"""Clusters that the first list may have in all, twice as many each time, and the last."""

AIMED_SHARE = 0.15
"""Share of the time left that such a list may take."""

AIMED_FARTHER, MOST_OF, NEAR = 0.1, 0.8, 2e-4
"""Shares of the gap that a goal must promise to close and is to close at most, and the relative gap
below which the best partition itself is the goal."""

FAR_SEARCH = 0.03
"""Share of the time left of a local search after a goal, if the gap is still wide."""


def approach(engine: Engine) -> bool:
    """Ever higher goals, each reached or proven out of reach; True if a tree left nothing open.

    A list grows quickly with its cutoff, and a tree with the gap it has to close. With a goal
    below the cost of the best partition both stay small; the tree finds a partition below the
    goal, and the optimum then, or none, and the goal is a bound.
    """
    pool, pricer, proof = engine.pool, engine.pricer, engine.proof
    n = engine.problem.n
    wanted = AIMED_PER_ROW * max(n, AIMED_ROWS) if pool is None else FEW_AIMED * n
    wanted = min(wanted, FIRST_AIMED)
    if not engine.lists() or engine.done() or (pool is not None and len(pool) <= wanted):
        return False
    listed: Listed | None = None
    if pool is None and engine.master.large and not near(engine):
        # long lists take long: a shorter one tells how far they will go
        listed = list_about(engine, CONDENSED, engine.target(), engine.listing())
        if listed is None or hopeless(engine, listed):
            return False
    while not engine.done() and wanted <= MOST_AIMED:
        left = engine.target() - engine.lower
        if near(engine) and not engine.frontier:
            return False
        goal = engine.target() if near(engine) else engine.lower + MOST_OF * left
        clock = engine.clock.within(AIMED_SHARE * engine.clock.remaining())
        listed = list_about(engine, wanted, goal, clock, listed)
        if listed is None or hopeless(engine, listed):
            return False
        if listed.cutoff > engine.lower + AIMED_FARTHER * left:
            engine.goal = listed.cutoff if listed.cutoff < engine.target() else math.inf
            engine.look_at(Pool(pricer, listed.clusters, listed.costs))
            if not engine.frontier:
                engine.generated = engine.generate(engine.links)
                tighten(engine)
                shorten(engine)
            searched = not engine.done()
            if searched:
                branch(engine)
            engine.goal, engine.pool, engine.proof = math.inf, pool, proof
            engine.pricer = engine.generation.pricer = pricer
            if searched and not engine.frontier:
                return True
            if engine.far():
                engine.search_locally(FAR_SEARCH)
        wanted *= 2
    return False


def near(engine: Engine) -> bool:
    """Whether the gap is so small that no goal in between is needed."""
    return engine.target() - engine.lower < NEAR * engine.upper()


def hopeless(engine: Engine, listed: Listed) -> bool:
    """Whether even the longest list would leave nearly all of the gap.

    The number of clusters grows with the cube of the gap or faster.
    """
    times: float = (MOST_AIMED / max(1, len(listed.costs))) ** (1 / 3)
    farthest = engine.proof.value + times * (listed.cutoff - engine.proof.value)
    return farthest < engine.lower + AIMED_FARTHER * (engine.target() - engine.lower)
