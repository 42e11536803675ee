import numpy as np
import pandas as pd
import pytest

import kanopy as kn
from kanopy.instances.encoding import expanded, numbered
from kanopy.solvers.costs import cluster_costs

FRAME = pd.DataFrame({"job": list("abcabc"), "age": [1, 2, 3, 4, 5, 9], "sex": list("ffffmm")})
DATA = kn.Microdata.from_frame(FRAME, weights={"job": 2.0}, domains={"job": 4})
LABELS = np.array([0, 0, 0, 1, 1, 1])


def test_numbered_columns_pay_ranges_of_their_numbers():
    data = numbered(DATA)
    assert data.numeric == ("job", "age", "sex")
    # job: 2 · 2/3, age: 2/8 and 5/8, sex: 0 and 1, times three rows
    assert cluster_costs(data, LABELS, "range") == pytest.approx(
        [3 * (4 / 3 + 2 / 8), 3 * (4 / 3 + 5 / 8 + 1)]
    )


def test_expanded_columns_pay_for_every_category_of_a_class():
    data = expanded(DATA)
    assert data.kind == "numeric"
    # job: 2 · 3/4, sex: 0 and 2/2
    assert cluster_costs(data, LABELS, "range") == pytest.approx(
        [3 * (1.5 + 2 / 8), 3 * (1.5 + 5 / 8 + 1)]
    )
