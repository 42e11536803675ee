from itertools import combinations

import numpy as np
import pyomo.environ as pyo
import pytest
from oracles import all_partitions, labels_of, optimum, random_instance

import kanopy as kn
from kanopy.instances.errors import KanopyError
from kanopy.instances.examples import example, partition
from kanopy.models.extract import extract
from kanopy.models.factory import build
from kanopy.models.master import load_labels, read_clusters, read_duals, read_labels
from kanopy.models.pairs import cluster_costs
from kanopy.solvers.costs import total_cost

COSTS = ("sse", "hamming", "range")


def instance(seed):
    rng = np.random.default_rng(seed)
    cost = COSTS[seed % 3]
    return random_instance(rng, cost, int(rng.integers(5, 9))), int(rng.integers(2, 4)), cost


def with_duals(model):
    """Solve a relaxation by Pyomo's interface, which loads duals."""
    pyo.SolverFactory("appsi_highs").solve(model)
    return float(pyo.value(model.cost))


@pytest.mark.parametrize("rows", ["records", "types"])
@pytest.mark.parametrize("seed", range(9))
def test_optimum_is_the_best_partition(seed, rows, solve_model):
    """Blocks of any size ≥ k are allowed to the oracle, so k … 2k−1 suffice."""
    data, k, cost = instance(seed)
    model = build("master", data, k, cost=cost, rows=rows, count_cut=bool(seed % 2))
    best = optimum(data, k, cost)
    assert solve_model(model) == pytest.approx(best, abs=1e-6)
    labels = read_labels(model)
    assert np.bincount(labels).min() >= k
    assert total_cost(data, labels, cost) == pytest.approx(best, abs=1e-6)
    assert sum(map(len, read_clusters(model))) == data.n


