r"""scikit-learn estimators: microaggregation and generalisation as steps of a pipeline.

They need scikit-learn (``pip install 'kanopy[sklearn]'``), which nothing else here imports. The
constructor stores, ``fit`` solves, and what was found ends in an underscore; parameters mean what
they mean in :func:`kanopy.solve`.

A fitted estimator holds the original rows, and so does whatever it is pickled into.

>>> import pandas as pd
>>> people = pd.DataFrame({"age": [30, 34, 31, 52, 58, 55], "income": [20, 25, 21, 60, 61, 66]})
>>> Microaggregation(k=3).fit_transform(people).round(2).drop_duplicates()
     age  income
0  31.67   22.00
3  55.00   62.33
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import KDTree

from kanopy.instances.errors import KanopyError
from kanopy.instances.merge import merge_rows
from kanopy.instances.microdata import Microdata
from kanopy.solution import Solution
from kanopy.solvers.stop import StoppingRule
from kanopy.solving import solve

try:
    from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
    from sklearn.utils.validation import check_is_fitted, check_random_state, validate_data
except ImportError as missing:
    raise ImportError(
        "kanopy's estimators need scikit-learn; get it with: pip install 'kanopy[sklearn]'"
    ) from missing

Weights = Mapping[str, float] | Sequence[float] | NDArray[np.float64]


class _Partitioner(BaseEstimator):  # type: ignore[misc]
    """What both estimators share: parameters of ``solve``, and what a solution leaves behind."""

    k: int
    method: str
    options: Mapping[str, Any] | None
    stop: StoppingRule | None
    random_state: Any

    def _solve(self, data: Microdata, cost: str | None) -> Solution:
        seed = self.random_state
        if seed is None or not isinstance(seed, int | np.integer):
            seed = check_random_state(seed).randint(2**31 - 1)
        solution = solve(
            data,
            self.k,
            self.method,
            cost=cost,
            stop=self.stop,
            seed=int(seed),
            options=self.options,
        )
        if solution.labels is None:
            raise KanopyError(
                f"method {self.method!r} gives no partition; choose one of shape partition in "
                "kanopy.methods()"
            )
        self.solution_ = solution
        self.labels_ = solution.labels
        self.objective_ = solution.objective
        self.bound_ = solution.bound
        self.gap_ = solution.gap
        self.n_classes_ = len(solution.sizes)
        return solution


class Microaggregation(OneToOneFeatureMixin, TransformerMixin, _Partitioner):  # type: ignore[misc]
    """Replace the rows of a numeric table by the means of classes of at least k rows.

    Parameters
    ----------
    k
        Least size of a class.
    method
        A partitioning method for the cost ``sse``, by its name in :func:`kanopy.methods`.
    options
        Options of the method.
    weights
        Weight of each column, by name or in order; 1 by default.
    standardize
        Measure distances in standard deviations of the columns, so that units do not matter.
    stop
        When to end, e.g. ``MaxRuntime(10)``.
    random_state
        Seed of all randomness; None draws another one in each ``fit``.

    Attributes
    ----------
    labels_
        Class 0, 1, 2, … of each row.
    centroids_
        Mean of each class, in the table's own units.
    objective_, bound_, gap_
        Squared error, its proven lower bound (None where the method gives none) and
        ``(objective − bound) / objective``.
    n_classes_
        Number of classes.
    solution_
        The whole :class:`kanopy.Solution`.

    Notes
    -----
    ``fit_transform`` gives the k-anonymous table. ``transform`` gives a row of that table the mean
    of its class (where equal rows went to several classes, the first occurrence that of the first,
    and so on), and any other row the nearest mean. So every row that it returns stands for at least
    k rows of the table that was fitted; released *without* that table, a few rows need not share
    their values with k others. A data frame comes back as a data frame.

    Examples
    --------
    >>> from kanopy.estimators import Microaggregation
    >>> X = [[1.0], [2.0], [3.0], [10.0], [11.0], [12.0]]
    >>> estimator = Microaggregation(k=3, standardize=False).fit(X)
    >>> estimator.labels_.tolist(), estimator.objective_, estimator.gap_
    ([0, 0, 0, 1, 1, 1], 4.0, 0.0)
    >>> estimator.transform([[3.0], [7.5]]).ravel().tolist()
    [2.0, 11.0]
    """

    def __init__(
        self,
        k: int = 3,
        method: str = "auto",
        *,
        options: Mapping[str, Any] | None = None,
        weights: Weights | None = None,
        standardize: bool = True,
        stop: StoppingRule | None = None,
        random_state: Any = 0,
    ) -> None:
        self.k = k
        self.method = method
        self.options = options
        self.weights = weights
        self.standardize = standardize
        self.stop = stop
        self.random_state = random_state

    def fit(self, X: ArrayLike | pd.DataFrame, y: object = None) -> Self:
        """Find the classes; ``y`` is ignored."""
        values = validate_data(self, X, dtype=np.float64, ensure_min_samples=max(2, self.k))
        names = getattr(self, "feature_names_in_", None)
        columns = [f"x{j}" for j in range(values.shape[1])] if names is None else list(names)
        frame = pd.DataFrame(values, columns=columns)
        data = Microdata.from_frame(
            frame,
            numeric=columns,
            weights=self._named_weights(columns),
            standardize=self.standardize,
        )
        labels = self._solve(data, "sse").labels
        assert labels is not None
        means = frame.groupby(labels).mean()
        self.centroids_ = means.to_numpy()
        self._rows = values
        self._scale = np.sqrt(data.numeric_weights) / data.scale
        return self

    def transform(self, X: ArrayLike | pd.DataFrame) -> NDArray[np.float64] | pd.DataFrame:
        """Each row of the fitted table becomes the mean of its class, any other the nearest."""
        check_is_fitted(self)
        values = validate_data(self, X, dtype=np.float64, reset=False)
        released = self.centroids_[self._classes(values)]
        if isinstance(X, pd.DataFrame):
            return pd.DataFrame(released, index=X.index, columns=X.columns)
        return released

    def _classes(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        fitted = len(self._rows)
        together = np.vstack([self._rows, values])
        same = merge_rows([np.unique(column, return_inverse=True)[1] for column in together.T])[1]
        classes = np.empty(len(values), dtype=np.int64)
        occurrences: dict[int, list[int]] = {}
        for row, label in zip(same[:fitted].tolist(), self.labels_.tolist(), strict=True):
            occurrences.setdefault(row, []).append(label)
        used: dict[int, int] = {}
        strangers = []
        for position, row in enumerate(same[fitted:].tolist()):
            if row not in occurrences:
                strangers.append(position)
                continue
            times = used.get(row, 0)
            used[row] = times + 1
            known = occurrences[row]
            classes[position] = known[min(times, len(known) - 1)]
        if strangers:
            means = KDTree(self.centroids_ * self._scale)
            classes[strangers] = means.query(values[strangers] * self._scale)[1]
        return classes

    def _named_weights(self, columns: list[str]) -> dict[str, float] | None:
        if self.weights is None or isinstance(self.weights, Mapping):
            return None if self.weights is None else dict(self.weights)
        if len(self.weights) != len(columns):
            raise KanopyError(
                f"{len(self.weights)} weights for {len(columns)} columns; give one for each"
            )
        return dict(zip(columns, map(float, self.weights), strict=True))


class Generalisation(_Partitioner):
    """Replace the rows of a table of numbers and categories by what classes of k have in common.

    Rows of a class become ranges like ``[35-37]`` and value sets like ``{f|m}``, or what ``kind``
    asks for. There is no ``transform``: a further row belongs to no class.

    Parameters
    ----------
    k, method, options, stop, random_state
        As in :class:`Microaggregation`; the method must know the cost.
    cost
        ``range``, ``hamming`` or ``sse``.
    kind
        ``ranges``, ``members`` or ``centroids``; by default as the cost suggests.
    roles
        Further arguments of :meth:`kanopy.Microdata.from_frame`, such as ``nominal``,
        ``confidential``, ``weights``, ``domains`` or ``hierarchies``.

    Attributes
    ----------
    labels_, objective_, bound_, gap_, n_classes_, solution_
        As in :class:`Microaggregation`.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [30, 34, 52, 58], "sex": ["f", "m", "m", "m"]})
    >>> Generalisation(k=2).fit_transform(people)
           age    sex
    0  [30-34]  {f|m}
    1  [30-34]  {f|m}
    2  [52-58]      m
    3  [52-58]      m
    """

    def __init__(
        self,
        k: int = 3,
        method: str = "auto",
        *,
        cost: str = "range",
        kind: str | None = None,
        options: Mapping[str, Any] | None = None,
        roles: Mapping[str, Any] | None = None,
        stop: StoppingRule | None = None,
        random_state: Any = 0,
    ) -> None:
        self.k = k
        self.method = method
        self.cost = cost
        self.kind = kind
        self.options = options
        self.roles = roles
        self.stop = stop
        self.random_state = random_state

    def fit(self, X: pd.DataFrame, y: object = None) -> Self:
        """Find the classes; ``y`` is ignored."""
        self._solve(Microdata.from_frame(X, **(self.roles or {})), self.cost)
        return self

    def fit_transform(self, X: pd.DataFrame, y: object = None) -> pd.DataFrame:
        """Find the classes and return the anonymised table."""
        return self.fit(X).solution_.release(self.kind)
