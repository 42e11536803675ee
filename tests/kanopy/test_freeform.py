"""Freeform solutions: what verify, release, evaluate and the command line make of them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from oracles import random_frame
from typer.testing import CliRunner

import kanopy as kn
from kanopy.cli import app
from kanopy.freeform_checks import coverage_problems
from kanopy.solvers.costs import freeform_cost


@pytest.fixture(scope="module")
def data():
    frame = random_frame(np.random.default_rng(1), 30).assign(note=np.arange(30))
    return kn.Microdata.from_frame(
        frame, numeric=["age", "income"], nominal=["sex", "job"], weights={"sex": 0.5}
    )


@pytest.fixture(scope="module")
def good(data):
    return kn.solve(data, 3, "doka-hungarian")


def with_matches(change):
    def corrupt(solution):
        matches = solution.matches.copy()
        change(matches)
        return {"matches": matches, "objective": freeform_cost(solution.data, matches)}

    return corrupt


def twice(matches):
    matches[0, 1] = matches[1, 1]


def not_the_truth(matches):
    matches[:, 0] = matches[:, 0][::-1].copy()


def not_disjoint(matches):
    matches[:, 2] = matches[:, 1]


def own_row_again(matches):
    matches[:, 1] = matches[:, 0]


def swap_first_rows(matches):
    matches[[0, 1], 1] = matches[[1, 0], 1]


def outside(matches):
    matches[3, 1] = 30


CORRUPTIONS = {
    "an original twice": (with_matches(twice), "not perfect"),
    "another truth": (with_matches(not_the_truth), "not the true one"),
    "a matching twice": (with_matches(not_disjoint), "not disjoint"),
    "the truth twice": (with_matches(own_row_again), "not disjoint"),
    "a matching too few": (lambda s: {"matches": s.matches[:, :2]}, "shape"),
    "a row too few": (lambda s: {"matches": s.matches[:-1]}, "shape"),
    "no row of the table": (
        lambda s: {"matches": np.where(s.matches == 29, 30, s.matches)},
        "no rows of the table",
    ),
    "a negative row": (
        lambda s: {"matches": np.where(s.matches == 29, -1, s.matches)},
        "no rows of the table",
    ),
    "fractions": (lambda s: {"matches": s.matches + 0.5}, "whole numbers"),
    "other matches, same objective": (
        lambda s: {"matches": with_matches(swap_first_rows)(s)["matches"]},
        "recomputes",
    ),
    "objective too low": (lambda s: {"objective": s.objective * 0.999}, "recomputes"),
    "a partition besides": (lambda s: {"labels": np.zeros(30, dtype=np.int64)}, "decides twice"),
    "nothing": (lambda s: {"matches": None}, "decides nothing"),
    "optimal without a bound": (lambda s: {"status": "optimal"}, "but the gap"),
}


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_verify_rejects(data, good, name):
    kn.verify(data, good)
    change, reason = CORRUPTIONS[name]
    with pytest.raises(kn.VerificationError, match=reason):
        kn.verify(data, replace(good, **change(good)))


def test_verify_rejects_a_release_that_does_not_cover_its_originals(data, good, monkeypatch):
    release = good.release()
    assert not list(coverage_problems(data, release, good.matches))
    for name, cell in (("age", "[0-0]"), ("sex", "f"), ("job", "{a|b}"), ("income", "strange")):
        broken = release.assign(**{name: cell})
        (said,) = coverage_problems(data, broken, good.matches)
        assert name in said
    monkeypatch.setattr(kn.Solution, "release", lambda self: release.assign(note=1, age="[0-1]"))
    with pytest.raises(kn.VerificationError, match=r"note.*age"):
        kn.verify(data, good)


def test_verify_covers_nodes_of_hierarchies():
    frame = pd.DataFrame({"job": ["dentist", "surgeon", "baker", "painter"]})
    tree = kn.Hierarchy.from_paths(
        [
            *((name, "medic", "*") for name in ("dentist", "surgeon")),
            *((name, "craft", "*") for name in ("baker", "painter")),
        ]
    )
    data = kn.Microdata.from_frame(frame, hierarchies={"job": tree})
    s = kn.solve(data, 2, "doka-hungarian")
    release = s.release()
    assert set(release["job"]) <= {"medic", "craft", "*"}
    (said,) = coverage_problems(data, release.assign(job="medic"), s.matches)
    assert said.startswith("release: 2 rows")


def test_a_freeform_release_is_its_own_kind(data, good):
    assert "freeform, not k-anonymous" in str(good)
    release = good.release()
    assert release["note"].tolist() == list(range(30))
    for kind in ("ranges", "members", "centroids"):
        with pytest.raises(kn.KanopyError, match="cannot be released"):
            good.release(kind)
    with pytest.raises(kn.VerificationError, match="fewer than 3 rows"):
        kn.verify(data, release, k=3)
    partition = kn.solve(data, 3, "k-member")
    with pytest.raises(kn.KanopyError, match="cannot be released"):
        partition.release("freeform")


def test_evaluate_measures_each_row_by_itself(data, good):
    report = kn.evaluate(data, good)
    assert report.generalisation_loss == pytest.approx(good.objective)
    assert report.freeform == 3
    assert report.hamming is None
    assert "freeform, not k-anonymous" in str(report)
    shuffled = kn.evaluate(data, good.release(shuffle=True))
    assert shuffled.generalisation_loss == pytest.approx(good.objective)


def test_the_command_line_says_freeform(data, tmp_path):
    original = tmp_path / "people.csv"
    data.frame.to_csv(original, index=False)
    columns = ("--numeric", "age,income", "--nominal", "sex,job", "--weights", "sex=0.5")
    run = CliRunner()

    def invoke(*arguments):
        return run.invoke(app, [str(a) for a in arguments], catch_exceptions=False)

    out = tmp_path / "free.csv"
    asked = (original, "-k", 3, "-m", "doka-greedy", *columns)
    result = invoke("anonymize", *asked, "-q", "-o", out)
    assert result.exit_code == 0
    assert "not k-anonymous" in " ".join(result.output.split())
    s = kn.solve(data, 3, "doka-greedy")
    measured = kn.evaluate(data, pd.read_csv(out))
    assert measured.generalisation_loss == pytest.approx(s.objective, rel=1e-12)
    matches = tmp_path / "matches.csv"
    assert "freeform" in invoke("solve", *asked, "-q", "-o", matches).output
    written = pd.read_csv(matches)
    assert (written[["match 1", "match 2", "match 3"]].to_numpy() == s.matches).all()
    picture = tmp_path / "bars.png"
    result = invoke(
        *("compare", original, "-k", 3, "--methods", "doka-greedy,k-member", "--cost", "range"),
        *("--plot", picture, *columns),
    )
    assert "freeform" in result.output
    assert picture.stat().st_size > 0
    assert invoke("evaluate", original, out, *columns).exit_code == 0
