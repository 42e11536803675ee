"""Thaeter's tables of information loss (001, A, B, C, 8.1 and 8.4), ours beside them.

Average cluster sizes and best gain factors (A.8, A.9, B.8) follow in a second table.

``python -m kanopy.experiments.thaeter`` runs the small data sets; ``--all`` adds Adult, Credit
Card, the 25 + 25 simulated ones and repetitions beyond 100. Words given as arguments choose data
sets and methods. The thesis' Cloud1, Cloud2 and Winnipeg are not to be had. TFRP on EIA is left out
of table 8.1: it was computed with another choice of columns. A cell is marked where it is further
from the published one than rounding to two digits explains (on Census, Tarragona and EIA) and than
its method's tolerance:

=========================== ====================================================================
maximum-distance heuristics 0.006 points on Census, Tarragona, EIA; 1.5 % on Adult, where ties are
                            massive and their order is not published; 1 % on Credit Card
ona*, ona*-gamma            1 %; also tfrp, dba and sbm
mondrian family             the printed digits
mona, mona-2d               0.003 points on Adult, 0.015 on Credit Card
lmas, ona                   6.4 % and 3.1 %: twice the standard deviation of single runs over their
                            mean in table 6.3 (the cells are the best of so many random runs)
simulated data              2 % on the mean (other draws of the same distribution)
=========================== ====================================================================
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from kanopy.instances.datasets import load
from kanopy.instances.errors import KanopyError
from kanopy.instances.microdata import Microdata
from kanopy.instances.simulated import simc, simu
from kanopy.measures import information_loss
from kanopy.solvers.heuristics.gain import GRID
from kanopy.solvers.registry import all_methods
from kanopy.solving import solve

PUBLISHED = Path(__file__).with_name("published") / "thaeter.csv"
SMALL = ("census", "tarragona", "eia")
LARGE = ("credit", "adult-numeric", "simu", "simc")
SIMULATED: dict[str, Callable[..., Microdata]] = {"simu": simu, "simc": simc}
QUADRATIC = ("md", "mdav", "mdav+", "v-mdav", "mdav*", "mdav*-gamma")

SPREAD = {"lmas": 200 * math.sqrt(0.21) / 14.38, "ona": 200 * math.sqrt(0.04) / 12.80}
"""Two standard deviations in percent of the mean (001, table 6.3, 100 runs)."""


@dataclass(frozen=True)
class Cell:
    """One published value and ours."""

    data: str
    method: str
    options: str
    k: int
    published: float
    ours: float
    seconds: float
    size: float
    """Average cluster size."""
    gamma: float | None
    """The best gain factor, for methods that search for it."""

    @property
    def difference(self) -> float:
        """Ours less theirs, in percentage points."""
        return self.ours - self.published

    @property
    def relative(self) -> float:
        """The difference as a share of the published value, in percent."""
        return 100 * self.difference / self.published

    @property
    def agrees(self) -> bool:
        """Whether the difference is within the tolerance that the module's docstring states."""
        if self.data in SMALL and abs(self.difference) <= 0.005:
            return True  # the same to the printed digits
        if self.data in SIMULATED:
            return abs(self.relative) <= 2
        if self.method.startswith("mondrian"):
            return abs(self.difference) <= 0.0051 if self.published >= 1 else abs(self.relative) < 1
        if self.method.startswith("mona"):
            return abs(self.difference) <= (0.003 if self.data == "adult-numeric" else 0.015)
        if self.method in QUADRATIC and self.data in SMALL:
            return abs(self.difference) <= 0.006
        if self.data == "adult-numeric":
            return abs(self.relative) <= 1.5
        return abs(self.relative) <= SPREAD.get(self.method, 1)


def published(measure: str = "loss") -> pd.DataFrame:
    """Published values of a measure: ``loss`` in percent, ``seconds``, ``size`` or ``gamma``."""
    table = pd.read_csv(PUBLISHED, keep_default_na=False)
    return table[table["measure"] == measure]


def parsed(options: str) -> dict[str, Any]:
    """Options as the method takes them.

    >>> parsed("rho=0.5"), parsed("")
    ({'rho': 0.5}, {})
    """
    name, _, value = options.partition("=")
    return {name: json.loads(value)} if name else {}


def instances(name: str, draws: int = 25) -> Iterator[Microdata]:
    """The data set, or the draws over which a simulated one is averaged."""
    if name in SIMULATED:
        yield from (SIMULATED[name](seed=seed) for seed in range(draws))
    else:
        yield load(name)


