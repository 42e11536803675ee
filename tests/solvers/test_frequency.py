"""The exact methods for frequency vectors against brute force over all count vectors."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sizes import how_many

import kanopy as kn
from kanopy.instances.matching import matching_problem, three_dimensional_matching
from kanopy.solvers.backends.choice import find_backend
from kanopy.solvers.frequency.chi_ex import ChiExOptions, chi_ex
from kanopy.solvers.frequency.max_error import MsafeOptions, SafeBasicOptions, msafe, safe_basic
from kanopy.solvers.problem import Outcome, Problem
from kanopy.solvers.registry import find_method
from kanopy.solvers.run import Run

NAMES = ("a", "b", "c")


def all_counts(types: int, k: int, total: int) -> Iterator[list[int]]:
    """Every vector of counts that are 0 or at least k and add up to the total."""
    if types == 1:
        if total == 0 or total >= k:
            yield [total]
        return
    for count in (0, *range(k, total + 1)):
        if count <= total:
            for rest in all_counts(types - 1, k, total - count):
                yield [count, *rest]


def literal_cost(problem: Problem, counts: list[int]) -> float:
    """The objective, cell by cell, from the codes alone."""
    codes = problem.data.codes[problem.data.first_rows]
    original = problem.data.counts
    names = problem.data.nominal
    worst, chi2, cell_number = -np.inf, 0.0, 0
    for table in problem.control.names:
        columns = [names.index(name) for name in table]
        cells: dict[tuple[int, ...], list[int]] = {}
        for i, row in enumerate(codes):
            cells.setdefault(tuple(row[columns]), []).append(i)
        for key in sorted(cells):
            before = sum(int(original[i]) for i in cells[key])
            after = sum(counts[i] for i in cells[key])
            allowed = 0.0 if problem.tolerance is None else problem.tolerance[cell_number]
            worst = max(worst, abs(before - after) - allowed)
            chi2 += (before - after) ** 2 / before
            cell_number += 1
    deviation = sum(abs(int(o) - c) for o, c in zip(original, counts, strict=True))
    base = chi2 if problem.cost == "chi2" else worst
    return base + problem.deviation_weight * deviation


def optimum(problem: Problem) -> float:
    vectors = all_counts(len(problem.data.counts), problem.k, problem.total)
    return min(literal_cost(problem, counts) for counts in vectors)


def tiny(rng: np.random.Generator, cost: str) -> Problem:
    """A tiny problem with random tables, tolerances, weight and total."""
    while True:
        m = int(rng.integers(1, 4))
        n = int(rng.integers(3, 11))
        frame = pd.DataFrame({name: rng.integers(0, rng.integers(2, 4), n) for name in NAMES[:m]})
        data = kn.Microdata.from_frame(frame, nominal=list(frame.columns))
        k = int(rng.integers(2, min(5, n) + 1))
        total = n if rng.random() < 0.8 else int(rng.integers(k, n + 4))
        if len(data.counts) <= 7:
            break
    tables = data.tables(int(rng.integers(1, m + 1)))
    tolerance = None
    if cost == "max-error":
        cells = len(tables)
        tolerance = [np.zeros(cells), rng.integers(0, 3, cells), rng.random(cells) * 2][
            int(rng.integers(3))
        ].astype(float)
    weight = float(rng.choice([0.0, 1 / n, 0.4, 3.0, 2e6]))
    return Problem(data, k, cost, tables, tolerance, weight, total)


def check(problem: Problem, method, options, best: float) -> None:
    """Solve, and hold the answer and everything ever reported against the optimum."""
    bounds: list[float] = []
    run = Run(problem, listener=lambda event: bounds.append(event.bound))
    outcome = method(problem, run, options)
    counts = outcome.counts.tolist()
    assert sum(counts) == problem.total
    assert all(count == 0 or count >= problem.k for count in counts)
    assert literal_cost(problem, counts) == pytest.approx(best, abs=1e-7)
    slack = 1e-9 * max(1.0, abs(best))
    assert best - 1e-6 * max(1.0, abs(best)) <= outcome.bound <= best + slack
    assert all(bound is None or bound <= best + slack for bound in bounds)
    assert run.progress.bound <= best + slack


CASES = {
    "chi2": (chi_ex, ChiExOptions(proposals=200)),
    "safe": (safe_basic, SafeBasicOptions()),
    "msafe": (msafe, MsafeOptions()),
}


@pytest.mark.parametrize("seed", range(how_many(24, 60)))
@pytest.mark.parametrize("case", CASES)
def test_optimum_is_found_and_proved(case, seed):
    method, options = CASES[case]
    rng = np.random.default_rng([seed, sum(map(ord, case))])
    for _ in range(3):
        problem = tiny(rng, "chi2" if case == "chi2" else "max-error")
        if case == "safe":
            problem = replace(problem, deviation_weight=0.0)
        check(problem, method, options, optimum(problem))


@pytest.mark.parametrize("case", CASES)
def test_search_proves_without_a_good_start(case, monkeypatch):
    """Annealing finds the optimum of tiny problems: without it, the search has to."""
    keep = lambda original, start, *rest: start.copy()  # noqa: E731
    monkeypatch.setattr("kanopy.solvers.frequency.chi_ex.anneal_counts", keep)
    monkeypatch.setattr("kanopy.solvers.frequency.max_error.anneal_counts", keep)
    monkeypatch.setattr("kanopy.solvers.frequency.max_error.anneal_within", lambda *rest: None)
    method, options = CASES[case]
    rng = np.random.default_rng(5)
    for _ in range(40):
        problem = tiny(rng, "chi2" if case == "chi2" else "max-error")
        if case == "safe":
            problem = replace(problem, deviation_weight=0.0)
        check(problem, method, options, optimum(problem))


@pytest.mark.parametrize("nodes", [0, 2, 1000])
@pytest.mark.parametrize("case", CASES)
def test_finish_alone_is_exact(case, nodes, monkeypatch):
    """Without any round of reduction the mixed-integer program has to be right by itself.

    So has the tree, and the one after the other.
    """
    monkeypatch.setattr("kanopy.solvers.frequency.search.ROUNDS", ())
    monkeypatch.setattr("kanopy.solvers.frequency.chi_ex.MOST_NODES", nodes)
    monkeypatch.setattr("kanopy.solvers.frequency.max_error.MOST_NODES", nodes)
    method, options = CASES[case]
    rng = np.random.default_rng(6)
    for _ in range(25):
        problem = tiny(rng, "chi2" if case == "chi2" else "max-error")
        if case == "safe":
            problem = replace(problem, deviation_weight=0.0)
        check(problem, method, options, optimum(problem))


@pytest.mark.parametrize("backend", ["cpsat", "scip", "gurobi"])
@pytest.mark.parametrize("case", CASES)
def test_back_ends_agree(case, backend, monkeypatch):
    if reason := find_backend(backend).unavailable():
        pytest.skip(reason)
    monkeypatch.setattr("kanopy.solvers.frequency.search.ROUNDS", ())
    method, options = CASES[case]
    rng = np.random.default_rng(7)
    for _ in range(6):
        problem = tiny(rng, "chi2" if case == "chi2" else "max-error")
        if case == "safe":
            problem = replace(problem, deviation_weight=0.0)
        check(problem, method, replace(options, backend=backend), optimum(problem))


@pytest.mark.parametrize("case", CASES)
def test_printed_formulation_agrees(case):
    if case == "chi2" and (reason := find_backend("scip").unavailable()):
        pytest.skip(reason)
    method, options = CASES[case]
    backend = "scip" if case == "chi2" else "auto"
    options = replace(options, formulation="paper", backend=backend)
    rng = np.random.default_rng(8)
    for _ in range(8):
        problem = tiny(rng, "chi2" if case == "chi2" else "max-error")
        if case == "safe":
            problem = replace(problem, deviation_weight=0.0)
        best = optimum(problem)
        run = Run(problem)
        outcome = method(problem, run, options)
        assert literal_cost(problem, outcome.counts.tolist()) == pytest.approx(best, abs=1e-6)
        assert run.progress.bound <= best + 1e-9
        assert run.progress.bound >= best - 1e-5 * max(1.0, abs(best))


def test_compensating_changes_cost_nothing():
    """Example 5.1.1 of 000: one-dimensional tables can stay as they are."""
    data = kn.example("compensation")
    solution = kn.solve(data, k=2, method="chi-ex", control=1, options={"weight": 0.0})
    assert solution.objective == 0.0
    assert solution.status == "optimal"
    assert sorted(solution.counts.tolist()) == [0, 0, 2, 2]


def test_modified_safe_keeps_anonymous_data():
    """Example 3.2.1 of 000: what is anonymous already is its own best release."""
    solution = kn.solve(kn.example("safe-basic"), k=2, method="msafe", control=1)
    assert solution.counts.tolist() == [2, 2]
    assert solution.objective == solution.bound == 0.0


def test_solve_completes_the_problem():
    data = kn.example("survey")
    solution = kn.solve(data, k=2, method="msafe", control=2)
    assert solution.problem.deviation_weight == pytest.approx(1 / 5)
    assert solution.problem.total == 5
    assert solution.problem.tolerance.tolist() == [0.0] * len(solution.problem.control)
    weighted = kn.solve(data, k=2, method="chi-ex", control=2, options={"weight": 2.5})
    assert weighted.problem.deviation_weight == 2.5
    assert weighted.objective == pytest.approx(optimum(weighted.problem))


def test_appendix_tolerances_apply():
    rows = [["x"]] * 30 + [["y"]] * 12 + [["z"]] * 2
    data = kn.Microdata.from_frame(pd.DataFrame(rows, columns=["a"]))
    free = kn.solve(data, k=3, method="safe-basic", control=1)
    plain = kn.solve(data, k=3, method="safe-basic", control=1, options={"tolerance": "none"})
    assert free.problem.tolerance.tolist() == [2.0, 1.0, 0.0]
    assert (free.objective, plain.objective) == (1.0, 1.0)
    assert optimum(free.problem) == optimum(plain.problem) == 1.0


@pytest.mark.parametrize("solvable", [True, False])
@pytest.mark.parametrize("q", [3, 5, 8])
def test_three_dimensional_matching_is_decided(q, solvable):
    for seed in range(3):
        given = three_dimensional_matching(q=q, seed=seed, solvable=solvable)
        solution = kn.solve(given, k=3, method="safe-basic")
        assert solution.status == "optimal"
        assert (solution.objective <= 0) == solvable


def test_matching_that_only_the_search_can_rule_out():
    """A matching fails although every element occurs and the linear relaxation has a solution."""
    triples = [(1, 1, 1), (1, 2, 2), (2, 1, 2), (2, 2, 1)]  # each pair of triples shares an element
    given = matching_problem(2, triples)
    problem = Problem(given.data, 3, "max-error", given.tables, given.tolerance, 0.0, given.total)
    assert optimum(problem) > 0
    check(problem, safe_basic, SafeBasicOptions(), optimum(problem))


def test_time_limit_returns_the_best_so_far():
    data = kn.generate("synthetic", n=200, p=1.0, k=3, seed=2)
    for method in ("chi-ex", "msafe", "safe-basic"):
        solution = kn.solve(data, k=3, method=method, stop=kn.MaxRuntime(0.3))
        assert solution.runtime < 3.0
        assert solution.bound is None or solution.bound <= solution.objective
        kn.verify(data, solution)


def hard_enough(monkeypatch) -> kn.Microdata:
    """An instance that keeps a mixed-integer solver busy from the start."""
    monkeypatch.setattr("kanopy.solvers.frequency.search.ROUNDS", ())
    return kn.generate("synthetic", n=200, p=1.0, k=3, seed=2)


@pytest.mark.parametrize("ending", ["time limit", "Ctrl-C"])
@pytest.mark.parametrize("backend", ["highs", "scip", "cpsat"])
def test_stopped_solver_leaves_incumbent_and_bound(backend, ending, monkeypatch):
    """Gurobi's own licence is too small for this; see test_backends for it."""
    if reason := find_backend(backend).unavailable():
        pytest.skip(reason)
    data = hard_enough(monkeypatch)
    options = {"backend": backend, "proposals": 2000}
    small = kn.generate("synthetic", n=30, p=1.0, k=3, seed=1)
    kn.solve(small, 3, "chi-ex", options=options)  # compile and load: their time is not the point
    seconds = 2.5
    stop = kn.MaxRuntime(seconds if ending == "time limit" else 60.0)
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    if ending == "Ctrl-C":
        timer.start()
    began = time.perf_counter()
    solution = kn.solve(data, 3, "chi-ex", stop=stop, options=options)
    timer.cancel()
    assert seconds - 0.1 < time.perf_counter() - began < seconds + 2.0
    assert solution.status == ("time_limit" if ending == "time limit" else "interrupted")
    assert 0 <= solution.bound < solution.objective
    kn.verify(data, solution)


