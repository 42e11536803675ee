"""The last rows, too few for a cluster of their own, join the closest cluster.

What is closest (001, 5.1, "Determination of the closest cluster") is one of

- ``centroid``: the cluster whose centroid is nearest, clos(x), the thesis' choice;
- ``element``: the cluster that holds the nearest row, clos′(x);
- ``cost``: the cluster whose cost grows least, clos″(x), by |C| / (|C|+1) · δ(x, c(C))².

Clusters are looked at as they were before the first of the last rows joined.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

from kanopy.instances.errors import unknown
from kanopy.solvers.kernels.distance import squared_distance
from kanopy.solvers.kernels.inner import inner, kernel

CENTROID, ELEMENT, COST = (cast(int, np.int64(rule)) for rule in range(3))
_RULES = {"centroid": CENTROID, "element": ELEMENT, "cost": COST}


def closest_rule(name: str) -> int:
    """Number of a closest-cluster rule."""
    if name not in _RULES:
        raise unknown("closest-cluster rule", name, _RULES)
    return _RULES[name]


@inner
def assign_leftovers(
    points: NDArray[np.float64], labels: NDArray[np.int64], clusters: int, rule: int
) -> None:
    """Give every row with a negative label the label of its closest cluster, in place."""
    n, d = points.shape
    left = np.empty(n, np.int64)
    count = 0
    for row in range(n):
        if labels[row] < 0:
            left[count] = row
            count += 1
    if count == 0:
        return
    sizes = np.zeros(clusters)
    centers = np.zeros((clusters, d))
    for row in range(n):
        label = labels[row]
        if label >= 0:
            sizes[label] += 1.0
            for t in range(d):
                centers[label, t] += points[row, t]
    for label in range(clusters):
        for t in range(d):
            centers[label, t] /= sizes[label]
    chosen = np.empty(count, np.int64)
    for i in range(count):
        best = np.inf
        if rule == ELEMENT:
            for row in range(n):
                if labels[row] >= 0:
                    distance = squared_distance(points[row], points[left[i]])
                    if distance < best:
                        best = distance
                        chosen[i] = labels[row]
        else:
            for label in range(clusters):
                distance = squared_distance(centers[label], points[left[i]])
                if rule == COST:
                    distance = distance * sizes[label] / (sizes[label] + 1.0)
                if distance < best:
                    best = distance
                    chosen[i] = label
    for i in range(count):
        labels[left[i]] = chosen[i]


assign_leftovers_kernel = kernel(assign_leftovers)
