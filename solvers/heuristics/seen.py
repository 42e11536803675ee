"""The cheapest partition out of the clusters that a search has seen.

A search meets far more good clusters than its best partition holds. They become columns of a
set-partitioning program. Its relaxation says what each row should cost, so that the search can
collect the clusters that would lower it, tried ones included; then MIPs over one region after the
other look for a better partition. Nothing is proven here: the columns are not all there are.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from kanopy.instances.microdata import Microdata
from kanopy.solvers.branch_and_price.column_generation import Clock
from kanopy.solvers.branch_and_price.master import Master, sorted_rows
from kanopy.solvers.branch_and_price.regions import Effort, improve
from kanopy.solvers.branch_and_price.start import clusters_of, labels_of, padded
from kanopy.solvers.kernels.ils import TABLE, new_pool

AT_ONCE = 50_000
"""Clusters collected between two relaxations at most."""

COLUMNS = 20_000
"""Columns kept, those of least reduced cost; they are purged when there are twice as many."""

TOO_LONG = 2.0
"""Seconds after which the MIP of a region is given up."""


class SeenClusters:
    """Columns of a set-partitioning program over the types of a table.

    Attributes
    ----------
    pool
        Where :func:`kanopy.solvers.kernels.ils.iterate` collects clusters and finds the duals.
    base
        Dual of the number of clusters: a cluster's reduced cost is its cost less its members' duals
        less this.
    effort
        What the MIP of a region may take.
    """

    def __init__(self, data: Microdata, k: int, seed: int) -> None:
        self.pool = new_pool(data.n, k, AT_ONCE, seed)
        self.base = 0.0
        self.effort = Effort(TOO_LONG)
        self.k = k
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

    def improve(self, clock: Clock, rng: np.random.Generator) -> tuple[NDArray[np.int64], bool]:
        """A better partition out of the columns, and whether they provably hold none better."""
        master = self._master
        assert master is not None
        useful = np.flatnonzero((self._reduced < self._gap) | (self._uses > 0))
        useful = useful[np.argsort(self._reduced[useful], kind="stable")]
        clusters, costs = master.clusters[useful], master.costs[useful]
        partition, proven = improve(
            clusters,
            costs,
            self._reduced[useful],
            self._uses[useful],
            len(self._counts),
            self.k,
            clock,
            rng,
            self.effort,
        )
        return labels_of(partition, self._types), proven

    def columns(self) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """The columns, clusters of types padded by −1, and their costs."""
        if self._master is None:
            return np.empty((0, 2 * self.k - 1), dtype=np.int32), np.empty(0)
        return self._master.clusters, self._master.costs

    def _least(self, most: int) -> NDArray[np.bool_]:
        """The partition's columns and those of least reduced cost."""
        keep = self._uses > 0
        keep[np.argsort(self._reduced, kind="stable")[:most]] = True
        return keep
