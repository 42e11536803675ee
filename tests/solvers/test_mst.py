from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import pdist, squareform

from kanopy.instances.microdata import Microdata
from kanopy.solvers.heuristics.mdav import mdav_labels
from kanopy.solvers.heuristics.mst import mst_labels, spanning_tree
from kanopy.solvers.problem import Problem
from kanopy.solvers.registry import find_method
from kanopy.solvers.run import Run
from kanopy.solvers.stop import MaxRuntime


def literal(points, k):
    """Prim by definition, then remove edges and count vertices on both sides."""
    n = len(points)

    def distance(a, b):
        return ((points[a] - points[b]) ** 2).sum()

    inside = [0]
    edges = []
    while len(inside) < n:
        outside = [row for row in range(n) if row not in inside]
        row = min(outside, key=lambda r: (min(distance(r, i) for i in inside), r))
        link = min(inside, key=lambda i: distance(row, i))  # the first that came so near
        edges.append((link, row))
        inside.append(row)

    def component(start, kept):
        reached, waiting = {start}, [start]
        while waiting:
            vertex = waiting.pop()
            for a, b in kept:
                for near, far in ((a, b), (b, a)):
                    if near == vertex and far not in reached:
                        reached.add(far)
                        waiting.append(far)
        return frozenset(reached)

    kept = list(edges)
    for edge in sorted(edges, key=lambda e: -distance(*e)):
        without = [other for other in kept if other != edge]
        if min(len(component(end, without)) for end in edge) >= k:
            kept = without
    clusters = set()
    for rows in {component(row, kept) for row in range(n)}:
        rows = np.array(sorted(rows))
        parts = mdav_labels(points[rows], k) if len(rows) >= 2 * k else np.zeros(len(rows))
        clusters |= {frozenset(rows[parts == part].tolist()) for part in np.unique(parts)}
    return clusters


def test_equals_the_literal_transcription():
    rng = np.random.default_rng(2)
    for i in range(200):
        n, d = int(rng.integers(2, 18)), int(rng.integers(1, 4))
        points = rng.integers(0, rng.integers(1, 30), size=(n, d)).astype(float)
        if i % 4 == 0:
            points = rng.normal(size=(n, d))
        k = int(rng.integers(2, n + 1))
        labels = mst_labels(points, k)
        found = {frozenset(np.flatnonzero(labels == c).tolist()) for c in np.unique(labels)}
        assert found == literal(points, k)


def test_the_tree_is_a_minimum_spanning_tree():
    points = np.random.default_rng(0).normal(size=(700, 3))  # more than one block of distances
    order, parent, length = spanning_tree(points)
    expected = minimum_spanning_tree(squareform(pdist(points))).sum()
    assert np.sqrt(length).sum() == pytest.approx(expected)
    assert sorted(order) == list(range(700))
    entered = np.empty(700, dtype=int)
    entered[order] = np.arange(700)
    assert (entered[parent[order[1:]]] < np.arange(1, 700)).all()


def test_a_star_cannot_be_cut_and_is_left_to_mdav():
    arms = np.eye(8)
    points = np.vstack((np.zeros(8), arms))
    labels = mst_labels(points, 3)
    assert (np.bincount(labels) == np.bincount(mdav_labels(points, 3))).all()


@pytest.mark.parametrize("n", [3, 5, 6, 7, 500])
@pytest.mark.parametrize("kind", ["constant", "one column", "duplicates", "spread"])
@pytest.mark.parametrize("stop", [None, MaxRuntime(0.0)])
def test_sizes(n, kind, stop):
    rng = np.random.default_rng(n)
    table = {
        "constant": np.full((n, 2), 0.1),
        "one column": rng.normal(size=(n, 1)),
        "duplicates": rng.integers(0, 2, size=(n, 2)) / 10,
        "spread": rng.normal(size=(n, 3)),
    }[kind]
    frame = pd.DataFrame(table, columns=list("abc")[: table.shape[1]])
    problem = Problem(Microdata.from_frame(frame), 3, "sse")
    method = find_method("mst")
    sizes = np.bincount(method.run(problem, Run(problem, stop), method.parse({})).labels)
    assert sizes.sum() == n
    assert sizes.min() >= 3
    assert sizes.max() <= 5
