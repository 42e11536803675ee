"""Pricing by inspection: a list of all the clusters that a better partition can hold.

By :mod:`enumeration` a partition cheaper than a cutoff holds only clusters of reduced cost below
the gap, for the duals of the bound. Once these are few enough to be kept, the rest of the search
knows no others: pricing looks at each of them, which takes milliseconds however many cuts there
are (Baldacci, Christofides and Mingozzi, *Mathematical Programming*, 2008, for routing). All that
is proven over the list is proven of the partitions cheaper than its cutoff, and no other matters.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from kanopy.solvers.branch_and_price.pricer_common import reduced_costs
from kanopy.solvers.branch_and_price.pricing import (
    Cuts,
    Duals,
    Priced,
    Pricer,
    Restrictions,
    Search,
)
from kanopy.solvers.kernels.inner import kernel

MOST_LISTED = 400_000
"""Clusters up to which a list of them replaces pricing, which is faster beyond that."""

SHORTER = 0.9
"""Share of a list at which it is copied without the rest."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Pool:
    """Prices the clusters of a list.

    The root of a cluster is its first type, so that a type is the root of at most as many clusters
    of a partition as its multiplicity says, which the bounds per root rest on.

    Parameters
    ----------
    pricer
        What the list came from; it still knows the cost of any cluster.
    clusters, costs
        The list, each row ascending and padded by −1.

    Examples
    --------
    >>> import pandas as pd
    >>> from kanopy.instances.microdata import Microdata
    >>> from kanopy.solvers.branch_and_price.pricer_range import RangePricer
    >>> data = Microdata.from_frame(pd.DataFrame({"a": [0.0, 1.0, 4.0, 10.0]}))
    >>> rows = np.array([[0, 1, -1], [2, 3, -1], [0, 2, -1]], dtype=np.int32)
    >>> pool = Pool(RangePricer(data, 2), rows, np.array([0.2, 1.2, 0.8]))
    >>> found = pool.price(Duals(np.full(4, 0.5)), Cuts(), Restrictions(), Search())
    >>> found.clusters.tolist(), found.per_root.round(3).tolist()
    ([[0, 1, -1], [0, 2, -1]], [-0.8, 0.0, 0.0, 0.0])
    """

    def __init__(self, pricer: Pricer, clusters: NDArray[np.int32], costs: Floats) -> None:
        self.k = pricer.k
        self.source = pricer
        self.clusters = clusters
        self.costs = costs
        self.sizes: Ints = (clusters >= 0).sum(axis=1).astype(np.int64)
        self.multiplicities: Ints = pricer.multiplicities
        self._whole = pricer.multiplicities
        self._places: dict[bytes, int] | None = None

    def __len__(self) -> int:
        return len(self.costs)

    def cost(self, cluster: NDArray[np.int32]) -> float:
        """Cost of any multiset of types."""
        return self.source.cost(cluster)

    def price(self, duals: Duals, cuts: Cuts, restrictions: Restrictions, search: Search) -> Priced:
        """The clusters below the threshold; always complete, but for a limit on their number."""
        reduced = reduced_costs(self.clusters, self.costs, duals, cuts)
        allowed = self.allowed(restrictions)
        if search.sizes:
            allowed &= np.isin(self.sizes, search.sizes)
        reduced[~allowed] = np.inf
        per_root = np.zeros(len(duals.types))
        if len(reduced):
            np.minimum.at(per_root, self.clusters[:, 0], reduced)
        found = np.flatnonzero(reduced < search.threshold)
        if search.per_root > 0:
            found = _best_of_each(found, self.clusters[found, 0], reduced[found], search.per_root)
        complete = not 0 < search.most_columns < len(found)
        if not complete:
            found = found[: search.most_columns]
        return Priced(
            clusters=self.clusters[found],
            sizes=self.sizes[found],
            costs=self.costs[found],
            reduced_costs=reduced[found],
            complete=complete,
            least=float(per_root.min(initial=0.0)) if complete else -math.inf,
            per_root=per_root if complete else None,
            nodes=len(self),
        )

    def allowed(self, restrictions: Restrictions) -> NDArray[np.bool_]:
        """Which clusters respect the decisions and, in a dive, fit into the rows left."""
        allowed = respecting(self.clusters, restrictions, len(self._whole))
        if self.multiplicities is not self._whole:
            _check_copies(self.clusters, self.multiplicities, allowed)
        return allowed

    def below(self, duals: Duals, cuts: Cuts, restrictions: Restrictions, threshold: float) -> Ints:
        """The numbers of those that are allowed and of reduced cost below a threshold."""
        reduced = reduced_costs(self.clusters, self.costs, duals, cuts)
        return np.flatnonzero((reduced < threshold) & self.allowed(restrictions))

    def part(self, which: NDArray[np.integer]) -> Pool:
        """Some of the list, by number."""
        return Pool(self.source, self.clusters[which], self.costs[which])

    def places(self, clusters: NDArray[np.int32]) -> Ints:
        """Where sorted clusters stand on the list; −1 for those that do not."""
        if self._places is None:
            self._places = {row.tobytes(): i for i, row in enumerate(self.clusters)}
        found = (self._places.get(row.tobytes(), -1) for row in clusters)
        return np.fromiter(found, dtype=np.int64, count=len(clusters))


