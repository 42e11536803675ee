r"""A fractional partition by column generation (000, 4.3), for the duals that it gives.

The restricted master (4.3.1–3) begins with one column, the cluster of all rows. Clusters of
negative reduced cost are sought by Algorithm 5, if that finds none by Algorithm 6, and if that
finds none either, the heuristic solution is reached; the optimal one goes on by exact pricing
(4.3.7–11), here with the search of branch-and-price and several columns at a time.

Rows of (4.3.2) are equations, so duals may have any sign, against (4.3.6): with u ≥ 0 the master
would be that of coverings, and clusters of k rows cannot be made smaller.

Masters of many equations begin otherwise, as the thesis allows (4.3, "any heuristic solution"):
under the cluster of all rows nearly all of the optimal duals are those of a vertex in which a
single row has the whole weight of the table, and it takes thousands of rounds of a cluster or two
until the others have any. There the first columns are the clusters that Algorithm 5 makes of equal
duals, an artificial column for each equation caps the duals, and of all optimal duals those in the
middle are priced with. These come from an interior-point method, so the optimum is reached up to
its tolerance. The bound is that of Lagrange for the very duals that were priced with, and holds
for any, also while artificial columns are in use.

Identical rows are one type: one equation with the multiplicity as its right-hand side. The optimum
is the same as by rows, since the mean over identical rows of optimal duals is optimal, too. The
heuristic solution may differ, since each column stands for all its copies among identical rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kanopy.instances.microdata import Microdata
from kanopy.solvers.branch_and_price.column_generation import lagrangian_bound
from kanopy.solvers.branch_and_price.master import Master
from kanopy.solvers.branch_and_price.pricer_hamming import HammingPricer
from kanopy.solvers.branch_and_price.pricing import Cuts, Duals, Restrictions, Search
from kanopy.solvers.branch_and_price.start import padded
from kanopy.solvers.clock import now
from kanopy.solvers.costs import total_cost
from kanopy.solvers.nominal.enumeration_pricing import first_cluster
from kanopy.solvers.nominal.greedy_pricing import greedy_clusters_until, greedy_seconds
from kanopy.solvers.run import Run

Floats = NDArray[np.float64]

TOLERANCE = 1e-6
"""A reduced cost is negative below minus this, in units of the largest weight."""

FEW_EQUATIONS = 500
"""Equations up to which the restricted master begins as printed."""

UNUSED = 1e-3
"""Interior points use artificial columns no more than this at their end."""


@dataclass(frozen=True, eq=False)
class Fractional:
    """The end of column generation.

    ``duals`` are those of each type, ``value`` that of the restricted master, artificial columns
    included (no bound), ``bound`` what exact pricing has proven for all partitions.
    """

    duals: Floats
    value: float
    bound: float
    columns: int
    rounds: int


def fractional_solution(
    data: Microdata, k: int, run: Run, *, exact: bool, most_columns: int = 0
) -> Fractional:
    """Solve the relaxation as far as heuristic or exact pricing goes, or the run allows.

    Of a time limit it leaves what it takes to make clusters of all rows, half of it at most.
    ``most_columns`` is n_max of Algorithm 5, which the thesis leaves open; 0 sets no limit.

    >>> from kanopy.instances.examples import example
    >>> from kanopy.solvers.problem import Problem
    >>> data = example("aggregation")
    >>> run = Run(Problem(data, 3, "hamming"))
    >>> fractional_solution(data, 3, run, exact=True).value
    6.0
    """
    weights = np.ascontiguousarray(data.nominal_weights)
    unit = float(weights.max(initial=0.0)) or 1.0
    codes = np.ascontiguousarray(data.codes[data.first_rows])
    columns = np.ascontiguousarray(codes.T)
    most = most_columns or data.n
    limit = -TOLERANCE * unit
    pricer = HammingPricer(data, k)
    left = run.remaining()
    end = run.elapsed() + max(0.5 * left, left - 2 * greedy_seconds(data, k))

    def stopping() -> bool:
        run.timed_out |= run.elapsed() >= end
        return run.stopping() or run.timed_out

    def remaining() -> float:
        return max(0.0, end - run.elapsed())

    pricer.stopping = stopping
    duals, value, bound, rounds = np.zeros(len(data.counts)), np.inf, -np.inf, 0
    large = len(data.counts) > FEW_EQUATIONS
    master: Master = Greedy(data, k, unit, stopping) if large else AllRows(data, k, unit)
    while not run.stopping(iterations=1) and not stopping():
        relaxation = master.centre(remaining()) if large else None
        relaxation = relaxation or master.solve(remaining())
        if relaxation is None:
            break
        duals, value = relaxation.duals.types, relaxation.value
        rounds += 1
        found, _ = greedy_clusters_until(
            columns, weights, data.counts.copy(), duals, k, most, limit, stopping
        )
        if len(found) and master.add(found, pricer.costs(found)):
            continue
        cluster = first_cluster(codes, weights, data.counts, duals, k, limit, stopping)
        if cluster is not None:
            rows = padded([cluster], 2 * k - 1)
            if master.add(rows, pricer.costs(rows)):
                continue
        if exact:
            search = Search(limit, per_root=3, deadline=now() + remaining())
            plain = Duals(duals)
            priced = pricer.price(plain, Cuts(), Restrictions(), search)
            bound = max(bound, lagrangian_bound(pricer, plain, Cuts(), priced))
            if len(priced) and master.add(priced.clusters, priced.costs):
                continue
        used = np.flatnonzero(relaxation.artificials > UNUSED)
        if not large or len(used) == 0:
            break
        master.raise_artificials(used)
    run.record(columns=len(master), lp=value if np.isfinite(value) else None)
    return Fractional(duals, value, bound, len(master), rounds)


class Greedy(Master):
    """A restricted master of many equations: the clusters of Algorithm 5 for equal duals.

    An artificial column costs what a row adds at most to 2k − 2 others.
    """

    def __init__(self, data: Microdata, k: int, unit: float, stopping: Callable[[], bool]) -> None:
        weights = np.ascontiguousarray(data.nominal_weights)
        types = len(data.counts)
        farthest = (2 * k - 2) * float(weights.sum())
        super().__init__(data.counts, k, np.full(types, farthest), unit, most_clusters=data.n)
        columns = np.ascontiguousarray(data.codes[data.first_rows].T)
        duals = np.full(types, unit)
        clusters, reduced = greedy_clusters_until(
            columns, weights, data.counts.copy(), duals, k, data.n, np.inf, stopping
        )
        self.add(clusters, reduced + unit * (clusters >= 0).sum(axis=1))


class AllRows(Master):
    """The restricted master with the cluster of all rows as its only first column.

    That column takes the place of the first artificial one; the others are shut.
    """

    def __init__(self, data: Microdata, k: int, unit: float) -> None:
        counts = data.counts
        everything = total_cost(data, np.zeros(data.n, dtype=np.int64), "hamming")
        first = np.full(len(counts), everything)
        super().__init__(counts, k, first, unit, most_clusters=data.n)
        for row, count in enumerate(counts.tolist()):
            self._program.set_coefficient(row, 0, float(count))
        others = np.arange(1, len(counts), dtype=np.int32)
        shut = np.zeros(len(others))
        self._program.bound_columns(others, shut, shut)
        self._program.bound_columns(np.zeros(1, dtype=np.int32), np.zeros(1), np.full(1, np.inf))
