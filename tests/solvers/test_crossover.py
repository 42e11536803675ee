"""The crossover of two partitions takes the cheaper side of every independent part."""

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from kanopy.solvers.kernels.crossover import recombine


@pytest.mark.parametrize("seed", range(50))
def test_each_part_is_the_cheaper_one(seed):
    rng = np.random.default_rng(seed)
    n, count = 24, 12
    best = np.repeat(np.arange(8), 3)
    other = best.copy()
    for _ in range(rng.integers(0, 6)):  # a few swaps leave most clusters alone
        i, j = rng.choice(n, 2, replace=False)
        other[i], other[j] = other[j], other[i]
    other = rng.permutation(count)[other]  # other numbers for the same clusters
    table = rng.normal(size=(n, 2))

    def prices(labels):
        found = np.zeros(count)
        for c in np.unique(labels):
            rows = table[labels == c]
            found[c] = ((rows - rows.mean(axis=0)) ** 2).sum()
        return found

    here, there = prices(best), prices(other)
    edges = coo_array((np.ones(n), (best, count + other)), shape=(2 * count, 2 * count))
    parts, part = connected_components(edges, directed=False)
    sides = [np.bincount(part[:count], here, parts), np.bincount(part[count:], there, parts)]
    least = np.minimum(*sides).sum()
    before = here.sum()
    changed = recombine(best, here, other, there)
    assert changed == (least < before - 1e-12)
    assert prices(best).sum() == pytest.approx(least)
    assert here.sum() == pytest.approx(least)
    assert sorted(np.bincount(best)[np.bincount(best) > 0]) == [3] * 8
