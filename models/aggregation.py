r"""Aggregation: one member of each cluster stands for all, with the least χ² error (000, 5.2).

Symbols: clusters C ∈ 𝒞*, cells t with original values n̄_t > 0, f_ti = |C| if row i ∈ C is counted
in cell t and 0 otherwise; z_i says that row i represents its cluster::

    min   Σ_t (f_tᵀz − n̄_t)² / n̄_t                      (5.2.1)
    s.t.  Σ_{i∈C} z_i = 1            for all C ∈ 𝒞*       (5.2.2)
          z_i ∈ {0, 1}               for all i            (5.2.3)

Only the first of equal rows of a cluster has a variable, as the thesis suggests.

``formulation="paper"`` is that program; the errors b_t = n̄_t − f_tᵀz are variables of their own,
which keeps the quadratic objective diagonal. Components: ``choose[i]`` z, ``one_each[C]`` (5.2.2),
``error[t]`` b, ``define_error``, objective ``chi2_error``.

``formulation="envelope"`` is a MILP with the same optima. A cell is a constant plus the sizes of
those clusters of which some, not all, members are counted in it; so it can only take the subset
sums of these sizes. Cells with the same constant and members are added up, and the chords of
``envelope`` over these sums take the place of the squares. Values that no choice of objective ≤
``cutoff`` can have are left out; the default is the objective of the clusters' most frequent
members. Components: ``choose``, ``one_each``, ``cell_value[c]``, ``define_value``,
``cell_cost[c]``, ``cell_chord[c, s]``, objective ``chi2_error``.

>>> from kanopy.instances.examples import example, partition
>>> model = aggregation(example("aggregation"), 3, labels=partition("aggregation"), control=1)
>>> load_representatives(model, [0, 3, 8])
>>> pyo.value(model.chi2_error)
0.0
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike, NDArray

from kanopy.instances.errors import KanopyError, unknown
from kanopy.instances.microdata import Microdata
from kanopy.models.counts import Control, control_tables, indexed
from kanopy.models.envelope import Tabulated, cut_off
from kanopy.models.factory import register

__all__ = ["aggregation", "load_representatives", "read_representatives"]

FORMULATIONS = ("envelope", "paper")


@dataclass(frozen=True, eq=False)
class _Choice:
    """The clusters' distinct members (by their first rows) and what each adds to every cell.

    ``cells[i]`` are the cells that row i is counted in, ``before`` the original cell values.
    """

    members: list[list[int]]
    sizes: list[int]
    frequent: list[int]
    cells: dict[int, NDArray[np.int64]]
    before: NDArray[np.int64]
    first: NDArray[np.int64]
    labels: NDArray[np.int64]

    def values(self, representatives: list[int]) -> NDArray[np.int64]:
        """Cell values once every cluster is replaced by a member."""
        after = np.zeros(len(self.before), dtype=np.int64)
        for row, size in zip(representatives, self.sizes, strict=True):
            after[self.cells[row]] += size
        return after


@register("aggregation", kinds=("nominal",))
def aggregation(
    data: Microdata,
    k: int,
    *,
    labels: ArrayLike,
    control: Control | None = None,
    formulation: Literal["envelope", "paper"] = "envelope",
    cutoff: float | None = None,
) -> pyo.ConcreteModel:
    """Build the aggregation problem of a partition into clusters of at least k rows.

    Parameters
    ----------
    labels
        The cluster 0, 1, 2, … of each row.
    control
        Control tables: all up to a dimension (3 by default), or a list of tables.
    formulation
        ``"envelope"`` (a MILP) or ``"paper"`` (the printed MIQP); both have the same optima.
    cutoff
        Envelope only: the objective of known representatives. Worse ones may be cut off.
    """
    if formulation not in FORMULATIONS:
        raise unknown("formulation", formulation, FORMULATIONS)
    choice = _choice(data, _checked(data, k, labels), control)
    model = pyo.ConcreteModel()
    model.choice = choice
    rows = [row for members in choice.members for row in members]
    model.rows = pyo.Set(initialize=rows)
    model.clusters = pyo.RangeSet(0, len(choice.members) - 1)
    model.choose = pyo.Var(model.rows, domain=pyo.Binary)

    @model.Constraint(model.clusters)
    def one_each(model: pyo.ConcreteModel, c: int) -> object:
        return pyo.quicksum(model.choose[i] for i in choice.members[c]) == 1

    if formulation == "paper":
        if cutoff is not None:
            raise KanopyError("cutoff belongs to formulation='envelope'; leave it out")
        _paper(model, choice)
    else:
        _envelope(model, choice, cutoff)
    return model


def _checked(data: Microdata, k: int, labels: ArrayLike) -> NDArray[np.int64]:
    given = np.asarray(labels)
    if given.shape != (data.n,) or not np.issubdtype(given.dtype, np.integer):
        raise KanopyError(f"labels must be {data.n} whole numbers, one per row")
    if given.min() < 0:
        raise KanopyError("labels must be 0, 1, 2 and so on")
    smallest = int(np.bincount(given).min())
    if smallest < k:
        raise KanopyError(
            f"the smallest cluster has {smallest} rows, k = {k}; labels must be 0, 1, 2, … with "
            "at least k rows each"
        )
    return given.astype(np.int64)


def _choice(data: Microdata, labels: NDArray[np.int64], control: Control | None) -> _Choice:
    tables = control_tables(data, control)
    cells_of_type = tables.matrix.tocsc()
    members: list[list[int]] = []
    frequent: list[int] = []
    first = np.empty(data.n, dtype=np.int64)
    for c in range(int(labels.max()) + 1):
        rows = np.flatnonzero(labels == c)
        _, position, inverse, times = np.unique(
            data.types[rows], return_index=True, return_inverse=True, return_counts=True
        )
        first[rows] = rows[position][inverse]
        members.append(rows[position].tolist())
        frequent.append(int(rows[position[np.argmax(times)]]))
    cells = {}
    for row in (row for rows in members for row in rows):
        start, end = cells_of_type.indptr[data.types[row] : data.types[row] + 2]
        cells[row] = np.sort(cells_of_type.indices[start:end]).astype(np.int64)
    return _Choice(
        members,
        np.bincount(labels).tolist(),
        frequent,
        cells,
        tables.values(data.counts),
        first,
        labels,
    )


def _paper(model: pyo.ConcreteModel, choice: _Choice) -> None:
    model.cells = pyo.RangeSet(0, len(choice.before) - 1)
    model.original_value = pyo.Param(model.cells, initialize=indexed(choice.before))
    model.error = pyo.Var(model.cells)
    counted: list[list[tuple[int, int]]] = [[] for _ in model.cells]
    for size, members in zip(choice.sizes, choice.members, strict=True):
        for row in members:
            for t in choice.cells[row].tolist():
                counted[t].append((size, row))

    @model.Constraint(model.cells)
    def define_error(model: pyo.ConcreteModel, t: int) -> object:
        value = pyo.quicksum(size * model.choose[i] for size, i in counted[t])
        return value + model.error[t] == model.original_value[t]

    model.chi2_error = pyo.Objective(
        expr=pyo.quicksum(model.error[t] ** 2 / model.original_value[t] for t in model.cells)
    )


@dataclass(frozen=True, eq=False)
class _Cell:
    """Cells of equal value: fixed + Σ size·z over ``chosen``, and the χ² errors they add up to."""

    fixed: int
    chosen: tuple[tuple[int, int], ...]
    error: Tabulated

    def value(self, representatives: set[int]) -> int:
        return self.fixed + sum(size for row, size in self.chosen if row in representatives)


def _merged_cells(choice: _Choice) -> tuple[list[_Cell], float]:
    """The cells that depend on the choice, and the χ² error of those that do not."""
    fixed = np.zeros(len(choice.before), dtype=np.int64)
    chosen: list[list[tuple[int, int]]] = [[] for _ in choice.before]
    sums = [1] * len(choice.before)  # bit p is set if the open clusters can add p rows
    for size, members in zip(choice.sizes, choice.members, strict=True):
        counts = np.bincount(
            np.concatenate([choice.cells[row] for row in members]), minlength=len(fixed)
        )
        fixed[counts == len(members)] += size
        for t in np.flatnonzero((counts > 0) & (counts < len(members))).tolist():
            sums[t] |= sums[t] << size
        for row in members:
            inside = choice.cells[row]
            for t in inside[counts[inside] < len(members)].tolist():
                chosen[t].append((row, size))
    merged: dict[tuple[int, tuple[tuple[int, int], ...]], list[int]] = {}
    for t in range(len(fixed)):
        merged.setdefault((int(fixed[t]), tuple(chosen[t])), []).append(t)
    cells, constant = [], 0.0
    for (base, rows), same in merged.items():
        added = [p for p in range(sums[same[0]].bit_length()) if sums[same[0]] >> p & 1]
        points = base + np.array(added, dtype=np.int64)
        before = choice.before[same][:, None]
        errors = ((points - before) ** 2 / before).sum(axis=0)
        if rows:
            cells.append(_Cell(base, rows, Tabulated(points, errors)))
        else:
            constant += float(errors[0])
    return cells, constant


def _envelope(model: pyo.ConcreteModel, choice: _Choice, cutoff: float | None) -> None:
    cells, constant = _merged_cells(choice)
    if cutoff is None:
        after = choice.values(choice.frequent)
        cutoff = float(((after - choice.before) ** 2 / choice.before).sum())
    errors = cut_off([cell.error for cell in cells], cutoff - constant)
    if any(len(f.points) == 0 for f in errors):
        raise KanopyError(f"no choice has an objective ≤ cutoff = {cutoff}; choose a larger one")
    model.terms = [_Cell(cell.fixed, cell.chosen, f) for cell, f in zip(cells, errors, strict=True)]
    chords = {(c, s): chord for c, f in enumerate(errors) for s, chord in enumerate(f.chords())}
    model.cells = pyo.RangeSet(0, len(cells) - 1)
    model.cell_chords = pyo.Set(dimen=2, initialize=list(chords))

    def window(model: pyo.ConcreteModel, c: int) -> tuple[int, int]:
        return int(errors[c].points[0]), int(errors[c].points[-1])

    model.cell_value = pyo.Var(model.cells, bounds=window)
    model.cell_cost = pyo.Var(model.cells, domain=pyo.NonNegativeReals)

    @model.Constraint(model.cells)
    def define_value(model: pyo.ConcreteModel, c: int) -> object:
        added = pyo.quicksum(size * model.choose[i] for i, size in cells[c].chosen)
        return model.cell_value[c] == cells[c].fixed + added

    @model.Constraint(model.cell_chords)
    def cell_chord(model: pyo.ConcreteModel, c: int, s: int) -> object:
        slope, intercept = chords[c, s]
        return model.cell_cost[c] >= slope * model.cell_value[c] + intercept

    model.chi2_error = pyo.Objective(expr=pyo.quicksum(model.cell_cost.values()) + constant)


def read_representatives(model: pyo.ConcreteModel) -> NDArray[np.int64]:
    """For each cluster, the row that represents it in a solved model."""
    choice: _Choice = model.choice
    return np.array(
        [max(rows, key=lambda row: pyo.value(model.choose[row])) for rows in choice.members],
        dtype=np.int64,
    )


def load_representatives(model: pyo.ConcreteModel, representatives: ArrayLike) -> None:
    """Give all variables the values that follow from one row per cluster (none cut off)."""
    choice: _Choice = model.choice
    given = np.asarray(representatives, dtype=np.int64)
    if given.shape != (len(choice.members),) or not np.array_equal(
        choice.labels[given], np.arange(len(given))
    ):
        raise KanopyError("representatives must be one row of each cluster, in the clusters' order")
    rows = choice.first[given].tolist()
    chosen = set(rows)
    model.choose.set_values({row: int(row in chosen) for row in model.rows})
    if model.component("error") is not None:
        model.error.set_values(indexed(choice.before - choice.values(rows)))
        return
    for c, cell in enumerate(model.terms):
        value = cell.value(chosen)
        model.cell_value[c].set_value(value)
        model.cell_cost[c].set_value(cell.error.at(value))
