"""A small campaign to be killed, and what kills the processes that run it."""

import os
import signal
from pathlib import Path

from kanopy.experiments.runner import execute
from kanopy.experiments.specs import Entry, Experiment, Task

METHODS = ("random", "mondrian")


def entries(quick=False):
    return [
        Entry(method, f"n = {n}", Task(f"simu n={n} d=2 seed={seed}", method, 3, "sse", seed=seed))
        for n in (20, 30)
        for seed in range(12)
        for method in METHODS
    ]


EXPERIMENT = Experiment("test", "a test", "nowhere", entries, "no reading")


def dies_for_seed_7(task):
    """Kill the process, every time; here, where processes that others start can import it."""
    if task.seed == 7:
        os.kill(os.getpid(), signal.SIGKILL)
    return execute(task)


def deadly(folder, task):
    """Kill the worker at seed 7 the first time, fail at seed 8."""
    met = Path(folder) / "met"
    if task.seed == 7 and not met.exists():
        met.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if task.seed == 8:
        raise RuntimeError("no such luck")
    return execute(task)
