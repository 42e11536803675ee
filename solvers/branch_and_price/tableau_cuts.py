"""Gomory's cuts, read off the simplex tableau of a program over a list of clusters.

For whole multipliers p ≥ 0 of rows a·x ≤ b with whole a and b, and any whole q > 0, every whole
x ≥ 0 satisfies

    Σ_C ⌊Σ_r p_r a_rC / q⌋ x_C ≤ ⌊Σ_r p_r b_r / q⌋:

the left side is whole and at most Σ_r p_r b_r / q. Subset-row cuts are those whose rows are few and
all of types. Here the rows may also be cuts, and the multipliers come from the basis: a row of its
inverse, taken modulo 1, gives a cut that the point violates wherever the basic variable of that row
is fractional (Gomory, *Bulletin of the AMS*, 1958), and so do multiples of it (Cornuéjols, Li and
Vandenbussche, *Mathematical Programming*, 2003). Only rows with a small common denominator q are
used, so that all is done in whole numbers and no cut depends on rounding: wrong multipliers would
make a weak cut, not a wrong one.

The other rows yield mixed-integer cuts, whose coefficients are not whole; as rows that cuts are
made of, these have slacks of any size.

Such cuts need the coefficient of every cluster, so they are for lists; pricing could not follow.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kanopy.solvers.kernels.inner import inner, kernel

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

LARGEST_DENOMINATOR = 300
"""Denominators beyond this come from rows that are sums of very many; their cuts are dense."""

MULTIPLES = 8
"""Multiples of a row of the inverse that are tried, besides the one of largest remainder."""

VIOLATION = 0.01
"""By how much a cut must be violated."""

PARALLEL = 0.9
"""Cosine between two cuts above which only the deeper one is kept."""

LARGEST_COEFFICIENT = 1000
"""Cuts of cuts may have ever larger coefficients; beyond this they are left out."""

MOST_MIXED, MIXED_PARALLEL = 30, 0.8
"""The same two limits of mixed-integer cuts."""

LEAST_FRACTION, LARGEST_WEIGHT, LARGEST_MIXED, TINY = 0.05, 100.0, 100.0, 1e-9
"""Distance of b from whole numbers, multipliers and coefficients that such cuts are limited to, and
coefficients that count as 0."""

MARGIN = 1e-7
"""What their right-hand sides are raised by: rounding errors, some 1e-11 on
lists of 30,000 clusters, are far smaller within the limits above."""

MOST, CANDIDATES, ENTRIES = 60, 200, 10_000_000
"""Cuts that are added at a time, the most violated ones that these are chosen from, and about how
many coefficients these may have."""


def tableau_cuts(
    matrix: sp.csc_array, sides: Floats, x: Floats, inverse: Floats
) -> tuple[sp.csr_array, Floats]:
    """The deepest cuts that rows of a basis inverse yield, and their right-hand sides.

    Parameters
    ----------
    matrix, sides
        Rows a·x ≤ b, or a·x = b, of whole numbers.
    x
        The point to cut off.
    inverse
        Rows of the basis inverse; only entries at rows that x satisfies with equality may be
        other than whole.

    Examples
    --------
    Three clusters of two of three rows, half of each:

    >>> matrix = sp.csc_array([[1.0, 0.0, 1.0], [1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    >>> inverse = np.linalg.inv(matrix.toarray())
    >>> cuts, right = tableau_cuts(matrix, np.ones(3), np.full(3, 0.5), inverse)
    >>> cuts.toarray().tolist(), right.tolist()
    ([[1.0, 1.0, 1.0]], [1.0])
    """
    none = sp.csr_array((0, matrix.shape[1])), np.empty(0)
    starts, rows = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
    entries = np.round(matrix.data).astype(np.int64)
    right = np.round(sides).astype(np.int64)
    support = np.flatnonzero(x > 1e-9)
    found, divisors, broken = _candidates(starts, rows, entries, right, support, x, inverse)
    if len(broken) == 0:
        return none
    most = min(CANDIDATES, max(MOST, ENTRIES // matrix.shape[1]))
    order = np.argsort(-broken, kind="stable")[:most]
    found, divisors, broken = found[order], divisors[order], broken[order]
    cuts, totals = _choose(starts, rows, entries, right, found, divisors, broken)
    return sp.csr_array(cuts.astype(np.float64)), totals.astype(np.float64)


@inner
def _denominator(values: Floats, most: int) -> int:
    """The least q ≤ most that makes all values whole, or 0."""
    for q in range(1, most + 1):
        whole = True
        for value in values:
            scaled = value * q
            if abs(scaled - np.round(scaled)) > 1e-6 * q:
                whole = False
                break
        if whole:
            return q
    return 0


@inner
def _coefficient(column: int, starts: Ints, rows: Ints, entries: Ints, p: Ints, q: int) -> int:
    total = 0
    for e in range(starts[column], starts[column + 1]):
        total += p[rows[e]] * entries[e]
    return total // q


@kernel
def _candidates(
    starts: Ints,
    rows: Ints,
    entries: Ints,
    right: Ints,
    support: Ints,
    x: Floats,
    inverse: Floats,
) -> tuple[Ints, Ints, Floats]:
    """Multipliers and divisors of cuts, and by how much the point violates them."""
    number = len(right)
    room = max(1, (MULTIPLES + 1) * len(inverse))
    found = np.zeros((room, number), dtype=np.int64)
    divisors = np.empty(room, dtype=np.int64)
    broken = np.empty(room)
    filled = 0
    for i in range(len(inverse)):
        held = np.flatnonzero(inverse[i])
        values = inverse[i][held]
        q = _denominator(values, LARGEST_DENOMINATOR)
        if q <= 1:
            continue
        base = np.empty(len(held), dtype=np.int64)
        total = 0
        for j in range(len(held)):
            base[j] = np.int64(np.round(values[j] * q)) % q
            total += base[j] * right[held[j]]
        best, most = 1, 0  # the multiple of largest remainder b mod q
        for s in range(1, q):
            if (s * total) % q > most:
                best, most = s, (s * total) % q
        for trial in range(1, MULTIPLES + 2):
            s = trial if trial <= MULTIPLES else best
            if s >= q or (trial > MULTIPLES and best <= MULTIPLES):
                continue
            p = found[filled]
            b = 0
            for j in range(len(held)):
                p[held[j]] = (s * base[j]) % q
                b += p[held[j]] * right[held[j]]
            violation = -float(b // q)
            if b % q > 0:
                for c in support:
                    violation += x[c] * _coefficient(c, starts, rows, entries, p, q)
            if violation > VIOLATION:
                divisors[filled] = q
                broken[filled] = violation
                filled += 1
            else:
                p[held] = 0
    return found[:filled], divisors[:filled], broken[:filled]


@kernel
def _choose(
    starts: Ints,
    rows: Ints,
    entries: Ints,
    right: Ints,
    found: Ints,
    divisors: Ints,
    broken: Floats,
) -> tuple[Ints, Ints]:
    """The deepest cuts that differ enough from each other: coefficients and right sides."""
    columns = len(starts) - 1
    cuts = np.zeros((len(found), columns), dtype=np.int32)
    norms = np.zeros(len(found))
    for i in range(len(found)):
        for c in range(columns):
            value = _coefficient(c, starts, rows, entries, found[i], divisors[i])
            if value > LARGEST_COEFFICIENT:
                norms[i] = np.inf
                break
            cuts[i, c] = value
            norms[i] += value * value
    kept = np.empty(MOST, dtype=np.int64)
    totals = np.empty(MOST, dtype=np.int64)
    filled = 0
    for i in np.argsort(-broken / np.sqrt(np.maximum(norms, 1.0)), kind="mergesort"):
        if filled == MOST or norms[i] == np.inf:
            break
        held = np.flatnonzero(cuts[i])
        differs = True
        for other in kept[:filled]:
            product = 0.0
            for place in held:
                product += np.int64(cuts[i, place]) * np.int64(cuts[other, place])
            if product > PARALLEL * np.sqrt(norms[i] * norms[other]):
                differs = False
                break
        if differs:
            total = 0
            for r in range(len(right)):
                total += found[i, r] * right[r]
            totals[filled] = total // divisors[i]
            kept[filled] = i
            filled += 1
    return cuts[kept[:filled]].astype(np.int64), totals[:filled]


def mixed_cuts(
    matrix: sp.csc_array, sides: Floats, whole: NDArray[np.bool_], x: Floats, inverse: Floats
) -> tuple[sp.csr_array, Floats]:
    """Gomory's mixed-integer cuts of rows of a basis inverse, and their right-hand sides.

    For any multipliers λ, the rows add up to Σ_C d_C x_C + Σ_r λ_r s_r = b with slacks s ≥ 0, which
    are whole where the row is; there, λ_r may be taken modulo 1. With f = b − ⌊b⌋ and
    F(d) = ⌊d⌋ + max(0, d − ⌊d⌋ − f) / (1 − f),

        Σ_C F(d_C) x_C + Σ_{whole r} F(λ_r) s_r + Σ_{other r} min(0, λ_r) / (1 − f) s_r ≤ ⌊b⌋

    (Marchand and Wolsey, *Operations Research*, 2001), where each s_r is b_r − a_r·x. F is
    continuous, so that rounding errors change a cut by as little; the right side is raised by far
    more than that. The multipliers need no small denominator, but the coefficients are not whole.

    ``whole`` says which rows have whole coefficients; the other parameters are those of
    :func:`tableau_cuts`.

    >>> matrix = sp.csc_array([[1.0, 0.0, 1.0], [1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    >>> inverse, point = np.linalg.inv(matrix.toarray()), np.full(3, 0.5)
    >>> cuts, right = mixed_cuts(matrix, np.ones(3), np.ones(3, dtype=bool), point, inverse)
    >>> cuts.toarray().tolist(), right.round(3).tolist()
    ([[1.0, 1.0, 1.0]], [1.0])
    """
    starts, rows = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
    most = max(MOST_MIXED, ENTRIES // matrix.shape[1])
    cuts, totals, depths = _round(starts, rows, matrix.data, sides, whole, x, inverse[:most])
    norms = np.sqrt(np.einsum("ij,ij->i", cuts, cuts))
    chosen: list[int] = []
    for i in np.argsort(-depths, kind="stable"):
        if depths[i] <= 0 or len(chosen) == MOST_MIXED:
            break
        if (cuts[chosen] @ cuts[i] <= MIXED_PARALLEL * norms[chosen] * norms[i]).all():
            chosen.append(int(i))
    return sp.csr_array(cuts[chosen]), totals[chosen]


@kernel
def _round(
    starts: Ints,
    rows: Ints,
    entries: Floats,
    right: Floats,
    whole: NDArray[np.bool_],
    x: Floats,
    inverse: Floats,
) -> tuple[Floats, Floats, Floats]:
    """The cut of each row of the inverse, and how deep it is; 0 where there is none worth it."""
    columns, number = len(starts) - 1, len(right)
    cuts = np.zeros((len(inverse), columns))
    totals = np.zeros(len(inverse))
    depths = np.zeros(len(inverse))
    weight = np.empty(number)
    slack = np.empty(number)
    for i in range(len(inverse)):
        b, heaviest = 0.0, 0.0
        for r in range(number):
            weight[r] = inverse[i, r]
            if whole[r]:
                weight[r] -= np.floor(weight[r])
            b += weight[r] * right[r]
            heaviest = max(heaviest, abs(weight[r]))
        f = b - np.floor(b)
        if f < LEAST_FRACTION or f > 1 - LEAST_FRACTION or heaviest > LARGEST_WEIGHT:
            continue
        total = np.floor(b)
        for r in range(number):
            if whole[r]:
                slack[r] = max(0.0, weight[r] - f) / (1 - f)
            else:
                slack[r] = min(0.0, weight[r]) / (1 - f)
            total -= slack[r] * right[r]
        broken, norm, largest = -total, 0.0, 0.0
        for c in range(columns):
            d, less = 0.0, 0.0
            for e in range(starts[c], starts[c + 1]):
                d += weight[rows[e]] * entries[e]
                less += slack[rows[e]] * entries[e]
            value = np.floor(d) + max(0.0, d - np.floor(d) - f) / (1 - f) - less
            if 0 < value < TINY:  # x ≥ 0, so the cut only gets weaker
                value = 0.0
            cuts[i, c] = value
            norm += value * value
            largest = max(largest, abs(value))
            broken += value * x[c]
        if broken > VIOLATION and 0.0 < largest < LARGEST_MIXED:
            depths[i] = broken / np.sqrt(norm)
            totals[i] = total + MARGIN
    return cuts, totals, depths
