"""Every file that kanopy reads, damaged: a clear error, or an answer that is right.

Read are tables (CSV, gzip, Parquet), hierarchies, certificates, best known solutions, search trees
and stores of results. There is no other reader: nothing reads TOML, YAML or pickles.
"""

import ast
import gzip
import json
import random
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from mutator import mutated
from oracles import optimum
from sizes import how_many

import kanopy as kn
from kanopy.archive import best_known, keep_best, list_best
from kanopy.certifying import read_as
from kanopy.checking import check, read_certificate
from kanopy.experiments.specs import Task
from kanopy.experiments.store import Record, Store
from kanopy.instances.files import read_table, write_table
from kanopy.instances.hierarchy_file import parse_hierarchy

FRAME = pd.DataFrame(
    {
        "age": [20, 22, 31, 35, 47, 52, 58, 61],
        "income": [1.5, 2.25, 2.5, 8.0, 8.5, 9.0, 30.0, 31.5],
        "job": ["cook", "cook", "nurse", "nurse", "smith", None, "cook", "smith, old"],
        "note": ["a", 'b "c"', "d\ne", "=f", "é", "", "*", "{x|y}"],
    }
)
TREE = b"cook,service,*\nnurse,service,*\nsmith,craft,*\nbaker,craft,*\n,none,*\n"


def cases(number, seed):
    """With those of the other module 1,000 in every run, and 20,000 in the long form."""
    return (random.Random(f"{seed}/{i}") for i in range(how_many(number, 20 * number)))


def refused_or(act, *arguments):
    """What comes out, or None if it was refused. Anything but our own error is a crash."""
    try:
        return act(*arguments)
    except kn.VerificationError:
        raise  # an answer that is wrong
    except kn.KanopyError:
        return None


def solved(path):
    """Whatever table came out of a file, solved."""
    data = kn.Microdata.from_frame(read_table(path), missing="category")
    return kn.solve(data, 2, "mdav" if data.kind == "numeric" else "k-member")


def is_right(solution, chance):
    """The answer, its release and (now and then) what is measured keep what they promise."""
    data = solution.data  # ``solve`` has verified it
    kn.verify(data, solution.release(), k=solution.k)
    if chance.random() < 0.75:
        return True
    report = kn.evaluate(data, solution)
    assert report.k >= solution.k
    values = data.frame[list(data.numeric)].to_numpy(dtype=float)
    if data.kind == "numeric":
        scaled = (values - data.center) / data.scale
        means = pd.DataFrame(scaled).groupby(solution.labels).transform("mean").to_numpy()
        assert report.sse == pytest.approx(((scaled - means) ** 2).sum(), rel=1e-6, abs=1e-9)
    return True


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzz")
    for suffix in ("csv", "csv.gz", "parquet"):
        write_table(FRAME, folder / f"table.{suffix}")
        write_table(FRAME[["age", "income"]], folder / f"numbers.{suffix}")
    return folder


@pytest.mark.parametrize(
    ("name", "number", "some"),
    [
        ("table.csv", 100, 10),
        ("numbers.csv", 100, 10),
        ("numbers.parquet", 100, 1),
        ("table.parquet", 60, 1),
        ("table.csv.gz", 60, 0),
    ],
)
def test_tables(files, tmp_path, name, number, some):
    whole = (files / name).read_bytes()
    path = tmp_path / name
    accepted = 0
    for chance in cases(number, name):
        content = mutated(whole, chance)
        if name.endswith(".gz") and chance.random() < 0.5:  # damage inside of a sound gzip file
            content = gzip.compress(mutated(gzip.decompress(whole), chance))
        path.write_bytes(content)
        solution = refused_or(solved, path)
        accepted += solution is not None and is_right(solution, chance)
    assert accepted >= some


def test_hierarchies():
    data = kn.Microdata.from_frame(
        FRAME[["job"]].replace("smith, old", "smith"), missing="category"
    )

    def use(content):
        coded = data.with_hierarchies({"job": parse_hierarchy(content)})
        return kn.solve(coded, 2, "k-member", cost="range")

    accepted = 0
    for chance in cases(130, "tree"):
        solution = refused_or(use, mutated(TREE, chance))
        if solution is None:
            continue
        accepted += 1
        tree = solution.data.hierarchies["job"]
        released = solution.release("ranges")["job"]
        for value, shown in zip(data.frame["job"], released, strict=True):
            above = tree.ancestors(None if pd.isna(value) else value)
            assert shown in {"" if node is None else str(node) for node in above}
    assert accepted >= 5


