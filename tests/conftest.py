"""Settings shared by all tests."""

import gc
import os
import signal
import threading

import matplotlib as mpl
import pytest
from hypothesis import settings

mpl.use("Agg")
settings.register_profile("kanopy", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("kanopy")
if threading.current_thread() is threading.main_thread():
    # A shell lets its background jobs ignore Ctrl-C, which some tests send to themselves.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items):
    """Skip real-data tests, and say why, where the data are not at hand."""
    if os.environ.get("KANOPY_DATA"):
        return
    skip = pytest.mark.skip(reason="KANOPY_DATA does not name a folder with the real data sets")
    for item in items:
        if "real_data" in item.keywords:
            item.add_marker(skip)


def pytest_collection_finish():
    """What is loaded by now stays: compiling makes garbage, but need not search all modules."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
