"""The aggregation step, exactly: one member of each cluster stands for all of it (000, 5.2)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from kanopy.instances.errors import KanopyError
from kanopy.solvers.frequency.annealing import Interaction, anneal_representatives
from kanopy.solvers.frequency.program import Floats, Ints, Program
from kanopy.solvers.frequency.search import MOST_NODES, Search, choose_backend, stronger_backend
from kanopy.solvers.problem import Outcome, Problem
from kanopy.solvers.registry import register
from kanopy.solvers.run import Run


@dataclass(frozen=True)
class AggregationOptions:
    """How the aggregation problem is solved.

    Attributes
    ----------
    backend
        ``highs``, ``cpsat``, ``gurobi`` or ``scip``; ``auto`` is HiGHS, and CP-SAT for what is hard
        if that is installed.
    proposals
        Moves that simulated annealing tries at a time.
    """

    backend: str = "auto"
    proposals: int = 200_000


@dataclass(frozen=True, eq=False)
class Members:
    """The distinct members of each cluster.

    Cluster C of ``size[C]`` rows may become any combination ``kind[start[C]:start[C+1]]``;
    ``row`` is the first row of the cluster that has it.
    """

    size: Ints
    start: Ints
    kind: Ints
    row: Ints

    @classmethod
    def of(cls, types: Ints, labels: Ints) -> Members:
        """Members of the clusters of a partition, given the combination of each row.

        >>> Members.of(np.array([0, 0, 1, 2]), np.array([0, 0, 0, 1])).kind.tolist()
        [0, 1, 2]
        """
        width = int(types.max()) + 1
        numbers, row = np.unique(labels * width + types, return_index=True)
        cluster = numbers // width
        start = np.searchsorted(cluster, np.arange(int(labels.max()) + 2))
        return cls(np.bincount(labels), start.astype(np.int64), numbers % width, row)

    @property
    def cluster(self) -> Ints:
        """Cluster of each option."""
        return np.repeat(np.arange(len(self.size)), np.diff(self.start))


def complete(problem: Problem, options: object) -> Problem:
    """The problem with the objective of eq. 5.2.1, which has no weight for the deviation."""
    return replace(problem, deviation_weight=0.0)


@register(
    "aggregation-exact",
    shape="representatives",
    costs=("chi2",),
    kinds=("nominal",),
    exact=True,
    bound=True,
    paper="000, 5.2",
    summary="members that represent given clusters with the least χ² error, exactly",
    options=AggregationOptions,
    prepare=complete,
)
def aggregation_exact(problem: Problem, run: Run, options: AggregationOptions) -> Outcome:
    """Representatives of the clusters in ``run.initial``."""
    return aggregate(problem, given_clusters(run), run, options)


def given_clusters(run: Run) -> Ints:
    """The clusters that the user gave."""
    if run.initial is None:
        raise KanopyError("aggregation needs clusters; give them as initial=labels")
    return run.initial


def aggregate(
    problem: Problem,
    labels: Ints,
    run: Run,
    options: AggregationOptions | None = None,
    members: Members | None = None,
) -> Outcome:
    """Optimal representatives of the clusters 0, 1, 2, … of ``labels``, with a proven bound.

    ``members`` are what each cluster may become; by default its own distinct rows.

    Examples
    --------
    >>> from kanopy.instances.examples import example, partition
    >>> data = example("aggregation")
    >>> problem = Problem(data, 3, "chi2", control=data.tables(1))
    >>> outcome = aggregate(problem, partition("aggregation"), Run(problem))
    >>> problem.objective(outcome), outcome.bound
    (0.0, 0.0)
    """
    options = options or AggregationOptions()
    assert problem.control is not None
    backend = choose_backend(options.backend)
    members = members or Members.of(problem.data.types, labels)
    original = problem.data.counts
    interaction = Interaction(problem.control, original)

    def outcome(chosen: Ints) -> Outcome:
        return Outcome(labels=labels, representatives=members.row[np.sort(chosen)])

    def report(chosen: Ints) -> float:
        objective = problem.objective(outcome(chosen))
        run.found(outcome(chosen), objective)
        return objective

    def anneal(best: Ints, allowed: Ints, times: int) -> Ints:
        """Anneal over the allowed options only; options are numbered as in ``members``."""
        start = np.searchsorted(members.cluster[allowed], np.arange(len(members.size) + 1))
        for _ in range(times):
            if run.stopping(iterations=options.proposals):
                break
            found = anneal_representatives(
                original,
                np.searchsorted(allowed, best),
                members.size,
                start.astype(np.int64),
                members.kind[allowed],
                interaction,
                run.rng,
                options.proposals,
            )
            best = min(best, allowed[found], key=lambda o: problem.objective(outcome(o)))
        return best

    def improve(program: Program) -> Ints:
        assert search.best is not None
        allowed = np.sort(np.concatenate([program.decided, program.number]))
        return anneal(np.sort(search.best), allowed, 2)

    best = members.start[:-1]
    report(best)
    run.proved(0.0)  # all terms are squares
    best = anneal(best, np.arange(len(members.kind)), 6)
    limit = report(best)
    search = Search(
        run,
        backend,
        found=lambda numbers, _: report(numbers),
        proved=run.proved,
        improve=improve,
        limit=limit,
        best=best,
        most_nodes=MOST_NODES if backend.name == "highs" else 0,
        stronger=stronger_backend(options.backend),
    )
    if not run.stopping():  # to set up the program takes a while by itself
        search.minimise(member_program(problem, members, limit))
    assert search.best is not None
    bound = max(0.0, search.bound)
    return replace(outcome(search.best), bound=bound, solver=search.backend.version())


def member_program(problem: Problem, members: Members, limit: float) -> Program:
    """The aggregation problem as a choice program: one group per cluster, one option per member.

    A cluster counts in a cell with all its rows or not at all, so every cell is 0 or at least the
    size of the smallest cluster. Each χ² term of a solution that costs at most ``limit`` is at
    most that. Propagation leaves of the other values those that the clusters can add up to.
    """
    assert problem.control is not None
    goal = problem.control.values(problem.data.counts).astype(np.float64)
    reach = np.sqrt(limit * goal) * (1 + 1e-9) + 1e-9
    low = np.maximum(np.ceil(goal - reach), 0).astype(np.int64)
    high = np.minimum(np.floor(goal + reach), problem.n).astype(np.int64)
    smallest = int(members.size.min())
    values = []
    for least, most in zip(low, high, strict=True):
        value = np.arange(least, most + 1)
        values.append(value[(value == 0) | (value >= smallest)])
    cell = np.repeat(np.arange(len(goal)), [len(value) for value in values])
    value = np.concatenate(values)
    width = len(members.kind)
    grown = sp.csr_array(
        (members.size[members.cluster], (members.kind, np.arange(width))),
        shape=(len(problem.data.counts), width),
    )
    return Program(
        start=members.start,
        cost=np.zeros(width),
        number=np.arange(width),
        amount=sp.csr_array(problem.control.matrix @ grown),
        sum_start=np.concatenate([[0], np.cumsum([len(v) for v in values])]).astype(np.int64),
        sum_value=value.astype(np.int64),
        sum_cost=_chi2(value, goal[cell]),
    )


def _chi2(value: Ints, goal: Floats) -> Floats:
    return np.asarray((value - goal) ** 2 / goal)
