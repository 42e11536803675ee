"""Every pricer against brute force over all multisets of types."""

import importlib
import time
from itertools import combinations_with_replacement

import numpy as np
import pandas as pd
import pytest
from oracles import pair_cost, random_instance
from sizes import how_many

from kanopy.instances.microdata import Microdata
from kanopy.solvers.branch_and_price import pricer_sse
from kanopy.solvers.branch_and_price.pricing import Cuts, Duals, Restrictions, Search
from kanopy.solvers.clock import now


def pricer_class(cost):
    try:
        module = importlib.import_module(f"kanopy.solvers.branch_and_price.pricer_{cost}")
    except ImportError:
        pytest.skip(f"there is no pricer for {cost}")
    return getattr(module, f"{cost.capitalize()}Pricer")


def all_clusters(data, k):
    """Every multiset of types of k … 2k−1 rows, as sorted tuples."""
    counts = data.counts
    for size in range(k, min(2 * k - 1, data.n) + 1):
        for types in combinations_with_replacement(range(len(counts)), size):
            if (np.bincount(types, minlength=len(counts)) <= counts).all():
                yield types


def rows_of(data, types):
    """Some rows that have these types."""
    used = dict.fromkeys(set(types), 0)
    rows = []
    for t in types:
        rows.append(int(np.flatnonzero(data.types == t)[used[t]]))
        used[t] += 1
    return tuple(rows)


def random_cuts(rng, number):
    """Up to four cuts of one to seven types, some of them several times."""
    starts, members, divisors = [0], [], []
    for _ in range(rng.integers(0, 5)):
        often = bool(rng.random() < 0.5)
        size = int(rng.integers(1, 8 if often else min(5, number) + 1))
        members += sorted(rng.choice(number, size, replace=often).tolist())
        starts.append(len(members))
        divisors.append(int(rng.integers(2, 6)))
    return Cuts(np.array(starts), np.array(members, dtype=np.int64), np.array(divisors, np.int64))


def random_restrictions(rng, counts):
    """Some decisions on pairs of single types, now and then contradictory ones."""
    single = np.flatnonzero(counts == 1)
    pairs = [
        tuple(sorted(rng.choice(single, 2, replace=False).tolist()))
        for _ in range(rng.integers(0, 4))
        if len(single) > 1
    ]
    together = tuple(pair for pair in pairs if rng.random() < 0.5)
    return Restrictions(tuple(p for p in pairs if p not in together), together)


def allowed(types, restrictions):
    return not any(a in types and b in types for a, b in restrictions.apart) and all(
        (a in types) == (b in types) for a, b in restrictions.together
    )


