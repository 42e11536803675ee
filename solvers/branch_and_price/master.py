"""The restricted master: one live HiGHS program to which columns and cuts are added in place.

    min Σ_C cost(C) x_C + Σ_t artificial_t a_t
    Σ_C (copies of t in C) x_C + a_t = count_t    for each type t
    Σ_C x_C ≤ ⌊n/k⌋
    Σ_C ⌊|C ∩ T|/q⌋ x_C ≤ ⌊Σ_{t∈T} count_t / q⌋   for each cut (T, q)

Artificial columns keep it feasible whatever is branched on, and bound the duals while the columns
are poor; their costs rise while they are in use. Costs are handed over in units of ``unit``, so
that HiGHS' absolute tolerances mean the same for every table.
"""

from __future__ import annotations

import importlib
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kanopy.solvers.branch_and_price.coefficients import coefficients, cut_rows, right_hand_sides
from kanopy.solvers.branch_and_price.pricing import Cuts, Duals
from kanopy.solvers.clock import now

DUAL, PRIMAL = 1, 4
"""HiGHS' names of its simplex methods."""

FEW_ROWS = 500
"""Rows, all single, up to which the primal simplex takes columns in faster than the dual one."""

ROUGH, FINE = 1e-4, 1e-8
"""Tolerances of interior points: of duals to price with, and of the start of a crossover."""


@dataclass(frozen=True, eq=False)
class Relaxation:
    """An optimum of the restricted master: not a bound before pricing has said so."""

    value: float
    x: NDArray[np.float64]
    artificials: NDArray[np.float64]
    duals: Duals


