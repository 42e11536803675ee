"""Classes and rows as boxes: ranges of numbers and sets of values, and what a row adds to them.

A box is ``low`` and ``high`` of its numeric columns and, for each nominal value, the price of
adding it: 0 once the box holds it. ``points``, ``codes`` and ``price`` are those of
:class:`kanopy.solvers.generalisation.scaled.Scaled`: one line per column, so that loops over rows
run through memory.
"""

# Compiled functions carry no annotations: numba infers their types.
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import numpy as np
from numba import njit

from kanopy.solvers.kernels.inner import inner

FREE, CLASSES = range(2)
"""State of k-member: how many rows are free, how many classes there are."""

NONE = -1
STUCK = -2
"""A source without target: not looked at yet, or with no target left."""


@inner
def _begin(points, codes, price, row, low, high, ask):
    """Make a box cover one row alone."""
    for j in range(len(points)):
        low[j] = high[j] = points[j, row]
    for value in range(len(ask)):
        ask[value] = price[value]
    for j in range(len(codes)):
        ask[codes[j, row]] = 0.0


@inner
def _include(points, codes, row, low, high, ask):
    """Make a box cover one more row."""
    for j in range(len(points)):
        low[j] = min(low[j], points[j, row])
        high[j] = max(high[j], points[j, row])
    for j in range(len(codes)):
        ask[codes[j, row]] = 0.0


@inner
def _growths(points, codes, low, high, ask, rows, growth):
    """Loss that each of the first so many rows adds to a box."""
    for i in range(rows):
        growth[i] = 0.0
    for j in range(len(points)):
        least, most = low[j], high[j]
        for i in range(rows):
            below, above = least - points[j, i], points[j, i] - most
            growth[i] += (below if below > 0.0 else 0.0) + (above if above > 0.0 else 0.0)
    for j in range(len(codes)):
        for i in range(rows):
            growth[i] += ask[codes[j, i]]


@njit(cache=True)
def grow_classes(points, codes, price, k, steps, labels, free, state, low, high, ask, growth):
    """Form up to ``steps`` classes of k by k-member; True once fewer than k rows are free.

    ``free`` are the numbers of the free rows, in order; ``points`` and ``codes`` are theirs alone,
    moved up as others leave, in place.
    """
    while steps > 0 and state[FREE] >= k:
        steps -= 1
        rows = state[FREE]
        chosen = 0  # the box is that of the row looked at last
        _growths(points, codes, low, high, ask, rows, growth)
        for i in range(rows):
            if growth[i] > growth[chosen]:
                chosen = i
        _begin(points, codes, price, chosen, low, high, ask)
        labels[free[chosen]] = state[CLASSES]
        for _ in range(k - 1):
            _growths(points, codes, low, high, ask, rows, growth)
            least = np.inf
            for i in range(rows):
                if growth[i] < least and labels[free[i]] < 0:
                    least = growth[i]
                    chosen = i
            _include(points, codes, chosen, low, high, ask)
            labels[free[chosen]] = state[CLASSES]
        _begin(points, codes, price, chosen, low, high, ask)
        state[CLASSES] += 1
        kept = 0
        for i in range(rows):
            if labels[free[i]] < 0:
                free[kept] = free[i]
                for j in range(len(points)):
                    points[j, kept] = points[j, i]
                for j in range(len(codes)):
                    codes[j, kept] = codes[j, i]
                kept += 1
        state[FREE] = kept
    return state[FREE] < k


@njit(cache=True)
def match_cheapest(
    points, codes, low, high, ask, earlier, by_weight, steps, growth, weight, target_of, source_of
):
    """Match up to ``steps`` further sources with targets; True once none is left to match.

    In the order of the table each source takes its cheapest free target or, ``by_weight``, the
    cheapest of all edges between free sources and free targets is taken, ties by source, then
    target. For that, ``weight`` and ``target_of`` hold each source's cheapest edge when it was
    looked at last; once its target is taken, the weight is a lower bound for its other edges.
    """
    n = len(target_of)
    for _ in range(steps):
        source = NONE
        for i in range(n):
            target = target_of[i]
            if target == STUCK or (target >= 0 and source_of[target] == i):
                continue
            if source == NONE or weight[i] < weight[source]:
                source = i
                if not by_weight:
                    break
        if source == NONE:
            return True
        target = target_of[source]
        if target >= 0 and source_of[target] == NONE:
            source_of[target] = source
            continue
        _growths(points, codes, low[source], high[source], ask[source], n, growth)
        for target in earlier[source]:
            growth[target] = np.inf
        weight[source], target_of[source] = np.inf, STUCK
        for target in range(n):
            if growth[target] < weight[source] and source_of[target] == NONE:
                weight[source], target_of[source] = growth[target], target
    return False


@njit(cache=True)
def growth_matrix(points, codes, low, high, ask, earlier, first, matrix):
    """What each row adds to boxes first, first + 1, …; ∞ where a box has it already."""
    for i in range(len(matrix)):
        box = first + i
        _growths(points, codes, low[box], high[box], ask[box], matrix.shape[1], matrix[i])
        for row in earlier[box]:
            matrix[i, row] = np.inf


@njit(cache=True)
def include_rows(points, codes, low, high, ask, target_of):
    """Make box i cover row target_of[i]."""
    for i in range(len(target_of)):
        _include(points, codes, target_of[i], low[i], high[i], ask[i])
