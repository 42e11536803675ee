r"""What the clusters fix before representatives are sought (000, 5.4).

Identical rows of a cluster are one option. A table whose attributes are the same in all rows of a
cluster C counts C in one cell t whatever represents it, so |C| is added to n_t at once, and what is
left of f_ti are the *open* cells.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kanopy.instances.tables import ControlTables
from kanopy.solvers.frequency.aggregation import Members
from kanopy.solvers.problem import Outcome, Problem

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Choices:
    """The options of each cluster and their open cells.

    Attributes
    ----------
    labels, members
        The clusters, and their distinct members, which are the options.
    cells
        Cell of each option in each table, −1 where it is fixed.
    goal
        n̄ of each cell.
    fixed
        n of each cell that the clusters fix.

    Examples
    --------
    Example 5.4.1 with all tables of one attribute (fig. 5.5):

    >>> import pandas as pd
    >>> from kanopy.instances.microdata import Microdata
    >>> frame = pd.DataFrame({"sex": list("fffffmfmm"), "land": [*"ggg", *"ooo", *"ggo"]})
    >>> data = Microdata.from_frame(frame)
    >>> problem = Problem(data, 3, "chi2", control=data.tables(1))
    >>> choices = Choices.of(problem, np.repeat([0, 1, 2], 3))
    >>> choices.fixed.tolist(), choices.goal.tolist()
    ([3.0, 0.0, 3.0, 3.0], [6.0, 3.0, 5.0, 4.0])
    """

    labels: Ints
    members: Members
    cells: Ints
    goal: Floats
    fixed: Floats

    @classmethod
    def of(cls, problem: Problem, labels: Ints, *, fix: bool = True) -> Choices:
        """Options of a partition; with ``fix=False`` all cells stay open."""
        assert problem.control is not None
        members = Members.of(problem.data.types, labels)
        goal = problem.control.values(problem.data.counts).astype(np.float64)
        cells = cells_of_types(problem.control)[members.kind]
        fixed = np.zeros(len(goal))
        if fix:
            first = members.start[:-1]
            same = np.minimum.reduceat(cells, first) == np.maximum.reduceat(cells, first)
            cluster, table = np.nonzero(same)
            np.add.at(fixed, cells[first][cluster, table], members.size[cluster])
            cells = np.where(same[members.cluster], -1, cells)
        return cls(labels, members, cells, goal, fixed)

    def options(self, cluster: int) -> range:
        """Numbers of a cluster's options."""
        return range(int(self.members.start[cluster]), int(self.members.start[cluster + 1]))

    @property
    def undecided(self) -> Ints:
        """Clusters with more than one option."""
        return np.flatnonzero(np.diff(self.members.start) > 1)

    def outcome(self, chosen: Ints) -> Outcome:
        """The release in which each cluster takes one option."""
        return Outcome(labels=self.labels, representatives=self.members.row[chosen])


def cells_of_types(control: ControlTables) -> Ints:
    """Cell of each combination in each table.

    >>> tables = ControlTables.build({"sex": np.array([0, 0, 1]), "job": np.array([0, 1, 1])}, 1)
    >>> cells_of_types(tables).tolist()
    [[0, 2], [0, 3], [1, 3]]
    """
    by_type = control.matrix.tocsc()
    by_type.sort_indices()
    return np.asarray(by_type.indices, dtype=np.int64).reshape(-1, len(control.names))
