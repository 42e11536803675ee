"""NCP, GCP, generalisation loss and Total-IL against 001 and 003 and the definitions."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kanopy.instances.errors import KanopyError
from kanopy.instances.hierarchy import Hierarchy
from kanopy.measures import (
    gcp,
    generalisation_loss,
    height_loss,
    ncp,
    ncp_hierarchy,
    ncp_range,
    ncp_values,
    total_gcp,
    total_information_loss,
)

TEST_DATA = np.array([[3, 6], [6, 3], [9, 3], [9, 3], [12, 6], [12, 9]])  # 001, table 2.1

# 003, table 2a.
FARS = pd.DataFrame(
    {
        "AGE": [64, 29, 42, 41, 53, 59, 49, 59, 80, 50, 64, 55, 25, 42, 33, 31, 68, 20, 40, 18],
        "SEX": [2, 1, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 1, 2, 1, 1],
        "INJ_SEV": [4, 0, 0, 4, 2, 4, 4, 2, 4, 4, 3, 0, 0, 4, 2, 2, 3, 4, 4, 4],
        "DRINKING": [0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0],
    }
)
EQUAL = [0.25] * 4
UNEQUAL = [0.8, 0.05, 0.1, 0.05]
TABLE_4B = [(0, 2, 15, 17), (1, 11, 12), (3, 4, 18), (5, 6, 8, 9), (7, 10, 16), (13, 14, 19)]
TABLE_4C = [(0, 8, 10, 16), (1, 14, 15), (2, 3, 13, 18), (4, 6, 9), (5, 7, 11), (12, 17, 19)]
TABLE_7 = [(12, 1, 11), (14, 7, 10, 4), (16, 5, 9), (19, 13, 6, 18), (8, 0, 17), (2, 15, 3)]

# 001, figure 3.2a, as far as it is printed.
PROFESSIONS = Hierarchy.from_paths(
    [(leaf, "medic", "any") for leaf in ("dentist", "dermatologist", "ophthalmologist", "surgeon")]
    + [(leaf, "craftsperson", "any") for leaf in ("baker", "carpenter", "painter", "electrician")]
)
# Leaves at three depths, for what only unbalanced trees show.
UNBALANCED = Hierarchy(
    {"a": "ab", "b": "ab", "ab": "abc", "c": "abc", "abc": "root", "d": "root", "e": "root"}
)


def labels_of(classes):
    labels = np.empty(sum(map(len, classes)), dtype=int)
    for number, rows in enumerate(classes):
        labels[list(rows)] = number
    return labels


def test_ncp_of_001_table_3_1():
    assert ncp(TEST_DATA, [0, 1, 1, 1, 0, 0]) == pytest.approx(5.5)
    assert ncp(TEST_DATA, [0, 0, 0, 1, 1, 1]) == pytest.approx(7.5)


@pytest.mark.parametrize(
    ("classes", "weights", "expected"),
    [
        (TABLE_4B, EQUAL, 4.816532258),
        (TABLE_4C, UNEQUAL, 4.114516129),
        (TABLE_7, EQUAL, 7.127016129),
    ],
)
def test_fars_outcomes_of_003(classes, weights, expected):
    labels = labels_of(classes)
    assert generalisation_loss(FARS, labels, weights=weights) == pytest.approx(expected, abs=1e-9)
    assert ncp(FARS, labels, weights=weights) == pytest.approx(expected, abs=1e-9)
    if weights == EQUAL:
        assert total_gcp(FARS, labels) / 4 == pytest.approx(expected, abs=1e-9)


def test_fars_penalty_of_one_class():
    # 003, table 4b, row 0: [20 - 64], [2 - 2], [0 - 4], [0 - 0]
    assert gcp(FARS, labels_of(TABLE_4B))[0] == pytest.approx(44 / 62 + 0 + 1 + 0)


def test_health_records_of_003_table_1():
    records = pd.DataFrame(
        {
            "Age": [37, 35, 36, 61, 63, 66, 63],
            "Sex": [0, 0, 0, 1, 1, 1, 1],
            "Zipcode": [22071, 22098, 23061, 55107, 55099, 55324, 55229],
        }
    )
    age, zipcode = 66 - 35, 55324 - 22071
    expected = 3 * (Fraction(2, age) + Fraction(23061 - 22071, zipcode))
    expected += 4 * (Fraction(5, age) + Fraction(55324 - 55099, zipcode))
    labels = [0, 0, 0, 1, 1, 1, 1]
    assert generalisation_loss(records, labels) == pytest.approx(float(expected))
    wider = generalisation_loss(records, labels, domains={"Age": (0, 120)})
    assert wider == pytest.approx(float(expected - Fraction(26, age) + Fraction(26, 120)))


def test_professions_of_001_table_3_3():
    column = ["dentist", "dentist", "baker", "painter", "painter", "surgeon", "electrician"]
    labels = [0, 0, 1, 1, 2, 2, 2]
    assert ncp_hierarchy(column, labels, PROFESSIONS).tolist() == [0, 0, 0.5, 0.5, 1, 1, 1]
    assert height_loss(column, labels, PROFESSIONS).tolist() == [0, 0, 0.5, 0.5, 1, 1, 1]
    table = {"profession": column, "salary": [2800, 5800, 2200, 2900, 3137, 3137, 3137]}
    trees = {"profession": PROFESSIONS}
    salary = 2 * 3000 / 3600 + 2 * 700 / 3600
    assert ncp(table, labels, hierarchies=trees) == pytest.approx(4 + salary)
    assert ncp(table, labels, hierarchies=trees, weights={"profession": 0.5}) == pytest.approx(
        2 + salary
    )
    assert total_information_loss(table, labels, hierarchies=trees) == pytest.approx(4 + salary)


def test_size_and_height_differ_in_unbalanced_trees():
    column, labels = list("abcade"), [0, 0, 1, 1, 2, 2]
    assert ncp_hierarchy(column, labels, UNBALANCED).tolist() == [0.4, 0.4, 0.6, 0.6, 1, 1]
    assert height_loss(column, labels, UNBALANCED) == pytest.approx(
        [1 / 3] * 2 + [2 / 3] * 2 + [1] * 2
    )


def test_category_numbers_are_nominal_when_told():
    code = pd.Series([1, 1, 9, 5])
    labels = [0, 0, 1, 1]
    assert generalisation_loss({"code": code}, labels) == 1.0
    for nominal in (code.astype(object), code.astype("category"), code.astype(str)):
        assert generalisation_loss({"code": nominal}, labels) == pytest.approx(2 / 3)
        assert total_information_loss({"code": nominal}, labels) == 2
    assert generalisation_loss({"code": code.astype(object)}, labels, domains={"code": 8}) == 0.25


def test_constant_columns_lose_nothing():
    table = {"number": [3, 3], "flag": [True, True]}
    assert ncp(table, [0, 0]) == 0
    assert total_information_loss(table, [0, 0]) == 0


@st.composite
def mixed_tables(draw):
    rows = draw(st.integers(1, 8))
    column = lambda values: st.lists(values, min_size=rows, max_size=rows)  # noqa: E731
    table = pd.DataFrame(
        {
            "x": np.array(draw(column(st.integers(-20, 20))), dtype=float),
            "y": draw(column(st.sampled_from(["p", "q", "r"]))),
            "z": draw(column(st.sampled_from("abcde"))),
        }
    )
    weights = draw(st.lists(st.sampled_from([0.0, 0.5, 2.0]), min_size=3, max_size=3))
    order = np.array(draw(st.permutations(range(rows))))
    return table, np.array(draw(column(st.integers(0, 3)))), weights, order


def literal_penalties(table, labels, of_z):
    """Penalty of each row and column by the definitions; of_z handles the set of column z."""
    width = table.x.max() - table.x.min()
    rows = []
    for label in labels:
        part = table[labels == label]
        x = 0.0 if width == 0 else (part.x.max() - part.x.min()) / width
        y = (len(set(part.y)) - 1) / len(set(table.y))
        rows.append([x, y, of_z(set(part.z))])
    return np.array(rows)


def ancestor(values):
    """Closest common ancestor in UNBALANCED by intersecting upward paths."""
    paths = []
    for value in sorted(values):
        path = [value]
        while path[-1] in UNBALANCED.parents:
            path.append(UNBALANCED.parents[path[-1]])
        paths.append(path)
    return next(node for node in paths[0] if all(node in path for path in paths))


SIZE = {"ab": 2, "abc": 3, "root": 5}
HEIGHT = {"ab": 1, "abc": 2, "root": 3}


@given(mixed_tables())
def test_totals_against_the_definitions(instance):
    table, labels, weights, _ = instance
    domain = len(set(table.z))
    sets = literal_penalties(table, labels, lambda met: (len(met) - 1) / domain)
    assert generalisation_loss(table, labels, weights=weights) == pytest.approx(
        (sets @ weights).sum()
    )
    assert gcp(table, labels) == pytest.approx(sets.sum(axis=1))
    assert total_gcp(table, labels) == pytest.approx(sets.sum())
    trees = {"z": UNBALANCED}
    sizes = literal_penalties(table, labels, lambda met: SIZE.get(ancestor(met), 0) / 5)
    assert ncp(table, labels, hierarchies=trees, weights=weights) == pytest.approx(
        (sizes @ weights).sum()
    )
    heights = literal_penalties(table, labels, lambda met: HEIGHT.get(ancestor(met), 0) / 3)
    heights[:, 1] = heights[:, 1] > 0  # a flat tree for y
    assert total_information_loss(table, labels, hierarchies=trees) == pytest.approx(heights.sum())
    assert ncp_range(table.x, labels) == pytest.approx(sets[:, 0])
    assert ncp_values(table.y, labels) == pytest.approx(sets[:, 1])
    assert ncp_hierarchy(table.z, labels, UNBALANCED) == pytest.approx(sizes[:, 2])
    assert height_loss(table.z, labels, UNBALANCED) == pytest.approx(heights[:, 2])


@given(mixed_tables(), st.sampled_from([0.25, 3.0, -2.0]), st.integers(-9, 9))
def test_invariances(instance, factor, shift):
    table, labels, weights, order = instance
    # other order of rows, other units of x, other names of values and clusters
    other = table.iloc[order].assign(
        x=lambda t: t.x * factor + shift, y=lambda t: t.y.map({"p": "u", "q": "p", "r": "w"})
    )
    twin = {"a": "A", "b": "B", "c": "C", "d": "D", "e": "E"}
    other["z"] = other.z.map(twin)
    renamed = np.array([8, 1, 30, 0])[labels[order]]
    name = lambda node: twin.get(node, node)  # noqa: E731
    tree = Hierarchy({name(child): name(up) for child, up in UNBALANCED.parents.items()})
    before, after = {"z": UNBALANCED}, {"z": tree}
    assert generalisation_loss(other, renamed, weights=weights) == pytest.approx(
        generalisation_loss(table, labels, weights=weights)
    )
    assert gcp(other, renamed) == pytest.approx(gcp(table, labels)[order])
    assert total_gcp(other, renamed) == pytest.approx(total_gcp(table, labels))
    assert ncp(other, renamed, hierarchies=after, weights=weights) == pytest.approx(
        ncp(table, labels, hierarchies=before, weights=weights)
    )
    assert total_information_loss(other, renamed, hierarchies=after) == pytest.approx(
        total_information_loss(table, labels, hierarchies=before)
    )
    assert ncp_range(other.x, renamed) == pytest.approx(ncp_range(table.x, labels)[order])
    assert ncp_values(other.y, renamed) == pytest.approx(ncp_values(table.y, labels)[order])
    for measure in (ncp_hierarchy, height_loss):
        assert measure(other.z, renamed, tree) == pytest.approx(
            measure(table.z, labels, UNBALANCED)[order]
        )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ncp_range([1.0, np.nan], [0, 0]), "missing"),
        (lambda: ncp_range([], []), "empty"),
        (lambda: ncp_range([1.0, 2.0], [0, -1]), "negative"),
        (lambda: ncp_range([1.0, 2.0], [0]), "1 entries where 2"),
        (lambda: ncp_range([1.0, 2.0], [0, 0], upper=1.5), "does not cover"),
        (lambda: ncp_range([-1e308, 1e308], [0, 0]), "overflows"),
        (lambda: ncp_values(["a", None], [0, 0]), "missing"),
        (lambda: ncp_values(["a", "b"], [0, 0], domain_size=1), "2 values occur"),
        (lambda: ncp_values([["a", "b"]], [0]), "expected one column"),
        (lambda: ncp_hierarchy(["x"], [0], UNBALANCED), "not leaves"),
        (lambda: height_loss(["ab"], [0], UNBALANCED), "not leaves"),
        (lambda: height_loss(["a"], [0, 0], UNBALANCED), "2 entries where 1"),
        (lambda: ncp({"x": [1.0, np.nan]}, [0, 0]), "column 'x'.*missing"),
        (lambda: ncp({"x": [1.0]}, [0], weights=[-1]), "≥ 0"),
        (lambda: ncp({"x": [1.0]}, [0], weights={"y": 1}), "unknown column in weights"),
        (lambda: ncp({"x": [1.0]}, [0], domains={"y": (0, 1)}), "unknown column in domains"),
        (lambda: ncp({"x": [1.0]}, [0], hierarchies={"y": UNBALANCED}), "in hierarchies"),
        (lambda: generalisation_loss({"x": [1.0]}, [0], domains={"x": 3}), "pair"),
        (lambda: generalisation_loss({"x": ["a"]}, [0], domains={"x": (0, 1)}), "their number"),
        (lambda: generalisation_loss({}, [0]), "empty"),
        (lambda: gcp({"x": [1.0, 2.0]}, [0]), "1 entries where 2"),
        (lambda: total_gcp({"x": ["a", None]}, [0, 0]), "missing"),
        (lambda: total_information_loss({"x": ["a", None]}, [0, 0]), "missing"),
        (lambda: total_information_loss({"x": ["a"]}, [-1]), "negative"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(KanopyError, match=message):
        call()
