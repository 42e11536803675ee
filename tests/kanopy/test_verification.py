"""verify accepts what is right and rejects each way to be wrong."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from oracles import random_instance

import kanopy as kn
from kanopy.solvers.costs import total_cost
from kanopy.solvers.problem import Outcome, Problem
from kanopy.solvers.trace import Event, Trace


@pytest.fixture(scope="module")
def data():
    frame = kn.generate("simu", n=30, d=3, seed=2).frame
    frame["region"] = ["n"] * 12 + ["s"] * 18
    frame["note"] = np.arange(30)
    numeric = [c for c in frame.columns if c not in ("region", "note")]
    return kn.Microdata.from_frame(frame, numeric=numeric, strata="region")


@pytest.fixture(scope="module")
def good(data):
    s = kn.solve(data, 3, "mdav")
    return replace(s, bound=s.objective / 2)


def changed(labels, row, label):
    labels = labels.copy()
    labels[row] = label
    return labels


def trace(*events):
    return Trace([Event(time, objective=o, bound=b) for time, o, b in events])


CORRUPTIONS = {
    "a row too few": (lambda s: {"labels": s.labels[:-1]}, "shape"),
    "a row in no class": (lambda s: {"labels": changed(s.labels, 0, -1)}, "no class"),
    "a class too small": (
        lambda s: {"labels": changed(s.labels, 0, s.labels.max() + 1)},
        "fewer than k",
    ),
    "labels that skip": (lambda s: {"labels": s.labels * 2}, "skip"),
    "fractional labels": (lambda s: {"labels": s.labels + 0.5}, "whole numbers"),
    "crossing strata": (
        lambda s: {"labels": np.arange(30) % 5},
        "cross strata",
    ),
    "objective too low": (lambda s: {"objective": s.objective * 0.999}, "recomputes"),
    "objective not a number": (lambda s: {"objective": float("nan")}, "objective is nan"),
    "bound above objective": (lambda s: {"bound": s.objective * 1.01}, "above the objective"),
    "bound not a number": (lambda s: {"bound": float("nan")}, "bound is nan"),
    "optimal with a gap": (lambda s: {"status": "optimal"}, "but the gap"),
    "optimal without a bound": (lambda s: {"status": "optimal", "bound": None}, "but the gap"),
    "closed gap not called optimal": (lambda s: {"bound": s.objective}, "but the gap"),
    "unknown status": (lambda s: {"status": "fine"}, "none of"),
    "a bound that falls": (
        lambda s: {"trace": trace((0, 50, 2), (1, 50, 1))},
        "lowers a bound",
    ),
    "an objective that rises": (
        lambda s: {"trace": trace((0, 50, 1), (1, 51, 1))},
        "raises an objective",
    ),
    "a bound in the trace above": (
        lambda s: {"trace": trace((0, s.objective, s.objective + 1))},
        "in the trace is above",
    ),
    "time that runs back": (lambda s: {"trace": trace((1, 9, 1), (0, 9, 1))}, "back in time"),
    "no decision": (lambda s: {"labels": None}, "decides nothing"),
    "too few representatives": (
        lambda s: {"representatives": np.array([0])},
        "representatives for",
    ),
    "a foreign representative": (
        lambda s: {"representatives": np.roll(np.unique(s.labels, return_index=True)[1], 1)},
        "not a member",
    ),
}


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_corrupted_solutions_are_rejected(data, good, name):
    kn.verify(data, good)
    change, reason = CORRUPTIONS[name]
    with pytest.raises(kn.VerificationError, match=reason):
        kn.verify(data, replace(good, **change(good)))


def test_another_table_is_noticed(data, good):
    other = data.restrict(np.arange(30)[::-1])
    with pytest.raises(kn.VerificationError, match="other data"):
        kn.verify(other, good)
    with pytest.raises(kn.VerificationError, match="for k = 3"):
        kn.verify(data, good, k=4)


def frequency_solution(counts, **changes):
    data = kn.example("aggregation")
    problem = Problem(data, 3, "chi2", control=data.tables(1), total=9)
    objective = problem.objective(Outcome(counts=np.asarray(counts)))
    s = kn.Solution(problem, objective, None, "feasible", "hand", 0, 0, counts=np.asarray(counts))
    return data, replace(s, **changes)


def test_frequency_vectors():
    data, s = frequency_solution([3, 3, 0, 0, 0, 3])
    kn.verify(data, s)
    bad = {
        "add up to 12": [3, 3, 3, 0, 0, 3],
        "between 1 and k": [4, 3, 0, 0, 0, 2],
        "negative": [6, 6, 0, 0, 0, -3],
        "shape": [3, 3, 3],
        "whole numbers": [4.5, 4.5, 0, 0, 0, 0],
    }
    for reason, counts in bad.items():
        with pytest.raises(kn.VerificationError, match=reason):
            kn.verify(data, replace(s, counts=np.array(counts)))
    with pytest.raises(kn.VerificationError, match="recomputes"):
        kn.verify(data, replace(s, objective=s.objective + 1))


@pytest.mark.parametrize("cost", ["sse", "hamming", "range", "max-error", "chi2"])
def test_the_recomputed_objective_agrees_with_the_methods(cost):
    from kanopy.verification import recomputed_objective

    rng = np.random.default_rng(8)
    for _ in range(40):
        shape = cost if cost in ("sse", "hamming", "range") else "hamming"
        data = random_instance(rng, shape, 12)
        labels = rng.permutation(np.arange(12) // 3)
        if cost == shape:
            problem, outcome = Problem(data, 3, cost), Outcome(labels=labels)
        else:
            tables = data.tables(2)
            problem = Problem(
                data, 3, cost, tables, rng.integers(0, 3, len(tables)) * 1.0, deviation_weight=0.3
            )
            rows = np.array([np.argmax(labels == c) for c in range(4)])
            outcome = Outcome(labels=labels, representatives=rows)
        value = problem.objective(outcome)
        s = kn.Solution(
            problem,
            value,
            None,
            "feasible",
            "hand",
            0,
            0,
            labels,
            representatives=outcome.representatives,
        )
        assert recomputed_objective(data, s) == pytest.approx(value, rel=1e-9, abs=1e-9)
        kn.verify(data, s)


def test_releases(data, good):
    release = good.release()
    kn.verify(data, release, k=3)
    with pytest.raises(kn.VerificationError, match="fewer than 7"):
        kn.verify(data, release, k=7)
    leaking = release.copy()
    leaking.iloc[0] = data.frame.iloc[0]  # one original row slipped through
    with pytest.raises(kn.VerificationError, match="fewer than 3 rows"):
        kn.verify(data, leaking, k=3)
    with pytest.raises(kn.VerificationError, match="missing"):
        kn.verify(data, release.drop(columns=data.numeric[0]), k=3)
    with pytest.raises(kn.VerificationError, match="rows instead of"):
        kn.verify(data, pd.concat([release, release]), k=3)
    with pytest.raises(kn.VerificationError, match="'note' differs"):
        kn.verify(data, release.assign(note=0), k=3)
    kn.verify(data, good.release(shuffle=True), k=3)
    kn.verify(data, release.drop(columns="note"), k=3)
    with pytest.raises(kn.KanopyError, match="say which k"):
        kn.verify(data, release)


@pytest.mark.parametrize("cost", ["sse", "hamming", "range"])
def test_a_solution_whose_release_tells_a_row_apart_is_rejected(cost, monkeypatch):
    """Its labels are right; only what is written out is not."""
    data = random_instance(np.random.default_rng(4), cost, 12)
    s = kn.solve(data, 3, "ils", cost=cost, stop=kn.MaxIterations(1))
    right = s.release()
    for name in data.quasi_identifiers:
        leaking = right.astype({name: object})
        leaking.loc[leaking.index[5], name] = "leak"
        monkeypatch.setattr("kanopy.release.make_release", lambda *_, r=leaking, **__: r)
        with pytest.raises(kn.VerificationError, match="classes have fewer than 3 rows"):
            kn.verify(data, s)
    monkeypatch.setattr("kanopy.release.make_release", lambda *_, **__: right)
    kn.verify(data, s)


def test_columns_far_from_0_are_no_false_alarm():
    """Means of numbers around 10^12 round off more than the tolerance of the objective."""
    values = 1e12 + np.random.default_rng(0).normal(size=12)
    data = kn.Microdata.from_frame(pd.DataFrame({"a": values}), standardize=False)
    solution = kn.solve(data, 3, "mdav")  # verifies
    near = kn.Microdata.from_frame(pd.DataFrame({"a": values - 1e12}), standardize=False)
    assert solution.objective == pytest.approx(total_cost(near, solution.labels, "sse"), rel=1e-6)


@pytest.mark.parametrize("names", [("_before", "_after"), ("before", "after")])
def test_any_name_of_a_column_is_no_false_alarm(names):
    frame = pd.DataFrame(dict(zip(names, (list("aabbcc") * 2, list("xy") * 6), strict=True)))
    assert kn.solve(frame, 3, "chi-ex").status == "optimal"


@pytest.mark.parametrize("method", ["ils", "doka-greedy"])
def test_a_missing_value_is_told_from_any_text(method):
    frame = pd.DataFrame({"a": ["missing value", None, "x"] * 4, "b": list("ab") * 6})
    data = kn.Microdata.from_frame(frame, missing="category")
    kn.verify(data, kn.solve(data, 4, method, cost="range", stop=kn.MaxIterations(20)))


@pytest.mark.parametrize(
    ("result", "k", "said"),
    [
        (None, 3, "released DataFrame, got NoneType"),
        (pd.Series([1, 2]), 3, "released DataFrame, got Series"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), 3, "occur twice"),
        (pd.DataFrame({"a": [[1], [2]]}), 3, "cannot be compared"),
        (pd.DataFrame({"a": np.zeros(2, dtype=np.float16)}), 3, "cannot be compared"),
        (pd.DataFrame({"a": [1, 2]}), "3", "k must be a whole number, got str"),
        (pd.DataFrame({"a": [1, 2]}), 0, "k = 0"),
        (pd.DataFrame({"a": [1, 2]}), None, "say which k"),
    ],
)
def test_what_is_no_release_is_said_so(data, result, k, said):
    with pytest.raises(kn.KanopyError, match=said):
        kn.verify(data, result, k=k)
    if k == 3:
        with pytest.raises(kn.KanopyError, match=said):
            kn.evaluate(data, result)


def test_the_original_must_be_an_instance(data, good):
    for ask in (kn.verify, kn.evaluate):
        with pytest.raises(kn.KanopyError, match="must be Microdata, got DataFrame"):
            ask(data.frame, good)
