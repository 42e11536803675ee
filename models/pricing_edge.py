r"""Pricing with edge variables alone, for clusters of a fixed size (002, eq. 14).

Symbols: η the size of the cluster, c_e = (a_i − a_j)² squared distances, λ_v duals of the master's
rows, δ(v) the pairs that hold v; z_e says that both rows of a pair are in the cluster. A row of the
cluster lies on η − 1 of its pairs, which expresses the duals by z::

    min   Σ_e c_e z_e / η − Σ_v λ_v Σ_{e∈δ(v)} z_e / (η − 1)
    s.t.  Σ_e z_e = η(η − 1)/2                                      (11)
          Σ_{e∈δ(i)∖ij} z_e ≥ (η − 2) z_ij     for all i ≠ j        (12)
          z_e ∈ {0, 1}

Why these are exactly the cliques of η rows: by (12) every row on some chosen pair lies on at least
η − 1 of them; the chosen pairs have η(η − 1) ends, so at most η rows are on any, and with η rows
each must be on all pairs among them. Triangle inequalities are therefore not needed, but cut off
fractional points. The paper prints z_ir + z_rj − z_ij ≤ 1 for i < r < j; ``triangles=True`` adds
all three of each triple, since each row may be the one in the middle.

Components: ``pair[i, j]`` z for i < j, ``all_pairs`` (11), ``node_to_node[i, j]`` (12) for ordered
pairs, ``triangle[i, r, j]`` with r in the middle, objective ``reduced_cost``.

>>> import pandas as pd
>>> data = Microdata.from_frame(pd.DataFrame({"a": [0.0, 2.0, 5.0]}), standardize=False)
>>> model = pricing_edge(data, 2, duals=[1.0, 1.5, 0.0])
>>> load_cluster(model, [0, 1])
>>> pyo.value(model.reduced_cost)
-0.5
"""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike, NDArray

from kanopy.instances.errors import KanopyError
from kanopy.instances.microdata import Microdata
from kanopy.models.factory import register
from kanopy.models.pairs import checked_cluster, checked_duals, squared_distances

__all__ = ["load_cluster", "pricing_edge", "read_cluster"]


@register("pricing-edge", kinds=("numeric",))
def pricing_edge(
    data: Microdata,
    k: int,
    *,
    duals: ArrayLike,
    size: int | None = None,
    triangles: bool = False,
) -> pyo.ConcreteModel:
    """Build the pricing subproblem for one size.

    Parameters
    ----------
    duals
        λ_v of the rows.
    size
        η, from k to 2k−1; by default k.
    triangles
        Add the triangle inequalities.
    """
    eta = k if size is None else size
    largest = min(2 * k - 1, data.n)
    if not k <= eta <= largest:
        raise KanopyError(f"size = {eta}; with k = {k} and {data.n} rows choose {k} to {largest}")
    rewards = checked_duals(duals, data.n)
    cost = squared_distances(data) / eta - (rewards[:, None] + rewards[None, :]) / (eta - 1)
    model = pyo.ConcreteModel()
    model.rows = pyo.RangeSet(0, data.n - 1)
    model.pairs = pyo.Set(dimen=2, initialize=list(combinations(range(data.n), 2)))
    model.pair = pyo.Var(model.pairs, domain=pyo.Binary)
    model.all_pairs = pyo.Constraint(expr=pyo.quicksum(model.pair.values()) == eta * (eta - 1) // 2)

    @model.Constraint(list(permutations(range(data.n), 2)))
    def node_to_node(model: pyo.ConcreteModel, i: int, j: int) -> object:
        if eta == 2:  # (12) then only says that z ≥ 0
            return pyo.Constraint.Skip
        others = (model.pair[edge(i, other)] for other in model.rows if other not in (i, j))
        return pyo.quicksum(others) >= (eta - 2) * model.pair[edge(i, j)]

    if triangles:

        @model.Constraint([(i, r, j) for i, r, j in permutations(range(data.n), 3) if i < j])
        def triangle(model: pyo.ConcreteModel, i: int, r: int, j: int) -> object:
            return model.pair[edge(i, r)] + model.pair[edge(r, j)] - model.pair[i, j] <= 1

    model.reduced_cost = pyo.Objective(
        expr=pyo.quicksum(float(cost[i, j]) * model.pair[i, j] for i, j in model.pairs)
    )
    return model


def edge(i: int, j: int) -> tuple[int, int]:
    """The pair with the smaller row first."""
    return (i, j) if i < j else (j, i)


def read_cluster(model: pyo.ConcreteModel) -> NDArray[np.int64]:
    """The rows of the cluster that a solved model found."""
    ends = {row for pair in model.pairs if pyo.value(model.pair[pair]) > 0.5 for row in pair}
    return np.array(sorted(ends), dtype=np.int64)


def load_cluster(model: pyo.ConcreteModel, rows: ArrayLike) -> None:
    """Give all variables the values that follow from a cluster."""
    cluster = set(checked_cluster(rows, list(model.rows)))
    model.pair.set_values({(i, j): int({i, j} <= cluster) for i, j in model.pairs})
