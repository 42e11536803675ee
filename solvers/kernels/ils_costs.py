r"""What the local search asks of a cluster cost: prices of clusters and of changes to them.

Units are the rows of a table. The search calls the five functions ``refresh``, ``leave``, ``join``,
``probe`` and ``apart``; which code that is, is decided when it is compiled, by the table's type.
"""

# Compiled functions carry no annotations: numba infers their types.
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numba.extending import overload
from numpy.typing import NDArray

from kanopy.solvers.kernels.inner import INNER, inner

SIZE, RANK, STAMP, MARK, FIRST = range(5)
"""Columns of ``clusters``: number of members, position in the order of clusters, last iteration
that saved it, last probe that looked at it; the members follow from column FIRST on."""

PRICE, RADIUS = -1, -2
"""Columns of ``values``: the cost of a cluster and, if it has a centroid, the largest distance of a
member from that. The columns before them hold the centroid."""

NONE = np.int64(-1)
"""No unit, no cluster. A plain -1 has a type of its own, for which functions compile once more."""


class SquaredErrors(NamedTuple):
    r"""``sse``: Σ_{i∈C} \|x_i − mean\|².

    With centroids c_A, c_B and sizes a, b, a swap of u ∈ A and w ∈ B changes the cost by
    2(c_B − c_A)·(x_w − x_u) − f\|x_w − x_u\|², f = 1/a + 1/b. That is g(w) − g(u) for
    g(x) = 2x·(c_B − c_A + f x_u) − f\|x\|²: one inner product for each w.

    No w need be looked at if none can help: a swap is u's move to B followed by w's move to A,
    and w is at most r = radius(B) + δ(u, c_B)/(b+1) away from the centroid of B + u, so that its
    move saves at most (b+1)/b·r².
    """

    points: NDArray[np.float64]
    norms: NDArray[np.float64]
    """Squared lengths."""
    way: NDArray[np.float64]
    """Room for a vector."""


class Mismatches(NamedTuple):
    """``hamming``: over all pairs of a cluster, the weights of the columns in which they differ."""

    codes: NDArray[np.int32]
    weights: NDArray[np.float64]


class Losses(NamedTuple):
    """``range``: size times loss, the widths of numeric columns plus further values of others."""

    points: NDArray[np.float64]
    """Numeric columns times weight / width."""
    codes: NDArray[np.int32]
    weights: NDArray[np.float64]
    """weight / size of the domain."""


Table = SquaredErrors | Mismatches | Losses

# What kernels ask of a cost. Compiled code takes the function for its table's type from the
# overloads at the end of this module; in plain Python there is nothing to call.


def refresh(table, clusters, values, c):
    """Price cluster c anew, from its members alone, so that nothing drifts."""
    raise NotImplementedError


def leave(table, clusters, values, u, a):
    """What the cost of cluster a falls by when its member u leaves."""
    raise NotImplementedError


def join(table, clusters, values, u, b):
    """What the cost of cluster b rises by when u joins."""
    raise NotImplementedError


def probe(table, clusters, values, u, a, left, b, limit):
    """``join(u, b)``, the least change when u ∈ a swaps with a member of b, and that member.

    ``left`` is ``leave(u, a)``. Changes of ``limit`` or more may be left out: ∞ says that all are.
    """
    raise NotImplementedError


def apart(table, u, v):
    """Dissimilarity of two units."""
    raise NotImplementedError


# Sums may be taken in any order, so that they are vectorised.
_ANY_ORDER = {"reassoc", "contract", "nsz"}


@njit(**INNER, fastmath=_ANY_ORDER)
def _distance(a, b):
    """Squared distance, over the length of the first vector."""
    total = 0.0
    for t in range(a.shape[0]):
        total += (a[t] - b[t]) * (a[t] - b[t])
    return total


@njit(**INNER, fastmath=_ANY_ORDER)
def _dot(a, b):
    """Inner product."""
    total = 0.0
    for t in range(a.shape[0]):
        total += a[t] * b[t]
    return total


