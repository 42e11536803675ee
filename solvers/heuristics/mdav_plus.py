"""MDAV+, MDAV with one fixed centroid (001, Alg. 3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kanopy.solvers.heuristics.md import ClosestOptions
from kanopy.solvers.heuristics.v_mdav import v_mdav_labels
from kanopy.solvers.kernels.chunks import Stopping, never
from kanopy.solvers.kernels.quick import quick_exit
from kanopy.solvers.problem import Outcome, Problem
from kanopy.solvers.registry import register
from kanopy.solvers.run import Run


def mdav_plus_labels(
    points: NDArray[np.float64], k: int, closest: str = "centroid", stopping: Stopping = never
) -> NDArray[np.int64]:
    """Partition the rows of ``points`` by MDAV+; every cluster has k … 2k−1 rows.

    In turn, the unassigned row farthest from the centroid of *all* rows becomes a cluster with its
    k−1 nearest unassigned rows. The last, fewer than k rows join the closest clusters. This is
    V-MDAV with γ = 0.

    >>> mdav_plus_labels(np.array([[1.0], [9.0], [2.0], [8.0], [3.0]]), 2).tolist()
    [1, 0, 1, 0, 1]
    """
    return v_mdav_labels(points, k, 0.0, closest, stopping)


@register(
    "mdav+",
    costs=("sse",),
    kinds=("numeric",),
    paper="001, Alg. 3",
    summary="clusters of k from the outside in; the fastest of its family",
    options=ClosestOptions,
)
def mdav_plus(problem: Problem, run: Run, options: ClosestOptions) -> Outcome:
    """Run MDAV+ on the weighted points."""
    with quick_exit(run):
        labels = mdav_plus_labels(problem.data.points, problem.k, options.closest, run.stopping)
    return Outcome(labels=labels)
