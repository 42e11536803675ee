"""Hamming pair sums and frequency-table errors against 000's examples and the definitions."""

import os
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kanopy.instances.errors import KanopyError
from kanopy.instances.microdata import Microdata
from kanopy.measures import (
    allowed_extra_error,
    confidentiality_problems,
    deviation,
    hamming_pair_sum,
    maximum_error,
    table_errors,
)


def frame(rows, columns=("sex", "citizenship")):
    return pd.DataFrame(rows, columns=list(columns))


def counts_of_release(data, released):
    """Frequencies of the original combinations in a released table that has no others."""
    keys = [tuple(row) for row in data.combinations.to_numpy()]
    rows = [tuple(row) for row in released.to_numpy()]
    assert set(rows) <= set(keys)
    return np.array([rows.count(key) for key in keys])


def test_example_1_1_1_and_its_confidentiality_problems():
    survey = frame(
        [("female", "Germany", "employed")] * 2
        + [
            ("female", "Germany", "inactive"),
            ("male", "Germany", "unemployed"),
            ("male", "Others", "inactive"),
        ],
        ("sex", "citizenship", "working"),
    )
    data = Microdata.from_frame(survey)
    assert confidentiality_problems(data.counts, k=2) == 3 / 5
    assert confidentiality_problems(data.counts, k=1) == 0
    # 000, figure 1.3: the tables of sex and of sex by working status
    assert data.tables([["sex"]]).values(data.counts).tolist() == [3, 2]
    assert sorted(data.tables([["sex", "working"]]).values(data.counts)) == [1, 1, 1, 2]
    values = data.tables(3).values(data.counts)
    unchanged = table_errors(values, values, data.tables(3).dimension)
    assert (unchanged.chi2, unchanged.max_abs, unchanged.max_rel) == (0, 0, 0)
    assert set(unchanged.by_dimension) == {1, 2, 3}


def test_example_3_2_1_equal_tables_hide_a_deviation():
    # The control tables do not see the swap of citizenships; the deviation does.
    original = frame([("female", "Germany")] * 2 + [("male", "Others")] * 2)
    swapped = frame([("female", "Others")] * 2 + [("male", "Germany")] * 2)
    both = Microdata.from_frame(pd.concat([original, swapped], ignore_index=True))
    before, after = counts_of_release(both, original), counts_of_release(both, swapped)
    control = both.tables(1)
    assert maximum_error(control.values(after), control.values(before)) == 0
    assert deviation(after, before) == 8
    assert deviation(before, before) == 0


def test_example_4_1_1_pair_sums():
    homogeneous = [("f", "GER"), ("f", "OTH"), ("f", "OTH")]
    mixed = [("f", "GER"), ("f", "OTH"), ("m", "GER")]
    assert hamming_pair_sum(frame(mixed), [0, 0, 0]) == 4
    assert hamming_pair_sum(frame(homogeneous), [0, 0, 0]) == 2
    assert hamming_pair_sum(frame(mixed + homogeneous), [1, 1, 1, 0, 0, 0]) == 6


def test_example_5_1_1():
    rows = [("female", "Germany"), ("female", "Others"), ("male", "Germany"), ("male", "Others")]
    data = Microdata.from_frame(frame(rows))
    after = counts_of_release(data, frame([rows[0]] * 2 + [rows[3]] * 2))
    tables = data.tables(2)
    errors = table_errors(tables.values(after), tables.values(data.counts), tables.dimension)
    one, two = errors.by_dimension[1], errors.by_dimension[2]
    assert (one.chi2, one.max_abs, one.max_rel) == (0, 0, 0)
    assert (two.chi2, two.max_abs, two.max_rel) == (4, 1, 1)
    assert (errors.chi2, errors.max_abs, errors.max_rel) == (4, 1, 1)