def reduced_cost(types, cost, duals, cuts):
    value = cost - sum(duals.types[t] for t in types) - duals.count
    for c in range(len(cuts)):
        members = cuts.members[cuts.starts[c] : cuts.starts[c + 1]].tolist()
        value -= duals.cuts[c] * (sum(members.count(t) for t in types) // cuts.divisors[c])
    return float(value)


def questions(cost, instances, per_instance):
    """Random instances, duals, cuts and restrictions, with the answer by brute force."""
    for seed in range(instances):
        rng = np.random.default_rng(seed)
        k = int(rng.integers(2, 5))
        n = int(rng.integers(k, (11, 10, 9)[k - 2]))
        data = random_instance(rng, cost, n)
        costs = {c: pair_cost(data, rows_of(data, c), cost) for c in all_clusters(data, k)}
        pricer = pricer_class(cost)(data, k)
        if seed % 2:  # few rows never fill the lists that are filtered by pairs
            pricer.paired = 0
        typical = np.mean(list(costs.values())) / k
        for _ in range(per_instance):
            number = len(data.counts)
            cuts = random_cuts(rng, number)
            duals = Duals(
                rng.normal(typical * rng.uniform(0, 1.5), typical * rng.uniform(0, 1), number),
                float(-rng.random() * typical * (rng.random() < 0.5)),
                -rng.random(len(cuts)) * typical * (rng.random(len(cuts)) < 0.8),
            )
            limits = random_restrictions(rng, data.counts) if rng.random() < 0.6 else Restrictions()
            values = {
                c: reduced_cost(c, costs[c], duals, cuts) for c in costs if allowed(c, limits)
            }
            contradiction = any(not allowed((a, b), limits) for a, b in limits.together)
            yield data, pricer, costs, duals, cuts, limits, values, contradiction, rng


COSTS = ("sse", "hamming", "range")


@pytest.mark.parametrize("cost", COSTS)
def test_complete_pricing_finds_the_least_reduced_cost(cost):
    asked = 0
    for _, pricer, costs, duals, cuts, limits, values, _, _ in questions(
        cost, how_many(24, 400), 25
    ):
        priced = pricer.price(duals, cuts, limits, Search(threshold=-1e-9, per_root=2))
        truth = min(values.values(), default=0.0)
        assert priced.complete
        assert priced.least <= min(truth, 0.0) + 1e-9
        assert priced.least >= min(truth, 0.0) - 1e-8
        for row, size, price, value in zip(
            priced.clusters, priced.sizes, priced.costs, priced.reduced_costs, strict=True
        ):
            types = tuple(sorted(row[:size].tolist()))
            assert (row[size:] == -1).all()
            assert types in values
            assert price == pytest.approx(costs[types])
            assert value == pytest.approx(values[types], abs=1e-9)
            assert value < 0
        if truth < -1e-8:
            assert priced.reduced_costs.min() == pytest.approx(truth, abs=1e-9)
        asked += 1
    assert asked >= 600


@pytest.mark.parametrize("cost", COSTS)
def test_enumeration_finds_exactly_the_clusters_below_the_threshold(cost):
    for _, pricer, _, duals, cuts, limits, values, contradiction, rng in questions(
        cost, how_many(16, 200), 10
    ):
        if contradiction:
            continue
        spread = max(map(abs, values.values()), default=1.0)
        threshold = float(rng.normal() * 0.3 * spread)
        priced = pricer.price(duals, cuts, limits, Search(threshold=threshold, per_root=0))
        found = [
            tuple(sorted(row[:size].tolist()))
            for row, size in zip(priced.clusters, priced.sizes, strict=True)
        ]
        assert priced.complete
        assert len(found) == len(set(found))
        assert {c for c in values if values[c] < threshold - 1e-9} <= set(found)
        assert set(found) <= {c for c in values if values[c] < threshold + 1e-9}


@pytest.mark.parametrize("cost", COSTS)
def test_a_truncated_search_never_claims_too_much(cost):
    for _, pricer, _, duals, cuts, limits, values, _, rng in questions(cost, 40, 15):
        search = Search(
            per_root=int(rng.integers(1, 3)),
            most_nodes=int(rng.integers(1, 12)),
            most_candidates=int(rng.integers(0, 6)),
        )
        priced = pricer.price(duals, cuts, limits, search)
        if priced.complete:
            assert priced.least <= min(min(values.values(), default=0.0), 0.0) + 1e-9


@pytest.mark.parametrize("cost", COSTS)
def test_sums_over_roots_bound_every_partition(cost):
    """Σ multiplicity · per_root is at most what disjoint clusters add, however they are chosen."""
    for data, pricer, _, duals, cuts, limits, values, _, rng in questions(cost, 40, 10):
        priced = pricer.price(duals, cuts, limits, Search(per_root=1))
        if priced.per_root is None:
            continue
        promised = float(data.counts @ priced.per_root)
        clusters = list(values)
        for _ in range(20):
            left = data.counts.copy()
            total = 0.0
            for c in rng.permutation(len(clusters)):
                used = np.bincount(clusters[c], minlength=len(left))
                if values[clusters[c]] < 0 and (used <= left).all():
                    left -= used
                    total += values[clusters[c]]
            assert promised <= total + 1e-9


def test_limits_are_reported_and_truncated_clusters_are_right():
    rng = np.random.default_rng(0)
    data = random_instance(rng, "sse", 40)
    pricer = pricer_class("sse")(data, 3)
    duals = Duals(np.full(len(data.counts), 1.0))
    full = pricer.price(duals, Cuts(), Restrictions(), Search(per_root=0, threshold=0.0))
    assert full.complete
    assert len(full) > 100
    for search in (
        Search(per_root=0, threshold=0.0, most_columns=50),
        Search(per_root=0, threshold=0.0, most_nodes=5),
        Search(per_root=3, threshold=0.0, most_candidates=3),
        Search(per_root=3, threshold=0.0, sizes=(3,)),
    ):
        some = pricer.price(duals, Cuts(), Restrictions(), search)
        assert not some.complete
        assert some.least == -np.inf
        assert 0 < len(some) < len(full)
        assert (some.reduced_costs < 0).all()


def test_tree_and_matrix_agree(monkeypatch):
    """Above a number of types no matrix is kept; the clusters are the same."""
    rng = np.random.default_rng(3)
    data = random_instance(rng, "sse", 60)
    with_matrix = pricer_class("sse")(data, 3)
    monkeypatch.setattr(pricer_sse, "MATRIX", 10)
    monkeypatch.setattr(pricer_sse, "_BLOCK", 7)
    with_tree = pricer_class("sse")(data, 3)
    for _ in range(20):
        duals = Duals(rng.normal(0.3, 0.3, len(data.counts)), -0.05)
        for search in (Search(per_root=4), Search(per_root=0, threshold=0.1)):
            a = with_matrix.price(duals, Cuts(), Restrictions(), search)
            b = with_tree.price(duals, Cuts(), Restrictions(), search)
            assert a.complete
            assert b.complete
            assert a.least == pytest.approx(b.least)
            assert sorted(map(tuple, np.sort(a.clusters, axis=1).tolist())) == sorted(
                map(tuple, np.sort(b.clusters, axis=1).tolist())
            )


def test_a_deadline_ends_a_search():
    rng = np.random.default_rng(5)
    columns = [f"x{j}" for j in range(8)]
    data = Microdata.from_frame(pd.DataFrame(rng.normal(size=(300, 8)), columns=columns))
    pricer = pricer_class("sse")(data, 5)
    duals = Duals(np.full(len(data.counts), 7.0))
    start = time.process_time()  # other processes do not count
    deadline = now() + 0.1
    priced = pricer.price(duals, Cuts(), Restrictions(), Search(deadline=deadline))
    assert not priced.complete
    assert time.process_time() - start < 1.0


def test_exchanges_end_where_no_other_would_help():
    from kanopy.solvers.branch_and_price.swaps import Swaps

    found = 0
    for data, pricer, costs, duals, cuts, limits, values, _, rng in questions(
        "sse", how_many(20, 60), 3
    ):
        if limits.apart or limits.together:
            continue
        whole = list(costs)
        starts = [whole[i] for i in rng.integers(0, len(whole), 5)]
        rows = np.full((5, pricer.largest), -1, dtype=np.int32)
        for row, start in zip(rows, starts, strict=True):
            row[: len(start)] = start
        priced = Swaps(pricer).price(rows, np.array([costs[c] for c in starts]), duals, cuts)
        assert not priced.complete
        for row, size, cost, reduced in zip(
            priced.clusters, priced.sizes, priced.costs, priced.reduced_costs, strict=True
        ):
            cluster = tuple(sorted(row[:size].tolist()))
            assert (row[size:] == -1).all()
            assert cost == pytest.approx(costs[cluster])
            assert reduced == pytest.approx(values[cluster])
            assert reduced < 0
            others = {
                tuple(sorted(near))
                for x in range(-1, size)
                for z in range(-1, len(data.counts))
                if z not in cluster
                for near in [[c for i, c in enumerate(cluster) if i != x] + [z] * (z >= 0)]
                if pricer.k <= len(near) <= pricer.largest
            }
            assert reduced <= min(values[near] for near in others | {cluster}) + 1e-8
            found += 1
    assert found > 20
