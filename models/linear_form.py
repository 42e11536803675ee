"""The arrays behind a model: what every optimisation solver is handed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class LinearForm:
    """min costᵀx + ½ xᵀ·quadratic·x + constant, row_lower ≤ matrix·x ≤ row_upper, x in a box.

    Attributes
    ----------
    integer
        Which entries of x must be whole numbers.
    quadratic
        Symmetric matrix of the objective's quadratic part, or None.
    names
        Name of each entry of x, as the model spells it.
    """

    cost: NDArray[np.float64]
    constant: float
    matrix: sp.csr_array
    row_lower: NDArray[np.float64]
    row_upper: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    integer: NDArray[np.bool_]
    quadratic: sp.csr_array | None = None
    names: tuple[str, ...] = ()

    def objective(self, x: NDArray[np.float64]) -> float:
        """Objective of a point."""
        value = float(self.cost @ x) + self.constant
        if self.quadratic is not None:
            value += 0.5 * float(x @ (self.quadratic @ x))
        return value

    def violation(self, x: NDArray[np.float64]) -> float:
        """By how much a point breaks a row, a bound or integrality at most."""
        rows = self.matrix @ x
        parts = (
            self.row_lower - rows,
            rows - self.row_upper,
            self.lower - x,
            x - self.upper,
            np.abs(x - np.round(x))[self.integer],
        )
        return max((float(part.max(initial=0.0)) for part in parts), default=0.0)
