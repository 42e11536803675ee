"""Pairs of rows that must be together or apart, and strata, against all partitions."""

import math

import numpy as np
import pandas as pd
import pytest
from oracles import all_partitions, labels_of, pair_cost, random_instance
from sizes import how_many

import kanopy as kn
from kanopy.instances.errors import KanopyError
from kanopy.solvers.branch_and_price.linked_start import linked_start, split_parts
from kanopy.solvers.links import Links, make_links
from kanopy.verification import VerificationError

WAYS = (
    {},
    {"cuts": False},
    {"enumeration": False},
    {"cuts": False, "enumeration": False, "dives": False},
)


def allowed(partition, must, cannot, strata):
    home = {row: number for number, block in enumerate(partition) for row in block}
    return (
        all(home[a] == home[b] for a, b in must)
        and all(home[a] != home[b] for a, b in cannot)
        and all(len({strata[row] for row in block}) == 1 for block in partition)
    )


def optimum(data, k, cost, must, cannot, strata):
    known = {}

    def of(block):
        if block not in known:
            known[block] = pair_cost(data, block, cost)
        return known[block]

    return min(
        (
            math.fsum(map(of, partition))
            for partition in all_partitions(data.n, k)
            if allowed(partition, must, cannot, strata)
        ),
        default=None,
    )


def random_pairs(rng, n, most):
    return [tuple(rng.choice(n, 2, replace=False).tolist()) for _ in range(rng.integers(0, most))]


def random_question(rng, cost, seed):
    """A tiny table with pairs, every third one with two strata."""
    k = int(rng.integers(2, 4))
    n = int(rng.integers(2 * k - 1, 10))
    data = random_instance(rng, cost, n)
    strata = np.zeros(n, dtype=np.int64)
    if seed % 3 == 0 and n >= 2 * k:
        strata[rng.permutation(n)[: rng.integers(k, n - k + 1)]] = 1
        weights = dict(zip([*data.numeric, *data.nominal], data.weights.tolist(), strict=True))
        data = kn.Microdata.from_frame(
            data.frame.assign(town=strata),
            numeric=data.numeric,
            nominal=data.nominal,
            weights=weights,
            strata="town",
        )
    must, cannot = random_pairs(rng, n, 4), random_pairs(rng, n, 6)
    if seed % 4 == 0:
        must = []
    return data, k, must, cannot, strata


@pytest.mark.parametrize("cost", ["sse", "hamming", "range"])
def test_pairs_and_strata_against_brute_force(cost):
    solved = impossible = 0
    questions = how_many(36, 360)
    for seed in range(questions):
        rng = np.random.default_rng([7, seed])
        data, k, must, cannot, strata = random_question(rng, cost, seed)
        best = optimum(data, k, cost, must, cannot, strata)
        question = {"cost": cost, "must_link": must, "cannot_link": cannot, "seed": seed}
        if best is None:
            with pytest.raises(KanopyError, match="link"):
                kn.solve(data, k, "branch-and-price", **question)
            impossible += 1
            continue
        s = kn.solve(data, k, "branch-and-price", options=WAYS[seed % 4], **question)
        assert s.status == "optimal", (seed, s.objective, s.bound, best)
        assert s.objective == pytest.approx(best, rel=1e-7, abs=1e-9)
        assert allowed([np.flatnonzero(s.labels == c) for c in set(s.labels)], must, cannot, strata)
        assert all(e.bound is None or e.bound <= best + 1e-9 for e in s.trace)
        solved += 1
    assert solved > questions / 3
    assert impossible > questions / 18


def test_a_component_may_need_clusters_of_2k_rows_and_more():
    """Three pairs of rows and k = 3: no split leaves 3 rows on both sides."""
    rng = np.random.default_rng(0)
    data = kn.Microdata.from_frame(pd.DataFrame({"x": rng.normal(size=6)}))
    s = kn.solve(data, 3, "branch-and-price", must_link=[(0, 1), (2, 3), (4, 5)])
    assert s.sizes.tolist() == [6]
    assert s.status == "optimal"
    joined = [(0, i) for i in range(1, 9)]
    data = kn.Microdata.from_frame(pd.DataFrame({"x": rng.normal(size=14)}))
    s = kn.solve(data, 3, "branch-and-price", must_link=joined)
    assert sorted(s.sizes.tolist())[-1] >= 9
    assert s.status == "optimal"


def test_largest_cluster_is_never_exceeded_by_what_cannot_be_split():
    """Every cluster that falls into no two unions of components of k rows has no more rows."""
    rng = np.random.default_rng(1)
    for _ in range(300):
        k = int(rng.integers(2, 6))
        n = int(rng.integers(k, 16))
        links = Links(must=tuple({tuple(sorted(p)) for p in random_pairs(rng, n, 8)}))
        component = links.components(n)
        sizes = np.bincount(component)
        sums = {0}
        for size in sizes.tolist():
            sums |= {size + s for s in sums}
        if not any(k <= s <= n - k for s in sums):
            assert n <= links.largest_cluster(n, k)
        labels = split_parts(np.zeros(n, dtype=np.int64), component, k)
        assert np.bincount(labels).max() <= links.largest_cluster(n, k)
        assert np.bincount(labels).min() >= k
        assert links.allow(labels)


