import numpy as np
import pytest
from oracles import optimum, random_instance

import kanopy as kn
from kanopy.solvers.costs import total_cost
from kanopy.solvers.generalisation.initial_sort import consecutive_sets
from kanopy.solvers.heuristics.ils import cost_table
from kanopy.solvers.kernels.tiny_range import best_partition


def best(data, k, **limits):
    start = np.random.default_rng(data.n).permutation(consecutive_sets(data.n, k))
    labels, proven = best_partition(*cost_table(data, "range"), k, start, **limits)
    assert np.bincount(labels, minlength=1).min() >= k
    assert total_cost(data, labels, "range") <= total_cost(data, start, "range") + 1e-9
    return total_cost(data, labels, "range"), proven


def test_against_brute_force():
    rng = np.random.default_rng(0)
    for _ in range(60):
        k = int(rng.integers(2, 5))
        data = random_instance(rng, "range", int(rng.integers(k, 10)))
        cost, proven = best(data, k)
        assert proven
        assert cost == pytest.approx(optimum(data, k, "range"), abs=1e-9)


@pytest.mark.parametrize(("n", "k"), [(15, 2), (17, 3), (16, 4)])
def test_against_branch_and_price(n, k):
    rng = np.random.default_rng(n)
    for _ in range(3):
        data = random_instance(rng, "range", n)
        cost, proven = best(data, k)
        assert proven
        s = kn.solve(data, k, "branch-and-price", cost="range")
        assert s.status == "optimal"
        assert cost == pytest.approx(s.objective, abs=1e-7)


def test_limits_are_admitted():
    data = random_instance(np.random.default_rng(1), "range", 30)
    for limits in ({"most_classes": 10}, {"most_nodes": 10}):
        _, proven = best(data, 3, **limits)
        assert not proven


def test_more_rows_than_a_set_can_hold_are_only_descended():
    data = random_instance(np.random.default_rng(1), "range", 80)
    cost, proven = best(data, 3)
    assert not proven
    assert cost >= kn.solve(data, 3, "ils", cost="range", stop=kn.MaxIterations(500)).objective - 1
