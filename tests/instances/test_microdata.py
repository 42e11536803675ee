import datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kanopy.instances.errors import KanopyError
from kanopy.instances.hierarchy import Hierarchy
from kanopy.instances.microdata import Microdata

FRAME = pd.DataFrame(
    {
        "age": [30, 41, 41, 58],
        "town": ["Trier", "Bonn", "Bonn", "Ulm"],
        "pay": [1.5, 2.5, 3.5, 4.5],
        "ill": ["a", "b", "c", "d"],
    },
    index=[10, 11, 12, 13],
)
GAPS = pd.DataFrame(
    {"x": [1.0, np.nan, 3.0, 4.0], "t": ["a", "b", None, "a"], "s": ["u", "v", "u", None]}
)


def build(frame=FRAME, **parameters):
    return Microdata.from_frame(frame, **parameters)


# --- roles -----------------------------------------------------------------------------------


def test_roles_follow_from_dtypes():
    data = build(FRAME.assign(flag=[True, False, True, False]))
    assert data.numeric == ("age", "pay")
    assert data.nominal == ("town", "ill", "flag")
    assert data.quasi_identifiers == ("age", "town", "pay", "ill", "flag")
    assert data.kind == "mixed"


def test_one_given_role_leaves_the_other_empty():
    assert build(numeric=["pay"]).quasi_identifiers == ("pay",)
    data = build(nominal=["age"])
    assert (data.numeric, data.nominal, data.kind) == ((), ("age",), "nominal")
    assert data.categories[0].tolist() == [30, 41, 58]


def test_an_index_of_columns_names_them():
    data = build(numeric=FRAME.columns[[2, 0]], confidential=np.array(["ill"]))
    assert (data.numeric, data.confidential) == (("age", "pay"), ("ill",))


def test_confidential_and_strata_are_no_quasi_identifiers():
    data = build(confidential=["ill"], strata="town")
    assert data.quasi_identifiers == ("age", "pay")
    assert data.stratum_of_row.tolist() == [1, 0, 0, 2]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"nominal": ["sex"]}, "unknown nominal column 'sex'.*age, town, pay, ill"),
        ({"numeric": ["sex"]}, "unknown numeric column 'sex'"),
        ({"confidential": ["sex"]}, "unknown confidential column 'sex'"),
        ({"strata": "sex"}, "unknown strata column 'sex'"),
        ({"weights": {"sex": 1}}, "unknown quasi-identifier in weights 'sex'"),
        ({"weights": {"ill": 1}, "confidential": ["ill"]}, "unknown quasi-identifier in weights"),
        ({"domains": {"sex": 3}}, "unknown quasi-identifier in domains 'sex'"),
        ({"hierarchies": {"sex": Hierarchy({"f": "any"})}}, "unknown nominal column in hier"),
        ({"hierarchies": {"age": Hierarchy({"f": "any"})}}, "unknown nominal column in hier"),
        ({"nominal": "town"}, r"nominal takes a list.*nominal=\['town'\]"),
        ({"confidential": "ill"}, r"confidential=\['ill'\]"),
        ({"nominal": ["age"], "numeric": ["age"]}, "age is both nominal and numeric"),
        ({"nominal": ["ill"], "confidential": ["ill"]}, "ill cannot be a quasi-identifier and"),
        ({"nominal": ["ill"], "strata": "ill"}, "ill cannot be a quasi-identifier and"),
        ({"nominal": [], "numeric": []}, "no usable column"),
        ({"confidential": ["age", "town", "pay", "ill"]}, "no usable column"),
        ({"numeric": ["town"]}, "'town' is str, not numeric"),
        ({"missing": "ignore"}, "unknown treatment of missing values 'ignore'"),
        ({"missing": ["drop"]}, "unknown treatment of missing values"),
        ({"numeric": 3}, "numeric takes a list of columns, got int"),
        ({"numeric": [["age"]]}, "unknown numeric column"),
        ({"numeric": (name for name in ["age"])}, "list of columns, got generator"),
        ({"confidential": 3}, "confidential takes a list of columns, got int"),
        ({"strata": ["ill"]}, "unknown strata column"),
        ({"strata": ""}, "unknown strata column ''"),
        ({"weights": [1, 2]}, "weights must be a dict like .*, got list"),
        ({"weights": {"age": 10**400}}, "weight of 'age'"),
        ({"domains": [1]}, "domains must be a dict like .*, got list"),
        ({"domains": {"age": (0, 10**400)}}, "two finite numbers"),
        ({"hierarchies": 3}, "hierarchies must be a dict like .*, got int"),
        ({"hierarchies": {"town": 1}}, "hierarchy of 'town' is no Hierarchy: int"),
        ({"standardize": "no"}, "standardize must be True or False"),
    ],
)
def test_bad_roles(parameters, message):
    with pytest.raises(KanopyError, match=message):
        build(**parameters)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (FRAME.iloc[:0], "no rows"),
        (pd.DataFrame(), "no usable column"),
        (pd.DataFrame(index=[1, 2]), "no usable column"),
        (FRAME.set_axis(["a", "b", "a", "c"], axis=1), "occur twice: a"),
        (FRAME.set_axis([0, 1, 2, 3], axis=1), "must be strings"),
        (FRAME.to_dict(), "expected a pandas DataFrame, got dict"),
        (FRAME["age"], "expected a pandas DataFrame, got Series"),
    ],
)
def test_bad_frames(frame, message):
    with pytest.raises(KanopyError, match=message):
        build(frame)


