import numpy as np
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
