"""The estimators keep scikit-learn's contract and ``solve``'s answers."""

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import kanopy as kn
from kanopy.estimators import Generalisation, Microaggregation


@pytest.fixture
def people():
    rng = np.random.default_rng(1)
    columns = {"age": rng.integers(18, 90, 40), "income": rng.normal(50, 9, 40)}
    return pd.DataFrame(columns, index=[f"p{i}" for i in range(40)])


def test_scikit_learn_checks_pass():
    results = check_estimator(Microaggregation(method="mdav+"), on_skip=None)
    assert len(results) > 40
    assert all(r["status"] == "passed" for r in results if r["check_name"] != _ARRAY_API)


_ARRAY_API = "check_array_api_input"  # skipped by scikit-learn itself unless SciPy is told of it


def test_frame_in_frame_out_is_the_release_of_solve(people):
    estimator = Microaggregation(k=4, method="mdav", random_state=3)
    released = estimator.fit_transform(people)
    solution = kn.solve(people, 4, "mdav", seed=3)
    pd.testing.assert_frame_equal(released, solution.release(), check_dtype=False)
    assert released.value_counts().min() >= 4
    assert estimator.labels_.tolist() == solution.labels.tolist()
    assert estimator.objective_ == solution.objective
    kn.verify(estimator.solution_.data, estimator.solution_)


def test_bound_and_gap_of_an_exact_method(people):
    one = Microaggregation(k=3, method="univariate").fit(people[["age"]])
    assert one.gap_ == 0
    assert one.bound_ == pytest.approx(one.objective_)
    heuristic = Microaggregation(k=3, method="mdav").fit(people)
    assert heuristic.bound_ is None
    assert heuristic.gap_ is None
    assert heuristic.n_classes_ == len(heuristic.centroids_) == 13


def test_equal_rows_in_several_classes_come_back_as_they_were_fitted():
    X = np.array([[0.0]] * 5 + [[1.0]] * 4)
    estimator = Microaggregation(k=3, method="random", random_state=5)
    fitted = estimator.fit_transform(X)
    assert len({*estimator.labels_[:5].tolist()}) > 1  # else this tests nothing
    assert np.array_equal(fitted, estimator.centroids_[estimator.labels_])
    assert np.array_equal(estimator.transform(X), fitted)


def test_strangers_take_the_nearest_mean_in_weighted_units():
    X = np.array([[0.0, 0.0], [0.0, 0.0], [10.0, 100.0], [10.0, 100.0]])
    plain = Microaggregation(k=2, method="mdav", standardize=False).fit(X)
    assert plain.transform([[9.0, 20.0]]).tolist() == [[0.0, 0.0]]
    weighted = clone(plain).set_params(weights=[1000.0, 0.1]).fit(X)
    assert weighted.transform([[9.0, 20.0]]).tolist() == [[10.0, 100.0]]
    standard = clone(plain).set_params(standardize=True).fit(X)
    assert standard.transform([[9.0, 20.0]]).tolist() == [[10.0, 100.0]]


def test_seed_decides_and_none_draws(people):
    same = [Microaggregation(method="random", random_state=1).fit(people) for _ in range(2)]
    assert same[0].labels_.tolist() == same[1].labels_.tolist()
    drawn = Microaggregation(method="random", random_state=None)
    seeds = {drawn.fit(people).solution_.seed for _ in range(3)}
    assert len(seeds) == 3


def test_pipeline_pickle_and_options(people):
    steps = make_pipeline(
        StandardScaler(), Microaggregation(k=3, method="mdav*-gamma", options={"gamma": 0.5})
    )
    steps.set_output(transform="pandas")
    released = steps.fit_transform(people)
    assert list(released.columns) == ["age", "income"]
    again = pickle.loads(pickle.dumps(steps)).transform(people)
    pd.testing.assert_frame_equal(again, released)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"k": 41}, "minimum of 41"),
        ({"method": "safe"}, "safe"),
        ({"method": "nonsense"}, "unknown method"),
        ({"weights": [1.0]}, "1 weights for 2 columns"),
    ],
)
def test_errors_say_what_is_wrong(people, parameters, message):
    with pytest.raises(ValueError, match=message):
        Microaggregation(**parameters).fit(people)


def test_generalisation_of_mixed_columns():
    frame = pd.DataFrame({"age": [3, 4, 8, 9], "sex": list("fmmm"), "ill": list("abcd")})
    estimator = Generalisation(k=2, roles={"confidential": ["ill"]})
    released = estimator.fit_transform(frame)
    assert released["age"].tolist() == ["[3-4]", "[3-4]", "[8-9]", "[8-9]"]
    assert released["ill"].tolist() == list("abcd")
    assert estimator.solution_.status == "optimal"
    assert clone(estimator).get_params() == estimator.get_params()


def test_nothing_else_imports_scikit_learn():
    code = "import sys, kanopy; kanopy.methods(); kanopy.solve; sys.exit('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
