"""Figures 2 to 10 and table 8 of Liang and Samavi (003) on public data.

``python -m kanopy.experiments.liang fig2 fig6 --out FOLDER`` prints a table per figure and draws
it; without names, all are made. ``--quick`` takes tables so small that it ends in seconds.

The paper's IPUMS extract and its extended one of 35 attributes are not public, and its figures
print no numbers (table 8 does: ``published/liang_sizes.csv``). So data differ, and shapes are
compared:

======= ============================================================================================
fig2    loss over the proven optimum (branch-and-price) by records and by attributes; Census-Income,
        numbered as the paper has it, up to 1000 records and 8 attributes instead of 100 and 20 × 8
fig3    all methods by k on 1000 and 2000 mixed records of Census-Income, 8 attributes
fig4    the same as ratios of Greedy Search's loss over the others'
fig5    Split & Carry with S = 3, 4, 5 against all, 5000 × 4 and k = 4, and sizes of sub-problems
        at k = 3 (table 8); early termination after 1 s
fig6    20,000 … 99,762 records × 4, k = 3 and 5 (early termination after 10 s)
fig7    20,000 × 8, k up to 200; Adult (nominal) beside Census-Income
fig8    20,000 records of Credit Card with 8, 15 and 24 attributes, k = 10 and 100
fig9    FARS, 1000 × 4, k = 3
fig10   FARS, all 2434 records of our extract × 4, k = 3 (the paper: 40,000)
======= ============================================================================================

A freeform release (``doka-…``) is no k-anonymous one in the sense of Samarati and Sweeney; the
figures show its loss as the paper does. Methods that are not registered are named and left out.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console
from rich.table import Table

from kanopy.instances.datasets import load
from kanopy.instances.encoding import numbered
from kanopy.instances.microdata import Microdata
from kanopy.solvers.generalisation.split_carry import SplitCarryOptions, course
from kanopy.solvers.problem import Problem
from kanopy.solvers.registry import all_methods
from kanopy.solvers.run import Run
from kanopy.solvers.stop import MaxRuntime
from kanopy.solving import solve

PUBLISHED = Path(__file__).with_name("published") / "liang_sizes.csv"

OURS = ("initial-sort", "greedy-search", "split-carry")
BASELINES = ("mondrian", "k-member")
DOKA = ("doka-greedy", "doka-sort-greedy", "doka-hungarian")


@dataclass(frozen=True)
class Point:
    """One measurement: a panel of the figure, a curve in it, a place and a value."""

    panel: str
    curve: str
    x: float
    value: float


def usable(*names: str) -> list[str]:
    """Those of the methods that are registered for the cost ``range``; others are named."""
    known = all_methods()
    fitting = [name for name in names if name in known and "range" in known[name].costs]
    if missing := [name for name in names if name not in fitting]:
        print(f"not registered for cost 'range', left out: {', '.join(missing)}", file=sys.stderr)
    return fitting


def census(rows: int, columns: int = 4, seed: int = 0, mixed: bool = False) -> Microdata:
    """Records of Census-Income, categories numbered unless ``mixed``."""
    data = load("census-income", rows=rows, columns=columns, seed=seed, standardize=False)
    return data if mixed else numbered(data)


def run(data: Microdata, k: int, method: str, **options: Any) -> tuple[float, float]:
    """Loss and seconds of a method."""
    solution = solve(data, k, method, cost="range", options=options)
    return solution.objective, solution.runtime


def compared(
    data: Microdata, k: int, methods: list[str], x: float, panel: str, **options: Any
) -> Iterator[Point]:
    """Loss and seconds of methods; ``options`` are for Split & Carry."""
    for method in methods:
        loss, seconds = run(data, k, method, **(options if method == "split-carry" else {}))
        yield Point(f"loss, {panel}", method, x, loss)
        yield Point(f"seconds, {panel}", method, x, seconds)


def fig2(quick: bool) -> Iterator[Point]:
    """Ratios to proven optima, and seconds, by records (× 4) and by attributes."""
    seeds = 2 if quick else 20
    by_records = [(n, 4) for n in ((20, 40) if quick else (20, 50, 100, 200, 500, 1000))]
    by_columns = [(20 if quick else 100, m) for m in ((2, 4) if quick else (2, 4, 6, 8))]
    for panel, sizes in (("records", by_records), ("attributes", by_columns)):
        for n, m in sizes:
            yield from _to_optimum(panel, n, m, seeds if n < 500 else min(seeds, 3))


def _to_optimum(panel: str, n: int, m: int, seeds: int) -> Iterator[Point]:
    x = n if panel == "records" else m
    ratios: dict[str, list[float]] = {"greedy-search": [], "split-carry": []}
    proven = 0
    for seed in range(seeds):
        data = census(n, m, seed)
        best = solve(data, 3, "branch-and-price", cost="range", stop=MaxRuntime(120), seed=seed)
        yield Point(f"seconds by {panel}", "branch-and-price", x, best.runtime)
        if best.status != "optimal" or best.objective == 0:
            continue
        proven += 1
        for method, found in ratios.items():
            loss, seconds = run(data, 3, method)
            found.append(loss / best.objective)
            yield Point(f"seconds by {panel}", method, x, seconds)
    for method, found in ratios.items():
        yield from (Point(f"loss / optimum by {panel}", method, x, ratio) for ratio in found)
    print(f"{n} × {m}: {proven} of {seeds} optima proven and not 0", file=sys.stderr)


def fig3(quick: bool) -> Iterator[Point]:
    """Loss and seconds by k, mixed attributes."""
    methods = usable("initial-sort", "greedy-search", *BASELINES, *DOKA)
    for n in (100, 200) if quick else (1000, 2000):
        data = census(n, 8, mixed=True)
        for k in (3, 5) if quick else (3, 5, 10, 15, 20, 25):
            yield from compared(data, k, methods, k, f"{n} records")


def fig4(quick: bool) -> Iterator[Point]:
    """Loss of Greedy Search over that of the others."""
    points = [point for point in fig3(quick) if point.panel.startswith("loss")]
    greedy = {(p.panel, p.x): p.value for p in points if p.curve == "greedy-search"}
    for point in points:
        if point.curve != "greedy-search" and point.value > 0:
            panel = point.panel.replace("loss", "loss of greedy-search / loss")
            yield Point(panel, point.curve, point.x, greedy[point.panel, point.x] / point.value)


def fig5(quick: bool) -> Iterator[Point]:
    """Split & Carry by S against all others (drawn as level curves), and table 8."""
    n = 300 if quick else 5000
    data, k = census(n), 4
    for sets in (3, 4, 5):
        yield from compared(data, k, ["split-carry"], sets, "by S", sets=sets, seconds=1.0)
    others = usable("initial-sort", "greedy-search", *BASELINES, *DOKA)
    level = list(compared(data, k, others, 3, "by S"))
    for sets in (3, 4, 5):
        yield from (Point(p.panel, p.curve, sets, p.value) for p in level)
    published = pd.read_csv(PUBLISHED)
    for sets in (3, 4, 5):
        table = published[published["S"] == sets]
        problem = Problem(data, 3, "range")
        options = SplitCarryOptions(sets=sets, seconds=1.0)
        sizes = Counter(len(step.rows) for step in course(problem, Run(problem), options))
        panel = f"sub-problems by size, S = {sets}"
        yield from (Point(panel, "ours", size, count) for size, count in sorted(sizes.items()))
        for row in table.to_dict("records"):
            yield Point(panel, "published", row["size"], row["count"])


def fig6(quick: bool) -> Iterator[Point]:
    """Loss and seconds by records for k = 3 and 5."""
    methods = usable(*OURS, "k-member")
    for n in (100, 200) if quick else (20_000, 40_000, 60_000, 80_000, 99_762):
        for k in (3, 5):
            yield from compared(census(n), k, methods, n, f"k = {k}", seconds=10.0)


def fig7(quick: bool) -> Iterator[Point]:
    """Loss and seconds by k for many records."""
    methods = usable("initial-sort", "greedy-search", *BASELINES)
    n = 500 if quick else 20_000
    tables = {"Census-Income": census(n, 8), "Adult": load("adult", rows=n)}
    for name, data in tables.items():
        fitting = [m for m in methods if data.kind in all_methods()[m].kinds]
        for k in (5, 20) if quick else (5, 25, 50, 100, 200):
            yield from compared(data, k, fitting, k, name)


def fig8(quick: bool) -> Iterator[Point]:
    """Loss and seconds by attributes."""
    methods = usable("initial-sort", "greedy-search", *BASELINES)
    for m in (8, 24) if quick else (8, 15, 24):
        data = load("credit", rows=500 if quick else 20_000, columns=m, standardize=False)
        for k in (10, 100):
            yield from compared(data, k, methods, m, f"k = {k}")


def fig9(quick: bool) -> Iterator[Point]:
    """FARS, 1000 records, by S."""
    yield from _fars(200 if quick else 1000)


def fig10(quick: bool) -> Iterator[Point]:
    """FARS, all records, by S."""
    yield from _fars(300 if quick else None)


def _fars(rows: int | None) -> Iterator[Point]:
    data = load("fars", rows=rows, standardize=False)
    others = usable("initial-sort", "greedy-search", *BASELINES, *DOKA)
    level = list(compared(data, 3, others, 3, "by S"))
    for sets in (3, 4, 5):
        yield from compared(data, 3, ["split-carry"], sets, "by S", sets=sets)
        yield from (Point(p.panel, p.curve, sets, p.value) for p in level)


FIGURES: dict[str, Callable[[bool], Iterator[Point]]] = {
    f"fig{number}": figure
    for number, figure in enumerate((fig2, fig3, fig4, fig5, fig6, fig7, fig8, fig9, fig10), 2)
}


def averages(points: list[Point]) -> pd.DataFrame:
    """Mean value by panel, curve and place."""
    frame = pd.DataFrame([(p.panel, p.curve, p.x, p.value) for p in points])
    frame.columns = pd.Index(["panel", "curve", "x", "value"])
    return frame.groupby(["panel", "curve", "x"], sort=False)["value"].mean().reset_index()


def show(name: str, means: pd.DataFrame) -> list[Table]:
    """One table per panel: curves by places."""
    tables = []
    for panel, part in means.groupby("panel", sort=False):
        wide = part.pivot_table(index="curve", columns="x", values="value")
        table = Table(title=f"{name}: {panel}", title_justify="left")
        table.add_column("")
        for x in wide.columns:
            table.add_column(f"{x:g}", justify="right")
        for curve in dict.fromkeys(part["curve"]):
            values = wide.loc[curve]
            table.add_row(str(curve), *("" if pd.isna(v) else f"{v:.4g}" for v in values))
        tables.append(table)
    return tables


def draw(name: str, means: pd.DataFrame, folder: Path) -> Path:
    """Draw all panels side by side into ``folder``."""
    from matplotlib.figure import Figure

    panels = list(dict.fromkeys(means["panel"]))
    columns = min(len(panels), 3) if len(panels) != 4 else 2
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(5.2 * columns, 3.8 * rows), layout="constrained")
    for place, panel in enumerate(panels):
        axes = figure.add_subplot(rows, columns, place + 1)
        part = means[means["panel"] == panel]
        for curve in dict.fromkeys(part["curve"]):
            line = part[part["curve"] == curve].sort_values("x")
            axes.plot(line["x"], line["value"], marker="o", markersize=4, label=curve)
        if (part["value"] > 0).all() and part["value"].max() > 20 * part["value"].min():
            axes.set_yscale("log")
        axes.set_title(panel, fontsize=10)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"liang_{name}.png"
    figure.savefig(path, dpi=120)
    return path


def main(arguments: list[str]) -> int:
    """Make the chosen figures."""
    parser = argparse.ArgumentParser(prog="python -m kanopy.experiments.liang")
    parser.add_argument("figures", nargs="*", metavar="fig2 … fig10", help="all without one")
    parser.add_argument("--quick", action="store_true", help="tiny tables, seconds in all")
    parser.add_argument("--out", type=Path, help="folder for the pictures; none without")
    given = parser.parse_args(arguments)
    if strange := [name for name in given.figures if name not in FIGURES]:
        parser.error(f"no figure {strange[0]!r}; there are {', '.join(FIGURES)}")
    console = Console(width=140)
    for name in given.figures or FIGURES:
        means = averages(list(FIGURES[name](given.quick)))
        for table in show(name, means):
            console.print(table)
        if given.out is not None:
            console.print(f"drawn: {draw(name, means, given.out)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
