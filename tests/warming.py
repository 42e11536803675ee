"""Compile the kernels once for all test workers.

In a fresh clone every worker would compile what its tests need, mostly the same functions at the
same time. Before a long run each worker takes the next method that nobody has taken yet, longest
first, and solves a tiny table with it; the tests begin when all are done and find the machine code
on disk.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

import kanopy as kn
from kanopy.solvers.registry import all_methods

LONGEST = ("ona*", "branch-and-price", "ona", "md", "lmas", "tfrp", "mona", "sbm", "v-mdav")
PATIENCE = 300.0


def units() -> list[tuple[str, str]]:
    """Methods and costs, the longest compilations first."""
    found = [
        (name, cost)
        for name, method in all_methods().items()
        for cost in method.costs
        if method.shape == "partition" and name not in ("auto", "ils", "random")
    ]
    place = {name: i for i, name in enumerate(LONGEST)}
    return sorted(found, key=lambda unit: place.get(unit[0], len(place)))


def tables() -> dict[str, kn.Microdata]:
    """A tiny table for each cost."""
    rng = np.random.default_rng(0)
    letters = pd.DataFrame(rng.integers(0, 3, (24, 3)).astype(str), columns=list("abc"))
    mixed = letters.assign(d=rng.normal(size=24))
    return {
        "sse": kn.generate("simu", n=40, d=3, seed=0),
        "hamming": kn.Microdata.from_frame(letters),
        "range": kn.Microdata.from_frame(mixed),
    }


def compile_once(run: str) -> None:
    """Compile everything, shared with the other workers of the same run."""
    folder = Path(tempfile.gettempdir()) / f"kanopy-{run}"
    folder.mkdir(exist_ok=True)
    data = tables()
    todo = units()
    for name, cost in todo:
        claim = folder / f"{name} {cost}"
        try:
            os.close(os.open(claim, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            continue
        try:
            labels = np.arange(data[cost].n) // 3
            labels[labels == labels.max()] = 0
            kn.solve(data[cost], 3, name, cost=cost, initial=labels, stop=kn.MaxRuntime(60))
        except kn.KanopyError:
            pass  # a test will say what is wrong
        finally:
            claim.with_name(claim.name + " done").touch()
    deadline = time.monotonic() + PATIENCE
    while len(list(folder.glob("* done"))) < len(todo) and time.monotonic() < deadline:
        time.sleep(0.1)
