"""Compiled loops in small portions, so that a time limit or Ctrl-C never waits for long."""

from __future__ import annotations

from collections.abc import Callable

from kanopy.solvers.clock import now

Stopping = Callable[[], bool]
"""Asked between portions whether to stop."""


def never() -> bool:
    """Let a method run to its end."""
    return False


def in_chunks(
    advance: Callable[[int], bool], stopping: Stopping = never, seconds: float = 0.1
) -> bool:
    """Call ``advance(steps)`` until it says that it is done; False if stopped before.

    The number of steps adapts such that a call takes about ``seconds``.

    >>> left = [1000]
    >>> def advance(steps):
    ...     left[0] -= steps
    ...     return left[0] <= 0
    >>> in_chunks(advance)
    True
    >>> in_chunks(lambda steps: False, stopping=lambda: True)
    False
    """
    steps = 16
    while True:
        begin = now()
        if advance(steps):
            return True
        if stopping():
            return False
        took = now() - begin
        if took < seconds / 2:
            steps *= 2
        elif took > seconds:
            steps = max(1, steps // 2)
