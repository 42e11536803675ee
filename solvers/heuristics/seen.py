"""The cheapest partition out of the clusters that a search has seen.

A search meets far more good clusters than its best partition holds. They become columns of a
set-partitioning program. Its relaxation says what each row should cost, so that the search can
collect the clusters that would lower it, tried ones included; then MIPs over one region after the
other look for a better partition. Nothing is proven here: the columns are not all there are.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kanopy.instances.microdata import Microdata
from kanopy.solvers.branch_and_price.column_generation import Clock
from kanopy.solvers.branch_and_price.enumeration import choose
from kanopy.solvers.branch_and_price.master import Master, sorted_rows
from kanopy.solvers.branch_and_price.pricing import (
    Cuts,
    Restrictions,
    pricer_of,
    quick_search,
)
from kanopy.solvers.branch_and_price.start import clusters_of, labels_of, padded
from kanopy.solvers.clock import now
from kanopy.solvers.kernels.ils import TABLE, new_pool

AT_ONCE = 50_000
"""Clusters collected between two relaxations at most."""

COLUMNS = 20_000
"""Columns kept, those of least reduced cost; they are purged when there are twice as many."""

NEAR = 4000
"""Columns of least reduced cost that say which clusters belong into a region."""

MOST = 3000
"""Columns of a MIP at most."""

FIRST_REGION = 16
"""Clusters of the first region."""

QUICK, TOO_LONG = 0.1, 2.0
"""Seconds of a MIP after which regions grow, and after which it is given up."""

FEW, ROUND = 0.01, 0.03
"""Pricing ends with fewer new clusters than this share of the types, or when a round takes more
than this share of the time left."""

FAILURES = 50
"""Regions in a row without a better partition after which to end."""


class SeenClusters:
    """Columns of a set-partitioning program over the types of a table.

    Attributes
    ----------
    pool
        Where :func:`kanopy.solvers.kernels.ils.iterate` collects clusters and finds the duals.
    base
        Dual of the number of clusters: a cluster's reduced cost is its cost less its members' duals
        less this.
    size
        Clusters of the next region.
    """

    def __init__(self, data: Microdata, k: int, seed: int) -> None:
        self.pool = new_pool(data.n, k, AT_ONCE, seed)
        self.base = 0.0
        self.size = FIRST_REGION
        self.k = k
        self._data = data
        self._types = data.types
        self._counts = data.counts
        self._master: Master | None = None
        self._reduced = np.empty(0)
        self._uses = np.empty(0)
        self._gap = np.inf

    def relax(
        self, labels: NDArray[np.int64], prices: NDArray[np.float64], clock: Clock
    ) -> float | None:
        """Value of the relaxation over all columns and a partition, or None if time is up.

        ``prices`` are the costs of the partition's clusters. The pool is emptied into the columns
        and gets the new duals.
        """
        master = self._master
        if master is None:
            dear = 2.0 * max(float(prices.max()), 1e-9)
            unit = max(float(prices.mean()), 1e-9)
            master = Master(self._counts, self.k, np.full(len(self._counts), dear), unit)
            self._master = master
        used, numbers = np.unique(labels, return_inverse=True)
        width = master.clusters.shape[1]
        partition = sorted_rows(padded(clusters_of(numbers, self._types), width))
        master.add(partition, prices[used])
        count = int(self.pool.counts[0])
        rows = self.pool.clusters[:count]
        found = np.where(rows >= 0, self._types[rows], -1).astype(np.int32)
        master.add(found, self.pool.prices[:count])
        self.pool.counts[0] = 0
        if 2 * self.pool.counts[1] >= TABLE:
            self.pool.known[:] = 0
            self.pool.counts[1] = 0
        relaxation = master.solve(clock.remaining())
        if relaxation is None:
            return None
        duals = relaxation.duals
        self.pool.duals[:] = duals.types[self._types]
        self.base = duals.count
        padded_duals = np.append(duals.types, 0.0)
        self._reduced = master.costs - padded_duals[master.clusters].sum(axis=1) - self.base
        times = Counter(row.tobytes() for row in partition)
        self._uses = np.array([times[row.tobytes()] for row in master.clusters], dtype=np.float64)
        self._gap = float(prices.sum()) - relaxation.value
        if len(master) > 2 * COLUMNS:
            keep = self._least(COLUMNS)
            master.purge(keep)
            self._reduced, self._uses = self._reduced[keep], self._uses[keep]
        return relaxation.value

    def price(self, cost: str, clock: Clock) -> None:
        """Add columns that pricing finds for the duals of the relaxation, until they become few.

        Only where a round takes little of the time left, and :meth:`relax` has begun.
        """
        master = self._master
        assert master is not None
        pricer = pricer_of(cost)(self._data, self.k, 2 * self.k - 1)
        added = master.types
        while added >= FEW * master.types and not clock.over():
            began = now()
            relaxation = master.centre(clock.remaining())
            if relaxation is None:
                return
            search = replace(quick_search(cost, self.k), deadline=clock.deadline)
            priced = pricer.price(relaxation.duals, Cuts(), Restrictions(), search)
            added = master.add(priced.clusters, priced.costs) if len(priced) else 0
            if now() - began > ROUND * clock.remaining():
                return

    def improve(self, clock: Clock, rng: np.random.Generator) -> tuple[NDArray[np.int64], bool]:
        """A better partition out of the columns, and whether they are proven to hold none better.

        A first MIP over the columns of least reduced cost is followed by others in which only the
        clusters of a region are free, but all columns are that fit into it. Regions grow while
        their MIPs are quick.
        """
        master = self._master
        assert master is not None
        useful = np.flatnonzero((self._reduced < self._gap) | (self._uses > 0))
        useful = useful[np.argsort(self._reduced[useful], kind="stable")]
        clusters, costs = master.clusters[useful], master.costs[useful]
        table = _counts(clusters, len(self._counts))
        held = np.repeat(np.arange(len(costs)), self._uses[useful].astype(np.int64))
        region, failures, proven = np.arange(len(held)), 0, False
        while not proven and failures < FAILURES and not clock.over():
            sides = np.asarray(table[held[region]].sum(axis=0)).astype(np.int64)
            fitting = np.flatnonzero(_fitting(table, sides))
            inside = np.union1d(fitting[:MOST], held[region])
            types = np.flatnonzero(sides)
            number = np.full(len(sides) + 1, -1, dtype=np.int32)
            number[types] = np.arange(len(types))
            candidates = number[clusters[inside]]
            start = np.bincount(held[region], minlength=len(costs))[inside].astype(np.float64)
            began = now()
            chosen = choose(
                candidates, costs[inside], sides[types], self.k, clock.within(TOO_LONG), start=start
            )
            seconds = now() - began
            proven = chosen.optimal and len(region) == len(held) and len(inside) == len(costs)
            failures += 1
            if chosen.clusters is not None:
                place = {row.tobytes(): i for i, row in zip(inside, candidates, strict=True)}
                better = np.array([place[row.tobytes()] for row in chosen.clusters])
                if costs[better].sum() < costs[held[region]].sum() * (1 - 1e-12):
                    held = np.concatenate([np.delete(held, region), better])
                    failures = 0
            if len(region) < len(held) and seconds < QUICK:
                self.size = int(1.25 * self.size) + 1
            elif len(region) < len(held) and seconds > 4 * QUICK:
                self.size = max(int(0.8 * self.size), 2)
            # all clusters at once are the first MIP again
            region = _region(table[:NEAR], table[held], min(self.size, 1 + len(held) // 2), rng)
        return labels_of(clusters[held], self._types), proven

    def _least(self, most: int) -> NDArray[np.bool_]:
        """The partition's columns and those of least reduced cost."""
        keep = self._uses > 0
        keep[np.argsort(self._reduced, kind="stable")[:most]] = True
        return keep


def _counts(clusters: NDArray[np.int32], types: int) -> sp.csr_array:
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


def _region(
    near: sp.csr_array, held: sp.csr_array, size: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Clusters of a partition, one at random and those that most columns share with them."""
    if size >= held.shape[0]:
        return np.arange(held.shape[0])
    touched = sp.csr_array((near @ held.T) > 0, dtype=np.float64)
    together = sp.csr_array(touched.T @ touched)
    weights = np.zeros(held.shape[0])
    region = [int(rng.integers(held.shape[0]))]
    free = np.ones(held.shape[0], dtype=bool)
    while True:
        last = region[-1]
        free[last] = False
        if len(region) == size:
            return np.array(region)
        begin, end = together.indptr[last], together.indptr[last + 1]
        weights[together.indices[begin:end]] += together.data[begin:end]
        score = np.where(free, weights * (0.5 + rng.random(len(weights))), -1.0)
        region.append(int(np.argmax(score)))
