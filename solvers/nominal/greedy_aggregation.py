r"""Greedy aggregation (000, Alg. 8): cluster after cluster takes its best representative.

With n_t the cell values fixed so far, cluster C takes the member i of least

.. math:: \sum_t \frac{(f_{ti} + n_t - \bar n_t)^2}{\bar n_t},

which is what the text asks for, the lowest increase of the objective (5.2.1). The algorithm as
printed lacks the square (``criterion="printed"``): then n_t has no influence, and each cluster
takes the member of least Σ_t f_ti/n̄_t, the one in the largest cells that are open.

Clusters in the order of their numbers, ties to the lowest combination.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kanopy.instances.errors import unknown
from kanopy.solvers.frequency.aggregation import complete, given_clusters
from kanopy.solvers.nominal.preprocessing import Choices, Ints
from kanopy.solvers.problem import Outcome, Problem
from kanopy.solvers.registry import register
from kanopy.solvers.run import Run

CRITERIA = ("squared", "printed")


@dataclass(frozen=True)
class GreedyOptions:
    """Options of greedy aggregation.

    Attributes
    ----------
    criterion
        ``squared`` for the χ² error, ``printed`` for the sum without squares of Algorithm 8.
    """

    criterion: str = "squared"

    def __post_init__(self) -> None:
        if self.criterion not in CRITERIA:
            raise unknown("criterion", self.criterion, CRITERIA)


def greedy_representatives(choices: Choices, criterion: str = "squared") -> Ints:
    """The option that each cluster takes.

    >>> from kanopy.instances.examples import example, partition
    >>> data = example("aggregation")
    >>> problem = Problem(data, 3, "chi2", control=data.tables(1))
    >>> choices = Choices.of(problem, partition("aggregation"))
    >>> problem.objective(choices.outcome(greedy_representatives(choices)))
    0.0
    """
    chosen = choices.members.start[:-1].copy()
    surplus = (choices.fixed - choices.goal) / choices.goal
    weight = 1.0 / choices.goal
    # a cell of weight 0 takes up what is fixed
    surplus, weight = np.append(surplus, 0.0), np.append(weight, 0.0)
    squared = criterion == "squared"
    for cluster in choices.undecided.tolist():
        options = choices.options(cluster)
        size = float(choices.members.size[cluster])
        cells = choices.cells[options.start : options.stop]
        increase = size * weight[cells]
        if squared:
            increase += 2.0 * surplus[cells]
        best = int(np.argmin(np.round(increase.sum(axis=1), 9)))  # ties in spite of rounding
        chosen[cluster] += best
        surplus[cells[best]] += size * weight[cells[best]]
    return chosen


@register(
    "aggregation-greedy",
    shape="representatives",
    costs=("chi2",),
    kinds=("nominal",),
    paper="000, Alg. 8",
    summary="members that represent given clusters, chosen one after the other",
    options=GreedyOptions,
    prepare=complete,
)
def aggregation_greedy(problem: Problem, run: Run, options: GreedyOptions) -> Outcome:
    """Representatives of the clusters in ``run.initial``."""
    choices = Choices.of(problem, given_clusters(run))
    return choices.outcome(greedy_representatives(choices, options.criterion))
