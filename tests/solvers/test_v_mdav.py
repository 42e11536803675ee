"""MDAV+ and V-MDAV (001, Alg. 3 and 4)."""

import numpy as np
import pytest
import thaeter_literal as literal

import kanopy as kn
from kanopy.solvers.heuristics.gain import GRID
from kanopy.solvers.heuristics.mdav_plus import mdav_plus_labels
from kanopy.solvers.heuristics.v_mdav import v_mdav_labels
from kanopy.solvers.kernels.leftovers import CENTROID
from kanopy.solvers.kernels.neighbours import principal_axes
from kanopy.solvers.kernels.outside_in import make_sweep_kernel, sweep_variable_kernel

FIGURE = np.array([1.0, 2, 3, 5, 6, 19, 20, 21, 98, 99, 100])[:, None]
RULES = ("centroid", "element", "cost")


def cost(points, labels):
    means = np.array([points[labels == c].mean(axis=0) for c in range(labels.max() + 1)])
    return float(((points - means[labels]) ** 2).sum())


def test_as_printed():
    for case, (table, k) in enumerate(literal.tables(300, seed=3)):
        n = len(table)
        gamma, rule = (0.0, 0.5, 1.0, 2.0)[case % 4], RULES[case % 3]
        expected = (
            literal.labels_of(literal.v_mdav(table, k, gamma, rule), n)
            if n >= 2 * k
            else np.zeros(n)
        )
        assert np.array_equal(v_mdav_labels(table.points, k, gamma, rule), expected)
        if gamma == 0:
            assert np.array_equal(mdav_plus_labels(table.points, k, rule), expected)


@pytest.mark.parametrize("gamma", [0.0, 0.2, 1.1, 3.9])
def test_figure_5_1(gamma):
    assert cost(FIGURE, v_mdav_labels(FIGURE, 3, gamma)) == pytest.approx(258.8)


def test_a_larger_gain_extends():
    assert np.bincount(v_mdav_labels(FIGURE, 3, 4.5)).max() > 3


def plain_mdav_plus(points, k):
    labels = np.full(len(points), -1)
    middle = points.mean(axis=0)
    while (labels < 0).sum() >= k:
        left = np.flatnonzero(labels < 0)
        origin = left[((points[left] - middle) ** 2).sum(axis=1).argmax()]
        distance = ((points[left] - points[origin]) ** 2).sum(axis=1)
        labels[left[np.argsort(distance, kind="stable")[:k]]] = labels.max() + 1
    means = np.array([points[labels == c].mean(axis=0) for c in range(labels.max() + 1)])
    for row in np.flatnonzero(labels < 0):
        labels[row] = ((means - points[row]) ** 2).sum(axis=1).argmin()
    return labels


@pytest.mark.parametrize(("n", "d", "k"), [(403, 2, 4), (902, 6, 3), (1300, 1, 7)])
def test_larger_tables(n, d, k):
    points = np.random.default_rng(n).standard_t(3, size=(n, d))
    assert np.array_equal(mdav_plus_labels(points, k), plain_mdav_plus(points, k))


def test_rotation_changes_nothing():
    points = np.round(np.random.default_rng(4).normal(size=(600, 5)), 1)
    found = []
    for rotation in (np.empty((0, 0)), principal_axes(points)):
        state = make_sweep_kernel(points, rotation, 4, False, CENTROID)
        sweep_variable_kernel(state, 4, 0.6, 600)
        found.append(state.labels)
    assert np.array_equal(*found)


def test_sizes():
    rng = np.random.default_rng(5)
    for n in range(8, 40):
        points = rng.normal(size=(n, 2))
        plus = np.bincount(mdav_plus_labels(points, 4))
        assert 4 <= plus.min() <= plus.max() <= 7
        assert np.bincount(v_mdav_labels(points, 4, 2.0)).min() >= 4


def test_the_grid_keeps_the_best_gain():
    data = kn.Microdata.from_frame(kn.generate("simc", seed=1).frame.iloc[:300])
    best = kn.solve(data, 3, "v-mdav")
    single = [kn.solve(data, 3, "v-mdav", options={"gamma": g}).objective for g in GRID]
    assert best.objective == min(single) < max(single)
    assert len(GRID) == 21


def test_the_grid_stops_between_gains():
    data = kn.generate("simu", seed=1)
    few = kn.solve(data, 3, "v-mdav", stop=kn.MaxIterations(1))
    assert few.objective == kn.solve(data, 3, "mdav+").objective


@pytest.mark.parametrize("gamma", [-0.1, float("nan"), float("inf"), "much", True])
def test_gains_that_are_none(gamma):
    with pytest.raises(kn.KanopyError, match="gamma"):
        kn.solve(kn.example("testdata"), 2, "v-mdav", options={"gamma": gamma})


def test_a_stop_leaves_a_partition():
    points = np.random.default_rng(6).normal(size=(5000, 3))
    assert np.bincount(v_mdav_labels(points, 3, 0.5, stopping=lambda: True)).min() >= 3


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("k", "loss", "size", "gamma"),
    [
        (4, 7.51, 4.00, 0.0),
        (5, 8.98, 5.02, 0.2),
        (7, 11.59, 7.01, 0.1),
        (10, 14.04, 10.09, 0.2),
    ],
)
def test_tables_a1_a8_a9_on_census(k, loss, size, gamma):
    data = kn.load("census")
    best = kn.solve(data, k, "v-mdav")
    assert kn.evaluate(data, best).information_loss == pytest.approx(loss, abs=0.006)
    assert data.n / len(best.sizes) == pytest.approx(size, abs=0.006)
    assert best.objective == kn.solve(data, k, "v-mdav", options={"gamma": gamma}).objective
    plus = kn.evaluate(data, kn.solve(data, k, "mdav+")).information_loss
    assert plus == pytest.approx({4: 7.51, 5: 9.01, 7: 11.66, 10: 14.07}[k], abs=0.006)
