"""Rows that change move to the most similar combination with a place left."""

from __future__ import annotations

import numpy as np

from kanopy.solvers.kernels.inner import kernel


@kernel
def similar_first(sources, targets, need, free):  # type: ignore[no-untyped-def]
    """Moves (source, target, rows) by Hamming distance, most similar pairs first, ties by number.

    ``need`` rows of each source are moved as long as there are ``free`` places; both are used up.
    A move leaves a source without rows or a target without places, so there are not many.

    >>> codes = np.array([[0, 0], [0, 1], [1, 1]])
    >>> similar_first(codes[:2], codes[2:], np.array([2, 1]), np.array([2])).tolist()
    [[1, 0, 1], [0, 0, 1]]
    """
    columns = sources.shape[1]
    moves = np.empty((len(need) + len(free), 3), dtype=np.int64)
    found = 0
    for distance in range(columns + 1):
        for i in range(len(need)):
            for j in range(len(free)):
                if need[i] == 0:
                    break
                if free[j] == 0:
                    continue
                different = 0
                for column in range(columns):
                    different += sources[i, column] != targets[j, column]
                if different == distance:
                    moved = min(need[i], free[j])
                    need[i] -= moved
                    free[j] -= moved
                    moves[found, 0], moves[found, 1], moves[found, 2] = i, j, moved
                    found += 1
    return moves[:found]
