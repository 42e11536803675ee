"""The table of progress that ``display=True`` prints while a method works."""

from __future__ import annotations

import sys
import time
from typing import TextIO

from kanopy.solution import Solution
from kanopy.solvers.problem import Problem
from kanopy.solvers.registry import Method
from kanopy.solvers.trace import Event

_EVERY = 0.25  # seconds between lines; a search may improve thousands of times a second


class ProgressTable:
    """Prints events as they come, at most a few lines a second, and the outcome at the end."""

    def __init__(self, problem: Problem, method: Method, out: TextIO | None = None) -> None:
        self._out = out or sys.stdout
        self._exact = method.exact
        self._last = 0.0
        self._shown = ""
        data = problem.data
        columns = len(data.quasi_identifiers)
        self._print(
            f"{method.name} · {problem.cost} · {data.name or 'table'}: {data.n} rows × "
            f"{columns} columns · k = {problem.k}"
        )
        tree = (
            f"{'nodes':>7} {'open':>6} {'columns':>8} {'cuts':>6} {'LP':>14} "
            if method.exact
            else ""
        )
        self._print(
            f"  {'time':>8} {'iterations':>11} {tree}{'bound':>14} {'objective':>14} {'gap':>9}"
        )

    def show(self, event: Event) -> None:
        """Print an event unless the last line is too recent."""
        now = time.perf_counter()
        if now - self._last >= _EVERY:
            self._last = now
            self._shown = self._line(event)
            self._print(self._shown)

    def close(self, solution: Solution) -> None:
        """Print the last event and the outcome."""
        line = self._line(solution.trace[-1])
        if line[2:] != self._shown[2:]:
            self._print(line)
        self._print(str(solution))

    def _line(self, event: Event) -> str:
        tree = ""
        if self._exact:
            tree = (
                f"{_count(event.nodes):>7} {_count(event.open_nodes):>6} "
                f"{_count(event.columns):>8} {_count(event.cuts):>6} {_value(event.lp):>14} "
            )
        gap = "" if event.gap is None else f"{100 * event.gap:.4f} %"
        return (
            f"{event.mark or ' '} {event.time:>7.1f}s {_count(event.iterations):>11} {tree}"
            f"{_value(event.bound):>14} {_value(event.objective):>14} {gap:>9}"
        )

    def _print(self, text: str) -> None:
        print(text, file=self._out, flush=True)


def _count(number: int | None) -> str:
    return "" if number is None else f"{number:,}"


def _value(number: float | None) -> str:
    return "" if number is None else f"{number:.6f}"
