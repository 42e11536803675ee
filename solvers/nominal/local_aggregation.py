"""Representatives by local search, never worse than those of Algorithms 8 and 9.

The better of the two is where simulated annealing over the members of the clusters begins, one or
two clusters at a time; what it finds is polished until no single cluster has a better member.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kanopy.solvers.frequency.aggregation import complete, given_clusters
from kanopy.solvers.frequency.annealing import Interaction, anneal_representatives
from kanopy.solvers.nominal.clique_aggregation import clique_representatives
from kanopy.solvers.nominal.greedy_aggregation import greedy_representatives
from kanopy.solvers.nominal.preprocessing import Choices, Ints
from kanopy.solvers.problem import Outcome, Problem
from kanopy.solvers.registry import register
from kanopy.solvers.run import Run

SLICE = 100_000
"""Proposals of annealing between two questions whether to stop."""


@dataclass(frozen=True)
class LocalOptions:
    """Options of the local search on representatives.

    Attributes
    ----------
    proposals
        Moves that one annealing tries; it is repeated ``times`` times from the best.
    times
        How often to anneal.
    """

    proposals: int = SLICE
    times: int = 5


def local_representatives(
    problem: Problem, labels: Ints, run: Run, options: LocalOptions | None = None
) -> Outcome:
    """The best choice found for the clusters of ``labels``.

    >>> from kanopy.instances.examples import example, partition
    >>> data = example("aggregation")
    >>> problem = Problem(data, 3, "chi2", control=data.tables(2))
    >>> outcome = local_representatives(problem, partition("aggregation"), Run(problem))
    >>> round(problem.objective(outcome), 6)
    9.0
    """
    options = options or LocalOptions()
    assert problem.control is not None
    choices = Choices.of(problem, labels)
    members = choices.members
    starts = [greedy_representatives(choices)]
    if not run.stopping():
        starts.append(clique_representatives(choices, run.stopping))
    best = min(starts, key=lambda chosen: problem.objective(choices.outcome(chosen)))
    interaction: Interaction | None = None
    for _ in range(options.times):
        if run.stopping(iterations=options.proposals) or len(choices.undecided) == 0:
            break
        interaction = interaction or Interaction(problem.control, problem.data.counts)
        found = anneal_representatives(
            problem.data.counts,
            best,
            members.size,
            members.start,
            members.kind,
            interaction,
            run.rng,
            options.proposals,
        )
        best = min(best, found, key=lambda chosen: problem.objective(choices.outcome(chosen)))
    best = descend(choices, best, run)
    return choices.outcome(best)


def descend(choices: Choices, chosen: Ints, run: Run) -> Ints:
    """Change one cluster at a time to its best member until none gets better."""
    chosen = chosen.copy()
    values = choices.fixed - choices.goal
    sizes = choices.members.size.astype(np.float64)
    cells = choices.cells[chosen]
    taken = cells >= 0
    np.add.at(values, cells[taken], np.broadcast_to(sizes[:, None], cells.shape)[taken])
    # a cell of weight 0 takes up what is fixed
    surplus, weight = np.append(values, 0.0), np.append(1.0 / choices.goal, 0.0)
    better = True
    while better and not run.stopping():
        better = False
        for cluster in choices.undecided.tolist():
            options = choices.options(cluster)
            cells, size = choices.cells[options.start : options.stop], sizes[cluster]
            here = cells[chosen[cluster] - options.start]
            surplus[here] -= size
            increase = ((2.0 * surplus + size) * size * weight)[cells].sum(axis=1)
            best = options.start + int(np.argmin(increase))
            gain = increase[chosen[cluster] - options.start] - increase[best - options.start]
            if gain > 1e-9:
                chosen[cluster] = best
                better = True
            surplus[choices.cells[chosen[cluster]]] += size
    return chosen


@register(
    "aggregation-local",
    shape="representatives",
    costs=("chi2",),
    kinds=("nominal",),
    paper="kanopy",
    summary="members that represent given clusters, by annealing from the better of 000's two",
    options=LocalOptions,
    prepare=complete,
)
def aggregation_local(problem: Problem, run: Run, options: LocalOptions) -> Outcome:
    """Representatives of the clusters in ``run.initial``."""
    return local_representatives(problem, given_clusters(run), run, options)
