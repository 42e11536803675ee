r"""Freeform generalisation (Doka, Xue, Tsoumakos and Karras, ASIACCS 2015), baselines of 003.

**A freeform release is not k-anonymous in the sense of Samarati and Sweeney**: no two of its rows
need be equal. It promises that every generalised row is consistent with k original rows and every
original row with k generalised ones, by k disjoint perfect matchings of originals and generalised
rows, the first of which is the true one. Who looks up a known person in the release finds k rows
that may be hers; who looks up a row in another table may find any number of persons (003, section
5).

Each of the k − 1 rounds after the true matching adds a perfect matching to the bipartite graph, of
least total weight or greedily so. The edge from row i to original j weighs what j adds to the loss
of the generalised row i as it is so far, and may be used once (003, eq. 34 with definition 8,
weighted):

- ``doka-greedy``: the rows in the order of the table take their cheapest free original;
- ``doka-sort-greedy``: the cheapest edge of all comes first, ties by row, then by original;
- ``doka-hungarian``: the cheapest matching, by scipy's assignment solver; n² numbers of memory.

A row for which the greedy rounds find no free original that it may still take swaps: it takes the
original y of a row x that can use the lowest free one, such that the weights rise least. While
fewer than half of the edges are used (k ≤ (n + 1)/2) there is such an x; where there is none, the
round is solved as an assignment. The papers call this backtracking and leave its details open.
"""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

from kanopy.instances.errors import KanopyError
from kanopy.instances.microdata import Microdata
from kanopy.solvers.generalisation.scaled import scaled
from kanopy.solvers.kernels.boxes import (
    NONE,
    STUCK,
    growth_matrix,
    include_rows,
    match_cheapest,
)
from kanopy.solvers.kernels.chunks import Stopping, in_chunks, never
from kanopy.solvers.kernels.quick import plain_interrupts
from kanopy.solvers.problem import Outcome, Problem
from kanopy.solvers.registry import NoOptions, register
from kanopy.solvers.run import Run

MOST_ROWS = 20_000
"""For ``doka-hungarian``: its matrix of weights has 3.2 GB then."""

SECONDS_A_CELL = 1e-6
"""Kept of a time limit, though at most a quarter of it, to spell out and verify the boxes."""

_ENTRIES = 4_000_000  # of the matrix of weights, between two looks at the clock
_POLL = 0.1


