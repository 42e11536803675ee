"""A lower bound for any partition, from nearest neighbours alone: weak, but proven in a line.

A row i shares its cluster C with at least k−1 others. Let δ_r(i) be the r-th smallest distance
from i to another row, in the terms of the cost.

``hamming``
    cost(C) = ½ Σ_{i∈C} Σ_{l∈C} w_il ≥ Σ_{i∈C} ½ Σ_{r<k} δ_r(i).
``sse``
    cost(C) = 1/(2|C|) Σ_{i∈C} Σ_{l∈C} ‖x_i − x_l‖² (001, theorem 2.18). With S_r the sum of the
    r smallest distances, S_{m−1}/m grows with m, being the mean of 0 and a sorted list's head, so
    each row adds at least S_{k−1}/(2k).
``range``
    cost(C) = Σ_{i∈C} loss(C), and loss(C) ≥ loss({i, l}) for each l ∈ C, so each row adds at
    least δ_{k−1}(i).

Branch-and-price gives far better ones; this one is there for every table at once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from kanopy.instances.errors import KanopyError
from kanopy.instances.microdata import Microdata
from kanopy.solvers.costs import check_cost, default_cost, refuse_added
from kanopy.solvers.kernels.inner import kernel
from kanopy.solvers.kernels.nearby import Nearby
from kanopy.solvers.problem import check_k

BLOCK = 5000
"""Rows whose neighbours are sought at a time."""


def lower_bound(
    data: Microdata,
    k: int,
    cost: str | None = None,
    *,
    stopping: Callable[[], bool] = lambda: False,
) -> float:
    """Proven lower bound of the cost of every k-anonymous partition, by nearest neighbours.

    No row adds less than 0. So what was summed up when ``stopping`` first says True is a bound,
    too; only ``sse`` asks for it, in blocks of rows.

    >>> import kanopy as kn
    >>> round(lower_bound(kn.example("testdata"), 3), 3)
    30.0
    """
    if not isinstance(data, Microdata):
        raise KanopyError(f"a bound needs Microdata (see from_frame), got {type(data).__name__}")
    cost = cost or default_cost(data)
    check_cost(data, cost)
    refuse_added(cost, "bounds by nearest neighbours")
    check_k(data, k)
    rows = [np.flatnonzero(data.stratum_of_row == s) for s in range(data.stratum_of_row.max() + 1)]
    total = sum(_bound(data.restrict(part), k, cost, stopping) for part in rows)
    # Rounding in sums of up to millions of rows stays far below the share given away here.
    return less_rounding(data, cost, float(total) * (1 - 1e-9))


def less_rounding(data: Microdata, cost: str, bound: float) -> float:
    r"""A bound that was computed from ``data.points``, lowered to one for the exact points.

    Points are columns times roots of weights, rounded at the size of the values, which may be far
    larger than their differences. √cost of a partition is the norm of the points less their class
    means, so it moves by no more than Δ = ‖points − exact points‖ ≤ 2⁻⁵²‖points‖, and the exact
    cost is at least (√bound − Δ)². Weights of 1 round nothing.
    """
    if cost != "sse" or bound <= 0 or bool(np.all(data.numeric_weights == 1)):
        return bound
    root = np.sqrt(bound) - 2.0**-52 * float(np.linalg.norm(data.points))
    return float(max(root, 0.0) ** 2)


def _bound(data: Microdata, k: int, cost: str, stopping: Callable[[], bool]) -> float:
    if cost == "sse":
        nearby, squares = Nearby(data.points), 0.0
        for start in range(0, data.n, BLOCK):
            if stopping():
                break
            squares += float(nearby.nearest(start, min(start + BLOCK, data.n), k)[1].sum())
        return squares / (2 * k)
    widths = data.upper - data.lower
    # Far from 0, the factors would round away what values differ by.
    scaled = (data.X[data.first_rows] - data.lower) * np.divide(
        data.numeric_weights, widths, out=np.zeros_like(widths), where=widths > 0
    )
    unit = data.nominal_weights / (data.domain_sizes if cost == "range" else 1)
    nearest = _nearest_of_types(scaled, data.codes[data.first_rows], unit, data.counts, k - 1)
    per_row = nearest[:, -1] if cost == "range" else nearest.sum(axis=1) / 2
    return float(per_row @ data.counts)


@kernel
def _nearest_of_types(
    numbers: NDArray[np.float64],
    codes: NDArray[np.int32],
    unit: NDArray[np.float64],
    counts: NDArray[np.int64],
    wanted: int,
) -> NDArray[np.float64]:
    """For each distinct row, its ``wanted`` smallest distances to other rows, ascending.

    The distance adds |difference| over the scaled number columns and ``unit`` over unequal codes.
    """
    types = len(counts)
    nearest = np.full((types, wanted), np.inf)
    for a in range(types):
        row = nearest[a]
        for b in range(types):
            copies = counts[b] - 1 if a == b else counts[b]
            distance = 0.0
            for j in range(numbers.shape[1]):
                distance += abs(numbers[a, j] - numbers[b, j])
            for j in range(codes.shape[1]):
                if codes[a, j] != codes[b, j]:
                    distance += unit[j]
            while copies > 0 and distance < row[wanted - 1]:
                copies -= 1
                place = wanted - 1
                while place > 0 and row[place - 1] > distance:
                    row[place] = row[place - 1]
                    place -= 1
                row[place] = distance
    return nearest
