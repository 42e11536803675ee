"""What anonymisation does to a multinomial logistic regression (000, 6.2.8).

One categorical attribute is explained by all others, each a set of indicator variables. The model
is fitted before and after; both then estimate, for every row of the *original* table, how probable
each value of the attribute is. The thesis does not say for which rows: on these both models answer
the same question, also where the number of rows has changed.

Estimates are of maximum likelihood, with no penalty. Where a value never occurs together with
another one there is no finite estimate; the solver then ends at probabilities close to 0 and 1,
which is their limit. Needs scikit-learn: ``pip install 'kanopy[study]'``.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kanopy.instances.errors import KanopyError, unknown

_ITERATIONS = 500


@dataclass(frozen=True)
class RegressionChange:
    """Fit before and after, and how far the estimated probabilities of each value moved.

    Attributes
    ----------
    pseudo_r2, released_pseudo_r2
        McFadden's pseudo-R² of the models on their own tables, 1 − log L / log L₀ with L₀ the
        likelihood of a model without predictors; NaN if the attribute has one value only.
    distances
        For each value in the original, the ℓ₂ distance √Σ_i (p_i − p̃_i)² over the original rows. A
        value that the release has lost has the probability 0 there.
    """

    pseudo_r2: float
    released_pseudo_r2: float
    distances: Mapping[Hashable, float]


def regression_change(
    original: pd.DataFrame, release: pd.DataFrame, dependent: str
) -> RegressionChange:
    """Compare the regressions of an attribute on all others, before and after.

    Both tables need the columns of ``original``; pass quasi-identifiers only.

    >>> table = pd.DataFrame({"sex": list("ffmmffmm"), "job": list("aabbabba")})
    >>> change = regression_change(table, table, "job")
    >>> round(change.pseudo_r2, 3), change.distances
    (0.189, {'a': 0.0, 'b': 0.0})
    """
    missing = [str(name) for name in original.columns if name not in release.columns]
    if missing:
        raise KanopyError(f"the release lacks the columns {', '.join(missing)}")
    release = release[list(original.columns)]
    if len(release) == 0:
        raise KanopyError("the release has no rows; there is nothing to fit")
    before = _Model(original, dependent, (original, release))
    after = _Model(release, dependent, (original, release))
    old, new = before.probabilities(original), after.probabilities(original)
    distances = {
        value: float(np.linalg.norm(old[value] - new.get(value, 0.0))) for value in before.values
    }
    return RegressionChange(before.pseudo_r2, after.pseudo_r2, distances)


def pseudo_r2(table: pd.DataFrame, dependent: str) -> float:
    """McFadden's pseudo-R² of the regression of an attribute on all others.

    >>> table = pd.DataFrame({"sex": list("ffmmffmm"), "job": list("aabbabba")})
    >>> round(pseudo_r2(table, "job"), 3)
    0.189
    """
    return _Model(table, dependent, (table,)).pseudo_r2


class _Model:
    """The regression of one table, with indicators for all values of some tables."""

    def __init__(self, table: pd.DataFrame, dependent: str, tables: Sequence[pd.DataFrame]) -> None:
        if dependent not in table.columns:
            raise unknown("column", dependent, [str(name) for name in table.columns])
        if len(table.columns) < 2:
            raise KanopyError("a regression needs at least one further column")
        self._levels = {
            name: pd.unique(pd.concat([other[name].astype(object) for other in tables]))
            for name in table.columns
            if name != dependent
        }
        cells = table.groupby(list(table.columns), observed=True, dropna=False).size()
        weights = cells.to_numpy(dtype=np.float64)  # equal rows are one row with a weight
        rows = cells.index.to_frame(index=False)
        target = rows[dependent].astype(object)
        code, values = pd.factorize(target, sort=True)
        self.values: list[Hashable] = list(values)
        self._model: Any = None
        self.pseudo_r2 = float("nan")
        if len(values) == 1:
            return
        # In scikit-learn C is the inverse of the penalty's weight.
        self._model = _linear_model().LogisticRegression(C=np.inf, tol=1e-5, max_iter=_ITERATIONS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # slow convergence is the rule where it has no end
            self._model.fit(self._indicators(rows), code, sample_weight=weights)
        estimated = self._model.predict_proba(self._indicators(rows))[np.arange(len(code)), code]
        share = np.bincount(code, weights=weights) / weights.sum()
        likelihood = float(weights @ np.log(np.maximum(estimated, 1e-300)))
        self.pseudo_r2 = 1.0 - likelihood / float(weights @ np.log(share[code]))

    def probabilities(self, table: pd.DataFrame) -> dict[Hashable, NDArray[np.float64]]:
        """For each value, its estimated probability in each row."""
        if self._model is None:
            return {self.values[0]: np.ones(len(table))}
        estimated = self._model.predict_proba(self._indicators(table))
        return {value: estimated[:, j] for j, value in enumerate(self.values)}

    def _indicators(self, table: pd.DataFrame) -> NDArray[np.float64]:
        """One column per value of each predictor but the first, which is the reference."""
        columns = [
            (table[name].astype(object).to_numpy()[:, None] == levels[None, 1:])
            for name, levels in self._levels.items()
        ]
        return np.hstack([np.zeros((len(table), 1)), *columns]).astype(np.float64)


def _linear_model() -> Any:
    try:
        return importlib.import_module("sklearn.linear_model")
    except ImportError as error:
        raise KanopyError(
            "regressions need scikit-learn; get it with: pip install 'kanopy[study]'"
        ) from error
