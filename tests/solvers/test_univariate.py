from __future__ import annotations

import json
import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from kanopy.instances.errors import KanopyError
from kanopy.instances.microdata import Microdata
from kanopy.solvers.heuristics import univariate as module
from kanopy.solvers.heuristics.univariate import optimal_intervals
from kanopy.solvers.problem import Problem
from kanopy.solvers.registry import find_method
from kanopy.solvers.run import Run
from kanopy.solvers.stop import MaxRuntime


def exact_cost(values, labels):
    """Sum of squared deviations in exact arithmetic."""
    total = Fraction(0)
    for label in set(labels.tolist()):
        cluster = [Fraction(value) for value in values[labels == label].tolist()]
        mean = sum(cluster) / len(cluster)
        total += sum((value - mean) ** 2 for value in cluster)
    return total


def brute_force(values, k):
    """Exact optimum over all partitions into intervals of at least k, any size."""
    ordered = sorted(Fraction(value) for value in values.tolist())
    n = len(ordered)
    best = {0: Fraction(0)}
    for j in range(1, n + 1):
        choices = []
        for i in range(j - k + 1):
            if i in best:
                cluster = ordered[i:j]
                mean = sum(cluster) / len(cluster)
                choices.append(best[i] + sum((value - mean) ** 2 for value in cluster))
        if choices:
            best[j] = min(choices)
    return best[n]


def solve(values, k, **run):
    data = Microdata.from_frame(pd.DataFrame({"x": values}), standardize=False)
    problem = Problem(data, k, "sse")
    method = find_method("univariate")
    return problem, method.run(problem, Run(problem, **run), method.parse({}))


MICROAGG1D = """
import json, sys
import microagg1d
import numpy as np
for values, k in json.load(sys.stdin):
    # Its default of method and stable (0.4.0) is up to a tenth above the optimum.
    labels = microagg1d.univariate_microaggregation(
        np.array(values), k, method="wilber", stable=2
    )
    print(json.dumps(labels.tolist()))
"""


def microagg1d(cases):
    """Labels by microagg1d, uncompiled in a process of its own: importing it compiles a minute."""
    answer = subprocess.run(
        [sys.executable, "-c", MICROAGG1D],
        input=json.dumps([(values.tolist(), k) for values, k in cases]),
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return [np.array(json.loads(line)) for line in answer.stdout.splitlines()]


def check_sizes(labels, k):
    sizes = np.bincount(labels)
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1


@pytest.mark.parametrize("kind", ["ties", "spread", "clustered", "huge offset", "constant"])
def test_equals_exact_brute_force(kind):
    rng = np.random.default_rng(5)
    for _ in range(60):
        n = int(rng.integers(2, 22))
        k = int(rng.integers(1, n + 1))
        values = {
            "ties": rng.integers(0, 5, n).astype(float),
            "spread": rng.normal(size=n),
            "clustered": rng.integers(0, 3, n) * 1e6 + rng.normal(size=n),
            "huge offset": 1e9 + rng.integers(0, 2**20, n) * 2.0**-20,
            "constant": np.full(n, 0.1),
        }[kind]
        labels, bound = optimal_intervals(values, k)
        check_sizes(labels, k)
        assert bound is None
        optimum = brute_force(values, k)
        assert exact_cost(values, labels) - optimum <= optimum * Fraction(1, 10**12)


def test_equals_microagg1d():
    cases = []
    for k in (2, 5, 40):
        rng = np.random.default_rng(k)
        for values in (rng.normal(size=1500), rng.integers(0, 50, 1500) / 7, rng.pareto(1, 1500)):
            cases.append((values, k))
    for (values, k), other in zip(cases, microagg1d(cases), strict=True):
        problem, outcome = solve(values, k)
        expected = problem.partition_cost(other)
        ours = problem.partition_cost(outcome.labels)
        assert ours == pytest.approx(expected, rel=1e-9, abs=1e-20)
        assert outcome.bound == ours


def test_huge_offset_loses_no_digits():
    """Shifting by 2**30 is exact for these values, so the answer must not change at all."""
    values = np.random.default_rng(2).integers(0, 2**20, 5000) * 2.0**-20
    assert (optimal_intervals(values, 3)[0] == optimal_intervals(values + 2.0**30, 3)[0]).all()


def test_a_small_cost_counts_after_a_large_one(monkeypatch):
    """f would swallow the differences among the small values if it were carried in full."""
    monkeypatch.setattr(module, "_WORK_PER_CALL", 16)
    small = np.array([0.0, 1.0, 2.0, 8.0, 9.0, 10.0, 20.0, 22.0]) * 1e-6
    values = np.concatenate((np.array([-3e9, -1e9, -5e8, -1e8]), small))
    labels, _ = optimal_intervals(values, 2)
    tail = brute_force(small, 2)
    assert exact_cost(values[4:], labels[4:]) == tail


def test_chunks_do_not_change_the_answer(monkeypatch):
    values = np.random.default_rng(0).normal(size=4000)
    expected, _ = optimal_intervals(values, 4)
    monkeypatch.setattr(module, "_WORK_PER_CALL", 64)
    assert (optimal_intervals(values, 4)[0] == expected).all()


def test_clusters_are_numbered_by_value():
    values = np.array([5.0, 1.0, 1.1, 5.2, 9.0, 9.1])
    assert optimal_intervals(values, 2)[0].tolist() == [1, 0, 0, 1, 2, 2]


@pytest.mark.parametrize("n", [3, 4, 5])
def test_fewer_than_2k_rows_are_one_cluster(n):
    problem, outcome = solve(np.arange(float(n)), 3)
    assert outcome.labels.tolist() == [0] * n
    assert outcome.bound == problem.partition_cost(outcome.labels) > 0


@pytest.mark.parametrize("calls", [0, 1, 7])
def test_a_stopped_run_is_valid_and_its_bound_holds(monkeypatch, calls):
    values = np.random.default_rng(0).normal(size=1003)
    _, solved = solve(values, 4)
    monkeypatch.setattr(module, "_WORK_PER_CALL", 800)
    count = iter([False] * calls)
    labels, bound = optimal_intervals(values, 4, lambda: next(count, True))
    check_sizes(labels, 4)
    assert 0.0 <= bound <= solved.bound
    assert (bound > 0.0) == (calls > 0)


def test_a_time_limit_of_zero():
    problem, outcome = solve(np.random.default_rng(0).normal(size=5003), 5, stop=MaxRuntime(0.0))
    check_sizes(outcome.labels, 5)
    assert outcome.bound <= problem.partition_cost(outcome.labels)


def test_more_columns_are_refused():
    data = Microdata.from_frame(pd.DataFrame(np.eye(6), columns=list("abcdef")))
    problem = Problem(data, 3, "sse")
    method = find_method("univariate")
    with pytest.raises(KanopyError, match=r"there are 6; .*branch-and-price"):
        method.run(problem, Run(problem), method.parse({}))


def test_weight_scales_the_optimum():
    frame = pd.DataFrame({"x": np.random.default_rng(1).normal(size=100)})
    labels = []
    for weight in (1.0, 100.0):
        data = Microdata.from_frame(frame, weights={"x": weight})
        problem = Problem(data, 3, "sse")
        method = find_method("univariate")
        outcome = method.run(problem, Run(problem), method.parse({}))
        labels.append(outcome.labels.tolist())
    assert labels[0] == labels[1]
