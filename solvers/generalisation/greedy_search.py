"""Greedy Search: the first row left takes in, one by one, the k−1 that cost least (003, Alg. 2).

Rows are taken in the order of the initial feasible solution. For the class E of a row, line 13
looks for the row x of least f(E + x) among those that are left; of equal ones the first in sorted
order is taken. The n mod k rows that are left in the end each join a class.

Readings:

- A left-over row joins the class that "would incur the least utility loss if we were to add" it.
  Table 7 tells what that means: the least f(E + x), the loss of the whole class after it joined,
  as in line 11. With the least *increase* f(E + x) − f(E), row 18 would join {14, 7, 10, 4} there;
  ``leftovers="increase"`` offers that. Of equal classes the one that was built first is taken.
- Categories are charged as value sets (definition 8). Line 3's optional expansion to binary columns
  is a matter of the data: see :func:`~kanopy.instances.encoding.expanded`.

*Large data.* A scan of all rows that are left costs O(n²) whatever the data. ``search="tree"``
looks through a k-d tree of them instead and builds **the same classes**, ties included: a million
rows of four columns take seconds where the scan takes an hour. With many columns its bounds lose
their grip and the scan is quicker; ``search="auto"`` chooses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kanopy.instances.errors import unknown
from kanopy.instances.microdata import Microdata
from kanopy.solvers.generalisation.initial_sort import sorted_exit, sorted_rows
from kanopy.solvers.heuristics.ils import range_table
from kanopy.solvers.kernels.chunks import Stopping, in_chunks, never
from kanopy.solvers.kernels.greedy_range import build_tree, scan_classes, tree_classes
from kanopy.solvers.problem import Outcome, Problem
from kanopy.solvers.registry import register
from kanopy.solvers.run import Run

SEARCHES = ("auto", "scan", "tree")
LEFTOVERS = ("class", "increase")

MANY_ROWS, FEW_COLUMNS = 5_000, 8
"""``auto`` takes the tree above so many rows and up to so many columns."""


@dataclass(frozen=True)
class GreedyOptions:
    """Options of ``greedy-search``; see the module's docstring."""

    search: str = "auto"
    leftovers: str = "class"

    def __post_init__(self) -> None:
        if self.search not in SEARCHES:
            raise unknown("search", self.search, SEARCHES)
        if self.leftovers not in LEFTOVERS:
            raise unknown("rule for leftovers", self.leftovers, LEFTOVERS)


@dataclass(frozen=True, eq=False)
class Course:
    """What Greedy Search did: the sorted rows, the k-sets as they were built, who joined later."""

    order: NDArray[np.int64]
    sets: NDArray[np.int64]
    joined: tuple[tuple[int, int], ...]
    """Left-over rows, each with the number of the set it joined."""

    @property
    def labels(self) -> NDArray[np.int64]:
        """Class of each row."""
        labels = np.empty(len(self.order), dtype=np.int64)
        labels[self.sets.ravel()] = np.repeat(np.arange(len(self.sets)), self.sets.shape[1])
        for row, number in self.joined:
            labels[row] = number
        return labels

    def steps(self) -> Iterator[tuple[int, list[int], list[list[int]]]]:
        """Row by row of 003, table 7: index, rows that remain, sets so far."""
        remaining = self.order.tolist()
        sets: list[list[int]] = []
        for built in self.sets.tolist():
            sets = [*sets, built]
            remaining = [row for row in remaining if row not in built]
            yield built[0], remaining, sets
        for row, number in self.joined:
            sets = [[*s, row] if i == number else s for i, s in enumerate(sets)]
            remaining = [other for other in remaining if other != row]
            yield row, remaining, sets


def greedy_search(
    data: Microdata,
    k: int,
    search: str = "auto",
    leftovers: str = "class",
    stopping: Stopping = never,
) -> Course:
    """Run Greedy Search; when stopped, what is left is cut into consecutive sets of k.

    Examples
    --------
    >>> import kanopy as kn
    >>> course = greedy_search(kn.example("fars"), 3)
    >>> course.sets.tolist()[:3], course.joined
    ([[12, 1, 11], [14, 7, 10], [16, 5, 9]], ((4, 1), (18, 3)))
    """
    order = sorted_rows(data)
    table = _Table.of(data, order)
    if search == "auto":
        few = table.numbers.shape[1] + table.categories.shape[1] <= FEW_COLUMNS
        search = "tree" if few and data.n > MANY_ROWS else "scan"
    builder = (_Tree if search == "tree" else _Scan)(table, k)
    in_chunks(builder.advance, stopping)
    done = builder.done
    sequence = np.concatenate([builder.sequence[:done], np.flatnonzero(builder.gone == 0)])
    whole = data.n - data.n % k
    sets = sequence[:whole].reshape(-1, k)
    joined = _join(table, sets, sequence[whole:], leftovers == "increase")
    return Course(order, order[sets], tuple((int(order[row]), c) for row, c in joined))