def _refresh_sse(table, clusters, values, c):
    points = table.points
    size = clusters[c, SIZE]
    columns = points.shape[1]
    for t in range(columns):
        values[c, t] = 0.0
    for q in range(FIRST, FIRST + size):
        u = clusters[c, q]
        for t in range(columns):
            values[c, t] += points[u, t]
    for t in range(columns):
        values[c, t] /= max(size, 1)
    total = farthest = 0.0
    for q in range(FIRST, FIRST + size):
        distance = _distance(points[clusters[c, q]], values[c])
        total += distance
        farthest = max(farthest, distance)
    values[c, RADIUS] = np.sqrt(farthest)
    values[c, PRICE] = total


def _leave_sse(table, clusters, values, u, a):
    size = clusters[a, SIZE]
    return size / (size - 1.0) * _distance(table.points[u], values[a]) if size > 1 else 0.0


def _join_sse(table, clusters, values, u, b):
    size = clusters[b, SIZE]
    return size / (size + 1.0) * _distance(table.points[u], values[b])


def _probe_sse(table, clusters, values, u, a, left, b, limit):
    points, norms, way = table.points, table.norms, table.way
    size = clusters[b, SIZE]
    distance = _distance(points[u], values[b])
    joined = size / (size + 1.0) * distance
    reach = values[b, RADIUS] + np.sqrt(distance) / (size + 1.0)
    if joined - left - (size + 1.0) / size * reach * reach >= limit:
        return joined, np.inf, NONE
    factor = 1.0 / clusters[a, SIZE] + 1.0 / size
    for t in range(points.shape[1]):
        way[t] = 2.0 * (values[b, t] - values[a, t] + factor * points[u, t])
    best = np.inf
    partner = NONE
    for q in range(FIRST, FIRST + size):
        w = clusters[b, q]
        change = _dot(points[w], way) - factor * norms[w]
        if change < best:
            best = change
            partner = w
    return joined, best - _dot(points[u], way) + factor * norms[u], partner


def _apart_sse(table, u, v):
    return _distance(table.points[u], table.points[v])


@inner
def _mismatch(codes, weights, u, v):
    total = 0.0
    for j in range(weights.shape[0]):
        if codes[u, j] != codes[v, j]:
            total += weights[j]
    return total


@inner
def _mismatches(codes, weights, u, clusters, c, size):
    total = 0.0
    for q in range(FIRST, FIRST + size):
        total += _mismatch(codes, weights, u, clusters[c, q])
    return total


def _refresh_hamming(table, clusters, values, c):
    total = 0.0
    for q in range(1, clusters[c, SIZE]):
        total += _mismatches(table.codes, table.weights, clusters[c, FIRST + q], clusters, c, q)
    values[c, PRICE] = total


def _leave_hamming(table, clusters, values, u, a):
    return _mismatches(table.codes, table.weights, u, clusters, a, clusters[a, SIZE])


def _join_hamming(table, clusters, values, u, b):
    return _mismatches(table.codes, table.weights, u, clusters, b, clusters[b, SIZE])


def _probe_hamming(table, clusters, values, u, a, left, b, limit):
    codes, weights = table.codes, table.weights
    size = clusters[b, SIZE]
    joined = _mismatches(codes, weights, u, clusters, b, size)
    best = np.inf
    partner = NONE
    for q in range(FIRST, FIRST + size):
        w = clusters[b, q]
        change = (
            _mismatches(codes, weights, w, clusters, a, clusters[a, SIZE])
            - _mismatches(codes, weights, w, clusters, b, size)
            - 2.0 * _mismatch(codes, weights, u, w)
        )
        if change < best:
            best = change
            partner = w
    return joined, best + joined - left, partner


def _apart_hamming(table, u, v):
    return _mismatch(table.codes, table.weights, u, v)