def reproduce(name: str, method: str, options: str, k: int, value: float, draws: int = 25) -> Cell:
    """Our value of one published cell."""
    start = time.perf_counter()
    losses, sizes, factors = [], [], []
    searches = all_methods()[method].parse(parsed(options))
    grid = GRID if getattr(searches, "gamma", 0.0) is None else (None,)
    for data in instances(name, draws):
        tries = []
        for gamma in grid:
            given = parsed(options) if gamma is None else {**parsed(options), "gamma": gamma}
            solution = solve(data, k, method, options=given)
            release = solution.release()
            loss = information_loss(data.frame / data.scale, release / data.scale)
            assert solution.labels is not None
            tries.append((loss, gamma, data.n / (solution.labels.max() + 1)))
        loss, gamma, size = min(tries, key=lambda t: t[0])
        losses.append(loss)
        sizes.append(size)
        factors.append(gamma)
    seconds = time.perf_counter() - start
    factor = None if factors[0] is None else float(np.mean([f for f in factors if f is not None]))
    return Cell(
        name,
        method,
        options,
        k,
        value,
        float(np.mean(losses)),
        seconds,
        float(np.mean(sizes)),
        factor,
    )


def show(cells: list[Cell]) -> Table:
    """Published and ours side by side."""
    table = Table(title="information loss in percent: published → ours", title_justify="left")
    ks = sorted({cell.k for cell in cells})
    table.add_column("data")
    table.add_column("method")
    for k in ks:
        table.add_column(f"k = {k}", justify="right")
    table.add_column("seconds", justify="right")
    rows: dict[tuple[str, str], dict[int, Cell]] = {}
    for cell in cells:
        rows.setdefault((cell.data, f"{cell.method} {cell.options}".strip()), {})[cell.k] = cell
    for (data, method), by_k in rows.items():
        texts = [
            f"{by_k[k].published:g} → {by_k[k].ours:.4g}{'' if by_k[k].agrees else ' !'}"
            if k in by_k
            else ""
            for k in ks
        ]
        table.add_row(data, method, *texts, f"{sum(c.seconds for c in by_k.values()):.1f}")
    return table


def show_shapes(cells: list[Cell]) -> Table:
    """Published and our average sizes and best gain factors side by side."""
    table = Table(title="average size, best γ: published → ours", title_justify="left")
    for heading in ("data", "method", "k", "size", "γ"):
        table.add_column(heading)
    of_cell = {(c.data, c.method, c.k): c for c in cells if not c.options}
    known = {
        measure: {(r["data"], r["method"], r["k"]): r["value"] for r in frame.to_dict("records")}
        for measure, frame in (("size", published("size")), ("gamma", published("gamma")))
    }
    for key, cell in of_cell.items():
        size, gamma = known["size"].get(key), known["gamma"].get(key)
        if size is None and gamma is None:
            continue
        sizes = "" if size is None else f"{size:.2f} → {cell.size:.2f}"
        sizes += " !" if size is not None and abs(size - cell.size) > 0.0051 else ""
        factors = "" if gamma is None or cell.gamma is None else f"{gamma:g} → {cell.gamma:g}"
        table.add_row(cell.data, cell.method, str(cell.k), sizes, factors)
    return table


def main(arguments: list[str]) -> int:
    """Print the comparison; the exit code is the number of cells that do not agree."""
    everything = "--all" in arguments
    words = [word for word in arguments if not word.startswith("-")]
    known = all_methods()
    names = set(words) & {*SMALL, *LARGE} or {*SMALL, *LARGE}
    methods = set(words) & set(known) or set(known)
    if strange := sorted(set(words) - names - methods):
        raise KanopyError(f"{strange[0]!r} is neither a data set of the thesis nor a method")
    cells: list[Cell] = []
    for row in published().to_dict("records"):
        data, method, options = str(row["data"]), str(row["method"]), str(row["options"])
        k, value = int(row["k"]), float(row["value"])
        if method not in methods or data not in names:
            continue
        slow = data in LARGE or parsed(options).get("runs", 0) > 100
        if slow and not everything and data not in words:
            continue
        try:
            cell = reproduce(data, method, options, k, value)
            cells.append(cell)
            mark = "" if cell.agrees else " !"
            print(
                f"{data} {method} {options} k={k}: {value:g} → {cell.ours:.4f}{mark}",
                f"({cell.seconds:.1f} s)",
                file=sys.stderr,
                flush=True,
            )
        except KanopyError as error:
            print(f"{data}, {method}, k = {k}: {error}", file=sys.stderr)
    if not cells:
        print("nothing to compare; name a data set or a method", file=sys.stderr)
        return 0
    console = Console(width=180)
    console.print(show(cells))
    shapes = show_shapes(cells)
    if shapes.row_count:
        console.print(shapes)
    wrong = [cell for cell in cells if not cell.agrees]
    worst = max(cells, key=lambda cell: abs(cell.relative))
    print(f"{len(cells) - len(wrong)} of {len(cells)} cells agree within their tolerance;")
    print(
        f"largest difference: {worst.data}, {worst.method}, k = {worst.k}: {worst.relative:+.2f} %"
    )
    return len(wrong)


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 99))
