"""The clock of all time limits, which stands still while numba compiles.

Kernels are compiled when they first run, once after an installation. That can take longer than a
user's limit, and says nothing about a method: neither limits nor run times count it. A note on
stderr says what the wait is for.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from numba.core import event
from numba.core.caching import FunctionCache

NOTE = (
    "kanopy: compiling, only the first time a method runs after an installation "
    "(`kanopy compile` does all at once) …"
)


class _Compiling(event.Listener):
    """Seconds that went into compiling; numba compiles in one thread at a time, callees within."""

    def __init__(self) -> None:
        self._before = 0.0
        self.noted = False
        self._depth = 0
        self._began = 0.0

    def on_start(self, event: Any) -> None:
        if self._depth == 0:
            self._began = time.perf_counter()
            dispatcher = event.data["dispatcher"]
            # what is not kept is small and compiled each time
            kept = isinstance(dispatcher._cache, FunctionCache)
            ours = str(dispatcher.py_func.__module__).startswith("kanopy.")  # generated ones: None
            if kept and ours and not self.noted:
                self.noted = True
                print(NOTE, file=sys.stderr, flush=True)
        self._depth += 1

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._before += time.perf_counter() - self._began

    def seconds(self) -> float:
        """So far, with what is being compiled now."""
        return self._before + (time.perf_counter() - self._began if self._depth else 0.0)


_compiling = _Compiling()
event.register("numba:compile", _compiling)  # type: ignore[no-untyped-call]


def now() -> float:
    """Seconds on a clock that stands still while kernels are compiled.

    >>> now() <= now()
    True
    """
    return time.perf_counter() - _compiling.seconds()


def without_note() -> None:
    """Compile silently from here on, for a command that says itself what it does."""
    _compiling.noted = True
