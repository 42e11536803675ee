"""A first partition where pairs of rows must stay together or apart, or a proof that none exists.

A partition found without the pairs is repaired. Where that fails, components are dealt out to ever
fewer clusters, those with most conflicts first; where that fails too, a small MIP decides. Only the
components that have conflicts or more than one row are told apart in it, since all other rows are
alike for this question::

    Σ_g y_cg = 1                            for each component c
    y_ag + y_bg ≤ z_g                       for each conflict a, b and cluster g
    Σ_c size_c y_cg + f_g ≥ k z_g           for each cluster g
    Σ_g f_g = other rows,  f_g ≤ (other rows) z_g,  z_g ≥ z_{g+1}
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kanopy.instances.errors import KanopyError
from kanopy.models.linear_form import LinearForm
from kanopy.solvers.backends.highs import HighsBackend
from kanopy.solvers.backends.protocol import Limits
from kanopy.solvers.links import Links

TRIES = 30
"""Orders in which components are dealt out."""

SECONDS = 120.0
"""Time that the MIP gets at most."""

LARGEST_COMPONENT = 50
"""Rows that must_link may join: searches go through clusters of up to so many rows more."""


class Parts:
    """The components of a table with their sizes and conflicts."""

    def __init__(self, links: Links, n: int) -> None:
        self.of_row = links.components(n)
        self.sizes = np.bincount(self.of_row)
        self.conflicts: list[set[int]] = [set() for _ in self.sizes]
        for a, b in links.cannot:
            first, second = int(self.of_row[a]), int(self.of_row[b])
            self.conflicts[first].add(second)
            self.conflicts[second].add(first)

    @property
    def special(self) -> list[int]:
        """Components with conflicts or several rows, those with most conflicts first."""
        every = [c for c in range(len(self.sizes)) if self.conflicts[c] or self.sizes[c] > 1]
        return sorted(every, key=lambda c: (-len(self.conflicts[c]), -self.sizes[c]))


def linked_start(
    links: Links,
    k: int,
    unlinked: NDArray[np.int64],
    rng: np.random.Generator,
    seconds: float = SECONDS,
) -> NDArray[np.int64]:
    """A partition that keeps all pairs, near an ``unlinked`` one if possible.

    >>> links = Links(must=((0, 3),), cannot=((1, 2), (0, 1)))
    >>> linked_start(links, 2, np.array([0, 0, 1, 1]), np.random.default_rng(0)).tolist()
    Traceback (most recent call last):
    ...
    kanopy.instances.errors.KanopyError: no partition into classes of at least 2 rows keeps all \
