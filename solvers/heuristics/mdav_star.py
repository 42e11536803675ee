"""MDAV* and MDAV*γ: an origin may join a cluster instead of founding one (001, Alg. 5 and 6).

The unassigned row x_r farthest from the centroid of all rows is weighed against the closest cluster
by cost per row:

- cost_N, of a cluster of x_r and its k−1 nearest unassigned rows, over its k rows;
- cost_E, of x_r joining the closest cluster while its nearest neighbour ν founds one without it,
  over the k+1 rows concerned;
- cost_E2 (MDAV*γ only), of x_r and ν both joining, over the two.

x_r joins if cost_E < γ cost_N (γ = 1 in MDAV*) or cost_E2 < cost_N.

Readings that decide the printed numbers: the first origin, and one with exactly k rows left, always
found a cluster; centroids follow every extension at once; clusters have no largest size; the last,
fewer than k rows join the clusters as these were before. cost_E2 is tested whatever γ is, so γ = 0
is not MDAV+ and γ = 1 is not MDAV*, against the text.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kanopy.solvers.heuristics.gain import GainOptions, best_gain
from kanopy.solvers.heuristics.md import ClosestOptions
from kanopy.solvers.kernels.chunks import Stopping, in_chunks, never
from kanopy.solvers.kernels.leftovers import closest_rule
from kanopy.solvers.kernels.outside_in import make_sweep_kernel, sweep_star_kernel
from kanopy.solvers.kernels.prepare import finished, prepared, trivial_labels
from kanopy.solvers.kernels.quick import quick_exit
from kanopy.solvers.problem import Outcome, Problem
from kanopy.solvers.registry import register
from kanopy.solvers.run import Run


def mdav_star_labels(
    points: NDArray[np.float64], k: int, closest: str = "centroid", stopping: Stopping = never
) -> NDArray[np.int64]:
    """Partition the rows of ``points`` by MDAV*.

    >>> values = [1.0, 2, 3, 5, 6, 19, 20, 21, 98, 99, 100]  # 001, fig. 5.1
    >>> mdav_star_labels(np.array(values)[:, None], 3).tolist()
    [1, 1, 1, 1, 1, 2, 2, 2, 0, 0, 0]
    """
    return _labels(points, k, 1.0, False, closest, stopping)


def mdav_star_gamma_labels(
    points: NDArray[np.float64],
    k: int,
    gamma: float,
    closest: str = "centroid",
    stopping: Stopping = never,
) -> NDArray[np.int64]:
    """Partition the rows of ``points`` by MDAV*γ."""
    return _labels(points, k, gamma, True, closest, stopping)


def _labels(
    points: NDArray[np.float64],
    k: int,
    gamma: float,
    second: bool,
    closest: str,
    stopping: Stopping,
) -> NDArray[np.int64]:
    rule = closest_rule(closest)
    trivial = trivial_labels(len(points), k)
    if trivial is not None:
        return trivial
    rows, rotation = prepared(points)
    state = make_sweep_kernel(rows, rotation, k, True, rule)
    in_chunks(lambda steps: sweep_star_kernel(state, k, gamma, second, rule, steps), stopping)
    return finished(rows, state.labels, int(state.labels.max()) + 1, k, rule)


@register(
    "mdav*",
    costs=("sse",),
    kinds=("numeric",),
    paper="001, Alg. 5",
    summary="clusters from the outside in; a row joins one where that costs less per row",
    options=ClosestOptions,
)
def mdav_star(problem: Problem, run: Run, options: ClosestOptions) -> Outcome:
    """Run MDAV* on the weighted points."""
    with quick_exit(run):
        labels = mdav_star_labels(problem.data.points, problem.k, options.closest, run.stopping)
    return Outcome(labels=labels)


@register(
    "mdav*-gamma",
    costs=("sse",),
    kinds=("numeric",),
    paper="001, Alg. 6",
    summary="MDAV* with a second look at pairs; best of 21 gain factors",
    options=GainOptions,
)
def mdav_star_gamma(problem: Problem, run: Run, options: GainOptions) -> Outcome:
    """Run MDAV*γ on the weighted points, by default for every γ of the published grid."""

    def labels_at(gamma: float) -> NDArray[np.int64]:
        points = problem.data.points
        return mdav_star_gamma_labels(points, problem.k, gamma, options.closest, run.stopping)

    return best_gain(problem, run, options.gamma, labels_at)
