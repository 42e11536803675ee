"""Every back-end against brute force, the others, the clock, and its own bad days."""

import itertools
import math
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from kanopy.instances.errors import KanopyError
from kanopy.models.linear_form import LinearForm
from kanopy.solvers.backends import cpsat, watch
from kanopy.solvers.backends.choice import backends, default_backend, find_backend
from kanopy.solvers.backends.protocol import STATUSES, Limits
from kanopy.solvers.backends.whole_numbers import whole_program

NAMES = tuple(backends())
QUADRATIC = tuple(name for name, b in backends().items() if b.capabilities.miqp)
LINEAR = ("highs", "gurobi", "scip")


@pytest.fixture
def backend(request):
    found = find_backend(request.param)
    if reason := found.unavailable():
        pytest.skip(reason)
    return found


every = pytest.mark.parametrize("backend", NAMES, indirect=True)
every_linear = pytest.mark.parametrize("backend", LINEAR, indirect=True)
every_quadratic = pytest.mark.parametrize("backend", QUADRATIC, indirect=True)


def program(cost, rows=(), lower=0.0, upper=1.0, integer=True, constant=0.0, quadratic=None):
    """A program from lists; a row is (lower side, coefficients, upper side)."""
    cost = np.array(cost, dtype=float)
    size = len(cost)
    matrix = np.array([row[1] for row in rows], dtype=float).reshape(len(rows), size)
    return LinearForm(
        cost=cost,
        constant=constant,
        matrix=sp.csr_array(matrix),
        row_lower=np.array([row[0] for row in rows], dtype=float),
        row_upper=np.array([row[2] for row in rows], dtype=float),
        lower=np.broadcast_to(np.asarray(lower, float), size).copy(),
        upper=np.broadcast_to(np.asarray(upper, float), size).copy(),
        integer=np.broadcast_to(np.asarray(integer), size).copy(),
        quadratic=None if quadratic is None else sp.csr_array(np.array(quadratic, float)),
    )


def random_program(rng, quadratic=False, size=5, top=3):
    """A small pure integer program; about a third have no point."""
    rows = []
    for _ in range(rng.integers(1, 5)):
        upper = rng.integers(-5, 15) / rng.choice([1, 2, 4])
        lower = rng.choice([-math.inf, upper, upper - rng.integers(0, 4)], p=[0.6, 0.1, 0.3])
        rows.append((lower, rng.integers(-5, 6, size) / rng.choice([1, 2, 5]), upper))
    squares = None
    if quadratic:
        factor = rng.integers(-3, 4, (size - 1, size))
        squares = factor.T @ factor
    cost = rng.integers(-90, 91, size) / rng.choice([1, 10, 7])
    low = rng.integers(-2, 1)
    return program(cost, rows, low, low + top, constant=rng.integers(-9, 9), quadratic=squares)


def brute_force(form):
    ranges = [
        range(int(low), int(high) + 1) for low, high in zip(form.lower, form.upper, strict=True)
    ]
    points = np.array(list(itertools.product(*ranges)), dtype=float)
    values = points @ form.matrix.toarray().T
    fits = ((values >= form.row_lower - 1e-9) & (values <= form.row_upper + 1e-9)).all(1)
    return min((form.objective(point) for point in points[fits]), default=math.inf)


def market_split(rows=5, columns=35, seed=1):
    """Far too hard for a few seconds, with points at hand at once."""
    rng = np.random.default_rng(seed)
    shares = rng.integers(0, 100, (rows, columns)).astype(float)
    half = np.floor(shares.sum(1) / 2)
    matrix = np.hstack([shares, np.eye(rows), -np.eye(rows)])
    return program(
        np.r_[np.zeros(columns), np.ones(2 * rows)],
        [(b, row, b) for b, row in zip(half, matrix, strict=True)],
        0.0,
        np.r_[np.ones(columns), np.full(2 * rows, 10_000.0)],
        constant=-3.0,
    )


def check(form, result, best, bounds=()):
    """Whatever the status says must be true."""
    assert result.status in STATUSES
    tolerance = 1e-6 * max(1.0, abs(best)) if math.isfinite(best) else 0.0
    if math.isinf(best):
        assert result.status == "infeasible"
        assert result.x is None
        return
    assert result.status == "optimal"
    assert form.violation(result.x) <= 1e-6
    assert result.objective == form.objective(result.x)
    assert result.objective == pytest.approx(best, abs=tolerance)
    assert all(bound <= best + tolerance for bound in (*bounds, result.bound))
    assert result.bound >= best - tolerance


