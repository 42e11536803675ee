r"""SAFE-basic: counts with the least maximum error in the control tables (000, 2.1).

Symbols: y⁰ counts of the occurring combinations, A the 0/1 matrix of the control tables' cells,
g_t ≥ 0 the error that cell t may have for free, S the number of rows to publish::

    min   max_t |b_t| − g_t                              (2.1.1)
    s.t.  A y + b = A y⁰                                 (2.1.2)
          Σ_i y_i = S                                    (2.1.3; 3.1.3 with any S)
          y_i ∈ ℕ₀ \ {1, …, k−1}     for all i           (2.1.4, printed for k = 3)
          b_t ∈ ℝ                    for all t           (2.1.5)

As a MILP: θ ≥ b_t − g_t and θ ≥ −b_t − g_t replace the maximum, and binaries u_i with
k·u_i ≤ y_i ≤ S·u_i the gap in the domain of y_i.

Components: ``count[i]`` y, ``used[i]`` u, ``error[t]`` b, ``excess`` θ; constraints
``define_error``, ``keep_total``, ``least``, ``most``, ``too_few``, ``too_many``; objective
``excess_error``. S ≠ Σy⁰ occurs in the NP-completeness proof (3.1); S in (2.1.3) is Σy⁰.

>>> from kanopy.instances.examples import example
>>> model = safe_basic(example("compensation"), 2, control=1)
>>> load_counts(model, [2, 0, 0, 2])
>>> pyo.value(model.excess_error)
0.0
"""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike, NDArray

from kanopy.instances.frequency import FrequencyProblem, allowed_extra_error
from kanopy.instances.microdata import Microdata
from kanopy.models.counts import (
    Control,
    add_errors,
    control_tables,
    counts_model,
    frequency_problem,
    indexed,
    load_shared,
    read_counts,
)
from kanopy.models.factory import register

__all__ = ["load_counts", "read_counts", "safe_basic"]


@register("safe-basic", kinds=("nominal",), frequency=True)
def safe_basic(
    data: Microdata | FrequencyProblem,
    k: int,
    *,
    control: Control | None = None,
    tolerance: NDArray[np.float64] | float | None = None,
    total: int | None = None,
) -> pyo.ConcreteModel:
    """Build SAFE-basic.

    Parameters
    ----------
    control
        Control tables: all up to a dimension (3 by default), or a list of tables.
    tolerance
        g_t, one number or one per cell; by default Appendix A's.
    total
        S; by default the number of rows.
    """
    return with_errors(safe_problem(data, k, control, tolerance, total))


def safe_problem(
    data: Microdata | FrequencyProblem,
    k: int,
    control: Control | None,
    tolerance: NDArray[np.float64] | float | None,
    total: int | None,
) -> FrequencyProblem:
    """The problem with Appendix A's tolerances unless others are given."""
    if isinstance(data, Microdata) and tolerance is None:
        control = control_tables(data, control)
        tolerance = allowed_extra_error(control.values(data.counts)).astype(np.float64)
    return frequency_problem(data, k, control, tolerance, total)


def with_errors(problem: FrequencyProblem) -> pyo.ConcreteModel:
    """SAFE-basic of a problem; modified SAFE starts from it."""
    model = counts_model(problem)
    add_errors(model, problem)
    model.tolerance = pyo.Param(model.cells, initialize=indexed(problem.tolerance))
    # |b_t| ≥ 0 in every cell, so no counts can do better than −min g
    model.excess = pyo.Var(bounds=(-float(problem.tolerance.min()), None))

    @model.Constraint(model.cells)
    def too_few(model: pyo.ConcreteModel, t: int) -> object:
        return model.excess >= model.error[t] - model.tolerance[t]

    @model.Constraint(model.cells)
    def too_many(model: pyo.ConcreteModel, t: int) -> object:
        return model.excess >= -model.error[t] - model.tolerance[t]

    model.excess_error = pyo.Objective(expr=model.excess)
    return model


def load_counts(model: pyo.ConcreteModel, counts: ArrayLike) -> None:
    """Give all variables the values that follow from counts."""
    given = load_shared(model, counts)
    model.excess.set_value(model.problem.excess(given))
