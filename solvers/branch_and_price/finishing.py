"""Stages of enumeration: a MIP over ever more clusters that a better partition can hold.

With all clusters of reduced cost below δ at hand (:mod:`enumeration`), a partition costs at least
the bound and δ more, or what the MIP over these clusters says if that is less.
"""

from __future__ import annotations

import math

import numpy as np

from kanopy.solvers.branch_and_price.column_generation import Bound
from kanopy.solvers.branch_and_price.engine import Engine
from kanopy.solvers.branch_and_price.enumeration import Listed, choose, list_clusters
from kanopy.solvers.branch_and_price.pricing import Restrictions
from kanopy.solvers.branch_and_price.start import with_start

FEW_COLUMNS = 2500
"""Columns that a MIP copes with in about a second: the first stage of enumeration."""

PER_TYPE = 4
"""The same per type where costs come in steps."""

ROOT_NODES = 200
"""Nodes of that MIP at the root of a search that can branch."""

STEP_NODES = 5000
"""The same where costs come in steps, or where branching is out of reach: a MIP over types goes
farther than branching over rows."""

ROOT_SHARE, NODE_SHARE, LEAST_SECONDS = 0.4, 0.05, 5.0
"""Shares of the time left that MIPs may take at the root and in the tree, and seconds that any may
take."""

FEW_PER_ROW, POOL_PER_ROW = 3, 8
"""Columns per row of such a first stage where branching is at hand, and the same for a node whose
clusters are listed already."""

POOL_SECONDS = 2.0
"""Seconds of that MIP: most are solved in less, and a node that is not is branched on."""

COLUMNS_PER_ROW = 10
"""Columns per row up to which a MIP is expected to be faster than branching."""


def listable(engine: Engine) -> bool:
    """Whether the clusters that fit the gap are few enough for a MIP to settle it at once."""
    if engine.done() or not engine.options.enumeration:
        return engine.done()
    most = COLUMNS_PER_ROW * engine.problem.n if engine.step == 0 else many_columns(engine)
    listed = list_clusters(
        engine.pricer, engine.proof, engine.target(), engine.listing(), most, engine.links, trials=1
    )
    return listed is not None


def many_columns(engine: Engine) -> int:
    """Columns of a first stage of enumeration where costs come in steps."""
    return max(FEW_COLUMNS, PER_TYPE * engine.master.types)


def finish(engine: Engine, most_columns: int, most_nodes: int = STEP_NODES) -> bool:
    """Enumerate and solve the MIP; True if that settles the problem."""
    if engine.done() or not engine.options.enumeration:
        return engine.done()
    # Branching begins anew where rows are merged, so the MIP may take longer there.
    soon = engine.branches and engine.step == 0 and engine.copies.max() == 1
    nodes = ROOT_NODES if soon else most_nodes
    engine.prove(Bound(finish_node(engine, engine.proof, engine.links, most_columns, nodes, True)))
    engine.argument.listed = engine.closed()
    return engine.done()


def finish_node(
    engine: Engine,
    bound: Bound,
    restrictions: Restrictions,
    most_columns: int,
    most_nodes: int,
    root: bool = False,
) -> float:
    """Lower bound of a node after an attempt to enumerate it; improves the incumbent.

    Stages of ever more clusters: with all of reduced cost < δ at hand, a partition costs at
    least min(bound + δ, what the MIP over them says).
    """
    value = bound.value
    # Where branching is at hand, it does better than a MIP that cannot settle the node.
    whole_gap = (engine.branches or engine.pool is not None) and engine.step == 0
    if whole_gap:
        per_row = COLUMNS_PER_ROW if root else POOL_PER_ROW if engine.pool else FEW_PER_ROW
        most_columns = min(most_columns, per_row * engine.problem.n)
    # A few columns are worth a try at the root: they may hold a better partition.
    few = FEW_PER_ROW * engine.problem.n if root else 0
    wanted = min(many_columns(engine) if not whole_gap else few or most_columns, most_columns)
    while value < engine.target() and not engine.clock.over():
        trials = 1 if whole_gap and wanted > few else 10  # a part would not do
        listed = list_clusters(
            engine.pricer, bound, engine.target(), engine.listing(), wanted, restrictions, trials
        )
        partial = listed is not None and listed.cutoff < engine.target()
        if listed is None or (partial and whole_gap and wanted > few):
            break
        target = engine.target()
        seconds = mip_seconds(engine, ROOT_SHARE if root else NODE_SHARE)
        if engine.pool is not None:
            seconds = POOL_SECONDS
        proven, optimal = choose_from(engine, listed, bound, restrictions, most_nodes, seconds)
        value = max(value, min(listed.cutoff, target, proven))
        if not optimal or wanted >= most_columns or listed.cutoff >= target:
            break
        wanted = min(5 * wanted, most_columns)
    return value


def choose_from(
    engine: Engine,
    listed: Listed,
    bound: Bound,
    restrictions: Restrictions,
    most_nodes: int,
    seconds: float,
) -> tuple[float, bool]:
    """Best partition over the listed clusters and the incumbent, by a MIP."""
    mine = engine.incumbent()
    fewest, most = restrictions.range_of_clusters(engine.problem.n, engine.problem.k)
    # A start far above the bound only makes the program larger, and one that lies in another
    # node takes back what was branched on.
    elsewhere = restrictions is not engine.links or engine.goal < engine.upper()
    far = elsewhere or engine.upper() > 1.2 * listed.cutoff
    mine = mine[: 0 if far else None]
    pool, start = with_start(listed.clusters, mine)
    costs = np.concatenate([listed.costs, engine.costs(pool[len(listed.clusters) :])])
    chosen = choose(
        pool,
        costs,
        engine.copies,
        engine.problem.k,
        engine.clock.within(seconds),
        bound.cuts,
        engine.step,
        None if far else start,
        engine.run.seed,
        (fewest, most),
        most_nodes,
        engine.cutoff() if elsewhere else math.inf,
    )
    if chosen.clusters is not None:
        engine.found(chosen.clusters)
    return engine.rounded(chosen.bound), chosen.optimal


def mip_seconds(engine: Engine, share: float) -> float:
    """Seconds of a MIP that may take this share of the time left."""
    return max(LEAST_SECONDS, share * engine.clock.remaining())
