"""Best partitions of the few rows of a sub-problem (003, line 7 of Alg. 1).

``branch-and-price``
    Our default. First an exact search of its own (:mod:`~kanopy.solvers.kernels.tiny_range`), which
    proves most sub-problems in less than a millisecond; what it cannot prove goes to the
    branch-and-price engine.
``pairwise``
    The MILP of 003, eq. 21–34, through an optimisation solver, as in the paper. Same optimum.

Either may be given a time limit, the paper's early termination, and then returns the best that it
has found.
"""

from __future__ import annotations

import importlib
import math

import numpy as np
from numpy.typing import NDArray

from kanopy.solvers.backends.choice import find_backend
from kanopy.solvers.backends.protocol import Limits
from kanopy.solvers.heuristics.ils import range_table
from kanopy.solvers.kernels.tiny_range import best_partition
from kanopy.solvers.problem import Problem
from kanopy.solvers.registry import find_method
from kanopy.solvers.run import Run
from kanopy.solvers.stop import First, MaxRuntime

SOLVERS = ("branch-and-price", "pairwise")

LEAST_SECONDS = 0.05
"""With less time than this, branch-and-price is not begun."""


class SubProblems:
    """Solves sub-problems of one problem, all measured in its units.

    ``seconds`` is the most that one of them may take.
    """

    def __init__(self, problem: Problem, run: Run, solver: str, backend: str, seconds: float):
        self.problem, self.run = problem, run
        self.solver, self.backend, self.seconds = solver, backend, seconds
        self.numbers, self.codes, self.unit = range_table(problem.data)

    def solve(
        self, rows: NDArray[np.int64], start: NDArray[np.int64], share: int
    ) -> NDArray[np.int64]:
        """Best labels of some rows, found from a given partition in one of ``share`` equal times.

        If no partition is better than the one given, that one is returned.
        """
        k = self.problem.k
        if len(rows) < 2 * k:
            return np.zeros(len(rows), dtype=np.int64)
        seconds = min(self.seconds, self.run.remaining() / share)
        if self.solver == "pairwise":
            found = self._pairwise(rows, start, seconds)
        else:
            numbers, codes = self.numbers[rows], self.codes[rows]
            found, proven = best_partition(numbers, codes, self.unit, k, start)
            if not proven and seconds >= LEAST_SECONDS:
                found = self._branch_and_price(rows, found, seconds)
        return found

    def cost(self, rows: NDArray[np.int64]) -> float:
        """Cost of a class."""
        values = np.sort(self.codes[rows], axis=0)
        loss = np.ptp(self.numbers[rows], axis=0).sum()
        loss += (np.diff(values, axis=0) != 0).sum(axis=0) @ self.unit
        return len(rows) * float(loss)

    def _branch_and_price(
        self, rows: NDArray[np.int64], start: NDArray[np.int64], seconds: float
    ) -> NDArray[np.int64]:
        method = find_method("branch-and-price")
        problem = self.problem.restrict(rows)
        limit = self.run.stop if math.isinf(seconds) else First(self.run.stop, MaxRuntime(seconds))
        part = Run(problem, limit, self.run.seed, start)
        part.found_labels(start)
        method.run(problem, part, method.parse({}))
        assert part.best is not None
        assert part.best.labels is not None
        return part.best.labels

    def _pairwise(
        self, rows: NDArray[np.int64], start: NDArray[np.int64], seconds: float
    ) -> NDArray[np.int64]:
        # Pyomo takes a second to load, and only this solver needs it.
        extract = importlib.import_module("kanopy.models.extract").extract
        models = importlib.import_module("kanopy.models.pairwise")
        problem = self.problem.restrict(rows)
        model = models.pairwise(problem.data, problem.k)
        models.load_labels(model, start)
        extracted = extract(model)
        limits = Limits(seconds=seconds, seed=self.run.seed, interrupted=self.run.stopping)
        result = find_backend(self.backend).solve(extracted.form, limits, extracted.start())
        if result.x is None:
            return start
        extracted.load(result.x)
        found = models.read_labels(model)
        better = problem.partition_cost(found) < problem.partition_cost(start) - 1e-9
        return found if better else start
