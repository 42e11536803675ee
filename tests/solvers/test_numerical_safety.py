"""Scales, weights and near duplicates that could break pricing or fake a proof: they do not.

Against the exact optimum: every partition, in fractions.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from oracles import all_partitions, labels_of
from sizes import how_many

import kanopy as kn
from kanopy.checking import check, read_certificate
from kanopy.checking.whole import exact_cost
from kanopy.solvers.bounds import less_rounding, lower_bound
from kanopy.solvers.branch_and_price.pricer_range import RangePricer
from kanopy.solvers.branch_and_price.pricer_sse import SsePricer
from kanopy.solvers.branch_and_price.pricing import Cuts, Duals, Restrictions, Search

N, K = 7, 3
LABELS = [labels_of(partition) for partition in all_partitions(N, K)]


def exact_optimum(data, cost):
    return min(exact_cost(data, labels, cost) for labels in LABELS)


def near_duplicates(rng):
    """Three points, each several times, up to 10⁻¹² of their size."""
    base = rng.normal(size=(3, 2))[rng.integers(0, 3, N)]
    return base * (1 + 1e-12 * rng.integers(-3, 4, (N, 2)))


TABLES = {
    "huge": lambda rng: 1e150 * rng.normal(size=(N, 2)),
    "tiny": lambda rng: 1e-150 * rng.normal(size=(N, 2)),
    "1e9": lambda rng: 1e9 * rng.normal(size=(N, 2)),
    "1e-9": lambda rng: 1e-9 * rng.normal(size=(N, 2)),
    "far from 0": lambda rng: 1e9 + rng.normal(size=(N, 2)),
    "columns apart": lambda rng: rng.normal(size=(N, 2)) * [1.0, 1e6],
    "rows apart": lambda rng: rng.normal(size=(N, 2)) * 10.0 ** rng.integers(-6, 7, (N, 1)),
    "near duplicates": near_duplicates,
    "ties": lambda rng: rng.integers(0, 2, (N, 2)) * 1e-7,
}


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("cost", ["sse", "range"])
@pytest.mark.parametrize("kind", TABLES)
def test_no_bound_exceeds_the_exact_optimum(tmp_path, kind, cost, standardize):
    for seed in range(how_many(2, 40)):
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame(TABLES[kind](rng), columns=["a", "b"])
        data = kn.Microdata.from_frame(frame, standardize=standardize)
        path = tmp_path / "proof.json"
        s = kn.solve(data, K, "branch-and-price", cost=cost, certificate=path)
        best = exact_optimum(data, cost)
        # a float objective of n cells may be off by some units in the last place, never a proof
        slack = best / 10**9
        if cost == "range":
            slack += Fraction(1, 10**12)
        largest = float(np.abs(data.X).max())
        if cost == "sse":
            slack += Fraction(1e-15) * Fraction(largest) ** 2
        assert Fraction(s.bound) <= best + slack
        assert Fraction(s.objective) >= best - slack
        if s.status == "optimal":
            assert exact_cost(data, s.labels, cost) <= best * (1 + Fraction(1, 10**6)) + slack
        checked = check(read_certificate(path), data)
        assert checked.objective == exact_cost(data, s.labels, cost)
        assert checked.bound is None or checked.bound <= best  # exactly


@pytest.mark.parametrize("factor", [1e-9, 1e9, 1e6])
def test_weights_of_any_size(tmp_path, factor):
    """Weights that differ a million- and a billion-fold, on categories."""
    for seed in range(how_many(2, 30)):
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame(rng.integers(0, 3, (N, 3)).astype(str), columns=list("abc"))
        data = kn.Microdata.from_frame(frame, weights={"a": factor, "b": 0.1})
        for cost in ("hamming", "range"):
            path = tmp_path / "proof.json"
            s = kn.solve(data, K, "branch-and-price", cost=cost, certificate=path)
            best = exact_optimum(data, cost)
            assert Fraction(s.bound) <= best * (1 + Fraction(1, 10**9))
            assert s.status == "optimal"
            checked = check(read_certificate(path), data)
            assert checked.bound is None or checked.bound <= best <= checked.objective


@pytest.mark.parametrize("exponent", [-480, 300, 480])
def test_points_of_any_size_have_the_same_prices(exponent):
    """Powers of two scale without rounding, so pricing must find the same, scaled."""
    points = np.random.default_rng(0).normal(size=(12, 2))
    duals = Duals(np.full(12, 1.5), -2.0)
    search = Search(threshold=-1e-3, per_root=1)
    least = SsePricer(table(points), K).price(duals, Cuts(), Restrictions(), search).least
    assert least < -0.1
    unit = 2.0**exponent
    scaled = Duals(duals.types * unit * unit, duals.count * unit * unit)
    within = replace(search, threshold=search.threshold * unit * unit)
    priced = SsePricer(table(points * unit), K).price(scaled, Cuts(), Restrictions(), within)
    assert priced.complete
    assert priced.least == least * unit * unit


def table(points):
    return kn.Microdata.from_frame(pd.DataFrame(points, columns=["a", "b"]), standardize=False)


def worse_starts(data, cost, number=3):
    """The optimum's cost, and the partitions that come next: a wrong proof would keep one."""
    costs = [exact_cost(data, labels, cost) for labels in LABELS]
    best = min(costs)
    order = sorted((c, i) for i, c in enumerate(costs) if c > best)
    return best, [LABELS[i] for _, i in order[:number]]


