"""Squared distances and sums over rows, the inner loops of the numeric heuristics."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True)
def squared_distance(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Squared Euclidean distance of two vectors."""
    total = 0.0
    for t in range(a.shape[0]):
        difference = a[t] - b[t]
        total += difference * difference
    return total
