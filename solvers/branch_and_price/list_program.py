"""The relaxation over all clusters of a list at once, with cuts of any kind.

    min Σ_C cost(C) x_C + dear · Σ a
    Σ_C (copies of t in C) x_C + a_t = count_t    for each type t
    fewest ≤ Σ_C x_C + a ≤ most
    cuts, rows a·x ≤ b

Where no cluster is missing nothing has to be priced, and a cut may be any row of coefficients.
Artificial columns a keep it feasible as long as no cut has a negative side, so that there are duals
that prove a bound. Clusters that no partition below the target can hold leave the program for good.
Costs are handed over in units of ``unit``, as in :mod:`master`.
"""

from __future__ import annotations

import importlib
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SAFETY = 1e-9
"""Share of the summed terms by which a bound is lowered: far above their rounding errors."""

SLACK = 1e-6
"""Rows that are missed by no more count as satisfied with equality."""

FRACTIONAL, ROUNDING = 1e-3, 1e-7
"""Distance from whole numbers of clusters that cuts are made for, and what counts as whole in the
basis inverse."""

ARTIFICIAL = 30.0
"""Cost of an artificial column, in units of the dearest cluster."""


@dataclass(frozen=True, eq=False)
class Listing:
    """Clusters and rows of a program.

    Attributes
    ----------
    which
        The program's clusters by their numbers on the list.
    costs
        Their costs.
    matrix
        Types, the number of clusters, and cuts, for these clusters.
    sides
        Right-hand sides of all rows.
    counts
        Copies of each type.
    fewest
        Least number of clusters; the most is the side of that row.
    whole
        Which rows have whole coefficients and sides.
    """

    which: NDArray[np.int64]
    costs: Floats
    matrix: sp.csr_array
    sides: Floats
    counts: NDArray[np.int64]
    fewest: int
    whole: NDArray[np.bool_]

    @property
    def types(self) -> int:
        """Number of types."""
        return len(self.counts)

    def lower(self) -> Floats:
        """Least values of the rows."""
        least = float(self.fewest) if self.fewest > 0 else -math.inf
        cuts = len(self.sides) - self.types - 1
        return np.concatenate([self.counts, [least], np.full(cuts, -math.inf)]).astype(np.float64)

    def bound(self, duals: Floats) -> tuple[float, Floats]:
        """A lower bound of all partitions made of these clusters, and their reduced costs.

        Σ_C cost(C) x_C = Σ_r y_r (a_r·x) + Σ_C (reduced cost of C) x_C holds for any duals y. The
        first terms are least at a side of their rows, the others for x_C = 0 or, where the reduced
        cost is negative, for as many C as there can be, at most ⌊n/k⌋ clusters in all. What a
        partition costs above the bound is at least the sum of its clusters' reduced costs as far as
        they are positive.
        """
        types = self.types
        y = duals.copy()
        y[types + 1 :] = np.minimum(y[types + 1 :], 0.0)
        if self.fewest <= 0:
            y[types] = min(y[types], 0.0)
        reduced: Floats = self.costs - self.matrix.T @ y
        sides = self.sides.copy()
        if y[types] > 0:
            sides[types] = self.fewest
        terms = y * sides
        negative = self.sides[types] * min(float(reduced.min(initial=0.0)), 0.0)
        value = float(terms.sum()) + negative
        return value - SAFETY * (float(np.abs(terms).sum()) - negative), reduced


