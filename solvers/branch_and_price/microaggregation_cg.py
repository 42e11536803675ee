"""``microaggregation-cg``: the column generation heuristic of 002, MicroaggregationHeuristicMP.

MDAV and V-MDAV give the first columns of the master (9). Each round solves it, rounds its
fractional point by two heuristics (see :mod:`rounding`), and prices: for each size η = k … 2k−1
first by SolveHeuristicPricing, then exactly, and the first size that yields a column ends the
round. When no size does, the value of the master bounds every partition (SSE_MP), and the gap of
the solution is the paper's GAP = (SSE_H − SSE_MP) / SSE_H (eq. 15).

Table 2 says how the exact step is done. *Complete enumeration* goes to the search of the ``sse``
pricer, which finds the same cluster of least reduced cost but leaves out what cannot matter; its
removal rule may be used, since no smaller size has a negative column by then. The *edge-only ILP*
is (14). The bound is computed anew from the last duals by a complete search, so that no tolerance
of a solver enters it.

Decisions where the text is silent: the gain factor of V-MDAV is the best of 001's grid; for sizes
of tables that are not printed, η = 6 is enumerated up to n = 100; the master has no count row, as
(9) has none; identical rows are not merged.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kanopy.instances.errors import unknown
from kanopy.models.linear_form import LinearForm
from kanopy.solvers.backends.highs import HighsBackend
from kanopy.solvers.backends.protocol import Limits
from kanopy.solvers.bounds import less_rounding
from kanopy.solvers.branch_and_price.column_generation import lagrangian_bound
from kanopy.solvers.branch_and_price.master import Master, Relaxation
from kanopy.solvers.branch_and_price.pricer_sse import SsePricer
from kanopy.solvers.branch_and_price.pricing import Cuts, Duals, Restrictions, Search
from kanopy.solvers.branch_and_price.rounding import Rounding
from kanopy.solvers.branch_and_price.start import clusters_of, padded, split_large, unmerged
from kanopy.solvers.clock import now
from kanopy.solvers.heuristics.gain import check_gain
from kanopy.solvers.kernels.inner import kernel
from kanopy.solvers.problem import Outcome, Problem
from kanopy.solvers.registry import find_method, register
from kanopy.solvers.run import Run
from kanopy.solvers.stop import StoppingRule

EXACT = ("table-2", "enumeration", "model")
ROUNDING = ("both", "simple", "spanning-tree")


@dataclass(frozen=True)
class CgOptions:
    """Options of ``microaggregation-cg``.

    Attributes
    ----------
    exact
        How sizes are priced exactly: as table 2 says, always by ``enumeration`` or always by the
        ``model`` (14).
    gamma
        Gain factor of V-MDAV; None tries 0, 0.1, …, 2 and keeps the best.
    rounding
        Which rounding heuristic finds solutions; tables 3 and 4 show each alone.
    """

    exact: str = "table-2"
    gamma: float | None = None
    rounding: str = "both"

    def __post_init__(self) -> None:
        if self.exact not in EXACT:
            raise unknown("way of exact pricing", self.exact, EXACT)
        if self.rounding not in ROUNDING:
            raise unknown("rounding heuristic", self.rounding, ROUNDING)
        check_gain(self.gamma)


@register(
    "microaggregation-cg",
    costs=("sse",),
    kinds=("numeric",),
    bound=True,
    paper="002, section 5",
    summary="column generation from MDAV and V-MDAV with rounding in every round",
    options=CgOptions,
)
def microaggregation_cg(problem: Problem, run: Run, options: CgOptions) -> Outcome:
    """Run the paper's procedure; the bound exists once column generation has ended."""
    solver = HighsBackend().version()
    starts: list[NDArray[np.int64]] = []
    for left, name in ((3, "mdav"), (2, "v-mdav")):  # and column generation
        if not starts or not run.stopping():
            starts.append(_start(name, problem, run, run.share(left), options))
            run.found_labels(starts[-1])
    bound: float | None = None
    if problem.n < 2 * problem.k or run.progress.objective == 0:
        bound = run.progress.objective
    elif not run.stopping():
        generation = _Generation(problem, run, options)
        for labels in starts:
            generation.add(
                padded(
                    clusters_of(split_large(labels, problem.k), generation.rows), 2 * problem.k - 1
                )
            )
        bound = generation.run_to_end()
    if bound is not None:
        run.proved(min(bound, run.progress.objective))
    assert run.best is not None
    return Outcome(labels=run.best.labels, bound=bound, solver=solver)


