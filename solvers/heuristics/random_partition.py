"""Random clustering: the baseline that ignores the data (000, 6.2.5)."""

from __future__ import annotations

import numpy as np

from kanopy.solvers.problem import Outcome, Problem
from kanopy.solvers.registry import register
from kanopy.solvers.run import Run


@register(
    "random",
    costs=("sse", "hamming", "range"),
    kinds=("numeric", "nominal", "mixed"),
    paper="000, 6.2.5",
    summary="random clusters of k to 2k−1 rows, the baseline",
)
def random_partition(problem: Problem, run: Run, _options: object) -> Outcome:
    """Draw cluster sizes that add up to n, then fill the clusters with rows in random order.

    The thesis asks for a random list of sizes in k … 2k−1 with sum n and leaves its distribution
    open; each size is drawn uniformly among those after which the rest can still be clustered.
    """
    sizes = random_sizes(problem.n, problem.k, run.rng)
    labels = np.empty(problem.n, dtype=np.int64)
    labels[run.rng.permutation(problem.n)] = np.repeat(np.arange(len(sizes)), sizes)
    return Outcome(labels=labels)


def random_sizes(n: int, k: int, rng: np.random.Generator) -> list[int]:
    """Random cluster sizes in k … 2k−1 with sum n ≥ k.

    >>> sum(random_sizes(50, 3, np.random.default_rng(0)))
    50
    """
    sizes: list[int] = []
    left = n
    while left >= 2 * k:
        largest = min(2 * k - 1, left - k)
        sizes.append(int(rng.integers(k, largest + 1)))
        left -= sizes[-1]
    return [*sizes, left]
