"""Neighbours against a plain scan."""

import numpy as np
import pytest

from kanopy.solvers.kernels.nearby import Nearby


@pytest.mark.parametrize("columns", [1, 3, 12])
@pytest.mark.parametrize("rows", [1, 2, 65, 700])
@pytest.mark.parametrize("far", [0.0, 1e6])
def test_neighbours_are_those_of_a_scan(rows, columns, far):
    """Also with equal points, and with points so far from 0 that their rotation is rounded."""
    rng = np.random.default_rng(rows + columns)
    points = far + np.round(rng.normal(size=(rows, columns)), 1 if columns < 3 else 3)
    squared = ((points[:, None] - points) ** 2).sum(axis=2)
    nearby = Nearby(points)
    count = min(rows, 9)
    numbers, distances = nearby.nearest(0, rows, count)
    order = np.argsort(squared, axis=1, kind="stable")[:, :count]
    assert distances == pytest.approx(np.take_along_axis(squared, order, axis=1), rel=1e-12)
    if columns == 1:  # else sums of squares may be rounded in another order
        assert numbers.tolist() == order.tolist()
    begin, end = rows // 3, rows // 3 + (rows + 1) // 2
    part, _ = nearby.nearest(begin, end, count)
    assert part.tolist() == numbers[begin:end].tolist()

    asked = rng.permutation(rows)[: rows // 2 + 1]
    reach = rng.choice([0.0, 0.5, 2.0, 100.0, np.inf], len(asked)) * columns + 1e-9
    starts, found = nearby.within(asked, reach)
    for r, row in enumerate(asked):
        expected = np.flatnonzero(squared[row] <= reach[r])
        assert found[starts[r] : starts[r + 1]].tolist() == expected.tolist()
