"""Pure integer programs in whole numbers, as CP-SAT wants them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kanopy.instances.errors import KanopyError
from kanopy.models.linear_form import LinearForm

LARGEST = 2**53
"""Sums of this size and beyond are refused: below, 64-bit numbers and doubles are both exact."""
_DENOMINATOR = 10**6
_SLACK = Fraction(1, 10**9)  # what a side of a row may have lost by rounding
_ELSEWHERE = "use the back-end highs, scip or gurobi"


@dataclass(frozen=True, eq=False)
class WholeProgram:
    """min costᵀx, row_lower ≤ matrix·x ≤ row_upper, lower ≤ x ≤ upper, all in whole numbers.

    The true objective of x is at least ``bound(costᵀx)``, and equal but for rounded costs.
    """

    cost: NDArray[np.int64]
    starts: NDArray[np.int64]
    columns: NDArray[np.int64]
    factors: NDArray[np.int64]
    row_lower: NDArray[np.int64]
    row_upper: NDArray[np.int64]
    lower: NDArray[np.int64]
    upper: NDArray[np.int64]
    scale: int
    constant: float
    lost: float

    def bound(self, scaled: float) -> float:
        """Lower bound of the true objective, given one of the scaled objective."""
        return scaled / self.scale + self.constant - self.lost


def whole_program(form: LinearForm) -> WholeProgram | None:
    """Scale a pure integer program to whole numbers; None if bounds leave a variable no number.

    Coefficients must be fractions with a denominator of at most 10⁶ (those that a double shows:
    0.1 counts as 1/10), and each row is multiplied by the least common one, so rows are kept
    exactly. Costs are treated alike where that stays small enough; else they are multiplied by a
    power of ten, at most 10⁶, and rounded. With e the rounding error of a cost, the true objective
    differs from the scaled one by Σ e·x ≥ Σ min(e·lower, e·upper) = −``lost``.
    """
    _check(form)
    lower, upper = np.ceil(form.lower - 1e-9), np.floor(form.upper + 1e-9)
    if np.any(lower > upper):
        return None
    reach = np.maximum(np.abs(lower), np.abs(upper))
    matrix = form.matrix
    factors = np.empty(matrix.nnz, dtype=np.int64)
    rows = matrix.shape[0]
    row_lower, row_upper = np.empty(rows, dtype=np.int64), np.empty(rows, dtype=np.int64)
    for row in range(rows):
        terms = slice(matrix.indptr[row], matrix.indptr[row + 1])
        scale, numbers = _scaled(matrix.data[terms])
        if scale is None:
            raise KanopyError(
                f"row {row} has coefficients that are no fractions with denominators up to "
                f"{_DENOMINATOR}, which CP-SAT needs; {_ELSEWHERE}"
            )
        size = _size(numbers, reach[matrix.indices[terms]])
        if size >= LARGEST:
            raise KanopyError(f"row {row} reaches {size:.3g}, too much for CP-SAT; {_ELSEWHERE}")
        factors[terms] = numbers
        low, high = float(form.row_lower[row]), float(form.row_upper[row])
        row_lower[row], row_upper[row] = _sides(low, high, scale, size)
    scale, cost = _scaled_cost(form.cost, reach)
    error = form.cost - cost / scale
    return WholeProgram(
        cost=cost,
        starts=matrix.indptr.astype(np.int64),
        columns=matrix.indices.astype(np.int64),
        factors=factors,
        row_lower=row_lower,
        row_upper=row_upper,
        lower=lower.astype(np.int64),
        upper=upper.astype(np.int64),
        scale=scale,
        constant=form.constant,
        lost=-float(np.minimum(error * lower, error * upper).sum()),
    )


def _check(form: LinearForm) -> None:
    if form.quadratic is not None and form.quadratic.count_nonzero():
        raise KanopyError(
            "CP-SAT takes no quadratic objective; use the back-end gurobi or scip, or write the "
            "objective piecewise linear"
        )
    continuous = np.flatnonzero(~form.integer)
    if len(continuous):
        raise KanopyError(
            f"variable {_name(form, continuous[0])} is continuous, and CP-SAT solves pure integer "
            f"programs only; {_ELSEWHERE}"
        )
    reach = np.maximum(np.abs(form.lower), np.abs(form.upper))
    wide = np.flatnonzero(~(reach < LARGEST))
    if len(wide):
        raise KanopyError(
            f"variable {_name(form, wide[0])} has no finite bounds, which CP-SAT needs; give it "
            f"bounds or {_ELSEWHERE}"
        )


def _name(form: LinearForm, column: np.int64) -> str:
    return form.names[column] if form.names else str(column)


@lru_cache(maxsize=4096)
def _fraction(value: float) -> Fraction | None:
    """The fraction with a small denominator that a double stands for, if there is one."""
    fraction = Fraction(value).limit_denominator(_DENOMINATOR)
    return fraction if float(fraction) == value else None


def _scaled(values: NDArray[np.float64]) -> tuple[int | None, NDArray[np.int64]]:
    """Least common denominator and the values multiplied by it; None if there is none."""
    if np.all(values == np.round(values)) and np.all(np.abs(values) < LARGEST):
        return 1, values.astype(np.int64)
    known: list[Fraction] = []
    for value in values.tolist():
        fraction = _fraction(value)
        if fraction is None:
            return None, np.zeros(0, dtype=np.int64)
        known.append(fraction)
    scale = math.lcm(*(fraction.denominator for fraction in known))
    numbers = [int(fraction * scale) for fraction in known]
    if max(map(abs, numbers)) >= LARGEST:
        return None, np.zeros(0, dtype=np.int64)
    return scale, np.array(numbers, dtype=np.int64)


def _scaled_cost(
    cost: NDArray[np.float64], reach: NDArray[np.float64]
) -> tuple[int, NDArray[np.int64]]:
    scale, numbers = _scaled(cost)
    if scale is not None and scale < LARGEST and _size(numbers, reach) < LARGEST:
        return scale, numbers
    for digits in range(6, -1, -1):
        scaled = np.round(cost * 10.0**digits)
        if _size(scaled, reach) < LARGEST:
            return 10**digits, scaled.astype(np.int64)
    raise KanopyError(f"the objective reaches more than 2**53, too much for CP-SAT; {_ELSEWHERE}")


def _size(numbers: NDArray[np.int64] | NDArray[np.float64], reach: NDArray[np.float64]) -> float:
    """Largest absolute value that Σ numbers·x can take."""
    return float(np.abs(numbers).astype(np.float64) @ reach)


def _sides(low: float, high: float, scale: int, size: float) -> tuple[int, int]:
    """A row's sides in the row's new scale, cut to just beyond ±``size``, what the row reaches."""
    beyond = int(size) + 1

    def cut(side: float, slack: Fraction, rounded: Callable[[Fraction], int]) -> int:
        if math.isinf(side):
            return int(math.copysign(beyond, side))
        return min(max(rounded((Fraction(side) + slack) * scale), -beyond), beyond)

    return cut(low, -_SLACK, math.ceil), cut(high, _SLACK, math.floor)
