"""Compile ahead: every method once on tiny tables, so that no later run waits for its kernels.

Compiled kernels are kept beside the package, so this is needed once after an installation.
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress

import numpy as np
import pandas as pd
import scipy.sparse as sp

from kanopy.instances.errors import KanopyError
from kanopy.instances.microdata import Microdata
from kanopy.solvers.branch_and_price.coefficients import coefficient_table, violations
from kanopy.solvers.branch_and_price.pool import Pool
from kanopy.solvers.branch_and_price.pricer_sse import SsePricer
from kanopy.solvers.branch_and_price.pricing import Cuts, Duals, Restrictions
from kanopy.solvers.branch_and_price.swaps import Swaps
from kanopy.solvers.branch_and_price.tableau_cuts import mixed_cuts, tableau_cuts
from kanopy.solvers.clock import without_note
from kanopy.solvers.costs import CLUSTER_COSTS
from kanopy.solvers.registry import all_methods
from kanopy.solvers.stop import MaxRuntime
from kanopy.solving import solve

ROWS, SECONDS = 24, 1.0
"""Size of the tables, and seconds for a method, which do not count compiling."""

PROCESSES = (("sse",), ("range", "hamming", "chi2", "max-error"))
"""Costs that one process compiles for: those of the second share kernels, the first is as long."""


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

    if cost == "sse":
        warm_exchanges(data)
        warm_lists(data)


def warm_exchanges(data: Microdata) -> None:
    """Run what branch-and-price runs only where clusters are large and rows are many."""
    clusters = np.full((1, 5), -1, dtype=np.int32)
    clusters[0, :3] = np.arange(3)
    pricer = SsePricer(data, 3)
    costs = pricer.costs(clusters, np.array([3]))
    Swaps(pricer).price(clusters, costs, Duals(np.zeros(len(data.counts))), Cuts())


def warm_lists(data: Microdata) -> None:
    """Run what branch-and-price runs only over lists of clusters and in trees."""
    rows = np.array([[0, 1], [1, 2], [0, 2]], dtype=np.int32)
    half, all_of = np.full(3, 0.5), np.ones(3, dtype=bool)
    matrix = sp.csc_array(coefficient_table(rows, Cuts(), 3)[:3])
    inverse = np.linalg.inv(matrix.toarray())
    tableau_cuts(matrix, np.ones(3), half, inverse[all_of])
    mixed_cuts(matrix, np.ones(3), all_of, half, inverse)
    cut = Cuts(np.array([0, 3]), np.arange(3), np.array([2]))
    violations(rows, half, cut, np.ones(3, dtype=np.int64))
    pool = Pool(SsePricer(data, 2), rows, np.ones(3))
    pool.multiplicities = pool.multiplicities.copy()  # as in a dive
    pool.allowed(Restrictions(apart=((0, 1),)))


def compile_all() -> None:
    """Compile everything, in two processes."""
    code = "import sys; from kanopy.warming import warm; [warm(cost) for cost in sys.argv[1:]]"
    running = [
        (costs, subprocess.Popen([sys.executable, "-c", code, *costs])) for costs in PROCESSES
    ]
    failed = [", ".join(costs) for costs, process in running if process.wait() != 0]
    if failed:
        raise KanopyError(f"compiling for {', '.join(failed)} failed; see the messages above")
