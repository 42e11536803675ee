r"""μ-Approx, the approximation algorithm for microaggregation (001, Alg. 22 and 23).

Forest: every row gets at most one edge, to one of its k−1 nearest neighbours, until every tree has
at least k rows. Decompose: trees of more than L = max(2k−1, 3k−5) rows are divided into parts of
k … L rows. In the end parts of 2k rows or more are split by MDAV. The cost is at most
2(2k−1) L² times the least (001, theorem 9.5).

Decided here. *Forest*: line 4 of Alg. 22 must read \|C\| < k, as line 10 does. The roots, the rows
without an edge, are visited by row number, and each whose tree has fewer than k rows is joined to
the nearest row of another tree; that is one of its k−1 nearest rows, since fewer than k−1 others
are in its own. One visit each suffices: trees only grow, and a joined root is none any more.

*Decompose*: 001 omits the case analysis and states only what it must achieve, so it is our own.
Let v be a vertex none of whose branches (what hangs together once v is removed) has more than half
of the tree's s > L rows. Three facts:

- If the largest branch has at least k rows, cutting its edge leaves at least s/2 ≥ k rows on the
  other side. Both parts are trees and are treated in the same way.
- Otherwise all branches have at most k−1 rows. They are filled into groups, the largest first, and
  a group is closed as soon as it has k rows. If r < k rows are left, they and v are a group if
  r = k−1. If not, they and v join the smallest group, of g rows, if g + r + 1 ≤ L.
- If not, then g > 2k−4, because r + 1 ≤ k−1. The last branch of the group has at most k−1 rows and
  the others, less than k together, are no smaller: so it consists of two branches a = k−1 and
  b ≥ k−2. Then a and v are one group, and b and the r rows another: r ≥ 1 if b = k−1 and r ≥ 2 if
  b = k−2, or g + r + 1 ≤ 2k−1 would have fitted.

A group hangs together by edges to v or a copy of v, and every edge of the forest is in one group
only, with no more edges than rows in a group: all that the proof of the theorem uses.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kanopy.solvers.heuristics.mdav import mdav_labels
from kanopy.solvers.heuristics.tfrp import search_index, split_large
from kanopy.solvers.kernels.chunks import Stopping, in_chunks, never
from kanopy.solvers.kernels.inner import inner, kernel
from kanopy.solvers.kernels.neighbours import nearest
from kanopy.solvers.kernels.quick import quick_exit, quick_partition
from kanopy.solvers.problem import Outcome, Problem
from kanopy.solvers.registry import NoOptions, register
from kanopy.solvers.run import Run


def largest_part(k: int) -> int:
    """The most rows of a part after Decompose: max(2k−1, 3k−5)."""
    return max(2 * k - 1, 3 * k - 5)


def approximation_factor(k: int) -> int:
    """The proven ratio of μ-Approx's cost to the least cost (001, theorem 9.5).

    >>> approximation_factor(3)
    250
    """
    return 2 * (2 * k - 1) * largest_part(k) ** 2


def mu_approx_labels(
    points: NDArray[np.float64], k: int, stopping: Stopping = never
) -> tuple[NDArray[np.int64], float]:
    """Cluster of each row by μ-Approx, clusters of k … 2k−1 rows, and a lower bound of any cost.

    The bound: cost(C) = Σ_{i,l∈C} δ(x_i, x_l)²/(2|C|), in which each row i has a share of at least
    S/(2k), S being the sum of its k−1 least squared distances: the mean of 0 and the |C|−1 least
    ones does not fall with |C|.

    Parameters
    ----------
    points
        One row per record, at least k of them.
    k
        Least size of a cluster.
    stopping
        Once this holds, the table is divided by :func:`quick_partition`.

    Examples
    --------
    >>> labels, bound = mu_approx_labels(np.array([[1.0], [9.0], [2.0], [8.0], [3.0]]), 2)
    >>> labels.tolist(), round(bound, 3)
    ([0, 1, 0, 1, 0], 1.25)
    """
    edge, bound = forest(points, k, stopping)
    if edge is None:
        return quick_partition(points, k), bound
    return split_large(points, decompose(edge, k), k, mdav_labels, stopping), bound


def forest(
    points: NDArray[np.float64], k: int, stopping: Stopping = never
) -> tuple[NDArray[np.int64] | None, float]:
    """Join rows to near ones until all trees have k rows: each row's edge, or −1, and the bound."""
    n = len(points)
    index = search_index(points, k - 1)
    edge = np.full(n, -1, dtype=np.int64)
    root = np.arange(n)
    size = np.ones(n, dtype=np.int64)
    total = np.zeros(1)
    position = np.zeros(1, dtype=np.int64)

    def advance(steps: int) -> bool:
        return bool(_join_some(index, k, edge, root, size, total, position, steps))

    done = in_chunks(advance, stopping)
    # Rounding in sums over millions of rows stays far below the share given away here.
    bound = float(total[0]) / (2 * k) * (1.0 - 1e-9)
    return (edge if done else None), bound


