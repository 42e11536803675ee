"""SAFE, the heuristic of the German census of 2011 (000, chapter 2, algorithms 1 to 4).

The counts of the occurring combinations, sorted, are run through a few entries at a time. Each
slice takes the change of its counts that leaves the fewest confidentiality problems (counts
1 … k−1) while no cell of a control table leaves its bound b_t + g_t. If that eliminates too few of
them, the bounds are raised, and then other slices are tried, in four stages:

1. consecutive confidentiality problems,
2. a confidentiality problem between its nearest non-zero entries,
3. a confidentiality problem between its neighbours, zero or not,
4. all consecutive entries.

At last the bounds are lowered again, step by step, and counts are changed to respect them
(algorithm 3). The number of rows is *not* a constraint (000, 3.2 and table 6.9): it may change, and
the problem that SAFE answers has no ``total``. A combination that does not occur stays so.

The thesis states all this for k = 3. Here counts change by −k … k, counts 1 … k−1 are problems, and
the allowed deviation is k; all other defaults are those of Appendix A for any k.

What the text leaves open, and how it is read here:

- *Increase bound b* (line 13): the bounds of tables with two and more dimensions grow by 1 until
  they are ``max_gap`` above those of one-dimensional tables. From then on, and whenever the bounds
  refused no candidate, the next part follows. One-dimensional bounds grow only if all four stages
  eliminated too few: this is the only reading found that gives the gap a meaning, ends every loop
  and lets all stages have their turn.
- *Proportionally too low* (lines 12, 17, 20, 23): fewer than ``stagnation`` of the problems that
  there were before, or none. For lines 17 to 23, before means at line 2.
- *Three consecutive indices* overlap: (1, 2, 3), (2, 3, 4), … The indices, and in stage 2 the
  neighbours, are those at line 5. A slice at either end of the vector is shorter.
- *first(C_min_sum_error)*: changes are tried in lexicographic order.
- Algorithm 3 lowers all bounds together. The target bounds have no extra error g_t. Appendix A does
  not give ``max_exceedings`` and ``max_total_exceedings``; the defaults are ours (of 1, 3, 10, 30
  and 100, 10 had the least one-dimensional errors over the scenarios of 000, 6.2).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kanopy.instances.errors import KanopyError
from kanopy.instances.frequency import EXTRA_ERROR_STEPS, allowed_extra_error
from kanopy.instances.microdata import Microdata
from kanopy.solvers.frequency.program import Ints
from kanopy.solvers.frequency.safe_selection import NOBODY, WorkingCounts
from kanopy.solvers.problem import Outcome, Problem
from kanopy.solvers.registry import register
from kanopy.solvers.run import Run

STAGES = (1, 2, 3, 4)
_LONGEST_SLICE = 5


@dataclass(frozen=True)
class SafeOptions:
    """The parameters of 000, Appendix A, and of algorithm 3.

    Attributes
    ----------
    bound_one_dim, bound_higher_dim
        First bounds b on the errors of one-dimensional and of all other control tables
        (*allowed_bounds_for_one_dim_table_errors*, *…_higher_dim_…*).
    max_gap
        Most that the second may exceed the first by
        (*max_gap_between_bounds_for_one_and_for_higher_dim_tables*).
    allowed_deviation
        Most that a count may change (*allowed_deviation_from_original_frequency_vector*, 3 for
        k = 3); None for k.
    first_part, part
        Entries of the first part and of each further one (*size_of_first_part_to_consider*,
        *size_of_parts*).
    slice_size
        Entries that change together (*size_of_slices*).
    stagnation
        Least share of confidentiality problems to eliminate (*stagnation_parameter*).
    target_one_dim, target_higher_dim
        Bounds b* that the improvement aims at (*target_bound_for_…_dim_tables*).
    max_iterations
        Most rounds of the improvement (*maximum_number_iterations_improvement_steps*).
    extra_error
        A cell may have an error g_t of 1 more if its original value reaches the first of these, of
        2 more from the second on, and so on (*allowed_extra_error_on_table_cell_t*); () allows
        none. A problem that brings its own tolerance keeps it.
    max_exceedings
        The improvement lowers bounds as long as fewer cells exceed them
        (*max_number_exceedings*).
    max_total_exceedings
        It ends when so many cells exceed the bounds (*max_total_number_exceedings*).
    """

    bound_one_dim: int = 2
    bound_higher_dim: int = 3
    max_gap: int = 3
    allowed_deviation: int | None = None
    first_part: int = 5000
    part: int = 500
    slice_size: int = 3
    stagnation: float = 0.02
    target_one_dim: int = 2
    target_higher_dim: int = 3
    max_iterations: int = 20
    extra_error: tuple[int, ...] = EXTRA_ERROR_STEPS
    max_exceedings: int = 10
    max_total_exceedings: int = 100


def complete(problem: Problem, options: SafeOptions) -> Problem:
    """The problem with SAFE's tolerances, and without a number of rows to keep."""
    _check(options, problem.k)
    assert problem.control is not None
    if problem.total is not None and problem.total != problem.n:
        raise KanopyError(
            f"safe stays close to the {problem.n} rows and cannot aim at {problem.total}; "
            "choose safe-basic"
        )
    tolerance = problem.tolerance
    if tolerance is None:
        original = problem.control.values(problem.data.counts)
        tolerance = allowed_extra_error(original, options.extra_error).astype(np.float64)
    return replace(problem, tolerance=tolerance, total=None)


