"""Lists of clusters that take the place of pricing, and the search over them."""

import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from oracles import random_instance
from pricing_cases import check_random_questions
from sizes import how_many

import kanopy as kn
from kanopy.solvers.branch_and_price import (
    better_partitions,
    branching,
    finishing,
    goals,
    lists,
)
from kanopy.solvers.branch_and_price.argument import Argument
from kanopy.solvers.branch_and_price.coefficients import cut_rows, right_hand_sides, violations
from kanopy.solvers.branch_and_price.engine import Engine
from kanopy.solvers.branch_and_price.master import sorted_rows
from kanopy.solvers.branch_and_price.pool import Pool
from kanopy.solvers.branch_and_price.pricing import Cuts, Duals, Restrictions, Search, pricer_of
from kanopy.solvers.problem import Problem

COSTS = ("sse", "hamming", "range")


def pool_of_all(cost):
    """A maker of pools that hold every cluster of a tiny table."""

    def make(data, k):
        pricer = pricer_of(cost)(data, k, 2 * k - 1)
        nothing = Duals(np.zeros(len(data.counts)))
        every = Search(threshold=np.inf, per_root=0)
        listed = pricer.price(nothing, Cuts(), Restrictions(), every)
        return Pool(pricer, sorted_rows(listed.clusters), listed.costs)

    return make


@pytest.mark.parametrize("cost", ["hamming", "range"])
def test_a_pool_prices_as_brute_force_does(cost):
    check_random_questions(pool_of_all(cost), cost, range(how_many(60, 1500)))


def test_a_pool_knows_how_many_rows_are_left():
    """In a dive some rows are gone: clusters that need more copies are not offered."""
    data = kn.generate("synthetic", n=30, p=0.1, k=3, seed=0)
    pool = pool_of_all("hamming")(data, 3)
    duals = Duals(np.full(len(data.counts), 5.0))
    left = np.maximum(data.counts - 2, 1)
    pool.multiplicities = left
    found = pool.price(duals, Cuts(), Restrictions(), Search(threshold=np.inf, per_root=0))
    times = np.array([np.bincount(r[r >= 0], minlength=len(left)) for r in found.clusters])
    assert (times <= left).all()
    assert 0 < len(found) < len(pool)


def forced(monkeypatch):
    """Lists of any length, and no MIP that could settle anything before or in the tree."""
    monkeypatch.setattr(lists, "LISTED_PER_ROW", lists.MOST_LISTED)
    monkeypatch.setattr(lists, "CONDENSED", lists.MOST_LISTED + 1)
    monkeypatch.setattr(branching, "SHORTER", 1.0)  # a list of its own for every node
    monkeypatch.setattr(better_partitions, "WIDE", 10.0)
    monkeypatch.setattr(finishing, "POOL_PER_ROW", 0)
    monkeypatch.setattr(branching, "NODE_COLUMNS", 0)


