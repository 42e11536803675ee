"""Frequency tables as one sparse 0/1 matrix over the occurring combinations (000, 1.1 and 2.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kanopy.instances.arguments import is_known, whole_number
from kanopy.instances.errors import KanopyError, unknown
from kanopy.instances.merge import merge_rows


@dataclass(frozen=True, eq=False)
class ControlTables:
    """Cells of frequency tables: ``matrix @ counts`` are the cell values (A y of 000, 2.1).

    Only cells that some combination falls into have a row: all others are 0 before and after any
    change of the counts.

    Attributes
    ----------
    names
        The attributes of each table.
    matrix
        0/1 matrix A, one row per cell, one column per combination.
    table
        For each cell, the number of its table in ``names``.
    first
        For each cell, the first combination counted in it (it names the cell's values).

    Examples
    --------
    >>> import numpy as np
    >>> tables = ControlTables.build({"sex": np.array([0, 0, 1]), "job": np.array([0, 1, 1])}, 1)
    >>> tables.names
    (('sex',), ('job',))
    >>> tables.values(np.array([2, 1, 4])).tolist()
    [3, 4, 2, 5]
    """

    names: tuple[tuple[str, ...], ...]
    matrix: sp.csr_array
    table: NDArray[np.int64]
    first: NDArray[np.int64]

    @classmethod
    def build(
        cls,
        columns: Mapping[str, NDArray[np.int64]],
        control: int | Sequence[Sequence[str]],
    ) -> ControlTables:
        """Tables over code columns: all up to dimension ``control``, or the named ones."""
        names = _table_names(list(columns), control)
        width = len(next(iter(columns.values())))
        cells: list[NDArray[np.int64]] = []
        first: list[NDArray[np.int64]] = []
        table: list[NDArray[np.int64]] = []
        start = 0
        for number, attributes in enumerate(names):
            first_of_cell, cell, _ = merge_rows([columns[name] for name in attributes])
            cells.append(cell + start)
            first.append(first_of_cell)
            table.append(np.full(len(first_of_cell), number, dtype=np.int64))
            start += len(first_of_cell)
        rows = np.concatenate(cells)
        cols = np.tile(np.arange(width), len(names))
        matrix = sp.csr_array(
            (np.ones(len(rows), dtype=np.int64), (rows, cols)), shape=(start, width)
        )
        return cls(names, matrix, np.concatenate(table), np.concatenate(first))

    @property
    def dimension(self) -> NDArray[np.int64]:
        """For each cell, the number of attributes of its table."""
        return np.array([len(name) for name in self.names], dtype=np.int64)[self.table]

    def values(self, counts: NDArray[np.integer]) -> NDArray[np.int64]:
        """Cell values of a frequency vector over the same combinations."""
        return np.asarray(self.matrix @ counts)

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def __repr__(self) -> str:
        return f"ControlTables({len(self.names)} tables, {len(self)} cells)"


def _table_names(
    attributes: list[str], control: int | Sequence[Sequence[str]]
) -> tuple[tuple[str, ...], ...]:
    if not isinstance(control, Iterable):
        whole_number(control, "control")
        if not 1 <= control <= len(attributes):
            raise KanopyError(
                f"control = {control}, but tables have dimension 1 to {len(attributes)}"
            )
        return tuple(
            names for d in range(1, int(control) + 1) for names in combinations(attributes, d)
        )
    if isinstance(control, str):
        raise KanopyError(f"control takes a list of tables; write control=[[{control!r}]]")
    tables: list[tuple[str, ...]] = []
    for names in control:
        if isinstance(names, str) or not isinstance(names, Iterable):
            raise KanopyError(f"a control table is a list of columns; write [{names!r}]")
        for name in names:
            if not is_known(name, attributes):
                raise unknown("column in a control table", name, attributes)
        wanted = set(names)
        if not wanted or len(wanted) < len(names):
            raise KanopyError(f"control table {tuple(names)} is empty or names a column twice")
        tables.append(tuple(name for name in attributes if name in wanted))
    if not tables:
        raise KanopyError("control names no table; give a dimension or a list of tables")
    if len(set(tables)) < len(tables):
        raise KanopyError("control names the same table twice")
    return tuple(tables)