def _check(options: SafeOptions, k: int) -> None:
    least = {
        "bound_one_dim": 0,
        "bound_higher_dim": 0,
        "max_gap": 0,
        "allowed_deviation": k // 2,  # less, and some counts could become neither 0 nor k
        "first_part": 1,
        "part": 1,
        "slice_size": 1,
        "stagnation": 0,
        "max_iterations": 0,
    }
    for name, low in least.items():
        value = getattr(options, name)
        if value is not None and value < low:
            raise KanopyError(f"{name} = {value}; for k = {k} choose at least {low}")
    steps = list(options.extra_error)
    if steps != sorted(steps):
        raise KanopyError(f"extra_error = {steps}; choose values in increasing order")
    if options.slice_size > _LONGEST_SLICE:
        raise KanopyError(
            f"slice_size = {options.slice_size} means {2 * k + 1} to that power changes a slice; "
            f"choose at most {_LONGEST_SLICE}"
        )


@register(
    "safe",
    shape="frequency",
    costs=("max-error",),
    kinds=("nominal",),
    paper="000, algorithms 1–4",
    summary="counts with small errors in the control tables; the number of rows may change",
    options=SafeOptions,
    prepare=complete,
)
def safe(problem: Problem, run: Run, options: SafeOptions) -> Outcome:
    """Algorithm 1; out of time, the counts that are still problems are rounded to 0 or k."""
    search = _Safe(problem, run, options)
    try:
        search.eliminate()
        if not run.stopping():
            search.improve()
    except KeyboardInterrupt:
        outcome = search.outcome()
        run.found(outcome, problem.objective(outcome))
        raise
    return search.outcome()


def sorted_entries(data: Microdata) -> Ints:
    """The combinations in SAFE's order: attributes with few possible values first (000, 2.2).

    >>> from kanopy.instances.examples import example
    >>> data = example("survey")
    >>> data.combinations.iloc[sorted_entries(data)]["Working status"].tolist()
    ['employed', 'inactive', 'unemployed', 'inactive']
    """
    attributes = np.argsort(data.domain_sizes, kind="stable")
    codes = data.codes[data.first_rows]
    return np.lexsort(codes[:, attributes[::-1]].T).astype(np.int64)


