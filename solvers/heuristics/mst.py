"""Microaggregation by a minimum spanning tree (001, section 8.1; Laszlo & Mukherjee).

The rows are the vertices of the complete graph with Euclidean distances. From its minimum spanning
tree the edges are removed, the longest first, wherever both sides keep at least k vertices. Trees
that are left with 2k or more vertices, a star for one, are split by MDAV.

Decided here: Prim's algorithm starts at the first row and takes the lowest row number among equally
near ones; equally long edges are tried in the order in which they entered the tree. It needs O(n²d)
time and O(nd) memory, no matrix of distances.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kanopy.solvers.heuristics.mdav import mdav_labels
from kanopy.solvers.heuristics.tfrp import split_large
from kanopy.solvers.kernels.chunks import Stopping, in_chunks, never
from kanopy.solvers.kernels.inner import kernel
from kanopy.solvers.kernels.prepare import trivial_labels
from kanopy.solvers.kernels.quick import quick_exit, quick_partition
from kanopy.solvers.problem import Outcome, Problem
from kanopy.solvers.registry import NoOptions, register
from kanopy.solvers.run import Run

_BLOCK = 512  # distances that stay in the cache


def mst_labels(
    points: NDArray[np.float64], k: int, stopping: Stopping = never
) -> NDArray[np.int64]:
    """Cluster of each row by cutting a minimum spanning tree; clusters of k … 2k−1 rows.

    Parameters
    ----------
    points
        One row per record.
    k
        Least size of a cluster.
    stopping
        Once this holds, what is left is divided by :func:`quick_partition`.

    Examples
    --------
    >>> mst_labels(np.array([[1.0], [9.0], [2.0], [8.0], [3.0]]), 2).tolist()
    [0, 1, 0, 1, 0]
    """
    trivial = trivial_labels(len(points), k)
    if trivial is not None:
        return trivial
    tree = spanning_tree(points, stopping)
    if tree is None:
        return quick_partition(points, k)
    order, parent, length = tree
    # Vertex 0 is the root and has no edge; stable, so equal lengths keep the order of entry.
    edges = order[1:][np.argsort(-length[order[1:]], kind="stable")]
    labels = cut_tree(order, parent, edges, k)
    return split_large(points, labels, k, mdav_labels, stopping)


def spanning_tree(
    points: NDArray[np.float64], stopping: Stopping = never
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]] | None:
    """Minimum spanning tree by Prim's algorithm, or None if stopped.

    Returns
    -------
    The rows in the order in which they entered the tree, and for each row the one it was joined to
    (−1 for the first) and its squared distance to it.
    """
    n = len(points)
    columns = np.ascontiguousarray(points.T, dtype=np.float64).copy()
    outside = np.arange(n)
    near = np.full(n, np.inf)
    link = np.full(n, -1, dtype=np.int64)
    order = np.empty(n, dtype=np.int64)
    parent = np.full(n, -1, dtype=np.int64)
    length = np.zeros(n)
    state = np.array([n, 0], dtype=np.int64)

    def advance(steps: int) -> bool:
        return bool(_grow(columns, outside, near, link, order, parent, length, state, steps))

    return (order, parent, length) if in_chunks(advance, stopping) else None


@kernel
def _grow(  # type: ignore[no-untyped-def]
    columns, outside, near, link, order, parent, length, state, steps
):
    """Let up to ``steps`` rows enter the tree; True once all have.

    ``state`` holds how many rows are outside and which of them enters next; columns, outside, near
    and link have the rows outside in front, so that the loops run over packed memory.
    """
    dimensions, n = columns.shape
    left, entering = state[0], state[1]
    vector = np.empty(dimensions)
    distances = np.empty(_BLOCK)
    for _ in range(steps):
        if left == 0:
            break
        row = outside[entering]
        order[n - left] = row
        parent[row] = link[entering]
        length[row] = near[entering] if link[entering] >= 0 else 0.0
        left -= 1
        for t in range(dimensions):
            vector[t] = columns[t, entering]
            columns[t, entering] = columns[t, left]
        outside[entering] = outside[left]
        near[entering] = near[left]
        link[entering] = link[left]
        nearest = np.inf
        for begin in range(0, left, _BLOCK):
            size = min(_BLOCK, left - begin)
            buffer = distances[:size]
            for i in range(size):
                buffer[i] = 0.0
            for t in range(dimensions):
                value = vector[t]
                segment = columns[t, begin : begin + size]
                for i in range(size):
                    difference = segment[i] - value
                    buffer[i] += difference * difference
            for i in range(size):
                position = begin + i
                if buffer[i] < near[position]:
                    near[position] = buffer[i]
                    link[position] = row
                distance = near[position]
                if distance < nearest or (
                    distance == nearest and outside[position] < outside[entering]
                ):
                    nearest = distance
                    entering = position
    state[0] = left
    state[1] = entering
    return left == 0


@kernel
def cut_tree(order, parent, edges, k):  # type: ignore[no-untyped-def]
    """Remove edges in the given order where both sides keep k vertices; tree of each vertex.

    An edge is named by its lower vertex; ``order`` has parents before their children.
    """
    n = len(order)
    size = np.ones(n, np.int64)
    for i in range(n - 1, 0, -1):
        size[parent[order[i]]] += size[order[i]]
    above = parent.copy()
    for vertex in edges:
        if size[vertex] < k:
            continue
        top = above[vertex]
        while above[top] >= 0:
            top = above[top]
        if size[top] - size[vertex] < k:
            continue
        ancestor = above[vertex]
        while ancestor >= 0:
            size[ancestor] -= size[vertex]
            ancestor = above[ancestor]
        above[vertex] = -1
    labels = np.empty(n, np.int64)
    trees = 0
    for vertex in order:
        if above[vertex] < 0:
            labels[vertex] = trees
            trees += 1
        else:
            labels[vertex] = labels[above[vertex]]
    return labels


@register(
    "mst",
    costs=("sse",),
    kinds=("numeric",),
    paper="001, section 8.1",
    summary="cut the longest edges of a minimum spanning tree; large parts split by MDAV",
    options=NoOptions,
)
def mst(problem: Problem, run: Run, options: NoOptions) -> Outcome:
    """Cut a minimum spanning tree into clusters."""
    with quick_exit(run):
        labels = mst_labels(problem.data.points, problem.k, run.stopping)
    return Outcome(labels=labels)
