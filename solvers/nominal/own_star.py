r"""``own*``: a partition of least weight, and of those one with a small χ² error.

1. Branch-and-price proves a partition of least Hamming weight (4.2.1), or ends with the best it
   has found in its time; tables too large for that get the one of ``ils``. The trace has the weight
   and what is proven of it.
2. Annealing goes through partitions that are no heavier and their representatives for the least
   χ² error, from this partition and from others no heavier that ``ils`` finds. Where the weight is
   proven, all have the same; elsewhere a lighter one with a larger χ² error is passed over.
3. Exact aggregation settles the representatives; local search where that is dear.

The number of rows and structural zeros are kept. With ``representatives="members"`` each cluster
becomes one of its members, as in the thesis (5.2). By default it may become any combination that
*occurs in the table*, which is what the thesis asks for against unreasonable records (5.1);
``near`` allows of these only such that are in sum no farther from the cluster's rows than its
farthest member, and takes the place of the default where clusters times combinations are more than
``choices``. Members alone can be too few to come below the χ² error of own-hhe, whose clusters are
heavier but offer more choice, and near ones too few to come below that of SAFE, which moves rows
between any two combinations.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kanopy.instances.errors import unknown
from kanopy.solvers.branch_and_price.start import split_large
from kanopy.solvers.frequency.aggregation import AggregationOptions, Members, aggregate, complete
from kanopy.solvers.nominal.local_aggregation import local_representatives
from kanopy.solvers.nominal.plateau import anneal_plateau
from kanopy.solvers.nominal.preprocessing import cells_of_types
from kanopy.solvers.problem import Outcome, Problem, released_counts
from kanopy.solvers.registry import find_method, register
from kanopy.solvers.run import Run
from kanopy.solvers.stop import First, MaxIterations, MaxRuntime

Ints = NDArray[np.int64]

REPRESENTATIVES = ("occurring", "near", "members")

SLICE = 200_000
"""Proposals of annealing between two questions whether to stop."""

HOT, COLD = 30.0, 0.3
"""First and last temperature of annealing, in units of the χ² error."""

DEAR = 1e6
"""Price of weight: such annealing stays on partitions of the same weight."""

ILS_PER_ROW = 30
"""Iterations of each further local search, per row."""

AGGREGATION_SECONDS = 20.0
"""Most seconds of one exact aggregation."""


@dataclass(frozen=True)
class OwnStarOptions(AggregationOptions):
    """Options of ``own*``.

    Attributes
    ----------
    representatives
        What a cluster may become: any ``occurring`` combination, one that is ``near``, or one of
        its ``members``.
    choices
        Clusters times combinations up to which all that occur are allowed.
    exact_rows
        Rows up to which partition and representatives are sought by exact methods.
    seconds
        Most seconds of branch-and-price.
    starts
        Partitions of the same weight to begin with, if there are so many.
    anneal
        Moves that annealing tries from each.
    """

    representatives: str = "occurring"
    choices: int = 20_000
    exact_rows: int = 2000
    seconds: float = 300.0
    starts: int = 4
    anneal: int = 1_000_000

    def __post_init__(self) -> None:
        if self.representatives not in REPRESENTATIVES:
            raise unknown("kind of representatives", self.representatives, REPRESENTATIVES)


@register(
    "own*",
    shape="representatives",
    costs=("chi2",),
    kinds=("nominal",),
    paper="kanopy",
    summary="a partition of least Hamming weight, among those one of small χ² error",
    options=OwnStarOptions,
    prepare=complete,
)
def own_star(problem: Problem, run: Run, options: OwnStarOptions) -> Outcome:
    """The pipeline. The trace tells the weight of the partition and its bound.

    >>> from kanopy.instances.examples import example
    >>> data = example("aggregation")
    >>> problem = Problem(data, 3, "chi2", control=data.tables(1))
    >>> problem.objective(own_star(problem, Run(problem), OwnStarOptions()))
    0.0
    """
    best: Outcome | None = None
    for labels in _partitions(problem, run, options):
        if best is not None and run.stopping():
            break
        first = _aggregation(problem, labels, run, options, None)
        run.found(first, problem.objective(first))
        moved = _plateau(problem, first, run, options.anneal)
        candidates = [first, moved]
        if problem.n <= options.exact_rows and not run.stopping():
            assert moved.labels is not None
            allowed = _allowed(problem, moved.labels, options)
            outcome = _aggregation(problem, moved.labels, run, options, allowed)
            candidates.append(_as_counts(problem, outcome))
        for outcome in candidates:
            run.found(outcome, problem.objective(outcome))
        best = min([*([] if best is None else [best]), *candidates], key=problem.objective)
    assert best is not None
    return best


def _partitions(problem: Problem, run: Run, options: OwnStarOptions) -> Iterator[Ints]:
    """A partition of least weight, then others of the same weight."""
    weighed = replace(problem, cost="hamming", control=None)
    exact = problem.n <= options.exact_rows
    limit = First(run.share(2), MaxRuntime(options.seconds))
    part = Run(weighed, limit, run.seed, run.initial)
    if run.initial is not None:
        part.found_labels(run.initial)
    method = find_method("branch-and-price" if exact else "ils")
    outcome = method.run(weighed, part, method.parse({} if exact else {"fill_time": False}))
    part.found(outcome, weighed.objective(outcome))
    assert part.best is not None
    assert part.best.labels is not None
    weight = part.progress.objective
    proven = part.progress.bound
    run.record(weight=weight, weight_bound=proven if np.isfinite(proven) else None)
    yield split_large(part.best.labels, problem.k)
    ils = find_method("ils")
    for seed in range(1, options.starts if exact else 0):
        if run.stopping():
            return
        rule = First(run.share(4), MaxIterations(ILS_PER_ROW * problem.n))
        part = Run(weighed, rule, run.seed + seed)
        outcome = ils.run(weighed, part, ils.parse({"fill_time": False}))
        part.found(outcome, weighed.objective(outcome))
        assert part.best is not None
        assert part.best.labels is not None
        if part.progress.objective <= weight * (1 + 1e-12):
            yield split_large(part.best.labels, problem.k)


def _aggregation(
    problem: Problem, labels: Ints, run: Run, options: OwnStarOptions, members: Members | None
) -> Outcome:
    """Exact representatives, or those of local search where that is dear."""
    if problem.n > options.exact_rows:
        return local_representatives(problem, labels, run)
    part = Run(problem, First(run.share(2), MaxRuntime(AGGREGATION_SECONDS)), run.seed)
    return replace(aggregate(problem, labels, part, options, members), bound=None)


def _allowed(problem: Problem, labels: Ints, options: OwnStarOptions) -> Members | None:
    """What clusters may become, if not only their members."""
    if options.representatives == "members":
        return None
    kinds = len(problem.data.counts)
    clusters = int(labels.max()) + 1
    if options.representatives == "near" or clusters * kinds > options.choices:
        return near_combinations(problem, labels)
    return _members(problem, labels, [np.arange(kinds)] * clusters)


def near_combinations(problem: Problem, labels: Ints) -> Members:
    """Occurring combinations that are in sum no farther from a cluster than its farthest member.

    >>> import pandas as pd
    >>> from kanopy.instances.microdata import Microdata
    >>> frame = pd.DataFrame({"a": list("xyxxzz"), "b": list("ppqqpp"), "c": list("sttsts")})
    >>> data = Microdata.from_frame(frame)
    >>> problem = Problem(data, 3, "chi2", control=data.tables(1))
    >>> near_combinations(problem, np.array([0, 0, 0, 1, 1, 1])).start.tolist()
    [0, 3, 7]
    """
    data = problem.data
    codes = data.codes[data.first_rows]
    kinds = []
    for cluster in range(int(labels.max()) + 1):
        rows = np.flatnonzero(labels == cluster)
        apart = (codes[:, None, :] != data.codes[rows][None, :, :]) @ data.nominal_weights
        far = apart.sum(axis=1)
        kinds.append(np.flatnonzero(far <= far[data.types[rows]].max() + 1e-9))
    return _members(problem, labels, kinds)


def _members(problem: Problem, labels: Ints, kinds: list[Ints]) -> Members:
    kind = np.concatenate(kinds)
    start = np.concatenate([[0], np.cumsum([len(options) for options in kinds])])
    return Members(np.bincount(labels), start.astype(np.int64), kind, problem.data.first_rows[kind])


def _as_counts(problem: Problem, outcome: Outcome) -> Outcome:
    """The release as counts, since a combination need not belong to its cluster."""
    assert outcome.labels is not None
    assert outcome.representatives is not None
    if (outcome.labels[outcome.representatives] == np.arange(len(outcome.representatives))).all():
        return outcome
    counts = released_counts(problem.data, outcome)
    return replace(outcome, counts=counts, representatives=None)


def _plateau(problem: Problem, start: Outcome, run: Run, proposals: int) -> Outcome:
    """A partition of no larger weight and member representatives of no larger χ² error."""
    assert problem.control is not None
    assert start.labels is not None
    assert start.representatives is not None
    data, k = problem.data, problem.k
    labels, kinds = start.labels.copy(), data.types[start.representatives]
    sizes = np.bincount(labels)
    if len(sizes) < 2:
        return start
    members = np.full((len(sizes), max(2 * k - 1, int(sizes.max()))), -1, dtype=np.int64)
    order = np.argsort(labels, kind="stable")
    place = np.arange(problem.n) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    members[labels[order], place] = order
    goal = problem.control.values(data.counts).astype(np.float64)
    counts = released_counts(data, start)
    errors = problem.control.values(counts) - goal
    best_labels, best_kinds = labels.copy(), kinds.copy()
    cooling = (COLD / HOT) ** (1.0 / max(proposals, 1))
    excess, lead, temperature = 0.0, 0.0, HOT
    codes = np.ascontiguousarray(data.codes[data.first_rows])
    weights = np.ascontiguousarray(data.nominal_weights)
    cells = cells_of_types(problem.control)
    for done in range(0, proposals, SLICE):
        if run.stopping(iterations=min(SLICE, proposals - done)):
            break
        number = min(SLICE, proposals - done)
        excess, lead = anneal_plateau(
            codes,
            weights,
            data.types,
            cells,
            1.0 / goal,
            errors,
            members,
            sizes,
            kinds,
            labels,
            k,
            excess,
            DEAR,
            temperature,
            cooling,
            run.rng,
            number,
            best_labels,
            best_kinds,
            lead,
        )
        temperature *= cooling**number
    wanted = best_kinds[best_labels] == data.types
    rows = np.flatnonzero(wanted)
    _, first = np.unique(best_labels[rows], return_index=True)
    return Outcome(labels=best_labels, representatives=rows[first])
