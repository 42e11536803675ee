"""Ryan–Foster branching: a pair of rows is kept together in one child and apart in the other.

Some optimal partition has clusters of k … 2k−1 rows only, and follows one child at each node, so
the least bound over the open nodes bounds the optimum though nodes only know such clusters. If the
relaxation is fractional a pair with 0 < Σ_{C∋i,j} x_C < 1 exists: two different columns that share
a row differ in another. Cuts are valid for every partition and stay for all nodes.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kanopy.solvers.branch_and_price.column_generation import Bound
from kanopy.solvers.branch_and_price.components import components
from kanopy.solvers.branch_and_price.engine import Engine
from kanopy.solvers.branch_and_price.master import Relaxation
from kanopy.solvers.branch_and_price.pricing import Restrictions

CANDIDATES = 8
"""Pairs that strong branching looks at."""

ITERATIONS = 200
"""Dual simplex iterations per child in strong branching."""

NODE_COLUMNS = 1500
"""Columns up to which a node is left to a MIP: beyond, branching once more is faster."""

Pair = tuple[int, int]


@dataclass(order=True)
class Node:
    """Decisions on pairs, and a bound of all partitions that respect them."""

    bound: float
    serial: int
    restrictions: Restrictions = field(compare=False)


class Tree:
    """Best-bound search over the nodes of one engine."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.serial = 0
        self.heap = [Node(engine.lower, 0, engine.links)]
        self.leaves = math.inf  # least bound of nodes closed short of the target by rounding
        self.failed_gap = math.inf

    def search(self) -> None:
        """Process nodes until the gap is closed or the run stops."""
        engine = self.engine
        while self.heap and not engine.clock.over():
            node = heapq.heappop(self.heap)
            if node.bound >= engine.target():
                break
            finished = self.process(node)
            if not finished:
                heapq.heappush(self.heap, node)
                break
            self.report()
        if not engine.clock.over() or not self.heap:
            self.report()
        engine.master.bound_columns(
            np.zeros(len(engine.master)), np.full(len(engine.master), np.inf)
        )

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
        best, settled = self.relax(node)
        if not settled:
            return False
        value = max(node.bound, best.value)
        if value < engine.target() and engine.options.cuts:
            for _ in range(2):
                before = best.value
                if not engine.cut_round(node.restrictions, root=False):
                    break
                if not engine.generated.converged and engine.clock.over():
                    return False
                if engine.generated.bound.value > best.value:
                    best = engine.generated.bound
                value = max(value, best.value)
                if value >= engine.target() or best.value - before < 0.1 * (
                    engine.target() - before
                ):
                    break
        if value < engine.target():
            value = max(value, self.enumerate(best, node.restrictions))
        value = engine.rounded(value)
        if value >= engine.target():
            return True
        if engine.clock.over():
            return False
        relaxation = engine.generated.relaxation
        pair = None if relaxation is None else self.choose_pair(node, relaxation)
        if pair is None:
            self.leaves = min(self.leaves, value)
            return True
        self.branch(node, pair, value)
        return True

    def relax(self, node: Node) -> tuple[Bound, bool]:
        """Column generation under the node's decisions."""
        engine = self.engine
        self.forbid(node.restrictions)
        engine.generated = engine.generate(node.restrictions, root=False)
        generated = engine.generated
        settled = generated.converged or generated.bound.value >= engine.target()
        return generated.bound, settled

    def forbid(self, restrictions: Restrictions) -> None:
        """Bound the columns that break a decision to 0."""
        master = self.engine.master
        closed = components(restrictions, master.types)
        allowed = closed.allows(master.clusters)
        master.bound_columns(np.zeros(len(master)), np.where(allowed, np.inf, 0.0))

    def enumerate(self, bound: Bound, restrictions: Restrictions) -> float:
        """Bound of the node after an attempt to list its clusters, where the gap is promising."""
        engine = self.engine
        gap = engine.target() - bound.value
        if not engine.options.enumeration or gap > 0.8 * self.failed_gap:
            return bound.value
        value = engine.finish_node(bound, restrictions, NODE_COLUMNS, 20.0)
        if value <= bound.value:
            self.failed_gap = min(self.failed_gap, gap)
        return value

    def branch(self, node: Node, pair: Pair, value: float) -> None:
        """Two children."""
        old = node.restrictions
        for child in (
            Restrictions(old.apart, (*old.together, pair)),
            Restrictions((*old.apart, pair), old.together),
        ):
            self.serial += 1
            heapq.heappush(self.heap, Node(value, self.serial, child))

    def choose_pair(self, node: Node, relaxation: Relaxation) -> Pair | None:
        """The pair whose two children promise most, by a few dual simplex iterations each."""
        master = self.engine.master
        x = np.zeros(len(master))
        x[: len(relaxation.x)] = relaxation.x
        pairs, weights = pair_weights(master.clusters, x)
        inner = (weights > 1e-6) & (weights < 1 - 1e-6)
        pairs, weights = pairs[inner], weights[inner]
        if len(pairs) == 0:
            return None
        duals = np.maximum(relaxation.duals.types, 0.0)
        half = np.minimum(weights, 1 - weights)
        by_dual = np.argsort(-half * duals[pairs].min(axis=1), kind="stable")
        by_half = np.argsort(-half, kind="stable")
        chosen = list(dict.fromkeys([*by_dual[: CANDIDATES - 2], *by_half[:2]]))
        if len(chosen) == 1:
            return int(pairs[chosen[0], 0]), int(pairs[chosen[0], 1])
        best, best_score = chosen[0], -math.inf
        master.solve(self.engine.clock.remaining())
        basis = master.basis()
        upper = master.upper.copy()
        zero = np.zeros(len(master))
        for c in chosen:
            if self.engine.clock.over():
                break
            first = (master.clusters == pairs[c, 0]).any(axis=1)
            second = (master.clusters == pairs[c, 1]).any(axis=1)
            lifts = []
            for broken in (first & second, first != second):
                master.bound_columns(zero, np.where(broken, 0.0, upper))
                lifts.append(max(master.probe(ITERATIONS) - relaxation.value, 0.0))
                master.bound_columns(zero, upper)
                master.restore(basis)
            unit = 1e-3 * master.unit
            score = max(lifts[0], unit) * max(lifts[1], unit)
            if score > best_score:
                best, best_score = c, score
        return int(pairs[best, 0]), int(pairs[best, 1])


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
