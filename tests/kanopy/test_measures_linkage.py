"""Record linkage against a loop over all pairs of rows."""

from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kanopy.instances.errors import KanopyError
from kanopy.measures import linkage_nominal, linkage_numeric


def expected_share(distances):
    """Share of rows i whose nearest record is i, a tie shared among the tied; rows are released."""
    total = Fraction(0)
    for i, row in enumerate(distances):
        if row[i] == min(row):
            total += Fraction(1, row.count(row[i]))
    return float(total / len(distances))


def test_unchanged_and_useless_releases():
    points = [[1.0, 5.0], [2.0, 5.0], [4.0, 9.0]]
    assert linkage_numeric(points, points) == 1
    assert linkage_numeric(points, [[2.0, 6.0]] * 3) == pytest.approx(1 / 3)  # one is nearest
    assert linkage_numeric([[3.0]] * 4, [[3.0]] * 4) == 1 / 4
    assert linkage_nominal(list("abc"), list("abc")) == 1
    assert linkage_nominal(list("abc"), list("bca")) == 0


def test_a_centroid_between_two_records_is_a_tie():
    # 0.1 and 0.7 standardised are not exactly symmetric in floating point.
    original = np.array([[0.1], [0.7], [5.3], [5.9]])
    released = np.array([[0.4], [0.4], [5.6], [5.6]])
    assert linkage_numeric(original, released) == 0.5


def test_more_ties_than_the_first_query_asks_for():
    cube = np.array(list(product([0.1, 0.7], repeat=3)))
    assert linkage_numeric(cube, np.full((8, 3), 0.4)) == 1 / 8
    twice = np.repeat(cube, 2, axis=0)
    assert linkage_numeric(twice, np.full((16, 3), 0.4)) == 1 / 16


def test_distances_are_standardised():
    # Unscaled, the second column would decide for the wrong record.
    original = np.array([[0.0, 0.0], [1.0, 1000.0], [0.0, 2000.0], [1.0, 3000.0]])
    released = original + np.array([0.0, 600.0])
    literal = (original - original.mean(0)) / original.std(0)
    moved = (released - original.mean(0)) / original.std(0)
    distances = [[round(float(((r - o) ** 2).sum()), 9) for o in literal] for r in moved]
    assert linkage_numeric(original, released) == expected_share(distances) == 1


@st.composite
def number_tables(draw):
    rows, width = draw(st.integers(1, 7)), draw(st.integers(1, 2))
    cells = st.lists(st.integers(0, 5), min_size=rows * width, max_size=rows * width)
    original = np.array(draw(cells)).reshape(rows, width)
    released = np.array(draw(cells)).reshape(rows, width)
    return original, released, np.array(draw(st.permutations(range(rows))))


@given(number_tables())
def test_numbers_against_all_pairs(table):
    original, released, _ = table
    rows = range(len(original))
    # n²·variance is whole, so squared standardised distances are exact fractions
    variances = [
        Fraction(int(len(c) * (c**2).sum() - c.sum() ** 2), len(c) ** 2) or Fraction(1)
        for c in original.T
    ]
    distances = [
        [
            sum(
                Fraction(int(released[i, j] - original[r, j]) ** 2) / variance
                for j, variance in enumerate(variances)
            )
            for r in rows
        ]
        for i in rows
    ]
    assert linkage_numeric(original, released) == pytest.approx(expected_share(distances))


@given(number_tables())
def test_categories_against_all_pairs(table):
    original, released, _ = table
    distances = [[int((r != o).sum()) for o in original] for r in released]
    assert linkage_nominal(original, released) == pytest.approx(expected_share(distances))


@given(number_tables(), st.sampled_from([0.1, 3.0, -7.0]), st.integers(-9, 9))
def test_invariances(table, factor, shift):
    original, released, order = table
    scale = np.array([factor, 2.0])[: original.shape[1]]
    assert linkage_numeric(
        original[order] * scale + shift, released[order] * scale + shift
    ) == pytest.approx(linkage_numeric(original, released))
    names = np.array(["f", "a", "q", "x", "b", "m"])
    assert linkage_nominal(names[original[order]], names[released[order]]) == pytest.approx(
        linkage_nominal(original, released)
    )


def test_blocks_do_not_change_the_result(monkeypatch):
    rng = np.random.default_rng(3)
    numbers = rng.integers(0, 9, (60, 3)).astype(float)
    centers = numbers[rng.integers(0, 60, 60)] + 0.25
    codes, others = rng.integers(0, 3, (60, 3)), rng.integers(0, 5, (60, 3))
    whole = linkage_numeric(numbers, centers), linkage_nominal(codes, others)
    assert 0 < whole[0] < 1
    assert 0 < whole[1] < 1
    monkeypatch.setattr("kanopy.measures.linkage._QUERIES_AT_ONCE", 7)
    monkeypatch.setattr("kanopy.measures.linkage._NEIGHBOURS", 1)
    monkeypatch.setattr("kanopy.measures.linkage._DISTANCES_AT_ONCE", 50)
    assert (linkage_numeric(numbers, centers), linkage_nominal(codes, others)) == whole


def test_categories_may_have_different_dtypes_before_and_after():
    original = pd.DataFrame({"a": pd.Categorical(["x", "y"]), "b": [1, 2]})
    released = pd.DataFrame({"a": ["x", "y"], "b": [1, 1]}, index=[5, 6])
    assert linkage_nominal(original, released) == 1 / 2 + 1 / 4  # row 2 is one off both records


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: linkage_numeric([[1.0, np.nan]], [[1.0, 2.0]]), "missing"),
        (lambda: linkage_numeric([[1.0]], [[1.0], [2.0]]), "shape"),
        (lambda: linkage_numeric(np.empty((0, 1)), np.empty((0, 1))), "empty"),
        (lambda: linkage_numeric([["a"]], [["a"]]), "not numeric"),
        (lambda: linkage_numeric([1e308, -1e308, 0], [0, 0, 0]), "overflows"),
        (lambda: linkage_nominal(["a", None], ["a", "b"]), "missing"),
        (lambda: linkage_nominal(["a", "b"], ["a", None]), "missing"),
        (lambda: linkage_nominal(["a", "b"], ["a"]), "1 entries where 2"),
        (lambda: linkage_nominal({"x": ["a"]}, {"y": ["a"]}), "different columns"),
        (lambda: linkage_nominal([], []), "empty"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(KanopyError, match=message):
        call()
