"""MDAV, maximum distance to average vector (001, Alg. 2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kanopy.solvers.kernels.average_vector import average_vector, make_rest
from kanopy.solvers.kernels.chunks import Stopping, in_chunks, never
from kanopy.solvers.kernels.prepare import finished, prepared, trivial_labels
from kanopy.solvers.kernels.quick import quick_exit
from kanopy.solvers.problem import Outcome, Problem
from kanopy.solvers.registry import register
from kanopy.solvers.run import Run


def mdav_labels(
    points: NDArray[np.float64], k: int, stopping: Stopping = never
) -> NDArray[np.int64]:
    """Partition the rows of ``points`` by MDAV; all clusters have k rows, the last up to 2k−1.

    While 3k rows or more are unassigned, the row x_r farthest from their centroid and the row x_s
    farthest from x_r become clusters with their k−1 nearest neighbours each. Of 2k … 3k−1 rows, x_r
    and its neighbours are one cluster and the rest another.

    The thesis prints the loop as "repeat … until |U| < 3k", which would empty a table of fewer than
    3k rows; it is read as "while |U| ≥ 3k", as the text around it says. x_s is sought after the
    cluster of x_r was taken away, which is the same except among rows at equal distance.

    Parameters
    ----------
    points
        One row per record, at least k of them.
    k
        Least cluster size.
    stopping
        Asked now and then; once it says True, the rest is clustered in a hurry.

    Examples
    --------
    >>> mdav_labels(np.array([[1.0], [9.0], [2.0], [8.0]]), 2).tolist()
    [0, 1, 0, 1]
    """
    trivial = trivial_labels(len(points), k)
    if trivial is not None:
        return trivial
    rows, rotation = prepared(points)
    state = make_rest(rows, rotation, k)
    in_chunks(lambda steps: average_vector(state, k, steps), stopping)
    return finished(rows, state.labels, int(state.labels.max()) + 1, k)


@register(
    "mdav",
    costs=("sse",),
    kinds=("numeric",),
    paper="001, Alg. 2",
    summary="clusters of k around the rows farthest from the average, and opposite to them",
)
def mdav(problem: Problem, run: Run, _options: object) -> Outcome:
    """Run MDAV on the weighted points."""
    with quick_exit(run):
        labels = mdav_labels(problem.data.points, problem.k, run.stopping)
    return Outcome(labels=labels)
