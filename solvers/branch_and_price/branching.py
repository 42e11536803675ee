"""Branching on pairs and on the number of clusters.

Ryan–Foster: a pair of rows is kept together in one child and apart in the other. Where Σx is
fractional, one child has at least ⌈Σx⌉ clusters and the other at most ⌊Σx⌋; where n is a multiple
of k, the first holds only clusters of exactly k rows once n/k are asked for, and such a decision
comes before all others.

Some optimal partition has clusters of k … 2k−1 rows only, and follows one child at each node, so
the least bound over the open nodes bounds the optimum though nodes only know such clusters. If the
relaxation is fractional a pair with 0 < Σ_{C∋i,j} x_C < 1 exists: two different columns that share
a row differ in another. Cuts are valid for every partition and stay for all nodes.

Where identical rows are merged, only pairs of single types are branched on. That is enough over a
list of clusters, since a MIP can settle what such pairs leave; elsewhere rows are told apart first.

Over a list, a node's children know only the clusters that the node's own reduced costs leave: by
:mod:`enumeration`, a partition below the target that respects the node's decisions holds no others,
and the children's decisions only add to them.

With a goal below the cost of the best partition, the list is complete for partitions cheaper than
the goal only. A node in which there are none is not closed for good: its bound is the goal, and it
is where a tree with a higher goal and a longer list goes on.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from kanopy.solvers.branch_and_price.argument import Argument
from kanopy.solvers.branch_and_price.better_partitions import dives
from kanopy.solvers.branch_and_price.column_generation import Bound
from kanopy.solvers.branch_and_price.cut_rounds import cut_round, recall
from kanopy.solvers.branch_and_price.engine import Engine
from kanopy.solvers.branch_and_price.enumeration import list_clusters
from kanopy.solvers.branch_and_price.finishing import choose_from, finish_node
from kanopy.solvers.branch_and_price.master import Relaxation
from kanopy.solvers.branch_and_price.pool import SHORTER, respecting
from kanopy.solvers.branch_and_price.pricing import Restrictions
from kanopy.solvers.branch_and_price.saved_tree import SavedTree
from kanopy.solvers.clock import now

CANDIDATES = 8
"""Pairs that strong branching looks at."""

ITERATIONS = 50
"""Dual simplex iterations per child in strong branching."""

DIVE_EVERY, DIVE_SHARE = 16, 0.25
"""Nodes between two dives, and the share of the time in the tree that dives may take."""

NODE_COLUMNS = 6000
"""Columns up to which a node is left to a MIP: beyond, branching once more is faster."""

NODE_NODES = 200
"""Nodes of that MIP."""

LESS, LITTLE_LESS = 0.6, 0.8
"""Share of a gap at which such a MIP failed below which it is tried again, the second where the
clusters are listed already and a try costs less."""

MOST_NODES = 2**31 - 1
"""Nodes of a MIP that has to settle a node by itself."""

RECALLS = 4
"""Rounds at a node in which cuts that were laid aside elsewhere come back."""

NODE_ROUNDS, LITTLE = 2, 0.1
"""Rounds of new cuts at a node, and the share of its gap that each must close to go on."""

MOST_STORED = 100_000_000
"""Clusters on the lists of all nodes, closed ones included, up to which nodes get their own."""

RELIABLE = 2
"""Probes of a decision after which their mean is relied on (Achterberg, Koch and Martin,
*Operations Research Letters*, 2005, for variables)."""

RAISED = 100.0
"""How many times as expensive artificial columns may be as they were when the tree began."""

SAVE_EVERY = 200
"""Nodes added between two writings of the tree to its file."""

COUNT_FRACTION = 0.01
"""Distance of Σx from the next whole number above which it is a candidate for branching."""

Children = tuple[Restrictions, Restrictions]


@dataclass(order=True)
class Node:
    """Decisions on pairs, and a bound of all partitions that respect them.

    What is expected is the bound, unless that was proven over a list up to a goal: the bound is the
    goal then, and the least cost over the list a hint.
    """

    bound: float
    expected: float
    serial: int
    restrictions: Restrictions = field(compare=False)
    argument: Argument | None = field(compare=False, default=None)
    listed: NDArray[np.int32] | None = field(compare=False, default=None)
    """Of the tree's list the clusters that a better partition here can hold; None for all."""


