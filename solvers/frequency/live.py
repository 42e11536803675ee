"""A relaxation kept in a running solver: rows are added and columns shut, the rest stays warm."""

from __future__ import annotations

import importlib
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from kanopy.models.linear_form import LinearForm
from kanopy.solvers.backends.watch import abandon
from kanopy.solvers.frequency.program import Floats, Mask

POLL = 0.1
"""Seconds between two looks at the stopping rule."""
GRACE = 1.0
"""Seconds that a stopped solver is waited for."""


@dataclass(frozen=True, eq=False)
class LivePoint:
    """An optimal point, or where the solver was stopped, with the duals of all rows."""

    x: Floats
    duals: Floats
    optimal: bool


class LiveLinear:
    """A linear program over columns in [0, 1] in HiGHS.

    All columns have both bounds, so every basis is dual feasible once columns stand at the right
    bound: after any change the dual simplex method goes on from where it was.
    """

    def __init__(self, form: LinearForm, stopping: Callable[[], bool]) -> None:
        self._highspy = importlib.import_module("highspy")
        self._stopping = stopping
        self._stopped = threading.Event()
        self._left_behind = False
        self._rows = form.matrix.shape[0]
        self._open = np.ones(len(form.cost), dtype=np.bool_)
        program = self._highspy.HighsLp()
        program.num_row_, program.num_col_ = form.matrix.shape
        program.col_cost_, program.offset_ = form.cost, form.constant
        program.col_lower_, program.col_upper_ = form.lower, form.upper
        program.row_lower_, program.row_upper_ = form.row_lower, form.row_upper
        columns = form.matrix.tocsc()
        program.a_matrix_.format_ = self._highspy.MatrixFormat.kColwise
        program.a_matrix_.start_ = columns.indptr.astype(np.int32)
        program.a_matrix_.index_ = columns.indices.astype(np.int32)
        program.a_matrix_.value_ = columns.data.astype(np.float64)
        self._highs: Any = self._highspy.Highs()
        for option, value in {
            "output_flag": False,
            "threads": 1,
            "presolve": "off",
            "solver": "simplex",
        }.items():
            self._highs.setOptionValue(option, value)
        self._check(self._highs.passModel(program))
        self._highs.cbSimplexInterrupt.subscribe(self._on_interrupt)

    def add(self, cuts: sp.csr_array) -> None:
        """Add rows cuts·x ≤ 0."""
        number = cuts.shape[0]
        self._rows += number
        if self._left_behind:
            return
        answer = self._highs.addRows(
            number,
            np.full(number, -self._highspy.kHighsInf),
            np.zeros(number),
            cuts.nnz,
            cuts.indptr[:-1].astype(np.int32),
            cuts.indices.astype(np.int32),
            cuts.data.astype(np.float64),
        )
        self._check(answer)

    def open(self, columns: Mask) -> None:
        """Keep the other columns at 0 from now on."""
        changed = np.flatnonzero(columns != self._open)
        if len(changed) and not self._left_behind:
            upper = columns[changed].astype(np.float64)
            answer = self._highs.changeColsBounds(
                len(changed), changed.astype(np.int32), np.zeros(len(changed)), upper
            )
            self._check(answer)
            self._open = columns.copy()

    def solve(self, refuted: Callable[[Floats], bool]) -> LivePoint | None:
        """The optimum; None if there is no point at all.

        The solver's word is not enough for that: ``refuted`` must accept the multipliers that it
        gives as its reason. Where it does not, even from a cold start, nothing has been proven.
        """
        if not self._run():
            return self._nothing()
        status, known = self._highs.getModelStatus(), self._highspy.HighsModelStatus
        if status == known.kInfeasible:
            if self._reason(refuted):
                return None
            self._highs.clearSolver()
            if not self._run():
                return self._nothing()
            status = self._highs.getModelStatus()
            if status == known.kInfeasible:
                return None if self._reason(refuted) else self._nothing()
        solution = self._highs.getSolution()
        x, duals = np.array(solution.col_value), np.array(solution.row_dual)
        if len(duals) == 0 or not np.isfinite(duals).all():  # no prices claim too little, not much
            return self._nothing()
        return LivePoint(x, duals, status == known.kOptimal)

    def _nothing(self) -> LivePoint:
        return LivePoint(np.zeros(len(self._open)), np.zeros(self._rows), False)

    def _reason(self, refuted: Callable[[Floats], bool]) -> bool:
        """Whether the solver's reason for "infeasible" holds."""
        _, there, ray = self._highs.getDualRay()
        ray = np.array(ray, dtype=np.float64)
        return bool(there) and bool(np.isfinite(ray).all()) and refuted(ray)

    def _run(self) -> bool:
        """Solve in a thread, as Ctrl-C and the clock are ours to watch; False if it does not end.

        Who does not end soon after being asked to is left behind, and never asked again.
        """
        if self._left_behind:
            return False
        worker = threading.Thread(target=self._highs.run, daemon=True, name="kanopy relaxation")
        worker.start()
        patience_ends = time.perf_counter() + GRACE if self._stopped.is_set() else math.inf
        try:
            worker.join(POLL)
            while worker.is_alive() and time.perf_counter() < patience_ends:
                if not self._stopped.is_set() and self._stopping():
                    self._stopped.set()
                    patience_ends = time.perf_counter() + GRACE
                worker.join(POLL)
        except BaseException:
            self._stopped.set()
            worker.join(GRACE)
            raise
        self._left_behind = worker.is_alive()
        if self._left_behind:
            abandon(worker)
        return not self._left_behind

    def _check(self, answer: Any) -> None:
        if answer == self._highspy.HighsStatus.kError:
            raise RuntimeError("HiGHS does not take the program")

    def _on_interrupt(self, event: Any) -> None:
        if self._stopped.is_set():
            event.interrupt()
