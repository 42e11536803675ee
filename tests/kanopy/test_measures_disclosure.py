"""l-diversity, t-closeness, (m, t)-closeness and closeness utility against 001 and brute force."""

from itertools import combinations, pairwise, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from kanopy.instances.errors import KanopyError
from kanopy.instances.hierarchy import Hierarchy
from kanopy.measures import (
    closeness_utility,
    distinct_diversity,
    emd,
    entropy_diversity,
    mt_closeness,
    t_closeness,
)

# 001, tables 3.4 and 3.5.
TABLE_3_4 = [1, 1, 1, 1, 2, 2, 3, 4]
UPPER_LOWER = [0, 0, 0, 0, 1, 1, 1, 1]
TABLE_3_5 = [1, 1, 2, 2, 1, 1, 2, 2]
CLUSTERINGS = {
    "b": [0, 0, 1, 1, 2, 2, 3, 3],
    "c": [0, 1, 0, 1, 2, 3, 2, 3],
    "d": [0, 1, 2, 3, 0, 1, 2, 3],
}
UNBALANCED = Hierarchy(
    {"a": "ab", "b": "ab", "ab": "abc", "c": "abc", "abc": "root", "d": "root", "e": "root"}
)
LEAVES = list("abcde")


def ground_matrix(ground, values):
    size = len(values)
    if ground == "ordered":
        return np.abs(np.subtract.outer(range(size), range(size))) / max(size - 1, 1)
    if ground == "equal":
        return 1.0 - np.eye(size)
    top = ground.height(ground.root)
    return np.array(
        [
            [ground.height(ground.closest_common_ancestor([v, w])) / top for w in values]
            for v in values
        ]
    )


def literal_emd(p, q, distances):
    """001, definition 3.12 as a transport problem."""
    size = len(p)
    leave = np.kron(np.eye(size), np.ones(size))
    arrive = np.kron(np.ones(size), np.eye(size))
    result = linprog(
        distances.ravel(), A_eq=np.vstack([leave, arrive]), b_eq=np.concatenate([p, q])
    )
    return result.fun


def test_attribute_disclosure_of_table_3_4():
    assert distinct_diversity(TABLE_3_4, UPPER_LOWER) == 1
    assert entropy_diversity(TABLE_3_4, UPPER_LOWER) == 1
    assert distinct_diversity(TABLE_3_4[4:], [0] * 4) == 3
    assert entropy_diversity(TABLE_3_4[4:], [0] * 4) == pytest.approx(2**1.5)
    # the value 1 has frequency 1 in the upper cluster and 1/2 in the table
    assert t_closeness(TABLE_3_4, UPPER_LOWER, "equal") == 0.5
    assert t_closeness(TABLE_3_4, UPPER_LOWER) == pytest.approx((0.5 + 0.25 + 0.125) / 3)


@pytest.mark.parametrize(("variant", "utility"), [("b", 1), ("c", 0), ("d", 1)])
def test_closeness_utility_of_table_3_5(variant, utility):
    labels = CLUSTERINGS[variant]
    assert closeness_utility(TABLE_3_5, labels) == pytest.approx(utility)
    assert closeness_utility(TABLE_3_5, range(8)) == pytest.approx(1)  # H(X) = 1
    assert mt_closeness(TABLE_3_5, labels, m=4) == 0  # "2-anonymous (4, 0)-close"


def test_salaries_of_li_et_al():
    # t-Closeness (ICDE 2007), section 4: salaries 3k … 11k; {3k, 4k, 5k} and {6k, 8k, 11k}
    whole = np.full(9, 1 / 9)
    assert emd([1, 1, 1, 0, 0, 0, 0, 0, 0], whole) == pytest.approx(0.375)
    assert emd([0, 0, 0, 1, 0, 1, 0, 0, 1], whole) == pytest.approx(1 / 6)
    salaries = np.arange(3000, 12000, 1000)
    labels = [0, 0, 0, 1, 2, 1, 2, 2, 1]
    assert t_closeness(salaries, labels) == pytest.approx(0.375)


def test_numbers_are_ordered_and_text_is_not_unless_told():
    assert t_closeness([1, 2, 3], [0, 0, 1]) == pytest.approx(0.5)
    assert t_closeness(["1", "2", "3"], [0, 0, 1]) == pytest.approx(2 / 3)
    assert t_closeness([1, 2, 3], [0, 0, 1], "equal") == pytest.approx(2 / 3)


def test_one_value_reveals_nothing():
    assert t_closeness([5, 5, 5], [0, 1, 1]) == 0
    assert mt_closeness([5, 5, 5], [0, 1, 1], m=2) == 0
    assert closeness_utility([5, 5, 5], [0, 1, 1]) == 0


