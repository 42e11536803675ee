"""Cost's partitioning, aggregation and pipelines against literal transcriptions and brute force."""

from itertools import product

import numpy as np
import own_literal as literal
import pandas as pd
import pytest
from oracles import optimum

import kanopy as kn
from kanopy.solvers.branch_and_price.column_generation import lagrangian_bound
from kanopy.solvers.branch_and_price.start import unmerged
from kanopy.solvers.costs import total_cost
from kanopy.solvers.frequency.aggregation import AggregationOptions, aggregate
from kanopy.solvers.nominal import fractional
from kanopy.solvers.nominal.clique_aggregation import clique_representatives
from kanopy.solvers.nominal.enumeration_pricing import first_cluster
from kanopy.solvers.nominal.fractional import fractional_solution
from kanopy.solvers.nominal.greedy_aggregation import greedy_representatives
from kanopy.solvers.nominal.greedy_pricing import greedy_clusters
from kanopy.solvers.nominal.integer_step import integer_partition, take_clusters
from kanopy.solvers.nominal.local_aggregation import LocalOptions, local_representatives
from kanopy.solvers.nominal.preprocessing import Choices
from kanopy.solvers.problem import Problem
from kanopy.solvers.registry import all_methods
from kanopy.solvers.run import Run

FEW = AggregationOptions(proposals=200)
QUICK = {"proposals": 200}
STAR = {**QUICK, "anneal": 2000, "starts": 2}
OWN = [name for name in all_methods() if name.startswith(("own-", "rand-"))]


def options_of(name):
    return STAR if name == "own*" else QUICK


def table(rng, n=None):
    """A random table, identical rows together and in order of their codes."""
    n, m = n or int(rng.integers(4, 12)), int(rng.integers(1, 4))
    codes = rng.integers(0, rng.integers(2, 4), (n, m))
    codes = codes[np.lexsort(codes.T[::-1])]
    frame = pd.DataFrame(codes, columns=list("abc"[:m]))
    weights = dict(zip(frame.columns, rng.integers(1, 3, m).astype(float).tolist(), strict=True))
    return kn.Microdata.from_frame(frame, nominal=list(frame.columns), weights=weights)


def case(rng):
    """A table, its rows, its weights, k, and duals by type in quarters, so that sums are exact."""
    data = table(rng)
    k = int(rng.integers(2, min(4, data.n + 1)))
    duals = rng.integers(-2, 14, len(data.counts)) / 4
    return data, [tuple(row) for row in data.codes.tolist()], list(data.nominal_weights), k, duals


def as_types(data, clusters):
    return [sorted(data.types[cluster].tolist()) for cluster in clusters]


def blocks(labels):
    return [np.flatnonzero(labels == c).tolist() for c in range(labels.max() + 1)]


@pytest.mark.parametrize("seed", range(3))
def test_pricing_is_that_of_algorithms_5_and_6(seed):
    rng = np.random.default_rng(seed)
    met = 0
    for _ in range(100):
        data, rows, weights, k, duals = case(rng)
        codes = np.ascontiguousarray(data.codes[data.first_rows])
        columns = np.ascontiguousarray(codes.T)
        most = int(rng.integers(1, 5))
        by_row = duals[data.types].tolist()
        found, reduced = greedy_clusters(
            columns, data.nominal_weights, data.counts.copy(), duals, k, most, 0.0
        )
        expected = literal.algorithm_5(rows, weights, by_row, k, most)
        assert [sorted(c[c >= 0].tolist()) for c in found] == as_types(data, expected)
        assert reduced.tolist() == [
            literal.reduced_cost(rows, c, weights, by_row) for c in expected
        ]
        first = first_cluster(codes, data.nominal_weights, data.counts, duals, k)
        expected = literal.algorithm_6(rows, weights, by_row, k)
        assert (first is None) == (expected is None)
        if first is not None:
            assert sorted(first.tolist()) == sorted(data.types[expected].tolist())
        met += len(found) > 1
    assert met > 10


