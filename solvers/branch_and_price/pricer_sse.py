"""Pricing for ``sse``: the clusters of least reduced cost, by a search on squared distances.

The search itself and the proofs of its rules are in :mod:`search_sse`. Up to ``MATRIX`` types it
reads a full distance matrix; above, each root asks an index for the types it could pay for: a
cluster that holds the root i and y costs at least D_iy/2, and all its duals are at most that of i
(roots come by falling duals), so D_iy < 2·(threshold + m·dual_i + count) is necessary.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kanopy.instances.microdata import Microdata
from kanopy.solvers.branch_and_price.components import components
from kanopy.solvers.branch_and_price.pricer_common import reduced_costs
from kanopy.solvers.branch_and_price.pricing import Cuts, Duals, Priced, Restrictions, Search
from kanopy.solvers.branch_and_price.search_sse import search_roots
from kanopy.solvers.clock import now
from kanopy.solvers.kernels.nearby import Nearby

MATRIX = 2000
"""Types up to which all squared distances are kept; above, lists of near types are far faster."""

_SLICE = 4_000_000
"""Candidates looked at between two looks at the clock, some tenths of a second."""

PAIRED = 30
"""Candidates of a root above which each is first tested together with the root."""

EXTREME = 200
"""Points beyond 2^±EXTREME are scaled: their squares are near what the search takes for ∞, or 0."""

_BLOCK = 100
"""Roots whose neighbours are asked for at a time."""


class SsePricer:
    """Prices clusters of the rows of ``data`` by their sum of squared distances to the mean.

    >>> import kanopy as kn
    >>> pricer = SsePricer(kn.example("testdata"), 3)
    >>> bool(pricer.cost(np.array([0, 1, 2], dtype=np.int32)) > 0)
    True
    """

    def __init__(self, data: Microdata, k: int, largest: int | None = None) -> None:
        self.k = k
        self.largest = largest or 2 * k - 1
        self.paired = PAIRED
        self.multiplicities = data.counts.copy()  # writable, so that kernels compile once
        self.points = np.ascontiguousarray(data.points[data.first_rows])
        unit = _unit(self.points)
        self._square = unit * unit
        self._scaled = self.points / unit
        self._matrix = np.empty((0, 0))
        self._nearby = Nearby(self._scaled)
        self._listed = len(self._scaled) > MATRIX
        if not self._listed:
            self._matrix = _squared_distances(self._scaled)
        self._near = _nearest_sums(self._nearby, self.multiplicities, self.largest - 2)

    def cost(self, cluster: NDArray[np.int32]) -> float:
        """Sum of squared distances to the mean, of any number of types with repetition."""
        points = self.points[cluster]
        points = points - points[0]  # far from 0, the mean would be rounded
        return float(((points - points.mean(axis=0)) ** 2).sum())

    def costs(self, clusters: NDArray[np.int32], sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Cost of each cluster, given as rows of types padded by −1."""
        inside = (clusters >= 0)[:, :, None]
        # from the first point, since far from 0 the mean would be rounded
        points = self.points[clusters] - self.points[clusters[:, :1]]
        points = np.where(inside, points, 0.0)
        mean = points.sum(axis=1) / np.maximum(sizes, 1)[:, None]
        result: NDArray[np.float64] = (((points - mean[:, None, :]) * inside) ** 2).sum(axis=(1, 2))
        return result

    def price(self, duals: Duals, cuts: Cuts, restrictions: Restrictions, search: Search) -> Priced:
        """Search for clusters below the threshold."""
        square = self._square
        if square == 1.0:
            return self._price(duals, cuts, restrictions, search)
        scaled = Duals(duals.types / square, duals.count / square, duals.cuts / square)
        within = replace(search, threshold=search.threshold / square)
        priced = self._price(scaled, cuts, restrictions, within)
        return replace(
            priced,
            costs=priced.costs * square,
            reduced_costs=priced.reduced_costs * square,
            least=priced.least * square,
            per_root=None if priced.per_root is None else priced.per_root * square,
        )

    def _price(
        self, duals: Duals, cuts: Cuts, restrictions: Restrictions, search: Search
    ) -> Priced:
        number = len(self.multiplicities)
        closed = components(restrictions, number)
        rows = int(self.multiplicities.sum())
        # With so many clusters, the others leave no more rows than this to one.
        fewest = restrictions.range_of_clusters(rows, self.k)[0]
        largest = min(self.largest, rows - self.k * max(fewest - 1, 0))
        every = np.arange(self.k, largest + 1, dtype=np.int64)
        sizes = np.intersect1d(every, search.sizes).astype(np.int64) if search.sizes else every
        if len(sizes) == 0:
            return _nothing(self.largest, number, len(every) == 0)
        active = np.flatnonzero(duals.cuts < 0) if len(cuts) else np.empty(0, dtype=np.int64)
        cut_starts, cut_members, type_starts, type_cuts = cut_lists(cuts, active, number)
        order = np.argsort(-duals.types, kind="stable").astype(np.int64)
        least = np.full(number, min(search.threshold, 0.0))
        complete = len(sizes) == len(every)
        found: list[tuple[NDArray[np.int32], NDArray[np.int64]]] = []
        total = nodes = begin = 0
        root_work = _SLICE
        block_end = 0
        none = np.empty(0, dtype=np.int64)
        lists = (none, none)
        while begin < number:
            if not self._listed:
                block_end = number
            elif begin >= block_end:
                if now() > search.deadline:  # neighbours of a block may take a second by themselves
                    complete = False
                    break
                block_end = min(begin + _BLOCK, number)
                lists = self._candidates(order[begin:block_end], duals, int(sizes[-1]), search)
                block_begin = begin
            offset = begin - block_begin if self._listed else 0
            began = now()
            begin, unfinished, capped, spent, count, clusters, of_size, _ = search_roots(
                self._matrix,
                self._scaled,
                not self._listed,
                self.k,
                self.multiplicities,
                self._near,
                duals.types,
                duals.count,
                order,
                begin,
                block_end,
                lists[0][offset:],
                lists[1],
                sizes,
                cut_starts,
                cut_members,
                cuts.divisors[active],
                -duals.cuts[active] if len(active) else np.empty(0),
                type_starts,
                type_cuts,
                closed.of_type,
                closed.starts,
                closed.members,
                closed.apart_starts,
                closed.apart,
                search.threshold,
                search.per_root,
                search.most_nodes,
                search.most_candidates,
                0 if search.most_columns == 0 else max(search.most_columns - total, 1),
                _SLICE,
                root_work,
                self.paired,
                least,
            )
            nodes += spent
            total += count
            if count:
                found.append((clusters[:count], of_size[:count]))
            complete &= not capped
            if search.most_columns and total >= search.most_columns:
                complete &= not capped and begin >= number
                break
            more = min(4.0, (search.deadline - now()) / max(now() - began, 1e-6))
            # A root that is not done begins anew with more work, if there is time for that.
            if begin < number and more < (1.0 if unfinished else 0.0):
                complete = False
                break
            root_work = int(more * root_work) if unfinished else _SLICE
        return self._priced(found, least, complete, nodes, duals, cuts, search)

    def _candidates(
        self, roots: NDArray[np.int64], duals: Duals, largest: int, search: Search
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Types near enough to each root to share a wanted cluster with it, root included."""
        own = duals.types[roots]
        gain = np.where(own > 0, largest * own, self.k * own)
        squared = np.maximum(0.0, 2.0 * (search.threshold + gain + duals.count))
        return self._nearby.within(roots, squared * (1 + 2e-9) + 1e-300)

    def _priced(
        self,
        found: list[tuple[NDArray[np.int32], NDArray[np.int64]]],
        least: NDArray[np.float64],
        complete: bool,
        nodes: int,
        duals: Duals,
        cuts: Cuts,
        search: Search,
    ) -> Priced:
        width = self.largest
        clusters = np.full((sum(len(s) for _, s in found), width), -1, dtype=np.int32)
        done = 0
        for rows, of_size in found:
            clusters[done : done + len(of_size), : rows.shape[1]] = rows
            done += len(of_size)
        sizes = np.concatenate([s for _, s in found]) if found else np.empty(0, dtype=np.int64)
        costs = self.costs(clusters, sizes) / self._square
        reduced = reduced_costs(clusters, costs, duals, cuts)
        least = np.minimum(least, 0.0)
        proven = complete and search.per_root > 0
        return Priced(
            clusters,
            sizes,
            costs,
            reduced,
            complete,
            float(least.min()) if proven else -np.inf,
            least if proven else None,
            nodes,
        )


def _unit(points: NDArray[np.float64]) -> float:
    """A power of two that brings huge or tiny points to about 1, where no square gets lost.

    >>> _unit(np.array([3.0])), _unit(np.array([2.0**400])) == 2.0**401
    (1.0, True)
    """
    exponent = math.frexp(float(np.abs(points).max(initial=0.0)))[1]
    return math.ldexp(1.0, exponent) if abs(exponent) > EXTREME else 1.0


def _nothing(width: int, number: int, complete: bool) -> Priced:
    empty = np.empty(0)
    return Priced(
        np.empty((0, width), dtype=np.int32),
        np.empty(0, dtype=np.int64),
        empty,
        empty,
        complete,
        0.0 if complete else -np.inf,
        np.zeros(number) if complete else None,
    )


def cut_lists(
    cuts: Cuts, active: NDArray[np.int64], number: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Members of the active cuts, and the active cuts of each type."""
    lists = [cuts.members[cuts.starts[c] : cuts.starts[c + 1]] for c in active]
    lengths = np.array([len(members) for members in lists], dtype=np.int64)
    starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    members = np.concatenate(lists).astype(np.int64) if lists else np.empty(0, dtype=np.int64)
    by_type = np.argsort(members, kind="stable")
    of_type = np.bincount(members, minlength=number)
    type_starts = np.concatenate(([0], np.cumsum(of_type))).astype(np.int64)
    type_cuts = np.repeat(np.arange(len(lists)), lengths)[by_type].astype(np.int64)
    return starts, members, type_starts, type_cuts


def _squared_distances(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """All squared distances, from differences: no cancellation for points far from 0."""
    matrix = np.zeros((len(points), len(points)))
    for column in points.T:
        matrix += (column[:, None] - column) ** 2
    return matrix


def _nearest_sums(nearby: Nearby, copies: NDArray[np.int64], most: int) -> NDArray[np.float64]:
    """``[x, t]``: sum of the t least squared distances of a copy of x to other rows; ∞ if fewer."""
    number = len(copies)
    near, squared = nearby.nearest(0, number, min(most + 1, number))
    squared *= 1 - 1e-12
    times = copies[near] - (near == np.arange(number)[:, None])
    sums = np.full((number, most + 1), np.inf)
    sums[:, 0] = 0.0
    # The t-th least distance is the first whose cumulated copies reach t.
    cumulated = np.cumsum(times, axis=1)
    for t in range(1, most + 1):
        reached = cumulated >= t
        value = np.where(
            reached.any(axis=1), squared[np.arange(number), reached.argmax(axis=1)], np.inf
        )
        sums[:, t] = sums[:, t - 1] + value
    return sums
