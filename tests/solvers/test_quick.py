from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from kanopy.solvers.kernels.quick import quick_partition


def literal(points, k):
    labels = np.empty(len(points), dtype=np.int64)
    waiting = [np.arange(len(points))]
    label = 0
    while waiting:
        rows = waiting.pop()
        if len(rows) < 2 * k:
            labels[rows] = label
            label += 1
            continue
        widest = np.argmax(np.ptp(points[rows], axis=0))
        order = rows[np.lexsort((rows, points[rows, widest]))]
        waiting += [order[len(rows) // 2 :], order[: len(rows) // 2]]
    return labels


@settings(deadline=None)  # the first call compiles
@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 60), st.integers(1, 3)),
        elements=st.integers(0, 6).map(float),
    ),
    st.integers(1, 8),
)
def test_equals_the_literal_halving(points, k):
    assert quick_partition(points, k).tolist() == literal(points, k).tolist()


@pytest.mark.parametrize("n", [3, 5, 6, 7, 100, 10_001])
@pytest.mark.parametrize("shape", ["constant", "sorted", "reversed", "random", "organ pipe"])
def test_sizes(n, shape):
    k = 3
    column = {
        "constant": np.zeros(n),
        "sorted": np.arange(n, dtype=float),
        "reversed": -np.arange(n, dtype=float),
        "random": np.random.default_rng(0).normal(size=n),
        "organ pipe": -np.abs(np.arange(n) - n / 2),
    }[shape]
    sizes = np.bincount(quick_partition(column[:, None], k))
    assert sizes.sum() == n
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1


def test_no_rows_short_and_frozen_input():
    assert quick_partition(np.empty((0, 2)), 3).tolist() == []
    assert quick_partition(np.ones((2, 2)), 3).tolist() == [0, 0]
    points = np.arange(12.0).reshape(6, 2)
    points.flags.writeable = False
    assert quick_partition(points, 3).tolist() == [0, 0, 0, 1, 1, 1]
