import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import random_instance

import kanopy as kn
from kanopy.release import assign_counts, format_set, medoids, parse_range, parse_ranges, parse_set


def solution(data, labels, k=2, cost=None, **parts):
    from kanopy.solvers.costs import default_cost
    from kanopy.solvers.problem import Outcome, Problem

    cost = cost or default_cost(data)
    control = data.tables(1) if cost in ("chi2", "max-error") else None
    problem = Problem(data, k, cost, control=control)
    labels = None if labels is None else np.asarray(labels)
    objective = problem.objective(Outcome(labels=labels, **parts))
    return kn.Solution(problem, objective, None, "feasible", "hand", 0.0, 0, labels, **parts)


def test_thaeters_two_releases_of_testdata():
    """Table 2.2 of 001: centroids of a multiset-respecting and another clustering."""
    data = kn.example("testdata")
    a = solution(data, [0, 1, 1, 1, 0, 0], 3).release()
    assert a.to_numpy().tolist() == [[9, 7], [8, 3], [8, 3], [8, 3], [9, 7], [9, 7]]
    b = solution(data, [0, 0, 0, 1, 1, 1], 3).release()
    assert b.to_numpy().tolist() == [[6, 4]] * 3 + [[11, 6]] * 3
    assert (b.dtypes == data.frame.dtypes).all()  # whole means stay whole numbers


def test_liangs_health_records():
    """Table 1b of 003."""
    s = solution(kn.example("ehr"), [0, 0, 0, 1, 1, 1, 1], 3, "range")
    release = s.release()
    assert release["Age"].tolist() == ["[35-37]"] * 3 + ["[61-66]"] * 4
    assert release["Sex"].tolist() == ["[0-0]"] * 3 + ["[1-1]"] * 4
    assert release["Zipcode"].tolist() == ["[22071-23061]"] * 3 + ["[55099-55324]"] * 4
    assert release["Disease"].equals(kn.example("ehr").frame["Disease"])


def test_untouched_parts_come_back_identical():
    frame = pd.DataFrame(
        {
            "who": list("abcdef"),
            "x": [1, 2, 3, 10, 11, 13],
            "note": [None, 1.5, 2.5, None, 0.0, 1.0],
            "y": [0.5, 0.25, 0.125, 8.0, 8.5, 9.0],
        },
        index=[30, 10, 20, 50, 40, 60],
    )
    data = kn.Microdata.from_frame(frame, numeric=["x", "y"])
    release = kn.solve(data, 3, "mdav").release()
    assert release.index.equals(frame.index)
    assert list(release.columns) == list(frame.columns)
    pd.testing.assert_frame_equal(release[["who", "note"]], frame[["who", "note"]])
    assert release["x"].dtype == float
    assert frame.loc[30, "x"] == 1  # the original is untouched


def test_shuffling_keeps_rows_together_but_not_their_order():
    frame = pd.DataFrame({"x": np.arange(60.0), "id": np.arange(60)})
    s = kn.solve(kn.Microdata.from_frame(frame, numeric=["x"]), 3, "univariate")
    plain, mixed = s.release(), s.release(shuffle=True, seed=1)
    assert mixed.index.tolist() == list(range(60))
    assert mixed["id"].tolist() != plain["id"].tolist()
    pd.testing.assert_frame_equal(
        mixed.sort_values("id").reset_index(drop=True), plain.reset_index(drop=True)
    )


def test_members_are_members_and_medoids():
    rng = np.random.default_rng(0)
    for cost in ("sse", "hamming", "range"):
        for _ in range(20):
            data = random_instance(rng, cost, 9)
            labels = np.arange(9) // 3
            chosen = medoids(data, labels)
            for c in range(3):
                rows = np.flatnonzero(labels == c)
                far = [
                    sum(
                        float(data.numeric_weights @ (data.X[a] - data.X[b]) ** 2)
                        + float(data.nominal_weights @ (data.codes[a] != data.codes[b]))
                        for b in rows
                    )
                    for a in rows
                ]
                assert chosen[c] == rows[int(np.argmin(np.round(far, 9)))]


def test_given_representatives_are_released():
    data = kn.example("aggregation")
    rows = data.frame
    labels = np.repeat([0, 1, 2], 3)
    s = solution(data, labels, 3, "chi2", representatives=np.array([0, 3, 8]))
    assert s.objective == 0  # scenario 2 of example 5.1.2: both one-dimensional tables are kept
    release = s.release()
    for c, row in enumerate((0, 3, 8)):
        assert (release[labels == c] == rows.iloc[row]).all().all()
    kn.verify(data, s)


