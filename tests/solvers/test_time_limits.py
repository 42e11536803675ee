"""Methods that once overran a time limit on large tables, on a small one; the full list is printed
by ``kanopy.experiments.bench_limits``. What makes them stop in time must not change results.
"""

import numpy as np
import pandas as pd
import pytest

import kanopy as kn
from kanopy.experiments.bench_limits import measure
from kanopy.release import assign_counts
from kanopy.solvers.frequency import propagation
from kanopy.solvers.frequency.aggregation import Members, member_program
from kanopy.solvers.heuristics import ils
from kanopy.solvers.nominal.greedy_pricing import greedy_clusters, greedy_clusters_until
from kanopy.solvers.problem import Problem
from kanopy.solvers.registry import find_method


@pytest.mark.parametrize(
    ("method", "cost"),
    [
        ("aggregation-exact", "chi2"),
        ("branch-and-price", "range"),
        ("chi-ex", "chi2"),
        ("own-ehg", "chi2"),
        ("safe-basic", "max-error"),
    ],
)
def test_limits_hold(method, cost):
    found = measure(find_method(method), cost, rows=3000, limit=0.2)
    assert found["processor"] < 8  # of some tenths of a second


def categories(rows, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({f"c{j}": rng.integers(0, 3 + j, rows).astype(str) for j in range(3)})
    return kn.Microdata.from_frame(frame)


@pytest.fixture
def program():
    data = categories(40)
    problem = Problem(data, 3, "chi2", control=data.tables(2))
    labels = np.minimum(np.arange(40) // 3, 12)
    return member_program(problem, Members.of(data.types, labels), 3.0)


def test_slices_propagate_the_same(program, monkeypatch):
    whole = propagation.propagate(program)
    assert len(whole.number) < len(program.number)
    monkeypatch.setattr(propagation, "SLICE", 1)
    sliced = propagation.propagate(program)
    assert sliced.number.tolist() == whole.number.tolist()
    assert sliced.sum_value.tolist() == whole.sum_value.tolist()


def test_propagation_that_is_stopped_drops_less(program, monkeypatch):
    whole = propagation.propagate(program)
    monkeypatch.setattr(propagation, "SLICE", 1)
    stopped = propagation.propagate(program, lambda: True)
    assert set(whole.number) < set(stopped.number)
    assert len(whole.sum_value) < len(stopped.sum_value) < len(program.sum_value)


def test_greedy_clusters_in_slices_are_the_same(monkeypatch):
    monkeypatch.setattr("kanopy.solvers.nominal.greedy_pricing.SLICE", 2)
    data = categories(60)
    columns = np.ascontiguousarray(data.codes[data.first_rows].T)
    duals = np.random.default_rng(1).random(len(data.counts)) * 2
    weights = np.ascontiguousarray(data.nominal_weights)
    for limit in (np.inf, -1.0):
        given = columns, weights, data.counts.copy(), duals, 3, 50, limit
        whole = greedy_clusters(*given)
        given = columns, weights, data.counts.copy(), duals, 3, 50, limit
        sliced = greedy_clusters_until(*given, lambda: False)
        assert len(whole[0]) > 3
        assert sliced[0].tolist() == whole[0].tolist()
        assert sliced[1].tolist() == whole[1].tolist()


def test_neighbours_in_slices_are_the_same(monkeypatch):
    data = categories(60)
    whole = ils.neighbour_lists(data, "hamming", 5, 0)
    monkeypatch.setattr(ils, "_SLICE", 7)
    assert ils.neighbour_lists(data, "hamming", 5, 0).tolist() == whole.tolist()
    stopped = ils.neighbour_lists(data, "hamming", 5, 0, lambda: True)
    assert stopped.shape == whole.shape
    assert stopped.min() >= 0
    assert stopped.max() < 60


def test_counts_are_assigned_by_similarity():
    """Against the pairs of combinations sorted by distance, one after the other."""
    data = categories(80, seed=3)
    counts = np.random.default_rng(4).permutation(data.counts)
    types = assign_counts(data, counts)
    assert np.bincount(types, minlength=len(counts)).tolist() == counts.tolist()
    codes = data.codes[data.first_rows]
    need, free = np.maximum(data.counts - counts, 0), np.maximum(counts - data.counts, 0)
    moved = np.zeros((len(counts), len(counts)), dtype=np.int64)
    distance = (codes[:, None] != codes).sum(axis=2)
    for cell in np.argsort(distance, axis=None, kind="stable").tolist():
        i, j = divmod(cell, len(counts))
        moved[i, j] = min(need[i], free[j])
        need[i] -= moved[i, j]
        free[j] -= moved[i, j]
    assert moved.sum() > 5
    away = types != data.types
    found = np.zeros_like(moved)
    np.add.at(found, (data.types[away], types[away]), 1)
    assert found.tolist() == moved.tolist()
