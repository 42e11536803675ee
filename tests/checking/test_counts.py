"""Certificates of counts: the solution is recomputed, the bound confirmed by another solver."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import kanopy as kn
from kanopy.certifying import confirm
from kanopy.checking import CertificateError
from kanopy.checking.certificate import parsed, read_content
from kanopy.checking.counts import check_counts, from_json, to_bytes
from kanopy.cli import app
from kanopy.instances.files import write_table


def table():
    rng = np.random.default_rng(4)
    return pd.DataFrame(rng.integers(0, 3, (14, 3)).astype(str), columns=["a", "b", "c"])


@pytest.fixture(scope="module")
def certified(tmp_path_factory):
    folder = tmp_path_factory.mktemp("counts")
    found = {}
    for method in ("safe-basic", "msafe", "chi-ex", "own-hhg"):
        path = folder / f"{method}.json.gz"
        data = kn.Microdata.from_frame(table().replace({"0": "x", "1": "y", "2": "z"}))
        solution = kn.solve(data, 2, method, control=2, certificate=path)
        found[method] = data, solution, from_json(parsed(read_content(path))), path
    return found


@pytest.mark.parametrize("method", ["safe-basic", "msafe", "chi-ex", "own-hhg"])
def test_counts_check_and_tampering_does_not(certified, method):
    data, solution, certificate, _ = certified[method]
    checked = check_counts(certificate, data)
    assert float(checked.objective) == pytest.approx(solution.objective, rel=1e-9, abs=1e-9)
    positive = next(i for i, c in enumerate(certificate.counts) if c)
    moved = list(certificate.counts)
    moved[positive] += 1
    bad = [
        {"counts": moved},
        {"counts": [1, *certificate.counts[1:]]},
        {"counts": certificate.counts[:-1]},
        {"counts": [-c for c in certificate.counts]},
        {"objective": certificate.objective + 1e-3},
        {"bound": certificate.objective + 1},
        {"bound": float("nan")},
        {"objective": float("inf")},
        {"k": 15},
        {"cost": "sse"},
        {"control": [["a", "a"]]},
        {"control": [["d"]]},
        {"control": []},
        {"instance": "another"},
        {"deviation_weight": certificate.deviation_weight + 1}
        if list(certificate.counts) != data.counts.tolist()
        else {"k": 1},
    ]
    for change in bad:
        with pytest.raises(CertificateError):
            check_counts(dataclasses.replace(certificate, **change), data)
    if certificate.representatives:
        for change in (
            {"labels": [0] * 14},
            {"representatives": [0] * len(certificate.representatives)},
        ):
            with pytest.raises(CertificateError):
                check_counts(dataclasses.replace(certificate, **change), data)


@pytest.mark.parametrize("method", ["safe-basic", "msafe", "chi-ex"])
def test_another_solver_confirms_the_bound(certified, method):
    pytest.importorskip("pyscipopt")
    data, _, certificate, _ = certified[method]
    assert certificate.bound == pytest.approx(certificate.objective)
    assert "confirmed by" in str(confirm(certificate, data, "scip"))
    if certificate.bound > 0.01:  # counts that are worse, with a bound that is not true of them
        worse = next(
            counts
            for counts in (
                [0] * i + [14] + [0] * (len(certificate.counts) - i - 1) for i in range(3)
            )
        )
        draft = dataclasses.replace(certificate, counts=worse, objective=0.0, bound=None)
        with pytest.raises(CertificateError, match="cost ") as told:
            check_counts(draft, data)
        cost = float(str(told.value).split("cost ")[1].split(",")[0])
        lie = dataclasses.replace(draft, objective=cost, bound=cost)
        with pytest.raises(CertificateError, match="only, not"):
            confirm(lie, data, "scip")


def test_the_command_line_checks_counts(certified, tmp_path):
    data, _, _, path = certified["safe-basic"]
    write_table(data.frame, tmp_path / "table.csv")
    result = CliRunner().invoke(app, ["check", str(path), str(tmp_path / "table.csv")])
    assert result.exit_code == 0, result.exception
    assert "is right" in result.output
    again = CliRunner().invoke(
        app, ["check", str(path), str(tmp_path / "table.csv"), "--backend", "highs"]
    )
    assert "confirmed by HiGHS" in again.output, again.exception


def test_only_the_known_fields_and_types_are_read(certified):
    found = parsed(to_bytes(certified["msafe"][2]))
    for change in ({"counts": "many"}, {"k": 2.0}, {"control": [[1]]}, {"more": 1}, {"bound": "1"}):
        with pytest.raises(CertificateError):
            from_json({**found, **change})
