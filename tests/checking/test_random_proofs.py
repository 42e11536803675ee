"""Random proofs, most of them false, against every partition that each step speaks of.

Duals are those of a linear program over all clusters but one, so that a checker which overlooks
that one accepts more than is true.
"""

from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import oracles
import pytest
from scipy.optimize import linprog
from sizes import how_many

from kanopy.checking import CertificateError
from kanopy.checking.certificate import Branch, Certificate, Duals, Leaf, Listing, Step
from kanopy.checking.proof import _Proof
from kanopy.checking.whole import exact_cost

COSTS = ("sse", "hamming", "range")

Cluster = tuple[int, ...]


@dataclass(frozen=True)
class Scope:
    """Decisions on the way to a step, as this module understands them."""

    fewest: int
    most: int
    together: tuple[tuple[int, int], ...] = ()
    apart: tuple[tuple[int, int], ...] = ()
    listed: frozenset[Cluster] | None = None
    sides: tuple[tuple[Cluster, int, bool], ...] = ()

    def allows(self, cluster):
        held = set(cluster)
        if any((a in held) != (b in held) for a, b in self.together):
            return False
        if any(a in held and b in held for a, b in self.apart):
            return False
        return self.listed is None or cluster in self.listed

    def holds(self, partition):
        if not self.fewest <= len(partition) <= self.most:
            return False
        for rows, side, lower in self.sides:
            number = sum(contains(cluster, rows) for cluster in partition)
            if number < side if lower else number > side:
                return False
        return all(map(self.allows, partition))


def contains(cluster, rows):
    return all(cluster.count(t) >= times for t, times in Counter(rows).items())


