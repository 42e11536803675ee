"""Random pricing problems, and their answers by listing every cluster and every partition."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement, pairwise

import numpy as np
import pandas as pd
from oracles import all_partitions, pair_cost

from kanopy.instances.microdata import Microdata
from kanopy.solvers.branch_and_price.pricing import Cuts, Duals, Priced, Restrictions, Search

Cluster = tuple[int, ...]


@dataclass(frozen=True)
class Instance:
    """A tiny instance with all its clusters, as sorted tuples of types, and their costs."""

    data: Microdata
    k: int
    cost: str

    @cached_property
    def clusters(self) -> dict[Cluster, float]:
        counts = self.data.counts
        found = {}
        for size in range(self.k, 2 * self.k):
            for cluster in combinations_with_replacement(range(len(counts)), size):
                if all(times <= counts[x] for x, times in Counter(cluster).items()):
                    rows = tuple(self.data.first_rows[list(cluster)])
                    found[cluster] = pair_cost(self.data, rows, self.cost)
        return found

    @cached_property
    def partitions(self) -> set[tuple[Cluster, ...]]:
        """Partitions into clusters of k … 2k−1 rows, which suffice for an optimum."""
        types = self.data.types
        found = set()
        for blocks in all_partitions(self.data.n, self.k):
            if all(len(block) < 2 * self.k for block in blocks):
                found.add(tuple(sorted(tuple(sorted(types[list(b)].tolist())) for b in blocks)))
        return found


def random_pricing_instance(rng: np.random.Generator, cost: str) -> Instance:
    """A few rows, often with duplicates, sometimes with weights, one of which may be 0."""
    k = int(rng.integers(2, 4))
    n = int(rng.integers(k, 9))
    columns = {f"c{j}": rng.integers(0, rng.integers(2, 5), n).astype(str) for j in range(3)}
    if cost == "range":
        columns |= {
            "age": rng.integers(0, 4, n) * 1.0,
            "income": rng.normal(size=n).round(int(rng.integers(0, 3))),
        }
    names = list(rng.permutation(list(columns))[: rng.integers(1, 4)])
    frame = pd.DataFrame(columns)[names]
    if rng.random() < 0.5:
        frame = frame.iloc[rng.integers(0, max(1, n // 2), n)].reset_index(drop=True)
    weights = None
    if rng.random() < 0.5:
        weights = dict(zip(names, rng.choice([0.0, 0.5, 1.0, 2.5], len(names)), strict=True))
        weights[names[0]] = 1.5
    return Instance(Microdata.from_frame(frame, weights=weights), k, cost)


@dataclass(frozen=True)
class Question:
    """Duals, cuts and branching decisions, and the reduced costs of the clusters they allow."""

    instance: Instance
    duals: Duals
    cuts: Cuts
    restrictions: Restrictions

    def ask(self, pricer, **search) -> Priced:
        return pricer.price(self.duals, self.cuts, self.restrictions, Search(**search))

    @cached_property
    def reduced_costs(self) -> dict[Cluster, float]:
        return {
            cluster: self._reduced(cluster, cost)
            for cluster, cost in self.instance.clusters.items()
            if self._allowed(cluster)
        }

    @property
    def best(self) -> float:
        return min(self.reduced_costs.values(), default=0.0)

    def sets(self):
        starts, members = self.cuts.starts, self.cuts.members
        return [members[a:b] for a, b in pairwise(starts)]

    def _reduced(self, cluster: Cluster, cost: float) -> float:
        value = cost - sum(self.duals.types[list(cluster)]) - self.duals.count
        for inside, q, dual in zip(self.sets(), self.cuts.divisors, self.duals.cuts, strict=True):
            value -= dual * (sum((inside == x).sum() for x in cluster) // q)
        return value

    def _allowed(self, cluster: Cluster) -> bool:
        return not any(a in cluster and b in cluster for a, b in self.restrictions.apart) and all(
            (a in cluster) == (b in cluster) for a, b in self.restrictions.together
        )

    @cached_property
    def allowed_partitions(self) -> list[tuple[Cluster, ...]]:
        return [
            partition
            for partition in self.instance.partitions
            if all(cluster in self.reduced_costs for cluster in partition)
        ]

    def dual_value(self) -> float:
        """Value of the duals before what negative reduced costs take away."""
        counts, most = self.instance.data.counts, self.instance.data.n // self.instance.k
        value = float(counts @ self.duals.types) + self.duals.count * most
        for inside, q, dual in zip(self.sets(), self.cuts.divisors, self.duals.cuts, strict=True):
            value += dual * (counts[inside].sum() // q)
        return value


def random_question(rng: np.random.Generator, instance: Instance) -> Question:
    """Duals of several magnitudes, ties included; up to four cuts; pairs of single rows."""
    counts = instance.data.counts
    number = len(counts)
    often = bool(rng.random() < 0.5)  # whether a cut may hold a type several times
    most = 7 if often else min(5, number)
    sets = [
        np.sort(rng.choice(number, int(rng.integers(1, most + 1)), replace=often))
        for _ in range(rng.integers(0, 5))
    ]
    cuts = Cuts(
        np.cumsum([0, *map(len, sets)]),
        np.concatenate([*sets, np.empty(0)]).astype(np.int64),
        rng.integers(2, 6, len(sets)),
    )
    scale = rng.choice([0.3, 1.0, 3.0, 20.0])
    types = scale * (rng.normal(size=number) if rng.random() < 0.3 else rng.random(number))
    if rng.random() < 0.3:
        types = types.round()
    count = -scale * rng.random() * rng.choice([0, 1])
    sigma = -scale * rng.random(len(sets)) * rng.choice([0, 1, 1], len(sets))
    single = np.flatnonzero(counts == 1)
    pairs: tuple[list[tuple[int, int]], ...] = ([], [])
    if len(single) >= 2 and rng.random() < 0.6:
        for _ in range(rng.integers(1, 4)):
            a, b = rng.choice(single, 2, replace=False).tolist()
            pairs[rng.integers(2)].append((a, b))
    restrictions = Restrictions(tuple(pairs[0]), tuple(pairs[1]))
    return Question(instance, Duals(types, count, sigma), cuts, restrictions)


def found(priced: Priced) -> list[Cluster]:
    """The clusters of an answer as sorted tuples."""
    return [tuple(sorted(row[row >= 0].tolist())) for row in priced.clusters]


def check_valid(question: Question, priced: Priced, threshold: float) -> None:
    """Clusters allowed, each once, with their costs and reduced costs, below the threshold."""
    clusters = found(priced)
    assert len(set(clusters)) == len(clusters) == len(priced)
    assert [len(c) for c in clusters] == priced.sizes.tolist()
    assert set(clusters) <= set(question.reduced_costs)
    costs = [question.instance.clusters[c] for c in clusters]
    np.testing.assert_allclose(priced.costs, costs, atol=1e-9)
    reduced = [question.reduced_costs[c] for c in clusters]
    np.testing.assert_allclose(priced.reduced_costs, reduced, atol=1e-9)
    assert np.all(priced.reduced_costs < threshold)


def check_pricing(question: Question, priced: Priced) -> None:
    """A complete search has the least reduced cost, and bounds that hold for partitions."""
    check_valid(question, priced, -1e-9)
    assert priced.complete
    best = min(question.best, 0.0)
    assert abs(min([0.0, *priced.reduced_costs]) - best) < 1.1e-9
    assert best - 2e-9 < priced.least <= best + 1e-12
    if priced.per_root is None:
        return
    total = float(question.instance.data.counts @ priced.per_root)
    for partition in question.allowed_partitions:
        assert total <= sum(min(0.0, question.reduced_costs[c]) for c in partition) + 1e-9


def check_lagrangian(question: Question, priced: Priced) -> None:
    """The bound that the engine makes of it lies below the cheapest allowed partition."""
    instance = question.instance
    sums = [(instance.data.n // instance.k) * priced.least]
    if priced.per_root is not None:
        sums.append(float(instance.data.counts @ priced.per_root))
    cheapest = min(
        (sum(instance.clusters[c] for c in p) for p in question.allowed_partitions),
        default=np.inf,
    )
    assert question.dual_value() + max(sums) <= cheapest + 1e-9


def check_enumeration(question: Question, priced: Priced, threshold: float) -> None:
    """Exactly the clusters below the threshold."""
    check_valid(question, priced, threshold)
    assert priced.complete
    reduced = question.reduced_costs
    assert {c for c in reduced if reduced[c] < threshold - 1e-9} <= set(found(priced))
    assert priced.least <= min(question.best, 0.0) + 1e-9


def check_limited(question: Question, pricer, rng: np.random.Generator) -> bool:
    """A search with random limits never claims too much; whether it was incomplete."""
    k = question.instance.k
    sizes = [(), (k,), (k, k + 1), (k + 1,)][rng.integers(4)]
    nodes, candidates, columns, per_root = rng.integers(0, 3, 4).tolist()
    priced = question.ask(
        pricer,
        threshold=0.3,
        per_root=per_root,
        most_nodes=nodes,
        most_candidates=candidates,
        most_columns=columns,
        sizes=sizes,
    )
    check_valid(question, priced, 0.3)
    assert not columns or len(priced) <= columns
    wanted = sizes or range(k, 2 * k)
    assert set(priced.sizes.tolist()) <= set(wanted)
    if priced.complete:
        reduced = [r for c, r in question.reduced_costs.items() if len(c) in wanted]
        assert priced.least <= min([0.0, *reduced]) + 1e-9
    else:
        assert priced.least == -np.inf
        assert priced.per_root is None
        assert nodes or candidates or columns
    return not priced.complete


def check_random_questions(make_pricer, cost: str, seeds: range) -> None:
    """All of the above on random instances."""
    incomplete = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        instance = random_pricing_instance(rng, cost)
        pricer = make_pricer(instance.data, instance.k)
        for _ in range(3):
            question = random_question(rng, instance)
            priced = question.ask(pricer, per_root=int(rng.integers(1, 4)))
            check_pricing(question, priced)
            check_lagrangian(question, priced)
            for threshold in (-1e-9, 0.5, float(2 * rng.normal())):
                every = question.ask(pricer, threshold=threshold, per_root=0)
                check_enumeration(question, every, threshold)
            incomplete += check_limited(question, pricer, rng)
    assert incomplete > len(seeds) // 10
