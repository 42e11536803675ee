import liang_literal
import numpy as np
import pandas as pd
import pytest

import kanopy as kn
from kanopy.solvers.generalisation.initial_sort import initial_labels, sorted_rows, variance_order


def test_table_2b():
    order = sorted_rows(kn.example("fars")).tolist()
    assert order == [12, 1, 11, 14, 7, 10, 16, 19, 13, 6, 9, 5, 8, 2, 15, 17, 0, 4, 18, 3]


def test_the_k_sets_of_appendix_c():
    """Printed with two slips of the pen; see the module's docstring."""
    labels = initial_labels(kn.example("fars"), 3)
    sets = [sorted(np.flatnonzero(labels == c).tolist()) for c in range(6)]
    expected = [[12, 1, 11], [14, 7, 10], [16, 19, 13], [6, 9, 5], [8, 2, 15], [17, 0, 4, 18, 3]]
    assert sets == [sorted(s) for s in expected]


def test_weights_adjust_variances_by_their_square():
    frame = pd.DataFrame({"a": [0.0, 2.0, 4.0], "b": [0.0, 3.0, 6.0], "c": list("xyx")})
    assert variance_order(kn.Microdata.from_frame(frame)) == ("c", "a", "b")
    # variances 8/3 and 6 divided by 1/4 and 1
    heavier = kn.Microdata.from_frame(frame, weights={"a": 0.5, "c": 0.0})
    assert variance_order(heavier) == ("b", "a", "c")


def test_standardisation_changes_nothing():
    frame = kn.example("fars").frame
    raw, scaled = (kn.Microdata.from_frame(frame, standardize=s) for s in (False, True))
    assert (sorted_rows(raw) == sorted_rows(scaled)).all()


@pytest.mark.parametrize("kind", ["numeric", "nominal", "mixed"])
def test_against_a_literal_sort(kind):
    rng = np.random.default_rng(3)
    for n in (1, 2, 7, 30, 30, 30):
        data = liang_literal.dyadic_instance(rng, n, kind)
        assert sorted_rows(data).tolist() == liang_literal.sort_by_variance(data)