class RandomProof:
    """A certificate of random steps for one tiny table, and the scope of each."""

    def __init__(self, rng, cost):
        self.rng, self.cost = rng, cost
        self.k = int(rng.integers(2, 4))
        self.data = data = oracles.random_instance(rng, cost, int(rng.integers(self.k, 9)))
        if rng.random() < 0.4:
            self.data = data = data.restrict(rng.integers(0, data.n // 2 + 1, data.n))
        self.merged = bool(rng.random() < 0.5)
        types = data.types if self.merged else np.arange(data.n)
        self.copies = data.counts if self.merged else np.ones(data.n, dtype=np.int64)
        self.costs: dict[Cluster, Fraction] = {}
        self.partitions = []
        for blocks in oracles.all_partitions(data.n, self.k):
            if max(map(len, blocks)) < 2 * self.k:
                self.partitions.append([tuple(sorted(types[list(b)].tolist())) for b in blocks])
                for cluster, block in zip(self.partitions[-1], blocks, strict=True):
                    if cluster not in self.costs:
                        one = np.zeros(len(block), dtype=np.int64)
                        self.costs[cluster] = exact_cost(data.restrict(np.array(block)), one, cost)
        self.optimum = min(map(self.total, self.partitions))
        self.top = float(max(self.costs.values())) or 1.0
        self.bits = int(rng.integers(8, 30)) - int(np.frexp(self.top)[1])
        self.cuts = [
            (
                tuple(rng.choice(self.types, size, replace=bool(size % 2)).tolist()),
                int(rng.integers(2, 6)),
            )
            for size in rng.integers(1, self.types + 1, int(rng.choice([0, 0, 1, 2]))).tolist()
        ]
        self.steps: list[Step | None] = []
        self.scopes: list[Scope] = []
        self.add(Scope(0, data.n // self.k), 0)

    @property
    def types(self):
        return len(self.copies)

    def certificate(self):
        steps = [step for step in self.steps if step is not None]
        table = self.data.fingerprint
        return Certificate(table, self.k, self.cost, [], self.merged, self.bits, self.cuts, steps)

    def add(self, scope, depth):
        """Number of a new step."""
        rng, number = self.rng, len(self.steps)
        self.steps.append(None)
        self.scopes.append(scope)
        if depth < 3 and rng.random() < 0.35:
            rows, most, less, more = self.decision(scope)
            children = (self.add(less, depth + 1), self.add(more, depth + 1))
            self.steps[number] = Branch(rows, most, *children)
        elif scope.listed is None and rng.random() < 0.5:
            duals = self.duals(scope)
            below = self.units(float(self.optimum) * rng.choice([1.0, 1.0, 1.1]))
            room = below - self.value(duals, scope)
            left = frozenset(
                c for c in self.costs if scope.allows(c) and self.reduced(duals, c) < room
            )
            then = self.add(replace(scope, listed=left), depth)
            self.steps[number] = Listing(duals, below, then)
        else:
            self.steps[number] = Leaf(self.duals(scope))
        return number

    def decision(self, scope):
        rng = self.rng
        single = np.flatnonzero(self.copies == 1)
        if scope.listed is not None:
            rows = tuple(rng.integers(self.types, size=int(rng.integers(1, 4))).tolist())
            most = int(rng.integers(-1, 3))
            less = replace(scope, sides=(*scope.sides, (rows, most, False)))
            return rows, most, less, replace(scope, sides=(*scope.sides, (rows, most + 1, True)))
        if len(single) < 2 or rng.random() < 0.3:
            most = int(rng.integers(-1, self.data.n // self.k + 1))
            less = replace(scope, most=min(scope.most, most))
            return (), most, less, replace(scope, fewest=max(scope.fewest, most + 1))
        a, b = pair = tuple(rng.choice(single, 2, replace=False).tolist())
        less = replace(scope, apart=(*scope.apart, (a, b)))
        return pair, 0, less, replace(scope, together=(*scope.together, (a, b)))

    def units(self, value):
        return int(np.floor(np.ldexp(value, self.bits)))

    def duals(self, scope):
        """Whole duals that are right for all clusters, or for all but one of the best partition."""
        rng = self.rng
        count = float(rng.normal()) * self.top * (rng.random() < 0.2)
        cuts = [(c, self.units(-rng.random() * self.top)) for c in range(len(self.cuts))]
        sides = [
            self.units(rng.random() * self.top) * (1 if lower else -1) * int(rng.random() < 0.7)
            for _, _, lower in scope.sides
        ]
        duals = Duals([0] * self.types, self.units(count), cuts, sides)
        clusters = [c for c in self.costs if scope.allows(c)]
        types = self.tight(duals, scope, clusters)
        cheapest = self.cheapest(scope)
        if cheapest and rng.random() < 0.5:  # a little or far beyond one of its clusters
            clusters.remove(cheapest[rng.integers(len(cheapest))])
            further = self.tight(duals, scope, clusters)
            types += rng.choice([0.01, 0.1, 1.0]) * (further - types)
        return replace(duals, types=[self.units(u) - 4 for u in types])

    def tight(self, duals, scope, clusters):
        """Duals of types with the largest value that is right for these clusters."""
        if not clusters:
            return np.full(self.types, self.top)
        unit = 2.0**-self.bits
        solved = linprog(
            -self.copies.astype(float),
            A_ub=[[c.count(t) for t in range(self.types)] for c in clusters],
            b_ub=[float(self.reduced(duals, c, scope)) * unit for c in clusters],
            bounds=[(-20 * self.top, 4 * self.top)] * self.types,
        )
        return np.zeros(self.types) if solved.x is None else solved.x

    def inside(self, members, divisor, cluster):
        return sum(members.count(t) for t in cluster) // divisor

    def reduced(self, duals, cluster, scope=None):
        value = self.costs[cluster] * Fraction(2) ** self.bits - duals.count
        value -= sum(duals.types[t] for t in cluster)
        value -= sum(dual * self.inside(*self.cuts[c], cluster) for c, dual in duals.cuts)
        if scope is not None:
            for dual, (rows, _, _) in zip(duals.branches, scope.sides, strict=True):
                value -= dual * contains(cluster, rows)
        return value

    def value(self, duals, scope):
        value = sum(int(c) * u for c, u in zip(self.copies, duals.types, strict=True))
        value += min(duals.count * scope.fewest, duals.count * scope.most)
        for c, dual in duals.cuts:
            members, divisor = self.cuts[c]
            value += dual * (int(self.copies[list(members)].sum()) // divisor)
        return value + sum(d * s for d, (_, s, _) in zip(duals.branches, scope.sides, strict=True))

    def least(self, scope):
        """Cost of the cheapest partition in scope, None if there is none."""
        best = self.cheapest(scope)
        return None if best is None else self.total(best)

    def cheapest(self, scope):
        return min(filter(scope.holds, self.partitions), key=self.total, default=None)

    def total(self, partition):
        return sum(self.costs[cluster] for cluster in partition)


@pytest.mark.parametrize("cost", COSTS)
def test_no_accepted_step_says_too_much(cost):
    accepted = false = 0
    for seed in range(how_many(60, 3000)):
        given = RandomProof(np.random.default_rng([seed, COSTS.index(cost)]), cost)
        wrong = False
        for step, scope in zip(given.steps, given.scopes, strict=True):
            least = given.least(scope)
            if isinstance(step, Leaf) and least is not None:
                value = Fraction(given.value(step.duals, scope)) / Fraction(2) ** given.bits
                wrong |= value > least
        false += wrong
        try:
            # not check, which also compares with a partition and so would hide mistakes
            bound = _Proof(given.certificate(), given.data).bound()
        except CertificateError:
            continue
        accepted += 1
        assert not wrong, seed
        assert bound <= given.optimum, seed
    assert min(accepted, false) > 2
