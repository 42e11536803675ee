"""Real faults: killed and stopped processes, full disks, signals, crowds. No mocks.

Elsewhere: campaigns that are killed, run twice on one store or lose a worker
(``tests/experiments/test_runner.py``), a killed or babbling CP-SAT worker
(``tests/solvers/test_backends.py``).
"""

import contextlib
import os
import random
import resource
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sizes import how_many
from typer.testing import CliRunner

import kanopy as kn
from kanopy.archive import keep_best
from kanopy.cli import app
from kanopy.instances.files import read_table, write_table, write_whole

KANOPY = (sys.executable, "-m", "kanopy")


def python(code, *arguments, **more):
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **more,
    )


def numbers(path, n=3000, d=4, seed=0):
    rng = np.random.default_rng(seed)
    write_table(pd.DataFrame(rng.normal(size=(n, d)), columns=list("abcd")[:d]), path)
    return path


def test_a_writer_killed_at_any_moment_leaves_a_whole_file(tmp_path):
    path = tmp_path / "out.csv"
    chance = random.Random(3)
    allowed = {b"old" * 50_000, *(bytes([65 + i]) * 3_000_000 for i in range(26))}
    write_whole(path, b"old" * 50_000)
    for _ in range(how_many(2, 40)):
        process = python(
            """
            import sys
            from pathlib import Path
            from kanopy.instances.files import write_whole
            print("ready", flush=True)
            for i in range(10**9):
                write_whole(Path(sys.argv[1]), bytes([65 + i % 26]) * 3_000_000)
            """,
            path,
        )
        assert process.stdout.readline() == "ready\n"
        time.sleep(chance.uniform(0, 0.05))
        process.kill()
        process.communicate()
        assert path.read_bytes() in allowed


