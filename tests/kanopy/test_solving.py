import os
import signal
import subprocess
import sys
import textwrap
import time
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import optimum, random_instance

import kanopy as kn
from kanopy.solvers import registry
from kanopy.solvers.problem import Outcome


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "loss"), [("census", 5.6922), ("tarragona", 16.9326), ("eia", 0.4829)]
)
def test_mdav_loses_what_the_literature_says(name, loss):
    data = kn.load(name)
    s = kn.solve(data, k=3, method="mdav")
    assert kn.evaluate(data, s).information_loss == pytest.approx(loss, abs=0.0005)


@given(st.integers(0, 10**6), st.sampled_from(["sse", "hamming", "range"]), st.integers(2, 4))
def test_random_is_a_valid_partition_for_every_cost(seed, cost, k):
    rng = np.random.default_rng(seed)
    data = random_instance(rng, cost, int(rng.integers(k, 40)))
    s = kn.solve(data, k, "random", cost=cost, seed=seed)
    assert s.sizes.min() >= k
    assert s.sizes.max() < 2 * k or data.n < 2 * k
    assert s.objective >= kn.lower_bound(data, k, cost)
    again = kn.solve(data, k, "random", cost=cost, seed=seed)
    assert (s.labels == again.labels).all()


def test_random_differs_between_seeds():
    data = kn.generate("simu", n=60, d=2, seed=0)
    labels = [kn.solve(data, 3, "random", seed=seed).labels for seed in range(5)]
    assert len({tuple(found) for found in labels}) == 5


def test_default_costs_and_auto():
    frame = pd.DataFrame({"x": np.arange(9.0), "y": np.arange(9.0) ** 2, "c": list("aabbccabc")})
    assert kn.solve(frame, 3, "random").cost == "range"
    assert kn.solve(frame[["c"]], 3, "random").cost == "hamming"
    assert kn.solve(frame[["x", "y"]], 3, "random").cost == "sse"
    one = kn.solve(frame[["x"]], 3)
    assert (one.method, one.status, one.gap) == ("univariate", "optimal", 0.0)


def test_the_result_is_never_worse_than_initial():
    data = kn.generate("simu", n=50, d=3, seed=4)
    good = kn.solve(data, 3, "mdav")
    for seed in range(5):
        s = kn.solve(data, 3, "random", initial=good, seed=seed)
        assert s.objective == good.objective
        assert (s.labels == good.labels).all()
    assert kn.solve(data, 3, "mdav", initial=kn.solve(data, 3, "random").labels).objective == (
        good.objective
    )


@pytest.mark.parametrize(
    ("initial", "said"),
    [
        ([0, 0, 0, 1, 1], "5"),
        ([0, 0, 0, 0, 1, 1], "fewer than k = 3"),
        ([0.5] * 6, "whole-number"),
    ],
)
def test_bad_initial_is_refused(initial, said):
    with pytest.raises(kn.KanopyError, match=said):
        kn.solve(kn.example("testdata"), 3, "mdav", initial=initial)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"k": 1}, "choose k ≥ 2"),
        ({"k": 0}, "choose k ≥ 2"),
        ({"k": 7}, "only 6 rows; choose k ≤ 6"),
        ({"k": 2.5}, "whole number"),
        ({"k": True}, "whole number"),
        ({"k": 3, "method": "mdva"}, "mdav"),
        ({"k": 3, "cost": "ssee"}, "sse, hamming, range"),
        ({"k": 3, "cost": "hamming"}, "cost of method 'mdav'"),
        ({"k": 3, "method": "random", "cost": "hamming"}, "choose sse or range"),
        ({"k": 3, "control": 2}, "no meaning"),
        ({"k": "3"}, "whole number, got str"),
        ({"k": 3.0}, "whole number, got float"),
        ({"k": 3, "method": ["mdav"]}, "unknown method"),
        ({"k": 3, "method": None}, "unknown method"),
        ({"k": 3, "cost": ["sse"]}, "unknown cost"),
        ({"k": 3, "options": "runs"}, "options must be a dict"),
        ({"k": 3, "seed": None}, "seed must be a whole number"),
        ({"k": 3, "seed": -1}, "seed = -1"),
        ({"k": 3, "seed": 1.5}, "seed must be a whole number"),
        ({"k": 3, "must_link": 3}, "cannot keep pairs"),
        ({"k": 3, "method": "branch-and-price", "must_link": 3}, "must list pairs of rows"),
        ({"k": 3, "stop": kn.MaxRuntime}, "stop must be a rule"),
        ({"k": 3, "stop": 0}, "stop must be a rule"),
        ({"k": 3, "certificate": 3}, "by its path, got int"),
        ({"k": 3, "certificate": "no such folder/proof.json"}, "no such folder"),
    ],
)
def test_bad_questions_are_answered_in_one_sentence(arguments, said):
    with pytest.raises(kn.KanopyError, match=said) as caught:
        kn.solve(kn.example("testdata"), **{"method": "mdav"} | arguments)
    assert len(str(caught.value)) < 1200


