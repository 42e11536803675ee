"""Ryan–Foster decisions in closed form: components that stay together, and types kept apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kanopy.solvers.branch_and_price.pricing import Restrictions


@dataclass(frozen=True, eq=False)
class Components:
    """Together pairs as components, apart pairs spread over whole components.

    Attributes
    ----------
    of_type
        Component of each type; every type has one, most are alone in it.
    starts, members
        Component c holds ``members[starts[c]:starts[c + 1]]``.
    apart_starts, apart
        Type t may not share a cluster with ``apart[apart_starts[t]:apart_starts[t + 1]]``.
    contradictory
        Whether two types must be both together and apart: no cluster may hold either of them.
    """

    of_type: NDArray[np.int64]
    starts: NDArray[np.int64]
    members: NDArray[np.int64]
    apart_starts: NDArray[np.int64]
    apart: NDArray[np.int64]
    contradictory: bool


def components(restrictions: Restrictions, number: int) -> Components:
    """Close the decisions over ``number`` types.

    >>> closed = components(Restrictions(apart=((0, 2),), together=((0, 1),)), 4)
    >>> closed.of_type.tolist(), closed.apart[closed.apart_starts[1] :].tolist()
    ([0, 0, 1, 2], [2, 0, 1])
    """
    parent = list(range(number))

    def find(x: int) -> int:
        while parent[x] != x:
            parent[x] = parent[parent[x]]
            x = parent[x]
        return x

    for a, b in restrictions.together:
        parent[find(a)] = find(b)
    roots = np.array([find(x) for x in range(number)], dtype=np.int64)
    _, of_type = np.unique(roots, return_inverse=True)
    of_type = of_type.astype(np.int64)
    members = np.argsort(of_type, kind="stable").astype(np.int64)
    starts = np.concatenate(([0], np.cumsum(np.bincount(of_type, minlength=1)))).astype(np.int64)
    keep_apart: list[set[int]] = [set() for _ in range(number)]
    contradictory = False
    for a, b in restrictions.apart:
        first, second = of_type[a], of_type[b]
        contradictory |= bool(first == second)
        for x in members[starts[first] : starts[first + 1]].tolist():
            for y in members[starts[second] : starts[second + 1]].tolist():
                keep_apart[x].add(y)
                keep_apart[y].add(x)
    apart_starts = np.concatenate(([0], np.cumsum([len(s) for s in keep_apart]))).astype(np.int64)
    apart = np.array([y for s in keep_apart for y in sorted(s)], dtype=np.int64)
    return Components(of_type, starts, members, apart_starts, apart, contradictory)
