"""What every numeric heuristic does before and after its loop."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kanopy.solvers.kernels.leftovers import CENTROID, assign_leftovers_kernel
from kanopy.solvers.kernels.neighbours import principal_axes
from kanopy.solvers.kernels.quick import quick_partition

# Below these sizes turning the rows to their principal axes costs more than it saves.
_ROTATED_ROWS = 512
_ROTATED_COLUMNS = 4


def prepared(points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The rows as the kernels want them, and the axes for their index (0 × 0 for none)."""
    # A copy that may be written to: compiled code is specific to that, though nobody writes.
    rows = np.array(points, dtype=np.float64, order="C", ndmin=2)
    n, d = rows.shape
    if n < _ROTATED_ROWS or d < _ROTATED_COLUMNS:
        return rows, np.empty((0, 0))
    return rows, principal_axes(rows)


def trivial_labels(n: int, k: int) -> NDArray[np.int64] | None:
    """The partition where there is no choice: one cluster of n < 2k rows, or one for each row."""
    if n < 2 * k:
        return np.zeros(n, dtype=np.int64)
    return np.arange(n) if k <= 1 else None


def finished(
    points: NDArray[np.float64],
    labels: NDArray[np.int64],
    clusters: int,
    k: int,
    rule: int = CENTROID,
) -> NDArray[np.int64]:
    """Assign the rows that have no cluster (a negative label) yet, in place.

    Fewer than k of them join their closest clusters; k or more, which is so after an early stop,
    get clusters of their own in a hurry.
    """
    left = np.flatnonzero(labels < 0)
    if len(left) >= k:
        labels[left] = clusters + quick_partition(points[left], k)
    elif len(left):
        assign_leftovers_kernel(points, labels, clusters, rule)
    return labels
