from dataclasses import dataclass

import numpy as np
import pytest

import kanopy as kn
from kanopy.solvers import registry
from kanopy.solvers.problem import Outcome


@dataclass(frozen=True)
class Options:
    width: int = 3
    gamma: float = 1.0
    name: str = "a"
    grid: float | None = None


@pytest.fixture
def dummy():
    """A method that is gone after the test."""

    @registry.register(
        "dummy",
        costs=("sse",),
        kinds=("numeric",),
        paper="none",
        summary="one class",
        options=Options,
    )
    def one_class(problem, run, options):
        assert isinstance(options, Options)
        return Outcome(labels=np.zeros(problem.n, dtype=np.int64))

    yield registry.find_method("dummy")
    del registry._METHODS["dummy"]


def test_a_registered_method_is_solvable_and_listed(dummy):
    s = kn.solve(kn.example("testdata"), k=2, method="dummy", options={"width": 4, "gamma": 1})
    assert s.objective == pytest.approx(91.5)
    assert dict(s.options) == {"width": 4, "gamma": 1}
    assert "dummy" in kn.methods().index


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"wdth": 1}, "width, gamma, name, grid"),
        ({"width": 1.5}, "int"),
        ({"width": True}, "int"),
        ({"gamma": "x"}, "float"),
        ({"name": 3}, "str"),
        ({"width": None}, "int like 3, got NoneType"),
        ({"width": 2**63}, "'width' of 'dummy' is too large"),
        ({3: 4}, "width, gamma, name, grid"),
        ({("width",): 4}, "width, gamma, name, grid"),
        (3, "options must be a dict like"),
        ([("width", 2)], "options must be a dict like"),
    ],
)
def test_bad_options_are_named(dummy, options, said):
    with pytest.raises(kn.KanopyError, match=said):
        dummy.parse(options)


def test_numbers_of_numpy_are_numbers(dummy):
    parsed = dummy.parse({"width": np.int64(4), "gamma": np.float32(0.5)})
    assert parsed == Options(width=4, gamma=0.5)
    assert type(parsed.width) is int


def test_options_of_a_method_without_any():
    with pytest.raises(kn.KanopyError, match="has no options"):
        kn.solve(kn.example("testdata"), k=2, method="random", options={"x": 1})


def test_two_modules_cannot_share_a_name(dummy):
    def other(problem, run, options):
        raise AssertionError

    other.__module__ = "elsewhere"
    decorate = registry.register("dummy", costs=("sse",), kinds=("numeric",), paper="", summary="")
    with pytest.raises(kn.KanopyError, match="twice"):
        decorate(other)