@every
def test_random_integer_programs_against_brute_force(backend):
    rng = np.random.default_rng(7)
    infeasible = 0
    for _ in range(100):
        form = random_program(rng)
        best = brute_force(form)
        infeasible += math.isinf(best)
        bounds = []
        result = backend.solve(form, Limits(), progress=lambda _, b, seen=bounds: seen.append(b))
        check(form, result, best, bounds)
    assert 10 < infeasible < 60


@every
def test_only_points_below_a_cutoff_count(backend):
    rng = np.random.default_rng(17)
    for _ in range(60):
        form = replace(random_program(rng), constant=float(rng.normal()))
        best = brute_force(form)
        if math.isinf(best):
            assert backend.solve(form, Limits(cutoff=5.0)).status == "infeasible"
            continue
        margin = float(rng.choice([1e-3, 0.1, 5.0]))
        bounds = []
        above = Limits(cutoff=best + margin)
        result = backend.solve(form, above, progress=lambda _, b, seen=bounds: seen.append(b))
        check(form, result, best, bounds)
        below = backend.solve(form, Limits(cutoff=best - margin))
        assert (below.status, below.bound) == ("infeasible", best - margin)


def test_a_hopeful_search_finds_points_below_a_cutoff_and_excludes_none():
    rng = np.random.default_rng(18)
    backend = find_backend("highs")
    for _ in range(60):
        form = random_program(rng)
        best = brute_force(form)
        low = best - 0.1 if math.isfinite(best) else 5.0
        result = backend.solve(form, Limits(cutoff=low, hopeful=True))
        assert result.status in ("no_solution", "feasible")
        if math.isfinite(best):
            above = backend.solve(form, Limits(cutoff=best + 0.1, hopeful=True))
            assert above.objective == pytest.approx(best, abs=1e-6)


def test_a_point_above_the_cutoff_that_is_optimal_up_to_a_gap_excludes_no_other():
    watched = watch.Watch("solver", program([8, 4], [(1, [1, 1], 1)]), Limits(cutoff=6.0))
    for gap in (5.0, 1e-9):
        watched.limits = Limits(cutoff=6.0, absolute_gap=gap)
        watched.offer(np.array([1.0, 0.0]))
        watched.prove(3.5)
        result = watched.run(lambda: watch.Ended("optimal"), lambda: None)
        assert result.status != "infeasible"
        assert result.bound <= 4


@every_quadratic
def test_random_quadratic_programs_against_brute_force(backend):
    rng = np.random.default_rng(8)
    for _ in range(50):
        form = random_program(rng, quadratic=True, size=4)
        bounds = []
        result = backend.solve(form, Limits(), progress=lambda _, b, seen=bounds: seen.append(b))
        check(form, result, brute_force(form), bounds)


def test_back_ends_agree_on_mixed_programs():
    rng = np.random.default_rng(9)
    able = [find_backend(name) for name in LINEAR if not find_backend(name).unavailable()]
    for _ in range(40):
        form = random_program(rng, size=6)
        form = replace(form, integer=rng.random(6) < 0.6)
        results = [b.solve(form, Limits()) for b in able]
        assert len({result.status for result in results}) == 1
        values = [result.objective for result in results if result.x is not None]
        assert values == pytest.approx(values[:1] * len(values), rel=1e-6, abs=1e-6)
        assert all(r.bound <= min(values) + 1e-6 for r in results if r.x is not None)


@pytest.mark.parametrize("integer", [True, False])
def test_highs_is_not_infeasible_on_the_word_of_its_presolve(integer):
    """Programs that have a point and that presolve may call infeasible (HiGHS issue 3296)."""
    form = program(
        [11, -8, -19, -10, 5],
        [
            (-881340, [8618, 0, 6848, -5708, -7986], -881340),
            (-1293743, [8481, 0, 20239, 0, -20298], math.inf),
            (2777163, [-12156, 0, -22017, 15119, 0], 2777163),
            (-math.inf, [-6951, 4887, 0, -4475, 6644], -263291),
        ],
        -100,
        [2e9 - 100, 100, 100, 2e9 - 100, 100],
        integer=integer,
    )
    point = np.array([-31.0, -20.0, -74.0, 51.0, -23.0])
    assert form.violation(point) == 0
    told = []
    result = find_backend("highs").solve(form, Limits(), progress=lambda _, b: told.append(b))
    assert result.status in ("optimal", "feasible")
    assert result.objective <= form.objective(point)
    assert all(bound <= form.objective(point) for bound in (*told, result.bound))