class Master:
    """Columns, cuts and the live program over them.

    Parameters
    ----------
    multiplicities
        Right-hand sides of the partitioning rows.
    k
        Least cluster size.
    artificials
        First cost of each type's artificial column.
    unit
        Costs are divided by this inside HiGHS.
    width
        Most rows of a cluster; 2k−1 by default.
    most_clusters
        Right-hand side of the count row; ⌊n/k⌋ by default.
    """

    def __init__(
        self,
        multiplicities: NDArray[np.int64],
        k: int,
        artificials: NDArray[np.float64],
        unit: float,
        width: int | None = None,
        most_clusters: int | None = None,
    ) -> None:
        self.multiplicities = multiplicities
        self.k = k
        self.unit = unit
        rows = int(multiplicities.sum())
        self.most_clusters = rows // k if most_clusters is None else most_clusters
        self.counted = (0, self.most_clusters)
        self.artificial_costs = artificials.copy()
        self.cuts = Cuts()
        self.clusters = np.empty((0, width or 2 * k - 1), dtype=np.int32)
        self.costs = np.empty(0)
        self.lower = np.empty(0)
        self.upper = np.empty(0)
        self._known: set[bytes] = set()
        self._method = PRIMAL
        self._astray = False
        self._counts = False
        self._highs = _program(multiplicities, self.most_clusters, artificials / unit)

    @property
    def types(self) -> int:
        """Number of partitioning rows, and of artificial columns before the clusters' ones."""
        return len(self.multiplicities)

    @property
    def large(self) -> bool:
        """Whether many rows make the simplex methods slow to take in many columns."""
        return self.types > FEW_ROWS

    def __len__(self) -> int:
        return len(self.costs)

    def add(self, clusters: NDArray[np.int32], costs: NDArray[np.float64]) -> int:
        """Add the clusters that are new; how many were."""
        clusters = sorted_rows(clusters)
        fresh = []
        for i, row in enumerate(clusters):
            key = row.tobytes()
            if key not in self._known:
                self._known.add(key)
                fresh.append(i)
        if not fresh:
            return 0
        clusters, costs = clusters[fresh], costs[fresh]
        starts, rows, values = coefficients(clusters, self.cuts, self.types)
        number = len(clusters)
        self._highs.addCols(
            number,
            costs / self.unit,
            np.zeros(number),
            np.full(number, math.inf),
            len(rows),
            starts[:-1],
            rows,
            values,
        )
        self.clusters = np.concatenate([self.clusters, clusters])
        self.costs = np.concatenate([self.costs, costs])
        self.lower = np.concatenate([self.lower, np.zeros(number)])
        self.upper = np.concatenate([self.upper, np.full(number, np.inf)])
        many = self.large and self.multiplicities.max() == 1
        self._method = DUAL if many else PRIMAL
        return number

    def add_cuts(self, cuts: Cuts) -> None:
        """Append cuts; the columns at hand get their coefficients."""
        sides = right_hand_sides(cuts, self.multiplicities)
        starts, columns, values = cut_rows(self.clusters, cuts, self.types)
        none = np.full(len(cuts), -math.inf)
        columns = (columns + self.types).astype(np.int32)
        self._highs.addRows(len(cuts), none, sides, len(columns), starts, columns, values)
        self.cuts = self.cuts.joined(cuts)
        self._method = DUAL

    def drop_cuts(self, dropped: NDArray[np.bool_]) -> None:
        """Take cuts out of the program again."""
        gone = np.flatnonzero(dropped)
        if len(gone) == 0:
            return
        basis = self._highs.getBasis()
        row_status = list(basis.row_status)
        rows = (gone + self.types + 1).astype(np.int32)
        self._highs.deleteRows(len(rows), rows)
        if basis.valid:
            left = set(rows.tolist())
            basis.row_status = [s for i, s in enumerate(row_status) if i not in left]
            self._highs.setBasis(basis)
        self.cuts = self.cuts.take(np.flatnonzero(~dropped))
        self._method = DUAL

    def bound_columns(self, lower: NDArray[np.float64], upper: NDArray[np.float64]) -> None:
        """Set the bounds of all clusters' columns: branching forbids, diving fixes."""
        changed = np.flatnonzero((lower != self.lower) | (upper != self.upper))
        indices = (changed + self.types).astype(np.int32)
        limits = np.where(np.isinf(upper), math.inf, upper)[changed]
        self._highs.changeColsBounds(len(indices), indices, lower[changed], limits)
        self.lower, self.upper = lower.copy(), upper.copy()
        self._method = DUAL

    def bound_count(self, least: int, most: int) -> None:
        """Set the bounds of the count row: branching on the number of clusters.

        Where some are asked for, the first artificial counts for as many, so that artificials alone
        stay a solution: the columns at hand may not allow so many clusters. It then costs as much
        as all artificials together.
        """
        if (least, most) != self.counted:
            if least > 0 and not self._counts:
                self._counts = True
                self.price_artificials(self.artificial_costs)
            if least != self.counted[0]:
                self._highs.changeCoeff(self.types, 0, least / float(self.multiplicities[0]))
            lower = float(least) if least > 0 else -math.inf
            self._highs.changeRowBounds(self.types, lower, float(most))
            self.counted = (least, most)
            self._method = DUAL

    def raise_artificials(self, which: NDArray[np.intp], factor: float = 2.0) -> None:
        """Make some artificial columns more expensive."""
        costs = self.artificial_costs.copy()
        costs[which] *= factor
        self.price_artificials(costs)

    def price_artificials(self, costs: NDArray[np.float64]) -> None:
        """Set the costs of the artificial columns, to lower ones after nodes without a solution."""
        if self._counts:
            costs = costs.copy()
            costs[0] = max(costs[0], costs[1:] @ self.multiplicities[1:])
        changed = np.flatnonzero(costs != self.artificial_costs).astype(np.int32)
        if len(changed) == 0:
            return
        self._highs.changeColsCost(len(changed), changed, costs[changed] / self.unit)
        self.artificial_costs = costs
        self._method = PRIMAL

    def solve(self, seconds: float = math.inf) -> Relaxation | None:
        """Solve the relaxation from where the last one ended; None if the limit strikes."""
        highs, end = self._highs, now() + seconds
        if self._astray and self._interior(seconds, FINE, "on") is not None:
            self._astray = False
            self._method = PRIMAL
        highs.setOptionValue("simplex_strategy", self._method)
        for attempt in range(2):
            left = max(0.0, end - now())
            highs.setOptionValue("time_limit", min(left + highs.getRunTime(), math.inf))
            highs.run()
            status = highs.getModelStatus()
            if status == _highspy().HighsModelStatus.kOptimal:
                return self._relaxation()
            if status == _highspy().HighsModelStatus.kTimeLimit:
                return None
            if attempt == 0:  # HiGHS may answer kUnknown on a warm start: begin anew
                highs.clearSolver()
                highs.setOptionValue("simplex_strategy", DUAL)
        return self._interior(max(0.0, end - now()), FINE, "on")

    def centre(self, seconds: float = math.inf) -> Relaxation | None:
        """Nearly solve the relaxation by an interior-point method; None if that fails.

        Of all optimal duals these are in the middle, so that pricing with them finds columns of
        lasting use, in far fewer rounds than with those of a vertex.
        """
        self._astray = True
        return self._interior(seconds, ROUGH, "off")

    def _interior(self, seconds: float, tolerance: float, crossover: str) -> Relaxation | None:
        highs = self._highs
        highs.clearSolver()
        for option, value in {
            "solver": "ipm",
            "run_crossover": crossover,
            "ipm_optimality_tolerance": tolerance,
            "time_limit": min(seconds + highs.getRunTime(), math.inf),
        }.items():
            highs.setOptionValue(option, value)
        highs.run()
        highs.setOptionValue("solver", "simplex")
        status = highs.getModelStatus()
        # without a crossover HiGHS may find its own tolerances not met, and answers kUnknown
        good = [_highspy().HighsModelStatus.kOptimal]
        if crossover == "off":
            good.append(_highspy().HighsModelStatus.kUnknown)
        solved = status in good and highs.getSolution().dual_valid
        return self._relaxation() if solved else None

    def probe(self, iterations: int) -> float:
        """Objective after so many dual simplex iterations: a hint for branching, no bound."""
        highs = self._highs
        highs.setOptionValue("simplex_strategy", DUAL)
        highs.setOptionValue("simplex_iteration_limit", iterations)
        highs.setOptionValue("time_limit", math.inf)
        highs.run()
        highs.setOptionValue("simplex_iteration_limit", 2**31 - 1)
        return float(highs.getInfo().objective_function_value) * self.unit

    def basis(self) -> Any:
        """The current basis, for :meth:`restore`."""
        return self._highs.getBasis()

    def restore(self, basis: Any) -> None:
        """Go back to a basis taken from the same rows; columns added since are not in it."""
        if not basis.valid:  # interior points leave none
            return
        missing = self.types + len(self) - len(basis.col_status)
        if missing:
            lower = _highspy().HighsBasisStatus.kLower
            basis.col_status = [*basis.col_status, *[lower] * missing]
        self._highs.setBasis(basis)

    def purge(self, keep: NDArray[np.bool_]) -> None:
        """Delete the other columns."""
        gone = (np.flatnonzero(~keep) + self.types).astype(np.int32)
        if len(gone) == 0:
            return
        basis = self._highs.getBasis()
        left = np.concatenate([np.ones(self.types, dtype=bool), keep])
        statuses = [s for s, stays in zip(basis.col_status, left, strict=True) if stays]
        self._highs.deleteCols(len(gone), gone)
        if basis.valid:
            basis.col_status = statuses
            self._highs.setBasis(basis)
        for row in self.clusters[~keep]:
            self._known.discard(row.tobytes())
        self.clusters, self.costs = self.clusters[keep], self.costs[keep]
        self.lower, self.upper = self.lower[keep], self.upper[keep]

    def _relaxation(self) -> Relaxation:
        solution = self._highs.getSolution()
        values = np.asarray(solution.col_value)
        duals = np.asarray(solution.row_dual) * self.unit
        types = self.types
        return Relaxation(
            float(self._highs.getInfo().objective_function_value) * self.unit,
            values[types:],
            values[:types],
            Duals(
                duals[:types],
                float(duals[types]) if self.counted[0] > 0 else min(0.0, float(duals[types])),
                np.minimum(0.0, duals[types + 1 :]),
            ),
        )


