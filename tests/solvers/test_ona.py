"""ONA, ONA* and ONA*γ (001, Alg. 14 to 17)."""

from itertools import pairwise

import numpy as np
import pytest
import thaeter_literal as literal

import kanopy as kn
from kanopy.solvers.heuristics.mdav_star import mdav_star_labels
from kanopy.solvers.heuristics.ona import ona_labels, ona_star_labels, recluster
from kanopy.solvers.kernels.inner import kernel
from kanopy.solvers.kernels.neighbours import principal_axes
from kanopy.solvers.kernels.reclustering import (
    ROUND,
    USED,
    make_clustering_kernel,
    recluster_star_kernel,
    renumber,
)

renumber_kernel = kernel(renumber)


def sse(points, labels):
    means = np.array([points[labels == c].mean(axis=0) for c in range(labels.max() + 1)])
    return float(((points - means[labels]) ** 2).sum())


def test_ona_star_as_printed():
    for table, k in literal.tables(150, seed=6):
        n = len(table)
        if n < 2 * k:
            assert not ona_star_labels(table.points, k).any()
            continue
        clusters, rounds = literal.ona_star(table, k, literal.mdav_star(table, k))
        found = recluster(table.points, k, mdav_star_labels(table.points, k))
        assert np.array_equal(found[0], literal.labels_of(clusters, n))
        assert found[1] == rounds


