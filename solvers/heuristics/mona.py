"""MONA and MONA_2D: MONDRIAN for the rough cut, ONA* for the blocks (001, Alg. 20).

The table of n rows is halved by MONDRIAN_V (MONA_2D: by MONDRIAN_V2D) while a block has n^ρ rows or
more; smaller blocks are clustered by ONA*. ρ = 0 is MONDRIAN_V and ρ = 1 is ONA*; the time is
O(n^(1+ρ) d) (001, theorem 7.1).

Readings: a block of at most 2k rows is a class of its own, as in MONDRIAN, before ρ is looked at
(Adult, ρ = 0.2, k = 3 equals MONDRIAN_V in table C.1). At ρ = 1, where no block has fewer than n^ρ
rows, the whole table goes to ONA*, as the text and the last rows of tables C.1 and C.2 say.

Blocks are independent tasks and run through joblib: on threads by default, since the kernels hold
no lock, or wherever ``joblib.parallel_config`` sends them, a Dask cluster for one. Each block is
clustered by itself, so the result does not depend on the number of jobs.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from kanopy.instances.errors import KanopyError
from kanopy.solvers.heuristics.ona import ROUNDS, ona_star_labels
from kanopy.solvers.kernels.chunks import Stopping, never
from kanopy.solvers.kernels.inner import inner, kernel
from kanopy.solvers.kernels.leftovers import CENTROID, assign_leftovers
from kanopy.solvers.kernels.outside_in import CLUSTERS, make_sweep, sweep_star, sweep_variable
from kanopy.solvers.kernels.prepare import prepared
from kanopy.solvers.kernels.quick import (
    Blocks,
    halve,
    plain_interrupts,
    quick_exit,
    quick_partition,
)
from kanopy.solvers.kernels.reclustering import make_clustering, recluster_star
from kanopy.solvers.kernels.record import NO, YES
from kanopy.solvers.problem import Outcome, Problem
from kanopy.solvers.registry import register
from kanopy.solvers.run import Run

_TASK = 5_000_000  # the sum of squared block sizes that takes about 0.1 s
_LARGE = 3_000  # rows of a block that must be able to stop in its middle
_ROTATED = 512  # rows of a block whose search gains by turning it
_ENDLESS = 1 << 60


@dataclass(frozen=True)
class MonaOptions:
    """Options of MONA and MONA_2D.

    Attributes
    ----------
    rho
        Blocks of fewer than n^rho rows are left to ONA*.
    jobs
        Tasks at the same time; −1 for as many as there are processors.
    """

    rho: float = 0.5
    jobs: int = -1

    def __post_init__(self) -> None:
        if not 0 <= self.rho <= 1:
            raise KanopyError(f"rho = {self.rho} is no exponent of n; choose one from 0 to 1")
        if self.jobs == 0:
            raise KanopyError("jobs = 0 does no work; choose a number ≥ 1, or −1 for all")


def mona_labels(
    points: NDArray[np.float64],
    k: int,
    rho: float = 0.5,
    rule: str = "variance",
    jobs: int = 1,
    stopping: Stopping = never,
    seconds: float = math.inf,
    interrupted: Callable[[NDArray[np.int64]], object] | None = None,
) -> NDArray[np.int64]:
    """Class of each row by MONA; classes of k … 2k rows.

    Parameters
    ----------
    points
        One row per record.
    k
        Least size of a class.
    rho
        Blocks of fewer than n^rho rows are left to ONA*.
    rule
        ``"variance"`` for MONA, ``"variance-2d"`` for MONA_2D.
    jobs
        Tasks at the same time; −1 for as many as there are processors.
    stopping, seconds
        Once ``stopping()`` holds or the seconds are over, blocks that are not done are divided by
        :func:`quick_partition`. Tasks in other processes look at the clock only.
    interrupted
        Called on Ctrl-C with what there is by then, before the exception goes on.

    Examples
    --------
    >>> values = [1.0, 9.0, 2.0, 8.0, 3.0, 7.0, 4.0, 6.0]
    >>> mona_labels(np.array(values)[:, None], 2).tolist()
    [0, 1, 0, 1, 0, 1, 0, 1]
    """
    if rho >= 1:
        return ona_star_labels(points, k, stopping=stopping)
    halt = _Halt(seconds)
    blocks = halve(points, 2 * k, rule, len(points) ** rho, stopping)
    halt.now = stopping()
    sizes, rotation = blocks.sizes, _rotation(points, blocks)
    tasks = [
        (blocks.rows[blocks.bounds[first] : blocks.bounds[end]], sizes[first:end])
        for first, end in _tasks(sizes)
    ]
    calls = (
        delayed(_cluster)(np.array(points[rows]), of_task, rotation, k, halt)
        for rows, of_task in tasks
    )
    results = _run(calls, jobs if len(tasks) > 1 else 1)
    labels = np.full(len(points), -1, dtype=np.int64)
    classes = 0
    try:
        with plain_interrupts():
            for (rows, _), part in zip(tasks, results, strict=True):
                labels[rows] = classes + part
                classes += int(part.max()) + 1
                halt.now = halt.now or stopping()
    except KeyboardInterrupt:
        results.close()  # or joblib would go on with the tasks
        if interrupted is not None:
            left = np.flatnonzero(labels < 0)
            labels[left] = classes + quick_partition(points[left], k)
            interrupted(labels)
        raise
    return labels


class _Halt:
    """Whether tasks shall stop: at a time, which travels to other machines, or now, in threads."""

    def __init__(self, seconds: float) -> None:
        self.time = time.time() + seconds
        self.now = False

    def __call__(self) -> bool:
        return self.now or time.time() >= self.time


def _run(calls: Iterable[Any], jobs: int) -> Generator[NDArray[np.int64], None, None]:
    if jobs == 1:
        for function, arguments, _ in calls:
            yield function(*arguments)
    else:
        yield from Parallel(n_jobs=jobs, prefer="threads", return_as="generator")(calls)


def _tasks(sizes: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Consecutive blocks that make about equal work, as (first, end)."""
    tasks = []
    first = work = 0
    for block, size in enumerate(sizes.tolist()):
        work += size * size
        if work >= _TASK or block == len(sizes) - 1:
            tasks.append((first, block + 1))
            first, work = block + 1, 0
    return tasks


