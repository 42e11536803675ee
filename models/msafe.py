"""Modified SAFE: maximum error plus a small price for every changed count (000, 3.2).

SAFE-basic has many optima, among them some that change counts without need (000, example 3.2.1).
With d_i ≥ |y_i − y⁰_i| the objective becomes::

    min  max_t (|b_t| − g_t)  +  w Σ_i |y_i − y⁰_i|       s.t. (2.1.2)–(2.1.5)

and w = 1/Σy⁰ unless another weight is given.

Components: those of ``safe-basic``, and ``deviation[i]`` d with the constraints ``above`` and
``below``; objective ``penalised_error``.

>>> from kanopy.instances.examples import example
>>> model = msafe(example("compensation"), 2, control=1)
>>> load_counts(model, [2, 0, 0, 2])
>>> pyo.value(model.penalised_error)
1.0
"""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from kanopy.instances.frequency import FrequencyProblem
from kanopy.instances.microdata import Microdata
from kanopy.models.counts import (
    Control,
    add_deviations,
    check_deviation_weight,
    default_deviation_weight,
    read_counts,
)
from kanopy.models.factory import register
from kanopy.models.safe_basic import load_counts, safe_problem, with_errors

__all__ = ["load_counts", "msafe", "read_counts"]


@register("msafe", kinds=("nominal",), frequency=True)
def msafe(
    data: Microdata | FrequencyProblem,
    k: int,
    *,
    control: Control | None = None,
    tolerance: NDArray[np.float64] | float | None = None,
    total: int | None = None,
    deviation_weight: float | None = None,
) -> pyo.ConcreteModel:
    """Build modified SAFE; parameters as of ``safe-basic``, and w as ``deviation_weight``."""
    problem = safe_problem(data, k, control, tolerance, total)
    if deviation_weight is None:
        deviation_weight = default_deviation_weight(problem)
    weight = check_deviation_weight(deviation_weight)
    model = with_errors(problem)
    model.excess_error.deactivate()
    add_deviations(model)
    model.penalised_error = pyo.Objective(
        expr=model.excess + weight * pyo.quicksum(model.deviation.values())
    )
    return model