def proof_of(tmp_path, data, k, cost):
    path = tmp_path / "proof.json"
    kn.solve(data, k, "branch-and-price", cost=cost, certificate=path)
    return path.read_bytes()


@pytest.mark.parametrize("cost", ["sse", "hamming", "range"])
def test_certificates(tmp_path, cost):
    """No damaged certificate proves a bound above the optimum or another cost of its partition."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({f"x{j}": rng.normal(size=8).round(3) for j in range(2)})
    if cost == "hamming":
        frame = frame.round(0).astype(int).astype(str)
    data = kn.Microdata.from_frame(frame)
    whole = proof_of(tmp_path, data, 3, cost)
    best = optimum(data, 3, cost)
    path = tmp_path / "damaged.json"

    def believe():
        certificate = read_certificate(path)
        read = read_as(certificate, kn.Microdata.from_frame(frame, missing="category"))
        return certificate, read, check(certificate, read)

    accepted = 0
    for chance in cases(60, f"certificate {cost}"):
        content = mutated(whole, chance)
        path.write_bytes(gzip.compress(content) if chance.random() < 0.2 else content)
        believed = refused_or(believe)
        if believed is None:
            continue
        accepted += 1
        certificate, read, checked = believed
        least = best if read.fingerprint == data.fingerprint else None
        if least is None or (certificate.k, certificate.cost) != (3, cost):
            least = optimum(read, certificate.k, certificate.cost)
        assert float(checked.objective) >= least * (1 - 1e-9)
        assert checked.bound is None or float(checked.bound) <= least * (1 + 1e-9) + 1e-12
    assert accepted >= 1


def test_best_known(tmp_path):
    data = kn.generate("simu", n=12, seed=1)
    keep_best(kn.solve(data, 3, "mdav"), "simu", tmp_path)
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    found = 0

    def read():
        list_best(tmp_path)
        try:
            return best_known(data, 3, folder=tmp_path)
        except kn.VerificationError:
            return None  # what is kept is not believed, either

    for chance in cases(60, "best known"):
        path.write_bytes(mutated(whole, chance))
        solution = refused_or(read)
        if solution is not None:
            found += 1
            kn.verify(data, solution)
    assert found >= 1


@pytest.fixture(scope="module")
def saved_tree(tmp_path_factory):
    rng = np.random.default_rng(0)
    data = kn.Microdata.from_frame(pd.DataFrame(rng.normal(size=(16, 3)), columns=list("abc")))
    path = tmp_path_factory.mktemp("tree") / "tree.npz"
    options = {"cuts": False, "enumeration": False, "dives": False, "tree": str(path)}
    unfinished = kn.solve(data, 4, "branch-and-price", options=options, stop=kn.MaxNodes(2))
    assert unfinished.status != "optimal"
    whole = kn.solve(data, 4, "branch-and-price")
    return data, path, options, whole.objective


def test_search_trees(saved_tree, tmp_path):
    data, path, options, best = saved_tree
    whole = path.read_bytes()
    damaged = tmp_path / "tree.npz"

    def resume():
        given = {**options, "tree": str(damaged)}
        return kn.solve(data, 4, "branch-and-price", options=given, stop=kn.MaxNodes(1))

    for chance in cases(40, "search tree"):
        damaged.write_bytes(mutated(whole, chance))
        solution = refused_or(resume)
        assert solution is None or solution.bound <= best * (1 + 1e-6)


def test_search_trees_with_senseless_indices(saved_tree, tmp_path):
    """Sound archives whose numbers point to nowhere: compiled code must never see them."""
    data, path, options, _ = saved_tree
    with np.load(path) as file:
        arrays = dict(file)
    damaged = tmp_path / "tree.npz"
    given = {**options, "tree": str(damaged)}
    refused = 0
    names = ["labels", "clusters", "cut_starts", "cut_members", "cut_divisors", "decisions"]
    for chance in cases(30, "senseless tree"):
        name = chance.choice([name for name in names if arrays[name].size])
        changed = arrays[name].copy()
        changed.flat[chance.randrange(changed.size)] = chance.choice((-7, 10**6, 2**31 - 1))
        np.savez_compressed(damaged, **{**arrays, name: changed})
        with pytest.raises(kn.KanopyError, match=r"damaged|not a search tree"):
            kn.solve(data, 4, "branch-and-price", options=given, stop=kn.MaxNodes(1))
        refused += 1
    assert refused


def test_stores(tmp_path):
    task = Task("example:testdata", "mdav", 3)
    store = Store(tmp_path / "whole.sqlite")
    store.add(Record(task, "1", objective=48.0, measures={"loss": 1.0}, trace=((0.0, 48.0, None),)))
    with store._connection() as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    whole = (tmp_path / "whole.sqlite").read_bytes()
    path = tmp_path / "damaged.sqlite"

    def use():
        damaged = Store(path)
        damaged.find(task)
        damaged.add(Record(task, "2", objective=48.0))
        damaged.frame()

    for chance in cases(40, "store"):
        for old in tmp_path.glob("damaged*"):
            old.unlink()
        content = bytearray(whole)
        start = max(0, whole.find(b"example:testdata") - 100)
        content[start:] = mutated(whole[start:], chance)
        path.write_bytes(mutated(whole, chance) if chance.random() < 0.5 else bytes(content))
        refused_or(use)


def test_options_and_weights_of_the_command_line(tmp_path, monkeypatch, capsys):
    """Damaged arguments: exit code 0, 1 or 2, one line of error, no traceback."""
    from kanopy.cli import main

    table = tmp_path / "table.csv"
    write_table(FRAME, table)
    whole = [
        *("solve", str(table), "-k", "2", "--numeric", "age,income", "--weights", "age=2"),
        *("-m", "mdav", "-t", "5", "--seed", "3", "--option", "a=1", "--missing", "category"),
    ]
    for chance in cases(25, "command line"):
        place = chance.randrange(2, len(whole))
        arguments = list(whole)
        text = mutated(arguments[place].encode(), chance).decode("latin-1").replace("\0", "")
        arguments[place] = text[:2000]
        monkeypatch.setattr("sys.argv", ["kanopy", *arguments, "-q"])
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code
        said = capsys.readouterr().err
        assert code in (0, 1, 2), said
        assert "Traceback" not in said


def test_nothing_that_is_read_can_run():
    """No pickle, no eval: the package calls none of the functions that run what they read."""
    run = {("", name) for name in ("eval", "exec", "compile", "__import__")} | {("os", "system")}
    run |= {("np", "load"), ("joblib", "load"), ("pd", "read_pickle"), ("pd", "eval")}
    root = Path(kn.__file__).parents[1]
    folders = ("kanopy", "instances", "models", "solvers", "experiments")
    found = set()
    for path in sorted(path for folder in folders for path in (root / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {alias.name for alias in node.names} | {getattr(node, "module", "")}
                risky = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "yaml"}
                assert not names & risky, path
            if not isinstance(node, ast.Call):
                continue
            called = node.func
            whose = getattr(getattr(called, "value", None), "id", "")
            name = getattr(called, "attr", getattr(called, "id", ""))
            if (whose, name) in run:
                found.add((path.relative_to(root).as_posix(), whose, name))
            for keyword in node.keywords:
                plain = keyword.arg != "allow_pickle" or ast.literal_eval(keyword.value) is False
                assert plain, path
    assert found <= {
        ("solvers/kernels/record.py", "", "exec"),  # names of fields of our own records
        ("solvers/backends/cpsat_worker.py", "np", "load"),  # allow_pickle=False, from ourselves
    }, found


def test_a_pickle_in_a_table_or_tree_does_not_run(tmp_path, saved_tree):
    """Objects with a will of their own, in each place where NumPy or Arrow might unpack them."""
    ran = tmp_path / "ran"

    class Bomb:
        def __reduce__(self):
            return (Path.touch, (ran,))

    data, path, options, _ = saved_tree
    with np.load(path) as file:
        arrays = dict(file)
    evil = tmp_path / "evil.npz"
    np.savez(evil, **{**arrays, "leaves": np.array([Bomb()], dtype=object)})
    with pytest.raises(kn.KanopyError, match="not a search tree"):
        kn.solve(data, 4, "branch-and-price", options={**options, "tree": str(evil)})
    (tmp_path / "evil.parquet").write_bytes(evil.read_bytes())
    with pytest.raises(kn.KanopyError, match="Parquet"):
        read_table(tmp_path / "evil.parquet")
    (tmp_path / "cert.json").write_text(json.dumps({"format": "!!python/object:os.system"}))
    with pytest.raises(kn.KanopyError, match="no certificate"):
        read_certificate(tmp_path / "cert.json")
    assert not ran.exists()
