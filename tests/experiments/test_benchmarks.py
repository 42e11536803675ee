import pytest

from kanopy.experiments import benchmarks
from kanopy.instances.errors import KanopyError


def test_a_chosen_benchmark_is_measured_and_judged(capsys):
    missed = benchmarks.main(["import kanopy"])
    printed = capsys.readouterr().out
    assert "import kanopy" in printed
    assert "--help" not in printed
    assert printed.count("met") + printed.count("missed") == 1
    assert missed in (0, 1)


def test_methods_are_timed_without_what_surrounds_them():
    data = benchmarks.normal(500)
    seconds, remark = benchmarks.timed(data, 5, "mondrian")
    assert 0 < seconds < 5
    assert remark.startswith("loses ")


def test_help_and_unknown_names_measure_nothing(capsys, monkeypatch):
    monkeypatch.setattr(benchmarks.multiprocessing, "get_context", None)
    with pytest.raises(SystemExit) as end:
        benchmarks.main(["--help"])
    assert end.value.code == 0
    assert "import kanopy" in capsys.readouterr().out
    with pytest.raises(KanopyError, match="unknown benchmark 'grredy-search'"):
        benchmarks.main(["grredy-search"])
