"""What a method is asked: an instance, k, a cost, and for frequency methods the control tables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from kanopy.instances.microdata import Microdata
from kanopy.instances.tables import ControlTables
from kanopy.solvers.costs import total_cost
from numpy.typing import NDArray


@dataclass(frozen=True)
class Problem:
    """Make ``data`` k-anonymous at the least ``cost``."""

    data: Microdata
    k: int
    cost: str
    control: ControlTables | None = None

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.data.n

    def objective(self, labels: NDArray[np.integer]) -> float:
        """Cost of a partition."""
        return total_cost(self.data, labels, self.cost)


@dataclass(frozen=True)
class Outcome:
    """What a method returns: one of the three decisions, and a proven bound if it has one."""

    labels: NDArray[np.int64] | None = None
    counts: NDArray[np.int64] | None = None
    representatives: NDArray[np.int64] | None = None
    bound: float | None = None
    solver: str | None = None