def test_frequency_vector_keeps_rows_where_it_can():
    rng = np.random.default_rng(3)
    for _ in range(100):
        data = random_instance(rng, "hamming", 14)
        counts = np.zeros_like(data.counts)
        chosen = rng.choice(len(counts), 3, replace=len(counts) < 3)
        for c in chosen:
            counts[c] += 4
        counts[chosen[0]] += 2
        given_types = assign_counts(data, counts)
        assert (np.bincount(given_types, minlength=len(counts)) == counts).all()
        kept = int((given_types == data.types).sum())
        assert kept == np.minimum(counts, data.counts).sum()
        s = solution(data, None, 4, "chi2", counts=counts)
        kn.verify(data, s)
        assert s.release().index.equals(data.frame.index)


def test_frequency_vector_of_another_size_gives_a_new_table():
    data = kn.example("safe-basic")
    counts = np.array([3, 3])
    release = solution(data, None, 3, "max-error", counts=counts).release()
    assert len(release) == 6
    assert list(release.columns) == list(data.quasi_identifiers)


def test_hierarchies_generalise_to_the_common_ancestor():
    tree = kn.Hierarchy.from_paths(
        [("dentist", "medic", "any"), ("surgeon", "medic", "any"), ("baker", "craft", "any")]
    )
    frame = pd.DataFrame({"job": ["dentist", "surgeon", "baker", "baker", "baker", "dentist"]})
    data = kn.Microdata.from_frame(frame, hierarchies={"job": tree})
    release = solution(data, [0, 0, 1, 1, 2, 2], 2, "range").release()
    assert release["job"].tolist() == ["medic"] * 2 + ["baker"] * 2 + ["any"] * 2


@pytest.mark.parametrize(
    ("kind", "said"), [("mean", "centroids, ranges"), ("counts", "cannot be released")]
)
def test_kinds_that_do_not_fit(kind, said):
    s = kn.solve(kn.example("testdata"), 3, "mdav")
    with pytest.raises(kn.KanopyError, match=said):
        s.release(kind)


def test_categories_have_no_centroid():
    s = kn.solve(kn.example("survey"), 2, "random")
    with pytest.raises(kn.KanopyError, match="no mean"):
        s.release("centroids")


@given(st.lists(st.text(min_size=1), min_size=2, unique=True))
def test_value_sets_can_be_read_back(values):
    assert parse_set(format_set(values)) == tuple(values)


@given(st.text())
def test_single_values_can_be_read_back(value):
    assert parse_set(format_set([value])) == (value,)


@given(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9))
def test_ranges_can_be_read_back(a, b):
    low, high = sorted((a, b))
    data = kn.Microdata.from_frame(pd.DataFrame({"x": [low, high]}))
    text = solution(data, [0, 0], 2, "range").release()["x"].iloc[0]
    assert parse_range(text) == (low, high)
    assert parse_ranges(pd.Series([text])).tolist() == [[low, high]]


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([-0.0, 2.0], "[0-2]"),
        ([2, 2**53 + 1], f"[2-{2**53 + 1}]"),
        ([-3.0, 0.1], "[-3-0.1]"),
        ([1 / 3, 1e9 / 7], f"[{1 / 3!r}-{1e9 / 7!r}]"),
        ([9999999999.5, 1e11 / 7], f"[9999999999.5-{1e11 / 7!r}]"),
        ([0.0001, 12345.0], "[0.0001-12345]"),
        ([1e-7, 1e15], "[1e-07-1000000000000000.0]"),
        ([1e14, 1e22], "[100000000000000-1e+22]"),
        (np.array([1, 200], dtype=np.uint8), "[1-200]"),
        (pd.array([1, 2], dtype="Int64"), "[1-2]"),
    ],
)
def test_numbers_are_spelt_as_python_does_and_whole_ones_without_a_point(values, text):
    data = kn.Microdata.from_frame(pd.DataFrame({"x": values}))
    assert solution(data, [0, 0], 2, "range").release()["x"].tolist() == [text] * 2


def test_huge_offsets_do_not_blur_centroids():
    values = 1e15 + np.array([0.0, 1, 2, 100, 101, 102])
    data = kn.Microdata.from_frame(pd.DataFrame({"x": values}))
    release = solution(data, [0, 0, 0, 1, 1, 1], 3, "sse").release()
    assert release["x"].tolist() == [1e15 + 1] * 3 + [1e15 + 101] * 3
