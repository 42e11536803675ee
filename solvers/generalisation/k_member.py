"""k-member clustering, a baseline of 003 (Byun, Kamra, Bertino and Li, DASFAA 2007).

From a random record go to the record farthest from it; that one takes, one by one, the k − 1
records that raise the information loss of its class least. The next class starts at the record
farthest from the one taken last. Fewer than k records are left in the end; in random order each
joins the class whose information loss it raises least.

Readings: information loss is our cost ``range`` (size × loss of the class, 003, eq. 34 and
definition 8), with weights, where the original has the height of a taxonomy for categories; the
distance of two records is the loss of the class they would make. Ties go to the first record.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kanopy.instances.microdata import Microdata
from kanopy.solvers.costs import cluster_costs
from kanopy.solvers.generalisation.scaled import Scaled, scaled
from kanopy.solvers.kernels.boxes import CLASSES, FREE, grow_classes
from kanopy.solvers.kernels.chunks import Stopping, in_chunks, never
from kanopy.solvers.kernels.quick import plain_interrupts
from kanopy.solvers.problem import Outcome, Problem
from kanopy.solvers.registry import NoOptions, register
from kanopy.solvers.run import Run


def k_member_labels(
    data: Microdata, k: int, rng: np.random.Generator, stopping: Stopping = never
) -> NDArray[np.int64]:
    """Class of each row by k-member; what is free at an early stop is cut from a sorted list.

    >>> import pandas as pd
    >>> data = Microdata.from_frame(pd.DataFrame({"age": [20, 61, 22, 60, 64, 23, 24]}))
    >>> k_member_labels(data, 3, np.random.default_rng(0)).tolist()
    [1, 0, 1, 0, 0, 1, 1]
    """
    growing = _Growing(data, k, rng)
    in_chunks(growing.advance, stopping)
    return growing.finished()


class _Growing:
    """Classes so far; any time can be the last."""

    def __init__(self, data: Microdata, k: int, rng: np.random.Generator) -> None:
        self.data, self.k, self.rng = data, k, rng
        self.table = scaled(data)
        self.labels = np.full(data.n, -1, dtype=np.int64)
        self.free = np.arange(data.n)
        self.state = np.zeros(2, dtype=np.int64)
        self.state[FREE] = data.n
        points, codes, price = self.table
        first = int(rng.integers(data.n))
        ask = price.copy()
        ask[codes[:, first]] = 0.0
        box = points[:, first].copy(), points[:, first].copy(), ask
        self.room = self.labels, self.free, self.state, *box, np.empty(data.n)
        self.moving = points.copy(), codes.copy(), price

    def advance(self, steps: int) -> bool:
        """Form so many classes; True if those were the last ones."""
        return bool(grow_classes(*self.moving, self.k, steps, *self.room))

    def finished(self) -> NDArray[np.int64]:
        """The partition: k free rows or more are cut from a sorted list, fewer join classes."""
        labels, classes = self.labels.copy(), int(self.state[CLASSES])
        order = self.table.order()
        free = order[labels[order] < 0]
        if len(free) >= self.k:
            cut = np.minimum(np.arange(len(free)) // self.k, len(free) // self.k - 1)
            labels[free] = classes + cut
            return labels
        join_cheapest(self.data, self.table, labels, self.rng.permutation(np.sort(free)))
        return labels


def join_cheapest(
    data: Microdata, table: Scaled, labels: NDArray[np.int64], rows: NDArray[np.integer]
) -> None:
    """Put each row in turn into the class whose cost it raises least, the first on ties; in place.

    A class of size s and loss l that grows by g costs (s + 1)(l + g) − s·l = l + (s + 1)·g more.
    """
    members = np.flatnonzero(labels >= 0)
    classes = labels[members]
    sizes = np.bincount(classes)
    loss = cluster_costs(data.restrict(members), classes, "range") / sizes
    low = np.full((len(table.points), len(sizes)), np.inf)
    high = -low
    for j, column in enumerate(table.points):
        np.minimum.at(low[j], classes, column[members])
        np.maximum.at(high[j], classes, column[members])
    for row in rows.tolist():
        point = table.points[:, [row]]
        growth = (np.maximum(low - point, 0) + np.maximum(point - high, 0)).sum(axis=0)
        assigned = np.flatnonzero(labels >= 0)
        for column in table.codes:
            same = column[assigned] == column[row]
            holders = np.bincount(labels[assigned], weights=same)
            growth += table.price[column[row]] * (holders == 0)
        joined = int(np.argmin(loss + (sizes + 1) * growth))
        labels[row] = joined
        sizes[joined] += 1
        loss[joined] += growth[joined]
        low[:, [joined]] = np.minimum(low[:, [joined]], point)
        high[:, [joined]] = np.maximum(high[:, [joined]], point)


@register(
    "k-member",
    costs=("range",),
    kinds=("numeric", "nominal", "mixed"),
    paper="003, section 4.3; Byun et al. 2007",
    summary="classes of k from far records, each grown by the cheapest record; quadratic time",
)
def k_member(problem: Problem, run: Run, _options: NoOptions) -> Outcome:
    """Grow classes until fewer than k records are left."""
    growing = _Growing(problem.data, problem.k, run.rng)
    try:
        with plain_interrupts():
            in_chunks(growing.advance, run.stopping)
    except KeyboardInterrupt:
        run.found_labels(growing.finished())
        raise
    return Outcome(labels=growing.finished())
