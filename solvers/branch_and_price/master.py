"""The restricted master: one live program to which columns and cuts are added in place.

    min Σ_C cost(C) x_C + Σ_t artificial_t a_t
    Σ_C (copies of t in C) x_C + a_t = count_t    for each type t
    Σ_C x_C ≤ ⌊n/k⌋
    Σ_C ⌊|C ∩ T|/q⌋ x_C ≤ ⌊Σ_{t∈T} count_t / q⌋   for each cut (T, q)

Artificial columns keep it feasible whatever is branched on, and bound the duals while the columns
are poor; their costs rise while they are in use. Costs are handed over in units of ``unit``, so
that the solver's absolute tolerances mean the same for every table.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kanopy.solvers.backends.live_program import LiveProgram, Point, live_program
from kanopy.solvers.branch_and_price.coefficients import coefficients, cut_rows, right_hand_sides
from kanopy.solvers.branch_and_price.pricing import Cuts, Duals

FEW_ROWS = 500
"""Rows, all single, up to which the primal simplex takes columns in faster than the dual one."""


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
        Costs are divided by this inside the solver.
    width
        Most rows of a cluster; 2k−1 by default.
    most_clusters
        Right-hand side of the count row; ⌊n/k⌋ by default.
    backend
        Whose program it is, see :mod:`live_program`.
    """

    def __init__(
        self,
        multiplicities: NDArray[np.int64],
        k: int,
        artificials: NDArray[np.float64],
        unit: float,
        width: int | None = None,
        most_clusters: int | None = None,
        backend: str = "highs",
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
        self._dual = False
        """Whether the dual simplex method is the one to go on with."""
        self._counts = False
        self._program = live_program(backend)
        _lay_out(self._program, multiplicities, self.most_clusters, artificials / unit)

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
        self._program.add_columns(costs / self.unit, starts, rows, values)
        self.clusters = np.concatenate([self.clusters, clusters])
        self.costs = np.concatenate([self.costs, costs])
        self.lower = np.concatenate([self.lower, np.zeros(number)])
        self.upper = np.concatenate([self.upper, np.full(number, np.inf)])
        many = self.large and self.multiplicities.max() == 1
        self._dual = bool(many)
        return number

    def add_cuts(self, cuts: Cuts) -> None:
        """Append cuts; the columns at hand get their coefficients."""
        sides = right_hand_sides(cuts, self.multiplicities)
        starts, columns, values = cut_rows(self.clusters, cuts, self.types)
        none = np.full(len(cuts), -math.inf)
        columns = (columns + self.types).astype(np.int32)
        self._program.add_rows(none, sides, starts, columns, values)
        self.cuts = self.cuts.joined(cuts)
        self._dual = True

    def drop_cuts(self, dropped: NDArray[np.bool_]) -> None:
        """Take cuts out of the program again."""
        gone = np.flatnonzero(dropped)
        if len(gone) == 0:
            return
        self._program.delete_rows((gone + self.types + 1).astype(np.int32))
        self.cuts = self.cuts.take(np.flatnonzero(~dropped))
        self._dual = True

    def bound_columns(self, lower: NDArray[np.float64], upper: NDArray[np.float64]) -> None:
        """Set the bounds of all clusters' columns: branching forbids, diving fixes."""
        changed = np.flatnonzero((lower != self.lower) | (upper != self.upper))
        indices = (changed + self.types).astype(np.int32)
        limits = np.where(np.isinf(upper), math.inf, upper)[changed]
        self._program.bound_columns(indices, lower[changed], limits)
        self.lower, self.upper = lower.copy(), upper.copy()
        self._dual = True

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
                self._program.set_coefficient(self.types, 0, least / float(self.multiplicities[0]))
            lower = float(least) if least > 0 else -math.inf
            self._program.bound_row(self.types, lower, float(most))
            self.counted = (least, most)
            self._dual = True

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
        self._program.set_costs(changed, costs[changed] / self.unit)
        self.artificial_costs = costs
        self._dual = False

    def solve(self, seconds: float = math.inf) -> Relaxation | None:
        """Solve the relaxation from where the last one ended; None if the limit strikes."""
        return self._relaxation(self._program.solve(seconds, self._dual))

    def centre(self, seconds: float = math.inf) -> Relaxation | None:
        """Nearly solve the relaxation by an interior-point method; None if that fails.

        Of all optimal duals these are in the middle, so that pricing with them finds columns of
        lasting use, in far fewer rounds than with those of a vertex.
        """
        return self._relaxation(self._program.centre(seconds))

    def probe(self, iterations: int) -> float:
        """Objective after so many dual simplex iterations: a hint for branching, no bound."""
        return self._program.probe(iterations) * self.unit

    def basis(self) -> Any:
        """The current basis, for :meth:`restore`."""
        return self._program.basis()

    def restore(self, basis: Any) -> None:
        """Go back to a basis taken from the same rows; columns added since are not in it."""
        self._program.restore(basis)

    def purge(self, keep: NDArray[np.bool_]) -> None:
        """Delete the other columns."""
        gone = (np.flatnonzero(~keep) + self.types).astype(np.int32)
        if len(gone) == 0:
            return
        self._program.delete_columns(gone)
        for row in self.clusters[~keep]:
            self._known.discard(row.tobytes())
        self.clusters, self.costs = self.clusters[keep], self.costs[keep]
        self.lower, self.upper = self.lower[keep], self.upper[keep]

    def _relaxation(self, point: Point | None) -> Relaxation | None:
        if point is None:
            return None
        duals, types = point.duals * self.unit, self.types
        return Relaxation(
            point.value * self.unit,
            point.x[types:],
            point.x[:types],
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


def _lay_out(
    program: LiveProgram,
    multiplicities: NDArray[np.int64],
    most_clusters: int,
    artificials: NDArray[np.float64],
) -> None:
    """The rows of the types, the count row and the artificial columns."""
    number = len(multiplicities)
    sides = multiplicities.astype(np.float64)
    none, nothing = np.empty(0, dtype=np.int32), np.empty(0)
    starts = np.zeros(number + 1, dtype=np.int32)
    program.add_rows(sides, sides, starts, none, nothing)
    most = np.array([float(most_clusters)])
    program.add_rows(np.array([-math.inf]), most, starts[:2], none, nothing)
    places = np.arange(number + 1, dtype=np.int32)
    program.add_columns(artificials, places, places[:-1], np.ones(number))