def test_same_seed_same_answer():
    data = kn.generate("synthetic", n=60, p=0.4, k=3, seed=3)
    first, second = (kn.solve(data, k=3, method="chi-ex", seed=4) for _ in range(2))
    assert first.counts.tolist() == second.counts.tolist()


@pytest.mark.parametrize(
    ("method", "options", "words"),
    [
        ("chi-ex", {"formulation": "magic"}, "envelope, paper"),
        ("chi-ex", {"backend": "magic"}, "highs"),
        ("chi-ex", {"weight": -2.0}, "weight = -2.0"),
        ("msafe", {"tolerance": "magic"}, "appendix, none"),
        ("msafe", {"formulation": "magic"}, "envelope, paper"),
        ("chi-ex", {"formulation": "paper", "backend": "highs"}, "quadratic"),
    ],
)
def test_wrong_options_are_explained(method, options, words):
    with pytest.raises(kn.KanopyError, match=words):
        kn.solve(kn.example("survey"), k=2, method=method, control=1, options=options)


def test_impossible_total_is_explained():
    data = kn.example("survey")
    problem = Problem(data, 3, "chi2", data.tables(1), total=2)
    with pytest.raises(kn.KanopyError, match="no k-anonymous table has 2 rows"):
        chi_ex(problem, Run(problem), ChiExOptions())


def test_methods_are_registered_with_what_they_promise():
    for name in ("chi-ex", "msafe", "safe-basic", "aggregation-exact"):
        method = find_method(name)
        assert method.exact
        assert method.bound
        assert method.kinds == ("nominal",)
    assert find_method("aggregation-exact").shape == "representatives"


@pytest.mark.real_data
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_adult_is_solved_in_seconds(seed):
    """000, table 6.10: 1330 s on average with Gurobi for samples like these."""
    data = kn.load("adult", rows=200, columns=5, seed=seed)
    solution = kn.solve(data, k=3, method="chi-ex", stop=kn.MaxRuntime(60))
    assert solution.status == "optimal"
    assert solution.objective == problem_objective(solution)


def problem_objective(solution) -> float:
    return solution.problem.objective(Outcome(counts=solution.counts))
