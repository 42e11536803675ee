"""The live linear program of HiGHS."""

from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kanopy.solvers.backends.live_program import FINE, ROUGH, Floats, Places, Point
from kanopy.solvers.clock import now

highspy: Any = importlib.import_module("highspy")

DUAL, PRIMAL = 1, 4
"""HiGHS' names of its simplex methods."""


class HighsProgram:
    """One live HiGHS object."""

    def __init__(self) -> None:
        self._highs = highspy.Highs()
        for option, value in {"output_flag": False, "threads": 1, "presolve": "off"}.items():
            self._highs.setOptionValue(option, value)
        self._astray = False  # interior points leave no basis

    def add_rows(
        self, lower: Floats, upper: Floats, starts: Places, columns: Places, values: Floats
    ) -> None:
        """Append rows."""
        number = len(lower)
        self._highs.addRows(number, lower, upper, len(columns), starts[:-1], columns, values)

    def add_columns(self, costs: Floats, starts: Places, rows: Places, values: Floats) -> None:
        """Append columns that are at least 0."""
        number = len(costs)
        least, most = np.zeros(number), np.full(number, math.inf)
        self._highs.addCols(number, costs, least, most, len(rows), starts[:-1], rows, values)

    def delete_rows(self, rows: Places) -> None:
        """Take rows out; those after them move up."""
        basis = self._highs.getBasis()
        self._highs.deleteRows(len(rows), rows)
        if basis.valid:
            basis.row_status = _without(basis.row_status, rows)
            self._highs.setBasis(basis)

    def delete_columns(self, columns: Places) -> None:
        """Take columns out; those after them move up."""
        basis = self._highs.getBasis()
        self._highs.deleteCols(len(columns), columns)
        if basis.valid:
            basis.col_status = _without(basis.col_status, columns)
            self._highs.setBasis(basis)

    def bound_columns(self, columns: Places, lower: Floats, upper: Floats) -> None:
        """Set the bounds of columns."""
        self._highs.changeColsBounds(len(columns), columns, lower, upper)

    def bound_row(self, row: int, lower: float, upper: float) -> None:
        """Set the sides of a row."""
        self._highs.changeRowBounds(row, lower, upper)

    def set_costs(self, columns: Places, costs: Floats) -> None:
        """Set what columns cost."""
        self._highs.changeColsCost(len(columns), columns, costs)

    def set_coefficient(self, row: int, column: int, value: float) -> None:
        """Set one entry."""
        self._highs.changeCoeff(row, column, value)

    def solve(self, seconds: float, dual: bool) -> Point | None:
        """An optimum by the dual or the primal simplex method from where the last one ended."""
        highs, end = self._highs, now() + seconds
        if self._astray and self._interior(seconds, FINE, "on") is not None:
            self._astray = dual = False
        highs.setOptionValue("simplex_strategy", DUAL if dual else PRIMAL)
        for attempt in range(2):
            left = max(0.0, end - now())
            highs.setOptionValue("time_limit", min(left + highs.getRunTime(), math.inf))
            highs.run()
            status = highs.getModelStatus()
            if status == highspy.HighsModelStatus.kOptimal:
                return self._point()
            if status == highspy.HighsModelStatus.kTimeLimit:
                return None
            if attempt == 0:  # HiGHS may answer kUnknown on a warm start: begin anew
                highs.clearSolver()
                highs.setOptionValue("simplex_strategy", DUAL)
        return self._interior(max(0.0, end - now()), FINE, "on")

    def centre(self, seconds: float) -> Point | None:
        """An optimum, roughly, in the middle of all, by interior points; None if that fails."""
        self._astray = True
        return self._interior(seconds, ROUGH, "off")

    def probe(self, iterations: int) -> float:
        """The value after so many iterations of the dual simplex method: a hint, no bound."""
        highs = self._highs
        highs.setOptionValue("simplex_strategy", DUAL)
        highs.setOptionValue("simplex_iteration_limit", iterations)
        highs.setOptionValue("time_limit", math.inf)
        highs.run()
        highs.setOptionValue("simplex_iteration_limit", 2**31 - 1)
        return float(highs.getInfo().objective_function_value)

    def basis(self) -> Any:
        """The basis of now, for :meth:`restore`."""
        return self._highs.getBasis()

    def restore(self, basis: Any) -> None:
        """Go back to a basis of the same rows; columns added since are not in it."""
        if not basis.valid:  # interior points leave none
            return
        number = self._highs.getNumCol()
        missing = number - len(basis.col_status)
        if missing:
            lower = highspy.HighsBasisStatus.kLower
            basis.col_status = [*basis.col_status[:number], *[lower] * missing]
        self._highs.setBasis(basis)

    def _interior(self, seconds: float, tolerance: float, crossover: str) -> Point | None:
        highs = self._highs
        highs.clearSolver()
        for option, value in {
            "solver": "ipm",
            "run_crossover": crossover,
            "ipm_optimality_tolerance": tolerance,
            "time_limit": min(seconds + highs.getRunTime(), math.inf),
        }.items():
            highs.setOptionValue(option, value)
        highs.run()
        highs.setOptionValue("solver", "simplex")
        status = highs.getModelStatus()
        # without a crossover HiGHS may find its own tolerances not met, and answers kUnknown
        good = [highspy.HighsModelStatus.kOptimal]
        if crossover == "off":
            good.append(highspy.HighsModelStatus.kUnknown)
        solved = status in good and highs.getSolution().dual_valid
        return self._point() if solved else None

    def _point(self) -> Point:
        solution = self._highs.getSolution()
        value = float(self._highs.getInfo().objective_function_value)
        return Point(value, np.asarray(solution.col_value), np.asarray(solution.row_dual))


def _without(statuses: list[Any], gone: NDArray[np.int32]) -> list[Any]:
    left = np.ones(len(statuses), dtype=bool)
    left[gone] = False
    return [status for status, stays in zip(statuses, left, strict=True) if stays]
