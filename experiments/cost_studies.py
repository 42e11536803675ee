"""The experiments of 000, chapter 6, as data frames; :mod:`kanopy.experiments.cost` prints them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from kanopy.evaluation import evaluate
from kanopy.experiments.bench_frequency import K
from kanopy.instances.errors import KanopyError
from kanopy.instances.generators import generate
from kanopy.instances.microdata import Microdata
from kanopy.measures.regression import regression_change
from kanopy.solution import Solution
from kanopy.solvers.costs import FREQUENCY_COSTS, total_cost
from kanopy.solvers.nominal.integer_step import integer_partition
from kanopy.solvers.nominal.own import TABLE_6_5, ExactOptions, own_fractional
from kanopy.solvers.problem import Problem
from kanopy.solvers.registry import find_method
from kanopy.solvers.run import Run
from kanopy.solvers.stop import MaxRuntime
from kanopy.solving import solve

Instances = Mapping[str, Callable[[int], Microdata]]
"""The instance of each seed 1, 2, …, by scenario."""
Show = Callable[[str], object]

CONTROL = 3
GAMMAS = (0.0, 0.25, 0.5, 0.75, 1.0)
LAMBDAS = (0.001, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)
"""The grid of 000, 6.2.3."""
EIGHT = (2, 5, 6, 7, 7, 7, 7, 7)
"""Domain of 200m8_20percent: the thesis does not print it; table 6.4's, with more of its last."""


def compile_kernels(methods: Sequence[str]) -> None:
    """Run every method once on a small table, so that no clock sees compilation."""
    data = generate("synthetic", n=30, p=0.5, k=K, seed=0)
    for method in methods:
        solved(data, method, seconds=10.0)


def split(spec: str) -> tuple[str, dict[str, Any]]:
    """A method and its options.

    >>> split("safe-basic:formulation=paper"), split("own-hee:gamma=0.25,lambda_=3")
    (('safe-basic', {'formulation': 'paper'}), ('own-hee', {'gamma': 0.25, 'lambda_': 3}))
    """
    name, _, rest = spec.partition(":")
    options = {}
    for pair in filter(None, rest.split(",")):
        option, _, value = pair.partition("=")
        try:
            options[option] = json.loads(value)
        except json.JSONDecodeError:
            options[option] = value
    return name, options


def solved(
    data: Microdata,
    spec: str,
    *,
    k: int = K,
    control: int = CONTROL,
    seconds: float = 60.0,
    options: Mapping[str, Any] | None = None,
) -> tuple[Solution, float]:
    """A solution of a method, as :func:`split` reads it, and the processor seconds it took."""
    method, given = split(spec)
    of_tables = any(cost in FREQUENCY_COSTS for cost in find_method(method).costs)
    tables = min(control, len(data.nominal)) if of_tables else None
    start = time.process_time()
    chosen = {**given, **(options or {})}
    solution = solve(data, k, method, control=tables, stop=MaxRuntime(seconds), options=chosen)
    return solution, time.process_time() - start


def measures(data: Microdata, solution: Solution, control: int = CONTROL) -> dict[str, Any]:
    """Everything the thesis measures of one solution (000, 6.1).

    ``chi2`` is the sum of χ² errors on the control tables, ``chi2_all`` on all tables; ``chi2_1d``,
    ``max_abs_1d``, ``max_rel_1d`` … are those of each dimension, also beyond the control tables.
    ``changed`` is the share of rows that lose their combination, ``weight`` the Hamming distances
    within the clusters, where there are clusters.
    """
    report = evaluate(data, solution, control=len(data.nominal))
    errors = report.by_dimension
    assert report.deviation is not None
    found: dict[str, Any] = {
        "status": solution.status,
        "rows": report.rows,
        "kept": report.rows == data.n,
        "chi2": sum(errors[d].chi2 for d in errors if d <= control),
        "chi2_all": report.chi2,
        # As many rows as are lost and not gained are missing.
        "deviation": report.deviation,
        "changed": (report.deviation + data.n - report.rows) / 2 / data.n,
        "weight": np.nan if solution.labels is None else report.hamming,
    }
    for d, of_dimension in errors.items():
        found[f"chi2_{d}d"] = of_dimension.chi2
        found[f"max_abs_{d}d"] = of_dimension.max_abs
        found[f"max_rel_{d}d"] = of_dimension.max_rel
    return found


def compare_methods(
    scenarios: Instances, methods: Sequence[str], instances: int, seconds: float, show: Show
) -> pd.DataFrame:
    """One row per scenario, method and instance (6.2.4 to 6.2.7).

    Pipelines have γ and λ of table 6.5, as in the thesis, unless their options say otherwise.
    ``gap`` and ``weight_gap`` are the relative gaps of ``chi2`` and ``weight`` to the best of these
    methods (eq. 6.1.1); ``proven`` is the least weight that ``branch-and-price`` has proven.
    """
    rows = []
    for scenario, make in scenarios.items():
        for method in methods:
            for instance in range(1, instances + 1):
                data = make(instance)
                given = {**table_6_5(scenario, method), **split(method)[1]}
                solution, used = solved(data, method, seconds=seconds, options=given)
                found = measures(data, solution)
                key = {"scenario": scenario, "method": method, "instance": instance}
                proven = solution.bound if method == "branch-and-price" else None
                rows.append({**key, "seconds": used, **found, "proven": proven})
                show(f"{scenario} #{instance} {method}: χ² {found['chi2']:.1f}, {used:.2f} s")
    table = pd.DataFrame(rows)
    for gap, column in (("gap", "chi2"), ("weight_gap", "weight")) if rows else ():
        best = table.groupby(["scenario", "instance"])[column].transform("min")
        table[gap] = (table[column] - best) / best.where(best > 0)
    return table


