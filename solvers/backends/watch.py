"""A watch over a running solver: its clock, its best checked point and its best bound.

The solver runs in a thread of its own and reports here; the caller's thread keeps the clock, asks
``limits.interrupted``, and hands news to ``progress``. So a solver that overruns its limit, say in
presolve, cannot hold up its caller: after a grace of ``GRACE`` seconds the best so far is returned
and the solver is left to end by itself at its next look at ``stopping`` (at interpreter exit we
wait for it a little, since solvers do not like being unloaded while they run).

Ctrl-C stops the solver, hands the best so far to ``progress`` and is then passed on, so that
methods that call a back-end many times end as well.
"""

from __future__ import annotations

import atexit
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kanopy.instances.errors import KanopyError
from kanopy.models.linear_form import LinearForm
from kanopy.solvers.backends.protocol import BackendResult, Limits, Progress

TOLERANCE = 1e-6
"""A point may break a row or a bound by so much."""
CONTRADICTION = 1e-5
"""A bound that exceeds the objective of a checked point by more, relatively, is an error."""
ROUNDING = 1e-6
"""Relative gap that a solver's own rounding may leave at optimality."""
GRACE = 1.0
POLL = 0.1

_abandoned: list[threading.Thread] = []


@dataclass(frozen=True, eq=False)
class Ended:
    """How a solver ended by its own account.

    ``status`` is ``optimal``, ``infeasible``, ``unbounded``, ``stopped`` (by a limit) or
    ``failed``.
    """

    status: str
    message: str = ""
    duals: NDArray[np.float64] | None = None


