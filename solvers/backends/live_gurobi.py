"""The live linear program of Gurobi, within the size of the user's licence."""

from __future__ import annotations

import functools
import importlib
import math
from typing import Any

import numpy as np

from kanopy.instances.errors import KanopyError
from kanopy.solvers.backends.gurobi import GurobiBackend, quiet_environment, too_large
from kanopy.solvers.backends.live_program import FINE, ROUGH, Floats, Places, Point

PRIMAL, DUAL, BARRIER = 0, 1, 2
"""Gurobi's names of its methods."""

EXACT = 1e-9
"""Tolerance of reduced costs: a bound loses this much for each cluster of a partition."""

FOR_EVER = 1e9
"""Seconds and iterations without a limit."""


class GurobiProgram:
    """One live Gurobi model.

    A row with two different sides has a slack variable of its own, which is no column here.
    """

    def __init__(self) -> None:
        environment = _environment()
        self._gurobi = importlib.import_module("gurobipy")
        self._grb = self._gurobi.GRB
        self._model: Any = self._gurobi.Model(env=environment)
        for name, value in {"Threads": 1, "Presolve": 0, "OptimalityTol": EXACT}.items():
            self._model.setParam(name, value)
        self._columns: list[Any] = []
        self._rows: list[Any] = []
        self._slacks: dict[int, Any] = {}
        self._astray = False  # interior points leave no basis

    def add_rows(
        self, lower: Floats, upper: Floats, starts: Places, columns: Places, values: Floats
    ) -> None:
        """Append rows."""
        for i in range(len(lower)):
            inside = slice(starts[i], starts[i + 1])
            held = [self._columns[c] for c in columns[inside]]
            terms = self._gurobi.LinExpr(values[inside].tolist(), held)
            sense = "=" if lower[i] == upper[i] else "<"
            self._rows.append(self._model.addLConstr(terms, sense, float(upper[i])))
        self._model.update()
        first = len(self._rows) - len(lower)
        for place in np.flatnonzero((lower > -math.inf) & (lower < upper)):
            self.bound_row(first + int(place), lower[place], upper[place])

    def add_columns(self, costs: Floats, starts: Places, rows: Places, values: Floats) -> None:
        """Append columns that are at least 0."""
        for i, cost in enumerate(costs.tolist()):
            inside = slice(starts[i], starts[i + 1])
            held = [self._rows[r] for r in rows[inside]]
            entries = self._gurobi.Column(values[inside].tolist(), held)
            self._columns.append(self._model.addVar(obj=cost, column=entries))
        self._model.update()

    def delete_rows(self, rows: Places) -> None:
        """Take rows out; those after them move up."""
        gone = set(rows.tolist())
        of_row = {id(self._rows[r]): slack for r, slack in self._slacks.items()}
        for row in gone:
            self._model.remove(self._rows[row])
            if row in self._slacks:
                self._model.remove(self._slacks[row])
        self._rows = [row for r, row in enumerate(self._rows) if r not in gone]
        self._slacks = {r: of_row[id(row)] for r, row in enumerate(self._rows) if id(row) in of_row}
        self._model.update()

    def delete_columns(self, columns: Places) -> None:
        """Take columns out; those after them move up."""
        gone = set(columns.tolist())
        self._model.remove([self._columns[c] for c in gone])
        self._columns = [column for c, column in enumerate(self._columns) if c not in gone]
        self._model.update()

    def bound_columns(self, columns: Places, lower: Floats, upper: Floats) -> None:
        """Set the bounds of columns."""
        for column, least, most in zip(columns, lower, upper, strict=True):
            self._columns[column].LB = least
            self._columns[column].UB = min(most, self._grb.INFINITY)
        self._model.update()

    def bound_row(self, row: int, lower: float, upper: float) -> None:
        """Set the sides of a row."""
        constraint = self._rows[row]
        if row not in self._slacks:
            self._slacks[row] = self._model.addVar(column=self._gurobi.Column([1.0], [constraint]))
            constraint.Sense = "="
        constraint.RHS = upper
        self._slacks[row].UB = min(upper - lower, self._grb.INFINITY)
        self._model.update()

    def set_costs(self, columns: Places, costs: Floats) -> None:
        """Set what columns cost."""
        for column, cost in zip(columns, costs.tolist(), strict=True):
            self._columns[column].Obj = cost
        self._model.update()

    def set_coefficient(self, row: int, column: int, value: float) -> None:
        """Set one entry."""
        self._model.chgCoeff(self._rows[row], self._columns[column], value)
        self._model.update()

    def solve(self, seconds: float, dual: bool) -> Point | None:
        """An optimum by the dual or the primal simplex method from where the last one ended."""
        method = BARRIER if self._astray else DUAL if dual else PRIMAL
        status = self._optimize(method, seconds, crossover=True)
        if status not in (self._grb.OPTIMAL, self._grb.TIME_LIMIT):
            self._model.reset()
            status = self._optimize(DUAL, seconds - self._model.Runtime, crossover=True)
        if status != self._grb.OPTIMAL:
            return None
        self._astray = False
        return self._point()

    def centre(self, seconds: float) -> Point | None:
        """An optimum, roughly, in the middle of all, by interior points; None if that fails."""
        self._astray = True
        status = self._optimize(BARRIER, seconds, crossover=False)
        return self._point() if status == self._grb.OPTIMAL else None

    def probe(self, iterations: int) -> float:
        """The value after so many iterations of the dual simplex method: a hint, no bound."""
        self._optimize(DUAL, math.inf, crossover=True, iterations=iterations)
        return float(getattr(self._model, "ObjVal", -math.inf))

    def basis(self) -> Any:
        """The basis of now, for :meth:`restore`; None where there is none to take."""
        slacks = list(self._slacks.values())
        try:
            return (
                self._model.getAttr("VBasis", self._columns),
                self._model.getAttr("CBasis", self._rows),
                dict(zip(self._slacks, self._model.getAttr("VBasis", slacks), strict=True)),
            )
        except (AttributeError, self._gurobi.GurobiError):
            return None

    def restore(self, basis: Any) -> None:
        """Go back to a basis of the same rows; columns added since are not in it."""
        if basis is None:
            return
        columns, rows, slacks = basis
        at_lower = self._grb.NONBASIC_LOWER
        missing = len(self._columns) - len(columns)
        self._model.setAttr("VBasis", self._columns, [*columns, *[at_lower] * missing])
        self._model.setAttr("CBasis", self._rows, rows)
        for row, slack in self._slacks.items():
            slack.VBasis = slacks.get(row, at_lower)
        self._model.update()

    def _optimize(
        self, method: int, seconds: float, crossover: bool, iterations: float = FOR_EVER
    ) -> int:
        """Run Gurobi; its status."""
        params = self._model.Params
        params.Method = method
        params.Crossover = -1 if crossover else 0
        params.BarConvTol = FINE if crossover else ROUGH
        params.TimeLimit = min(max(seconds, 0.0), FOR_EVER)
        params.IterationLimit = iterations
        try:
            self._model.optimize()
        except self._gurobi.GurobiError as error:
            if error.errno != self._grb.Error.SIZE_LIMIT_EXCEEDED:
                raise
            raise too_large(self._model.NumConstrs, self._model.NumVars, "highs") from None
        if self._model.Status == self._grb.INTERRUPTED:
            raise KeyboardInterrupt  # Gurobi keeps a Ctrl-C to itself, but it was for us
        return int(self._model.Status)

    def _point(self) -> Point:
        return Point(
            float(self._model.ObjVal),
            np.array(self._model.getAttr("X", self._columns)),
            np.array(self._model.getAttr("Pi", self._rows)),
        )


@functools.cache
def _environment() -> Any:
    """One for all programs of the process: every start asks for the licence."""
    if reason := GurobiBackend().unavailable():
        raise KanopyError(reason)
    return quiet_environment(importlib.import_module("gurobipy"))
