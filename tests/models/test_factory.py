import numpy as np
import pandas as pd
import pyomo.environ as pyo
import pytest

import kanopy as kn
from kanopy.instances.errors import KanopyError
from kanopy.instances.examples import example, partition
from kanopy.instances.matching import three_dimensional_matching
from kanopy.models.extract import extract
from kanopy.models.factory import build, model_names, register

PARAMETERS = {
    "aggregation": {"labels": partition("aggregation")},
    "auxiliary": {"duals": np.ones(9)},
    "pricing-edge": {"duals": np.ones(6)},
    "pricing-node-edge": {"duals": np.ones(9)},
}
NUMERIC = ("center-lp", "pricing-edge", "sse-nonlinear")


def test_names_are_those_of_the_design():
    assert model_names() == [
        "aggregation",
        "auxiliary",
        "center-lp",
        "chi-ex",
        "master",
        "msafe",
        "pairwise",
        "pricing-edge",
        "pricing-node-edge",
        "safe-basic",
        "sse-nonlinear",
    ]


@pytest.mark.parametrize("name", model_names())
def test_every_model_builds_and_has_one_objective(name):
    data = example("testdata") if name in NUMERIC else example("aggregation")
    model = build(name, data, 3, **PARAMETERS.get(name, {}))
    assert len(list(model.component_data_objects(pyo.Objective, active=True))) == 1
    if name != "sse-nonlinear":
        assert len(extract(model).variables) > 0
    again = build(name, data, 3, **PARAMETERS.get(name, {}))
    assert [c.name for c in model.component_objects()] == [
        c.name for c in again.component_objects()
    ]


@pytest.mark.parametrize("name", model_names())
def test_wrong_kind_of_data(name):
    if name in ("master", "pairwise"):
        pytest.skip("takes every kind of data")
    data = example("aggregation") if name in NUMERIC else example("testdata")
    with pytest.raises(KanopyError, match="quasi-identifiers, these are"):
        build(name, data, 3, **PARAMETERS.get(name, {}))


def test_unknown_names_list_the_known_ones():
    data = example("testdata")
    with pytest.raises(KanopyError, match=r"unknown model 'chi'; choose one of: aggregation, .*"):
        build("chi", data, 3)
    with pytest.raises(
        KanopyError, match=r"unknown parameter of model 'center-lp' 'grid'; .*: candidates, epsilon"
    ):
        build("center-lp", data, 3, grid=1)
    with pytest.raises(KanopyError, match="needs the parameter 'duals'"):
        build("pricing-edge", data, 3)
    with pytest.raises(KanopyError, match="registered twice"):
        register("chi-ex", kinds=("nominal",))(lambda data, k: None)


def test_bad_data_and_k():
    data = example("testdata")
    for k in (1, 7):
        with pytest.raises(KanopyError, match=f"k = {k} with 6 rows; choose 2 ≤ k ≤ 6"):
            build("master", data, k)
    with pytest.raises(KanopyError, match="whole number, got float"):
        build("master", data, 3.0)
    with pytest.raises(KanopyError, match="needs Microdata, got DataFrame"):
        build("master", data.frame, 3)
    with pytest.raises(KanopyError, match="not a FrequencyProblem"):
        build("master", three_dimensional_matching(3), 3)
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "s": ["x", "x", "y", "y"]})
    strata = kn.Microdata.from_frame(frame, strata="s")
    with pytest.raises(KanopyError, match="cannot keep strata apart"):
        build("master", strata, 2)
