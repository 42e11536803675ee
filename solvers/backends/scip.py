"""SCIP through pyscipopt: free, and takes quadratic objectives."""

from __future__ import annotations

import contextlib
import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kanopy.instances.errors import KanopyError
from kanopy.models.linear_form import LinearForm
from kanopy.solvers.backends.protocol import BackendResult, Capabilities, Limits, Progress
from kanopy.solvers.backends.watch import Ended, Watch

_INFINITY = 1e20  # SCIP's own


class ScipBackend:
    """SCIP; a quadratic objective becomes t with the constraint t ≥ ½ xᵀQx."""

    name = "scip"
    capabilities = Capabilities(milp=True, miqp=True, mip_start=True)

    def unavailable(self) -> str | None:
        """Why SCIP cannot be used, or None."""
        try:
            importlib.import_module("pyscipopt")
        except ImportError:
            return "SCIP is not installed; get it with: pip install 'kanopy[scip]'"
        return None

    def version(self) -> str:
        """Name and version."""
        model = importlib.import_module("pyscipopt").Model()
        return f"SCIP {model.getMajorVersion()}.{model.getMinorVersion()}.{model.getTechVersion()}"

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
        watch = Watch("SCIP", form, limits, start, progress)
        search = _Search(watch)
        return watch.run(search.run, search.stop)


class _Search:
    """One run of SCIP, in the solver's thread."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.form = watch.form
        self.scip = importlib.import_module("pyscipopt")
        self.model: Any = None
        self.variables: list[Any] = []

    def stop(self) -> None:
        """Ask a running SCIP to end, from another thread."""
        if self.model is not None:
            with contextlib.suppress(Exception):  # too early or too late to be interrupted
                self.model.interruptSolve()

    def run(self) -> Ended:
        status = self.optimize(self.form.cost)
        if status == "inforunbd":
            # A program with rational data whose relaxation is unbounded is unbounded itself as
            # soon as it has a point: ask for any.
            status = self.optimize(None)
            status = "unbounded" if status == "optimal" else status
        elif status in _STOPPED or status in ("optimal", "gaplimit"):
            self.note_bound()
            self.note_best()
        if status in ("optimal", "gaplimit"):
            return Ended("optimal")
        if status in ("infeasible", "unbounded"):
            return Ended(status)
        return Ended("stopped") if status in _STOPPED else Ended("failed", f"it ended as {status}")

    def optimize(self, cost: NDArray[np.float64] | None) -> str:
        model = self.load(cost)
        if self.watch.stopping():
            return "userinterrupt"
        self.model = model
        model.optimizeNogil()
        return str(model.getStatus())

    def note_bound(self) -> None:
        if self.model is None:
            return  # stopped before it began
        bound = self.model.getDualbound()
        if abs(bound) < _INFINITY:
            self.watch.prove(bound)

    def note_best(self) -> None:
        if self.model is not None and self.model.getNSols():
            best = self.model.getBestSol()
            values = (self.model.getSolVal(best, variable) for variable in self.variables)
            self.watch.offer(np.fromiter(values, np.float64, len(self.variables)))

    def load(self, cost: NDArray[np.float64] | None) -> Any:
        """SCIP's model with the program and the limits in it; without a cost, any point will do."""
        form, limits = self.form, self.watch.limits
        prices = np.zeros_like(form.cost) if cost is None else cost
        model = self.scip.Model()
        model.hideOutput()
        for parameter, value in {
            "misc/catchctrlc": False,
            "limits/time": min(self.watch.remaining(), _INFINITY),
            "limits/gap": limits.relative_gap,
            "limits/absgap": limits.absolute_gap,
            "randomization/randomseedshift": limits.seed % (2**31),
            "lp/threads": limits.threads,
            # So that rounding the integers breaks no row by more than we allow.
            "numerics/feastol": 1e-8,
        }.items():
            model.setParam(parameter, value)
        self.variables = [
            model.addVar(
                vtype="I" if whole else "C",
                lb=low if low > -np.inf else None,
                ub=high if high < np.inf else None,
                obj=price,
            )
            for price, low, high, whole in zip(
                prices.tolist(),
                form.lower.tolist(),
                form.upper.tolist(),
                form.integer.tolist(),
                strict=True,
            )
        ]
        model.addObjoffset(form.constant)
        self.add_rows(model)
        if cost is not None:
            epigraph = None if form.quadratic is None else self.add_epigraph(model)
            if self.watch.start is not None:
                self.set_start(model, self.watch.start, epigraph)
            self.listen(model)
        return model

    def add_rows(self, model: Any) -> None:
        matrix, variables = self.form.matrix, self.variables
        for row, (low, high) in enumerate(
            zip(self.form.row_lower.tolist(), self.form.row_upper.tolist(), strict=True)
        ):
            if self.watch.stopping():
                return  # nobody will solve it
            terms = slice(matrix.indptr[row], matrix.indptr[row + 1])
            pairs = zip(matrix.data[terms].tolist(), matrix.indices[terms].tolist(), strict=True)
            body = self.scip.quicksum(factor * variables[column] for factor, column in pairs)
            if low == high:
                model.addCons(body == low)
            elif low > -np.inf and high < np.inf:
                model.addCons(low <= (body <= high))
            elif high < np.inf:
                model.addCons(body <= high)
            elif low > -np.inf:
                model.addCons(body >= low)

    def add_epigraph(self, model: Any) -> Any:
        assert self.form.quadratic is not None
        products = self.form.quadratic.tocoo()
        epigraph = model.addVar(lb=None, obj=1.0)
        squares = self.scip.quicksum(
            0.5 * factor * self.variables[first] * self.variables[second]
            for factor, first, second in zip(
                products.data.tolist(), products.row.tolist(), products.col.tolist(), strict=True
            )
        )
        model.addCons(squares <= epigraph)
        return epigraph

    def set_start(self, model: Any, start: NDArray[np.float64], epigraph: Any) -> None:
        solution = model.createSol()
        for variable, value in zip(self.variables, start.tolist(), strict=True):
            model.setSolVal(solution, variable, value)
        if epigraph is not None:
            linear = float(self.form.cost @ start) + self.form.constant
            height = self.form.objective(start) - linear
            model.setSolVal(solution, epigraph, height)
        model.addSol(solution)

    def listen(self, model: Any) -> None:
        """Have SCIP report incumbents and bounds while it runs."""
        search, events = self, self.scip.SCIP_EVENTTYPE

        class Listener(self.scip.Eventhdlr):  # type: ignore[name-defined, misc]
            def eventinit(self) -> None:
                for event in (events.BESTSOLFOUND, events.NODEFOCUSED, events.PRESOLVEROUND):
                    self.model.catchEvent(event, self)

            def eventexec(self, event: Any) -> None:
                if search.watch.stopping():
                    search.stop()
                if event.getType() == events.BESTSOLFOUND:
                    search.note_best()
                elif event.getType() == events.NODEFOCUSED:
                    search.note_bound()

        model.includeEventhdlr(Listener(), "kanopy", "incumbents and bounds")


_STOPPED = ("timelimit", "userinterrupt", "nodelimit", "memlimit", "sollimit")
