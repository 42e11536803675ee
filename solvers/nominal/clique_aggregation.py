r"""The clique heuristic (000, 5.3 and Alg. 9): members leave their clusters until one is left.

Members of different clusters are joined by edges with weights that add up, over the edges between
one member of each cluster, to the χ² error,

.. math::

    w_{il} = 2 \sum_t \frac{f_{ti} f_{tl}}{\bar n_t}
             + \frac{\tilde w_i + \tilde w_l}{|\mathcal C^*| - 1} + \text{constant},
    \qquad
    \tilde w_i = \sum_t \frac{f_{ti}^2}{\bar n_t}
               - 2 \sum_t f_{ti} \frac{\bar n_t - n_t}{\bar n_t}.

In turn, each cluster that has several members left loses the one with the largest lower bound
Σ_{C'} min_{l∈C'} w_il of a choice that holds it.

Preprocessing (5.4) comes first, as for the greedy algorithm: f counts open cells only, n_t are the
values fixed before, and clusters that are decided leave the graph. ``preprocessing=False`` takes
the graph of 5.3 with all cells and clusters, where n_t = 0. Both graphs give every full choice the
same weight, but not the same bounds. A single cluster has no edges: there w̃ decides.

Clusters go in the order of their numbers; of equal bounds the lowest combination leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from kanopy.solvers.frequency.aggregation import complete, given_clusters
from kanopy.solvers.nominal.preprocessing import Choices, Floats, Ints
from kanopy.solvers.problem import Outcome, Problem
from kanopy.solvers.registry import register
from kanopy.solvers.run import Run

TIE = 1e-9
"""Bounds closer than this are equal."""


@dataclass(frozen=True)
class CliqueOptions:
    """Options of the clique heuristic.

    Attributes
    ----------
    preprocessing
        Whether cells and clusters that are fixed beforehand leave the graph.
    """

    preprocessing: bool = True


def clique_representatives(choices: Choices, stopping: Callable[[], bool] = lambda: False) -> Ints:
    """The option that each cluster takes; out of time, the first that is left.

    >>> from kanopy.instances.examples import example, partition
    >>> data = example("aggregation")
    >>> problem = Problem(data, 3, "chi2", control=data.tables(1))
    >>> choices = Choices.of(problem, partition("aggregation"))
    >>> problem.objective(choices.outcome(clique_representatives(choices)))
    0.0
    """
    members = choices.members
    open_cells = choices.cells >= 0
    # decided clusters have no open cells after preprocessing
    graph = np.unique(members.cluster[open_cells.any(axis=1)])
    option, table = np.nonzero(open_cells)
    cell = choices.cells[option, table]
    size = members.size[members.cluster].astype(np.float64)
    terms = size[option] ** 2 - 2.0 * size[option] * (choices.goal - choices.fixed)[cell]
    vertex = np.bincount(option, terms / choices.goal[cell], minlength=len(size))
    by_cell = np.argsort(cell, kind="stable")
    cell_start = np.searchsorted(cell[by_cell], np.arange(len(choices.goal) + 1))
    alive = np.ones(len(size), dtype=np.bool_)
    share = np.asarray(vertex / max(len(graph) - 1, 1), dtype=np.float64)
    waiting = choices.undecided.tolist()
    while waiting and not stopping():
        still = []
        for cluster in waiting:
            if stopping():
                break
            leaves = _heaviest(
                cluster,
                graph,
                members.start,
                choices.cells,
                cell_start,
                option[by_cell],
                size,
                choices.goal,
                share,
                alive,
            )
            alive[leaves] = False
            if alive[choices.options(cluster)].sum() > 1:
                still.append(cluster)
        waiting = still
    # one option of each cluster stays alive
    first = np.where(alive, np.arange(len(alive)), len(alive))
    return np.asarray(np.minimum.reduceat(first, members.start[:-1]), dtype=np.int64)


@njit(cache=True)
def _heaviest(
    cluster: int,
    graph: Ints,
    start: Ints,
    cells: Ints,
    cell_start: Ints,
    cell_options: Ints,
    size: Floats,
    goal: Floats,
    share: Floats,
    alive: NDArray[np.bool_],
) -> int:
    """Line 4: the option of a cluster with the largest lower bound."""
    worst, worst_value = -1, -np.inf
    shared = np.empty(len(size))
    for i in range(start[cluster], start[cluster + 1]):
        if not alive[i]:
            continue
        shared[:] = share
        for t in range(cells.shape[1]):
            c = cells[i, t]
            if c < 0:
                continue
            step = 2.0 * size[i] / goal[c]
            for e in range(cell_start[c], cell_start[c + 1]):
                shared[cell_options[e]] += step * size[cell_options[e]]
        value = share[i] * max(len(graph) - 1, 1)
        for other in graph:
            if other == cluster:
                continue
            least = np.inf
            for o in range(start[other], start[other + 1]):
                if alive[o] and shared[o] < least:
                    least = shared[o]
            value += least
        if value > worst_value + TIE:
            worst, worst_value = i, value
    return worst


@register(
    "aggregation-clique",
    shape="representatives",
    costs=("chi2",),
    kinds=("nominal",),
    paper="000, Alg. 9",
    summary="members that represent given clusters: the heaviest leave until one is left",
    options=CliqueOptions,
    prepare=complete,
)
def aggregation_clique(problem: Problem, run: Run, options: CliqueOptions) -> Outcome:
    """Representatives of the clusters in ``run.initial``."""
    choices = Choices.of(problem, given_clusters(run), fix=options.preprocessing)
    return choices.outcome(clique_representatives(choices, run.stopping))
