"""Large neighbourhoods: the best that a region allows, the rest as it was."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from oracles import all_partitions, labels_of, pair_cost, random_instance
from sizes import how_many

import kanopy as kn
from kanopy.solvers.branch_and_price import (
    better_partitions,
    lists,
    master,
    neighbourhoods,
    plan,
)
from kanopy.solvers.branch_and_price import engine as engine_module
from kanopy.solvers.branch_and_price.column_generation import Bound, Clock
from kanopy.solvers.branch_and_price.engine import Engine, Options
from kanopy.solvers.branch_and_price.master import sorted_rows
from kanopy.solvers.branch_and_price.neighbourhoods import Neighbourhoods
from kanopy.solvers.branch_and_price.plan import carry_out
from kanopy.solvers.branch_and_price.pricing import Cuts, pricer_of, quick_search
from kanopy.solvers.branch_and_price.start import clusters_of, padded
from kanopy.solvers.links import Links
from kanopy.solvers.problem import Problem
from kanopy.solvers.run import Run
from kanopy.solvers.stop import MaxRuntime

COSTS = ("sse", "hamming", "range")


def made(data, k, cost, labels, links=None, stop=None):
    """A search around a partition of a problem whose relaxation is solved."""
    problem = Problem(data, k, cost, links=links or Links())
    run = Run(problem, stop or MaxRuntime(600), 0)
    run.found_labels(labels)
    engine = Engine(problem, run, Options(), pricer_of(cost), quick_search(cost, k))
    engine.build()
    engine.generated = engine.generate(engine.links)
    return Neighbourhoods(engine, carry_out)


def as_clusters(engine, labels):
    """A partition as rows of types."""
    return sorted_rows(padded(clusters_of(labels, engine.types), engine.largest))


def blocks(labels):
    """The clusters of a partition as blocks of rows."""
    return [tuple(np.flatnonzero(labels == c)) for c in range(labels.max() + 1)]


@pytest.mark.parametrize("cost", COSTS)
def test_a_region_is_solved_and_the_rest_is_kept(cost):
    improved = settled = 0
    for seed in range(how_many(60, 1000)):
        rng = np.random.default_rng([seed, COSTS.index(cost)])
        k = int(rng.integers(2, 4))
        n = int(rng.integers(2 * k + 2, 11))
        data = random_instance(rng, cost, n)
        labels = rng.permutation(np.arange(n) % (n // k))
        links = Links()
        if rng.random() < 0.4:  # a pair that the partition keeps, and one of different clusters
            same, other = np.flatnonzero(labels == 0), np.flatnonzero(labels == 1)
            must = ((int(same[0]), int(same[1])),)
            links = Links(must, (tuple(sorted((int(same[-1]), int(other[0])))),))
        search = made(data, k, cost, labels, links)
        partition = as_clusters(search.engine, labels)
        region = np.ones(len(partition), dtype=bool)
        region[0] = rng.random() < 0.5 or len(partition) == 2
        better, change = search.solve(partition, region, Clock())
        rows = np.flatnonzero(region[labels])
        inner = links.restrict(rows)
        best = min(
            sum(pair_cost(data, tuple(rows[list(block)]), cost) for block in parts)
            for parts in all_partitions(len(rows), k)
            if inner.allow(labels_of(parts))
        )
        before = sum(
            pair_cost(data, block, cost) for block in blocks(labels) if region[labels[block[0]]]
        )
        settled += change == neighbourhoods.LARGER
        if better is None:
            assert before == pytest.approx(best, rel=1e-6, abs=1e-9), seed
            continue
        improved += 1
        assert not neighbourhoods.differing(partition[~region], better).any()
        found = search.cost(better) - search.cost(partition[~region])
        assert found == pytest.approx(best, rel=1e-6, abs=1e-9), seed
        copies = np.bincount(better[better >= 0], minlength=len(search.engine.copies))
        assert np.array_equal(copies, search.engine.copies)
    assert improved > how_many(20, 400)
    assert settled > 5


def test_partitions_are_crossed_where_they_differ():
    data = random_instance(np.random.default_rng(4), "sse", 10)
    first = np.array([0, 0, 1, 1, 2, 2, 3, 3, 4, 4])
    second = np.array([0, 0, 1, 2, 1, 2, 3, 3, 4, 4])
    search = made(data, 2, "sse", first)
    one, other = (as_clusters(search.engine, labels) for labels in (first, second))
    assert neighbourhoods.differing(one, other).sum() == 2
    crossed = search.cross(one, other, Clock())
    rows = (2, 3, 4, 5)
    best = min(
        sum(pair_cost(data, tuple(rows[i] for i in block), "sse") for block in parts)
        for parts in all_partitions(4, 2)
    )
    common = sum(pair_cost(data, block, "sse") for block in ((0, 1), (6, 7), (8, 9)))
    assert search.cost(crossed) == pytest.approx(best + common)
    assert neighbourhoods.differing(crossed, one).sum() in (0, 1, 2)
    assert np.array_equal(search.cross(one, one, Clock()), one)


def test_a_partition_improves_region_by_region(monkeypatch):
    """Small regions and a list cut short still bring a poor partition near the best."""
    monkeypatch.setattr(neighbourhoods, "FIRST_ROWS", 12)
    monkeypatch.setattr(neighbourhoods, "MOST_ROWS", 24)
    data = random_instance(np.random.default_rng(7), "sse", 60)
    labels = np.arange(60) % 20
    search = made(data, 3, "sse", labels)
    poor = as_clusters(search.engine, labels)
    good = search.improve(poor, Clock())
    copies = np.bincount(good[good >= 0], minlength=len(search.engine.copies))
    assert np.array_equal(copies, search.engine.copies)
    bound = search.engine.proof.value
    assert search.cost(good) < bound + 0.02 * (search.cost(poor) - bound)


def test_regions_begin_with_what_is_known_of_them():
    data = random_instance(np.random.default_rng(3), "sse", 40)
    labels = np.arange(40) % 13
    search = made(data, 3, "sse", labels)
    engine = search.engine
    members = np.array([0, 1, 2, 0, 1, 5])
    engine.master.add_cuts(Cuts(np.array([0, 3, 6]), members, np.array([2, 2])))
    rows = np.flatnonzero(engine.types != 5)
    problem = engine.problem.restrict(rows)
    part = Engine(
        problem, Run(problem, MaxRuntime(600), 0), Options(), pricer_of("sse"), engine.quick
    )
    clusters, costs, cuts = search.inherited(part, rows)
    assert 0 < len(clusters) < len(engine.master)
    pricer = pricer_of("sse")(problem.data, 3, 5)
    assert costs == pytest.approx([pricer.cost(row[row >= 0]) for row in clusters])
    whole = {int(part.types[i]): int(engine.types[row]) for i, row in enumerate(rows)}
    assert [sorted(whole[t] for t in cuts.members.tolist())] == [[0, 1, 2]]


def test_generations_of_partitions_end(monkeypatch):
    data = random_instance(np.random.default_rng(11), "sse", 60)
    labels = np.arange(60) % 20
    search = made(data, 3, "sse", labels)
    engine, poor = search.engine, search.engine.upper()
    monkeypatch.setattr(neighbourhoods, "GOOD", 0.0)
    engine.reach = poor  # a list would do better
    better_partitions.evolve(engine, carry_out)
    assert engine.upper() == poor
    engine.reach = -np.inf
    better_partitions.evolve(engine, carry_out)
    bound = engine.proof.value
    assert engine.upper() < bound + 0.02 * (poor - bound)
    best = engine.upper()
    monkeypatch.setattr(better_partitions, "dive", lambda *_: None)  # it takes too long
    better_partitions.evolve(engine, carry_out)
    assert engine.upper() <= best
    monkeypatch.setattr(master, "FEW_ROWS", 0)
    assert better_partitions.evolves(engine)
    engine.proof = Bound()  # no complete pricing so far
    assert not better_partitions.evolves(engine)


def test_large_clusters_have_regions_of_their_own_size(monkeypatch):
    """The best partition is improved region by region once, for the whole table only."""
    monkeypatch.setattr(neighbourhoods, "FIRST_LARGE", 12)
    monkeypatch.setattr(neighbourhoods, "MOST_LARGE", 24)
    monkeypatch.setattr(neighbourhoods, "MOST_NODES", 1)
    data = random_instance(np.random.default_rng(13), "sse", 60)
    labels = np.arange(60) % 20
    engine = made(data, 3, "sse", labels).engine
    poor = engine.upper()
    engine.large = True
    search = Neighbourhoods(engine, carry_out)
    assert (search.rows, search.most) == (12, 24)
    engine.proof, proof = Bound(), engine.proof  # no complete pricing so far
    better_partitions.refine(engine, carry_out)
    assert engine.upper() == poor
    engine.proof = proof
    better_partitions.refine(engine, carry_out)
    assert engine.upper() < proof.value + 0.05 * (poor - proof.value)


def test_a_given_partition_with_large_clusters_loses_no_row():
    """Splitting a class of identical rows costs the same, so that the given one stays the best."""
    data = kn.Microdata.from_frame(pd.DataFrame({"a": [1.0] * 7 + [2.0, 3.0, 5.0]}))
    search = made(data, 3, "sse", np.array([0] * 7 + [1] * 3))
    assert (search.engine.incumbent() >= 0).sum() == 10


def test_the_size_of_regions_never_falls_below_two_clusters(monkeypatch):
    monkeypatch.setattr(neighbourhoods, "FIRST_ROWS", 2)
    monkeypatch.setattr(neighbourhoods, "MOST_ROWS", 2)
    data = random_instance(np.random.default_rng(7), "sse", 60)
    labels = np.arange(60) % 20
    search = made(data, 3, "sse", labels)
    poor = as_clusters(search.engine, labels)
    assert search.cost(search.improve(poor, Clock())) < search.cost(poor)


def test_a_region_asks_the_stopping_rule_of_the_whole():
    """A gap or a number of nodes is that of the whole, not of a region that begins anew."""
    data = random_instance(np.random.default_rng(5), "sse", 40)
    labels = np.arange(40) % 13
    search = made(data, 3, "sse", labels, stop=kn.First(kn.GapReached(0.5), kn.MaxRuntime(600)))
    engine = search.engine
    poor = as_clusters(engine, labels)
    assert engine.run.progress.gap > 0.5
    better, _ = search.solve(poor, np.ones(len(poor), dtype=bool), Clock())
    assert better is not None
    assert search.cost(better) < engine.proof.value * 1.1  # the region's gap was soon below
    engine.found(better)
    assert engine.run.stopping()
    assert search.solve(poor, np.ones(len(poor), dtype=bool), Clock())[0] is None


def observed(monkeypatch, names):
    """What the plan's steps return for the whole problem, and its cost after each, in order."""
    seen = []

    def watch(name, step):
        def watched(engine, *rest):
            answer = step(engine, *rest)
            if engine.inherited is None:
                seen.append((name, answer, engine.upper()))
            return answer

        return watched

    for name in names:
        monkeypatch.setattr(plan, name, watch(name, getattr(plan, name)))
    return seen