def _rotation(points: NDArray[np.float64], blocks: Blocks) -> NDArray[np.float64]:
    """Axes for the search in the blocks: any will do, those of a sample do well."""
    if blocks.sizes.max() < _ROTATED:
        return np.empty((0, 0))
    return prepared(points[:: max(1, len(points) // 10_000)])[1]


def _cluster(
    points: NDArray[np.float64],
    sizes: NDArray[np.int64],
    rotation: NDArray[np.float64],
    k: int,
    stopping: Stopping,
) -> NDArray[np.int64]:
    """Classes 0, 1, 2 … of the rows of some blocks, which lie one after the other."""
    hurry = stopping()
    if not hurry and sizes.max() < _LARGE:
        return np.asarray(_ona_star(points, sizes, rotation, k, ROUNDS))
    labels = np.empty(len(points), dtype=np.int64)
    classes = start = 0
    for size in sizes.tolist():
        block = points[start : start + size]
        if size <= 2 * k:
            part = np.zeros(size, dtype=np.int64)
        elif hurry:
            part = quick_partition(block, k)
        else:
            part = ona_star_labels(block, k, stopping=stopping)
        labels[start : start + size] = classes + part
        classes += int(part.max()) + 1
        start += size
    return labels


@kernel
def _ona_star(points, sizes, rotation, k, rounds):  # type: ignore[no-untyped-def]
    """ONA* on blocks that lie one after the other."""
    labels = np.empty(len(points), np.int64)
    classes = 0
    start = 0
    for size in sizes:
        part = labels[start : start + size]
        if size <= 2 * k:
            part[:] = classes
            classes += 1
        else:
            block = points[start : start + size]
            sweep = make_sweep(block, rotation, k, YES, CENTROID)
            sweep_star(sweep, k, 1.0, NO, CENTROID, _ENDLESS)
            assign_leftovers(block, sweep.labels, sweep.counters[CLUSTERS], CENTROID)
            _split_large(sweep, k)
            state = make_clustering(block, rotation, sweep.labels, k)
            recluster_star(state, k, rounds, _ENDLESS)
            number = np.full(len(state.sizes), -1)
            for i in range(size):
                cluster = state.labels[i]
                if number[cluster] < 0:
                    number[cluster] = classes
                    classes += 1
                part[i] = number[cluster]
        start += size
    return labels


@inner
def _split_large(sweep, k):  # type: ignore[no-untyped-def]
    """Split clusters of 2k rows or more by MDAV+ (001, Alg. 15, line 2 to 5)."""
    labels = sweep.labels
    clusters = sweep.counters[CLUSTERS]
    sizes = np.zeros(clusters, np.int64)
    for label in labels:
        sizes[label] += 1
    for cluster in range(clusters):
        size = sizes[cluster]
        if size < 2 * k:
            continue
        rows = np.empty(size, np.int64)
        filled = 0
        for row in range(len(labels)):
            if labels[row] == cluster:
                rows[filled] = row
                filled += 1
        nested = make_sweep(sweep.points[rows], np.empty((0, 0)), k, NO, CENTROID)
        sweep_variable(nested, k, 0.0, size)
        assign_leftovers(nested.points, nested.labels, nested.counters[CLUSTERS], CENTROID)
        for i in range(size):
            if nested.labels[i] > 0:
                labels[rows[i]] = sweep.counters[CLUSTERS] + nested.labels[i] - 1
        sweep.counters[CLUSTERS] += nested.counters[CLUSTERS] - 1


@register(
    "mona",
    costs=("sse",),
    kinds=("numeric",),
    paper="001, Alg. 20",
    summary="MONDRIAN_V down to blocks of n^ρ rows, ONA* inside; for millions of rows",
    options=MonaOptions,
)
def mona(problem: Problem, run: Run, options: MonaOptions) -> Outcome:
    """MONDRIAN_V, then ONA*."""
    return _solve(problem, run, options, "variance")


@register(
    "mona-2d",
    costs=("sse",),
    kinds=("numeric",),
    paper="001, section 7.2",
    summary="MONDRIAN_V2D down to blocks of n^ρ rows, ONA* inside",
    options=MonaOptions,
)
def mona_2d(problem: Problem, run: Run, options: MonaOptions) -> Outcome:
    """MONDRIAN_V2D, then ONA*."""
    return _solve(problem, run, options, "variance-2d")


def _solve(problem: Problem, run: Run, options: MonaOptions, rule: str) -> Outcome:
    with quick_exit(run):
        labels = mona_labels(
            problem.data.points,
            problem.k,
            options.rho,
            rule,
            options.jobs,
            run.stopping,
            run.remaining(),
            run.found_labels,
        )
    return Outcome(labels=labels)
