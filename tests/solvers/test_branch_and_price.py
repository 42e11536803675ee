"""Branch-and-price against brute force over all partitions, and its promises to callers."""

import importlib.util
import math
import os
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from oracles import all_partitions, labels_of, pair_cost, random_instance
from scipy.sparse import csr_array
from sizes import how_many

import kanopy as kn
from kanopy.solvers.branch_and_price import engine
from kanopy.solvers.branch_and_price.branching import Tree
from kanopy.solvers.branch_and_price.column_generation import Clock
from kanopy.solvers.branch_and_price.engine import Engine, Options
from kanopy.solvers.branch_and_price.enumeration import choose
from kanopy.solvers.branch_and_price.master import Master
from kanopy.solvers.branch_and_price.method import cost_step
from kanopy.solvers.branch_and_price.pricer_common import reduced_costs
from kanopy.solvers.branch_and_price.pricer_range import RangePricer
from kanopy.solvers.branch_and_price.pricer_sse import SsePricer
from kanopy.solvers.branch_and_price.pricing import Cuts, Duals, Restrictions, Search
from kanopy.solvers.branch_and_price.subset_row import separate
from kanopy.solvers.problem import Problem
from kanopy.solvers.run import Run

COSTS = ("sse", "hamming", "range")
WAYS = (
    {},
    {"cuts": False},
    {"enumeration": False},
    {"cuts": False, "enumeration": False, "dives": False},
)
"""All parts; without cuts; branching forced; branching alone."""


def skip_without_pricer(cost):
    if importlib.util.find_spec(f"kanopy.solvers.branch_and_price.pricer_{cost}") is None:
        pytest.skip(f"there is no pricer for {cost}")


def optimum(data, k, cost):
    known = {}

    def of(block):
        if block not in known:
            known[block] = pair_cost(data, block, cost)
        return known[block]

    return min(math.fsum(map(of, partition)) for partition in all_partitions(data.n, k))


@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("cost", COSTS)
def test_optimum_and_every_bound_against_brute_force(cost, part):
    """Random tiny tables, many with duplicates and weights, solved in all ways."""
    skip_without_pricer(cost)
    # Branching alone on identical rows told apart is slow: fewer of these.
    slow = cost == "hamming" and part > 1
    for seed in range(how_many(20, 300) if slow else how_many(40, 760)):
        rng = np.random.default_rng([part, seed])
        k = int(rng.integers(2, 5))
        n = int(rng.integers(k, (8, 9, 10)[k - 2] + (seed % 20 == 0)))
        data = random_instance(rng, cost, n)
        best = optimum(data, k, cost)
        start = None
        if seed % 5 == 0:  # any start, also one with clusters that are too large
            start = np.zeros(n, dtype=np.int64)
        s = kn.solve(
            data, k, "branch-and-price", cost=cost, options=WAYS[part], initial=start, seed=seed
        )
        assert s.status == "optimal", (seed, s.objective, s.bound, best)
        assert s.objective == pytest.approx(best, rel=1e-7, abs=1e-9)
        for event in s.trace:
            assert event.bound is None or event.bound <= best + 1e-9


def test_the_ways_of_large_clusters_against_brute_force(monkeypatch):
    """Exchanges and local search, which k of 7 and more have, on tables that can be listed."""
    monkeypatch.setattr(engine, "LARGE", 2)
    monkeypatch.setattr(engine, "FEW_ROWS", 0)
    for seed in range(how_many(12, 200)):
        rng = np.random.default_rng([7, seed])
        k = int(rng.integers(2, 5))
        n = int(rng.integers(k, (8, 9, 10)[k - 2]))
        data = random_instance(rng, "sse", n)
        best = optimum(data, k, "sse")
        s = kn.solve(
            data, k, "branch-and-price", stop=kn.MaxRuntime(20), options=WAYS[seed % 4], seed=seed
        )
        assert s.status == "optimal", (seed, s.objective, s.bound, best)
        assert s.objective == pytest.approx(best, rel=1e-7, abs=1e-9)
        for event in s.trace:
            assert event.bound is None or event.bound <= best + 1e-9


