"""MD (001, Alg. 1)."""

import numpy as np
import pytest
import thaeter_literal as literal

import kanopy as kn
from kanopy.solvers.heuristics.md import md_labels

RULES = ("centroid", "element", "cost")


def test_as_printed():
    for case, (table, k) in enumerate(literal.tables(200, seed=1)):
        n, rule = len(table), RULES[case % 3]
        expected = literal.labels_of(literal.md(table, k, rule), n) if n >= 2 * k else np.zeros(n)
        assert np.array_equal(md_labels(table.points, k, rule), expected)


def test_farthest_pairs_of_a_larger_table():
    rng = np.random.default_rng(0)
    points = np.round(rng.standard_t(3, size=(260, 4)), 1)
    squares = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    labels = md_labels(points, 5)
    left = np.arange(len(points))
    for number in range(0, labels.max() + 1 - (len(points) % 10 >= 5), 2):
        rows = [np.flatnonzero(labels == number), np.flatnonzero(labels == number + 1)]
        widest = squares[np.ix_(left, left)].max()
        between = squares[np.ix_(rows[0], rows[1])].max()
        assert between == pytest.approx(widest)
        left = np.setdiff1d(left, np.concatenate(rows))


def test_sizes():
    rng = np.random.default_rng(1)
    for n in range(12, 40):
        sizes = np.bincount(md_labels(rng.normal(size=(n, 2)), 4))
        assert sizes.min() >= 4
        assert (sizes == 4).sum() >= len(sizes) - 3


def test_a_stop_leaves_a_partition():
    points = np.random.default_rng(2).normal(size=(3000, 3))
    labels = md_labels(points, 3, stopping=lambda: True)
    assert np.bincount(labels).min() >= 3
    assert not np.array_equal(labels, md_labels(points, 3))


def test_unknown_rule():
    with pytest.raises(kn.KanopyError, match="choose one of: centroid, element, cost"):
        kn.solve(kn.example("testdata"), 2, "md", options={"closest": "middle"})


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "k", "loss"),
    [
        ("census", 3, 5.72),
        ("census", 4, 7.64),
        ("census", 5, 9.00),
        ("tarragona", 5, 22.53),
        ("tarragona", 7, 27.52),
        ("tarragona", 10, 33.18),
        ("eia", 10, 3.71),
    ],
)
def test_table_a1(name, k, loss):
    data = kn.load(name)
    assert kn.evaluate(data, kn.solve(data, k, "md")).information_loss == pytest.approx(
        loss, abs=0.006
    )
