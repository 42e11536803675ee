"""SSE, SST and information loss against 001's small tables, the definitions, and invariances."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kanopy.instances.errors import KanopyError
from kanopy.measures import information_loss, sse, sse_of_partition, sst

# 001, tables 2.1 and 2.2.
TEST_DATA = np.array([[3, 6], [6, 3], [9, 3], [9, 3], [12, 6], [12, 9]], dtype=float)
RESPECTING = np.array([[9, 7], [8, 3], [8, 3], [8, 3], [9, 7], [9, 7]], dtype=float)
NOT_RESPECTING = np.array([[6, 4]] * 3 + [[11, 6]] * 3, dtype=float)


@pytest.mark.parametrize(
    ("released", "labels", "expected"),
    [(RESPECTING, [0, 1, 1, 1, 0, 0], 66.0), (NOT_RESPECTING, [0, 0, 0, 1, 1, 1], 48.0)],
)
def test_published_releases_of_testdata(released, labels, expected):
    # (a) 37 + 10 + 13 and 4 + 1 + 1; (b) 13 + 1 + 10 and 13 + 1 + 10
    assert sse(TEST_DATA, released) == expected
    assert sse_of_partition(TEST_DATA, labels) == pytest.approx(expected)
    assert sst(TEST_DATA) == 91.5  # 61.5 around 8.5 and 30 around 5
    assert information_loss(TEST_DATA, released) == pytest.approx(100 * expected / 91.5)


def test_frames_count_as_arrays():
    frame = pd.DataFrame(TEST_DATA, columns=["a", "b"])
    assert sse(frame, pd.DataFrame(RESPECTING)) == sse(TEST_DATA, RESPECTING)


def test_equal_rows_lose_nothing_exactly():
    same = np.full((3, 2), 0.1)
    assert sst(same) == 0.0
    assert information_loss(same, same) == 0.0
    assert information_loss(same, same + 1) == np.inf
    doubled = np.repeat([[0.1], [0.7]], 3, axis=0)
    assert sse_of_partition(doubled, [0, 0, 0, 1, 1, 1]) == 0.0


@st.composite
def tables(draw):
    rows, width = draw(st.integers(1, 9)), draw(st.integers(1, 3))
    cells = st.lists(st.integers(-50, 50), min_size=rows * width, max_size=rows * width)
    points = np.array(draw(cells), dtype=float).reshape(rows, width)
    released = np.array(draw(cells), dtype=float).reshape(rows, width)
    labels = np.array(draw(st.lists(st.integers(0, 4), min_size=rows, max_size=rows)))
    order = np.array(draw(st.permutations(range(rows))))
    return points, released, labels, order


def centroids(points, labels):
    rows = range(len(points))
    return np.array(
        [points[[j for j in rows if labels[j] == labels[i]]].mean(axis=0) for i in rows]
    )


@given(tables())
def test_against_the_definitions(table):
    points, released, labels, _ = table
    literal = sum(
        (points[i, j] - released[i, j]) ** 2
        for i in range(len(points))
        for j in range(points.shape[1])
    )
    assert sse(points, released) == pytest.approx(literal)
    assert sst(points) == pytest.approx(sse(points, centroids(points, labels * 0)))
    assert sse_of_partition(points, labels) == pytest.approx(
        sse(points, centroids(points, labels)), abs=1e-9
    )
    if sst(points) > 0:
        loss = information_loss(points, released)
        assert loss == pytest.approx(100 * literal / sst(points))
        assert information_loss(points, centroids(points, labels)) <= 100 + 1e-9


@given(tables())
def test_order_of_rows_and_names_of_clusters_do_not_matter(table):
    points, released, labels, order = table
    assert sse(points[order], released[order]) == pytest.approx(sse(points, released))
    assert sst(points[order]) == pytest.approx(sst(points))
    assert information_loss(points[order], released[order]) == pytest.approx(
        information_loss(points, released)
    )
    renamed = np.array([7, 100, 3, 0, 9])[labels[order]]
    assert sse_of_partition(points[order], renamed) == pytest.approx(
        sse_of_partition(points, labels), abs=1e-9
    )


@given(tables(), st.sampled_from([0.125, 0.5, 2.0, -4.0]), st.integers(-100, 100))
def test_shift_and_scale(table, factor, shift):
    points, released, labels, _ = table
    moved = points * factor + shift
    moved_released = released * factor + shift
    assert sse(moved, moved_released) == pytest.approx(factor**2 * sse(points, released))
    assert sst(moved) == pytest.approx(factor**2 * sst(points))
    assert sse_of_partition(moved, labels) == pytest.approx(
        factor**2 * sse_of_partition(points, labels), abs=1e-9
    )
    assert information_loss(moved, moved_released) == pytest.approx(
        information_loss(points, released)
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sse([[1.0, np.nan]], [[1.0, 2.0]]), "1 missing or infinite"),
        (lambda: sse([[1.0], [2.0]], [[1.0]]), "shape"),
        (lambda: sse([[1.0, 2.0]], [[1.0], [2.0]]), "shape"),
        (lambda: sst(np.empty((0, 2))), "empty"),
        (lambda: sst([["a"]]), "not numeric"),
        (lambda: sst(np.array([["3"], ["4"]], dtype=object)), "not numeric"),
        (lambda: sst(np.zeros((2, 2, 2))), "3 dimensions"),
        (lambda: sst(pd.DataFrame({"a": pd.array([1, None], dtype="Int64")})), "missing"),
        (lambda: sst([1e200, -1e200]), "overflows"),
        (lambda: information_loss([[np.inf]], [[1.0]]), "infinite"),
        (lambda: sse_of_partition([[1.0], [2.0]], [0, -1]), "negative"),
        (lambda: sse_of_partition([[1.0], [2.0]], [0]), "1 entries where 2"),
        (lambda: sse_of_partition([[1.0], [2.0]], [0.0, 1.0]), "whole numbers"),
        (lambda: sse_of_partition([[1.0], [2.0]], []), "not empty"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(KanopyError, match=message):
        call()