@inner
def _loss(points, codes, weights, clusters, c, size, without, extra):
    """Loss per row of cluster c without one unit and with another (−1 for none)."""
    end = FIRST + size
    first = extra
    if first < 0:
        first = clusters[c, FIRST] if clusters[c, FIRST] != without else clusters[c, FIRST + 1]
    loss = 0.0
    for j in range(points.shape[1]):
        low = high = points[first, j]
        for q in range(FIRST, end):
            u = clusters[c, q]
            if u != without:
                low = min(low, points[u, j])
                high = max(high, points[u, j])
        loss += high - low
    for j in range(codes.shape[1]):
        for q in range(FIRST, end):
            u = clusters[c, q]
            if u == without or codes[u, j] == codes[first, j]:
                continue
            fresh = True
            for p in range(FIRST, q):
                v = clusters[c, p]
                if v != without and codes[v, j] == codes[u, j]:
                    fresh = False
                    break
            if fresh:
                loss += weights[j]
    return loss


def _refresh_range(table, clusters, values, c):
    size = clusters[c, SIZE]
    values[c, PRICE] = 0.0
    if size > 0:
        values[c, PRICE] = size * _loss(
            table.points, table.codes, table.weights, clusters, c, size, NONE, NONE
        )


def _leave_range(table, clusters, values, u, a):
    size = clusters[a, SIZE]
    if size == 1:
        return 0.0
    rest = _loss(table.points, table.codes, table.weights, clusters, a, size, u, NONE)
    return values[a, PRICE] - (size - 1.0) * rest


def _join_range(table, clusters, values, u, b):
    size = clusters[b, SIZE]
    loss = _loss(table.points, table.codes, table.weights, clusters, b, size, NONE, u)
    return (size + 1.0) * loss - values[b, PRICE]


def _probe_range(table, clusters, values, u, a, left, b, limit):
    points, codes, weights = table.points, table.codes, table.weights
    size_a, size_b = clusters[a, SIZE], clusters[b, SIZE]
    joined = (size_b + 1.0) * _loss(points, codes, weights, clusters, b, size_b, NONE, u)
    best = np.inf
    partner = NONE
    for q in range(FIRST, FIRST + size_b):
        w = clusters[b, q]
        change = size_a * _loss(points, codes, weights, clusters, a, size_a, u, w)
        if change < best:
            change += size_b * _loss(points, codes, weights, clusters, b, size_b, w, u)
            if change < best:
                best = change
                partner = w
    return joined - values[b, PRICE], best - values[a, PRICE] - values[b, PRICE], partner


def _apart_range(table, u, v):
    total = _mismatch(table.codes, table.weights, u, v)
    for j in range(table.points.shape[1]):
        total += abs(table.points[u, j] - table.points[v, j])
    return total


_REFRESH = {
    SquaredErrors: _refresh_sse,
    Mismatches: _refresh_hamming,
    Losses: _refresh_range,
}
_LEAVE = {SquaredErrors: _leave_sse, Mismatches: _leave_hamming, Losses: _leave_range}
_JOIN = {SquaredErrors: _join_sse, Mismatches: _join_hamming, Losses: _join_range}
_PROBE = {SquaredErrors: _probe_sse, Mismatches: _probe_hamming, Losses: _probe_range}
_APART = {SquaredErrors: _apart_sse, Mismatches: _apart_hamming, Losses: _apart_range}


@overload(refresh)
def _refresh(table, clusters, values, c):
    return _REFRESH[table.instance_class]


@overload(leave)
def _leave(table, clusters, values, u, a):
    return _LEAVE[table.instance_class]


@overload(join)
def _join(table, clusters, values, u, b):
    return _JOIN[table.instance_class]


@overload(probe)
def _probe(table, clusters, values, u, a, left, b, limit):
    return _PROBE[table.instance_class]


@overload(apart)
def _apart(table, u, v):
    return _APART[table.instance_class]
