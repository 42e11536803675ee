"""No cell of the original in messages, logs or certificates; no order or identifier in releases."""

import gzip
import io
import traceback
from contextlib import redirect_stderr, redirect_stdout

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import kanopy as kn
from kanopy.archive import keep_best
from kanopy.cli import app
from kanopy.experiments.store import Record, Store
from kanopy.instances.files import read_table, write_table
from kanopy.instances.hierarchy import Hierarchy
from kanopy.release import identifiers

CANARY = "CANARY7731"
NUMBER = 77317731.125


def table(n=12):
    """Every cell of interest begins with the canary, which no generated text contains."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "name": [f"{CANARY}-{i}" for i in rng.permutation(n)],
            "age": NUMBER + rng.normal(size=n).round(3) * 8,
            "income": NUMBER - rng.normal(size=n).round(3) * 8,
            "job": [f"{CANARY} job {i % 3}" for i in range(n)],
            "sick": [f"{CANARY} ill {i % 2}" for i in range(n)],
        }
    )


def leaks(text):
    if isinstance(text, bytes):
        text = gzip.decompress(text) if text[:2] == b"\x1f\x8b" else text
        text = text.decode("latin-1")
    return CANARY in text or "773177" in text.replace("_", "").replace(",", "")


def with_cell(column, row, value):
    frame = table().astype({column: object})
    frame.loc[row, column] = value
    return frame


def mistakes(tmp_path):
    """Calls that go wrong over a cell, each in its own way."""
    frame, from_frame = table(), kn.Microdata.from_frame
    good = from_frame(frame[["age", "income"]])
    nominal = from_frame(frame[["job"]])
    solution = kn.solve(good, 3, "mdav")
    ragged = tmp_path / "ragged.csv"
    ragged.write_text(f'a,b\n1,"{CANARY}\n2,3\n{CANARY},{NUMBER},{NUMBER}\n')
    quotes = tmp_path / "quotes.csv"
    quotes.write_bytes(f"a,b\n{CANARY},1\n".encode() + b"\xff" + f"{CANARY},2\n".encode())
    tree = tmp_path / "tree.csv"
    tree.write_text(f"{CANARY},x,*\n{CANARY},y,*\n")
    lone = tmp_path / "lone.csv"
    lone.write_text(f"{CANARY}\n")
    return [
        lambda: from_frame(frame, numeric=["job"]),
        lambda: from_frame(with_cell("age", 3, CANARY), numeric=["age"]),
        lambda: from_frame(with_cell("job", 3, NUMBER), nominal=["job"]),
        lambda: from_frame(with_cell("job", 3, [CANARY]), nominal=["job"]),
        lambda: from_frame(with_cell("age", 3, np.inf).astype({"age": float}), numeric=["age"]),
        lambda: from_frame(with_cell("age", 3, None).astype({"age": float}), numeric=["age"]),
        lambda: from_frame(frame, numeric=["age"], domains={"age": (0, 1)}),
        lambda: from_frame(frame, nominal=["job"], hierarchies={"job": Hierarchy({"a": "*"})}),
        lambda: from_frame(frame.assign(age=frame["age"] * 1e180), numeric=["age"]),
        lambda: from_frame(frame, strata="name", numeric=["age"]) and kn.solve(
            from_frame(frame, strata="name", numeric=["age"]), 3, "mdav"
        ),
        lambda: kn.solve(good, 99),
        lambda: kn.solve(nominal, 3, "mdav"),
        lambda: kn.solve(good, 3, initial=frame["job"].tolist()),
        lambda: kn.verify(good, frame, k=3),
        lambda: kn.verify(good, solution.release().assign(age=frame["age"]), k=3),
        lambda: kn.verify(from_frame(frame, numeric=["age"]), frame.assign(job="x"), k=1),
        lambda: kn.evaluate(good, frame[["job"]]),
        lambda: kn.measures.ncp_range(frame["age"], [0] * 12, lower=0, upper=1),
        lambda: kn.measures.sse(frame[["job"]], frame[["job"]]),
        lambda: kn.measures.sse(frame[["age"]], frame[["age", "income"]]),
        lambda: read_table(ragged),
        lambda: read_table(quotes),
        lambda: kn.read_hierarchy(tree),
        lambda: kn.read_hierarchy(lone),
        lambda: write_table(with_cell("age", 3, CANARY), tmp_path / "t.parquet"),
    ]  # fmt: skip


def test_no_error_shows_a_cell(tmp_path):
    for number, mistake in enumerate(mistakes(tmp_path)):
        with pytest.raises(kn.KanopyError) as caught:
            mistake()
        error = caught.value
        shown = "".join(traceback.format_exception(type(error), error, None))
        while error is not None:  # what a traceback would print of causes, too
            following = error.__cause__ or (
                None if error.__suppress_context__ else error.__context__
            )
            shown += "" if following is None else str(following)
            error = following
        assert not leaks(shown), (number, shown)


def test_errors_show_cells_on_request():
    with kn.showing_values(), pytest.raises(kn.KanopyError, match=CANARY):
        kn.Microdata.from_frame(table(), numeric=["job"])
    tree = {"job": Hierarchy({"a": "*"})}
    with kn.showing_values(), pytest.raises(kn.KanopyError, match=CANARY):
        kn.Microdata.from_frame(table(), nominal=["job"], hierarchies=tree)


def test_nothing_that_is_printed_or_kept_shows_a_cell(tmp_path):
    """Progress, texts of results, certificates, trees, best known solutions and stores."""
    path = tmp_path / "in.parquet"
    write_table(table(), path)
    data = kn.Microdata.from_frame(table()[["age", "income"]])
    said = io.StringIO()
    tree = {"tree": str(tmp_path / "tree.npz")}
    certificate = tmp_path / "proof.json.gz"
    with redirect_stdout(said), redirect_stderr(said):
        solution = kn.solve(
            data, 3, "branch-and-price", display=True, options=tree, certificate=certificate
        )
        keep_best(solution, "test", tmp_path)
    store = Store(tmp_path / "store.sqlite")
    from kanopy.experiments.specs import Task

    task = Task("example:testdata", "mdav", 3)
    store.add(
        Record(task, "1", trace=tuple((e.time, e.objective, e.bound) for e in solution.trace))
    )
    for thing in (said.getvalue(), repr(solution), str(solution), repr(data), repr(solution.trace)):
        assert not leaks(thing)
    runner = CliRunner()
    for arguments in (
        ("solve", path, "-k", 3, "--numeric", "age,income", "-o", tmp_path / "classes.csv"),
        ("compare", path, "-k", 3, "--numeric", "age", "--methods", "mdav,random"),
        ("solve", path, "-k", 3, "--numeric", "job"),
        ("check", certificate, path),
    ):
        result = runner.invoke(app, [*map(str, arguments)])
        assert not leaks(result.output + str(result.exception)), arguments
    for kept in tmp_path.iterdir():
        if kept != path:
            assert not leaks(kept.read_bytes()), kept
    shown = runner.invoke(app, ["--show-values", "solve", str(path), "-k", "3", "--numeric", "job"])
    assert CANARY in str(shown.exception)


def written(tmp_path, frame, *more):
    path, out = tmp_path / "in.parquet", tmp_path / "out.csv"
    frame.to_parquet(path)
    roles = ("--numeric", "age,income", "--confidential", "sick")
    arguments = ("anonymize", path, "-k", 3, "-m", "mdav", "-o", out, "-q", *roles, *more)
    result = CliRunner().invoke(app, [*map(str, arguments)])
    assert result.exit_code == 0, result.output
    return read_table(out), result.output


def test_a_release_keeps_neither_order_nor_identifiers(tmp_path):
    frame = table().set_index("name", drop=False).rename_axis("who")
    plain, said = written(tmp_path, frame)
    assert list(plain.columns) == ["age", "income", "job", "sick"]
    assert "name" in said
    assert not any("CANARY7731-" in text for text in (tmp_path / "out.csv").read_text().split())
    kn.verify(kn.Microdata.from_frame(frame, numeric=["age", "income"]), plain, k=3)
    solution = kn.solve(kn.Microdata.from_frame(frame, numeric=["age", "income"]), 3, "mdav")
    order = np.random.default_rng(3).permutation(len(frame))
    data = kn.Microdata.from_frame(frame.iloc[order], numeric=["age", "income"])
    other = kn.solve(data, 3, "random", initial=solution.labels[order])  # the same classes
    assert other.objective == pytest.approx(solution.objective)
    first, second = (
        s.release(keep_order=False, keep_identifiers=False).round(6) for s in (solution, other)
    )
    pd.testing.assert_frame_equal(first, second)  # whatever the order was
    whole, _ = written(tmp_path, frame, "--keep-order", "--keep-identifiers")
    assert whole["name"].tolist() == frame["name"].tolist()


def test_names_are_left_out_where_roles_are_guessed(tmp_path):
    path, out = tmp_path / "in.csv", tmp_path / "out.csv"
    table().to_csv(path, index=False)
    arguments = ["anonymize", str(path), "-k", "3", "-m", "random", "-o", str(out), "-q"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "left out, as it differs in every row: name" in result.output
    assert "name" not in read_table(out)
    asked = CliRunner().invoke(app, [*arguments, "--keep-identifiers"])
    assert asked.exit_code == 0
    assert "warning: 'name' differs in every row" in asked.output
    assert "name" in read_table(out)


def test_a_shuffled_release_does_not_tell_the_order_to_those_who_know_the_seed():
    frame = table(30)
    data = kn.Microdata.from_frame(frame, numeric=["age"])
    shuffled = kn.solve(data, 3, "mdav").release(shuffle=True, seed=5)
    undone = np.argsort(np.random.default_rng(5).permutation(30))
    assert shuffled["name"].iloc[undone].tolist() != frame["name"].tolist()
    assert shuffled["name"].iloc[undone].is_unique


def test_what_counts_as_an_identifier():
    frame = table().assign(row=range(12), income=lambda f: f["income"].astype(float))
    data = kn.Microdata.from_frame(frame, numeric=["age"], confidential=["sick"])
    assert identifiers(data) == ["name", "row"]