class Matchings:
    """The perfect matchings so far, and the generalised rows that they stand for."""

    def __init__(self, data: Microdata, k: int, stopping: Stopping = never) -> None:
        n = data.n
        self.stopping = stopping
        self.points, self.codes, price = scaled(data)
        self.matches = np.empty((n, k), dtype=np.int64)
        self.matches[:, 0] = np.arange(n)
        self.rounds = 1
        self.low = self.points.T.copy(order="C")
        self.high = self.low.copy()
        self.ask = np.tile(price, (n, 1))
        self.ask[np.arange(n)[:, None], self.codes.T] = 0.0

    @property
    def earlier(self) -> NDArray[np.int64]:
        """The originals that each row has already."""
        return np.ascontiguousarray(self.matches[:, : self.rounds])

    @property
    def _boxes(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        return self.low, self.high, self.ask

    def add(self, target_of: NDArray[np.int64]) -> None:
        """Take in a perfect matching."""
        self.matches[:, self.rounds] = target_of
        self.rounds += 1
        include_rows(self.points, self.codes, *self._boxes, target_of)

    def weights(self) -> NDArray[np.float64] | None:
        """The weights of all edges, ∞ for those used before; None if stopped."""
        n = len(self.matches)
        matrix = np.empty((n, n))
        portion = max(1, _ENTRIES // n)
        earlier = self.earlier
        for first in range(0, n, portion):
            if self.stopping():
                return None
            rows = matrix[first : first + portion]
            growth_matrix(self.points, self.codes, *self._boxes, earlier, first, rows)
        return matrix

    def cheapest(self) -> NDArray[np.int64] | None:
        """The perfect matching of least weight; None if stopped."""
        matrix = self.weights()
        return None if matrix is None else _assignment(matrix, self.stopping)

    def greedy(self, by_weight: bool) -> NDArray[np.int64] | None:
        """A perfect matching row by row, or edge by edge in order of weight; None if stopped."""
        n = len(self.matches)
        target_of = np.full(n, NONE, dtype=np.int64)
        source_of = np.full(n, NONE, dtype=np.int64)
        weight = np.zeros(n)
        earlier, growth = self.earlier, np.empty(n)

        def advance(steps: int) -> bool:
            return bool(
                match_cheapest(
                    *(self.points, self.codes, *self._boxes, earlier, by_weight, steps),
                    *(growth, weight, target_of, source_of),
                )
            )

        if not in_chunks(advance, self.stopping):
            return None
        for source in np.flatnonzero(target_of == STUCK).tolist():
            if self.stopping():
                return None
            if not self._swap(source, target_of, source_of, weight):
                return self.cheapest()
        return target_of

    def _swap(
        self,
        source: int,
        target_of: NDArray[np.int64],
        source_of: NDArray[np.int64],
        weight: NDArray[np.float64],
    ) -> bool:
        """Match a stuck row by moving another to the lowest free original; False if none can."""
        free = int(np.flatnonzero(source_of == NONE)[0])
        every = np.arange(len(target_of))
        mine = self._weights(np.full_like(every, source), every)
        theirs = self._weights(every, np.full_like(every, free))
        matched = target_of >= 0
        rise = np.full(len(target_of), np.inf)
        rise[matched] = (mine[target_of] + theirs)[matched] - weight[matched]
        other = int(np.argmin(rise))
        if np.isinf(rise[other]):
            return False
        taken = int(target_of[other])
        target_of[source], source_of[taken], weight[source] = taken, source, mine[taken]
        target_of[other], source_of[free], weight[other] = free, other, theirs[other]
        return True

    def _weights(
        self, sources: NDArray[np.int64], targets: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """The weights of some edges, ∞ for those used before."""
        points = self.points[:, targets].T
        below, above = self.low[sources] - points, points - self.high[sources]
        weights = (np.maximum(below, 0) + np.maximum(above, 0)).sum(axis=1)
        weights += self.ask[sources, self.codes[:, targets]].sum(axis=0)
        used = (self.earlier[sources] == targets[:, None]).any(axis=1)
        return np.where(used, np.inf, weights)


def _assignment(matrix: NDArray[np.float64], stopping: Stopping) -> NDArray[np.int64] | None:
    """The cheapest assignment; None if stopped, when scipy's solver is left to end by itself."""
    from scipy.optimize import linear_sum_assignment

    found: list[NDArray[np.int64]] = []

    def work() -> None:
        found.append(np.asarray(linear_sum_assignment(matrix)[1], dtype=np.int64))

    thread = threading.Thread(target=work, daemon=True, name="kanopy assignment")
    thread.start()
    while not found:
        thread.join(_POLL)
        if not found and stopping():
            return None
        if not found and not thread.is_alive():
            raise RuntimeError("scipy's assignment solver failed")
    return found[0]


def sorted_matches(data: Microdata, k: int) -> NDArray[np.int64]:
    """Everybody's way out: each row covers itself and the next k − 1 of a sorted list, in a circle.

    >>> import pandas as pd
    >>> sorted_matches(Microdata.from_frame(pd.DataFrame({"a": [5, 1, 3]})), 2).tolist()
    [[0, 1], [1, 2], [2, 0]]
    """
    order = scaled(data).order()
    place = np.empty_like(order)
    place[order] = np.arange(data.n)
    return np.asarray(order[(place[:, None] + np.arange(k)) % data.n])


def freeform_matches(
    data: Microdata, k: int, rule: str, stopping: Stopping = never
) -> NDArray[np.int64]:
    """The rows that each row covers, by ``"greedy"``, ``"sort-greedy"`` or ``"hungarian"`` rounds.

    >>> import pandas as pd
    >>> data = Microdata.from_frame(pd.DataFrame({"age": [20, 30, 34, 40]}))
    >>> freeform_matches(data, 2, "hungarian").tolist()
    [[0, 1], [1, 0], [2, 3], [3, 2]]
    """
    matchings = Matchings(data, k, stopping)
    while matchings.rounds < k:
        if rule == "hungarian":
            found = matchings.cheapest()
        else:
            found = matchings.greedy(by_weight=rule == "sort-greedy")
        if found is None:
            return sorted_matches(data, k)
        matchings.add(found)
    return matchings.matches


def _solve(problem: Problem, run: Run, rule: str) -> Outcome:
    limit = run.stop.time_limit()
    after = min(SECONDS_A_CELL * problem.n * len(problem.data.quasi_identifiers), limit / 4)

    def stopping() -> bool:
        if run.remaining() > after:
            return run.stopping()
        run.timed_out = True
        return True

    try:
        with plain_interrupts():
            return Outcome(matches=freeform_matches(problem.data, problem.k, rule, stopping))
    except KeyboardInterrupt:
        outcome = Outcome(matches=sorted_matches(problem.data, problem.k))
        run.found(outcome, problem.objective(outcome))
        raise


@register(
    "doka-greedy",
    shape="freeform",
    costs=("range",),
    kinds=("numeric", "nominal", "mixed"),
    paper="003, section 4.3; Doka et al. 2015",
    summary="freeform, not k-anonymous: k matchings, each row takes its cheapest original",
)
def doka_greedy(problem: Problem, run: Run, _options: NoOptions) -> Outcome:
    """Greedy: rows in the order of the table."""
    return _solve(problem, run, "greedy")


@register(
    "doka-sort-greedy",
    shape="freeform",
    costs=("range",),
    kinds=("numeric", "nominal", "mixed"),
    paper="003, section 4.3; Doka et al. 2015",
    summary="freeform, not k-anonymous: k matchings, cheapest edges first",
)
def doka_sort_greedy(problem: Problem, run: Run, _options: NoOptions) -> Outcome:
    """SortGreedy: edges in order of weight."""
    return _solve(problem, run, "sort-greedy")


@register(
    "doka-hungarian",
    shape="freeform",
    costs=("range",),
    kinds=("numeric", "nominal", "mixed"),
    paper="003, section 4.3; Doka et al. 2015",
    summary="freeform, not k-anonymous: k matchings, each of least weight",
)
def doka_hungarian(problem: Problem, run: Run, _options: NoOptions) -> Outcome:
    """Hungarian: an optimal assignment a round."""
    if problem.n > MOST_ROWS:
        raise KanopyError(
            f"{problem.n} rows need a matrix of {problem.n**2 / 1.25e8:.1f} GB; choose at most "
            f"{MOST_ROWS} rows, or doka-greedy or doka-sort-greedy"
        )
    return _solve(problem, run, "hungarian")
