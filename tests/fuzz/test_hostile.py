"""Headers that lie, bombs that unpack, formulas that run, and values no one expected."""

import gzip
import json
import resource
import struct
import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sizes import how_many

import kanopy as kn
from kanopy.checking.certificate import FORMAT, CertificateError, from_bytes
from kanopy.instances.files import parse_csv, read_table, write_table

QUICK = {
    "deadline": None,
    "derandomize": True,
    "phases": (Phase.explicit, Phase.generate),  # shrinking a table takes minutes
    "suppress_health_check": list(HealthCheck),
}
MEMORY = 4 << 30
"""Address space of a process that meets a lie: the libraries it loads need half of that."""


def with_little_memory(code, *arguments):
    """Run Python code in a process of limited address space; what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def many_rows_in_few_bytes(path):
    """6·10⁷ equal cells, which run-length encoding stores in some kilobytes."""
    column = pa.chunked_array([pa.array(np.zeros(1 << 20, dtype=np.int8))])
    table = pa.table({"a": column})
    with pq.ParquetWriter(path, table.schema, compression="zstd") as writer:
        for _ in range(64):
            writer.write_table(table)


def thrift_number(value):
    """A number as a Parquet footer writes it: zigzag, seven bits a byte."""
    value <<= 1
    text = b""
    while value >= 128:
        text += bytes([value & 127 | 128])
        value >>= 7
    return text + bytes([value])


def a_header_that_lies(path):
    """A sound file of 300 rows whose footer tells of 10¹² in every place."""
    pq.write_table(pa.table({"a": list(range(300))}), path, store_schema=False)
    content = path.read_bytes()
    (size,) = struct.unpack("<I", content[-8:-4])
    footer = content[-8 - size : -8].replace(thrift_number(300), thrift_number(10**12))
    tail = struct.pack("<I", len(footer)) + b"PAR1"
    path.write_bytes(content[: -8 - size] + footer + tail)


def test_lies_and_bombs_need_little_memory(tmp_path):
    """Each is refused with our own error by a process that could not hold what it announces."""
    (tmp_path / "zeros.csv.gz").write_bytes(
        gzip.compress(b"a,b\n", mtime=0) + gzip.compress(b"1,1\n" * (1 << 20), mtime=0) * 100
    )
    many_rows_in_few_bytes(tmp_path / "many.parquet")
    a_header_that_lies(tmp_path / "lie.parquet")
    (tmp_path / "digits.json").write_bytes(
        json.dumps({"format": FORMAT, "k": 0}).replace("0}", "9" * (1 << 20) + "}").encode()
    )
    (tmp_path / "deep.json").write_bytes(b'{"a":' * 100_000)
    (tmp_path / "bomb.json.gz").write_bytes(gzip.compress(b" " * (1 << 22)) * 50)
    np.savez(tmp_path / "tree.npz", labels=np.zeros(4, dtype=np.int64))
    content = (tmp_path / "tree.npz").read_bytes()
    (tmp_path / "tree.npz").write_bytes(content.replace(b"(4,)    ", b"(4" + b"0" * 5 + b",)"))
    said = with_little_memory(
        """
        import sys
        from pathlib import Path
        import kanopy as kn
        from kanopy.checking import read_certificate
        from kanopy.instances.files import read_table
        from kanopy.solvers.branch_and_price.saved_tree import load_tree

        for path in sorted(Path(sys.argv[1]).iterdir()):
            read = read_table
            if ".json" in path.name:
                read = read_certificate
            elif path.suffix == ".npz":
                read = lambda path: load_tree(str(path), "key")
            try:
                read(path)
                print(path.name, "was read")
            except kn.KanopyError as error:
                print(path.name, "refused")
        """,
        tmp_path,
    )
    names = sorted(path.name for path in tmp_path.iterdir())
    assert said.splitlines() == [f"{name} refused" for name in names]


def test_a_certificate_with_senseless_sizes_needs_little_memory(tmp_path):
    """Announced clusters, cuts, duals and units of any size are checked before they are used."""
    frame = pd.DataFrame({"a": [1.0, 2, 3, 10, 11, 12]})
    path = tmp_path / "proof.json"
    kn.solve(frame, 3, "branch-and-price", certificate=path)
    write_table(frame, tmp_path / "table.csv")
    said = with_little_memory(
        """
        import json, sys
        from pathlib import Path
        import kanopy as kn
        from kanopy.checking import check
        from kanopy.checking.certificate import from_bytes
        from kanopy.instances.files import read_table

        data = kn.Microdata.from_frame(read_table(sys.argv[2]))
        whole = json.loads(Path(sys.argv[1]).read_bytes())
        huge = 10**12
        for change in (
            {"k": huge}, {"bits": huge}, {"bits": -huge}, {"labels": [huge] * 6},
            {"labels": [0, 0, 0, huge, huge, huge]},
            {"cuts": [[[0, 1, 2], huge]], "k": 10**30}, {"cuts": [[[huge], 2]]},
            {"steps": [{"branch": [], "most": huge, "less": huge, "more": 2}]},
            {"steps": [{"leaf": {"types": [huge**9] * 6, "count": 0, "cuts": [], "branches": []}}]},
        ):
            try:
                check(from_bytes(json.dumps({**whole, **change}).encode()), data)
                print("was believed:", change)
            except kn.KanopyError:
                print("refused")
        """,
        path,
        tmp_path / "table.csv",
    )
    assert said.splitlines() == ["refused"] * 9


FORMULAS = ["=1+1", "+cmd", "-cmd", "@SUM(A1)", "\t=1", " =HYPERLINK()", "\r=1"]


def test_formulas_are_escaped_on_request(tmp_path):
    frame = pd.DataFrame({"=a": [*FORMULAS, "plain", "-3", None], "n": np.arange(10) - 5})
    write_table(frame, tmp_path / "plain.csv")
    write_table(frame, tmp_path / "safe.csv", escape_formulas=True)
    plain = read_table(tmp_path / "plain.csv")
    assert plain["=a"].tolist()[:4] == FORMULAS[:4]
    safe = read_table(tmp_path / "safe.csv")
    assert safe.columns.tolist() == ["'=a", "n"]
    assert safe["'=a"].tolist()[:-1] == [*(f"'{text}" for text in FORMULAS), "plain", "-3"]
    assert pd.isna(safe["'=a"].iloc[-1])
    assert safe["n"].tolist() == frame["n"].tolist()


def test_the_command_line_escapes_formulas(tmp_path, monkeypatch, capsys):
    from kanopy.cli import main

    rows = pd.DataFrame({"job": ["=cmd", "=cmd", "@b", "@b"], "note": ["+1+1", "x", "y", "z"]})
    write_table(rows, tmp_path / "in.csv")
    arguments = ["anonymize", tmp_path / "in.csv", "-k", 2, "-o", tmp_path / "out.csv", "-q"]
    arguments += ["--nominal", "job", "-m", "branch-and-price", "--escape-formulas"]
    arguments += ["--keep-identifiers"]
    monkeypatch.setattr("sys.argv", ["kanopy", *map(str, arguments)])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 0, capsys.readouterr()
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert {line.split(",")[0] for line in lines[1:]} == {"'=cmd", "'@b"}
    assert any("'+1+1" in line for line in lines)


CELLS = st.one_of(
    st.none(),
    st.text(max_size=8),
    st.sampled_from(["NA", "nan", "", " ", "*", "{a|b}", "[1-2]", "True", "1", "1.0", "\x00"]),
)


@settings(max_examples=how_many(25, 1000), **QUICK)
@given(st.lists(st.tuples(CELLS, CELLS), min_size=4, max_size=8))
def test_tables_of_odd_texts(tmp_path_factory, rows):
    """Odd texts are refused, or grouped, released, written and read back to a safe table."""
    frame = pd.DataFrame(rows, columns=["a", "b"], dtype=object)
    try:
        data = kn.Microdata.from_frame(frame, nominal=["a", "b"], missing="category")
        solution = kn.solve(data, 2, "k-member", cost="range")
    except kn.VerificationError:
        raise
    except kn.KanopyError:
        return
    for kind in ("ranges", "members"):
        release = solution.release(kind)
        kn.verify(data, release, k=2)
    for suffix in ("csv", "parquet"):
        path = tmp_path_factory.getbasetemp() / f"odd.{suffix}"
        write_table(release.astype(object).where(release.notna(), None), path)
        kn.verify(data, read_table(path), k=2)


NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from([0.0, -0.0, 5e-324, 1e-160, 1e150, 1.0000000000000002, 1e16]),
)


@settings(max_examples=how_many(25, 1000), **QUICK)
@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=4, max_size=8), st.booleans())
def test_tables_of_odd_numbers(rows, standardize):
    frame = pd.DataFrame(rows, columns=["a", "b"])
    try:
        data = kn.Microdata.from_frame(frame, numeric=["a", "b"], standardize=standardize)
        solutions = [
            kn.solve(data, 2, method, cost=cost)
            for method, cost in (("mdav", "sse"), ("k-member", "range"))
        ]
    except kn.VerificationError:
        raise
    except kn.KanopyError:
        return
    for solution in solutions:
        kn.verify(data, solution)
        kn.verify(data, solution.release(), k=2)


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from(["leaf", "list", "branch", "types", "count", "cuts", "below", "most"]),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=12,
)
FIELDS = ("instance", "columns", "k", "cost", "labels", "merged", "bits", "cuts", "steps")


@settings(max_examples=how_many(50, 1000), **QUICK)
@given(st.dictionaries(st.sampled_from(FIELDS), JSON))
def test_certificates_of_any_json(given_fields):
    sound = {"instance": "", "columns": {}, "k": 2, "cost": "sse", "labels": [], "merged": False}
    content = {"format": FORMAT, **sound, "bits": 0, "cuts": [], "steps": [], **given_fields}
    try:
        certificate = from_bytes(json.dumps(content).encode())
        assert type(certificate.k) is int
    except CertificateError:
        pass


@settings(max_examples=how_many(50, 1000), **QUICK)
@given(st.text(alphabet=st.sampled_from(list("ab1.,;\"'\n\r\t \x00\x0b\x85é")), max_size=40))
def test_any_text_is_a_table_or_an_error(text):
    """What is read has as many rows and columns as lines and names; else it is an error."""
    try:
        frame = parse_csv(text.encode(), "some.csv", keep_text=True)
    except kn.KanopyError:
        return
    assert len(frame.columns) == len(set(frame.columns))
    assert isinstance(frame.index, pd.RangeIndex)
