import dataclasses

import numpy as np
import pytest

from kanopy.instances.errors import KanopyError
from kanopy.instances.examples import example
from kanopy.instances.frequency import FrequencyProblem


def test_both_optima_of_the_safe_basic_example():
    """000, example 3.2.1: the original is 2-anonymous and without error."""
    problem = FrequencyProblem.build(example("safe-basic"), k=2, control=1)
    assert problem.original.tolist() == [2, 2]
    assert problem.allows(problem.original)
    assert problem.excess(problem.original) == 0


def test_errors_and_tolerance():
    data = example("survey")
    problem = FrequencyProblem.build(data, 2, [["Sex"]], tolerance=np.array([1.0, 0.5]))
    counts = np.array([5, 0, 0, 0])
    assert problem.allows(counts)
    assert problem.errors(counts).tolist() == [-2, 2]
    assert problem.excess(counts) == 1.5
    assert not problem.allows(np.array([4, 0, 0, 0]))
    assert not problem.allows(np.array([4, 1, 0, 0]))
    assert FrequencyProblem.build(data, 2, 1, total=4).allows(np.array([4, 0, 0, 0]))


def test_inconsistent_parts_are_refused():
    data = example("survey")
    problem = FrequencyProblem.build(data, 2, 1)
    for change, message in (
        ({"k": 0}, "k = 0"),
        ({"total": -1}, "total = -1"),
        ({"tolerance": np.zeros(3)}, "7 cells"),
        ({"tolerance": np.full(7, -1.0)}, "≥ 0"),
        ({"tolerance": np.full(7, np.nan)}, "≥ 0"),
        ({"tables": example("safe-basic").tables(1)}, "count 2 combinations, the data have 4"),
    ):
        with pytest.raises(KanopyError, match=message):
            dataclasses.replace(problem, **change)
