"""The programs as printed: the Pyomo models of 000 handed to a back-end unchanged."""

from __future__ import annotations

import importlib

import numpy as np
from numpy.typing import NDArray

from kanopy.instances.errors import KanopyError
from kanopy.instances.frequency import FrequencyProblem
from kanopy.solvers.backends.choice import default_backend
from kanopy.solvers.backends.protocol import Limits
from kanopy.solvers.frequency.annealing import any_counts
from kanopy.solvers.frequency.search import CLOSED, SOLVER_ERROR, choose_backend
from kanopy.solvers.problem import Outcome, Problem
from kanopy.solvers.run import Run


def solve_as_printed(problem: Problem, run: Run, model_name: str, backend_name: str) -> Outcome:
    """Solve the model ``safe-basic``, ``msafe`` or ``chi-ex`` as it stands in the thesis.

    Chi-ex is a quadratic program there, for which ``auto`` takes Gurobi or SCIP.
    """
    assert problem.control is not None
    assert problem.total is not None
    best = any_counts(problem.data.counts, problem.k, problem.total)
    # Pyomo takes a second to load, and only this formulation needs it.
    module = importlib.import_module(f"kanopy.models.{model_name.replace('-', '_')}")
    extract = importlib.import_module("kanopy.models.extract").extract
    build = importlib.import_module("kanopy.models.factory").build
    tolerance = np.zeros(len(problem.control)) if problem.tolerance is None else problem.tolerance
    given = FrequencyProblem(problem.data, problem.k, problem.control, tolerance, problem.total)
    parameters: dict[str, object] = {}
    if model_name != "safe-basic":
        parameters["deviation_weight"] = problem.deviation_weight
    if model_name == "chi-ex":
        parameters["formulation"] = "paper"
    model = build(model_name, given, problem.k, **parameters)
    module.load_counts(model, best)
    extracted = extract(model)
    column = {id(variable): j for j, variable in enumerate(extracted.variables)}
    columns = [column[id(model.count[i])] for i in model.types]
    form = extracted.form
    backend = default_backend(form) if backend_name == "auto" else choose_backend(backend_name)

    def progress(x: NDArray[np.float64] | None, bound: float) -> None:
        nonlocal best
        if x is not None:
            outcome = Outcome(counts=np.rint(x[columns]).astype(np.int64))
            if run.found(outcome, problem.objective(outcome)):
                assert outcome.counts is not None
                best = outcome.counts
        if np.isfinite(bound):
            run.proved(bound - SOLVER_ERROR * max(1.0, abs(bound)))

    limits = Limits(
        seconds=run.remaining(), seed=run.seed, absolute_gap=CLOSED, interrupted=run.stopping
    )
    answer = backend.solve(form, limits, extracted.start(), progress)
    if answer.status == "failed":
        raise KanopyError(f"{answer.message}; try another option backend, or formulation=envelope")
    progress(answer.x, answer.bound)
    return Outcome(counts=best, bound=run.progress.bound, solver=backend.version())
