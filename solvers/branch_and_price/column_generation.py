"""Column generation: the restricted master, pricing, and the bounds that pricing proves.

For any duals u of the partitioning rows, μ ≤ 0 of the count row and σ ≤ 0 of the cuts, the cost of
a partition P is

    Σ_{C∈P} cost(C) = Σ count·u + μ|P| + Σ_T σ_T Σ_{C∈P} ⌊|C∩T|/q⌋ + Σ_{C∈P} reduced cost(C)
                    ≥ Σ count·u + μ⌊n/k⌋ + Σ_T σ_T·rhs_T + Σ_{C∈P} min(0, reduced cost(C)),

because |P| ≤ ⌊n/k⌋, the cuts hold and μ, σ ≤ 0. Where branching asks for a number of clusters
between a and b, μ may have any sign, and min(μa, μb) takes the place of μ⌊n/k⌋. The last sum is at
least ⌊n/k⌋·least and, where the pricer gives them, at least Σ multiplicity·per_root. Complete
pricing yields both, and only complete pricing raises a bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from kanopy.solvers.branch_and_price.coefficients import right_hand_sides
from kanopy.solvers.branch_and_price.master import Master, Relaxation
from kanopy.solvers.branch_and_price.pricer_common import reduced_costs
from kanopy.solvers.branch_and_price.pricing import (
    Cuts,
    Duals,
    Priced,
    Pricer,
    Restrictions,
    Search,
)
from kanopy.solvers.branch_and_price.swaps import Swaps
from kanopy.solvers.clock import now

SAFETY = 1e-9
"""Share of the summed terms by which a bound is lowered: far above their rounding errors."""

EARLY_BOUND = 6
"""Every so many rounds, complete pricing is tried before the truncated one has run dry."""

LATE_BOUND = 30
"""The same where exchanges find columns: complete pricing takes as long as many of those rounds."""

NEARLY = 0.01
"""Share of the gap that the duals of interior points may miss."""

PER_ROW = 12
"""Columns per row that are kept while interior points are used, which begin anew every time."""

DEAREST = 1e6
"""Costs of artificial columns, in units, that are not raised any more: there is no solution then,
and larger numbers would spoil the linear program."""

PATIENCE = 100
"""Rounds without a better bound after which interior points are given up."""

EARLY_NODES = 5_000_000
"""Nodes of such a try, spread evenly over the roots. It comes before an unlimited search, too,
which large clusters make very long while there are many columns to find."""

LATE_NODES = 50_000_000
"""The same where exchanges have found most of these columns before."""


@dataclass
class Clock:
    """When to come back."""

    deadline: float = math.inf
    stopping: Callable[[], bool] = lambda: False

    def over(self) -> bool:
        """Whether to end now."""
        return now() >= self.deadline or self.stopping()

    def remaining(self) -> float:
        """Seconds left."""
        return max(0.0, self.deadline - now())

    def within(self, seconds: float) -> Clock:
        """The same clock with at most so many seconds."""
        return replace(self, deadline=min(self.deadline, now() + seconds))


@dataclass
class Bound:
    """A proven lower bound, with the duals and cuts that prove it."""

    value: float = -math.inf
    duals: Duals | None = None
    cuts: Cuts = field(default_factory=Cuts)


@dataclass
class Generated:
    """How column generation ended: with the optimum of the relaxation if ``converged``."""

    relaxation: Relaxation | None
    bound: Bound
    converged: bool
    rounds: int = 0


def lagrangian_bound(
    pricer: Pricer,
    duals: Duals,
    cuts: Cuts,
    priced: Priced,
    restrictions: Restrictions | None = None,
) -> float:
    """The bound that complete pricing proves for the very duals it was given."""
    if not priced.complete:
        return -math.inf
    copies = pricer.multiplicities
    limits = restrictions or Restrictions()
    fewest, most_clusters = limits.range_of_clusters(int(copies.sum()), pricer.k)
    counted = min(duals.count * fewest, duals.count * most_clusters)
    sides = right_hand_sides(cuts, copies)
    used = duals.cuts if len(cuts) else np.empty(0)
    gain = most_clusters * min(priced.least, 0.0)
    if priced.per_root is not None:
        gain = max(gain, float(copies @ np.minimum(priced.per_root, 0.0)))
    value = float(copies @ duals.types) + counted + float(used @ sides) + gain
    magnitude = (
        float(copies @ np.abs(duals.types))
        + abs(duals.count) * most_clusters
        - float(used @ sides)
        + abs(gain)
    )
    return value - SAFETY * magnitude


class ColumnGeneration:
    """The loop, for one master and one pricer."""

    def __init__(self, master: Master, pricer: Pricer, quick: Search) -> None:
        self.master = master
        self.pricer = pricer
        self.quick = quick
        self.rounds = 0
        self.swaps: Swaps | None = None
        """Exchanges, where clusters are large."""
        self.cuts = False
        """Whether dives may add cuts."""
        self.closed: NDArray[np.bool_] | None = None
        """Types that no new column may hold, while a dive has used them up; no bound then."""

    def run(
        self,
        clock: Clock,
        restrictions: Restrictions | None = None,
        cutoff: float = math.inf,
        on_bound: Callable[[Bound, Relaxation], None] = lambda bound, relaxation: None,
        most_rounds: int = 10_000,
        central: bool = False,
    ) -> Generated:
        """Solve the relaxation.

        Parameters
        ----------
        clock
            When to give up; what has been proven by then stays proven.
        restrictions
            Branching decisions; columns that break them must be bounded to 0 already.
        cutoff
            End once the bound reaches this.
        on_bound
            Called with every better bound.
        central
            Begin with the duals of interior points, and purge columns on the way.
        """
        master, pricer = self.master, self.pricer
        limits = restrictions or Restrictions()
        tolerance = 1e-9 * master.unit
        best = Bound()
        relaxation: Relaxation | None = None
        raised = 0
        for rounds in range(1, most_rounds + 1):
            if rounds - raised > PATIENCE:  # purged columns may come back for ever
                central = False
            solved = master.centre(clock.remaining()) if central else None
            central = solved is not None
            solved = solved or master.solve(clock.remaining())
            if solved is None or clock.over():
                return Generated(relaxation, best, False, rounds)
            relaxation = solved
            if central:
                relaxation = self.slim(relaxation, PER_ROW * master.types)
            self.rounds += 1
            duals = self.open_duals(relaxation)
            few = 0.01 * master.types
            priced = self.price_quickly(duals, limits, tolerance, clock)
            added = self._add(priced)
            if not priced.complete:
                if self.closed is not None:  # a dive proves nothing: truncated pricing will do
                    if added > 0.002 * np.count_nonzero(~self.closed):
                        continue
                    if added == 0 and self._raise_artificials(relaxation):
                        continue
                    return Generated(relaxation, best, False, rounds)
                late = self.swaps is not None
                if added > few and rounds % (LATE_BOUND if late else EARLY_BOUND):
                    continue
                early = 1 + (LATE_NODES if late else EARLY_NODES) // master.types
                for nodes in (early, 0):
                    search = Search(
                        threshold=-tolerance,
                        per_root=3,
                        most_nodes=nodes,
                        deadline=clock.deadline,
                    )
                    priced = pricer.price(duals, master.cuts, limits, search)
                    added += self._add(priced)
                    if priced.complete or added > few:
                        break
                if not priced.complete and added > few and not clock.over():
                    continue
            if not priced.complete:
                return Generated(relaxation, best, False, rounds)
            if self.closed is None:
                value = lagrangian_bound(pricer, duals, master.cuts, priced, limits)
                if value > best.value:
                    raised = rounds
                    best = Bound(value, duals, master.cuts)
                    on_bound(best, relaxation)
                if best.value >= cutoff:
                    return Generated(relaxation, best, False, rounds)
            if central:
                if added > 0.002 * master.types:
                    continue
                central = False
                vertex = master.solve(clock.remaining())
                if vertex is None:
                    return Generated(relaxation, best, False, rounds)
                relaxation = vertex
                # pricing with the vertex' duals would only prove this bound again
                near = NEARLY * min(cutoff - best.value, relaxation.value)
                if relaxation.value - best.value < near and not self._raise_artificials(vertex):
                    return Generated(relaxation, best, True, rounds)
            elif added == 0:
                if self._raise_artificials(relaxation):
                    continue
                return Generated(relaxation, best, True, rounds)
        return Generated(relaxation, best, False, most_rounds)

    def price_quickly(
        self, duals: Duals, limits: Restrictions, tolerance: float, clock: Clock
    ) -> Priced:
        """Columns by exchanges where clusters are large, else by a truncated search."""
        master = self.master
        if self.swaps is not None and not (limits.together or limits.apart):
            priced = self.swaps.price(master.clusters, master.costs, duals, master.cuts, -tolerance)
            if self.closed is None or len(priced):
                return priced
        search = replace(self.quick, threshold=-tolerance, deadline=clock.deadline)
        return self.pricer.price(duals, master.cuts, limits, search)

    def slim(self, relaxation: Relaxation, most: int) -> Relaxation:
        """Delete the columns of largest reduced cost if there are very many."""
        master = self.master
        if len(master) <= 1.5 * most:
            return relaxation
        reduced = reduced_costs(master.clusters, master.costs, relaxation.duals, master.cuts)
        keep = reduced <= np.partition(reduced, most)[most]
        keep |= relaxation.x > 0.01
        master.purge(keep)
        return replace(relaxation, x=relaxation.x[keep])

    def open_duals(self, relaxation: Relaxation) -> Duals:
        """Duals that price every cluster with a closed type out: the others cannot pay for it."""
        duals = relaxation.duals
        if self.closed is None:
            return duals
        types = duals.types.copy()
        most = max(float(types.max()), 0.0)
        rows = self.master.clusters.shape[1]
        types[self.closed] = -rows * most - 2.0 * (self.master.unit + abs(duals.count))
        return replace(duals, types=types)

    def _add(self, priced: Priced) -> int:
        return self.master.add(priced.clusters, priced.costs) if len(priced) else 0

    def _raise_artificials(self, relaxation: Relaxation) -> bool:
        cheap = self.master.artificial_costs < DEAREST * self.master.unit
        used = np.flatnonzero((relaxation.artificials > 1e-9) & cheap)
        if len(used) == 0:
            return False
        self.master.raise_artificials(used)
        return True