class _Safe:
    """The working frequency vector, in sorted order, and the bounds on the errors."""

    def __init__(self, problem: Problem, run: Run, options: SafeOptions) -> None:
        assert problem.control is not None
        assert problem.tolerance is not None
        self.run, self.options, self.k = run, options, problem.k
        self.order = sorted_entries(problem.data)
        control = replace(problem.control, matrix=problem.control.matrix[:, self.order])
        deviation = options.allowed_deviation
        self.work = WorkingCounts(
            problem.data.counts[self.order],
            control,
            problem.k,
            problem.k if deviation is None else deviation,
        )
        self.one_dimensional = control.dimension == 1
        # Errors are whole numbers, so only the whole part of a tolerance counts.
        self.extra = np.floor(problem.tolerance).astype(np.int64)
        self.bound_one, self.bound_higher = options.bound_one_dim, options.bound_higher_dim

    def bound(self) -> Ints:
        """b_t + g_t of all cells."""
        return np.where(self.one_dimensional, self.bound_one, self.bound_higher) + self.extra

    def eliminate(self) -> None:
        """Algorithm 1, lines 2 to 26."""
        while (before := self.problems()) and not self.run.stopping():
            for stage in STAGES:
                self.run_through_parts(stage)
                if not self.too_few(before, self.problems()):
                    break
            else:
                if not self.raise_higher():
                    self.bound_one += 1

    def run_through_parts(self, stage: int) -> None:
        """Lines 3 to 16."""
        entries = len(self.work.counts)
        end = min(self.options.first_part, entries)
        while not self.run.stopping():
            before = self.problems(end)
            slices = self.slices(stage, end)
            _, refused = self.work.run_through(slices, self.bound(), self.run, improving=False)
            if not self.problems():
                return
            if self.too_few(before, self.problems(end)) and refused and self.raise_higher():
                continue
            if end == entries:
                return
            end = min(end + self.options.part, entries)

    def problems(self, end: int | None = None) -> int:
        """Number of confidentiality problems among the first entries."""
        return int(self.work.is_problem()[:end].sum())

    def too_few(self, before: int, after: int) -> bool:
        """Whether the eliminated problems are proportionally too few."""
        return before > 0 and before - after < max(1.0, self.options.stagnation * before)

    def raise_higher(self) -> bool:
        """Raise the bounds of higher-dimensional tables, if the gap allows it."""
        if self.bound_higher - self.bound_one >= self.options.max_gap:
            return False
        self.bound_higher += 1
        return True

    def slices(self, stage: int, end: int) -> Ints:
        """The slices of a stage among the first entries."""
        size = self.options.slice_size
        problems = np.flatnonzero(self.work.is_problem()[:end])
        if stage == 1:
            return _windows(problems, size)
        if stage == 4:
            return _windows(_padded(np.arange(end), size), size)
        left = (size - 1) // 2
        line = np.flatnonzero(self.work.counts[:end] > 0) if stage == 2 else np.arange(end)
        first = np.searchsorted(line, problems)[:, None] - left
        places = first + np.arange(size)
        inside = (places >= 0) & (places < len(line))
        return np.where(inside, line[np.clip(places, 0, len(line) - 1)], NOBODY).astype(np.int64)

    def improve(self) -> None:
        """Algorithm 3."""
        options, size = self.options, self.options.slice_size
        slices = _windows(_padded(np.arange(len(self.work.counts)), size), size)
        bound = self.bound()
        target = np.where(self.one_dimensional, options.target_one_dim, options.target_higher_dim)
        for _ in range(options.max_iterations):
            high = bound > target
            if not high.any() or self.exceedings(bound) >= options.max_total_exceedings:
                break
            lowered = False
            while high.any() and self.exceedings(bound - high) < options.max_exceedings:
                bound = bound - high
                high = bound > target
                lowered = True
            changed, _ = self.work.run_through(slices, bound, self.run, improving=True)
            if self.run.stopping() or not (changed or lowered):  # all further rounds do the same
                break

    def exceedings(self, bound: Ints) -> int:
        """Number of cells with an error beyond the bound."""
        return int((np.abs(self.work.errors) > bound).sum())

    def outcome(self) -> Outcome:
        """The counts in the order of the data.

        Problems are left only if the run was stopped. Their sum from the first on is rounded to
        multiples of k, so that it is kept, also locally.
        """
        rounded, problems = self.work.counts.copy(), self.work.is_problem()
        multiples = (2 * np.cumsum(rounded[problems]) + self.k) // (2 * self.k)
        rounded[problems] = self.k * np.diff(multiples, prepend=0)
        counts = np.empty_like(rounded)
        counts[self.order] = rounded
        return Outcome(counts=counts)


def _windows(entries: Ints, size: int) -> Ints:
    """All runs of consecutive entries; none if there are too few."""
    if len(entries) < size:
        return np.zeros((0, size), dtype=np.int64)
    windows = np.lib.stride_tricks.sliding_window_view(entries, size)
    return np.ascontiguousarray(windows, dtype=np.int64)


def _padded(entries: Ints, size: int) -> Ints:
    """At least one slice, even of a vector that is shorter than that."""
    missing = max(0, size - len(entries))
    return np.concatenate([entries, np.full(missing, NOBODY)]).astype(np.int64)
