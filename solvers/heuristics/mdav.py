"""MDAV, maximum distance to average vector (001, Alg. 2)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from kanopy.solvers.problem import Outcome, Problem
from kanopy.solvers.registry import register
from kanopy.solvers.run import Run
from numpy.typing import NDArray


def mdav_labels(
    points: NDArray[np.float64], k: int, stopping: Callable[[], bool] = lambda: False
) -> NDArray[np.int64]:
    """Partition the rows of ``points`` by MDAV; all clusters have k rows, the last up to 2k−1.

    >>> mdav_labels(np.array([[1.0], [9.0], [2.0], [8.0]]), 2).tolist()
    [0, 1, 0, 1]
    """
    n = len(points)
    labels = np.full(n, -1, dtype=np.int64)
    left = np.arange(n)
    cluster = 0

    def take(center: int) -> None:
        nonlocal left, cluster
        distance = ((points[left] - points[center]) ** 2).sum(axis=1)
        distance[left == center] = -1.0
        nearest = np.argsort(distance, kind="stable")[:k]
        labels[left[nearest]] = cluster
        left = np.delete(left, nearest)
        cluster += 1

    def farthest(origin: NDArray[np.float64]) -> int:
        return int(left[np.argmax(((points[left] - origin) ** 2).sum(axis=1))])

    while len(left) >= 3 * k:
        if stopping():
            from kanopy.solvers.kernels.quick import quick_partition

            labels[left] = cluster + quick_partition(points[left], k)
            return labels
        first = farthest(points[left].mean(axis=0))
        take(first)
        take(farthest(points[first]))
    if len(left) >= 2 * k:
        take(farthest(points[left].mean(axis=0)))
    labels[left] = cluster
    return labels


@register(
    "mdav",
    costs=("sse",),
    kinds=("numeric",),
    paper="001, Alg. 2",
    summary="clusters of k around the farthest rows from the average, in turn",
)
def mdav(problem: Problem, run: Run, options: object) -> Outcome:
    """Run MDAV on the weighted points."""
    return Outcome(labels=mdav_labels(problem.data.points, problem.k, run.stopping))
