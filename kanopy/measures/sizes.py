"""Measures of class sizes alone: discernability, average size, and the k of a table."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from kanopy.measures.checks import Table, at_least, clusters, combinations


def discernability(labels: ArrayLike) -> int:
    """Discernability metric C_DM = Σ_j |C_j|² (001, definition 3.7).

    >>> discernability([0, 0, 0, 1, 1, 1])
    18
    """
    return int((np.bincount(clusters(labels)) ** 2).sum())


def average_class_size(labels: ArrayLike, k: int) -> float:
    """Normalised average class size C_AVG = (n / number of clusters) / k (001, definition 3.7).

    1 is the best a k-anonymous table can reach.

    >>> average_class_size([0, 0, 0, 1, 1, 1], k=3)
    1.0
    """
    cluster = clusters(labels)
    return len(cluster) / (int(cluster.max()) + 1) / at_least(k, 1, "k")


def anonymity_level(frame: Table | pd.Series | ArrayLike) -> int:
    """The k of a table: size of its smallest class of identical rows (001, definition 3.4).

    A missing value is one more value, equal to itself only: this is how a release shows a
    suppressed entry.

    >>> anonymity_level(pd.DataFrame({"age": [30, 30, 40, 40, 40], "sex": list("ffmmm")}))
    2
    """
    return int(np.bincount(combinations(frame, "frame", missing=True)).min())
