"""``python -m kanopy.experiments.best``: solve instances and keep what beats the best known.

Without names, those of the gap tables for nominal data and generalisation, and Adult with five
attributes. What is already proven is left alone.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from kanopy.archive import best_known, keep_best
from kanopy.experiments.catalogue.gaps import EXACT, EXPERIMENTS
from kanopy.experiments.specs import make_instance
from kanopy.solvers.stop import MaxRuntime
from kanopy.solving import solve

TABLES = ("gaps-nominal", "gaps-generalisation")


def questions() -> list[tuple[str, int, str]]:
    """Instance, k and cost of the runs of branch-and-price in the gap tables."""
    tasks = [t for e in EXPERIMENTS if e.name in TABLES for t in e.tasks()]
    asked = [(t.instance, t.k, t.cost) for t in tasks if t.method == EXACT]
    return [*asked, ("adult columns=5", 3, "hamming")]


def improve(name: str, k: int, cost: str, seconds: float, folder: Path | None = None) -> str:
    """Solve one and keep it if it is better; what became of it, in a line."""
    data = make_instance(name)
    known = best_known(data, k, cost, folder)
    if known is not None and known.status == "optimal":
        return f"{name}, k = {k}, {cost}: {known.objective:.9g} is proven"
    start = None if known is None else known.labels
    found = solve(data, k, EXACT, cost=cost, stop=MaxRuntime(seconds), initial=start)
    changed = keep_best(found, name, folder)
    bound = "" if found.bound is None else f", bound {found.bound:.9g}"
    return (
        f"{name}, k = {k}, {cost}: {found.objective:.9g}{bound}, {found.runtime:.1f} s"
        f"{'' if changed else '; no better than the one kept'}"
    )


def main() -> None:
    """Solve the instances one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="instances, e.g. 'census-income rows=200 seed=1'")
    parser.add_argument("-k", type=int, default=3)
    parser.add_argument("--cost", default="sse", help="of the named instances")
    parser.add_argument("--seconds", type=float, default=300.0)
    given = parser.parse_args()
    for name, k, cost in [(name, given.k, given.cost) for name in given.names] or questions():
        print(improve(name, k, cost, given.seconds), flush=True)


if __name__ == "__main__":
    main()
