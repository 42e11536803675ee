"""Branch-and-price beside the papers: what is proven, how far, how fast.

Run ``python -m kanopy.experiments.bench_branch_and_price [name …] [--full] [--kept] [--list]
[--out FILE]``. Without names it runs the quick lines, with ``--full`` all of them. A name that is a
line's whole name chooses that line, any other every line that contains it; ``--list`` only prints
the names. ``--out`` writes each line to a CSV as soon as it is measured and takes over, unmeasured,
those that the file holds already: delete a line there to measure it again. ``--kept`` measures
nothing and prints the lines that came with kanopy (``proofs.csv``).

The samples of one instance are one row of the table: how many met the target, their largest gap,
their mean and greatest time. A target is a gap that is to be reached within a time; since the
machine may be shared, seconds are those of the wall or the processor, whichever are fewer. Kernels
are compiled before the clock starts. The papers' seconds are theirs: 002 solves the linear
relaxation and rounds, 000 and 003 solve MIPs with Gurobi.
"""

from __future__ import annotations

import argparse
import csv
import io
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import get_args

import numpy as np
from rich.console import Console
from rich.table import Table

from kanopy.experiments.specs import published
from kanopy.instances.datasets import load
from kanopy.instances.errors import KanopyError, unknown
from kanopy.instances.examples import example
from kanopy.instances.files import write_whole
from kanopy.instances.generators import generate
from kanopy.instances.microdata import Microdata
from kanopy.instances.samplers import Criterion, sample
from kanopy.solution import Solution
from kanopy.solvers.stop import MaxRuntime
from kanopy.solving import solve


@dataclass(frozen=True)
class Case:
    """One line of the table; ``gap`` is the target in percent, 0 for a proof, ∞ for any bound."""

    name: str
    data: Callable[[], Microdata]
    k: int
    cost: str
    seconds: float
    published: str = ""
    full: bool = True
    gap: float = 0.0

    @property
    def target(self) -> str:
        """The target in words."""
        wanted = "any bound" if math.isinf(self.gap) else f"{self.gap:g} %" if self.gap else "proof"
        return f"{wanted} in {self.seconds:g} s"


KEPT = Path(__file__).with_name("proofs.csv")
"""The latest measurement of each line, which comes with kanopy."""

FULL_SETS = (
    ("census", 3, 60.0, 0.0, "5.22"),
    ("tarragona", 3, 300.0, 0.001, "15.10"),
    ("eia", 3, 300.0, 0.001, "0.37"),
    ("census", 4, 600.0, 0.05, "6.72"),
    ("census", 5, 600.0, 0.05, "7.91"),
    ("tarragona", 4, 600.0, 0.015, "17.76"),
    ("tarragona", 5, 600.0, 0.015, "20.49"),
    ("census", 10, 600.0, 0.8, "12.31"),
    ("tarragona", 10, 600.0, 0.8, "30.51"),
    ("eia", 5, 600.0, math.inf, ""),
    ("eia", 10, 600.0, math.inf, ""),
    ("credit", 3, 1800.0, math.inf, ""),
)
"""Whole sets: k, seconds, gap in percent, and the least information loss printed in 001."""

CENSUS_INCOME = (
    (100, 3, 8, 20, 15.0, 0.0),
    *((n, 3, columns, 5, 90.0, 0.0) for n in (200, 500, 1000) for columns in (8, 4)),
    (2000, 3, 8, 1, 300.0, 0.3),
    (100, 5, 8, 10, 120.0, 0.0),
    (200, 5, 8, 1, 300.0, 1.0),
)
"""Rows, k, attributes, samples, seconds and gap in percent of the samples of Census-Income."""


def cases() -> Iterator[Case]:
    """Every line, by cost."""
    yield from _subsets()
    yield from _whole_sets()
    yield from _nominal()
    yield from _generalised()


def _subsets() -> Iterator[Case]:
    """The design of 002: two sets, four criteria, five sizes, three k, five samples."""
    for name, table in (("census", "3"), ("tarragona", "4")):
        cells = published("gentile.csv", table)().set_index(["row", "column"])["published"]
        for criterion in get_args(Criterion):
            for size in (30, 40, 50, 100, 200):
                for k in (3, 4, 5):
                    row = cells[f"{size} rows, k = {k}, {criterion}"]
                    gap = min(row["MSTH"], row["SRH"])
                    paper = f"gap {gap:g} %, {row['Time']:g} s"
                    quick = (name, criterion) == ("census", "random") and size < 200
                    for number in range(5):
                        yield Case(
                            f"{name} {criterion} n={size} k={k} #{number}",
                            partial(_subset, name, size, criterion, number),
                            k,
                            "sse",
                            10.0 if size <= 100 else 120.0,
                            paper,
                            full=not quick or number > 0,
                        )