@every_linear
def test_linear_programs_have_a_bound(backend):
    rng = np.random.default_rng(10)
    for _ in range(20):
        form = replace(random_program(rng), integer=np.zeros(5, dtype=bool))
        result = backend.solve(form, Limits())
        if result.status == "optimal":
            assert result.bound <= result.objective
            assert result.bound == pytest.approx(result.objective, abs=1e-6)
        else:
            assert result.status == "infeasible"


@pytest.mark.parametrize("backend", ["highs", "gurobi"], indirect=True)
def test_sign_of_duals(backend):
    # min −x − 2y, x + y ≤ 4, y ≥ x − 2 … the first row costs, the second does not bind; and
    # min 3x + y, x ≥ 2 as a row: one more unit costs 3.
    first = program([-1, -2], [(-math.inf, [1, 1], 4), (-2, [-1, 1], math.inf)], 0, 9, False)
    second = program([3, 1], [(2, [1, 0], math.inf), (-math.inf, [0, 1], 5)], 0, 9, False)
    assert backend.solve(first, Limits()).duals == pytest.approx([-2, 0])
    assert backend.solve(second, Limits()).duals == pytest.approx([3, 0])
    ranged = program([1], [(2, [1], 3)], 0, 9, False)
    assert backend.solve(ranged, Limits()).duals == pytest.approx([1])


@every
def test_infeasible_unbounded_and_empty(backend):
    none = program([1, 1], [(3, [1, 1], math.inf)])
    assert backend.solve(none, Limits()).status == "infeasible"
    assert backend.solve(none, Limits()).bound == math.inf
    no_number = program([1], lower=0.2, upper=0.8)
    assert backend.solve(no_number, Limits()).status == "infeasible"
    empty = program([], constant=2.5)
    result = backend.solve(empty, Limits())
    assert (result.status, result.objective, result.bound, len(result.x)) == (
        "optimal",
        2.5,
        2.5,
        0,
    )
    assert backend.solve(program([], [(1, [], 2)]), Limits()).status == "infeasible"
    assert backend.solve(program([2, -3, 0]), Limits()).x[:2].tolist() == [0, 1]
    assert backend.solve(program([0, 0], [(2, [1, 1], 2)]), Limits()).x.tolist() == [1, 1]
    vacuous = program([1], [(-math.inf, [0], 1), (-1, [0], math.inf)])
    assert backend.solve(vacuous, Limits()).objective == 0.0
    assert backend.solve(program([1], [(1, [0], 2)]), Limits()).status == "infeasible"


@every_linear
@pytest.mark.parametrize("integer", [True, False])
def test_unbounded(backend, integer):
    form = program([-1, 0], [(0, [1, -1], math.inf)], 0, math.inf, integer)
    assert backend.solve(form, Limits()).status == "unbounded"
    none = program([-1, 0], [(0, [1, -1], math.inf), (1, [0, 0], 2)], 0, math.inf, integer)
    assert backend.solve(none, Limits()).status == "infeasible"


@every
def test_variables_fixed_by_their_bounds(backend):
    form = program([5, -4, 3], [(1, [1, 1, 1], 2)], [1, 0, 0], [1, 1, 0])
    result = backend.solve(form, Limits())
    assert result.status == "optimal"
    assert result.x.tolist() == [1, 1, 0]
    assert result.objective == 1.0


@every
def test_time_limit_on_a_hard_program(backend):
    form = market_split()
    backend.solve(program([1]), Limits())  # load the solver: its start is not what we time
    seen = []
    began = time.perf_counter()
    result = backend.solve(form, Limits(seconds=2), progress=lambda x, b: seen.append((x, b)))
    assert time.perf_counter() - began < 4
    assert result.status == "feasible"
    assert form.violation(result.x) <= 1e-6
    assert result.bound >= -3 - 1e-6
    assert result.bound < result.objective
    points = [x for x, _ in seen if x is not None]
    assert form.objective(points[-1]) == result.objective
    assert all(form.violation(x) <= 1e-6 for x in points)
    assert [b for _, b in seen] == sorted(b for _, b in seen)


