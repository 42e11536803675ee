"""Partitions as links between rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import connected_components

from kanopy.instances.errors import KanopyError


def linked_labels(n: int, pairs: Sequence[tuple[int, int]]) -> NDArray[np.int64]:
    """Labels of the classes that rows form when linked pairs share one, directly or by others.

    >>> linked_labels(4, [(0, 2), (2, 3)]).tolist()
    [0, 1, 0, 0]
    """
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    graph = sp.coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n, n))
    _, labels = connected_components(graph, directed=False)
    return np.asarray(labels, dtype=np.int64)


def checked_labels(labels: ArrayLike, n: int) -> NDArray[np.int64]:
    """One whole number per row, or an error."""
    given = np.asarray(labels)
    if given.shape != (n,) or not np.issubdtype(given.dtype, np.integer):
        raise KanopyError(f"labels must be {n} whole numbers, one per row")
    return given.astype(np.int64)
