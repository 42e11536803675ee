import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kanopy.instances.columns import nominal_codes, numeric_values
from kanopy.instances.errors import KanopyError


@given(st.lists(st.one_of(st.none(), st.text(max_size=3)), min_size=1, max_size=20))
def test_codes_point_at_the_values(values):
    codes, categories = nominal_codes(pd.Series(values, dtype=object), True)
    assert [categories[code] for code in codes] == values
    present = [value for value in categories if value is not None]
    assert present == sorted(set(values) - {None})
    assert (None in list(categories)) == (None in values)
    assert codes.dtype == np.int32


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.float32, "Int64", "Float64"])
def test_every_number_dtype_becomes_float64(dtype):
    values = numeric_values(pd.Series([1, 0, 3]).astype(dtype))
    assert values.dtype == np.float64
    assert values.tolist() == [1, 0, 3]


@pytest.mark.parametrize("column", [pd.Series([True, False]), pd.Series(["1", "2"])])
def test_what_is_no_number(column):
    with pytest.raises(KanopyError, match="not numeric; name it in nominal="):
        numeric_values(column)


def test_messages_hold_no_values():
    with pytest.raises(KanopyError) as caught:
        numeric_values(pd.Series([12345.0, np.inf], name="pay"))
    assert "12345" not in str(caught.value)
    assert "'pay'" in str(caught.value)
