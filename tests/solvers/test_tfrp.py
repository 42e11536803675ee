from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kanopy.instances.microdata import Microdata
from kanopy.solvers.heuristics.tfrp import (
    cluster_costs,
    dissolve,
    first_phase,
    split_large,
    tfrp_labels,
)
from kanopy.solvers.problem import Problem
from kanopy.solvers.registry import find_method
from kanopy.solvers.run import Run
from kanopy.solvers.stop import MaxRuntime


def distances(points, vector):
    return ((points - vector) ** 2).sum(axis=1)


def literal_first_phase(points, k):
    left = list(range(len(points)))
    corners = [np.full(points.shape[1], points.min()), np.full(points.shape[1], points.max())]
    clusters = []
    while len(left) >= k:
        corner = corners[len(clusters) % 2]
        founder = max(left, key=lambda row: ((points[row] - corner) ** 2).sum())
        distance = distances(points, points[founder])
        distance[founder] = -1.0
        nearest = sorted(left, key=lambda row: (distance[row], row))[:k]
        clusters.append(nearest)
        left = [row for row in left if row not in nearest]
    centers = np.array([points[rows].sum(axis=0) / len(rows) for rows in clusters])
    for row in left:
        clusters[int(np.argmin(distances(centers, points[row])))].append(row)
    return clusters


def exact_cost(points, rows):
    total = Fraction(0)
    for column in points[rows].T:
        values = [Fraction(value) for value in column.tolist()]
        mean = sum(values) / len(values)
        total += sum((value - mean) ** 2 for value in values)
    return total


def literal_dissolve(points, clusters, order):
    """001, Alg. 21, line 15 to 26, with exact costs."""
    clusters = {number: list(rows) for number, rows in enumerate(clusters)}
    for number in order:
        others = [other for other in sorted(clusters) if other != number]
        if not others:
            break
        centers = np.array([points[clusters[c]].sum(axis=0) / len(clusters[c]) for c in others])
        new = {}
        for row in clusters[number]:
            target = others[int(np.argmin(distances(centers, points[row])))]
            new.setdefault(target, list(clusters[target])).append(row)
        keep = exact_cost(points, clusters[number])
        keep += sum(exact_cost(points, clusters[target]) for target in new)
        if keep > sum(exact_cost(points, rows) for rows in new.values()):
            del clusters[number]
            clusters.update(new)
    return list(clusters.values())


def as_sets(clusters):
    return {frozenset(rows) for rows in clusters}


def clusters_of(labels):
    return [np.flatnonzero(labels == label).tolist() for label in np.unique(labels)]


def random_tables(seed, count):
    rng = np.random.default_rng(seed)
    for i in range(count):
        n, d = int(rng.integers(2, 40)), int(rng.integers(1, 5))
        points = rng.integers(0, rng.integers(1, 40), size=(n, d)).astype(float)
        if i % 4 == 0:
            points = rng.normal(size=(n, d))
        points[:, rng.random(d) < 0.15] = 3.0
        yield points, int(rng.integers(2, max(3, n // 2 + 2)))


def test_equals_the_literal_transcription():
    dissolved = split = 0
    for points, k in random_tables(0, 400):
        if len(points) < 2 * k:
            continue
        expected = literal_first_phase(points, k)
        labels = first_phase(points, k)
        assert as_sets(clusters_of(labels)) == as_sets(expected)
        order = np.argsort(-cluster_costs(points, labels), kind="stable")
        after = literal_dissolve(points, clusters_of(labels), order)
        assert as_sets(clusters_of(dissolve(points, labels, order, k))) == as_sets(after)
        dissolved += len(after) < len(expected)
        final = []
        for rows in after:
            rows = np.sort(rows)
            large = len(rows) >= 2 * k
            parts = literal_first_phase(points[rows], k) if large else [range(len(rows))]
            split += len(parts) > 1
            final += [rows[list(part)].tolist() for part in parts]
        assert as_sets(clusters_of(tfrp_labels(points, k))) == as_sets(final)
    assert dissolved > 30
    assert split > 5


def test_cluster_costs():
    points = np.array([[0.0, 1.0], [2.0, 1.0], [5.0, 5.0], [6.0, 5.0], [7.0, 8.0]])
    assert cluster_costs(points, np.array([0, 0, 1, 1, 1])).tolist() == pytest.approx([2.0, 8.0])


def test_split_large_keeps_small_clusters_and_numbers_without_gaps():
    points = np.arange(12.0)[:, None]
    labels = np.array([7] * 3 + [2] * 9)
    result = split_large(points, labels, 3, lambda block, k, stopping: np.arange(len(block)) // k)
    assert result.tolist() == [1, 1, 1, 0, 0, 0, 2, 2, 2, 3, 3, 3]


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
    method = find_method("tfrp")
    sizes = np.bincount(method.run(problem, Run(problem, stop), method.parse({})).labels)
    assert sizes.sum() == n
    assert sizes.min() >= 3
    assert sizes.max() <= 5


PUBLISHED = {  # 001, table 8.1, k = 3, 4, 5, 10; 33.01 is printed for 33.088
    "casc_census.csv": (5.80, 7.64, 8.98, 13.96),
    "casc_tarragona.csv": (16.88, 19.18, 21.85, 33.09),
    "casc_eia.csv": (0.43, 0.60, 0.91, 2.59),
}


@pytest.mark.real_data
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_information_losses(name):
    frame = pd.read_csv(Path(os.environ["KANOPY_DATA"]) / name)
    if "eia" in name:
        frame = frame.iloc[:, 5:]
    data = Microdata.from_frame(frame)
    for k, published in zip((3, 4, 5, 10), PUBLISHED[name], strict=True):
        cost = Problem(data, k, "sse").partition_cost(tfrp_labels(data.points, k))
        assert round(100 * cost / data.points.size, 2) == published
