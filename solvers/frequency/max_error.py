r"""SAFE-basic and modified SAFE: the least maximum error, exactly (000, 2.1 and 3.2).

The excess θ = max_t |b_t| − g_t takes few values, m − g_t with whole m ≥ 0, here called *levels*.
Within a level every cell has a window of values, and D(θ) is the least deviation Σ|y − y⁰| of the
counts that keep to the windows (∞ if none do). The optimum is the least θ + w·D(θ), with w = 0 for
SAFE-basic. D falls with θ, so D(b) settles level b and bounds the levels a … b before it: a
solution with such an excess costs at least a + w·D(b). Spans of levels are split and searched in
the order of their bounds until no span can win.

D is a whole number and as odd or even as Σy − Σy⁰, since |d| and d are: bounds on it are rounded
up to the next such number. The relaxation with cuts is mostly right then, or a number short. So D
is found from below: is there a solution whose deviation is the bound, or else the next number, and
so on? With a limit that tight the duals of the relaxation leave so little to choose from that each
question is answered quickly, and the first solution found is optimal.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from heapq import heappop, heappush, heapreplace

import numpy as np

from kanopy.instances.errors import unknown
from kanopy.instances.frequency import allowed_extra_error
from kanopy.solvers.frequency.annealing import (
    CountDomains,
    Interaction,
    anneal_counts,
    anneal_within,
    any_counts,
)
from kanopy.solvers.frequency.cells import count_program, counts_of, has_room, numbers_of
from kanopy.solvers.frequency.chi_ex import FORMULATIONS, deviation_weight
from kanopy.solvers.frequency.paper import solve_as_printed
from kanopy.solvers.frequency.program import Ints, Program
from kanopy.solvers.frequency.relaxation import relax
from kanopy.solvers.frequency.search import CUT_ROUNDS, Search, Strengthened, choose_backend, tidy
from kanopy.solvers.problem import Outcome, Problem
from kanopy.solvers.registry import register
from kanopy.solvers.run import Run

TOLERANCES = ("appendix", "none")
PROPOSALS = 5_000
"""Moves of one run of simulated annealing per combination, up to a hundred combinations."""
PENALTIES = (1.5, 2.0, 1.5)
"""Price of an error beyond the level, one for each run of simulated annealing."""
LEVEL_CONFIGURATIONS = 100
"""Most configurations of a block in the relaxation of a level."""
MOST_NODES = 150
"""Nodes of our own tree before a mixed-integer solver takes over."""
PATIENCE = 3
"""So many numbers are tried one by one; then the questions take in ever more."""
STEP = 1e-3
"""A deviation less than the next possible one, but clearly above the one before."""


@dataclass(frozen=True)
class SafeBasicOptions:
    """How SAFE-basic is solved.

    Attributes
    ----------
    backend
        ``auto`` (HiGHS), ``highs``, ``cpsat``, ``gurobi`` or ``scip``.
    formulation
        ``envelope`` for the level by level search of this package, ``paper`` for the mixed-integer
        program as printed.
    tolerance
        The free errors g_t: ``appendix`` (000, Appendix A) or ``none`` (0), unless the problem
        brings its own.
    """

    backend: str = "auto"
    formulation: str = "envelope"
    tolerance: str = "appendix"


@dataclass(frozen=True)
class MsafeOptions(SafeBasicOptions):
    """As for SAFE-basic; ``weight`` is w of 000, 3.2, where −1 stands for the thesis' 1/n."""

    weight: float = -1.0


def complete(problem: Problem, options: SafeBasicOptions) -> Problem:
    """The problem with tolerances, weight and the sum of the counts filled in."""
    if options.formulation not in FORMULATIONS:
        raise unknown("formulation", options.formulation, FORMULATIONS)
    if options.tolerance not in TOLERANCES:
        raise unknown("tolerance", options.tolerance, TOLERANCES)
    assert problem.control is not None
    tolerance = problem.tolerance
    if tolerance is None and options.tolerance == "appendix":
        original = problem.control.values(problem.data.counts)
        tolerance = allowed_extra_error(original).astype(np.float64)
    weight = 0.0
    if isinstance(options, MsafeOptions):
        weight = deviation_weight(problem, options.weight)
    return replace(
        problem,
        tolerance=np.zeros(len(problem.control)) if tolerance is None else tolerance,
        deviation_weight=weight,
        total=problem.n if problem.total is None else problem.total,
    )


@register(
    "safe-basic",
    shape="frequency",
    costs=("max-error",),
    kinds=("nominal",),
    exact=True,
    bound=True,
    paper="000, 2.1",
    summary="counts with the least maximum error in the control tables, exactly",
    options=SafeBasicOptions,
    prepare=complete,
)
def safe_basic(problem: Problem, run: Run, options: SafeBasicOptions) -> Outcome:
    """The least level with a solution."""
    if options.formulation == "paper":
        return solve_as_printed(problem, run, "safe-basic", options.backend)
    return _search_levels(_Levels(problem, run, options.backend))


