"""C_DM, C_AVG and the k of a table."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kanopy.instances.errors import KanopyError
from kanopy.measures import anonymity_level, average_class_size, discernability


@pytest.mark.parametrize("labels", [[0, 1, 1, 1, 0, 0], [0, 0, 0, 1, 1, 1]])
def test_both_clusterings_of_001_table_3_1(labels):
    assert discernability(labels) == 18
    assert average_class_size(labels, k=3) == 1


def test_released_tables_of_001():
    assert anonymity_level([[9, 7], [8, 3], [8, 3], [8, 3], [9, 7], [9, 7]]) == 3  # table 2.2a
    assert anonymity_level([[7, 4]] * 4 + [[3, 7]] * 4) == 4  # table 3.4
    assert anonymity_level([[3, 6], [6, 3], [9, 3], [9, 3], [12, 6], [12, 9]]) == 1  # table 2.1
    generalised = pd.DataFrame(  # table 3.3b, where suppression leaves no value
        {
            "profession": ["dentist"] * 2 + ["craftsperson"] * 2 + [None] * 3,
            "salary": [np.nan] * 2 + ["(1500, 3000]"] * 2 + [3137] * 3,
        }
    )
    assert anonymity_level(generalised) == 2


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from(["a", "b", None])), min_size=1, max_size=9
    ),
    st.randoms(use_true_random=False),
    st.integers(1, 4),
)
def test_against_counting(rows, random, k):
    expected = Counter(rows)
    labels = np.array([row[0] for row in rows])
    sizes = Counter(labels.tolist()).values()
    for _ in range(2):  # as drawn, then in another order and under other names
        assert anonymity_level(pd.DataFrame(rows)) == min(expected.values())
        assert discernability(labels) == sum(size**2 for size in sizes)
        assert average_class_size(labels, k) == pytest.approx(len(rows) / len(sizes) / k)
        random.shuffle(rows)
        labels = np.array([11, 4, 900, 0])[[row[0] for row in rows]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: discernability([]), "not empty"),
        (lambda: discernability([0, -1]), "negative"),
        (lambda: discernability([[0, 1]]), "one cluster number per row"),
        (lambda: discernability([0.0, np.nan]), "whole numbers"),
        (lambda: average_class_size([0, 0], k=0), "k = 0"),
        (lambda: average_class_size([0, 0], k=True), "k = True"),
        (lambda: anonymity_level(pd.DataFrame({"a": []})), "empty"),
        (lambda: anonymity_level(pd.DataFrame(index=[0, 1])), "empty"),
        (lambda: anonymity_level(pd.DataFrame([[1, 2]], columns=["a", "a"])), "same name"),
        (lambda: anonymity_level({"a": [1], "b": [1, 2]}), "different lengths"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(KanopyError, match=message):
        call()
