import json
from dataclasses import replace

import numpy as np
import pytest

import kanopy as kn
from kanopy.archive import FOLDER, keep_best, known_bounds, list_best
from kanopy.experiments.best import improve, questions
from kanopy.experiments.specs import make_instance
from kanopy.instances.errors import KanopyError


@pytest.fixture
def data():
    return kn.generate("simu", n=30, d=2, seed=1)


def solution(data, method="random", bound=None):
    found = kn.solve(data, 3, method)
    return replace(found, bound=bound) if bound is not None else found


def test_only_a_better_solution_is_kept(data, tmp_path):
    poor, good = solution(data), solution(data, "mondrian")
    assert good.objective < poor.objective
    assert kn.best_known(data, 3, folder=tmp_path) is None
    assert keep_best(poor, "simu", tmp_path)
    assert not keep_best(poor, "simu", tmp_path)
    assert keep_best(good, "simu", tmp_path)
    assert not keep_best(poor, "simu", tmp_path)
    kept = kn.best_known(data, 3, folder=tmp_path)
    assert kept.objective == pytest.approx(good.objective)
    assert np.array_equal(kept.labels, good.labels)
    assert [one["method"] for one in list_best(tmp_path)] == ["mondrian"]


def test_a_better_bound_is_kept_with_the_better_solution(data, tmp_path):
    poor, good = solution(data), solution(data, "mondrian")
    keep_best(good, "simu", tmp_path)
    assert keep_best(replace(poor, bound=1.0), "simu", tmp_path)
    kept = kn.best_known(data, 3, folder=tmp_path)
    assert (kept.bound, kept.method) == (1.0, "mondrian")
    assert not keep_best(replace(poor, bound=0.5), "simu", tmp_path)
    assert known_bounds([("simu", 3, "sse")], tmp_path) == {("simu", 3, "sse"): 1.0}


def test_what_is_wrong_is_neither_kept_nor_read(data, tmp_path):
    good = solution(data, "mondrian")
    with pytest.raises(kn.VerificationError):
        keep_best(replace(good, objective=good.objective / 2), "simu", tmp_path)
    assert not list(tmp_path.iterdir())
    keep_best(good, "simu", tmp_path)
    (path,) = tmp_path.iterdir()
    kept = json.loads(path.read_text())
    path.write_text(json.dumps(kept | {"objective": kept["objective"] / 2}))
    with pytest.raises(kn.VerificationError):
        kn.best_known(data, 3, folder=tmp_path)
    path.write_text(json.dumps(kept | {"labels": kept["labels"][:-8]}))
    with pytest.raises(KanopyError, match="damaged"):
        kn.best_known(data, 3, folder=tmp_path)
    path.write_text(path.read_text()[:100])
    with pytest.raises(KanopyError, match="get it again"):
        kn.best_known(data, 3, folder=tmp_path)


def test_a_write_that_fails_leaves_the_old_file(data, tmp_path, monkeypatch):
    keep_best(solution(data), "simu", tmp_path)
    (path,) = tmp_path.iterdir()
    before = path.read_bytes()

    def fails(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fails)
    with pytest.raises(KanopyError, match="No space"):
        keep_best(solution(data, "mondrian"), "simu", tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes() == before


def test_the_file_says_nothing_of_the_cells(data, tmp_path):
    keep_best(solution(data), "simu", tmp_path)
    (path,) = tmp_path.iterdir()
    assert set(json.loads(path.read_text())) == {
        "format", "name", "fingerprint", "rows", "k", "cost", "objective", "bound", "method",
        "solver", "seed", "runtime", "labels",
    }  # fmt: skip


def test_improving_solves_keeps_and_leaves_proven_ones_alone(tmp_path):
    name = "synthetic n=40 p=0.2 k=3 seed=1"
    worse = kn.solve(make_instance(name), 3, "random", cost="hamming")
    keep_best(worse, name, tmp_path)
    improve(name, 3, "hamming", 60.0, tmp_path)
    (kept,) = list_best(tmp_path)
    assert kept["method"] == "branch-and-price"
    assert kept["bound"] == kept["objective"] < worse.objective
    assert improve(name, 3, "hamming", 0.0, tmp_path).endswith("is proven")
    assert ("synthetic n=200 p=1 k=3 seed=10", 3, "hamming") in questions()


@pytest.mark.real_data
def test_what_we_ship_is_verified():
    kept = list_best()
    assert {(one["name"], one["k"]) for one in kept} >= {("census", 3), ("tarragona", 3)}
    for one in kept:
        found = kn.best_known(make_instance(one["name"]), one["k"], one["cost"])
        assert found.objective == one["objective"]
    for path in FOLDER.glob("*.json"):
        assert path.stat().st_size < 20_000
