"""The method ``branch-and-price``: a start, the engine, and the report."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from kanopy.instances.errors import KanopyError
from kanopy.solvers.backends.choice import find_backend
from kanopy.solvers.backends.highs import HighsBackend
from kanopy.solvers.bounds import lower_bound
from kanopy.solvers.branch_and_price.engine import Engine, Options
from kanopy.solvers.branch_and_price.linked_start import (
    LARGEST_COMPONENT,
    linked_start,
    split_parts,
)
from kanopy.solvers.branch_and_price.plan import carry_out
from kanopy.solvers.branch_and_price.pricing import pricer_of, quick_search
from kanopy.solvers.branch_and_price.start import split_large
from kanopy.solvers.problem import Outcome, Problem
from kanopy.solvers.registry import all_methods, register
from kanopy.solvers.run import Run
from kanopy.solvers.stop import First, MaxIterations, MaxRuntime

QUADRATIC = 20_000
"""Rows up to which a first bound by nearest neighbours is computed where it compares all pairs."""

SET_UP = 1e-5
"""Seconds per row that the master takes before its first bound, without looking at the clock."""

START_PER_ROW, START_ITERATIONS = 30, 20_000
"""Iterations of the local search that begins, per row and in all."""


@register(
    "branch-and-price",
    costs=("sse", "hamming", "range"),
    kinds=("numeric", "nominal", "mixed"),
    exact=True,
    bound=True,
    paper="002, 000; kanopy",
    summary="set partitioning by column generation, subset-row cuts, enumeration and branching",
    options=Options,
    links=True,
)
def branch_and_price(problem: Problem, run: Run, options: Options) -> Outcome:
    """Prove an optimum, or a bound by the time the run stops."""
    solver = HighsBackend().version()  # of the MIPs, too
    if options.backend != "highs":
        other = find_backend(options.backend)
        if reason := other.unavailable():
            raise KanopyError(reason)
        solver = f"{other.version()}, {solver}"
    if problem.n < 2 * problem.k and not problem.links.cannot and not run.wants_proof:
        # Any split would leave fewer than k rows.
        labels = np.zeros(problem.n, dtype=np.int64)
        run.found_labels(labels)
        run.proved(problem.partition_cost(labels))
        return Outcome(labels=labels, bound=run.progress.bound, solver=solver)
    _start(problem, run)
    linear = problem.cost == "sse" or problem.n <= QUADRATIC
    # A bound by nearest neighbours has no duals that a certificate could show.
    quick = linear and not run.wants_proof
    floor = 0.0
    if quick:
        floor = lower_bound(problem.data, problem.k, problem.cost, stopping=run.stopping)
    run.proved(min(floor, run.progress.objective))
    run.timed_out |= run.remaining() <= SET_UP * problem.n
    needed = run.wants_proof or bool(options.tree) or not (run.stopping() or run.timed_out)
    if run.progress.objective > 0 and needed:
        engine = Engine(
            problem,
            run,
            options,
            pricer_of(problem.cost),
            quick_search(problem.cost, problem.k),
            cost_step(problem),
            floor,
        )
        carry_out(engine)
        if run.wants_proof:
            from kanopy.solvers.branch_and_price.certificate import certify

            run.proof = certify(engine)
    assert run.best is not None
    return Outcome(labels=run.best.labels, bound=run.progress.bound, solver=solver)


def cost_step(problem: Problem) -> float:
    """A number that divides every partition's cost, 0 if there is none: whole weights have one."""
    weights = problem.data.nominal_weights
    if problem.cost != "hamming" or not np.all(weights == np.round(weights)):
        return 0.0
    # Python's integers: weights of 2⁶³ and more fit into no other.
    whole = [int(weight) for weight in weights[weights > 0].tolist()]
    return float(math.gcd(*whole)) if whole else 0.0


def _start(problem: Problem, run: Run) -> None:
    """A first partition: the one given, or by a short local search."""
    if problem.links:
        _linked(problem, run)
        return
    labels = _heuristic(problem, run) if run.initial is None else run.initial
    run.found_labels(labels)
    run.found_labels(split_large(labels, problem.k))


def _linked(problem: Problem, run: Run) -> None:
    """A first partition that keeps all pairs of rows."""
    component = problem.links.components(problem.n)
    joined = int(np.bincount(component).max())
    if joined > LARGEST_COMPONENT:
        raise KanopyError(
            f"must_link joins {joined} rows to one class; branch-and-price takes up to "
            f"{LARGEST_COMPONENT}, leave such rows out of the table"
        )
    if run.initial is not None:
        labels = run.initial
        run.found_labels(labels)
    else:
        labels = _heuristic(problem, run)
        labels = linked_start(problem.links, problem.k, labels, run.rng, run.remaining())
    run.found_labels(split_parts(labels, component, problem.k))


def _heuristic(problem: Problem, run: Run) -> NDArray[np.int64]:
    methods = all_methods()
    fitting = [name for name in ("ils", "mdav", "random") if name in methods]
    name = next(n for n in fitting if problem.cost in methods[n].costs)
    most = MaxIterations(min(START_PER_ROW * problem.n, START_ITERATIONS))
    part = Run(problem, First(run.stop, most, MaxRuntime(0.1 * run.remaining())), run.seed)
    given = {"fill_time": False} if name == "ils" else {}  # the same start in every run
    outcome = methods[name].run(problem, part, methods[name].parse(given))
    part.found(outcome, problem.objective(outcome))
    assert part.best is not None
    assert part.best.labels is not None
    return part.best.labels
