import pytest

import kanopy as kn
from kanopy.solvers.stop import Progress, StoppingRule, relative_gap


@pytest.mark.parametrize(
    ("rule", "before", "after"),
    [
        (kn.MaxRuntime(2), Progress(time=1.9), Progress(time=2.0)),
        (kn.MaxIterations(3), Progress(iterations=2), Progress(iterations=3)),
        (kn.MaxNodes(1), Progress(nodes=0), Progress(nodes=1)),
        (kn.GapReached(0.1), Progress(objective=10, bound=8.9), Progress(objective=10, bound=9)),
        (
            kn.NoImprovement(5),
            Progress(iterations=9, last_improvement_iteration=5),
            Progress(iterations=10, last_improvement_iteration=5),
        ),
        (kn.First(kn.MaxNodes(1), kn.MaxRuntime(9)), Progress(time=8), Progress(nodes=1)),
    ],
)
def test_rules_fire_when_they_should(rule, before, after):
    assert isinstance(rule, StoppingRule)
    assert not rule(before)
    assert rule(after)


def test_first_has_the_shortest_time_limit():
    assert kn.First(kn.MaxRuntime(9), kn.MaxNodes(1), kn.MaxRuntime(4)).time_limit() == 4


@pytest.mark.parametrize(
    "make",
    [
        lambda: kn.MaxRuntime(-1),
        lambda: kn.MaxIterations(-1),
        lambda: kn.MaxNodes(-2),
        lambda: kn.GapReached(1.5),
        lambda: kn.NoImprovement(0),
        lambda: kn.First(),
        lambda: kn.First(3),
        lambda: kn.First(kn.MaxRuntime(1), None),
        lambda: kn.First(kn.MaxRuntime),
        lambda: kn.MaxRuntime("60"),
        lambda: kn.MaxRuntime(None),
        lambda: kn.MaxRuntime(True),
        lambda: kn.MaxRuntime(float("nan")),
        lambda: kn.MaxIterations(2.5),
        lambda: kn.MaxNodes("3"),
        lambda: kn.GapReached("1 %"),
        lambda: kn.GapReached(float("nan")),
        lambda: kn.NoImprovement(1.5),
    ],
)
def test_senseless_limits_are_refused(make):
    with pytest.raises(kn.KanopyError):
        make()


def test_gap():
    assert relative_gap(10, 9) == pytest.approx(0.1)
    assert relative_gap(0, 0) == 0
    assert relative_gap(0, -1) == float("inf")
    assert relative_gap(-2, -4) == pytest.approx(1.0)
    assert Progress().gap == float("inf")
