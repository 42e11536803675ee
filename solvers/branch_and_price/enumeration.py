"""The finish: list every cluster that a better partition can hold, and let a MIP choose.

Let LB(u) be the bound that complete pricing proves for the duals u. By its derivation (see
:mod:`column_generation`) a partition that holds a cluster C₀ of reduced cost r ≥ 0 costs at least
LB(u) + r: the other clusters still add at least the same sum, whose terms are all ≤ 0. So a
partition cheaper than ``cutoff`` holds only clusters of reduced cost < cutoff − LB(u). Reduced
costs and LB must belong to the *same* duals and cuts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kanopy.models.linear_form import LinearForm
from kanopy.solvers.backends.highs import HighsBackend
from kanopy.solvers.backends.protocol import Limits
from kanopy.solvers.branch_and_price.coefficients import coefficient_table, right_hand_sides
from kanopy.solvers.branch_and_price.column_generation import Bound, Clock
from kanopy.solvers.branch_and_price.master import sorted_rows
from kanopy.solvers.branch_and_price.pricing import Cuts, Pricer, Restrictions, Search

SCALE = 1e4
"""Objective value the MIP is scaled to, so that its absolute tolerance of 1e-6 is 1e-10 of it."""

MIP_SAFETY = 1e-8
"""Share of the objective by which a bound of the MIP is lowered: its LPs are solved to 1e-7."""


LISTING_NODES = 20_000_000
"""Nodes of a search for all clusters, spread evenly over the roots: some seconds at most."""

TRIAL_SHARE = 0.5
"""Share of the time left that a search may take if one for a lower cutoff can follow."""


@dataclass(frozen=True, eq=False)
class Chosen:
    """What a MIP over some clusters says: a partition and a lower bound over those clusters."""

    clusters: NDArray[np.int32] | None
    bound: float
    optimal: bool


@dataclass(frozen=True, eq=False)
class Listed:
    """All clusters that a partition cheaper than ``cutoff`` can hold."""

    clusters: NDArray[np.int32]
    costs: NDArray[np.float64]
    cutoff: float


def list_clusters(
    pricer: Pricer,
    bound: Bound,
    cutoff: float,
    clock: Clock,
    most_columns: int,
    restrictions: Restrictions | None = None,
    trials: int = 10,
) -> Listed | None:
    """The clusters for ``cutoff`` or, if they are too many, for a lower one found by bisection."""
    if bound.duals is None or cutoff <= bound.value:
        return None
    best: Listed | None = None
    low, high = 0.0, cutoff - bound.value
    gap = high
    for _ in range(trials):
        within = clock.within(TRIAL_SHARE * clock.remaining()) if trials > 1 else clock
        search = Search(
            threshold=gap,
            per_root=0,
            most_columns=most_columns + 1,
            most_nodes=1 + LISTING_NODES // len(pricer.multiplicities),
            deadline=within.deadline,
        )
        priced = pricer.price(bound.duals, bound.cuts, restrictions or Restrictions(), search)
        if priced.complete and len(priced) <= most_columns:
            best = Listed(sorted_rows(priced.clusters), priced.costs, bound.value + gap)
            if bound.value + gap >= cutoff or len(priced) > 0.6 * most_columns:
                break
            low = gap
        else:
            high = gap
        if clock.over():
            break
        gap = 0.5 * (low + high) if low > 0 else 0.25 * high
    return best


def choose(
    clusters: NDArray[np.int32],
    costs: NDArray[np.float64],
    multiplicities: NDArray[np.int64],
    k: int,
    clock: Clock,
    cuts: Cuts | None = None,
    step: float = 0.0,
    start: NDArray[np.float64] | None = None,
    seed: int = 0,
    number_of_clusters: tuple[int, int] | None = None,
    most_nodes: int = 2**31 - 1,
    cutoff: float = math.inf,
    further: tuple[sp.csr_array, NDArray[np.float64]] | None = None,
    hopeful: bool = False,
) -> Chosen:
    """Cheapest partition made of the given clusters.

    ``step`` > 0 says that all costs are multiples of it, ``start`` how often each cluster is used
    in a known partition. The cuts hold for every partition; they only speed the search up. With a
    ``cutoff`` instead of a start, only a cheaper partition is looked for, by heuristics, too, if it
    is ``hopeful``. ``further`` are rows a·x ≤ b that every partition made of these clusters obeys.
    """
    if len(clusters) == 0:
        return Chosen(None, math.inf, True)
    cuts = cuts or Cuts()
    number = len(multiplicities)
    fewest, most = number_of_clusters or (0, int(multiplicities.sum()) // k)
    sides = multiplicities.astype(np.float64)
    right = right_hand_sides(cuts, multiplicities)
    matrix = coefficient_table(clusters, cuts, number)
    if further is not None:
        matrix = sp.csr_array(sp.vstack([matrix, further[0]]))
        right = np.concatenate([right, further[1]])
    uses = _most_uses(sp.csc_array(matrix[:number]), sides)
    about = float(costs.mean() * matrix.shape[0] / k)
    total = float(costs @ start) if start is not None else about
    if math.isfinite(cutoff):
        total = cutoff
    scale = SCALE / total if total > 0 else 1.0
    form = LinearForm(
        cost=costs * scale,
        constant=0.0,
        matrix=matrix,
        row_lower=np.concatenate([sides, [fewest], np.full(len(right), -np.inf)]),
        row_upper=np.concatenate([sides, [most], right]),
        lower=np.zeros(len(costs)),
        upper=uses,
        integer=np.ones(len(costs), dtype=bool),
    )
    limits = Limits(
        seconds=clock.remaining(),
        nodes=most_nodes,
        absolute_gap=max(1e-9, 0.99 * step * scale),
        seed=seed,
        interrupted=clock.stopping,
        cutoff=cutoff * scale,
        hopeful=hopeful,
    )
    result = HighsBackend().solve(form, limits, start)
    if result.status == "infeasible":
        return Chosen(None, cutoff * (1 - MIP_SAFETY), True)
    chosen = None
    if result.x is not None:
        chosen = np.repeat(clusters, np.round(result.x).astype(np.int64), axis=0)
    proven = result.bound / scale - MIP_SAFETY * abs(result.bound / scale)
    return Chosen(chosen, proven, result.status == "optimal")


def _most_uses(held: sp.csc_array, sides: NDArray[np.float64]) -> NDArray[np.float64]:
    """How often a cluster, given by its copies of each type, fits into the table at most."""
    times = sides[held.indices] // held.data
    most: NDArray[np.float64] = np.minimum.reduceat(times, held.indptr[:-1])
    return most