@pytest.mark.parametrize("data", [None, 3, "census", [[1, 2]], np.zeros((4, 2)), {"a": [1, 2]}])
def test_what_is_no_table_is_refused(data):
    with pytest.raises(kn.KanopyError, match="data must be Microdata"):
        kn.solve(data, 2)
    with pytest.raises(kn.KanopyError, match="needs Microdata"):
        kn.lower_bound(data, 2)


@pytest.mark.parametrize("control", [1.5, True, [3], [["sex", ["age"]]]])
def test_control_tables_that_are_none(control):
    with pytest.raises(kn.KanopyError):
        kn.solve(kn.example("survey"), 2, "chi-ex", control=control)


def test_an_impossible_certificate_costs_no_time(slow, tmp_path):
    for path in (tmp_path, tmp_path / "nowhere" / "proof.json"):
        with pytest.raises(kn.KanopyError, match="cannot write"):
            kn.solve(kn.example("testdata"), 3, "slow", certificate=path)


def test_a_method_for_numbers_refuses_categories():
    with pytest.raises(kn.KanopyError, match="numeric"):
        kn.solve(kn.example("survey"), 2, "mdav")


def test_no_cluster_crosses_strata():
    frame = kn.generate("simu", n=60, d=2, seed=1).frame
    frame["region"] = ["north"] * 25 + ["south"] * 35
    data = kn.Microdata.from_frame(frame, strata="region")
    for method in ("random", "mdav"):
        s = kn.solve(data, 4, method)
        together = pd.crosstab(s.labels, frame["region"])
        assert ((together > 0).sum(axis=1) == 1).all()
        start = kn.solve(data, 4, "random", seed=9)
        assert kn.solve(data, 4, method, initial=start).objective <= start.objective
    apart = [
        kn.solve(data.restrict(np.flatnonzero(data.stratum_of_row == c)), 4, "mdav").objective
        for c in (0, 1)
    ]
    assert kn.solve(data, 4, "mdav").objective == pytest.approx(sum(apart))
    with pytest.raises(kn.KanopyError, match="smallest stratum"):
        kn.solve(data, 26, "mdav")


def test_strata_keep_optimality():
    frame = pd.DataFrame({"x": np.arange(20.0) ** 2, "s": list("ab") * 10})
    s = kn.solve(kn.Microdata.from_frame(frame, strata="s"), 3, "univariate")
    assert s.status == "optimal"


@pytest.fixture
def slow():
    """A method that improves for ever and ends when it is told to."""

    @registry.register(
        "slow", costs=("sse",), kinds=("numeric",), paper="", summary="improves for ever"
    )
    def slow_method(problem, run, _options):
        labels = np.zeros(problem.n, dtype=np.int64)
        while not run.stopping(iterations=1):
            run.found_labels(labels)
            run.proved(run.progress.iterations * 1e-6)
            time.sleep(0.01)
        return Outcome(labels=labels)

    yield
    del registry._METHODS["slow"]