@pytest.mark.parametrize("cost", ["sse", "range"])
def test_branching_over_a_list_finds_what_branching_alone_does(monkeypatch, cost):
    """Poor starts, so that lists are long; with and without goals, copies of rows, cuts.

    Tables small enough for brute force have nothing to branch on; the other way of solving these
    larger ones is held against brute force elsewhere.
    """
    pooled = aimed = branched = 0
    look_at = Engine.look_at

    def noted(self, pool):
        nonlocal pooled, aimed
        pooled += math.isinf(self.goal)
        aimed += math.isfinite(self.goal)
        look_at(self, pool)

    monkeypatch.setattr(Engine, "look_at", noted)
    for seed in range(how_many(20, 600)):
        rng = np.random.default_rng([seed, 7])
        k = int(rng.integers(2, 5))
        n = int(rng.integers(14, 25))
        data = random_instance(rng, cost, n)
        if rng.random() < 0.5:  # copies
            data = data.restrict(rng.integers(0, n, n))
        way = {"dives": False, "cuts": bool(rng.random() < 0.3)}
        with monkeypatch.context() as patch:
            forced(patch)
            if seed % 2:
                patch.setattr(goals, "NEAR", math.inf)  # no goals
            start = np.arange(n) % (n // k)
            s, t = (
                kn.solve(
                    data,
                    k,
                    "branch-and-price",
                    cost=cost,
                    options=options,
                    initial=start,
                    seed=seed,
                )
                for options in (way, {"enumeration": False})
            )
        assert s.status == t.status == "optimal", seed
        assert s.objective == pytest.approx(t.objective, rel=1e-6, abs=1e-9), seed
        assert all(e.bound is None or e.bound <= t.objective + 1e-9 for e in s.trace), seed
        branched += any((e.nodes or 0) > 1 for e in s.trace)
    assert min(pooled, aimed) > 3
    assert branched > 1


@pytest.mark.parametrize("copies", [False, True])
def test_a_tree_over_a_list_is_resumed(monkeypatch, tmp_path, copies):
    """What is saved speaks of rows; the next run goes on without the list."""
    forced(monkeypatch)
    rng = np.random.default_rng(5)
    data = random_instance(rng, "sse", 18)
    if copies:
        data = data.restrict(np.r_[np.arange(14), [0, 0, 1, 2]])
    options = {"cuts": False, "dives": False}
    whole = kn.solve(data, 3, "branch-and-price", options=options)
    path = tmp_path / "tree.npz"
    for _ in range(40):
        s = kn.solve(
            data,
            3,
            "branch-and-price",
            options={**options, "tree": str(path)},
            stop=kn.MaxNodes(2),
            initial=np.arange(data.n) % 6,
        )
        assert s.bound <= whole.objective + 1e-9
        if s.status == "optimal":
            break
    assert s.status == "optimal"
    assert s.objective == pytest.approx(whole.objective, rel=1e-7)


@pytest.mark.parametrize("cost", ["sse", "range"])
def test_lists_of_nodes_hold_the_best_partition(monkeypatch, cost):
    """With every find refused the target stays high, and the tree must stop at the optimum."""
    nodes = 0
    for seed in range(how_many(12, 200)):
        rng = np.random.default_rng([seed, 11])
        data, k = random_instance(rng, cost, int(rng.integers(12, 18))), 2
        best = kn.solve(data, k, "branch-and-price", cost=cost, options={"enumeration": False})
        assert best.status == "optimal"
        with monkeypatch.context() as patch:
            forced(patch)
            patch.setattr(Engine, "found", lambda self, clusters: False)
            s = kn.solve(
                data,
                k,
                "branch-and-price",
                cost=cost,
                options={"dives": False, "cuts": False},
                initial=np.arange(data.n) % (data.n // k),
                stop=kn.MaxNodes(60),
            )
        assert s.bound <= best.objective + 1e-7
        nodes += max((e.nodes or 0 for e in s.trace), default=0)
    assert nodes > 20


def nearly(rng, best):
    """The labels of a partition somewhat worse than the best."""
    problem = best.problem
    worse = [best.labels]
    for _ in range(200):
        labels = best.labels.copy()
        a, b = rng.choice(len(labels), 2, replace=False)
        labels[[a, b]] = labels[[b, a]]
        if 1e-3 < problem.partition_cost(labels) / best.objective - 1 < 0.2:
            worse.append(labels)
    return worse[-1]


@pytest.mark.parametrize("cost", ["sse", "range"])
def test_goals_stop_at_the_best_partition(monkeypatch, cost):
    """With every find refused and many small steps, the last goal proven is no higher."""
    raised = 0
    for seed in range(how_many(25, 400)):
        rng = np.random.default_rng([seed, 13])
        k = int(rng.integers(2, 4))
        data = random_instance(rng, cost, int(rng.integers(16, 26)))
        if rng.random() < 0.3:
            data = data.restrict(rng.integers(0, data.n, data.n))
        best = kn.solve(data, k, "branch-and-price", cost=cost, options={"enumeration": False})
        assert best.status == "optimal"
        start = nearly(rng, best)
        with monkeypatch.context() as patch:
            forced(patch)
            patch.setattr(goals, "MOST_OF", 0.1)
            patch.setattr(goals, "AIMED_FARTHER", 0.0)
            if seed % 3 == 0:
                patch.setattr(branching, "COUNT_FRACTION", 0.0)
            patch.setattr(Engine, "found", lambda self, clusters: False)
            s = kn.solve(
                data,
                k,
                "branch-and-price",
                cost=cost,
                options={"dives": False, "cuts": seed % 4 == 0},
                initial=start,
                stop=kn.MaxNodes(300),
            )
        assert s.bound <= best.objective + 1e-7, seed
        raised += s.bound > 0.9 * best.objective
    assert raised > 5


def test_only_the_root_carries_the_argument_of_the_whole():
    """A tree that goes on after a goal may begin with one node that is not the root."""
    root = Restrictions()
    for node, carries in ((root, True), (Restrictions(apart=((0, 1),)), False)):
        of_tree = SimpleNamespace(
            frontier=[(1.0, 1.0, node)],
            links=root,
            leaves=math.inf,
            pool=None,
            argument=Argument(root),
            master=SimpleNamespace(artificial_costs=np.ones(3)),
        )
        tree = branching.Tree(of_tree)
        assert (tree.heap[0].argument is of_tree.argument) == carries


def test_violations_are_those_of_the_rows_of_the_master():
    rng = np.random.default_rng(1)
    for _ in range(50):
        types = int(rng.integers(3, 8))
        copies = rng.integers(1, 4, types)
        clusters = sorted_rows(rng.integers(-1, types, (12, 5)).astype(np.int32))
        lengths = rng.integers(1, 6, 4)
        cuts = Cuts(
            np.concatenate(([0], np.cumsum(lengths))),
            np.concatenate([np.sort(rng.integers(0, types, size)) for size in lengths]),
            rng.integers(2, 5, 4),
        )
        x = rng.random(12) * rng.integers(0, 2, 12)
        starts, columns, values = cut_rows(clusters, cuts, types)
        entries = np.split(np.arange(len(values)), starts[1:-1])
        wanted = [float(values[e] @ x[columns[e]]) for e in entries]
        sides = right_hand_sides(cuts, copies)
        np.testing.assert_allclose(violations(clusters, x, cuts, copies), wanted - sides)


TWINS = [[-0.196, 1.235], [-0.414, -0.478], [1.283, 0.480]]
OTHERS = [
    [-0.927, -0.013],
    [-0.662, 0.042],
    [0.280, -0.274],
    [0.204, -0.881],
    [1.196, -1.387],
    [-0.895, -0.341],
    [1.097, 1.311],
]


def test_a_list_says_nothing_of_partitions_from_its_cutoff_on(monkeypatch):
    """One that is cheaper by less than what counts as solved may need clusters not listed."""
    forced(monkeypatch)
    monkeypatch.setattr(lists, "SHORTER", 1.1)
    one = np.array([0, 0, 1, 2, 3, 3, 4, 4, 1, 5, 5, 2, 3])
    other = np.array([0, 0, 2, 1, 3, 3, 4, 4, 1, 5, 5, 2, 3])  # rows 2 and 3, near twins, exchanged
    for seed in range(40):
        points = np.concatenate([np.repeat(TWINS, 2, axis=0), OTHERS])
        points[1:6:2] += 1e-8 * np.random.default_rng(seed).normal(size=(3, 2))
        frame = pd.DataFrame(points, columns=["a", "b"])
        data = kn.Microdata.from_frame(frame, standardize=False)
        cost = Problem(data, 2, "sse").partition_cost
        best, known = sorted((one, other), key=cost)
        options = {"dives": False, "most_cut_rounds": 1}
        s = kn.solve(data, 2, "branch-and-price", cost="sse", options=options, initial=known)
        assert s.status == "optimal"
        assert s.bound <= cost(best), seed
