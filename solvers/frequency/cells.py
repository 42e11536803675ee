r"""From control tables to choice programs: cells become sums.

The sums of a cell t with the original value n̄ are all values that it can have in a release. The χ²
error costs (v − n̄)²/n̄; a maximum error of θ costs nothing and allows n̄ − g_t − θ … n̄ + g_t + θ.

In a k-anonymous table *every* cell is 0 or at least k, being a sum of counts that are; so these are
the values of the sums, and the convex envelope of the error over them, which is what a linear
relaxation sees, is far above the error itself where that is small.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from kanopy.solvers.frequency.program import Ints, Program
from kanopy.solvers.problem import Problem
from kanopy.solvers.run import Run

MOST_ENTRIES = 30_000_000
"""Amounts of a program that are kept at most, which takes about 3 GB at the peak."""
ENTRIES_PER_SECOND = 1_000_000
"""Amounts with which a program is set up, simplified and relaxed in a second."""


def has_room(problem: Problem, run: Run, limit: float, theta: float | None = None) -> bool:
    """Whether :func:`count_program` is small enough for the memory and the time that is left."""
    assert problem.control is not None
    if run.stopping():
        return False
    _, _, highest = _windows(problem, limit, theta)
    options = np.maximum(highest - problem.k + 2, 1)
    entries = int((problem.control.matrix @ options.astype(np.float64)).sum())
    return entries <= min(MOST_ENTRIES, ENTRIES_PER_SECOND * run.remaining())


def count_program(problem: Problem, limit: float, theta: float | None = None) -> Program:
    """The frequency problem as a choice program: one group per combination, one option per count.

    ``limit`` is an objective that a solution of interest does not exceed. All terms are ≥ 0, so
    each is at most the limit, which bounds counts and cells. For the cost ``max-error`` the
    largest excess may be ``theta``, and the objective is the weighted deviation alone.

    The number of an option tells its combination and count, see :func:`counts_of`.

    Examples
    --------
    >>> from kanopy.instances.examples import example
    >>> data = example("compensation")
    >>> problem = Problem(data, 2, "chi2", control=data.tables(1), total=4)
    >>> program = count_program(problem, limit=10.0)
    >>> program.objective(numbers_of(np.array([2, 0, 0, 2]), 4))
    0.0
    """
    assert problem.control is not None
    original = problem.data.counts
    total = problem.n if problem.total is None else problem.total
    matrix = problem.control.matrix
    goal = problem.control.values(original).astype(np.float64)
    low, high, highest = _windows(problem, limit, theta)
    counts = [_anonymous(0, int(top), problem.k) for top in highest]
    values = [
        _anonymous(int(a), int(b), problem.k) if a <= b else np.zeros(0, dtype=np.int64)
        for a, b in zip(low, high, strict=True)
    ]
    sizes = np.array([len(options) for options in counts], dtype=np.int64)
    count = np.concatenate(counts)
    owner = np.repeat(np.arange(len(original)), sizes)
    # One column per option that adds its count to the cells of its combination.
    spread = sp.csr_array(
        (count, (owner, np.arange(len(count)))), shape=(len(original), len(count))
    )
    everything = sp.csr_array(np.ones((1, len(original)), dtype=np.int64))
    amount = sp.csr_array(sp.vstack([matrix, everything]) @ spread)
    amount.eliminate_zeros()
    values.append(np.array([total]))
    cell = np.repeat(np.arange(len(values)), [len(value) for value in values])
    value = np.concatenate(values)
    goals = np.append(goal, float(total))
    error = (value - goals[cell]) ** 2 / np.maximum(goals[cell], 1.0)
    error[cell == len(goal)] = 0.0
    return Program(
        start=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        cost=problem.deviation_weight * np.abs(count - original[owner]).astype(np.float64),
        number=owner * (total + 1) + count,
        amount=amount,
        sum_start=np.concatenate([[0], np.cumsum([len(v) for v in values])]).astype(np.int64),
        sum_value=value,
        sum_cost=error if problem.cost == "chi2" else np.zeros(len(value)),
    )


def _windows(problem: Problem, limit: float, theta: float | None) -> tuple[Ints, Ints, Ints]:
    """Least and largest value of each cell, and the largest count of each combination."""
    assert problem.control is not None
    original = problem.data.counts
    total = problem.n if problem.total is None else problem.total
    goal = problem.control.values(original).astype(np.float64)
    if problem.cost == "chi2":
        reach = np.sqrt(limit * goal) * (1 + 1e-9) + 1e-9
    else:
        assert theta is not None
        allowed = 0.0 if problem.tolerance is None else problem.tolerance
        reach = allowed + theta + np.zeros(len(goal)) + 1e-9
    low = np.maximum(np.ceil(goal - reach), 0).astype(np.int64)
    high = np.minimum(np.floor(np.minimum(goal + reach, total)), total).astype(np.int64)
    # A count is at most the value of any cell that counts it.
    highest = np.full(len(original), total, dtype=np.int64)
    cells, members = problem.control.matrix.tocoo().coords
    np.minimum.at(highest, members, high[cells])
    if problem.deviation_weight > 0:
        most = np.minimum(limit / problem.deviation_weight * (1 + 1e-9) + 1e-9, total)
        highest = np.minimum(highest, original + int(most))
    return low, high, highest


def numbers_of(counts: Ints, total: int) -> Ints:
    """Numbers of the options that stand for given counts."""
    return np.arange(len(counts)) * (total + 1) + counts


def counts_of(numbers: Ints, total: int) -> Ints:
    """The counts that the options with these numbers stand for, one for each combination."""
    return np.sort(numbers) % (total + 1)


def _anonymous(low: int, high: int, k: int) -> Ints:
    """The values 0 and k, k+1, … between two bounds."""
    positive = np.arange(max(low, k), high + 1)
    return (np.append(0, positive) if low <= 0 else positive).astype(np.int64)


def sets_of(program: Program, total: int) -> list[Ints]:
    """The counts that a program of counts leaves to each combination."""
    numbers = np.sort(np.concatenate([program.decided, program.number]))
    owner, count = numbers // (total + 1), numbers % (total + 1)
    return np.split(count, np.flatnonzero(np.diff(owner)) + 1)
