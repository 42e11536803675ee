"""``auto``: the method we would choose, by kind of data, cost and size."""

from __future__ import annotations

import math

from kanopy.solvers.problem import Outcome, Problem
from kanopy.solvers.registry import find_method, register
from kanopy.solvers.run import Run
from kanopy.solvers.stop import First, MaxRuntime

SMALL = 200
"""Distinct rows up to which a proof of optimality is likely within the time below."""

PROOF_SECONDS = 60.0
"""Time that the search for a proof gets where the caller set no limit."""

LARGE = 100_000
"""Rows above which a local search would not get around all of them in reasonable time."""


@register(
    "auto",
    costs=("sse", "hamming", "range"),
    kinds=("numeric", "nominal", "mixed"),
    paper="kanopy",
    summary="chooses a method by kind of data, cost and size",
    links=True,
)
def auto(problem: Problem, run: Run, _options: object) -> Outcome:
    """Run the chosen method with its default options; the solution names it.

    Small problems go to branch-and-price, for a minute at most unless the caller set a limit.
    """
    method = find_method(choose(problem))
    run.method = method.name
    if method.name == "branch-and-price" and math.isinf(run.stop.time_limit()):
        run.stop = First(run.stop, MaxRuntime(PROOF_SECONDS))
    return method.run(problem, run, method.parse({}))


def choose(problem: Problem) -> str:
    """Name of the method for a problem: exact where that is quick, else the best that scales."""
    data = problem.data
    if problem.links:
        return "branch-and-price"
    if problem.cost == "sse" and data.X.shape[1] == 1:
        return "univariate"
    if data.n <= LARGE and len(data.counts) <= SMALL and problem.k <= 5:
        return "branch-and-price"
    return "mona" if problem.cost == "sse" and data.n > LARGE else "ils"