@dataclass(frozen=True, eq=False)
class _Table:
    """The sorted table in the form that the kernels read."""

    numbers: NDArray[np.float64]
    categories: NDArray[np.int64]
    unit: NDArray[np.float64]
    price: NDArray[np.float64]

    @classmethod
    def of(cls, data: Microdata, order: NDArray[np.int64]) -> _Table:
        scaled, codes, unit = range_table(data)
        first = np.cumsum(data.domain_sizes) - data.domain_sizes
        return cls(
            np.ascontiguousarray(scaled[order]),
            np.ascontiguousarray(codes[order] + first),
            unit,
            np.repeat(unit, data.domain_sizes),
        )


class _Scan:
    """Builds classes by scanning all rows; those that are gone are dropped from time to time."""

    def __init__(self, table: _Table, k: int) -> None:
        self.table, self.k = table, k
        self.n = len(table.numbers)
        self.done = 0
        self.sequence = np.empty(self.n, dtype=np.int64)
        self.gone = np.zeros(self.n)
        self._compact()

    def _compact(self) -> None:
        self.rows = np.flatnonzero(self.gone == 0)
        self.numbers = np.ascontiguousarray(self.table.numbers[self.rows].T)
        self.categories = np.ascontiguousarray(self.table.categories[self.rows].T)
        self.begin = 0

    def advance(self, classes: int) -> bool:
        """Build so many classes more; True if there are no more to build."""
        classes = min(classes, (self.n - self.done) // self.k)
        found = np.empty(classes * self.k, dtype=np.int64)
        self.begin = scan_classes(
            self.numbers,
            self.categories,
            self.table.price,
            self.k,
            self.gone[self.rows],
            self.begin,
            found,
            0,
            classes,
        )
        self._take(self.rows[found])
        return self._finished()

    def _finished(self) -> bool:
        left = self.n - self.done
        if self.k <= left < len(self.rows) / 2:
            self._compact()
        return left < self.k

    def _take(self, rows: NDArray[np.int64]) -> None:
        self.sequence[self.done : self.done + len(rows)] = rows
        self.gone[rows] = np.inf
        self.done += len(rows)


class _Tree(_Scan):
    """Builds classes by looking through a tree, built anew whenever half of its rows are gone."""

    def _compact(self) -> None:
        self.rows = np.flatnonzero(self.gone == 0)
        self.tree = build_tree(
            self.table.numbers, self.table.categories, self.table.unit, self.rows
        )
        self.begin = 0

    def advance(self, classes: int) -> bool:
        """Build so many classes more; True if there are no more to build."""
        classes = min(classes, (self.n - self.done) // self.k)
        self.begin = tree_classes(
            self.table.numbers,
            self.table.categories,
            self.table.price,
            self.table.unit,
            self.k,
            self.gone,
            self.begin,
            self.sequence,
            self.done,
            classes,
            *self.tree,
        )
        self.done += classes * self.k
        return self._finished()


def _join(
    table: _Table, sets: NDArray[np.int64], rows: NDArray[np.int64], by_increase: bool
) -> list[tuple[int, int]]:
    """Each left-over row with the number of the set it joins, fewer than k in all."""
    if not len(rows):
        return []
    low, high = table.numbers[sets].min(axis=1), table.numbers[sets].max(axis=1)
    # A row that joins takes a place of its own; until then its set's first row stands there twice.
    members = np.hstack([sets, np.repeat(sets[:, :1], len(rows), axis=1)])
    values = np.sort(table.categories[sets], axis=1)
    distinct = 1 + (np.diff(values, axis=1) != 0).sum(axis=1)
    sizes = np.full(len(sets), sets.shape[1])
    joined = []
    for row in rows.tolist():
        x, categories = table.numbers[row], table.categories[row]
        new = ~(table.categories[members] == categories).any(axis=1)
        wide = np.maximum(high, x) - np.minimum(low, x)
        after = wide.sum(axis=1) + (distinct - 1 + new) @ table.unit
        cost = (sizes + 1) * after
        if by_increase:
            cost -= sizes * ((high - low).sum(axis=1) + (distinct - 1) @ table.unit)
        best = int(np.argmin(cost))
        members[best, sizes[best]] = row
        low[best], high[best] = np.minimum(low[best], x), np.maximum(high[best], x)
        distinct[best] += new[best]
        sizes[best] += 1
        joined.append((row, best))
    return joined


@register(
    "greedy-search",
    costs=("range",),
    kinds=("numeric", "nominal", "mixed"),
    paper="003, Alg. 2",
    summary="the first row in sorted order takes in the k−1 that cost least, and so on",
    options=GreedyOptions,
)
def greedy(problem: Problem, run: Run, options: GreedyOptions) -> Outcome:
    """Run Greedy Search on the table."""
    with sorted_exit(run):
        course = greedy_search(
            problem.data, problem.k, options.search, options.leftovers, run.stopping
        )
    return Outcome(labels=course.labels)
