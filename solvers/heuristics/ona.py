"""ONA, ONA* and ONA*γ: rounds of moves between clusters (001, 6.4).

All three repeat rounds until one changes nothing, or 30 have passed. In a round, a cluster of k
rows is dissolved if giving each of its rows to the nearest other centroid lowers the cost, rows of
a larger cluster may leave it for the nearest other centroid, and a cluster that reaches 2k rows is
split.

Readings that decide the printed numbers:

- Clusters are visited in the order of their creation, and changed in place; a cluster's size is
  looked at when it is visited. Of the parts of a split cluster the first, around its row farthest
  from the middle, keeps the place, and the others go to the end, where the same pass finds them.
- Costs of dissolving are compared before the split.
- MDAV* does give ONA* clusters of 2k rows and more, against the text; these are split by MDAV+.
- The last round, which changes nothing, does not count (5, 3, 6 rounds in table 6.5).
- A gain below 1e-12 of the cost at stake is rounding, and no gain.
- ONA moves a row only to a centroid that is nearer than that of its own cluster without the row;
  the clusters to be split are split right after each row, as the proof of theorem 6.5 says. A
  nested ONA has 10 rounds, and never has to split.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from kanopy.instances.errors import KanopyError
from kanopy.solvers.heuristics.gain import best_gain, best_of, check_gain
from kanopy.solvers.heuristics.mdav_plus import mdav_plus_labels
from kanopy.solvers.heuristics.mdav_star import mdav_star_gamma_labels, mdav_star_labels
from kanopy.solvers.heuristics.tfrp import split_large
from kanopy.solvers.kernels.chunks import Stopping, in_chunks, never
from kanopy.solvers.kernels.ona_random import random_clusters_kernel, recluster_random
from kanopy.solvers.kernels.prepare import prepared, trivial_labels
from kanopy.solvers.kernels.quick import quick_exit
from kanopy.solvers.kernels.reclustering import (
    ROUND,
    Clustering,
    make_clustering_kernel,
    recluster_star_kernel,
)
from kanopy.solvers.problem import Outcome, Problem
from kanopy.solvers.registry import register
from kanopy.solvers.run import Run

ROUNDS = 30
"""The thesis' limit of rounds."""


@dataclass(frozen=True)
class OnaStarOptions:
    """Options of ONA*.

    Attributes
    ----------
    rounds
        At most so many rounds.
    """

    rounds: int = ROUNDS

    def __post_init__(self) -> None:
        if self.rounds < 0:
            raise KanopyError(f"rounds = {self.rounds} must be ≥ 0; the thesis takes {ROUNDS}")


@dataclass(frozen=True)
class OnaStarGammaOptions(OnaStarOptions):
    """Options of ONA*γ.

    Attributes
    ----------
    gamma
        Gain factor of the MDAV*γ that makes the first clusters; None tries 0, 0.1, …, 2 and keeps
        the best final result.
    """

    gamma: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_gain(self.gamma)


@dataclass(frozen=True)
class OnaOptions(OnaStarOptions):
    """Options of ONA.

    Attributes
    ----------
    runs
        Random starts; the best result counts.
    """

    runs: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.runs < 1:
            raise KanopyError(f"runs = {self.runs} must be ≥ 1; the thesis takes 10 to 1000")


def ona_star_labels(
    points: NDArray[np.float64],
    k: int,
    gamma: float | None = None,
    rounds: int = ROUNDS,
    stopping: Stopping = never,
) -> NDArray[np.int64]:
    """Partition the rows of ``points`` by ONA*, or by ONA*γ if a gain factor is given.

    Every cluster has k … 2k−1 rows.

    >>> values = [1.0, 2, 3, 5, 6, 19, 20, 21, 98, 99, 100]
    >>> ona_star_labels(np.array(values)[:, None], 3).tolist()
    [1, 1, 1, 1, 1, 2, 2, 2, 0, 0, 0]
    """
    if gamma is None:
        labels = mdav_star_labels(points, k, stopping=stopping)
    else:
        labels = mdav_star_gamma_labels(points, k, gamma, stopping=stopping)
    return recluster(points, k, labels, rounds, stopping)[0]


