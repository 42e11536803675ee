"""Numeric loss: squared error, total squares, and their ratio (001, definitions 2.13 and 2.23)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from kanopy.measures.checks import clusters, finite, matrix, same_shape


def sse(original: ArrayLike | pd.DataFrame, released: ArrayLike | pd.DataFrame) -> float:
    """Sum of squared errors Σ_i δ(x_i, x̂_i)² of an n×d table (001, definition 2.13).

    With centroids as released rows this is the distortion cost of the clustering; any other
    release costs at least as much (001, theorem 2.14).

    >>> sse([[3, 6], [6, 3]], [[4, 5], [5, 4]])
    4.0
    """
    before, after = matrix(original, "original"), matrix(released, "released")
    same_shape(before, after, ("original", "released"))
    with np.errstate(over="ignore"):
        return finite(((before - after) ** 2).sum(), "the sum of squared errors")


def sst(original: ArrayLike | pd.DataFrame) -> float:
    """Diversity Δ(X) = Σ_i δ(x_i, c)² around the centroid c of all rows (001, definition 2.23).

    >>> sst([[3.0], [5.0]])
    2.0
    """
    points = matrix(original, "original")
    return sse_of_partition(points, np.zeros(len(points), dtype=np.int64))


def information_loss(
    original: ArrayLike | pd.DataFrame, released: ArrayLike | pd.DataFrame
) -> float:
    """Information loss 100 · SSE / SST in percent (001, definition 2.23 and fact 2.24).

    001 leaves 0/0 open, which arises when all rows are equal and stay so: nothing is lost, hence 0
    here. If equal rows are released as others, the loss is infinite. At most 100 for centroids.

    >>> information_loss([[0.0], [2.0], [4.0], [6.0]], [[1.0], [1.0], [5.0], [5.0]])
    20.0
    """
    error, diversity = sse(original, released), sst(original)
    if diversity == 0:
        return 0.0 if error == 0 else float("inf")
    return 100 * error / diversity


def sse_of_partition(X: ArrayLike | pd.DataFrame, labels: ArrayLike) -> float:
    """SSE when each row of X is replaced by its cluster's centroid (001, definition 2.13).

    >>> sse_of_partition([[0.0], [2.0], [5.0], [6.0]], [0, 0, 1, 1])
    2.5
    """
    points = matrix(X, "X")
    cluster = clusters(labels, len(points))
    sizes = np.bincount(cluster)
    first = np.unique(cluster, return_index=True)[1]
    total = 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        for column in points.T:
            # Measured from the cluster's first member, equal rows cost exactly 0.
            offset = column - column[first][cluster]
            mean = np.bincount(cluster, weights=offset) / sizes
            total += float(((offset - mean[cluster]) ** 2).sum())
    return finite(total, "the sum of squared errors")
