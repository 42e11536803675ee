"""Branch-and-price from top to bottom: start, relaxation, cuts, dives, enumeration, branching.

The restricted master and its duals follow 002 and 000, chapter 4; see also Ji and Mitchell (2007)
and Aloise, Hansen, Rocha and Santi, *Column generation bounds for numerical microaggregation*
(Journal of Global Optimization, 2014). Where the best partition known is far from the bound, trees
aim at goals in between, see :meth:`Engine.approach`; such guesses of the optimum are usual in exact
methods for routing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kanopy.instances.errors import KanopyError
from kanopy.instances.microdata import Microdata
from kanopy.solvers.bounds import less_rounding
from kanopy.solvers.branch_and_price.argument import Argument
from kanopy.solvers.branch_and_price.coefficients import violations
from kanopy.solvers.branch_and_price.column_generation import (
    Bound,
    Clock,
    ColumnGeneration,
    Generated,
)
from kanopy.solvers.branch_and_price.condensing import Condensation
from kanopy.solvers.branch_and_price.diving import dive
from kanopy.solvers.branch_and_price.enumeration import Listed, choose, list_clusters
from kanopy.solvers.branch_and_price.master import FEW_ROWS, Master, Relaxation, sorted_rows
from kanopy.solvers.branch_and_price.pool import Pool
from kanopy.solvers.branch_and_price.pricer_common import reduced_costs
from kanopy.solvers.branch_and_price.pricer_sse import SsePricer
from kanopy.solvers.branch_and_price.pricing import Cuts, Pricer, Restrictions, Search
from kanopy.solvers.branch_and_price.regions import Effort, improve
from kanopy.solvers.branch_and_price.saved_tree import SavedTree, key_of, load_tree, save_tree
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
    with_start,
)
from kanopy.solvers.branch_and_price.subset_row import bound_of_rows, cuts_of_rows, separate
from kanopy.solvers.branch_and_price.swaps import LARGE, Swaps
from kanopy.solvers.clock import now
from kanopy.solvers.problem import Problem
from kanopy.solvers.run import Run
from kanopy.solvers.stop import First, MaxRuntime

CLOSED = 5e-8
"""Relative gap at which a problem counts as solved: some times what bounds are lowered by."""

FEW_COLUMNS = 2500
"""Columns that a MIP copes with in about a second: the first stage of enumeration."""

PER_TYPE = 4
"""The same per type where costs come in steps."""

ROOT_NODES = 200
"""Nodes of that MIP at the root of a search that can branch."""

SAMPLE_NODES, SAMPLE_SHARE = 50, 0.1
"""Nodes of a MIP that only looks for a better partition, and its share of the time left."""

ROOT_SHARE, NODE_SHARE, LEAST_SECONDS = 0.4, 0.05, 5.0
"""The same shares of other MIPs at the root and in the tree, and seconds that each may take."""

SAMPLE_FEW, SAMPLE_MORE = 1.3, 5.0
"""Columns per row of that MIP: few take a second and mostly do, more are tried if not."""

QUICK, MORE, LARGER_SECONDS = 1.0, 1.4, 3.0
"""Seconds of such a MIP up to which more columns are tried next, how many times as many, and how
long the next may take."""

WIDE = 1e-3
"""Relative gap above which that MIP is run."""

FAR = 5e-3
"""Relative gap above which dives are worth their time whatever a MIP has found: below, the MIPs of
small nodes find more, and sooner."""

REGION_NODES, REGION_SHARE, REGION_LIST = 20, 0.2, 0.5
"""Nodes of the MIP of a region, the share of the time left that all regions may take, and the share
of that for a list of columns."""

LISTED_PER_TYPE, REGIONS_PER_TYPE = 10, 40
"""Clusters per type that are listed for regions where costs come in steps: very many are then
equally good, and the relaxation needs only some of them. The second elsewhere."""

STEP_NODES = 5000
"""The same where costs come in steps, or where branching is out of reach: a MIP over types goes
farther than branching over rows."""

FEW_PER_ROW, POOL_PER_ROW = 3, 8
"""Columns per row of such a first stage where branching is at hand, and the same for a node whose
clusters are listed already."""

POOL_SECONDS = 2.0
"""Seconds of that MIP: most are solved in less, and a node that is not is branched on."""

COLUMNS_PER_ROW = 10
"""Columns per row up to which a MIP is expected to be faster than branching."""

MANY_CUTS = 200
"""With more cuts than this and than types, those that are slack at a node are dropped."""

MOST_ASIDE = 20_000
"""Cuts that are kept for other nodes, the latest ones."""

VIOLATION = 0.02
"""By how much a cut that was laid aside must be violated to be put back."""

CUT_SHARE = 0.1
"""Share of the time left that a round of cuts may take if there is to be another one."""

LARGE_CUT_SHARE = 0.25
"""The same where clusters are large: the partition comes from a local search then."""

FIRST_SEARCH, LAST_SEARCH, FAR_SEARCH = 0.2, 0.5, 0.03
"""Shares of the time left of that local search: before the relaxation and, each time, at the end;
and, for other tables, after a goal if the gap is still wide."""

LIST_SHARE = 0.05
"""Share of the time left that a list of clusters may take."""

POOL, LISTED_PER_ROW, SHORTER = 400_000, 200, 0.9
"""Clusters, in all and per row, up to which a list of them replaces pricing, faster beyond that;
and the share of them at which the list is copied without the rest."""

AIMED_PER_ROW, AIMED_ROWS, FEW_AIMED, AIMED_FARTHER = 400, 200, 25, 0.1
"""Clusters per row of the first list that has a goal, twice as many each time, and rows that a
table counts for at least; clusters per row where all that fit the gap are listed already; and how
much of the gap a goal must promise to close."""

CONDENSED, TRIALS = 40_000, 8
"""Clusters of the first list that is condensed, twice as many each time, and tries to find a cutoff
for about so many."""

BEYOND = 0.15
"""How far beyond a list's cutoff clusters are kept, as a share of what lies between it and the
bound."""

LOOKED_FOR, AGAIN = 5e-4, 0.1
"""Relative gap above which a MIP looks for a better partition in a condensed list, and the share of
the gap that such a partition must close for the list to be condensed again."""

MOST_OF, NEAR = 0.8, 1e-3
"""Share of the gap that a goal is to close at most, and the relative gap below which the best
partition itself is the goal."""

MANY_COLUMNS = 10_000
"""Columns that the master may always keep."""


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
        Look for better partitions by LP dives.
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
    tree: str = ""


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
        self.goal, self.leaves = math.inf, math.inf
        self.frontier: list[tuple[float, float, Restrictions]] = []
        self.told_apart = False
        self.pool: Pool | None = None
        self.aside = Cuts()
        many = len(problem.data.counts) > FEW_ROWS  # few rows are soon solved anyway
        self.large = problem.cost == "sse" and problem.k >= LARGE and many
        self.argument = Argument(self.links)

    def solve(self) -> None:
        """Close the gap, or come as far as the stopping rule allows."""
        saved = load_tree(self.options.tree, self.key) if self.options.tree else None
        if saved is None:
            self.build()
        else:
            self.resume(saved)
        if saved is not None and (saved.branched or self.done()):
            self.branch(saved)
            return
        self.relax()
        self.tighten()
        condensed = self.condense()
        before = self.upper()
        sampled = not condensed and not self.large and self.sample(SAMPLE_FEW)
        if not condensed and self.upper() < before:
            self.tighten()  # what to expect of further cuts is known better now
        if not condensed and (self.far() or not self.enlist()):
            if self.large:
                self.alternate()
            else:
                soon = self.trees_come_next()
                if soon and self.approach():
                    return
                if not self.frontier:
                    self.search_on(sampled)
                if not soon and self.approach():
                    return
            self.enlist()
        if self.pool is None:
            self.finish(self.options.most_columns)
        elif not self.frontier:
            if not condensed:
                self.sample(SAMPLE_MORE)
            self.shorten()
            if len(self.pool) > FEW_PER_ROW * self.problem.n:  # else a MIP settles it soon
                self.tighten()
                self.shorten()
            if self.approach():
                return
        if self.options.branching and not self.done():
            if self.pool is not None or self.tell_rows_apart():
                self.branch()
                return
            self.insist()
        if self.options.tree and not self.frontier:  # a tree has been saved otherwise
            self.save(SavedTree(*self.state(), nodes=[(self.lower, self.of_rows(self.links))]))

    def search_on(self, sampled: bool) -> None:
        """A better partition out of more clusters, then by dives and out of regions.

        Regions do little for a partition far from the best, and most for one that is near.
        """
        sampled = self.sample(SAMPLE_MORE) or sampled
        if (sampled and not self.far()) or self.listable():
            return
        before = self.upper()
        first = self.far() or self.step > 0
        if first:
            self.dives(2 if self.step == 0 else 1)
        self.polish()
        if not first and self.upper() == before:
            self.dives(2)
        while self.upper() < before:
            before = self.upper()
            self.sample(SAMPLE_MORE)
            if self.upper() < before:
                self.polish()

    def branch(self, saved: SavedTree | None = None) -> None:
        """Search the tree, from where a saved one stopped."""
        from kanopy.solvers.branch_and_price.branching import Tree

        if not self.frontier:
            self.frontier, self.leaves = [(self.lower, self.lower, self.links)], math.inf
        Tree(self, saved).search()

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

    def insist(self) -> None:
        """Where branching is out of reach: dive deeper and finish again while that helps."""
        nodes, failures, effort = STEP_NODES, 0, 1.0
        while not self.done() and failures < 3:
            before = self.upper() - self.lower
            effort *= 2
            self.dives(2, effort=effort)
            self.polish()
            nodes *= 4
            self.finish(self.options.most_columns, nodes)
            failures = failures + 1 if self.upper() - self.lower > 0.9 * before else 0

    # The parts

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
        self.master = Master(self.copies, k, 2.0 * marginal + self.unit, self.unit, self.largest)
        rows = padded(clusters, self.largest)
        self.master.add(rows, self.costs(rows))
        quick = replace(self.quick, deadline=self.clock.deadline)
        seeds = first_columns(self.pricer, marginal, quick, self.links)
        self.master.add(seeds.clusters, seeds.costs)
        alone = pure_clusters(self.copies, k, self.largest)
        self.master.add(alone, np.zeros(len(alone)))
        # where costs come in steps, pricing finds the same in far less time
        free = not (self.links.together or self.links.apart)
        if len(met):
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

    def relax(self) -> None:
        """Column generation at the root.

        Dives go deeper and regions are chosen better once there are cuts, so these come first,
        unless there are none.
        """
        self.generated = self.generate(self.links)
        self.uncut = self.proof.value
        if not self.options.cuts or not self.generated.converged:
            self.dives(1)
            self.polish()

    def tighten(self) -> None:
        """Rounds of cuts while they help.

        A MIP over the clusters of least reduced cost finds better partitions than dives do in the
        same time once the cuts are in, so there are no dives before.
        """
        self.slim()
        stalled = 0
        for _ in range(self.options.most_cut_rounds if self.options.cuts else 0):
            if self.done() or not self.generated.converged:
                return
            before = self.proof.value  # unlike the bound itself, this is not rounded up
            left = self.clock.remaining()
            if not self.cut_round(self.links):
                break
            share = LARGE_CUT_SHARE if self.large else CUT_SHARE
            if left - self.clock.remaining() > share * left:  # a partition is wanted, too
                break
            # Judged by the gap, or by all rounds so far where the incumbent is still poor.
            least = 0.02 * min(self.upper() - before, self.proof.value - self.uncut)
            stalled = stalled + 1 if self.proof.value - before < least else 0
            if stalled == 3:
                break

    def alternate(self) -> None:
        """Local search and MIPs over regions in turn, as long as they find something.

        Dives gain next to nothing where clusters are large.
        """
        while self.options.dives and not self.done():
            before = self.upper()
            self.polish()
            clusters, costs = self.search_locally(LAST_SEARCH)
            self.master.add(clusters, costs)
            if not self.upper() < before:
                return

    def listable(self) -> bool:
        """Whether the clusters that fit the gap are few enough for a MIP to settle it at once."""
        if self.done() or not self.options.enumeration:
            return self.done()
        most = COLUMNS_PER_ROW * self.problem.n if self.step == 0 else self.many_columns()
        listed = list_clusters(
            self.pricer, self.proof, self.target(), self.listing(), most, self.links, trials=1
        )
        return listed is not None

    def listing(self) -> Clock:
        """A clock for lists, which take long where clusters are large."""
        return self.clock.within(LIST_SHARE * self.clock.remaining())

    def share(self, share: float) -> float:
        """Seconds of a MIP that may take this share of the time left."""
        return max(LEAST_SECONDS, share * self.clock.remaining())

    def many_columns(self) -> int:
        """Columns of a first stage of enumeration where costs come in steps."""
        return max(FEW_COLUMNS, PER_TYPE * self.master.types)

    def slim(self) -> None:
        """Delete the columns of largest reduced cost where there are very many."""
        relaxation = self.generated.relaxation
        most = max(MANY_COLUMNS, 10 * self.master.types)
        if relaxation is None or len(self.master) <= 2 * most:
            return
        reduced = reduced_costs(
            self.master.clusters, self.master.costs, relaxation.duals, self.master.cuts
        )
        keep = reduced <= np.partition(reduced, most)[most]
        keep[: len(relaxation.x)] |= relaxation.x > 0
        self.master.purge(keep)
        self.generated = self.generate(self.links)

    def cut_round(self, restrictions: Restrictions, root: bool = True) -> bool:
        """Separate and generate columns again; False if nothing is violated."""
        relaxation = self.generated.relaxation
        if relaxation is None or not self.generated.converged:
            return False
        x = np.zeros(len(self.master))
        x[: len(relaxation.x)] = relaxation.x
        cuts = separate(self.master.clusters, x, self.copies, self.problem.k, self.most_cuts())
        if len(cuts) == 0:
            return False
        if not root:
            self.lay_aside(relaxation)
        self.master.add_cuts(cuts)
        self.generated = self.generate(restrictions, root)
        return True

    def most_cuts(self) -> int:
        """Cuts that are added at a time."""
        return max(20, self.problem.n // 2)

    def lay_aside(self, relaxation: Relaxation) -> None:
        """Take cuts that are slack at a node out of the master where there are many."""
        if len(self.master.cuts) <= max(MANY_CUTS, self.master.types):
            return
        slack = relaxation.duals.cuts > -1e-9 * self.unit
        aside = self.aside.joined(self.master.cuts.take(np.flatnonzero(slack)))
        self.aside = aside.take(np.arange(max(0, len(aside) - MOST_ASIDE), len(aside)))
        self.master.drop_cuts(slack)

    def recall(self, restrictions: Restrictions) -> bool:
        """Put cuts that were laid aside and are violated now back; False if there are none."""
        relaxation = self.generated.relaxation
        if relaxation is None or not self.generated.converged or len(self.aside) == 0:
            return False
        clusters = self.master.clusters[: len(relaxation.x)]
        broken = violations(clusters, relaxation.x, self.aside, self.copies)
        worst = np.argsort(-broken, kind="stable")[: self.most_cuts()]
        back = np.zeros(len(broken), dtype=bool)
        back[worst[broken[worst] > VIOLATION]] = True
        if not back.any():
            return False
        recalled = self.aside.take(np.flatnonzero(back))
        self.aside = self.aside.take(np.flatnonzero(~back))
        self.lay_aside(relaxation)
        self.master.add_cuts(recalled)
        self.generated = self.generate(restrictions, root=False)
        return True

    def enlist(self) -> bool:
        """Know only the clusters that a better partition can hold from now on, if they are few."""
        if self.done() or not self.lists():
            return False
        most = min(POOL, LISTED_PER_ROW * self.problem.n)
        listed = list_clusters(
            self.pricer, self.proof, self.target(), self.listing(), most, self.links, trials=1
        )
        if listed is not None:
            self.look_at(Pool(self.pricer, listed.clusters, listed.costs))
        return self.pool is not None

    def condense(self) -> bool:
        """Short lists of clusters that a better partition can hold, and better partitions.

        The first lists are for cutoffs below the cost of the best partition known, which is far
        from the optimum as yet: they bring better ones, until one list holds all that matter.
        """
        wanted = CONDENSED
        possible = self.lists() and self.options.cuts and not self.large
        while possible and wanted <= POOL and not self.done():
            listed = self.list_about(wanted)
            if listed is None:
                return False
            short = self.improve_by(listed)
            if short.hopeless:
                return False
            if listed.cutoff >= self.target():
                which = short.which
                self.look_at(Pool(self.pricer, short.clusters[which], short.program.listing.costs))
                self.generated = self.generate(self.links)
                return True
            wanted *= 2
        return False

    def improve_by(self, listed: Listed) -> Condensation:
        """Better partitions out of a list, and what is left of it for the best of them.

        It is condensed from its beginning for each: cuts for a lower target do more than those for
        a higher one and some more.
        """
        short = self.condensation(listed)
        if short.hopeless or self.done():
            return short
        if listed.cutoff < self.target() or self.far():
            known = self.incumbent()
            short.sample(self.found, known[: 0 if self.far() else None], self.costs)
            if listed.cutoff < self.target():
                return short
            short = self.again(short, listed)
        if self.upper() - self.lower > LOOKED_FOR * self.upper() and not self.done():
            short.look(self.found, min(short.target, self.target()))
            short = self.again(short, listed)
        return short

    def again(self, short: Condensation, listed: Listed) -> Condensation:
        """The same list for the target of now, if that is much lower than it was and cuts help."""
        gained = short.target - self.target()
        if gained <= AGAIN * (short.target - self.lower) or self.done():
            return short
        shorter = self.condensation(listed)
        return short if shorter.hopeless else shorter

    def condensation(self, listed: Listed) -> Condensation:
        """What is left of a list for the target of now, and the bound that this proves.

        Where the list's cutoff is lower, the best partition may cost more than that: more clusters
        are kept then than a proof needs, or few of its clusters would be left.
        """
        assert self.proof.duals is not None
        beyond = listed.cutoff + BEYOND * (listed.cutoff - self.proof.value)
        target = min(beyond, self.target())
        clusters, costs = listed.clusters, listed.costs
        reduced = reduced_costs(clusters, costs, self.proof.duals, self.proof.cuts)
        keep = reduced < target - self.proof.value
        short = Condensation(
            clusters[keep],
            costs[keep],
            self.copies,
            self.problem.k,
            self.links.range_of_clusters(self.problem.n, self.problem.k),
            self.proof.cuts,
            target,
            self.clock,
        )
        short.tighten()
        if not short.hopeless:  # a little better bound would only hide which nodes are best
            self.prove(Bound(min(short.bound, listed.cutoff, target)))
        return short

    def list_about(self, wanted: int) -> Listed | None:
        """A list of about so many clusters, or of all that fit the gap if these are fewer."""
        best: Listed | None = None
        clock, high = self.listing(), math.inf
        proven, cutoff = self.proof.value, self.within(FEW_COLUMNS)
        for _ in range(TRIALS):
            listed = list_clusters(
                self.pricer, self.proof, cutoff, clock, wanted, self.links, trials=1
            )
            if listed is None:
                high = cutoff
                cutoff = 0.5 * ((proven if best is None else best.cutoff) + high)
            else:
                best = listed
                if cutoff >= self.target() or len(listed.costs) > 0.6 * wanted:
                    break
                farther = math.sqrt(0.9 * wanted / max(1, len(listed.costs))) * (cutoff - proven)
                cutoff = min(proven + farther, 0.5 * (cutoff + high), self.target())
            if clock.over():
                break
        return best

    def approach(self) -> bool:
        """Ever higher goals, each reached or proven out of reach; True if a tree left nothing open.

        A list grows quickly with its cutoff, and a tree with the gap it has to close. With a goal
        below the cost of the best partition both stay small; the tree finds a partition below the
        goal, and the optimum then, or none, and the goal is a bound.
        """
        pool, pricer, proof = self.pool, self.pricer, self.proof
        n = self.problem.n
        wanted = AIMED_PER_ROW * max(n, AIMED_ROWS) if pool is None else FEW_AIMED * n
        if pool is not None and len(pool) <= wanted:
            return False
        while self.lists() and not self.done() and wanted <= POOL:
            left = self.target() - self.lower
            near = left < NEAR * self.upper()
            if near and not self.frontier:
                return False
            goal = self.target() if near else self.lower + MOST_OF * left
            listed = list_clusters(pricer, proof, goal, self.listing(), wanted, self.links)
            if listed is None:
                return False
            if listed.cutoff > self.lower + AIMED_FARTHER * left:
                self.goal = listed.cutoff if listed.cutoff < self.target() else math.inf
                self.look_at(Pool(pricer, listed.clusters, listed.costs))
                if not self.frontier:
                    self.generated = self.generate(self.links)
                    self.tighten()
                    self.shorten()
                searched = not self.done()
                if searched:
                    self.branch()
                self.goal, self.pool, self.proof = math.inf, pool, proof
                self.pricer = self.generation.pricer = pricer
                if searched and not self.frontier:
                    return True
                if self.far():
                    self.search_locally(FAR_SEARCH)
            wanted *= 2
        return False

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

    def shorten(self) -> None:
        """Drop clusters that the bounds of today exclude from the list."""
        bound = self.proof
        if self.pool is None or bound.duals is None or self.done():
            return
        gap = self.target() - bound.value
        shorter = self.pool.below(bound.duals, bound.cuts, self.links, gap)
        if len(shorter) < SHORTER * len(self.pool):
            self.look_at(self.pool.part(shorter))

    def far(self) -> bool:
        """Whether the gap is so wide that a better partition is to be expected."""
        return self.upper() - self.lower > FAR * self.upper()

    def within(self, most: int) -> float:
        """A cost above the target, or above which the columns at hand alone are more than so many.

        Where a list is to be short, looking for all that fit the gap would be in vain.
        """
        duals, master = self.proof.duals, self.master
        if duals is None or len(master) <= most:
            return self.target()
        reduced = reduced_costs(master.clusters, master.costs, duals, self.proof.cuts)
        highest = max(float(np.partition(reduced, most)[most]), 0.0)
        return min(self.target(), self.proof.value + highest)

    def sample(self, per_row: float) -> bool:
        """A better partition among the clusters of least reduced cost, where the gap is wide.

        True if the best of them is found: dives hardly ever find a better one then.
        """
        wide = self.upper() - self.lower > WIDE * self.upper()
        if self.done() or not wide or not self.options.enumeration or self.step > 0:
            return False
        most = min(FEW_COLUMNS, int(per_row * self.problem.n))
        optimal, seconds = False, self.share(SAMPLE_SHARE)
        while True:
            listed = list_clusters(
                self.pricer, self.proof, self.within(most), self.listing(), most, self.links
            )
            if listed is None:
                return optimal
            begin, before = now(), self.upper()
            _, solved = self.choose_from(listed, self.proof, self.links, SAMPLE_NODES, seconds)
            optimal |= solved
            quick = solved and now() - begin < QUICK
            if self.trees_come_next() and self.upper() == before:
                return optimal
            if self.done() or not quick or listed.cutoff >= self.target():
                return optimal
            most, seconds = int(MORE * most), LARGER_SECONDS

    def finish(self, most_columns: int, most_nodes: int = STEP_NODES) -> bool:
        """Enumerate and solve the MIP; True if that settles the problem."""
        if self.done() or not self.options.enumeration:
            return self.done()
        # Branching begins anew where rows are merged, so the MIP may take longer there.
        soon = self.branches and self.step == 0 and self.copies.max() == 1
        nodes = ROOT_NODES if soon else most_nodes
        self.prove(Bound(self.finish_node(self.proof, self.links, most_columns, nodes, True)))
        self.argument.listed = self.closed()
        return self.done()

    def finish_node(
        self,
        bound: Bound,
        restrictions: Restrictions,
        most_columns: int,
        most_nodes: int,
        root: bool = False,
    ) -> float:
        """Lower bound of a node after an attempt to enumerate it; improves the incumbent.

        Stages of ever more clusters: with all of reduced cost < δ at hand, a partition costs at
        least min(bound + δ, what the MIP over them says).
        """
        value = bound.value
        # Where branching is at hand, it does better than a MIP that cannot settle the node.
        whole_gap = (self.branches or self.pool is not None) and self.step == 0
        if whole_gap:
            per_row = COLUMNS_PER_ROW if root else POOL_PER_ROW if self.pool else FEW_PER_ROW
            most_columns = min(most_columns, per_row * self.problem.n)
        # A few columns are worth a try at the root: they may hold a better partition.
        few = FEW_PER_ROW * self.problem.n if root else 0
        wanted = min(self.many_columns() if not whole_gap else few or most_columns, most_columns)
        while value < self.target() and not self.clock.over():
            trials = 1 if whole_gap and wanted > few else 10  # a part would not do
            listed = list_clusters(
                self.pricer, bound, self.target(), self.listing(), wanted, restrictions, trials
            )
            partial = listed is not None and listed.cutoff < self.target()
            if listed is None or (partial and whole_gap and wanted > few):
                break
            target = self.target()
            seconds = self.share(ROOT_SHARE if root else NODE_SHARE)
            if self.pool is not None:
                seconds = POOL_SECONDS
            proven, optimal = self.choose_from(listed, bound, restrictions, most_nodes, seconds)
            value = max(value, min(listed.cutoff, target, proven))
            if not optimal or wanted >= most_columns or listed.cutoff >= target:
                break
            wanted = min(5 * wanted, most_columns)
        return value

    def choose_from(
        self,
        listed: Listed,
        bound: Bound,
        restrictions: Restrictions,
        most_nodes: int,
        seconds: float,
    ) -> tuple[float, bool]:
        """Best partition over the listed clusters and the incumbent, by a MIP."""
        mine = self.incumbent()
        fewest, most = restrictions.range_of_clusters(self.problem.n, self.problem.k)
        # A start far above the bound only makes the program larger, and one that lies in another
        # node takes back what was branched on.
        elsewhere = restrictions is not self.links or self.goal < self.upper()
        far = elsewhere or self.upper() > 1.2 * listed.cutoff
        mine = mine[: 0 if far else None]
        pool, start = with_start(listed.clusters, mine)
        costs = np.concatenate([listed.costs, self.costs(pool[len(listed.clusters) :])])
        chosen = choose(
            pool,
            costs,
            self.copies,
            self.problem.k,
            self.clock.within(seconds),
            bound.cuts,
            self.step,
            None if far else start,
            self.run.seed,
            (fewest, most),
            most_nodes,
            self.cutoff() if elsewhere else math.inf,
        )
        if chosen.clusters is not None:
            self.found(chosen.clusters)
        return self.rounded(chosen.bound), chosen.optimal

    def dives(
        self, number: int, restrictions: Restrictions | None = None, effort: float = 1.0
    ) -> None:
        """Dives from the current relaxation; of several, more as long as they find something."""
        left = number if self.options.dives else 0
        while left > 0 and not self.done():
            share = float(self.run.rng.uniform(0.1, 0.3))
            limit = self.clock.within(0.25 * self.clock.remaining())
            limits = restrictions or self.links
            clusters = dive(self.generation, limit, self.run.rng, limits, share, effort)
            improved = clusters is not None and self.found(clusters)
            left = max(left - 1, 2 if improved and number > 1 else 0)

    def polish(self) -> None:
        """A better partition out of the columns at hand where one MIP cannot hold them all.

        Where costs come in steps, out of others listed for that, too.
        """
        wide = self.upper() - self.lower > WIDE * self.upper()
        if self.done() or not wide or not self.options.dives or not self.master.large:
            return
        clock = self.clock.within(REGION_SHARE * self.clock.remaining())
        clusters, costs = self.master.clusters, self.master.costs
        if not self.large:
            per_type = LISTED_PER_TYPE if self.step > 0 else REGIONS_PER_TYPE
            most = per_type * self.master.types
            part = clock.within(REGION_LIST * clock.remaining())
            listed = list_clusters(
                self.pricer, self.proof, self.within(most), part, most, self.links
            )
            if listed is not None:
                both = np.concatenate([clusters, listed.clusters])
                clusters, first = np.unique(both, axis=0, return_index=True)
                costs = np.concatenate([costs, listed.costs])[first]
        self.improve_regions(clusters, costs, clock)

    def improve_regions(
        self, clusters: NDArray[np.int32], costs: NDArray[np.float64], clock: Clock
    ) -> None:
        """MIPs over regions of the best partition, with these clusters to choose from."""
        relaxation = self.generated.relaxation
        if relaxation is None or clock.over():
            return
        pool, uses = with_start(clusters, self.incumbent())
        costs = np.concatenate([costs, self.costs(pool[len(costs) :])])
        reduced = reduced_costs(pool, costs, relaxation.duals, self.master.cuts)
        order = np.argsort(reduced, kind="stable")
        better, _ = improve(
            pool[order],
            costs[order],
            reduced[order],
            uses[order],
            self.master.types,
            self.problem.k,
            clock,
            self.run.rng,
            Effort(nodes=REGION_NODES),
            self.step,
        )
        self.found(better)

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
        clusters = clusters_of(self.run.best.labels, self.types)
        return sorted_rows(padded(clusters, self.largest))

    def costs(self, clusters: NDArray[np.int32]) -> NDArray[np.float64]:
        """Costs of clusters given as rows padded by −1."""
        return np.array([self.pricer.cost(row[row >= 0]) for row in clusters], dtype=np.float64)
