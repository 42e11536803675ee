from itertools import product

import numpy as np
import pytest
from oracles import random_frame

import kanopy as kn
from kanopy.instances.errors import KanopyError
from kanopy.instances.examples import example, partition
from kanopy.models.aggregation import load_representatives, read_representatives
from kanopy.models.factory import build
from kanopy.solvers.backends.scip import ScipBackend
from kanopy.solvers.costs import frequency_cost
from kanopy.solvers.problem import Outcome, released_counts


def nominal(rng, n):
    """Three columns, the last almost a function of the second: many cells count the same rows."""
    frame = random_frame(rng, n)[["sex", "job"]]
    frame["shift"] = np.where(rng.random(n) < 0.2, "late", frame["job"].map({"a": "early"}))
    return kn.Microdata.from_frame(frame.fillna("late"))


def instance(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 4))
    clusters = int(rng.integers(2, 5))
    labels = np.repeat(np.arange(clusters), rng.integers(k, 2 * k, clusters))
    rng.shuffle(labels)
    return nominal(rng, len(labels)), k, labels, 1 + seed % 2


def choices(labels):
    """Every choice of one row per cluster."""
    return map(np.array, product(*(np.flatnonzero(labels == c) for c in range(labels.max() + 1))))


def cost_function(data, labels, control):
    tables = data.tables(control)

    def cost(rows):
        counts = released_counts(data, Outcome(labels=labels, representatives=rows))
        return frequency_cost(tables, counts, data.counts, "chi2")

    return cost


@pytest.mark.parametrize("seed", range(15))
def test_envelope_optimum_is_the_best_choice(seed, solve_model):
    data, k, labels, control = instance(seed)
    model = build("aggregation", data, k, labels=labels, control=control)
    cost = cost_function(data, labels, control)
    best = min(map(cost, choices(labels)))
    assert solve_model(model) == pytest.approx(best, abs=1e-6)
    rows = read_representatives(model)
    assert labels[rows].tolist() == list(range(labels.max() + 1))
    assert cost(rows) == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("seed", range(15))
def test_both_formulations_measure_every_choice(seed, check_point):
    data, k, labels, control = instance(seed)
    parameters = {"labels": labels, "control": control}
    paper = build("aggregation", data, k, formulation="paper", **parameters)
    envelope = build("aggregation", data, k, cutoff=1e9, **parameters)
    cost = cost_function(data, labels, control)
    every = list(choices(labels))
    for rows in every[:: max(1, len(every) // 12)]:
        for model in (paper, envelope):
            load_representatives(model, rows)
            assert check_point(model) == pytest.approx(cost(rows), abs=1e-9)
            read = read_representatives(model)
            assert (data.types[read] == data.types[rows]).all()


@pytest.mark.skipif(ScipBackend().unavailable() is not None, reason="SCIP is not installed")
@pytest.mark.parametrize("seed", range(6))
def test_quadratic_program_has_the_same_optimum(seed, solve_model):
    data, k, labels, control = instance(seed)
    parameters = {"labels": labels, "control": control}
    paper = build("aggregation", data, k, formulation="paper", **parameters)
    envelope = build("aggregation", data, k, **parameters)
    assert solve_model(paper, ScipBackend()) == pytest.approx(solve_model(envelope), abs=1e-5)


@pytest.mark.parametrize("formulation", ["paper", "envelope"])
def test_printed_scenarios(formulation, check_point, solve_model):
    """000, example 5.1.2 and table 5.1: all plurality modes, or one man."""
    data, labels = example("aggregation"), partition("aggregation")
    parameters = {"labels": labels, "control": 1, "formulation": formulation}
    model = build("aggregation", data, 3, **parameters)
    load_representatives(model, [0, 3, 6])
    assert check_point(model) == pytest.approx(3**2 / 6 + 3**2 / 3)
    load_representatives(model, [0, 3, 8])
    assert check_point(model) == pytest.approx(0)
    if formulation == "envelope":
        assert solve_model(model) == pytest.approx(0, abs=1e-9)
        sexes = data.frame["Sex"].to_numpy()[read_representatives(model)]
        assert sorted(sexes) == ["f", "f", "m"]


def test_bad_labels_and_representatives():
    data, labels = example("aggregation"), partition("aggregation")
    with pytest.raises(KanopyError, match="smallest cluster has 3 rows, k = 4"):
        build("aggregation", data, 4, labels=labels)
    for wrong in (labels[:-1], labels - 1, labels + 0.5):
        with pytest.raises(KanopyError, match="labels must be"):
            build("aggregation", data, 3, labels=wrong)
    with pytest.raises(KanopyError, match="at least k rows each"):
        build("aggregation", data, 3, labels=labels * 2)
    with pytest.raises(KanopyError, match="needs the parameter 'labels'"):
        build("aggregation", data, 3)
    with pytest.raises(KanopyError, match="cutoff belongs"):
        build("aggregation", data, 3, labels=labels, formulation="paper", cutoff=1.0)
    model = build("aggregation", data, 3, labels=labels)
    for wrong in ([0, 3], [0, 1, 8]):
        with pytest.raises(KanopyError, match="one row of each cluster"):
            load_representatives(model, wrong)


def test_size_stays_small():
    """Merged cells and windows: far fewer rows than cells times values."""
    data = kn.generate("synthetic", n=200, p=1.0, k=3, seed=1)
    labels = np.minimum(np.arange(200) // 3, 65)
    model = build("aggregation", data, 3, labels=labels)
    assert model.nconstraints() < 30 * len(data.tables(3))