@kernel
def _join_some(index, k, edge, root, size, total, position, steps):  # type: ignore[no-untyped-def]
    """Visit up to ``steps`` rows; True at the end. ``root`` finds a row's tree by halving paths."""
    n = len(edge)
    for _ in range(steps):
        if position[0] == n:
            return True
        row = position[0]
        position[0] += 1
        nearest(index, index.source[row], k - 1, np.inf, row)
        for i in range(k - 1):
            total[0] += index.distances[i]
        if edge[row] >= 0 or size[row] >= k:
            continue
        for i in range(k - 1):
            other = index.found[i]
            tree = other
            while root[tree] != tree:
                root[tree] = root[root[tree]]
                tree = root[tree]
            if tree != row:
                edge[row] = other
                root[row] = tree
                size[tree] += size[row]
                break
    return False


@kernel
def decompose(edge, k):  # type: ignore[no-untyped-def]
    """Divide the trees with more than max(2k−1, 3k−5) rows: part of each row.

    A tree is a row without an edge and all rows whose edges lead there.
    """
    n = len(edge)
    most = max(2 * k - 1, 3 * k - 5)
    above = edge.copy()
    begin = np.zeros(n + 1, np.int64)
    for row in range(n):
        if above[row] >= 0:
            begin[above[row] + 1] += 1
    begin = np.cumsum(begin)
    below = np.empty(begin[n], np.int64)
    filled = begin.copy()
    for row in range(n):
        if above[row] >= 0:
            below[filled[above[row]]] = row
            filled[above[row]] += 1
    labels = np.empty(n, np.int64)
    parts = 0
    weight = np.ones(n, np.int64)
    branch = np.empty(n, np.int64)
    rows = np.empty(n, np.int64)
    waiting = np.empty(n, np.int64)
    pending = 0
    for row in range(n - 1, -1, -1):
        if above[row] < 0:
            waiting[pending] = row
            pending += 1
    while pending > 0:
        pending -= 1
        top = waiting[pending]
        count = 1
        rows[0] = top
        done = 0
        while done < count:
            row = rows[done]
            done += 1
            weight[row] = 1
            for child in below[begin[row] : begin[row + 1]]:
                if above[child] == row:
                    rows[count] = child
                    count += 1
        if count <= most:
            for row in rows[:count]:
                labels[row] = parts
            parts += 1
            continue
        for i in range(count - 1, 0, -1):
            weight[above[rows[i]]] += weight[rows[i]]
        center = top
        heavy = top
        while heavy >= 0:
            center = heavy
            heavy = -1
            for child in below[begin[center] : begin[center + 1]]:
                if above[child] == center and 2 * weight[child] > count:
                    heavy = child
        # The branches of the center, each named by its row nearest to it; −1 is the one above.
        largest = -1
        most_rows = count - weight[center]
        for child in below[begin[center] : begin[center + 1]]:
            if above[child] == center and weight[child] > most_rows:
                largest = child
                most_rows = weight[child]
        if most_rows >= k:
            lower = center if largest < 0 else largest
            above[lower] = -1
            waiting[pending] = lower
            waiting[pending + 1] = top
            pending += 2
            continue
        branches = 1
        branch[center] = -1
        sizes = np.zeros(begin[center + 1] - begin[center] + 1, np.int64)
        sizes[0] = count - weight[center]
        for row in rows[:count]:
            if row == center:
                continue
            if above[row] == center:
                branch[row] = branches
                sizes[branches] = weight[row]
                branches += 1
            elif row == top:
                branch[row] = 0
            else:
                branch[row] = branch[above[row]]
        groups, of_center = group_branches(sizes[:branches], k)
        for row in rows[:count]:
            labels[row] = parts + (of_center if row == center else groups[branch[row]])
        parts += max(groups.max(), of_center) + 1
    return labels


@inner
def group_branches(sizes, k):  # type: ignore[no-untyped-def]
    """Group branches of less than k rows and the vertex they hang on: groups of them, its group.

    All groups have k … max(2k−1, 3k−5) rows if there are more than that in all.
    """
    order = np.argsort(-sizes, kind="mergesort")  # stable
    groups = np.empty(len(sizes), np.int64)
    totals = np.zeros(len(sizes) + 1, np.int64)
    current = 0
    for branch in order:
        groups[branch] = current
        totals[current] += sizes[branch]
        if totals[current] >= k:
            current += 1
    left = totals[current]
    if left == k - 1:
        return groups, current
    smallest = 0
    for group in range(current):
        if totals[group] < totals[smallest]:
            smallest = group
    fits = totals[smallest] + left + 1 <= max(2 * k - 1, 3 * k - 5)
    met = False
    for branch in order:
        if fits and groups[branch] == current:
            groups[branch] = smallest
        elif not fits and groups[branch] == smallest:
            # The larger of two branches stays and gets the vertex, the other joins the rest.
            groups[branch] = current if met else smallest
            met = True
    return groups, smallest


group_branches_kernel = kernel(group_branches)


@register(
    "mu-approx",
    costs=("sse",),
    kinds=("numeric",),
    paper="001, Alg. 22 and 23",
    summary="a forest of nearest neighbours, decomposed; at most O(k³) times the least cost",
    bound=True,
    options=NoOptions,
)
def mu_approx(problem: Problem, run: Run, options: NoOptions) -> Outcome:
    """Approximate the optimum within a proven factor."""
    with quick_exit(run):
        labels, bound = mu_approx_labels(problem.data.points, problem.k, run.stopping)
    return Outcome(labels=labels, bound=bound)
