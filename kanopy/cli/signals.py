"""Ctrl-C and SIGTERM: the best so far is reported and written, and the exit code tells.

=========== ==========================================================================
exit code   meaning
=========== ==========================================================================
0           done
1           a verification failed: a release or certificate does not keep its promise
2           a mistake that the user can put right
3           a solver crashed or hung in its own process (``--apart``); what was found until then
            is reported and written
130         ended by Ctrl-C (SIGINT); what was found until then is reported and written
143         ended by SIGTERM, likewise
=========== ==========================================================================
"""

from __future__ import annotations

import signal
import sys
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kanopy.solution import Solution

_received: list[int] = []


def install() -> None:
    """From here on, SIGTERM ends a search as Ctrl-C does."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)


def _interrupt(number: int, _: FrameType | None) -> None:
    _received.append(number)
    raise KeyboardInterrupt


def came() -> bool:
    """Whether a signal has come."""
    return bool(_received)


def exit_code() -> int:
    """128 and the number of the first signal."""
    return 128 + (_received[0] if _received else signal.SIGINT)


def leave_if_interrupted(solution: Solution) -> None:
    """End the process with a code that tells, once everything is written."""
    if solution.status != "interrupted":
        return
    if not came():  # a crash, which a warning has named
        sys.exit(3)
    print("interrupted: this is the best so far", file=sys.stderr)
    sys.exit(exit_code())
