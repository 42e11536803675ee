"""The benchmark of the frequency methods measures, judges and prints."""

import math

import pytest

from kanopy.experiments import bench_frequency as bench
from kanopy.instances.errors import KanopyError


def test_a_case_is_measured_and_printed(capsys):
    missed = bench.main(
        ["200m5_2percent", "--method", "chi-ex", "--backend", "highs", "--instances", "1"]
    )
    printed = capsys.readouterr().out
    assert missed == 0
    assert "1/1" in printed
    assert "1.07 s" in printed
    with pytest.raises(KanopyError, match="200m5_100percent"):
        bench.main(["200m5_3percent"])


def test_promises_are_judged():
    case = bench.Case("200m5_2percent", "msafe", "", longest=2.0, least_proven=8, gap=0.01)
    good = bench.Measured(1.0, 1.0, 10.0, 10.0)
    near = bench.Measured(1.0, 1.0, 10.0, 9.95)
    far, slow = bench.Measured(1.0, 1.0, 10.0, 9.0), bench.Measured(3.0, 1.0, 10.0, 10.0)
    assert bench.Row(case, (good,) * 8 + (near,) * 2).met
    assert not bench.Row(case, (good,) * 7 + (near,) * 3).met
    assert not bench.Row(case, (good,) * 9 + (far,)).met
    assert not bench.Row(case, (good,) * 9 + (slow,)).met


def test_short_form_has_limits_and_names():
    found = bench.short()
    assert len({name for name, _, _, _ in found}) == len(found) > 10
    assert all(math.isfinite(limit) for _, _, limit, _ in found)