# --- values ----------------------------------------------------------------------------------


def test_missing_values_are_refused_by_default():
    with pytest.raises(KanopyError, match="'x' has 1 missing values, the first in row 1"):
        build(GAPS, numeric=["x"])
    with pytest.raises(KanopyError, match="'t' has 1 missing values, the first in row 2"):
        build(GAPS, nominal=["t"])
    with pytest.raises(KanopyError, match="strata column 's' has missing values"):
        build(GAPS[["s"]].assign(y=1), strata="s")


def test_rows_with_missing_values_can_be_dropped():
    data = build(GAPS, numeric=["x"], nominal=["t"], missing="drop")
    assert data.frame.index.tolist() == [0, 3]
    assert build(GAPS, nominal=["t"], strata="s", missing="drop").frame.index.tolist() == [0, 1]
    assert build(GAPS, nominal=["t"], confidential=["x"], missing="drop").n == 3
    with pytest.raises(KanopyError, match="every row has a missing value"):
        build(pd.DataFrame({"x": [np.nan, np.nan]}), missing="drop")


def test_missing_can_be_a_category_of_its_own():
    data = build(GAPS, nominal=["t"], missing="category")
    assert data.categories[0].tolist() == ["a", "b", None]
    assert data.codes.ravel().tolist() == [0, 1, 2, 0]
    assert data.counts.tolist() == [2, 1, 1]
    with pytest.raises(KanopyError, match="'x' has 1 missing values"):
        build(GAPS, numeric=["x"], missing="category")
    with pytest.raises(KanopyError, match="strata column 's'"):
        build(GAPS, nominal=["t"], strata="s", missing="category")
    assert data.take([1, 2]).categories[0].tolist() == ["b", None]


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_values(value):
    with pytest.raises(KanopyError, match="'x' has 1 infinite values, the first in row 1"):
        build(pd.DataFrame({"x": [1.0, value]}))


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("values", [[1e300, -1e300], [1e308, -1e308], [1e308, 1e307]])
def test_values_whose_squares_overflow(values, standardize):
    with pytest.raises(KanopyError, match="'x' overflow"):
        build(pd.DataFrame({"x": values}), standardize=standardize)


@pytest.mark.parametrize("standardize", [True, False])
def test_weights_whose_costs_overflow(standardize):
    """Distances beyond all floats once sent a search to rows that do not exist."""
    frame = pd.DataFrame({"x": [1.0, 2.0, 5.0, 9.0], "t": list("abca")})
    for weights in ({"x": 1e308}, {"t": 1e308}, {"x": 1e306, "t": 1e308}):
        with pytest.raises(KanopyError, match="weighted costs overflow"):
            build(frame, weights=weights, standardize=standardize)
    assert build(frame, weights={"x": 1e300, "t": 1e300}).weights.tolist() == [1e300, 1e300]
    with pytest.raises(KanopyError, match="weighted costs overflow"):
        build(pd.DataFrame({"x": [9e153, -9e153]}), standardize=False)


