"""Branch-and-cut over a list of clusters: the best partition they allow, below a target.

Where all clusters that matter are known, the relaxation holds all of them, and cuts may be of any
kind: to subset-row cuts come those of the simplex tableau (:mod:`tableau_cuts`), which close most of
the gap that subset-row cuts leave. Every bound takes clusters out of the list by their reduced
costs, until a MIP can settle what is left; else a pair of rows is kept together or apart, as in
:mod:`branching`.

A partition below the target that respects a node's decisions is made of the clusters that the node
still has, so the least bound of the open nodes is one of all partitions below the target.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kanopy.models.linear_form import LinearForm
from kanopy.solvers.branch_and_price.coefficients import coefficients, right_hand_sides
from kanopy.solvers.branch_and_price.column_generation import Clock
from kanopy.solvers.branch_and_price.decisions import Children, promising, respecting
from kanopy.solvers.branch_and_price.enumeration import Chosen, choose_by
from kanopy.solvers.branch_and_price.list_program import Listing, ListProgram
from kanopy.solvers.branch_and_price.pricing import Cuts, Restrictions
from kanopy.solvers.branch_and_price.subset_row import kinds_of_cuts, separate
from kanopy.solvers.branch_and_price.tableau_cuts import tableau_cuts

CLOSED = 5e-8
"""Relative gap at which a problem counts as solved."""

LITTLE, PATIENCE = 0.01, 2
"""Share of the gap that a round of cuts must close, and rounds in a row that may not."""

SMALL = 5
"""Types of subset-row cuts that are looked for as long as cuts help: larger ones take longer."""

LEAF_COLUMNS, LEAF_NODES = 1000, 100
"""Clusters that are left to a MIP, and its nodes."""

MOST_NODES = 2**31 - 1
"""Nodes of a MIP that has to settle a node by itself."""

CANDIDATES, ITERATIONS = 8, 50
"""Pairs that strong branching looks at, and dual simplex iterations per child."""


@dataclass(order=True)
class Node:
    """A program, which clusters of it the node may use, and a bound of its partitions.

    The decisions on pairs that led to it say the same in fewer words.
    """

    bound: float
    serial: int
    listing: Listing = field(compare=False)
    allowed: NDArray[np.bool_] = field(compare=False)
    decisions: Restrictions = field(compare=False)


class ListSearch:
    """Best-bound search over the partitions that a list of clusters allows.

    Parameters
    ----------
    clusters, costs
        The list, as rows of types padded by −1.
    counts
        Copies of each type.
    decisions
        Pairs that all clusters of the list respect, and the number of clusters of a partition.
    cuts
        Valid cuts to begin with.
    target
        Only cheaper partitions are looked for.
    clock
        When to come back.
    found
        Called with the clusters of every better partition; tells the new target.
    """

    def __init__(
        self,
        clusters: NDArray[np.int32],
        costs: NDArray[np.float64],
        counts: NDArray[np.int64],
        k: int,
        decisions: Restrictions,
        cuts: Cuts,
        target: float,
        clock: Clock,
        found: Callable[[NDArray[np.int32]], float] | None = None,
        seed: int = 0,
    ) -> None:
        self.clusters, self.counts, self.k = clusters, counts, k
        self.target, self.clock, self.seed = target, clock, seed
        self.on_found = found
        self.best: NDArray[np.int32] | None = None
        self.unit = target / float(counts.sum())
        starts, rows, values = coefficients(clusters, cuts, len(counts))
        shape = (len(counts) + 1 + len(cuts), len(clusters))
        fewest, most = decisions.range_of_clusters(int(counts.sum()), k)
        listing = Listing(
            np.arange(len(clusters)),
            costs,
            sp.csr_array(sp.csc_array((values, rows, starts), shape=shape)),
            np.concatenate([counts, [most], right_hand_sides(cuts, counts)]).astype(np.float64),
            counts,
            fewest,
        )
        allowed = np.ones(len(clusters), dtype=bool)
        self.heap = [Node(-math.inf, 0, listing, allowed, decisions)]
        self.serial = self.nodes = 0

    def run(self, most_nodes: int = 2**31 - 1) -> Chosen:
        """The best partition met, the least bound of what is open, and whether nothing is."""
        while self.heap and self.nodes < most_nodes and not self.clock.over():
            node = heapq.heappop(self.heap)
            if node.bound >= self.target:
                continue
            try:
                children = self.process(node)
            except BaseException:
                heapq.heappush(self.heap, node)
                raise
            self.nodes += 1
            for child in children:
                heapq.heappush(self.heap, child)
        open_nodes = [node.bound for node in self.heap if node.bound < self.target]
        return Chosen(self.best, min([*open_nodes, self.target]), not open_nodes)

    def process(self, node: Node) -> list[Node]:
        """Bound a node; what is left open of it."""
        program = ListProgram(node.listing, self.unit)
        program.forbid(~node.allowed)
        value = self.tighten(program, node.bound)
        listing = program.listing
        if value >= self.target:
            return []
        rest = replace(node, bound=value, listing=program.snapshot(), allowed=program.open)
        if len(listing.costs) <= LEAF_COLUMNS and not self.clock.over():
            rest.bound = max(value, self.settle(program, LEAF_NODES))
        if rest.bound >= self.target:
            return []
        if self.clock.over():
            return [rest]
        children = self.choose(program, node.decisions, value)
        if not children:
            rest.bound = max(rest.bound, self.settle(program, MOST_NODES))
            return [rest] if rest.bound < self.target else []
        return [self.child(rest, decisions) for decisions in children]

    def child(self, node: Node, decisions: Restrictions) -> Node:
        """A node of one more decision."""
        self.serial += 1
        listing = node.listing
        allowed = node.allowed & self.respecting(listing, decisions)
        if decisions.clusters is not None:
            fewest, most = decisions.clusters
            sides = listing.sides.copy()
            sides[listing.types] = most
            listing = replace(listing, fewest=fewest, sides=sides)
        return Node(node.bound, self.serial, listing, allowed, decisions)

    def tighten(self, program: ListProgram, known: float) -> float:
        """Rounds of cuts while they help; the bound, at least what is known."""
        best, idle = known, 0
        while program.solve(self.clock.remaining()):
            value, reduced = program.listing.bound(program.duals)
            self.look_at(program)
            gained = value - best > LITTLE * (self.target - best)
            idle = 0 if gained else idle + 1
            best = max(best, value)
            if best >= self.target or idle > PATIENCE or self.clock.over():
                break
            program.keep(program.open & (reduced < self.target - value))
            program.drop_slack()
            if not self.cut(program, idle > 0):
                break
        return best

    def look_at(self, program: ListProgram) -> None:
        """Report the relaxation if it is a partition."""
        x = program.x
        whole = np.abs(x - np.round(x)).max(initial=0.0) < 1e-6
        if whole and program.artificials.max(initial=0.0) < 1e-6:
            times = np.round(x).astype(np.int64)
            self.offer(np.repeat(self.clusters[program.listing.which], times, axis=0))

    def offer(self, clusters: NDArray[np.int32]) -> None:
        """A partition, which may be better than all before."""
        if self.on_found is None:
            return
        target = self.on_found(clusters)
        if target < self.target:
            self.best, self.target = clusters, target

    def cut(self, program: ListProgram, thorough: bool) -> bool:
        """Add cuts that the point violates; False if none are found."""
        listing = program.listing
        rows, sides = tableau_cuts(
            sp.csc_array(listing.matrix), listing.sides, program.x, program.inverse()
        )
        clusters = self.clusters[listing.which]
        most = max(20, int(self.counts.sum()) // 2)
        kinds = kinds_of_cuts(self.counts, self.k)
        small = [kind for kind in kinds if len(kind[0]) <= SMALL]
        more = separate(
            clusters, program.x, self.counts, self.k, most, kinds=() if thorough else small
        )
        if len(more):
            starts, places, values = coefficients(clusters, more, len(self.counts))
            shape = (len(self.counts) + 1 + len(more), len(clusters))
            table = sp.csr_array(sp.csc_array((values, places, starts), shape=shape))
            rows = sp.csr_array(sp.vstack([rows, table[len(self.counts) + 1 :]]))
            sides = np.concatenate([sides, right_hand_sides(more, self.counts)])
        if len(sides):
            program.add(rows, sides)
        return len(sides) > 0

    def settle(self, program: ListProgram, most_nodes: int) -> float:
        """Bound of what a program holds by a MIP, which may find a partition."""
        listing = program.listing
        matrix = listing.matrix
        held = sp.csc_array(matrix[: listing.types])
        times = listing.counts[held.indices] // held.data
        uses = np.minimum.reduceat(times, held.indptr[:-1]).astype(np.float64)
        form = LinearForm(
            cost=listing.costs,
            constant=0.0,
            matrix=matrix,
            row_lower=listing.lower(),
            row_upper=listing.sides,
            lower=np.zeros(len(uses)),
            upper=np.where(program.open, uses, 0.0),
            integer=np.ones(len(uses), dtype=bool),
        )
        clusters = self.clusters[listing.which]
        # A little above the target, so that rounding hides no partition below it.
        cutoff = self.target * (1 + 0.5 * CLOSED)
        chosen = choose_by(
            form,
            clusters,
            self.target,
            self.clock,
            seed=self.seed,
            nodes=most_nodes,
            cutoff=cutoff,
        )
        target = self.target
        if chosen.clusters is not None:
            self.offer(chosen.clusters)
        return min(chosen.bound, target)

    def respecting(self, listing: Listing, decisions: Restrictions) -> NDArray[np.bool_]:
        """Which clusters of a program respect decisions on pairs."""
        return respecting(self.clusters[listing.which], decisions, len(self.counts))

    def choose(
        self, program: ListProgram, old: Restrictions, value: float
    ) -> tuple[Restrictions, ...]:
        """The decision whose two children promise most; none if there is nothing to branch on."""
        listing = program.listing
        candidates = self.candidates(program, old)
        if not candidates or not program.solve(self.clock.remaining()):
            return ()
        best, best_score = candidates[0], -math.inf
        most = max(self.target - value, 0.0)
        least = 1e-3 * most + 1e-6 * self.unit
        for children in candidates:
            lifts = [max(most, least)] * 2
            for side, child in enumerate(children):
                if lifts[0] * lifts[1] <= best_score or self.clock.over():
                    break
                gone = ~self.respecting(listing, child)
                number = child.clusters or listing.number
                lift = program.probe(gone, number, ITERATIONS) - program.value
                lifts[side] = max(min(lift, most), least)
            if lifts[0] * lifts[1] > best_score:
                best, best_score = children, lifts[0] * lifts[1]
        return best

    def candidates(self, program: ListProgram, old: Restrictions) -> list[Children]:
        """The number of clusters if it is fractional, and the most promising pairs."""
        listing, x = program.listing, program.x
        duals = np.maximum(program.duals[: listing.types], 0.0)
        return promising(
            self.clusters[listing.which], x, duals, self.counts, old, listing.number, CANDIDATES
        )
