"""Solve in a process of its own, so that a solver that crashes or hangs takes nothing with it.

HiGHS, SCIP and Gurobi are libraries: a fault in one of them ends the process that has loaded it.
With ``apart=True`` that is a child process. It tells every better solution and bound at once, and
what it tells is checked here, so whatever happens to it, the best so far is at hand; it is killed
if it does not end at its time limit. Starting it takes about a second, which the limit includes.

Child and parent send each other Python objects through a socket that nobody else can open.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import fields
from multiprocessing.connection import Connection
from typing import Any

import kanopy.instances
import kanopy.models
import kanopy.solvers
from kanopy.instances.errors import KanopyError
from kanopy.solvers.problem import Outcome, Problem
from kanopy.solvers.registry import Method, find_method
from kanopy.solvers.run import Run
from kanopy.solvers.trace import Event
from kanopy.verification import check_labels

GRACE = 1.0
"""Seconds beyond its limit after which a child that has not ended is killed."""
START = 30.0
"""The same for one that has not been heard of: on a busy machine it may take long to begin."""
BEAT = 0.3
"""Seconds between two signs of life."""
PROOF_SILENCE = 30.0
"""Seconds without one after which a child that may be writing down a proof is killed."""
OURS = ("time", "mark", "objective", "bound", "iterations", "nodes")
"""Fields of events that the parent's run fills in by itself."""


class CrashError(KanopyError):
    """The child ended, or had to be ended, before it was done; the message says how."""


def run_apart(method: Method, problem: Problem, run: Run, options: Mapping[str, Any]) -> Outcome:
    """What ``method.run`` would return, from a child process; its reports go to ``run``."""
    if os.name != "posix":
        raise KanopyError("apart=True needs a POSIX system; leave it out here")
    return _Parent(method, problem, run, options).attend()


class _Parent:
    """Our side of the socket."""

    def __init__(
        self, method: Method, problem: Problem, run: Run, options: Mapping[str, Any]
    ) -> None:
        self.method, self.problem, self.run = method, problem, run
        self.question = {
            "method": method.name,
            "problem": problem,
            "options": dict(options),
            "stop": run.stop,
            "seed": run.seed,
            "initial": run.initial,
            "best": run.best,
            "wants_proof": run.wants_proof,
            "began": time.time() - run.elapsed(),
        }
        self.told, self.told_at = run.elapsed(), time.perf_counter()
        self.heard = False

    def attend(self) -> Outcome:
        """Hand the question over and listen until the child ends."""
        ours, theirs = socket.socketpair()
        self.connection = Connection(ours.detach())
        number = theirs.fileno()
        with tempfile.TemporaryFile() as self.last_words, self.connection:
            words = self.last_words.fileno()
            self.child = subprocess.Popen(
                [sys.executable, "-P", "-m", "kanopy.apart", str(number), str(words)],
                pass_fds=[number, words],
                start_new_session=True,  # a Ctrl-C is ours to handle
            )
            theirs.close()
            try:
                return self.listen()
            finally:
                self.child.kill()
                self.child.wait()

    def listen(self) -> Outcome:
        refused: list[Exception] = []

        def send() -> None:  # in a thread, as a child that does not read would block us
            try:
                self.connection.send(self.question)
            except OSError:  # it died; we shall hear of that
                pass
            except Exception as error:  # something that cannot be sent
                refused.append(error)
                self.child.kill()

        threading.Thread(target=send, daemon=True).start()
        while True:
            if self.connection.poll(0.1):
                try:
                    name, content = self.connection.recv()
                    hear = getattr(self, f"on_{name}")
                except (EOFError, OSError):
                    if refused:
                        raise KanopyError(
                            f"apart=True: the question cannot be sent to a process: {refused[0]}"
                        ) from refused[0]
                    raise CrashError(self.how_it_ended()) from None
                except Exception as error:  # what a process sends whose memory is spoilt
                    raise CrashError(f"the process of {self.method.name} sent nonsense") from error
                outcome: Outcome | None = hear(content)
                if outcome is not None:
                    return outcome
            if self.late():
                raise CrashError(f"{self.method.name} did not end at its time limit and was killed")

    def late(self) -> bool:
        """Whether the child's own clock, as far as we know it, is well beyond the limit."""
        silent = time.perf_counter() - self.told_at
        limit = self.run.stop.time_limit()
        over = self.told + silent > limit + max(GRACE if self.heard else START, 0.01 * limit)
        # a proof is written down beyond the limit
        return over and (not self.run.wants_proof or silent > PROOF_SILENCE)

    # What the child may say

    def on_alive(self, elapsed: float) -> None:
        self.heard = True
        self.told, self.told_at = elapsed, time.perf_counter()

    def on_event(self, content: tuple[Event, Outcome | None]) -> None:
        event, best = content
        self.run.follow(event.time)
        details = {
            field.name: getattr(event, field.name)
            for field in fields(event)
            if field.name not in OURS
        }
        progress = self.run.progress
        progress.iterations = max(progress.iterations, event.iterations or 0)
        progress.nodes = max(progress.nodes, event.nodes or 0)
        if best is not None:
            if best.labels is not None and best.representatives is None:
                for wrong in check_labels(self.problem.data, best.labels, self.problem.k):
                    raise CrashError(f"{self.method.name} returned no solution: {wrong}")
            self.run.found(best, self.problem.objective(best), **details)
        elif event.mark == "^" and event.bound is not None:
            self.run.proved(event.bound, **details)
        elif not event.mark:
            self.run.record(**details)

    def on_done(self, content: dict[str, Any]) -> Outcome:
        self.run.method = content["method"]
        self.run.proof = content["proof"]
        self.run.timed_out |= content["timed_out"]
        self.run.follow(content["elapsed"], content["processor"])
        outcome: Outcome = content["outcome"]
        return outcome

    def on_mistake(self, message: str) -> None:
        raise KanopyError(message)

    def on_failure(self, message: str) -> None:
        raise CrashError(f"{self.method.name} failed: {message}")

    def how_it_ended(self) -> str:
        """The signal or the exit code, and the innermost function of ours that was at work."""
        code = self.child.wait()
        how = f"with exit code {code}"
        if code < 0:
            with contextlib.suppress(ValueError):
                how = f"by {signal.Signals(-code).name}"
        self.last_words.seek(0)
        words = self.last_words.read().decode(errors="replace")
        places = re.findall(r'File "([^"]+)", line \d+ in (\w+)', words)
        ours = (f", in {name} of {os.path.basename(file)}" for file, name in places if _our(file))
        return f"the process of {self.method.name} was ended {how}{next(ours, '')}"


