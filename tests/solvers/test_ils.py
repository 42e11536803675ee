"""The local search: near the optimum on tiny tables, exact books, never worse than its start."""

import numpy as np
import pandas as pd
import pytest
from oracles import optimum, random_instance

import kanopy as kn
from kanopy.solvers.heuristics.ils import cost_table, neighbour_lists, split_large
from kanopy.solvers.kernels.ils import (
    ITERATION,
    LABEL,
    SAVED,
    UNHOUSED,
    _rebuild,
    descend_kernel,
    iterate,
    load,
    new_pool,
    new_state,
)
from kanopy.solvers.kernels.ils_costs import PRICE
from kanopy.solvers.kernels.inner import kernel


@pytest.mark.parametrize("cost", ["sse", "hamming", "range"])
def test_the_optimum_is_nearly_always_found(cost):
    rng = np.random.default_rng(5)
    hits = 0
    for trial in range(60):
        n, k = int(rng.integers(4, 10)), int(rng.integers(2, 4))
        data = random_instance(rng, cost, n)
        s = kn.solve(data, k, "ils", cost=cost, stop=kn.MaxIterations(300), seed=trial)
        best = optimum(data, k, cost)
        assert s.objective >= best - 1e-9
        hits += s.objective <= best + 1e-9
    assert hits >= 57


@pytest.mark.parametrize("steps", [0, 20])
@pytest.mark.parametrize("cost", ["sse", "hamming", "range"])
def test_the_books_are_exact_after_thousands_of_changes(cost, steps):
    """Clusters' prices, kept by increments and taken back by the journal, equal the cost anew."""
    rng = np.random.default_rng(6)
    data = random_instance(rng, cost, 80)
    problem = kn.solve(data, 3, "random", cost=cost).problem
    labels = kn.solve(data, 3, "random", cost=cost).labels
    table = cost_table(data, cost)
    state = new_state(table, 3, neighbour_lists(data, cost, 10, 0), 1)
    pool = new_pool(80, 3, 10_000, 1)
    load(table, state, labels)
    descend_kernel(table, state, 1e-12, 2**62)
    for last in (500, 1000, 3000):
        iterate(table, state, pool, np.inf, 0.5, 0.05, 0, last, 2**60, 0.0, steps, 0.2)
        now = np.unique(state.units[:, LABEL], return_inverse=True)[1]
        sizes = np.bincount(now)
        assert sizes.min() >= 3
        assert sizes.max() <= 5
        used = state.clusters[:, 0] > 0
        assert state.values[used, PRICE].sum() == pytest.approx(problem.partition_cost(now))


@kernel
def rebuilt(table, state, u):
    state.counters[ITERATION] += 1
    state.counters[SAVED] = 0
    state.counters[UNHOUSED] = 0
    return _rebuild(table, state, u)


def test_rebuilt_regions_are_cut_into_as_many_clusters_as_they_hold():
    """Five tight groups of four rows in four clusters: rebuilding them at once finds the groups.

    That is what held ``ils`` up on EIA: twenty rows that lie apart, in four clusters, not five.
    """
    rng = np.random.default_rng(8)
    centers = np.repeat(rng.normal(size=(5, 3)) * 10, 4, axis=0)
    data = kn.Microdata.from_frame(
        pd.DataFrame(centers + rng.normal(size=(20, 3)) * 0.01, columns=list("xyz"))
    )
    table = cost_table(data, "sse")
    start = np.repeat([0, 1, 2, 3], [5, 4, 6, 5])
    found = 0
    for seed in range(30):
        state = new_state(table, 4, neighbour_lists(data, "sse", 12, 0), seed)
        load(table, state, start)
        if rebuilt(table, state, seed % 20):
            labels = state.units[:, LABEL]
            sizes = np.bincount(np.unique(labels, return_inverse=True)[1])
            assert sizes.min() >= 4
            assert sizes.max() <= 7
            problem = kn.solve(data, 4, "random").problem
            assert state.values[:, PRICE].sum() == pytest.approx(problem.partition_cost(labels))
            found += (labels.reshape(5, 4) == labels[::4, None]).all()
    assert found >= 5


