"""Live linear programs of every back-end against SciPy's, whatever is done to them on the way."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from oracles import optimum, random_instance
from scipy.optimize import linprog
from sizes import how_many

import kanopy as kn
from kanopy.instances.errors import KanopyError
from kanopy.solvers.backends.choice import backends, find_backend
from kanopy.solvers.backends.live_program import PROGRAMS, live_program
from kanopy.solvers.branch_and_price import column_generation, diving, engine, master
from kanopy.solvers.branch_and_price.master import Master

COSTS = ("sse", "hamming", "range")


@pytest.fixture(params=PROGRAMS)
def backend(request):
    if reason := find_backend(request.param).unavailable():
        pytest.skip(reason)
    return request.param


class Mirror:
    """A live program beside a dense one that SciPy solves; rows are never infeasible."""

    def __init__(self, backend, rng):
        self.rng, self.live = rng, live_program(backend)
        self.matrix, self.costs = np.empty((0, 0)), np.empty(0)
        self.rows, self.columns = np.empty((0, 2)), np.empty((0, 2))

    def add_rows(self, number, all_sides=False):
        """At most so much, or also at least or just so much."""
        more = self.rng.integers(0, 3, (number, len(self.costs))).astype(float)
        upper = self.rng.integers(3, 9, number).astype(float)
        least = np.full(number, -math.inf)
        if all_sides:
            least = np.array([self.rng.choice([-math.inf, 1.0, side]) for side in upper])
        self.live.add_rows(least, upper, *entries(more))
        self.matrix = np.vstack([self.matrix, more])
        self.rows = np.vstack([self.rows, np.column_stack([least, upper])])

    def add_columns(self, number, costs=None):
        more = self.rng.integers(0, 3, (len(self.rows), number)).astype(float)
        costs = self.rng.integers(-9, 4, number).astype(float) if costs is None else costs
        self.live.add_columns(costs, *entries(more.T))
        self.matrix = np.hstack([self.matrix, more])
        self.costs = np.append(self.costs, costs)
        self.columns = np.vstack([self.columns, np.tile([0.0, math.inf], (number, 1))])
        places = np.arange(len(self.costs) - number, len(self.costs), dtype=np.int32)
        self.bound(places, np.zeros(number), np.full(number, 5.0))  # nothing is unbounded

    def bound(self, places, lower, upper):
        self.live.bound_columns(places, lower, upper)
        self.columns[places] = np.column_stack([lower, upper])

    def change(self):
        """One change of any kind."""
        rng, kind = self.rng, int(self.rng.integers(8))
        if kind == 0 or len(self.costs) < 3:
            self.add_columns(int(rng.integers(1, 4)))
        elif kind == 1 or len(self.rows) < 2:
            self.add_rows(int(rng.integers(1, 3)), all_sides=True)
        elif kind == 2:
            gone = rng.choice(len(self.costs), 2, replace=False).astype(np.int32)
            self.live.delete_columns(np.sort(gone))
            self.matrix = np.delete(self.matrix, gone, axis=1)
            self.costs = np.delete(self.costs, gone)
            self.columns = np.delete(self.columns, gone, axis=0)
        elif kind == 3:
            gone = rng.choice(len(self.rows), 1).astype(np.int32)
            self.live.delete_rows(gone)
            self.matrix, self.rows = np.delete(self.matrix, gone, 0), np.delete(self.rows, gone, 0)
        elif kind == 4:
            places = rng.choice(len(self.costs), 2, replace=False).astype(np.int32)
            self.bound(places, np.zeros(2), rng.integers(0, 6, 2).astype(float))
        elif kind == 5:
            row = int(rng.integers(len(self.rows)))
            sides = (float(rng.choice([-math.inf, 0.0, 1.0])), float(rng.integers(2, 9)))
            self.live.bound_row(row, *sides)
            self.rows[row] = sides
        elif kind == 6:
            places = rng.choice(len(self.costs), 2, replace=False).astype(np.int32)
            self.costs[places] = rng.integers(-9, 4, 2).astype(float)
            self.live.set_costs(places, self.costs[places])
        else:
            row, column = int(rng.integers(len(self.rows))), int(rng.integers(len(self.costs)))
            self.matrix[row, column] = float(rng.integers(0, 4))
            self.live.set_coefficient(row, column, float(self.matrix[row, column]))

    def answer(self):
        """SciPy's optimal value, None if there is no point."""
        lower, upper = self.rows.T
        matrix = np.vstack([self.matrix, -self.matrix[lower > -math.inf]])
        sides = np.concatenate([upper, -lower[lower > -math.inf]])
        solved = linprog(self.costs, matrix, sides, bounds=self.columns, method="highs")
        return float(solved.fun) if solved.status == 0 else None

    def check(self, point, value, tolerance=1e-6):
        """Value, feasibility and strong duality."""
        scale = 1.0 + abs(value)
        assert abs(point.value - value) <= tolerance * scale
        assert abs(self.costs @ point.x - value) <= tolerance * scale
        lower, upper = self.rows.T
        held = self.matrix @ point.x
        broken = max(1e-5, 0.1 * tolerance)
        assert (held <= upper + broken).all()
        assert (held >= lower - broken).all()
        assert (point.duals[lower == -math.inf] <= 1e-6).all()
        reduced = self.costs - point.duals @ self.matrix
        least, most = self.columns.T
        sides = np.where(point.duals > 0, np.where(lower > -math.inf, lower, 0.0), upper)
        proven = point.duals @ sides + np.where(reduced > 0, least, most) @ reduced
        assert abs(proven - value) <= 10 * tolerance * scale


def entries(matrix):
    """Starts, places and values of a dense matrix, row by row."""
    table = sp.csr_array(matrix)
    return table.indptr.astype(np.int32), table.indices.astype(np.int32), table.data


