"""SAFE (000, chapter 2) against the algorithms as printed and the exact optimum."""

import time
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
import safe_literal

import kanopy as kn
from kanopy.instances.frequency import FrequencyProblem
from kanopy.solvers.frequency.safe import SafeOptions, sorted_entries


def random_table(rng, rows, domains=(2, 2, 3)):
    """Rows with a few frequent values and many rare combinations."""
    return kn.Microdata.from_frame(
        pd.DataFrame(
            {
                f"a{j}": [f"v{v}" for v in np.minimum(rng.geometric(0.5, rows) - 1, size - 1)]
                for j, size in enumerate(domains)
            }
        )
    )


def literal(data, k, control, options):
    order = sorted_entries(data)
    tables = data.tables(control)
    A = tables.matrix.toarray()[:, order]
    y0 = data.counts[order]
    g = np.array([sum(value >= step for step in options.extra_error) for value in A @ y0])
    algorithm = safe_literal.Safe(A, y0, tables.dimension, g, k, options)
    counts = np.empty_like(y0)
    counts[order] = algorithm.run()
    return counts, algorithm.used


SETTINGS = [
    SafeOptions(),
    SafeOptions(first_part=4, part=2),
    SafeOptions(bound_one_dim=0, bound_higher_dim=1, max_gap=1),
    SafeOptions(bound_one_dim=0, bound_higher_dim=0, max_gap=0, target_one_dim=0),
    SafeOptions(stagnation=0.5, first_part=3, part=1, max_exceedings=2, max_total_exceedings=4),
    SafeOptions(target_one_dim=0, target_higher_dim=1, max_exceedings=1),
    SafeOptions(bound_one_dim=0, bound_higher_dim=0, extra_error=(2, 4, 5)),
    SafeOptions(target_one_dim=0, target_higher_dim=0, max_iterations=3, max_exceedings=50),
]


@pytest.mark.parametrize(("k", "tables"), [(2, 120), (3, 50), (4, 15)])
def test_the_printed_algorithms_give_the_same_counts(k, tables):
    rng = np.random.default_rng(k)
    stages, changed_rows = set(), 0
    for i in range(tables):
        data = random_table(rng, int(rng.integers(k, 22)), ((2, 3), (2, 2, 3), (4, 2))[i % 3])
        options = SETTINGS[i % len(SETTINGS)]
        control = int(rng.integers(1, 3))
        expected, used = literal(data, k, control, options)
        s = kn.solve(data, k, "safe", control=control, options=asdict(options))
        assert s.counts.tolist() == expected.tolist()
        stages |= used
        changed_rows += int(s.counts.sum()) != data.n
    assert stages == {1, 2, 3, 4}
    assert changed_rows


def test_every_parameter_of_appendix_a_has_its_published_default():
    default = SafeOptions()
    assert (default.bound_one_dim, default.bound_higher_dim, default.max_gap) == (2, 3, 3)
    assert default.allowed_deviation is None  # k, which is 3 there
    assert (default.first_part, default.part, default.slice_size) == (5000, 500, 3)
    assert default.stagnation == 0.02
    assert (default.target_one_dim, default.target_higher_dim) == (2, 3)
    assert default.max_iterations == 20
    assert default.extra_error == (10, 20, 50, 100, 200, 10**3, 10**4, 10**5, 10**6)


def test_extra_errors_can_be_chosen():
    data = kn.generate("synthetic", n=60, p=0.5, k=3, seed=1)
    none, some = (
        kn.solve(data, 3, "safe", options={"extra_error": steps}) for steps in ([], [2, 3])
    )
    assert none.problem.tolerance.max() == 0
    values = data.tables(3).values(data.counts)
    assert some.problem.tolerance.tolist() == (np.clip(values, 1, 3) - 1).tolist()


def test_examples_of_the_thesis():
    # 1.1.1 is sorted as in figure 1.1b, and 3.2.1 is 2-anonymous: SAFE leaves it alone
    survey = kn.example("survey")
    assert survey.combinations.iloc[sorted_entries(survey)].to_numpy().tolist() == [
        ["female", "Germany", "employed"],
        ["female", "Germany", "inactive"],
        ["male", "Germany", "unemployed"],
        ["male", "Others", "inactive"],
    ]
    unchanged = kn.solve(kn.example("safe-basic"), 2, "safe", control=1)
    assert unchanged.release().equals(kn.example("safe-basic").frame)


