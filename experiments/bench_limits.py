"""Time limits at large size: every method with MaxRuntime(3), and by how much it overruns.

``python -m kanopy.experiments.bench_limits [--rows N] [METHOD …]`` prints a line for each method
and cost: seconds of the wall and of the processor beyond the limit. An overrun counts if it is more
than 2 s and more than 2 % of the limit by both clocks, as on a busy machine the wall alone says
little. Each method runs on a small table first, and again after an overrun, so that no kernel is
compiled within the limit.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import pandas as pd

from kanopy.instances.errors import KanopyError
from kanopy.instances.microdata import Microdata
from kanopy.solvers.registry import Method, all_methods
from kanopy.solvers.stop import MaxRuntime
from kanopy.solving import solve

LIMIT = 3.0
ALLOWED = 2.0


def large_table(method: Method, rows: int, cost: str, seed: int = 1) -> Microdata:
    """A table that the method can take, of numbers unless only categories will do."""
    rng = np.random.default_rng(seed)
    columns = 1 if method.name == "univariate" else 4
    numbers = {f"x{j}": rng.normal(size=rows) for j in range(columns)}
    values = {f"c{j}": rng.integers(0, 6 + j, rows).astype(str) for j in range(5)}
    if "numeric" in method.kinds and cost != "hamming":
        return Microdata.from_frame(pd.DataFrame(numbers))
    return Microdata.from_frame(pd.DataFrame(values))


def given(method: Method, rows: int) -> list[int] | None:
    """Classes for a method that only chooses a representative for each."""
    needs = method.name.startswith("aggregation")
    return [min(row // 3, rows // 3 - 1) for row in range(rows)] if needs else None


def measure(method: Method, cost: str, rows: int, limit: float = LIMIT) -> dict[str, Any]:
    """Seconds beyond the limit by both clocks; negative if the method was done before."""
    small = large_table(method, 60, cost)
    solve(small, 3, method.name, cost=cost, stop=MaxRuntime(1.0), initial=given(method, 60))
    found = _measure(method, cost, rows, limit)
    return _measure(method, cost, rows, limit) if found["overrun"] else found


def _measure(method: Method, cost: str, rows: int, limit: float) -> dict[str, Any]:
    data, initial = large_table(method, rows, cost), given(method, rows)
    stop = MaxRuntime(limit)
    wall, processor = time.perf_counter(), time.process_time()
    try:
        status = solve(data, 3, method.name, cost=cost, stop=stop, initial=initial).status
    except KanopyError as error:  # too large for it, and it says so
        status = f"refused: {error}"
    except MemoryError as error:
        status = f"out of memory: {error}"
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    return {
        "method": method.name,
        "cost": cost,
        "rows": rows,
        "wall": wall - limit,
        "processor": processor - limit,
        "overrun": min(wall, processor) - limit > max(ALLOWED, 0.02 * limit),
        "status": status,
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("methods", nargs="*")
    parser.add_argument("--rows", type=int, default=50_000)
    arguments = parser.parse_args()
    for name, method in all_methods().items():
        if arguments.methods and name not in arguments.methods:
            continue
        for cost in method.costs:
            found = measure(method, cost, arguments.rows)
            mark = "OVERRUN" if found["overrun"] else ""
            times = f"{found['wall']:8.1f} {found['processor']:8.1f}"
            print(f"{name:20} {cost:10} {times} {mark:8} {found['status'][:80]}", flush=True)


if __name__ == "__main__":
    main()