@every
def test_interruption(backend):
    asked = []
    began = time.perf_counter()

    def interrupted():
        asked.append(time.perf_counter())
        return asked[-1] - began > 0.5

    result = backend.solve(market_split(), Limits(interrupted=interrupted))
    assert 0.5 < result.seconds < 2.5
    assert result.status in ("feasible", "no_solution")
    assert max(np.diff([began, *asked])) < 0.5


@every
def test_start_comes_back(backend):
    form = market_split()
    easy = np.r_[np.zeros(35), form.row_lower, np.zeros(5)]
    result = backend.solve(form, Limits(seconds=0.02), start=easy)
    assert result.status == "feasible"
    assert result.objective <= form.objective(easy)
    assert backend.solve(form, Limits(seconds=0), start=easy).objective == form.objective(easy)
    with pytest.raises(KanopyError, match="45 variables"):
        backend.solve(form, Limits(), start=easy[1:])


@every
def test_optimal_or_broken_start_changes_nothing(backend):
    rng = np.random.default_rng(11)
    for _ in range(5):
        form = random_program(rng)
        plain = backend.solve(form, Limits())
        broken = backend.solve(form, Limits(), start=np.full(5, 17.0))
        assert (plain.status, plain.objective) == (broken.status, pytest.approx(broken.objective))
        if plain.x is not None:
            again = backend.solve(form, Limits(), start=plain.x)
            check(form, again, plain.objective)