class ListProgram:
    """A live linear program over a listing.

    Parameters
    ----------
    listing
        What it consists of.
    unit
        Costs are divided by this inside HiGHS.
    """

    def __init__(self, listing: Listing, unit: float) -> None:
        self.listing = listing
        self.unit = unit
        self._highspy: Any = importlib.import_module("highspy")
        self._highs = self._load()
        self.x = np.empty(0)
        self.duals = np.empty(0)

    def _load(self) -> Any:
        listing, types = self.listing, self.listing.types
        program = self._highspy.HighsLp()
        artificials = sp.eye_array(listing.matrix.shape[0], types + 1)
        columns = sp.csc_array(sp.hstack([artificials, listing.matrix]))
        number = columns.shape[1]
        dear = ARTIFICIAL * float(listing.costs.max(initial=0.0)) + self.unit
        program.num_row_, program.num_col_ = columns.shape
        program.col_cost_ = np.concatenate([np.full(types + 1, dear), listing.costs]) / self.unit
        program.col_lower_ = np.zeros(number)
        program.col_upper_ = np.full(number, math.inf)
        program.row_lower_ = listing.lower()
        program.row_upper_ = listing.sides
        program.a_matrix_.format_ = self._highspy.MatrixFormat.kColwise
        program.a_matrix_.start_ = columns.indptr.astype(np.int32)
        program.a_matrix_.index_ = columns.indices.astype(np.int32)
        program.a_matrix_.value_ = columns.data
        highs = self._highspy.Highs()
        options = {"output_flag": False, "threads": 1, "presolve": "off", "simplex_strategy": 1}
        for option, value in options.items():
            highs.setOptionValue(option, value)
        highs.passModel(program)
        return highs

    def solve(self, seconds: float) -> bool:
        """Solve the relaxation from where the last one ended; False if that fails."""
        highs = self._highs
        highs.setOptionValue("time_limit", min(seconds + highs.getRunTime(), math.inf))
        highs.run()
        status = highs.getModelStatus()
        if status not in (self._status.kOptimal, self._status.kTimeLimit):
            highs.clearSolver()  # HiGHS may answer kUnknown on a warm start: begin anew
            highs.run()
            status = highs.getModelStatus()
        if status != self._status.kOptimal:
            return False
        solution = highs.getSolution()
        self.x = np.asarray(solution.col_value)[self.listing.types + 1 :]
        self.duals = np.asarray(solution.row_dual) * self.unit
        return True

    @property
    def _status(self) -> Any:
        return self._highspy.HighsModelStatus

    def keep(self, clusters: NDArray[np.bool_]) -> None:
        """Delete the other clusters, as far as they are not basic."""
        listing = self.listing
        basis = self._highs.getBasis()
        basic = self._highspy.HighsBasisStatus.kBasic
        held = np.array([status == basic for status in basis.col_status], dtype=bool)
        stays = held | np.append(np.ones(listing.types + 1, dtype=bool), clusters)
        if stays.all():
            return
        gone = np.flatnonzero(~stays).astype(np.int32)
        self._highs.deleteCols(len(gone), gone)
        basis.col_status = [s for s, stay in zip(basis.col_status, stays, strict=True) if stay]
        self._highs.setBasis(basis)
        left = stays[listing.types + 1 :]
        self.x = self.x[left]
        self.listing = replace(
            listing,
            which=listing.which[left],
            costs=listing.costs[left],
            matrix=sp.csr_array(listing.matrix[:, left]),
        )

    def add(self, rows: sp.csr_array, sides: Floats, whole: NDArray[np.bool_]) -> None:
        """Append cuts."""
        listing = self.listing
        self._highs.addRows(
            len(sides),
            np.full(len(sides), -math.inf),
            sides,
            rows.nnz,
            rows.indptr[:-1].astype(np.int32),
            (rows.indices + listing.types + 1).astype(np.int32),
            rows.data,
        )
        matrix = sp.csr_array(sp.vstack([listing.matrix, rows]))
        self.listing = replace(
            listing,
            matrix=matrix,
            sides=np.append(listing.sides, sides),
            whole=np.append(listing.whole, whole),
        )

    def drop_slack(self) -> None:
        """Take out the cuts that the point satisfies with room to spare."""
        listing = self.listing
        slack = listing.sides - listing.matrix @ self.x > SLACK
        slack[: listing.types + 1] = False
        if not slack.any():
            return
        basis = self._highs.getBasis()
        indices = np.flatnonzero(slack).astype(np.int32)
        self._highs.deleteRows(len(indices), indices)
        basis.row_status = [s for s, gone in zip(basis.row_status, slack, strict=True) if not gone]
        self._highs.setBasis(basis)
        self.duals = self.duals[~slack]
        matrix = sp.csr_array(listing.matrix[~slack])
        self.listing = replace(
            listing, matrix=matrix, sides=listing.sides[~slack], whole=listing.whole[~slack]
        )

    def inverse(self) -> Floats:
        """Rows of the basis inverse that belong to fractional clusters, modulo 1.

        Only those that rest on rows which the point satisfies with equality.
        """
        listing = self.listing
        _, basic = self._highs.getBasicVariables()
        clusters = np.asarray(basic) - listing.types - 1  # rows are numbered −1, −2, … before that
        places = np.flatnonzero(clusters >= 0)
        x = self.x[clusters[places]]
        places = places[np.abs(x - np.round(x)) > FRACTIONAL]
        slack = listing.sides - listing.matrix @ self.x > SLACK
        rows = np.zeros((len(places), len(listing.sides)))
        for i, place in enumerate(places):
            rows[i] = self._highs.getBasisInverseRow(int(place))[1]
        whole = listing.whole
        rows[:, whole] -= np.floor(rows[:, whole] + ROUNDING)
        rows[np.abs(rows) < 2 * ROUNDING] = 0.0
        return rows[~rows[:, slack].any(axis=1)]
