"""The four models that look for one cluster, or state the partition by pairs."""

from itertools import combinations

import numpy as np
import pyomo.environ as pyo
import pytest
from oracles import all_partitions, labels_of, pair_cost, random_instance

from kanopy.instances.errors import KanopyError
from kanopy.instances.examples import example
from kanopy.models import auxiliary, pricing_edge, pricing_node_edge, sse_nonlinear
from kanopy.models.extract import extract
from kanopy.models.factory import build
from kanopy.solvers.costs import total_cost


def instance(seed, cost):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(5, 8)), int(rng.integers(2, 4))
    data = random_instance(rng, cost, n)
    return data, k, rng.uniform(0, 4 if cost == "hamming" else 2, n), rng


def clusters(rows, k):
    sizes = range(k, min(2 * k - 1, len(rows)) + 1)
    return [c for size in sizes for c in combinations(rows, size)]


@pytest.mark.parametrize("seed", range(8))
def test_node_edge_finds_the_least_reduced_cost(seed, solve_model, check_point):
    data, k, duals, _ = instance(seed, "hamming")
    model = build("pricing-node-edge", data, k, duals=duals)

    def reduced(cluster):
        return pair_cost(data, tuple(cluster), "hamming") - duals[list(cluster)].sum()

    every = clusters(range(data.n), k)
    for cluster in every[::7]:
        pricing_node_edge.load_cluster(model, cluster)
        assert check_point(model) == pytest.approx(reduced(cluster))
        assert pricing_node_edge.read_cluster(model).tolist() == list(cluster)
    assert solve_model(model) == pytest.approx(min(map(reduced, every)), abs=1e-6)
    found = pricing_node_edge.read_cluster(model)
    assert reduced(found) == pytest.approx(min(map(reduced, every)), abs=1e-6)
    assert k <= len(found) < 2 * k


@pytest.mark.parametrize("seed", range(8))
def test_auxiliary_finds_the_best_next_cluster(seed, solve_model, check_point):
    data, k, duals, rng = instance(seed, "hamming")
    gamma, lam = float(rng.uniform(0, 1)), float(rng.uniform(0.1, 4))
    free = np.sort(rng.permutation(data.n)[: max(k, data.n - seed % 3)])
    model = build("auxiliary", data, k, duals=duals, gamma=gamma, lam=lam, unassigned=free)

    def guided(cluster):
        """(4.4.6) without its constant λ|ℐ'|."""
        left = len(set(free.tolist()) - set(cluster))
        weight = pair_cost(data, tuple(cluster), "hamming")
        return weight - gamma * duals[list(cluster)].sum() + lam * (left - len(free))

    every = clusters(free.tolist(), k)
    for cluster in every[::7]:
        auxiliary.load_cluster(model, cluster)
        assert check_point(model) == pytest.approx(guided(cluster))
    assert solve_model(model) == pytest.approx(min(map(guided, every)), abs=1e-6)
    assert guided(auxiliary.read_cluster(model).tolist()) == pytest.approx(
        min(map(guided, every)), abs=1e-6
    )


@pytest.mark.parametrize("triangles", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_edge_finds_the_least_reduced_cost_of_each_size(seed, triangles, solve_model, check_point):
    data, k, duals, _ = instance(seed, "sse")

    def reduced(cluster):
        return pair_cost(data, tuple(cluster), "sse") - duals[list(cluster)].sum()

    for size in range(k, min(2 * k - 1, data.n) + 1):
        model = build("pricing-edge", data, k, duals=duals, size=size, triangles=triangles)
        every = list(combinations(range(data.n), size))
        for cluster in every[::7]:
            pricing_edge.load_cluster(model, cluster)
            assert check_point(model) == pytest.approx(reduced(cluster))
        assert solve_model(model) == pytest.approx(min(map(reduced, every)), abs=1e-6)
        found = pricing_edge.read_cluster(model)
        assert len(found) == size
        assert reduced(found) == pytest.approx(min(map(reduced, every)), abs=1e-6)


def test_edge_constraints_admit_cliques_only():
    """002, proposition 4.2, by trying every set of pairs of six rows and η = 3, and η = 4 of 5."""
    for n, size in ((6, 3), (5, 4)):
        data = random_instance(np.random.default_rng(0), "sse", n)
        form = extract(build("pricing-edge", data, size, duals=np.zeros(n))).form
        pairs = list(combinations(range(n), 2))
        allowed = set()
        for chosen in combinations(range(len(pairs)), size * (size - 1) // 2):
            point = np.zeros(len(pairs))
            point[list(chosen)] = 1
            if form.violation(point) < 1e-9:
                allowed.add(chosen)
        cliques = {
            tuple(pairs.index(pair) for pair in combinations(rows, 2))
            for rows in combinations(range(n), size)
        }
        assert allowed == cliques


@pytest.mark.parametrize("seed", range(10))
def test_nonlinear_objective_is_sse(seed):
    data, k, _, _ = instance(seed, "sse")
    model = build("sse-nonlinear", data, k)
    for blocks in all_partitions(data.n, k):
        labels = labels_of(blocks)
        sse_nonlinear.load_labels(model, labels)
        assert pyo.value(model.sse) == pytest.approx(total_cost(data, labels, "sse"), abs=1e-9)
        assert _feasible(model)
        read = sse_nonlinear.read_labels(model)
        assert ((read[:, None] == read) == (labels[:, None] == labels)).all()


def test_nonlinear_constraints_admit_partitions_only():
    data = random_instance(np.random.default_rng(0), "sse", 5)
    model = build("sse-nonlinear", data, 2)
    pairs = list(combinations(range(5), 2))
    admitted = 0
    for chosen in range(2 ** len(pairs)):
        for bit, (i, j) in enumerate(pairs):
            model.together[i, j].set_value(chosen >> bit & 1)
            model.together[j, i].set_value(chosen >> bit & 1)
        admitted += _feasible(model)
    assert admitted == len(list(all_partitions(5, 2)))


def test_nonlinear_model_is_no_linear_program():
    with pytest.raises(KanopyError, match="neither linear nor quadratic"):
        extract(build("sse-nonlinear", example("testdata"), 3))


def _feasible(model):
    return all(
        (c.lower is None or pyo.value(c.body) >= pyo.value(c.lower) - 1e-9)
        and (c.upper is None or pyo.value(c.body) <= pyo.value(c.upper) + 1e-9)
        for c in model.component_data_objects(pyo.Constraint)
    )


def test_bad_parameters():
    nominal, numeric = example("compensation"), example("testdata")
    with pytest.raises(KanopyError, match="duals must be 4 numbers"):
        build("pricing-node-edge", nominal, 2, duals=[1.0])
    for gamma, lam, message in ((1.5, 1.0, "gamma = 1.5"), (0.5, 0.0, "lam = 0.0")):
        with pytest.raises(KanopyError, match=message):
            build("auxiliary", nominal, 2, duals=np.ones(4), gamma=gamma, lam=lam)
    with pytest.raises(KanopyError, match="1 rows are unassigned, k = 2"):
        build("auxiliary", nominal, 2, duals=np.ones(4), unassigned=[3])
    with pytest.raises(KanopyError, match="distinct rows"):
        build("auxiliary", nominal, 2, duals=np.ones(4), unassigned=[3, 3])
    with pytest.raises(KanopyError, match="size = 6; with k = 3 and 6 rows choose 3 to 5"):
        build("pricing-edge", numeric, 3, duals=np.ones(6), size=6)
    with pytest.raises(KanopyError, match="labels must be 6 whole numbers"):
        sse_nonlinear.load_labels(build("sse-nonlinear", numeric, 3), [0, 1])
