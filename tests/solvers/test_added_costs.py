"""Costs and back-ends from outside: what uses them, and what must refuse them."""

import numpy as np
import pandas as pd
import pytest

import kanopy as kn
from kanopy.solvers import costs
from kanopy.solvers.backends import choice
from kanopy.solvers.problem import Outcome
from kanopy.solvers.registry import _METHODS, all_methods, register


@pytest.fixture
def width():
    """The widest column of each class as a cost, and a method that halves the table."""
    all_methods()
    kept = [(names, dict(names)) for names in (_METHODS, costs.CLUSTER_COSTS, costs._ADDED)]
    costs.register_cost("width", kinds=("numeric",))(
        lambda data, rows: float(np.ptp(data.X[rows], axis=0).max())
    )

    @register("halves", costs=("width",), kinds=("numeric",), paper="", summary="")
    def halves(problem, run, options):
        return Outcome(labels=(np.arange(problem.n) >= problem.n // 2).astype(np.int64))

    yield "width"
    for names, before in kept:
        names.clear()
        names.update(before)


def instance():
    frame = pd.DataFrame({"x": [0.0, 1, 3, 10, 14, 15], "y": [0.0, 2, 1, 0, 0, 0]})
    return kn.Microdata.from_frame(frame, standardize=False)


def test_an_added_cost_is_summed_over_classes_and_verified(width):
    s = kn.solve(instance(), 3, "halves", cost=width)
    assert s.objective == 3 + 5
    kn.verify(s.data, s)
    assert s.release().value_counts().min() == 3  # members, since nothing else is known


def test_methods_that_do_not_name_it_refuse_it(width):
    with pytest.raises(kn.KanopyError, match="unknown cost of method 'mdav' 'width'"):
        kn.solve(instance(), 3, "mdav", cost=width)


def test_what_needs_a_formula_refuses_it(width, tmp_path):
    data = instance()
    with pytest.raises(kn.KanopyError, match=r"bounds .* know nothing of the added cost 'width'"):
        kn.lower_bound(data, 3, width)
    with pytest.raises(kn.KanopyError, match="certificates know nothing"):
        kn.solve(data, 3, "halves", cost=width, certificate=tmp_path / "proof.json")
    with pytest.raises(kn.KanopyError, match="kept solutions know nothing"):
        kn.keep_best(kn.solve(data, 3, "halves", cost=width), "mine", tmp_path)


@pytest.mark.parametrize("name", ["sse", "chi2"])
def test_names_of_costs_are_not_taken_over(name):
    with pytest.raises(kn.KanopyError, match="is taken"):
        costs.register_cost(name, kinds=("numeric",))(lambda data, rows: 0.0)


def test_an_added_back_end_is_found(monkeypatch):
    class Adapter:
        name = "mine"

    monkeypatch.setattr(choice, "_ADDED", {})
    adapter = Adapter()
    choice.register_backend(adapter)
    assert choice.find_backend("mine") is adapter
    assert list(choice.backends())[:2] == ["highs", "gurobi"]
