"""A table in units of loss: what every baseline reads instead of the raw columns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kanopy.instances.microdata import Microdata


class Scaled(NamedTuple):
    """Rows such that widths and further values are losses already (003, eq. 34, definition 8).

    ``points`` are the numeric columns, one a line, times weight / (U − L), so that the loss of a
    class is the sum of its widths; ``codes`` are the nominal columns, one a line, numbered on from
    column to column so that a code names its column, too; a class that takes in a further value
    loses its ``price``.
    """

    points: NDArray[np.float64]
    codes: NDArray[np.int32]
    price: NDArray[np.float64]

    def order(self) -> NDArray[np.int64]:
        """The rows sorted by their columns, first column first: neighbours at no cost."""
        keys = [*self.points, *self.codes]
        return np.lexsort(keys[::-1]).astype(np.int64)


def scaled(data: Microdata) -> Scaled:
    """The table in units of loss; a column without width loses nothing.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [20, 30, 60], "sex": ["f", "m", "m"]})
    >>> table = scaled(Microdata.from_frame(frame, standardize=False))
    >>> (table.points * 40).tolist(), table.codes.tolist(), table.price.tolist()
    ([[20.0, 30.0, 60.0]], [[0, 1, 1]], [0.5, 0.5])
    """
    widths = data.upper - data.lower
    factor = np.divide(data.numeric_weights, widths, out=np.zeros_like(widths), where=widths > 0)
    sizes = np.array([len(values) for values in data.categories], dtype=np.int64)
    codes = data.codes + (np.cumsum(sizes) - sizes)
    return Scaled(
        np.ascontiguousarray((data.X * factor).T),
        np.ascontiguousarray(codes.T, dtype=np.int32),
        np.repeat(data.nominal_weights / data.domain_sizes, sizes),
    )