@pytest.mark.parametrize("seed", range(12))
def test_objective_is_the_cost_of_every_partition(seed, check_point):
    data, k, cost = instance(seed)
    models = [build("master", data, k, cost=cost, rows=rows) for rows in ("records", "types")]
    every = [p for p in all_partitions(data.n, k) if max(map(len, p)) < 2 * k]
    for blocks in every[:: max(1, len(every) // 8)]:
        labels = labels_of(blocks)
        for model in models:
            load_labels(model, labels)
            assert check_point(model) == pytest.approx(total_cost(data, labels, cost), abs=1e-9)
            again = read_labels(model)
            assert total_cost(data, again, cost) == pytest.approx(total_cost(data, labels, cost))


@pytest.mark.parametrize("seed", range(15))
def test_relaxations_and_duals(seed, solve_model):
    data, k, cost = instance(seed)
    values = []
    for rows in ("records", "types"):
        model = build("master", data, k, cost=cost, rows=rows, relaxed=True, count_cut=True)
        value = with_duals(model)
        values.append(value)
        duals, cut = read_duals(model)
        supply = np.ones(data.n) if rows == "records" else data.counts
        assert duals @ supply + cut * (data.n // k) == pytest.approx(value, abs=1e-6)
        assert cut <= 1e-9
        first = np.arange(data.n) if rows == "records" else data.first_rows
        prices = cluster_costs(data, [first[list(c)] for c in model.pool], cost)
        reduced = prices - [duals[list(c)].sum() + cut for c in model.pool]
        assert reduced.min() >= -1e-7
    assert values[0] == pytest.approx(values[1], abs=1e-6)
    without = solve_model(build("master", data, k, cost=cost, relaxed=True))
    assert without <= values[0] + 1e-6 <= optimum(data, k, cost) + 2e-6


def test_sign_of_duals():
    """Small enough to solve by hand, with and without a tight count cut."""
    data = kn.Microdata.from_frame(example("testdata").frame.iloc[:4], standardize=False)
    clusters, costs = [(0, 1), (2, 3), (0, 1, 2, 3)], [1.0, 2.0, 4.0]
    model = build("master", data, 2, clusters=clusters, costs=costs, relaxed=True)
    assert with_duals(model) == pytest.approx(3)
    duals, cut = read_duals(model)
    assert (duals[:2].sum(), duals[2:].sum(), cut) == pytest.approx((1, 2, 0))
    # a share a of the 5-cycle of pairs and 1 − a of the whole: 2.5a + (1 − a) ≤ 2, so a = 2/3,
    # and a cut that is looser by 1 would save 7.5/1.5
    data = kn.Microdata.from_frame(example("testdata").frame.iloc[:5], standardize=False)
    cycle = [(i, (i + 1) % 5) for i in range(5)]
    parameters = {"clusters": [*cycle, tuple(range(5))], "costs": [1.0] * 5 + [10.0]}
    model = build("master", data, 2, relaxed=True, count_cut=True, **parameters)
    assert with_duals(model) == pytest.approx(5)
    duals, cut = read_duals(model)
    assert (duals.sum(), cut) == pytest.approx((15, -5))


@pytest.mark.parametrize("seed", range(9))
def test_cluster_costs_are_the_costs_of_methods(seed):
    data, k, cost = instance(seed)
    clusters = [c for size in (1, k, 2 * k - 1) for c in combinations(range(data.n), size)][::3]
    one = [
        total_cost(data.restrict(np.array(c)), np.zeros(len(c), dtype=int), cost) for c in clusters
    ]
    assert cluster_costs(data, clusters, cost) == pytest.approx(one, abs=1e-9)


@pytest.mark.parametrize(
    ("weights", "name", "printed"),
    [
        ((0.25, 0.25, 0.25, 0.25), "fars-equal", 4.816532258),
        ((0.8, 0.05, 0.1, 0.05), "fars-unequal", 4.114516129),
    ],
)
def test_printed_classes_of_fars_are_optimal(weights, name, printed, solve_model):
    """003, tables 4b and 4c: no cluster with a larger reduced cost can be part of anything better.

    The relaxation over all clusters of 3 to 5 rows bounds the optimum; only clusters whose reduced
    cost is at most the gap matter, and the integer program over them has the printed value.
    """
    frame = example("fars").frame
    named = dict(zip(frame.columns, weights, strict=True))
    data = kn.Microdata.from_frame(frame, weights=named, standardize=False)
    labels = partition(name)
    assert total_cost(data, labels, "range") == pytest.approx(printed, abs=1e-9)
    relaxed = build("master", data, 3, cost="range", relaxed=True, count_cut=True)
    value = with_duals(relaxed)
    duals, cut = read_duals(relaxed)
    prices = cluster_costs(data, relaxed.pool, "range")
    reduced = prices - [duals[list(c)].sum() + cut for c in relaxed.pool]
    assert reduced.min() > -1e-7
    keep = np.flatnonzero(reduced <= printed - value + 1e-6)
    clusters = [relaxed.pool[c] for c in keep]
    model = build("master", data, 3, clusters=clusters, cost="range", count_cut=True)
    assert solve_model(model) == pytest.approx(printed, abs=1e-6)
    assert set(read_clusters(model)) == {
        tuple(np.flatnonzero(labels == label)) for label in range(6)
    }


def test_unusable_clusters(solve_model):
    data = example("testdata")
    for clusters, message in (
        ([], "empty"),
        ([(0, 9, 1)], "outside 0 … 5"),
        ([(0, 1)], "cluster 0 has 2 rows, k = 3"),
        ([(0, 1, 1)], "more often than it occurs"),
    ):
        with pytest.raises(KanopyError, match=message):
            build("master", data, 3, clusters=clusters)
    with pytest.raises(KanopyError, match="costs must be 1 numbers"):
        build("master", data, 3, clusters=[(0, 1, 2)], costs=[1.0, 2.0])
    with pytest.raises(KanopyError, match="leave one of them out"):
        build("master", data, 3, clusters=[(0, 1, 2)], costs=[1.0], cost="sse")
    with pytest.raises(KanopyError, match="unknown cost 'x'"):
        build("master", data, 3, cost="x")
    with pytest.raises(KanopyError, match="cost 'hamming' needs nominal"):
        build("master", data, 3, cost="hamming")
    with pytest.raises(KanopyError, match="more than 200000 clusters"):
        build("master", kn.generate("simu", n=60, d=2, seed=1), 4)
    model = build("master", data, 3, clusters=[(0, 1, 2), (3, 4, 5)])
    with pytest.raises(KanopyError, match="no variable for the cluster labelled 0"):
        load_labels(model, [0, 1, 0, 1, 0, 1])
    assert extract(model).form.integer.all()
