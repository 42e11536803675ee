"""Convex functions of whole numbers as linear programs: chords over the values that can occur.

Let f be convex and P the finite set of values that a linear expression s can take. The points
(p, f(p)) lie on a convex curve, so each is a vertex of their lower convex hull, and::

    e ≥ slope·s + intercept      for the chord over each pair of neighbours in P

is the lower convex envelope of f over P: it lets e reach f(s) exactly for every s ∈ P, and no
smaller value, and no stronger convex relaxation in (s, e) alone exists. Gaps in P, like the
1 … k−1 that k-anonymous counts leave out, make it stronger than the chords over all integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kanopy.instances.errors import KanopyError

# Cut-offs are compared with sums of many quotients; nothing within this of a cut-off is cut.
_TOLERANCE = 1e-7


@dataclass(frozen=True, eq=False)
class Tabulated:
    """A convex function f by its values at the points that can occur, in ascending order.

    >>> square = Tabulated(np.array([0, 3, 4]), np.array([4.0, 1.0, 4.0]))
    >>> square.chords()
    [(-1.0, 4.0), (3.0, -8.0)]
    """

    points: NDArray[np.int64]
    values: NDArray[np.float64]

    def at(self, point: int) -> float:
        """Value of f at one of the points."""
        position = int(np.searchsorted(self.points, point))
        if position == len(self.points) or self.points[position] != point:
            raise KanopyError(f"the value {point} is cut off here; choose a larger cutoff")
        return float(self.values[position])

    def chords(self) -> list[tuple[float, float]]:
        """Slope and intercept of each piece of the envelope; a constant if there is one point."""
        if len(self.points) == 0:
            return [(0.0, 0.0)]
        if len(self.points) == 1:
            return [(0.0, float(self.values[0]))]
        slopes = np.diff(self.values) / np.diff(self.points)
        intercepts = self.values[:-1] - slopes * self.points[:-1]
        new = np.append(True, np.diff(slopes) > 1e-12 * (1 + np.abs(slopes[1:])))
        return list(zip(slopes[new].tolist(), intercepts[new].tolist(), strict=True))

    def keep(self, chosen: NDArray[np.bool_]) -> Tabulated:
        """The same function on some of the points."""
        return Tabulated(self.points[chosen], self.values[chosen])


def cut_off(functions: Sequence[Tabulated], cutoff: float) -> list[Tabulated]:
    """Leave out the points that no solution with Σf ≤ cutoff can reach.

    Every other function costs at least its own minimum, so f(p) − min f ≤ cutoff − Σ min f must
    hold at such a solution.
    """
    least = [float(f.values.min()) for f in functions]
    slack = cutoff - sum(least) + _TOLERANCE * max(1.0, abs(cutoff))
    return [
        f.keep(f.values - low <= max(slack, 0.0)) for f, low in zip(functions, least, strict=True)
    ]
