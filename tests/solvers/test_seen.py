"""The program over the clusters seen: exact over its columns, with duals that price them."""

import numpy as np
import pytest
from oracles import random_instance

import kanopy as kn
import kanopy.solvers.branch_and_price.regions as regions
from kanopy.solvers.branch_and_price.column_generation import Clock
from kanopy.solvers.costs import cluster_costs
from kanopy.solvers.heuristics.ils import cost_table, neighbour_lists
from kanopy.solvers.heuristics.seen import SeenClusters
from kanopy.solvers.kernels.ils import descend_kernel, iterate, load, new_state


def collect(seen, clusters, costs):
    """Put clusters into the pool as the local search does."""
    for cluster, cost in zip(clusters, costs, strict=True):
        at = seen.pool.counts[0]
        seen.pool.clusters[at] = -1
        seen.pool.clusters[at, : len(cluster)] = cluster
        seen.pool.prices[at] = cost
        seen.pool.counts[0] += 1


def cheapest(n, clusters, costs):
    """Least cost of a partition made of the clusters, by dynamic programming over sets of rows."""
    masks = [sum(1 << int(i) for i in cluster) for cluster in clusters]
    best = {0: 0.0}
    for done in range(1 << n):
        if done in best and done != (1 << n) - 1:
            first = next(i for i in range(n) if not done >> i & 1)
            for mask, cost in zip(masks, costs, strict=True):
                if mask >> first & 1 and not mask & done:
                    value = best[done] + cost
                    best[done | mask] = min(value, best.get(done | mask, np.inf))
    return best[(1 << n) - 1]


@pytest.mark.parametrize("cost", ["sse", "hamming", "range"])
def test_the_best_partition_out_of_some_clusters(cost):
    rng = np.random.default_rng(3)
    for trial in range(25):
        n, k = int(rng.integers(6, 11)), int(rng.integers(2, 4))
        data = random_instance(rng, cost, n)
        labels = kn.solve(data, k, "random", cost=cost, seed=trial).labels
        prices = cluster_costs(data, labels, cost)
        clusters = [np.flatnonzero(labels == c) for c in range(len(prices))]
        costs = list(prices)
        for _ in range(60):
            cluster = np.sort(rng.permutation(n)[: rng.integers(k, 2 * k)])
            one = np.where(np.isin(np.arange(n), cluster), 0, 1)
            clusters.append(cluster)
            costs.append(cluster_costs(data, one, cost)[0])
        seen = SeenClusters(data, k, seed=0)
        collect(seen, clusters[len(prices) :], costs[len(prices) :])
        value = seen.relax(labels, prices, Clock())
        optimum = cheapest(n, clusters, costs)
        distinct = len(data.counts) == n  # otherwise clusters of equal types stand in for another
        assert value <= optimum + 1e-7
        reduced = np.array(costs) - [seen.pool.duals[c].sum() for c in clusters] - seen.base
        assert reduced.min() >= -1e-7
        chosen, proven = seen.improve(Clock(), rng)
        assert proven
        found = kn.solve(data, k, "random", cost=cost).problem.partition_cost(chosen)
        assert np.bincount(chosen).min() >= k
        assert found <= optimum + 1e-7
        if distinct:
            assert found == pytest.approx(optimum, abs=1e-7)


def test_regions_put_a_partition_right(monkeypatch):
    """Damage in five places is undone although no MIP may have more than a few columns."""
    monkeypatch.setattr(regions, "MOST", 6)
    monkeypatch.setattr(regions.Effort, "learn", lambda *_: None)  # regions do not grow
    data = kn.generate("simu", n=90, d=3, seed=4)
    good = kn.solve(data, 3, "ils", stop=kn.MaxIterations(500))
    labels = good.labels.copy()
    for a in range(0, 10, 2):
        first, second = (np.flatnonzero(good.labels == c)[0] for c in (a, a + 1))
        labels[[first, second]] = a + 1, a
    clusters = [np.flatnonzero(good.labels == c) for c in range(good.labels.max() + 1)]
    seen = SeenClusters(data, 3, seed=0)
    collect(seen, clusters, cluster_costs(data, good.labels, "sse"))
    seen.effort.size = 2
    seen.relax(labels, cluster_costs(data, labels, "sse"), Clock())
    chosen, proven = seen.improve(Clock(), np.random.default_rng(0))
    assert not proven
    assert good.problem.partition_cost(chosen) == pytest.approx(good.objective)


def test_the_search_collects_each_cluster_once_with_its_price():
    rng = np.random.default_rng(4)
    data = random_instance(rng, "sse", 60)
    problem = kn.solve(data, 3, "random").problem
    table = cost_table(data, "sse")
    state = new_state(table, 3, neighbour_lists(data, "sse", 10, 0), 1)
    load(table, state, kn.solve(data, 3, "mdav").labels)
    descend_kernel(table, state, 1e-12, 2**62)
    pool = SeenClusters(data, 3, 0).pool
    iterate(table, state, pool, -np.inf, 0.2, 0.1, 0, 500, 2**60, 0.0, 0, 0.0)
    assert pool.counts[0] == 0
    pool.duals[:] = 0.1
    iterate(table, state, pool, 1.0, 0.2, 0.1, 500, 4000, 2**60, 0.0, 0, 0.0)
    count = int(pool.counts[0])
    assert count > 50
    seen = set()
    for cluster, price in zip(pool.clusters[:count], pool.prices[:count], strict=True):
        rows = cluster[cluster >= 0]
        assert 3 <= len(rows) <= 5
        assert price < 1.0 + 0.1 * len(rows)
        one = np.where(np.isin(np.arange(60), rows), 0, 1)
        assert price == pytest.approx(cluster_costs(problem.data, one, "sse")[0])
        seen.add(frozenset(rows.tolist()))
    assert len(seen) == count


def test_a_time_limit_is_filled_and_kept():
    data = kn.generate("simu", n=400, d=4, seed=2)
    quick = kn.solve(data, 3, "ils", stop=kn.MaxIterations(2000))
    s = kn.solve(data, 3, "ils", stop=kn.MaxRuntime(2))
    assert s.objective < quick.objective
    assert s.runtime < 4