def _best_of_each(found: Ints, roots: NDArray[np.int32], reduced: Floats, most: int) -> Ints:
    """Of the clusters found, the best of each root, at most so many."""
    order = np.lexsort((reduced, roots))
    roots = roots[order]
    first = np.searchsorted(roots, roots)  # where the root's clusters begin
    kept = np.arange(len(roots)) - first < most
    best: Ints = np.sort(found[order[kept]])
    return best


def respecting(
    clusters: NDArray[np.int32], decisions: Restrictions, types: int
) -> NDArray[np.bool_]:
    """Which clusters respect every pair, and so what follows from several pairs, too.

    >>> rows = np.array([[0, 1, 4], [1, 2, 3], [2, 3, -1]], dtype=np.int32)
    >>> respecting(rows, Restrictions(together=((0, 1),)), 5).tolist()
    [True, False, True]
    >>> respecting(rows, Restrictions(apart=((0, 1),)), 5).tolist()
    [False, True, True]
    """
    allowed = np.ones(len(clusters), dtype=bool)
    if decisions.together or decisions.apart:
        together = np.array(decisions.together, dtype=np.int64).reshape(-1, 2)
        apart = np.array(decisions.apart, dtype=np.int64).reshape(-1, 2)
        _check_pairs(clusters, together, apart, types, allowed)
    return allowed


@kernel
def _check_pairs(
    clusters: NDArray[np.int32],
    together: Ints,
    apart: Ints,
    types: int,
    allowed: NDArray[np.bool_],
) -> None:
    """Rule out clusters with one of a pair that stays together, or both of one kept apart."""
    decided = np.zeros(types, dtype=np.bool_)
    for pair in together:
        decided[pair[0]] = decided[pair[1]] = True
    for pair in apart:
        decided[pair[0]] = decided[pair[1]] = True
    inside = np.zeros(types, dtype=np.bool_)
    for row in range(len(clusters)):
        some = False
        for x in clusters[row]:
            if x >= 0 and decided[x]:
                inside[x] = some = True
        if not some:
            continue
        for pair in together:
            if inside[pair[0]] != inside[pair[1]]:
                allowed[row] = False
        for pair in apart:
            if inside[pair[0]] and inside[pair[1]]:
                allowed[row] = False
        for x in clusters[row]:
            if x >= 0:
                inside[x] = False


@kernel
def _check_copies(clusters: NDArray[np.int32], copies: Ints, allowed: NDArray[np.bool_]) -> None:
    """Rule out clusters that hold more rows of a type than there are."""
    for row in range(len(clusters)):
        cluster = clusters[row]
        run = 0
        for j in range(len(cluster)):  # equal types stand side by side
            if cluster[j] < 0:
                break
            run = run + 1 if j > 0 and cluster[j] == cluster[j - 1] else 1
            if run > copies[cluster[j]]:
                allowed[row] = False
                break