@register(
    "msafe",
    shape="frequency",
    costs=("max-error",),
    kinds=("nominal",),
    exact=True,
    bound=True,
    paper="000, 3.2",
    summary="counts with the least maximum error plus weighted deviation, exactly",
    options=MsafeOptions,
    prepare=complete,
)
def msafe(problem: Problem, run: Run, options: MsafeOptions) -> Outcome:
    """The least sum of a level and the weighted deviation that it needs."""
    if options.formulation == "paper":
        return solve_as_printed(problem, run, "msafe", options.backend)
    return _search_levels(_Levels(problem, run, options.backend))


def _search_levels(levels: _Levels) -> Outcome:
    """Search spans of levels, the most promising first.

    An entry of the queue is a bound of all solutions with an excess from one level to another,
    these two, and a bound of their deviation.
    """
    run, weight = levels.run, levels.problem.deviation_weight
    deviation = levels.least_deviation()
    run.proved(weight * deviation - levels.free_errors[0])  # |b_t| ≥ 0 in every cell
    values, first = levels.open_levels()
    levels.anneal(values[first])
    queue = [(values[first] + weight * deviation, first, len(values) - 1, deviation)]
    while queue and not run.stopping():
        bound, first, last, deviation = queue[0]
        run.proved(min(bound, levels.best_objective))
        if not levels.can_win(bound):
            break
        while not levels.can_win(values[last] + weight * deviation):
            last -= 1
        others = min((entry[0] for entry in queue[1:]), default=np.inf)
        answer = levels.least_deviation_within(values[last], values[first], deviation, others)
        deviation = max(deviation, answer.bound)
        if not answer.complete:
            heapreplace(queue, (values[first] + weight * deviation, first, last, deviation))
            break
        heappop(queue)
        if not answer.found:  # nothing within the last level can win, so nothing before it
            continue
        middle = (first + last) // 2
        for low, high in ((first, min(middle, last - 1)), (middle + 1, last - 1)):
            if low <= high:
                heappush(queue, (values[low] + weight * deviation, low, high, deviation))
    bound = min([levels.best_objective, *(entry[0] for entry in queue)])
    run.proved(bound)
    return levels.outcome(bound)


@dataclass(frozen=True)
class _Deviation:
    """What is known of D of a level: a bound, whether it is settled, and whether counts attain it.

    If none were found in a complete search, the bound is the largest deviation of interest.
    """

    bound: float
    complete: bool
    found: bool