def test_neighbours_are_other_rows():
    rng = np.random.default_rng(7)
    for cost in ("sse", "hamming", "range"):
        for n in (4, 9, 50):
            data = random_instance(rng, cost, n)
            near = neighbour_lists(data, cost, 10, 0)
            assert near.shape == (n, min(10, n - 1))
            assert (near >= 0).all()
            assert (near < n).all()
            assert (near != np.arange(n)[:, None]).all()


def test_large_clusters_are_split():
    data = kn.generate("simu", n=50, d=2, seed=1)
    labels = split_large(data, np.zeros(50, dtype=np.int64), 4)
    sizes = np.bincount(labels)
    assert sizes.sum() == 50
    assert sizes.min() >= 4
    assert sizes.max() <= 7


def test_it_beats_its_starts():
    data = kn.generate("simu", n=300, d=4, seed=2)
    start = kn.solve(data, 4, "ona*")
    s = kn.solve(data, 4, "ils", stop=kn.MaxIterations(5000))
    assert s.objective < 0.99 * start.objective
    again = kn.solve(data, 4, "ils", initial=s, stop=kn.MaxIterations(10))
    assert again.objective <= s.objective


@pytest.mark.parametrize("k", [3, 7])
@pytest.mark.parametrize("cost", ["sse", "hamming", "range"])
def test_it_is_never_worse_than_its_start(cost, k):
    """Under a time limit, with which large clusters take single steps."""
    data = random_instance(np.random.default_rng(9), cost, 90)
    start = kn.solve(data, k, "random", cost=cost)
    s = kn.solve(data, k, "ils", cost=cost, initial=start, stop=kn.MaxRuntime(0.5))
    assert s.objective < start.objective
    again = kn.solve(data, k, "ils", cost=cost, initial=s, stop=kn.MaxRuntime(0.2), seed=1)
    assert again.objective <= s.objective


@pytest.mark.parametrize(
    "options", [{"neighbours": 0}, {"hot": 0.1, "cold": 0.2}, {"cycles": 0}, {"cold": 0.0}]
)
def test_senseless_options(options):
    with pytest.raises(kn.KanopyError):
        kn.solve(kn.example("testdata"), 3, "ils", options=options)


@pytest.mark.real_data
def test_census_is_better_than_anything_published():
    """Table B.1 of 001 has 5.22 for ONA*γ at k = 3."""
    data = kn.load("census")
    s = kn.solve(data, 3, "ils", stop=kn.MaxIterations(20_000))
    assert 100 * s.objective / (data.X**2).sum() < 4.9


@pytest.mark.real_data
def test_groups_that_lie_apart_are_cut_into_the_right_number_of_clusters():
    """Searches of EIA at k = 4 used to end at 218.66 or 217.61, depending on the seed."""
    data = kn.load("eia")
    s = kn.solve(data, 4, "ils", stop=kn.MaxIterations(150_000))
    assert s.objective < 217.9


@pytest.mark.real_data
def test_gains_within_rounding_errors_do_not_go_round_in_circles():
    """Clusters of no loss made the least gain 0, and swaps of gain 1e-17 never ended."""
    data = kn.load("census-income", rows=1000, seed=1)
    s = kn.solve(data, 3, "ils", cost="range", stop=kn.MaxRuntime(2))
    assert s.objective < 217


def test_without_filling_the_time_a_time_limit_changes_nothing():
    data = kn.generate("simu", n=60, seed=2)
    options = {"fill_time": False}
    free, limited = (
        kn.solve(data, 3, "ils", options=options, stop=stop)
        for stop in (kn.MaxIterations(2000), kn.First(kn.MaxIterations(2000), kn.MaxRuntime(60)))
    )
    assert free.labels.tolist() == limited.labels.tolist()
