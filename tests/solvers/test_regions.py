"""MIPs over regions: what they may free, and what they put right."""

from itertools import combinations_with_replacement

import numpy as np
import pandas as pd
import pytest
from oracles import optimum

import kanopy as kn
from kanopy.solvers.branch_and_price import regions
from kanopy.solvers.branch_and_price.column_generation import Clock
from kanopy.solvers.branch_and_price.master import sorted_rows
from kanopy.solvers.branch_and_price.pricing import pricer_of
from kanopy.solvers.branch_and_price.start import clusters_of, padded, with_start


def test_regions_grow_while_mips_are_quick():
    effort = regions.Effort(seconds=2.0, size=10)
    effort.learn(True, 0.05, False)
    assert effort.size == 13
    effort.learn(True, 0.05, True)  # full of columns
    effort.learn(True, 0.2, False)
    assert effort.size == 13
    effort.learn(True, 0.5, False)
    assert effort.size == 10
    effort.learn(False, 0.0, False)
    assert effort.size == 8
    endless = regions.Effort(size=10)
    endless.learn(True, 1e6, False)
    assert endless.size == 13


@pytest.mark.parametrize("step", [0.0, 1.0])
def test_a_table_with_copies_is_put_right(step, monkeypatch):
    """Damage in five places is undone although no MIP may have more than a few columns."""
    monkeypatch.setattr(regions, "MOST", 6)
    monkeypatch.setattr(regions.Effort, "learn", lambda *_: None)
    values = np.random.default_rng(3).integers(3, size=(90, 4)).astype(str)
    data = kn.Microdata.from_frame(pd.DataFrame(values, columns=list("abcd")))
    assert data.counts.max() > 1
    good = kn.solve(data, 3, "ils", cost="hamming", stop=kn.MaxIterations(500))
    labels = good.labels.copy()
    for a in range(0, 10, 2):
        first, second = (np.flatnonzero(good.labels == c)[0] for c in (a, a + 1))
        labels[[first, second]] = a + 1, a
    pricer = pricer_of("hamming")(data, 3, 5)
    whole, damaged = (
        sorted_rows(padded(clusters_of(part, data.types), 5)) for part in (good.labels, labels)
    )
    pool, uses = with_start(np.unique(whole, axis=0), damaged)
    costs = np.array([pricer.cost(row[row >= 0]) for row in pool])
    assert costs @ uses > good.objective
    chosen, proven = regions.improve(
        pool,
        costs,
        costs,  # reduced by duals of 0
        uses,
        len(data.counts),
        3,
        Clock(),
        np.random.default_rng(0),
        regions.Effort(size=2),
        step,
    )
    rows = np.bincount(chosen[chosen >= 0], minlength=len(data.counts))
    assert rows.tolist() == data.counts.tolist()
    assert sum(pricer.cost(row[row >= 0]) for row in chosen) <= good.objective
    assert not proven


def test_one_mip_of_all_columns_proves_the_optimum():
    rng = np.random.default_rng(5)
    k = 2
    for n in (5, 6, 7, 8, 9):
        values = rng.integers(3, size=(n, 3)).astype(str)
        data = kn.Microdata.from_frame(pd.DataFrame(values, columns=list("abc")))
        types, pricer = len(data.counts), pricer_of("hamming")(data, k, 2 * k - 1)
        every = [
            np.array(cluster, dtype=np.int32)
            for size in range(k, 2 * k)
            for cluster in combinations_with_replacement(range(types), size)
            if (np.bincount(cluster, minlength=types) <= data.counts).all()
        ]
        labels = rng.permutation(np.minimum(np.arange(n) // k, n // k - 1))
        start = sorted_rows(padded(clusters_of(labels, data.types), 2 * k - 1))
        pool, uses = with_start(sorted_rows(padded(every, 2 * k - 1)), start)
        costs = np.array([pricer.cost(row[row >= 0]) for row in pool])
        chosen, proven = regions.improve(
            pool, costs, costs, uses, types, k, Clock(), rng, regions.Effort()
        )
        assert proven
        found = sum(pricer.cost(row[row >= 0]) for row in chosen)
        assert found == pytest.approx(optimum(data, k, "hamming"))
