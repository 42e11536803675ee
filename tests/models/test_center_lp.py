import math

import numpy as np
import pandas as pd
import pytest
from oracles import all_partitions, labels_of, optimum, random_instance

import kanopy as kn
from kanopy.instances.errors import KanopyError
from kanopy.models.center_lp import load_labels, read_labels, read_memberships, sse_bound
from kanopy.models.extract import extract
from kanopy.models.factory import build
from kanopy.solvers.backends.highs import HighsBackend
from kanopy.solvers.backends.protocol import Limits
from kanopy.solvers.costs import total_cost


def instance(seed, most=7):
    rng = np.random.default_rng(seed)
    return random_instance(rng, "sse", int(rng.integers(4, most + 1))), 2 + seed % 2


@pytest.mark.parametrize("seed", range(12))
def test_all_centroids_are_exact(seed, solve_model, check_point):
    data, k = instance(seed, 6)
    best = optimum(data, k, "sse")
    whole = build("center-lp", data, k, candidates="centroids", relaxed=False)
    assert solve_model(whole) == pytest.approx(best, abs=1e-6)
    labels = read_labels(whole)
    assert np.bincount(labels).min() >= k
    assert total_cost(data, labels, "sse") == pytest.approx(best, abs=1e-6)
    relaxed = build("center-lp", data, k, candidates="centroids")
    bound = solve_model(relaxed)
    assert sse_bound(relaxed, bound) == bound <= best + 1e-6
    assert read_memberships(relaxed).sum(axis=0) == pytest.approx(np.ones(data.n))


@pytest.mark.parametrize("seed", range(16))
@pytest.mark.parametrize("parameters", [{"size_cut": False}, {"shared": True}])
def test_grid_bounds_are_valid(seed, parameters, solve_model):
    data, k = instance(seed)
    best = optimum(data, k, "sse")
    epsilon = (0.3, 1.0)[seed % 2]
    model = build("center-lp", data, k, epsilon=epsilon, **parameters)
    value = solve_model(model)
    bound = sse_bound(model, value)
    assert bound is not None
    assert bound <= best + 1e-6
    # α² is at most what the thesis states for an ε-grid
    assert value - bound <= data.n * data.points.shape[1] * (epsilon / 2) ** 2 + 1e-9


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("candidates", ["grid", "pairs"])
def test_whole_solutions_cost_at_least_their_sse(seed, candidates, solve_model):
    data, k = instance(seed, 5)
    model = build(
        "center-lp", data, k, candidates=candidates, epsilon=1.0, shared=True, relaxed=False
    )
    value = solve_model(model)
    assert value >= total_cost(data, read_labels(model), "sse") - 1e-6
    assert value >= optimum(data, k, "sse") - 1e-6


@pytest.mark.parametrize("seed", range(6))
def test_objective_at_centroids_is_sse(seed, check_point):
    data, k = instance(seed, 6)
    model = build("center-lp", data, k, candidates="centroids", relaxed=False, size_cut=False)
    for blocks in list(all_partitions(data.n, k))[::3]:
        if max(map(len, blocks)) >= 2 * k:
            continue
        labels = labels_of(blocks)
        centroids = np.array([data.X[labels == c].mean(axis=0) for c in range(labels.max() + 1)])
        if len(np.unique(centroids.round(9), axis=0)) < len(centroids):
            continue
        load_labels(model, labels)
        assert check_point(model) == pytest.approx(total_cost(data, labels, "sse"), abs=1e-9)
        given = build("center-lp", data, k, candidates=centroids)
        load_labels(given, labels)
        assert check_point(given) == pytest.approx(total_cost(data, labels, "sse"), abs=1e-9)


def test_size_cut_is_not_safe_where_clusters_share_a_centre(solve_model):
    """Against 001, 9.3: four equal rows, k = 2, have no solution with (5) and (6)."""
    data = kn.Microdata.from_frame(pd.DataFrame({"a": [1.0] * 4}), standardize=False)
    printed = build("center-lp", data, 2)
    result = HighsBackend().solve(extract(printed).form, Limits(seconds=10))
    assert result.status == "infeasible"
    assert sse_bound(printed, 0.0) is None
    for parameters in ({"shared": True}, {"size_cut": False}):
        assert solve_model(build("center-lp", data, 2, **parameters)) == pytest.approx(0)


def test_no_bound_from_pairs():
    """001, 9.3: rows 0, α, α and k = 3 have their centroid far from every candidate."""
    data = kn.Microdata.from_frame(pd.DataFrame({"a": [0.0, 9.0, 9.0]}), standardize=False)
    model = build("center-lp", data, 3, candidates="pairs", size_cut=False)
    assert model.places.ravel().tolist() == [4.5, 9.0]
    assert math.isinf(model.excess)
    assert sse_bound(model, 1.0) is None


def test_grid_covers_the_data():
    data = kn.Microdata.from_frame(
        pd.DataFrame({"a": [0.0, 1.0, 4.0], "b": [0.0, 0.0, 1.0]}), standardize=False
    )
    model = build("center-lp", data, 2, epsilon=1.5)
    assert np.unique(model.places[:, 0]).tolist() == pytest.approx([0, 4 / 3, 8 / 3, 4])
    assert np.unique(model.places[:, 1]).tolist() == pytest.approx([0, 1])


def test_bad_parameters():
    data = kn.example("testdata")
    for parameters, message in (
        ({"candidates": "x"}, "unknown candidates 'x'"),
        ({"candidates": np.zeros((2, 3))}, "2 coordinates"),
        ({"epsilon": 0.0}, "epsilon = 0.0"),
        ({"epsilon": 1e-6}, "choose epsilon > 1e-06"),
    ):
        with pytest.raises(KanopyError, match=message):
            build("center-lp", data, 3, **parameters)
    with pytest.raises(KanopyError, match="too many"):
        build("center-lp", kn.generate("simu", n=60, d=2, seed=1), 4, candidates="centroids")
