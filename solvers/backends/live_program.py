"""A linear program that lives in a solver while columns and rows come and go."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Places = NDArray[np.int32]

PROGRAMS = {"highs": "HighsProgram", "gurobi": "GurobiProgram"}
"""The live program of each back-end that has one, in the module ``live_<back-end>``."""

ROUGH, FINE = 1e-4, 1e-8
"""Tolerances of interior points: of duals to price with, and of the start of a crossover."""


@dataclass(frozen=True, eq=False)
class Point:
    """An optimum: its value, the columns' values, and the rows' duals.

    A dual is the change of the minimum per unit of the row's side, so ≤ 0 for a ≤-row.
    """

    value: float
    x: Floats
    duals: Floats


class LiveProgram(Protocol):
    """A minimisation whose columns and rows are numbered in the order they were added.

    Entries are given as in a sparse matrix: ``starts`` has one place more than there are columns
    (rows). Every change keeps the basis that the last optimum left, as far as it is still there.
    """

    def add_rows(
        self, lower: Floats, upper: Floats, starts: Places, columns: Places, values: Floats
    ) -> None:
        """Append rows."""
        ...

    def add_columns(self, costs: Floats, starts: Places, rows: Places, values: Floats) -> None:
        """Append columns that are at least 0."""
        ...

    def delete_rows(self, rows: Places) -> None:
        """Take rows out; those after them move up."""
        ...

    def delete_columns(self, columns: Places) -> None:
        """Take columns out; those after them move up."""
        ...

    def bound_columns(self, columns: Places, lower: Floats, upper: Floats) -> None:
        """Set the bounds of columns."""
        ...

    def bound_row(self, row: int, lower: float, upper: float) -> None:
        """Set the sides of a row."""
        ...

    def set_costs(self, columns: Places, costs: Floats) -> None:
        """Set what columns cost."""
        ...

    def set_coefficient(self, row: int, column: int, value: float) -> None:
        """Set one entry."""
        ...

    def solve(self, seconds: float, dual: bool) -> Point | None:
        """An optimum by the dual or the primal simplex method from where the last one ended.

        None if the limit of seconds strikes, or if the solver fails.
        """
        ...

    def centre(self, seconds: float) -> Point | None:
        """An optimum, roughly, in the middle of all, by interior points; None if that fails."""
        ...

    def probe(self, iterations: int) -> float:
        """The value after so many iterations of the dual simplex method: a hint, no bound."""
        ...

    def basis(self) -> Any:
        """The basis of now, for :meth:`restore`."""
        ...

    def restore(self, basis: Any) -> None:
        """Go back to a basis of the same rows; columns added since are not in it."""
        ...


def live_program(backend: str) -> LiveProgram:
    """An empty program of one of these back-ends."""
    # Late, since a process that has loaded OR-tools cannot load HiGHS, but run other methods.
    module = importlib.import_module(f"kanopy.solvers.backends.live_{backend}")
    program: LiveProgram = getattr(module, PROGRAMS[backend])()
    return program
