"""Costs in whole numbers, rounded down: what follows from them holds for the true costs.

A floating-point number is a whole number times a power of two, so squares, products and sums of the
table's values are computed without error as Python integers. Only the last step rounds, downwards,
to multiples of 2^−bits.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from kanopy.instances.microdata import Microdata

Ints = NDArray[np.int64]

CAP = 1 << 50
"""Larger entries are cut down to this, or to less where clusters are large."""


def largest_entry(size: int) -> int:
    """What entries of pairs and duals may be at most in clusters of so many rows.

    A search adds up size² of them, times 1 (entries), 1 (size · duals) or ½ (shares of penalties);
    with 2^60 for each such sum all it computes stays below 2^63.

    >>> largest_entry(5) == CAP, largest_entry(1 << 12) == 1 << 36
    (True, True)
    """
    return min(CAP, (1 << 60) // size**2)


def whole(values: NDArray[np.float64]) -> tuple[NDArray[np.object_], int]:
    """Integers and an exponent e: the values are the integers times 2^−e, exactly.

    >>> whole(np.array([0.5, 3.0]))
    (array([1, 6], dtype=object), 1)
    """
    ratios = [float(value).as_integer_ratio() for value in values.ravel()]
    exponent = max((bottom.bit_length() - 1 for _, bottom in ratios), default=0)
    integers = [top << (exponent - bottom.bit_length() + 1) for top, bottom in ratios]
    array = np.empty(len(integers), dtype=object)
    array[:] = integers
    return array.reshape(values.shape), exponent


def scaled_down(value: int, exponent: int, bits: int) -> int:
    """⌊value · 2^(bits − exponent)⌋."""
    shift = bits - exponent
    return value << shift if shift >= 0 else value >> -shift


def pair_entries(data: Microdata, rows: Ints, cost: str, bits: int, cap: int = CAP) -> Ints:
    """What each pair of rows adds: w·(x − y)² for ``sse`` (over |C|), w·[x ≠ y] for ``hamming``.

    In units of 2^−bits, rounded down, at most ``cap``.
    """
    number = len(rows)
    entries = np.zeros((number, number), dtype=np.int64)
    if cost == "sse":
        points, e = whole(data.X[rows])
        weights, f = whole(data.numeric_weights)
        for i in range(1, number):
            total = ((points[:i] - points[i]) ** 2) @ weights
            entries[i, :i] = [min(scaled_down(v, 2 * e + f, bits), cap) for v in total]
    else:
        weights, f = whole(data.nominal_weights)
        units = [min(scaled_down(w, f, bits), cap // max(1, len(weights))) for w in weights]
        for column, unit in zip(data.codes[rows].T, units, strict=True):
            entries += np.where(column[:, None] != column, unit, 0)
        return entries
    return entries + entries.T


def range_positions(data: Microdata, rows: Ints, bits: int, size: int = 1) -> Ints:
    """Where the values of each numeric column stand: ⌊w·(x − L)/(U − L)⌋ in units, a row each.

    A range of positions is at most one unit more than the true one. Those of all columns, times
    ``size`` rows, stay below 2^60.
    """
    cap = min(CAP >> 10, (1 << 60) // (size * max(1, len(data.numeric))))
    positions = np.zeros((len(rows), len(data.numeric)), dtype=np.int64)
    unit = Fraction(2) ** bits
    for j, weight in enumerate(data.numeric_weights):
        low, high = Fraction(float(data.lower[j])), Fraction(float(data.upper[j]))
        if high > low:
            factor = unit * Fraction(float(weight)) / (high - low)
            for i, value in enumerate(data.X[rows, j]):
                positions[i, j] = min((Fraction(float(value)) - low) * factor // 1, cap)
    return positions


def value_units(data: Microdata, bits: int, size: int = 1) -> Ints:
    """What a further value of each nominal column adds: ⌊w/|domain|⌋ in units.

    Up to ``size`` values of all columns, times ``size`` rows, stay below 2^60.
    """
    cap = min(CAP >> 10, (1 << 60) // (size**2 * max(1, len(data.nominal))))
    unit = Fraction(2) ** bits
    pairs = zip(data.nominal_weights, data.domain_sizes, strict=True)
    each = [min(Fraction(float(w)) * unit / int(domain) // 1, cap) for w, domain in pairs]
    return np.array(each, dtype=np.int64)


def exact_cost(data: Microdata, labels: Ints, cost: str) -> Fraction:
    """The cost of a partition, without any rounding."""
    order = np.argsort(labels, kind="stable")
    classes = np.split(order, np.cumsum(np.bincount(labels))[:-1])
    if cost == "sse":
        points, e = whole(data.X)
        weights, f = whole(data.numeric_weights)
        total = Fraction(0)
        for rows in classes:
            inside = points[rows]
            squares = ((inside**2).sum(axis=0) @ weights) * len(rows)
            total += Fraction(squares - (inside.sum(axis=0) ** 2) @ weights, len(rows))
        return total / (1 << (2 * e + f))
    if cost == "hamming":
        total = Fraction(0)
        for column, weight in zip(data.codes.T, data.nominal_weights, strict=True):
            unequal = 0
            for rows in classes:
                same = np.bincount(column[rows]).astype(object)
                unequal += len(rows) ** 2 - int((same**2).sum())
            total += Fraction(float(weight)) * unequal / 2
        return total
    total = Fraction(0)
    for rows in classes:
        loss = Fraction(0)
        for j, weight in enumerate(data.numeric_weights):
            low, high = Fraction(float(data.lower[j])), Fraction(float(data.upper[j]))
            if high > low:
                values = data.X[rows, j]
                width = Fraction(float(values.max())) - Fraction(float(values.min()))
                loss += Fraction(float(weight)) * width / (high - low)
        for j, weight in enumerate(data.nominal_weights):
            distinct = len(set(data.codes[rows, j].tolist()))
            loss += Fraction(float(weight)) * (distinct - 1) / int(data.domain_sizes[j])
        total += len(rows) * loss
    return total


def nearest_sums(entries: Ints, copies: Ints, most: int) -> Ints:
    """``[x, t]``: the t least entries of a row of type x with other rows, added up."""
    largest = entries.max(initial=0)  # where there are no more rows
    sums = np.full((len(entries), most + 1), largest, dtype=np.int64)
    for x, row in enumerate(entries):
        times = np.minimum(copies, most)
        times[x] = min(copies[x] - 1, most)
        near = np.argsort(row, kind="stable")[: most + 1]
        least = np.repeat(row[near], times[near])[:most]
        sums[x, 1 : len(least) + 1] = least
    sums[:, 0] = 0
    return np.cumsum(sums, axis=1)
