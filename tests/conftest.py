"""Settings shared by all tests."""

import os
import tempfile
import time
from pathlib import Path

import matplotlib as mpl
import pytest
from hypothesis import settings

mpl.use("Agg")
settings.register_profile("kanopy", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("kanopy")

KERNELS = (
    ("ona*", "sse"),
    ("mona", "sse"),
    ("lmas", "sse"),
    ("dba", "sse"),
    ("md", "sse"),
    ("ils", "sse"),
    ("ils", "hamming"),
    ("ils", "range"),
    ("branch-and-price", "sse"),
    ("branch-and-price", "hamming"),
    ("branch-and-price", "range"),
    ("tfrp", "sse"),
    ("mdav", "sse"),
    ("mu-approx", "sse"),
)
"""What takes longest to compile; half of it is compiled by each of two workers."""


def pytest_sessionstart(session):
    """Compile kernels once, shared among the workers, instead of once in every worker.

    A worker that is done waits for the others, so that what they compiled comes from the cache.
    """
    worker = getattr(session.config, "workerinput", None)
    if worker is None:
        return
    number, count = int(worker["workerid"][2:]), worker["workercount"]
    folder = Path(tempfile.gettempdir()) / f"kanopy-{worker['testrunuid']}"
    folder.mkdir(exist_ok=True)
    mine = KERNELS[:5] if number == 0 else KERNELS[5 + number - 1 :: max(1, count - 1)]
    if count == 1:
        mine = KERNELS
    for method, cost in mine:
        compile_kernels(method, cost)
    (folder / str(number)).touch()
    until = time.monotonic() + 300
    while len(list(folder.iterdir())) < count and time.monotonic() < until:
        time.sleep(0.2)


def compile_kernels(method, cost):
    """Solve something tiny; with a start at hand, so that no other method is compiled for it."""
    import numpy as np

    import kanopy as kn

    data = kn.generate("synthetic", n=24, p=0.5, k=3, seed=0)
    if cost == "sse":
        data = kn.generate("simu", n=24, seed=0)
    start = np.arange(24) // 3 if method in ("ils", "branch-and-price") else None
    kn.solve(data, 3, method, cost=cost, initial=start, stop=kn.MaxRuntime(120))


def pytest_collection_modifyitems(items):
    """Skip real-data tests, and say why, where the data are not at hand."""
    if os.environ.get("KANOPY_DATA"):
        return
    skip = pytest.mark.skip(reason="KANOPY_DATA does not name a folder with the real data sets")
    for item in items:
        if "real_data" in item.keywords:
            item.add_marker(skip)
