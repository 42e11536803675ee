"""Cuts, the live relaxation and the tree, against all choices of tiny programs."""

import threading
import time
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp

from kanopy.solvers.backends.choice import find_backend
from kanopy.solvers.backends.highs import HighsBackend
from kanopy.solvers.backends.protocol import Limits
from kanopy.solvers.frequency.branching import Spread
from kanopy.solvers.frequency.live import LiveLinear
from kanopy.solvers.frequency.program import Program
from kanopy.solvers.frequency.relaxation import relax
from kanopy.solvers.frequency.rounding import FACTORS, Rounding
from kanopy.solvers.frequency.search import Search, tidy
from kanopy.solvers.run import Run


def tiny_program(rng: np.random.Generator, flat: bool = False) -> Program:
    """Up to five groups and sums; the sums' costs are convex, or 0 in a window if flat."""
    sizes = rng.integers(2, 4, size=int(rng.integers(2, 6)))
    sums, options = int(rng.integers(1, 6)), int(sizes.sum())
    amount = rng.choice([0, 0, 2, 3, 4, 5], size=(sums, options))
    values, costs = [], []
    for _ in range(sums):
        goal = int(rng.integers(1, 12))
        value = np.arange(max(goal - 3, 0), goal + 4) if flat else np.arange(0, 26)
        value = value[(value == 0) | (value >= 2)]
        values.append(value)
        costs.append(np.zeros(len(value)) if flat else (value - goal) ** 2 / goal)
    return Program(
        start=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        cost=rng.integers(0, 4, size=options).astype(np.float64),
        number=np.arange(options),
        amount=sp.csr_array(amount),
        sum_start=np.concatenate([[0], np.cumsum([len(v) for v in values])]).astype(np.int64),
        sum_value=np.concatenate(values),
        sum_cost=np.concatenate(costs),
    )


def solutions(program: Program) -> list[tuple[float, np.ndarray]]:
    """Objective and numbers of the options of every solution."""
    groups = [np.arange(a, b) for a, b in zip(program.start[:-1], program.start[1:], strict=True)]
    every = [
        np.concatenate([program.decided, program.number[list(choice)]])
        for choice in product(*groups)
    ]
    pairs = [(program.objective(numbers), numbers) for numbers in every]
    return [pair for pair in pairs if np.isfinite(pair[0])]


def programs(seed: int, number: int, flat: bool) -> list[Program]:
    rng = np.random.default_rng(seed)
    return [tiny_program(rng, flat) for _ in range(number)]


def simple_programs(seed: int, number: int, flat: bool) -> list[Program]:
    """Programs as relaxations want them: something to decide, and no sum of one group."""
    made = [tidy(program) for program in programs(seed, number, flat)]
    return [program for program in made if program.groups and not program.infeasible]


def some_columns(rng, relaxation, share):
    """That share of the columns, and one of each set."""
    columns = rng.random(len(relaxation.owner)) < share
    for own in np.unique(relaxation.owner):
        columns[rng.choice(np.flatnonzero(relaxation.owner == own))] = True
    return columns


@pytest.mark.parametrize("configurations", [0, 20])
@pytest.mark.parametrize("flat", [False, True])
def test_no_solution_breaks_a_cut_and_the_given_point_breaks_all(flat, configurations):
    rng = np.random.default_rng(1)
    added = 0
    for program in simple_programs(2, 100, flat):
        relaxation = relax(program, configurations)
        x = rng.random(len(relaxation.form.cost))
        cuts = Rounding(relaxation).violated(x)
        assert (cuts @ x > 0).all()
        added += cuts.shape[0]
        for _, numbers in solutions(program):
            point = relaxation.point(numbers)
            assert point is not None
            assert (cuts @ point <= 1e-9).all()
    assert added > 5


def test_factors_are_in_lowest_terms_and_of_both_signs():
    assert len(set(FACTORS)) == len(FACTORS)
    assert {(-p, q) for p, q in FACTORS} == set(FACTORS)
    assert all(0 < abs(p) < q and np.gcd(p, q) == 1 for p, q in FACTORS)


