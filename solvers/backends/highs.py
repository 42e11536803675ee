"""HiGHS through highspy: the default for linear and mixed-integer linear programs."""

from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kanopy.instances.errors import KanopyError
from kanopy.models.linear_form import LinearForm
from kanopy.solvers.backends.protocol import BackendResult, Capabilities, Limits, Progress
from kanopy.solvers.backends.watch import Ended, Watch

HEURISTICS = ("feasibility_jump", "rins", "rens", "root_reduced_cost")
"""HiGHS' heuristics that are run by default."""


class HighsBackend:
    """HiGHS, embedded and free; no quadratic objectives.

    Linear programs also give the duals of the rows, as ``BackendResult.duals``: the change of the
    minimum per unit of the row's right-hand side, so ≤ 0 for a ≤-row.
    """

    name = "highs"
    capabilities = Capabilities(milp=True, mip_start=True, duals=True, add_column=True)

    def unavailable(self) -> str | None:
        """Why HiGHS cannot be used, or None."""
        try:
            importlib.import_module("highspy")
        except ImportError as error:
            return f"HiGHS cannot be loaded ({error}); install it with: pip install highspy"
        return None

    def version(self) -> str:
        """Name and version."""
        return f"HiGHS {importlib.import_module('highspy').Highs().version()}"

    def solve(
        self,
        form: LinearForm,
        limits: Limits,
        start: NDArray[np.float64] | None = None,
        progress: Progress | None = None,
    ) -> BackendResult:
        """Solve a linear or mixed-integer linear program."""
        if reason := self.unavailable():
            raise KanopyError(reason)
        if form.quadratic is not None and form.quadratic.count_nonzero():
            raise KanopyError(
                "HiGHS takes no quadratic objective with integers; use the back-end gurobi or "
                "scip, or write the objective piecewise linear"
            )
        watch = Watch("HiGHS", form, limits, start, progress)
        # HiGHS itself asks watch.stopping() often enough: nothing to do from outside.
        return watch.run(_Search(watch).run, lambda: None)


