from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kanopy.instances.merge import merge_rows


def check(columns):
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    first, types, counts = merge_rows(columns)
    distinct = sorted(set(rows))
    assert [rows[i] for i in first] == distinct
    assert [distinct[t] for t in types] == rows
    assert counts.tolist() == [Counter(rows)[row] for row in distinct]
    assert all(rows.index(rows[i]) == i for i in first)


@settings(max_examples=100, deadline=None)
@given(
    st.integers(1, 40).flatmap(
        lambda n: st.lists(
            st.lists(st.integers(0, 4), min_size=n, max_size=n), min_size=1, max_size=6
        )
    )
)
def test_equals_a_dictionary_count(columns):
    check([np.array(column) for column in columns])


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 12).flatmap(
        lambda n: st.lists(
            st.lists(
                st.one_of(st.integers(0, 3), st.integers(0, 2**63 - 1)), min_size=n, max_size=n
            ),
            min_size=1,
            max_size=5,
        )
    )
)
def test_equals_a_dictionary_count_beyond_64_bits(columns):
    check([np.array(column, dtype=np.int64) for column in columns])


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8])
def test_many_columns_overflow_a_single_key(dtype):
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, 100, 500).astype(dtype) for _ in range(30)]
    columns = [np.concatenate([column, column[:250]]) for column in columns]
    check(columns)
    assert len(merge_rows(columns)[0]) == 500