def table_6_5(scenario: str, method: str) -> dict[str, float]:
    """γ and λ of a pipeline on a scenario; none for other methods.

    >>> table_6_5("adult200m5", "own-hhg"), table_6_5("adult200m5", "safe")
    ({'gamma': 0.25, 'lambda_': 0.5}, {})
    """
    if not method.startswith("own-") or scenario not in TABLE_6_5:
        return {}
    gamma, reward = TABLE_6_5[scenario]["optimal" if method[4] == "e" else "heuristic"]
    return {"gamma": gamma, "lambda_": reward}


def dual_information(
    make: Callable[[int], Microdata],
    methods: Sequence[str],
    instances: int,
    seconds: float,
    show: Show,
    lambdas: Sequence[float] = LAMBDAS,
) -> pd.DataFrame:
    """Weight of the clustering for every γ and λ (6.2.3): one row per partition.

    The fractional solution is the same for all of them, so each instance has it once; the clusters
    are not aggregated, which would leave their weight as it is.
    """
    rows = []
    for method in methods:
        name = split(method)[0]
        known = find_method(name).options
        if not name.startswith("own-") or not issubclass(known, ExactOptions):
            raise KanopyError(f"method {method!r} has no γ and λ; choose one of own-eee … own-hhc")
        fractional, integer = name[4], name[5]
        for instance in range(1, instances + 1):
            problem = Problem(make(instance), K, "hamming")
            run = Run(problem, MaxRuntime(seconds))
            data, solution = own_fractional(problem, run, known(), fractional)
            for gamma, lam in product(GAMMAS, lambdas):
                clock = Run(problem, MaxRuntime(seconds))
                labels = integer_partition(
                    data, K, solution.duals, clock, gamma=gamma, lam=lam, exact=integer == "e"
                )
                weight = total_cost(problem.data, labels, "hamming")
                key = {"method": method, "gamma": gamma, "lambda": lam}
                rows.append({**key, "instance": instance, "weight": weight})
            show(f"{method} #{instance}: {len(GAMMAS) * len(lambdas)} clusterings")
    return pd.DataFrame(rows)


def control_dimensions(
    make: Callable[[int], Microdata], method: str, instances: int, seconds: float, show: Show
) -> pd.DataFrame:
    """χ² errors by dimension with control tables up to dimension 2 and 3 (6.2.6)."""
    rows = []
    for control in (2, 3):
        for instance in range(1, instances + 1):
            data = make(instance)
            solution, used = solved(data, method, control=control, seconds=seconds)
            key = {"method": method, "control": control, "instance": instance, "seconds": used}
            rows.append({**key, **measures(data, solution, control)})
        show(f"{method}, control tables up to dimension {control}")
    return pd.DataFrame(rows)


def scaling(
    methods: Sequence[str], instances: int, seconds: float, show: Show, *, quick: bool = False
) -> pd.DataFrame:
    """Seconds over n, over k and over the dimension of the control tables (6.2.9)."""
    cases: list[tuple[str, int, dict[str, Any]]] = []
    for n in (50, 100) if quick else (100, 200, 300, 400, 500, 1000):
        cases.append(("n", n, {"n": n}))
    for k in (3, 4) if quick else (2, 3, 4, 5, 6, 8, 10):
        cases.append(("k", k, {"n": 50 if quick else 200, "k": k}))
    for d in (1, 2) if quick else range(1, 9):
        cases.append(("control", d, {"n": 50 if quick else 200, "domain": EIGHT}))
    rows = []
    for method in methods:
        for over, value, given in cases:
            k, control = given.get("k", K), value if over == "control" else CONTROL
            for instance in range(1, instances + 1):
                data = generate("synthetic", **{"p": 0.2, "k": K, "seed": instance, **given})
                _, used = solved(data, method, k=k, control=control, seconds=seconds)
                key = {"method": method, "over": over, "value": value}
                rows.append({**key, "instance": instance, "seconds": used})
            show(f"{method}, {over} = {value}")
    return pd.DataFrame(rows)


def regressions(
    make: Callable[[int], Microdata],
    methods: Sequence[str],
    instances: int,
    seconds: float,
    show: Show,
) -> pd.DataFrame:
    """ℓ₂ distances of the estimated probabilities, one row per attribute and value (6.2.8)."""
    rows: list[dict[str, Any]] = []
    for method in methods:
        for instance in range(1, instances + 1):
            data = make(instance)
            solution, _ = solved(data, method, seconds=seconds)
            original = data.frame[list(data.quasi_identifiers)]
            for attribute in original.columns:
                change = regression_change(original, solution.release(), attribute)
                for value, distance in change.distances.items():
                    key = {"attribute": attribute, "value": value, "method": method}
                    fits = {"before": change.pseudo_r2, "after": change.released_pseudo_r2}
                    rows.append({**key, "instance": instance, "distance": distance, **fits})
            show(f"regressions of {method} #{instance}")
    return pd.DataFrame(rows)
