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

SIZE, RANK, STAMP, MARK, FIRST = range(5)
"""Columns of ``clusters``: number of members, position in the order of clusters, last iteration
that saved it, last probe that looked at it; the members follow from column FIRST on."""

PRICE = -1
"""Column of ``values``: the cost of a cluster. The columns before it hold the centroid, if any."""

NONE = np.int64(-1)
"""No unit, no cluster. A plain -1 has a type of its own, for which functions compile once more."""


class SquaredErrors(NamedTuple):
    r"""``sse``: Σ_{i∈C} \|x_i − mean\|².

    With centroids c_A, c_B and sizes a, b, a swap of u ∈ A and w ∈ B changes the cost by
    2(c_B − c_A)·(x_w − x_u) − (1/a + 1/b)·\|x_w − x_u\|², which is one pass over the columns.
    """

    points: NDArray[np.float64]
    """Coordinates, with columns of zeros up to a multiple of four."""


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


def probe(table, clusters, values, u, a, left, b):
    """``join(u, b)``, the least change when u ∈ a swaps with a member of b, and that member.

    ``left`` is ``leave(u, a)``.
    """
    raise NotImplementedError


def apart(table, u, v):
    """Dissimilarity of two units."""
    raise NotImplementedError


@njit(cache=True)
def _distance(a, b):
    """Squared distance; the first vector's length is a multiple of four, for four partial sums."""
    s0 = s1 = s2 = s3 = 0.0
    for t in range(0, a.shape[0], 4):
        e0 = a[t] - b[t]
        e1 = a[t + 1] - b[t + 1]
        e2 = a[t + 2] - b[t + 2]
        e3 = a[t + 3] - b[t + 3]
        s0 += e0 * e0
        s1 += e1 * e1
        s2 += e2 * e2
        s3 += e3 * e3
    return s0 + s1 + s2 + s3


@njit(cache=True)
def _swap(u, w, center_a, center_b, factor):
    s0 = s1 = s2 = s3 = 0.0
    for t in range(0, u.shape[0], 4):
        e0 = w[t] - u[t]
        e1 = w[t + 1] - u[t + 1]
        e2 = w[t + 2] - u[t + 2]
        e3 = w[t + 3] - u[t + 3]
        s0 += e0 * (2.0 * (center_b[t] - center_a[t]) - factor * e0)
        s1 += e1 * (2.0 * (center_b[t + 1] - center_a[t + 1]) - factor * e1)
        s2 += e2 * (2.0 * (center_b[t + 2] - center_a[t + 2]) - factor * e2)
        s3 += e3 * (2.0 * (center_b[t + 3] - center_a[t + 3]) - factor * e3)
    return s0 + s1 + s2 + s3


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
    total = 0.0
    for q in range(FIRST, FIRST + size):
        total += _distance(points[clusters[c, q]], values[c])
    values[c, PRICE] = total


def _leave_sse(table, clusters, values, u, a):
    size = clusters[a, SIZE]
    return size / (size - 1.0) * _distance(table.points[u], values[a]) if size > 1 else 0.0


def _join_sse(table, clusters, values, u, b):
    size = clusters[b, SIZE]
    return size / (size + 1.0) * _distance(table.points[u], values[b])


def _probe_sse(table, clusters, values, u, a, left, b):
    points = table.points
    size = clusters[b, SIZE]
    factor = 1.0 / clusters[a, SIZE] + 1.0 / size
    best = np.inf
    partner = NONE
    for q in range(FIRST, FIRST + size):
        w = clusters[b, q]
        change = _swap(points[u], points[w], values[a], values[b], factor)
        if change < best:
            best = change
            partner = w
    return size / (size + 1.0) * _distance(points[u], values[b]), best, partner


def _apart_sse(table, u, v):
    return _distance(table.points[u], table.points[v])


@njit(cache=True)
def _mismatch(codes, weights, u, v):
    total = 0.0
    for j in range(weights.shape[0]):
        if codes[u, j] != codes[v, j]:
            total += weights[j]
    return total


@njit(cache=True)
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


def _probe_hamming(table, clusters, values, u, a, left, b):
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


@njit(cache=True)
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


def _probe_range(table, clusters, values, u, a, left, b):
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
def _probe(table, clusters, values, u, a, left, b):
    return _PROBE[table.instance_class]


@overload(apart)
def _apart(table, u, v):
    return _APART[table.instance_class]
