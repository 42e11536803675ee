"""A long list of clusters made short: cuts of any kind, and what reduced costs leave then.

Where all clusters that a partition below the target can hold are listed, the relaxation may hold
all of them, and cuts need not be such as pricing can follow. To subset-row cuts come those of the
simplex tableau (:mod:`tableau_cuts`). They close a good part of the gap that subset-row cuts leave,
most of it in a few rounds, and every better bound takes clusters out of the list by their reduced
costs (see :mod:`enumeration`). A MIP over the best of those left finds better partitions than one
over clusters chosen by the duals of a weaker relaxation.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kanopy.solvers.branch_and_price.coefficients import coefficient_table, right_hand_sides
from kanopy.solvers.branch_and_price.column_generation import Clock
from kanopy.solvers.branch_and_price.enumeration import choose
from kanopy.solvers.branch_and_price.list_program import SLACK, Listing, ListProgram
from kanopy.solvers.branch_and_price.pricing import Cuts
from kanopy.solvers.branch_and_price.start import with_start
from kanopy.solvers.branch_and_price.subset_row import kinds_of_cuts, separate
from kanopy.solvers.branch_and_price.tableau_cuts import mixed_cuts, tableau_cuts
from kanopy.solvers.clock import now

LITTLE, PATIENCE = 0.005, 2
"""Share that a round of cuts is to close of the gap, or of what all rounds have gained if that is
more, and rounds in a row that may miss it."""

LEAST_SECONDS, SHARE = 4.0, 0.08
"""Seconds that all rounds may take, or this share of the time left if that is more."""

HOPE, EARLY = 0.14, 3
"""Share of the gap that so many relaxations must have closed for cuts to go on."""

SMALL = 5
"""Types of subset-row cuts that are looked for as long as cuts help: larger ones take longer."""

PER_ROW, MORE = 2.0, 1.3
"""Clusters per row of a MIP that looks for a partition, and how many times as many the next has."""

SAMPLE_SECONDS, SAMPLE_SHARE, QUICK = 6.0, 0.09, 1.5
"""Seconds that such a MIP may take, or this share of the time left if that is more, and seconds of
one that is followed by a larger one."""

LOOK_PER_ROW, FEW_ENTRIES = 3.5, 400
"""Clusters per row of a MIP that looks for a partition below the target, and entries of a cut up to
which it is handed over."""

LOOK_SECONDS, LOOK_SHARE = 6.0, 0.18
"""Seconds that this MIP may take, or this share of the time left if that is more."""

MOST_SECONDS = 60.0
"""Seconds of either MIP where there is no limit of time: neither is needed for a proof."""


class Condensation:
    """What is left of a list.

    Parameters
    ----------
    clusters, costs
        The list, as rows of types padded by −1.
    counts
        Copies of each type.
    k
        Least cluster size.
    number
        Least and most number of clusters of a partition.
    cuts
        Valid cuts to begin with.
    target
        The list holds all clusters of partitions cheaper than this.
    clock
        When to come back.

    Attributes
    ----------
    bound
        No partition made of clusters of the list costs less than this and the target.
    hopeless
        Whether cuts do so little that the list stays long.
    """

    def __init__(
        self,
        clusters: NDArray[np.int32],
        costs: NDArray[np.float64],
        counts: NDArray[np.int64],
        k: int,
        number: tuple[int, int],
        cuts: Cuts,
        target: float,
        clock: Clock,
    ) -> None:
        self.clusters, self.counts, self.k = clusters, counts, k
        self.target, self.clock = target, clock
        self.bound = -math.inf
        self.hopeless = False
        self.first, self.rounds = math.inf, 0
        self.number = fewest, most = number
        listing = Listing(
            np.arange(len(clusters)),
            costs,
            coefficient_table(clusters, cuts, len(counts)),
            np.concatenate([counts, [most], right_hand_sides(cuts, counts)]).astype(np.float64),
            counts,
            fewest,
            np.ones(len(counts) + 1 + len(cuts), dtype=bool),
        )
        self.program = ListProgram(listing, target / float(counts.sum()))

    @property
    def which(self) -> NDArray[np.int64]:
        """The clusters left, by their numbers on the list."""
        return self.program.listing.which

    def tighten(self) -> None:
        """Rounds of cuts while they help."""
        program = self.program
        if len(program.listing.costs) == 0:  # no partition below the target
            self.bound = self.target
            return
        idle, within = 0, self.clock.within(max(LEAST_SECONDS, SHARE * self.clock.remaining()))
        while program.solve(self.clock.remaining()):
            value, reduced = program.listing.bound(program.duals)
            self.first, self.rounds = min(self.first, value), self.rounds + 1
            known = max(self.bound, self.first)
            least = LITTLE * max(self.target - known, known - self.first)
            idle = 0 if self.rounds == 1 or value - known > least else idle + 1
            self.bound = max(self.bound, value)
            program.keep(reduced < self.target - value)
            if self.rounds == EARLY:
                self.hopeless = self.bound - self.first < HOPE * (self.target - self.first)
            ended = self.bound >= self.target or self.hopeless or idle > PATIENCE
            if ended or within.over():
                break
            program.drop_slack()
            thorough = idle > 0
            if not self.cut(thorough) and (thorough or not self.cut(thorough=True)):
                break

    def cut(self, thorough: bool) -> bool:
        """Add cuts that the point violates; False if none are found."""
        listing, x, types = self.program.listing, self.program.x, len(self.counts)
        matrix, inverse = sp.csc_array(listing.matrix), self.program.inverse()
        plain = ~inverse[:, ~listing.whole].any(axis=1)
        rows, sides = tableau_cuts(matrix, listing.sides, x, inverse[plain])
        mixed, mixed_sides = mixed_cuts(matrix, listing.sides, listing.whole, x, inverse)
        clusters = self.clusters[listing.which]
        small = [kind for kind in kinds_of_cuts(self.counts, self.k) if len(kind[0]) <= SMALL]
        most = max(20, int(self.counts.sum()) // 2)
        subset_rows = separate(
            clusters, x, self.counts, self.k, most, kinds=() if thorough else small
        )
        table = coefficient_table(clusters, subset_rows, types)[types + 1 :]
        sides = np.concatenate([mixed_sides, sides, right_hand_sides(subset_rows, self.counts)])
        if len(sides):
            added = sp.csr_array(sp.vstack([mixed, rows, table]))
            self.program.add(added, sides, np.arange(len(sides)) >= len(mixed_sides))
        return len(sides) > 0

    def sample(
        self,
        found: Callable[[NDArray[np.int32]], bool],
        known: NDArray[np.int32],
        costs_of: Callable[[NDArray[np.int32]], NDArray[np.float64]],
    ) -> None:
        """Offer what a MIP over the clusters of least reduced cost finds, if it is a partition.

        It starts from the clusters of a known partition, if there are any; ``costs_of`` tells what
        those cost that have left the list. A MIP over more clusters follows as long as it is quick,
        and ``found`` says that it was no better.
        """
        order = self.by_reduced_cost()
        listing = self.program.listing
        number = int(PER_ROW * self.counts.sum())
        while len(order) and not self.clock.over():
            part, begin = order[:number], now()
            clock = self.some_time(SAMPLE_SECONDS, SAMPLE_SHARE)
            clusters, costs, start = self.clusters[listing.which[part]], listing.costs[part], None
            if len(known):
                clusters, start = with_start(clusters, known)
                costs = np.append(costs, costs_of(clusters[len(costs) :]))
            chosen = choose(
                clusters,
                costs,
                self.counts,
                self.k,
                clock,
                start=start,
                number_of_clusters=self.number,
            )
            better = chosen.clusters is not None and found(chosen.clusters)
            slow = not chosen.optimal or now() - begin > QUICK
            if better or slow or number >= len(order):
                return
            number = max(number + 1, int(MORE * number))

    def look(self, found: Callable[[NDArray[np.int32]], bool], below: float) -> None:
        """Offer what a MIP finds below a cost, the target or less.

        The cuts that the relaxation meets with equality are handed over to it: its own relaxation
        is nearly whole then, and its heuristics find much better partitions.
        """
        part = self.by_reduced_cost()[: int(LOOK_PER_ROW * self.counts.sum())]
        if len(part) == 0 or self.clock.over():
            return
        listing, types = self.program.listing, len(self.counts)
        useful = listing.whole & (listing.sides - listing.matrix @ self.program.x <= SLACK)
        useful &= np.diff(listing.matrix.indptr) <= FEW_ENTRIES
        useful[: types + 1] = False
        chosen = choose(
            self.clusters[listing.which[part]],
            listing.costs[part],
            self.counts,
            self.k,
            self.some_time(LOOK_SECONDS, LOOK_SHARE),
            number_of_clusters=self.number,
            cutoff=below,
            further=(sp.csr_array(listing.matrix[useful][:, part]), listing.sides[useful]),
            hopeful=True,
        )
        if chosen.clusters is not None:
            found(chosen.clusters)

    def some_time(self, least: float, share: float) -> Clock:
        """A clock for a MIP: so many seconds, or a share of what is left."""
        return self.clock.within(min(max(least, share * self.clock.remaining()), MOST_SECONDS))

    def by_reduced_cost(self) -> NDArray[np.int64]:
        """The program's clusters, the most promising first; none if there is nothing to find."""
        if self.bound >= self.target or not self.program.solve(self.clock.remaining()):
            return np.empty(0, dtype=np.int64)
        _, reduced = self.program.listing.bound(self.program.duals)
        order: NDArray[np.int64] = np.argsort(reduced, kind="stable")
        return order
