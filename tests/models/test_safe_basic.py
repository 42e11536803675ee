import numpy as np
import pandas as pd
import pytest
from oracles import random_instance

import kanopy as kn
from kanopy.instances.errors import KanopyError
from kanopy.instances.examples import example
from kanopy.instances.frequency import FrequencyProblem, allowed_extra_error
from kanopy.instances.matching import three_dimensional_matching
from kanopy.models.factory import build
from kanopy.models.msafe import load_counts as load_modified
from kanopy.models.msafe import read_counts as read_modified
from kanopy.models.safe_basic import load_counts, read_counts
from kanopy.solvers.costs import frequency_cost


def instance(seed):
    """A tiny instance, its k, dimension of control tables, tolerance and total."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 10))
    data = random_instance(rng, "hamming", n)
    k = int(rng.integers(2, 4))
    tolerance = None if seed % 3 else rng.integers(0, 3, len(data.tables(2))).astype(float)
    total = None if seed % 4 else int(rng.integers(k, n + 3))
    return data, k, 2, tolerance, total


@pytest.mark.parametrize("seed", range(12))
def test_optimum_is_the_best_count_vector(seed, solve_model, count_vectors):
    data, k, control, tolerance, total = instance(seed)
    model = build("safe-basic", data, k, control=control, tolerance=tolerance, total=total)
    tables = data.tables(control)
    free = allowed_extra_error(tables.values(data.counts)) if tolerance is None else tolerance
    problem = FrequencyProblem.build(data, k, control, free, total)
    best = min(map(problem.excess, count_vectors(len(data.counts), k, problem.total)))
    assert solve_model(model) == pytest.approx(best, abs=1e-6)
    assert problem.allows(read_counts(model))
    assert problem.excess(read_counts(model)) == pytest.approx(best)


@pytest.mark.parametrize("seed", range(12))
def test_modified_optimum_is_the_best_count_vector(seed, solve_model, count_vectors):
    data, k, control, tolerance, total = instance(seed)
    weight = None if seed % 2 else 0.4
    parameters = {"control": control, "tolerance": tolerance, "total": total}
    model = build("msafe", data, k, deviation_weight=weight, **parameters)
    tables = data.tables(control)
    free = allowed_extra_error(tables.values(data.counts)) if tolerance is None else tolerance

    def cost(counts):
        w = 1 / data.n if weight is None else weight
        return frequency_cost(tables, counts, data.counts, "max-error", free, w)

    rows = data.n if total is None else total
    best = min(map(cost, count_vectors(len(data.counts), k, rows)))
    assert solve_model(model) == pytest.approx(best, abs=1e-6)
    assert cost(read_modified(model)) == pytest.approx(best)


@pytest.mark.parametrize("seed", range(10))
def test_objectives_are_the_measures_at_every_feasible_point(seed, check_point, count_vectors):
    data, k, control, tolerance, total = instance(3 * seed)
    rows = data.n if total is None else total
    parameters = {"control": control, "tolerance": tolerance, "total": total}
    basic = build("safe-basic", data, k, **parameters)
    modified = build("msafe", data, k, deviation_weight=0.3, **parameters)
    tables = data.tables(control)
    before = tables.values(data.counts)
    vectors = list(count_vectors(len(data.counts), k, rows))
    for counts in vectors[:: max(1, len(vectors) // 12)]:
        load_counts(basic, counts)
        load_modified(modified, counts)
        error = kn.measures.maximum_error(tables.values(counts), before, tolerance)
        assert check_point(basic) == pytest.approx(error)
        changed = kn.measures.deviation(counts, data.counts)
        assert check_point(modified) == pytest.approx(error + 0.3 * changed)
        assert read_counts(basic).tolist() == counts.tolist()


@pytest.mark.parametrize("solvable", [True, False])
@pytest.mark.parametrize("q", [3, 4, 6])
def test_decides_three_dimensional_matching(q, solvable, solve_model):
    for seed in range(3):
        problem = three_dimensional_matching(q, seed, solvable)
        value = solve_model(build("safe-basic", problem, 3))
        assert (value <= 1e-6) is solvable


def test_example_of_needless_changes(solve_model, check_point):
    """000, example 3.2.1: SAFE-basic cannot tell counts apart that modified SAFE can."""
    data = example("safe-basic")
    for name in ("safe-basic", "msafe"):
        model = build(name, data, 2, control=1)
        assert solve_model(model) == pytest.approx(0, abs=1e-9)
        assert read_counts(model).tolist() == [2, 2]
    # the example's other optimum needs the combinations that do not occur in it
    pairs = [(sex, home) for sex in "fm" for home in ("Germany", "Others")] * 2
    data = kn.Microdata.from_frame(pd.DataFrame(pairs, columns=["Sex", "Citizenship"]))
    basic, modified = (build(name, data, 2, control=1) for name in ("safe-basic", "msafe"))
    for counts, penalty in (([2, 2, 2, 2], 0.0), ([4, 0, 0, 4], 1.0)):
        load_counts(basic, counts)
        load_modified(modified, counts)
        assert check_point(basic) == 0
        assert check_point(modified) == pytest.approx(penalty)
    assert solve_model(modified) == pytest.approx(0, abs=1e-9)
    assert read_counts(modified).tolist() == [2, 2, 2, 2]


def test_tolerances_of_appendix_a():
    data = kn.Microdata.from_frame(pd.DataFrame({"a": ["x"] * 25 + ["y"] * 3}))
    model = build("safe-basic", data, 2, control=1)
    assert [model.tolerance[t] for t in model.cells] == [2, 0]


def test_a_frequency_problem_keeps_its_own_numbers():
    problem = three_dimensional_matching(3, 0)
    for parameter, value in (("control", 1), ("tolerance", 1.0), ("total", 4)):
        with pytest.raises(KanopyError, match=f"own {parameter}"):
            build("safe-basic", problem, 3, **{parameter: value})
    with pytest.raises(KanopyError, match=r"k = 2.*k = 3"):
        build("msafe", problem, 2)
    with pytest.raises(KanopyError, match="deviation_weight = -1"):
        build("msafe", problem, 3, deviation_weight=-1)
    with pytest.raises(KanopyError, match="shape"):
        load_counts(build("safe-basic", problem, 3), [3])
