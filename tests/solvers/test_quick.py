from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from kanopy.instances.microdata import Microdata
from kanopy.solvers.kernels.quick import halve, plain_interrupts, quick_exit, quick_partition
from kanopy.solvers.problem import Problem
from kanopy.solvers.run import Run


def literal(points, largest):
    """Really sort every block, in the order its parent's split gave it."""
    labels = np.empty(len(points), dtype=np.int64)
    waiting = [np.arange(len(points))]
    label = 0
    while waiting:
        rows = waiting.pop()
        if len(rows) <= largest:
            labels[rows] = label
            label += 1
            continue
        widest = np.argmax(np.ptp(points[rows], axis=0))
        order = rows[np.argsort(points[rows, widest], kind="stable")]
        waiting += [order[len(rows) // 2 :], order[: len(rows) // 2]]
    return labels


@settings(max_examples=300)
@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 60), st.integers(1, 3)),
        elements=st.integers(0, 6).map(float),
    ),
    st.integers(1, 8),
)
def test_equals_literal_sorting(points, k):
    assert quick_partition(points, k).tolist() == literal(points, 2 * k - 1).tolist()


@pytest.mark.parametrize("values", [4, 1000])
def test_large_blocks_are_split_and_copied_like_small_ones(values):
    points = np.random.default_rng(3).integers(0, values, size=(150_000, 4)).astype(float)
    assert (quick_partition(points, 50) == literal(points, 99)).all()


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


def test_no_rows_few_rows_no_columns_and_frozen_input():
    assert quick_partition(np.empty((0, 2)), 3).tolist() == []
    assert quick_partition(np.ones((2, 2)), 3).tolist() == [0, 0]
    assert quick_partition(np.ones((4, 0)), 2).tolist() == [0, 0, 1, 1]
    points = np.arange(12.0).reshape(6, 2)
    points.flags.writeable = False
    assert quick_partition(points, 3).tolist() == [0, 0, 0, 1, 1, 1]


def test_limit_and_stopping_leave_larger_blocks():
    points = np.random.default_rng(0).normal(size=(100_000, 2))
    by_limit = halve(points, 6, limit=1000.0)
    assert by_limit.sizes.max() < 1000
    assert by_limit.sizes.min() >= 500
    assert sorted(by_limit.rows) == list(range(100_000))
    assert all((np.diff(by_limit[b]) > 0).all() for b in range(len(by_limit)))
    assert by_limit.labels()[by_limit[7]].tolist() == [7] * len(by_limit[7])

    calls = iter([False, False, True])
    stopped = halve(points, 6, stopping=lambda: next(calls, True))
    assert stopped.sizes.tolist() == [25_000, 25_000, 50_000]
    assert sorted(stopped.rows) == list(range(100_000))


def test_an_interrupt_leaves_a_partition_unless_there_is_a_better_one():
    data = Microdata.from_frame(pd.DataFrame({"x": [1.0, 9.0, 2.0, 8.0]}))
    run = Run(Problem(data, 2, "sse"))
    for known in ([0, 1, 0, 1], [0, 0, 1, 1]):
        with pytest.raises(KeyboardInterrupt), quick_exit(run):
            raise KeyboardInterrupt
        assert run.best.labels.tolist() == known
        run = Run(Problem(data, 2, "sse"))
        run.found_labels(np.array([0, 0, 1, 1]))


@pytest.mark.parametrize("depth", [1, 2])
def test_an_interrupt_that_a_kernel_wrapped_is_unwrapped(depth):
    error = KeyboardInterrupt()
    for _ in range(depth):
        wrapped = SystemError("returned a result with an exception set")
        wrapped.__cause__ = error
        error = wrapped
    with pytest.raises(KeyboardInterrupt), plain_interrupts():
        raise error
    with pytest.raises(SystemError, match="other"), plain_interrupts():
        raise SystemError("other")
