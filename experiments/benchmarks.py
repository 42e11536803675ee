"""``make bench``: the speeds and sizes we promise, measured one by one in processes of their own.

Kernels are compiled on small data before the clock starts. The machine's noise is in every figure:
compare ratios within one run. Names given as arguments choose benchmarks; ``--long`` adds those
that take minutes.
"""

from __future__ import annotations

import multiprocessing
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from kanopy.instances.datasets import load
from kanopy.instances.errors import KanopyError
from kanopy.instances.files import read_table
from kanopy.instances.microdata import Microdata
from kanopy.solvers.problem import Problem
from kanopy.solvers.registry import find_method
from kanopy.solvers.run import Run

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


def timed(data: Microdata, k: int, method: str, **options: object) -> Measured:
    """Seconds of a method alone, without verification, and the information it loses."""
    chosen = find_method(method)
    small = data.restrict(np.arange(min(data.n, 40 * k)))
    chosen.run(problem := Problem(small, k, "sse"), Run(problem), chosen.parse(options))
    problem = Problem(data, k, "sse")
    start = time.perf_counter()
    outcome = chosen.run(problem, Run(problem), chosen.parse(options))
    seconds = time.perf_counter() - start
    assert outcome.labels is not None
    loss = 100 * problem.partition_cost(outcome.labels)
    total = problem.partition_cost(np.zeros(data.n, dtype=np.int64))
    return seconds, f"loses {loss / total:.4f} %"


def normal(n: int) -> Microdata:
    """Normal rows in ten columns."""
    rng = np.random.default_rng(1)
    return Microdata.from_frame(
        pd.DataFrame(rng.normal(size=(n, 10)), columns=[f"x{j}" for j in range(10)]),
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


def mdav_against_kmeans() -> Measured:
    """How many times as fast MDAV is as balanced k-means on Census, k = 3."""
    from k_means_constrained import KMeansConstrained

    data = load("census")
    times = []
    for _ in range(5):
        seconds, remark = timed(data, 3, "mdav")
        times.append(seconds)
    start = time.perf_counter()
    model = KMeansConstrained(n_clusters=data.n // 3, size_min=3, n_init=1, random_state=0)
    labels = model.fit_predict(data.points)
    seconds = time.perf_counter() - start
    problem = Problem(data, 3, "sse")
    other = 100 * problem.partition_cost(labels) / problem.partition_cost(np.zeros_like(labels))
    return seconds / min(times), f"MDAV {remark}, k-means {other:.4f} %"


def mona_growth() -> Measured:
    """Exponent of MONA's growth from 10⁵ to 10⁶ rows."""
    small, large = (timed(normal(n), 5, "mona", rho=0.5)[0] for n in (10**5, 10**6))
    return float(np.log10(large / small)), f"{small:.2f} s → {large:.2f} s"


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
)


def _measure(number: int, results: multiprocessing.Queue[tuple[float, str, float]]) -> None:
    try:
        value, remark = BENCHMARKS[number].measure()
    except KanopyError as error:
        value, remark = float("nan"), str(error)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    results.put((value, remark, peak))


def main(arguments: list[str]) -> int:
    """Run the chosen benchmarks, print the table, and count the limits that were missed."""
    long = "--long" in arguments
    wanted = [a for a in arguments if not a.startswith("-")]
    table = Table(title="benchmarks", title_justify="left")
    for heading in ("what", "measured", "limit", "peak memory", "paper", "", "remark"):
        table.add_column(heading)
    missed = 0
    context = multiprocessing.get_context("spawn")
    for number, benchmark in enumerate(BENCHMARKS):
        if wanted and not any(word in benchmark.name for word in wanted):
            continue
        if benchmark.long and not long:
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
    Console(width=170).print(table)
    return missed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