class Tree:
    """Best-bound search over the nodes of one engine."""

    def __init__(self, engine: Engine, saved: SavedTree | None = None) -> None:
        self.engine = engine
        nodes = engine.frontier
        if saved is not None:
            nodes = [(bound, bound, decisions) for bound, decisions in saved.nodes]
        self.heap = [Node(bound, hope, i, node) for i, (hope, bound, node) in enumerate(nodes)]
        heapq.heapify(self.heap)
        self.beyond: list[Node] = []  # nodes that hold no partition below the goal
        if saved is None and self.heap[0].restrictions == engine.links:  # the root
            self.heap[0].argument = engine.argument
        self.serial = len(nodes)
        # least bound of nodes closed short of the target by rounding
        self.leaves = engine.leaves if saved is None else saved.leaves
        self.failed_gap = math.inf
        self.began, self.dived = now(), 0.0
        self.whole = engine.pool
        self.artificials = engine.master.artificial_costs
        self.lifts: dict[tuple[object, int], list[float]] = {}  # that probes found
        self.places = np.empty(0, dtype=np.int64)  # of the master's columns, which only grow
        self.stored = 0
        self.saved_at = self.serial

    def search(self) -> None:
        """Process nodes until the gap is closed or the run stops."""
        engine = self.engine
        while self.heap and not engine.clock.over():
            node = heapq.heappop(self.heap)
            if node.bound >= engine.target():
                self.close(node, node.expected)
                continue
            try:
                finished = self.process(node)
            except BaseException:  # Ctrl-C: the node is still open
                heapq.heappush(self.heap, node)
                self.save()
                raise
            if not finished:
                heapq.heappush(self.heap, node)
                break
            self.report()
            if self.serial - self.saved_at > SAVE_EVERY:
                self.save()
        if not engine.clock.over() or not self.heap:
            self.report()
        self.save()
        self.forbid(engine.links)
        engine.frontier, engine.leaves = self.open_nodes(), self.leaves

    def open_nodes(self) -> list[tuple[float, float, Restrictions]]:
        """What is expected of nodes that may hold a better partition, bounds, and decisions."""
        nodes = sorted(self.heap + self.beyond)
        return [(node.expected, node.bound, node.restrictions) for node in nodes]

    def save(self) -> None:
        """Keep the tree in the file of the options."""
        engine = self.engine
        self.saved_at = self.serial
        if engine.options.tree:
            nodes = [(bound, engine.of_rows(node)) for _, bound, node in self.open_nodes()]
            engine.save(SavedTree(*engine.state(), nodes, self.leaves, branched=True))

    def report(self) -> None:
        """Pass the bound of all that is open on."""
        engine = self.engine
        least = min(self.leaves, self.heap[0].bound if self.heap else math.inf, engine.target())
        engine.prove(Bound(least))
        engine.run.record(
            open_nodes=len(self.heap), columns=len(engine.master), cuts=len(engine.master.cuts)
        )
        engine.run.stopping(nodes=1)

    def process(self, node: Node) -> bool:
        """Bound a node, then close it or branch; False if the clock struck before either."""
        engine = self.engine
        self.look_at(node)
        best, settled = self.relax(node)
        if not settled:
            return False
        for _ in range(RECALLS):
            if best.value >= engine.target() or not recall(engine, node.restrictions):
                break
            if not engine.generated.converged and engine.clock.over():
                return False
            best = max(best, engine.generated.bound, key=lambda bound: bound.value)
        for _ in range(NODE_ROUNDS if engine.options.cuts else 0):
            before = best.value
            if before >= engine.target() or not cut_round(engine, node.restrictions, root=False):
                break
            if not engine.generated.converged and engine.clock.over():
                return False
            best = max(best, engine.generated.bound, key=lambda bound: bound.value)
            if best.value - before < LITTLE * (engine.target() - before):
                break
        value = max(node.bound, best.value)
        number = engine.run.progress.nodes
        useful = engine.pool is None or engine.far()
        if value < engine.target() and number % DIVE_EVERY == 0 and useful:
            self.dive(node.restrictions)
        argument = node.argument
        if argument is not None:
            argument.improve(best)
        if value < engine.target():
            value = max(value, self.enumerate(best, node.restrictions))
            if argument is not None and value >= engine.target():
                argument.bound, argument.listed = best, True
        value = engine.rounded(value)
        if value >= engine.target():
            return self.close(node, best.value)
        if engine.clock.over():
            return False
        relaxation = engine.generated.relaxation
        children = None if relaxation is None else self.choose(node, relaxation, value)
        if children is None and engine.pool is not None:
            value = max(value, self.settle(best, node.restrictions))
            if engine.clock.over() and value < engine.target():
                return False
            if value >= engine.target():
                return self.close(node, best.value)
        if children is None:
            self.leaves = min(self.leaves, value)
            return True
        arguments = (None, None) if argument is None else argument.branch(*children)
        listed = self.shorter(node, best)
        for child, of_child in zip(children, arguments, strict=True):
            self.serial += 1
            heapq.heappush(self.heap, Node(value, value, self.serial, child, of_child, listed))
        return True

    def close(self, node: Node, expected: float) -> bool:
        """Done with a node, for good or until the goal is higher.

        Its list says nothing of partitions from the goal on, whatever the bound over the list is.
        """
        goal = self.engine.goal
        if goal < self.engine.upper():
            bound = max(node.bound, goal)
            self.beyond.append(replace(node, expected=expected, bound=bound, listed=None))
        return True

    def look_at(self, node: Node) -> None:
        """Price over the clusters of the node's own list."""
        if self.whole is not None and node.listed is not None:
            self.engine.look_at(self.whole.part(node.listed))
        elif self.whole is not None:
            self.engine.look_at(self.whole)

    def shorter(self, node: Node, bound: Bound) -> NDArray[np.int32] | None:
        """The list for a node's children, by the reduced costs at the node."""
        pool = self.engine.pool
        if pool is None or bound.duals is None or self.stored > MOST_STORED:
            return node.listed
        gap = self.engine.target() - bound.value
        kept = pool.below(bound.duals, bound.cuts, node.restrictions, gap)
        if len(kept) > SHORTER * len(pool):
            return node.listed
        self.stored += len(kept)
        return kept.astype(np.int32) if node.listed is None else node.listed[kept]

    def dive(self, restrictions: Restrictions) -> None:
        """A dive from the node at hand, if others have not taken too much of the time."""
        begin = now()
        if self.dived <= DIVE_SHARE * (begin - self.began):
            dives(self.engine, 1, restrictions)
            self.dived += now() - begin

    def relax(self, node: Node) -> tuple[Bound, bool]:
        """Column generation under the node's decisions."""
        engine = self.engine
        master = engine.master
        if (master.artificial_costs > RAISED * self.artificials).any():
            master.price_artificials(self.artificials)
        self.forbid(node.restrictions, node.listed)
        engine.generated = engine.generate(node.restrictions, root=False)
        generated = engine.generated
        settled = generated.converged or generated.bound.value >= engine.target()
        return generated.bound, settled

    def forbid(self, restrictions: Restrictions, listed: NDArray[np.int32] | None = None) -> None:
        """Bound columns that break a decision or are not listed to 0, and how many clusters."""
        master = self.engine.master
        allowed = respecting(master.clusters, restrictions, master.types)
        if self.whole is not None and listed is not None:
            fresh = self.whole.places(master.clusters[len(self.places) :])
            self.places = np.concatenate([self.places, fresh])
            held = np.zeros(len(self.whole) + 1, dtype=bool)  # the last for what is on no list
            held[listed] = True
            allowed &= held[self.places]
        master.bound_columns(np.zeros(len(master)), np.where(allowed, np.inf, 0.0))
        master.bound_count(*restrictions.range_of_clusters(self.engine.problem.n, master.k))

    def try_child(self, old: Restrictions, child: Restrictions, upper: NDArray[np.float64]) -> None:
        """Apply what ``child`` decides beyond ``old``, whose bounds of columns are ``upper``."""
        master = self.engine.master
        more = Restrictions(child.apart[len(old.apart) :], child.together[len(old.together) :])
        allowed = respecting(master.clusters, more, master.types)
        master.bound_columns(np.zeros(len(master)), np.where(allowed, upper, 0.0))
        master.bound_count(*child.range_of_clusters(self.engine.problem.n, master.k))

    def enumerate(self, bound: Bound, restrictions: Restrictions) -> float:
        """Bound of the node after an attempt to list its clusters, where the gap is promising."""
        engine = self.engine
        gap = engine.target() - bound.value
        promising = LESS if engine.pool is None else LITTLE_LESS
        if not engine.options.enumeration or gap > promising * self.failed_gap:
            return bound.value
        value = finish_node(engine, bound, restrictions, NODE_COLUMNS, NODE_NODES)
        if value < engine.target():
            self.failed_gap = min(self.failed_gap, gap)
        return value

    def settle(self, bound: Bound, restrictions: Restrictions) -> float:
        """Bound of a node that no pair of single types divides, by a MIP over all its clusters."""
        engine = self.engine
        assert engine.pool is not None
        target, most = engine.target(), len(engine.pool)
        listed = list_clusters(
            engine.pricer, bound, target, engine.clock, most, restrictions, trials=1
        )
        if listed is None:
            return bound.value
        seconds = engine.clock.remaining()
        proven, _ = choose_from(engine, listed, bound, restrictions, MOST_NODES, seconds)
        return min(listed.cutoff, target, proven)

    def choose(self, node: Node, relaxation: Relaxation, value: float) -> Children | None:
        """The decision whose two children promise most; None if the relaxation is whole."""
        engine, master = self.engine, self.engine.master
        x = np.zeros(len(master))
        x[: len(relaxation.x)] = relaxation.x
        candidates = self.candidates(node.restrictions, relaxation, x)
        if len(candidates) < 2 or self.divides_sizes(candidates[0]):
            return candidates[0] if candidates else None
        best, best_score = candidates[0], -math.inf
        master.solve(engine.clock.remaining())
        basis = master.basis()
        upper = master.upper.copy()
        # Lifts beyond the target are all alike: that child is closed.
        most = max(engine.target() - value, 0.0)
        least = 1e-3 * most + 1e-6 * master.unit
        for children in candidates:
            if engine.clock.over():
                break
            lifts = [max(most, least)] * 2
            for c, child in enumerate(children):
                if lifts[0] * lifts[1] <= best_score:  # whatever the other child brings
                    break
                known = self.lifts.setdefault((decided(child, node.restrictions), c), [])
                if len(known) < RELIABLE:
                    self.try_child(node.restrictions, child, upper)
                    known.append(master.probe(ITERATIONS) - relaxation.value)
                    self.try_child(node.restrictions, node.restrictions, upper)
                    master.restore(basis)
                    lift = known[-1]
                else:
                    lift = sum(known) / len(known)
                lifts[c] = max(min(lift, most), least)
            score = lifts[0] * lifts[1]
            if score > best_score:
                best, best_score = children, score
        return best

    def divides_sizes(self, children: Children) -> bool:
        """Whether one child holds clusters of exactly k rows only, and the other cannot.

        Probes do not see what that means for lists and cuts, so this comes before them.
        """
        rows, k = self.engine.problem.n, self.engine.master.k
        many, few = (child.range_of_clusters(rows, k) for child in children)
        return many[0] * k == rows > few[1] * k

    def candidates(
        self, old: Restrictions, relaxation: Relaxation, x: NDArray[np.float64]
    ) -> list[Children]:
        """The number of clusters if it is fractional, and the most promising pairs."""
        master = self.engine.master
        found: list[Children] = []
        total = float(x.sum())
        fewest, most = old.range_of_clusters(self.engine.problem.n, master.k)
        between = fewest <= total <= most  # rounding may exceed the range, whose children are empty
        if between and min(total - math.floor(total), math.ceil(total) - total) > COUNT_FRACTION:
            found.append(
                (
                    replace(old, clusters=(math.ceil(total), most)),
                    replace(old, clusters=(fewest, math.floor(total))),
                )
            )
        pairs, weights = pair_weights(master.clusters, x)
        inner = (weights > 1e-6) & (weights < 1 - 1e-6)
        inner &= (self.engine.copies[pairs] == 1).all(axis=1)
        pairs, weights = pairs[inner], weights[inner]
        duals = np.maximum(relaxation.duals.types, 0.0)
        half = np.minimum(weights, 1 - weights)
        by_dual = np.argsort(-half * duals[pairs].min(axis=1), kind="stable")
        by_half = np.argsort(-half, kind="stable")
        for c in dict.fromkeys([*by_dual[: CANDIDATES - 2], *by_half[:2]]):
            pair = (int(pairs[c, 0]), int(pairs[c, 1]))
            found.append(
                (
                    replace(old, together=(*old.together, pair)),
                    replace(old, apart=(*old.apart, pair)),
                )
            )
        return found