def test_whole_numbers_that_floats_cannot_tell_apart():
    for dtype in (np.int64, "Int64", np.uint64):
        close = pd.Series([2**62, 2**62 + 1, 2**62 + 3]).astype(dtype)
        with pytest.raises(KanopyError, match="'x' holds whole numbers beyond 2\\^53"):
            build(pd.DataFrame({"x": close}))
        assert build(pd.DataFrame({"x": close}), nominal=["x"]).counts.tolist() == [1, 1, 1]
    apart = pd.DataFrame({"x": [2**62, 2**62 + 4096, -(2**62), 2**62]})
    assert len(np.unique(build(apart).X)) == 3


def test_halves_of_floats_are_refused_wherever_they_stand():
    frame = FRAME.assign(half=np.arange(4, dtype=np.float16))
    for parameters in ({}, {"numeric": ["age"]}, {"confidential": ["half"]}):
        with pytest.raises(KanopyError, match="'half' is float16; convert"):
            build(frame, **parameters)


def test_large_but_usable_values():
    data = build(pd.DataFrame({"x": [1e150, -1e150]}))
    np.testing.assert_allclose(data.X.ravel(), [1, -1])


@pytest.mark.parametrize("value", [7.0, 0.1, 1e308, -3e-310])
def test_constant_columns_are_zero_and_come_back(value):
    data = build(pd.DataFrame({"x": [value] * 3, "y": [1, 2, 3]}))
    assert data.X[:, 0].tolist() == [0, 0, 0]
    assert (data.center[0], data.scale[0]) == (value, 1)
    assert data.unstandardize(data.X)[:, 0].tolist() == [value] * 3


@pytest.mark.parametrize("cell", [["secret"], {"secret": 1}, {"secret"}, np.array([1, 2])])
def test_cells_that_cannot_be_compared(cell):
    frame = pd.DataFrame({"x": pd.Series([cell, cell], dtype=object)})
    with pytest.raises(KanopyError, match="'x' holds lists or other values") as caught:
        build(frame)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["secret", 1], "'x' mixes number and str"),
        ([1, "secret", datetime.date(2020, 1, 1)], "'x' mixes date and number and str"),
        ([b"secret", "secret"], "'x' mixes bytes and str"),
        ([object(), object()], "'x' have no order"),
        ([1 + 2j, 3 + 4j], "'x'"),
    ],
)
def test_mixed_and_orderless_cells(cells, message):
    frame = pd.DataFrame({"x": pd.Series(cells, dtype=object)})
    with pytest.raises(KanopyError, match=message) as caught:
        build(frame, nominal=["x"])
    assert "secret" not in str(caught.value)


def test_complex_numbers():
    with pytest.raises(KanopyError, match="complex"):
        build(pd.DataFrame({"x": [1 + 2j, 3j]}))


@pytest.mark.parametrize(
    "column",
    [
        pd.Categorical(["b", "a", "b", "c"], categories=["c", "b", "a", "unused"]),
        pd.array(["b", "a", "b", "c"], dtype="string"),
        np.array(["b", "a", "b", "c"], dtype=object),
    ],
)
def test_text_of_any_dtype_gives_the_same_codes(column):
    data = build(pd.DataFrame({"x": column}))
    assert data.codes.ravel().tolist() == [1, 0, 1, 2]
    assert data.categories[0].tolist() == ["a", "b", "c"]


def test_dates_tuples_and_numbers_can_be_nominal():
    frame = pd.DataFrame(
        {
            "d": pd.to_datetime(["2020-01-02", "2020-01-01"]),
            "t": pd.Series([(1, 2), (1, 1)], dtype=object),
            "n": pd.array([2, 1], dtype="Int64"),
        }
    )
    assert build(frame, nominal=["d", "t", "n"]).codes.tolist() == [[1, 1, 1], [0, 0, 0]]