def test_several_confidential_columns_are_combined():
    table = pd.DataFrame({"illness": [1, 1, 2, 2], "wage": [1, 2, 1, 1]})
    assert distinct_diversity(table, [0, 0, 1, 1]) == 1
    assert distinct_diversity(table, [0, 1, 0, 1]) == 2
    assert closeness_utility(table, [0, 1, 2, 2]) == pytest.approx(1.5)


grounds = st.sampled_from(["ordered", "equal", UNBALANCED])


@given(grounds, st.data())
def test_emd_is_the_optimum_of_the_transport_problem(ground, data):
    size = 5 if isinstance(ground, Hierarchy) else data.draw(st.integers(1, 6))
    masses = st.lists(st.integers(0, 6), min_size=size, max_size=size).filter(any)
    p, q = np.array(data.draw(masses)), np.array(data.draw(masses))
    values = LEAVES if isinstance(ground, Hierarchy) else list(range(size))
    given_values = LEAVES if isinstance(ground, Hierarchy) else None
    distances = ground_matrix(ground, values)
    found = emd(p, q, ground, values=given_values)
    assert found == pytest.approx(literal_emd(p / p.sum(), q / q.sum(), distances), abs=1e-9)
    assert emd(q, p, ground, values=given_values) == pytest.approx(found)
    assert emd(3 * p, q, ground, values=given_values) == pytest.approx(found)
    assert 0 <= found <= 1 + 1e-12
    if ground == "ordered":
        assert emd(p[::-1], q[::-1]) == pytest.approx(found)
    else:  # the order of entries is only notation
        order = np.array(data.draw(st.permutations(range(size))))
        other = [values[i] for i in order] if given_values else None
        assert emd(p[order], q[order], ground, values=other) == pytest.approx(found)


@st.composite
def small_tables(draw, most=8):
    rows = draw(st.integers(1, most))
    ground = draw(grounds)
    value = st.sampled_from(LEAVES) if isinstance(ground, Hierarchy) else st.integers(0, 4)
    column = np.array(draw(st.lists(value, min_size=rows, max_size=rows)))
    labels = np.array(draw(st.lists(st.integers(0, 2), min_size=rows, max_size=rows)))
    order = np.array(draw(st.permutations(range(rows))))
    return column, labels, ground, order


def shares(column, values):
    return np.array([(column == value).mean() for value in values])


def entropy(column):
    found = shares(column, set(column.tolist()))
    return -sum(p * np.log2(p) for p in found)


@given(small_tables())
def test_against_the_definitions(table):
    column, labels, ground, _ = table
    values = sorted(set(column.tolist()))
    distances = ground_matrix(ground, values)
    clusters = [column[labels == label] for label in set(labels.tolist())]
    assert distinct_diversity(column, labels) == min(len(set(c.tolist())) for c in clusters)
    assert entropy_diversity(column, labels) == pytest.approx(2 ** min(map(entropy, clusters)))
    assert closeness_utility(column, labels) == pytest.approx(
        entropy(column) - sum(len(c) / len(column) * entropy(c) for c in clusters), abs=1e-12
    )
    whole = shares(column, values)
    assert t_closeness(column, labels, ground) == pytest.approx(
        max(literal_emd(shares(c, values), whole, distances) for c in clusters), abs=1e-9
    )


def closest_by_enumeration(column, members, m, values, ground):
    """Least EMD over all supersets of the cluster, by definition 3.14."""
    rest = [i for i in range(len(column)) if i not in members]
    of_cluster = shares(column[members], values)
    given_values = values if isinstance(ground, Hierarchy) else None
    return min(
        emd(of_cluster, shares(column[[*members, *added]], values), ground, values=given_values)
        for size in range(max(0, m - len(members)), len(rest) + 1)
        for added in combinations(rest, size)
    )


