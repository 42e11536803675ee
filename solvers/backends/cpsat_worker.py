"""The process in which OR-tools CP-SAT runs: whole numbers in by stdin, JSON lines out by stdout.

OR-tools and highspy cannot be loaded into one process (their libraries share symbols), so nothing
here may import highspy, and OR-tools is imported only once there is a program to solve. Started by
:mod:`kanopy.solvers.backends.cpsat`, which documents the data.
"""

from __future__ import annotations

import io
import json
import os
import queue
import sys
import threading
import time
from typing import Any, BinaryIO

import numpy as np


def main() -> None:
    """Solve the programs that arrive, one by one; report points, bounds and the end of each."""
    # Nothing but our lines may reach the pipe, whatever a library prints.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    programs: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(sys.stdin.buffer, programs), daemon=True).start()
    while True:
        _solve(programs.get(), out)


def _receive(source: BinaryIO, programs: queue.SimpleQueue[dict[str, Any]]) -> None:
    """Take programs from stdin; leave when it closes, since nobody is waiting any more."""
    while size := source.read(8):
        body = io.BytesIO(source.read(int.from_bytes(size, "little")))
        with np.load(body, allow_pickle=False) as arrays:
            programs.put({name: arrays[name] for name in arrays.files})
    os._exit(0)


def _solve(program: dict[str, Any], out: Any) -> None:
    from ortools.sat.python import cp_model

    lock = threading.Lock()

    def report(**fields: Any) -> None:
        with lock:
            print(json.dumps(fields), file=out, flush=True)

    class Reporter(cp_model.CpSolverSolutionCallback):
        def on_solution_callback(self) -> None:
            point = [self.value(variable) for variable in variables]
            report(x=point, bound=self.best_objective_bound)

    model, variables = _model(cp_model, program)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = int(program["threads"])
    solver.parameters.random_seed = int(program["seed"])
    solver.parameters.relative_gap_limit = float(program["relative_gap"])
    solver.parameters.absolute_gap_limit = float(program["absolute_gap"])
    solver.parameters.linearization_level = 2
    seconds = float(program["deadline"]) - time.time()
    if np.isfinite(seconds):
        solver.parameters.max_time_in_seconds = max(0.0, seconds)
    solver.best_bound_callback = lambda bound: report(bound=bound)
    status = solver.solve(model, Reporter())
    ended = {cp_model.OPTIMAL: "optimal", cp_model.INFEASIBLE: "infeasible"}
    known = (*ended, cp_model.FEASIBLE, cp_model.UNKNOWN)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        point = [solver.value(variable) for variable in variables]
        report(x=point, bound=solver.best_objective_bound)
    if status in known:
        report(status=ended.get(status, "stopped"))
    else:
        report(status="failed", message=model.validate().strip() or solver.status_name(status))


def _model(cp_model: Any, program: dict[str, Any]) -> tuple[Any, list[Any]]:
    model = cp_model.CpModel()
    bounds = zip(program["lower"].tolist(), program["upper"].tolist(), strict=True)
    variables = [model.new_int_var(low, high, "") for low, high in bounds]
    starts, columns = program["starts"].tolist(), program["columns"].tolist()
    factors = program["factors"].tolist()
    sides = zip(program["row_lower"].tolist(), program["row_upper"].tolist(), strict=True)
    weighted_sum = cp_model.LinearExpr.weighted_sum
    for row, (low, high) in enumerate(sides):
        terms = slice(starts[row], starts[row + 1])
        members = [variables[column] for column in columns[terms]]
        if any(factors[terms]):
            model.add_linear_constraint(weighted_sum(members, factors[terms]), low, high)
        elif not low <= 0 <= high:
            model.add_bool_or([])
    if program["cost"].any():
        model.minimize(weighted_sum(variables, program["cost"].tolist()))
    if len(program["start"]):
        for variable, value in zip(variables, program["start"].tolist(), strict=True):
            model.add_hint(variable, value)
    return model, variables


if __name__ == "__main__":
    main()