def test_a_start_is_found_exactly_where_one_exists():
    found = 0
    for seed in range(200):
        rng = np.random.default_rng([3, seed])
        k = int(rng.integers(2, 4))
        n = int(rng.integers(2 * k, 10))
        data = kn.Microdata.from_frame(pd.DataFrame({"x": np.arange(n) * 1.0}))
        try:
            links = make_links(data, random_pairs(rng, n, 4), random_pairs(rng, n, 14))
        except KanopyError:
            continue
        exists = any(links.allow(labels_of(p)) for p in all_partitions(n, k))
        unlinked = np.minimum(np.arange(n) // k, n // k - 1)
        if not exists:
            with pytest.raises(KanopyError, match="no partition"):
                linked_start(links, k, unlinked, rng)
            continue
        labels = linked_start(links, k, unlinked, rng)
        assert links.allow(labels)
        assert np.bincount(labels).min() >= k
        found += 1
    assert 50 < found < 190


def test_pairs_on_a_larger_table_with_duplicates():
    """Pairs raise the optimum; the same pairs in another order change nothing."""
    data = kn.generate("synthetic", n=60, p=0.2, k=3, seed=4)
    free = kn.solve(data, 3, "branch-and-price")
    same = [np.flatnonzero(free.labels == c)[:2].tolist() for c in range(4)]
    apart = kn.solve(data, 3, "branch-and-price", cannot_link=same, stop=kn.MaxRuntime(60))
    assert apart.status == "optimal"
    assert apart.objective >= free.objective
    again = kn.solve(
        data, 3, "branch-and-price", cannot_link=[p[::-1] for p in same[::-1]], initial=apart
    )
    assert again.objective == apart.objective
    first = [np.flatnonzero(free.labels == c)[0] for c in range(4)]
    together = kn.solve(data, 3, must_link=[(first[0], f) for f in first[1:]])
    assert together.method == "branch-and-price"
    assert len(set(together.labels[first])) == 1


@pytest.mark.parametrize(
    ("must", "cannot", "message"),
    [
        ([(0, 1), (1, 2)], [(0, 2)], "rows 0 and 2 apart, but must_link joins them"),
        ([(0, 9)], [], "must_link names row 9; positions run from 0 to 5"),
        ([], [(1, 1)], "cannot_link pairs row 1 with itself"),
        ([3], [], "must_link must list pairs of rows"),
        ([("a", "b")], [], "must_link names rows by position, got str"),
        ([], [(a, b) for a in range(6) for b in range(a)], "no partition into classes of at least"),
    ],
)
def test_errors_say_which_pair(must, cannot, message):
    with pytest.raises(KanopyError, match=message):
        kn.solve(kn.example("testdata"), 3, "branch-and-price", must_link=must, cannot_link=cannot)


def test_other_methods_refuse_and_name_one_that_can():
    with pytest.raises(KanopyError, match=r"'mdav' cannot keep pairs.*choose .*branch-and-price"):
        kn.solve(kn.example("testdata"), 3, "mdav", cannot_link=[(0, 1)])


def test_must_link_across_strata_is_an_error():
    frame = pd.DataFrame({"x": np.arange(6.0), "town": list("aaabbb")})
    data = kn.Microdata.from_frame(frame, strata="town")
    with pytest.raises(KanopyError, match="rows 0 and 5 of different strata"):
        kn.solve(data, 3, "branch-and-price", must_link=[(0, 5)])
    s = kn.solve(data, 3, "branch-and-price", cannot_link=[(0, 5)])  # strata keep it anyway
    assert s.labels.tolist() == [0, 0, 0, 1, 1, 1]


def test_too_many_joined_rows_are_refused():
    data = kn.Microdata.from_frame(pd.DataFrame({"x": np.arange(80.0)}))
    with pytest.raises(KanopyError, match="joins 60 rows"):
        kn.solve(data, 3, "branch-and-price", must_link=[(0, i) for i in range(1, 60)])


def test_initial_and_verification_check_pairs():
    from dataclasses import replace

    data = kn.example("testdata")
    with pytest.raises(KanopyError, match="initial is no solution: 1 cannot_link pairs"):
        kn.solve(data, 3, "branch-and-price", cannot_link=[(0, 1)], initial=[0, 0, 0, 1, 1, 1])
    s = kn.solve(data, 3, "branch-and-price", cannot_link=[(0, 1)])
    for links, message in (
        (Links(must=((0, 1),)), r"1 must_link pairs are torn, the first \(0, 1\)"),
        (Links(cannot=tuple((0, i) for i in range(1, 6))), "2 cannot_link pairs share a class"),
    ):
        broken = replace(s, problem=replace(s.problem, links=links))
        with pytest.raises(VerificationError, match=message):
            kn.verify(data, broken)