def test_example_5_1_2_and_table_5_1():
    # 000, table 5.1: (f, m) = (6, 3) becomes (9, 0) in scenario 1 and (6, 3) in scenario 2.
    first = table_errors([9, 0], [6, 3], [1, 1])
    assert first.chi2 == 9 / 6 + 9 / 3
    assert (first.max_abs, first.max_rel) == (3, 1)
    assert table_errors([6, 3], [6, 3], [1, 1]).chi2 == 0
    working = ("empl", "unempl", "inact")
    data = Microdata.from_frame(frame([(s, w) for w in working for s in "ffm"], ("sex", "working")))
    second = frame(
        [("f", "empl")] * 3 + [("f", "unempl")] * 3 + [("m", "inact")] * 3, ("sex", "working")
    )
    tables = data.tables(2)
    errors = table_errors(
        tables.values(counts_of_release(data, second)),
        tables.values(data.counts),
        tables.dimension,
    )
    assert errors.by_dimension[1].chi2 == 0
    # two-dimensional: (f, w) 2 → 3, 3, 0 and (m, w) 1 → 0, 0, 3
    assert errors.by_dimension[2].chi2 == 0.5 + 0.5 + 2 + 1 + 1 + 4
    assert errors.by_dimension[2].max_abs == 2
    assert errors.by_dimension[2].max_rel == 2


def test_cells_that_were_empty_count_for_the_absolute_error_only():
    errors = table_errors([5, 1], [0, 2], [1, 1])
    assert (errors.chi2, errors.max_abs, errors.max_rel) == (0.5, 5, 0.5)
    assert table_errors([5], [0], [1]).max_rel == 0


def test_appendix_a():
    steps = [10, 20, 50, 100, 200, 1_000, 10_000, 100_000, 1_000_000]
    assert allowed_extra_error([0, *steps]).tolist() == list(range(10))
    assert allowed_extra_error([step - 1 for step in steps]).tolist() == list(range(9))


def test_maximum_error_may_be_negative_and_takes_one_tolerance():
    assert maximum_error([101], [100], allowed_extra_error([100])) == -3
    assert maximum_error([5, 9], [4, 5], 1) == 3


@st.composite
def coded(draw):
    rows, width = draw(st.integers(1, 8)), draw(st.integers(1, 3))
    cells = draw(st.lists(st.integers(0, 3), min_size=rows * width, max_size=rows * width))
    labels = np.array(draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows)))
    weights = draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=width, max_size=width))
    order = np.array(draw(st.permutations(range(rows))))
    return np.array(cells).reshape(rows, width), labels, weights, order


@given(coded())
def test_pair_sum_against_all_pairs(instance):
    codes, labels, weights, order = instance
    literal = sum(
        weights[j]
        for i, r in combinations(range(len(codes)), 2)
        if labels[i] == labels[r]
        for j in range(codes.shape[1])
        if codes[i, j] != codes[r, j]
    )
    assert hamming_pair_sum(codes, labels, weights) == literal
    named = pd.DataFrame(codes, columns=list("abc")[: codes.shape[1]])
    assert hamming_pair_sum(named, labels, dict(zip(named, weights, strict=True))) == literal
    renamed_values = np.array(["x", "q", "zz", "a"])[codes[order]]
    renamed_clusters = np.array([5, 0, 9, 2])[labels[order]]
    assert hamming_pair_sum(renamed_values, renamed_clusters, weights) == literal


cell_lists = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(1, 3), st.integers(0, 4)),
    min_size=1,
    max_size=8,
)


