r"""What a local search asks of a cluster cost: prices of clusters and of changes to them.

Three costs share one interface, chosen by the number ``table.cost``:

- ``refresh(c)`` prices a cluster after its members changed;
- ``join(u, b)`` is what the cost of b rises by when u joins, ``leave(u)`` what the cost of u's
  cluster falls by when u leaves;
- ``probe(u, b)`` is ``join`` together with the best swap of u for a member of b;
- ``apart(u, v)`` is a dissimilarity of two units.

``sse``: with centroids c_A, c_B and sizes a, b, a swap of u ∈ A and w ∈ B changes the cost by
2(c_B − c_A)·(x_w − x_u) − (1/a + 1/b)·\|x_w − x_u\|², one pass over the columns. ``hamming``: sums
of distances to the members. ``range``: the loss of a cluster with one member replaced, by a scan.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

SSE, HAMMING, RANGE = 0, 1, 2


class Table(NamedTuple):
    """The instance as the kernels see it: units (rows) with values, codes and neighbours."""

    cost: int
    k: int
    points: NDArray[np.float64]
    """``sse``: coordinates, columns padded with zeros to a multiple of four. ``range``: numeric
    columns times weight/width, so that a loss is max − min."""
    codes: NDArray[np.int32]
    weights: NDArray[np.float64]
    """Of the columns of codes: weight of a mismatch, or of one more distinct value."""
    neighbours: NDArray[np.int32]
    """For each unit some others, the nearest first."""


class State(NamedTuple):
    """A partition under change, the journal to take changes back, and scratch space."""

    label: NDArray[np.int32]
    """Cluster of each unit, −1 while it has none."""
    place: NDArray[np.int32]
    """Position of each unit among its cluster's members."""
    members: NDArray[np.int32]
    size: NDArray[np.int32]
    price: NDArray[np.float64]
    """Cost of each cluster."""
    center: NDArray[np.float64]
    """``sse``: centroid of each cluster."""
    order: NDArray[np.int32]
    """All cluster numbers, the ones in use first."""
    rank: NDArray[np.int32]
    """Position of each cluster number in ``order``."""
    stamp: NDArray[np.int64]
    """Last iteration that saved a cluster in the journal."""
    saved: NDArray[np.int32]
    saved_size: NDArray[np.int32]
    saved_members: NDArray[np.int32]
    saved_price: NDArray[np.float64]
    saved_center: NDArray[np.float64]
    queue: NDArray[np.int32]
    queued: NDArray[np.bool_]
    mark: NDArray[np.int64]
    """Last probe that looked at a cluster."""
    homeless: NDArray[np.int32]
    random: NDArray[np.uint64]
    counters: NDArray[np.int64]


