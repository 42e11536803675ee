"""Chi-ex: the frequency vector with the least χ² error, exactly (000, 5.6)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kanopy.instances.errors import KanopyError, unknown
from kanopy.solvers.frequency.annealing import (
    CountDomains,
    Interaction,
    anneal_counts,
    any_counts,
)
from kanopy.solvers.frequency.cells import (
    count_program,
    counts_of,
    has_room,
    numbers_of,
    sets_of,
)
from kanopy.solvers.frequency.paper import solve_as_printed
from kanopy.solvers.frequency.program import Ints, Program
from kanopy.solvers.frequency.search import MOST_NODES, Search, choose_backend, stronger_backend
from kanopy.solvers.problem import Outcome, Problem
from kanopy.solvers.registry import register
from kanopy.solvers.run import Run

FORMULATIONS = ("envelope", "paper")


@dataclass(frozen=True)
class ChiExOptions:
    """How Chi-ex is solved.

    Attributes
    ----------
    backend
        ``highs``, ``cpsat``, ``gurobi`` or ``scip``; ``auto`` is HiGHS, and CP-SAT for what is hard
        if that is installed.
    formulation
        ``envelope`` for the relaxations of this package, ``paper`` for the quadratic program as
        printed, which needs ``gurobi`` or ``scip``.
    weight
        w of eq. 5.6.1; −1 stands for 1/n, since the thesis leaves it open here and takes that
        for the modified SAFE problem (3.2).
    proposals
        Moves that simulated annealing tries at a time.
    """

    backend: str = "auto"
    formulation: str = "envelope"
    weight: float = -1.0
    proposals: int = 200_000


def complete(problem: Problem, options: ChiExOptions) -> Problem:
    """The problem with the weight and the sum of the counts filled in."""
    return replace(
        problem,
        total=problem.n if problem.total is None else problem.total,
        deviation_weight=deviation_weight(problem, options.weight),
    )


def deviation_weight(problem: Problem, weight: float) -> float:
    """w, by default 1/n."""
    if weight == -1.0:
        return 1.0 / problem.n
    if not 0 <= weight < np.inf:
        raise KanopyError(f"weight = {weight}; choose a number ≥ 0, or −1 for 1/n")
    return weight


@register(
    "chi-ex",
    shape="frequency",
    costs=("chi2",),
    kinds=("nominal",),
    exact=True,
    bound=True,
    paper="000, 5.6",
    summary="counts with the least χ² error in the control tables, exactly",
    options=ChiExOptions,
    prepare=complete,
)
def chi_ex(problem: Problem, run: Run, options: ChiExOptions) -> Outcome:
    """Anneal for a start, then reduce and solve the choice program of the counts."""
    if options.formulation not in FORMULATIONS:
        raise unknown("formulation", options.formulation, FORMULATIONS)
    assert problem.control is not None
    assert problem.total is not None
    if options.formulation == "paper":
        return solve_as_printed(problem, run, "chi-ex", options.backend)
    backend = choose_backend(options.backend)
    original, total = problem.data.counts, problem.total
    interaction = Interaction(problem.control, original)
    best = any_counts(original, problem.k, total)
    _report(problem, run, best)
    run.proved(0.0)  # all terms are squares and absolute values

    def anneal(start: Ints, domains: CountDomains, times: int) -> Ints:
        found = [start]
        for _ in range(times):
            if run.stopping(iterations=options.proposals):
                break
            found.append(
                anneal_counts(
                    original,
                    start,
                    domains,
                    interaction,
                    problem.deviation_weight,
                    run.rng,
                    options.proposals,
                )
            )
        return min(found, key=lambda counts: problem.objective(Outcome(counts=counts)))

    def improve(program: Program) -> Ints:
        assert search.best is not None
        start = counts_of(search.best, total)
        return numbers_of(anneal(start, CountDomains.of(sets_of(program, total)), 4), total)

    best = anneal(best, CountDomains.near(original, best, problem.k), 2)
    _report(problem, run, best)
    limit = problem.objective(Outcome(counts=best))
    search = Search(
        run,
        backend,
        found=lambda numbers, _: _report(problem, run, counts_of(numbers, total)),
        proved=run.proved,
        improve=improve,
        limit=limit,
        best=numbers_of(best, total),
        most_nodes=MOST_NODES if backend.name == "highs" else 0,
        stronger=stronger_backend(options.backend),
    )
    if has_room(problem, run, limit):
        search.minimise(count_program(problem, limit))
    assert search.best is not None
    return Outcome(
        counts=counts_of(search.best, total),
        bound=max(0.0, search.bound),
        solver=search.backend.version(),
    )


def _report(problem: Problem, run: Run, counts: Ints) -> None:
    outcome = Outcome(counts=counts)
    run.found(outcome, problem.objective(outcome))