def _whole_sets() -> Iterator[Case]:
    for name, k, seconds, gap, loss in FULL_SETS:
        paper = f"best heuristic {loss} %" if loss else ""
        yield Case(f"{name} k={k}", partial(load, name), k, "sse", seconds, paper, gap=gap)


def _nominal() -> Iterator[Case]:
    heuristics = "heuristics at 1.16 to 1.94 times the LP bound"
    for share, name in ((0.02, "2percent"), (0.2, "20percent"), (1.0, "100percent")):
        for seed in range(1, 11):
            data = partial(generate, "synthetic", n=200, p=share, k=3, seed=seed)
            full = seed > 1
            yield Case(f"200m5_{name} #{seed}", data, 3, "hamming", 40.0, heuristics, full=full)
    for seed in range(1, 11):
        data = partial(load, "adult", rows=200, columns=5, seed=seed)
        yield Case(f"adult200m5 #{seed}", data, 3, "hamming", 40.0, heuristics, full=seed > 1)
    for columns, seconds, gap in ((5, 30.0, 0.0), (6, 300.0, 0.2), (8, 900.0, 2.0)):
        data = partial(load, "adult", columns=columns)
        yield Case(f"adult 30162 × {columns}", data, 3, "hamming", seconds, gap=gap)
    data = partial(generate, "synthetic", n=5000, p=0.2, k=3, seed=1)
    yield Case("5000m5_20percent", data, 3, "hamming", 300.0)


def _generalised() -> Iterator[Case]:
    fars = "optimum 4.816532258"
    yield Case("fars 20 rows", lambda: example("fars"), 3, "range", 1.0, fars, full=False)
    for n, k, columns, samples, seconds, gap in CENSUS_INCOME:
        for seed in range(1, samples + 1):
            yield Case(
                f"census-income n={n} k={k} × {columns} #{seed}",
                partial(load, "census-income", rows=n, columns=columns, seed=seed),
                k,
                "range",
                seconds,
                "MILP stops near 100 rows",
                full=seed > 1 or n > 100 or k > 3,
                gap=gap,
            )


def _subset(name: str, size: int, criterion: Criterion, number: int) -> Microdata:
    return sample(load(name), size, criterion, number)


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


LEAST_SECONDS = 10.0
"""Every line may take so long, whatever its target: on a shared machine a second is soon over."""

HEADINGS = ("instance", "objective", "bound", "gap %", "status", "s", "cpu s", "target", "met")
"""What is measured of a line, and written to a file."""

COLUMNS = ("instance", "objective", "bound", "gap %", "mean s", "most s", "target", "met", "paper")
"""What is shown of the samples of an instance."""


def measure(case: Case) -> list[str]:
    """Solve a case: the cells below the headings."""
    try:
        data = case.data()
    except KanopyError as error:
        return [case.name, "", "", "", str(error), "", "", case.target, ""]
    start = time.process_time()
    stop = MaxRuntime(max(LEAST_SECONDS, case.seconds))
    solution = solve(data, case.k, "branch-and-price", cost=case.cost, stop=stop)
    processor = time.process_time() - start
    gap = 100 * (solution.gap or 0.0)
    return [
        case.name,
        remark(solution),
        f"{solution.bound:.9g}",
        f"{gap:.4f}",
        solution.status,
        f"{solution.runtime:.1f}",
        f"{processor:.1f}",
        case.target,
        "yes" if is_met(case, gap, min(solution.runtime, processor)) else "no",
    ]


def is_met(case: Case, gap: float, seconds: float) -> bool:
    """Whether a gap in percent after some seconds is what was wanted; a second may be overrun.

    >>> case = Case("", lambda: example("fars"), 3, "range", 10.0, gap=0.5)
    >>> is_met(case, 0.4, 9.0), is_met(case, 0.6, 9.0), is_met(case, 0.4, 12.0)
    (True, False, False)
    """
    return gap <= max(case.gap, 1e-4) and seconds <= case.seconds + 1.0


def choose(names: Sequence[str], full: bool) -> list[Case]:
    """The cases that the names choose; without names the quick ones, or all."""
    known = list(cases())
    if not names:
        return [case for case in known if full or not case.full]
    chosen: list[str] = []
    for name in names:
        found = [c.name for c in known if c.name == name] or [
            c.name for c in known if name in c.name
        ]
        if not found:
            raise unknown("line", name, [case.name for case in known if not case.full])
        chosen += found
    return [case for case in known if case.name in chosen]


