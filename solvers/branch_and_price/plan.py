"""What branch-and-price does, and in which order.

Start, relaxation, cuts, better partitions, lists of clusters, branching: each of them closes part
of the gap, and what comes next depends on what is left of it.
"""

from __future__ import annotations

from kanopy.solvers.branch_and_price.better_partitions import (
    SAMPLE_FEW,
    SAMPLE_MORE,
    alternate,
    dives,
    evolve,
    evolves,
    polish,
    refine,
    sample,
    search_on,
    wide,
)
from kanopy.solvers.branch_and_price.branching import branch
from kanopy.solvers.branch_and_price.cut_rounds import tighten
from kanopy.solvers.branch_and_price.engine import Engine
from kanopy.solvers.branch_and_price.finishing import FEW_PER_ROW, STEP_NODES, finish
from kanopy.solvers.branch_and_price.goals import approach
from kanopy.solvers.branch_and_price.lists import condense, enlist, shorten
from kanopy.solvers.branch_and_price.saved_tree import SavedTree, load_tree


def carry_out(engine: Engine) -> None:
    """Close the gap, or come as far as the stopping rule allows."""
    saved = load_tree(engine.options.tree, engine.key) if engine.options.tree else None
    if saved is None:
        engine.build()
    else:
        engine.resume(saved)
    if saved is not None and (saved.branched or engine.done()):
        branch(engine, saved)
        return
    relax(engine)
    tighten(engine)
    condensed = condense(engine) or (evolves(engine) and breed(engine))
    if not condensed and improve(engine):
        return
    if engine.pool is None:
        finish(engine, engine.options.most_columns)
    elif not engine.frontier:
        if not condensed:
            sample(engine, SAMPLE_MORE)
        shorten(engine)
        if len(engine.pool) > FEW_PER_ROW * engine.problem.n:  # else a MIP settles it soon
            tighten(engine)
            shorten(engine)
        if approach(engine):
            return
    if engine.options.branching and not engine.done():
        if engine.pool is not None or engine.tell_rows_apart():
            branch(engine)
            return
        insist(engine)
    if engine.options.tree and not engine.frontier:  # a tree has been saved otherwise
        engine.save(
            SavedTree(*engine.state(), nodes=[(engine.lower, engine.of_rows(engine.links))])
        )


def relax(engine: Engine) -> None:
    """Column generation at the root.

    Dives go deeper and regions are chosen better once there are cuts, so these come first,
    unless there are none.
    """
    engine.generated = engine.generate(engine.links)
    if engine.inherited is None:  # else there are cuts already
        engine.uncut = engine.proof.value
    if not engine.options.cuts or not engine.generated.converged:
        dives(engine, 1)
        polish(engine)


def breed(engine: Engine) -> bool:
    """Generations of partitions; True if the best of them made a condensed list possible."""
    before = engine.upper()
    evolve(engine, carry_out)
    if engine.upper() < before:
        tighten(engine)  # what to expect of further cuts is known better now
    return wide(engine) and condense(engine)


def improve(engine: Engine) -> bool:
    """Better partitions until the clusters that fit the gap can be listed.

    True if a tree on the way there left nothing open.
    """
    before, sampled = engine.upper(), False
    many = evolves(engine)
    if not many and not engine.large:
        sampled = sample(engine, SAMPLE_FEW)
    if engine.upper() < before:
        tighten(engine)
    if not engine.far() and enlist(engine):
        return False
    if engine.large:
        refine(engine, carry_out)
        alternate(engine)
    else:
        soon = engine.trees_come_next()
        if soon and approach(engine):
            return True
        if not engine.frontier and not many:
            search_on(engine, sampled)
        if not soon and approach(engine):
            return True
    enlist(engine)
    return False


def insist(engine: Engine) -> None:
    """Where branching is out of reach: dive deeper and finish again while that helps."""
    nodes, failures, effort = STEP_NODES, 0, 1.0
    while not engine.done() and failures < 3:
        before = engine.upper() - engine.lower
        effort *= 2
        dives(engine, 2, effort=effort)
        polish(engine)
        nodes *= 4
        finish(engine, engine.options.most_columns, nodes)
        failures = failures + 1 if engine.upper() - engine.lower > 0.9 * before else 0
