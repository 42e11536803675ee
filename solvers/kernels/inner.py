"""Compiled functions that only compiled functions call.

Without a way in from Python they compile in half the time. **Python must not call them:** nothing
would check that, and the process would end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

INNER: dict[str, Any] = {"cache": True, "no_cpython_wrapper": True}


def inner(function: Callable[..., Any]) -> Any:
    """Compile a function for other compiled functions alone."""
    return njit(**INNER)(function)
