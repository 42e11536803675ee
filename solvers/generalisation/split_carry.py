"""Split & Carry: small sub-problems solved to optimality, chained by boundary rows (003, Alg. 1).

The rows, in the order of the initial feasible solution, are read S sets of k at a time. Each
sub-problem is solved to optimality (line 7) in the units of the whole table; the classes of its
last k rows are carried over to the next one (line 10), and the others are final.

*What is carried* (003, 3.1 and the proof of lemma 2). For a class with boundary rows, the k-set is
carried if no row or at least k rows are left of the class, else all of it. The k-set holds the
class' boundary rows and, up to k rows, its last others in sorted order. Our solvers return classes
of at most 2k−1 rows, of which fewer than k are left, so whole classes are carried. A solution of
the pairwise model may link more rows, directly or by way of others. So a sub-problem has at most
k(2k−1+S) rows (lemma 2).

*Readings.*

- Sub-problems read k-sets of the initial solution, and the last set has the n mod k rows that are
  left, too: the worked example of appendix C has two sub-problems, of 9 and 6 + 11 rows, where
  line 5 would make ⌈20/9⌉ = 3. There are ⌈⌊n/k⌋/S⌉ of them.
- A sub-problem begins with the carried classes as they are and the new k-sets (3.1, remarks, and
  appendix C); that partition is kept unless there is a better one.
- Sub-problems share the time that is left equally (early termination, 3.1); ``seconds`` limits
  each of them as well, as "TimeLimit" does in fig. 6.

*Variants that the paper proposes* (3.1 and 6). ``carry`` is the number l of boundary rows whose
classes are carried; k by default. ``size`` and ``accept`` turn to *bubble carry*: every sub-problem
has exactly P rows; the A classes of least cost are accepted and all other rows carried. At least
one class is carried, or the chain would break, and the last sub-problem accepts all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kanopy.instances.errors import KanopyError, unknown
from kanopy.solvers.backends.choice import find_backend
from kanopy.solvers.branch_and_price.start import split_large
from kanopy.solvers.generalisation.initial_sort import consecutive_sets, sorted_exit, sorted_rows
from kanopy.solvers.generalisation.subproblems import SOLVERS, SubProblems
from kanopy.solvers.problem import Outcome, Problem
from kanopy.solvers.registry import register
from kanopy.solvers.run import Run

Rows = NDArray[np.int64]
Solve = Callable[[Rows, Rows, int], Rows]
"""Labels of some rows, given labels to begin with and how many sub-problems are still to come."""
Stopping = Callable[[], bool]
"""Whether all that is left shall be one sub-problem, which ``solve`` may leave as it begins."""


def _never() -> bool:
    return False


@dataclass(frozen=True)
class SplitCarryOptions:
    """Options of ``split-carry``: S, l, P and A of the paper, and who solves sub-problems."""

    sets: int = 3
    carry: int | None = None
    size: int | None = None
    accept: int | None = None
    solver: str = "branch-and-price"
    backend: str = "highs"
    seconds: float | None = None

    def __post_init__(self) -> None:
        if self.sets < 2:
            raise KanopyError(f"sets = {self.sets}: a sub-problem needs S ≥ 2 sets of k rows")
        if self.carry is not None and self.carry < 1:
            raise KanopyError(f"carry = {self.carry}: give the number l ≥ 1 of boundary rows")
        if (self.size is None) != (self.accept is None):
            raise KanopyError("bubble carry needs both size (P) and accept (A)")
        if self.accept is not None and self.accept < 1:
            raise KanopyError(f"accept = {self.accept}: accept at least one class a sub-problem")
        if self.seconds is not None and self.seconds <= 0:
            raise KanopyError(f"seconds = {self.seconds}: give a sub-problem more than no time")
        if self.solver not in SOLVERS:
            raise unknown("solver of sub-problems", self.solver, SOLVERS)
        find_backend(self.backend)


@dataclass(frozen=True, eq=False)
class Step:
    """A sub-problem: its rows in sorted order, their classes, and which of them are carried on."""

    rows: Rows
    labels: Rows
    carried: NDArray[np.bool_]

    def classes(self) -> list[list[int]]:
        """Rows of each class, in the order of their first rows."""
        return [self.rows[self.labels == c].tolist() for c in dict.fromkeys(self.labels.tolist())]


def split_carry_steps(
    order: Rows,
    k: int,
    sets: int,
    solve: Solve,
    carry: int | None = None,
    stopping: Stopping = _never,
) -> Iterator[Step]:
    """The course of Algorithm 1 over rows in sorted order.

    Examples
    --------
    >>> order = np.arange(8)
    >>> steps = split_carry_steps(order, 2, 2, lambda rows, start, share: start)
    >>> [(step.rows.tolist(), step.carried.astype(int).tolist()) for step in steps]
    [([0, 1, 2, 3], [0, 0, 1, 1]), ([2, 3, 4, 5, 6, 7], [0, 0, 0, 0, 0, 0])]
    """
    n = len(order)
    number = max(1, math.ceil((n // k) / sets))
    rows, start = order[:0], order[:0]
    for m in range(number):
        last = m == number - 1 or stopping()
        new = order[m * k * sets : n if last else (m + 1) * k * sets]
        rows, start = _fed_in(rows, start, new, k)
        labels = solve(rows, start, number - m)
        carried = np.zeros(len(rows), dtype=np.bool_)
        if not last:
            carried = boundary_classes(labels, k, carry or k)
        yield Step(rows, labels, carried)
        if last:
            return
        rows, start = rows[carried], labels[carried]


def bubble_steps(
    order: Rows,
    k: int,
    size: int,
    accept: int,
    solve: Solve,
    cost: Callable[[Rows], float],
    stopping: Stopping = _never,
) -> Iterator[Step]:
    """The course of bubble carry: sub-problems of ``size`` rows, ``accept`` classes of each kept.

    ``cost`` is that of a class, given its rows.

    >>> steps = bubble_steps(np.arange(8), 2, 4, 1, lambda rows, start, share: start, np.ptp)
    >>> [step.rows.tolist() for step in steps]
    [[0, 1, 2, 3], [2, 3, 4, 5], [4, 5, 6, 7]]
    """
    if size < 2 * k:
        raise KanopyError(f"size = {size}: bubble carry needs P ≥ 2k = {2 * k} rows")
    read = 0
    rows, start = order[:0], order[:0]
    while read < len(order):
        new = order[read : len(order) if stopping() else read + size - len(rows)]
        read += len(new)
        rows, start = _fed_in(rows, start, new, k)
        still = math.ceil((len(order) - read) / (accept * k))
        labels = split_large(solve(rows, start, 1 + still), k)
        carried = np.zeros(len(rows), dtype=np.bool_)
        if read < len(order):
            classes = list(dict.fromkeys(labels.tolist()))
            classes.sort(key=lambda c: cost(rows[labels == c]))
            carried = np.isin(labels, classes[min(accept, len(classes) - 1) :])
        yield Step(rows, labels, carried)
        rows, start = rows[carried], labels[carried]


def _fed_in(carried: Rows, labels: Rows, new: Rows, k: int) -> tuple[Rows, Rows]:
    """Carried rows and new ones with the partition that a sub-problem begins with."""
    _, labels = np.unique(labels, return_inverse=True)
    fresh = int(labels.max()) + 1 if len(labels) else 0
    if len(new) < k and fresh:  # too few for a class of their own
        sets = np.full(len(new), fresh - 1)
    else:
        sets = fresh + consecutive_sets(len(new), k)
    return np.concatenate([carried, new]), np.concatenate([labels, sets])


def boundary_classes(labels: Rows, k: int, boundary: int) -> NDArray[np.bool_]:
    """Which rows are carried on: classes, or k-sets of them, that have one of the last rows.

    >>> boundary_classes(np.array([0, 0, 1, 0, 1, 1]), 2, 1).astype(int).tolist()
    [0, 0, 1, 0, 1, 1]
    >>> boundary_classes(np.array([0, 0, 0, 0, 0, 0]), 2, 1).astype(int).tolist()
    [0, 0, 0, 0, 1, 1]
    """
    carried = np.zeros(len(labels), dtype=np.bool_)
    for c in np.unique(labels[-boundary:]):
        members = np.flatnonzero(labels == c)
        at_boundary = int((members >= len(labels) - boundary).sum())
        kept = members[-max(k, at_boundary) :]
        left = len(members) - len(kept)
        carried[members if 0 < left < k else kept] = True
    return carried


@register(
    "split-carry",
    costs=("range",),
    kinds=("numeric", "nominal", "mixed"),
    paper="003, Alg. 1",
    summary="optimal sub-problems of a few k-sets in sorted order, chained by carried classes",
    options=SplitCarryOptions,
)
def split_carry(problem: Problem, run: Run, options: SplitCarryOptions) -> Outcome:
    """Run Split & Carry; when stopped, what is left keeps the classes of the initial solution."""
    with sorted_exit(run):
        labels = np.full(problem.n, -1, dtype=np.int64)
        classes = 0
        for step in course(problem, run, options):
            final, number = np.unique(step.labels[~step.carried], return_inverse=True)
            labels[step.rows[~step.carried]] = classes + number
            classes += len(final)
    return Outcome(labels=labels)


def course(problem: Problem, run: Run, options: SplitCarryOptions) -> Iterator[Step]:
    """The sub-problems of a run, one by one."""
    seconds = math.inf if options.seconds is None else options.seconds
    solver = SubProblems(problem, run, options.solver, options.backend, seconds)

    def solve(rows: Rows, start: Rows, share: int) -> Rows:
        return start if run.stopping(iterations=1) else solver.solve(rows, start, share)

    def cost(rows: Rows) -> float:
        return solver.cost(rows)

    order, k, stopping = sorted_rows(problem.data), problem.k, run.stopping
    if options.size is not None and options.accept is not None:
        return bubble_steps(order, k, options.size, options.accept, solve, cost, stopping)
    return split_carry_steps(order, k, options.sets, solve, options.carry, stopping)
