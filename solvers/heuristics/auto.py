"""``auto``: the method we would choose, by kind of data, cost and size."""

from __future__ import annotations

from kanopy.solvers.problem import Outcome, Problem
from kanopy.solvers.registry import find_method, register
from kanopy.solvers.run import Run

LARGE = 100_000
"""Rows above which a local search would not get around all of them in reasonable time."""


@register(
    "auto",
    costs=("sse", "hamming", "range"),
    kinds=("numeric", "nominal", "mixed"),
    paper="kanopy",
    summary="chooses a method by kind of data, cost and size",
)
def auto(problem: Problem, run: Run, _options: object) -> Outcome:
    """Run the chosen method with its default options; the solution names it."""
    method = find_method(choose(problem))
    run.method = method.name
    return method.run(problem, run, method.parse({}))


def choose(problem: Problem) -> str:
    """Name of the method for a problem: exact for one column, else the best that scales so far."""
    if problem.cost == "sse":
        if problem.data.X.shape[1] == 1 and problem.data.strata is None:
            return "univariate"
        return "ils" if problem.n <= LARGE else "mona"
    return "ils"
