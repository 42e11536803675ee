r"""Microaggregation around candidate centres (001, fig. 9.2).

Symbols: X the rows, S candidate centres, δ(j, i) distance of row j and centre i; x_ij says that
row j belongs to centre i, y_i that centre i is active::

    min   Σ_ij x_ij δ(j, i)²
    s.t.  (1)  Σ_i x_ij = 1               for all rows j
          (2)  x_ij ≤ y_i                 for all i, j
          (3)  Σ_j x_ij ≥ k y_i           for all i
          (4), (5)  0 ≤ x_ij, y_i ≤ 1
          (6)  Σ_j x_ij ≤ (2k − 1) y_i    for all i       (the size cut)

``candidates``:

- ``"grid"``: points at most ε apart along each axis, between the least and the largest value;
- ``"pairs"``: the midpoints of all pairs of rows;
- ``"centroids"``: the centroid of every set of k to 2k−1 rows, one candidate per set even where
  two sets share a centroid;
- or an array of points in the units of ``data.X``.

``relaxed=False`` asks for whole x and y.

*What it bounds.* Let OPT be the least SSE. Moving a cluster's centre away from its centroid by
distance r adds |C|r² to its cost (001, theorem 2.15). So whole solutions cost at least the SSE of
their partition, and the whole optimum is ≥ OPT whatever S is: an upper bound. For a lower bound by
the relaxation, the best partition must have a counterpart of known cost in the model:

- ``"centroids"``: each cluster at its own candidate, at cost OPT. The relaxation is ≤ OPT.
- ``"grid"``: each cluster at the nearest candidate, at cost ≤ OPT + n·α², where α² = Σ_d (ε_d/2)²
  with ε_d ≤ ε the spacing along axis d. The relaxation minus n·α² is ≤ OPT, *provided* two clusters
  may share a candidate. Without (6) they may: together they are one cluster with y_i = 1. With (6)
  they may not, against the thesis, which adds (6) as safe: four equal rows and k = 2 have the two
  clusters of an optimum at one grid point, where (5) and (6) admit three rows. ``shared=True``
  lets y_i count the clusters at a candidate (y_i ≤ ⌊n/k⌋ in place of (5)), and (6) is safe again.
- ``"pairs"`` and given points: no bound follows, since a centroid may be arbitrarily far away.

:func:`sse_bound` gives the bound where one is proven, and None elsewhere.

Components: ``member[i, j]`` x, ``opened[i]`` y, ``assign[j]`` (1), ``only_opened[i, j]`` (2),
``least[i]`` (3), ``most[i]`` (6), objective ``distortion``.

>>> import pandas as pd
>>> data = Microdata.from_frame(pd.DataFrame({"a": [0.0, 2.0, 5.0, 6.0]}), standardize=False)
>>> model = center_lp(data, 2, candidates=np.array([[1.0], [5.5]]))
>>> load_labels(model, [0, 0, 1, 1])
>>> pyo.value(model.distortion)
2.5
"""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike, NDArray

from kanopy.instances.errors import KanopyError, unknown
from kanopy.instances.microdata import Microdata
from kanopy.models.factory import register
from kanopy.models.links import checked_labels

__all__ = ["center_lp", "load_labels", "read_labels", "read_memberships", "sse_bound"]

CANDIDATES = ("grid", "pairs", "centroids")
MOST_MEMBERSHIPS = 1_000_000


