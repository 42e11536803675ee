import sys

import numpy as np
import pandas as pd
import pytest

import kanopy as kn
from kanopy.measures.regression import pseudo_r2, regression_change


def table(*groups):
    """Rows (x, y) so many times each."""
    return pd.DataFrame(
        [(x, y) for x, y, times in groups for _ in range(times)], columns=["x", "y"]
    )


def test_with_one_predictor_probabilities_are_shares():
    # A single categorical predictor makes the model saturated: estimates are observed shares.
    before = table(("a", "p", 1), ("a", "q", 3), ("b", "p", 4), ("b", "q", 1))
    after = table(("a", "p", 2), ("a", "q", 2), ("b", "p", 3), ("b", "q", 3))
    change = regression_change(before, after, "y")
    moved = np.sqrt(4 * (1 / 4 - 1 / 2) ** 2 + 5 * (4 / 5 - 1 / 2) ** 2)
    assert change.distances == pytest.approx({"p": moved, "q": moved}, abs=1e-4)
    likelihood = np.log(1 / 4) + 3 * np.log(3 / 4) + 4 * np.log(4 / 5) + np.log(1 / 5)
    alone = 5 * np.log(5 / 9) + 4 * np.log(4 / 9)
    assert change.pseudo_r2 == pytest.approx(1 - likelihood / alone, abs=1e-5)
    assert change.released_pseudo_r2 == pytest.approx(0, abs=1e-5)


def test_three_values_and_a_release_of_another_length():
    before = table(("a", "p", 2), ("a", "q", 2), ("a", "r", 4), ("b", "p", 3), ("b", "r", 1))
    after = table(("a", "q", 4), ("a", "r", 4), ("b", "q", 3), ("b", "r", 3))
    change = regression_change(before, after, "y")  # p is lost: its probability is 0
    lost = np.sqrt(8 * (2 / 8) ** 2 + 4 * (3 / 4) ** 2)
    assert change.distances["p"] == pytest.approx(lost, abs=1e-3)
    assert set(change.distances) == {"p", "q", "r"}


def test_an_attribute_that_is_left_with_one_value_is_certain():
    before = table(("a", "p", 3), ("a", "q", 1), ("b", "p", 2), ("b", "q", 2))
    change = regression_change(before, table(("a", "p", 4), ("b", "p", 4)), "y")
    assert np.isnan(change.released_pseudo_r2)
    expected = np.sqrt(4 * (1 / 4) ** 2 + 4 * (1 / 2) ** 2)
    assert change.distances == pytest.approx({"p": expected, "q": expected}, abs=1e-4)


def test_what_cannot_be_fitted_is_refused(monkeypatch):
    rows = table(("a", "p", 2), ("b", "q", 2))
    with pytest.raises(kn.KanopyError, match="lacks the columns y"):
        regression_change(rows, rows[["x"]], "y")
    with pytest.raises(kn.KanopyError, match="no rows"):
        regression_change(rows, rows.iloc[:0], "y")
    with pytest.raises(kn.KanopyError, match="unknown column"):
        pseudo_r2(rows, "z")
    with pytest.raises(kn.KanopyError, match="one further column"):
        pseudo_r2(rows[["y"]], "y")
    monkeypatch.setitem(sys.modules, "sklearn.linear_model", None)
    with pytest.raises(kn.KanopyError, match=r"pip install 'kanopy\[study\]'"):
        pseudo_r2(rows, "y")


@pytest.mark.real_data
@pytest.mark.parametrize(("attribute", "published"), [("race", 0.042), ("workclass", 0.032)])
def test_fit_on_the_whole_of_adult(attribute, published):
    # 000, 6.2.8; the thesis names neither its pseudo-R² nor its coding of the attributes.
    data = kn.load("adult", columns=5)
    assert pseudo_r2(data.frame[list(data.quasi_identifiers)], attribute) == pytest.approx(
        published, abs=0.01
    )