def check_no_wrong_proof(data, cost):
    best, starts = worse_starts(data, cost)
    assert Fraction(lower_bound(data, K, cost)) <= best
    for start in starts:
        s = kn.solve(data, K, "branch-and-price", cost=cost, initial=start)
        bounds = [Fraction(event.bound) for event in s.trace if event.bound is not None]
        assert max(bounds) <= best * (1 + Fraction(1, 10**9))
        if s.status == "optimal":
            assert exact_cost(data, s.labels, cost) <= best * (1 + Fraction(1, 10**6))


@pytest.mark.parametrize("cost", ["sse", "range"])
@pytest.mark.parametrize("offset", [1e12, 1e15])
def test_whole_numbers_very_far_from_0(offset, cost):
    """Times in microseconds, say: means and scaled values have no digits left for them."""
    for seed in range(how_many(3, 20)):
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame({"a": rng.integers(0, 40, N), "b": rng.integers(0, 23, N)}) + offset
        check_no_wrong_proof(kn.Microdata.from_frame(frame, standardize=False), cost)


@pytest.mark.parametrize("weight", [1e20, 1.5e19])
def test_whole_weights_beyond_64_bits(weight):
    for seed in range(how_many(2, 20)):
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame(rng.integers(0, 3, (N, 3)).astype(str), columns=list("abc"))
        weights = dict.fromkeys("abc", weight)
        check_no_wrong_proof(kn.Microdata.from_frame(frame, weights=weights), "hamming")


def test_a_huge_weight_leaves_the_other_columns_their_costs():
    frame = pd.DataFrame({"a": ["x"] * 8, "b": list("ppqqrrss")})
    pricer = RangePricer(kn.Microdata.from_frame(frame, weights={"a": 1e15, "b": 0.37}), K)
    assert pricer.cost(np.array([0, 1, 2], dtype=np.int32)) == pytest.approx(3 * 2 * 0.37 / 4)


def test_weighted_points_very_far_from_0():
    """Times √weight they are rounded, and so is what column generation proves about them."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 40, (6, 2)) + 1e15, columns=["a", "b"])
    data = kn.Microdata.from_frame(frame, standardize=False, weights={"a": 0.3, "b": 1.7})
    s = kn.solve(data, K, "microaggregation-cg")
    clusters = [np.flatnonzero(s.labels == c) for c in range(2)]
    of_points = sum(SsePricer(data, K).cost(rows.astype(np.int32)) for rows in clusters)
    assert 0 < s.bound <= less_rounding(data, "sse", of_points)