def test_time_limit_is_kept_and_said(slow):
    start = time.perf_counter()
    s = kn.solve(kn.example("testdata"), 3, "slow", stop=kn.MaxRuntime(0.3))
    assert time.perf_counter() - start < 2
    assert s.status == "time_limit"
    assert 0 < s.bound < s.objective
    s = kn.solve(kn.example("testdata"), 3, "slow", stop=kn.MaxIterations(3))
    assert s.status == "feasible"


def test_ctrl_c_returns_the_best_so_far():
    @registry.register("halted", costs=("sse",), kinds=("numeric",), paper="", summary="")
    def halted(problem, run, _options):
        run.found_labels(np.zeros(problem.n, dtype=np.int64))
        run.proved(1.0)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(10)
        raise AssertionError

    try:
        s = kn.solve(kn.example("testdata"), 3, "halted")
    finally:
        del registry._METHODS["halted"]
    assert (s.status, s.bound) == ("interrupted", 1.0)
    assert s.runtime < 5


def test_display_and_trace(slow, capsys):
    s = kn.solve(kn.example("testdata"), 3, "slow", stop=kn.MaxRuntime(0.6), display=True)
    printed = capsys.readouterr().out
    assert "k = 3" in printed
    assert "objective" in printed
    assert printed.count("\n") >= 4
    assert str(s) in printed
    frame = s.trace.frame()
    assert frame["time"].is_monotonic_increasing
    assert frame["bound"].dropna().is_monotonic_increasing
    assert frame["objective"].iloc[-1] == s.objective


def test_plot_shows_objective_and_bound(slow):
    s = kn.solve(kn.example("testdata"), 3, "slow", stop=kn.MaxIterations(5))
    labels = s.plot().get_legend_handles_labels()[1]
    assert labels == ["objective", "proven bound", "gap"]


def test_a_method_that_lies_is_found_out():
    @registry.register("liar", costs=("sse",), kinds=("numeric",), paper="", summary="")
    def liar(problem, run, _options):
        return Outcome(labels=np.zeros(problem.n, dtype=np.int64), bound=1e9)

    try:
        with pytest.raises(kn.VerificationError, match="above the objective"):
            kn.solve(kn.example("testdata"), 3, "liar")
    finally:
        del registry._METHODS["liar"]


def test_heuristics_never_beat_the_optimum():
    rng = np.random.default_rng(11)
    for _ in range(30):
        data = random_instance(rng, "sse", int(rng.integers(4, 9)))
        for method in ("random", "mdav"):
            assert kn.solve(data, 2, method).objective >= optimum(data, 2, "sse") - 1e-9


def test_import_is_light():
    """The public names load on first use, so that the command line starts quickly."""
    code = textwrap.dedent("""
        import sys, kanopy
        heavy = {"numba", "pandas", "matplotlib", "scipy"} & set(sys.modules)
        assert not heavy, heavy
        assert "solve" in dir(kanopy)
        for name in kanopy.__all__:
            assert getattr(kanopy, name) is not None
    """)
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.skipif(find_spec("ortools") is None, reason="OR-tools is not installed")
def test_methods_that_need_no_solver_run_beside_or_tools():
    """A process can load HiGHS or OR-tools, not both."""
    code = textwrap.dedent("""
        import sys
        from ortools.sat.python import cp_model
        import kanopy as kn
        assert kn.solve(kn.example("testdata"), 3, "mdav").sizes.min() >= 3
        assert "highspy" not in sys.modules
    """)
    subprocess.run([sys.executable, "-c", code], check=True)


def test_auto_proves_small_problems():
    data = kn.generate("synthetic", n=60, p=0.5, k=3, seed=2)
    s = kn.solve(data, 3)
    assert (s.method, s.status) == ("branch-and-price", "optimal")


def test_a_stop_that_is_no_rule_is_refused():
    with pytest.raises(kn.KanopyError, match=r"MaxRuntime\(60\), got 60"):
        kn.solve(kn.example("testdata"), 3, stop=60)
