"""Dives over merged rows: a partition of the rows that are there, and nothing changed after."""

import math

import numpy as np
import pandas as pd
import pytest

from kanopy.instances.microdata import Microdata
from kanopy.solvers.branch_and_price import diving
from kanopy.solvers.branch_and_price.column_generation import Clock, ColumnGeneration
from kanopy.solvers.branch_and_price.diving import dive
from kanopy.solvers.branch_and_price.master import Master
from kanopy.solvers.branch_and_price.pricer_hamming import HammingPricer
from kanopy.solvers.branch_and_price.pricing import quick_search
from kanopy.solvers.branch_and_price.start import pure_clusters


@pytest.mark.parametrize("seed", range(12))
def test_dives_use_each_row_once(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 4))
    frame = pd.DataFrame(rng.integers(0, 4, (60, 3)).astype(str), columns=list("abc"))
    rows = np.repeat(np.arange(60), rng.integers(1, 4, 60))
    data = Microdata.from_frame(frame.iloc[rows].reset_index(drop=True))
    pricer = HammingPricer(data, k)
    copies = pricer.multiplicities.copy()
    # artificials as cheap as these serve no row that a dive leaves over unless they rise
    master = Master(copies, k, np.full(len(copies), 0.1), 1.0)
    alone = pure_clusters(copies, k, 2 * k - 1)
    master.add(alone, np.zeros(len(alone)))
    generation = ColumnGeneration(master, pricer, quick_search("hamming", k))
    generation.run(Clock())
    clusters = dive(generation, Clock(), rng)
    assert clusters is not None
    sizes = (clusters >= 0).sum(axis=1)
    assert sizes.min() >= k
    assert np.array_equal(np.bincount(clusters[clusters >= 0], minlength=len(copies)), copies)
    assert np.array_equal(pricer.multiplicities, copies)
    assert master.lower.max() == 0
    assert math.isinf(master.upper.min())
    # far better than the rows as they come, k at a time
    cost = sum(pricer.cost(row[row >= 0]) for row in clusters)
    rows = np.repeat(np.arange(len(copies)), copies).astype(np.int32)
    parts = [rows[i : i + k] for i in range(0, len(rows) // k * k, k)]
    assert cost < 0.8 * sum(pricer.cost(part) for part in parts)


def test_clusters_of_one_type_are_fixed_last():
    clusters = np.array([[0, 0, -1], [0, 1, -1], [2, 2, 2], [1, 3, -1]], dtype=np.int32)
    left = np.array([9, 2, 3, 1])
    x = np.array([4.0, 1.0, 1.0, 0.5])
    rng = np.random.default_rng(0)
    assert diving._choose_columns(clusters, x, left, 2, 0.2, rng, False).tolist() == [0, 1, 0, 0]
    x[[1, 3]] = 0.0
    assert diving._choose_columns(clusters, x, left, 2, 0.2, rng, False).tolist() == [4, 0, 1, 0]
    assert diving._pure_sizes(clusters).tolist() == [2, 0, 3, 0]


def test_a_dive_prices_with_the_rows_left(monkeypatch):
    # two pairs of odd rows, and one odd row with a row of the ample type
    data = Microdata.from_frame(pd.DataFrame({"a": list("xxxxxxx") + list("pqrst")}))
    pricer = HammingPricer(data, 2)
    seen = []
    price = HammingPricer.price

    def watch(self, *arguments):
        seen.append(self.multiplicities.copy())
        return price(self, *arguments)

    monkeypatch.setattr(HammingPricer, "price", watch)
    monkeypatch.setattr(diving, "LAST_MERGED", 0)
    monkeypatch.setattr(diving, "LAST_ROWS", 0)
    master = Master(pricer.multiplicities, 2, np.full(6, 9.0), 1.0)
    generation = ColumnGeneration(master, pricer, quick_search("hamming", 2))
    generation.run(Clock())
    clusters = dive(generation, Clock(), np.random.default_rng(0))
    assert clusters is not None
    assert any((counts < data.counts).any() for counts in seen)
    assert sum(pricer.cost(row[row >= 0]) for row in clusters) == 3
