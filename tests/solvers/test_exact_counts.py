"""The exact methods for frequency vectors against all count vectors of tiny tables."""

import numpy as np
import pytest
from oracles import random_instance

import kanopy as kn
from kanopy.solvers.problem import Outcome


def count_vectors(total, length, k):
    """Every vector of entries 0 or ≥ k with the given sum."""
    if length == 1:
        if total == 0 or total >= k:
            yield (total,)
        return
    for first in (0, *range(k, total + 1)):
        for rest in count_vectors(total - first, length - 1, k):
            yield (first, *rest)


@pytest.mark.parametrize("method", ["safe-basic", "msafe", "chi-ex"])
def test_optimum_and_bound_equal_enumeration(method):
    rng = np.random.default_rng(9)
    for trial in range(12):
        data = random_instance(rng, "hamming", int(rng.integers(4, 10)))
        k = int(rng.integers(2, 4))
        s = kn.solve(data, k, method, control=int(rng.integers(1, 3)), seed=trial)
        best = min(
            s.problem.objective(Outcome(counts=np.array(counts)))
            for counts in count_vectors(data.n, len(data.counts), k)
        )
        assert s.status == "optimal"
        assert s.objective == pytest.approx(best, abs=1e-9)
        assert all(event.bound <= best + 1e-9 for event in s.trace if event.bound is not None)
