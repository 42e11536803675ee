import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kanopy.instances.errors import KanopyError
from kanopy.models.envelope import Tabulated, cut_off

domains = st.lists(st.integers(0, 40), min_size=1, max_size=12, unique=True).map(sorted)


def quadratic(points, center, kink):
    points = np.array(points)
    return Tabulated(points, (points - center) ** 2 / max(center, 1) + kink * abs(points - center))


@given(domains, st.integers(0, 40), st.sampled_from([0.0, 0.3]))
def test_chords_touch_every_point_and_nothing_below(points, center, kink):
    f = quadratic(points, center, kink)
    heights = np.array([[a * p + b for a, b in f.chords()] for p in points]).max(axis=1)
    assert heights == pytest.approx(f.values, abs=1e-9)


def test_pieces_of_equal_slope_are_one():
    f = Tabulated(np.arange(6), np.abs(np.arange(6) - 2.0))
    assert f.chords() == [(-1.0, 2.0), (1.0, -2.0)]


@given(st.lists(st.tuples(domains, st.integers(0, 40)), min_size=1, max_size=3), st.floats(0, 60))
def test_cut_off_keeps_every_sum_below_it(described, cutoff):
    functions = [quadratic(points, center, 0.0) for points, center in described]
    kept = cut_off(functions, cutoff)
    least = sum(f.values.min() for f in functions)
    for f, left in zip(functions, kept, strict=True):
        # with all others at their minimum, these points are below the cut-off
        good = f.points[f.values - f.values.min() + least <= cutoff]
        assert set(good.tolist()) <= set(left.points.tolist())
        bad = f.points[f.values - f.values.min() + least > cutoff + 1e-4]
        if least <= cutoff:
            assert not set(bad.tolist()) & set(left.points.tolist())


def test_values_that_are_not_there():
    f = Tabulated(np.array([0, 3]), np.array([1.0, 2.0]))
    assert (f.at(0), f.at(3)) == (1.0, 2.0)
    for point in (1, 4):
        with pytest.raises(KanopyError, match=f"value {point} is cut off"):
            f.at(point)
