import numpy as np
import pandas as pd
import pytest
from pricing_cases import check_random_questions
from sizes import how_many

from kanopy.instances.microdata import Microdata
from kanopy.solvers.branch_and_price.pricer_range import RangePricer
from kanopy.solvers.branch_and_price.pricing import Cuts, Duals, Restrictions, Search
from kanopy.solvers.clock import now
from kanopy.solvers.costs import cluster_costs


@pytest.mark.parametrize("start", range(0, how_many(90, 900), 30))
def test_random_questions_are_answered_as_by_brute_force(start):
    check_random_questions(RangePricer, "range", range(start, start + 30))


def _random_data(seed: int, n: int, values: int) -> Microdata:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(0, 40, n) * 1.0,
            "income": rng.normal(size=n).round(1),
            "constant": 3.0,
            "job": rng.integers(0, values, n).astype(str),
            "sex": rng.choice(["f", "m"], n),
        }
    )
    weights = {"age": 0.7, "job": 2.0}
    return Microdata.from_frame(frame, weights=weights, domains={"age": (-5, 90), "sex": 3})


@pytest.mark.parametrize("values", [3, 64, 65, 500])
def test_cost_is_that_of_the_rows(values):
    data = _random_data(1, 600, values)
    pricer = RangePricer(data, 3)
    rng = np.random.default_rng(2)
    for size in (1, 3, 5, 8):
        rows = rng.choice(data.n, size, replace=False)
        labels = np.where(np.isin(np.arange(data.n), rows), 0, 1)
        expected = cluster_costs(data, labels, "range")[0]
        assert pricer.cost(data.types[rows].astype(np.int32)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("values", [3, 200])
def test_pairs_found_are_those_that_the_costs_say(values):
    # columns of more than 64 values lie in several words
    data = _random_data(3, 60, values)
    pricer = RangePricer(data, 2)
    number = len(data.counts)
    every = pricer.price(
        Duals(np.full(number, 0.5)),
        Cuts(),
        Restrictions(),
        Search(threshold=0.0, per_root=0, sizes=(2,)),
    )
    expected = {
        (a, b)
        for a in range(number)
        for b in range(a, number)
        if (a < b or data.counts[a] > 1)
        and pricer.cost(np.array([a, b], dtype=np.int32)) < 1.0 - 1e-9
    }
    assert {tuple(row[:2].tolist()) for row in every.clusters} == expected
    assert 0 < len(expected) < number * (number - 1) // 2


def test_larger_instance_pricing_agrees_with_enumeration():
    data = _random_data(4, 120, 4)
    duals = Duals(0.35 + 0.5 * np.random.default_rng(5).random(len(data.counts)), -0.2)
    for k in (3, 4):
        pricer = RangePricer(data, k)
        every = pricer.price(duals, Cuts(), Restrictions(), Search(threshold=0.0, per_root=0))
        best = pricer.price(duals, Cuts(), Restrictions(), Search(per_root=2))
        assert len(every) > 50
        assert best.least == pytest.approx(every.reduced_costs.min(), abs=1e-8)
        assert np.all(best.per_root >= best.least)
        assert best.nodes < every.nodes


def test_stopping_ends_a_search_incomplete():
    data = _random_data(6, 300, 5)
    pricer = RangePricer(data, 5)
    asked = []
    pricer.stopping = lambda: bool(asked.append(1)) or len(asked) >= 2
    duals = Duals(np.full(len(data.counts), 50.0))
    stopped = pricer.price(duals, Cuts(), Restrictions(), Search(threshold=0.0, per_root=0))
    assert len(asked) == 2
    assert not stopped.complete
    assert stopped.least == -np.inf
    assert len(stopped) > 0


def test_a_deadline_ends_a_search_incomplete():
    pricer = RangePricer(_random_data(6, 300, 5), 5)
    duals = Duals(np.full(len(pricer.multiplicities), 50.0))
    late = Search(threshold=0.0, per_root=0, deadline=now())
    assert not pricer.price(duals, Cuts(), Restrictions(), late).complete
