"""``solve``: from an instance to a verified solution."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kanopy.apart import CrashError, run_apart
from kanopy.certifying import check_certifiable, write_certificate
from kanopy.display import ProgressTable
from kanopy.instances.arguments import checked_seed, is_known
from kanopy.instances.errors import KanopyError, unknown
from kanopy.instances.files import check_place
from kanopy.instances.frequency import FrequencyProblem
from kanopy.instances.microdata import Microdata
from kanopy.instances.tables import ControlTables
from kanopy.solution import OPTIMALITY_GAP, Solution
from kanopy.solvers.costs import CLUSTER_COSTS, FREQUENCY_COSTS, check_cost, default_cost
from kanopy.solvers.links import asked, make_links
from kanopy.solvers.problem import Outcome, Problem
from kanopy.solvers.registry import Method, all_methods, find_method
from kanopy.solvers.run import Run
from kanopy.solvers.stop import StoppingRule, check_rule, relative_gap
from kanopy.verification import check_labels, check_links, verify

CLOCKS_DIFFER, SHORTLY, SHORT = 0.01, 0.1, 0.05
"""A solver that is given what is left of the time measures it with a clock of its own, and may end
this share of the limit early, or these seconds; of a short limit they count up to that share."""


def solve(
    data: Microdata | FrequencyProblem | pd.DataFrame,
    k: int,
    method: str = "auto",
    *,
    cost: str | None = None,
    stop: StoppingRule | None = None,
    seed: int = 0,
    initial: Solution | Sequence[int] | NDArray[np.integer] | None = None,
    options: Mapping[str, Any] | None = None,
    control: int | Sequence[Sequence[str]] | ControlTables | None = None,
    must_link: Sequence[tuple[int, int]] | None = None,
    cannot_link: Sequence[tuple[int, int]] | None = None,
    display: bool = False,
    certificate: str | Path | None = None,
    apart: bool = False,
) -> Solution:
    """Find a k-anonymous version of the data at the least cost.

    Parameters
    ----------
    data
        The instance; a plain data frame is read with :meth:`Microdata.from_frame`, and a
        frequency problem brings its own control tables, tolerances and total.
    k
        Least size of a class, from 2 to the number of rows.
    method
        A name from :func:`kanopy.methods`; ``auto`` picks by kind, cost and size.
    cost
        ``sse``, ``hamming`` or ``range``; by default what the kind of data suggests.
    stop
        When to end, e.g. ``MaxRuntime(60)``; by default when the method is done.
    seed
        The only source of randomness.
    initial
        A known partition, as labels or Solution; the result is never worse than it.
    options
        Options of the method; unknown names are an error that lists the known ones.
    control
        Control tables of a frequency method: all up to a dimension, or a list of tables.
    must_link, cannot_link
        Pairs of rows, by position, that a class must or must not hold together. Only some methods
        can keep them (``branch-and-price``); others refuse.
    display
        Print a table of progress.
    certificate
        File for the partition and, from ``branch-and-price``, the proof of a bound, which
        ``kanopy check`` verifies by itself; see :mod:`kanopy.checking`. Writing it takes further
        time, beyond a time limit. Its bound may be lower than the solution's where a proof was cut
        short.
    apart
        Run the method in a process of its own: should a solver crash there, or not end at its time
        limit, a warning names it and the best so far is returned as ``interrupted``. Methods, costs
        and back-ends that were added in this process are unknown there.

    Examples
    --------
    >>> import kanopy as kn
    >>> s = kn.solve(kn.example("testdata"), k=3, method="mdav")
    >>> s.labels.tolist(), s.objective
    ([0, 0, 0, 1, 1, 1], 48.0)
    """
    if isinstance(data, pd.DataFrame):
        data = Microdata.from_frame(data)
    chosen = find_method(method)
    checked_seed(seed)
    if isinstance(data, FrequencyProblem):
        problem = _frequency_problem(data, k, chosen, cost, control)
    elif isinstance(data, Microdata):
        problem = _problem(data, k, chosen, cost, control)
    else:
        raise KanopyError(
            f"data must be Microdata, a frequency problem or a DataFrame, got {type(data).__name__}"
        )
    if any(asked(pairs) for pairs in (must_link, cannot_link)):
        problem = _linked(problem, chosen, must_link, cannot_link)
    parsed = chosen.parse({} if options is None else options)
    if chosen.prepare is not None:
        problem = chosen.prepare(problem, parsed)
    if stop is not None:
        check_rule(stop, "stop")
    if initial is not None and chosen.shape in ("frequency", "freeform"):
        raise KanopyError(
            f"method {method!r} has the shape {chosen.shape}: it takes no initial partition"
        )
    if certificate is not None:
        check_certifiable(problem, chosen)
        check_place(certificate)  # before hours of work, not after
    start = None if initial is None else _initial_labels(initial, problem)
    table = ProgressTable(problem, chosen) if display else None
    run = Run(problem, stop, seed, start, method, table.show if table else None)
    run.wants_proof = certificate is not None
    if start is not None and chosen.shape == "partition":
        run.found_labels(start)
    interrupted = False
    bound: float | None = None
    try:
        outcome = _run_method(
            chosen,
            problem,
            run,
            lambda part, of_part: (
                run_apart(chosen, part, of_part, options or {})
                if apart
                else chosen.run(part, of_part, parsed)
            ),
        )
        bound = outcome.bound
        run.found(outcome, problem.objective(outcome))
        if run.best is not None and run.best.solver is None:  # found on the way
            run.best = replace(run.best, solver=outcome.solver)
    except KeyboardInterrupt:
        if run.best is None:
            raise
        interrupted = True
    except CrashError as error:
        if run.best is None:
            raise
        interrupted = True
        warnings.warn(f"{error}; this is the best so far", RuntimeWarning, stacklevel=2)
    solution = _solution(problem, run, bound, interrupted, options or {})
    if table:
        table.close(solution)
    verify(problem.data, solution)
    if certificate is not None:
        write_certificate(certificate, solution, run.proof)
    return solution


def _problem(
    data: Microdata,
    k: int,
    method: Method,
    cost: str | None,
    control: int | Sequence[Sequence[str]] | ControlTables | None,
) -> Problem:
    if cost is None:
        cost = default_cost(data)
        if cost not in method.costs:  # the method's first cost that these data have
            fitting = [c for c in method.costs if data.kind in CLUSTER_COSTS.get(c, ())]
            cost = (fitting or method.costs)[0]
    elif not is_known(cost, [*CLUSTER_COSTS, *FREQUENCY_COSTS]):
        raise unknown("cost", cost, [*CLUSTER_COSTS, *FREQUENCY_COSTS])
    if cost not in method.costs:
        raise unknown(f"cost of method {method.name!r}", cost, method.costs)
    if cost in CLUSTER_COSTS:
        check_cost(data, cost)
        if control is not None:
            raise KanopyError(f"control tables have no meaning for cost {cost!r}; leave them out")
    if data.kind not in method.kinds:
        raise KanopyError(
            f"method {method.name!r} needs {' or '.join(method.kinds)} quasi-identifiers, these "
            f"are {data.kind}; kanopy.methods() lists what fits"
        )
    if cost in CLUSTER_COSTS:
        return Problem(data, k, cost)
    if control is None:
        control = min(3, len(data.nominal))
    tables = control if isinstance(control, ControlTables) else data.tables(control)
    return Problem(data, k, cost, control=tables)


def _frequency_problem(
    given: FrequencyProblem,
    k: int,
    method: Method,
    cost: str | None,
    control: int | Sequence[Sequence[str]] | ControlTables | None,
) -> Problem:
    if method.shape != "frequency":
        raise KanopyError(f"method {method.name!r} needs Microdata, not a frequency problem")
    if k != given.k or control is not None:
        raise KanopyError(f"the frequency problem has k = {given.k} and its own control tables")
    cost = cost or method.costs[0]
    if not is_known(cost, method.costs):
        raise unknown(f"cost of method {method.name!r}", cost, method.costs)
    return Problem(
        given.data, k, cost, given.tables, given.tolerance.astype(np.float64), total=given.total
    )


def _linked(
    problem: Problem,
    method: Method,
    must_link: Sequence[tuple[int, int]] | None,
    cannot_link: Sequence[tuple[int, int]] | None,
) -> Problem:
    """The problem with pairs of rows, if the method can keep them."""
    if not method.links:
        able = ", ".join(name for name, other in all_methods().items() if other.links)
        raise KanopyError(
            f"method {method.name!r} cannot keep pairs of rows together or apart; "
            f"choose {able}, or leave must_link and cannot_link out"
        )
    return replace(problem, links=make_links(problem.data, must_link, cannot_link))


def _initial_labels(
    initial: Solution | Sequence[int] | NDArray[np.integer], problem: Problem
) -> NDArray[np.int64]:
    given = initial.labels if isinstance(initial, Solution) else initial
    if given is None:
        raise KanopyError("initial is no partition, but has another shape; give labels")
    labels = np.asarray(given)
    if not np.issubdtype(labels.dtype, np.integer):
        raise KanopyError(f"initial must be whole-number labels, got {labels.dtype}")
    if labels.ndim == 1 and len(labels) == problem.n:
        labels = _renumbered(labels.astype(np.int64))[0]
    problems = check_labels(problem.data, labels, problem.k)
    problems = problems or check_links(labels, problem.links.must, problem.links.cannot)
    if problems:
        raise KanopyError(f"initial is no solution: {problems[0]}")
    return labels


def _run_method(
    method: Method, problem: Problem, run: Run, work: Callable[[Problem, Run], Outcome]
) -> Outcome:
    """Run a method on the whole table, or on one stratum after the other."""
    strata = problem.data.stratum_of_row
    number = int(strata.max()) + 1
    if number == 1:
        return work(problem, run)
    if method.shape != "partition":
        raise KanopyError(f"method {method.name!r} cannot keep strata apart; split the table")
    labels = np.empty(problem.n, dtype=np.int64)
    rows_of = [np.flatnonzero(strata == stratum) for stratum in range(number)]
    for stratum, rows in enumerate(rows_of):  # a valid partition, to be improved part by part
        labels[rows] = stratum * problem.n + np.minimum(
            np.arange(len(rows)) // problem.k, len(rows) // problem.k - 1
        )
    bound = 0.0
    for stratum, rows in enumerate(rows_of):
        start = None if run.initial is None else _renumbered(run.initial[rows])[0]
        part = Run(
            problem.restrict(rows),
            run.share(number - stratum),
            run.seed + stratum,
            start,
            run.method,
        )
        outcome = work(part.problem, part)
        part.found(outcome, part.problem.objective(outcome))
        assert part.best is not None
        assert part.best.labels is not None
        labels[rows] = part.best.labels + stratum * problem.n
        run.method = part.method
        run.timed_out |= part.timed_out
        if not problem.links or stratum == number - 1:  # what is to come may break pairs yet
            run.found_labels(_renumbered(labels)[0])
        bound += part.progress.bound if outcome.bound is None else outcome.bound
    return Outcome(labels=_renumbered(labels)[0], bound=None if np.isinf(bound) else bound)


def _solution(
    problem: Problem,
    run: Run,
    bound: float | None,
    interrupted: bool,
    options: Mapping[str, Any],
) -> Solution:
    best = run.best
    assert best is not None
    labels, representatives = best.labels, best.representatives
    if labels is not None:
        labels, old = _renumbered(labels)
        representatives = None if representatives is None else representatives[old]
        best = replace(best, labels=labels, representatives=representatives)
    # Summed in the order of the final labels, equal partitions have equal objectives.
    objective = problem.objective(best)
    run.progress.objective = objective
    proven = max(-np.inf if bound is None else bound, run.progress.bound)
    # A bound and an objective that sum the same costs in different orders differ by rounding.
    if proven > objective and proven - objective <= 1e-9 * abs(objective):
        proven = objective
    run.progress.bound = proven
    if relative_gap(objective, proven) <= OPTIMALITY_GAP:
        status = "optimal"
    elif interrupted:
        status = "interrupted"
    elif run.timed_out or _at_limit(run.elapsed(), run.stop.time_limit()):
        status = "time_limit"
    else:
        status = "feasible"
    run.record()
    return Solution(
        problem=problem,
        objective=objective,
        bound=None if np.isinf(proven) else float(proven) + 0.0,  # no −0
        status=status,
        method=run.method,
        runtime=run.elapsed(),
        cpu=run.processor_seconds(),
        seed=run.seed,
        labels=best.labels,
        counts=best.counts,
        representatives=best.representatives,
        matches=best.matches,
        solver=best.solver,
        options=dict(options),
        trace=run.trace,
    )


def _at_limit(seconds: float, limit: float) -> bool:
    """Whether it was the time limit that ended a run of so many seconds.

    >>> _at_limit(2.42, 2.5), _at_limit(2.3, 2.5), _at_limit(595.0, 600.0), _at_limit(0.01, 0.02)
    (True, False, True, False)
    >>> _at_limit(1e9, np.inf)
    False
    """
    early = max(CLOCKS_DIFFER * limit, min(SHORTLY, SHORT * limit))
    return limit < np.inf and seconds >= limit - early


def _renumbered(labels: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Labels 0, 1, 2, … in order of each cluster's first row, and the old label of each new one."""
    old, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank[inverse], old[order]