def measured_before(path: Path | None) -> dict[str, list[str]]:
    """The lines that a file holds, by name."""
    if path is None or not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        lines = list(csv.reader(file))[1:]
    return {line[0]: line for line in lines if len(line) == len(HEADINGS)}


def grouped(lines: Sequence[tuple[Case, list[str]]]) -> Iterator[tuple[str, ...]]:
    """One row for the samples of each instance, below :data:`COLUMNS`.

    >>> case = Case("fars #1", lambda: example("fars"), 3, "range", 1.0, "MILP stops")
    >>> line = ["fars #1", "4.8", "4.8", "0.0000", "optimal", "0.3", "0.2", case.target, "yes"]
    >>> list(grouped([(case, line)]))
    [('fars', '4.8', '4.8', '0.0000', '0.2', '0.2', 'proof in 1 s', '1 of 1', 'MILP stops')]
    """
    groups: dict[str, list[tuple[Case, list[str]]]] = {}
    for case, line in lines:
        groups.setdefault(case.name.split(" #")[0], []).append((case, line))
    for name, group in groups.items():
        case = group[0][0]
        cells = [dict(zip(HEADINGS, line, strict=True)) for _, line in group]
        measured = [c for c in cells if c["gap %"]]
        if not measured:  # the data are not at hand
            yield (name, *("",) * 5, cells[0]["target"], cells[0]["status"], case.published)
            continue
        seconds = [min(float(c["s"]), float(c["cpu s"])) for c in measured]
        single = cells[0] if len(cells) == 1 else {"objective": "", "bound": ""}
        yield (
            name,
            single["objective"],
            single["bound"],
            max((c["gap %"] for c in measured), key=float),
            f"{np.mean(seconds):.1f}",
            f"{max(seconds):.1f}",
            cells[0]["target"],
            f"{sum(c['met'] == 'yes' for c in cells)} of {len(cells)}",
            case.published,
        )


def kept_rows() -> list[tuple[str, ...]]:
    """The rows of the lines that come with kanopy, below :data:`COLUMNS`."""
    before = measured_before(KEPT)
    return list(grouped([(c, before[c.name]) for c in cases() if c.name in before]))


def proofs_markdown(columns: Sequence[str] = COLUMNS, single: bool = False) -> str:
    """These rows as a table in Markdown, all or those of single instances."""
    shown = [COLUMNS.index(column) for column in columns]
    rows = [row for row in kept_rows() if row[COLUMNS.index("objective")] or not single]
    lines = [columns, ("---",) * len(columns)]
    lines += [[row[place] for place in shown] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main(arguments: Sequence[str]) -> int:
    """Run the chosen cases and print the table; how many targets were missed."""
    parser = argparse.ArgumentParser(description="branch-and-price beside the papers")
    parser.add_argument("names", nargs="*", help="lines, by name or part of it")
    parser.add_argument("--full", action="store_true", help="also lines that take minutes")
    parser.add_argument("--kept", action="store_true", help="measure nothing, print what is kept")
    parser.add_argument("--list", action="store_true", help="only print the names")
    parser.add_argument("--out", type=Path, help="CSV to write to, and to go on from")
    given = parser.parse_args(arguments)
    chosen = choose(given.names, given.full or given.kept)
    if given.list:
        for case in chosen:
            print(f"{case.name}: {case.target}")
        return 0
    before = measured_before(KEPT if given.kept else given.out)
    taken = [case for case in chosen if case.name in before]
    if given.kept:
        chosen = taken
    if taken:
        print(f"{len(taken)} lines from {KEPT if given.kept else given.out}, not measured now")
    if any(case.name not in before for case in chosen):
        compile_kernels()
    lines = []
    for case in chosen:
        line = before.get(case.name) or measure(case)
        if given.out is not None and case.name not in before and line[-1]:
            before[case.name] = line
            text = io.StringIO()
            csv.writer(text, lineterminator="\n").writerows([HEADINGS, *before.values()])
            write_whole(given.out, text.getvalue().encode())
        lines.append((case, line))
    table = Table(title="branch-and-price", title_justify="left")
    for heading in COLUMNS:
        table.add_column(heading)
    for row in grouped(lines):
        table.add_row(*row)
    Console(width=190).print(table)
    return 0 if given.kept else sum(line[-1] == "no" for _, line in lines)


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
