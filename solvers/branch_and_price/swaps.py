"""Columns for ``sse`` by local search: clusters at hand, changed a row at a time while that pays.

A cluster C of m rows with sum s costs Σ‖x‖² − ‖s‖²/m, so a row more, a row less, or one in exchange
for another changes its reduced cost by a few products. Where clusters are large, a truncated search
from each root misses most columns of negative reduced cost, while nearly all of them are a few
exchanges away from columns that nearly pay. Nothing is proven here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kanopy.solvers.branch_and_price.pricer_common import reduced_costs
from kanopy.solvers.branch_and_price.pricer_sse import SsePricer, cut_lists
from kanopy.solvers.branch_and_price.pricing import Cuts, Duals, Priced
from kanopy.solvers.branch_and_price.search_sse import count_in, due
from kanopy.solvers.kernels.inner import inner, kernel
from kanopy.solvers.kernels.nearby import Nearby

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LARGE = 7
"""The k from which columns are sought by exchanges."""

NEIGHBOURS = 15
"""Nearest types of each row of a cluster that may enter it."""

STARTS = 5
"""Columns per type from which exchanges begin, those of least reduced cost."""

BEST = 3
"""New columns per type at most, where a cluster belongs to its type of the largest dual."""


class Swaps:
    """Exchanges for one pricer."""

    def __init__(self, pricer: SsePricer) -> None:
        self.pricer = pricer
        # from the middle, or squares of points far from 0 would be rounded
        self._points = np.ascontiguousarray(pricer.points - pricer.points.mean(axis=0))
        wanted = min(NEIGHBOURS + 1, len(self._points))
        self._near = Nearby(self._points).nearest(0, len(self._points), wanted)[0].astype(np.int64)

    def price(
        self,
        clusters: NDArray[np.int32],
        costs: Floats,
        duals: Duals,
        cuts: Cuts,
        threshold: float = -1e-9,
    ) -> Priced:
        """Clusters of reduced cost below the threshold near those given; never complete."""
        number = len(duals.types)
        reduced = reduced_costs(clusters, costs, duals, cuts)
        starts = np.argsort(reduced, kind="stable")[: STARTS * number]
        active = np.flatnonzero(duals.cuts < 0) if len(cuts) else np.empty(0, dtype=np.int64)
        _, _, type_starts, type_cuts = cut_lists(cuts, active, number)
        rows = clusters[starts].copy()
        _exchange(
            rows,
            self._points,
            (self._points**2).sum(axis=1),
            self._near,
            self.pricer.k,
            duals.types,
            cuts.divisors[active],
            -duals.cuts[active] if len(active) else np.empty(0),
            type_starts,
            type_cuts,
        )
        rows = np.unique(np.sort(rows, axis=1)[:, ::-1], axis=0)
        sizes = (rows >= 0).sum(axis=1).astype(np.int64)
        costs = self.pricer.costs(rows, sizes)
        reduced = reduced_costs(rows, costs, duals, cuts)
        kept = _best_of_roots(rows, reduced, duals.types, threshold)
        return Priced(rows[kept], sizes[kept], costs[kept], reduced[kept], False)


def _best_of_roots(
    rows: NDArray[np.int32], reduced: Floats, duals: Floats, threshold: float
) -> Ints:
    """Places of the few best clusters of each root among those below the threshold."""
    own = np.where(rows >= 0, duals[rows], -np.inf)
    root = rows[np.arange(len(rows)), own.argmax(axis=1)]
    order = np.lexsort((reduced, root))
    sorted_roots = root[order]
    first = np.searchsorted(sorted_roots, sorted_roots)
    few = np.arange(len(order)) - first < BEST
    kept: Ints = order[few & (reduced[order] < threshold)]
    return kept


@kernel
def _exchange(
    rows: NDArray[np.int32],
    points: Floats,
    squares: Floats,
    near: Ints,
    k: int,
    dual: Floats,
    divisors: Ints,
    penalties: Floats,
    type_starts: Ints,
    type_cuts: Ints,
) -> None:
    """Descend from each cluster, in place, by the best addition, removal or exchange each time."""
    width, columns = rows.shape[1], points.shape[1]
    held = np.zeros(max(len(divisors), 1), dtype=np.int64)
    seen = np.full(len(points), -1, dtype=np.int64)
    outside = np.empty(width * near.shape[1], dtype=np.int64)
    total = np.empty(columns)
    for place in range(len(rows)):
        row = rows[place]
        m = 0
        total[:] = 0.0
        while m < width and row[m] >= 0:
            total += points[row[m]]
            count_in(row[m], type_starts, type_cuts, held, 1)
            m += 1
        for step in range(3 * width):
            stamp = place * 3 * width + step
            for i in range(m):
                seen[row[i]] = stamp
            number = 0
            for i in range(m):
                for z in near[row[i]]:
                    if seen[z] != stamp:
                        seen[z] = stamp
                        outside[number] = z
                        number += 1
            norm = (total * total).sum()
            least, leaves, enters = -1e-9, -1, -1
            for i in range(-1, m):  # −1: nothing leaves
                size, gain, left = m, 0.0, norm
                x = 0
                if i >= 0:
                    x = row[i]
                    before = _saved(x, divisors, penalties, type_starts, type_cuts, held)
                    count_in(x, type_starts, type_cuts, held, -1)
                    size -= 1
                    product = 0.0
                    for j in range(columns):
                        product += total[j] * points[x, j]
                    left = norm - 2.0 * product + squares[x]
                    gain = dual[x] - squares[x] - before
                    if m > k:
                        change = gain + norm / m - left / size
                        if change < least:
                            least, leaves, enters = change, i, -1
                if size < width:
                    for o in range(number):
                        z = outside[o]
                        product = 0.0
                        if i >= 0:
                            for j in range(columns):
                                product += (total[j] - points[x, j]) * points[z, j]
                        else:
                            for j in range(columns):
                                product += total[j] * points[z, j]
                        whole = left + 2.0 * product + squares[z]
                        change = gain + squares[z] - dual[z] + norm / m - whole / (size + 1)
                        if change < least:
                            change += due(z, divisors, penalties, type_starts, type_cuts, held)
                            if change < least:
                                least, leaves, enters = change, i, z
                if i >= 0:
                    count_in(x, type_starts, type_cuts, held, 1)
            if leaves < 0 and enters < 0:
                break
            if leaves >= 0:
                count_in(row[leaves], type_starts, type_cuts, held, -1)
                total -= points[row[leaves]]
                m -= 1
                row[leaves] = row[m]
                row[m] = -1
            if enters >= 0:
                count_in(enters, type_starts, type_cuts, held, 1)
                total += points[enters]
                row[m] = enters
                m += 1
        for i in range(m):
            count_in(row[i], type_starts, type_cuts, held, -1)


@inner
def _saved(
    x: int, divisors: Ints, penalties: Floats, type_starts: Ints, type_cuts: Ints, held: Ints
) -> float:
    """The penalties that taking type x out would save."""
    saved, times = 0.0, 0
    for e in range(type_starts[x], type_starts[x + 1]):
        c = type_cuts[e]
        # a cut that holds x several times stands here as often, one after the other
        times = times + 1 if e > type_starts[x] and type_cuts[e - 1] == c else 1
        if (held[c] - times + 1) % divisors[c] == 0:
            saved += penalties[c]
    return saved
