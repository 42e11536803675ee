"""Every model on hundreds of tiny instances: enumeration, two solvers and the measure agree.

Each instance is solved by HiGHS and a second time in another way: as another formulation, or by
SCIP where the paper has but one. The points at which a model must show the NumPy measure are drawn
from the same enumeration that gives the optimum.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from oracles import all_partitions, labels_of, pair_cost, random_frame, random_instance
from sizes import how_many

import kanopy as kn
from kanopy.models import (
    aggregation,
    auxiliary,
    center_lp,
    chi_ex,
    master,
    msafe,
    pairwise,
    pricing_edge,
    pricing_node_edge,
    safe_basic,
    sse_nonlinear,
)
from kanopy.models.extract import extract
from kanopy.models.factory import build, model_names
from kanopy.solvers.backends.choice import find_backend
from kanopy.solvers.backends.protocol import Limits
from kanopy.solvers.costs import frequency_cost, total_cost
from kanopy.solvers.problem import Outcome, released_counts

INSTANCES = how_many(56, 200)
BATCHES = 8


@dataclass(frozen=True)
class Case:
    """A model, what it decides, and how else to solve it.

    ``every`` are all decisions, ``measure`` gives their cost by NumPy, ``load`` puts one into the
    model if it is ``loadable``. ``second`` is another formulation of the same problem, or the model
    itself, for another ``solver``.
    """

    model: pyo.ConcreteModel
    every: list[Any]
    measure: Callable[[Any], float]
    load: Callable[[pyo.ConcreteModel, Any], None]
    second: pyo.ConcreteModel
    solver: str = "scip"
    loadable: Callable[[Any], bool] = lambda decision: True


def nominal(rng, n):
    """Three columns, the last almost a function of the second: many cells count the same rows."""
    frame = random_frame(rng, n)[["sex", "job"]]
    frame["shift"] = np.where(rng.random(n) < 0.2, "late", frame["job"].map({"a": "early"}))
    return kn.Microdata.from_frame(frame.fillna("late"))


def frequency_case(rng, name, module):
    while True:
        n, k = int(rng.integers(4, 8)), int(rng.integers(2, 4))
        data = nominal(rng, n)
        if len(data.counts) <= 4:
            break
    total = n if rng.random() < 0.8 else int(rng.integers(k, n + 2))
    control = int(rng.integers(1, 3))
    tables = data.tables(control)
    parameters = {"control": control, "total": total}
    weight, tolerance = 0.0, None
    if name != "safe-basic":
        weight = float(rng.choice([0.0, 1 / n, 0.7]))
        parameters["deviation_weight"] = weight
    if name != "chi-ex":
        tolerance = rng.integers(0, 3, len(tables)).astype(float)
        parameters["tolerance"] = tolerance
    values = [0, *range(k, total + 1)]
    vectors = product(values, repeat=len(data.counts))
    every = [np.array(counts) for counts in vectors if sum(counts) == total]
    cost = "chi2" if name == "chi-ex" else "max-error"

    def measure(counts):
        return frequency_cost(tables, counts, data.counts, cost, tolerance, weight)

    if name != "chi-ex":
        model = second = build(name, data, k, **parameters)
    else:
        model = build(name, data, k, cutoff=max(map(measure, every)) + 1, **parameters)
        formulation = "paper" if rng.random() < 0.3 else "envelope"
        second = build(name, data, k, formulation=formulation, **parameters)
    return Case(model, every, measure, module.load_counts, second)


def aggregation_case(rng):
    k = int(rng.integers(2, 4))
    labels = np.repeat(np.arange(rng.integers(2, 4)), k)
    labels = rng.permutation(np.append(labels, rng.integers(0, labels[-1] + 1, rng.integers(0, 2))))
    data = nominal(rng, len(labels))
    control = int(rng.integers(1, 3))
    tables = data.tables(control)
    members = [np.flatnonzero(labels == c) for c in range(labels.max() + 1)]

    def measure(rows):
        counts = released_counts(data, Outcome(labels=labels, representatives=rows))
        return frequency_cost(tables, counts, data.counts, "chi2")

    every = [np.array(rows) for rows in product(*members)]
    parameters = {"labels": labels, "control": control}
    worst = max(map(measure, every))
    model = build("aggregation", data, k, cutoff=worst + 1, **parameters)
    formulation = "paper" if rng.random() < 0.3 else "envelope"
    second = build("aggregation", data, k, formulation=formulation, **parameters)
    return Case(model, every, measure, aggregation.load_representatives, second)


def partitions(data, k, largest=None):
    blocks = all_partitions(data.n, k)
    return [labels_of(p) for p in blocks if largest is None or max(map(len, p)) <= largest]


def master_case(rng):
    cost = ("sse", "hamming", "range")[int(rng.integers(3))]
    data, k = random_instance(rng, cost, int(rng.integers(4, 7))), int(rng.integers(2, 4))
    model = build("master", data, k, cost=cost, rows="records")
    second = build("master", data, k, cost=cost, rows="types", count_cut=bool(rng.integers(2)))
    every = partitions(data, k, 2 * k - 1)
    return Case(model, every, lambda p: total_cost(data, p, cost), master.load_labels, second)


def pairwise_case(rng):
    frame = random_frame(rng, int(rng.integers(4, 6)))
    columns = (["age", "income"], ["sex", "job"], ["age", "job"])[int(rng.integers(3))]
    weights = {columns[0]: 2.5} if rng.random() < 0.5 else None
    data = kn.Microdata.from_frame(frame[columns], weights=weights)
    k = int(rng.integers(2, 4))
    model = build("pairwise", data, k)
    second = build("master", data, k, cost="range")
    every = partitions(data, k)
    measure = lambda p: total_cost(data, p, "range")  # noqa: E731
    return Case(model, every, measure, pairwise.load_labels, second, "highs")


def center_case(rng):
    data, k = random_instance(rng, "sse", 4 + int(rng.integers(2))), int(rng.integers(2, 4))
    model = build("center-lp", data, k, candidates="centroids", relaxed=False)
    second = build("master", data, k, cost="sse")

    def centroids_differ(p):
        """load_labels puts clusters of equal centroids at one candidate, which takes one only."""
        means = np.array([data.points[p == c].mean(axis=0) for c in range(p.max() + 1)])
        return len(np.unique(means.round(9), axis=0)) == len(means)

    every = partitions(data, k, 2 * k - 1)
    measure = lambda p: total_cost(data, p, "sse")  # noqa: E731
    load = center_lp.load_labels
    return Case(model, every, measure, load, second, "highs", centroids_differ)


def nonlinear_case(rng):
    data, k = random_instance(rng, "sse", int(rng.integers(4, 7))), int(rng.integers(2, 4))
    model = build("sse-nonlinear", data, k)
    second = build("master", data, k, cost="sse")
    every = partitions(data, k)
    measure = lambda p: total_cost(data, p, "sse")  # noqa: E731
    return Case(model, every, measure, sse_nonlinear.load_labels, second, "highs")


def cluster_instance(rng, cost):
    n, k = int(rng.integers(4, 8)), int(rng.integers(2, 4))
    duals = rng.uniform(0, 4 if cost == "hamming" else 2, n)
    return random_instance(rng, cost, n), k, duals


def clusters(rows, k):
    sizes = range(k, min(2 * k - 1, len(rows)) + 1)
    return [c for size in sizes for c in combinations(rows, size)]


def node_edge_case(rng):
    data, k, duals = cluster_instance(rng, "hamming")
    model = build("pricing-node-edge", data, k, duals=duals)

    def measure(cluster):
        return pair_cost(data, cluster, "hamming") - duals[list(cluster)].sum()

    every = clusters(range(data.n), k)
    return Case(model, every, measure, pricing_node_edge.load_cluster, model)


def auxiliary_case(rng):
    data, k, duals = cluster_instance(rng, "hamming")
    gamma, lam = float(rng.uniform(0, 1)), float(rng.uniform(0.1, 4))
    free = np.sort(rng.permutation(data.n)[: max(k, data.n - int(rng.integers(3)))]).tolist()
    model = build("auxiliary", data, k, duals=duals, gamma=gamma, lam=lam, unassigned=free)

    def measure(cluster):
        reward = gamma * duals[list(cluster)].sum() + lam * len(cluster)
        return pair_cost(data, cluster, "hamming") - reward

    return Case(model, clusters(free, k), measure, auxiliary.load_cluster, model)


def edge_case(rng):
    data, k, duals = cluster_instance(rng, "sse")
    size = int(rng.integers(k, min(2 * k - 1, data.n) + 1))
    parameters = {"duals": duals, "size": size}
    model = build("pricing-edge", data, k, **parameters)
    second = build("pricing-edge", data, k, triangles=True, **parameters)

    def measure(cluster):
        return pair_cost(data, cluster, "sse") - duals[list(cluster)].sum()

    every = list(combinations(range(data.n), size))
    return Case(model, every, measure, pricing_edge.load_cluster, second)


CASES = {
    "safe-basic": lambda rng: frequency_case(rng, "safe-basic", safe_basic),
    "msafe": lambda rng: frequency_case(rng, "msafe", msafe),
    "chi-ex": lambda rng: frequency_case(rng, "chi-ex", chi_ex),
    "aggregation": aggregation_case,
    "master": master_case,
    "pairwise": pairwise_case,
    "center-lp": center_case,
    "sse-nonlinear": nonlinear_case,
    "pricing-node-edge": node_edge_case,
    "auxiliary": auxiliary_case,
    "pricing-edge": edge_case,
}


def solved(form, solver):
    backend = find_backend(solver)
    if backend.unavailable():
        backend = find_backend("highs")
    result = backend.solve(form, Limits(seconds=60))
    assert result.status == "optimal", result
    return result


def test_no_model_is_forgotten():
    assert set(CASES) == set(model_names())


@pytest.mark.parametrize("batch", range(BATCHES))
@pytest.mark.parametrize("name", CASES)
def test_optimum_and_measure(name, batch):
    rng = np.random.default_rng([batch, *name.encode()])
    for _ in range(INSTANCES // BATCHES):
        case = CASES[name](rng)
        costs = [case.measure(decision) for decision in case.every]
        best = min(costs)
        if name == "sse-nonlinear":
            evaluate_all(case, costs)
        else:
            check_model(case, costs)
        second = extract(case.second)
        value = second.objective(solved(second.form, case.solver).objective)
        assert value == pytest.approx(best, abs=1e-5)


def check_model(case, costs):
    """The optimum by HiGHS, and the objective at some decisions, the best one among them."""
    extracted = extract(case.model)
    result = solved(extracted.form, "highs")
    assert extracted.objective(result.objective) == pytest.approx(min(costs), abs=1e-5)
    assert extracted.objective(result.bound) <= min(costs) + 1e-6
    (objective,) = case.model.component_data_objects(pyo.Objective, active=True)
    for position in {0, len(costs) // 2, int(np.argmin(costs))}:
        if not case.loadable(case.every[position]):
            continue
        case.load(case.model, case.every[position])
        point = extracted.start()
        assert extracted.form.violation(point) < 1e-9
        assert float(pyo.value(objective)) == pytest.approx(costs[position], abs=1e-9)
        assert extracted.form.objective(point) == pytest.approx(costs[position], abs=1e-9)


def evaluate_all(case, costs):
    """No solver here takes the nonlinear model: evaluate it at every partition."""
    for labels, cost in zip(case.every, costs, strict=True):
        case.load(case.model, labels)
        assert pyo.value(case.model.sse) == pytest.approx(cost, abs=1e-9)
    for constraint in case.model.component_data_objects(pyo.Constraint):
        body = pyo.value(constraint.body)
        assert constraint.lower is None or body >= pyo.value(constraint.lower)
        assert constraint.upper is None or body <= pyo.value(constraint.upper)


@pytest.mark.skipif(find_backend("cpsat").unavailable() is not None, reason="no CP-SAT here")
@pytest.mark.parametrize("name", ["master", "pricing-edge", "center-lp"])
def test_cpsat_agrees_where_all_is_whole(name):
    rng = np.random.default_rng([*b"cpsat", *name.encode()])
    for _ in range(12):
        case = CASES[name](rng)
        form = extract(case.model).form
        best = min(case.measure(decision) for decision in case.every)
        result = find_backend("cpsat").solve(form, Limits(seconds=60))
        # It rounds costs to whole multiples of 10⁻⁶, and says so where that leaves a gap.
        assert result.status in ("optimal", "feasible")
        assert result.objective == pytest.approx(best, abs=1e-4)
        assert best - 1e-4 <= result.bound <= best + 1e-9
