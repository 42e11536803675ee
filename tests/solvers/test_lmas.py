"""LMaS: Lloyd, merge and split (001, Alg. 8, 9 and 11 to 13)."""

import numpy as np
import pytest
import thaeter_literal as literal

import kanopy as kn
from kanopy.solvers.heuristics.lmas import lmas_labels
from kanopy.solvers.kernels.chunks import in_chunks
from kanopy.solvers.kernels.kmeans import choose_centers, lloyd, make_means
from kanopy.solvers.kernels.merging import make_mergers, merge, merged_labels

UNROTATED = np.empty((0, 0))


def chosen(points, clusters, seed):
    means = make_means(points, UNROTATED, clusters)
    rng = np.random.default_rng(seed)
    in_chunks(lambda steps: choose_centers(means, steps, rng))
    return means


@pytest.mark.parametrize(("n", "d", "clusters"), [(10, 1, 3), (700, 3, 150), (400, 6, 399)])
def test_rows_know_their_nearest_center(n, d, clusters):
    points = np.random.default_rng(n).normal(size=(n, d))
    means = chosen(points, clusters, 1)
    squares = ((points[:, None] - means.centers[None]) ** 2).sum(axis=2)
    assert np.array_equal(means.owner, squares.argmin(axis=1))
    assert means.gap == pytest.approx(squares.min(axis=1), abs=1e-12)
    assert means.mass[0] == pytest.approx(means.gap.sum())
    assert len(np.unique(means.centers, axis=0)) == clusters


def test_centers_are_drawn_by_squared_distance():
    points = np.array([[0.0], [1.0], [3.0]])
    counts = np.zeros((3, 3))
    for seed in range(3000):
        centers = chosen(points, 2, seed).centers.ravel()
        counts[tuple(np.searchsorted(points.ravel(), centers))] += 1
    assert counts.sum(axis=1) / 3000 == pytest.approx(np.full(3, 1 / 3), abs=0.03)
    expected = np.array([[0, 0.1, 0.9], [0.2, 0, 0.8], [9 / 13, 4 / 13, 0]])
    assert counts / counts.sum(axis=1, keepdims=True) == pytest.approx(expected, abs=0.05)


def test_no_more_centers_than_different_rows():
    points = np.repeat([[0.0], [1.0], [2.0]], 10, axis=0)
    means = chosen(points, 9, 0)
    assert means.counters[0] == 3
    labels = lmas_labels(points, 3, np.random.default_rng(0))
    for cluster in range(labels.max() + 1):
        assert np.ptp(points[labels == cluster]) == 0


def test_lloyd_as_printed():
    for seed, (table, k) in enumerate(literal.tables(150, seed=9)):
        if len(table) < 2 * k:
            continue
        means = chosen(table.points, len(table) // k, seed)
        first = means.owner.tolist()
        in_chunks(lambda steps, means=means: lloyd(means, 50, 1e-9, steps))
        assert means.owner.tolist() == literal.lloyd(table, first, 50)


def test_merge_as_printed():
    rng = np.random.default_rng(10)
    for table, k in literal.tables(200, seed=10):
        n = len(table)
        labels = rng.integers(0, n, size=n)
        mergers = make_mergers(table.points, UNROTATED, labels)
        in_chunks(lambda steps, mergers=mergers, k=k: merge(mergers, k, steps))
        clusters = [np.flatnonzero(labels == c).tolist() for c in range(n)]
        expected = literal.labels_of(literal.merge(table, clusters, k), n)
        found = np.unique(merged_labels(mergers, labels), return_inverse=True)[1]
        assert np.array_equal(found, expected)


def test_sizes():
    rng = np.random.default_rng(11)
    for n in range(6, 60, 3):
        sizes = np.bincount(lmas_labels(np.round(rng.normal(size=(n, 2)), 1), 3, rng))
        assert 3 <= sizes.min() <= sizes.max() <= 5


def test_the_best_run_counts():
    data = kn.Microdata.from_frame(kn.generate("simu", seed=3).frame.iloc[:200])
    one, ten = (
        kn.solve(data, 3, "lmas", seed=5, options={"runs": runs}).objective for runs in (1, 10)
    )
    assert ten < one


def test_a_stop_leaves_a_partition():
    points = np.random.default_rng(12).normal(size=(3000, 3))
    for calls in (1, 4, 8):
        asked: list[bool] = []

        def stopping(asked=asked, calls=calls):
            asked.append(True)
            return len(asked) >= calls

        labels = lmas_labels(points, 3, np.random.default_rng(0), stopping=stopping)
        assert np.bincount(labels).min() >= 3


@pytest.mark.parametrize("options", [{"runs": 0}, {"rounds": 0}, {"tolerance": -1.0}])
def test_options_out_of_range(options):
    with pytest.raises(kn.KanopyError, match=r"must be ≥ [01]; the thesis"):
        kn.solve(kn.example("testdata"), 2, "lmas", options=options)


@pytest.mark.real_data
def test_table_6_3_spread_of_lmas():
    data = kn.load("census")
    total = float(((data.points - data.points.mean(axis=0)) ** 2).sum())
    rng = np.random.default_rng(1)
    losses = []
    for _ in range(60):
        labels = lmas_labels(data.points, 10, rng)
        means = np.array([data.points[labels == c].mean(axis=0) for c in range(labels.max() + 1)])
        losses.append(100 * ((data.points - means[labels]) ** 2).sum() / total)
    assert np.median(losses) == pytest.approx(14.36, abs=0.25)
    assert 13.3 < min(losses) <= max(losses) < 16.2