@pytest.mark.parametrize("cost", COSTS)
def test_larger_instances_agree_however_they_are_solved(cost):
    skip_without_pricer(cost)
    for seed in range(how_many(3, 12)):
        rng = np.random.default_rng(seed)
        data = random_instance(rng, cost, 18)
        values = [
            kn.solve(data, 3, "branch-and-price", cost=cost, options=way, seed=seed) for way in WAYS
        ]
        assert all(s.status == "optimal" for s in values)
        assert max(s.objective for s in values) == pytest.approx(
            min(s.objective for s in values), rel=1e-6, abs=1e-9
        )


def normal(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return kn.Microdata.from_frame(
        pd.DataFrame(rng.normal(size=(n, d)), columns=[f"x{j}" for j in range(d)])
    )


def test_one_cluster_where_no_split_is_possible():
    data = normal(7, 2)
    s = kn.solve(data, 4, "branch-and-price")
    assert s.status == "optimal"
    assert s.labels.max() == 0
    assert s.bound == pytest.approx(s.objective)


def test_identical_rows_cost_nothing():
    data = kn.Microdata.from_frame(pd.DataFrame({"a": [1.0] * 4 + [2.0] * 3}), standardize=False)
    s = kn.solve(data, 3, "branch-and-price")
    assert (s.objective, s.bound, s.status) == (0.0, 0.0, "optimal")


def test_the_same_seed_gives_the_same_answer():
    data = normal(60, 3)
    first, second = (kn.solve(data, 3, "branch-and-price", seed=4) for _ in range(2))
    assert first.labels.tolist() == second.labels.tolist()
    assert first.bound == second.bound


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_units_do_not_matter(factor):
    frame = pd.DataFrame(normal(40, 2).X, columns=["a", "b"])
    plain = kn.Microdata.from_frame(frame, standardize=False)
    scaled = kn.Microdata.from_frame(frame * factor, standardize=False)
    s, t = (kn.solve(d, 3, "branch-and-price") for d in (plain, scaled))
    assert s.status == t.status == "optimal"
    assert t.objective == pytest.approx(s.objective * factor**2, rel=1e-6)


def test_a_time_limit_holds_and_leaves_a_bound():
    data = normal(400, 6)
    kn.solve(normal(30, 6), 5, "branch-and-price", stop=kn.MaxRuntime(60))  # compile
    start = time.perf_counter()
    s = kn.solve(data, 5, "branch-and-price", stop=kn.MaxRuntime(3))
    assert time.perf_counter() - start < 3 + (2 if not os.environ.get("CI") else 6)
    assert s.status in ("time_limit", "optimal")
    assert 0 <= s.bound <= s.objective


def test_gap_rule_stops_early():
    s = kn.solve(normal(80, 4), 4, "branch-and-price", stop=kn.GapReached(0.2))
    assert s.gap <= 0.2


def test_a_known_solution_is_never_lost():
    data = normal(30, 2)
    best = kn.solve(data, 3, "branch-and-price")
    again = kn.solve(
        data, 3, "branch-and-price", initial=best, options={"branching": False, "cuts": False}
    )
    assert again.objective <= best.objective


def test_strata_are_solved_one_by_one():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"x": rng.normal(size=20), "s": ["a"] * 9 + ["b"] * 11})
    data = kn.Microdata.from_frame(frame, numeric=["x"], strata="s")
    s = kn.solve(data, 3, "branch-and-price")
    assert s.status == "optimal"
    parts = [data.restrict(np.flatnonzero(frame.s == v)) for v in "ab"]
    assert s.objective == pytest.approx(
        sum(kn.solve(p, 3, "univariate", cost="sse").objective for p in parts)
    )


def test_unknown_options_are_errors():
    with pytest.raises(kn.KanopyError, match="cuts"):
        kn.solve(normal(10, 2), 3, "branch-and-price", options={"cut": True})


def test_whole_weights_have_a_step():
    frame = pd.DataFrame({"a": list("xyzx"), "b": list("uvuv")})

    def step(weights):
        data = kn.Microdata.from_frame(frame, weights=weights)
        return cost_step(Problem(data, 2, "hamming"))

    assert step(None) == 1.0
    assert step({"a": 4.0, "b": 6.0}) == 2.0
    assert step({"a": 0.5}) == 0.0


