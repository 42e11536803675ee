"""Pairs of rows that must share a cluster, and pairs that must not.

Rows that must stay together, directly or through others, form a *component*; rows without such a
pair are components of their own.

*Sizes.* Splitting a cluster never raises a cost and keeps apart what is apart, so some optimal
partition has no cluster that falls into two unions of components of k rows or more. Let c be the
size of the largest component. If such a cluster holds a component of k rows or more, its other rows
are fewer than k: it has at most c + k − 1. Else add its components one by one until k rows are
reached. These are at most k − 1 + min(c, k − 1), and fewer than k are left, so it has at most
2k − 2 + min(c, k − 1) rows, which is 2k − 1 for c = 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kanopy.instances.errors import KanopyError
from kanopy.instances.microdata import Microdata

Pair = tuple[int, int]


@dataclass(frozen=True)
class Links:
    """Pairs of row positions, smaller one first, without repetition.

    >>> links = Links(must=((0, 1),), cannot=((1, 2),))
    >>> links.allow(np.array([0, 0, 1])), links.allow(np.array([0, 0, 0]))
    (True, False)
    """

    must: tuple[Pair, ...] = ()
    cannot: tuple[Pair, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.must or self.cannot)

    @property
    def rows(self) -> NDArray[np.int64]:
        """The rows that some pair names."""
        return np.unique(np.array([*self.must, *self.cannot], dtype=np.int64))

    def components(self, n: int) -> NDArray[np.int64]:
        """Number of each row's component."""
        from kanopy.models.links import linked_labels  # scipy's graphs, which few problems need

        return linked_labels(n, self.must)

    def allow(self, labels: NDArray[np.integer]) -> bool:
        """Whether a partition respects every pair."""
        must = np.array(self.must, dtype=np.int64).reshape(-1, 2)
        cannot = np.array(self.cannot, dtype=np.int64).reshape(-1, 2)
        together = labels[must[:, 0]] == labels[must[:, 1]]
        apart = labels[cannot[:, 0]] != labels[cannot[:, 1]]
        return bool(together.all() and apart.all())

    def restrict(self, rows: NDArray[np.integer]) -> Links:
        """The pairs within some of the rows, numbered as these are."""
        place = {int(row): i for i, row in enumerate(rows)}

        def kept(pairs: Iterable[Pair]) -> tuple[Pair, ...]:
            both = ((place.get(a, -1), place.get(b, -1)) for a, b in pairs)
            return tuple((min(p), max(p)) for p in both if min(p) >= 0)

        return Links(kept(self.must), kept(self.cannot))

    def largest_cluster(self, n: int, k: int) -> int:
        """Most rows of a cluster that some optimal partition may need; see the module's text."""
        most = int(np.bincount(self.components(n)).max()) if self.must else 1
        return min(n, max(most + k - 1, 2 * k - 2 + min(most, k - 1)))


def make_links(
    data: Microdata, must: Sequence[Any] | None = None, cannot: Sequence[Any] | None = None
) -> Links:
    """Checked pairs; an error names the first that cannot be kept.

    >>> import kanopy as kn
    >>> make_links(kn.example("testdata"), must=[(2, 1), (1, 2)])
    Links(must=((1, 2),), cannot=())
    """
    links = Links(_pairs("must_link", must, data.n), _pairs("cannot_link", cannot, data.n))
    strata = data.stratum_of_row
    for a, b in links.must:
        if strata[a] != strata[b]:
            raise KanopyError(
                f"must_link joins rows {a} and {b} of different strata of {data.strata!r}; "
                "leave the pair or the strata out"
            )
    component = links.components(data.n)
    for a, b in links.cannot:
        if component[a] == component[b]:
            raise KanopyError(
                f"cannot_link keeps rows {a} and {b} apart, but must_link joins them, directly or "
                "through other rows; leave one of these pairs out"
            )
    return links


def asked(pairs: Sequence[Any] | None) -> bool:
    """Whether any pair is given; what is no list at all is for :func:`make_links` to refuse."""
    return pairs is not None and not (isinstance(pairs, Sized) and len(pairs) == 0)


def _pairs(name: str, given: Sequence[Any] | None, n: int) -> tuple[Pair, ...]:
    found: set[Pair] = set()
    if given is not None and not isinstance(given, Iterable):
        raise KanopyError(f"{name} must list pairs of rows, like [(0, 3), (2, 5)]")
    for pair in () if given is None else given:
        try:
            a, b = pair
        except (TypeError, ValueError):
            raise KanopyError(f"{name} must list pairs of rows, like [(0, 3), (2, 5)]") from None
        for row in (a, b):
            if not isinstance(row, (int, np.integer)) or isinstance(row, bool):
                raise KanopyError(f"{name} names rows by position, got {type(row).__name__}")
            if not 0 <= row < n:
                raise KanopyError(f"{name} names row {row}; positions run from 0 to {n - 1}")
        if a == b:
            raise KanopyError(f"{name} pairs row {a} with itself; give two different rows")
        found.add((int(min(a, b)), int(max(a, b))))
    return tuple(sorted(found))
