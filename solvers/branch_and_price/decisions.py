"""Branching decisions: what respects them, and which to take next."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kanopy.solvers.branch_and_price.pricing import Restrictions
from kanopy.solvers.kernels.inner import kernel

Ints = NDArray[np.int64]

COUNT_FRACTION = 0.01
"""Distance of Σx from the next whole number above which it is a candidate for branching."""

Children = tuple[Restrictions, Restrictions]


def promising(
    clusters: NDArray[np.int32],
    x: NDArray[np.float64],
    duals: NDArray[np.float64],
    copies: Ints,
    old: Restrictions,
    number: tuple[int, int],
    most_pairs: int,
) -> list[Children]:
    """The number of clusters if it is fractional, and the most promising pairs of single types."""
    found: list[Children] = []
    total = float(x.sum())
    fewest, most = number
    between = fewest <= total <= most  # rounding may exceed the range, whose children are empty
    if between and min(total - math.floor(total), math.ceil(total) - total) > COUNT_FRACTION:
        found.append(
            (
                replace(old, clusters=(math.ceil(total), most)),
                replace(old, clusters=(fewest, math.floor(total))),
            )
        )
    pairs, weights = pair_weights(clusters, x)
    inner = (weights > 1e-6) & (weights < 1 - 1e-6)
    inner &= (copies[pairs] == 1).all(axis=1)
    pairs, weights = pairs[inner], weights[inner]
    half = np.minimum(weights, 1 - weights)
    by_dual = np.argsort(-half * duals[pairs].min(axis=1), kind="stable")
    by_half = np.argsort(-half, kind="stable")
    for c in dict.fromkeys([*by_dual[: most_pairs - 2], *by_half[:2]]):
        pair = (int(pairs[c, 0]), int(pairs[c, 1]))
        found.append(
            (
                replace(old, together=(*old.together, pair)),
                replace(old, apart=(*old.apart, pair)),
            )
        )
    return found


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


def pair_weights(
    clusters: NDArray[np.int32], x: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Σ_{C∋i,j} x_C for the pairs i < j that share a column in use.

    >>> pairs, weights = pair_weights(np.array([[0, 1, -1], [0, 1, 2]], np.int32), np.full(2, 0.5))
    >>> pairs.tolist(), weights.tolist()
    ([[0, 1], [0, 2], [1, 2]], [1.0, 0.5, 0.5])
    """
    used = np.flatnonzero(x > 1e-9)
    rows = np.sort(clusters[used].astype(np.int64), axis=1)
    first, second = np.triu_indices(rows.shape[1], 1)
    left, right = rows[:, first].ravel(), rows[:, second].ravel()
    weight = np.repeat(x[used], len(first))
    inside = left >= 0
    both = np.column_stack([left[inside], right[inside]])
    pairs, where = np.unique(both, axis=0, return_inverse=True)
    total = np.zeros(len(pairs))
    np.add.at(total, where.ravel(), weight[inside])
    return pairs, total


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
