"""The package as a whole: its examples run, its names exist, and its import stays light."""

import doctest
import importlib
import pkgutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import kanopy.measures
from kanopy.instances.microdata import Microdata
from kanopy.solvers.costs import total_cost

MODULES = [
    f"kanopy.measures.{module.name}" for module in pkgutil.iter_modules(kanopy.measures.__path__)
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


def test_every_measure_has_an_example():
    for name in kanopy.measures.__all__:
        if name != "TableErrors":
            assert ">>>" in getattr(kanopy.measures, name).__doc__, name


def test_measures_agree_with_the_costs_that_methods_minimise():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.normal(size=(40, 2)), columns=["a", "b"])
    frame["c"] = rng.choice(list("xyz"), 40)
    frame["d"] = rng.choice(list("pqrst"), 40)
    labels = np.arange(40) % 9
    weights = {"a": 0.5, "b": 2.0, "c": 3.0, "d": 0.25}
    domains = {"a": (-9.0, 9.0), "d": 7}
    data = Microdata.from_frame(frame, weights=weights, domains=domains, standardize=False)
    assert kanopy.measures.generalisation_loss(
        frame, labels, weights=weights, domains=domains
    ) == pytest.approx(total_cost(data, labels, "range"))
    numbers = Microdata.from_frame(frame[["a", "b"]])
    assert kanopy.measures.sse_of_partition(numbers.points, labels) == pytest.approx(
        total_cost(numbers, labels, "sse")
    )
    nominal = Microdata.from_frame(frame[["c", "d"]])
    assert kanopy.measures.hamming_pair_sum(nominal.codes, labels) == pytest.approx(
        total_cost(nominal, labels, "hamming")
    )


def test_messages_never_show_a_cell():
    secret = "s3cret"
    for bad in (
        lambda: kanopy.measures.sse([[secret]], [[secret]]),
        lambda: kanopy.measures.hamming_pair_sum([[secret], [None]], [0, 0]),
        lambda: kanopy.measures.t_closeness([secret, secret], [0, 0], "ordered"),
    ):
        with pytest.raises(kanopy.instances.errors.KanopyError) as caught:
            bad()
        assert secret not in str(caught.value)


def test_import_is_light():
    code = (
        "import sys, kanopy; before = set(sys.modules); import kanopy.measures;"
        "new = {m.split('.')[0] for m in set(sys.modules) - before};"
        "print(sorted(new & {'matplotlib', 'pyomo', 'numba', 'highspy', 'sklearn', 'networkx'}))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
