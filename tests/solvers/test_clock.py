"""Compiling stops the clock of time limits and is announced once."""

import subprocess
import sys
import time

from numba import njit

from kanopy.solvers.clock import now

COMPILES_IN_KANOPY = """
import numba
from kanopy.solvers.clock import NOTE
for _ in range(2):
    def kernel(x):
        return x + 1
    kernel.__module__ = "kanopy.pretended"
    numba.njit(kernel)(1)
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


def test_note_appears_once_for_our_kernels_only():
    def said(code):
        return subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, text=True
        ).stderr

    assert said(COMPILES_IN_KANOPY).count("compiling") == 1
    assert said(COMPILES_IN_KANOPY.replace("kanopy.pretended", "elsewhere")) == ""
