"""The crossover of two partitions takes the cheaper side of every independent part."""

import networkx as nx
import numpy as np
import pytest

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

    graph = nx.Graph((("a", a), ("b", b)) for a, b in zip(best, other, strict=True))
    here, there = prices(best), prices(other)
    least = sum(
        min(
            sum(here[c] for side, c in part if side == "a"),
            sum(there[c] for side, c in part if side == "b"),
        )
        for part in nx.connected_components(graph)
    )
    before = here.sum()
    changed = recombine(best, here, other, there)
    assert changed == (least < before - 1e-12)
    assert prices(best).sum() == pytest.approx(least)
    assert here.sum() == pytest.approx(least)
    assert sorted(np.bincount(best)[np.bincount(best) > 0]) == [3] * 8
