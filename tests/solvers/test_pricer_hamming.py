import numpy as np
import pandas as pd
import pytest
from pricing_cases import check_random_questions
from sizes import how_many

from kanopy.instances.microdata import Microdata
from kanopy.solvers.branch_and_price.pricer_hamming import HammingPricer
from kanopy.solvers.branch_and_price.pricing import Cuts, Duals, Restrictions, Search
from kanopy.solvers.clock import now
from kanopy.solvers.costs import cluster_costs


@pytest.mark.parametrize("start", range(0, how_many(90, 900), 30))
def test_random_questions_are_answered_as_by_brute_force(start):
    check_random_questions(HammingPricer, "hamming", range(start, start + 30))


def _random_data(seed: int, n: int, columns: int, values: int) -> Microdata:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, values, (n, columns)).astype(str)
    names = [f"c{j}" for j in range(columns)]
    weights = dict(zip(names, rng.random(columns) + 0.1, strict=True))
    return Microdata.from_frame(pd.DataFrame(codes, columns=names), weights=weights)


@pytest.mark.parametrize(("columns", "values"), [(3, 2), (11, 3), (5, 300), (2, 70_000)])
def test_cost_is_that_of_the_rows(columns, values):
    data = _random_data(1, 600, columns, values)
    pricer = HammingPricer(data, 3)
    rng = np.random.default_rng(2)
    for size in (1, 3, 5, 8):
        rows = rng.choice(data.n, size, replace=False)
        labels = np.where(np.isin(np.arange(data.n), rows), 0, 1)
        expected = cluster_costs(data, labels, "hamming")[0]
        assert pricer.cost(data.types[rows].astype(np.int32)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("columns", "values"), [(11, 3), (5, 300), (2, 70_000)])
def test_search_agrees_with_costs_where_columns_are_many_or_large(columns, values):
    # the search sums packed distances, so an error there shows as a missing or surplus pair
    data = _random_data(3, 60, columns, values)
    pricer = HammingPricer(data, 2)
    duals = Duals(np.full(len(data.counts), 0.45 * data.weights.sum()))
    every = pricer.price(
        duals, Cuts(), Restrictions(), Search(threshold=0.0, per_root=0, sizes=(2,))
    )
    number = len(data.counts)
    expected = {
        (a, b)
        for a in range(number)
        for b in range(a, number)
        if (a < b or data.counts[a] > 1)
        and pricer.cost(np.array([a, b], dtype=np.int32)) < 0.9 * data.weights.sum() - 1e-9
    }
    assert {tuple(row[:2].tolist()) for row in every.clusters} == expected
    assert len(expected) > 0 or values > 1000


def test_larger_instance_pricing_agrees_with_enumeration():
    data = _random_data(4, 150, 4, 4)
    duals = Duals(1.5 * np.random.default_rng(5).random(len(data.counts)), -0.2)
    for k in (3, 4):
        pricer = HammingPricer(data, k)
        every = pricer.price(duals, Cuts(), Restrictions(), Search(threshold=0.0, per_root=0))
        best = pricer.price(duals, Cuts(), Restrictions(), Search(per_root=2))
        assert len(every) > 50
        assert best.least == pytest.approx(every.reduced_costs.min(), abs=1e-8)
        assert np.all(best.per_root >= best.least)
        assert best.nodes < every.nodes


def test_stopping_ends_a_search_incomplete():
    data = _random_data(6, 300, 6, 5)
    pricer = HammingPricer(data, 5)
    asked = []
    pricer.stopping = lambda: bool(asked.append(1)) or len(asked) >= 2
    duals = Duals(np.full(len(data.counts), 50.0))
    stopped = pricer.price(duals, Cuts(), Restrictions(), Search(threshold=0.0, per_root=0))
    assert len(asked) == 2
    assert not stopped.complete
    assert stopped.least == -np.inf
    assert len(stopped) > 0


def test_a_deadline_ends_a_search_incomplete():
    pricer = HammingPricer(_random_data(6, 300, 6, 5), 5)
    duals = Duals(np.full(len(pricer.multiplicities), 50.0))
    late = Search(threshold=0.0, per_root=0, deadline=now())
    assert not pricer.price(duals, Cuts(), Restrictions(), late).complete
