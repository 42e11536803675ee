"""Extraction holds the same program as the Pyomo model it came from."""

import time

import numpy as np
import pyomo.environ as pyo
import pytest

from kanopy.instances.errors import KanopyError
from kanopy.models.extract import extract


def mixed_model():
    model = pyo.ConcreteModel()
    model.weight = pyo.Param(initialize=2.5, mutable=True)
    model.x = pyo.Var([1, 2, 3], domain=pyo.Binary)
    model.y = pyo.Var(domain=pyo.NonNegativeReals)
    model.z = pyo.Var(domain=pyo.Integers, bounds=(-4, 7))
    model.cost = pyo.Objective(
        expr=3 * model.x[1] - model.y + (model.z - 2) ** 2 + model.z * model.y + 5
    )
    model.equal = pyo.Constraint(expr=model.x[1] + model.weight * model.y == 4 - model.z)
    model.between = pyo.Constraint(expr=(1, model.x[2] - 2 * model.x[3] + 3, 6))
    model.most = pyo.Constraint(expr=model.y <= 2 * model.z + 1)
    model.least = pyo.Constraint(expr=sum(model.x[i] for i in model.x) >= 1)
    return model


def test_rows_and_objective_agree_with_pyomo_at_random_points():
    model = mixed_model()
    extracted = extract(model)
    form = extracted.form
    rng = np.random.default_rng(1)
    assert form.names == ("x[1]", "x[2]", "x[3]", "y", "z")
    for _ in range(20):
        x = rng.uniform(-5, 5, 5)
        x[form.integer] = np.round(x[form.integer])
        extracted.load(x)
        assert form.objective(x) == pytest.approx(pyo.value(model.cost))
        for row, constraint in enumerate(extracted.constraints):
            body = pyo.value(constraint.body)
            inner = form.matrix[[row]] @ x
            if constraint.has_lb():
                assert inner[0] - form.row_lower[row] == pytest.approx(body - constraint.lb)
            else:
                assert form.row_lower[row] == -np.inf
            if constraint.has_ub():
                assert form.row_upper[row] - inner[0] == pytest.approx(constraint.ub - body)
            else:
                assert form.row_upper[row] == np.inf


def test_quadratic_matrix_is_symmetric():
    form = extract(mixed_model()).form
    dense = form.quadratic.toarray()
    assert np.array_equal(dense, dense.T)
    assert dense[4, 4] == 2.0
    assert dense[3, 4] == 1.0


def test_box_and_integrality():
    form = extract(mixed_model()).form
    assert form.lower.tolist() == [0, 0, 0, 0, -4]
    assert form.upper.tolist() == [1, 1, 1, np.inf, 7]
    assert form.integer.tolist() == [True, True, True, False, True]


def test_maximisation_is_turned_and_turned_back():
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(0, 4))
    model.gain = pyo.Objective(expr=2 * model.x - model.x**2 + 1, sense=pyo.maximize)
    extracted = extract(model)
    x = np.array([3.0])
    assert extracted.form.objective(x) == pytest.approx(2.0)
    assert extracted.objective(extracted.form.objective(x)) == pytest.approx(-2.0)
    assert extracted.form.quadratic.toarray().tolist() == [[2.0]]


def test_fixed_variables_are_constants():
    model = mixed_model()
    model.z.fix(3)
    extracted = extract(model)
    assert extracted.form.names == ("x[1]", "x[2]", "x[3]", "y")
    assert extracted.form.constant == pytest.approx(6.0)  # 5 + (3 − 2)²
    assert extracted.form.cost.tolist() == pytest.approx([3, 0, 0, 2])  # −y + 3y
    extracted.load(np.array([1.0, 0, 0, 0]))
    assert pyo.value(model.z) == 3


def test_deactivated_parts_are_left_out():
    model = mixed_model()
    model.between.deactivate()
    model.block = pyo.Block()
    model.block.w = pyo.Var()
    model.block.row = pyo.Constraint(expr=model.block.w >= 2)
    model.block.deactivate()
    extracted = extract(model)
    assert [row.name for row in extracted.constraints] == ["equal", "most", "least"]
    assert "block.w" not in extracted.form.names


def test_variables_of_a_deactivated_block_count_where_they_are_used():
    model = pyo.ConcreteModel()
    model.block = pyo.Block()
    model.block.w = pyo.Var(bounds=(0, 9))
    model.block.deactivate()
    model.x = pyo.Var()
    model.row = pyo.Constraint(expr=model.x + model.block.w >= 2)
    form = extract(model).form
    assert form.names == ("x", "block.w")
    assert form.matrix.toarray().tolist() == [[1.0, 1.0]]


def test_columns_keep_the_order_of_declaration():
    model = pyo.ConcreteModel()
    model.first = pyo.Var(["b", "a"])
    model.second = pyo.Var()
    model.row = pyo.Constraint(expr=model.second + model.first["a"] <= 1)
    form = extract(model).form
    assert form.names == ("first[b]", "first[a]", "second")
    assert form.matrix.toarray().tolist() == [[0.0, 1.0, 1.0]]


def test_start_reads_back_what_was_loaded():
    extracted = extract(mixed_model())
    assert extracted.start() is None
    point = np.array([1.0, 0, 0.9999999, 0.25, -1])
    extracted.load(point)
    assert extracted.start().tolist() == [1, 0, 1, 0.25, -1]
    with pytest.raises(KanopyError, match="2 entries, but 5"):
        extracted.load(np.zeros(2))


def test_empty_model_and_missing_objective():
    form = extract(pyo.ConcreteModel()).form
    assert form.matrix.shape == (0, 0)
    assert form.objective(np.zeros(0)) == 0.0


def build(expression):
    model = pyo.ConcreteModel()
    model.x = pyo.Var([1, 2])
    model.fixed = pyo.Var()
    model.fixed.fix()
    model.culprit = expression(model)
    return model


@pytest.mark.parametrize(
    "expression",
    [
        lambda m: pyo.Constraint(expr=m.x[1] * m.x[2] <= 1),
        lambda m: pyo.Constraint(expr=pyo.exp(m.x[1]) <= 1),
        lambda m: pyo.Objective(expr=m.x[1] ** 3),
        lambda m: pyo.SOSConstraint(var=m.x, sos=1),
        lambda m: pyo.Constraint(expr=m.fixed * m.x[1] <= 1),
        lambda m: pyo.Constraint(expr=m.fixed + m.x[1] <= 1),
        lambda m: pyo.Objective(expr=m.fixed * m.x[1]),
    ],
)
def test_what_cannot_be_taken_is_named(expression):
    with pytest.raises(KanopyError, match="'culprit'"):
        extract(build(expression))


def test_two_objectives_are_named():
    model = pyo.ConcreteModel()
    model.x = pyo.Var()
    model.one = pyo.Objective(expr=model.x)
    model.two = pyo.Objective(expr=-model.x)
    with pytest.raises(KanopyError, match="one, two"):
        extract(model)
    model.two.deactivate()
    assert extract(model).form.cost.tolist() == [1.0]


def test_a_hundred_thousand_nonzeros_take_seconds_not_minutes():
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(100), range(500), domain=pyo.Binary)
    model.row = pyo.Constraint(
        range(100), rule=lambda m, i: sum(m.x[i, j] for j in range(500)) == 1
    )
    model.column = pyo.Constraint(
        range(500), rule=lambda m, j: sum((i + 1) * m.x[i, j] for i in range(100)) <= 9
    )
    began = time.perf_counter()
    form = extract(model).form
    assert form.matrix.nnz == 100_000
    assert time.perf_counter() - began < 10
