from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kanopy.instances.errors import KanopyError
from kanopy.instances.microdata import Microdata
from kanopy.instances.tables import ControlTables

COLUMNS = {
    "a": np.array([0, 0, 1, 1]),
    "b": np.array([0, 1, 0, 1]),
    "c": np.array([2, 2, 2, 0]),
}


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 25).flatmap(
        lambda n: st.lists(
            st.lists(st.integers(0, 2), min_size=n, max_size=n), min_size=2, max_size=4
        )
    )
)
def test_cells_equal_pandas_group_sizes(columns):
    frame = pd.DataFrame({f"c{j}": column for j, column in enumerate(columns)})
    data = Microdata.from_frame(frame, nominal=list(frame))
    tables = data.tables(len(columns))
    values = tables.values(data.counts)
    expected = [
        size
        for d in range(1, len(columns) + 1)
        for names in combinations(frame, d)
        for size in frame.groupby(list(names)).size()
    ]
    assert values.tolist() == expected
    # each row is counted once in each table (000, 1.1), each combination in one cell of each
    assert np.bincount(tables.table, values).tolist() == [len(frame)] * len(tables.names)
    assert (tables.matrix.sum(axis=0) == len(tables.names)).all()


def test_number_of_tables():
    """000, 1.1: 2^m − 1 tables of m attributes, m over d of dimension d."""
    tables = ControlTables.build(COLUMNS, 3)
    assert len(tables.names) == 7
    assert sorted(tables.dimension.tolist()) == [1] * 6 + [2] * 10 + [3] * 4
    assert len(tables) == 20


def test_named_tables_come_in_attribute_order():
    tables = ControlTables.build(COLUMNS, [["c", "a"], ["b"]])
    assert tables.names == (("a", "c"), ("b",))
    assert tables.values(np.array([1, 2, 3, 4])).tolist() == [3, 4, 3, 4, 6]
    assert tables.first.tolist() == [0, 3, 2, 0, 1]


@pytest.mark.parametrize(
    ("control", "message"),
    [
        (0, "control = 0, but tables have dimension 1 to 3"),
        (4, "control = 4"),
        ("a", r"control=\[\['a'\]\]"),
        (["a"], r"write \['a'\]"),
        ([["d"]], "unknown column in a control table 'd'.*a, b, c"),
        ([[]], "empty or names a column twice"),
        ([["a", "a"]], "empty or names a column twice"),
        ([], "control names no table"),
        ([["a", "b"], ["b", "a"]], "same table twice"),
    ],
)
def test_bad_control(control, message):
    with pytest.raises(KanopyError, match=message):
        ControlTables.build(COLUMNS, control)
