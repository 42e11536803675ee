"""Compiling stops the clock of time limits and is announced once."""

import subprocess
import sys
import time

from numba import njit

from kanopy.solvers.clock import now

COMPILES = """
import sys, numba, kanopy.solvers.clock
sys.modules[sys.argv[1]] = sys.modules["__main__"]
def one(x):
    return x + 1
def two(x):
    return x + 2
for function in (one, two):
    function.__module__ = sys.argv[1]
    numba.njit(cache=True)(function)(1)
"""


def test_compiling_takes_no_time():
    @njit
    def below(x):
        return sum([i * x for i in range(x)])

    @njit
    def compiled(x):
        return below(x) + below(x + 1)

    wall, clock = time.perf_counter(), now()
    assert compiled(3) == 9 + 24
    wall, clock = time.perf_counter() - wall, now() - clock
    assert 0 <= clock < wall / 2  # compiling is far longer than running and loading


def test_note_appears_once_after_an_installation_for_our_kernels(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(COMPILES)

    def said(module):
        command = [sys.executable, str(script), module]
        return subprocess.run(command, check=True, capture_output=True, text=True).stderr

    assert said("elsewhere.pretended") == ""
    script.write_text(COMPILES + "# changed\n")
    assert said("kanopy.pretended").count("compiling") == 1
    assert said("kanopy.pretended") == ""  # kept
