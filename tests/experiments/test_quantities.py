"""What the papers' tables ask of a run."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

import kanopy as kn
from kanopy.experiments import quantities


@pytest.mark.parametrize(
    ("method", "third"), [("own-eeg", 4.0), ("own-hhc", 4.0), ("own-hee", 7.0)]
)
def test_each_step_of_a_pipeline_is_timed_and_the_exact_aggregation_took_the_rest(
    monkeypatch, method, third
):
    data = kn.generate("synthetic", n=40, p=0.2, k=3, seed=1)
    solution = replace(kn.solve(data, 3, method, control=3), cpu=10.0)
    clock = iter([0.0, 1.0, 3.0, 7.0])
    monkeypatch.setattr(quantities, "time", SimpleNamespace(process_time=clock.__next__))
    found = quantities.phases(data, solution, 3)
    assert found.pop("fractional") > 0
    assert found == {
        "seconds_fractional": 1.0,
        "seconds_integer": 2.0,
        "seconds_aggregation": third,
    }