class _Search:
    """One run of HiGHS, in the solver's thread."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.form = watch.form
        self.status = importlib.import_module("highspy").HighsModelStatus
        self.proving = math.isfinite(watch.limits.cutoff) and not watch.limits.hopeful

    def run(self) -> Ended:
        """Solve, and decide between infeasible and unbounded where HiGHS does not."""
        solver, status = self.attempt(presolve="off" if self.proving else "choose")
        none = (self.status.kInfeasible, self.status.kUnboundedOrInfeasible)
        if status in none and self.watch.limits.hopeful:
            self.watch.forget_bound()
            return Ended("stopped")
        if status == self.status.kInfeasible and not self.proving:
            # Presolve may be wrong about that (HiGHS issues 2585, 3296), so it takes two: what the
            # program itself says without presolve counts.
            self.watch.forget_bound()
            solver, status = self.attempt(presolve="off")
        if status == self.status.kUnboundedOrInfeasible:
            # A program with rational data whose relaxation is unbounded is unbounded itself as
            # soon as it has a point: ask for any.
            solver = self.load(np.zeros_like(self.form.cost), self.form.integer)
            solver.run()
            found = solver.getModelStatus() == self.status.kOptimal
            if found:
                return Ended("unbounded")
            return Ended(self.ended(solver.getModelStatus()))
        if self.form.integer.any():
            return self.mixed_integer(solver, status)
        return self.linear(solver, status)

    def attempt(self, presolve: str) -> tuple[Any, Any]:
        """A run of HiGHS and its status."""
        solver = self.load(self.form.cost, self.form.integer)
        solver.setOptionValue("presolve", presolve)
        solver.setOptionValue("objective_bound", self.watch.limits.cutoff)
        for heuristic in HEURISTICS if self.proving else ():
            solver.setOptionValue(f"mip_heuristic_run_{heuristic}", False)
        if self.form.integer.any():
            self.subscribe_to_incumbents(solver)
            if self.watch.start is not None:
                self.set_start(solver, self.watch.start)
        solver.run()
        return solver, solver.getModelStatus()

    def mixed_integer(self, solver: Any, status: Any) -> Ended:
        info = solver.getInfo()
        ended = self.ended(status)
        if ended in ("optimal", "stopped"):
            self.watch.prove(info.mip_dual_bound)
            if math.isfinite(info.objective_function_value):
                x = np.array(solver.getSolution().col_value)
                if len(x) and not self.watch.offer(x):
                    self.repair(x)
        return Ended(ended, self.text(solver, status))

    def linear(self, solver: Any, status: Any) -> Ended:
        ended = self.ended(status)
        if ended != "optimal":
            return Ended(ended, self.text(solver, status))
        solution = solver.getSolution()
        duals = np.array(solution.row_dual)
        self.watch.offer(np.array(solution.col_value))
        self.watch.prove(lagrangian_bound(self.form, duals))
        return Ended("optimal", duals=duals)

    def repair(self, x: NDArray[np.float64]) -> None:
        """Solve for the continuous variables anew where rounding the integers broke a row."""
        values = np.round(x)
        lower = np.where(self.form.integer, values, self.form.lower)
        upper = np.where(self.form.integer, values, self.form.upper)
        solver = self.load(self.form.cost, np.zeros_like(self.form.integer), lower, upper)
        solver.run()
        if solver.getModelStatus() == self.status.kOptimal:
            self.watch.offer(np.array(solver.getSolution().col_value))

    def ended(self, status: Any) -> str:
        known = {
            self.status.kOptimal: "optimal",
            self.status.kInfeasible: "infeasible",
            self.status.kUnbounded: "unbounded",
            self.status.kTimeLimit: "stopped",
            self.status.kInterrupt: "stopped",
            self.status.kIterationLimit: "stopped",
            self.status.kSolutionLimit: "stopped",
        }
        return known.get(status, "failed")

    def text(self, solver: Any, status: Any) -> str:
        return "" if self.ended(status) != "failed" else str(solver.modelStatusToString(status))

    def load(
        self,
        cost: NDArray[np.float64],
        integer: NDArray[np.bool_],
        lower: NDArray[np.float64] | None = None,
        upper: NDArray[np.float64] | None = None,
    ) -> Any:
        """HiGHS with the program and the limits in it."""
        highspy = importlib.import_module("highspy")
        form, limits = self.form, self.watch.limits
        program = highspy.HighsLp()
        program.num_row_, program.num_col_ = form.matrix.shape
        program.col_cost_ = cost
        program.offset_ = form.constant
        program.col_lower_ = form.lower if lower is None else lower
        program.col_upper_ = form.upper if upper is None else upper
        program.row_lower_ = form.row_lower
        program.row_upper_ = form.row_upper
        columns = form.matrix.tocsc()
        program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        program.a_matrix_.start_ = columns.indptr.astype(np.int32)
        program.a_matrix_.index_ = columns.indices.astype(np.int32)
        program.a_matrix_.value_ = columns.data.astype(np.float64)
        if integer.any():
            kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
            program.integrality_ = [kinds[int(whole)] for whole in integer]
        solver = highspy.Highs()
        for option, value in {
            "output_flag": False,
            "threads": limits.threads,
            "random_seed": limits.seed % (2**31),
            "time_limit": self.watch.remaining(),
            "mip_rel_gap": limits.relative_gap,
            "mip_abs_gap": limits.absolute_gap,
            "mip_max_nodes": limits.nodes,
        }.items():
            solver.setOptionValue(option, value)
        if solver.passModel(program) == highspy.HighsStatus.kError:
            raise RuntimeError("it does not take the program")
        for event in (solver.cbSimplexInterrupt, solver.cbIpmInterrupt, solver.cbMipInterrupt):
            event.subscribe(self.on_interrupt)
        return solver

    def subscribe_to_incumbents(self, solver: Any) -> None:
        solver.cbMipInterrupt.subscribe(self.on_bound)
        solver.cbMipImprovingSolution.subscribe(self.on_incumbent)

    def set_start(self, solver: Any, start: NDArray[np.float64]) -> None:
        solution = importlib.import_module("highspy").HighsSolution()
        solution.col_value = np.where(self.form.integer, np.round(start), start)
        solver.setSolution(solution)

    def on_interrupt(self, event: Any) -> None:
        if self.watch.stopping():
            event.interrupt()

    def on_bound(self, event: Any) -> None:
        self.watch.prove(event.data_out.mip_dual_bound)

    def on_incumbent(self, event: Any) -> None:
        self.watch.prove(event.data_out.mip_dual_bound)
        rejected = self.watch.rejected
        if not self.watch.offer(np.asarray(event.data_out.mip_solution)):
            # The last one is repaired at the end; an incumbent on the way is no failure.
            self.watch.rejected = rejected


def lagrangian_bound(form: LinearForm, duals: NDArray[np.float64]) -> float:
    """Lower bound of a linear program that any row duals prove.

    For y = ``duals``, every feasible x has costᵀx = yᵀAx + (cost − Aᵀy)ᵀx, which is at least the
    sum of each term's least value over its row's sides and its variable's bounds. Duals of the
    wrong sign at a missing side, and reduced costs of the wrong sign at a missing bound, are taken
    for rounding errors below 1e-6 and make the bound −∞ above.
    """
    reduced = form.cost - form.matrix.T @ duals
    value = form.constant
    for factors, low, high in (
        (duals, form.row_lower, form.row_upper),
        (reduced, form.lower, form.upper),
    ):
        side = np.where(factors > 0, low, high)
        missing = np.isinf(side)
        if np.any(np.abs(factors[missing]) > 1e-6):
            return -math.inf
        value += float(factors[~missing] @ side[~missing])
    return value