def _start(
    name: str, problem: Problem, run: Run, stop: StoppingRule, options: CgOptions
) -> NDArray[np.int64]:
    method = find_method(name)
    given = {"gamma": options.gamma} if name == "v-mdav" and options.gamma is not None else {}
    part = Run(problem, stop, run.seed)
    labels = method.run(problem, part, method.parse(given)).labels
    assert labels is not None
    return labels


class _Generation:
    """Master, pricer and rounding of one problem."""

    def __init__(self, problem: Problem, run: Run, options: CgOptions) -> None:
        self.run = run
        self.options = options
        self.k = problem.k
        self.rows = np.arange(problem.n)
        self.pricer = SsePricer(unmerged(problem.data), problem.k)
        self.rounding = Rounding(self.pricer.points, problem.k)
        upper = run.progress.objective
        single = np.ones(problem.n, dtype=np.int64)
        dear = np.full(problem.n, 10.0 * upper)
        self.master = Master(single, self.k, dear, upper / problem.n, most_clusters=problem.n)
        self.tolerance = 1e-9 * self.master.unit

    def add(self, clusters: NDArray[np.int32]) -> int:
        """Add clusters with their costs; how many were new."""
        return self.master.add(clusters, self.pricer.costs(clusters, (clusters >= 0).sum(axis=1)))

    def run_to_end(self) -> float | None:
        """Rounds until no column is left to add; the bound, or None if the run stopped before."""
        while True:
            relaxation = self.master.solve(self.run.remaining())
            if relaxation is None or self.run.stopping(iterations=1):
                return None
            self.run.record(columns=len(self.master), lp=relaxation.value)
            self.round(relaxation)
            found = self.price(relaxation.duals.types)
            if found is None:
                return None
            if len(found) == 0 or self.add(found) == 0:
                used = np.flatnonzero(relaxation.artificials > 1e-9)
                if len(used) == 0:
                    return self.bound(relaxation.duals)
                self.master.raise_artificials(used, 10.0)

    def round(self, relaxation: Relaxation) -> None:
        """Step 5 (b) and (c): take a whole point as it is, round a fractional one."""
        x, clusters = relaxation.x, self.master.clusters
        whole = np.abs(x - np.round(x)).max(initial=0.0) < 1e-9
        if whole and relaxation.artificials.max(initial=0.0) < 1e-9:
            chosen = clusters[x > 0.5]
            labels = np.empty(len(self.rows), dtype=np.int64)
            labels[chosen[chosen >= 0]] = np.repeat(
                np.arange(len(chosen)), (chosen >= 0).sum(axis=1)
            )
            self.run.found_labels(labels)
            return
        if self.options.rounding != "spanning-tree":
            self.run.found_labels(self.rounding.simple(clusters, x))
        if self.options.rounding != "simple":
            for labels in self.rounding.spanning_tree(clusters, x):
                self.run.found_labels(labels)

    def price(self, duals: NDArray[np.float64]) -> NDArray[np.int32] | None:
        """PricingProblem of 002, 5.1: columns of the first size that has any; None out of time."""
        n = len(duals)
        for size in range(self.k, min(2 * self.k - 1, n) + 1):
            found: NDArray[np.int32] | None = heuristic_pricing(
                self.pricer.points, duals, size, self.tolerance, 2 * self.k - 1
            )
            if found is not None and len(found) == 0:
                enumerate_all = self.options.exact == "enumeration" or (
                    self.options.exact == "table-2" and by_enumeration(n, size)
                )
                found = self.search(duals, size) if enumerate_all else self.model(duals, size)
            if found is None or len(found):
                return found
        return np.empty((0, 2 * self.k - 1), dtype=np.int32)

    def search(self, duals: NDArray[np.float64], size: int) -> NDArray[np.int32] | None:
        """The cluster of least reduced cost among all of one size, if that is negative."""
        deadline = now() + self.run.remaining()
        search = Search(-self.tolerance, per_root=1, sizes=(size,), deadline=deadline)
        priced = self.pricer.price(Duals(duals), Cuts(), Restrictions(), search)
        if now() >= deadline or self.run.stopping():
            return None
        best = np.argsort(priced.reduced_costs, kind="stable")[:1]
        return priced.clusters[best]

    def model(self, duals: NDArray[np.float64], size: int) -> NDArray[np.int32] | None:
        """The same by the program (14)."""
        form = edge_program(self.pricer.points, duals, size)
        limits = Limits(seconds=self.run.remaining(), interrupted=self.run.stopping)
        result = HighsBackend().solve(form, limits)
        if result.x is None or result.status != "optimal":
            return None
        first, second = np.triu_indices(len(duals), 1)
        chosen = result.x > 0.5
        rows = np.union1d(first[chosen], second[chosen]).astype(np.int32)
        negative = self.pricer.cost(rows) - duals[rows].sum() < -self.tolerance
        return padded([rows] if negative else [], 2 * self.k - 1)

    def bound(self, duals: Duals) -> float | None:
        """What a complete search proves for the last duals."""
        deadline = now() + self.run.remaining()
        search = Search(-self.tolerance, per_root=1, deadline=deadline)
        plain = Duals(duals.types)
        priced = self.pricer.price(plain, Cuts(), Restrictions(), search)
        value = lagrangian_bound(self.pricer, plain, Cuts(), priced)
        if not np.isfinite(value):
            return None
        return less_rounding(self.run.problem.data, "sse", value)


