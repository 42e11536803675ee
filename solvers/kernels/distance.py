"""Squared distances, centroids and costs of a few rows: the innermost loops."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kanopy.solvers.kernels.inner import inner


@inner
def squared_distance(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Squared Euclidean distance of two vectors."""
    total = 0.0
    for t in range(a.shape[0]):
        difference = a[t] - b[t]
        total += difference * difference
    return total


@inner
def squared_norm(vector: NDArray[np.float64]) -> float:
    """Squared Euclidean norm."""
    total = 0.0
    for t in range(vector.shape[0]):
        total += vector[t] * vector[t]
    return total


@inner
def centroid(
    points: NDArray[np.float64], rows: NDArray[np.int64], result: NDArray[np.float64]
) -> None:
    """Mean of some rows into ``result``."""
    d = points.shape[1]
    for t in range(d):
        result[t] = 0.0
    for row in rows:
        vector = points[row]
        for t in range(d):
            result[t] += vector[t]
    for t in range(d):
        result[t] /= len(rows)


@inner
def sum_of_squares(
    points: NDArray[np.float64], rows: NDArray[np.int64], center: NDArray[np.float64]
) -> float:
    """Sum of the squared distances of some rows to ``center``: their cost if it is their mean."""
    total = 0.0
    for row in rows:
        total += squared_distance(points[row], center)
    return total
