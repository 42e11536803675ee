"""What the models of counts (SAFE-basic, modified SAFE, Chi-ex) share: 000, eq. 2.1.2–2.1.5."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike, NDArray

from kanopy.instances.errors import KanopyError
from kanopy.instances.frequency import FrequencyProblem
from kanopy.instances.microdata import Microdata
from kanopy.instances.tables import ControlTables

Control = int | Sequence[Sequence[str]] | ControlTables


def control_tables(data: Microdata, control: Control | None) -> ControlTables:
    """The control tables that are meant; by default all up to dimension 3, as in 000, 6.2.7."""
    if isinstance(control, ControlTables):
        return control
    return data.tables(min(3, len(data.nominal)) if control is None else control)


def frequency_problem(
    data: Microdata | FrequencyProblem,
    k: int,
    control: Control | None,
    tolerance: NDArray[np.float64] | float | None,
    total: int | None,
) -> FrequencyProblem:
    """The problem in one piece; a FrequencyProblem is taken as it is."""
    if isinstance(data, FrequencyProblem):
        given = {"control": control, "tolerance": tolerance, "total": total}
        for name, value in given.items():
            if value is not None:
                raise KanopyError(f"the frequency problem has its own {name}; leave {name} out")
        return data
    tables = control_tables(data, control)
    free = np.asarray(0.0 if tolerance is None else tolerance, dtype=np.float64)
    per_cell = np.full(len(tables), float(free)) if free.ndim == 0 else free
    return FrequencyProblem(data, k, tables, per_cell, data.n if total is None else total)


def counts_model(
    problem: FrequencyProblem,
    lowest: NDArray[np.int64] | None = None,
    highest: NDArray[np.int64] | None = None,
) -> pyo.ConcreteModel:
    """Counts y that are 0 or at least k and add up to S.

    ``count[i]`` is y_i, ``used[i]`` ∈ {0, 1} says that y_i > 0; ``least`` and ``most`` are
    k·used_i ≤ y_i ≤ S·used_i (eq. 2.1.4, for any k) unless narrower limits of the counts are
    given, ``keep_total`` is Σy = S (eq. 2.1.3). ``problem`` is kept as a plain attribute.
    """
    size = len(problem.original)
    low = np.full(size, problem.k) if lowest is None else lowest
    high = np.full(size, problem.total) if highest is None else highest
    model = pyo.ConcreteModel()
    model.problem = problem
    model.types = pyo.RangeSet(0, size - 1)
    model.original = pyo.Param(model.types, initialize=indexed(problem.original))
    model.count = pyo.Var(model.types, domain=pyo.NonNegativeIntegers, bounds=(0, problem.total))
    model.used = pyo.Var(model.types, domain=pyo.Binary)
    model.keep_total = pyo.Constraint(expr=pyo.quicksum(model.count.values()) == problem.total)

    @model.Constraint(model.types)
    def least(model: pyo.ConcreteModel, i: int) -> object:
        return model.count[i] >= int(low[i]) * model.used[i]

    @model.Constraint(model.types)
    def most(model: pyo.ConcreteModel, i: int) -> object:
        return model.count[i] <= int(high[i]) * model.used[i]

    return model


def add_errors(model: pyo.ConcreteModel, problem: FrequencyProblem) -> None:
    """Errors b = A y⁰ − A y of the cells: ``error[t]``, ``define_error`` (eq. 2.1.2, 2.1.5)."""
    before = problem.tables.values(problem.original)
    matrix = problem.tables.matrix
    model.cells = pyo.RangeSet(0, len(before) - 1)
    model.original_value = pyo.Param(model.cells, initialize=indexed(before))
    model.error = pyo.Var(model.cells)

    @model.Constraint(model.cells)
    def define_error(model: pyo.ConcreteModel, t: int) -> object:
        types = matrix.indices[matrix.indptr[t] : matrix.indptr[t + 1]].tolist()
        value = pyo.quicksum(model.count[i] for i in types)
        return value + model.error[t] == model.original_value[t]


def add_deviations(model: pyo.ConcreteModel) -> None:
    """``deviation[i]`` ≥ |y_i − y⁰_i| by ``above`` and ``below`` (000, 3.2 and eq. 5.6.1)."""
    model.deviation = pyo.Var(model.types, domain=pyo.NonNegativeReals)

    @model.Constraint(model.types)
    def above(model: pyo.ConcreteModel, i: int) -> object:
        return model.deviation[i] >= model.count[i] - model.original[i]

    @model.Constraint(model.types)
    def below(model: pyo.ConcreteModel, i: int) -> object:
        return model.deviation[i] >= model.original[i] - model.count[i]


def default_deviation_weight(problem: FrequencyProblem) -> float:
    """The weight w = 1 / Σ y⁰ that 000, 3.2 chooses for the deviation."""
    return 1.0 / float(problem.original.sum())


def check_deviation_weight(weight: float) -> float:
    """The weight, or an error: w ≥ 0 keeps the objectives convex."""
    if not (np.isfinite(weight) and weight >= 0):
        raise KanopyError(f"deviation_weight = {weight}; choose a number ≥ 0")
    return float(weight)


def read_counts(model: pyo.ConcreteModel) -> NDArray[np.int64]:
    """The counts y of a solved model of counts."""
    values = [pyo.value(model.count[i]) for i in model.types]
    return np.round(values).astype(np.int64)


def load_shared(model: pyo.ConcreteModel, counts: ArrayLike) -> NDArray[np.int64]:
    """Give counts to a model, and to the errors and deviations that follow from them."""
    given = np.asarray(counts, dtype=np.int64)
    if given.shape != (len(model.types),):
        raise KanopyError(f"counts have shape {given.shape}, but {len(model.types)} are due")
    for i, count in enumerate(given.tolist()):
        model.count[i].set_value(count, skip_validation=True)
        model.used[i].set_value(int(count > 0), skip_validation=True)
    if model.component("deviation") is not None:
        model.deviation.set_values(indexed(np.abs(given - model.problem.original)))
    if model.component("error") is not None:
        model.error.set_values(indexed(model.problem.errors(given)))
    return given


def indexed(values: NDArray[np.integer] | NDArray[np.floating]) -> dict[int, float]:
    """A vector as the dictionary that Pyomo takes."""
    return dict(enumerate(values.tolist()))
