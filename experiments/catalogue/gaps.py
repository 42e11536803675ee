"""Tables that no paper has: how far from the optimum each heuristic is *proven* to be.

The bound is the best that any run of the experiment proves or that the best known solutions have.
Methods are those of the registry that fit, so that a new one appears by itself.
"""

from __future__ import annotations

from collections.abc import Iterable

from kanopy.experiments.specs import Entry, Experiment, Task
from kanopy.solvers.registry import all_methods

LIMIT = 60.0
PROOF = 300.0
"""Seconds for the bound."""
EXACT = "branch-and-price"
SLOW = ("univariate", "auto", "mu-approx", "microaggregation-cg")
"""Not for these tables: one column only, another's name, or minutes on a thousand rows."""
RANGE = ("census-income rows=100 seed={}", "census-income rows=200 seed={}")
NOMINAL = (
    "adult rows=200 columns=5 seed={}",
    "synthetic n=200 p=0.02 k=3 seed={}",
    "synthetic n=200 p=0.2 k=3 seed={}",
    "synthetic n=200 p=1 k=3 seed={}",
)


def heuristics(cost: str, kind: str) -> list[str]:
    """Methods for a cost that prove nothing, by name."""
    return [
        name
        for name, method in all_methods().items()
        if cost in method.costs and kind in method.kinds
        if not method.exact and method.shape == "partition" and name not in SLOW
    ]


def _entries(
    instances: Iterable[tuple[str, str]], ks: Iterable[int], cost: str, kind: str, quick: bool
) -> list[Entry]:
    found = []
    for column, instance in instances:
        for k in ks:
            for method in [EXACT, *heuristics(cost, kind)]:
                seconds = (PROOF if method == EXACT else LIMIT) if not quick else 2.0
                task = Task(instance, method, k, cost, seconds=seconds)
                found.append(Entry(method, f"{column}, k = {k}", task, "proven:objective"))
    return found


def _numeric(quick: bool) -> list[Entry]:
    if quick:
        return _entries([("SimU", "simu n=60 seed=0")], (3,), "sse", "numeric", True)
    names = ("census", "tarragona", "eia")
    return _entries([(n, n) for n in names], (3, 4, 5, 10), "sse", "numeric", False)


def _drawn(texts: Iterable[str], quick: bool, number: int = 10) -> list[tuple[str, str]]:
    return [
        (text.replace(" seed={}", ""), text.format(seed))
        for text in texts
        for seed in range(1, 2 if quick else number + 1)
    ]


def _nominal(quick: bool) -> list[Entry]:
    texts = ["synthetic n=40 p=0.2 k=3 seed={}"] if quick else NOMINAL
    found = _entries(_drawn(texts, quick), (3,), "hamming", "nominal", quick)
    for column, instance in _drawn(texts, quick):
        for method in _pipelines():
            task = Task(
                instance,
                method,
                3,
                "chi2",
                seconds=2.0 if quick else LIMIT,
                control=3,
                measures=("clustering",),
            )
            found.append(Entry(method, f"{column}, k = 3", task, "proven:weight"))
    return found


def _pipelines() -> list[str]:
    wanted = ("own-eeg", "own-ehg", "own-heg", "own-hhg", "own*")
    return [name for name in wanted if name in all_methods()]


def _tables(quick: bool) -> list[Entry]:
    texts = ["synthetic n=40 p=0.2 k=3 seed={}"] if quick else NOMINAL
    known = all_methods()
    names = [
        n
        for n in known
        if n.startswith(("own-", "own*", "rand-")) or n in ("safe", "msafe", "safe-basic")
    ]
    found = []
    for column, instance in _drawn(texts, quick):
        for method in ["chi-ex", *names]:
            seconds = 5.0 if quick else PROOF if method == "chi-ex" else LIMIT
            cost = known[method].costs[0]
            task = Task(instance, method, 3, cost, seconds=seconds, control=3, measures=("tables",))
            found.append(Entry(method, column, task, "proven:chi2"))
    return found


def _generalisation(quick: bool) -> list[Entry]:
    if quick:
        return _entries([("fars", "example:fars")], (3,), "range", "numeric", True)
    drawn = [("fars", "example:fars"), *_drawn(RANGE, False, 5)]
    return _entries(drawn, (3,), "range", "mixed", False)


def _bounds(quick: bool) -> list[Entry]:
    names = (
        ["synthetic n=60 p=1 k=3 seed=1"]
        if quick
        else [
            "census",
            "tarragona",
            "adult columns=5",
            "synthetic n=200 p=1 k=3 seed=1",
            "census-income rows=200 seed=1",
        ]
    )
    costs = {"census": "sse", "tarragona": "sse", "census-income rows=200 seed=1": "range"}
    return [
        Entry(
            name,
            "gap in %",
            Task(name, EXACT, 3, costs.get(name, "hamming"), seconds=5.0 if quick else PROOF),
            "proven:objective",
        )
        for name in names
    ]


_READING = (
    "Percent by which a solution may be above the optimum at most: (objective − bound) / "
    "objective, "
    "with the best bound known. 0 is a proven optimum. "
)

EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        "gaps-numeric",
        "Proven gaps in percent, numbers, squared error",
        "kanopy",
        _numeric,
        _READING + "No paper has these figures; the full run has not been read yet.",
        figure="profile",
        unit="%",
    ),
    Experiment(
        "gaps-nominal",
        "Proven gaps in percent, nominal data, weight of the clusters",
        "kanopy",
        _nominal,
        _READING + "Where branch-and-price proves the optimum, gaps are exact.",
        figure="profile",
        unit="%",
    ),
    Experiment(
        "gaps-tables",
        "Proven gaps in percent, nominal data, χ² sum of the control tables",
        "kanopy",
        _tables,
        _READING
        + "The bound is that of Chi-ex, which keeps the number of rows; SAFE need not, and can "
        "be below it.",
        figure="profile",
        unit="%",
    ),
    Experiment(
        "gaps-generalisation",
        "Proven gaps in percent, generalisation loss",
        "kanopy",
        _generalisation,
        _READING + "003 could compare with optima of about twenty rows only.",
        figure="profile",
        unit="%",
    ),
    Experiment(
        "bounds-over-time",
        "Objective and proven bound over time",
        "kanopy",
        _bounds,
        "Branch-and-price, k = 3: the solution from above, the bound from below.",
        figure="bounds",
        unit="%",
    ),
)
