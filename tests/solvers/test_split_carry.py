from collections import Counter

import liang_literal
import numpy as np
import pandas as pd
import pytest
from oracles import optimum, random_instance

import kanopy as kn
from kanopy.instances.examples import partition
from kanopy.solvers.generalisation.initial_sort import sorted_rows
from kanopy.solvers.generalisation.split_carry import (
    SplitCarryOptions,
    boundary_classes,
    bubble_steps,
    course,
    split_carry_steps,
)
from kanopy.solvers.problem import Problem
from kanopy.solvers.run import Run


def steps_of(data, k, **options):
    problem = Problem(data, k, "range")
    return list(course(problem, Run(problem), SplitCarryOptions(**options)))


def same_classes(labels, other):
    return len(set(zip(labels.tolist(), other.tolist(), strict=True))) == len(set(labels.tolist()))


def test_tables_5_and_6_step_by_step():
    first, second = steps_of(kn.example("fars"), 3)
    assert first.rows.tolist() == [12, 1, 11, 14, 7, 10, 16, 19, 13]  # table 5a
    assert first.classes() == [[12, 1, 11], [14, 19, 13], [7, 10, 16]]  # table 5b
    assert first.rows[first.carried].tolist() == [14, 7, 10, 16, 19, 13]
    assert second.rows.tolist() == [  # table 6a
        *(14, 7, 10, 16, 19, 13),
        *(6, 9, 5, 8, 2, 15, 17, 0, 4, 18, 3),
    ]
    assert second.classes() == [  # table 6b
        [14, 19, 13],
        [7, 10, 16],
        [6, 9, 5, 8],
        [2, 15, 17, 0],
        [4, 18, 3],
    ]
    assert not second.carried.any()


TABLE_4B = {
    (0, 2, 15, 17): ["[20-64]", "[2-2]", "[0-4]", "[0-0]"],
    (1, 11, 12): ["[25-55]", "[1-1]", "[0-0]", "[0-0]"],
    (3, 4, 18): ["[40-53]", "[1-2]", "[2-4]", "[1-1]"],
    (5, 6, 8, 9): ["[49-80]", "[1-1]", "[4-4]", "[0-0]"],
    (7, 10, 16): ["[59-68]", "[1-1]", "[2-3]", "[0-0]"],
    (13, 14, 19): ["[18-42]", "[1-1]", "[2-4]", "[0-0]"],
}
TABLE_4C = {
    (0, 8, 10, 16): ["[64-80]", "[1-2]", "[3-4]", "[0-0]"],
    (1, 14, 15): ["[29-33]", "[1-2]", "[0-2]", "[0-0]"],
    (2, 3, 13, 18): ["[40-42]", "[1-2]", "[0-4]", "[0-1]"],
    (4, 6, 9): ["[49-53]", "[1-1]", "[2-4]", "[0-1]"],
    (5, 7, 11): ["[55-59]", "[1-1]", "[0-4]", "[0-0]"],
    (12, 17, 19): ["[18-25]", "[1-2]", "[0-4]", "[0-0]"],
}


def assert_printed(released, table):
    """Every row is released as printed; tables 5b and 6b have the same ranges as 4b."""
    assert sorted(row for rows in table for row in rows) == list(range(20))
    for rows, cells in table.items():
        for row in rows:
            assert [str(value) for value in released.iloc[row]] == cells


def test_table_4b():
    s = kn.solve(kn.example("fars"), 3, "split-carry")
    assert s.objective == pytest.approx(4.816532258)
    assert same_classes(s.labels, partition("fars-equal"))
    assert_printed(s.release(), TABLE_4B)


def test_table_4c():
    frame = kn.example("fars").frame
    weights = dict(zip(frame.columns, (0.8, 0.05, 0.1, 0.05), strict=True))
    data = kn.Microdata.from_frame(frame, weights=weights, standardize=False)
    # one sub-problem holds all rows
    s = kn.solve(data, 3, "split-carry", options={"sets": 6})
    assert s.objective == pytest.approx(4.114516129)
    assert same_classes(s.labels, partition("fars-unequal"))
    assert_printed(s.release(), TABLE_4C)