@pytest.mark.parametrize(("seed", "n", "k", "wanted"), [(1, 45, 3, 150), (8, 40, 4, 200)])
def test_a_list_takes_the_place_of_generations(monkeypatch, seed, n, k, wanted):
    """Too short for the first gap, it is condensed as soon as that is small enough."""
    data = random_instance(np.random.default_rng(seed), "range", n)
    given = {"cost": "range", "initial": np.arange(n) % (n // k), "seed": seed}
    best = kn.solve(data, k, "branch-and-price", **given)
    for module, name, value in (
        (master, "FEW_ROWS", 0),
        (lists, "CONDENSED", wanted),
        (lists, "COVERED", 0.3),
        (better_partitions, "WIDE", 0.0),
        (neighbourhoods, "GOOD", 0.0),
        (neighbourhoods, "FIRST_ROWS", 20),
    ):
        monkeypatch.setattr(module, name, value)
    seen = observed(monkeypatch, ("condense", "evolve", "improve"))
    s = kn.solve(data, k, "branch-and-price", **given)
    assert [(name, answer) for name, answer, _ in seen] == [
        ("condense", False),
        ("evolve", None),
        ("condense", True),
    ]
    assert seen[1][2] < seen[0][2]
    assert s.status == best.status == "optimal"
    assert s.objective == pytest.approx(best.objective, rel=1e-6)
    assert all(e.bound is None or e.bound <= best.objective * (1 + 1e-9) for e in s.trace)


def test_a_list_that_fails_leaves_the_generations_their_turn():
    """Only one that covers too little is remembered; any other would end them before they began."""
    data = random_instance(np.random.default_rng(11), "sse", 60)
    engine = made(data, 3, "sse", kn.solve(data, 3, "mdav*").labels).engine
    whole = lists.list_about(engine, 40_000, engine.target(), Clock())
    assert lists.covered(engine, whole) > 0.5
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lists, "improve_by", lambda *_: SimpleNamespace(hopeless=True))
        assert not lists.condense(engine)
    assert not better_partitions.reached(engine)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lists, "COVERED", 2.0)
        assert not lists.condense(engine)
    assert better_partitions.reached(engine)


def test_large_clusters_get_neighbourhoods_before_a_local_search(monkeypatch):
    monkeypatch.setattr(engine_module, "LARGE", 3)
    monkeypatch.setattr(engine_module, "FEW_ROWS", 0)
    monkeypatch.setattr(master, "FEW_ROWS", 0)
    data = random_instance(np.random.default_rng(2), "sse", 60)
    seen = observed(monkeypatch, ("refine", "alternate"))
    options = {"cuts": False}
    kn.solve(data, 5, "branch-and-price", options=options, stop=MaxRuntime(5))
    assert [name for name, *_ in seen] == ["refine", "alternate"]
