"""``make bench``: the speeds and sizes we promise, measured one by one in processes of their own.

Kernels are compiled on small data before the clock starts. The machine's noise is in every figure:
compare ratios within one run. Words given as arguments choose the benchmarks whose names hold one;
``--long`` adds those that take minutes. Each is told of as soon as it is done.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from kanopy.experiments.bench_frequency import short
from kanopy.instances.datasets import load
from kanopy.instances.errors import KanopyError, unknown
from kanopy.instances.files import read_table
from kanopy.instances.microdata import Microdata
from kanopy.solvers.clock import now
from kanopy.solvers.problem import Problem
from kanopy.solvers.registry import find_method
from kanopy.solvers.run import Run
from kanopy.solvers.stop import MaxRuntime
from kanopy.solving import solve

Measured = tuple[float, str]
"""Seconds (or whatever unit the limit has) and a remark."""


@dataclass(frozen=True)
class Benchmark:
    """Something measured, its limit, and the figure of the paper where there is one."""

    name: str
    measure: Callable[[], Measured]
    limit: float
    memory: float = float("inf")
    published: str = ""
    unit: str = "s"
    long: bool = False


def timed(data: Microdata, k: int, method: str, cost: str = "sse", **options: object) -> Measured:
    """Seconds of a method alone, without verification, and the information it loses.

    The clock stands still while a kernel is compiled that only large tables need.
    """
    chosen = find_method(method)
    small = data.restrict(np.arange(min(data.n, 40 * k)))
    chosen.run(problem := Problem(small, k, cost), Run(problem), chosen.parse(options))
    problem = Problem(data, k, cost)
    start = now()
    outcome = chosen.run(problem, Run(problem), chosen.parse(options))
    seconds = now() - start
    assert outcome.labels is not None
    loss = 100 * problem.partition_cost(outcome.labels)
    total = problem.partition_cost(np.zeros(data.n, dtype=np.int64))
    return seconds, f"loses {loss / total:.4f} %"


def generalised(rows: int, columns: int, k: int, method: str) -> Measured:
    """Seconds of a method of generalisation alone on Census-Income, and its loss."""
    chosen = find_method(method)
    for n in (40 * k, rows):  # the first only compiles
        data = load("census-income", rows=n, columns=columns, seed=1)
        problem = Problem(data, k, "range")
        start = time.perf_counter()
        outcome = chosen.run(problem, Run(problem), chosen.parse({}))
        seconds = time.perf_counter() - start
    return seconds, f"{chosen.shape}, loss {problem.objective(outcome):.4f}"


def normal(n: int, columns: int = 10) -> Microdata:
    """Normal rows."""
    rng = np.random.default_rng(1)
    return Microdata.from_frame(
        pd.DataFrame(rng.normal(size=(n, columns)), columns=[f"x{j}" for j in range(columns)]),
        standardize=False,
    )


def merge_million() -> Measured:
    """Read a million nominal rows from a file and merge duplicates."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            f"c{j}": np.char.add("value ", rng.integers(0, 3 + j, 10**6).astype(str))
            for j in range(10)
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "million.parquet"
        frame.to_parquet(path)
        del frame
        start = time.perf_counter()
        data = Microdata.from_frame(read_table(path))
        distinct = len(data.counts)
        return time.perf_counter() - start, f"{distinct:,} distinct of {data.n:,} rows × 10"


def adult_tables() -> Measured:
    """All control tables up to dimension 3 of Adult's eight attributes."""
    data = load("adult")
    start = time.perf_counter()
    tables = data.tables(3)
    return time.perf_counter() - start, f"{len(tables.names)} tables, {len(tables):,} cells"


def start_up(*command: str) -> Callable[[], Measured]:
    """Seconds a fresh interpreter needs, best of five."""

    def measure() -> Measured:
        times = []
        for _ in range(5):
            start = time.perf_counter()
            subprocess.run([sys.executable, *command], check=True, capture_output=True)
            times.append(time.perf_counter() - start)
        return min(times), "best of five"

    return measure


KMEANS = """
import sys, time
import numpy as np
from k_means_constrained import KMeansConstrained
points = np.load(sys.argv[1])
model = KMeansConstrained(n_clusters=len(points) // 3, size_min=3, n_init=1, random_state=0)
start = time.perf_counter()
labels = model.fit_predict(points)
print(time.perf_counter() - start, *labels)
"""


