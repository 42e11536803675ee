r"""An integer partition from the duals of a fractional one (000, 4.4, Alg. 7).

Cluster after cluster is taken from the rows ℐ' that are in none yet, each a minimum of the
auxiliary problem (4.4.7–11)

.. math:: \min_C \; w_C - \sum_{i \in C} (γ u_i + λ), \qquad C ⊆ ℐ', \; k ≤ |C| ≤ 2k − 1,

found exactly, with the search of branch-and-price, or greedily. The thesis does not say which
heuristic it means; here it is the one of Algorithm 5 with the duals γu + λ. The last, fewer than k
rows join the cluster that is the lightest *with* them, as printed, or (``leftovers="increase"``)
the one whose weight grows least. A cluster of 2k rows or more is cut after its first k, its own
rows first, in order of their types, then those that joined it.

Of equal minima the greedy cluster is taken if it is one, else the first that the search meets.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kanopy.instances.microdata import Microdata
from kanopy.solvers.branch_and_price.pricer_hamming import HammingPricer
from kanopy.solvers.branch_and_price.pricing import Cuts, Duals, Restrictions, Search
from kanopy.solvers.branch_and_price.start import labels_of, padded
from kanopy.solvers.clock import now
from kanopy.solvers.nominal.greedy_pricing import greedy_clusters, greedy_seconds, slice_of
from kanopy.solvers.run import Run

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Clusters = list[NDArray[np.int32]]

GRACE = 0.5
"""Seconds after the time limit in which greedy search may go on."""


def integer_partition(
    data: Microdata,
    k: int,
    duals: Floats,
    run: Run,
    *,
    gamma: float,
    lam: float,
    exact: bool,
    leftovers: str = "weight",
) -> Ints:
    """Algorithm 7: labels of the rows, clusters numbered in the order of their making.

    ``duals`` are those of the types of ``data``. When time is running out,
    exact gives way to greedy search, and that to rows in sorted order.

    >>> from kanopy.instances.examples import example
    >>> from kanopy.solvers.problem import Problem
    >>> data = example("aggregation")
    >>> run = Run(Problem(data, 3, "hamming"))
    >>> duals = np.zeros(len(data.counts))
    >>> integer_partition(data, 3, duals, run, gamma=0.5, lam=1.5, exact=True).tolist()
    [0, 0, 2, 1, 1, 2, 0, 1, 2]
    """
    clusters, free = take_clusters(data, k, gamma * duals + lam, run, exact=exact)
    rest = np.repeat(np.arange(len(free)), free)
    join_leftovers(clusters, rest, data.codes[data.first_rows], data.nominal_weights, leftovers)
    clusters = cut_large(clusters, k)
    return labels_of(padded(clusters, 2 * k - 1), data.types)


def take_clusters(
    data: Microdata, k: int, rewards: Floats, run: Run, *, exact: bool
) -> tuple[Clusters, Ints]:
    """Lines 1–6: clusters in the order of their taking, and the rows of each type that are left."""
    codes = data.codes[data.first_rows]
    weights = np.ascontiguousarray(data.nominal_weights)
    columns = np.ascontiguousarray(codes.T)
    free = data.counts.copy()
    clusters: Clusters = []
    pricer = HammingPricer(data, k)
    pricer.stopping = run.stopping
    part, rest_seconds = slice_of(columns, k), greedy_seconds(data, k) / data.n
    while free.sum() >= k:
        hurry = not exact or run.stopping() or run.remaining() < rest_seconds * free.sum()
        if run.elapsed() > run.stop.time_limit() + GRACE:
            clusters += _in_order(codes, free, k)
            break
        greedy, values = greedy_clusters(
            columns, weights, free, rewards, k, part if hurry else 1, np.inf
        )
        if not hurry:
            better = _minimum(pricer, data.counts, free, greedy[0], rewards, float(values[0]), run)
            if better is not None:
                _count(free, greedy[0], 1)
                _count(free, better, -1)
                greedy = better[None, :]
        clusters += [np.sort(cluster[cluster >= 0]) for cluster in greedy]
    return clusters, free


def _in_order(codes: NDArray[np.int32], free: Ints, k: int) -> Clusters:
    """Clusters of k of the free rows, in the order of their codes; they are free no longer."""
    order = np.lexsort(codes.T[::-1])
    rows = np.repeat(order, free[order]).astype(np.int32)
    clusters = np.sort(rows[: len(rows) - len(rows) % k].reshape(-1, k), axis=1)
    free -= np.bincount(clusters.ravel(), minlength=len(free))
    return list(clusters)


def _minimum(
    pricer: HammingPricer,
    counts: Ints,
    free: Ints,
    greedy: NDArray[np.int32],
    rewards: Floats,
    value: float,
    run: Run,
) -> NDArray[np.int32] | None:
    """A cluster of the free rows and those of ``greedy`` that is better than ``greedy``."""
    available = free.copy()
    _count(available, greedy, 1)
    pricer.multiplicities = available
    threshold = value - 1e-9 * max(1.0, abs(value))
    search = Search(threshold, per_root=1, deadline=now() + run.remaining())
    priced = pricer.price(Duals(rewards), Cuts(), Restrictions(), search)
    pricer.multiplicities = counts
    if len(priced) == 0:
        return None
    return np.asarray(priced.clusters[int(np.argmin(priced.reduced_costs))])


def _count(free: Ints, cluster: NDArray[np.int32], step: int) -> None:
    np.add.at(free, cluster[cluster >= 0], step)


def join_leftovers(
    clusters: Clusters, rest: Ints, codes: NDArray[np.int32], weights: Floats, rule: str
) -> None:
    """Lines 7–10: each of the rows joins a cluster, the first of the best."""
    for row in rest:
        width = max(len(cluster) for cluster in clusters)
        rows = padded(clusters, width)
        inside = rows >= 0
        grown = ((codes[rows] != codes[row]) @ weights * inside).sum(axis=1)
        if rule == "weight":
            pairs = (codes[rows][:, :, None, :] != codes[rows][:, None, :, :]) @ weights
            grown += (pairs * (inside[:, :, None] & inside[:, None, :])).sum(axis=(1, 2)) / 2
        best = int(np.argmin(grown))
        clusters[best] = np.append(clusters[best], np.int32(row))


def cut_large(clusters: Clusters, k: int) -> Clusters:
    """Lines 11–16: of a cluster of 2k rows or more, all but the first k become a new one, at last.

    >>> [c.tolist() for c in cut_large([np.array([0, 1, 2, 3], np.int32)], 2)]
    [[0, 1], [2, 3]]
    """
    large = [cluster for cluster in clusters if len(cluster) >= 2 * k]
    kept = [cluster[:k] if len(cluster) >= 2 * k else cluster for cluster in clusters]
    return kept + [cluster[k:] for cluster in large]
