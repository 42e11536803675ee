"""Rounds of cuts: at the root while they help, at nodes with those of other nodes first."""

from __future__ import annotations

import numpy as np

from kanopy.solvers.branch_and_price.coefficients import violations
from kanopy.solvers.branch_and_price.engine import Engine
from kanopy.solvers.branch_and_price.master import Relaxation
from kanopy.solvers.branch_and_price.pricer_common import reduced_costs
from kanopy.solvers.branch_and_price.pricing import Restrictions
from kanopy.solvers.branch_and_price.subset_row import separate

MANY_CUTS = 200
"""With more cuts than this and than types, those that are slack at a node are dropped."""

MOST_ASIDE = 20_000
"""Cuts that are kept for other nodes, the latest ones."""

VIOLATION = 0.02
"""By how much a cut that was laid aside must be violated to be put back."""

CUT_SHARE = 0.1
"""Share of the time left that a round of cuts may take if there is to be another one."""

MANY_COLUMNS = 10_000
"""Columns that the master may always keep."""


def tighten(engine: Engine) -> None:
    """Rounds of cuts while they help.

    A MIP over the clusters of least reduced cost finds better partitions than dives do in the
    same time once the cuts are in, so there are no dives before.
    """
    slim(engine)
    stalled = 0
    for _ in range(engine.options.most_cut_rounds if engine.options.cuts else 0):
        if engine.done() or not engine.generated.converged:
            return
        before = engine.proof.value  # unlike the bound itself, this is not rounded up
        left = engine.clock.remaining()
        if not cut_round(engine, engine.links):
            break
        if left - engine.clock.remaining() > CUT_SHARE * left:  # a partition is wanted, too
            break
        # Judged by the gap, or by all rounds so far where the incumbent is still poor.
        least = 0.02 * min(engine.upper() - before, engine.proof.value - engine.uncut)
        stalled = stalled + 1 if engine.proof.value - before < least else 0
        if stalled == 3:
            break


def slim(engine: Engine) -> None:
    """Delete the columns of largest reduced cost where there are very many."""
    relaxation = engine.generated.relaxation
    most = max(MANY_COLUMNS, 10 * engine.master.types)
    if relaxation is None or len(engine.master) <= 2 * most:
        return
    reduced = reduced_costs(
        engine.master.clusters, engine.master.costs, relaxation.duals, engine.master.cuts
    )
    keep = reduced <= np.partition(reduced, most)[most]
    keep[: len(relaxation.x)] |= relaxation.x > 0
    engine.master.purge(keep)
    engine.generated = engine.generate(engine.links)


def cut_round(engine: Engine, restrictions: Restrictions, root: bool = True) -> bool:
    """Separate and generate columns again; False if nothing is violated."""
    relaxation = engine.generated.relaxation
    if relaxation is None or not engine.generated.converged:
        return False
    x = np.zeros(len(engine.master))
    x[: len(relaxation.x)] = relaxation.x
    cuts = separate(engine.master.clusters, x, engine.copies, engine.problem.k, most_cuts(engine))
    if len(cuts) == 0:
        return False
    if not root:
        lay_aside(engine, relaxation)
    engine.master.add_cuts(cuts)
    engine.generated = engine.generate(restrictions, root)
    return True


def most_cuts(engine: Engine) -> int:
    """Cuts that are added at a time."""
    return max(20, engine.problem.n // 2)


def lay_aside(engine: Engine, relaxation: Relaxation) -> None:
    """Take cuts that are slack at a node out of the master where there are many."""
    if len(engine.master.cuts) <= max(MANY_CUTS, engine.master.types):
        return
    slack = relaxation.duals.cuts > -1e-9 * engine.unit
    aside = engine.aside.joined(engine.master.cuts.take(np.flatnonzero(slack)))
    engine.aside = aside.take(np.arange(max(0, len(aside) - MOST_ASIDE), len(aside)))
    engine.master.drop_cuts(slack)


def recall(engine: Engine, restrictions: Restrictions) -> bool:
    """Put cuts that were laid aside and are violated now back; False if there are none."""
    relaxation = engine.generated.relaxation
    if relaxation is None or not engine.generated.converged or len(engine.aside) == 0:
        return False
    clusters = engine.master.clusters[: len(relaxation.x)]
    broken = violations(clusters, relaxation.x, engine.aside, engine.copies)
    worst = np.argsort(-broken, kind="stable")[: most_cuts(engine)]
    back = np.zeros(len(broken), dtype=bool)
    back[worst[broken[worst] > VIOLATION]] = True
    if not back.any():
        return False
    recalled = engine.aside.take(np.flatnonzero(back))
    engine.aside = engine.aside.take(np.flatnonzero(~back))
    lay_aside(engine, relaxation)
    engine.master.add_cuts(recalled)
    engine.generated = engine.generate(restrictions, root=False)
    return True