@pytest.mark.parametrize("flat", [False, True])
def test_any_multipliers_of_the_cuts_give_a_bound(flat):
    """Even wrong signs; and with shut columns, a bound of the solutions that do without them."""
    rng = np.random.default_rng(3)
    for program in simple_programs(4, 60, flat):
        relaxation = relax(program, 0, whole_sums=True)
        x = rng.random(len(relaxation.form.cost))
        relaxation = relaxation.with_cuts(Rounding(relaxation).violated(x))
        duals = rng.normal(size=relaxation.form.matrix.shape[0])
        bound, excess = relaxation.lagrangian(duals)
        columns = rng.random(len(relaxation.owner)) < 0.8
        columns[np.unique(relaxation.owner, return_index=True)[1]] = True  # one of each set
        shut_bound, shut_excess = relaxation.lagrangian(duals, columns)
        assert shut_bound >= bound
        for objective, numbers in solutions(program):
            point = relaxation.point(numbers) > 0.5
            assert bound + excess[point].max() <= objective + 1e-9
            if columns[point].all():
                assert shut_bound + shut_excess[point].max() <= objective + 1e-9


@pytest.mark.parametrize("flat", [False, True])
def test_live_relaxation_agrees_with_a_fresh_one(flat):
    rng = np.random.default_rng(5)
    outcomes = set()
    for program in simple_programs(6, 60, flat):
        relaxation = relax(program, 0)
        live = LiveLinear(relaxation.form, lambda: False)
        live.solve(relaxation.refuted)
        cuts = Rounding(relaxation).violated(rng.random(len(relaxation.form.cost)))
        live.add(cuts)
        columns = some_columns(rng, relaxation, 0.3)
        live.open(columns)
        relaxation = relaxation.with_cuts(cuts)
        point = live.solve(partial(relaxation.refuted, open_columns=columns))
        form = relaxation.form
        fresh = HighsBackend().solve(
            replace(
                form,
                upper=columns.astype(np.float64),
                integer=np.zeros(len(form.cost), dtype=np.bool_),
            ),
            Limits(),
        )
        outcomes.add(fresh.status)
        assert (point is None) == (fresh.status == "infeasible")
        if point is not None:
            assert point.optimal
            assert form.objective(point.x) == pytest.approx(fresh.objective, abs=1e-6)
        doubted = live.solve(lambda ray: False)
        assert doubted is not None
        assert doubted.optimal == (point is not None)
        bound = relaxation.lagrangian(doubted.duals, columns)[0]
        assert all(
            bound <= objective + 1e-9
            for objective, numbers in solutions(program)
            if columns[relaxation.point(numbers) > 0.5].all()
        )
    assert outcomes == {"optimal", "infeasible"}


def test_a_deaf_solver_is_left_behind_and_claims_nothing():
    (program, *_) = simple_programs(6, 10, False)
    relaxation = relax(program, 0)
    over = threading.Event()
    live = LiveLinear(relaxation.form, lambda: True)
    live._highs.run = over.wait  # hears neither the clock nor its interrupt
    began = time.perf_counter()
    for _ in range(2):
        point = live.solve(relaxation.refuted)
        assert not point.optimal
        bound = relaxation.lagrangian(point.duals)[0]
        assert all(bound <= objective for objective, _ in solutions(program))
        live.add(sp.csr_array(np.ones((1, len(relaxation.form.cost)))))
        live.open(np.zeros(len(relaxation.owner), dtype=np.bool_))
        relaxation = relaxation.with_cuts(sp.csr_array((1, len(relaxation.form.cost))))
    assert time.perf_counter() - began < 2.0
    over.set()


@pytest.mark.parametrize("flat", [False, True])
def test_no_multipliers_refute_what_has_a_solution(flat):
    rng = np.random.default_rng(8)
    refuted = 0
    for program in simple_programs(9, 60, flat):
        relaxation = relax(program, 0, whole_sums=True)
        known = [relaxation.point(numbers) > 0.5 for _, numbers in solutions(program)]
        for _ in range(20):
            columns = some_columns(rng, relaxation, 0.3)
            ray = rng.normal(size=relaxation.form.matrix.shape[0])
            if relaxation.refuted(ray, columns):
                refuted += 1
                assert not any(columns[point].all() for point in known)
    assert refuted > 20


