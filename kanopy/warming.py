"""Compile ahead: every method once on tiny tables, so that no later run waits for its kernels.

Compiled kernels are kept beside the package, so this is needed once after an installation.
"""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pandas as pd

from kanopy.instances.errors import KanopyError
from kanopy.instances.microdata import Microdata
from kanopy.solvers.clock import without_note
from kanopy.solvers.costs import CLUSTER_COSTS
from kanopy.solvers.registry import all_methods
from kanopy.solvers.stop import MaxRuntime
from kanopy.solving import solve

ROWS, SECONDS = 24, 60.0

ORDER = ("sse", "range", "hamming", "chi2", "max-error")
"""Costs whose methods hardly share kernels: a process each, those that take longest first."""


def tiny_table(cost: str) -> Microdata:
    """A table for a cost; ``range`` gets both kinds of columns."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"x{j}": rng.normal(size=ROWS) for j in range(3)})
    for j in range(3):
        frame[f"c{j}"] = rng.choice(list("aabc"), size=ROWS)
    if cost == "range":
        return Microdata.from_frame(frame)
    chosen = list(frame.columns[:3] if cost == "sse" else frame.columns[3:])
    return Microdata.from_frame(frame[chosen])


def warm(cost: str) -> None:
    """Run every method for this cost on a tiny table."""
    without_note()
    data = tiny_table(cost)
    for name, method in all_methods().items():
        if cost not in method.costs or data.kind not in method.kinds:
            continue
        given = method.shape == "representatives"
        # a method may refuse the table, such as those for one column only
        with suppress(KanopyError):
            solve(
                data,
                3,
                name,
                cost=cost,
                stop=MaxRuntime(SECONDS),
                control=None if cost in CLUSTER_COSTS else 2,
                initial=solve(data, 3, "random").labels if given else None,
            )


def compile_all(jobs: int = 2) -> None:
    """Compile everything, in so many processes at a time."""
    code = "import sys; from kanopy.warming import warm; warm(sys.argv[1])"

    def compiled(cost: str) -> bool:
        return subprocess.run([sys.executable, "-c", code, cost], check=False).returncode == 0

    with ThreadPoolExecutor(jobs) as pool:
        failed = [
            cost for cost, good in zip(ORDER, pool.map(compiled, ORDER), strict=True) if not good
        ]
    if failed:
        raise KanopyError(f"compiling for {', '.join(failed)} failed; see the messages above")