def test_attributes_with_few_values_come_first():
    frame = pd.DataFrame({"many": list("cabcab"), "few": list("xyxyxy")})
    data = kn.Microdata.from_frame(frame)
    order = data.combinations.iloc[sorted_entries(data)]
    assert order.to_numpy().tolist() == sorted(
        data.combinations.to_numpy().tolist(), key=lambda row: (row[1], row[0])
    )


def test_a_worked_slice():
    # Counts 1, 1, 1, each alone in its cell, and the bounds are 2: as 0 each costs the penalty 4
    # for an error of 1, as 3 it costs 9 for an error of 2. So the table is lost, by the book.
    frame = pd.DataFrame({"a": list("xyz")})
    s = kn.solve(kn.Microdata.from_frame(frame), 3, "safe", control=1)
    assert s.counts.tolist() == [0, 0, 0]
    assert len(s.release()) == 0
    assert "0 rows instead of 3" in str(s)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_no_better_than_the_optimum_where_the_rows_are_kept(k):
    rng = np.random.default_rng(10 + k)
    kept = 0
    for _ in range(10):
        data = random_table(rng, int(rng.integers(12, 30)), (2, 2, 3))
        s = kn.solve(data, k, "safe", control=2)
        assert ((s.counts == 0) | (s.counts >= k)).all()
        assert np.abs(s.counts - data.counts).max() <= k
        if s.counts.sum() == data.n:
            kept += 1
            assert s.objective >= kn.solve(data, k, "safe-basic", control=2).objective
    assert kept >= 2


def test_the_improvement_lowers_the_errors_of_one_dimensional_tables():
    errors = []
    for seed in range(1, 4):
        data = kn.generate("synthetic", n=200, p=1.0, k=3, seed=seed)
        for rounds in (0, 20):
            s = kn.solve(data, 3, "safe", control=3, options={"max_iterations": rounds})
            errors.append(kn.evaluate(data, s).by_dimension[1].max_abs)
    assert sum(errors[1::2]) < sum(errors[::2])


def test_a_number_of_rows_other_than_the_original_is_refused():
    data = kn.example("survey")
    kn.solve(FrequencyProblem.build(data, 2, 1), 2, "safe")
    with pytest.raises(kn.KanopyError, match="cannot aim at 8"):
        kn.solve(FrequencyProblem.build(data, 2, 1, total=8), 2, "safe")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"allowed_deviation": 1}, "allowed_deviation = 1; for k = 5 choose at least 2"),
        ({"slice_size": 6}, "choose at most 5"),
        ({"part": 0}, "part = 0"),
        ({"extra_error": [20, 10]}, "increasing order"),
        ({"extra_error": 10}, "must be tuple"),
    ],
)
def test_senseless_options_are_refused(options, message):
    data = kn.generate("synthetic", n=60, p=0.5, k=3, seed=1)
    with pytest.raises(kn.KanopyError, match=message):
        kn.solve(data, 5, "safe", options=options)


@pytest.mark.parametrize("size", [1, 2, 4])
def test_slices_of_other_sizes(size):
    data = kn.generate("synthetic", n=60, p=0.5, k=3, seed=1)
    s = kn.solve(data, 3, "safe", options={"slice_size": size})
    assert ((s.counts == 0) | (s.counts >= 3)).all()


def test_out_of_time_the_counts_are_anonymous_and_the_rows_nearly_kept():
    data = kn.generate("synthetic", n=400, p=1.0, k=5, seed=2)
    kn.solve(data, 5, "safe", stop=kn.MaxRuntime(0))
    start = time.perf_counter()
    s = kn.solve(data, 5, "safe", stop=kn.MaxRuntime(0))
    assert time.perf_counter() - start < 1
    assert s.status == "time_limit"
    assert abs(s.counts.sum() - 400) <= 2
    assert s.sizes.min() >= 5


@pytest.mark.real_data
def test_the_whole_of_adult():
    data = kn.load("adult")
    start = time.process_time()
    s = kn.solve(data, 3, "safe", control=3)
    assert time.process_time() - start < 60
    assert abs(s.counts.sum() - data.n) < 50
    assert s.objective <= 6
