"""LMaS: Lloyd, merge and split (001, Alg. 11 to 13)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from kanopy.instances.errors import KanopyError
from kanopy.solvers.heuristics.gain import best_of
from kanopy.solvers.heuristics.mdav_plus import mdav_plus_labels
from kanopy.solvers.heuristics.tfrp import split_large
from kanopy.solvers.kernels.chunks import Stopping, in_chunks, never
from kanopy.solvers.kernels.kmeans import choose_centers, lloyd, make_means
from kanopy.solvers.kernels.merging import make_mergers, merge, merged_labels
from kanopy.solvers.kernels.prepare import prepared, trivial_labels
from kanopy.solvers.kernels.quick import quick_partition
from kanopy.solvers.problem import Outcome, Problem
from kanopy.solvers.registry import register
from kanopy.solvers.run import Run


@dataclass(frozen=True)
class LmasOptions:
    """Options of LMaS.

    Attributes
    ----------
    runs
        Random starts; the best result counts.
    rounds
        At most so many of Lloyd's rounds.
    tolerance
        Lloyd's rounds end once one lowers the cost by less.
    """

    runs: int = 10
    rounds: int = 50
    tolerance: float = 0.001

    def __post_init__(self) -> None:
        if self.runs < 1:
            raise KanopyError(f"runs = {self.runs} must be ≥ 1; the thesis takes 10 to 1000")
        if self.rounds < 1:
            raise KanopyError(f"rounds = {self.rounds} must be ≥ 1; the thesis takes 50")
        if not self.tolerance >= 0:
            raise KanopyError(f"tolerance = {self.tolerance} must be ≥ 0; the thesis takes 0.001")


def lmas_labels(
    points: NDArray[np.float64],
    k: int,
    rng: np.random.Generator,
    rounds: int = 50,
    tolerance: float = 0.001,
    stopping: Stopping = never,
) -> NDArray[np.int64]:
    """Partition the rows of ``points`` by LMaS from one random start; clusters of k … 2k−1 rows.

    k-MEANS++ makes ⌊n/k⌋ clusters, or fewer if there are fewer different rows. In passes over them
    in order, each with fewer than k rows swallows the cluster of the nearest centroid. Clusters of
    2k rows or more are split by MDAV+. A stop before the end of the mergers, which know no valid
    partition before, gives :func:`~kanopy.solvers.kernels.quick.quick_partition`.
    """
    trivial = trivial_labels(len(points), k)
    if trivial is not None:
        return trivial
    rows, rotation = prepared(points)
    means = make_means(rows, rotation, len(rows) // k)
    if not (
        in_chunks(lambda steps: choose_centers(means, steps, rng), stopping)
        and in_chunks(lambda steps: lloyd(means, rounds, tolerance, steps), stopping)
    ):
        return quick_partition(rows, k)
    mergers = make_mergers(rows, rotation, means.owner)
    if not in_chunks(lambda steps: merge(mergers, k, steps), stopping):
        return quick_partition(rows, k)
    labels = merged_labels(mergers, means.owner)
    return split_large(rows, labels, k, _mdav_plus, stopping)


def _mdav_plus(points: NDArray[np.float64], k: int, stopping: Stopping) -> NDArray[np.int64]:
    return mdav_plus_labels(points, k, stopping=stopping)


@register(
    "lmas",
    costs=("sse",),
    kinds=("numeric",),
    paper="001, Alg. 11 to 13",
    summary="k-means with ⌊n/k⌋ means, small clusters merged and large ones split; best of runs",
    options=LmasOptions,
)
def lmas(problem: Problem, run: Run, options: LmasOptions) -> Outcome:
    """Run LMaS on the weighted points, by default ten times."""

    def once() -> NDArray[np.int64]:
        return lmas_labels(
            problem.data.points,
            problem.k,
            run.rng,
            options.rounds,
            options.tolerance,
            run.stopping,
        )

    return best_of(problem, run, repeat(once, options.runs))