@pytest.mark.parametrize("seed", range(3))
def test_greedy_integer_step_is_that_of_algorithm_7(seed):
    rng = np.random.default_rng(seed)
    for number in range(100):
        data, rows, weights, k, duals = case(rng)
        gamma, lam = rng.integers(0, 5) / 4, rng.integers(1, 9) / 4
        increase = number % 2 == 1
        labels = integer_partition(
            data,
            k,
            duals,
            Run(Problem(data, k, "hamming")),
            gamma=gamma,
            lam=lam,
            exact=False,
            leftovers="increase" if increase else "weight",
        )
        by_row = duals[data.types].tolist()
        expected = literal.algorithm_7(rows, weights, by_row, k, gamma, lam, increase)
        assert as_types(data, blocks(labels)) == as_types(data, expected)
        assert k <= np.bincount(labels).min()
        assert np.bincount(labels).max() <= 2 * k - 1


@pytest.mark.parametrize("seed", range(2))
def test_exact_integer_step_minimises_the_auxiliary_problem(seed):
    rng = np.random.default_rng(seed)
    larger, unlike = 0, 0
    for _ in range(60):
        data, rows, weights, k, duals = case(rng)
        rewards = 0.5 * duals + 0.75
        run = Run(Problem(data, k, "hamming"))
        clusters, left = take_clusters(data, k, rewards, run, exact=True)
        greedy, _ = take_clusters(data, k, rewards, run, exact=False)
        by_row = rewards[data.types].tolist()
        free = list(range(data.n))
        for cluster in clusters:
            taken = []
            for kind in cluster.tolist():
                taken.append(next(i for i in free if data.types[i] == kind and i not in taken))
            least = literal.auxiliary_minimum(rows, free, weights, by_row, k)
            assert literal.reduced_cost(rows, taken, weights, by_row) == pytest.approx(least)
            free = [i for i in free if i not in taken]
            larger += len(taken) > k
        assert len(free) < k
        assert left.sum() == len(free)
        unlike += [c.tolist() for c in clusters] != [c.tolist() for c in greedy]
    assert larger > 10
    assert unlike > 5


def test_optimal_fractional_solution_bounds_every_partition_and_is_the_same_by_rows():
    rng = np.random.default_rng(2)
    for _ in range(25):
        data = table(rng, int(rng.integers(4, 9)))
        k = 2
        run = Run(Problem(data, k, "hamming"))
        exact = fractional_solution(data, k, run, exact=True)
        rows = fractional_solution(unmerged(data), k, run, exact=True)
        heuristic = fractional_solution(unmerged(data), k, run, exact=False)
        assert exact.value == pytest.approx(rows.value, abs=1e-6)
        assert exact.value <= optimum(data, k, "hamming") + 1e-6
        assert exact.bound == pytest.approx(exact.value, abs=1e-4)
        assert heuristic.value >= exact.value - 1e-6


def test_masters_of_many_equations_reach_the_same_optimum(monkeypatch):
    rng = np.random.default_rng(3)
    for _ in range(15):
        data = table(rng, int(rng.integers(7, 14)))
        run = Run(Problem(data, 2, "hamming"))
        printed = fractional_solution(data, 2, run, exact=True)
        with monkeypatch.context() as patch:
            patch.setattr(fractional, "FEW_EQUATIONS", 0)
            other = fractional_solution(data, 2, run, exact=True)
            heuristic = fractional_solution(data, 2, run, exact=False)
        assert other.value == pytest.approx(printed.value, abs=0.02)
        assert other.bound <= printed.value + 1e-6
        assert other.bound == pytest.approx(printed.value, abs=0.02)
        assert heuristic.value >= printed.value - 0.02


def test_bounds_hold_while_artificial_columns_are_in_use(monkeypatch):
    """Artificials that cost next to nothing cap the duals; they rise until none is in use."""
    bounds, raised = [], []

    class Cheap(fractional.Greedy):
        def __init__(self, *given):
            super().__init__(*given)
            super().raise_artificials(np.arange(self.types), 1e-3)

        def raise_artificials(self, which, factor=2.0):
            raised.append(len(which))
            super().raise_artificials(which, factor)

    def remembered(*given):
        bounds.append(lagrangian_bound(*given))
        return bounds[-1]

    rng = np.random.default_rng(6)
    monkeypatch.setattr(fractional, "lagrangian_bound", remembered)
    for _ in range(8):
        data = table(rng, int(rng.integers(7, 14)))
        run = Run(Problem(data, 2, "hamming"))
        printed = fractional_solution(data, 2, run, exact=True)
        bounds.clear()
        raised.clear()
        with monkeypatch.context() as patch:
            patch.setattr(fractional, "FEW_EQUATIONS", 0)
            patch.setattr(fractional, "Greedy", Cheap)
            other = fractional_solution(data, 2, run, exact=True)
        assert printed.value == 0 or (raised and len(bounds) > 1)
        assert max(bounds) == other.bound <= printed.value + 1e-6
        assert other.bound == pytest.approx(printed.value, abs=0.02)
        assert other.value == pytest.approx(printed.value, abs=0.02)