def limited(size):
    """A disk of so many bytes for any one file."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.mark.parametrize("suffix", ["csv.gz", "csv", "parquet"][: how_many(1, 3)])
def test_a_full_disk_leaves_the_old_release(tmp_path, suffix):
    table = numbers(tmp_path / "in.csv")
    out = tmp_path / f"out.{suffix}"
    out.write_bytes(b"the old release")
    done = subprocess.run(
        [*KANOPY, "anonymize", table, "-k", "5", "-m", "mdav", "-q", "-o", out],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=limited(20_000),
    )
    assert done.returncode == 2, done.stderr
    assert "cannot write" in done.stderr
    assert "Traceback" not in done.stderr
    assert out.read_bytes() == b"the old release"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.csv", out.name]


def test_a_full_disk_leaves_old_certificates_trees_and_stores(tmp_path):
    old = {name: tmp_path / name for name in ("proof.json", "tree.npz", "store.sqlite")}
    old["proof.json"].write_bytes(b"old")
    process = python(
        """
        import resource, sys
        from pathlib import Path
        import numpy as np, pandas as pd
        import kanopy as kn
        from kanopy.experiments.specs import Task
        from kanopy.experiments.store import Record, Store
        proof, tree, store = map(Path, sys.argv[1:])
        kept = Store(store)
        kept.add(Record(Task("example:testdata", "mdav", 3), "1", objective=48.0))
        data = kn.Microdata.from_frame(pd.DataFrame({"a": np.arange(40.0) ** 1.5}))
        kn.solve(data, 3, "branch-and-price", options={"tree": str(tree)})
        before = tree.read_bytes()
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        for options, certificate in (({}, proof), ({"tree": str(tree)}, None)):
            try:
                kn.solve(data, 3, "branch-and-price", options=options, certificate=certificate)
            except kn.KanopyError as error:
                print("refused", "cannot write" in str(error))
        try:
            kept.add(Record(Task("example:testdata", "mdav", 2), "1", error="x" * 100_000))
        except kn.KanopyError:
            print("refused", True)
        print(tree.read_bytes() == before)
        """,
        *old.values(),
    )
    said, errors = process.communicate()
    assert said.split("\n")[:4] == ["refused True"] * 3 + ["True"], errors
    assert old["proof.json"].read_bytes() == b"old"
    from kanopy.experiments.specs import Task
    from kanopy.experiments.store import Store

    assert Store(old["store.sqlite"]).find(Task("example:testdata", "mdav", 3)).objective == 48.0
    assert len(Store(old["store.sqlite"]).frame()) == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_devices_are_written_to_and_never_replaced():
    before = os.stat("/dev/full")
    with pytest.raises(kn.KanopyError, match="No space left"):
        write_whole(Path("/dev/full"), b"x")
    write_whole(Path("/dev/null"), b"x")
    assert os.stat("/dev/full").st_rdev == before.st_rdev
    assert not Path("/dev/null").is_file()


def test_a_real_disk_that_is_full(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("mounting a small disk is not permitted here")
    try:
        write_whole(disk / "out.csv", b"old")
        with pytest.raises(kn.KanopyError, match="No space left"):
            write_whole(disk / "out.csv", b"x" * 100_000)
        assert [path.name for path in disk.iterdir()] == ["out.csv"]
        assert (disk / "out.csv").read_bytes() == b"old"
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.mark.parametrize("target", ["missing/out.csv", "in.csv/out.csv", "out.xyz"])
def test_an_impossible_output_is_told_before_the_search(tmp_path, target):
    """The method searches without end, so an error can only come from before it."""
    table = numbers(tmp_path / "in.csv", 200)
    arguments = ["anonymize", table, "-k", 3, "-m", "ils", "-q", "-o", tmp_path / target]
    result = CliRunner().invoke(app, [*map(str, arguments)])
    assert isinstance(result.exception, kn.KanopyError)


@pytest.mark.parametrize(
    ("number", "command"),
    [(signal.SIGTERM, "solve"), (signal.SIGINT, "anonymize")],
)
def test_signals_write_the_best_so_far(tmp_path, number, command):
    table, out = numbers(tmp_path / "in.csv", 300), tmp_path / "out.csv"
    process = subprocess.Popen(
        [*KANOPY, command, table, "-k", "3", "-m", "ils", "-o", out],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while "*" not in (line := process.stdout.readline()):  # the mark of a better solution
        assert line, process.stderr.read()
    process.send_signal(number)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 128 + number, errors
    assert "best so far" in errors
    assert "Traceback" not in errors
    written = read_table(out)
    assert len(written) == 300
    groups = written.groupby("class" if command == "solve" else list("abcd")).size()
    assert groups.min() >= 3


def child_of(pid, words):
    """The child whose command holds these words, once there is one."""
    while True:
        for child in children(pid):
            with contextlib.suppress(OSError):
                if words in Path(f"/proc/{child}/cmdline").read_bytes():
                    return child
        time.sleep(0.01)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux' /proc")
@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL, signal.SIGSTOP])
def test_a_crash_or_hang_in_a_process_apart_leaves_the_best_so_far(tmp_path, number):
    """The solver's process gets the signal that a wild pointer, or the system, would send."""
    table, out = numbers(tmp_path / "in.csv", 300), tmp_path / "out.csv"
    limit = ["-t", "20"] if number == signal.SIGSTOP else []  # without one, nobody waits in vain
    process = subprocess.Popen(
        [*KANOPY, "solve", table, "-k", "3", "-m", "ils", "--apart", *limit, "-o", out],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while "*" not in (line := process.stdout.readline()):  # the mark of a better solution
        assert line, process.stderr.read()
    child = child_of(process.pid, b"kanopy.apart")
    os.kill(child, number)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 3, errors
    how = "did not end at its time limit" if number == signal.SIGSTOP else f"by {number.name}"
    assert f"warning: the process of ils was ended {how}" in errors or how in errors
    assert "best so far" in errors
    assert read_table(out).groupby("class").size().min() >= 3
    assert not Path(f"/proc/{child}").exists()


def test_a_method_apart_gives_what_it_gives_here(tmp_path):
    data = kn.generate("simu", n=60, seed=1)
    here = kn.solve(data, 3, "branch-and-price", certificate=tmp_path / "here.json")
    there = kn.solve(data, 3, "branch-and-price", certificate=tmp_path / "there.json", apart=True)
    assert (there.objective, there.status) == (here.objective, here.status)
    assert there.labels.tolist() == here.labels.tolist()
    assert [e.mark for e in there.trace if e.mark] == [e.mark for e in here.trace if e.mark]
    assert (tmp_path / "there.json").read_bytes() == (tmp_path / "here.json").read_bytes()
    with pytest.raises(kn.KanopyError, match="option"):  # an error is the same, too
        kn.solve(data, 3, "auto", apart=True, options={"no": 1})
    with pytest.raises(kn.KanopyError, match="cannot be sent"):
        kn.solve(data, 3, "mdav", apart=True, stop=Local())


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux' /proc")
@pytest.mark.parametrize("babble", [b"\0\0\0\3abc", b"\0\0\0\1\x80", b"\0"])
def test_a_process_apart_that_babbles_is_contained_and_named(babble, monkeypatch):
    """Another process answers in its place."""
    code = "import os, sys; os.write(int(sys.argv[1]), bytes.fromhex(sys.argv[2]))"
    start = subprocess.Popen

    def instead(command, **more):
        number = command[command.index("kanopy.apart") + 1]
        return start([sys.executable, "-c", code, number, babble.hex()], **more)

    monkeypatch.setattr("kanopy.apart.subprocess.Popen", instead)
    data = kn.generate("simu", n=20, seed=1)
    with pytest.raises(kn.KanopyError, match=r"process of mdav (sent nonsense|was ended)"):
        kn.solve(data, 3, "mdav", apart=True)
    first = kn.solve(data, 3, "random")
    with pytest.warns(RuntimeWarning, match="best so far"):
        kept = kn.solve(data, 3, "ils", apart=True, initial=first)
    assert (kept.status, kept.objective) == ("interrupted", first.objective)


class Local:
    """A stopping rule that holds what no other process can have."""

    def __init__(self):
        self.lock = threading.Lock()

    def __call__(self, progress):
        return False

    def time_limit(self):
        return np.inf


def test_a_signal_before_the_first_solution_has_its_exit_code(tmp_path):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    process = subprocess.Popen(
        [*KANOPY, "solve", pipe, "-k", "3"], stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    with pipe.open("wb"):  # opens once the command has begun to read; there is nothing to read
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=300)
    assert process.returncode == 143, errors
    assert "Traceback" not in errors


def program():
    """min x + y with 3x + 5y ≥ 7 over 0 … 9."""
    from kanopy.models.linear_form import LinearForm

    return LinearForm(
        cost=np.ones(2),
        constant=0.0,
        matrix=sp.csr_array(np.array([[3.0, 5.0]])),
        row_lower=np.array([7.0]),
        row_upper=np.array([np.inf]),
        lower=np.zeros(2),
        upper=np.full(2, 9.0),
        integer=np.ones(2, dtype=bool),
    )


def runs_the_worker(pid, before):
    try:
        return pid not in before and b"cpsat_worker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def children(pid):
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += map(int, (task / "children").read_text().split())
    return found


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux' /proc")
def test_a_stopped_solver_is_killed_at_the_limit():
    """SIGSTOP: the worker neither ends nor answers; the caller comes back all the same."""
    pytest.importorskip("ortools")
    from kanopy.solvers.backends.cpsat import CpsatBackend, close_idle
    from kanopy.solvers.backends.protocol import Limits

    close_idle()
    before = set(children(os.getpid()))
    stopped = []

    def stop_the_worker():
        # Once it runs the worker's code: whoever stops it before that stops our Popen, too.
        while not (new := [c for c in children(os.getpid()) if runs_the_worker(c, before)]):
            time.sleep(0.01)
        (worker,) = new
        os.kill(worker, signal.SIGSTOP)
        stopped.append(worker)

    attacker = threading.Thread(target=stop_the_worker, daemon=True)
    attacker.start()
    began = time.perf_counter()
    result = CpsatBackend().solve(program(), Limits(seconds=2.0))
    took = time.perf_counter() - began
    attacker.join()
    assert result.status == "no_solution"
    assert took < 30  # for ever, without the watch
    assert not Path(f"/proc/{stopped[0]}").exists()


def test_a_worker_that_babbles_is_contained_and_named(monkeypatch):
    pytest.importorskip("ortools")
    from kanopy.solvers.backends import cpsat
    from kanopy.solvers.backends.protocol import Limits

    for babble in (
        '{"x": [',
        '{"x": "abc"}',
        '{"bound": "high"}',
        "[1, 2]",
        '{"status": 7}',
        "\\xff",
    ):
        cpsat.close_idle()
        script = f"import sys; sys.stdin.buffer.read(8); print({babble!r}, flush=True)"
        monkeypatch.setattr(cpsat, "_COMMAND", (sys.executable, "-c", script))
        result = cpsat.CpsatBackend().solve(program(), Limits(seconds=60))
        assert result.status == "failed", babble
        assert "CP-SAT failed" in result.message
        assert result.bound == -np.inf
    cpsat.close_idle()


CROWD = """
import sys
from pathlib import Path
import kanopy as kn
from kanopy.archive import keep_best
data = kn.generate("simu", n=60, seed=1)
print("ready", flush=True)
sys.stdin.readline()
for seed in map(int, sys.argv[2:]):
    keep_best(kn.solve(data, 3, "random", seed=seed), "simu", Path(sys.argv[1]))
"""


def test_two_writers_of_the_best_known_keep_the_best(tmp_path):
    seeds = list(range(10))
    parts = [python(CROWD, tmp_path, *seeds[i::2], stdin=subprocess.PIPE) for i in range(2)]
    for part in parts:
        assert part.stdout.readline() == "ready\n"
    for part in parts:
        part.stdin.write("go\n")
        part.stdin.flush()
    errors = [part.communicate()[1] for part in parts]
    assert [part.returncode for part in parts] == [0, 0], errors
    data = kn.generate("simu", n=60, seed=1)
    best = min(kn.solve(data, 3, "random", seed=seed).objective for seed in seeds)
    assert kn.best_known(data, 3, folder=tmp_path).objective == pytest.approx(best, rel=1e-8)


def test_two_processes_fill_one_cache_of_kernels(tmp_path):
    # A kernel of our kind, in a file of its own: compiling ours takes longer than a test should.
    kernel = tmp_path / "kernel.py"
    kernel.write_text(
        "from numba import njit\n\n@njit(cache=True)\ndef add(a, b):\n    return a + b\n"
    )
    code = """
    import sys
    sys.path.insert(0, sys.argv[1])
    from kernel import add
    print([add(*pair) for pair in ((1, 2), (1.5, 2), (1, 2.5), (1j, 2))])
    """
    place = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    both = [python(code, tmp_path, env=place) for _ in range(2)]
    said = [process.communicate() for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    third = python(code, tmp_path, env=place)
    said.append(third.communicate())
    assert third.returncode == 0
    assert len({out for out, _ in said}) == 1
    assert list(tmp_path.rglob("*.nbi"))


def test_a_best_known_file_survives_a_killed_writer(tmp_path):
    data = kn.generate("simu", n=60, seed=1)
    keep_best(kn.solve(data, 3, "random", seed=0), "simu", tmp_path)
    for seed in range(how_many(1, 10)):
        process = python(CROWD, tmp_path, *range(100), stdin=subprocess.PIPE)
        assert process.stdout.readline() == "ready\n"
        process.stdin.write("go\n")
        process.stdin.flush()
        time.sleep(random.Random(seed).uniform(0, 0.1))
        process.kill()
        process.communicate()
        kn.verify(data, kn.best_known(data, 3, folder=tmp_path))
    keep_best(kn.solve(data, 3, "mdav"), "simu", tmp_path)  # the lock went with its owner