def sorted_rows(clusters: NDArray[np.int32]) -> NDArray[np.int32]:
    """Each row's types ascending, the padding −1 last: equal multisets become equal rows."""
    last = np.iinfo(np.int32).max
    ordered = np.sort(np.where(clusters < 0, last, clusters), axis=1)
    return np.where(ordered == last, -1, ordered).astype(np.int32)


def _highspy() -> Any:
    # Late, since a process that has loaded OR-tools cannot load HiGHS, but run other methods.
    return importlib.import_module("highspy")


def _program(
    multiplicities: NDArray[np.int64], most_clusters: int, artificials: NDArray[np.float64]
) -> Any:
    highs: Any = _highspy().Highs()
    for option, value in {"output_flag": False, "threads": 1, "presolve": "off"}.items():
        highs.setOptionValue(option, value)
    number = len(multiplicities)
    sides = multiplicities.astype(np.float64)
    none = np.empty(0, dtype=np.int32)
    highs.addRows(number, sides, sides, 0, none, none, np.empty(0))
    highs.addRow(-math.inf, float(most_clusters), 0, none, np.empty(0))
    indices = np.arange(number, dtype=np.int32)
    highs.addCols(
        number,
        artificials,
        np.zeros(number),
        np.full(number, math.inf),
        number,
        indices,
        indices,
        np.ones(number),
    )
    return highs
