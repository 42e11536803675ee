"""Exact search: reduce a choice program by ever tighter relaxations, then solve what is left.

Each round relaxes the program with larger blocks and cuts, raises the bound, drops what the bound
rules out, and lets a heuristic look for a better solution in what remains. Many programs of the
thesis are empty after a few rounds; the others are left to a tree of our own or, if that grows too
large or another solver is asked for, to a mixed-integer solver.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from kanopy.instances.errors import KanopyError
from kanopy.models.linear_form import LinearForm
from kanopy.solvers.backends.choice import find_backend
from kanopy.solvers.backends.protocol import Backend, Limits
from kanopy.solvers.frequency.branching import Tree
from kanopy.solvers.frequency.live import LiveLinear
from kanopy.solvers.frequency.program import Floats, Ints, Program, simplify
from kanopy.solvers.frequency.propagation import propagate
from kanopy.solvers.frequency.relaxation import Relaxation, relax
from kanopy.solvers.frequency.rounding import Rounding
from kanopy.solvers.run import Run

ROUNDS = (0, 0, 100, 100, 400, 1000, 3000)
"""Most configurations of a block, round by round; all rounds but the first add cuts."""
CUT_ROUNDS = 12
"""How often cuts are added to a relaxation."""
CUT_GAIN = 0.02
"""Cuts go on while some rounds gain so much of what the bound has gained so far, or lacks."""
CUT_PATIENCE = 2
"""How many rounds these are."""
MOST_NODES = 3000
"""Nodes of our own tree before a mixed-integer solver takes over where errors are squared."""
FINAL_CONFIGURATIONS = 100
"""Most configurations of a block in the mixed-integer program."""
MANY_OPTIONS = 100
"""So many undecided options make ``auto`` hand the rest to CP-SAT, if that is installed."""
CLOSED = 1e-8
"""Relative gap at which a search ends."""
SOLVER_ERROR = 1e-7
"""Relative error that the bound of a mixed-integer solver working in doubles may have."""
COST_UNIT = 1e-8
"""Costs are rounded to multiples of this for a solver that works in whole numbers."""


@dataclass(frozen=True, eq=False)
class Strengthened:
    """A relaxation with cuts, in a running solver, and its duals."""

    relaxation: Relaxation
    live: LiveLinear
    duals: Floats


@dataclass
class Search:
    """Minimise a choice program.

    Parameters
    ----------
    run
        Clock and stopping rule.
    backend
        Solver for what the relaxations leave over.
    found
        Called with the numbers of the options of each better solution, and its objective.
    proved
        Called with lower bounds of the optimum, or of ``limit`` if that is less.
    improve
        A heuristic that looks for a good solution in a reduced program.
    limit
        Solutions that cost more are of no interest; lowered whenever a better one is found.
    best
        Numbers of the options of the best solution so far.
    rounded
        The least objective that a solution can have, no smaller than a given bound.
    gap
        A solution so close to the bound, in absolute terms, is known to be optimal.
    final_configurations
        Most configurations of a block in the mixed-integer program.
    stronger
        Solver that takes the place of ``backend`` if there are many options.
    most_nodes
        Nodes of our own tree before that; none if 0.
    rounds
        Most configurations of a block, round by round, if not ``ROUNDS``.
    """

    run: Run
    backend: Backend
    found: Callable[[Ints, float], object] = lambda numbers, objective: None
    proved: Callable[[float], object] = lambda bound: None
    improve: Callable[[Program], Ints | None] = lambda program: None
    limit: float = np.inf
    best: Ints | None = None
    rounded: Callable[[float], float] = lambda bound: bound
    gap: float = CLOSED
    final_configurations: int | None = None
    stronger: Backend | None = None
    most_nodes: int = 0
    rounds: tuple[int, ...] | None = None
    bound: float = field(default=-np.inf, init=False)
    complete: bool = field(default=False, init=False)
    beyond: bool = field(default=False, init=False)
    """Whether the bound was above the limit while no solution was known: there is none."""

    def minimise(self, program: Program) -> None:
        """Search; afterwards ``best`` and ``bound`` say what is known, and ``complete`` if all is.

        ``bound`` holds for all solutions that cost at most the initial ``limit``: where none does,
        it is the limit.
        """
        self.source = program
        program = tidy(program, self.stopping)
        self.prove(_least_cost(program))
        options = np.inf
        rounds = ROUNDS if self.rounds is None else self.rounds
        for number, configurations in enumerate(rounds):
            if self.solved(program) or self.stopping():
                return
            if configurations and len(program.cost) > 0.98 * options:
                break  # the last round did not help
            options = len(program.cost)
            relaxation = relax(program, configurations)
            if self.stopping():  # a solver takes a while to read a large one
                return
            strong = self.strengthen(relaxation, CUT_ROUNDS if number else 0)
            if strong is None:
                self.exhausted()
                return
            bound, program = strong.relaxation.reduce(strong.duals, self.limit)
            self.prove(bound)
            program = tidy(program, self.stopping)
            if not self.solved(program):
                self.offer(self.improve(program))
        if not self.solved(program) and not self.stopping():
            if self.most_nodes:
                self.finish_by_branching(program)
            if not self.complete and not self.stopping():
                self.finish_by_integers(program)

    def strengthen(self, relaxation: Relaxation, rounds: int) -> Strengthened | None:
        """Solve a relaxation and add cuts that its solution breaks; None if nothing is left."""
        live = LiveLinear(relaxation.form, self.stopping)
        rounding = Rounding(relaxation)
        point = live.solve(relaxation.refuted)
        bounds = [-np.inf]
        while point is not None:
            bounds.append(relaxation.lagrangian(point.duals)[0])
            if len(bounds) > rounds + 1 or not point.optimal:
                break
            if self.hopeless(bounds[-1]) or _stalled(bounds, self.limit):
                break
            cuts = rounding.violated(point.x)
            if cuts.shape[0] == 0:
                break
            relaxation = relaxation.with_cuts(cuts)
            live.add(cuts)
            point = live.solve(relaxation.refuted)
        if point is None:
            return None
        return Strengthened(relaxation, live, point.duals)

    def finish_by_branching(self, program: Program) -> None:
        """Branch and bound on what is left."""
        strong = self.strengthen(relax(program, 0), CUT_ROUNDS)
        if strong is None:
            self.exhausted()
        else:
            self.complete = Tree(strong.relaxation, strong.live, self).search(self.most_nodes)

    def solved(self, program: Program) -> bool:
        """Whether nothing is left to decide, or to gain."""
        if not self.complete:
            if program.groups == 0 and not program.infeasible:
                self.offer(program.decided)
            if program.groups == 0 or program.infeasible:
                self.exhausted()
            else:
                self.complete = self.closed
        return self.complete

    @property
    def closed(self) -> bool:
        """Whether the bound is so close to the limit that nothing can be gained."""
        if self.best is None:  # a solution that costs just the limit is still of interest
            return self.beyond
        if np.isinf(self.limit) or np.isinf(self.bound):
            return False
        gap = CLOSED * max(1.0, abs(self.limit))
        return self.limit - self.bound <= max(gap, self.gap)

    def hopeless(self, bound: float) -> bool:
        """Whether solutions that cost so much are of no interest."""
        gap = 0.0
        if self.best is not None:
            gap = max(CLOSED * max(1.0, abs(self.limit)), self.gap)
        return self.rounded(bound) > self.limit - gap

    def stopping(self, nodes: int = 0) -> bool:
        """Count nodes, and say whether the run is to end."""
        return self.run.stopping(nodes=nodes)

    def exhausted(self) -> None:
        """Nothing that costs less than the limit is left."""
        self.prove(self.limit)
        self.complete = True

    def prove(self, bound: float) -> None:
        """Raise the bound; what was dropped costs more than the limit."""
        bound = self.rounded(bound)
        self.beyond |= self.best is None and bound > self.limit
        bound = min(bound, self.limit)
        if bound > self.bound:
            self.bound = bound
            self.proved(bound)

    def offer(self, numbers: Ints | None) -> None:
        """Keep a solution if it is better."""
        if numbers is None:
            return
        objective = self.source.objective(numbers)
        if np.isinf(objective):  # the numbers are no solution
            return
        if objective < self.limit or (self.best is None and objective <= self.limit):
            self.limit, self.best = objective, numbers
            self.found(numbers, objective)

    def limits(self) -> Limits:
        """What is left of the time."""
        return Limits(
            seconds=self.run.remaining(),
            seed=self.run.seed,
            absolute_gap=min(self.gap, 1e9),  # solvers want a number
            interrupted=lambda: self.run.stopping() or self.closed,
        )

    def finish_by_integers(self, program: Program) -> None:
        """Hand what is left to a mixed-integer solver."""
        if self.stronger is not None and len(program.cost) > MANY_OPTIONS:
            self.backend = self.stronger
        whole = not self.backend.capabilities.milp
        blocks = self.final_configurations
        if blocks is None:
            blocks = FINAL_CONFIGURATIONS
        relaxation = relax(program, 0 if whole else blocks, whole_sums=whole)
        form, unit, error = relaxation.form, 1.0, SOLVER_ERROR
        if whole:
            form, unit = _in_units(form), COST_UNIT
            # One column of each set is chosen, and each is off by at most half a unit.
            error = 0.0
        lost = 0.5 * unit * (relaxation.owner[-1] + 1) if whole else 0.0

        def proven(bound: float) -> float:
            return bound * unit - lost - error * max(1.0, abs(bound))

        def progress(x: Floats | None, bound: float) -> None:
            if x is not None:
                self.offer(relaxation.options(x))
            if np.isfinite(bound):
                self.prove(proven(bound))

        start = None if self.best is None else relaxation.point(self.best)
        answer = self.backend.solve(form, self.limits(), start, progress)
        if answer.status == "failed":
            raise KanopyError(f"{answer.message}; try the option backend with another solver")
        if answer.status == "infeasible":
            self.exhausted()
            return
        progress(answer.x, answer.bound)
        self.complete = answer.status == "optimal" or self.closed


def stronger_backend(name: str) -> Backend | None:
    """CP-SAT for ``auto`` where it is installed: it proves large programs of χ² errors sooner."""
    backend = find_backend("cpsat")
    return backend if name == "auto" and backend.unavailable() is None else None


def choose_backend(name: str) -> Backend:
    """The back-end of that name, ready to be used; ``auto`` is HiGHS."""
    backend = find_backend("highs" if name == "auto" else name)
    if reason := backend.unavailable():
        raise KanopyError(reason)
    return backend


def _least_cost(program: Program) -> float:
    """A bound for want of a better one: every group and every sum costs at least its minimum."""
    if program.infeasible:
        return np.inf
    least = 0.0
    for costs, starts in (
        (program.cost, program.start),
        (program.sum_cost, program.sum_start),
    ):
        if len(costs):
            least += float(np.minimum.reduceat(costs, starts[:-1]).sum())
    return program.constant + least - 1e-9 * max(1.0, abs(program.constant) + abs(least))


def _stalled(bounds: list[float], limit: float) -> bool:
    """Whether the last rounds of cuts gained little, measured by all gains and by the gap."""
    if len(bounds) < CUT_PATIENCE + 2:
        return False
    scale = min(bounds[-1] - bounds[1], limit - bounds[-1])
    return bounds[-1] - bounds[-1 - CUT_PATIENCE] < CUT_GAIN * scale


def tidy(program: Program, stopping: Callable[[], bool] = lambda: False) -> Program:
    """The program after simplification and propagation, or as much of that as there is time for."""
    if stopping():
        return program
    simple = simplify(program)
    if stopping():
        return simple
    smaller = propagate(simple, stopping)
    return smaller if stopping() else simplify(smaller)


def _in_units(form: LinearForm) -> LinearForm:
    """The same program with its costs in whole multiples of the unit."""
    return replace(form, cost=np.rint(form.cost / COST_UNIT), constant=form.constant / COST_UNIT)
