"""What a back-end can do, what it is asked and what it answers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kanopy.models.linear_form import LinearForm

STATUSES = ("optimal", "feasible", "infeasible", "unbounded", "no_solution", "failed")


@dataclass(frozen=True)
class Capabilities:
    """What a back-end can do beyond linear programs.

    One with ``add_column`` has a :mod:`live_program` for branch-and-price's restricted master.
    """

    milp: bool = True
    miqp: bool = False
    mip_start: bool = False
    duals: bool = False
    add_column: bool = False


@dataclass(frozen=True)
class Limits:
    """When a back-end must come back, and how it runs until then.

    ``interrupted`` is asked at least twice a second; whatever ends the search, the best solution
    and bound so far are returned within two seconds. ``nodes`` of branch-and-bound are counted by
    HiGHS only. With a ``cutoff``, only points of a lower objective are wanted: the answer is
    ``infeasible`` if there are none (with a point, if a dearer one was met), and no bound exceeds
    it. HiGHS prunes by it and, since such a point is hardly ever expected, does without presolve
    and heuristics, unless the search is ``hopeful``: that is for points, not for proofs, and never
    ends as ``infeasible`` there.
    """

    seconds: float = math.inf
    nodes: int = 2**31 - 1
    relative_gap: float = 0.0
    absolute_gap: float = 1e-9
    threads: int = 1
    seed: int = 0
    interrupted: Callable[[], bool] = lambda: False
    cutoff: float = math.inf
    hopeful: bool = False


Progress = Callable[[NDArray[np.float64] | None, float], None]
"""Called with a better point (or None) and the proven lower bound so far."""


@dataclass(frozen=True, eq=False)
class BackendResult:
    """The answer: the best point, if any, and a lower bound proven by the solver.

    ``status`` is ``optimal`` (gap closed), ``feasible`` (a point, but the limit struck),
    ``infeasible``, ``unbounded``, ``no_solution`` (the limit struck first) or ``failed``. A linear
    program solved by a back-end with ``capabilities.duals`` carries the duals of its rows.
    """

    status: str
    x: NDArray[np.float64] | None = None
    objective: float = math.inf
    bound: float = -math.inf
    seconds: float = 0.0
    message: str = ""
    duals: NDArray[np.float64] | None = None


class Backend(Protocol):
    """An optimisation solver."""

    name: str
    capabilities: Capabilities

    def unavailable(self) -> str | None:
        """One sentence that says why the solver cannot be used and what to do; None if it can."""
        ...

    def version(self) -> str:
        """Name and version."""
        ...

    def solve(
        self,
        form: LinearForm,
        limits: Limits,
        start: NDArray[np.float64] | None = None,
        progress: Progress | None = None,
    ) -> BackendResult:
        """Solve a program; ``start`` is a feasible point to begin with."""
        ...
