"""The gain factor γ and its exhaustive search (001, 5.2 and 6.5).

No rule for a good γ is known; the thesis tries 0, 0.1, …, 2 and keeps the result of least cost.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from kanopy.instances.errors import KanopyError
from kanopy.solvers.heuristics.md import ClosestOptions
from kanopy.solvers.kernels.quick import quick_exit
from kanopy.solvers.problem import Outcome, Problem
from kanopy.solvers.run import Run

GRID = tuple(step / 10 for step in range(21))
"""The gain factors that the thesis tries."""


@dataclass(frozen=True)
class GainOptions(ClosestOptions):
    """Options of the heuristics with a gain factor.

    Attributes
    ----------
    gamma
        How readily clusters grow beyond k rows; None tries 0, 0.1, …, 2 and keeps the best.
    """

    gamma: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_gain(self.gamma)


def check_gain(gamma: float | None) -> None:
    """Raise unless γ is None or a finite number that is not negative."""
    if gamma is None:
        return
    if not isinstance(gamma, int | float) or isinstance(gamma, bool):
        raise KanopyError(f"gamma must be a number like 0.8, got {type(gamma).__name__}")
    if not (math.isfinite(gamma) and gamma >= 0):
        raise KanopyError(f"gamma = {gamma} must be a finite number ≥ 0; the thesis tries 0 to 2")


def best_gain(
    problem: Problem,
    run: Run,
    gamma: float | None,
    labels_at: Callable[[float], NDArray[np.int64]],
) -> Outcome:
    """The partition of least cost over the grid, the lowest γ of equals; or that of the given γ."""
    factors = GRID if gamma is None else (float(gamma),)
    return best_of(problem, run, [partial(labels_at, factor) for factor in factors])


def best_of(
    problem: Problem, run: Run, tries: Iterable[Callable[[], NDArray[np.int64]]]
) -> Outcome:
    """The partition of least cost among several tries, the first of equals; stops between them."""
    best: Outcome | None = None
    least = math.inf
    with quick_exit(run):
        for attempt in tries:
            outcome = Outcome(labels=attempt())
            objective = problem.objective(outcome)
            if best is None or objective < least:
                best, least = outcome, objective
            run.found(outcome, objective)
            if run.stopping(iterations=1):
                break
    assert best is not None  # there is a first try
    return best
