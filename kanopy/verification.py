"""Independent check of results: nothing here calls, or is called by, a method.

Every quantity is recomputed from the original table with pandas, by another formula than the
methods use, so that a mistake on either side shows as a difference.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kanopy.freeform_checks import coverage_problems, freeform_objective, match_problems
from kanopy.instances.arguments import whole_number
from kanopy.instances.errors import KanopyError, cause
from kanopy.instances.microdata import Microdata
from kanopy.solution import OPTIMALITY_GAP, STATUSES, Solution
from kanopy.solvers.costs import CLUSTER_COSTS, added_cost

TOLERANCE = 1e-6
"""Relative difference up to which two computations of an objective agree."""


class VerificationError(KanopyError):
    """A result that does not keep what it promises; the message says which promise."""


def verify(data: Microdata, result: Solution | pd.DataFrame, k: int | None = None) -> None:
    """Check a solution, or a released table, against its data; raise with the reason if it fails.

    A solution must belong to the data, be a partition into classes of at least k rows (or a
    frequency vector of entries 0 or ≥ k with the right sum), keep strata and linked pairs of rows,
    recompute to its objective, have a bound no higher than that, a status that its gap allows and a
    trace whose bounds never fall, and give a k-anonymous release. A released table needs ``k``.

    A freeform solution is another thing: its release need not be k-anonymous. It must be k disjoint
    perfect matchings, the first the true one, and its rows must cover what they are matched with.

    Examples
    --------
    >>> import kanopy as kn
    >>> data = kn.example("testdata")
    >>> kn.verify(data, kn.solve(data, k=3, method="mdav"))
    >>> kn.verify(data, data.frame, k=3)
    Traceback (most recent call last):
    ...
    kanopy.verification.VerificationError: release: 5 of 5 classes have fewer than 3 rows
    """
    if not isinstance(data, Microdata):
        raise KanopyError(f"the original must be Microdata, got {type(data).__name__}")
    if isinstance(result, Solution):
        if k is not None and k != result.k:
            raise VerificationError(f"solution is for k = {result.k}, not {k}")
        problems = list(_solution_problems(data, result))
    else:
        if k is None:
            raise KanopyError("say which k the release should have: verify(data, release, k=3)")
        whole_number(k, "k", least=1)
        check_table(result)
        problems = list(release_problems(data, result, k))
    if problems:
        raise VerificationError("; ".join(problems))


def check_table(release: object) -> None:
    """Raise unless it is a table that pandas can group by any of its columns."""
    if not isinstance(release, pd.DataFrame):
        raise KanopyError(
            f"expected a Solution or a released DataFrame, got {type(release).__name__}"
        )
    if not release.columns.is_unique:
        raise KanopyError("column names of the release occur twice; rename one of each")
    for name in release.columns:
        try:
            if release[name].dtype == np.float16:
                raise TypeError("pandas has no index of float16")
            pd.factorize(release[name])
        except TypeError as error:
            raise KanopyError(
                f"column {name!r} of the release holds values that cannot be compared"
            ) from cause(error)


def _solution_problems(data: Microdata, solution: Solution) -> Iterable[str]:
    if solution.data is not data and solution.data.fingerprint != data.fingerprint:
        yield "solution belongs to other data"
        return
    if solution.labels is None and solution.counts is None and solution.matches is None:
        yield "solution decides nothing: it has neither labels nor counts nor matches"
        return
    if solution.matches is not None and not (solution.labels is None and solution.counts is None):
        yield "solution decides twice: it has matches besides labels or counts"
        return
    broken = list(_decision_problems(data, solution))
    yield from broken
    if broken:
        return
    yield from _value_problems(solution, recomputed_objective(data, solution))
    yield from _trace_problems(solution)
    kept = solution.counts is None or int(solution.counts.sum()) == data.n
    release = solution.release()
    if solution.matches is not None:
        yield from untouched_problems(data, release, same_order=True)
        yield from coverage_problems(data, release, solution.matches)
        return
    yield from release_problems(
        data, release, solution.k, solution.labels, same_rows=kept, same_order=True
    )


def _decision_problems(data: Microdata, solution: Solution) -> Iterable[str]:
    if solution.labels is not None:
        yield from check_labels(data, solution.labels, solution.k)
        links = solution.problem.links
        yield from check_links(solution.labels, links.must, links.cannot)
        if solution.representatives is not None:
            yield from _representative_problems(solution.labels, solution.representatives)
    if solution.matches is not None:
        yield from match_problems(data, solution.matches, solution.k)
    if solution.counts is not None:
        total = solution.problem.total
        yield from _count_problems(data, solution.counts, solution.k, total)


def check_labels(data: Microdata, labels: NDArray[np.int64], k: int) -> list[str]:
    """What is wrong with a partition; empty if nothing is."""
    if labels.shape != (data.n,):
        return [f"labels have shape {labels.shape}, but there are {data.n} rows"]
    if not np.issubdtype(labels.dtype, np.integer):
        return [f"labels are {labels.dtype}, not whole numbers"]
    if labels.min() < 0:
        return [f"{int((labels < 0).sum())} rows are in no class (negative label)"]
    sizes = pd.Series(labels).value_counts()
    problems = []
    if len(sizes) != labels.max() + 1:
        problems.append(f"labels skip numbers: {len(sizes)} classes, highest {labels.max()}")
    small = sizes[sizes < k]
    if len(small):
        problems.append(f"{len(small)} classes have fewer than k = {k} rows (least {small.min()})")
    if data.strata is not None:
        pairs = pd.DataFrame({"label": labels, "stratum": data.frame[data.strata].to_numpy()})
        crossing = int(pairs.drop_duplicates()["label"].duplicated().sum())
        if crossing:
            problems.append(f"{crossing} classes cross strata of {data.strata!r}")
    return problems


def check_links(
    labels: NDArray[np.int64],
    must_link: Iterable[tuple[int, int]],
    cannot_link: Iterable[tuple[int, int]],
) -> list[str]:
    """Which pairs of rows a partition tears or joins against the wish; empty if none."""
    class_of = dict(enumerate(labels.tolist()))
    torn = [(a, b) for a, b in must_link if class_of.get(a) != class_of.get(b)]
    joined = [(a, b) for a, b in cannot_link if class_of.get(a) == class_of.get(b)]
    problems = []
    if torn:
        problems.append(f"{len(torn)} must_link pairs are torn, the first {torn[0]}")
    if joined:
        problems.append(f"{len(joined)} cannot_link pairs share a class, the first {joined[0]}")
    return problems


def _representative_problems(
    labels: NDArray[np.int64], representatives: NDArray[np.int64]
) -> Iterable[str]:
    if len(representatives) != labels.max() + 1:
        yield f"{len(representatives)} representatives for {labels.max() + 1} classes"
    elif representatives.min() < 0 or representatives.max() >= len(labels):
        yield "a representative is no row of the table"
    elif (labels[representatives] != np.arange(len(representatives))).any():
        yield "a representative is not a member of its class"


def _count_problems(
    data: Microdata, counts: NDArray[np.int64], k: int, total: int | None
) -> Iterable[str]:
    if counts.shape != (len(data.combinations),):
        yield f"counts have shape {counts.shape} for {len(data.combinations)} combinations"
        return
    if not np.issubdtype(counts.dtype, np.integer):
        yield f"counts are {counts.dtype}, not whole numbers"
        return
    if counts.min() < 0:
        yield "a count is negative"
    small = int(((counts > 0) & (counts < k)).sum())
    if small:
        yield f"{small} counts lie between 1 and k − 1 = {k - 1}"
    if total is not None and counts.sum() != total:
        yield f"counts add up to {counts.sum()}, not to {total}"


def _value_problems(solution: Solution, objective: float) -> Iterable[str]:
    claimed, bound = solution.objective, solution.bound
    if not math.isfinite(claimed):
        yield f"objective is {claimed}"
        return
    slack = TOLERANCE * max(abs(claimed), abs(objective)) + 1e-9
    if abs(claimed - objective) > slack:
        yield f"objective is {claimed!r}, but recomputes to {objective!r}"
    if bound is not None and not math.isfinite(bound):
        yield f"bound is {bound}"
    elif bound is not None and bound > claimed + slack:
        yield f"bound {bound!r} is above the objective {claimed!r}"
    if solution.status not in STATUSES:
        yield f"status {solution.status!r} is none of {', '.join(STATUSES)}"
    closed = solution.gap is not None and solution.gap <= OPTIMALITY_GAP
    if (solution.status == "optimal") != closed:
        yield f"status is {solution.status!r}, but the gap is {solution.gap}"


def _trace_problems(solution: Solution) -> Iterable[str]:
    bounds = [event.bound for event in solution.trace if event.bound is not None]
    values = [event.objective for event in solution.trace if event.objective is not None]
    slack = TOLERANCE * abs(solution.objective) + 1e-9
    if any(later < earlier for earlier, later in pairwise(bounds)):
        yield "the trace lowers a bound"
    if any(later > earlier + slack for earlier, later in pairwise(values)):
        yield "the trace raises an objective"
    if bounds and max(bounds) > solution.objective + slack:
        yield "a bound in the trace is above the objective"
    times = [event.time for event in solution.trace]
    if times != sorted(times):
        yield "the trace runs back in time"


def recomputed_objective(data: Microdata, solution: Solution) -> float:
    """The objective from the original table alone."""
    labels = solution.labels
    if solution.matches is not None:
        return freeform_objective(data, solution.matches)
    if labels is None:
        return _table_errors(data, solution)
    if solution.cost == "sse":
        return _sse(data, labels)
    if solution.cost == "hamming":
        return _hamming(data, labels)
    if solution.cost == "range":
        return _range(data, labels)
    if solution.cost in CLUSTER_COSTS:  # an added one, which nobody else can know
        return float(added_cost(data, labels, solution.cost).sum())
    return _table_errors(data, solution)


def _weight(data: Microdata, column: str) -> float:
    return float(data.weights[[*data.numeric, *data.nominal].index(column)])


def _sse(data: Microdata, labels: NDArray[np.int64]) -> float:
    """Squared distances as Σ (size − 1) · variance, column by column, from each first row."""
    total = 0.0
    for j, column in enumerate(data.numeric):
        values = pd.Series(data.frame[column].to_numpy(dtype=float))
        values = (values - data.center[j]) / data.scale[j]
        # A mean far from 0 would round off what the values of a class differ by.
        groups = (values - values.groupby(labels).transform("first")).groupby(labels)
        squares = groups.var(ddof=1).fillna(0.0) * (groups.size() - 1)
        total += _weight(data, column) * float(squares.sum())
    return total


def _hamming(data: Microdata, labels: NDArray[np.int64]) -> float:
    """Unequal pairs as all pairs less the pairs of equal cells, column by column."""
    sizes = pd.Series(labels).value_counts()
    pairs = float((sizes * (sizes - 1) / 2).sum())
    total = 0.0
    for column in data.nominal:
        codes, values = pd.factorize(data.frame[column], use_na_sentinel=False)
        same = pd.Series(labels * len(values) + codes).value_counts()  # of each class and value
        total += _weight(data, column) * (pairs - float((same * (same - 1) / 2).sum()))
    return total


def _range(data: Microdata, labels: NDArray[np.int64]) -> float:
    """Loss of every cell, added over the rows of the table."""
    total = 0.0
    for j, column in enumerate(data.numeric):
        width = (data.upper[j] - data.lower[j]) * data.scale[j]
        groups = pd.Series(data.frame[column].to_numpy(dtype=float)).groupby(labels)
        if width > 0:
            spread = groups.transform("max") - groups.transform("min")
            total += _weight(data, column) * float(spread.sum()) / width
    for j, column in enumerate(data.nominal):
        values = pd.Series(data.frame[column].astype(object).to_numpy())
        extra = pd.Series(labels).map(values.groupby(labels).nunique(dropna=False)) - 1.0
        total += _weight(data, column) * float(extra.sum()) / int(data.domain_sizes[j])
    return total


def _table_errors(data: Microdata, solution: Solution) -> float:
    """Cell by cell over pandas group sums instead of the sparse matrix."""
    problem = solution.problem
    assert problem.control is not None
    cells = data.combinations
    counted = pd.DataFrame({"before": data.counts, "after": solution.released_counts})
    before, after = [], []
    for names in problem.control.names:
        keys = [cells[name] for name in names]  # not by name: a column may be called "before"
        sums = counted.groupby(keys, dropna=False, observed=True).sum()
        before.append(sums["before"].to_numpy(dtype=float))
        after.append(sums["after"].to_numpy(dtype=float))
    old, new = np.concatenate(before), np.concatenate(after)
    changed = (counted["after"] - counted["before"]).abs()
    deviation = problem.deviation_weight * float(changed.sum())
    if solution.cost == "chi2":
        return float(((new - old) ** 2 / old).sum()) + deviation
    allowed = 0.0 if problem.tolerance is None else problem.tolerance
    return float((np.abs(new - old) - allowed).max()) + deviation


def release_problems(
    data: Microdata,
    release: pd.DataFrame,
    k: int,
    labels: NDArray[np.int64] | None = None,
    *,
    same_rows: bool = True,
    same_order: bool = False,
) -> Iterable[str]:
    """What is wrong with a released table; empty if nothing is.

    Columns that are no quasi-identifiers must keep their values: row by row if the order is to be
    the same, else as a whole, since a release may be shuffled. They may be left out.

    Where rows are alike within each class of a partition that :func:`check_labels` passed, there
    is no need to group the table by its cells, which at hundreds of thousands takes seconds.
    """
    missing = [name for name in data.quasi_identifiers if name not in release.columns]
    if missing:
        yield f"release: quasi-identifiers {', '.join(missing)} are missing"
        return
    names = list(data.quasi_identifiers)
    if labels is None or not _alike(release[names], labels):
        classes = release.groupby(names, dropna=False, observed=True).size()
        small = int((classes < k).sum())
        if small:
            yield f"release: {small} of {len(classes)} classes have fewer than {k} rows"
    if same_rows:
        yield from untouched_problems(data, release, same_order=same_order)


def _alike(release: pd.DataFrame, labels: NDArray[np.int64]) -> bool:
    """Whether each row equals one and the same row of its class in every cell."""
    if len(release) != len(labels):
        return False
    member = np.empty(labels.max() + 1, dtype=np.int64)
    member[labels] = np.arange(len(labels))
    cells = (release[name].array for name in release.columns)
    return all(column.equals(column.take(member[labels])) for column in cells)


def untouched_problems(
    data: Microdata, release: pd.DataFrame, *, same_order: bool
) -> Iterable[str]:
    """What is wrong with the rows and the other columns of a released table."""
    original = data.frame
    if len(release) != len(original):
        yield f"release: {len(release)} rows instead of {len(original)}"
        return
    for name in original.columns:
        if name in data.quasi_identifiers or name not in release.columns:
            continue
        if same_order:
            same = release[name].equals(original[name])
        else:
            before = original[name].value_counts(dropna=False)
            after = release[name].value_counts(dropna=False)
            same = after.reindex(before.index).equals(before) and len(after) == len(before)
        if not same:
            yield f"release: untouched column {name!r} differs from the original"
