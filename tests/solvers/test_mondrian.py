from __future__ import annotations

import os
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kanopy.instances.microdata import Microdata
from kanopy.solvers.heuristics.mondrian import mondrian_partition
from kanopy.solvers.problem import Problem
from kanopy.solvers.registry import find_method
from kanopy.solvers.run import Run
from kanopy.solvers.stop import MaxRuntime

RULES = {"mondrian": "range", "mondrian-v": "variance", "mondrian-v2d": "variance-2d"}


def squares(values):
    """Exact sum of squared deviations, so that ties are ties."""
    mean = Fraction(sum(values), len(values))
    return sum((value - mean) ** 2 for value in values)


def literal(points, k, rule):
    """001, Alg. 18 and 19 with exact integers and real sorting."""
    table = [[int(value) for value in row] for row in points]
    columns = range(len(table[0]))
    directions = [(lambda row, j=j: row[j], 1) for j in columns]
    if rule == "variance-2d":
        for a, b in combinations(columns, 2):
            directions.append((lambda row, a=a, b=b: row[a] + row[b], 2))
            directions.append((lambda row, a=a, b=b: row[a] - row[b], 2))
    classes = []

    def split(rows):
        if len(rows) <= 2 * k:
            classes.append(rows)
            return
        half = len(rows) // 2

        def spread(direction):
            key, square_length = direction
            values = [key(table[row]) for row in rows]
            if rule == "range":
                return max(values) - min(values)
            ordered = sorted(values)
            parts = squares(ordered[:half]) + squares(ordered[half:])
            variance = squares(values)
            return variance / square_length, (variance - parts) / square_length

        key, _ = max(directions, key=spread)  # max keeps the first of equals
        ordered = sorted(rows, key=lambda row: key(table[row]))
        split(ordered[:half])
        split(ordered[half:])

    split(list(range(len(table))))
    labels = np.empty(len(table), dtype=np.int64)
    for label, rows in enumerate(classes):
        labels[rows] = label
    return labels


@pytest.mark.parametrize("rule", RULES.values())
def test_equals_the_literal_transcription(rule):
    rng = np.random.default_rng(7)
    for _ in range(250):
        n, d = int(rng.integers(1, 50)), int(rng.integers(1, 5))
        points = rng.integers(0, rng.integers(1, 30), size=(n, d)).astype(float)
        points[:, rng.random(d) < 0.2] = 4.0
        k = int(rng.integers(1, max(2, n // 2)))
        expected = literal(points, k, rule)
        assert mondrian_partition(points, k, rule).tolist() == expected.tolist()


@pytest.mark.parametrize("name", RULES)
def test_method_gives_classes_of_k_to_2k(name):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(1234, 4)).round(1), columns=list("abcd"))
    problem = Problem(Microdata.from_frame(frame), 7, "sse")
    method = find_method(name)
    labels = method.run(problem, Run(problem), method.parse({})).labels
    sizes = np.bincount(labels)
    assert 7 <= sizes.min() <= sizes.max() <= 14
    assert len(labels) == 1234
    equal = mondrian_partition(problem.data.points, 7, RULES[name])
    assert (labels == equal).all()


@pytest.mark.parametrize("name", RULES)
def test_a_stopped_run_is_still_valid(name):
    frame = pd.DataFrame(np.random.default_rng(1).normal(size=(60_000, 3)), columns=list("abc"))
    problem = Problem(Microdata.from_frame(frame), 5, "sse")
    method = find_method(name)
    labels = method.run(problem, Run(problem, MaxRuntime(0.0)), method.parse({})).labels
    sizes = np.bincount(labels)
    assert sizes.min() >= 5
    assert sizes.max() <= 10
    assert sizes.sum() == 60_000


def test_weights_steer_the_splits():
    frame = pd.DataFrame({"a": [0.0, 1.0] * 10, "b": np.repeat([0.0, 1.0], 10)})
    for heavy, expected in (("b", [0] * 10 + [1] * 10), ("a", [0, 1] * 10)):
        data = Microdata.from_frame(frame, weights={heavy: 9.0})
        assert mondrian_partition(data.points, 5, "variance").tolist() == expected


PUBLISHED = {  # 001, tables C.1 and C.2, k = 2, 3, 4, 5, 7, 10
    ("adult", "range"): (0.249, 0.508, 0.508, 0.508, 0.917, 0.917),
    ("adult", "variance"): (0.206, 0.407, 0.407, 0.407, 0.757, 0.757),
    ("adult", "variance-2d"): (0.188, 0.387, 0.387, 0.387, 0.705, 0.705),
    ("credit", "range"): (30.33, 30.33, 41.47, 41.47, 43.75, 50.71),
    ("credit", "variance"): (24.05, 24.05, 32.54, 32.54, 34.12, 39.27),
    ("credit", "variance-2d"): (17.85, 17.85, 24.52, 24.52, 25.78, 30.30),
}


def load(name):
    if name == "adult":
        frame = pd.read_csv(Path(os.environ["KANOPY_DATA"]) / "adult.csv.gz", keep_default_na=False)
        frame = frame[["age", "education-num", "hours-per-week"]]
    else:
        frame = pd.read_csv(Path(os.environ["KANOPY_DATA"]) / "credit_default.csv.gz").drop(
            columns="ID"
        )
    return Microdata.from_frame(frame)


@pytest.mark.real_data
@pytest.mark.parametrize("name", ["adult", "credit"])
def test_published_information_losses(name):
    data = load(name)
    digits = 3 if name == "adult" else 2
    for rule in RULES.values():
        for k, published in zip((2, 3, 4, 5, 7, 10), PUBLISHED[name, rule], strict=True):
            labels = mondrian_partition(data.points, k, rule)
            loss = 100 * Problem(data, k, "sse").partition_cost(labels) / data.points.size
            assert round(loss, digits) == published, (name, rule, k)