@given(cell_lists, st.randoms(use_true_random=False))
def test_table_measures_against_loops(cells, random):
    def literal(chosen):
        occupied = [(v, o) for v, o, *_ in chosen if o > 0]
        return (
            sum((v - o) ** 2 / o for v, o in occupied),
            max(abs(v - o) for v, o, *_ in chosen),
            max((abs(v - o) / o for v, o in occupied), default=0.0),
        )

    for _ in range(2):  # as drawn, then in another order
        values, original, dimension, tolerance = (list(part) for part in zip(*cells, strict=True))
        errors = table_errors(values, original, dimension)
        assert (errors.chi2, errors.max_abs, errors.max_rel) == pytest.approx(literal(cells))
        assert set(errors.by_dimension) == set(dimension)
        for d, part in errors.by_dimension.items():
            chosen = [cell for cell in cells if cell[2] == d]
            assert (part.chi2, part.max_abs, part.max_rel) == pytest.approx(literal(chosen))
        assert deviation(values, original) == sum(abs(v - o) for v, o, *_ in cells)
        assert maximum_error(values, original, tolerance) == max(
            abs(v - o) - g for v, o, _, g in cells
        )
        extra = allowed_extra_error(original)
        assert extra.tolist() == [0 if o < 10 else 1 if o < 20 else 2 for o in original]
        if sum(values):
            for k in (1, 2, 5, 40):
                problem = sum(v for v in values if 0 < v < k)
                assert confidentiality_problems(values, k) == problem / sum(values)
        random.shuffle(cells)


@pytest.mark.real_data
@pytest.mark.skipif("KANOPY_DATA" not in os.environ, reason="KANOPY_DATA names no data folder")
def test_share_of_confidentiality_problems_in_adult():
    path = Path(os.environ["KANOPY_DATA"]) / "adult.csv.gz"
    adult = pd.read_csv(path, keep_default_na=False).query("split == 'train'")
    names = ["sex", "race", "relationship", "marital-status"]
    names += ["workclass", "occupation", "education", "native-country"]
    adult = adult[~(adult[names] == "?").any(axis=1)][names]
    assert len(adult) == 30162
    shares = [
        confidentiality_problems(adult.value_counts(subset=names[:width]), k=3)
        for width in range(3, 9)
    ]
    assert shares[0] == 2 / 30162
    assert [round(share, 3) for share in shares] == [0.000, 0.002, 0.013, 0.059, 0.185, 0.239]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hamming_pair_sum([["a"], [None]], [0, 0]), "missing"),
        (lambda: hamming_pair_sum([["a"], ["b"]], [0]), "1 entries where 2"),
        (lambda: hamming_pair_sum([["a"], ["b"]], [0, -2]), "negative"),
        (lambda: hamming_pair_sum(np.empty((0, 2)), []), "empty"),
        (lambda: hamming_pair_sum([["a"]], [0], [-1.0]), "≥ 0"),
        (lambda: hamming_pair_sum([["a"]], [0], [1.0, 1.0]), "2 entries where 1"),
        (lambda: hamming_pair_sum({"x": ["a"]}, [0], {"y": 1.0}), "unknown column in weights"),
        (lambda: hamming_pair_sum({"x": ["a"], "y": ["a", "b"]}, [0]), "different lengths"),
        (lambda: hamming_pair_sum({"x": [["list"]]}, [0]), "cannot be compared"),
        (lambda: table_errors([1, 2], [1], [1]), "2 entries where 1"),
        (lambda: table_errors([1], [1], [0]), "dimension"),
        (lambda: table_errors([1, 2], [1, 2], [1]), "1 entries where 2"),
        (lambda: table_errors([np.nan], [1], [1]), "missing"),
        (lambda: table_errors([], [], []), "empty"),
        (lambda: table_errors([-1], [1], [1]), "negative"),
        (lambda: deviation([1], [1, 2]), "entries"),
        (lambda: deviation([np.inf], [1]), "infinite"),
        (lambda: confidentiality_problems([0, 0], 2), "all 0"),
        (lambda: confidentiality_problems([1], 0), "k = 0"),
        (lambda: confidentiality_problems([1], 2.5), "k = 2.5"),
        (lambda: maximum_error([1, 2], [1, 2], [0]), "tolerance has 1"),
        (lambda: maximum_error([1], [1], [-1]), "tolerance must be"),
        (lambda: allowed_extra_error([-1]), "negative"),
        (lambda: allowed_extra_error([[1]]), "dimensions"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(KanopyError, match=message):
        call()