@register("center-lp", kinds=("numeric",))
def center_lp(
    data: Microdata,
    k: int,
    *,
    candidates: str | NDArray[np.float64] = "grid",
    epsilon: float = 0.5,
    size_cut: bool = True,
    shared: bool = False,
    relaxed: bool = True,
) -> pyo.ConcreteModel:
    """Build the model of fig. 9.2.

    Parameters
    ----------
    candidates
        S; see above.
    epsilon
        ε of the grid, in the units of ``data.X`` times √weight.
    size_cut
        Add (6).
    shared
        Let several clusters share a candidate; see above.
    relaxed
        The linear relaxation (as printed) or whole x and y.
    """
    centers, excess = _candidates(data, k, candidates, epsilon)
    if len(centers) * data.n > MOST_MEMBERSHIPS:
        raise KanopyError(
            f"{len(centers)} candidates for {data.n} rows make more than {MOST_MEMBERSHIPS} "
            "variables; choose a larger epsilon or give fewer candidates"
        )
    distance = ((centers[:, None, :] - data.points[None, :, :]) ** 2).sum(axis=2)
    lone = isinstance(candidates, str) and candidates == "centroids"
    model = pyo.ConcreteModel()
    model.points, model.places = data.points, centers
    model.excess = excess if shared or lone or not size_cut else math.inf
    model.centers = pyo.RangeSet(0, len(centers) - 1)
    model.rows = pyo.RangeSet(0, data.n - 1)
    model.member = pyo.Var(
        model.centers, model.rows, domain=pyo.UnitInterval if relaxed else pyo.Binary
    )
    model.opened = pyo.Var(
        model.centers,
        domain=pyo.NonNegativeReals if relaxed else pyo.NonNegativeIntegers,
        bounds=(0, data.n // k if shared else 1),
    )

    @model.Constraint(model.rows)
    def assign(model: pyo.ConcreteModel, j: int) -> object:
        return pyo.quicksum(model.member[i, j] for i in model.centers) == 1

    @model.Constraint(model.centers, model.rows)
    def only_opened(model: pyo.ConcreteModel, i: int, j: int) -> object:
        return model.member[i, j] <= model.opened[i]

    @model.Constraint(model.centers)
    def least(model: pyo.ConcreteModel, i: int) -> object:
        return pyo.quicksum(model.member[i, j] for j in model.rows) >= k * model.opened[i]

    if size_cut:

        @model.Constraint(model.centers)
        def most(model: pyo.ConcreteModel, i: int) -> object:
            members = pyo.quicksum(model.member[i, j] for j in model.rows)
            return members <= (2 * k - 1) * model.opened[i]

    model.distortion = pyo.Objective(
        expr=pyo.quicksum(
            float(distance[i, j]) * model.member[i, j] for i in model.centers for j in model.rows
        )
    )
    return model


def _candidates(
    data: Microdata, k: int, candidates: str | NDArray[np.float64], epsilon: float
) -> tuple[NDArray[np.float64], float]:
    """The candidates, and by how much they may raise the cost of the best partition at most."""
    points = data.points
    if not isinstance(candidates, str):
        given = np.asarray(candidates, dtype=np.float64)
        if given.ndim != 2 or given.shape[1] != points.shape[1] or len(given) == 0:
            raise KanopyError(
                f"candidates must be points of {points.shape[1]} coordinates each, one per row of "
                f"a matrix; their shape is {given.shape}"
            )
        return given * np.sqrt(data.numeric_weights), math.inf
    if candidates == "pairs":
        first, second = np.triu_indices(data.n, 1)
        return np.unique((points[first] + points[second]) / 2, axis=0), math.inf
    if candidates == "centroids":
        sizes = range(k, min(2 * k - 1, data.n) + 1)
        number = sum(math.comb(data.n, size) for size in sizes)
        if number * data.n > MOST_MEMBERSHIPS:
            raise KanopyError(f"{data.n} rows have {number} sets of {k} to {2 * k - 1}: too many")
        sets = (rows for size in sizes for rows in combinations(range(data.n), size))
        return np.array([points[list(rows)].mean(axis=0) for rows in sets]), 0.0
    if candidates != "grid":
        raise unknown("candidates", candidates, CANDIDATES)
    if not 0 < epsilon < math.inf:
        raise KanopyError(f"epsilon = {epsilon}; choose a number > 0")
    width = np.ptp(points, axis=0)
    steps = np.ceil(width / epsilon).astype(np.int64)
    if float(np.prod(steps + 1.0)) * data.n > MOST_MEMBERSHIPS:
        raise KanopyError(
            f"a grid of {'·'.join(str(s + 1) for s in steps)} points for {data.n} rows makes more "
            f"than {MOST_MEMBERSHIPS} variables; choose epsilon > {epsilon}"
        )
    axes = [
        np.linspace(low, low + span, int(s) + 1)
        for low, span, s in zip(points.min(axis=0), width, steps, strict=True)
    ]
    spacing = width / np.maximum(steps, 1)
    return np.array(list(product(*axes))), data.n * float(((spacing / 2) ** 2).sum())


def sse_bound(model: pyo.ConcreteModel, value: float) -> float | None:
    """Proven lower bound of the least SSE from the model's optimal value; None if there is none."""
    return None if math.isinf(model.excess) else value - model.excess


def read_memberships(model: pyo.ConcreteModel) -> NDArray[np.float64]:
    """The memberships x as a matrix of centres × rows."""
    values = [pyo.value(model.member[i, j]) for i in model.centers for j in model.rows]
    return np.array(values).reshape(len(model.centers), len(model.rows))


def read_labels(model: pyo.ConcreteModel) -> NDArray[np.int64]:
    """Labels of a whole solution: rows of the same centre share a cluster."""
    chosen = read_memberships(model).argmax(axis=0)
    return np.unique(chosen, return_inverse=True)[1].astype(np.int64)


def load_labels(model: pyo.ConcreteModel, labels: ArrayLike) -> None:
    """Put every cluster of a partition at the candidate nearest to its centroid."""
    given = checked_labels(labels, len(model.rows))
    model.member.set_values(dict.fromkeys(model.member, 0))
    model.opened.set_values(dict.fromkeys(model.opened, 0))
    for label in np.unique(given):
        rows = np.flatnonzero(given == label)
        away = ((model.places - model.points[rows].mean(axis=0)) ** 2).sum(axis=1)
        i = int(away.argmin())
        model.opened[i].set_value(pyo.value(model.opened[i]) + 1, skip_validation=True)
        for j in rows.tolist():
            model.member[i, j].set_value(1)
