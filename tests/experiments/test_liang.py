import pytest

from kanopy.experiments import liang


def test_methods_that_are_missing_are_named(capsys):
    assert liang.usable("greedy-search", "no-such-method") == ["greedy-search"]
    assert "no-such-method" in capsys.readouterr().err


def test_means_and_pictures(tmp_path):
    points = [liang.Point("loss", "a", 1, 2.0), liang.Point("loss", "a", 1, 4.0)]
    means = liang.averages(points)
    assert means["value"].tolist() == [3.0]
    assert liang.draw("fig0", means, tmp_path).stat().st_size > 1000


@pytest.mark.real_data
@pytest.mark.parametrize("name", [n for n in liang.FIGURES if n != "fig2"])
def test_quick_figures(name, capsys, tmp_path):
    assert liang.main([name, "--quick", "--out", str(tmp_path)]) == 0
    assert (tmp_path / f"liang_{name}.png").exists()
    assert "greedy-search" in capsys.readouterr().out


@pytest.mark.real_data
def test_no_ratio_to_a_proven_optimum_is_below_one():
    points = list(liang.fig2(quick=True))
    ratios = [p.value for p in points if p.panel.startswith("loss / optimum")]
    assert ratios
    assert min(ratios) >= 1 - 1e-6