@every
def test_the_relative_gap_is_allowed(backend):
    # A knapsack whose bound is close at once; the point returned lies within the gap allowed.
    rng = np.random.default_rng(3)
    weights = rng.integers(100, 1000, 40)
    form = program(-weights - 7.0, [(-math.inf, weights, weights.sum() // 2)])
    result = backend.solve(form, Limits(relative_gap=0.2, seconds=30))
    assert result.status == "optimal"
    assert result.objective - result.bound <= 0.2 * abs(result.objective) + 1e-9


@every
def test_same_seed_same_point(backend):
    form = random_program(np.random.default_rng(12), size=8, top=9)
    points = [backend.solve(form, Limits(seed=5)).x for _ in range(2)]
    assert np.array_equal(*points)


@every
def test_an_error_in_progress_reaches_the_caller(backend):
    def progress(x, bound):
        raise RuntimeError("display broke")

    easy = np.r_[np.zeros(35), market_split().row_lower, np.zeros(5)]
    began = time.perf_counter()
    with pytest.raises(RuntimeError, match="display broke"):
        backend.solve(market_split(), Limits(), start=easy, progress=progress)
    assert time.perf_counter() - began < 3


@every
def test_ctrl_c_hands_the_best_to_progress(backend):
    form = market_split()
    easy = np.r_[np.zeros(35), form.row_lower, np.zeros(5)]
    backend.solve(program([1]), Limits())  # load the solver: its start is not what we time
    points, bounds = [], []

    def progress(x, bound):
        bounds.append(bound)
        if x is not None:
            points.append(x)

    timer = threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    began = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        backend.solve(form, Limits(), start=easy, progress=progress)
    timer.cancel()
    assert time.perf_counter() - began < 1.5 + 2.0
    assert form.violation(points[-1]) <= 1e-6
    assert -3 - 1e-6 <= bounds[-1] < form.objective(points[-1])


def test_a_solver_that_ignores_its_limit_is_left_behind():
    form = market_split()
    easy = np.r_[np.zeros(35), form.row_lower, np.zeros(5)]
    over = threading.Event()
    guard = watch.Watch("Deaf", form, Limits(seconds=0.2), start=easy)
    began = time.perf_counter()
    result = guard.run(lambda: over.wait() and watch.Ended("optimal"), lambda: None)
    over.set()
    assert 0.2 + watch.GRACE <= time.perf_counter() - began < 0.2 + 2.0
    assert result.status == "feasible"
    assert result.objective == form.objective(easy)
    assert "Deaf" in result.message


@pytest.mark.parametrize(
    ("point", "bound", "ended", "why"),
    [
        ([0.0, 0.0], 0.0, "optimal", "breaks a constraint by 1"),
        ([math.nan, 1.0], 0.0, "optimal", "breaks a constraint"),
        ([1.0, 0.0], 4.0, "optimal", "claims the lower bound 4"),
        ([1.0, 0.0], 0.0, "infeasible", "claims infeasibility"),
        (None, 0.0, "optimal", "returned no point"),
        (None, 0.0, "failed", "Liar failed"),
    ],
)
def test_garbage_is_contained_and_named(point, bound, ended, why):
    guard = watch.Watch("Liar", program([1, 2], [(1, [1, 1], 1)]), Limits())

    def search():
        guard.prove(bound)
        if point is not None:
            guard.offer(np.array(point))
        return watch.Ended(ended)

    result = guard.run(search, lambda: None)
    assert result.status == "failed"
    assert why in result.message
    assert "Liar" in result.message
    assert result.bound == -math.inf


def test_an_exception_in_a_solver_is_a_failure():
    guard = watch.Watch("Bomb", program([1]), Limits())
    result = guard.run(lambda: 1 // 0, lambda: None)
    assert result.status == "failed"
    assert "Bomb failed: ZeroDivisionError" in result.message


def test_numbers_that_are_none_are_refused():
    with pytest.raises(KanopyError, match="cost"):
        find_backend("highs").solve(program([math.nan]), Limits())
    with pytest.raises(KanopyError, match="row's upper side"):
        find_backend("highs").solve(program([1], [(0, [1], math.nan)]), Limits())


def test_points_that_rounding_breaks_are_repaired():
    # y ≤ 10⁷·x with x binary: a relaxation x = 10⁻⁷ counts as whole for a solver.
    form = program(
        [1e-3, -1], [(-math.inf, [-1e7, 1], 0.0)], 0, [1, 5], [True, False], constant=1.0
    )
    result = find_backend("highs").solve(form, Limits())
    assert result.status == "optimal"
    assert result.x == pytest.approx([1, 5])


def test_highs_and_cpsat_name_the_way_out():
    form = program([1, 1], quadratic=np.eye(2))
    for name in ("highs", "cpsat"):
        with pytest.raises(KanopyError, match="gurobi or scip"):
            find_backend(name).solve(form, Limits())
    with pytest.raises(KanopyError, match=r"variable 1 is continuous.*highs"):
        find_backend("cpsat").solve(program([1, 1], integer=[True, False]), Limits())
    with pytest.raises(KanopyError, match="no finite bounds"):
        find_backend("cpsat").solve(program([1], upper=math.inf), Limits())
    with pytest.raises(KanopyError, match="row 0 has coefficients"):
        find_backend("cpsat").solve(program([1], [(0, [math.pi], 1)]), Limits())


@pytest.mark.parametrize("backend", ["gurobi"], indirect=True)
def test_gurobi_names_the_size_of_its_licence(backend):
    large = program(np.ones(2001))
    reason = backend.refusal(large)
    if reason is None:
        pytest.skip("this Gurobi has a full licence")
    with pytest.raises(KanopyError, match=r"2001 variables .* back-end highs") as caught:
        backend.solve(large, Limits(seconds=20))
    assert str(caught.value) == reason
    square = program(np.ones(201), quadratic=np.eye(201))
    with pytest.raises(KanopyError, match=r"201 variables .* back-end scip"):
        backend.solve(square, Limits(seconds=20))
    assert backend.refusal(program(np.ones(20), quadratic=np.eye(20))) is None


@pytest.mark.parametrize(
    ("name", "package", "way_out"),
    [
        ("highs", "highspy", "pip install highspy"),
        ("gurobi", "gurobipy", r"pip install 'kanopy\[gurobi\]'"),
        ("scip", "pyscipopt", r"pip install 'kanopy\[scip\]'"),
        ("cpsat", "ortools", r"pip install 'kanopy\[cpsat\]'"),
    ],
)
def test_a_missing_package_is_named(monkeypatch, name, package, way_out):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(KanopyError, match=way_out):
        find_backend(name).solve(program([1]), Limits())


def test_choice(monkeypatch):
    with pytest.raises(KanopyError, match=r"'cplex'.*highs, gurobi, scip, cpsat"):
        find_backend("cplex")
    assert default_backend(program([1])).name == "highs"
    assert default_backend(program([1], quadratic=[[0.0]])).name == "highs"
    small = program([1, 1], quadratic=np.eye(2))
    monkeypatch.setitem(sys.modules, "gurobipy", None)
    if find_backend("scip").unavailable() is None:
        assert default_backend(small).name == "scip"
    monkeypatch.setitem(sys.modules, "pyscipopt", None)
    with pytest.raises(KanopyError, match=r"kanopy\[scip\].*kanopy\[gurobi\]"):
        default_backend(small)


@pytest.mark.parametrize("backend", ["gurobi"], indirect=True)
def test_choice_by_licence(backend):
    assert default_backend(program([1, 1], quadratic=np.eye(2))).name == "gurobi"
    large = program(np.ones(300), quadratic=np.eye(300))
    if backend.refusal(large) and find_backend("scip").unavailable() is None:
        assert default_backend(large).name == "scip"


@every
def test_versions(backend):
    assert any(character.isdigit() for character in backend.version())


@pytest.mark.parametrize("backend", ["cpsat"], indirect=True)
def test_a_killed_worker_is_a_failure_and_the_next_one_works(backend, monkeypatch):
    workers = []
    begin = cpsat._Worker.__init__

    def noted(self):
        begin(self)
        workers.append(self.process.pid)

    monkeypatch.setattr(cpsat._Worker, "__init__", noted)
    cpsat.close_idle()
    timer = threading.Timer(1.0, lambda: os.kill(workers[0], signal.SIGKILL))
    timer.start()
    result = backend.solve(market_split(), Limits(seconds=20))
    timer.join()
    assert result.status == "failed"
    assert "signal 9" in result.message
    assert backend.solve(program([1, -1]), Limits()).objective == -1.0
    assert len(workers) == 2
    assert backend.solve(program([1, -1]), Limits()).objective == -1.0
    assert len(workers) == 2  # the idle one was used again


@pytest.mark.parametrize("backend", ["cpsat"], indirect=True)
def test_a_worker_that_cannot_start_is_a_failure(backend, monkeypatch):
    cpsat.close_idle()
    command = (sys.executable, "-c", "raise SystemExit('no such solver')")
    monkeypatch.setattr(cpsat, "_COMMAND", command)
    result = backend.solve(program([1]), Limits())
    assert result.status == "failed"
    assert "no such solver" in result.message


def test_the_worker_ends_with_its_caller():
    code = (
        "import os, sys, numpy as np, scipy.sparse as sp\n"
        "from kanopy.solvers.backends import cpsat\n"
        "worker = cpsat._Worker()\n"
        "print(worker.process.pid, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    pid = int(done.stdout)
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        with open(f"/proc/{pid}/stat") as stat:  # dead, if nobody has collected it yet
            if stat.read().rsplit(")", 1)[1].split()[0] == "Z":
                return
        time.sleep(0.1)
    pytest.fail("the worker outlived its caller")


def test_the_worker_loads_neither_highspy_nor_ortools_at_import():
    code = (
        "import sys, kanopy.solvers.backends.cpsat_worker as w\n"
        "print([m for m in sys.modules if m.split('.')[0] in ('highspy', 'ortools', 'pyomo')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_rounded_costs_keep_the_bound_valid():
    rng = np.random.default_rng(5)
    for _ in range(50):
        form = random_program(rng, size=4)
        form = replace(form, cost=rng.normal(size=4) * 10.0 ** rng.integers(-6, 6))
        whole = whole_program(form)
        ranges = [
            range(a, b + 1) for a, b in zip(whole.lower.tolist(), whole.upper.tolist(), strict=True)
        ]
        for point in itertools.product(*ranges):
            x = np.array(point)
            true = form.objective(x.astype(float))
            assert whole.bound(float(whole.cost @ x)) <= true + 1e-9 * max(1.0, abs(true))
            # The rows say the same in both scales.
            terms = sp.csr_array(
                (whole.factors, whole.columns, whole.starts), (len(whole.row_lower), 4)
            )
            fits = np.all((terms @ x >= whole.row_lower) & (terms @ x <= whole.row_upper))
            assert fits == (form.violation(x.astype(float)) <= 1e-9)


def test_whole_numbers_of_decimals_and_thirds():
    form = program([0.1, 1 / 3], [(-math.inf, [0.1, 0.25], 0.3), (1 / 3, [1 / 3, 0], 1)], 0, 9)
    whole = whole_program(form)
    assert whole.scale == 30
    assert whole.lost == 0.0
    assert whole.cost.tolist() == [3, 10]
    assert whole.factors.tolist() == [2, 5, 1]
    assert whole.row_upper.tolist() == [6, 3]
    assert whole.row_lower[1] == 1
    assert whole.row_lower[0] < -(2 + 5) * 9  # a missing side never binds
    nowhere = program([1], [(math.inf, [1], math.inf)])
    assert whole_program(nowhere).row_lower[0] > 1