def decided(child: Restrictions, node: Restrictions) -> object:
    """What a child decides beyond its node: a pair, or how many clusters there may be."""
    pairs = child.together[len(node.together) :] + child.apart[len(node.apart) :]
    return pairs or child.clusters


def pair_weights(
    clusters: NDArray[np.int32], x: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Σ_{C∋i,j} x_C for the pairs i < j that share a column in use.

    >>> pairs, weights = pair_weights(np.array([[0, 1, -1], [0, 1, 2]], np.int32), np.full(2, 0.5))
    >>> pairs.tolist(), weights.tolist()
    ([[0, 1], [0, 2], [1, 2]], [1.0, 0.5, 0.5])
    """
    used = np.flatnonzero(x > 1e-9)
    rows = np.sort(clusters[used].astype(np.int64), axis=1)
    first, second = np.triu_indices(rows.shape[1], 1)
    left, right = rows[:, first].ravel(), rows[:, second].ravel()
    weight = np.repeat(x[used], len(first))
    inside = left >= 0
    both = np.column_stack([left[inside], right[inside]])
    pairs, where = np.unique(both, axis=0, return_inverse=True)
    total = np.zeros(len(pairs))
    np.add.at(total, where.ravel(), weight[inside])
    return pairs, total


def branch(engine: Engine, saved: SavedTree | None = None) -> None:
    """Search the tree, from where a saved one stopped."""
    if not engine.frontier:
        engine.frontier, engine.leaves = [(engine.lower, engine.lower, engine.links)], math.inf
    Tree(engine, saved).search()