@njit(cache=True, forceinline=True)
def distance(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Squared distance of vectors whose length is a multiple of four, in four partial sums."""
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


@njit(cache=True, forceinline=True)
def _swap_sse(
    center_a: NDArray[np.float64],
    center_b: NDArray[np.float64],
    u: NDArray[np.float64],
    w: NDArray[np.float64],
    factor: float,
) -> float:
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


@njit(cache=True, forceinline=True)
def _mismatch(
    a: NDArray[np.int32], b: NDArray[np.int32], weights: NDArray[np.float64]
) -> float:
    total = 0.0
    for j in range(weights.shape[0]):
        if a[j] != b[j]:
            total += weights[j]
    return total


@njit(cache=True, forceinline=True)
def _mismatches(
    codes: NDArray[np.int32],
    weights: NDArray[np.float64],
    unit: int,
    members: NDArray[np.int32],
    size: int,
) -> float:
    """Sum of the distances of a unit to the members of a cluster."""
    total = 0.0
    for q in range(size):
        total += _mismatch(codes[unit], codes[members[q]], weights)
    return total


@njit(cache=True)
def _loss(
    points: NDArray[np.float64],
    codes: NDArray[np.int32],
    weights: NDArray[np.float64],
    members: NDArray[np.int32],
    size: int,
    without: int,
    extra: int,
) -> float:
    """``range`` loss per row of a cluster without one unit and with another (−1 for none)."""
    first = extra
    if first < 0:
        first = members[0] if members[0] != without else members[1]
    loss = 0.0
    for j in range(points.shape[1]):
        low = high = points[first, j]
        for q in range(size):
            unit = members[q]
            if unit != without:
                value = points[unit, j]
                if value < low:
                    low = value
                elif value > high:
                    high = value
        loss += high - low
    for j in range(codes.shape[1]):
        for q in range(size):
            unit = members[q]
            if unit == without or unit == first or codes[unit, j] == codes[first, j]:
                continue
            fresh = True
            for p in range(q):
                if members[p] != without and codes[members[p], j] == codes[unit, j]:
                    fresh = False
                    break
            if fresh:
                loss += weights[j]
    return loss


@njit(cache=True, forceinline=True)
def apart(table: Table, u: int, v: int) -> float:
    """Dissimilarity of two units: squared distance, weighted mismatches, or joint loss."""
    if table.cost == SSE:
        return distance(table.points[u], table.points[v])
    total = _mismatch(table.codes[u], table.codes[v], table.weights)
    if table.cost == RANGE:
        for j in range(table.points.shape[1]):
            total += abs(table.points[u, j] - table.points[v, j])
    return total


@njit(cache=True)
def refresh(table: Table, state: State, c: int) -> None:
    """Price cluster c anew, from its members alone, so that nothing drifts."""
    size = state.size[c]
    members = state.members[c]
    total = 0.0
    if size == 0:
        state.price[c] = 0.0
        return
    if table.cost == SSE:
        center = state.center[c]
        center[:] = table.points[members[0]]
        for q in range(1, size):
            center += table.points[members[q]]
        center /= size
        for q in range(size):
            total += distance(table.points[members[q]], center)
    elif table.cost == HAMMING:
        for q in range(1, size):
            total += _mismatches(table.codes, table.weights, members[q], members, q)
    else:
        total = size * _loss(table.points, table.codes, table.weights, members, size, -1, -1)
    state.price[c] = total


@njit(cache=True, forceinline=True)
def leave(table: Table, state: State, u: int) -> float:
    """What the cost of u's cluster falls by when u leaves."""
    c = state.label[u]
    size = state.size[c]
    if size == 1:
        return 0.0
    if table.cost == SSE:
        return size / (size - 1.0) * distance(table.points[u], state.center[c])
    members = state.members[c]
    if table.cost == HAMMING:
        return _mismatches(table.codes, table.weights, u, members, size)
    rest = _loss(table.points, table.codes, table.weights, members, size, u, -1)
    return state.price[c] - (size - 1.0) * rest


@njit(cache=True, forceinline=True)
def join(table: Table, state: State, u: int, b: int) -> float:
    """What the cost of cluster b rises by when u joins."""
    size = state.size[b]
    if table.cost == SSE:
        return size / (size + 1.0) * distance(table.points[u], state.center[b])
    members = state.members[b]
    if table.cost == HAMMING:
        return _mismatches(table.codes, table.weights, u, members, size)
    loss = _loss(table.points, table.codes, table.weights, members, size, -1, u)
    return (size + 1.0) * loss - state.price[b]


@njit(cache=True, forceinline=True)
def probe(table: Table, state: State, u: int, left: float, b: int) -> tuple[float, float, int]:
    """``join(u, b)``, the least change when u swaps with a member of b, and that member.

    ``left`` is ``leave(u)``.
    """
    a = state.label[u]
    size_a, size_b = state.size[a], state.size[b]
    members = state.members[b]
    best = np.inf
    partner = -1
    if table.cost == SSE:
        factor = 1.0 / size_a + 1.0 / size_b
        for q in range(size_b):
            change = _swap_sse(
                state.center[a], state.center[b], table.points[u], table.points[members[q]], factor
            )
            if change < best:
                best = change
                partner = q
        joined = size_b / (size_b + 1.0) * distance(table.points[u], state.center[b])
    elif table.cost == HAMMING:
        codes, weights = table.codes, table.weights
        joined = _mismatches(codes, weights, u, members, size_b)
        for q in range(size_b):
            w = members[q]
            change = (
                _mismatches(codes, weights, w, state.members[a], size_a)
                - _mismatches(codes, weights, w, members, size_b)
                - 2.0 * _mismatch(codes[u], codes[w], weights)
            )
            if change < best:
                best = change
                partner = q
        best += joined - left
    else:
        points, codes, weights = table.points, table.codes, table.weights
        joined = (size_b + 1.0) * _loss(points, codes, weights, members, size_b, -1, u)
        joined -= state.price[b]
        for q in range(size_b):
            w = members[q]
            change = size_a * _loss(points, codes, weights, state.members[a], size_a, u, w)
            if change >= best:
                continue
            change += size_b * _loss(points, codes, weights, members, size_b, w, u)
            if change < best:
                best = change
                partner = q
        best -= state.price[a] + state.price[b]
    return joined, best, members[partner]
