r"""Pricing with vertex and edge variables: the cluster of least reduced cost (000, 4.3).

Symbols: w_e Hamming distances, u_i duals of the master's rows; v_i says that row i is in the
cluster, z_il that the pair is::

    min   Σ_e w_e z_e − Σ_i u_i v_i                       (4.3.7)
    s.t.  z_il ≥ v_i + v_l − 1       for all pairs i < l  (4.3.8)
          k ≤ Σ_i v_i ≤ 2k − 1                            (4.3.9)
          z_e ≥ 0                    for all e            (4.3.10)
          v_i ∈ {0, 1}               for all i            (4.3.11)

z needs neither integrality nor an upper bound, since w ≥ 0.

Components: ``member[i]`` v, ``pair[i, l]`` z, ``both[i, l]`` (4.3.8), ``size`` (4.3.9), objective
``reduced_cost``.

>>> from kanopy.instances.examples import example
>>> model = pricing_node_edge(example("compensation"), 2, duals=[1.0, 0.5, 0.0, 0.0])
>>> load_cluster(model, [0, 1])
>>> pyo.value(model.reduced_cost)
-0.5
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike, NDArray

from kanopy.instances.microdata import Microdata
from kanopy.models.factory import register
from kanopy.models.pairs import checked_cluster, checked_duals, hamming_distances

__all__ = ["load_cluster", "pricing_node_edge", "read_cluster"]


@register("pricing-node-edge", kinds=("nominal",))
def pricing_node_edge(data: Microdata, k: int, *, duals: ArrayLike) -> pyo.ConcreteModel:
    """Build the pricing problem for the duals u of the rows."""
    rewards = checked_duals(duals, data.n)
    model = clique_model(hamming_distances(data), list(range(data.n)), k)
    model.reduced_cost = pyo.Objective(
        expr=model.weight - pyo.quicksum(float(rewards[i]) * model.member[i] for i in model.rows)
    )
    return model


def clique_model(weights: NDArray[np.float64], rows: Sequence[int], k: int) -> pyo.ConcreteModel:
    """Constraints (4.3.8)–(4.3.11) over some rows, with ``weight`` the expression Σ w_e z_e."""
    model = pyo.ConcreteModel()
    model.rows = pyo.Set(initialize=list(rows))
    model.pairs = pyo.Set(dimen=2, initialize=list(combinations(sorted(rows), 2)))
    model.member = pyo.Var(model.rows, domain=pyo.Binary)
    model.pair = pyo.Var(model.pairs, domain=pyo.NonNegativeReals)

    @model.Constraint(model.pairs)
    def both(model: pyo.ConcreteModel, i: int, j: int) -> object:
        return model.pair[i, j] >= model.member[i] + model.member[j] - 1

    model.size = pyo.Constraint(expr=(k, pyo.quicksum(model.member.values()), 2 * k - 1))
    model.weight = pyo.Expression(
        expr=pyo.quicksum(float(weights[i, j]) * model.pair[i, j] for i, j in model.pairs)
    )
    return model


def read_cluster(model: pyo.ConcreteModel) -> NDArray[np.int64]:
    """The rows of the cluster that a solved model found."""
    return np.array([i for i in model.rows if pyo.value(model.member[i]) > 0.5], dtype=np.int64)


def load_cluster(model: pyo.ConcreteModel, rows: ArrayLike) -> None:
    """Give all variables the values that follow from a cluster."""
    cluster = set(checked_cluster(rows, list(model.rows)))
    model.member.set_values({i: int(i in cluster) for i in model.rows})
    model.pair.set_values({(i, j): int({i, j} <= cluster) for i, j in model.pairs})