def by_enumeration(n: int, size: int) -> bool:
    """Whether table 2 prescribes complete enumeration (CE) rather than the program (EP).

    >>> by_enumeration(200, 5), by_enumeration(200, 6), by_enumeration(30, 7)
    (True, False, False)
    """
    return size <= 5 or (size == 6 and n <= 100)


@kernel
def heuristic_pricing(
    points: NDArray[np.float64], duals: NDArray[np.float64], size: int, tolerance: float, width: int
) -> NDArray[np.int32]:
    """Disjoint clusters of one size, grown greedily from the rows of largest duals.

    SolveHeuristicPricing of 002, 5.1, with c_e the squared distances. A row w is worth
    Σ_{e∈[w:C]} c_e/η − λ_w/(η−1) to a cluster C, as printed.
    """
    n, d = points.shape
    free = np.ones(n, dtype=np.bool_)
    far = np.empty(n)
    inside = np.zeros(n, dtype=np.bool_)
    cluster = np.empty(size, dtype=np.int64)
    found = np.full((n // size, width), -1, dtype=np.int32)
    number = 0
    left = n
    for root in np.argsort(-duals, kind="mergesort"):
        if left < size:
            break
        if not free[root]:
            continue
        free[root] = False
        left -= 1
        far[:] = 0.0
        cluster[0] = root
        reduced = -duals[root]
        last = root
        for step in range(1, size):
            best, best_value = -1, np.inf
            for w in range(n):
                if not free[w] or inside[w]:
                    continue
                distance = 0.0
                for j in range(d):
                    difference = points[last, j] - points[w, j]
                    distance += difference * difference
                far[w] += distance / size
                value = far[w] - duals[w] / (size - 1)
                if value < best_value:
                    best, best_value = w, value
            reduced += far[best] - duals[best]
            cluster[step] = best
            inside[best] = True
            last = best
        negative = reduced < -tolerance
        for step in range(1, size):
            inside[cluster[step]] = False
            if negative:
                free[cluster[step]] = False
                left -= 1
        if negative:
            for step in range(size):
                found[number, step] = cluster[step]
            number += 1
    return found[:number]


def edge_program(points: NDArray[np.float64], duals: NDArray[np.float64], size: int) -> LinearForm:
    """The program (14) as arrays; the model ``pricing-edge`` is its readable form.

    >>> edge_program(np.array([[0.0], [1.0], [3.0]]), np.zeros(3), 3).cost.tolist()
    [0.3333333333333333, 3.0, 1.3333333333333333]
    """
    n = len(points)
    first, second = np.triu_indices(n, 1)
    squared = ((points[first] - points[second]) ** 2).sum(axis=1)
    cost = squared / size - (duals[first] + duals[second]) / (size - 1)
    edges = len(first)
    number = np.empty((n, n), dtype=np.int64)
    number[first, second] = number[second, first] = np.arange(edges)
    rows, columns, values = [np.zeros(edges, np.int64)], [np.arange(edges)], [np.ones(edges)]
    if size > 2:  # (12) says nothing more for clusters of two
        ends = np.arange(n)
        for i in range(n):
            others = ends[ends != i]
            block = 1 + i * (n - 1) + np.arange(n - 1)
            # Σ_{e∈δ(i)} z_e − (η − 1) z_ij ≥ 0, the pair ij itself added on both sides
            weights = np.ones((n - 1, n - 1)) - (size - 1) * np.eye(n - 1)
            rows.append(np.repeat(block, n - 1))
            columns.append(np.tile(number[i, others], n - 1))
            values.append(weights.ravel())
    height = 1 + (n * (n - 1) if size > 2 else 0)
    matrix = sp.csr_array(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))),
        shape=(height, edges),
    )
    pairs = size * (size - 1) / 2
    return LinearForm(
        cost=cost,
        constant=0.0,
        matrix=matrix,
        row_lower=np.append(pairs, np.zeros(height - 1)),
        row_upper=np.append(pairs, np.full(height - 1, np.inf)),
        lower=np.zeros(edges),
        upper=np.ones(edges),
        integer=np.ones(edges, dtype=bool),
    )
