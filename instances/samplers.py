"""Subsets of a table: the four extraction criteria of 002, section 6."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from kanopy.instances.arguments import checked_seed, is_known, whole_number
from kanopy.instances.errors import KanopyError, unknown
from kanopy.instances.microdata import Microdata

Criterion = Literal["consecutive", "random", "norm", "centroid"]


def sample(
    data: Microdata,
    size: int,
    criterion: Criterion = "random",
    number: int = 0,
    seed: int = 0,
    subsets: int = 5,
) -> Microdata:
    """The number-th of several subsets of ``size`` rows, an instance of its own.

    ``"consecutive"`` takes neighbouring rows of the table, ``"norm"`` of the table ordered by the
    rows' L2 norm, ``"centroid"`` ordered by their L2 distance to the centroid, and ``"random"``
    draws rows without replacement, from ``seed`` and ``number``.

    002 does not say how the five subsets of a criterion are cut. Here subset i of s starts at row
    ⌊i·(n − size)/(s − 1)⌋ of the order: evenly from one end to the other, apart as far as the rows
    allow. Norm and distance are taken in the table's own units, since of standardised rows they
    are the same; rows that tie keep the table's order. Nominal columns play no part in them. The
    rows of the subset keep the order that they were cut from.

    Examples
    --------
    >>> from kanopy.instances.simulated import simu
    >>> data = simu(n=100, d=2)
    >>> sample(data, 10, "consecutive", number=4).frame.index.tolist()[0]
    90
    """
    return data.take(sample_rows(data, size, criterion, number, seed, subsets))


def sample_rows(
    data: Microdata,
    size: int,
    criterion: Criterion = "random",
    number: int = 0,
    seed: int = 0,
    subsets: int = 5,
) -> NDArray[np.int64]:
    """Positions of the rows that :func:`sample` takes."""
    if not is_known(criterion, get_args(Criterion)):
        raise unknown("criterion", criterion, get_args(Criterion))
    whole_number(subsets, "subsets", least=1)
    if not 0 <= whole_number(number, "number") < subsets:
        raise KanopyError(f"number = {number}; subsets are counted from 0 to {subsets - 1}")
    if criterion == "random":
        return random_rows(data.n, size, seed, number)
    _check_size(data.n, size)
    start = number * (data.n - size) // max(subsets - 1, 1)
    return _order(data, criterion)[start : start + size]


def random_rows(n: int, size: int, seed: int = 0, number: int = 0) -> NDArray[np.int64]:
    """``size`` of n positions, drawn without replacement, ascending.

    >>> random_rows(5, 5).tolist()
    [0, 1, 2, 3, 4]
    """
    _check_size(n, size)
    rng = np.random.default_rng([checked_seed(seed), number])
    return np.sort(rng.choice(n, size=size, replace=False)).astype(np.int64)


def _order(data: Microdata, criterion: Criterion) -> NDArray[np.int64]:
    if criterion == "consecutive":
        return np.arange(data.n)
    if not data.numeric:
        raise KanopyError(f"criterion {criterion!r} needs numeric columns; the data have none")
    values = data.unstandardize(data.X)
    if criterion == "centroid":
        values = values - values.mean(axis=0)
    return np.argsort(np.linalg.norm(values, axis=1), kind="stable")


def _check_size(n: int, size: int) -> None:
    if not 1 <= whole_number(size, "size") <= n:
        raise KanopyError(f"size = {size}, but there are {n} rows; choose 1 to {n}")
