"""A small campaign in a process of its own, to be killed: ``python campaigns.py STORE [JOBS]``."""

import os
import signal
import sys
from pathlib import Path

from kanopy.experiments.runner import campaign, execute
from kanopy.experiments.specs import Entry, Experiment, Task
from kanopy.experiments.store import Store

METHODS = ("random", "mondrian")


def entries(quick=False):
    return [
        Entry(method, f"n = {n}", Task(f"simu n={n} d=2 seed={seed}", method, 3, "sse", seed=seed))
        for n in (20, 30)
        for seed in range(12)
        for method in METHODS
    ]


EXPERIMENT = Experiment("test", "a test", "nowhere", entries, "no reading")


def deadly(folder, task):
    """Kill the worker at seed 7 the first time, fail at seed 8."""
    met = Path(folder) / "met"
    if task.seed == 7 and not met.exists():
        met.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if task.seed == 8:
        raise RuntimeError("no such luck")
    return execute(task)


if __name__ == "__main__":
    jobs = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    print(campaign(EXPERIMENT.tasks(), Store(sys.argv[1]), jobs=jobs))
