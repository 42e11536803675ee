r"""Generalisation of ranges with pairwise equivalence variables (003, eq. 21–36).

Symbols: x_ij value of attribute j in row i, [L_j, U_j] its permissible range, w_j its weight;
[y_ij, z_ij] the range that row i is published with; v_il says that rows i and l are published
alike::

    min   Σ_ij w_j (z_ij − y_ij) / (U_j − L_j)                              (21), (34)
    s.t.  −M^y_ilj (1 − v_il) ≤ y_ij − y_lj ≤ M^y_ilj (1 − v_il)            (22), (23)
          −M^z_ilj (1 − v_il) ≤ z_ij − z_lj ≤ M^z_ilj (1 − v_il)            (24), (25)
          Σ_{l≠i} v_il ≥ k − 1                for all i                     (26)
          L_j ≤ y_ij ≤ x_ij ≤ z_ij ≤ U_j      whole for discrete j          (27), (28)
          M^y = max(x_ij, x_lj) − L_j,   M^z = U_j − min(x_ij, x_lj)        (29)–(32)

Decisions:

- v_il and v_li mean the same, so there is one variable per pair i < l. (From a solution of the
  printed model with both, the larger of the two makes one of this model.)
- Σw = 1 (35) is left to the caller: the weights are those of the data.
- Attributes whose values and limits are all whole numbers are discrete unless ``discrete`` names
  others. It makes no difference to the optimum: given v, the best y and z are values of x.
- A constant attribute (U = L) loses nothing and is left out.
- A categorical attribute with |H| permissible values becomes |H| binary columns, x_ih = 1 if row i
  has value h, each of weight w/|H| (003, 2.5). Charging z − y would cost d/|H| for a class with
  d ≥ 2 values, but the measure that the paper reports (definition 8) is (d − 1)/|H|. Since row i
  has exactly one value, Σ_h (z_ih − x_ih) = d − 1, so ``categorical="ncp"`` (the default) charges
  z − x and needs no y; then the optimum is the cost ``range``. ``categorical="binary"`` charges
  z − y as printed. Values that never occur stay at z = 0 and get no column.

Components: ``low[i, c]`` y and ``high[i, c]`` z over rows and columns, ``alike[i, l]`` v for
i < l; ``low_up``, ``low_down``, ``high_up``, ``high_down`` (22)–(25), ``least[i]`` (26);
objective ``loss``. Columns are numbered, numeric attributes first; ``columns`` keeps what they
stand for.

Linked rows are published alike, so classes are the connected components of v: two rows may be
linked by way of others only (003, definition 6). The components have at least k rows, and their
``range`` cost is at most the objective, hence equal to it at an optimum.

>>> from kanopy.instances.examples import example, partition
>>> model = pairwise(example("fars"), 3)
>>> load_labels(model, partition("fars-equal"))
>>> round(pyo.value(model.loss), 6)
4.816532
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike, NDArray

from kanopy.instances.columns import numeric_values
from kanopy.instances.errors import unknown
from kanopy.instances.microdata import Microdata
from kanopy.models.factory import register
from kanopy.models.links import checked_labels, linked_labels

__all__ = ["load_labels", "pairwise", "read_labels", "read_ranges"]

CATEGORICAL = ("ncp", "binary")


@dataclass(frozen=True, eq=False)
class Column:
    """A number or 0/1 column of the model.

    ``price`` is what one unit of z − y costs; ``upward`` columns charge z − x and have no y.
    """

    name: str
    values: NDArray[np.float64]
    lower: float
    upper: float
    price: float
    discrete: bool
    upward: bool = False


@register("pairwise", kinds=("numeric", "nominal", "mixed"))
def pairwise(
    data: Microdata,
    k: int,
    *,
    discrete: Sequence[str] | None = None,
    categorical: Literal["ncp", "binary"] = "ncp",
) -> pyo.ConcreteModel:
    """Build the pairwise model.

    Parameters
    ----------
    discrete
        The attributes S^D whose ranges must end in whole numbers; by default all those whose
        values and limits are whole, and all categorical ones.
    categorical
        How categorical attributes are charged; see above.
    """
    if categorical not in CATEGORICAL:
        raise unknown("treatment of categorical attributes", categorical, CATEGORICAL)
    for name in discrete or ():
        if name not in (*data.numeric, *data.nominal):
            raise unknown("attribute in discrete", name, (*data.numeric, *data.nominal))
    columns = [
        *_numeric_columns(data, discrete),
        *_binary_columns(data, discrete, categorical == "ncp"),
    ]
    model = pyo.ConcreteModel()
    model.columns = columns
    model.rows = pyo.RangeSet(0, data.n - 1)
    model.pairs = pyo.Set(dimen=2, initialize=list(combinations(range(data.n), 2)))
    model.alike = pyo.Var(model.pairs, domain=pyo.Binary)
    _add_bounds(model, columns)
    _link(model, columns)

    @model.Constraint(model.rows)
    def least(model: pyo.ConcreteModel, i: int) -> object:
        before = (model.alike[j, i] for j in range(i))
        after = (model.alike[i, j] for j in range(i + 1, data.n))
        return pyo.quicksum([*before, *after]) >= k - 1

    def charge(i: int, c: int) -> object:
        column = columns[c]
        low = float(column.values[i]) if column.upward else model.low[i, c]
        return column.price * (model.high[i, c] - low)

    model.loss = pyo.Objective(expr=pyo.quicksum(charge(i, c) for i, c in model.high))
    return model


def _numeric_columns(data: Microdata, discrete: Sequence[str] | None) -> list[Column]:
    """Numeric attributes in the table's own units, where whole numbers can be told."""
    columns = []
    widths = data.upper - data.lower
    for j, name in enumerate(data.numeric):
        if widths[j] == 0:
            continue
        values = numeric_values(data.frame[name])
        lower, upper = _limits(data, j, values)
        limits = np.array([lower, upper, *values])
        whole = bool(np.all(limits == np.round(limits)))
        columns.append(
            Column(
                name,
                values,
                float(lower),
                float(upper),
                float(data.numeric_weights[j]) / (float(upper) - float(lower)),
                whole if discrete is None else name in discrete,
            )
        )
    return columns


