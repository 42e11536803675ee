"""V-MDAV, variable-size MDAV (001, Alg. 4)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kanopy.solvers.heuristics.gain import GainOptions, best_gain
from kanopy.solvers.kernels.chunks import Stopping, in_chunks, never
from kanopy.solvers.kernels.leftovers import closest_rule
from kanopy.solvers.kernels.outside_in import make_sweep_kernel, sweep_variable_kernel
from kanopy.solvers.kernels.prepare import finished, prepared, trivial_labels
from kanopy.solvers.problem import Outcome, Problem
from kanopy.solvers.registry import register
from kanopy.solvers.run import Run


def v_mdav_labels(
    points: NDArray[np.float64],
    k: int,
    gamma: float,
    closest: str = "centroid",
    stopping: Stopping = never,
) -> NDArray[np.int64]:
    """Partition the rows of ``points`` by V-MDAV with gain factor γ.

    Each cluster of MDAV+ is extended, up to 2k−1 rows, by the unassigned row x_I nearest to one of
    its members as long as that distance δ_I² is less than γ δ_O², with δ_O² the distance of x_I to
    the nearest *other* unassigned row. The very last unassigned row, which has no other, joins
    (δ_O = ∞; this reading gives the printed γ in all cases), but not with γ = 0, which is MDAV+.
    The last, fewer than k rows may enlarge clusters beyond 2k−1.

    >>> table = np.array([[1.0], [9.0], [2.0], [8.0], [3.0], [9.5]])
    >>> v_mdav_labels(table, 2, gamma=1.1).tolist()
    [0, 1, 0, 1, 0, 1]
    """
    rule = closest_rule(closest)
    trivial = trivial_labels(len(points), k)
    if trivial is not None:
        return trivial
    rows, rotation = prepared(points)
    state = make_sweep_kernel(rows, rotation, k, False, rule)
    in_chunks(lambda steps: sweep_variable_kernel(state, k, gamma, steps), stopping)
    return finished(rows, state.labels, int(state.labels.max()) + 1, k, rule)


@register(
    "v-mdav",
    costs=("sse",),
    kinds=("numeric",),
    paper="001, Alg. 4",
    summary="MDAV+ whose clusters take in near rows; best of 21 gain factors",
    options=GainOptions,
)
def v_mdav(problem: Problem, run: Run, options: GainOptions) -> Outcome:
    """Run V-MDAV on the weighted points, by default for every γ of the published grid."""

    def labels_at(gamma: float) -> NDArray[np.int64]:
        points = problem.data.points
        return v_mdav_labels(points, problem.k, gamma, options.closest, run.stopping)

    return best_gain(problem, run, options.gamma, labels_at)
