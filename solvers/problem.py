"""What a method is asked, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from kanopy.instances.arguments import whole_number
from kanopy.instances.errors import KanopyError
from kanopy.instances.microdata import Microdata
from kanopy.instances.tables import ControlTables
from kanopy.solvers.costs import CLUSTER_COSTS, freeform_cost, frequency_cost, total_cost
from kanopy.solvers.links import Links


@dataclass(frozen=True)
class Outcome:
    """What a method returns: one of the four decisions, and a proven bound if it has one.

    Attributes
    ----------
    labels
        Partition: the cluster 0, 1, 2, … of each row.
    counts
        Frequency: how often each combination of the data occurs in the release.
    representatives
        Representatives: for each cluster of ``labels``, the row all its rows become.
    matches
        Freeform: for each row the k rows that its generalised row must cover, itself first; every
        column is a permutation of the rows.
    bound
        A proven lower bound of the objective.
    solver
        The optimisation solver that was used, with its version.
    """

    labels: NDArray[np.int64] | None = None
    counts: NDArray[np.int64] | None = None
    representatives: NDArray[np.int64] | None = None
    matches: NDArray[np.int64] | None = None
    bound: float | None = None
    solver: str | None = None


@dataclass(frozen=True, eq=False)
class Problem:
    """Make ``data`` k-anonymous at the least ``cost``.

    ``control``, ``tolerance`` (g_t of 000, 2.1) and ``deviation_weight`` (w of 000, 3.2 and 5.6)
    belong to the frequency costs; ``total`` is the number of rows a frequency vector must have, and
    None for a method that does not promise any (SAFE, 000, 3.2 and table 6.9).
    ``links`` are pairs of rows that a partition must keep together or apart.
    """

    data: Microdata
    k: int
    cost: str
    control: ControlTables | None = None
    tolerance: NDArray[np.float64] | None = None
    deviation_weight: float = 0.0
    total: int | None = None
    links: Links = field(default_factory=Links)

    def __post_init__(self) -> None:
        check_k(self.data, self.k)

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.data.n

    def restrict(self, rows: NDArray[np.integer]) -> Problem:
        """The same question about some of the rows, measured in the same units."""
        return replace(self, data=self.data.restrict(rows), links=self.links.restrict(rows))

    def partition_cost(self, labels: NDArray[np.integer]) -> float:
        """Cost of a partition."""
        return total_cost(self.data, labels, self.cost)

    def objective(self, outcome: Outcome) -> float:
        """Cost of whatever a method decided."""
        if outcome.matches is not None:
            return freeform_cost(self.data, outcome.matches)
        if self.cost in CLUSTER_COSTS:
            assert outcome.labels is not None
            return self.partition_cost(outcome.labels)
        assert self.control is not None
        return frequency_cost(
            self.control,
            released_counts(self.data, outcome),
            self.data.counts,
            self.cost,
            self.tolerance,
            self.deviation_weight,
        )


def released_counts(data: Microdata, outcome: Outcome) -> NDArray[np.int64]:
    """Frequency vector of the release that an outcome stands for."""
    if outcome.counts is not None:
        return outcome.counts
    assert outcome.labels is not None
    assert outcome.representatives is not None
    rows = outcome.representatives[outcome.labels]
    return np.bincount(data.types[rows], minlength=len(data.counts)).astype(np.int64)


def check_k(data: Microdata, k: int) -> None:
    """Raise unless 2 ≤ k ≤ the rows of the table, and of each stratum."""
    whole_number(k, "k")
    if k < 2:
        raise KanopyError(f"k = {k} protects nobody; choose k ≥ 2")
    if k > data.n:
        raise KanopyError(f"k = {k} but there are only {data.n} rows; choose k ≤ {data.n}")
    smallest = int(np.bincount(data.stratum_of_row).min())
    if k > smallest:
        raise KanopyError(
            f"k = {k} but the smallest stratum of {data.strata!r} has only {smallest} rows; "
            f"choose k ≤ {smallest} or merge strata"
        )