def _limits(data: Microdata, j: int, values: NDArray[np.float64]) -> tuple[float, float]:
    """Permissible range in the table's own units, also of rows that a larger table is known by."""
    domain = data.domains.get(data.numeric[j])
    if isinstance(domain, tuple):
        return domain
    ends = np.array([data.lower[j], data.upper[j]]) * data.scale[j] + data.center[j]
    # What standardisation rounded is put right where all is whole, or at a value that occurs.
    if np.all(values == np.round(values)) and np.allclose(ends, np.round(ends), rtol=1e-12, atol=0):
        ends = np.round(ends)
    nearest = np.array([values.min(), values.max()])
    ends = np.where(np.isclose(ends, nearest, rtol=1e-12, atol=0), nearest, ends)
    return float(min(ends[0], nearest[0])), float(max(ends[1], nearest[1]))


def _binary_columns(data: Microdata, discrete: Sequence[str] | None, upward: bool) -> list[Column]:
    columns = []
    for j, name in enumerate(data.nominal):
        price = float(data.nominal_weights[j]) / int(data.domain_sizes[j])
        whole = discrete is None or name in discrete
        for value in np.unique(data.codes[:, j]).tolist():
            present = (data.codes[:, j] == value).astype(np.float64)
            columns.append(Column(name, present, 0.0, 1.0, price, whole, upward))
    return columns


def _add_bounds(model: pyo.ConcreteModel, columns: list[Column]) -> None:
    cells = [(i, c) for i in model.rows for c in range(len(columns))]
    below = [(i, c) for i, c in cells if not columns[c].upward]

    def domain(model: pyo.ConcreteModel, i: int, c: int) -> object:
        return pyo.Integers if columns[c].discrete else pyo.Reals

    def up_to_value(model: pyo.ConcreteModel, i: int, c: int) -> tuple[float, float]:
        return columns[c].lower, float(columns[c].values[i])

    def from_value(model: pyo.ConcreteModel, i: int, c: int) -> tuple[float, float]:
        return float(columns[c].values[i]), columns[c].upper

    model.low = pyo.Var(below, domain=domain, bounds=up_to_value)
    model.high = pyo.Var(cells, domain=domain, bounds=from_value)


def _link(model: pyo.ConcreteModel, columns: list[Column]) -> None:
    triples = [(i, j, c) for i, j in model.pairs for c in range(len(columns))]
    with_low = [(i, j, c) for i, j, c in triples if not columns[c].upward]

    def most_low(i: int, j: int, c: int) -> float:  # (29)
        return float(max(columns[c].values[i], columns[c].values[j])) - columns[c].lower

    def most_high(i: int, j: int, c: int) -> float:  # (31)
        return columns[c].upper - float(min(columns[c].values[i], columns[c].values[j]))

    @model.Constraint(with_low)
    def low_up(model: pyo.ConcreteModel, i: int, j: int, c: int) -> object:
        free = most_low(i, j, c) * (1 - model.alike[i, j])
        return model.low[i, c] - model.low[j, c] <= free

    @model.Constraint(with_low)
    def low_down(model: pyo.ConcreteModel, i: int, j: int, c: int) -> object:
        free = most_low(i, j, c) * (1 - model.alike[i, j])
        return model.low[i, c] - model.low[j, c] >= -free

    @model.Constraint(triples)
    def high_up(model: pyo.ConcreteModel, i: int, j: int, c: int) -> object:
        free = most_high(i, j, c) * (1 - model.alike[i, j])
        return model.high[i, c] - model.high[j, c] <= free

    @model.Constraint(triples)
    def high_down(model: pyo.ConcreteModel, i: int, j: int, c: int) -> object:
        free = most_high(i, j, c) * (1 - model.alike[i, j])
        return model.high[i, c] - model.high[j, c] >= -free


def read_labels(model: pyo.ConcreteModel) -> NDArray[np.int64]:
    """The classes of a solved model, linked rows sharing one directly or by way of others."""
    linked = [pair for pair in model.pairs if pyo.value(model.alike[pair]) > 0.5]
    return linked_labels(len(model.rows), linked)


def read_ranges(model: pyo.ConcreteModel) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Matrices y and z of rows × columns; without a y, the least x in the class."""
    shape = (len(model.rows), len(model.columns))
    low, high = np.empty(shape), np.empty(shape)
    labels = read_labels(model)
    for c, column in enumerate(model.columns):
        high[:, c] = [pyo.value(model.high[i, c]) for i in model.rows]
        if column.upward:
            low[:, c] = [column.values[labels == label].min() for label in labels]
        else:
            low[:, c] = [pyo.value(model.low[i, c]) for i in model.rows]
    return low, high


def load_labels(model: pyo.ConcreteModel, labels: ArrayLike) -> None:
    """Give all variables the values that follow from a partition: the classes' own ranges."""
    given = checked_labels(labels, len(model.rows))
    model.alike.set_values({(i, j): int(given[i] == given[j]) for i, j in model.pairs})
    for label in np.unique(given):
        rows = np.flatnonzero(given == label)
        for c, column in enumerate(model.columns):
            least, most = column.values[rows].min(), column.values[rows].max()
            for i in rows.tolist():
                model.high[i, c].set_value(float(most))
                if not column.upward:
                    model.low[i, c].set_value(float(least))