class _Levels:
    """The levels of a problem, and the best solution so far."""

    def __init__(self, problem: Problem, run: Run, backend: str) -> None:
        assert problem.control is not None
        assert problem.tolerance is not None
        assert problem.total is not None
        self.problem, self.run = problem, run
        self.tolerance, self.total = problem.tolerance, problem.total
        self.backend = choose_backend(backend)
        self.free_errors = np.unique(problem.tolerance)
        self.original = problem.data.counts
        self.interaction = Interaction(problem.control, self.original)
        self.proposals = PROPOSALS * min(len(self.original), 100)
        self.best = any_counts(self.original, problem.k, self.total)
        self.best_objective = np.inf
        self.offer(self.best)
        self.domains = CountDomains.near(self.original, self.best, problem.k)
        self.annealed: set[float] = set()
        self.relaxations: dict[float, Strengthened | None] = {}
        # Counts with a small χ² error have small errors everywhere.
        self.offer(
            anneal_counts(
                self.original,
                self.best,
                self.domains,
                self.interaction,
                problem.deviation_weight,
                run.rng,
                self.proposals,
            )
        )

    def offer(self, counts: Ints) -> None:
        """Keep counts if they are better."""
        outcome = Outcome(counts=counts)
        objective = self.problem.objective(outcome)
        self.run.found(outcome, objective)
        if objective < self.best_objective:
            self.best, self.best_objective = counts, objective

    def outcome(self, bound: float) -> Outcome:
        """The answer."""
        return Outcome(counts=self.best, bound=bound, solver=self.backend.version())

    def after(self, level: float) -> float:
        """The next level: the least m − g_t above this one."""
        return float(np.min(np.floor(level + self.free_errors + 1e-9) + 1 - self.free_errors))

    def can_win(self, bound: float) -> bool:
        """Whether a solution that costs so much would be better than the best."""
        return bound < self.best_objective - 1e-9

    def open_levels(self) -> tuple[list[float], int]:
        """All levels up to the best solution, and the first that a relaxation does not rule out.

        Windows only grow with the level, so what is ruled out at a level is ruled out below, and
        bisection finds the first that is not. No level is below −min g, since |b_t| ≥ 0.
        """
        assert self.problem.control is not None
        goals = self.problem.control.values(self.original)
        largest = max(self.total, int(goals.max(initial=0)))  # no cell is further from its goal
        least = self.problem.deviation_weight * self.least_deviation()
        levels = [-float(self.free_errors[0])]
        while levels[-1] < largest and self.can_win(levels[-1] + least):
            levels.append(self.after(levels[-1]))
        ruled_out, possible = -1, len(levels) - 1
        while possible - ruled_out > 1 and not self.run.stopping():
            middle = (ruled_out + possible) // 2
            if not self.has_room(levels[middle]):
                break
            if self.relaxed(levels[middle]) is None:
                ruled_out = middle
            else:
                possible = middle
        return levels, ruled_out + 1

    def least_deviation(self) -> float:
        """A lower bound of the deviation of all k-anonymous counts with the right sum.

        A count below k moves to 0 or to k at least, and the changes add up to Σy − Σy⁰.
        """
        moved = np.minimum(self.original, self.problem.k - self.original)
        change = abs(self.total - int(self.original.sum()))
        return self.rounded(max(float(moved[self.original < self.problem.k].sum()), change))

    def rounded(self, deviation: float) -> float:
        """The least possible deviation that is no smaller, but for the error of a solver's bound.

        Deviations are whole, and odd or even as Σy − Σy⁰ is.
        """
        if not np.isfinite(deviation):
            return deviation
        odd = (self.total - int(self.original.sum())) % 2
        return float(2 * np.ceil((deviation - 0.2 * STEP - odd) / 2) + odd)

    def program(self, level: float, limit: float) -> Program:
        """Least deviation, at most ``limit``, within the windows of a level."""
        return count_program(replace(self.problem, deviation_weight=1.0), limit, level)

    def has_room(self, level: float) -> bool:
        """Whether there are time and memory for the relaxation of a level."""
        if level in self.relaxations:
            return True
        return has_room(replace(self.problem, deviation_weight=1.0), self.run, np.inf, level)

    def anneal(self, level: float) -> None:
        """Look for counts of small deviation within the windows of a level, once."""
        if level in self.annealed:
            return
        self.annealed.add(level)
        for penalty in PENALTIES:
            if self.run.stopping(iterations=self.proposals):
                break
            counts = anneal_within(
                self.original,
                self.best,
                self.domains,
                self.interaction,
                self.tolerance + level,
                penalty,
                self.run.rng,
                self.proposals,
            )
            if counts is not None:
                self.offer(counts)

    def least_deviation_within(
        self, level: float, lowest: float, least: float, others: float
    ) -> _Deviation:
        """D of a level, as far as solutions of an excess of at least ``lowest`` can win with it.

        ``least`` is a known bound of D. For w = 0 any counts within the windows will do. ``others``
        bounds all other solutions.
        """
        weight = self.problem.deviation_weight
        self.anneal(level)
        limit = float(self.total + self.original.sum())  # |y − y⁰| ≤ y + y⁰
        if weight > 0:
            limit = min(limit, (self.best_objective - lowest) / weight)
        if not self.has_room(level):
            return _Deviation(least, False, False)
        strong = self.relaxed(level)
        if strong is None:
            return _Deviation(limit, True, False)
        program = strong.relaxation.program
        known = program.objective(numbers_of(self.best, self.total))
        if weight == 0:
            search = self.search(limit)
            if known > limit:
                search.minimise(program)
            found = known <= limit or search.best is not None
            return _Deviation(0.0, found or search.complete, found)

        relaxation, duals = strong.relaxation, strong.duals
        bound = max(least, self.rounded(relaxation.lagrangian(duals)[0]))
        asked = 0
        while bound < known - 0.5 and self.can_win(lowest + weight * bound):
            self.run.proved(min(lowest + weight * bound, others, self.best_objective))
            upper = min(bound + 2 ** max(asked - PATIENCE, 0) - 1, limit) + STEP
            if asked and known > limit:  # there may be none
                upper = limit + STEP
            asked += 1
            search = self.search(upper)
            search.minimise(relaxation.reduce(duals, upper)[1])
            if not search.complete:
                return _Deviation(max(bound, min(search.bound, limit)), False, False)
            if search.best is not None:
                return _Deviation(search.limit, True, True)
            bound = self.rounded(upper)
        return _Deviation(min(bound, known, limit), True, known <= limit)

    def relaxed(self, level: float) -> Strengthened | None:
        """The relaxation of a level, with cuts; None if the level has no solution."""
        if level not in self.relaxations:
            program = tidy(self.program(level, np.inf), self.run.stopping)
            strong = None
            if not program.infeasible:
                relaxation = relax(program, LEVEL_CONFIGURATIONS)
                strong = self.search(np.inf).strengthen(relaxation, CUT_ROUNDS)
            self.relaxations[level] = strong
        return self.relaxations[level]

    def search(self, limit: float) -> Search:
        """A search for counts of at most so much deviation; any will do if w = 0."""
        own_tree = self.backend.name == "highs"
        return Search(
            self.run,
            self.backend,
            found=lambda numbers, _: self.offer(counts_of(numbers, self.total)),
            limit=limit,
            rounded=self.rounded,
            rounds=() if own_tree and self.problem.deviation_weight > 0 else None,
            most_nodes=MOST_NODES if own_tree else 0,
            gap=1.99 if self.problem.deviation_weight > 0 else np.inf,
            final_configurations=0 if self.problem.deviation_weight > 0 else None,
        )
