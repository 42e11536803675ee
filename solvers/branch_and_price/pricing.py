"""What the engine asks of a pricer, and what it gets back.

Identical rows are one *type* with a multiplicity, so a cluster is a multiset of types. The reduced
cost of a cluster C is

    cost(C) − Σ_{i∈C} types[i] − count − Σ_T σ_T ⌊|C ∩ T| / q_T⌋

with the duals of the partitioning rows, of the row Σ_C x_C ≤ ⌊n/k⌋ and of the subset-row cuts
Σ_C ⌊|C ∩ T|/q⌋ x_C ≤ ⌊|T|/q⌋ (|·| counts multiplicities, both those of C and those of T). A pricer
knows one cluster cost; the rest of the engine knows none.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kanopy.instances.microdata import Microdata

PRICERS = {"sse": "SsePricer", "hamming": "HammingPricer", "range": "RangePricer"}
"""The pricer class of each cost, in the module ``pricer_<cost>``."""


def _no_ints() -> NDArray[np.int64]:
    return np.empty(0, dtype=np.int64)


def _no_floats() -> NDArray[np.float64]:
    return np.empty(0)


@dataclass(frozen=True, eq=False)
class Cuts:
    """Subset-row cuts: cut c holds ``members[starts[c]:starts[c + 1]]``.

    These are types in ascending order; one may stand there several times.
    """

    starts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    members: NDArray[np.int64] = field(default_factory=_no_ints)
    divisors: NDArray[np.int64] = field(default_factory=_no_ints)

    def __len__(self) -> int:
        return len(self.divisors)

    def joined(self, others: Cuts) -> Cuts:
        """These cuts, then the others."""
        return Cuts(
            np.concatenate([self.starts, self.starts[-1] + others.starts[1:]]),
            np.concatenate([self.members, others.members]),
            np.concatenate([self.divisors, others.divisors]),
        )

    def take(self, which: NDArray[np.intp]) -> Cuts:
        """Some of the cuts, by number.

        >>> cuts = Cuts(np.array([0, 2, 5]), np.array([0, 2, 1, 3, 4]), np.array([2, 3]))
        >>> cuts.take(np.array([1])).members.tolist()
        [1, 3, 4]
        """
        lengths = np.diff(self.starts)[which]
        starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        shift = np.repeat(self.starts[which] - starts[:-1], lengths)
        return Cuts(starts, self.members[np.arange(starts[-1]) + shift], self.divisors[which])


@dataclass(frozen=True, eq=False)
class Duals:
    """Dual values of the restricted master, or of any other point: every bound is valid for all.

    ``cuts`` are ≤ 0, as duals of ≤ rows of a minimisation are; so is ``count`` unless branching
    asks for a least number of clusters.
    """

    types: NDArray[np.float64]
    count: float = 0.0
    cuts: NDArray[np.float64] = field(default_factory=_no_floats)


@dataclass(frozen=True, eq=False)
class Restrictions:
    """Branching decisions.

    Attributes
    ----------
    apart, together
        Ryan–Foster: pairs of types (of multiplicity 1) that must be apart or together.
    clusters
        Least and most number of clusters of a partition; None where nothing is decided.
    """

    apart: tuple[tuple[int, int], ...] = ()
    together: tuple[tuple[int, int], ...] = ()
    clusters: tuple[int, int] | None = None

    def range_of_clusters(self, rows: int, k: int) -> tuple[int, int]:
        """Least and most number of clusters of ``rows`` rows."""
        return (0, rows // k) if self.clusters is None else self.clusters


@dataclass(frozen=True)
class Search:
    """How thoroughly to search.

    Attributes
    ----------
    threshold
        Clusters of reduced cost below this are wanted.
    per_root
        Keep this many best clusters per root (the cluster's first type in the pricer's order);
        0 keeps all of them: enumeration, where no dominance rule may be used.
    most_nodes
        Give up a root after so many nodes (0: never).
    most_candidates
        Look only at so many candidates of a root (0: at all).
    most_columns
        Stop altogether after so many clusters (0: never).
    sizes
        Cluster sizes to look at; empty means all that the pricer knows, k … 2k−1 by default.
    deadline
        Give up, incomplete, soon after the clock passes this.
    """

    threshold: float = -1e-9
    per_root: int = 5
    most_nodes: int = 0
    most_candidates: int = 0
    most_columns: int = 0
    sizes: tuple[int, ...] = ()
    deadline: float = math.inf


@dataclass(frozen=True, eq=False)
class Priced:
    """Clusters found, as rows of types padded by −1, and what the search has proven.

    ``complete`` says that no limit struck: then every cluster of reduced cost < threshold has been
    found (enumeration) or ``least`` is a valid lower bound of min(0, reduced cost) over all
    clusters (pricing), and ``per_root``, if it is not None, one for the clusters of each root,
    such that Σ multiplicity · per_root bounds what all clusters of a partition can add.
    """

    clusters: NDArray[np.int32]
    sizes: NDArray[np.int64]
    costs: NDArray[np.float64]
    reduced_costs: NDArray[np.float64]
    complete: bool
    least: float = -math.inf
    per_root: NDArray[np.float64] | None = None
    nodes: int = 0

    def __len__(self) -> int:
        return len(self.sizes)


class Pricer(Protocol):
    """Finds clusters of small reduced cost for one instance and one cluster cost."""

    k: int
    multiplicities: NDArray[np.int64]

    def cost(self, cluster: NDArray[np.int32]) -> float:
        """Cost of a multiset of types."""
        ...

    def price(self, duals: Duals, cuts: Cuts, restrictions: Restrictions, search: Search) -> Priced:
        """Search for clusters below the threshold."""
        ...


def pricer_of(cost: str) -> Callable[[Microdata, int, int], Pricer]:
    """The pricer class of a cost."""
    module = importlib.import_module(f"kanopy.solvers.branch_and_price.pricer_{cost}")
    pricer: Callable[[Microdata, int, int], Pricer] = getattr(module, PRICERS[cost])
    return pricer


def quick_search(cost: str, k: int) -> Search:
    """The truncated search of a cost, used while it still finds columns."""
    if cost == "sse":
        return Search(most_nodes=100 * k, most_candidates=4 * k, per_root=3)
    if cost == "hamming":
        return Search(most_nodes=3000, per_root=30)
    return Search(most_nodes=1000, most_candidates=20, per_root=5)
