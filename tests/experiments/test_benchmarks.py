from kanopy.experiments import benchmarks


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
