"""Gurobi through gurobipy: quadratic objectives too, within the size of the user's licence."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kanopy.instances.errors import KanopyError
from kanopy.models.linear_form import LinearForm
from kanopy.solvers.backends.protocol import BackendResult, Capabilities, Limits, Progress
from kanopy.solvers.backends.watch import Ended, Watch


class GurobiBackend:
    """Gurobi; the licence that comes with gurobipy allows small programs only."""

    name = "gurobi"
    capabilities = Capabilities(milp=True, miqp=True, mip_start=True, duals=True, add_column=True)

    def unavailable(self) -> str | None:
        """Why Gurobi cannot be used, or None; a missing licence shows up here."""
        try:
            gurobi = importlib.import_module("gurobipy")
        except ImportError:
            return "Gurobi is not installed; get it with: pip install 'kanopy[gurobi]'"
        try:
            quiet_environment(gurobi).dispose()
        except gurobi.GurobiError as error:
            return f"Gurobi does not start ({error}); check its licence or use highs or scip"
        return None

    def version(self) -> str:
        """Name and version."""
        numbers = importlib.import_module("gurobipy").gurobi.version()
        return "Gurobi " + ".".join(map(str, numbers))

    def refusal(self, form: LinearForm) -> str | None:
        """Why the licence at hand does not allow a program of this size, or None if it does."""
        watch = Watch("Gurobi", form, Limits(seconds=10.0))
        try:
            _Search(watch).probe()
        except KanopyError as error:
            return str(error)
        return None

    def solve(
        self,
        form: LinearForm,
        limits: Limits,
        start: NDArray[np.float64] | None = None,
        progress: Progress | None = None,
    ) -> BackendResult:
        """Solve a mixed-integer program with a linear or quadratic objective."""
        if reason := self.unavailable():
            raise KanopyError(reason)
        watch = Watch("Gurobi", form, limits, start, progress)
        search = _Search(watch)
        return watch.run(search.run, search.stop)


class _Search:
    """One run of Gurobi, in the solver's thread."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.form = watch.form
        self.gurobi = importlib.import_module("gurobipy")
        self.model: Any = None
        self.variables: Any = None
        self.rows: list[tuple[NDArray[np.int64], Any]] = []

    def stop(self) -> None:
        """Ask a running Gurobi to end, from another thread."""
        if self.model is not None:
            self.model.terminate()

    def run(self) -> Ended:
        with quiet_environment(self.gurobi) as environment, self.load(environment) as model:
            self.model = model
            try:
                self.optimize()
                if model.Status == self.gurobi.GRB.INF_OR_UNBD:
                    model.Params.DualReductions = 0  # then it says which of the two
                    self.optimize()
                return self.answer()
            finally:
                self.model = None

    def probe(self) -> None:
        """Have the licence checked without solving."""
        with quiet_environment(self.gurobi) as environment, self.load(environment) as model:
            self.model = model
            model.Params.TimeLimit = 0
            self.optimize()

    def optimize(self) -> None:
        try:
            self.model.optimize(self.on_event)
        except self.gurobi.GurobiError as error:
            if error.errno != self.gurobi.GRB.Error.SIZE_LIMIT_EXCEEDED:
                raise
            other = "highs" if self.form.quadratic is None else "scip"
            rows, columns = self.form.matrix.shape
            raise too_large(rows, columns, other) from None

    def answer(self) -> Ended:
        grb, model = self.gurobi.GRB, self.model
        if model.Status in (grb.INFEASIBLE, grb.UNBOUNDED):
            return Ended("infeasible" if model.Status == grb.INFEASIBLE else "unbounded")
        if model.SolCount:
            self.watch.offer(self.variables.X)
        if model.Status == grb.OPTIMAL:
            self.watch.prove(model.ObjBound)
            return Ended("optimal", duals=None if model.IsMIP else self.duals())
        if model.Status in (grb.TIME_LIMIT, grb.INTERRUPTED):
            if model.IsMIP:
                self.watch.prove(_finite(model.ObjBound))
            if model.Status == grb.INTERRUPTED and not self.watch.stopping():
                raise KeyboardInterrupt  # Gurobi keeps a Ctrl-C to itself, but it was for us
            return Ended("stopped")
        return Ended("failed", f"it ended with its status {model.Status}")

    def duals(self) -> NDArray[np.float64]:
        duals = np.zeros(self.form.matrix.shape[0])
        for rows, constraints in self.rows:
            duals[rows] += constraints.Pi
        return duals

    def load(self, environment: Any) -> Any:
        """Gurobi's model with the program and the limits in it."""
        form, limits = self.form, self.watch.limits
        model = self.gurobi.Model(env=environment)
        self.variables = model.addMVar(
            len(form.cost),
            lb=form.lower,
            ub=form.upper,
            vtype=np.where(form.integer, "I", "C"),
        )
        model.setMObjective(
            None if form.quadratic is None else 0.5 * form.quadratic, form.cost, form.constant
        )
        equal = form.row_lower == form.row_upper
        for rows, sense, side in (
            (equal, "=", form.row_upper),
            (~equal & (form.row_lower > -np.inf), ">", form.row_lower),
            (~equal & (form.row_upper < np.inf), "<", form.row_upper),
        ):
            index = np.flatnonzero(rows)
            if len(index):
                added = model.addMConstr(form.matrix[index], self.variables, sense, side[index])
                self.rows.append((index, added))
        if self.watch.start is not None and form.integer.any():
            self.variables.Start = self.watch.start
        model.Params.TimeLimit = min(self.watch.remaining(), 1e9)
        model.Params.Threads = limits.threads
        model.Params.Seed = limits.seed % 2_000_000_000
        model.Params.MIPGap = limits.relative_gap
        model.Params.MIPGapAbs = limits.absolute_gap
        # So that rounding the integers breaks no row by more than we allow.
        model.Params.FeasibilityTol = 1e-9
        model.Params.IntFeasTol = 1e-9
        return model

    def on_event(self, model: Any, where: int) -> None:
        callback = self.gurobi.GRB.Callback
        if self.watch.stopping():
            model.terminate()
        if where == callback.MIPSOL:
            self.watch.prove(_finite(model.cbGet(callback.MIPSOL_OBJBND)))
            self.watch.offer(model.cbGetSolution(self.variables))
        elif where == callback.MIP:
            self.watch.prove(_finite(model.cbGet(callback.MIP_OBJBND)))


def too_large(rows: int, columns: int, other: str) -> KanopyError:
    """What to say of a program that the licence does not allow; another back-end does."""
    return KanopyError(
        f"{columns} variables and {rows} rows are more than this Gurobi licence allows "
        "(the one that comes with gurobipy ends at 2000 of each, and at 200 variables "
        f"with a quadratic objective); get a full licence or use the back-end {other}"
    )


def quiet_environment(gurobi: Any) -> Any:
    """A quiet environment."""
    environment = gurobi.Env(empty=True)
    environment.setParam("OutputFlag", 0)
    environment.start()
    return environment


def _finite(bound: float) -> float:
    """Gurobi's infinity is 1e100."""
    return -np.inf if bound <= -1e99 else bound
