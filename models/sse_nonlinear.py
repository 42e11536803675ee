r"""Microaggregation as one nonlinear program in pair variables (002, eq. 7).

z_ij says that rows i and j share a cluster::

    min   ½ Σ_i ( Σ_{j≠i} (a_i − a_j)² z_ij ) / ( Σ_{j≠i} z_ij + 1 )
    s.t.  z_ij = z_ji                        for all i ≠ j
          Σ_{j≠i} z_ij ≥ k − 1               for all i
          z_ir + z_rj − z_ij ≤ 1             for all i < j and r ≠ i, j
          z_ij ∈ {0, 1}                      for all i ≠ j

The denominator is the size of i's cluster, so the objective is SSE (proposition 3.1). It is
neither linear nor convex: the model documents the problem and evaluates partitions, and no linear
solver takes it. The paper prints the third kind for i < r < j only; that lets the first row of a
triple be linked to two rows that are not linked, so all three choices of r are stated here, as in
the paper's text.

Components: ``together[i, j]`` z for ordered pairs, ``symmetric``, ``least``, ``triangle[i, r, j]``,
objective ``sse``.

>>> import pandas as pd
>>> data = Microdata.from_frame(pd.DataFrame({"a": [0.0, 2.0, 5.0, 6.0]}), standardize=False)
>>> model = sse_nonlinear(data, 2)
>>> load_labels(model, [0, 0, 1, 1])
>>> pyo.value(model.sse)
2.5
"""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike, NDArray

from kanopy.instances.microdata import Microdata
from kanopy.models.factory import register
from kanopy.models.links import checked_labels, linked_labels
from kanopy.models.pairs import squared_distances

__all__ = ["load_labels", "read_labels", "sse_nonlinear"]


@register("sse-nonlinear", kinds=("numeric",))
def sse_nonlinear(data: Microdata, k: int) -> pyo.ConcreteModel:
    """Build the nonlinear model."""
    distance = squared_distances(data)
    model = pyo.ConcreteModel()
    model.rows = pyo.RangeSet(0, data.n - 1)
    ordered = list(permutations(range(data.n), 2))
    model.pairs = pyo.Set(dimen=2, initialize=ordered)
    model.together = pyo.Var(model.pairs, domain=pyo.Binary)
    others = {i: [j for j in range(data.n) if j != i] for i in range(data.n)}

    @model.Constraint([(i, j) for i, j in ordered if i < j])
    def symmetric(model: pyo.ConcreteModel, i: int, j: int) -> object:
        return model.together[i, j] == model.together[j, i]

    @model.Constraint(model.rows)
    def least(model: pyo.ConcreteModel, i: int) -> object:
        return pyo.quicksum(model.together[i, j] for j in others[i]) >= k - 1

    @model.Constraint([(i, r, j) for i, r, j in permutations(range(data.n), 3) if i < j])
    def triangle(model: pyo.ConcreteModel, i: int, r: int, j: int) -> object:
        return model.together[i, r] + model.together[r, j] - model.together[i, j] <= 1

    def of_row(i: int) -> object:
        spread = pyo.quicksum(float(distance[i, j]) * model.together[i, j] for j in others[i])
        return spread / (pyo.quicksum(model.together[i, j] for j in others[i]) + 1)

    model.sse = pyo.Objective(expr=0.5 * pyo.quicksum(of_row(i) for i in model.rows))
    return model


def read_labels(model: pyo.ConcreteModel) -> NDArray[np.int64]:
    """Labels of the partition that a model holds."""
    linked = [pair for pair in model.pairs if pyo.value(model.together[pair]) > 0.5]
    return linked_labels(len(model.rows), linked)


def load_labels(model: pyo.ConcreteModel, labels: ArrayLike) -> None:
    """Give all variables the values that follow from a partition."""
    given = checked_labels(labels, len(model.rows))
    model.together.set_values({(i, j): int(given[i] == given[j]) for i, j in model.pairs})