def mdav_against_kmeans() -> Measured:
    """How many times as fast MDAV is as balanced k-means on Census, k = 3.

    The latter brings OR-tools, which cannot be in one process with HiGHS.
    """
    data = load("census")
    timings = [timed(data, 3, "mdav") for _ in range(5)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "points.npy"
        np.save(path, data.points)
        command = [sys.executable, "-c", KMEANS, str(path)]
        answer = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, *labels = answer.stdout.split()
    problem, one = Problem(data, 3, "sse"), np.zeros(data.n, dtype=np.int64)
    other = problem.partition_cost(np.array(labels, dtype=np.int64)) / problem.partition_cost(one)
    remark = f"MDAV {timings[0][1]}, k-means {100 * other:.4f} %"
    return float(seconds) / min(time for time, _ in timings), remark


def mona_growth() -> Measured:
    """Exponent of MONA's growth from 10⁵ to 10⁶ rows."""
    small, large = (timed(normal(n), 5, "mona", rho=0.5)[0] for n in (10**5, 10**6))
    return float(np.log10(large / small)), f"{small:.2f} s → {large:.2f} s"


def searched(name: str, k: int, seconds: float) -> Measured:
    """Information loss of ``ils`` after some seconds."""
    data = load(name)
    solve(data, k, "ils", stop=MaxRuntime(2.0))
    solution = solve(data, k, "ils", stop=MaxRuntime(seconds))
    total = solution.problem.partition_cost(np.zeros(data.n, dtype=np.int64))
    return 100 * solution.objective / total, f"in {solution.runtime:.1f} s"


def above(name: str, k: int, seconds: float, best: float) -> Measured:
    """By how many percent ``ils`` misses the best known objective value."""
    loss, remark = searched(name, k, seconds)
    data = load(name)
    value = loss / 100 * data.points.var(axis=0).sum() * data.n
    return 100 * (value / best - 1), f"{value:.4f}, loss {loss:.4f} %, {remark}"


def proven(data: Callable[[], Microdata], k: int, cost: str, seconds: float) -> Measured:
    """Seconds that ``branch-and-price`` needs for a proof."""
    instance = data()
    small = instance.restrict(np.arange(min(instance.n, 12 * k)))
    solve(small, k, "branch-and-price", cost=cost, stop=MaxRuntime(60))
    solution = solve(instance, k, "branch-and-price", cost=cost, stop=MaxRuntime(seconds))
    gap = 100 * (solution.gap or 0.0)
    return solution.runtime, f"{solution.status}, {solution.objective:.9g}, gap {gap:.4f} %"


ILS_10 = {
    "census": {2: (2.804, 3.06), 3: (4.729, 5.22), 4: (6.112, 6.72)}
    | {5: (7.398, 7.91), 7: (9.303, 9.84), 10: (11.600, 12.31)},
    "tarragona": {2: (8.828, 9.05), 3: (14.498, 15.10), 4: (17.137, 17.76)}
    | {5: (20.173, 20.49), 7: (25.698, 26.12), 10: (30.179, 30.51)},
    "eia": {2: (0.185, 0.19), 3: (0.365, 0.37), 4: (0.484, 0.52)}
    | {5: (0.736, 0.78), 7: (1.517, 1.58), 10: (1.949, 1.98)},
}
"""By data and k, information loss in percent: what ``ils`` is to reach in 10 s, and ONA*γ's."""

BEST_KNOWN = {
    "census": {3: 655.378193, 4: 846.6213, 5: 1016.5530, 10: 1597.139},
    "tarragona": {3: 1568.5497, 5: 2184.2283, 10: 3284.89},
    "eia": {3: 157.04805},
}
"""By data and k, the best sum of squared errors known before ``ils``; Census, k = 3 is optimal."""


BENCHMARKS = (
    Benchmark("read and merge 1,000,000 × 10 nominal", merge_million, 10, memory=2048),
    Benchmark("Adult 30162 × 8, tables up to dimension 3", adult_tables, 2),
    Benchmark("import kanopy", start_up("-c", "import kanopy"), 1),
    Benchmark("kanopy --help", start_up("-m", "kanopy", "--help"), 0.5),
    Benchmark(
        "mdav+ Credit Card, k = 3", lambda: timed(load("credit"), 3, "mdav+"), 2, 1e9, "4.6 s"
    ),
    Benchmark(
        "mdav* Credit Card, k = 3", lambda: timed(load("credit"), 3, "mdav*"), 4, 1e9, "17 s"
    ),
    Benchmark("ona* Credit Card, k = 3", lambda: timed(load("credit"), 3, "ona*"), 12, 1e9, "43 s"),
    Benchmark(
        "ona* Adult, k = 3", lambda: timed(load("adult-numeric"), 3, "ona*"), 2, 1e9, "149 s"
    ),
    Benchmark(
        "mona ρ = ½, 1,000,000 × 10, k = 5, two cores",
        lambda: timed(normal(10**6), 5, "mona", rho=0.5, jobs=2),
        12,
        1024,
    ),
    Benchmark("mona growth 10⁵ → 10⁶", mona_growth, 1.5, unit="exponent"),
    Benchmark(
        "mona ρ = ½, 10,000,000 × 10, k = 5, two cores",
        lambda: timed(normal(10**7), 5, "mona", rho=0.5, jobs=2),
        1800,
        20_000,
        long=True,
    ),
    Benchmark("mdav is so many times as fast as k-means", mdav_against_kmeans, -5, unit="times"),
    *(
        Benchmark(
            f"ils {name}, k = {k}, 10 s",
            partial(searched, name, k, 10.0),
            limit + 0.0005,
            published=f"{published:g} %",
            unit="%",
            long=k not in (3, 10),
        )
        for name, by_k in ILS_10.items()
        for k, (limit, published) in by_k.items()
    ),
    *(
        Benchmark(
            f"ils {name}, k = {k}, 60 s, above the best known",
            partial(above, name, k, 60.0, best),
            0.5,
            unit="%",
            long=True,
        )
        for name, by_k in BEST_KNOWN.items()
        for k, best in by_k.items()
    ),
    *(Benchmark(name, run, limit, 1e9, paper) for name, run, limit, paper in short()),
    *(
        Benchmark(
            f"{method} Census-Income {rows:,} × {columns}, k = {k}",
            partial(generalised, rows, columns, k, method),
            limit,
            published=published,
        )
        for method, rows, columns, k, limit, published in (
            ("doka-hungarian", 5000, 4, 4, 300, "3 to 24 h"),
            ("doka-sort-greedy", 5000, 4, 4, 60, "3 to 24 h"),
            ("doka-greedy", 5000, 4, 4, 60, "3 to 24 h"),
            ("k-member", 20_000, 8, 10, 60, ""),
            ("mondrian", 90_000, 8, 3, 5, "minutes"),
        )
    ),
    Benchmark(
        "branch-and-price Census, k = 3",
        partial(proven, partial(load, "census"), 3, "sse", 120.0),
        60,
        1e9,
        "best loss 5.22 %, no bound",
    ),
    Benchmark(
        "branch-and-price Adult 30162 × 5, k = 3",
        partial(proven, partial(load, "adult", columns=5), 3, "hamming", 120.0),
        30,
    ),
    Benchmark(
        "branch-and-price Census-Income 200 × 8, k = 3",
        partial(proven, partial(load, "census-income", rows=200, seed=1), 3, "range", 120.0),
        90,
        1e9,
        "not solved",
    ),
    Benchmark(
        "split-carry S = 3, Census-Income 99762 × 4, k = 3",
        lambda: timed(load("census-income", columns=4), 3, "split-carry", "range", sets=3),
        300,
    ),
    Benchmark(
        "greedy-search by scan, Census-Income 20,000 × 8, k = 10",
        lambda: timed(
            load("census-income", rows=20_000), 10, "greedy-search", "range", search="scan"
        ),
        60,
    ),
    Benchmark(
        "greedy-search by tree, 1,000,000 × 4, k = 3",
        lambda: timed(normal(10**6, 4), 3, "greedy-search", "range", search="tree"),
        300,
    ),
)


def _measure(number: int, results: multiprocessing.Queue[tuple[float, str, float]]) -> None:
    try:
        value, remark = BENCHMARKS[number].measure()
    except Exception as error:  # whatever it is, the other benchmarks go on
        value, remark = float("nan"), f"{type(error).__name__}: {error}"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    results.put((value, remark, peak))


def main(arguments: list[str]) -> int:
    """Run the chosen benchmarks, print the table, and count the limits that were missed."""
    parser = argparse.ArgumentParser(
        prog="benchmarks",
        description=__doc__,
        epilog="; ".join(benchmark.name for benchmark in BENCHMARKS),
    )
    parser.add_argument("names", nargs="*", help="parts of the names of those to run")
    parser.add_argument("--long", action="store_true", help="also those that take minutes")
    asked = parser.parse_args(arguments)
    for word in asked.names:
        if not any(word in benchmark.name for benchmark in BENCHMARKS):
            raise unknown("benchmark", word, (benchmark.name for benchmark in BENCHMARKS))
    table = Table(title="benchmarks", title_justify="left")
    for heading in ("what", "measured", "limit", "peak memory", "paper", "", "remark"):
        table.add_column(heading)
    missed = 0
    context = multiprocessing.get_context("spawn")
    for number, benchmark in enumerate(BENCHMARKS):
        if asked.names and not any(word in benchmark.name for word in asked.names):
            continue
        if benchmark.long and not asked.long:
            continue
        results = context.Queue()
        process = context.Process(target=_measure, args=(number, results))
        process.start()
        value, remark, peak = results.get()
        process.join()
        # A negative limit asks for at least so much.
        good = value <= benchmark.limit if benchmark.limit > 0 else value >= -benchmark.limit
        good &= peak <= benchmark.memory
        missed += not good
        side = "≤" if benchmark.limit > 0 else "≥"
        memory = "" if benchmark.memory > 1e8 else f", {benchmark.memory:.0f} MiB"
        table.add_row(
            benchmark.name,
            f"{value:.3g} {benchmark.unit}",
            f"{side} {abs(benchmark.limit):g}{memory}",
            f"{peak:.0f} MiB",
            benchmark.published,
            "met" if good else "missed",
            remark,
        )
        said = f"{benchmark.name}: {value:.4g} {benchmark.unit}, {peak:.0f} MiB, {remark}"
        print(said, "" if good else "(missed)", file=sys.stderr, flush=True)
    Console(width=170).print(table)
    return missed


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KanopyError as error:
        sys.exit(str(error))
