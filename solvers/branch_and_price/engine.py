"""The state of a search by branch-and-price: master, pricer, bounds, the best partition.

What is done with it, and in which order, is :mod:`plan`'s. The restricted master and its duals
follow 002 and 000, chapter 4; see also Ji and Mitchell (2007) and Aloise, Hansen, Rocha and Santi,
*Column generation bounds for numerical microaggregation* (Journal of Global Optimization, 2014).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kanopy.instances.errors import KanopyError, unknown
from kanopy.instances.microdata import Microdata
from kanopy.solvers.backends.live_program import PROGRAMS
from kanopy.solvers.bounds import less_rounding
from kanopy.solvers.branch_and_price.argument import Argument
from kanopy.solvers.branch_and_price.column_generation import (
    Bound,
    Clock,
    ColumnGeneration,
    Generated,
)
from kanopy.solvers.branch_and_price.linked_start import split_parts
from kanopy.solvers.branch_and_price.master import FEW_ROWS, Master, sorted_rows
from kanopy.solvers.branch_and_price.pool import Pool
from kanopy.solvers.branch_and_price.pricer_sse import SsePricer
from kanopy.solvers.branch_and_price.pricing import Cuts, Pricer, Restrictions, Search
from kanopy.solvers.branch_and_price.saved_tree import SavedTree, key_of, save_tree
from kanopy.solvers.branch_and_price.start import (
    clusters_of,
    first_columns,
    labels_of,
    link_types,
    marginal_costs,
    padded,
    pure_clusters,
    told_apart,
    unmerged,
)
from kanopy.solvers.branch_and_price.subset_row import bound_of_rows, cuts_of_rows
from kanopy.solvers.branch_and_price.swaps import LARGE, Swaps
from kanopy.solvers.clock import now
from kanopy.solvers.problem import Problem
from kanopy.solvers.run import Run
from kanopy.solvers.stop import First, MaxRuntime

CLOSED = 5e-8
"""Relative gap at which a problem counts as solved: some times what bounds are lowered by."""

FAR = 5e-3
"""Relative gap above which dives are worth their time whatever a MIP has found: below, the MIPs of
small nodes find more, and sooner."""

FIRST_SEARCH = 0.2
"""Share of the time left of a local search before the relaxation, where clusters are large."""

LIST_SHARE = 0.05
"""Share of the time left that a list of clusters may take."""

MET_PER_ROW, MET_SHARE = 100, 0.05
"""Iterations per row of the local search that collects first columns, and its share of the time."""


@dataclass(frozen=True)
class Options:
    """Options of ``branch-and-price``.

    Attributes
    ----------
    cuts
        Add subset-row cuts.
    dives
        Look for better partitions by LP dives and in large neighbourhoods.
    enumeration
        List all clusters that fit the gap and let a MIP choose.
    branching
        Branch where the rest leaves a gap.
    most_cut_rounds
        Rounds of cuts at the root.
    most_columns
        Columns up to which a MIP over all that fit the gap is tried.
    most_rows
        Rows up to which identical ones are told apart for branching.
    backend
        Solver of the restricted master: ``highs``, or ``gurobi`` as far as its licence goes; that
        which comes with gurobipy ends at 2000 columns, so at some hundred rows.
    tree
        File that keeps the search tree when the run ends, and every so many nodes; if it exists,
        the search goes on from there. Not for tables with strata, each of which is a problem.
    """

    cuts: bool = True
    dives: bool = True
    enumeration: bool = True
    branching: bool = True
    most_cut_rounds: int = 40
    most_columns: int = 60_000
    most_rows: int = 5000
    backend: str = "highs"
    tree: str = ""

    def __post_init__(self) -> None:
        if self.backend not in PROGRAMS:
            raise unknown("back-end", self.backend, PROGRAMS)


class Engine:
    """One problem with one pricer; reports to the run all it finds and proves."""

    def __init__(
        self,
        problem: Problem,
        run: Run,
        options: Options,
        make_pricer: Callable[[Microdata, int, int], Pricer],
        quick: Search,
        step: float = 0.0,
        floor: float = 0.0,
    ) -> None:
        # ``lower`` is the best proven bound; ``proof`` the best one that carries its own duals,
        # the only kind that enumeration may start from.
        self.key = key_of(problem) if options.tree else ""
        if problem.links:  # the rows of pairs must not be merged with others
            problem = replace(problem, data=told_apart(problem.data, problem.links.rows))
        self.problem = problem
        self.run = run
        self.options = options
        self.make_pricer = make_pricer
        self.quick = quick
        self.step = step
        self.types = problem.data.types
        self.links = link_types(problem.links, self.types)
        self.largest = problem.links.largest_cluster(problem.n, problem.k)
        self.clock = Clock(now() + run.remaining(), run.stopping)
        self.lower = floor
        single = bool(self.problem.data.counts.max() == 1)
        self.branches = options.branching and (single or problem.n <= options.most_rows)
        self.proof = Bound()
        self.uncut = 0.0  # the relaxation's bound before any cuts
        self.reach = -math.inf  # where a list ended that covered too little of the gap
        self.goal, self.leaves = math.inf, math.inf
        self.frontier: list[tuple[float, float, Restrictions]] = []
        self.told_apart = False
        self.pool: Pool | None = None
        self.aside = Cuts()
        many = len(problem.data.counts) > FEW_ROWS  # few rows are soon solved anyway
        self.large = problem.cost == "sse" and problem.k >= LARGE and many
        self.inherited: tuple[NDArray[np.int32], NDArray[np.float64], Cuts] | None = None
        """Columns, their costs, and cuts of the problem that this is a region of."""
        self.argument = Argument(self.links)

    def resume(self, saved: SavedTree) -> None:
        """The master of a saved search."""
        types = self.problem.n if saved.told_apart else len(self.problem.data.counts)
        if not saved.fits(self.problem.n, types, self.problem.k, self.largest):
            raise KanopyError(f"the search tree in {self.options.tree!r} is damaged; delete it")
        self.run.found_labels(saved.labels)
        if saved.told_apart:
            self.see_rows()
        self.build()
        self.master.add(saved.clusters, self.costs(saved.clusters))
        self.master.add_cuts(saved.cuts)
        self.prove(Bound(min(saved.bound, self.target())))

    def state(self) -> tuple[NDArray[np.int64], bool, NDArray[np.int32], Cuts]:
        """What a saved tree holds besides its nodes."""
        assert self.run.best is not None
        assert self.run.best.labels is not None
        clusters, cuts = self.master.clusters, self.master.cuts
        if self.by_rows:  # the columns are soon found again
            clusters, cuts = clusters[:0], cuts_of_rows(cuts, self.types)
        return self.run.best.labels, self.told_apart or self.by_rows, clusters, cuts

    @property
    def by_rows(self) -> bool:
        """Whether a saved tree speaks of rows where the search speaks of types with copies.

        A list of clusters is not saved, and without it branching needs rows told apart.
        """
        return self.pool is not None and bool(self.copies.max() > 1)

    def of_rows(self, decisions: Restrictions) -> Restrictions:
        """Decisions on pairs of single types as a saved tree has them."""
        return self.on_rows(decisions) if self.by_rows else decisions

    def on_rows(self, decisions: Restrictions) -> Restrictions:
        """Decisions on pairs of single types as decisions on their rows."""
        rows = self.problem.data.first_rows
        return replace(
            decisions,
            apart=tuple((int(rows[a]), int(rows[b])) for a, b in decisions.apart),
            together=tuple((int(rows[a]), int(rows[b])) for a, b in decisions.together),
        )

    def save(self, tree: SavedTree) -> None:
        """Write the tree where the options say."""
        save_tree(self.options.tree, self.key, tree)

    def build(self) -> None:
        """Master with the columns of the incumbent and some that could pay."""
        assert self.run.best is not None
        assert self.run.best.labels is not None
        self.pricer = self.make_pricer(self.problem.data, self.problem.k, self.largest)
        self.copies = self.pricer.multiplicities
        met, met_costs = self.search_locally(FIRST_SEARCH if self.large else 0.0)
        self.unit = self.upper() / self.problem.n
        clusters = clusters_of(self.run.best.labels, self.types)
        marginal = marginal_costs(self.pricer, clusters, self.run.stopping)
        k = self.problem.k
        self.master = Master(
            self.copies,
            k,
            2.0 * marginal + self.unit,
            self.unit,
            self.largest,
            backend=self.options.backend,
        )
        rows = padded(clusters, self.largest)
        self.master.add(rows, self.costs(rows))
        quick = replace(self.quick, deadline=self.clock.deadline)
        seeds = first_columns(self.pricer, marginal, quick, self.links)
        self.master.add(seeds.clusters, seeds.costs)
        alone = pure_clusters(self.copies, k, self.largest)
        self.master.add(alone, np.zeros(len(alone)))
        # where costs come in steps, pricing finds the same in far less time
        free = not (self.links.together or self.links.apart)
        if self.inherited is not None:
            self.master.add(*self.inherited[:2])
            self.master.add_cuts(self.inherited[2])
        elif len(met):
            self.master.add(met, met_costs)
        elif self.master.large and self.problem.cost == "sse" and free and not self.run.stopping():
            self.add_met()
        self.generation = ColumnGeneration(self.master, self.pricer, self.quick)
        self.generation.cuts = self.options.cuts
        if self.large and isinstance(self.pricer, SsePricer):
            self.generation.swaps = Swaps(self.pricer)

    def add_met(self) -> None:
        """Columns that a slow local search meets; they bring the relaxation close to its end."""
        from kanopy.solvers.heuristics.ils import clusters_met

        assert self.run.best is not None
        assert self.run.best.labels is not None
        stop = First(self.run.stop, MaxRuntime(MET_SHARE * self.run.remaining()))
        part = Run(self.problem, stop, self.run.seed)
        met, costs = clusters_met(
            self.problem, part, self.run.best.labels, MET_PER_ROW * self.problem.n
        )
        self.master.add(np.where(met >= 0, self.types[met], -1).astype(np.int32), costs)
        if part.best is not None and part.best.labels is not None:
            self.run.found_labels(part.best.labels)

    def search_locally(self, share: float) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """A local search for a share of the time left; its columns."""
        from kanopy.solvers.heuristics.ils import columns_of_search

        seconds = share * self.run.remaining() if share > 0 else 0.0
        idle = share == 0 or math.isinf(seconds) or self.told_apart or self.done()
        if idle or self.problem.links:
            return np.empty((0, self.largest), dtype=np.int32), np.empty(0)
        assert self.run.best is not None
        assert self.run.best.labels is not None
        seed = int(self.run.rng.integers(2**31))  # another one each time
        part = Run(self.problem, First(self.run.stop, MaxRuntime(seconds)), seed)
        columns = columns_of_search(self.problem, part, self.run.best.labels)
        if part.best is not None and part.best.labels is not None:
            self.run.found_labels(part.best.labels)
        return columns

    def listing(self) -> Clock:
        """A clock for lists, which take long where clusters are large."""
        return self.clock.within(LIST_SHARE * self.clock.remaining())

    def trees_come_next(self) -> bool:
        """Whether goals come before other ways to better partitions: trees of few rows find them.

        They prove something, too.
        """
        return self.far() and self.lists() and not self.master.large

    def lists(self) -> bool:
        """Whether lists of clusters may replace pricing.

        A certificate needs duals that hold for all clusters. Costs that come in steps leave the
        MIP over a list little to do.
        """
        wanted = self.options.enumeration and self.options.branching
        return wanted and self.step == 0 and not self.run.wants_proof

    def look_at(self, pool: Pool) -> None:
        """Price over a list from now on."""
        self.pool = self.pricer = self.generation.pricer = pool
        self.generation.swaps = None

    def far(self) -> bool:
        """Whether the gap is so wide that a better partition is to be expected."""
        return self.upper() - self.lower > FAR * self.upper()

    def tell_rows_apart(self) -> bool:
        """Begin again with every row its own type: pairs to branch on must be single."""
        if self.copies.max() == 1:
            return True
        if self.problem.n > self.options.most_rows:
            return False
        cuts = cuts_of_rows(self.master.cuts, self.types)
        self.see_rows()
        self.build()
        self.master.add_cuts(cuts)
        self.generated = self.generate(self.links)
        return True

    def see_rows(self) -> None:
        """Every row its own type from now on; what was proven of types is proven of rows, too."""
        self.told_apart = True
        self.frontier = [(hope, bound, self.on_rows(node)) for hope, bound, node in self.frontier]
        before = bound_of_rows(self.proof, self.types)
        self.aside = cuts_of_rows(self.aside, self.types)
        self.problem = replace(self.problem, data=unmerged(self.problem.data))
        self.types = self.problem.data.types
        self.links = link_types(self.problem.links, self.types)
        self.proof = Bound()
        if self.inherited is not None:  # they speak of types
            self.inherited = (self.inherited[0][:0], self.inherited[1][:0], Cuts())
        self.argument = Argument(self.links)
        self.argument.improve(before)

    def generate(self, restrictions: Restrictions, root: bool = True) -> Generated:
        """Column generation that reports its bounds if it speaks of the whole problem."""

        def report(bound: Bound, _: object) -> None:
            if root:
                self.prove(bound)

        generated = self.generation.run(
            self.clock,
            restrictions,
            cutoff=self.target(),
            on_bound=report,
            central=root and self.master.large,
        )
        relaxation = generated.relaxation
        if relaxation is not None:
            self.run.record(
                columns=len(self.master), cuts=len(self.master.cuts), lp=relaxation.value
            )
            self.run.stopping(iterations=generated.rounds)
            x = relaxation.x
            whole = np.abs(x - np.round(x)).max(initial=0.0) < 1e-6
            if whole and relaxation.artificials.max(initial=0.0) < 1e-6:
                times = np.round(x).astype(np.int64)
                self.found(np.repeat(self.master.clusters[: len(x)], times, axis=0))
        return generated

    # Incumbent and bound

    def upper(self) -> float:
        """Cost of the best partition."""
        return self.run.progress.objective

    def target(self) -> float:
        """What a partition must stay below to be worth looking for."""
        upper = self.upper()
        if self.step > 0:
            return upper - 0.999 * self.step
        return min(upper * (1 - CLOSED), self.goal)

    def cutoff(self) -> float:
        """A little above the target, so that rounding hides no partition below that."""
        if self.step > 0:
            return self.upper() - 0.99 * self.step
        return self.target() * (1 + 0.5 * CLOSED)

    def done(self) -> bool:
        """Whether the gap is closed or the run is to stop."""
        return self.closed() or self.clock.over()

    def closed(self) -> bool:
        """Whether no partition below the target can exist."""
        return self.lower >= self.target()

    def rounded(self, value: float) -> float:
        """A bound rounded up to the next possible cost."""
        if self.step > 0 and math.isfinite(value):
            return self.step * math.ceil(value / self.step - 1e-6)
        return value

    def prove(self, bound: Bound) -> None:
        """Keep a bound of the whole problem, and report it."""
        if bound.duals is not None and bound.value > self.proof.value:
            self.proof = bound
            self.argument.improve(bound)
        value = self.rounded(bound.value)
        if self.pool is not None:  # the list says nothing of partitions from its cutoff on
            value = min(value, self.target())
        self.lower = max(self.lower, value)
        exact = less_rounding(self.problem.data, self.problem.cost, self.lower)
        reported = min(exact, self.upper())
        self.run.proved(reported, columns=len(self.master), cuts=len(self.master.cuts))

    def found(self, clusters: NDArray[np.int32]) -> bool:
        """Offer a partition; True if it is the best so far."""
        labels = labels_of(clusters, self.types)
        links = self.problem.links
        if (links and not links.allow(labels)) or not self.run.found_labels(labels):
            return False
        rows = sorted_rows(clusters)
        self.master.add(rows, self.costs(rows))
        return True

    def incumbent(self) -> NDArray[np.int32]:
        """The best partition as clusters of types."""
        assert self.run.best is not None
        assert self.run.best.labels is not None
        labels, links = self.run.best.labels, self.problem.links
        if np.bincount(labels).max() > self.largest:  # given so, and splitting brought nothing
            component = links.components(self.problem.n)
            labels = split_parts(labels, component, self.problem.k)
        return sorted_rows(padded(clusters_of(labels, self.types), self.largest))

    def costs(self, clusters: NDArray[np.int32]) -> NDArray[np.float64]:
        """Costs of clusters given as rows padded by −1."""
        return np.array([self.pricer.cost(row[row >= 0]) for row in clusters], dtype=np.float64)
