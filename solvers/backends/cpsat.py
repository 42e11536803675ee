"""OR-tools CP-SAT in a process of its own: the strongest free solver on many pure integer programs.

The worker (:mod:`kanopy.solvers.backends.cpsat_worker`) gets the program as one ``npz`` archive of
plain arrays (no pickles) behind its length in 8 bytes, and answers with JSON lines: ``x`` and
``bound`` while it searches, ``status`` at the end. It is killed at the limit and on interruption,
and ends with its caller. One that ended its search in time is kept for the next program, since
loading OR-tools takes longer than many a search.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.metadata
import importlib.util
import io
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kanopy.instances.errors import KanopyError
from kanopy.models.linear_form import LinearForm
from kanopy.solvers.backends.protocol import BackendResult, Capabilities, Limits, Progress
from kanopy.solvers.backends.watch import Ended, Watch
from kanopy.solvers.backends.whole_numbers import WholeProgram, whole_program

_COMMAND = (sys.executable, "-P", "-m", "kanopy.solvers.backends.cpsat_worker")


class CpsatBackend:
    """CP-SAT, for integer programs whose variables are all bounded integers."""

    name = "cpsat"
    capabilities = Capabilities(milp=False, mip_start=True)

    def unavailable(self) -> str | None:
        """Why CP-SAT cannot be used, or None; OR-tools is looked for, never imported here."""
        if importlib.util.find_spec("ortools") is None:
            return "CP-SAT is not installed; get it with: pip install 'kanopy[cpsat]'"
        return None

    def version(self) -> str:
        """Name and version."""
        return f"CP-SAT (OR-tools {importlib.metadata.version('ortools')})"

    def solve(
        self,
        form: LinearForm,
        limits: Limits,
        start: NDArray[np.float64] | None = None,
        progress: Progress | None = None,
    ) -> BackendResult:
        """Solve a pure integer program with a linear objective."""
        if reason := self.unavailable():
            raise KanopyError(reason)
        watch = Watch("CP-SAT", form, limits, start, progress)
        search = _Search(watch)
        return watch.run(search.run, search.stop)


class _Worker:
    """The process and where its error messages go."""

    def __init__(self) -> None:
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 -- closed with the process
        self.owner = os.getpid()
        self.process = subprocess.Popen(
            _COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            start_new_session=True,  # a Ctrl-C is ours to handle
        )

    def usable(self) -> bool:
        """Whether it still runs, and for this process, not for one that forked us."""
        return self.owner == os.getpid() and self.process.poll() is None

    def send(self, message: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(message)
        self.process.stdin.flush()

    def answers(self) -> Iterator[dict[str, Any]]:
        """What it reports, until it dies."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.endswith(b"\n"):  # else it was cut off in the middle
                yield json.loads(line)

    def close(self) -> str:
        """End it and say how it ended, if it was about to by itself."""
        try:
            code = self.process.wait(0.2)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self.errors.seek(0)
        lines = self.errors.read().decode(errors="replace").strip().splitlines()
        for pipe in (self.process.stdin, self.process.stdout, self.errors):
            with contextlib.suppress(OSError):  # for what could not be written any more
                if pipe is not None:
                    pipe.close()
        if code < 0:
            return f"its process was ended by signal {-code}"
        return f"its process ended with code {code}" + (f" ({lines[-1]})" if lines else "")


_idle: list[_Worker] = []


def _take_worker() -> _Worker:
    while _idle:
        worker = _idle.pop()
        if worker.usable():
            return worker
    return _Worker()


@atexit.register
def close_idle() -> None:
    """End the workers that wait for a program; they would end with this process anyway."""
    while _idle:
        worker = _idle.pop()
        if worker.usable():
            worker.process.kill()
            worker.close()


class _Search:
    """One search of the worker, attended by a thread of ours."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.worker: _Worker | None = None
        self._lock = threading.Lock()

    def stop(self) -> None:
        """End the worker, from another thread."""
        with self._lock:
            if self.worker is not None:
                self.worker.process.kill()

    def run(self) -> Ended:
        program = whole_program(self.watch.form)
        if program is None:
            return Ended("infeasible")
        self.worker = worker = _take_worker()
        ended = None
        try:
            if not self.watch.stopping():
                ended = self.attend(worker, program)
        finally:
            with self._lock:
                self.worker = None  # from here on, a late stop must not hit its next search
            if ended is None or self.watch.stopping():
                cause = worker.close()
            else:
                _idle.append(worker)
        if ended is None:
            return Ended("stopped") if self.watch.stopping() else Ended("failed", cause)
        return ended

    def attend(self, worker: _Worker, program: WholeProgram) -> Ended | None:
        """Hand over the program and take down the answers; None if the worker died over it."""
        try:
            worker.send(self.message(program))
        except OSError:
            return None
        for answer in worker.answers():
            if "bound" in answer:
                self.watch.prove(program.bound(answer["bound"]))
            if "x" in answer:
                self.watch.offer(np.array(answer["x"], dtype=np.float64))
            if "status" in answer:
                if answer["status"] not in ("optimal", "infeasible", "stopped", "failed"):
                    return Ended("failed", "its process answered what it was not asked")
                return Ended(answer["status"], answer.get("message", ""))
        return None

    def message(self, program: WholeProgram) -> bytes:
        limits, start = self.watch.limits, self.watch.start
        hint = np.zeros(0) if start is None else np.clip(start, program.lower, program.upper)
        archive = io.BytesIO()
        np.savez(
            archive,
            cost=program.cost,
            starts=program.starts,
            columns=program.columns,
            factors=program.factors,
            row_lower=program.row_lower,
            row_upper=program.row_upper,
            lower=program.lower,
            upper=program.upper,
            start=np.round(hint).astype(np.int64),
            threads=limits.threads,
            seed=limits.seed % (2**31),
            relative_gap=limits.relative_gap,
            absolute_gap=limits.absolute_gap * program.scale,
            deadline=time.time() + self.watch.remaining(),
        )
        body = archive.getvalue()
        return len(body).to_bytes(8, "little") + body
