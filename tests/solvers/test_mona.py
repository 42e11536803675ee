from __future__ import annotations

import os
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest

import kanopy as kn
from kanopy.instances.errors import KanopyError
from kanopy.instances.microdata import Microdata
from kanopy.solvers.heuristics import mona as module
from kanopy.solvers.heuristics.mona import MonaOptions, mona_labels
from kanopy.solvers.heuristics.mondrian import mondrian_partition
from kanopy.solvers.heuristics.ona import ona_star_labels
from kanopy.solvers.problem import Problem
from kanopy.solvers.registry import find_method
from kanopy.solvers.run import Run
from kanopy.solvers.stop import MaxRuntime


def clusters(labels):
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)}


def literal(points, k, rho):
    """001, Alg. 20, recursively; ONA* and the choice of the direction are tested elsewhere."""
    limit = len(points) ** rho
    found = set()

    def split(rows):
        if len(rows) <= 2 * k:
            found.add(frozenset(rows.tolist()))
        elif len(rows) < limit:
            rows = np.sort(rows)
            parts = ona_star_labels(points[rows], k)
            found.update(frozenset(rows[parts == part].tolist()) for part in np.unique(parts))
        else:
            column = int(np.argmax(points[rows].var(axis=0)))
            ordered = rows[np.argsort(points[rows, column], kind="stable")]
            split(ordered[: len(rows) // 2])
            split(ordered[len(rows) // 2 :])

    split(np.arange(len(points)))
    return found


def test_equals_the_literal_transcription():
    rng = np.random.default_rng(0)
    for i in range(200):
        n, d = int(rng.integers(2, 120)), int(rng.integers(1, 4))
        points = rng.normal(size=(n, d)) * np.array([3.0, 2.0, 1.0])[:d]
        if i % 3 == 0:
            points = points.round(1)
        k = int(rng.integers(2, max(3, n // 4)))
        rho = float(rng.choice([0.3, 0.5, 0.7, 0.9]))
        assert clusters(mona_labels(points, k, rho)) == literal(points, k, rho)


@pytest.mark.parametrize("rule", ["variance", "variance-2d"])
def test_rho_0_is_mondrian_and_rho_1_is_ona_star(rule):
    points = np.random.default_rng(1).normal(size=(300, 3))
    mondrian = mondrian_partition(points, 4, rule)
    assert clusters(mona_labels(points, 4, 0.0, rule)) == clusters(mondrian)
    assert clusters(mona_labels(points, 4, 1.0, rule)) == clusters(ona_star_labels(points, 4))


def test_the_number_of_jobs_does_not_matter(monkeypatch):
    monkeypatch.setattr(module, "_TASK", 1)  # every block a task
    points = np.random.default_rng(2).normal(size=(5000, 3))
    alone = mona_labels(points, 3)
    assert len(np.unique(alone)) > 1000
    assert (mona_labels(points, 3, jobs=2) == alone).all()
    assert (mona_labels(points, 3, jobs=-1) == alone).all()
    with joblib.parallel_config("loky", n_jobs=2):
        assert (mona_labels(points[:2000], 3, jobs=2) == mona_labels(points[:2000], 3)).all()


def test_blocks_on_a_dask_cluster(monkeypatch):
    distributed = pytest.importorskip("distributed", reason="needs the extra `distributed`")
    monkeypatch.setattr(module, "_TASK", 2000)  # some tasks
    data = Microdata.from_frame(
        pd.DataFrame(np.random.default_rng(2).normal(size=(500, 3)), columns=list("abc"))
    )
    here = kn.solve(data, 3, "mona")
    cluster = distributed.LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client, joblib.parallel_config("dask"):
        there = kn.solve(data, 3, "mona")
        done = client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.transition_counter)
    assert done > 0  # the cluster had work
    assert (there.labels == here.labels).all()


def test_large_blocks_take_the_way_that_can_be_stopped(monkeypatch):
    points = np.random.default_rng(3).normal(size=(1000, 2))
    expected = mona_labels(points, 3, 0.7)
    monkeypatch.setattr(module, "_LARGE", 1)
    assert clusters(mona_labels(points, 3, 0.7)) == clusters(expected)


def test_a_stop_half_way_is_valid_and_in_between(monkeypatch):
    monkeypatch.setattr(module, "_TASK", 1)  # every block a task
    points = np.random.default_rng(4).normal(size=(20_000, 2))

    def cost(labels):
        frame = pd.DataFrame(points, columns=["a", "b"])
        return Problem(Microdata.from_frame(frame), 3, "sse").partition_cost(labels)

    calls = iter([False] * 60)
    half = mona_labels(points, 3, stopping=lambda: next(calls, True))
    assert np.bincount(half).min() >= 3
    assert np.bincount(half).max() <= 6
    at_once = mona_labels(points, 3, seconds=0.0)
    assert np.bincount(at_once).min() >= 3
    assert clusters(mona_labels(points, 3, jobs=2, seconds=0.0)) == clusters(at_once)
    assert cost(mona_labels(points, 3)) < cost(half) < cost(at_once)


def test_an_interrupt_hands_over_what_is_done(monkeypatch):
    monkeypatch.setattr(module, "_TASK", 1)  # every block a task
    points = np.random.default_rng(5).normal(size=(5000, 2))
    complete = mona_labels(points, 3)
    calls = []

    def stopping():
        calls.append(1)
        if len(calls) == 40:
            raise KeyboardInterrupt
        return False

    kept = []
    with pytest.raises(KeyboardInterrupt):
        mona_labels(points, 3, stopping=stopping, interrupted=kept.append)
    assert np.bincount(kept[0]).min() >= 3
    shared = clusters(kept[0]) & clusters(complete)
    assert 0 < len(shared) < len(clusters(complete))


@pytest.mark.parametrize("name", ["mona", "mona-2d"])
@pytest.mark.parametrize("n", [3, 5, 6, 7, 500])
@pytest.mark.parametrize("kind", ["constant", "one column", "duplicates", "spread"])
@pytest.mark.parametrize("stop", [None, MaxRuntime(0.0)])
def test_sizes(name, n, kind, stop):
    rng = np.random.default_rng(n)
    table = {
        "constant": np.full((n, 2), 0.1),
        "one column": rng.normal(size=(n, 1)),
        "duplicates": rng.integers(0, 2, size=(n, 2)) / 10,
        "spread": rng.normal(size=(n, 3)),
    }[kind]
    frame = pd.DataFrame(table, columns=list("abc")[: table.shape[1]])
    problem = Problem(Microdata.from_frame(frame), 3, "sse")
    method = find_method(name)
    labels = method.run(problem, Run(problem, stop), method.parse({})).labels
    sizes = np.bincount(labels)
    assert sizes.sum() == n
    assert sizes.min() >= 3
    assert sizes.max() <= 6


def test_options_are_checked():
    assert MonaOptions() == MonaOptions(rho=0.5, jobs=-1)
    with pytest.raises(KanopyError, match=r"rho = 1.5 .* from 0 to 1"):
        MonaOptions(rho=1.5)
    with pytest.raises(KanopyError, match="jobs = 0"):
        MonaOptions(jobs=0)


PUBLISHED = {  # 001, tables C.1 and C.2, k = 2, 5, 10
    ("adult", "variance", 0.3): (0.067, 0.285, 0.649),
    ("adult", "variance-2d", 0.3): (0.068, 0.290, 0.646),
    ("adult", "variance", 0.5): (0.050, 0.211, 0.465),
    ("adult", "variance-2d", 0.5): (0.050, 0.206, 0.456),
    ("credit", "variance", 0.3): (10.85, 25.63, 39.27),
    ("credit", "variance-2d", 0.3): (8.76, 20.50, 30.30),
    ("credit", "variance", 0.5): (7.74, 18.53, 26.59),
    ("credit", "variance-2d", 0.5): (6.87, 16.16, 22.95),
}


@pytest.mark.real_data
@pytest.mark.parametrize("name", ["adult", "credit"])
def test_published_information_losses(name):
    folder = Path(os.environ["KANOPY_DATA"])
    if name == "adult":
        frame = pd.read_csv(folder / "adult.csv.gz", keep_default_na=False)
        frame = frame[["age", "education-num", "hours-per-week"]]
    else:
        frame = pd.read_csv(folder / "credit_default.csv.gz").drop(columns="ID")
    data = Microdata.from_frame(frame)
    tolerance = 0.003 if name == "adult" else 0.015
    for (table, rule, rho), losses in PUBLISHED.items():
        if table == name:
            for k, published in zip((2, 5, 10), losses, strict=True):
                labels = mona_labels(data.points, k, rho, rule, jobs=2)
                loss = 100 * Problem(data, k, "sse").partition_cost(labels) / data.points.size
                assert loss == pytest.approx(published, abs=tolerance), (rule, rho, k)
