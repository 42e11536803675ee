r"""The thesis' pipelines: a partition by duals, then representatives (000, chapters 4–6).

``own-`` is followed by a letter for each step (000, 6.2.5): the fractional solution *e*\ xact or
*h*\ euristic, the integer solution *e*\ xact or *h*\ euristic, the aggregation *e*\ xact, *g*\
reedy or by *c*\ liques. ``rand-e``, ``rand-g`` and ``rand-c`` aggregate random clusters.

γ and λ are (0.75, 1.5) after an optimal fractional solution, as table 6.5 has them for two of four
scenarios, and (0.25, 1.5) after a heuristic one, for which it has γ = 0.25 throughout and λ between
0.25 and 3; :data:`TABLE_6_5` holds them all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from kanopy.instances.errors import KanopyError, unknown
from kanopy.instances.microdata import Microdata
from kanopy.solvers.branch_and_price.start import unmerged
from kanopy.solvers.frequency.aggregation import AggregationOptions, aggregate, complete
from kanopy.solvers.heuristics.random_partition import random_partition
from kanopy.solvers.nominal.clique_aggregation import CliqueOptions, clique_representatives
from kanopy.solvers.nominal.fractional import Fractional, fractional_solution
from kanopy.solvers.nominal.greedy_aggregation import GreedyOptions, greedy_representatives
from kanopy.solvers.nominal.integer_step import integer_partition
from kanopy.solvers.nominal.preprocessing import Choices
from kanopy.solvers.problem import Outcome, Problem
from kanopy.solvers.registry import register
from kanopy.solvers.run import Run

Ints = NDArray[np.int64]

TABLE_6_5: Mapping[str, Mapping[str, tuple[float, float]]] = MappingProxyType(
    {
        "adult200m5": {"optimal": (0.5, 1.5), "heuristic": (0.25, 0.5)},
        "200m5_2percent": {"optimal": (0.75, 3.0), "heuristic": (0.25, 0.25)},
        "200m5_20percent": {"optimal": (0.75, 1.5), "heuristic": (0.25, 3.0)},
        "200m5_100percent": {"optimal": (0.75, 1.5), "heuristic": (0.25, 1.5)},
    }
)
"""γ and λ of each scenario (000, table 6.5)."""

LEFTOVERS = ("weight", "increase")


@dataclass(frozen=True)
class RandomOptions(AggregationOptions, GreedyOptions, CliqueOptions):
    """Options of the aggregation, each for the one that it belongs to."""


@dataclass(frozen=True)
class ExactOptions(RandomOptions):
    """Options after an optimal fractional solution.

    Attributes
    ----------
    gamma
        γ, the weight of the duals, from 0 (original) to 1 (reduced costs).
    lambda_
        λ > 0, the reward for each row of a cluster; also by the name ``lambda``.
    most_columns
        n_max of Algorithm 5; 0 sets no limit.
    leftovers
        Rows left at the end join the cluster that has the least ``weight`` with them, as printed,
        or the one of least ``increase``.
    rows_apart
        Tables of up to so many rows have an equation for each row in the restricted master;
        identical rows of larger ones share theirs.
    """

    gamma: float = 0.75
    lambda_: float = 1.5
    most_columns: int = 0
    leftovers: str = "weight"
    rows_apart: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.gamma <= 1:
            raise KanopyError(f"gamma = {self.gamma}; choose 0 ≤ gamma ≤ 1")
        if not 0 < self.lambda_ < np.inf:
            raise KanopyError(f"lambda_ = {self.lambda_}; choose lambda_ > 0")
        if self.most_columns < 0:
            raise KanopyError(f"most_columns = {self.most_columns}; choose 0 or more")
        if self.leftovers not in LEFTOVERS:
            raise unknown("rule for leftovers", self.leftovers, LEFTOVERS)


@dataclass(frozen=True)
class HeuristicOptions(ExactOptions):
    """The same after a heuristic fractional solution, which other equations would change."""

    gamma: float = 0.25
    rows_apart: int = 2000


def own_partition(
    problem: Problem, run: Run, options: ExactOptions, *, fractional: str, integer: str
) -> Ints:
    """The partitioning step: labels of the rows.

    >>> from kanopy.instances.examples import example
    >>> problem = Problem(example("aggregation"), 3, "hamming")
    >>> own_partition(problem, Run(problem), ExactOptions(), fractional="e", integer="h").tolist()
    [1, 1, 0, 2, 2, 0, 1, 2, 0]
    """
    if problem.n < 2 * problem.k:
        return np.zeros(problem.n, dtype=np.int64)
    data, solved = own_fractional(problem, run, options, fractional)
    return integer_partition(
        data,
        problem.k,
        solved.duals,
        run,
        gamma=options.gamma,
        lam=options.lambda_,
        exact=integer == "e",
        leftovers=options.leftovers,
    )


def own_fractional(
    problem: Problem, run: Run, options: ExactOptions, fractional: str
) -> tuple[Microdata, Fractional]:
    """The fractional step, which γ and λ have no part in, and the table that its duals are of."""
    data = unmerged(problem.data) if problem.n <= options.rows_apart else problem.data
    exact = fractional == "e"
    solved = fractional_solution(
        data, problem.k, run, exact=exact, most_columns=options.most_columns
    )
    return data, solved


def own_aggregation(
    problem: Problem, labels: Ints, run: Run, options: RandomOptions, method: str
) -> Outcome:
    """The aggregation step: exact, greedy or by cliques. A bound would hold for these clusters."""
    if method == "g":
        choices = Choices.of(problem, labels)
        return choices.outcome(greedy_representatives(choices, options.criterion))
    if method == "c":
        choices = Choices.of(problem, labels, fix=options.preprocessing)
        return choices.outcome(clique_representatives(choices, run.stopping))
    part = Run(problem, run.share(1), run.seed)
    outcome = aggregate(problem, labels, part, options)
    return replace(outcome, bound=None)


def _pipeline(
    problem: Problem, run: Run, options: RandomOptions, method: str, partition: Callable[[], Ints]
) -> Outcome:
    known = [] if run.initial is None else [run.initial]
    outcomes = []
    for labels in (*known, partition()):
        if method == "e":  # at hand should the run be interrupted; the optimum is no worse
            quick = own_aggregation(problem, labels, run, options, "g")
            run.found(quick, problem.objective(quick))
        outcomes.append(own_aggregation(problem, labels, run, options, method))
    return min(outcomes, key=problem.objective)


def _register_own(fractional: str, integer: str, aggregation: str) -> None:
    words = {"e": "exact", "h": "heuristic", "g": "greedy", "c": "clique"}

    @register(
        f"own-{fractional}{integer}{aggregation}",
        shape="representatives",
        costs=("chi2",),
        kinds=("nominal",),
        paper="000, 4–6",
        summary=f"{words[fractional]} duals, {words[integer]} clusters, "
        f"{words[aggregation]} representatives",
        options=ExactOptions if fractional == "e" else HeuristicOptions,
        prepare=complete,
    )
    def own(problem: Problem, run: Run, options: ExactOptions) -> Outcome:
        def partition() -> Ints:
            return own_partition(problem, run, options, fractional=fractional, integer=integer)

        return _pipeline(problem, run, options, aggregation, partition)


def _register_random(aggregation: str) -> None:
    words = {"e": "exact", "g": "greedy", "c": "clique"}

    @register(
        f"rand-{aggregation}",
        shape="representatives",
        costs=("chi2",),
        kinds=("nominal",),
        paper="000, 6.2.5",
        summary=f"random clusters, {words[aggregation]} representatives: the baseline",
        options=RandomOptions,
        prepare=complete,
    )
    def rand(problem: Problem, run: Run, options: RandomOptions) -> Outcome:
        def partition() -> Ints:
            labels = random_partition(problem, run, None).labels
            assert labels is not None
            return labels

        return _pipeline(problem, run, options, aggregation, partition)


for _letters in product("eh", "eh", "egc"):
    _register_own(*_letters)
for _letter in "egc":
    _register_random(_letter)
