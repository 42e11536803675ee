"""MDAV (001, Alg. 2)."""

import numpy as np
import pytest
import thaeter_literal as literal

import kanopy as kn
from kanopy.solvers.heuristics.mdav import mdav_labels
from kanopy.solvers.kernels.average_vector import average_vector, make_rest
from kanopy.solvers.kernels.chunks import in_chunks
from kanopy.solvers.kernels.neighbours import principal_axes


def test_as_printed():
    for table, k in literal.tables(300, seed=2):
        n = len(table)
        expected = literal.labels_of(literal.mdav(table, k), n) if n >= 2 * k else np.zeros(n)
        assert np.array_equal(mdav_labels(table.points, k), expected)


def plain_mdav(points, k):
    labels = np.full(len(points), -1)
    left = np.arange(len(points))

    def take(origin):
        nonlocal left
        distance = ((points[left] - points[origin]) ** 2).sum(axis=1)
        distance[left == origin] = -1
        chosen = np.argsort(distance, kind="stable")[:k]
        labels[left[chosen]] = labels.max() + 1
        left = np.delete(left, chosen)

    def farthest(vector):
        return left[((points[left] - vector) ** 2).sum(axis=1).argmax()]

    while len(left) >= 3 * k:
        origin = farthest(points[left].mean(axis=0))
        take(origin)
        take(farthest(points[origin]))
    if len(left) >= 2 * k:
        take(farthest(points[left].mean(axis=0)))
    labels[left] = labels.max() + 1
    return labels


@pytest.mark.parametrize(("n", "d", "k"), [(400, 2, 3), (900, 6, 4), (1300, 3, 10)])
def test_larger_tables(n, d, k):
    points = np.random.default_rng(n).standard_t(3, size=(n, d))
    assert np.array_equal(mdav_labels(points, k), plain_mdav(points, k))


def test_outliers_leave_no_trace_in_the_average():
    points = np.random.default_rng(3).normal(size=(60, 2))
    points[[7, 8, 9]] = [[1e17, 0.0], [3e16, -1e17], [1e17, 5.0]]
    assert np.array_equal(mdav_labels(points, 3), plain_mdav(points, 3))


def test_rotation_changes_nothing():
    points = np.round(np.random.default_rng(4).normal(size=(600, 5)), 1)
    found = []
    for rotation in (np.empty((0, 0)), principal_axes(points)):
        state = make_rest(points, rotation, 4)
        in_chunks(lambda steps, state=state: average_vector(state, 4, steps))
        found.append(state.labels)
    assert np.array_equal(*found)


def test_all_but_one_cluster_have_k_rows():
    rng = np.random.default_rng(5)
    for n in range(6, 40):
        sizes = np.bincount(mdav_labels(rng.normal(size=(n, 2)), 3))
        assert sorted(sizes)[:-1] == [3] * (len(sizes) - 1)
        assert 3 <= sizes.max() <= 5


@pytest.mark.parametrize("calls", [1, 2, 3])
def test_a_stop_leaves_a_partition(calls):
    points = np.random.default_rng(6).normal(size=(5000, 3))
    asked = []

    def stopping():
        asked.append(True)
        return len(asked) >= calls

    labels = mdav_labels(points, 3, stopping)
    assert len(asked) <= calls
    assert np.bincount(labels).min() >= 3


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "losses"),
    [
        ("census", (5.6922, 7.4947, 9.0884, 14.1559)),
        ("tarragona", (16.9326, 19.5460, 22.4619, 33.1929)),
        ("eia", (0.4829, 0.6713, 1.6667, 3.8397)),
    ],
)
def test_losses_known_from_the_literature(name, losses):
    data = kn.load(name)
    for k, loss in zip((3, 4, 5, 10), losses, strict=True):
        found = kn.evaluate(data, kn.solve(data, k, "mdav")).information_loss
        assert found == pytest.approx(loss, abs=1e-4)
