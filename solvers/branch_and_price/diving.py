"""LP dives: fix what the relaxation is sure of, price for the rest, repeat.

First every column at 0.98 or more is fixed, and only if there is none, some of the largest
fractional ones, within a share of the rows left. The last rows are left to a MIP over the columns
at hand. Fixed columns are lower bounds in the live master; types they use up get a dual that no
cluster can afford, and the pricer is told how many rows of the others are left, so it speaks of the
remaining rows alone. Nothing is proven here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kanopy.solvers.branch_and_price.column_generation import Bound, Clock, ColumnGeneration
from kanopy.solvers.branch_and_price.enumeration import choose, list_clusters
from kanopy.solvers.branch_and_price.master import Relaxation
from kanopy.solvers.branch_and_price.pricing import Restrictions
from kanopy.solvers.branch_and_price.start import padded
from kanopy.solvers.branch_and_price.subset_row import kinds_of_cuts, separate

SURE = 0.98
LIKELY = 0.6
IN_TIME = 0.8
"""A dive is late when less than this share of its time is left in proportion to its rows left.
It then fixes more at a time, and prices and cuts less."""

LAST_ROWS, LAST_MERGED = 900, 2500
"""This many rows over k² are left to a MIP, the second where rows are merged to types; larger
clusters make it harder. Rows in clusters of one type only do not count."""

SINGLE = 0.8
"""Share of single types up to which rows count as merged."""

DIVE_CUTS, DIVE_ROWS = 50, 8
"""Cuts added at each step of a dive, and their rows at most."""

LAST_COLUMNS = 300
LAST_PER_TYPE = 5
LAST_NODES, MORE_NODES = 1, 50
"""Clusters listed for that MIP, the same per type where rows are merged, and its nodes, in a quick
dive and per unit of effort in others."""


def dive(
    generation: ColumnGeneration,
    clock: Clock,
    rng: np.random.Generator,
    restrictions: Restrictions | None = None,
    share: float = 0.2,
    effort: float = 1.0,
) -> NDArray[np.int32] | None:
    """Clusters of a partition found by one dive, or None; the master is left as it was.

    With more ``effort``, so many times as many rows are left to the MIP, and nodes to it.
    """
    master = generation.master
    before = master.upper.copy()
    fixed = np.zeros(len(master))
    limits = restrictions or Restrictions()
    rows = int(master.multiplicities.sum())
    choices = rows  # rows in clusters still to choose
    merged = np.mean(master.multiplicities == 1) <= SINGLE
    last = effort * (LAST_MERGED if merged else LAST_ROWS)
    nodes = LAST_NODES if effort <= 1 else int(effort * MORE_NODES)
    counted, cuts = master.counted, len(master.cuts)
    artificials = master.artificial_costs
    seconds, basis = clock.remaining(), master.basis()
    try:
        master.bound_count(*limits.range_of_clusters(rows, master.k))
        while not clock.over():
            used = _used(master.clusters, fixed, master.types)
            left = master.multiplicities - used
            if left.sum() < 2 * master.k:
                return _completed(master.clusters, fixed, left, master.k)
            generation.closed = left == 0
            generation.pricer.multiplicities = np.maximum(left, 1)
            if fixed.any():  # what no longer fits may not be used in part either
                fits = fit_into(master.clusters, left)
                master.bound_columns(fixed, np.where(fits, np.maximum(before, fixed), fixed))
            late = clock.remaining() < IN_TIME * seconds * choices / rows
            generated = generation.run(clock, limits, most_rounds=3 if late else 40)
            fixed = np.append(fixed, np.zeros(len(master) - len(fixed)))
            before = np.append(before, np.full(len(master) - len(before), np.inf))
            relaxation = generated.relaxation
            if relaxation is None or len(relaxation.x) < 1:
                return None
            if not late:
                relaxation = _cut(generation, relaxation, limits, clock)
            fixed = np.append(fixed, np.zeros(len(master) - len(fixed)))
            before = np.append(before, np.full(len(master) - len(before), np.inf))
            x = -fixed  # columns priced last have no value yet
            x[: len(relaxation.x)] += relaxation.x
            choices = int(left.sum() - x @ _pure_sizes(master.clusters))
            if choices * master.k**2 <= last:
                last = 0.5 * choices * master.k**2  # the next try is worth its time only then
                finished = _finish(
                    generation, relaxation, fixed, left, before, limits, clock, nodes
                )
                if finished is not None:
                    return finished
            more = _choose_columns(master.clusters, x, left, master.k, share, rng, late)
            if not more.any():
                return _completed(master.clusters, fixed, left, master.k)
            fixed = fixed + more
        return None
    finally:
        generation.closed = None
        generation.pricer.multiplicities = master.multiplicities
        upper = np.append(before, np.full(len(master) - len(before), np.inf))
        master.bound_columns(np.zeros(len(master)), upper)
        master.bound_count(*counted)
        master.price_artificials(artificials)
        master.drop_cuts(np.arange(len(master.cuts)) >= cuts)
        master.restore(basis)  # from where the dive has ended, the way back would be long


def _cut(
    generation: ColumnGeneration, relaxation: Relaxation, limits: Restrictions, clock: Clock
) -> Relaxation:
    """One round of cuts, which are dropped when the dive ends."""
    master = generation.master
    if not generation.cuts:
        return relaxation
    x = np.zeros(len(master))
    x[: len(relaxation.x)] = relaxation.x
    copies = master.multiplicities
    small = [kind for kind in kinds_of_cuts(copies, master.k) if len(kind[0]) <= DIVE_ROWS]
    cuts = separate(master.clusters, x, copies, master.k, DIVE_CUTS, kinds=small)
    if len(cuts) == 0:
        return relaxation
    master.add_cuts(cuts)
    return generation.run(clock, limits, most_rounds=10).relaxation or relaxation


def _used(
    clusters: NDArray[np.int32], times: NDArray[np.float64], number: int
) -> NDArray[np.int64]:
    rows = np.repeat(clusters, times.astype(np.int64), axis=0).ravel()
    return np.bincount(rows[rows >= 0], minlength=number).astype(np.int64)


def _completed(
    clusters: NDArray[np.int32], fixed: NDArray[np.float64], left: NDArray[np.int64], k: int
) -> NDArray[np.int32]:
    """The fixed clusters and the rows left as they come, k at a time."""
    rest = np.repeat(np.arange(len(left)), left).astype(np.int32)
    number = len(rest) // k
    parts = [rest[i * k : (i + 1) * k if i < number - 1 else None] for i in range(number)]
    chosen = np.repeat(clusters, fixed.astype(np.int64), axis=0)
    return np.concatenate([chosen, padded(parts, clusters.shape[1])])


def fit_into(clusters: NDArray[np.int32], left: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which clusters the rows left can still fill, copies counted."""
    inside = clusters >= 0
    copies = (clusters[:, :, None] == clusters[:, None, :]).sum(axis=2)
    too_many = inside & (copies > left[clusters])
    return np.asarray(too_many.sum(axis=1) == 0, dtype=bool)


