"""What an experiment can ask of a run: small groups of measures by name."""

from __future__ import annotations

import importlib
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from kanopy import measures
from kanopy.evaluation import evaluate
from kanopy.instances.microdata import Microdata
from kanopy.measures.regression import regression_change
from kanopy.released import released_losses
from kanopy.solution import Solution
from kanopy.solvers.generalisation.split_carry import course
from kanopy.solvers.heuristics.gain import GRID
from kanopy.solvers.heuristics.mdav_star import mdav_star_gamma_labels, mdav_star_labels
from kanopy.solvers.heuristics.ona import ona_labels, recluster
from kanopy.solvers.registry import find_method
from kanopy.solvers.run import Run

Found = dict[str, float]

SIZES = range(6, 31)
"""Sizes of sub-problems that table 8 of 003 tells apart."""


def loss(data: Microdata, solution: Solution, control: int) -> Found:
    """Information loss in percent of the total sum of squares (001, 2.4) and mean class size."""
    total = solution.problem.partition_cost(np.zeros(data.n, dtype=np.int64))
    return {
        "information_loss": 100 * solution.objective / total if total else 0.0,
        "average_size": data.n / len(solution.sizes),
    }


def tables(data: Microdata, solution: Solution, control: int) -> Found:
    """Errors in frequency tables, in sum and by dimension (000, 6.1), and the rows released."""
    overall = evaluate(data, solution, control=len(data.nominal))
    chosen = evaluate(data, solution, control=control or None)
    found = {
        "chi2": chosen.chi2,
        "chi2_all": overall.chi2,
        "max_abs": chosen.max_abs,
        "max_rel": chosen.max_rel,
        "rows": float(overall.rows),
        "deviation": overall.deviation,
    }
    for dimension, errors in overall.by_dimension.items():
        found[f"chi2_{dimension}d"] = errors.chi2
        found[f"max_abs_{dimension}d"] = errors.max_abs
        found[f"max_rel_{dimension}d"] = errors.max_rel
    return {name: float(value) for name, value in found.items() if value is not None}


def generalisation(data: Microdata, solution: Solution, control: int) -> Found:
    """The penalty GCP of 003, appendix B, in sum and as a share of the worst.

    A freeform release has no classes: its penalty is read off its cells.
    """
    frame = data.frame[list(data.quasi_identifiers)]
    if solution.labels is None:
        losses = released_losses(data, solution.release())
        assert losses is not None  # ranges and sets are what a freeform release is made of
        total = losses["gcp"]
    else:
        table = frame.astype(dict.fromkeys(data.nominal, object))
        total = measures.total_gcp(table, solution.labels, domains=data.domains)
    return {"gcp": float(total), "gcp_share": float(total) / (data.n * frame.shape[1])}


def clustering(data: Microdata, solution: Solution, control: int) -> Found:
    """Weight of the clusters: Hamming distances of all pairs within (000, 4.1)."""
    assert solution.labels is not None
    weight = measures.hamming_pair_sum(data.codes, solution.labels, data.nominal_weights)
    return {"weight": float(weight)}


def phases(data: Microdata, solution: Solution, control: int) -> Found:
    """Value of the fractional solution and seconds of a pipeline's steps (000, tables 6.6 to 6.8).

    The steps are run once more and timed, in processor seconds.
    """
    own = importlib.import_module("kanopy.solvers.nominal.own")
    chosen = find_method(solution.method).parse(solution.options)
    fractional, integer, _ = list(solution.method.removeprefix("own-"))
    rows = own.unmerged(data) if data.n <= chosen.rows_apart else data
    run = Run(solution.problem)
    began = time.process_time()
    solved = own.fractional_solution(
        rows, solution.k, run, exact=fractional == "e", most_columns=chosen.most_columns
    )
    between = time.process_time()
    own.integer_partition(
        rows,
        solution.k,
        solved.duals,
        run,
        gamma=chosen.gamma,
        lam=chosen.lambda_,
        exact=integer == "e",
        leftovers=chosen.leftovers,
    )
    return {
        "fractional": float(solved.value),
        "seconds_fractional": between - began,
        "seconds_integer": time.process_time() - between,
        **aggregation(data, solution, control),
    }


def aggregation(data: Microdata, solution: Solution, control: int) -> Found:
    """Processor seconds of a pipeline's last step (000, table 6.8), run anew on its clusters."""
    own = importlib.import_module("kanopy.solvers.nominal.own")
    chosen = find_method(solution.method).parse(solution.options)
    run, letter = Run(solution.problem), solution.method[-1]
    began = time.process_time()
    own.own_aggregation(solution.problem, solution.labels, run, chosen, letter)
    return {"seconds_aggregation": time.process_time() - began}


def rounds(data: Microdata, solution: Solution, control: int) -> Found:
    """Rounds of ONA, ONA* or ONA*γ until nothing changes (001, table 6.5), counted anew."""
    points, k = data.points, solution.k
    if solution.method == "ona":
        return {"rounds": float(ona_labels(points, k, np.random.default_rng(solution.seed))[1])}
    if solution.method == "ona*":
        return {"rounds": float(recluster(points, k, mdav_star_labels(points, k))[1])}
    best = (np.inf, 0)
    for gamma in GRID:
        labels, number = recluster(points, k, mdav_star_gamma_labels(points, k, gamma))
        best = min(best, (solution.problem.partition_cost(labels), number))
    return {"rounds": float(best[1])}


def regression(attribute: int, data: Microdata, solution: Solution, control: int) -> Found:
    """Mean ℓ₂ distance of the estimated probabilities of an attribute's values (000, 6.2.8)."""
    original = data.frame[list(data.quasi_identifiers)]
    change = regression_change(original, solution.release(), data.nominal[attribute - 1])
    return {f"regression-{attribute}": float(np.mean(list(change.distances.values())))}


def subproblems(data: Microdata, solution: Solution, control: int) -> Found:
    """How many sub-problems of each size Split & Carry solves (003, table 8), counted anew."""
    chosen = find_method("split-carry").parse(solution.options)
    steps = course(solution.problem, Run(solution.problem), chosen)
    sizes = Counter(len(step.rows) for step in steps)
    return {f"size_{size}": float(sizes[size]) for size in SIZES}


def table(data: Microdata, solution: Solution | None, control: int) -> Found:
    """Of the data alone: occurring values per attribute, shares of confidentiality problems."""
    found = {f"values_{j + 1}": float(len(c)) for j, c in enumerate(data.categories)}
    return found | {"problems": measures.confidentiality_problems(data.counts, 3)}


QUANTITIES: dict[str, Callable[[Microdata, Any, int], Found]] = {
    "loss": loss,
    "tables": tables,
    "generalisation": generalisation,
    "clustering": clustering,
    "phases": phases,
    "aggregation": aggregation,
    "rounds": rounds,
    "subproblems": subproblems,
    "table": table,
    **{f"regression-{attribute}": partial(regression, attribute) for attribute in (1, 3, 5)},
}
