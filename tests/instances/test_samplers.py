from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from kanopy.instances.errors import KanopyError
from kanopy.instances.examples import example
from kanopy.instances.microdata import Microdata
from kanopy.instances.samplers import random_rows, sample, sample_rows
from kanopy.instances.simulated import simu

DATA = Microdata.from_frame(
    pd.DataFrame({"x": np.r_[np.arange(60), np.arange(40) - 70.0], "y": 1000.0 + np.arange(100)})
)


@pytest.mark.parametrize("criterion", ["consecutive", "random", "norm", "centroid"])
def test_subsets_are_rows_standardised_on_themselves(criterion):
    for number in range(5):
        part = sample(DATA, 20, criterion, number)
        assert part.n == 20
        assert part.frame.index.is_unique
        np.testing.assert_allclose(part.X.mean(axis=0), 0, atol=1e-9)
        np.testing.assert_allclose(part.X.std(axis=0), 1)
        pd.testing.assert_frame_equal(part.frame, DATA.frame.loc[part.frame.index])


def test_consecutive_subsets_spread_evenly():
    starts = [sample_rows(DATA, 20, "consecutive", i) for i in range(5)]
    assert [rows[0] for rows in starts] == [0, 20, 40, 60, 80]
    assert all((np.diff(rows) == 1).all() for rows in starts)
    # five subsets of 40 do not fit into 100 rows: they overlap, evenly
    assert [sample_rows(DATA, 40, "consecutive", i)[0] for i in range(5)] == [0, 15, 30, 45, 60]
    assert sample_rows(DATA, 20, "consecutive", subsets=1)[0] == 0


@pytest.mark.parametrize("criterion", ["norm", "centroid"])
def test_ordered_subsets_follow_the_raw_values(criterion):
    raw = DATA.frame.to_numpy()
    key = np.linalg.norm(raw - (raw.mean(axis=0) if criterion == "centroid" else 0), axis=1)
    keys = [key[sample_rows(DATA, 20, criterion, i)] for i in range(5)]
    assert all((np.diff(k) >= 0).all() for k in keys)
    assert keys[0][0] == key.min()
    assert keys[4][-1] == key.max()
    assert all(a[-1] <= b[0] for a, b in pairwise(keys))


def test_norm_and_centroid_differ():
    assert set(sample_rows(DATA, 20, "norm")) != set(sample_rows(DATA, 20, "centroid"))


def test_random_subsets_depend_on_seed_and_number_only():
    rows = {
        (seed, number): tuple(sample_rows(DATA, 30, "random", number, seed))
        for seed in range(3)
        for number in range(3)
    }
    assert len(set(rows.values())) == 9
    assert rows[1, 2] == tuple(sample_rows(DATA, 30, "random", 2, 1))
    assert rows[1, 0] == tuple(random_rows(100, 30, 1))
    assert all(list(r) == sorted(set(r)) for r in rows.values())


def test_random_rows_are_uniform():
    hits = np.zeros(10)
    for seed in range(2000):
        hits[random_rows(10, 3, seed)] += 1
    assert np.abs(hits / 2000 - 0.3).max() < 0.05


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"size": 101}, "size = 101, but there are 100 rows"),
        ({"size": 0}, "size = 0"),
        ({"size": 5, "criterion": "best"}, "unknown criterion 'best'.*consecutive, random"),
        ({"size": 5, "number": 5}, "number = 5"),
        ({"size": 5, "number": -1}, "number = -1"),
    ],
)
def test_bad_requests(parameters, message):
    with pytest.raises(KanopyError, match=message):
        sample(DATA, **parameters)


def test_orders_need_numbers():
    with pytest.raises(KanopyError, match="needs numeric columns"):
        sample(example("survey"), 3, "norm")
    assert sample(example("survey"), 3, "consecutive").n == 3
    assert sample(simu(20, 2), 20, "norm").n == 20
