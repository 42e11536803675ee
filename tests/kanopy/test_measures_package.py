"""The package as a whole: its examples run, its names exist, and its import stays light."""

import doctest
import importlib
import pkgutil
import subprocess
import sys

import pytest

import kanopy.measures

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
