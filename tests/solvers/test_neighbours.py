"""The index answers as a plain scan would, whatever came, went and moved before."""

import numpy as np
import pytest

from kanopy.solvers.kernels import farthest as farthest_rows
from kanopy.solvers.kernels import neighbours
from kanopy.solvers.kernels.inner import kernel
from kanopy.solvers.kernels.neighbours import WIDTH, principal_axes

largest_norm, make_index = kernel(neighbours.largest_norm), kernel(neighbours.make_index)
BUILD, PUT, REMOVE, NEAREST = range(4)
NUMBERS, VECTOR = np.empty(0, dtype=np.int64), np.empty(0)


@kernel
def operate(index, operation, numbers, number, vector, count, bound, but, nor):
    """All that an index can do, compiled together."""
    if operation == BUILD:
        neighbours.build(index, numbers)
    elif operation == PUT:
        neighbours.put(index, number)
    elif operation == REMOVE:
        neighbours.remove(index, number)
    else:
        return neighbours.nearest(index, vector, count, bound, but, nor)
    return 0


def build(index, numbers):
    operate(index, BUILD, numbers, 0, VECTOR, 0, 0.0, -1, -1)


def put(index, number):
    operate(index, PUT, NUMBERS, number, VECTOR, 0, 0.0, -1, -1)


def remove(index, number):
    operate(index, REMOVE, NUMBERS, number, VECTOR, 0, 0.0, -1, -1)


def nearest(index, vector, count, bound, but=-1, nor=-1):
    return operate(index, NEAREST, NUMBERS, 0, vector, count, float(bound), but, nor)


drop, farthest = kernel(farthest_rows.drop), kernel(farthest_rows.farthest)
make_rim = kernel(farthest_rows.make_rim)

UNROTATED = np.empty((0, 0))


def table(rng, n, d, ties):
    points = rng.normal(size=(n, d)) * np.geomspace(1, 0.1, d)
    return np.round(points, 1) if ties else points


def squared(points, vector):
    """Squared distances summed in the order of the columns, as the kernels do."""
    total = np.zeros(len(points))
    for t in range(points.shape[1]):
        total += (points[:, t] - vector[t]) ** 2
    return total


def scan(points, inside, vector, count, bound, left_out=(), factors=None):
    numbers = np.array(sorted(inside - set(left_out)), dtype=np.int64)
    distances = squared(points[numbers], vector)
    if factors is not None:
        distances = distances * factors[numbers]
    order = np.lexsort((numbers, distances))
    order = order[distances[order] <= bound][:count]
    return numbers[order].tolist(), distances[order].tolist()


def ask(index, vector, count, bound, *left_out):
    have = nearest(index, vector, count, bound, *left_out)
    return index.found[:have].tolist(), index.distances[:have].tolist()


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("rotated", [False, True])
@pytest.mark.parametrize(("n", "d"), [(5, 1), (WIDTH, 2), (1000, 3), (900, 7)])
def test_nearest_while_rows_leave(n, d, rotated, ties):
    rng = np.random.default_rng(n + d)
    points = table(rng, n, d, ties)
    axes = principal_axes(points) if rotated else UNROTATED
    index = make_index(points, axes, 9, 0, np.empty(0), 1.0)
    build(index, np.arange(n))
    inside = set(range(n))
    for number in rng.permutation(n).tolist():
        if len(inside) % 7 == 0 or n < 10:
            vector = points[rng.integers(n)]
            count = int(rng.integers(1, 10))
            bound = rng.choice([np.inf, 0.5, 0.01])
            but, nor = rng.integers(n, size=2).tolist()
            expected = scan(points, inside, vector, count, bound, (but, nor))
            assert ask(index, vector, count, bound, but, nor) == expected
        remove(index, number)
        inside.remove(number)
    assert ask(index, points[0], 3, np.inf) == ([], [])


@pytest.mark.parametrize("rotated", [False, True])
def test_nearest_while_vectors_come_go_and_move(rotated):
    rng = np.random.default_rng(4)
    n, d = 700, 5
    vectors = np.zeros((n, d))
    points = table(rng, n, d, True)
    axes = principal_axes(points) if rotated else UNROTATED
    index = make_index(vectors, axes, 4, 100, np.empty(0), 1.0, 2 * largest_norm(points))
    inside: set[int] = set()
    for step in range(4000):
        number = int(rng.integers(n))
        if number in inside and step % 3 == 0:
            remove(index, number)
            inside.remove(number)
        else:
            vectors[number] = points[rng.integers(n)]
            put(index, number)
            inside.add(number)
        if step % 9 == 0:
            vector = points[rng.integers(n)]
            assert ask(index, vector, 4, np.inf, number) == scan(
                vectors, inside, vector, 4, np.inf, (number,)
            )


def test_factors_weigh_squared_distances():
    rng = np.random.default_rng(5)
    points = table(rng, 500, 3, True)
    factors = rng.choice([0.75, 0.8, 1.0], size=500)
    index = make_index(points, principal_axes(points), 5, 0, factors, 0.75)
    build(index, np.arange(500))
    for vector in points[::10]:
        expected = scan(points, set(range(500)), vector, 5, 0.3, (), factors)
        assert ask(index, vector, 5, 0.3) == expected


def test_equal_rows_by_number():
    points = np.zeros((200, 2))
    index = make_index(points, UNROTATED, 5, 0, np.empty(0), 1.0)
    build(index, np.arange(200))
    assert ask(index, points[0], 5, np.inf, 0, 2)[0] == [1, 3, 4, 5, 6]
    assert ask(index, points[0] + 1.0, 5, 1.9)[0] == []


def test_large_offsets_do_not_fool_the_rotation():
    rng = np.random.default_rng(6)
    points = 1e8 + np.round(rng.normal(size=(600, 6)), 2)
    index = make_index(points, principal_axes(points), 6, 0, np.empty(0), 1.0)
    build(index, np.arange(600))
    for vector in points[::20]:
        assert ask(index, vector, 6, np.inf) == scan(points, set(range(600)), vector, 6, np.inf)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize(("n", "d"), [(3, 1), (500, 2), (400, 6)])
def test_farthest_while_rows_leave(n, d, ties):
    rng = np.random.default_rng(n)
    points = table(rng, n, d, ties)
    rim = make_rim(points, 4)
    inside = set(range(n))
    for number in rng.permutation(n).tolist():
        vector = points[rng.integers(n)]
        numbers = np.array(sorted(inside))
        distances = squared(points[numbers], vector)
        order = np.lexsort((numbers, -distances))[:4]
        have = farthest(rim, vector, 4)
        assert rim.found[:have].tolist() == numbers[order].tolist()
        assert rim.distances[:have].tolist() == distances[order].tolist()
        drop(rim, number)
        inside.remove(number)
    assert farthest(rim, points[0], 4) == 0