@settings(max_examples=60, deadline=None)
@given(small_tables(most=9), st.data())
def test_mt_closeness_against_all_supersets(table, data):
    column, labels, ground, _ = table
    values = sorted(set(column.tolist()))
    m = data.draw(st.integers(1, len(column)))
    expected = max(
        closest_by_enumeration(column, np.flatnonzero(labels == label).tolist(), m, values, ground)
        for label in set(labels.tolist())
    )
    assert mt_closeness(column, labels, m, ground) == pytest.approx(expected, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(grounds, st.data())
def test_mt_closeness_against_all_counts_of_added_rows(ground, data):
    # Supersets differ only in how often each value is added, so larger tables can be enumerated.
    values = list("abce") if isinstance(ground, Hierarchy) else [0, 1, 2, 3]
    inside = np.array(data.draw(st.lists(st.integers(0, 3), min_size=4, max_size=4).filter(any)))
    outside = np.array(data.draw(st.lists(st.integers(0, 6), min_size=4, max_size=4)))
    column = np.array(values)[np.repeat([0, 1, 2, 3] * 2, [*inside, *outside])]
    labels = np.repeat([0, 1], [inside.sum(), outside.sum()])
    m = data.draw(st.integers(1, len(column)))
    occurring = inside + outside > 0
    kept = [value for value, there in zip(values, occurring, strict=True) if there]
    given_values = kept if isinstance(ground, Hierarchy) else None

    def closest(counts, others):
        return min(
            emd(counts[occurring], (counts + added)[occurring], ground, values=given_values)
            for added in product(*(range(other + 1) for other in others))
            if counts.sum() + sum(added) >= m
        )

    expected = closest(inside, outside)
    if outside.any():
        expected = max(expected, closest(outside, inside))
    assert mt_closeness(column, labels, m, ground) == pytest.approx(expected, abs=1e-12)


def test_the_closest_superset_may_be_larger_than_m():
    # {1, 2} can be doubled exactly with 4 rows, but not completed to 3 without an error.
    column, labels = [1, 2, 1, 2, 3, 3], [0, 0, 1, 1, 1, 1]
    assert mt_closeness(column[:4], [0, 0, 1, 1], m=3) == 0
    assert 0 < mt_closeness(column, labels, m=5) <= mt_closeness(column, labels, m=6)


@given(small_tables())
def test_mt_closeness_grows_to_t_closeness(table):
    column, labels, ground, _ = table
    rows = len(column)
    found = [mt_closeness(column, labels, m, ground) for m in range(1, rows + 1)]
    assert found[0] == 0
    assert all(a <= b + 1e-12 for a, b in pairwise(found))
    assert found[-1] == pytest.approx(t_closeness(column, labels, ground), abs=1e-12)


@given(small_tables(), st.sampled_from([0.5, 3.0, -2.0]), st.integers(-9, 9))
def test_invariances(table, factor, shift):
    column, labels, ground, order = table
    other, renamed = column[order], np.array([40, 0, 7])[labels[order]]
    if isinstance(ground, Hierarchy):
        ground_after = Hierarchy(
            {child.upper(): parent.upper() for child, parent in ground.parents.items()}
        )
        other = np.char.upper(other)
    else:
        ground_after = ground
        other = other * factor + shift
        if ground == "equal":
            other = np.array([f"value {value}" for value in other])
    m = (len(column) + 1) // 2
    for measure in (distinct_diversity, entropy_diversity, closeness_utility):
        assert measure(other, renamed) == pytest.approx(measure(column, labels), abs=1e-12)
    assert t_closeness(other, renamed, ground_after) == pytest.approx(
        t_closeness(column, labels, ground), abs=1e-12
    )
    assert mt_closeness(other, renamed, m, ground_after) == pytest.approx(
        mt_closeness(column, labels, m, ground), abs=1e-12
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: distinct_diversity(["a", None], [0, 0]), "missing"),
        (lambda: distinct_diversity([], []), "empty"),
        (lambda: distinct_diversity([1, 2], [0, -1]), "negative"),
        (lambda: entropy_diversity([1, 2], [0]), "1 entries where 2"),
        (lambda: entropy_diversity([1.0, np.nan], [0, 0]), "missing"),
        (lambda: closeness_utility([1.0, np.nan], [0, 0]), "missing"),
        (lambda: closeness_utility([1, 2], [0, 0, 0]), "3 entries where 2"),
        (lambda: t_closeness([1.0, np.nan], [0, 0]), "missing"),
        (lambda: t_closeness([1.0, 2.0], [0, -1]), "negative"),
        (lambda: t_closeness(["a", "b"], [0, 0], "ordered"), "needs numbers"),
        (lambda: t_closeness([1, 2], [0, 0], "euclid"), "unknown ground distance"),
        (lambda: t_closeness([[1, 2]], [0]), "one confidential attribute, not 2"),
        (lambda: t_closeness(["a", "z"], [0, 0], UNBALANCED), "not leaves"),
        (lambda: mt_closeness([1, 2], [0, 0], m=3), "only 2 rows"),
        (lambda: mt_closeness([1, 2], [0, 0], m=0), "m = 0"),
        (lambda: mt_closeness([1, 2], [0], m=1), "1 entries where 2"),
        (lambda: mt_closeness([1, 2], [0, 0], m=1, ground="far"), "unknown ground distance"),
        (lambda: emd([1, 2], [1]), "1 entries where 2"),
        (lambda: emd([0, 0], [1, 1]), "vanish"),
        (lambda: emd([-1, 2], [1, 1]), "≥ 0"),
        (lambda: emd([np.nan, 2], [1, 1]), "missing"),
        (lambda: emd([], []), "empty"),
        (lambda: emd([1, 2], [1, 1], "euclid"), "unknown ground distance"),
        (lambda: emd([1, 2], [1, 1], UNBALANCED), "needs values="),
        (lambda: emd([1, 2], [1, 1], UNBALANCED, values=["a", "a"]), "same leaf twice"),
        (lambda: emd([1, 2], [1, 1], UNBALANCED, values=["a", "ab"]), "not leaves"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(KanopyError, match=message):
        call()
