"""A run: the clock, the stopping rule, the randomness and the best found so far.

Methods report every better solution and every proven bound here at once, so that whatever ends
them, a time limit, Ctrl-C or the end of the search, the best is at hand.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kanopy.checking.certificate import Certificate
from kanopy.solvers.clock import now
from kanopy.solvers.problem import Outcome, Problem
from kanopy.solvers.stop import First, MaxRuntime, Never, Progress, StoppingRule
from kanopy.solvers.trace import Event, Trace


class Run:
    """State of one call of ``solve``.

    Parameters
    ----------
    problem
        What is solved.
    stop
        When to end.
    seed
        The only source of randomness, as ``run.rng``.
    initial
        Labels of a known solution, or None.
    method
        Name of the method at work; ``auto`` puts its choice here.
    listener
        Called with every event of the trace (the display).
    """

    def __init__(
        self,
        problem: Problem,
        stop: StoppingRule | None = None,
        seed: int = 0,
        initial: NDArray[np.int64] | None = None,
        method: str = "",
        listener: Callable[[Event], None] | None = None,
    ) -> None:
        self.problem = problem
        self.stop = stop or Never()
        self.seed = seed
        self.rng = np.random.default_rng(seed)
        self.initial = initial
        self.method = method
        self.progress = Progress()
        self.best: Outcome | None = None
        self.stopped = False
        self.timed_out = False
        self.wants_proof = False
        self.proof: Certificate | None = None
        """What a method that is asked for a proof leaves here; the labels are filled in later."""
        self._events: list[Event] = []
        self._listener = listener
        self._start = now()
        self._processor_start = time.process_time()

    def elapsed(self) -> float:
        """Seconds since the run began."""
        return now() - self._start

    def processor_seconds(self) -> float:
        """Processor seconds of this process since the run began, which other load leaves alone."""
        return time.process_time() - self._processor_start

    def follow(self, elapsed: float, processor_seconds: float = 0.0) -> None:
        """Set the clock by that of another process, and count what that has worked for us."""
        last = self._events[-1].time if self._events else 0.0  # a trace never runs back
        self._start = now() - max(elapsed, last)
        self._processor_start -= processor_seconds

    def remaining(self) -> float:
        """Seconds until the time limit; ∞ without one."""
        return max(0.0, self.stop.time_limit() - self.elapsed())

    def stopping(self, iterations: int = 0, nodes: int = 0) -> bool:
        """Count iterations and nodes just done, and say whether the stopping rule wants an end."""
        self.progress.time = self.elapsed()
        self.progress.iterations += iterations
        self.progress.nodes += nodes
        if not self.stopped and self.stop(self.progress):
            self.stopped = True
            self.timed_out = self.progress.time >= self.stop.time_limit()
        return self.stopped

    def share(self, parts: int) -> StoppingRule:
        """Stopping rule for the next of so many parts: an equal share of the time that is left."""
        seconds = self.remaining() / parts
        return self.stop if math.isinf(seconds) else First(self.stop, MaxRuntime(seconds))

    def found(self, outcome: Outcome, objective: float, **details: Any) -> bool:
        """Offer a solution; True (and recorded) if it is the best so far."""
        if objective >= self.progress.objective:
            return False
        self.best = outcome
        self.progress.objective = objective
        self.progress.last_improvement_time = self.elapsed()
        self.progress.last_improvement_iteration = self.progress.iterations
        self.record("*", **details)
        return True

    def found_labels(self, labels: NDArray[np.int64], **details: Any) -> bool:
        """Offer a partition; its cost is computed here."""
        return self.found(Outcome(labels=labels), self.problem.partition_cost(labels), **details)

    def proved(self, bound: float, **details: Any) -> bool:
        """Raise the lower bound to a *proven* value; True if that is higher than before."""
        if bound <= self.progress.bound:
            return False
        self.progress.bound = bound
        self.record("^", **details)
        return True

    def record(self, mark: str = "", **details: Any) -> None:
        """Add an event to the trace; details are the fields of :class:`Event`."""
        event = Event(
            time=self.elapsed(),
            mark=mark,
            objective=None if math.isinf(self.progress.objective) else self.progress.objective,
            bound=None if math.isinf(self.progress.bound) else self.progress.bound,
            iterations=self.progress.iterations or None,
            nodes=self.progress.nodes or None,
            **details,
        )
        self._events.append(event)
        if self._listener is not None:
            self._listener(event)

    @property
    def trace(self) -> Trace:
        """The events so far."""
        return Trace(self._events)
