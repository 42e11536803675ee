"""DBA, density-based microaggregation (001, Alg. 21; Lin et al.).

First phase: while at least k rows are unassigned, the row x whose neighbourhood, x and its k−1
nearest unassigned rows, costs least is made a cluster with that neighbourhood. The rest joins the
clusters with the nearest centroid. Second phase: clusters are visited in the inverse order of their
creation and dissolved where that lowers the cost. In the end clusters of 2k rows or more are split
by MDAV.

Decided here: left-over rows look at centroids as they were before the first of them joined, the
lowest row number wins ties, and costs that differ by rounding only are ties. So it gives all values
for DBA that 001, table 8.1 quotes.

A neighbourhood changes only when a row of it is taken. Each row keeps its 2k nearest rows, which
suffices for the next few changes, and asks for new ones when fewer than k−1 of them are left.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kanopy.solvers.heuristics.mdav import mdav_labels
from kanopy.solvers.heuristics.tfrp import dissolve, search_index, split_large
from kanopy.solvers.kernels.chunks import Stopping, in_chunks, never
from kanopy.solvers.kernels.inner import inner, kernel
from kanopy.solvers.kernels.neighbours import nearest, remove
from kanopy.solvers.kernels.prepare import finished, trivial_labels
from kanopy.solvers.kernels.quick import quick_exit
from kanopy.solvers.problem import Outcome, Problem
from kanopy.solvers.registry import NoOptions, register
from kanopy.solvers.run import Run

_TIE = 1e-12
_NOISE = 1e-26


def dba_labels(
    points: NDArray[np.float64], k: int, stopping: Stopping = never
) -> NDArray[np.int64]:
    """Cluster of each row by DBA; clusters of k … 2k−1 rows.

    Parameters
    ----------
    points
        One row per record.
    k
        Least size of a cluster.
    stopping
        Once this holds, rows without a cluster get one in a hurry.

    Examples
    --------
    >>> dba_labels(np.array([[1.0], [9.0], [2.5], [8.0], [3.0]]), 2).tolist()
    [0, 1, 0, 1, 0]
    """
    trivial = trivial_labels(len(points), k)
    if trivial is not None:
        return trivial
    labels = densest_first(points, k, stopping)
    backwards = np.arange(labels.max(), -1, -1)
    labels = dissolve(points, labels, backwards, k, stopping)
    return split_large(points, labels, k, mdav_labels, stopping)


def densest_first(
    points: NDArray[np.float64], k: int, stopping: Stopping = never
) -> NDArray[np.int64]:
    """The first phase: clusters in the order of their density."""
    n = len(points)
    labels = np.full(n, -1, dtype=np.int64)
    index = search_index(points, 2 * k)
    near = np.full((n, 2 * k), -1, dtype=np.int32)
    cost = np.empty(n)
    noise = _NOISE * float((points**2).sum(axis=1).max())
    state = np.zeros(2, dtype=np.int64)
    unassigned = np.arange(n)

    def advance(steps: int) -> bool:
        return bool(_take_densest(index, near, cost, labels, unassigned, k, noise, state, steps))

    in_chunks(advance, stopping)
    return finished(index.source, labels, int(state[1]), k)


@kernel
def _take_densest(  # type: ignore[no-untyped-def]
    index, near, cost, labels, unassigned, k, noise, state, steps
):
    """Measure or take up to ``steps`` neighbourhoods; True once fewer than k rows are left.

    ``state``: rows measured so far, clusters made so far. The rows in front of ``unassigned`` are
    those left, in ascending order.
    """
    n = len(labels)
    for _ in range(steps):
        if state[0] < n:
            _measure(index, near[state[0]], cost, labels, state[0], k)
            state[0] += 1
            continue
        left = n - state[1] * k
        if left < k:
            return True
        best = unassigned[0]
        for row in unassigned[1:left]:
            if cost[row] + noise < cost[best] * (1.0 - _TIE):
                best = row
        labels[best] = state[1]
        remove(index, best)
        for i in range(k - 1):
            labels[near[best, i]] = state[1]
            remove(index, near[best, i])
        state[1] += 1
        kept = 0
        for position in range(left):
            row = unassigned[position]
            if labels[row] >= 0:
                continue
            unassigned[kept] = row
            kept += 1
            for i in range(k - 1):
                if labels[near[row, i]] >= 0:
                    if left >= 2 * k:
                        _measure(index, near[row], cost, labels, row, k)
                    break
    return False


@inner
def _measure(index, near, cost, labels, row, k):  # type: ignore[no-untyped-def]
    """Bring the neighbourhood of a row and its cost up to date."""
    kept = 0
    for i in range(len(near)):
        if near[i] >= 0 and labels[near[i]] < 0:
            near[kept] = near[i]
            kept += 1
    if kept < k - 1:
        kept = nearest(index, index.source[row], len(near), np.inf, row)
        for i in range(kept):
            near[i] = index.found[i]
    for i in range(kept, len(near)):
        near[i] = -1
    # Relative to the row itself, Σ|y|² − |Σy|²/k loses few digits and none for equal rows.
    squares = 0.0
    of_sums = 0.0
    vector = index.source[row]
    for t in range(len(vector)):
        total = 0.0
        for i in range(k - 1):
            difference = index.source[near[i], t] - vector[t]
            total += difference
            squares += difference * difference
        of_sums += total * total
    cost[row] = max(0.0, squares - of_sums / k)


@register(
    "dba",
    costs=("sse",),
    kinds=("numeric",),
    paper="001, Alg. 21",
    summary="densest neighbourhoods first, then dissolve and split",
    options=NoOptions,
)
def dba(problem: Problem, run: Run, options: NoOptions) -> Outcome:
    """Density-based microaggregation."""
    with quick_exit(run):
        labels = dba_labels(problem.data.points, problem.k, run.stopping)
    return Outcome(labels=labels)