@pytest.mark.parametrize("rounds", [(), (0, 0)])
@pytest.mark.parametrize("most_nodes", [0, 2, 1000])
@pytest.mark.parametrize("flat", [False, True])
def test_search_equals_enumeration(flat, most_nodes, rounds):
    """By the tree, by the mixed-integer solver, and by both in turn."""
    for program in programs(7, 30, flat):
        search = Search(
            Run(None),  # type: ignore[arg-type]
            find_backend("highs"),
            most_nodes=most_nodes,
            rounds=rounds,
        )
        search.minimise(program)
        best = min((objective for objective, _ in solutions(program)), default=np.inf)
        assert search.complete
        if np.isinf(best):
            assert search.best is None
        else:
            assert search.best is not None
            assert program.objective(search.best) == pytest.approx(best, abs=1e-7)
            assert best - 1e-6 * max(1.0, best) <= search.bound <= best + 1e-9


def test_tree_keeps_to_its_limit_of_nodes_and_claims_no_more_than_it_proved():
    beaten = 0
    for program in programs(8, 40, False):
        run = Run(None)  # type: ignore[arg-type]
        search = Search(run, find_backend("highs"), most_nodes=1, rounds=())
        bounds: list[float] = []
        search.proved = bounds.append
        search.finish_by_integers = lambda program: None  # type: ignore[method-assign]
        search.minimise(program)
        best = min(objective for objective, _ in solutions(program))
        assert run.progress.nodes <= 2
        assert max(bounds) <= best + 1e-9
        beaten += not search.complete
    assert beaten > 0


@pytest.mark.parametrize("scale", [1e3, 1e5, 1e7])
def test_a_limit_just_above_the_optimum_does_not_hide_it(scale):
    """Closeness to the limit proves nothing while no solution is known."""
    program = Program(
        start=np.array([0, 2, 4]),
        cost=np.array([0.5 * scale, 0.6 * scale] * 2),
        number=np.arange(4),
        amount=sp.csr_array(np.array([[1, 2, 1, 2]])),
        sum_start=np.array([0, 3]),
        sum_value=np.array([2, 3, 4]),
        sum_cost=np.zeros(3),
    )
    search = Search(Run(None), HighsBackend(), limit=scale + 1e-3, rounded=np.floor, most_nodes=100)
    search.minimise(program)
    assert search.complete
    assert search.best is not None
    assert search.limit == scale
    search = Search(Run(None), HighsBackend(), limit=scale - 1e-3, rounded=np.ceil)
    search.minimise(program)
    assert search.complete
    assert search.best is None
    assert search.bound <= scale


def test_spreads_are_what_choosing_by_shares_costs_on_average():
    rng = np.random.default_rng(11)
    for program in programs(12, 20, flat=False):
        chances = [rng.dirichlet(np.ones(size)) for size in np.diff(program.start)]
        share = np.concatenate(chances)
        goals = program.sum_cost[program.sum_start[:-1]]  # what the value 0 costs
        expected = 0.0
        groups = zip(program.start[:-1], program.start[1:], strict=True)
        for choice in product(*(range(a, b) for a, b in groups)):
            errors = program.totals(np.array(choice)) - goals
            expected += share[list(choice)].prod() * (errors**2 / goals).sum()
        of_means = ((program.amount @ share - goals) ** 2 / goals).sum()
        spread = Spread(program).of(share)
        assert spread.sum() == pytest.approx(expected - of_means)
        whole = np.concatenate([np.arange(len(c)) == np.argmax(c) for c in chances])
        assert Spread(program).of(whole.astype(np.float64)) == pytest.approx(0.0)
        g = int(rng.integers(program.groups))
        only = np.where(program.owner == g, share, whole)
        others = np.delete(Spread(program).of(only), g)
        assert others == pytest.approx(0.0)
        assert Spread(program).of(only)[g] == pytest.approx(spread[g])


def test_straight_costs_have_no_spread():
    for program in programs(13, 10, flat=True):
        assert not Spread(program).of(np.full(len(program.cost), 0.5)).any()