def test_rounds_from_any_start_as_printed():
    rng = np.random.default_rng(7)
    for table, k in literal.tables(150, seed=7):
        n = len(table)
        if n < 2 * k:
            continue
        parts = int(rng.integers(1, n // k + 1))
        start = rng.permutation(np.minimum(np.arange(n) // k, parts - 1))
        clusters = [np.flatnonzero(start == c).tolist() for c in range(parts)]
        expected, _ = literal.ona_star(table, k, clusters)
        assert np.array_equal(recluster(table.points, k, start)[0], literal.labels_of(expected, n))


def test_ona_as_printed():
    for seed, (table, k) in enumerate(literal.tables(150, seed=8)):
        n = len(table)
        if n < 2 * k:
            continue
        labels, _ = ona_labels(table.points, k, np.random.default_rng(seed))
        clusters = literal.ona(table, k, np.random.default_rng(seed))
        assert np.array_equal(labels, literal.labels_of(clusters, n))


def test_rotation_changes_nothing():
    points = np.round(np.random.default_rng(4).normal(size=(700, 5)), 1)
    start = mdav_star_labels(points, 3)
    found = []
    for rotation in (np.empty((0, 0)), principal_axes(points)):
        state = make_clustering_kernel(points, rotation, start, 3)
        recluster_star_kernel(state, 3, 30, 10**6)
        found.append(state.labels)
    assert np.array_equal(*found)


def test_renumbering_changes_nothing():
    points = np.random.default_rng(5).normal(size=(400, 2))
    labels = np.arange(400) // 4
    whole = make_clustering_kernel(points, np.empty((0, 0)), labels, 4)
    parts = make_clustering_kernel(points, np.empty((0, 0)), labels, 4)
    recluster_star_kernel(whole, 4, 30, 10**6)
    gaps = 0
    while not recluster_star_kernel(parts, 4, 30, 17):
        gaps += int((parts.sizes[: parts.counters[USED]] == 0).sum())
        renumber_kernel(parts)
    assert gaps > 0
    assert whole.counters[ROUND] == parts.counters[ROUND]
    renumber_kernel(whole)
    renumber_kernel(parts)
    assert np.array_equal(whole.labels, parts.labels)


def test_no_round_costs_anything():
    rng = np.random.default_rng(6)
    points = rng.standard_t(3, size=(500, 4))
    start = rng.permutation(np.arange(500) // 5)
    costs = [sse(points, recluster(points, 5, start, rounds)[0]) for rounds in range(6)]
    assert costs[0] == pytest.approx(sse(points, start))
    assert all(after <= before for before, after in pairwise(costs))
    assert costs[-1] < 0.7 * costs[0]


def test_sizes():
    rng = np.random.default_rng(7)
    for n in range(6, 60, 3):
        points = np.round(rng.normal(size=(n, 2)), 1)
        for labels in (ona_star_labels(points, 3), ona_labels(points, 3, rng)[0]):
            sizes = np.bincount(labels)
            assert 3 <= sizes.min() <= sizes.max() <= 5


def test_equal_rows_end_soon():
    points = np.repeat(np.random.default_rng(8).normal(size=(40, 3)) / 3, 9, axis=0)
    labels, rounds = recluster(points, 5, mdav_star_labels(points, 5))
    assert rounds < 10
    assert np.bincount(labels).min() >= 5


def test_ona_keeps_the_best_run():
    data = kn.Microdata.from_frame(kn.generate("simu", seed=3).frame.iloc[:200])
    s = kn.solve(data, 3, "ona", seed=5, options={"runs": 4})
    rng = np.random.default_rng(5)
    runs = [sse(data.points, ona_labels(data.points, 3, rng)[0]) for _ in range(4)]
    assert s.objective == pytest.approx(min(runs))
    assert min(runs) < max(runs)


def test_a_stop_leaves_a_partition():
    points = np.random.default_rng(9).normal(size=(4000, 3))
    asked = []

    def stopping():
        asked.append(True)
        return len(asked) > 3

    assert np.bincount(ona_star_labels(points, 3, stopping=lambda: True)).min() >= 3
    assert np.bincount(ona_star_labels(points, 3, stopping=stopping)).min() >= 3
    rng = np.random.default_rng(0)
    assert np.bincount(ona_labels(points, 3, rng, stopping=lambda: True)[0]).min() >= 3


def test_a_time_limit_ends_the_grid():
    data = kn.generate("simu", seed=2)
    s = kn.solve(data, 4, "ona*-gamma", stop=kn.MaxRuntime(0))
    assert s.sizes.min() >= 4


@pytest.mark.parametrize(("method", "options"), [("ona*", {"rounds": -1}), ("ona", {"runs": 0})])
def test_options_out_of_range(method, options):
    with pytest.raises(kn.KanopyError, match=r"must be ≥ [01]"):
        kn.solve(kn.example("testdata"), 2, method, options=options)


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "k", "loss"),
    [
        ("census", 2, 3.06),
        ("census", 5, 8.04),
        ("census", 10, 12.46),
        ("tarragona", 3, 15.11),
        ("tarragona", 10, 31.15),
        ("eia", 7, 1.63),
    ],
)
def test_table_b1(name, k, loss):
    data = kn.load(name)
    found = kn.evaluate(data, kn.solve(data, k, "ona*")).information_loss
    assert found == pytest.approx(loss, abs=0.006)


@pytest.mark.real_data
def test_table_6_5_rounds():
    points = kn.load("census").points
    rounds = [recluster(points, k, mdav_star_labels(points, k))[1] for k in (2, 5, 10)]
    assert rounds == [5, 3, 6]


@pytest.mark.real_data
@pytest.mark.parametrize(("k", "loss", "gamma"), [(3, 5.22, 1.2), (7, 9.84, 1.2)])
def test_tables_b1_b8_on_census(k, loss, gamma):
    data = kn.load("census")
    s = kn.solve(data, k, "ona*-gamma")
    assert kn.evaluate(data, s).information_loss == pytest.approx(loss, abs=0.006)
    assert s.objective == kn.solve(data, k, "ona*-gamma", options={"gamma": gamma}).objective


@pytest.mark.real_data
def test_table_6_3_spread_of_ona():
    data = kn.load("census")
    total = float(((data.points - data.points.mean(axis=0)) ** 2).sum())
    rng = np.random.default_rng(1)
    losses = [
        100 * sse(data.points, ona_labels(data.points, 10, rng)[0]) / total for _ in range(40)
    ]
    assert np.median(losses) == pytest.approx(12.77, abs=0.15)
    assert 12.2 < min(losses) <= max(losses) < 14.0
