"""Solving a model, and enumerating what it decides."""

from collections.abc import Callable, Iterator

import numpy as np
import pyomo.environ as pyo
import pytest

from kanopy.models.extract import extract
from kanopy.solvers.backends.highs import HighsBackend
from kanopy.solvers.backends.protocol import Limits


def _solve(model, backend=None) -> float:
    """Optimal value; the optimum is loaded into the model."""
    extracted = extract(model)
    result = (backend or HighsBackend()).solve(extracted.form, Limits(seconds=60))
    assert result.status == "optimal", result
    extracted.load(result.x)
    return extracted.objective(result.objective)


def _check_point(model) -> float:
    """Objective of the values that a model holds, which must satisfy all constraints."""
    extracted = extract(model)
    point = extracted.start()
    assert point is not None
    assert extracted.form.violation(point) < 1e-9
    (objective,) = model.component_data_objects(pyo.Objective, active=True)
    value = float(pyo.value(objective))
    assert value == pytest.approx(extracted.form.objective(point), abs=1e-9)
    return value


def _count_vectors(types: int, k: int, total: int) -> Iterator[np.ndarray]:
    """Every vector of counts that are 0 or at least k and add up to the total."""

    def extend(left: int, slots: int) -> Iterator[list[int]]:
        if slots == 0:
            if left == 0:
                yield []
            return
        for count in [0, *range(k, left + 1)]:
            for tail in extend(left - count, slots - 1):
                yield [count, *tail]

    return map(np.array, extend(total, types))


@pytest.fixture
def solve_model() -> Callable[..., float]:
    return _solve


@pytest.fixture
def check_point() -> Callable[..., float]:
    return _check_point


@pytest.fixture
def count_vectors() -> Callable[..., Iterator[np.ndarray]]:
    return _count_vectors