class Watch:
    """What is known of one search.

    Parameters
    ----------
    solver
        Name of the solver, for messages.
    form, limits, start, progress
        As handed to the back-end.
    """

    def __init__(
        self,
        solver: str,
        form: LinearForm,
        limits: Limits,
        start: NDArray[np.float64] | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.began = time.perf_counter()
        self.solver = solver
        self.form = form
        self.limits = limits
        self.start = start
        self.x: NDArray[np.float64] | None = None
        self.objective = math.inf
        self.bound = -math.inf
        self.rejected = 0.0
        self._progress = progress
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._told = (math.inf, -math.inf)
        _check_numbers(form)
        if start is not None:
            if start.shape != form.cost.shape:
                raise KanopyError(
                    f"the start has shape {start.shape}, but the program has {len(form.cost)} "
                    "variables; give one number for each"
                )
            self.offer(start)
            self.rejected = 0.0  # a start is a suggestion: one that breaks a row is no failure

    def remaining(self) -> float:
        """Seconds until the time limit, at least 0."""
        return max(0.0, self.limits.seconds - (time.perf_counter() - self.began))

    def stopping(self) -> bool:
        """Whether the solver should end now."""
        return self._stop.is_set()

    def offer(self, x: NDArray[np.float64]) -> bool:
        """Round and check a point, and keep it if it is the best; False if it breaks a row."""
        x = np.array(x, dtype=np.float64)
        if not np.isfinite(x).all():
            self.rejected = math.inf
            return False
        # Bounds are kept to the last digit, so that later roundings have nothing to cut off.
        x = np.clip(np.where(self.form.integer, np.round(x), x), self.form.lower, self.form.upper)
        violation = self.form.violation(x)
        if violation > TOLERANCE:
            self.rejected = max(self.rejected, violation)
            return False
        objective = self.form.objective(x)
        with self._lock:
            if objective < self.objective:
                self.x, self.objective = x, objective
        return True

    def prove(self, bound: float) -> None:
        """Raise the lower bound; points from the cutoff on were not looked for."""
        if math.isfinite(bound):
            with self._lock:
                self.bound = max(self.bound, min(bound, self.limits.cutoff))

    def forget_bound(self) -> None:
        """Take back what a solver claimed on the way to an answer that is in doubt."""
        with self._lock:
            self.bound = -math.inf

    def run(self, search: Callable[[], Ended], stop: Callable[[], None]) -> BackendResult:
        """Run a search to its end or its limit; ``stop`` asks the solver to end, from outside."""
        if not len(self.form.cost):
            return self._result(self._without_variables())
        if self.remaining() == 0.0 or self.limits.interrupted():
            return self._result(Ended("stopped"))
        return self._result(self._wait(search, stop))

    def _wait(self, search: Callable[[], Ended], stop: Callable[[], None]) -> Ended:
        answers: list[Ended | BaseException] = []
        done = threading.Event()

        def work() -> None:
            try:
                answers.append(search())
            except BaseException as error:  # handed on to the caller below
                answers.append(error)
            done.set()

        def end() -> None:
            self._stop.set()
            stop()

        thread = threading.Thread(target=work, daemon=True, name=f"kanopy {self.solver}")
        thread.start()
        patience_ends = math.inf
        try:
            while not done.wait(POLL if self.stopping() else min(POLL, self.remaining())):
                self._tell()
                now = time.perf_counter()
                if now >= patience_ends:
                    abandon(thread)
                    return Ended("stopped", f"{self.solver} did not end at its limit in time")
                if not self.stopping() and (self.remaining() == 0.0 or self.limits.interrupted()):
                    patience_ends = now + GRACE
                    end()
        except BaseException:
            end()
            if not done.wait(GRACE):
                abandon(thread)
            self._tell()
            raise
        self._tell()
        (answer,) = answers
        if isinstance(answer, Ended):
            return answer
        if isinstance(answer, KanopyError) or not isinstance(answer, Exception):
            raise answer
        return Ended("failed", f"{type(answer).__name__}: {answer}")

    def _tell(self) -> None:
        """Hand news to ``progress``, in the caller's thread."""
        with self._lock:
            objective, bound, x = self.objective, min(self.bound, self.objective), self.x
        if self._progress is not None and (objective, bound) != self._told:
            better = objective < self._told[0]
            self._told = (objective, bound)
            self._progress(x if better else None, bound)

    def _without_variables(self) -> Ended:
        nothing = np.zeros(0)
        if not self.offer(nothing):
            self.rejected = 0.0
            return Ended("infeasible")
        self.prove(self.objective)
        return Ended("optimal", duals=np.zeros(self.form.matrix.shape[0]))

    def _result(self, ended: Ended) -> BackendResult:
        with self._lock:
            x, objective, bound = self.x, self.objective, self.bound
        status, message = self._judge(ended, objective, bound)
        if status == "failed":
            bound = -math.inf
        return BackendResult(
            status=status,
            x=x,
            objective=objective,
            bound=self.limits.cutoff if status == "infeasible" else min(bound, objective),
            seconds=time.perf_counter() - self.began,
            message=message,
            duals=ended.duals if status == "optimal" else None,
        )

    def _judge(self, ended: Ended, objective: float, bound: float) -> tuple[str, str]:
        """Status and message: the solver's own account, checked against the points we hold."""
        found = math.isfinite(objective)
        if ended.status == "failed":
            return "failed", f"{self.solver} failed: {ended.message}"
        if found and bound > objective + CONTRADICTION * max(1.0, abs(objective)):
            return "failed", (
                f"{self.solver} claims the lower bound {bound}, but a point of value {objective} "
                "exists; try another back-end"
            )
        cutoff = self.limits.cutoff
        # A solver may know nothing of the cutoff.
        if found and objective >= cutoff and not self.limits.hopeful:
            proven = bound >= cutoff - ROUNDING * max(1.0, abs(cutoff))
            if ended.status == "infeasible" or (ended.status == "optimal" and proven):
                return "infeasible", ended.message
        if found and ended.status == "infeasible":
            return "failed", f"{self.solver} claims infeasibility, but a point exists"
        if ended.status in ("infeasible", "unbounded"):
            return ended.status, ended.message
        limits = self.limits
        gap = max(limits.absolute_gap, limits.relative_gap * abs(objective)) if found else 0.0
        if found and objective - bound <= gap:
            return "optimal", ended.message
        if self.rejected and (ended.status == "optimal" or not found):
            return "failed", (
                f"{self.solver} returned a point that breaks a constraint by {self.rejected:.3g}, "
                f"more than {TOLERANCE:g}; scale the model or try another back-end"
            )
        if ended.status == "optimal":
            if not found:
                return "failed", f"{self.solver} claims optimality, but returned no point"
            if objective - bound <= max(gap, ROUNDING * max(1.0, abs(objective))):
                return "optimal", ended.message
            return "feasible", f"{self.solver} ended, but proves its point only up to rounding"
        return ("feasible" if found else "no_solution"), ended.message


def _check_numbers(form: LinearForm) -> None:
    for what, values in (("cost", form.cost), ("coefficient", form.matrix.data)):
        if not np.isfinite(values).all():
            raise KanopyError(f"a {what} of the program is infinite or not a number")
    for what, values in (
        ("lower bound", form.lower),
        ("upper bound", form.upper),
        ("row's lower side", form.row_lower),
        ("row's upper side", form.row_upper),
    ):
        if np.isnan(values).any():
            raise KanopyError(f"a {what} of the program is not a number")


def abandon(thread: threading.Thread) -> None:
    """Leave a solver's thread to end by itself; at exit it is waited for a little."""
    _abandoned.append(thread)


def _wait_for_abandoned() -> None:
    for thread in _abandoned:
        thread.join(5.0)


atexit.register(_wait_for_abandoned)
