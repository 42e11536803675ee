import math

import numpy as np
import pyomo.environ as pyo
import pytest
from oracles import random_frame

import kanopy as kn
from kanopy.instances.errors import KanopyError
from kanopy.instances.frequency import FrequencyProblem
from kanopy.models.chi_ex import load_counts, neighbour_counts, read_counts
from kanopy.models.extract import extract
from kanopy.models.factory import build
from kanopy.solvers.backends.scip import ScipBackend
from kanopy.solvers.costs import frequency_cost


def nominal(rng, n):
    """Three columns, the last almost a function of the second: many cells count the same rows."""
    frame = random_frame(rng, n)[["sex", "job"]]
    frame["shift"] = np.where(rng.random(n) < 0.2, "late", frame["job"].map({"a": "early"}))
    return kn.Microdata.from_frame(frame.fillna("late"))


def instance(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 11))
    data = nominal(rng, n)
    k = int(rng.integers(2, 4))
    weight = (None, 0.0, 0.7)[seed % 3]
    total = None if seed % 5 else int(rng.integers(k, n + 3))
    return data, k, 1 + seed % 2, weight, total


def cost_function(data, control, weight):
    tables = data.tables(control)
    w = 1 / data.n if weight is None else weight
    return lambda counts: frequency_cost(tables, counts, data.counts, "chi2", deviation_weight=w)


@pytest.mark.parametrize("seed", range(15))
def test_envelope_optimum_is_the_best_count_vector(seed, solve_model, count_vectors):
    data, k, control, weight, total = instance(seed)
    model = build("chi-ex", data, k, control=control, deviation_weight=weight, total=total)
    cost = cost_function(data, control, weight)
    best = min(map(cost, count_vectors(len(data.counts), k, total or data.n)))
    assert solve_model(model) == pytest.approx(best, abs=1e-6)
    assert cost(read_counts(model)) == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_both_formulations_measure_every_feasible_point(seed, check_point, count_vectors):
    """Equal objectives at every point of the same feasible set: equal optima."""
    data, k, control, weight, total = instance(seed)
    parameters = {"control": control, "deviation_weight": weight, "total": total}
    paper = build("chi-ex", data, k, formulation="paper", **parameters)
    envelope = build("chi-ex", data, k, cutoff=math.inf, **parameters)
    cost = cost_function(data, control, weight)
    tables = data.tables(control)
    w = 1 / data.n if weight is None else weight
    vectors = list(count_vectors(len(data.counts), k, total or data.n))
    for counts in vectors[:: max(1, len(vectors) // 15)]:
        for model in (paper, envelope):
            load_counts(model, counts)
            assert check_point(model) == pytest.approx(cost(counts), abs=1e-9)
            assert read_counts(model).tolist() == counts.tolist()
        errors = kn.measures.table_errors(
            tables.values(counts), tables.values(data.counts), tables.dimension
        )
        changed = kn.measures.deviation(counts, data.counts)
        assert cost(counts) == pytest.approx(errors.chi2 + w * changed)


@pytest.mark.skipif(ScipBackend().unavailable() is not None, reason="SCIP is not installed")
@pytest.mark.parametrize("seed", range(8))
def test_quadratic_program_has_the_same_optimum(seed, solve_model):
    data, k, control, weight, total = instance(seed)
    parameters = {"control": control, "deviation_weight": weight, "total": total}
    paper = build("chi-ex", data, k, formulation="paper", **parameters)
    envelope = build("chi-ex", data, k, **parameters)
    assert solve_model(paper, ScipBackend()) == pytest.approx(solve_model(envelope), abs=1e-5)


@pytest.mark.parametrize("seed", range(20))
def test_cutoff_keeps_what_is_as_good(seed, solve_model, check_point, count_vectors):
    data, k, control, weight, _ = instance(seed)
    parameters = {"control": control, "deviation_weight": weight}
    cost = cost_function(data, control, weight)
    vectors = sorted(count_vectors(len(data.counts), k, data.n), key=cost)
    best = cost(vectors[0])
    tight = build("chi-ex", data, k, cutoff=best, **parameters)
    loose = build("chi-ex", data, k, cutoff=math.inf, **parameters)
    assert solve_model(tight) == pytest.approx(best, abs=1e-6)
    assert tight.nconstraints() <= loose.nconstraints()
    middle = cost(vectors[len(vectors) // 3])
    model = build("chi-ex", data, k, cutoff=middle, **parameters)
    for counts in vectors[: len(vectors) // 3]:
        load_counts(model, counts)
        assert check_point(model) == pytest.approx(cost(counts), abs=1e-9)


def test_unreachable_cutoff_and_values_cut_off():
    data = kn.example("compensation")
    with pytest.raises(KanopyError, match="belongs to formulation='envelope'"):
        build("chi-ex", data, 2, formulation="paper", cutoff=3.0)
    with pytest.raises(KanopyError, match="unknown formulation 'x'"):
        build("chi-ex", data, 2, formulation="x")
    model = build("chi-ex", data, 2, control=2, cutoff=5.0)
    with pytest.raises(KanopyError, match="cut off"):
        load_counts(model, [4, 0, 0, 0])


@pytest.mark.parametrize("seed", range(30))
def test_neighbour_counts_are_a_solution(seed):
    data, k, control, _, _ = instance(seed)
    problem = FrequencyProblem.build(data, k, control)
    assert problem.allows(neighbour_counts(problem))
    assert neighbour_counts(FrequencyProblem.build(data, k, control, total=data.n + 1)) is None


def test_envelope_is_a_better_bound_than_the_quadratic_relaxation(solve_model):
    """What the reformulation is for: its linear relaxation knows that cells are 0 or ≥ k."""
    data = kn.generate("synthetic", n=60, p=0.2, k=3, seed=1)
    relax = pyo.TransformationFactory("core.relax_integer_vars")
    best = solve_model(build("chi-ex", data, 3))
    bound = solve_model(relax.create_using(build("chi-ex", data, 3)))
    assert 0.5 * best < bound <= best + 1e-6
    # y = y⁰ with fractional u is feasible for the printed program's relaxation and costs nothing
    paper = build("chi-ex", data, 3, formulation="paper")
    load_counts(paper, data.counts)
    for i in paper.types:
        paper.used[i].set_value(data.counts[i] / data.n, skip_validation=True)
    extracted = extract(relax.create_using(paper))
    assert extracted.form.violation(extracted.start()) < 1e-9
    assert extracted.form.objective(extracted.start()) == pytest.approx(0)
