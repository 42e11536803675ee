r"""Chi-ex: counts with the least χ² error in the control tables (000, 5.6).

Symbols as in ``safe-basic``; w ≥ 0 weighs the deviation from the original counts::

    min   Σ_t b_t² / (A y⁰)_t + w Σ_i |y_i − y⁰_i|       (5.6.1)
    s.t.  A y + b = A y⁰                                 (5.6.2)
          Σ_i y_i = S                                    (5.6.3, S = Σy⁰)
          y_i ∈ ℕ₀ \ {1, …, k−1}     for all i           (5.6.4)
          b_t ∈ ℝ                    for all t           (5.6.5)

The thesis leaves w open; as in its modified SAFE (3.2) the default is 1/Σy⁰.

``formulation="paper"`` is that program, with a convex quadratic objective. Components:
``count``, ``used``, ``error``, ``deviation``, their constraints as in ``msafe``, and the objective
``chi2_error``.

``formulation="envelope"`` is a MILP with the same optima. Cells that count the same combinations
have the same value, so their errors are added up. A cell of one combination depends on y_i alone
and joins w|y_i − y⁰_i| in one convex function f_i. A cell s_c of several combinations is 0 or at
least k in a k-anonymous table. Chords (see ``envelope``) over these values give the MILP::

    min   Σ_i φ_i + Σ_c e_c + constant
    s.t.  φ_i ≥ f_i(0)(1 − u_i) + α y_i + β u_i    chords (α, β) of f_i over k, k+1, …
          e_c ≥ α s_c + β                          chords of f_c over 0, k, k+1, …
          s_c = Σ_{i∈c} y_i,   l_i u_i ≤ y_i ≤ h_i u_i,   Σ_i y_i = S

The first kind (perspective form) describes the convex hull of {(0, f_i(0))} and the envelope over
y_i ≥ k. Values that no counts of objective ≤ ``cutoff`` can have are left out, which keeps the
program small; [l_i, h_i] is what remains for y_i. By default the cut-off is the objective of counts
that a simple rule finds (:func:`neighbour_counts`); infinity keeps every value. Components:
``count``, ``used``, ``keep_total``, ``least``, ``most``; ``type_cost[i]`` φ, ``type_chord[i, s]``;
``cell_value[c]`` s, ``define_value``, ``cell_cost[c]`` e, ``cell_chord[c, s]``; ``chi2_error``.

>>> from kanopy.instances.examples import example
>>> model = chi_ex(example("compensation"), 2, control=1)
>>> load_counts(model, [2, 0, 0, 2])
>>> pyo.value(model.chi2_error)
1.0
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike, NDArray

from kanopy.instances.errors import KanopyError, unknown
from kanopy.instances.frequency import FrequencyProblem
from kanopy.instances.microdata import Microdata
from kanopy.models.counts import (
    Control,
    add_deviations,
    add_errors,
    check_deviation_weight,
    counts_model,
    default_deviation_weight,
    frequency_problem,
    load_shared,
    read_counts,
)
from kanopy.models.envelope import Tabulated, cut_off
from kanopy.models.factory import register

__all__ = ["chi_ex", "load_counts", "neighbour_counts", "read_counts"]

FORMULATIONS = ("envelope", "paper")


@register("chi-ex", kinds=("nominal",), frequency=True)
def chi_ex(
    data: Microdata | FrequencyProblem,
    k: int,
    *,
    control: Control | None = None,
    total: int | None = None,
    deviation_weight: float | None = None,
    formulation: Literal["envelope", "paper"] = "envelope",
    cutoff: float | None = None,
) -> pyo.ConcreteModel:
    """Build Chi-ex; a FrequencyProblem's tolerances play no part.

    Parameters
    ----------
    control, total
        As of ``safe-basic``.
    deviation_weight
        w; by default 1/Σy⁰.
    formulation
        ``"envelope"`` (a MILP) or ``"paper"`` (the printed MIQP); both have the same optima.
    cutoff
        Envelope only: the objective of known counts. Counts that are worse may be cut off.
    """
    problem = frequency_problem(data, k, control, None, total)
    if deviation_weight is None:
        deviation_weight = default_deviation_weight(problem)
    weight = check_deviation_weight(deviation_weight)
    if formulation == "paper":
        if cutoff is not None:
            raise KanopyError("cutoff belongs to formulation='envelope'; leave it out")
        return _paper(problem, weight)
    if formulation != "envelope":
        raise unknown("formulation", formulation, FORMULATIONS)
    return _envelope(problem, weight, cutoff)


def _paper(problem: FrequencyProblem, weight: float) -> pyo.ConcreteModel:
    model = counts_model(problem)
    add_errors(model, problem)
    add_deviations(model)
    chi2 = pyo.quicksum(model.error[t] ** 2 / model.original_value[t] for t in model.cells)
    model.chi2_error = pyo.Objective(expr=chi2 + weight * pyo.quicksum(model.deviation.values()))
    return model


@dataclass(frozen=True, eq=False)
class _Terms:
    """(5.6.1) as a sum of functions of one count, functions of one cell value and a constant."""

    of_type: list[Tabulated]
    of_cell: list[Tabulated]
    members: list[list[int]]
    constant: float


def _terms(problem: FrequencyProblem, weight: float) -> _Terms:
    points = np.append(0, np.arange(problem.k, problem.total + 1))
    original = problem.original
    before = problem.tables.values(original)
    matrix = problem.tables.matrix
    of_type = [weight * np.abs(points - count) for count in original.tolist()]
    constant = 0.0
    merged: dict[tuple[int, ...], int] = {}
    first: list[int] = []
    for t in range(len(before)):
        types = tuple(sorted(matrix.indices[matrix.indptr[t] : matrix.indptr[t + 1]].tolist()))
        if len(types) == len(original):  # counts every row: its value is S
            constant += (problem.total - before[t]) ** 2 / before[t]
        elif len(types) == 1:
            (i,) = types
            of_type[i] = of_type[i] + (points - before[t]) ** 2 / before[t]
        else:
            if types not in merged:
                first.append(t)
            merged[types] = merged.get(types, 0) + 1
    of_cell = [
        Tabulated(points, times * (points - before[t]) ** 2 / before[t])
        for t, times in zip(first, merged.values(), strict=True)
    ]
    return _Terms(
        [Tabulated(points, values) for values in of_type],
        of_cell,
        [list(types) for types in merged],
        float(constant),
    )


def _reachable(terms: _Terms, cutoff: float) -> _Terms:
    """The terms on the values that counts of objective ≤ cutoff can have."""
    kept = cut_off([*terms.of_type, *terms.of_cell], cutoff - terms.constant)
    of_type, of_cell = kept[: len(terms.of_type)], kept[len(terms.of_type) :]
    highest = np.array([f.points[-1] for f in of_type])
    for f, types in zip(of_cell, terms.members, strict=True):  # no count exceeds its cell
        highest[types] = np.minimum(highest[types], f.points[-1])
    of_type = [f.keep(f.points <= high) for f, high in zip(of_type, highest, strict=True)]
    return _Terms(of_type, of_cell, terms.members, terms.constant)


def _envelope(problem: FrequencyProblem, weight: float, cutoff: float | None) -> pyo.ConcreteModel:
    if cutoff is None:
        known = neighbour_counts(problem)
        cutoff = math.inf if known is None else _objective(problem, weight, known)
    full = _terms(problem, weight)
    terms = full if math.isinf(cutoff) else _reachable(full, cutoff)
    if any(len(f.points) == 0 for f in [*terms.of_type, *terms.of_cell]):
        raise KanopyError(f"no counts have an objective ≤ cutoff = {cutoff}; choose a larger one")
    positive = [f.keep(f.points > 0) for f in terms.of_type]
    # without a value > 0 the count is 0, and its limits are never looked at
    lowest = np.array([f.points.min(initial=problem.total) for f in positive])
    highest = np.array([f.points.max(initial=0) for f in positive])
    model = counts_model(problem, np.minimum(lowest, highest), highest)
    for i, f in enumerate(terms.of_type):
        if len(positive[i].points) == 0:
            model.used[i].setub(0)
        elif f.points[0] > 0:
            model.used[i].setlb(1)
    model.terms = terms
    _add_types(model, positive, [f.at(0) for f in full.of_type])
    _add_cells(model, terms)
    model.chi2_error = pyo.Objective(
        expr=pyo.quicksum(model.type_cost.values())
        + pyo.quicksum(model.cell_cost.values())
        + terms.constant
    )
    return model


def _add_types(model: pyo.ConcreteModel, positive: list[Tabulated], at_zero: list[float]) -> None:
    model.type_cost = pyo.Var(model.types, domain=pyo.NonNegativeReals)
    chords = {(i, s): chord for i, f in enumerate(positive) for s, chord in enumerate(f.chords())}
    model.type_chords = pyo.Set(dimen=2, initialize=list(chords))

    @model.Constraint(model.type_chords)
    def type_chord(model: pyo.ConcreteModel, i: int, s: int) -> object:
        slope, intercept = chords[i, s]
        return model.type_cost[i] >= (
            at_zero[i] * (1 - model.used[i]) + slope * model.count[i] + intercept * model.used[i]
        )


def _add_cells(model: pyo.ConcreteModel, terms: _Terms) -> None:
    model.cells = pyo.RangeSet(0, len(terms.members) - 1)
    chords = {
        (c, s): chord for c, f in enumerate(terms.of_cell) for s, chord in enumerate(f.chords())
    }
    model.cell_chords = pyo.Set(dimen=2, initialize=list(chords))

    def window(model: pyo.ConcreteModel, c: int) -> tuple[int, int]:
        points = terms.of_cell[c].points
        return int(points[0]), int(points[-1])

    model.cell_value = pyo.Var(model.cells, bounds=window)
    model.cell_cost = pyo.Var(model.cells, domain=pyo.NonNegativeReals)

    @model.Constraint(model.cells)
    def define_value(model: pyo.ConcreteModel, c: int) -> object:
        return model.cell_value[c] == pyo.quicksum(model.count[i] for i in terms.members[c])

    @model.Constraint(model.cell_chords)
    def cell_chord(model: pyo.ConcreteModel, c: int, s: int) -> object:
        slope, intercept = chords[c, s]
        return model.cell_cost[c] >= slope * model.cell_value[c] + intercept


def neighbour_counts(problem: FrequencyProblem) -> NDArray[np.int64] | None:
    """Simple k-anonymous counts that keep the number of rows; None if S differs from it.

    Combinations below k that follow each other in lexicographic order are gathered until they have
    k rows, which all go to the most frequent of them; a rest goes to the last group.
    """
    original = problem.original
    if problem.total != int(original.sum()) or problem.total < problem.k:
        return None
    counts = np.where(original >= problem.k, original, 0)
    gathered: list[int] = []
    last = int(np.argmax(original))
    rows = 0
    for i in np.flatnonzero(original < problem.k).tolist():
        gathered.append(i)
        rows += int(original[i])
        if rows >= problem.k:
            last = max(gathered, key=lambda j: int(original[j]))
            counts[last] += rows
            gathered, rows = [], 0
    counts[last] += rows
    return counts.astype(np.int64)


def _objective(problem: FrequencyProblem, weight: float, counts: NDArray[np.int64]) -> float:
    before = problem.tables.values(problem.original)
    chi2 = float((problem.errors(counts) ** 2 / before).sum())
    return chi2 + weight * float(np.abs(counts - problem.original).sum())


def load_counts(model: pyo.ConcreteModel, counts: ArrayLike) -> None:
    """Give all variables the values that follow from counts (none that are cut off)."""
    given = load_shared(model, counts)
    if model.component("cell_value") is None:
        return
    terms: _Terms = model.terms
    for i, f in enumerate(terms.of_type):
        model.type_cost[i].set_value(f.at(int(given[i])))
    for c, f in enumerate(terms.of_cell):
        value = int(given[terms.members[c]].sum())
        model.cell_value[c].set_value(value)
        model.cell_cost[c].set_value(f.at(value))
