import pytest

from kanopy.instances.errors import KanopyError
from kanopy.instances.frequency import FrequencyProblem
from kanopy.instances.generators import generate
from kanopy.instances.matching import three_dimensional_matching
from kanopy.instances.simulated import simc, simu
from kanopy.instances.synthetic import synthetic


def test_names_reach_their_generators():
    asked = {"n": 80, "p": 0.5, "k": 4, "seed": 9}
    assert generate("synthetic", **asked).fingerprint == synthetic(**asked).fingerprint
    assert generate("simu", n=50, d=2).fingerprint == simu(50, 2).fingerprint
    assert generate("simc", seed=2).fingerprint == simc(2).fingerprint
    problem = generate("3dm", q=5, solvable=False, seed=1)
    assert isinstance(problem, FrequencyProblem)
    again = three_dimensional_matching(5, 1, False)
    assert problem.data.fingerprint == again.data.fingerprint


def test_typos_list_what_exists():
    with pytest.raises(KanopyError, match=r"unknown generator 'simd'.*synthetic, simu, simc, 3dm"):
        generate("simd")
    with pytest.raises(KanopyError, match=r"'synthetic' has no parameter 'rows'.*n, p, k, seed"):
        generate("synthetic", rows=3)
