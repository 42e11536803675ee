"""What the papers' tables ask of a run."""

from types import SimpleNamespace

import pytest

import kanopy as kn
from kanopy.experiments import quantities
from kanopy.solvers.nominal import own


@pytest.mark.parametrize("method", ["own-eeg", "own-hhc", "own-hee"])
def test_each_step_of_a_pipeline_is_timed(monkeypatch, method):
    data = kn.generate("synthetic", n=40, p=0.2, k=3, seed=1)
    solution = kn.solve(data, 3, method, control=3)
    clock = iter([0.0, 1.0, 3.0, 10.0, 14.0])
    monkeypatch.setattr(quantities, "time", SimpleNamespace(process_time=clock.__next__))
    found = quantities.phases(data, solution, 3)
    assert found.pop("fractional") > 0
    assert found == {
        "seconds_fractional": 1.0,
        "seconds_integer": 2.0,
        "seconds_aggregation": 4.0,
    }


def test_the_aggregation_is_that_of_the_clusters_found(monkeypatch):
    data = kn.generate("synthetic", n=40, p=0.2, k=3, seed=1)
    solution = kn.solve(data, 3, "own-hhg", control=3)
    met = []
    monkeypatch.setattr(own, "own_aggregation", lambda *given: met.append(given))
    assert quantities.aggregation(data, solution, 3)["seconds_aggregation"] >= 0
    ((problem, labels, _, _, letter),) = met
    assert (problem, labels.tolist(), letter) == (solution.problem, solution.labels.tolist(), "g")
