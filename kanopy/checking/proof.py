"""Check a certificate against its table: the partition, and the bound step by step.

For duals u of the types, μ of the number of clusters, σ ≤ 0 of the cuts and τ of branches, whose
reduced costs are all ≥ 0, every partition P that a step speaks of costs

    Σ_{C∈P} cost(C) ≥ Σ copies·u + μ|P| + Σ_T σ_T Σ_{C∈P} ⌊|C∩T|/q_T⌋ + Σ_B τ_B·|{C∈P: B ⊆ C}|
                    ≥ Σ copies·u + min(μ·fewest, μ·most) + Σ_T σ_T ⌊|T|/q_T⌋ + Σ_B τ_B·side_B:

the sums over P count every row once, at most ⌊|T|/q⌋ multiples of q rows of T exist, and τ is ≤ 0
where a branch says "at most", ≥ 0 where it says "at least". A partition that holds a cluster of
reduced cost r costs r more than that, which is what a ``list`` step uses.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import gcd

import numpy as np
from numpy.typing import NDArray

from kanopy.checking.certificate import (
    Branch,
    Certificate,
    CertificateError,
    Duals,
    Leaf,
    Listing,
)
from kanopy.checking.search import Allowed, Costs, Cut, Prices
from kanopy.checking.whole import exact_cost, largest_entry
from kanopy.instances.microdata import Microdata

OPTIMAL = Fraction(1, 10**6)
"""Relative gap up to which a partition is called optimal."""

MOST_TYPES = 10_000
"""Types up to which pairs are tabulated."""

MOST_LISTED = 1_000_000
"""Clusters that a ``list`` step may leave."""


@dataclass(frozen=True)
class Checked:
    """What a certificate proves: the partition's exact cost, and a lower bound of every one's."""

    objective: Fraction
    bound: Fraction | None
    leaves: int

    @property
    def optimal(self) -> bool:
        """Whether the two are close enough to call the partition optimal."""
        return self.bound is not None and self.objective - self.bound <= OPTIMAL * self.objective

    def __str__(self) -> str:
        if self.bound is None:
            return f"objective {float(self.objective):.10g} is right; no bound is claimed"
        verdict = "optimal" if self.optimal else "not proven optimal"
        return (
            f"objective {float(self.objective):.10g}, proven bound {float(self.bound):.10g}: "
            f"{verdict} ({self.leaves} leaves)"
        )


@dataclass(frozen=True, eq=False)
class Pool:
    """The clusters that a ``list`` step leaves, F·cost of each, and the branches since."""

    clusters: list[tuple[int, ...]]
    times_costs: list[int]
    branches: tuple[tuple[frozenset[tuple[int, int]], int, bool], ...] = ()
    """Types with their numbers, a side, and whether it is a lower one."""


@dataclass(frozen=True, eq=False)
class Scope:
    """The partitions that a step speaks of."""

    fewest: int
    most: int
    allowed: Allowed = field(default_factory=Allowed)
    pool: Pool | None = None


def check(certificate: Certificate, data: Microdata) -> Checked:
    """What the certificate proves about the table; raises if any part of it is wrong.

    Examples
    --------
    >>> import kanopy as kn
    >>> data = kn.example("testdata")
    >>> print(check(Certificate(data.fingerprint, 3, "sse", [0, 0, 0, 1, 1, 1]), data))
    objective 48 is right; no bound is claimed
    """
    if certificate.instance != data.fingerprint:
        raise CertificateError("the certificate belongs to another table, or reads it differently")
    needed = {"sse": "numeric", "hamming": "nominal", "range": data.kind}
    if needed.get(certificate.cost) != data.kind:
        raise CertificateError(f"cost {certificate.cost!r} is not defined on this table")
    labels = _labels(certificate, data)
    objective = exact_cost(data, labels, certificate.cost)
    if not certificate.steps:
        return Checked(objective, None, 0)
    if data.strata is not None:
        raise CertificateError("the table has strata; a bound is only checked for tables without")
    walker = _Proof(certificate, data)
    try:
        bound = walker.bound()
    except RecursionError as error:
        raise CertificateError(f"clusters of k = {certificate.k} rows are too large") from error
    if bound > objective:
        raise CertificateError("the bound is above the cost of the partition: the proof is wrong")
    return Checked(objective, bound, walker.leaves)


def _labels(certificate: Certificate, data: Microdata) -> NDArray[np.int64]:
    if not 2 <= certificate.k <= data.n:
        raise CertificateError(f"k = {certificate.k} for {data.n} rows")
    if len(certificate.labels) != data.n:
        raise CertificateError(f"{len(certificate.labels)} labels for {data.n} rows")
    if min(certificate.labels) < 0 or max(certificate.labels) >= data.n:
        raise CertificateError("labels must be 0, 1, 2, …")
    labels = np.array(certificate.labels, dtype=np.int64)
    sizes = np.bincount(labels)
    if sizes.min() < certificate.k:
        raise CertificateError(f"a class has {sizes.min()} rows, fewer than k = {certificate.k}")
    of_row = data.stratum_of_row.tolist()
    strata = {(label, s) for label, s in zip(labels.tolist(), of_row, strict=True)}
    if len(strata) > len(sizes):
        raise CertificateError("a class crosses strata")
    return labels


class _Proof:
    """The steps of one certificate."""

    def __init__(self, certificate: Certificate, data: Microdata) -> None:
        self.certificate = certificate
        self.k, self.n = certificate.k, data.n
        if certificate.merged:
            rows, copies = data.first_rows, data.counts
            same = (data.X[rows][data.types] == data.X).all()
            if not (same and (data.codes == data.codes[rows][data.types]).all()):
                raise CertificateError("rows of one type differ")
        else:
            rows, copies = np.arange(data.n), np.ones(data.n, dtype=np.int64)
        if len(rows) > MOST_TYPES:
            raise CertificateError(f"{len(rows)} types; bounds are checked up to {MOST_TYPES}")
        if not -2000 <= certificate.bits <= 2000:
            raise CertificateError(f"units of 2^−{certificate.bits} are out of range")
        self.copies = copies
        largest = min(2 * self.k - 1, self.n)
        self.costs = Costs(data, rows, copies, certificate.cost, certificate.bits, largest)
        self.most_dual = largest_entry(largest)
        self.step = _common_step(data, certificate.cost)
        self.cuts = [self._cut(cut) for cut in certificate.cuts]
        self.leaves = 0

    def bound(self) -> Fraction:
        """The bound that the tree below step 0 proves."""
        least: int | None = None
        open_steps = [(0, Scope(0, self.n // self.k))]
        seen: set[int] = set()
        while open_steps:
            number, scope = open_steps.pop()
            if number in seen or not 0 <= number < len(self.certificate.steps):
                raise CertificateError(f"step {number} does not exist, or is reached twice")
            seen.add(number)
            step = self.certificate.steps[number]
            if scope.fewest > scope.most:
                continue  # no such partition
            if isinstance(step, Branch):
                less, more = self._branch(step, scope)
                open_steps += [(step.less, less), (step.more, more)]
                continue
            self.leaves += 1
            value = self._value(step.duals, scope)
            if isinstance(step, Leaf):
                self._no_negative(step.duals, scope)
            else:
                self._no_negative(step.duals, scope)
                pool = self._listed(step, scope, value)
                open_steps.append((step.then, replace(scope, pool=pool)))
                value = step.below
            least = value if least is None else min(least, value)
        if least is None:
            raise CertificateError("the proof has no leaf")
        return self._rounded_up(Fraction(least) / Fraction(2) ** self.certificate.bits)

    def _rounded_up(self, bound: Fraction) -> Fraction:
        """To the next multiple of the number that divides all costs, if there is one."""
        return bound if self.step == 0 else -(-bound // self.step) * Fraction(self.step)

    def _cut(self, cut: Cut) -> Cut:
        members, divisor = cut
        inside = all(0 <= x < len(self.copies) for x in members)
        if divisor < 2 or not inside:
            raise CertificateError("a cut needs members that exist and a divisor of 2 or more")
        return cut

    def _branch(self, step: Branch, scope: Scope) -> tuple[Scope, Scope]:
        """The two parts of a scope."""
        if not step.rows:
            return (
                replace(scope, most=min(scope.most, step.most)),
                replace(scope, fewest=max(scope.fewest, step.most + 1)),
            )
        if min(step.rows) < 0 or max(step.rows) >= len(self.copies):
            raise CertificateError("a branch names a row that does not exist")
        if scope.pool is not None:
            wanted = frozenset(Counter(step.rows).items())
            before = scope.pool.branches
            less = replace(scope.pool, branches=(*before, (wanted, step.most, False)))
            more = replace(scope.pool, branches=(*before, (wanted, step.most + 1, True)))
            return replace(scope, pool=less), replace(scope, pool=more)
        single = len(set(step.rows)) == 2 == len(step.rows)
        if not single or step.most != 0 or self.copies[list(step.rows)].max() > 1:
            raise CertificateError("before a list, a branch is on two single rows")
        a, b = step.rows
        groups, apart = dict(scope.allowed.groups), dict(scope.allowed.apart)
        both = groups.get(a, frozenset([a])) | groups.get(b, frozenset([b]))
        groups |= dict.fromkeys(both, both)
        apart[a] = apart.get(a, frozenset()) | {b}
        apart[b] = apart.get(b, frozenset()) | {a}
        return (
            replace(scope, allowed=Allowed(scope.allowed.groups, apart)),
            replace(scope, allowed=Allowed(groups, scope.allowed.apart)),
        )

    def _value(self, duals: Duals, scope: Scope) -> int:
        """The bound that duals give, in units, if no reduced cost is negative."""
        if len(duals.types) != len(self.copies):
            raise CertificateError(f"{len(duals.types)} duals for {len(self.copies)} types")
        largest = max(map(abs, [*duals.types, duals.count, *duals.branches]))
        if max(largest, sum(abs(d) for _, d in duals.cuts)) > self.most_dual:
            raise CertificateError("duals are too large to be checked safely")
        value = sum(int(c) * u for c, u in zip(self.copies, duals.types, strict=True))
        value += min(duals.count * scope.fewest, duals.count * scope.most)
        numbers = [number for number, _ in duals.cuts]
        if len(set(numbers)) != len(numbers):
            raise CertificateError("a cut has two duals")
        for number, dual in duals.cuts:
            if not 0 <= number < len(self.cuts) or dual > 0:
                raise CertificateError("the dual of a cut must be ≤ 0 and its cut exist")
            members, divisor = self.cuts[number]
            value += dual * (int(self.copies[list(members)].sum()) // divisor)
        branches = scope.pool.branches if scope.pool is not None else ()
        if len(duals.branches) != len(branches):
            raise CertificateError(f"{len(duals.branches)} duals for {len(branches)} branches")
        for dual, (_, side, lower) in zip(duals.branches, branches, strict=True):
            if (dual < 0) == lower and dual != 0:
                raise CertificateError("the dual of a branch has the wrong sign")
            value += dual * side
        return value

    def _no_negative(self, duals: Duals, scope: Scope) -> None:
        """Raise if a cluster in scope has a negative reduced cost."""
        if scope.pool is not None:
            least = min(self._reduced(duals, scope.pool), default=0)
            if least < 0:
                raise CertificateError("a listed cluster has a negative reduced cost")
            return
        for size in self._sizes(scope):
            for _ in self.costs.search(self._prices(duals), scope.allowed, size, 0):
                raise CertificateError(f"a cluster of {size} rows has a negative reduced cost")

    def _listed(self, step: Listing, scope: Scope, value: int) -> Pool:
        """The clusters whose reduced cost is less than what ``below`` leaves."""
        room = step.below - value
        if room > self.most_dual:
            raise CertificateError("a list reaches too far to be checked safely")
        if scope.pool is not None:
            raise CertificateError("a list within a list")
        clusters: list[tuple[int, ...]] = []
        for size in self._sizes(scope) if room > 0 else ():
            threshold = room * self.costs.factor(size)
            for cluster in self.costs.search(
                self._prices(step.duals), scope.allowed, size, threshold
            ):
                clusters.append(cluster)
                if len(clusters) > MOST_LISTED:
                    raise CertificateError(f"a list leaves more than {MOST_LISTED} clusters")
        return Pool(clusters, [self.costs.times_cost(cluster) for cluster in clusters])

    def _prices(self, duals: Duals) -> Prices:
        cuts = tuple((self.cuts[number], dual) for number, dual in duals.cuts if dual < 0)
        return Prices(np.array(duals.types, dtype=np.int64), duals.count, cuts)

    def _reduced(self, duals: Duals, pool: Pool) -> list[int]:
        """F·(reduced cost) of the clusters of a pool."""
        sums: list[int] = []
        for cluster, times_cost in zip(pool.clusters, pool.times_costs, strict=True):
            dual = duals.count + sum(duals.types[x] for x in cluster)
            sums.append(times_cost - self.costs.factor(len(cluster)) * dual)
        by_type: dict[int, list[int]] = {}
        for c, cluster in enumerate(pool.clusters):
            for x in set(cluster):
                by_type.setdefault(x, []).append(c)
        for number, dual in duals.cuts:
            members, divisor = self.cuts[number]
            inside: Counter[int] = Counter()
            for x in members:
                for c in by_type.get(x, ()):
                    inside[c] += pool.clusters[c].count(x)
            for c, held in inside.items():
                factor = self.costs.factor(len(pool.clusters[c]))
                sums[c] -= factor * dual * (held // divisor)
        for dual, (wanted, _, _) in zip(duals.branches, pool.branches, strict=True):
            some_type = next(iter(wanted))[0]
            for c in by_type.get(some_type, ()):
                cluster = pool.clusters[c]
                if all(cluster.count(x) >= times for x, times in wanted):
                    sums[c] -= self.costs.factor(len(cluster)) * dual
        return sums

    def _sizes(self, scope: Scope) -> range:
        """Sizes of clusters: the others of ``fewest`` clusters leave no more rows to one."""
        most = min(2 * self.k - 1, self.n - self.k * max(scope.fewest - 1, 0))
        return range(self.k, most + 1)


def _common_step(data: Microdata, cost: str) -> int:
    """A whole number that divides every cost; 0 if none is known."""
    weights = [float(weight) for weight in data.nominal_weights if weight > 0]
    if cost != "hamming" or not weights or not all(weight.is_integer() for weight in weights):
        return 0
    return gcd(*map(int, weights))