def _pure_sizes(clusters: NDArray[np.int32]) -> NDArray[np.int64]:
    """Sizes of the clusters of one type only, 0 for others."""
    pure = ((clusters == clusters[:, :1]) | (clusters < 0)).all(axis=1)
    return np.where(pure, (clusters >= 0).sum(axis=1), 0)


def _choose_columns(
    clusters: NDArray[np.int32],
    x: NDArray[np.float64],
    left: NDArray[np.int64],
    k: int,
    share: float,
    rng: np.random.Generator,
    late: bool,
) -> NDArray[np.float64]:
    """How often to fix each column now; never leaving 1 … k−1 rows.

    Clusters of one type only come last. They cost nothing, and fixed early they would take the
    rows that other types could still borrow.
    """
    more = np.zeros(len(x))
    left = left.copy()
    rows_left = int(left.sum())
    pure = _pure_sizes(clusters)
    if (x[pure == 0] > 1e-6).any():
        x = np.where(pure > 0, 0.0, x)
    allowance = share * (x @ (clusters >= 0).sum(axis=1))
    noisy = np.where(x < SURE, x + 0.05 * rng.random(len(x)), x + 1.0)  # sure ones come first
    sure_only = bool((x >= SURE).any()) and not late
    likely = 0.5 * LIKELY if late else LIKELY
    for c in np.argsort(-noisy, kind="stable"):
        if x[c] <= 1e-6 or (sure_only and x[c] < SURE):
            break
        if not sure_only and more.any() and (x[c] < likely or allowance <= 0):
            break
        cluster = clusters[c][clusters[c] >= 0]
        types, copies = np.unique(cluster, return_counts=True)
        times = min(max(1, int(x[c] + 1 - SURE)), int((left[types] // copies).min()))
        while times > 0 and 0 < rows_left - times * len(cluster) < k:
            times -= 1
        left[types] -= times * copies
        rows_left -= times * len(cluster)
        allowance -= times * len(cluster)
        more[c] = times
    return more


def _finish(
    generation: ColumnGeneration,
    relaxation: Relaxation,
    fixed: NDArray[np.float64],
    left: NDArray[np.int64],
    upper: NDArray[np.float64],
    limits: Restrictions,
    clock: Clock,
    nodes: int,
) -> NDArray[np.int32] | None:
    """The rows left by a MIP over the columns that fit into them and others that nearly pay."""
    master = generation.master
    duals = generation.open_duals(relaxation)
    nearly = Bound(0.0, duals, master.cuts)
    positive = duals.types[duals.types > 0]
    gap = 2.0 * master.k * max(master.unit, float(positive.mean()) if len(positive) else 0.0)
    most_columns = LAST_COLUMNS if master.multiplicities.max() == 1 else LAST_PER_TYPE * len(left)
    listed = list_clusters(generation.pricer, nearly, gap, clock, most_columns, limits)
    fitting = np.flatnonzero(fit_into(master.clusters, left) & (upper > 0))
    clusters, costs = master.clusters[fitting], master.costs[fitting]
    if listed is not None:
        more = fit_into(listed.clusters, left)
        clusters = np.concatenate([clusters, listed.clusters[more]])
        costs = np.concatenate([costs, listed.costs[more]])
        clusters, unique = np.unique(clusters, axis=0, return_index=True)
        costs = costs[unique]
    if len(clusters) == 0:
        return None
    open_types = left > 0
    renumbered = np.cumsum(open_types) - 1
    residual = np.where(clusters >= 0, renumbered[clusters], -1).astype(np.int32)
    fewest, most = limits.range_of_clusters(int(master.multiplicities.sum()), master.k)
    used = int(fixed.sum())
    chosen = choose(
        residual,
        costs,
        left[open_types],
        master.k,
        clock,
        number_of_clusters=(max(fewest - used, 0), min(most - used, int(left.sum()) // master.k)),
        most_nodes=nodes,
    )
    if chosen.clusters is None:
        return None
    types = np.flatnonzero(open_types).astype(np.int32)
    rest = np.where(chosen.clusters >= 0, types[chosen.clusters], -1).astype(np.int32)
    return np.concatenate([np.repeat(master.clusters, fixed.astype(np.int64), axis=0), rest])
