"""A small campaign in a process of its own, to be killed: ``python campaigns.py STORE [JOBS]``."""

import sys

from kanopy.experiments.runner import campaign
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

if __name__ == "__main__":
    jobs = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    print(campaign(EXPERIMENT.tasks(), Store(sys.argv[1]), jobs=jobs))
