"""From a Pyomo model to the arrays that every optimisation solver is handed, and back."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp
from numpy.typing import NDArray
from pyomo.common.gc_manager import PauseGC
from pyomo.repn.linear import LinearRepnVisitor
from pyomo.repn.quadratic import QuadraticRepnVisitor
from pyomo.repn.util import categorize_valid_components

from kanopy.instances.errors import KanopyError
from kanopy.models.linear_form import LinearForm

# Components that carry no rows of their own; anything else that is active changes the meaning of a
# model and must not be dropped silently.
_KNOWN = {
    pyo.Block,
    pyo.Constraint,
    pyo.Expression,
    pyo.Objective,
    pyo.Param,
    pyo.RangeSet,
    pyo.Set,
    pyo.Suffix,
    pyo.Var,
}


@dataclass(frozen=True, eq=False)
class Extracted:
    """A model's arrays together with the Pyomo objects they came from.

    Attributes
    ----------
    form
        The program, always to be minimised.
    variables
        The Pyomo variable of each column; fixed variables are constants and have none.
    constraints
        The Pyomo constraint of each row.
    sign
        1 for a minimisation, −1 where the model maximises.
    """

    form: LinearForm
    variables: tuple[Any, ...]
    constraints: tuple[Any, ...]
    sign: int

    def load(self, x: NDArray[np.float64]) -> None:
        """Write a point into the model; integer variables are rounded."""
        if len(x) != len(self.variables):
            raise KanopyError(f"the point has {len(x)} entries, but {len(self.variables)} are due")
        values = np.where(self.form.integer, np.round(x), x)
        for variable, value in zip(self.variables, values.tolist(), strict=True):
            variable.set_value(value, skip_validation=True)

    def start(self) -> NDArray[np.float64] | None:
        """The values that the model's variables have now; None if one of them has no value."""
        values = [variable.value for variable in self.variables]
        if any(value is None for value in values):
            return None
        return np.array(values, dtype=np.float64)

    def objective(self, minimised: float) -> float:
        """The model's own objective (or bound) for a value of the minimisation."""
        return self.sign * minimised


def extract(model: Any) -> Extracted:
    """Arrays of a linear model, or of one with a convex quadratic objective.

    Columns and rows stand in the order in which the model declares its variables and constraints.
    Deactivated constraints and blocks are left out, fixed variables enter as constants. A quadratic
    objective is not tested for convexity.

    Parameters
    ----------
    model
        A Pyomo ``ConcreteModel`` with at most one active objective.

    Examples
    --------
    >>> model = pyo.ConcreteModel()
    >>> model.x = pyo.Var([1, 2], domain=pyo.Binary)
    >>> model.gain = pyo.Objective(expr=3 * model.x[1] + 2 * model.x[2], sense=pyo.maximize)
    >>> model.one = pyo.Constraint(expr=model.x[1] + model.x[2] <= 1)
    >>> extracted = extract(model)
    >>> extracted.form.cost.tolist(), extracted.form.row_upper.tolist(), extracted.sign
    ([-3.0, -2.0], [1.0], -1)
    """
    _check_components(model)
    # Pyomo's walkers make many small objects; the garbage collector would look at each of them.
    with PauseGC():
        columns = _Columns(model)
        constraints, matrix, row_lower, row_upper = _rows(model, columns)
        sign, constant, linear, quadratic = _objective(model, columns)
        variables = tuple(columns.var_map.values())
        size = len(variables)
        cost = np.zeros(size)
        cost[np.fromiter(linear, np.int64, len(linear))] = [*linear.values()]
        lower, upper, integer = _box(variables)
    form = LinearForm(
        cost=sign * cost,
        constant=sign * constant,
        matrix=sp.csr_array(matrix, shape=(len(constraints), size)),
        row_lower=row_lower,
        row_upper=row_upper,
        lower=lower,
        upper=upper,
        integer=integer,
        quadratic=_symmetric(quadratic, sign, size),
        names=tuple(variable.name for variable in variables),
    )
    return Extracted(form, variables, constraints, sign)


class _Columns:
    """Column of each free variable: declaration order, then strays in order of appearance.

    Strays are variables of the constraints that no active block declares. This is the recorder
    that Pyomo's walkers ask for: ``var_map``, ``var_order`` and ``add`` are their names.
    """

    def __init__(self, model: Any) -> None:
        self.var_map: dict[int, Any] = {}
        self.var_order: dict[int, int] = {}
        for variable in model.component_data_objects(pyo.Var, active=True):
            if not variable.fixed and id(variable) not in self.var_map:
                self.add(variable)

    def add(self, variable: Any) -> None:
        """Give a variable the next column."""
        self.var_order[id(variable)] = len(self.var_map)
        self.var_map[id(variable)] = variable


