"""Compile ahead: every method once on tiny tables, so that no later run waits for its kernels.

Compiled kernels are kept beside the package, so this is needed once after an installation.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable

import numpy as np
import pandas as pd

from kanopy.instances.errors import KanopyError
from kanopy.instances.microdata import Microdata
from kanopy.solvers.costs import CLUSTER_COSTS
from kanopy.solvers.registry import all_methods
from kanopy.solvers.stop import MaxRuntime
from kanopy.solving import solve

ROWS, SECONDS = 24, 60.0

GROUPS = (("sse",), ("hamming", "range", "max-error", "chi2"))
"""Costs whose methods share kernels, for a process each: about the same to compile."""


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


def warm(costs: Iterable[str]) -> int:
    """Run every method for these costs on a tiny table; the number of runs."""
    done = 0
    for cost in costs:
        data = tiny_table(cost)
        for name, method in all_methods().items():
            if cost not in method.costs or data.kind not in method.kinds:
                continue
            given = method.shape == "representatives"
            initial = solve(data, 3, "random").labels if given else None
            where = None if cost in CLUSTER_COSTS else 2
            try:
                solve(
                    data,
                    3,
                    name,
                    cost=cost,
                    stop=MaxRuntime(SECONDS),
                    control=where,
                    initial=initial,
                )
            except KanopyError:
                continue  # such as a method for one column only
            done += 1
    return done


def compile_all() -> None:
    """Compile everything, in two processes."""
    code = "import sys; from kanopy.warming import warm; warm(sys.argv[1:])"
    started = [subprocess.Popen([sys.executable, "-c", code, *costs]) for costs in GROUPS]
    failed = sum(process.wait() != 0 for process in started)
    if failed:
        raise KanopyError(f"compiling failed in {failed} of {len(started)} processes; see above")
