"""Every example in a docstring runs."""

import doctest
import importlib
import pkgutil

import pytest

import kanopy


def modules():
    found = pkgutil.walk_packages(kanopy.__path__, "kanopy.")
    below = ("instances", "models", "solvers", "experiments")
    for name in below:
        package = importlib.import_module(f"kanopy.{name}")
        yield package.__name__
        yield from (m.name for m in pkgutil.walk_packages(package.__path__, f"kanopy.{name}."))
    yield "kanopy"
    yield from (m.name for m in found)


@pytest.mark.parametrize("name", sorted(set(modules()) - {"kanopy.__main__"}))
def test_examples_in_docstrings(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


def test_there_are_examples():
    counts = [doctest.testmod(importlib.import_module(n)).attempted for n in ("kanopy.solving",)]
    assert sum(counts) > 0