def _check_components(model: Any) -> None:
    _, unknown = categorize_valid_components(model, active=True, valid=_KNOWN, targets=set())
    for ctype, components in unknown.items():
        raise KanopyError(
            f"component {components[0].name!r} is a {ctype.__name__}, which optimisation solvers "
            "here do not take; write it with linear constraints or deactivate it"
        )


def _rows(
    model: Any, columns: _Columns
) -> tuple[tuple[Any, ...], Any, NDArray[np.float64], NDArray[np.float64]]:
    walk = LinearRepnVisitor({}, var_recorder=columns).walk_expression
    constraints: list[Any] = []
    data: list[Any] = []
    indices: list[int] = []
    ends = [0]
    row_lower: list[float] = []
    row_upper: list[float] = []
    for constraint in model.component_data_objects(pyo.Constraint, active=True):
        lower, body, upper = constraint.to_bounded_expression(evaluate_bounds=True)
        repn = walk(body)
        if repn.nonlinear is not None:
            raise KanopyError(
                f"constraint {constraint.name!r} is not linear; only the objective may be quadratic"
            )
        constraints.append(constraint)
        data.extend(repn.linear.values())
        indices.extend(map(columns.var_order.__getitem__, repn.linear))
        ends.append(len(data))
        offset = _number(repn.constant, constraint)
        row_lower.append(-math.inf if lower is None else lower - offset)
        row_upper.append(math.inf if upper is None else upper - offset)
    matrix = (
        _numbers(data, constraints, ends),
        np.array(indices, dtype=np.int64),
        np.array(ends, dtype=np.int64),
    )
    return tuple(constraints), matrix, np.array(row_lower, float), np.array(row_upper, float)


def _objective(
    model: Any, columns: _Columns
) -> tuple[int, float, dict[int, float], dict[tuple[int, int], float]]:
    objectives = list(model.component_data_objects(pyo.Objective, active=True))
    if len(objectives) > 1:
        named = ", ".join(objective.name for objective in objectives)
        raise KanopyError(f"{len(objectives)} active objectives ({named}); deactivate all but one")
    if not objectives:
        return 1, 0.0, {}, {}
    (objective,) = objectives
    repn = QuadraticRepnVisitor({}, var_recorder=columns).walk_expression(objective.expr)
    if repn.nonlinear is not None:
        raise KanopyError(f"objective {objective.name!r} is neither linear nor quadratic")
    order = columns.var_order
    linear = {order[i]: _number(value, objective) for i, value in repn.linear.items()}
    quadratic = {
        (order[i], order[j]): _number(value, objective)
        for (i, j), value in (repn.quadratic or {}).items()
    }
    sign = 1 if objective.sense == pyo.minimize else -1
    return sign, _number(repn.constant, objective), linear, quadratic


def _symmetric(products: dict[tuple[int, int], float], sign: int, size: int) -> sp.csr_array | None:
    """Matrix Q with ½ xᵀQx = Σ products[i, j]·x_i·x_j."""
    if not products:
        return None
    first, second = np.array(list(products), dtype=np.int64).T
    values = sign * np.array(list(products.values()))
    half = sp.coo_array((values, (first, second)), shape=(size, size)).tocsr()
    return sp.csr_array(half + half.T)


def _box(
    variables: tuple[Any, ...],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    lower, upper, integer = [], [], []
    for variable in variables:
        low, high = variable.bounds
        whole = not variable.is_continuous()
        if whole and not variable.is_integer():
            raise KanopyError(
                f"variable {variable.name!r} has domain {variable.domain}; use reals, integers or "
                "binaries"
            )
        lower.append(-math.inf if low is None else low)
        upper.append(math.inf if high is None else high)
        integer.append(whole)
    return np.array(lower, float), np.array(upper, float), np.array(integer, bool)


def _number(value: Any, component: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise KanopyError(
            f"component {component.name!r} has a coefficient that is not a number; give every "
            "fixed variable and parameter in it a value"
        )
    return number


def _numbers(values: list[Any], constraints: list[Any], ends: list[int]) -> NDArray[np.float64]:
    try:
        numbers = np.array(values, dtype=np.float64)
        if np.isfinite(numbers).all():
            return numbers
    except (TypeError, ValueError):
        pass
    return np.array([_number(value, owner) for value, owner in _owned(values, constraints, ends)])


def _owned(values: list[Any], constraints: list[Any], ends: list[int]) -> Iterator[tuple[Any, Any]]:
    for constraint, first, last in zip(constraints, ends, ends[1:], strict=False):
        for value in values[first:last]:
            yield value, constraint
