"""A better partition out of given clusters, by MIPs over one region of the table after the other.

Only the clusters of a region are free, but all columns are that fit into its rows. A region is a
cluster of the partition and others that share columns with it, each with all its copies. The
reduced costs of a partition's clusters add up to what it costs above the relaxation, so the first
cluster is drawn in proportion to its reduced cost, and columns dearer than those of the whole
region are left out. Nothing is proven here unless one MIP holds all columns.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kanopy.solvers.branch_and_price.column_generation import Clock
from kanopy.solvers.branch_and_price.enumeration import choose

NEAR = 4000
"""Columns of least reduced cost that say which clusters belong into a region; with more types, as
many as types."""

MOST = 3000
"""Columns of a MIP at most."""

FIRST_REGION = 16
"""Clusters of the first region."""

FAILURES = 50
"""Regions in a row without a better partition after which to end."""


@dataclass
class Effort:
    """What the MIP of a region may take, and how large the next region is.

    A region grows after a MIP that is solved within a twentieth of ``seconds``, and shrinks after
    one that takes more than a fifth or is not solved. Without a limit of seconds nothing depends on
    the clock.
    """

    seconds: float = math.inf
    nodes: int = 2**31 - 1
    size: int = FIRST_REGION

    def learn(self, solved: bool, seconds: float, full: bool) -> None:
        """Choose the next size; a MIP that is full of columns asks for no more clusters."""
        if not solved or seconds > 0.2 * self.seconds:
            self.size = max(int(0.8 * self.size), 2)
        elif seconds < 0.05 * self.seconds and not full:
            self.size = int(1.25 * self.size) + 1


def improve(
    clusters: NDArray[np.int32],
    costs: NDArray[np.float64],
    reduced: NDArray[np.float64],
    uses: NDArray[np.float64],
    types: int,
    k: int,
    clock: Clock,
    rng: np.random.Generator,
    effort: Effort,
    step: float = 0.0,
) -> tuple[NDArray[np.int32], bool]:
    """Clusters of a better partition, and whether the columns are proven to hold none better.

    Parameters
    ----------
    clusters, costs, reduced
        The columns over ``types`` types, by ascending reduced cost.
    uses
        How often each is in the partition to begin with.
    step
        A number that divides all costs, or 0.
    """
    table = counts_of_types(clusters, types)
    near = table[: max(NEAR, types)]
    times = uses.astype(np.int64)
    failures, proven = 0, False
    region = np.flatnonzero(times)
    if len(costs) > MOST:
        region = _next(times, reduced, table, near, effort.size, rng)
    while not proven and failures < FAILURES and not clock.over():
        sides = np.asarray(times[region] @ table[region]).astype(np.int64)
        whole = len(region) == np.count_nonzero(times)
        above = np.inf if whole else times[region] @ np.maximum(reduced[region], 0.0)
        fitting = np.flatnonzero(_fitting(table, sides) & (reduced <= above))
        inside = np.union1d(fitting[:MOST], region)
        present = np.flatnonzero(sides)
        number = np.full(types + 1, -1, dtype=np.int32)
        number[present] = np.arange(len(present))
        candidates = number[clusters[inside]]
        start = np.where(np.isin(inside, region), times[inside], 0).astype(np.float64)
        began = time.perf_counter()
        chosen = choose(
            candidates,
            costs[inside],
            sides[present],
            k,
            clock.within(effort.seconds),
            step=step,
            start=start,
            most_nodes=effort.nodes,
        )
        proven = chosen.optimal and whole and len(inside) == len(costs)
        failures += 1
        if chosen.clusters is not None:
            place = {row.tobytes(): i for i, row in zip(inside, candidates, strict=True)}
            better = np.array([place[row.tobytes()] for row in chosen.clusters])
            if costs[better].sum() < (costs[inside] @ start) * (1 - 1e-12):
                times[region] = 0
                np.add.at(times, better, 1)
                failures = 0
        if not whole:
            effort.learn(chosen.optimal, time.perf_counter() - began, len(fitting) > MOST)
        region = _next(times, reduced, table, near, effort.size, rng)
    return np.repeat(clusters, times, axis=0), proven


def _next(
    times: NDArray[np.int64],
    reduced: NDArray[np.float64],
    table: sp.csr_array,
    near: sp.csr_array,
    size: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """The columns of another region, about half of the partition at most."""
    held = np.flatnonzero(times)
    chances = np.maximum(times[held] * reduced[held], 0.0)
    chances += chances.mean() + 1e-9
    first = int(rng.choice(len(held), p=chances / chances.sum()))
    most = min(size, 1 + len(held) // 2)  # all at once would be the first MIP again
    return np.asarray(held[region_around(near, table[held], most, first, rng)])


def counts_of_types(clusters: NDArray[np.int32], types: int) -> sp.csr_array:
    """How often each cluster, a row, holds each type, a column."""
    inside = clusters >= 0
    ends = np.concatenate([[0], np.cumsum(inside.sum(axis=1))])
    ones = np.ones(int(ends[-1]))
    table = sp.csr_array((ones, clusters[inside], ends), shape=(len(clusters), types))
    table.sum_duplicates()
    return table


def _fitting(table: sp.csr_array, sides: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which clusters hold no type more often than ``sides`` says."""
    row = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
    above = table.data > sides[table.indices]
    return np.asarray(np.bincount(row[above], minlength=table.shape[0]) == 0)


def region_around(
    near: sp.csr_array, held: sp.csr_array, size: int, first: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Clusters of a partition, the first one and those that most columns share with them."""
    if size >= held.shape[0]:
        return np.arange(held.shape[0])
    touched = sp.csr_array((near @ held.T) > 0, dtype=np.float64)
    touching = sp.csr_array(touched.T)
    weights = np.zeros(held.shape[0])
    region = [first]
    free = np.ones(held.shape[0], dtype=bool)
    while True:
        last = region[-1]
        free[last] = False
        if len(region) == size:
            return np.array(region)
        shared = touched[touching.indices[touching.indptr[last] : touching.indptr[last + 1]]]
        np.add.at(weights, shared.indices, shared.data)
        score = np.where(free, weights * (0.5 + rng.random(len(weights))), -1.0)
        region.append(int(np.argmax(score)))
