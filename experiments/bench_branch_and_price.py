"""Branch-and-price beside the papers: what is proven, how far, how fast.

Run ``python -m kanopy.experiments.bench_branch_and_price``; names given as arguments choose rows,
``--full`` adds those that take minutes. Kernels are compiled before the clock starts, wall and
processor seconds are both shown since the machine may be shared. The papers' seconds are theirs:
002 solves the linear relaxation and rounds, 000 and 003 solve MIPs with Gurobi.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from rich.console import Console
from rich.table import Table

from kanopy.instances.datasets import load
from kanopy.instances.errors import KanopyError
from kanopy.instances.examples import example
from kanopy.instances.generators import generate
from kanopy.instances.microdata import Microdata
from kanopy.instances.samplers import sample
from kanopy.solution import Solution
from kanopy.solvers.stop import MaxRuntime
from kanopy.solving import solve


@dataclass(frozen=True)
class Case:
    """One row of the table."""

    name: str
    data: Callable[[], Microdata]
    k: int
    cost: str
    seconds: float
    published: str = ""
    full: bool = False


PAPER_002 = {(30, 3): 0.02, (30, 4): 0.16, (30, 5): 0.34, (50, 3): 0.09, (50, 4): 1.73}
PAPER_002 |= {(50, 5): 4.17, (100, 3): 2.30, (100, 4): 75.0, (100, 5): 152.96}
PAPER_002 |= {(200, 3): 75.07, (200, 4): 100.96, (200, 5): 2125.44}
"""Seconds of table 3, random subsets of Census."""

FULL_SETS = {
    ("census", 3): "best heuristic 5.22 %",
    ("census", 4): "best heuristic 6.72 %",
    ("census", 5): "best heuristic 7.91 %",
    ("tarragona", 3): "best heuristic 15.10 %",
    ("tarragona", 4): "best heuristic 17.76 %",
    ("tarragona", 5): "best heuristic 20.49 %",
    ("eia", 3): "best heuristic 0.37 %",
    ("census", 10): "best heuristic 12.31 %",
    ("tarragona", 10): "best heuristic 30.51 %",
}
"""Least information loss printed in 001 for whole sets."""

CENSUS_INCOME = (
    (100, 3, 8, 20, 60.0),
    *((n, 3, columns, 5, 90.0) for n in (200, 500, 1000) for columns in (8, 4)),
    (2000, 3, 8, 1, 300.0),
    (100, 5, 8, 10, 120.0),
    (200, 5, 8, 1, 300.0),
)
"""Rows, k, attributes, number of samples and seconds of the samples of Census-Income."""


def cases() -> Iterator[Case]:
    """Every row, quick ones first."""
    for (size, k), seconds in PAPER_002.items():
        for number in range(5):
            yield Case(
                f"census n={size} k={k} #{number}",
                partial(_subset, size, number),
                k,
                "sse",
                10.0 if size <= 100 else 120.0,
                f"LP and rounding {seconds:g} s",
                full=number > 0 or size == 200,
            )
    for share, name in ((0.02, "2percent"), (0.2, "20percent"), (1.0, "100percent")):
        for seed in range(1, 11):
            yield Case(
                f"200m5_{name} #{seed}",
                partial(generate, "synthetic", n=200, p=share, k=3, seed=seed),
                3,
                "hamming",
                60.0,
                "heuristics at 1.16 to 1.94 times the LP bound",
                full=seed > 1,
            )
    for seed in range(1, 11):
        yield Case(
            f"adult200m5 #{seed}",
            partial(load, "adult", rows=200, columns=5, seed=seed),
            3,
            "hamming",
            60.0,
            full=seed > 1,
        )
    for columns, limit in ((5, 120.0), (6, 300.0), (8, 900.0)):
        yield Case(
            f"adult 30162 × {columns}",
            partial(load, "adult", columns=columns),
            3,
            "hamming",
            limit,
            full=True,
        )
    yield Case(
        "5000m5_20percent",
        partial(generate, "synthetic", n=5000, p=0.2, k=3, seed=1),
        3,
        "hamming",
        300.0,
        full=True,
    )
    yield Case("fars 20 rows", lambda: example("fars"), 3, "range", 10.0, "optimum 4.816532258")
    for n, k, columns, samples, limit in CENSUS_INCOME:
        for seed in range(1, samples + 1):
            yield Case(
                f"census-income n={n} k={k} × {columns} #{seed}",
                partial(load, "census-income", rows=n, columns=columns, seed=seed),
                k,
                "range",
                limit,
                "MILP stops near 100 rows",
                full=seed > 1 or n > 100 or k > 3,
            )
    for (name, k), published in FULL_SETS.items():
        yield Case(f"{name} k={k}", partial(load, name), k, "sse", 300.0, published, full=True)


def _subset(size: int, number: int) -> Microdata:
    return sample(load("census"), size, "random", number)


def compile_kernels() -> None:
    """Solve something small with every cost, so that the clock starts on compiled code."""
    for cost, data in (
        ("sse", example("testdata")),
        ("hamming", generate("synthetic", n=30, p=1.0, k=3, seed=0)),
        ("range", example("fars")),
    ):
        solve(data, 2, "branch-and-price", cost=cost, stop=MaxRuntime(300))


def remark(solution: Solution) -> str:
    """Information loss for numbers, the objective otherwise."""
    if solution.problem.cost != "sse":
        return f"{solution.objective:.9g}"
    total = solution.problem.partition_cost(np.zeros(solution.problem.n, dtype=np.int64))
    return f"{solution.objective:.9g} ({100 * solution.objective / total:.4f} %)"


def main(arguments: list[str]) -> None:
    """Run the chosen cases and print the table."""
    wanted = [a for a in arguments if not a.startswith("-")]
    table = Table(title="branch-and-price", title_justify="left")
    headings = ("instance", "objective", "bound", "gap %", "status", "s", "cpu s", "published")
    for heading in headings:
        table.add_column(heading)
    compile_kernels()
    for case in cases():
        if (case.full and "--full" not in arguments and not wanted) or (
            wanted and not any(word in case.name for word in wanted)
        ):
            continue
        try:
            data = case.data()
        except KanopyError as error:
            table.add_row(case.name, "", "", "", str(error), "", "", case.published)
            continue
        start = time.process_time()
        solution = solve(
            data, case.k, "branch-and-price", cost=case.cost, stop=MaxRuntime(case.seconds)
        )
        table.add_row(
            case.name,
            remark(solution),
            f"{solution.bound:.9g}",
            f"{100 * (solution.gap or 0.0):.4f}",
            solution.status,
            f"{solution.runtime:.1f}",
            f"{time.process_time() - start:.1f}",
            case.published,
        )
    Console(width=170).print(table)


if __name__ == "__main__":
    main(sys.argv[1:])
