"""Branch and bound on a choice program, with its relaxation kept warm.

A node is a set of options and values that are left. At each node the relaxation is solved for
these, what its prices rule out is dropped and propagated, and the options of an undecided group are
split into two halves of about equal share, in their order. That is the group of largest
:class:`Spread`. The better half is looked at next; the other one waits until it has the least
bound, rounded up where objectives are, and the last to come is the first among equals.

The tree is small where a mixed-integer solver's own effort at every node, cuts and trial branches,
would take most of the time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from heapq import heappop, heappush
from itertools import count
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from kanopy.solvers.frequency.live import LiveLinear
from kanopy.solvers.frequency.program import Floats, Ints, Mask, Program
from kanopy.solvers.frequency.propagation import Propagation
from kanopy.solvers.frequency.relaxation import Relaxation

MANY_DROPPED = 0.9
"""A node is relaxed again if no more than this part of its options is left."""
LEAST_SPREAD = 1e-6
"""Spread of a group by its undecided shares alone."""


class Incumbent(Protocol):
    """What the tree shares with the search that it is part of."""

    limit: float

    def rounded(self, bound: float, /) -> float:
        """The least objective that a solution can have, no smaller than a bound."""

    def offer(self, numbers: Ints | None) -> None:
        """Keep a solution if it is better."""

    def prove(self, bound: float) -> None:
        """Raise the lower bound."""

    def hopeless(self, bound: float) -> bool:
        """Whether solutions that cost so much are of no interest."""

    def stopping(self, nodes: int = 0) -> bool:
        """Count nodes, and say whether it is time to end."""


@dataclass(frozen=True, eq=False)
class Node:
    """What is left to choose from, and a bound of it."""

    bound: float
    options: Mask
    values: Mask


class Spread:
    r"""What it costs on average that a group is undecided, by its shares.

    Let each group choose by itself, each option with its share as probability. The values of the
    sums are right on average, but a convex cost charges for their variance, a sum over groups,

    .. math:: \text{spread}_g = \sum_c w_c \Bigl(\sum_o a_{co}^2 x_o
        - \bigl(\sum_o a_{co} x_o\bigr)^2\Bigr),

    over the options o of the group with amounts a and shares x. The factor w is the second divided
    difference of the cost of sum c, 1/goal for a χ² term. The relaxation charges for none of it, so
    this says how much the bound may rise once the group is decided.
    """

    def __init__(self, program: Program) -> None:
        entries = program.amount.tocoo()
        sums, options = (part.astype(np.int64) for part in entries.coords)
        amount = entries.data.astype(np.float64)
        factor = np.array([_curvature(program, c) for c in range(program.sums)])
        self.owner, self.groups = program.owner, program.groups
        self.square = np.bincount(options, factor[sums] * amount**2, minlength=len(program.cost))
        pairs, pair = np.unique(sums * self.groups + self.owner[options], return_inverse=True)
        shape = len(pairs), len(program.cost)
        self.amount = sp.csr_array((amount, (pair, options)), shape=shape)
        self.factor, self.group = factor[pairs // self.groups], pairs % self.groups

    def of(self, share: Floats) -> Floats:
        """Spread of every group."""
        squares = np.bincount(self.owner, self.square * share, minlength=self.groups)
        means = self.factor * (self.amount @ share) ** 2
        return np.asarray(squares - np.bincount(self.group, means, minlength=self.groups))


def _curvature(program: Program, c: int) -> float:
    """Second divided difference of the cost of a sum over its least, cheapest and largest value."""
    part = slice(program.sum_start[c], program.sum_start[c + 1])
    value, cost = program.sum_value[part], program.sum_cost[part]
    if len(value) < 3:
        return 0.0
    middle = min(max(int(np.argmin(cost)), 1), len(value) - 2)
    left = (cost[middle] - cost[0]) / (value[middle] - value[0])
    right = (cost[-1] - cost[middle]) / (value[-1] - value[middle])
    return float((right - left) / (value[-1] - value[0]))


class Tree:
    """Branch and bound on the program of a relaxation."""

    def __init__(self, relaxation: Relaxation, live: LiveLinear, incumbent: Incumbent) -> None:
        self.relaxation, self.live, self.incumbent = relaxation, live, incumbent
        self.program = relaxation.program
        self.owner = self.program.owner
        self.columns = np.concatenate([np.zeros(0, dtype=np.int64), *relaxation.values])
        lengths = np.array([len(positions) for positions in relaxation.values], dtype=np.int64)
        coarse = lengths < np.diff(self.program.sum_start)[relaxation.sums]
        self.shared = np.repeat(coarse, lengths)  # a column for more values than its own stays
        self.propagation = Propagation(self.program)
        self.spread = Spread(self.program)
        self.least_pruned = np.inf

    def search(self, most_nodes: int) -> bool:
        """Search all nodes; False if stopped before, or if there are more than so many."""
        incumbent, ties = self.incumbent, count()
        waiting: list[tuple[float, int, Node]] = []
        node: Node | None = Node(
            -np.inf,
            np.ones(len(self.program.cost), dtype=np.bool_),
            np.ones(len(self.program.sum_value), dtype=np.bool_),
        )
        while node is not None or waiting:
            if node is None:
                node = heappop(waiting)[2]
            others = min(self.least_pruned, waiting[0][0] if waiting else np.inf)
            incumbent.prove(min(node.bound, others))
            if incumbent.stopping(nodes=1) or most_nodes == 0:
                return False
            most_nodes -= 1
            if incumbent.hopeless(node.bound):
                self.prune(node.bound)
                node = None
                continue
            halves = self.halves(node)
            node = halves[0] if halves else None
            for half in halves[1:]:
                heappush(waiting, (incumbent.rounded(half.bound), -next(ties), half))
        incumbent.prove(min(self.least_pruned, incumbent.limit))
        return True

    def prune(self, bound: float) -> None:
        """Drop a node that cannot lead to anything noticeably better."""
        self.least_pruned = min(self.least_pruned, bound)

    def halves(self, node: Node) -> list[Node]:
        """The two halves of a node, the better one first; none if it is settled."""
        options, values, bound = node.options.copy(), node.values.copy(), node.bound
        while self.propagation.drop(options, values):
            columns = np.ones(len(self.relaxation.owner), dtype=np.bool_)
            columns[: len(options)] = options
            columns[len(options) : len(options) + len(self.columns)] = (
                values[self.columns] | self.shared
            )
            self.live.open(columns)
            point = self.live.solve(partial(self.relaxation.refuted, open_columns=columns))
            if point is None:
                return []
            found, excess = self.relaxation.lagrangian(point.duals, columns)
            bound = max(bound, found)
            if self.incumbent.hopeless(bound):
                self.prune(bound)
                return []
            before = int(options.sum())
            kept = self.relaxation.within(self.incumbent.limit, found, excess)
            options &= kept[0]
            values &= kept[1]
            if options.sum() > MANY_DROPPED * before:
                if not self.propagation.drop(options, values):
                    return []
                return self.split(bound, options, values, point.x[: len(options)])
        return []

    def split(self, bound: float, options: Mask, values: Mask, share: Floats) -> list[Node]:
        """Two nodes that differ in the options of one group."""
        self.incumbent.offer(self.relaxation.options(share))
        groups = self.program.groups
        left = np.bincount(self.owner[options], minlength=groups)
        if (left == 1).all():
            self.incumbent.offer(self.relaxation.options(options.astype(np.float64)))
            return []
        undecided = np.bincount(self.owner, np.minimum(share, 1 - share), minlength=groups)
        # where costs are straight lines or shares are whole, no group has a spread
        score = np.maximum(self.spread.of(share), 0.0) + LEAST_SPREAD * undecided
        group = int(np.argmax(np.where(left > 1, score, -1.0)))
        own = np.flatnonzero(options & (self.owner == group))
        up_to = np.cumsum(share[own])[:-1]
        cut = int(np.argmin(np.abs(up_to - 0.5)))
        halves = [own[: cut + 1], own[cut + 1 :]]
        if up_to[cut] < 0.5:
            halves.reverse()
        nodes = []
        for half in halves:
            rest = options & (self.owner != group)
            rest[half] = True
            nodes.append(Node(bound, rest, values.copy()))
        return nodes
