from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from oracles import optimum

from kanopy.instances.microdata import Microdata
from kanopy.solvers.bounds import lower_bound
from kanopy.solvers.heuristics.mdav import mdav_labels
from kanopy.solvers.heuristics.mu_approx import (
    approximation_factor,
    decompose,
    forest,
    group_branches_kernel,
    largest_part,
    mu_approx_labels,
)
from kanopy.solvers.problem import Problem
from kanopy.solvers.registry import find_method
from kanopy.solvers.run import Run
from kanopy.solvers.stop import MaxRuntime


def literal_forest(points, k):
    """001, Alg. 22: the first root with a small tree is joined to the nearest row outside."""
    n = len(points)
    edge = [-1] * n

    def root(row):
        while edge[row] >= 0:
            row = edge[row]
        return row

    while True:
        trees = {r: [row for row in range(n) if root(row) == r] for r in range(n) if edge[r] < 0}
        small = [r for r in sorted(trees) if len(trees[r]) < k]
        if not small:
            return edge
        u = small[0]
        outside = [row for row in range(n) if row not in trees[u]]
        edge[u] = min(outside, key=lambda row: (((points[row] - points[u]) ** 2).sum(), row))


def random_tree(rng, n, kind):
    """Each vertex's way to the root: bushy, path-like, star-like or of spiders; shuffled."""
    behind = np.arange(n)
    lowest = {
        "bushy": np.zeros(n, dtype=int),
        "path": behind - 2,
        "star": np.where(rng.random(n) < 0.3, 0, behind - 1),
        "spiders": behind - 5,
    }[kind]
    highest = np.where(lowest == 0, 1, behind) if kind == "star" else behind
    names = rng.permutation(n)
    edge = np.full(n, -1)
    above = rng.integers(np.maximum(lowest[1:], 0), np.maximum(highest[1:], 1))
    edge[names[1:]] = names[above]
    return edge


def test_forest_equals_the_literal_transcription():
    rng = np.random.default_rng(3)
    for _ in range(150):
        n, d = int(rng.integers(2, 25)), int(rng.integers(1, 4))
        points = rng.integers(0, rng.integers(1, 30), size=(n, d)).astype(float)
        k = int(rng.integers(2, n + 1))
        edge, _ = forest(points, k)
        assert edge.tolist() == literal_forest(points, k)
        for row in np.flatnonzero(edge >= 0):  # condition 2: a near neighbour
            distance = ((points - points[row]) ** 2).sum(axis=1)
            assert np.sort(distance)[k - 1] >= distance[edge[row]]


KINDS = ("bushy", "path", "star", "spiders")


def test_decompose_keeps_its_promise_on_random_trees():
    rng = np.random.default_rng(0)
    divided = 0
    for i in range(3000):
        k = int(rng.integers(2, 10))
        edge = random_tree(rng, int(rng.integers(k, 12 * k)), KINDS[i % 4])
        sizes = np.bincount(decompose(edge, k))
        assert sizes.sum() == len(edge)
        assert sizes.min() >= k
        assert sizes.max() <= largest_part(k)
        divided += len(sizes) > 2
    assert divided > 1000


def test_a_part_hangs_together_by_one_vertex_at_most():
    rng = np.random.default_rng(1)

    def connected(edge, rows):
        """Whether the edges between ``rows`` make one tree of them: one less than vertices."""
        return sum(int(edge[row]) in rows for row in rows) == len(rows) - 1

    for i in range(300):
        k = int(rng.integers(2, 7))
        edge = random_tree(rng, int(rng.integers(2 * k, 9 * k)), KINDS[i % 4])
        labels = decompose(edge, k)
        for part in range(labels.max() + 1):
            rows = set(np.flatnonzero(labels == part).tolist())
            assert any(connected(edge, rows | {v}) for v in range(len(edge)))


@pytest.mark.parametrize("k", range(2, 9))
def test_grouping_branches_of_a_star(k):
    rng = np.random.default_rng(k)
    for _ in range(2000):
        sizes = rng.integers(max(1, k - 3), k, size=int(rng.integers(2, 9)))
        if sizes.sum() + 1 <= largest_part(k):
            continue
        groups, of_center = group_branches_kernel(sizes, k)
        totals = np.bincount(groups, weights=sizes)
        totals[of_center : of_center + 1] += 1
        if of_center == len(totals):
            totals = np.append(totals, 1)
        assert totals.sum() == sizes.sum() + 1
        assert totals.min() >= k
        assert totals.max() <= largest_part(k)


def test_small_trees_and_mdav():
    points = np.random.default_rng(5).normal(size=(60, 2))
    edge, _ = forest(points, 4)
    parts = decompose(edge, 4)
    expected = set()
    for part in range(parts.max() + 1):
        rows = np.flatnonzero(parts == part)
        inner = mdav_labels(points[rows], 4) if len(rows) >= 8 else np.zeros(len(rows))
        expected |= {frozenset(rows[inner == i].tolist()) for i in np.unique(inner)}
    labels, _ = mu_approx_labels(points, 4)
    assert {frozenset(np.flatnonzero(labels == c).tolist()) for c in np.unique(labels)} == expected


def test_bound_and_factor_hold():
    rng = np.random.default_rng(6)
    for i in range(40):
        k = int(rng.integers(2, 5))
        n = int(rng.integers(2 * k, 11))
        table = rng.normal(size=(n, 2)) if i % 2 else rng.integers(0, 5, size=(n, 2)) * 1.0
        data = Microdata.from_frame(pd.DataFrame(table, columns=["a", "b"]))
        labels, bound = mu_approx_labels(data.points, k)
        least = optimum(data, k, "sse")
        cost = Problem(data, k, "sse").partition_cost(labels)
        assert bound <= least + 1e-12
        assert bound == pytest.approx(lower_bound(data, k, "sse"), rel=1e-9, abs=1e-9)
        assert cost <= approximation_factor(k) * least + 1e-9


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
    method = find_method("mu-approx")
    outcome = method.run(problem, Run(problem, stop), method.parse({}))
    sizes = np.bincount(outcome.labels)
    assert sizes.sum() == n
    assert sizes.min() >= 3
    assert sizes.max() <= 5
    assert 0.0 <= outcome.bound <= problem.partition_cost(outcome.labels) + 1e-12