def test_cuts_hold_for_every_partition():
    """No separated cut is violated by any partition, copies counted."""
    rng = np.random.default_rng(1)
    separated = weighted = 0
    for _ in range(40):
        copies = rng.permutation([1, 1, 1, 2, 2])
        rows = np.repeat(np.arange(5), copies)
        clusters, x = [], []
        for _ in range(12):
            size = int(rng.integers(2, 4))
            picked = np.sort(rng.choice(rows, min(size, len(rows)), replace=False))
            clusters.append(np.append(picked, [-1] * (3 - len(picked))))
            x.append(rng.random())
        cuts = separate(np.array(clusters, dtype=np.int32), np.array(x), copies, 2, 20)
        separated += len(cuts)
        for c in range(len(cuts)):
            members = cuts.members[cuts.starts[c] : cuts.starts[c + 1]].tolist()
            weighted += len(set(members)) < len(members)
            inside = [members.count(t) for t in rows.tolist()]
            for partition in all_partitions(len(rows), 2):
                held = sum(sum(inside[i] for i in b) // cuts.divisors[c] for b in partition)
                assert held <= sum(inside) // cuts.divisors[c]
    assert separated > 30
    assert weighted > 5


@pytest.mark.parametrize(("k", "groups"), [(2, 4), (3, 3), (4, 3), (5, 2)])
def test_groups_that_no_multiple_of_k_fills_are_cut_in_whole_clusters(k, groups):
    """Far groups of jk−1 rows: without cuts the relaxation cuts them in (jk−1)/k clusters."""
    rng = np.random.default_rng(k)
    points = np.concatenate(
        [rng.normal(100.0 * g, 1.0, (g * k - 1, 3)) for g in range(2, 2 + groups)]
    )
    points += np.arange(len(points))[:, None] * 1e-3
    frame = pd.DataFrame(points, columns=list("abc"))
    data = kn.Microdata.from_frame(frame, standardize=False)
    bounds = {}
    for cuts in (True, False):
        options = {"cuts": cuts, "enumeration": False, "branching": False, "dives": False}
        bounds[cuts] = kn.solve(data, k, "branch-and-price", cost="sse", options=options).bound
    optimum = kn.solve(data, k, "branch-and-price", cost="sse").objective
    assert bounds[False] <= bounds[True] <= optimum + 1e-9
    assert optimum - bounds[True] <= 0.3 * (optimum - bounds[False])


def test_duals_have_the_sign_of_a_minimisation():
    """Two types, two columns: the dual of a row is what one more copy of it costs."""
    master = Master(np.array([1, 1]), 2, np.array([10.0, 10.0]), 1.0)
    master.add(np.array([[0, 1, -1]], dtype=np.int32), np.array([3.0]))
    relaxation = master.solve()
    assert relaxation.value == pytest.approx(3.0)
    assert relaxation.duals.types.sum() + relaxation.duals.count == pytest.approx(3.0)
    assert relaxation.duals.count <= 0
    master.add_cuts(Cuts(np.array([0, 2]), np.array([0, 1]), np.array([2])))
    assert master.solve().duals.cuts[0] <= 0


def test_a_least_number_of_clusters_leaves_the_master_feasible():
    """Six rows, k = 3 and one column: two clusters are possible with artificials only."""
    master = Master(np.ones(6, dtype=np.int64), 3, np.full(6, 10.0), 1.0)
    master.add(np.array([[0, 1, 2, -1, -1]], dtype=np.int32), np.array([1.0]))
    master.bound_count(2, 2)
    relaxation = master.solve()
    assert relaxation is not None
    assert relaxation.artificials == pytest.approx(np.ones(6))
    master.bound_count(0, 2)
    master.add(np.array([[0, 1, 2, 3, 4]], dtype=np.int32), np.array([5.0]))
    assert master.solve().value == pytest.approx(15.0)


def test_artificial_columns_do_not_become_dearer_by_themselves():
    """The first counts for clusters once a number of them is asked for, and costs accordingly."""
    copies = np.array([3, 1, 1, 1])
    master = Master(copies, 2, np.full(4, 1.0), 1.0)
    master.bound_count(2, 3)
    before = master.artificial_costs
    assert before.tolist() == [3.0, 1.0, 1.0, 1.0]
    for _ in range(3):
        master.raise_artificials(np.empty(0, dtype=np.intp))
        master.price_artificials(master.artificial_costs)
    assert master.artificial_costs.tolist() == before.tolist()
    master.raise_artificials(np.array([1]), 1e3)
    master.price_artificials(before)
    assert master.artificial_costs.tolist() == before.tolist()


def test_only_a_decision_on_the_number_of_clusters_divides_sizes():
    whole = SimpleNamespace(problem=SimpleNamespace(n=12), master=SimpleNamespace(k=3))
    tree = SimpleNamespace(engine=whole)
    old = Restrictions(clusters=(4, 4))
    pair = (replace(old, together=((0, 1),)), replace(old, apart=((0, 1),)))
    number = (Restrictions(clusters=(4, 4)), Restrictions(clusters=(0, 3)))
    fewer = (Restrictions(clusters=(3, 4)), Restrictions(clusters=(0, 2)))
    free = (Restrictions(together=((0, 1),)), Restrictions(apart=((0, 1),)))
    found = [Tree.divides_sizes(tree, children) for children in (pair, number, fewer, free)]
    assert found == [False, True, False, False]
    whole.problem.n = 13  # four clusters may hold one of four rows
    assert not Tree.divides_sizes(tree, number)


def test_a_mip_with_a_cutoff_finds_the_best_partition_below_it_or_none():
    rng = np.random.default_rng(3)
    for seed in range(how_many(20, 300)):
        data = random_instance(np.random.default_rng(seed), "range", int(rng.integers(6, 10)))
        pricer = RangePricer(data, 2)
        every = pricer.price(
            Duals(np.zeros(len(data.counts))),
            Cuts(),
            Restrictions(),
            Search(per_root=0, threshold=np.inf),
        )
        best = optimum(data, 2, "range")
        clock = Clock(math.inf, lambda: False)
        args = (every.clusters, every.costs, pricer.multiplicities, 2, clock)
        margins = (0.1, 1e-6 * best) if best > 0.1 else (0.1,)
        for margin in margins:
            above = choose(*args, cutoff=best + margin)
            assert above.optimal
            assert above.clusters is not None
            assert above.bound == pytest.approx(best, rel=1e-6, abs=1e-6)
            rows = csr_array(np.ones((1, len(every.costs)))), np.array([len(data.types) / 2])
            hopeful = choose(*args, cutoff=best + margin, further=rows, hopeful=True)
            assert hopeful.clusters is not None
            total = sum(pricer.cost(row[row >= 0]) for row in hopeful.clusters)
            assert total == pytest.approx(best, rel=1e-6, abs=1e-6)
        for margin in margins if best > 0.1 else ():
            below = choose(*args, cutoff=best - margin)
            assert (below.clusters, below.optimal) == (None, True)
            assert (best - margin) * (1 - 1e-7) < below.bound < best


def test_purging_and_dropping_leave_the_optimum():
    """Columns that are not needed and cuts that are slack can go without changing the value."""
    data = normal(30, 2)
    pricer = SsePricer(data, 3)
    everything = pricer.price(
        Duals(np.full(30, 1.0)), Cuts(), Restrictions(), Search(per_root=0, threshold=1.0)
    )
    master = Master(data.counts, 3, np.full(30, 50.0), 1.0)
    master.add(everything.clusters, everything.costs)
    first = master.solve()
    cuts = separate(master.clusters, first.x, data.counts, 3, 20)
    master.add_cuts(cuts)
    value = master.solve()
    assert value.value >= first.value - 1e-9
    reduced = reduced_costs(master.clusters, master.costs, value.duals, master.cuts)
    before = len(master)
    master.purge((reduced < 0.1) | (value.x > 0))
    assert len(master) < before
    assert master.solve().value == pytest.approx(value.value)
    master.add(everything.clusters, everything.costs)
    assert len(master) == before
    assert master.solve().value == pytest.approx(value.value)
    triple = Cuts(np.array([0, 3]), np.array([0, 1, 2]), np.array([3]))  # slack by far
    master.add_cuts(triple)
    again = master.solve()
    master.drop_cuts(again.duals.cuts > -1e-9)
    assert len(master.cuts) <= len(cuts)
    assert master.solve().value == pytest.approx(again.value)


def test_labels_of_oracle_agree_with_costs():
    data = normal(6, 2)
    partition = next(iter(all_partitions(6, 3)))
    s = kn.solve(data, 3, "branch-and-price", initial=labels_of(partition))
    assert s.objective <= sum(pair_cost(data, block, "sse") for block in partition) + 1e-9


@pytest.mark.real_data
@pytest.mark.parametrize(("k", "value"), [(3, 189.934537), (5, 284.726777)])
def test_census_subset(k, value):
    data = kn.load("census", rows=100, seed=1)
    s = kn.solve(data, k, "branch-and-price", stop=kn.MaxRuntime(60))
    assert s.status == "optimal"
    assert s.objective == pytest.approx(value, rel=1e-6)


def test_a_saved_tree_is_resumed(tmp_path):
    """Stopped after a few nodes again and again, a search ends where an unbroken one does."""
    data = normal(16, 3)
    alone = {"cuts": False, "enumeration": False, "dives": False}
    whole = kn.solve(data, 4, "branch-and-price", options=alone)
    path = tmp_path / "tree.npz"
    bounds = [0.0]
    for _ in range(20):
        s = kn.solve(
            data,
            4,
            "branch-and-price",
            options={**alone, "tree": str(path)},
            stop=kn.MaxNodes(2),
        )
        assert s.bound >= bounds[-1]
        assert s.bound <= whole.objective + 1e-9
        bounds.append(s.bound)
        if s.status == "optimal":
            break
    assert s.status == "optimal"
    assert len(bounds) > 3
    assert s.objective == pytest.approx(whole.objective, rel=1e-7)
    again = kn.solve(data, 4, "branch-and-price", options={**alone, "tree": str(path)})
    assert again.status == "optimal"
    assert again.objective == s.objective
    assert [p.name for p in tmp_path.iterdir()] == ["tree.npz"]


def test_a_tree_of_another_problem_is_refused(tmp_path):
    path = tmp_path / "tree.npz"
    options = {"tree": str(path)}
    kn.solve(normal(12, 2), 3, "branch-and-price", options=options)
    for data, k in ((normal(12, 2), 4), (normal(12, 2, seed=1), 3)):
        with pytest.raises(kn.KanopyError, match="another"):
            kn.solve(data, k, "branch-and-price", options=options)
    path.write_bytes(b"not a tree")
    with pytest.raises(kn.KanopyError, match="not a search tree"):
        kn.solve(normal(12, 2), 3, "branch-and-price", options=options)


def test_the_number_of_clusters_is_branched_on():
    """n = 3k allows 3 clusters of k rows, or 2 of up to 2k−1: no child's bound is too high."""
    data = normal(9, 2, seed=3)
    costs = {}
    for partition in all_partitions(9, 3):
        if max(map(len, partition)) > 5:
            continue
        cost = sum(pair_cost(data, block, "sse") for block in partition)
        costs[len(partition)] = min(cost, costs.get(len(partition), math.inf))
    for number, best in costs.items():
        problem = Problem(data, 3, "sse")
        run = Run(problem)
        run.found_labels(np.zeros(9, dtype=np.int64))
        engine = Engine(problem, run, Options(), SsePricer, Search(per_root=5))
        engine.build()
        engine.master.bound_count(number, number)
        generated = engine.generate(Restrictions(clusters=(number, number)), root=False)
        assert generated.converged
        assert generated.bound.value <= best + 1e-9
        relaxed = generated.relaxation
        assert relaxed.x.sum() == pytest.approx(number)
        if number == 3:
            sizes = (engine.master.clusters[: len(relaxed.x)] >= 0).sum(axis=1)
            assert set(sizes[relaxed.x > 1e-6].tolist()) == {3}
