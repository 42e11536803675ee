"""MD, maximum distance (001, Alg. 1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kanopy.solvers.kernels.chunks import Stopping, in_chunks, never
from kanopy.solvers.kernels.farthest_pair import farthest_pair, make_pairs
from kanopy.solvers.kernels.leftovers import closest_rule
from kanopy.solvers.kernels.prepare import finished, prepared, trivial_labels
from kanopy.solvers.kernels.quick import quick_exit
from kanopy.solvers.problem import Outcome, Problem
from kanopy.solvers.registry import register
from kanopy.solvers.run import Run


@dataclass(frozen=True)
class ClosestOptions:
    """How the last, fewer than k rows choose a cluster.

    Attributes
    ----------
    closest
        ``"centroid"``: nearest centroid; ``"element"``: that of the nearest row; ``"cost"``: least
        increase of the cost (001, 5.1, "Determination of the closest cluster").
    """

    closest: str = "centroid"

    def __post_init__(self) -> None:
        closest_rule(self.closest)


def md_labels(
    points: NDArray[np.float64], k: int, closest: str = "centroid", stopping: Stopping = never
) -> NDArray[np.int64]:
    """Partition the rows of ``points`` by MD.

    While 2k rows or more are unassigned, the two in greatest distance to each other become clusters
    with their k−1 nearest neighbours each. A rest of k rows or more is a cluster, a smaller one
    joins the closest clusters.

    Of the two rows the one of higher number is the first, x_r, to choose its neighbours, which the
    thesis leaves open; this order gives the printed numbers, the other misses some by 2 %. Of pairs
    in equal distance the one with the lowest row wins, then the lowest partner; an x_s that went
    into the first cluster, which needs all distances to be equal, is replaced by the row left that
    is farthest from x_r.

    The thesis stores all n² distances, too many for its Adult table. Here bounds take their place
    (see :mod:`kanopy.solvers.kernels.farthest_pair`), and memory is linear.

    >>> md_labels(np.array([[1.0], [9.0], [2.0], [8.0], [3.0]]), 2).tolist()
    [1, 0, 1, 0, 1]
    """
    rule = closest_rule(closest)
    trivial = trivial_labels(len(points), k)
    if trivial is not None:
        return trivial
    rows, rotation = prepared(points)
    state = make_pairs(rows, rotation, k)
    in_chunks(lambda steps: farthest_pair(state, k, steps), stopping)
    return finished(rows, state.labels, int(state.labels.max()) + 1, k, rule)


@register(
    "md",
    costs=("sse",),
    kinds=("numeric",),
    paper="001, Alg. 1",
    summary="clusters of k around the two rows in greatest distance, in turn",
    options=ClosestOptions,
)
def md(problem: Problem, run: Run, options: ClosestOptions) -> Outcome:
    """Run MD on the weighted points."""
    with quick_exit(run):
        labels = md_labels(problem.data.points, problem.k, options.closest, run.stopping)
    return Outcome(labels=labels)