pairs of must_link and cannot_link; leave some out
    >>> links = Links(cannot=((0, 1), (2, 3)))
    >>> linked_start(links, 2, np.array([0, 0, 1, 1]), np.random.default_rng(0)).tolist()
    [0, 1, 1, 0]
    """
    n = len(unlinked)
    parts = Parts(links, n)
    labels = _repaired(parts, k, unlinked)
    if labels is None:
        labels = _dealt_out(parts, k, rng)
    if labels is None:
        labels = _by_mip(parts, k, min(seconds, SECONDS))
    labels = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    return split_parts(labels, parts.of_row, k)


def split_parts(
    labels: NDArray[np.int64], component: NDArray[np.int64], k: int
) -> NDArray[np.int64]:
    """Split clusters while both parts keep k rows and whole components, which costs nothing.

    >>> split_parts(np.zeros(5, dtype=np.int64), np.array([0, 1, 0, 2, 3]), 2).tolist()
    [0, 1, 0, 1, 1]
    """
    labels = labels.copy()
    fresh = int(labels.max()) + 1
    for cluster in range(fresh):
        rows = np.flatnonzero(labels == cluster)
        if len(rows) < 2 * k:
            continue
        held, sizes = np.unique(component[rows], return_counts=True)
        order = np.argsort(-sizes, kind="stable")  # large ones first leave small ones to fill up
        part, left = 0, len(rows)
        target: dict[int, int] = {}
        name = cluster
        for c in order.tolist():
            if part >= k and left >= k:
                name, fresh, part = fresh, fresh + 1, 0
            target[int(held[c])] = name
            part += int(sizes[c])
            left -= int(sizes[c])
        labels[rows] = [target[int(c)] for c in component[rows]]
    return labels


def _repaired(parts: Parts, k: int, unlinked: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """The given partition with components moved out of clusters where they must not be."""
    clusters: list[set[int]] = [set() for _ in range(int(unlinked.max()) + 1)]
    first_rows = np.unique(parts.of_row, return_index=True)[1]
    special = parts.special
    for c in (c for c in range(len(parts.sizes)) if not parts.conflicts[c]):
        clusters[int(unlinked[first_rows[c]])].add(c)
    for c in (c for c in special if parts.conflicts[c]):
        own = int(unlinked[first_rows[c]])
        others = sorted(range(len(clusters)), key=lambda g: len(clusters[g]))
        home = next((g for g in (own, *others) if not clusters[g] & parts.conflicts[c]), None)
        if home is None:
            clusters.append(set())
            home = len(clusters) - 1
        clusters[home].add(c)
    rows = [sum(int(parts.sizes[c]) for c in held) for held in clusters]
    for g in sorted(range(len(clusters)), key=lambda g: rows[g]):
        if 0 < rows[g] < k:
            against = set().union(*(parts.conflicts[c] for c in clusters[g]))
            home = next(
                (
                    h
                    for h in np.argsort(rows).tolist()
                    if h != g and rows[h] and not clusters[h] & against
                ),
                None,
            )
            if home is None:
                return None
            clusters[home] |= clusters[g]
            rows[home] += rows[g]
            clusters[g], rows[g] = set(), 0
    of_component = np.empty(len(parts.sizes), dtype=np.int64)
    for g, held in enumerate(clusters):
        of_component[list(held)] = g
    return of_component[parts.of_row]


def _dealt_out(parts: Parts, k: int, rng: np.random.Generator) -> NDArray[np.int64] | None:
    """Components dealt out one by one to the emptiest cluster that may take them."""
    special = parts.special
    simple = np.setdiff1d(np.arange(len(parts.sizes)), special)
    n = int(parts.sizes.sum())
    number = n // k
    while number >= 1:
        for attempt in range(TRIES):
            order = list(special)
            if attempt:
                noise = rng.random(len(parts.sizes)) * (1 + attempt / 5)
                order.sort(key=lambda c: -len(parts.conflicts[c]) - noise[c])
            home = np.full(len(parts.sizes), -1, dtype=np.int64)
            rows = np.zeros(number, dtype=np.int64)
            for c in order:
                closed = {int(home[other]) for other in parts.conflicts[c]}
                allowed = [g for g in range(number) if g not in closed]
                if not allowed:
                    break
                home[c] = min(allowed, key=lambda g: rows[g])
                rows[home[c]] += parts.sizes[c]
            else:
                if int(np.maximum(k - rows, 0).sum()) > len(simple):
                    continue
                for c in simple.tolist():
                    home[c] = int(np.argmin(rows))
                    rows[home[c]] += 1
                return home[parts.of_row]
        number = min(number - 1, int(0.8 * number))
    return None


def _by_mip(parts: Parts, k: int, seconds: float) -> NDArray[np.int64]:
    """A partition by the program above; an error if there is none, or none was found in time."""
    special = parts.special
    place = {c: i for i, c in enumerate(special)}
    simple = np.setdiff1d(np.arange(len(parts.sizes)), special)
    conflicts = [(place[a], place[b]) for a in special for b in parts.conflicts[a] if a < b]
    clusters = int(parts.sizes.sum()) // k
    first_open = len(special) * clusters
    first_fill = first_open + clusters
    columns = first_fill + clusters
    rows: list[tuple[dict[int, float], float, float]] = []
    for i in range(len(special)):
        rows.append(({i * clusters + g: 1.0 for g in range(clusters)}, 1.0, 1.0))
    for g in range(clusters):
        is_open, fill = first_open + g, first_fill + g
        for a, b in conflicts:
            pair = {a * clusters + g: 1.0, b * clusters + g: 1.0, is_open: -1.0}
            rows.append((pair, -np.inf, 0.0))
        for i in range(len(special)):
            rows.append(({i * clusters + g: 1.0, is_open: -1.0}, -np.inf, 0.0))
        content = {i * clusters + g: float(parts.sizes[c]) for i, c in enumerate(special)}
        rows.append(({**content, fill: 1.0, is_open: -float(k)}, 0.0, np.inf))
        rows.append(({fill: 1.0, is_open: -float(len(simple))}, -np.inf, 0.0))
        if g:
            rows.append(({is_open - 1: 1.0, is_open: -1.0}, 0.0, np.inf))
    rows.append(({first_fill + g: 1.0 for g in range(clusters)}, len(simple), len(simple)))
    entries = [(r, c, v) for r, (held, _, _) in enumerate(rows) for c, v in held.items()]
    where = np.array([(r, c) for r, c, _ in entries]).T
    values = np.array([v for _, _, v in entries])
    upper = np.ones(columns)
    upper[first_fill:] = len(simple)
    form = LinearForm(
        cost=np.zeros(columns),
        constant=0.0,
        matrix=sp.csr_array((values, (where[0], where[1])), shape=(len(rows), columns)),
        row_lower=np.array([low for _, low, _ in rows], dtype=np.float64),
        row_upper=np.array([high for _, _, high in rows], dtype=np.float64),
        lower=np.zeros(columns),
        upper=upper,
        integer=np.ones(columns, dtype=bool),
    )
    result = HighsBackend().solve(form, Limits(seconds=max(seconds, 1.0)))
    if result.status == "infeasible":
        raise KanopyError(
            f"no partition into classes of at least {k} rows keeps all pairs of must_link and "
            "cannot_link; leave some out"
        )
    if result.x is None:
        raise KanopyError(
            f"no partition that keeps all pairs was found in {seconds:.0f} s, and none was "
            "excluded; allow more time, or give one as initial="
        )
    home = np.empty(len(parts.sizes), dtype=np.int64)
    chosen = np.round(result.x).astype(np.int64)
    home[special] = chosen[:first_open].reshape(len(special), clusters).argmax(axis=1)
    home[simple] = np.repeat(np.arange(clusters), chosen[first_fill:])
    return home[parts.of_row]
