"""Frequency problems: which counts of the occurring combinations to publish."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kanopy.instances.errors import KanopyError
from kanopy.instances.microdata import Microdata
from kanopy.instances.tables import ControlTables

EXTRA_ERROR_STEPS = (10, 20, 50, 100, 200, 1_000, 10_000, 100_000, 1_000_000)
"""Values from which a cell is allowed an extra error of 1, 2, … 9 (000, Appendix A)."""


def allowed_extra_error(
    values: ArrayLike, steps: Sequence[float] = EXTRA_ERROR_STEPS
) -> NDArray[np.int64]:
    """Extra error g_t that SAFE allows a cell, by its original value (000, Appendix A).

    It is the number of ``steps``, in increasing order, that the value reaches: 0 below 10, then 1
    from 10, 2 from 20, 3 from 50, 4 from 100, 5 from 200, 6 from 1 000, 7 from 10 000, 8 from
    100 000 and 9 from 1 000 000.

    >>> allowed_extra_error([9, 10, 49, 200, 1_000_000]).tolist()
    [0, 1, 2, 5, 9]
    """
    reached = np.searchsorted(np.asarray(steps), np.asarray(values), side="right")
    return reached.astype(np.int64)


@dataclass(frozen=True, eq=False)
class FrequencyProblem:
    """What the SAFE-type models of 000 are built from (eq. 2.1.1–2.1.5 and 3.1.1–3.1.5).

    Over the combinations of ``data`` with counts y⁰ one looks for counts y with y_i = 0 or y_i ≥ k
    and Σy = S that keep max_t |(A y⁰ − A y)_t| − g_t small.

    Attributes
    ----------
    data
        The original rows; ``data.combinations`` index the frequency vectors.
    k
        Every count is 0 or at least k.
    tables
        The control tables, A.
    tolerance
        The error g_t that a cell may have for free.
    total
        The number of rows S that the new counts add up to.

    Examples
    --------
    >>> from kanopy.instances.examples import example
    >>> problem = FrequencyProblem.build(example("compensation"), k=2, control=1)
    >>> problem.excess(np.array([2, 0, 0, 2]))
    0.0
    >>> problem.allows(np.array([2, 0, 0, 2])), problem.allows(np.array([1, 1, 1, 1]))
    (True, False)
    """

    data: Microdata
    k: int
    tables: ControlTables
    tolerance: NDArray[np.float64]
    total: int

    def __post_init__(self) -> None:
        if self.k < 1:
            raise KanopyError(f"k = {self.k}; choose k ≥ 1")
        if self.total < 0:
            raise KanopyError(f"total = {self.total}; choose a number of rows ≥ 0")
        if self.tables.matrix.shape[1] != len(self.data.counts):
            raise KanopyError(
                f"the control tables count {self.tables.matrix.shape[1]} combinations, "
                f"the data have {len(self.data.counts)}; build them with data.tables(...)"
            )
        if self.tolerance.shape != (len(self.tables),):
            raise KanopyError(
                f"tolerance has shape {self.tolerance.shape}, but there are {len(self.tables)} "
                "cells; give one value per cell"
            )
        if not np.all(np.isfinite(self.tolerance) & (self.tolerance >= 0)):
            raise KanopyError("tolerances must be numbers ≥ 0")

    @classmethod
    def build(
        cls,
        data: Microdata,
        k: int,
        control: int | Sequence[Sequence[str]],
        tolerance: NDArray[np.float64] | float = 0.0,
        total: int | None = None,
    ) -> FrequencyProblem:
        """Problem with the tables that ``control`` names; by default the rows stay as many."""
        tables = data.tables(control)
        given = np.asarray(tolerance, dtype=np.float64)
        per_cell = np.full(len(tables), float(given)) if given.ndim == 0 else given
        return cls(data, k, tables, per_cell, data.n if total is None else total)

    @property
    def original(self) -> NDArray[np.int64]:
        """The original counts y⁰."""
        return self.data.counts

    def errors(self, counts: NDArray[np.integer]) -> NDArray[np.int64]:
        """The errors b = A y⁰ − A y of all cells (000, eq. 2.1.2)."""
        return self.tables.values(self.original) - self.tables.values(counts)

    def excess(self, counts: NDArray[np.integer]) -> float:
        """The objective max_t |b_t| − g_t (000, eq. 2.1.1)."""
        return float(np.max(np.abs(self.errors(counts)) - self.tolerance))

    def allows(self, counts: NDArray[np.integer]) -> bool:
        """Whether the counts are k-anonymous and add up to ``total`` (000, eq. 3.1.3–3.1.4)."""
        anonymous = np.all((counts == 0) | (counts >= self.k))
        return bool(anonymous) and int(np.sum(counts)) == self.total