def _our(file: str) -> bool:
    packages = (kanopy, kanopy.instances, kanopy.models, kanopy.solvers)
    path = os.path.abspath(file)
    return path != __file__ and any(path.startswith(p.__path__[0] + os.sep) for p in packages)


def main(number: int, words: int) -> None:
    """The child: one question, then the end. ``words`` is the file for its last ones."""
    faulthandler.enable(words)
    connection = Connection(number)
    lock = threading.Lock()

    def say(name: str, content: object) -> None:
        with lock:
            try:
                connection.send((name, content))
            except OSError:  # nobody listens any more
                os._exit(1)

    question = connection.recv()
    threading.Thread(target=_wait_for_the_end, args=(connection,), daemon=True).start()
    problem: Problem = question["problem"]

    def tell(event: Event) -> None:
        say("event", (event, run.best if event.mark == "*" else None))

    run = Run(
        problem, question["stop"], question["seed"], question["initial"], question["method"], tell
    )
    run.follow(time.time() - question["began"])
    if question["best"] is not None:
        run.found(question["best"], problem.objective(question["best"]))
    run.wants_proof = question["wants_proof"]

    def live() -> None:
        while True:
            say("alive", run.elapsed())
            time.sleep(BEAT)

    threading.Thread(target=live, daemon=True).start()
    try:
        method = find_method(question["method"])
        outcome = method.run(problem, run, method.parse(question["options"]))
    except KanopyError as error:
        say("mistake", str(error))
    except Exception as error:
        say("failure", f"{type(error).__name__}: {error}")
    else:
        say(
            "done",
            {
                "outcome": outcome,
                "method": run.method,
                "proof": run.proof,
                "timed_out": run.timed_out,
                "elapsed": run.elapsed(),
                "processor": run.processor_seconds(),
            },
        )
    os._exit(0)  # whatever a solver's threads still do


def _wait_for_the_end(connection: Connection) -> None:
    """End with the parent."""
    with contextlib.suppress(EOFError, OSError):
        connection.recv()
    os._exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