def test_every_change_leaves_the_program_that_was_meant(backend):
    solved = 0
    for seed in range(how_many(20, 400)):
        rng = np.random.default_rng(seed)
        mirror = Mirror(backend, rng)
        mirror.add_rows(2)
        mirror.add_columns(3)
        for step in range(12):
            mirror.change()
            value = mirror.answer()
            if value is None:
                continue
            if step % 5 == 4:  # a centre, and then back to a vertex
                centre = mirror.live.centre(60.0)
                assert centre is not None
                mirror.check(centre, value, 1e-2)
            point = mirror.live.solve(60.0, dual=bool(rng.random() < 0.5))
            assert point is not None, (seed, step)
            mirror.check(point, value)
            solved += 1
    assert solved > how_many(100, 2000)


def test_a_basis_is_taken_up_again(backend):
    """After a probe elsewhere and new columns, the old basis needs no iterations."""
    rng = np.random.default_rng(5)
    mirror = Mirror(backend, rng)
    mirror.add_rows(12)
    mirror.add_columns(40)
    first = mirror.live.solve(60.0, dual=False)
    basis = mirror.live.basis()
    used = np.flatnonzero(first.x > 0).astype(np.int32)
    mirror.bound(used, np.zeros(len(used)), np.zeros(len(used)))
    begun = mirror.live.probe(1)
    ended = mirror.live.probe(10_000)
    assert first.value <= begun + 1e-6
    assert begun <= ended + 1e-6
    assert ended == pytest.approx(mirror.answer())
    mirror.bound(used, np.zeros(len(used)), np.full(len(used), 5.0))
    mirror.add_columns(3, np.full(3, 100.0))  # not worth it
    mirror.live.restore(basis)
    assert mirror.live.probe(0) == pytest.approx(first.value)
    last = np.array([len(mirror.costs) - 1], dtype=np.int32)
    mirror.live.delete_columns(last)  # it was added since
    mirror.costs, mirror.matrix = mirror.costs[:-1], mirror.matrix[:, :-1]
    mirror.columns = mirror.columns[:-1]
    mirror.live.restore(basis)
    assert mirror.live.probe(0) == pytest.approx(first.value)
    assert mirror.live.centre(60.0) is not None
    mirror.live.restore(mirror.live.basis())  # there may be none
    mirror.check(mirror.live.solve(60.0, dual=True), first.value)


def test_no_time_is_no_answer(backend):
    mirror = Mirror(backend, np.random.default_rng(1))
    mirror.add_rows(30)
    mirror.add_columns(60)
    assert mirror.live.solve(0.0, dual=True) is None
    assert mirror.live.solve(60.0, dual=True) is not None


def test_the_back_ends_that_take_columns_say_so():
    assert {name for name, b in backends().items() if b.capabilities.add_column} == set(PROGRAMS)


@pytest.mark.parametrize("cost", COSTS)
def test_another_solver_of_the_master_proves_the_same(monkeypatch, backend, cost):
    """Second solver for every bound: brute force, interior points, cuts, dives and branching."""
    made = []
    monkeypatch.setattr(
        master, "live_program", lambda name: made.append(live_program(name)) or made[-1]
    )
    for seed in range(how_many(12, 300)):
        rng = np.random.default_rng([seed, COSTS.index(cost)])
        monkeypatch.setattr(master, "FEW_ROWS", (0, 500)[seed % 2])
        monkeypatch.setattr(column_generation, "PER_ROW", (2, 12)[int(rng.integers(2))])
        monkeypatch.setattr(diving, "LAST_ROWS", (0, 900)[int(rng.integers(2))])
        k = int(rng.integers(2, 5))
        data = random_instance(rng, cost, int(rng.integers(2 * k, (8, 9, 10)[k - 2] + 1)))
        best = optimum(data, k, cost)
        options = {
            "backend": backend,
            "cuts": bool(rng.random() < 0.7),
            "enumeration": bool(rng.random() < 0.3),
        }
        s = kn.solve(
            data,
            k,
            "branch-and-price",
            cost=cost,
            options=options,
            stop=kn.MaxRuntime(60),
            initial=np.arange(data.n) % (data.n // k),  # poor, so that there is something to do
            seed=seed,
        )
        assert s.status == "optimal", seed
        assert s.objective == pytest.approx(best, rel=1e-6, abs=1e-9), seed
        assert all(e.bound is None or e.bound <= best + 1e-9 for e in s.trace), seed
    # the local search at the beginning has a master of its own, in HiGHS
    assert PROGRAMS[backend] in {type(program).__name__ for program in made}


def test_a_master_that_the_licence_does_not_allow_says_so():
    gurobi = find_backend("gurobi")
    if reason := gurobi.unavailable():
        pytest.skip(reason)
    rows = 2100
    large = Master(np.ones(rows, dtype=np.int64), 2, np.ones(rows), 1.0, backend="gurobi")
    said = r"2100 variables and 2101 rows are more than this Gurobi licence allows.*highs"
    try:
        solved = large.solve()
    except KanopyError:
        with pytest.raises(KanopyError, match=said):
            large.solve()
    else:
        assert solved is not None  # with a full licence


def test_unknown_and_missing_solvers_are_named(monkeypatch):
    data = random_instance(np.random.default_rng(0), "sse", 12)
    with pytest.raises(KanopyError, match=r"scip.*highs, gurobi"):
        kn.solve(data, 3, "branch-and-price", options={"backend": "scip"})
    monkeypatch.setattr(type(find_backend("gurobi")), "unavailable", lambda _: "not installed here")
    with pytest.raises(KanopyError, match="not installed here"):
        kn.solve(data, 3, "branch-and-price", options={"backend": "gurobi"})
    assert engine.Options().backend == "highs"
