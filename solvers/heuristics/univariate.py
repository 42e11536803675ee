r"""The optimum for one numeric column, by a shortest path (001, section 4.3; Hansen & Mukherjee).

In sorted order some optimal clusters are intervals of k … 2k−1 rows. So with w(i, j) the cost of
the rows i+1 … j, the least cost of the first j rows is

.. math:: f(0) = 0, \qquad f(j) = \min_{k \le j - i < 2k} f(i) + w(i, j),

the shortest path from 0 to n in a graph with an edge for every admissible interval. Each j looks
at 2k−1 rows: O(n log n) for sorting plus O(nk).

Digits: w is summed from differences to the interval's last row, which are exact for values that
lie close together however large they are, never from prefix sums over the whole column. Only
differences of f among the last 2k rows decide, so f is counted anew from 0 in every chunk of rows
and does not swallow small costs when the total has become large.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from kanopy.instances.errors import KanopyError
from kanopy.solvers.kernels.inner import kernel
from kanopy.solvers.kernels.quick import quick_exit
from kanopy.solvers.problem import Outcome, Problem
from kanopy.solvers.registry import NoOptions, register
from kanopy.solvers.run import Run

_WORK_PER_CALL = 30_000_000  # pairs of rows looked at before a kernel returns: about 0.1 s
_ROUNDING = 1e-9  # far more than the rounding error of any sum here


def optimal_intervals(
    values: NDArray[np.float64], k: int, stopping: Callable[[], bool] = lambda: False
) -> tuple[NDArray[np.int64], float | None]:
    """Least-cost partition of a column into clusters of at least k.

    Parameters
    ----------
    values
        The column, in any order.
    k
        Least size of a cluster.
    stopping
        Once this holds, the rows not reached yet are cut into intervals of k.

    Returns
    -------
    Cluster of each row, numbered by ascending value, and None, or, if it was stopped, a lower bound
    of the optimum: clusters of an optimum that lie within the first j rows make up a prefix of more
    than j − 2k rows, which costs at least min f(i) over j − 2k < i ≤ j.

    Examples
    --------
    >>> optimal_intervals(np.array([7.0, 1.0, 8.0, 2.0, 3.0]), 2)[0].tolist()
    [1, 0, 1, 0, 0]
    """
    n = len(values)
    if n < 2 * k:
        return np.zeros(n, dtype=np.int64), None
    order = np.argsort(values, kind="stable")
    ordered = np.ascontiguousarray(values[order], dtype=np.float64)
    cost = np.full(n + 1, np.inf)
    cost[0] = 0.0
    size = np.zeros(n + 1, dtype=np.int64)
    chunk = max(1, _WORK_PER_CALL // (2 * k))
    reached, passed, bound = 0, 0.0, None
    while reached < n:
        if stopping():
            recent = cost[max(0, reached - 2 * k + 1) : reached + 1]
            bound = (passed + float(recent.min())) * (1.0 - _ROUNDING)
            break
        last = min(n, reached + chunk)
        _extend(ordered, k, cost, size, reached + 1, last)
        reached = last
        if np.isfinite(cost[reached]):
            base = float(cost[reached])
            passed += base
            cost[max(0, reached - 2 * k) : reached + 1] -= base
    if reached < n:
        reached = min(reached, n - k)
        reached = reached if np.isfinite(cost[reached]) else 0
    labels = np.empty(n, dtype=np.int64)
    labels[order] = _labels(size, reached, n, k)
    return labels, bound


@kernel
def _extend(values, k, cost, size, first, last):  # type: ignore[no-untyped-def]
    """f(j) for j = first … last, and the size of the last cluster that attains it."""
    for j in range(first, last + 1):
        anchor = values[j - 1]
        total = 0.0
        squares = 0.0
        best = np.inf
        for rows in range(1, min(2 * k - 1, j) + 1):
            difference = anchor - values[j - rows]
            total += difference
            squares += difference * difference
            if rows >= k:
                path = cost[j - rows] + max(0.0, squares - total * total / rows)
                if path < best:
                    best = path
                    size[j] = rows
        cost[j] = best


@kernel
def _labels(size, reached, n, k):  # type: ignore[no-untyped-def]
    """Clusters along the shortest path to ``reached``, then intervals of k rows."""
    labels = np.empty(n, np.int64)
    clusters = 0
    end = reached
    while end > 0:
        for i in range(end - size[end], end):
            labels[i] = clusters
        clusters += 1
        end -= size[end]
    for i in range(reached):
        labels[i] = clusters - 1 - labels[i]
    last = max(0, (n - reached) // k - 1)
    for i in range(reached, n):
        labels[i] = clusters + min((i - reached) // k, last)
    return labels


@register(
    "univariate",
    costs=("sse",),
    kinds=("numeric",),
    paper="001, section 4.3",
    summary="the optimum for one numeric column, by a shortest path",
    exact=True,
    bound=True,
    options=NoOptions,
)
def univariate(problem: Problem, run: Run, options: NoOptions) -> Outcome:
    """Solve a table with one numeric column to optimality."""
    points = problem.data.points
    if points.shape[1] != 1:
        raise KanopyError(
            f"univariate takes one numeric column, but there are {points.shape[1]}; name one in "
            "numeric=[...], or choose branch-and-price, which solves several"
        )
    with quick_exit(run):
        labels, bound = optimal_intervals(points[:, 0], problem.k, run.stopping)
    if bound is None:
        bound = problem.partition_cost(labels)
    return Outcome(labels=labels, bound=bound)