def test_nullable_numbers():
    assert build(pd.DataFrame({"x": pd.array([1, 3], dtype="Int64")})).X.ravel().tolist() == [-1, 1]
    with pytest.raises(KanopyError, match="'x' has 1 missing values"):
        build(pd.DataFrame({"x": pd.array([1, None], dtype="Int64")}))


# --- weights and domains ---------------------------------------------------------------------


@pytest.mark.parametrize("weight", [-1, np.nan, np.inf, "much", None, [1]])
def test_bad_weights(weight):
    with pytest.raises(KanopyError, match=r"weight of 'age'.*number ≥ 0"):
        build(weights={"age": weight})


def test_all_weights_zero():
    with pytest.raises(KanopyError, match="all weights are 0"):
        build(numeric=["age"], weights={"age": 0})


def test_weights_stand_in_column_order_numeric_first():
    data = build(weights={"town": 2, "pay": 3})
    assert data.numeric_weights.tolist() == [1, 3]
    assert data.nominal_weights.tolist() == [2, 1]
    np.testing.assert_allclose(data.points, data.X * np.sqrt([1, 3]))


@pytest.mark.parametrize(
    ("domains", "message"),
    [
        ({"age": (35, 60)}, "does not cover"),
        ({"age": (0, 50)}, "does not cover"),
        ({"age": (60, 0)}, "does not cover"),
        ({"age": (np.nan, np.nan)}, r"must be \(low, high\)"),
        ({"age": (-np.inf, np.inf)}, r"must be \(low, high\)"),
        ({"age": (0, 50, 100)}, r"must be \(low, high\)"),
        ({"age": 3}, r"must be \(low, high\)"),
        ({"age": 3.5}, r"must be \(low, high\)"),
        ({"age": ("a", "z")}, r"must be \(low, high\)"),
        ({"age": None}, r"must be \(low, high\)"),
        ({"town": 2}, "number of values ≥ 3"),
        ({"town": 3.5}, "number of values ≥ 3"),
        ({"town": (1, 2)}, "number of values ≥ 3"),
        ({"town": None}, "number of values ≥ 3"),
    ],
)
def test_bad_domains(domains, message):
    with pytest.raises(KanopyError, match=message):
        build(domains=domains)


def test_domains_widen_ranges():
    data = build(domains={"age": (0, 100), "town": np.int64(7)}, standardize=False)
    assert (data.lower[0], data.upper[0]) == (0, 100)
    assert (data.lower[1], data.upper[1]) == (1.5, 4.5)
    assert data.domain_sizes.tolist() == [7, 4]
    scaled = build(domains={"age": [0, 100]})
    np.testing.assert_allclose(
        scaled.unstandardize(np.c_[scaled.lower, scaled.upper].T)[:, 0], [0, 100]
    )


def test_hierarchies_must_cover_the_values():
    tree = Hierarchy.from_paths([("Trier", "west", "any"), ("Bonn", "west", "any")])
    with pytest.raises(KanopyError, match="1 values of column 'town' are not leaves") as caught:
        build(hierarchies={"town": tree})
    assert "Ulm" not in str(caught.value)


# --- properties ------------------------------------------------------------------------------

tables = st.integers(1, 30).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 3), min_size=n, max_size=n),
        st.lists(st.sampled_from("abc"), min_size=n, max_size=n),
        st.lists(st.floats(-1e6, 1e6), min_size=n, max_size=n),
        st.permutations(range(n)),
    )
)


@settings(max_examples=80, deadline=None)
@given(tables)
def test_permuting_rows_permutes_nothing_that_counts(table):
    numbers, letters, _, order = table
    frame = pd.DataFrame({"number": numbers, "letter": letters})
    nominal = ["number", "letter"]
    data, moved = build(frame, nominal=nominal), build(frame.iloc[order], nominal=nominal)
    pd.testing.assert_frame_equal(data.combinations, moved.combinations)
    np.testing.assert_array_equal(data.counts, moved.counts)
    np.testing.assert_array_equal(data.types[order], moved.types)
    for control in (1, 2):
        a, b = data.tables(control), moved.tables(control)
        np.testing.assert_array_equal(a.values(data.counts), b.values(moved.counts))


