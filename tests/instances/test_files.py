import gzip
import os

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kanopy.instances import files
from kanopy.instances.errors import KanopyError
from kanopy.instances.files import parse_csv, read_table, write_table

FRAME = pd.DataFrame({"age": [30, 41], "share": [0.1, 1 / 3], "town": ["Trier, West", 'the "Ü"']})


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet", ".CSV"])
def test_written_tables_come_back(tmp_path, suffix):
    path = tmp_path / f"table{suffix}"
    write_table(FRAME, path)
    pd.testing.assert_frame_equal(read_table(path), FRAME)
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
def test_same_table_same_bytes(tmp_path, suffix):
    for name in ("a", "b"):
        write_table(FRAME, tmp_path / (name + suffix))
    assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


def test_index_on_request(tmp_path):
    write_table(FRAME.set_axis(["r7", "r9"]).rename_axis("row"), tmp_path / "t.csv", index=True)
    assert read_table(tmp_path / "t.csv")["row"].tolist() == ["r7", "r9"]


@settings(max_examples=60, deadline=None)
@given(
    numbers=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=8),
    text=st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), max_size=8),
)
def test_csv_keeps_floats_and_text(tmp_path_factory, numbers, text):
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    frame = pd.DataFrame({"x": numbers, "t": f"t{text}"})
    write_table(frame, path)
    back = read_table(path, keep_text=True)
    np.testing.assert_allclose(back["x"].to_numpy(float), numbers, rtol=1e-15)
    assert back["t"].tolist() == frame["t"].tolist()


def test_missing_values_and_question_marks(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n?,1\nNA,2\n,3\n")
    assert read_table(path)["a"].isna().tolist() == [False, True, True]
    assert read_table(path)["a"][0] == "?"
    assert read_table(path, keep_text=True)["a"].tolist() == ["?", "NA", ""]


def test_byte_order_mark_and_blank_lines_do_no_harm(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("\ufeffa,b\r\n\r\n1,2\r\n".encode())
    assert read_table(path).to_dict("list") == {"a": [1], "b": [2]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"a,b,a\n1,2,3\n", "same name: 'a'"),
        (b"a;b\n1;2\n", "separated by semicolons, kanopy reads commas"),
        (b'a;b\n"secret, x";2,5\n', "separated by semicolons, kanopy reads commas"),
        (b"a\tb\n1\t2\n", "separated by tabs"),
        (b"a,b\n1,2\nsecret\n", "1 cells in line 3, but 2 columns"),
        (b"a,b\n1,2,secret\n", "3 cells in line 2, but 2 columns"),
        (b"a,b\n1,2\n\xffsecret,3\n", r"not UTF-8 \(byte 8, line 3\)"),
        (b'a,b\n1,"secret\n', "cells in line|quotes"),
        (b"a,b\n" + b"x" * 200_000 + b",1\n", "line 2"),
    ],
)
def test_malformed_csv(tmp_path, content, message):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(KanopyError, match=message) as caught:
        read_table(path)
    assert "secret" not in str(caught.value)


def test_header_alone_is_a_table_without_rows(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n")
    assert read_table(tmp_path / "t.csv").shape == (0, 2)


def test_unreadable_files(tmp_path):
    with pytest.raises(KanopyError, match="no file"):
        read_table(tmp_path / "gone.csv")
    with pytest.raises(KanopyError, match=r"unknown suffix.*\.csv, \.csv\.gz, \.parquet"):
        read_table(tmp_path / "t.xlsx")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(KanopyError, match="cannot read"):
        read_table(tmp_path / "folder.csv")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n" * 99)[:-9])
    with pytest.raises(KanopyError, match="not a complete gzip file"):
        read_table(tmp_path / "t.csv.gz")
    (tmp_path / "plain.csv.gz").write_bytes(b"a,b\n1,2\n")
    with pytest.raises(KanopyError, match="not a complete gzip file"):
        read_table(tmp_path / "plain.csv.gz")
    (tmp_path / "t.parquet").write_bytes(b"PAR1 and then nothing")
    with pytest.raises(KanopyError, match="not a readable Parquet file"):
        read_table(tmp_path / "t.parquet")


def test_unwritable_targets(tmp_path):
    with pytest.raises(KanopyError, match="unknown suffix"):
        write_table(FRAME, tmp_path / "t.txt")
    with pytest.raises(KanopyError, match="cannot write"):
        write_table(FRAME, tmp_path / "no" / "such" / "folder" / "t.csv")
    (tmp_path / "file").write_text("")
    with pytest.raises(KanopyError, match="cannot write"):
        write_table(FRAME, tmp_path / "file" / "t.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(KanopyError, match=r"cannot write.*directory"):
        write_table(FRAME, tmp_path / "folder.csv")
    assert sorted(os.listdir(tmp_path)) == ["file", "folder.csv"]


def test_tables_without_parquet_form(tmp_path):
    with pytest.raises(KanopyError, match="no Parquet form"):
        write_table(pd.DataFrame([[1, 2]], columns=["a", "a"]), tmp_path / "t.parquet")
    with pytest.raises(KanopyError, match="no Parquet form"):
        write_table(pd.DataFrame({"a": [1, "x"]}), tmp_path / "t.parquet")
    assert os.listdir(tmp_path) == []


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("old\n")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(KanopyError, match="No space left"):
        write_table(FRAME, path)
    assert path.read_text() == "old\n"
    assert os.listdir(tmp_path) == ["t.csv"]


def test_replacing_keeps_mode_and_links(tmp_path):
    real, link = tmp_path / "real.csv", tmp_path / "link.csv"
    real.write_text("old\n")
    real.chmod(0o640)
    link.symlink_to(real)
    write_table(FRAME, link)
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    pd.testing.assert_frame_equal(read_table(real), FRAME)


def test_a_single_column_may_hold_semicolons():
    assert parse_csv(b"a\n1;2\n3;4\n", "x").shape == (2, 1)
    assert parse_csv(b'"a;b"\n1\n', "x").shape == (1, 1)


def test_codes_with_leading_zeros_stay_texts():
    table = parse_csv(b"plz,x,y,z\n01067,0,00.5,07\n10115,10,1,\n", "t")
    assert table["plz"].tolist() == ["01067", "10115"]
    assert table["x"].tolist() == [0, 10]
    assert table["y"].tolist() == [0.5, 1.0]
    assert table["z"].tolist()[0] == "07"
    assert table["z"].isna().tolist() == [False, True]
