from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kanopy.instances.microdata import Microdata
from kanopy.solvers.heuristics.dba import dba_labels, densest_first
from kanopy.solvers.heuristics.mdav import mdav_labels
from kanopy.solvers.heuristics.tfrp import dissolve
from kanopy.solvers.problem import Problem
from kanopy.solvers.registry import find_method
from kanopy.solvers.run import Run
from kanopy.solvers.stop import MaxRuntime


def exact_cost(points, rows):
    total = Fraction(0)
    for column in points[rows].T:
        values = [Fraction(value) for value in column.tolist()]
        mean = sum(values) / len(values)
        total += sum((value - mean) ** 2 for value in values)
    return total


def literal_first_phase(points, k):
    """001, Alg. 21, line 1 to 14, measuring every neighbourhood in every round, exactly."""
    left = list(range(len(points)))
    clusters = []
    while len(left) >= k:
        neighbourhoods = {}
        for row in left:
            distance = ((points - points[row]) ** 2).sum(axis=1)
            distance[row] = -1.0
            neighbourhoods[row] = sorted(left, key=lambda other: (distance[other], other))[:k]
        best = min(left, key=lambda row: (exact_cost(points, neighbourhoods[row]), row))
        clusters.append(neighbourhoods[best])
        left = [row for row in left if row not in neighbourhoods[best]]
    centers = np.array([points[rows].sum(axis=0) / len(rows) for rows in clusters])
    for row in left:
        clusters[int(np.argmin(((centers - points[row]) ** 2).sum(axis=1)))].append(row)
    labels = np.empty(len(points), dtype=np.int64)
    for label, rows in enumerate(clusters):
        labels[rows] = label
    return labels


def test_equals_the_literal_transcription():
    rng = np.random.default_rng(8)
    split = 0
    for _ in range(250):
        n, d = int(rng.integers(4, 26)), int(rng.integers(1, 4))
        points = rng.integers(0, rng.integers(1, 40), size=(n, d)).astype(float)
        k = int(rng.integers(2, n // 2 + 1))
        first = densest_first(points, k)
        assert first.tolist() == literal_first_phase(points, k).tolist()
        after = dissolve(points, first, np.arange(first.max(), -1, -1), k)
        expected = set()
        for label in np.unique(after):
            rows = np.flatnonzero(after == label)
            parts = mdav_labels(points[rows], k)
            split += parts.max() > 0
            expected |= {frozenset(rows[parts == part].tolist()) for part in np.unique(parts)}
        labels = dba_labels(points, k)
        assert {
            frozenset(np.flatnonzero(labels == c).tolist()) for c in np.unique(labels)
        } == expected
    assert split > 0


def test_neighbourhoods_are_renewed_when_their_rows_are_gone():
    """Long runs through a table empty the 2k rows that each row keeps."""
    points = np.random.default_rng(1).integers(0, 60, size=(90, 2)).astype(float)
    assert densest_first(points, 2).tolist() == literal_first_phase(points, 2).tolist()


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
    method = find_method("dba")
    sizes = np.bincount(method.run(problem, Run(problem, stop), method.parse({})).labels)
    assert sizes.sum() == n
    assert sizes.min() >= 3
    assert sizes.max() <= 5


PUBLISHED = {  # 001, table 8.1, k = 3, 4, 5, 10
    "casc_census.csv": (5.58, 7.59, 9.05, 13.52),
    "casc_tarragona.csv": (16.15, 22.67, 25.45, 34.81),
    "casc_eia.csv": (0.42, 0.56, 0.82, 2.08),
}


@pytest.mark.real_data
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_information_losses(name):
    frame = pd.read_csv(Path(os.environ["KANOPY_DATA"]) / name)
    if "eia" in name:
        frame = frame.iloc[:, [0, *range(5, 15)]]
    data = Microdata.from_frame(frame)
    for k, published in zip((3, 4, 5, 10), PUBLISHED[name], strict=True):
        cost = Problem(data, k, "sse").partition_cost(dba_labels(data.points, k))
        assert round(100 * cost / data.points.size, 2) == published