@pytest.mark.parametrize("solver", ["branch-and-price", "pairwise"])
def test_table_1b(solver):
    data = kn.example("ehr")
    s = kn.solve(data, 3, "split-carry", cost="range", options={"solver": solver})
    assert same_classes(s.labels, partition("ehr"))
    released = s.release()
    assert str(released["Age"].iloc[0]) == "[35-37]"
    assert str(released["Zipcode"].iloc[6]) == "[55099-55324]"


def test_pairwise_sub_problems_are_measured_like_the_whole_table():
    """Sub-problems of 4 to 8 rows: their own ranges are narrower than the table's."""
    rng = np.random.default_rng(4)
    for standardize in (False, True):
        frame = random_instance(rng, "range", 8).frame
        data = kn.Microdata.from_frame(frame, standardize=standardize)
        ours, milp = (
            steps_of(data, 2, sets=2, solver=solver) for solver in ("branch-and-price", "pairwise")
        )
        problem = Problem(data, 2, "range").restrict(ours[0].rows)
        assert milp[0].rows.tolist() == ours[0].rows.tolist()
        assert problem.partition_cost(milp[0].labels) == pytest.approx(
            problem.partition_cost(ours[0].labels)
        )


@pytest.mark.parametrize("kind", ["numeric", "nominal", "mixed"])
def test_against_the_algorithm_as_printed(kind):
    rng = np.random.default_rng(6)
    longest = 0
    for _ in range(8):
        k = int(rng.integers(2, 4))
        sets = 2 if k == 3 else int(rng.integers(2, 4))
        data = liang_literal.dyadic_instance(rng, int(rng.integers(k, 9 * k // 2)), kind)

        def solve(rows, classes, data=data, k=k):
            label = {x: number for number, c in enumerate(classes) for x in c}
            return liang_literal.best_of_all(data, k, rows, [label[x] for x in rows])

        def solve_labels(rows, start, share, data=data, k=k):
            rows = rows.tolist()
            blocks = liang_literal.best_of_all(data, k, rows, start.tolist())
            labels = np.empty(len(rows), dtype=np.int64)
            for number, block in enumerate(blocks):
                labels[[rows.index(x) for x in block]] = number
            return labels

        expected, sizes = liang_literal.split_carry(data, k, sets, solve)
        steps = list(split_carry_steps(sorted_rows(data), k, sets, solve_labels))
        assert [len(step.rows) for step in steps] == sizes
        found = [
            step.rows[(step.labels == c) & ~step.carried].tolist()
            for step in steps
            for c in np.unique(step.labels[~step.carried])
        ]
        assert sorted(map(sorted, found)) == sorted(map(sorted, expected))
        longest = max(longest, len(sizes))
    assert longest >= 2


@pytest.mark.parametrize("bubble", [False, True])
@pytest.mark.parametrize("calls", [0, 1, 3])
def test_when_stopped_all_that_is_left_is_one_sub_problem(bubble, calls):
    order, asked = np.arange(40), iter([False] * calls)

    def solve(rows, start, share):
        return start

    def stopping():
        return next(asked, True)

    given = (6, 1, solve, len) if bubble else (2, solve, None)
    steps = list((bubble_steps if bubble else split_carry_steps)(order, 3, *given, stopping))
    assert len(steps) == calls + 1
    final = np.concatenate([step.rows[~step.carried] for step in steps])
    assert sorted(final.tolist()) == order.tolist()
    assert all(np.bincount(step.labels).min() >= 3 for step in steps)


def test_every_sub_problem_is_optimal_and_bounded_by_lemma_2():
    rng = np.random.default_rng(7)
    for k, sets in ((2, 2), (3, 2)):
        data = random_instance(rng, "range", 40)
        problem = Problem(data, k, "range")
        steps = steps_of(data, k, sets=sets)
        assert len(steps) == -(-(40 // k) // sets)
        for step in steps:
            assert len(step.rows) <= k * (2 * k - 1 + sets) + 40 % k
            if len(step.rows) <= 10:
                part = problem.restrict(step.rows)
                best = optimum(part.data, k, "range")
                assert part.partition_cost(step.labels) == pytest.approx(best)


def test_what_is_carried():
    def carried(labels, k, boundary):
        return np.flatnonzero(boundary_classes(np.array(labels), k, boundary)).tolist()

    assert carried([0, 1, 0, 1, 0, 1], 3, 3) == [0, 1, 2, 3, 4, 5]  # the paper's second scenario
    assert carried([0, 0, 0, 1, 1, 1], 3, 3) == [3, 4, 5]  # and its first
    assert carried([0, 0, 0, 0, 1, 1, 1], 3, 1) == [4, 5, 6]
    assert carried([0, 0, 1, 1, 1, 0], 2, 1) == [0, 1, 5]  # one row cannot stand alone
    assert carried([0, 0, 0, 1, 1, 0], 2, 1) == [2, 5]  # two can
    assert carried([0] * 7, 3, 3) == [0, 1, 2, 3, 4, 5, 6][4:]


def test_bubble_carry():
    data = random_instance(np.random.default_rng(9), "range", 41)
    problem = Problem(data, 3, "range")
    steps = steps_of(data, 3, size=12, accept=2)
    assert {len(step.rows) for step in steps[:-1]} == {12}
    accepted = []
    for step in steps[:-1]:
        costs = {
            c: problem.restrict(step.rows[step.labels == c]).partition_cost(
                np.zeros((step.labels == c).sum(), dtype=np.int64)
            )
            for c in set(step.labels.tolist())
        }
        kept = set(step.labels[~step.carried].tolist())
        assert len(kept) == 2
        assert kept.isdisjoint(step.labels[step.carried].tolist())
        assert max(costs[c] for c in kept) <= min(c for n, c in costs.items() if n not in kept)
        accepted += step.rows[~step.carried].tolist()
    accepted += steps[-1].rows.tolist()
    assert sorted(accepted) == list(range(41))
    with pytest.raises(kn.KanopyError, match="2k = 6"):
        list(bubble_steps(np.arange(9), 3, 5, 1, lambda rows, start, share: start, len))
    s = kn.solve(data, 3, "split-carry", cost="range", options={"size": 12, "accept": 2})
    assert s.sizes.min() >= 3


def test_more_is_carried_with_more_boundary_rows():
    data = random_instance(np.random.default_rng(9), "range", 60)
    few, default, many = (
        sum(step.carried.sum() for step in steps_of(data, 3, carry=last)) for last in (1, None, 6)
    )
    assert few < default < many
    assert default == sum(step.carried.sum() for step in steps_of(data, 3, carry=3))


@pytest.mark.parametrize(
    "options",
    [
        {"sets": 1},
        {"carry": 0},
        {"size": 12},
        {"size": 12, "accept": 0},
        {"seconds": 0.0},
        {"solver": "guess"},
        {"backend": "abacus"},
    ],
)
def test_senseless_options_are_refused(options):
    with pytest.raises(kn.KanopyError):
        kn.solve(kn.example("fars"), 3, "split-carry", options=options)


def test_early_termination_keeps_a_partition():
    rng = np.random.default_rng(0)
    data = kn.Microdata.from_frame(pd.DataFrame(rng.normal(size=(300, 4)), columns=list("abcd")))
    s = kn.solve(data, 6, "split-carry", cost="range", options={"seconds": 0.01})
    assert s.sizes.min() >= 6
    worst = kn.solve(data, 6, "initial-sort", cost="range")
    assert s.objective < worst.objective


@pytest.mark.real_data
def test_sizes_of_sub_problems_are_distributed_as_in_table_8a():
    data = kn.load("census-income", rows=3000, columns=4)
    sizes = Counter(len(step.rows) for step in steps_of(data, 3))
    assert sum(sizes.values()) == -(-1000 // 3)
    assert sizes[9] == 1
    assert sizes.most_common(1)[0][0] == 12
    assert sizes[12] > 0.6 * sum(sizes.values())
    assert max(sizes) <= 24
