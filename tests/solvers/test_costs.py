import numpy as np
import pytest
from oracles import all_partitions, labels_of, pair_cost, random_instance

import kanopy as kn
from kanopy.solvers.costs import cluster_costs, frequency_cost, total_cost


@pytest.mark.parametrize("cost", ["sse", "hamming", "range"])
def test_cluster_costs_equal_their_definition(cost):
    rng = np.random.default_rng(1)
    for _ in range(60):
        data = random_instance(rng, cost, 7)
        labels = np.unique(rng.integers(0, 3, 7), return_inverse=True)[1]
        blocks = [tuple(np.flatnonzero(labels == c).tolist()) for c in range(labels.max() + 1)]
        expected = [pair_cost(data, block, cost) for block in blocks]
        np.testing.assert_allclose(cluster_costs(data, labels, cost), expected, atol=1e-12)


@pytest.mark.parametrize("cost", ["sse", "hamming", "range"])
def test_costs_are_monotone_and_super_additive(cost):
    """Both properties carry the claim that clusters of k … 2k−1 suffice."""
    rng = np.random.default_rng(2)
    for _ in range(40):
        data = random_instance(rng, cost, 6)
        whole = total_cost(data, np.zeros(6, dtype=int), cost)
        for partition in all_partitions(6, 1):
            assert total_cost(data, labels_of(partition), cost) <= whole + 1e-12
        one_less = data.restrict(np.arange(5))
        assert total_cost(one_less, np.zeros(5, dtype=int), cost) <= whole + 1e-12


@pytest.mark.parametrize("cost", ["sse", "hamming", "range"])
def test_costs_ignore_row_order_and_cluster_numbers(cost):
    rng = np.random.default_rng(3)
    data = random_instance(rng, cost, 30)
    labels = rng.permutation(np.arange(30) // 3)
    order, names = rng.permutation(30), rng.permutation(10)
    moved = data.restrict(order)
    assert total_cost(moved, names[labels[order]], cost) == pytest.approx(
        total_cost(data, labels, cost)
    )


def test_range_cost_of_liangs_classes():
    data = kn.example("fars")
    equal = [{0, 2, 15, 17}, {1, 11, 12}, {3, 4, 18}, {5, 6, 8, 9}, {7, 10, 16}, {13, 14, 19}]
    labels = np.array([next(c for c, rows in enumerate(equal) if i in rows) for i in range(20)])
    assert total_cost(data, labels, "range") == pytest.approx(4.816532258, abs=1e-9)


def test_frequency_costs_by_hand():
    data = kn.example("aggregation")
    tables = data.tables(1)
    after = np.zeros_like(data.counts)
    rows = data.combinations
    for sex, status in (("f", "empl"), ("f", "unempl"), ("f", "inact")):
        match = (rows.iloc[:, 0] == sex) & (rows.iloc[:, 1] == status)
        after[np.flatnonzero(match)] = 3
    assert frequency_cost(tables, after, data.counts, "chi2") == pytest.approx(9 / 6 + 9 / 3)
    assert frequency_cost(tables, after, data.counts, "max-error") == 3
    assert frequency_cost(
        tables, after, data.counts, "max-error", tolerance=np.full(5, 1.0), deviation_weight=0.5
    ) == pytest.approx(2 + 0.5 * 6)