@settings(max_examples=80, deadline=None)
@given(tables)
def test_combinations_equal_a_dictionary_count(table):
    numbers, letters, floats, _ = table
    data = build(pd.DataFrame({"x": floats, "letter": letters, "n": numbers}))
    rows = list(zip(floats, letters, numbers, strict=True))
    expected: dict[tuple, int] = {}
    for row in rows:
        expected[row] = expected.get(row, 0) + 1
    found = [tuple(row) for row in data.combinations.to_numpy()]
    assert dict(zip(found, data.counts.tolist(), strict=True)) == expected
    assert found == sorted(found)
    assert [found[t] for t in data.types] == rows
    assert all(rows.index(found[t]) == first for t, first in enumerate(data.first_rows))


@settings(max_examples=80, deadline=None)
@given(tables)
def test_unstandardize_returns_the_values(table):
    floats = table[2]
    data = build(pd.DataFrame({"x": floats, "y": np.arange(len(floats)) * 1e-3}))
    back = data.unstandardize(data.X)
    largest = np.abs(floats).max() + 1e-3
    np.testing.assert_allclose(back, data.frame.to_numpy(), rtol=1e-12, atol=1e-12 * largest)


def test_taking_rows_is_building_from_them():
    data = build(weights={"pay": 2}, domains={"town": 9}, confidential=["ill"], name="n")
    part = data.take([3, 1])
    again = build(FRAME.iloc[[3, 1]], weights={"pay": 2}, domains={"town": 9}, confidential=["ill"])
    assert part.fingerprint == again.fingerprint
    assert part.frame.index.tolist() == [13, 11]
    assert (part.name, part.confidential) == ("n", ("ill",))


@pytest.mark.parametrize("rows", [[4], [-5], "x", 2, [0.5], [[0, 1]], [True]])
def test_rows_that_are_not_there_cannot_be_taken(rows):
    with pytest.raises(KanopyError, match="positions from 0 to 3"):
        build().take(rows)


def test_restricting_keeps_scale_and_codes():
    data = build(confidential=["ill"])
    part = data.restrict(np.array([3, 1]))
    np.testing.assert_array_equal(part.X, data.X[[3, 1]])
    np.testing.assert_array_equal(part.codes, data.codes[[3, 1]])
    assert part.counts.tolist() == [1, 1]


def test_fingerprints_tell_instances_apart():
    prints = [
        build(**parameters).fingerprint
        for parameters in (
            {},
            {"standardize": False},
            {"weights": {"age": 2}},
            {"domains": {"age": (0, 100)}},
            {"domains": {"town": 9}},
            {"nominal": ["age", "town", "ill"]},
            {"strata": "ill"},
        )
    ]
    assert len(set(prints)) == len(prints)
    assert build().fingerprint == build(FRAME.copy(), name="other").fingerprint


def test_nothing_can_be_changed_from_outside():
    frame = FRAME.copy()
    data = build(frame)
    frame.loc[10, "age"] = 999
    seen = data.frame
    seen.loc[10, "age"] = 888
    assert data.frame.loc[10, "age"] == 30
    for array in (data.X, data.codes, data.weights, data.counts, data.types, data.categories[0]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[-1]


def test_frequency_tables_need_nominal_columns():
    with pytest.raises(KanopyError, match="age, pay is numeric"):
        build().tables(1)


@pytest.mark.parametrize("scale", [5e-324, 1e-310])
def test_ranges_too_small_to_divide_by_are_refused(scale):
    frame = pd.DataFrame({"x": np.arange(6) * scale, "y": np.arange(6.0)})
    with pytest.raises(KanopyError, match="'x' differ by less than 1e-290; multiply the column"):
        Microdata.from_frame(frame, standardize=False)
    wide = frame.assign(x=frame["x"] * 1e200 * 1e100)
    assert Microdata.from_frame(wide, standardize=False).n == 6
