"""Stopping rules: small callables that look at the progress of a run and say whether to end it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from kanopy.instances.arguments import number, whole_number
from kanopy.instances.errors import KanopyError


@dataclass
class Progress:
    """What a stopping rule may look at."""

    time: float = 0.0
    iterations: int = 0
    nodes: int = 0
    objective: float = math.inf
    bound: float = -math.inf
    last_improvement_time: float = 0.0
    last_improvement_iteration: int = 0

    @property
    def gap(self) -> float:
        """(objective − bound) / objective; 0 where both are equal, ∞ while one is missing."""
        return relative_gap(self.objective, self.bound)


def relative_gap(objective: float, bound: float) -> float:
    """(objective − bound) / objective, the gap that every kanopy result reports.

    >>> relative_gap(10.0, 9.0), relative_gap(0.0, 0.0)
    (0.1, 0.0)
    """
    if math.isinf(objective) or math.isinf(bound):
        return math.inf
    if objective <= bound:
        return 0.0
    return (objective - bound) / abs(objective) if objective != 0 else math.inf


@runtime_checkable
class StoppingRule(Protocol):
    """A callable that ends a run when it returns True."""

    def __call__(self, progress: Progress) -> bool:
        """Whether to stop now."""
        ...

    def time_limit(self) -> float:
        """Seconds after which the rule is sure to fire; ∞ if it does not watch the clock."""
        ...


@dataclass(frozen=True)
class MaxRuntime:
    """Stop after so many seconds.

    >>> MaxRuntime(60)(Progress(time=61))
    True
    """

    seconds: float

    def __post_init__(self) -> None:
        seconds = number(self.seconds, "MaxRuntime's seconds")
        _require(seconds >= 0, f"MaxRuntime({self.seconds}): give a number of seconds ≥ 0")

    def __call__(self, progress: Progress) -> bool:
        return progress.time >= self.seconds

    def time_limit(self) -> float:
        """Seconds after which the rule is sure to fire."""
        return self.seconds


@dataclass(frozen=True)
class MaxIterations:
    """Stop after so many iterations of a local search or column generation."""

    iterations: int

    def __post_init__(self) -> None:
        iterations = whole_number(self.iterations, "MaxIterations' iterations")
        _require(iterations >= 0, f"MaxIterations({self.iterations}): give a number ≥ 0")

    def __call__(self, progress: Progress) -> bool:
        return progress.iterations >= self.iterations

    def time_limit(self) -> float:
        """No limit in time."""
        return math.inf


@dataclass(frozen=True)
class MaxNodes:
    """Stop after so many nodes of a branch-and-bound tree."""

    nodes: int

    def __post_init__(self) -> None:
        nodes = whole_number(self.nodes, "MaxNodes' nodes")
        _require(nodes >= 0, f"MaxNodes({self.nodes}): give a number ≥ 0")

    def __call__(self, progress: Progress) -> bool:
        return progress.nodes >= self.nodes

    def time_limit(self) -> float:
        """No limit in time."""
        return math.inf


@dataclass(frozen=True)
class GapReached:
    """Stop once (objective − bound) / objective is at most ``gap``."""

    gap: float

    def __post_init__(self) -> None:
        gap = number(self.gap, "GapReached's gap")
        _require(0 <= gap < 1, f"GapReached({self.gap}): give a share in [0, 1)")

    def __call__(self, progress: Progress) -> bool:
        return progress.gap <= self.gap

    def time_limit(self) -> float:
        """No limit in time."""
        return math.inf


@dataclass(frozen=True)
class NoImprovement:
    """Stop after so many iterations without a better solution."""

    iterations: int

    def __post_init__(self) -> None:
        iterations = whole_number(self.iterations, "NoImprovement's iterations")
        _require(iterations >= 1, f"NoImprovement({self.iterations}): give a number ≥ 1")

    def __call__(self, progress: Progress) -> bool:
        return progress.iterations - progress.last_improvement_iteration >= self.iterations

    def time_limit(self) -> float:
        """No limit in time."""
        return math.inf


class First:
    """Stop as soon as the first of several rules does.

    >>> rule = First(MaxRuntime(60), GapReached(0.01))
    >>> rule(Progress(time=1, objective=100, bound=99.5))
    True
    """

    def __init__(self, *rules: StoppingRule) -> None:
        _require(bool(rules), "First() needs at least one rule, as in First(MaxRuntime(60))")
        for rule in rules:
            check_rule(rule, "a rule of First")
        self.rules = rules

    def __call__(self, progress: Progress) -> bool:
        return any(rule(progress) for rule in self.rules)

    def time_limit(self) -> float:
        """The shortest limit among the rules."""
        return min(rule.time_limit() for rule in self.rules)

    def __repr__(self) -> str:
        return f"First({', '.join(map(repr, self.rules))})"


class Never:
    """Let the method end by itself."""

    def __call__(self, progress: Progress) -> bool:
        return False

    def time_limit(self) -> float:
        """No limit in time."""
        return math.inf

    def __repr__(self) -> str:
        return "Never()"


def check_rule(rule: object, what: str) -> None:
    """Raise unless it is a stopping rule; the class of one is none."""
    if not isinstance(rule, StoppingRule) or isinstance(rule, type):
        raise KanopyError(f"{what} must be a rule such as MaxRuntime(60), got {rule!r}")


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise KanopyError(message)
