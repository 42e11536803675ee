"""Releases of ranges, value sets and nodes, written, read back and measured."""

import numpy as np
import pandas as pd
import pytest
from oracles import random_frame
from typer.testing import CliRunner

import kanopy as kn
from kanopy.cli import app
from kanopy.instances.files import read_table, write_table
from kanopy.instances.hierarchy_file import write_hierarchy
from kanopy.released import released_losses

LOSSES = ("ncp", "gcp", "total_il", "generalisation_loss")


def losses(report):
    return [getattr(report, name) for name in LOSSES]


def awkward_frame(rng, n):
    """Values that look like syntax, negative numbers, numbers as categories."""
    return random_frame(rng, n).assign(
        income=lambda f: -f["income"] * 1e-7,
        job=rng.choice(["a|b", "{c}", "d\\", "[1-2]", "e, f", '"g"'], n),
        code=rng.integers(1, 4, n),
    )


@pytest.mark.parametrize("method", ["k-member", "mondrian", "doka-sort-greedy"])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_release_from_a_file_loses_what_the_solution_lost(method, suffix, tmp_path):
    rng = np.random.default_rng(1)
    for n in (8, 40):
        data = kn.Microdata.from_frame(
            awkward_frame(rng, n),
            numeric=["age", "income"],
            nominal=["sex", "job", "code"],
            weights={"age": 3, "code": 0.5},
            domains={"age": (-5, 20), "job": 9},
        )
        s = kn.solve(data, 3, method, cost="range")
        report = kn.evaluate(data, s)
        assert report.generalisation_loss == pytest.approx(s.objective, rel=1e-12)
        path = tmp_path / f"release.{suffix}"
        write_table(s.release(), path)
        assert losses(kn.evaluate(data, read_table(path))) == pytest.approx(
            losses(report), rel=1e-12
        )
        write_table(s.release(shuffle=True), path)
        assert losses(kn.evaluate(data, read_table(path))) == pytest.approx(
            losses(report), rel=1e-12
        )


def test_the_cells_say_the_same_as_the_classes():
    """What is read off the cells equals the measures of the classes behind them."""
    rng = np.random.default_rng(2)
    for _ in range(20):
        frame = random_frame(rng, 20)
        data = kn.Microdata.from_frame(frame, weights={"sex": 2})
        s = kn.solve(data, 3, "random", cost="range", seed=int(rng.integers(99)))
        table = frame.astype({"sex": object, "job": object})
        assert losses(kn.evaluate(data, s)) == pytest.approx(
            [
                kn.measures.ncp(table, s.labels, weights={"sex": 2}),
                kn.measures.total_gcp(table, s.labels),
                kn.measures.total_information_loss(table, s.labels),
                kn.measures.generalisation_loss(table, s.labels, weights={"sex": 2}),
            ]
        )


def test_missing_values_come_back(tmp_path):
    frame = pd.DataFrame({"x": [1, 2, None, None, 2, 1], "y": ["a", None, "b", "a", "b", None]})
    data = kn.Microdata.from_frame(frame, nominal=["x", "y"], missing="category")
    s = kn.solve(data, 2, "k-member", cost="range")
    write_table(s.release(), tmp_path / "r.csv")
    report = kn.evaluate(data, read_table(tmp_path / "r.csv"))
    assert losses(report) == pytest.approx(losses(kn.evaluate(data, s)))
    assert report.generalisation_loss == pytest.approx(s.objective)


def test_hierarchies_are_measured_by_their_nodes(tmp_path):
    tree = kn.Hierarchy.from_paths(
        [
            *((name, "medic", "*") for name in ("dentist", "surgeon")),
            *((name, "craft", "*") for name in ("baker", "painter", "tailor")),
            ("clerk", "*"),
        ]
    )
    rng = np.random.default_rng(3)
    for method in ("k-member", "doka-greedy"):
        frame = pd.DataFrame({"age": rng.integers(20, 60, 30), "job": rng.choice(tree.leaves, 30)})
        data = kn.Microdata.from_frame(frame, hierarchies={"job": tree})
        s = kn.solve(data, 3, method, cost="range")
        report = kn.evaluate(data, s)
        write_table(s.release(), tmp_path / "r.csv")
        assert losses(kn.evaluate(data, read_table(tmp_path / "r.csv"))) == pytest.approx(
            losses(report)
        )
        assert report.generalisation_loss >= s.objective - 1e-9
        if s.labels is not None:
            table = frame.astype({"job": object})
            assert report.ncp == pytest.approx(
                kn.measures.ncp(table, s.labels, hierarchies={"job": tree})
            )
            assert report.total_il == pytest.approx(
                kn.measures.total_information_loss(table, s.labels, hierarchies={"job": tree})
            )


def test_what_no_cell_says():
    frame = pd.DataFrame({"age": [20, 30, 60], "sex": ["f", "m", "m"]})
    data = kn.Microdata.from_frame(frame)
    good = pd.DataFrame({"age": ["[20-30]", "*", "60"], "sex": ["{f|m}", "*", "m"]})
    assert released_losses(data, good)["generalisation_loss"] == pytest.approx(0.25 + 1 + 1)
    for name, cell in (("age", "old"), ("age", "[30-20]"), ("age", "nan"), ("sex", "x")):
        assert released_losses(data, good.assign(**{name: cell})) is None
    assert released_losses(data, frame) is None  # centroids, whose loss is that of their classes
    nominal = kn.Microdata.from_frame(frame[["sex"]])
    assert released_losses(nominal, frame[["sex"]]) is None
    assert released_losses(nominal, good[["sex"]]) is not None


def test_hierarchies_on_the_command_line(tmp_path):
    run = CliRunner()
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"age": rng.integers(20, 60, 40), "code": rng.integers(1, 5, 40)})
    frame.to_csv(tmp_path / "people.csv", index=False)
    tree = kn.Hierarchy.from_paths(
        [("1", "low", "*"), ("2", "low", "*"), ("3", "high", "*"), ("4", "high", "*")]
    )
    write_hierarchy(tree, tmp_path / "code.csv")
    tail = [
        *("--numeric", "age", "--nominal", "code"),
        *("--hierarchy", f"code={tmp_path / 'code.csv'}"),
    ]
    asked = ["anonymize", str(tmp_path / "people.csv"), "-k", "3", "-m", "mondrian"]
    out = tmp_path / "safe.csv"
    result = run.invoke(app, [*asked, "--cost", "range", "-q", "-o", str(out), *tail])
    assert result.exit_code == 0, result.output
    released = read_table(out)
    assert set(released["code"].astype(str)) <= {"1", "2", "3", "4", "low", "high", "*"}
    assert set(released["code"].astype(str)) & {"low", "high", "*"}
    result = run.invoke(app, ["evaluate", str(tmp_path / "people.csv"), str(out), *tail])
    data = kn.Microdata.from_frame(
        frame, numeric=["age"], nominal=["code"], hierarchies={"code": tree}
    )
    ncp = kn.evaluate(data, kn.solve(data, 3, "mondrian", cost="range")).ncp
    assert f"{ncp:.6g}" in result.output
    for wrong in ("code", "=x", "code=", "code=nowhere.csv", "age=" + str(tmp_path / "code.csv")):
        with pytest.raises(kn.KanopyError):
            run.invoke(
                app,
                ["evaluate", str(tmp_path / "people.csv"), str(out), "--hierarchy", wrong],
                catch_exceptions=False,
            )