def clusters_of(rng, data, k):
    labels = np.minimum(np.arange(data.n) // k, data.n // k - 1)
    labels = rng.permutation(labels)
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


@pytest.mark.parametrize("seed", range(3))
def test_aggregation_is_that_of_algorithms_8_and_9(seed):
    rng = np.random.default_rng(seed)
    better = 0
    for _ in range(70):
        data = table(rng)
        rows = [tuple(row) for row in data.codes.tolist()]
        k = int(rng.integers(2, 4))
        labels = clusters_of(rng, data, k)
        control = int(rng.integers(1, len(data.nominal) + 1))
        problem = Problem(data, k, "chi2", control=data.tables(control))
        tables = [
            tuple(data.nominal.index(name) for name in names) for names in problem.control.names
        ]
        for criterion in ("squared", "printed"):
            choices = Choices.of(problem, labels)
            chosen = greedy_representatives(choices, criterion)
            expected = literal.algorithm_8(rows, blocks(labels), tables, criterion == "squared")
            assert choices.members.kind[chosen].tolist() == data.types[expected].tolist()
        for fix in (True, False):
            choices = Choices.of(problem, labels, fix=fix)
            chosen = clique_representatives(choices)
            expected = literal.algorithm_9(rows, blocks(labels), tables, fix)
            assert choices.members.kind[chosen].tolist() == data.types[expected].tolist()
        choices = Choices.of(problem, labels)
        exact = problem.objective(aggregate(problem, labels, Run(problem), FEW))
        local = problem.objective(
            local_representatives(problem, labels, Run(problem), LocalOptions(200))
        )
        both = [
            problem.objective(choices.outcome(choose(choices)))
            for choose in (greedy_representatives, clique_representatives)
        ]
        assert exact - 1e-9 <= local <= min(both) + 1e-9
        better += local < min(both) - 1e-6
    assert better > 0


@pytest.mark.parametrize("name", OWN)
def test_pipelines_give_member_representatives(name):
    rng = np.random.default_rng(3)
    for number in range(4):
        data = table(rng, 9 + number)
        s = kn.solve(data, 3, name, seed=number, options=QUICK)
        assert s.sizes.min() >= 3
        assert (s.labels[s.representatives] == np.arange(len(s.sizes))).all()
        assert s.bound is None
        assert len(s.release()) == data.n


@pytest.mark.parametrize("name", ["own-eee", "own-hhe", "own-hhg", "own*"])
def test_example_of_the_thesis_keeps_its_tables(name):
    """Example 5.1.2: the table of sex stays 6 and 3, as in scenario 2 of table 5.1."""
    data = kn.example("aggregation")
    s = kn.solve(data, 3, name, control=1, options=options_of(name))
    assert s.objective == 0
    assert sorted(s.release().iloc[:, 0].value_counts().tolist()) == [3, 6]


@pytest.mark.parametrize("name", ["own-eee", "own-hhg", "own-hhc", "own*"])
def test_small_examples(name):
    quick = options_of(name)
    anonymous = kn.example("compensation")  # for 5.1.1; 3.2.1 is 2-anonymous already
    assert kn.solve(anonymous, 2, name, control=1, options=quick).objective == 0
    survey = kn.solve(kn.example("survey"), 2, name, control=1, options=quick)
    before = {tuple(row) for row in kn.example("survey").frame.to_numpy().tolist()}
    after = {tuple(row) for row in survey.release().to_numpy().tolist()}
    assert after <= before
    plurality = kn.solve(kn.example("plurality"), 4, name, control=1, options=quick).release()
    rows = {tuple(row) for row in kn.example("plurality").frame.to_numpy().tolist()}
    assert {tuple(row) for row in plurality.to_numpy().tolist()} <= rows
    assert len(plurality.drop_duplicates()) == 1


def test_a_table_that_is_anonymous_stays():
    """Example 3.2.1."""
    frame = pd.DataFrame({"sex": list("ffmm"), "land": list("ggoo")})
    for name in ("own-eee", "own-hhg", "own*"):
        s = kn.solve(frame, 2, name, control=2, options=options_of(name))
        assert s.objective == 0
        assert s.release().to_numpy().tolist() == frame.to_numpy().tolist()


def test_own_star_keeps_the_least_weight_rows_and_structural_zeros():
    rng = np.random.default_rng(4)
    for number in range(8):
        data = table(rng, 8)
        k = 2 + number % 2
        least = optimum(data, k, "hamming")
        for representatives in ("members", "near", "occurring"):
            s = kn.solve(data, k, "own*", options={**STAR, "representatives": representatives})
            assert total_cost(data, s.labels, "hamming") == pytest.approx(least)
            told = [event for event in s.trace if event.weight is not None]
            assert told[0].weight == pytest.approx(least)
            assert told[0].weight_bound == pytest.approx(least)
            rows = {tuple(row) for row in data.frame.to_numpy().tolist()}
            assert {tuple(row) for row in s.release().to_numpy().tolist()} <= rows
            assert len(s.release()) == data.n


def test_own_star_takes_the_best_of_all_combinations_that_occur():
    given = {**STAR, "starts": 1, "anneal": 0}
    outside = 0
    for seed in range(4):
        codes = np.random.default_rng(seed).choice(list("xyz"), size=(2, 9), p=[0.6, 0.2, 0.2])
        data = kn.Microdata.from_frame(pd.DataFrame({"a": codes[0], "b": codes[1]}))
        s = kn.solve(data, 2, "own*", control=2, options=given)
        near = kn.solve(data, 2, "own*", control=2, options={**given, "representatives": "near"})
        tables, sizes = data.tables(2), np.bincount(s.labels)
        goal = tables.values(data.counts)
        least = np.inf
        for kinds in product(range(len(data.counts)), repeat=len(sizes)):
            counts = np.bincount(kinds, sizes, minlength=len(data.counts))
            least = min(least, float(((tables.values(counts) - goal) ** 2 / goal).sum()))
        assert s.objective == pytest.approx(least, abs=1e-6)
        assert s.objective <= near.objective + 1e-9
        outside += s.objective < near.objective - 1e-9
    assert outside > 0


def test_wrong_options_are_named():
    frame = pd.DataFrame({"sex": list("ffmm"), "land": list("ggoo")})
    for given in ({"gamma": 1.5}, {"lambda_": 0.0}, {"leftovers": "no"}, {"criterion": "no"}):
        with pytest.raises(kn.KanopyError, match=next(iter(given)).rstrip("_")):
            kn.solve(frame, 2, "own-hhg", options=given)
    with pytest.raises(kn.KanopyError, match="initial"):
        kn.solve(frame, 2, "aggregation-greedy")


def test_lambda_goes_by_its_own_name():
    data = kn.generate("synthetic", n=60, p=0.5, k=3, seed=1)
    by_name, by_field, default = (
        kn.solve(data, 3, "own-hhg", options=given)
        for given in ({"lambda": 0.01}, {"lambda_": 0.01}, {})
    )
    assert by_name.labels.tolist() == by_field.labels.tolist() != default.labels.tolist()
    with pytest.raises(kn.KanopyError, match="'lambda' of 'own-hhg' is given twice"):
        kn.solve(data, 3, "own-hhg", options={"lambda": 1.0, "lambda_": 2.0})
    with pytest.raises(kn.KanopyError, match="unknown option of 'own-hhg' 'class'"):
        kn.solve(data, 3, "own-hhg", options={"class": 1.0})


def test_given_clusters_are_aggregated_by_every_method():
    data = kn.example("aggregation")
    labels = [0, 0, 0, 1, 1, 1, 2, 2, 2]
    for name, control in product(("greedy", "clique", "local", "exact"), (1, 2)):
        s = kn.solve(data, 3, f"aggregation-{name}", control=control, initial=labels)
        assert s.labels.tolist() == labels
        if control == 1:
            assert s.objective == pytest.approx(0)