def recluster(
    points: NDArray[np.float64],
    k: int,
    labels: NDArray[np.int64],
    rounds: int = ROUNDS,
    stopping: Stopping = never,
) -> tuple[NDArray[np.int64], int]:
    """Improve any partition with clusters of k rows or more by ONA*'s rounds; and their number."""
    trivial = trivial_labels(len(points), k)
    if trivial is not None:
        return trivial, 0
    rows, rotation = prepared(points)
    small = split_large(rows, labels, k, _mdav_plus, stopping)
    state = make_clustering_kernel(rows, rotation, small, k)
    in_chunks(lambda steps: recluster_star_kernel(state, k, rounds, steps), stopping)
    return _numbered(state), int(state.counters[ROUND])


def ona_labels(
    points: NDArray[np.float64],
    k: int,
    rng: np.random.Generator,
    rounds: int = ROUNDS,
    stopping: Stopping = never,
) -> tuple[NDArray[np.int64], int]:
    """Partition the rows of ``points`` by ONA from one random start; and the number of rounds.

    The start has ⌊n/k⌋ clusters, as equal in size as can be.
    """
    trivial = trivial_labels(len(points), k)
    if trivial is not None:
        return trivial, 0
    rows, rotation = prepared(points)
    state = make_clustering_kernel(rows, rotation, random_clusters_kernel(len(rows), k, rng), k)
    in_chunks(lambda steps: recluster_random(state, k, rounds, steps, rng), stopping)
    return _numbered(state), int(state.counters[ROUND])


def _mdav_plus(points: NDArray[np.float64], k: int, stopping: Stopping) -> NDArray[np.int64]:
    return mdav_plus_labels(points, k, stopping=stopping)


def _numbered(state: Clustering) -> NDArray[np.int64]:
    """Labels without gaps, in order of creation."""
    return np.unique(state.labels, return_inverse=True)[1].astype(np.int64)


@register(
    "ona*",
    costs=("sse",),
    kinds=("numeric",),
    paper="001, Alg. 15 to 17",
    summary="MDAV*, then rounds that dissolve, reassign and split clusters",
    options=OnaStarOptions,
)
def ona_star(problem: Problem, run: Run, options: OnaStarOptions) -> Outcome:
    """Run ONA* on the weighted points."""
    points, k = problem.data.points, problem.k
    with quick_exit(run):
        labels = mdav_star_labels(points, k, stopping=run.stopping)
        run.found_labels(labels)
        labels, _ = recluster(points, k, labels, options.rounds, run.stopping)
    return Outcome(labels=labels)


@register(
    "ona*-gamma",
    costs=("sse",),
    kinds=("numeric",),
    paper="001, section 6.4",
    summary="ONA* from MDAV*γ; best of 21 gain factors",
    options=OnaStarGammaOptions,
)
def ona_star_gamma(problem: Problem, run: Run, options: OnaStarGammaOptions) -> Outcome:
    """Run ONA*γ on the weighted points, by default for every γ of the published grid."""

    def labels_at(gamma: float) -> NDArray[np.int64]:
        points = problem.data.points
        return ona_star_labels(points, problem.k, gamma, options.rounds, run.stopping)

    return best_gain(problem, run, options.gamma, labels_at)


@register(
    "ona",
    costs=("sse",),
    kinds=("numeric",),
    paper="001, Alg. 14",
    summary="rounds that dissolve, reassign and split random clusters; best of several runs",
    options=OnaOptions,
)
def ona(problem: Problem, run: Run, options: OnaOptions) -> Outcome:
    """Run ONA on the weighted points, by default ten times."""

    def once() -> NDArray[np.int64]:
        points = problem.data.points
        return ona_labels(points, problem.k, run.rng, options.rounds, run.stopping)[0]

    return best_of(problem, run, repeat(once, options.runs))
