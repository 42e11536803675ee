"""The benchmark of branch-and-price: lines by name, a file to go on from."""

import csv

import pytest

from kanopy.experiments import bench_branch_and_price as bench
from kanopy.instances.errors import KanopyError


def test_names_choose_lines():
    names = [case.name for case in bench.cases()]
    assert len(set(names)) == len(names) > 700
    assert [case.name for case in bench.choose(["eia k=3"], False)] == ["eia k=3"]
    assert len(bench.choose(["200m5_100percent"], False)) == 10
    # a whole name is that line alone, though others contain it
    assert len(bench.choose(["200m5_2percent #1"], False)) == 1
    assert 0 < len(bench.choose([], False)) < 60 < len(bench.choose([], True))
    with pytest.raises(KanopyError, match="eia k=6"):
        bench.choose(["eia k=6"], False)


def test_lines_in_the_file_are_not_measured_again(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(bench, "compile_kernels", lambda: None)
    out = tmp_path / "lines.csv"
    assert bench.main(["fars 20 rows", "--out", str(out)]) in (0, 1)  # a slow machine may miss it
    with out.open(newline="", encoding="utf-8") as file:
        heading, line = csv.reader(file)
    assert tuple(heading) == bench.HEADINGS
    assert line[1] == "4.81653226"
    line[1], line[-1] = "kept", "no"
    out.write_text(",".join(heading) + "\n" + ",".join(line) + "\n", encoding="utf-8")
    monkeypatch.setattr(bench, "measure", lambda case: pytest.fail("measured again"))
    assert bench.main(["fars 20 rows", "--out", str(out)]) == 1
    assert "kept" in capsys.readouterr().out


def test_samples_of_an_instance_are_one_row_beside_the_paper(tmp_path, capsys, monkeypatch):
    """Mean, worst and how many met the target, as a reader would work them out of the file."""
    names = [f"census random n=200 k=5 #{i}" for i in range(3)]
    cells = (("0.0000", "4.0", "3.0", "yes"), ("0.2000", "2.0", "9.0", "no"))
    cells = (*cells, ("0.0000", "7.0", "7.0", "yes"))
    kept = tmp_path / "proofs.csv"
    with kept.open("w", newline="", encoding="utf-8") as file:
        lines = [
            (name, "1", "1", gap, "optimal", wall, processor, "proof in 120 s", met)
            for name, (gap, wall, processor, met) in zip(names, cells, strict=True)
        ]
        csv.writer(file).writerows([bench.HEADINGS, *lines])
    monkeypatch.setattr(bench, "KEPT", kept)
    monkeypatch.setattr(bench, "measure", lambda case: pytest.fail("measured"))
    assert bench.main(["--kept"]) == 0
    row = ("census random n=200 k=5", "", "", "0.2000", "4.0", "7.0", "proof in 120 s", "2 of 3")
    assert bench.kept_rows() == [(*row, "gap 4.37 %, 2125.44 s")]
    assert "2125.44" in capsys.readouterr().out


def test_lines_of_a_full_run_come_with_kanopy():
    rows = bench.kept_rows()
    assert len(rows) > 100
    assert {row[0] for row in rows} == {case.name.split(" #")[0] for case in bench.cases()}
    assert all(len(row) == len(bench.COLUMNS) for row in rows)
