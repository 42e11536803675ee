import numpy as np
import pandas as pd
import pytest
from oracles import optimum, random_instance

import kanopy as kn


@pytest.mark.parametrize("cost", ["sse", "hamming", "range"])
def test_neighbour_bound_never_exceeds_the_optimum(cost):
    rng = np.random.default_rng(4)
    positive = 0
    for _ in range(150):
        n = int(rng.integers(3, 9))
        k = int(rng.integers(2, min(4, n) + 1))
        data = random_instance(rng, cost, n)
        bound = kn.lower_bound(data, k, cost)
        assert 0 <= bound <= optimum(data, k, cost) + 1e-12
        positive += bound > 0
    assert positive > 20


def test_neighbour_bound_adds_up_over_strata():
    frame = kn.generate("simu", n=40, d=2, seed=1).frame.assign(region=["n", "s"] * 20)
    data = kn.Microdata.from_frame(frame, strata="region")
    apart = kn.lower_bound(data, 4)
    assert apart > kn.lower_bound(kn.Microdata.from_frame(frame.drop(columns="region")), 4)
    parts = [data.restrict(np.flatnonzero(data.stratum_of_row == s)) for s in (0, 1)]
    # restrict() keeps the column that names the strata: every part has one stratum.
    assert apart == pytest.approx(sum(kn.lower_bound(part, 4) for part in parts))


def test_rounded_points_far_from_zero_raise_no_bound():
    far = 99999.99931 + np.array([5, 0, 5, 0, 5, 52]) * 1e-5
    near = [0.001] * 5 + [0.0]
    frame = pd.DataFrame({"a": near, "b": far, "c": [0.001] * 6})
    data = kn.Microdata.from_frame(frame, weights={"a": 3.0, "b": 2.5, "c": 0.5}, standardize=False)
    links = {"must_link": [(0, 2)], "cannot_link": [(3, 5)]}
    solution = kn.solve(data, 2, "branch-and-price", cost="sse", **links)
    assert all(e.bound <= solution.objective for e in solution.trace if e.bound is not None)
    assert solution.bound >= 0.99 * solution.objective


def test_a_stopped_neighbour_bound_is_lower(monkeypatch):
    monkeypatch.setattr("kanopy.solvers.bounds.BLOCK", 10)
    data = kn.generate("simu", n=40, d=2, seed=1)
    found = []
    for blocks in range(5):
        asked = iter([False] * blocks)
        found.append(kn.lower_bound(data, 3, stopping=lambda asked=asked: next(asked, True)))
    assert found[0] == 0
    assert found == sorted(set(found))
    assert found[-1] == pytest.approx(kn.lower_bound(data, 3))
