"""MDAV* and MDAV*γ (001, Alg. 5 and 6)."""

import numpy as np
import pytest
import thaeter_literal as literal

import kanopy as kn
from kanopy.solvers.heuristics.mdav_star import mdav_star_gamma_labels, mdav_star_labels
from kanopy.solvers.kernels.leftovers import closest_rule
from kanopy.solvers.kernels.neighbours import principal_axes
from kanopy.solvers.kernels.outside_in import make_sweep_kernel, sweep_star_kernel

FIGURE = np.array([1.0, 2, 3, 5, 6, 19, 20, 21, 98, 99, 100])[:, None]
RULES = ("centroid", "element", "cost")


def test_mdav_star_as_printed():
    for case, (table, k) in enumerate(literal.tables(240, seed=4)):
        n, rule = len(table), RULES[case % 3]
        expected = (
            literal.labels_of(literal.mdav_star(table, k, rule=rule), n)
            if n >= 2 * k
            else np.zeros(n)
        )
        assert np.array_equal(mdav_star_labels(table.points, k, rule), expected)


def test_mdav_star_gamma_as_printed():
    for case, (table, k) in enumerate(literal.tables(240, seed=5)):
        n, rule, gamma = len(table), RULES[case % 3], (0.0, 0.5, 1.0, 2.0)[case % 4]
        expected = (
            literal.labels_of(literal.mdav_star(table, k, gamma, True, rule), n)
            if n >= 2 * k
            else np.zeros(n)
        )
        assert np.array_equal(mdav_star_gamma_labels(table.points, k, gamma, rule), expected)


def test_figure_5_1():
    labels = mdav_star_labels(FIGURE, 3)
    cost = sum(((FIGURE[labels == c] - FIGURE[labels == c].mean()) ** 2).sum() for c in range(3))
    assert cost == pytest.approx(21.2)
    assert labels.tolist() == [1, 1, 1, 1, 1, 2, 2, 2, 0, 0, 0]


def plain_mdav_star(points, k, gamma, second):
    """Alg. 5 and 6 on whole arrays, for tables of a thousand rows."""
    n = len(points)
    left = np.ones(n, dtype=bool)
    clusters = []
    order = np.argsort(-((points - points.mean(axis=0)) ** 2).sum(axis=1), kind="stable")

    def near(origin, allowed):
        rows = np.flatnonzero(allowed)
        distance = ((points[rows] - points[origin]) ** 2).sum(axis=1)
        distance[rows == origin] = -1
        return rows[np.argsort(distance, kind="stable")[:k]]

    def cost(rows):
        return ((points[rows] - points[rows].mean(axis=0)) ** 2).sum()

    for origin in order:
        if not left[origin]:
            continue
        if left.sum() < k:
            break
        new = near(origin, left)
        if clusters and left.sum() > k:
            centers = np.array([points[c].mean(axis=0) for c in clusters])
            close = clusters[((centers - points[origin]) ** 2).sum(axis=1).argmin()]
            rest = left.copy()
            rest[origin] = False
            before = cost(close)
            extended = cost([*close, origin]) - before + cost(near(new[1], rest))
            both = cost([*close, origin, new[1]]) - before
            if extended / (k + 1) < gamma * cost(new) / k or (second and both / 2 < cost(new) / k):
                close.append(origin)
                left = rest
                continue
        clusters.append(new.tolist())
        left[new] = False
    labels = np.empty(n, dtype=np.int64)
    for c, rows in enumerate(clusters):
        labels[rows] = c
    centers = np.array([points[c].mean(axis=0) for c in clusters])
    for row in np.flatnonzero(left):
        labels[row] = ((centers - points[row]) ** 2).sum(axis=1).argmin()
    return labels


@pytest.mark.parametrize(("n", "d", "k"), [(700, 2, 2), (800, 5, 4)])
def test_larger_tables(n, d, k):
    points = np.random.default_rng(n).standard_t(3, size=(n, d))
    expected = plain_mdav_star(points, k, 1.0, False)
    assert np.array_equal(mdav_star_labels(points, k), expected)
    expected = plain_mdav_star(points, k, 0.7, True)
    assert np.array_equal(mdav_star_gamma_labels(points, k, 0.7), expected)


@pytest.mark.parametrize("rule", RULES)
def test_rotation_changes_nothing(rule):
    points = np.round(np.random.default_rng(4).normal(size=(700, 5)), 1)
    number = closest_rule(rule)
    found = []
    for rotation in (np.empty((0, 0)), principal_axes(points)):
        state = make_sweep_kernel(points, rotation, 3, True, number)
        sweep_star_kernel(state, 3, 0.9, True, number, 700)
        found.append(state.labels)
    assert np.array_equal(*found)


def test_the_order_of_rows_matters_only_among_ties():
    rng = np.random.default_rng(6)
    points = rng.normal(size=(150, 3))
    order = rng.permutation(150)
    labels, moved = mdav_star_labels(points, 3), mdav_star_labels(points[order], 3)
    assert np.array_equal(labels[order], moved)


def test_a_stop_leaves_a_partition():
    points = np.random.default_rng(7).normal(size=(5000, 3))
    for rule in RULES:
        labels = mdav_star_gamma_labels(points, 3, 0.8, rule, stopping=lambda: True)
        assert np.bincount(labels).min() >= 3


def test_a_time_limit_ends_the_grid():
    data = kn.generate("simu", seed=2)
    s = kn.solve(data, 4, "mdav*-gamma", stop=kn.MaxRuntime(0))
    assert s.sizes.min() >= 4
    assert s.status == "time_limit"


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "k", "star", "star_size", "best", "best_size", "gamma"),
    [
        ("census", 3, 5.78, 3.42, 5.59, 3.04, 0.6),
        ("census", 10, 14.00, 11.49, 13.77, 10.29, 0.8),
        ("tarragona", 2, 9.44, 2.15, 9.28, 2.04, 0.8),
        ("tarragona", 7, 28.40, 8.26, 27.76, 7.13, 0.7),
        ("eia", 5, 0.91, 5.62, 0.82, 6.14, 1.2),
    ],
)
def test_tables_a1_a8_a9(name, k, star, star_size, best, best_size, gamma):
    data = kn.load(name)
    for method, loss, size in (("mdav*", star, star_size), ("mdav*-gamma", best, best_size)):
        s = kn.solve(data, k, method)
        assert kn.evaluate(data, s).information_loss == pytest.approx(loss, abs=0.006)
        assert data.n / len(s.sizes) == pytest.approx(size, abs=0.006)
    assert s.objective == kn.solve(data, k, "mdav*-gamma", options={"gamma": gamma}).objective
