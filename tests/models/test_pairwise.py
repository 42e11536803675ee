import numpy as np
import pandas as pd
import pytest
from oracles import all_partitions, labels_of, optimum, random_frame

import kanopy as kn
from kanopy.instances.errors import KanopyError
from kanopy.instances.examples import example, partition
from kanopy.models.factory import build
from kanopy.models.pairwise import load_labels, read_labels, read_ranges
from kanopy.solvers.costs import total_cost


def instance(seed):
    """A tiny instance of numeric, nominal or mixed columns, sometimes with wider domains."""
    rng = np.random.default_rng(seed)
    frame = random_frame(rng, int(rng.integers(4, 7)))
    columns = (["age", "income"], ["sex", "job"], ["age", "job"])[seed % 3]
    weights = {columns[0]: 2.5} if seed % 2 else None
    domains = {"age": (-1.0, 6.0), "job": 4} if seed % 4 == 0 else {}
    domains = {name: domain for name, domain in domains.items() if name in columns}
    data = kn.Microdata.from_frame(
        frame[columns], weights=weights, domains=domains, standardize=bool(seed % 2)
    )
    return data, 2 + seed % 2


@pytest.mark.parametrize("seed", range(9))
def test_optimum_is_the_best_partition(seed, solve_model):
    data, k = instance(seed)
    model = build("pairwise", data, k)
    best = optimum(data, k, "range")
    assert solve_model(model) == pytest.approx(best, abs=1e-6)
    labels = read_labels(model)
    assert np.bincount(labels).min() >= k
    assert total_cost(data, labels, "range") == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("seed", range(12))
def test_objective_is_the_cost_of_every_partition(seed, check_point):
    data, k = instance(seed)
    for discrete in (None, ()):
        model = build("pairwise", data, k, discrete=discrete)
        for blocks in list(all_partitions(data.n, k))[::4]:
            labels = labels_of(blocks)
            load_labels(model, labels)
            assert check_point(model) == pytest.approx(total_cost(data, labels, "range"))
            read = read_labels(model)
            assert ((read[:, None] == read) == (labels[:, None] == labels)).all()


@pytest.mark.parametrize("seed", [1, 4, 7, 10, 13])
def test_printed_binary_columns_cost_one_value_more(seed, solve_model, check_point):
    """003, 2.5: with z − y charged, a class of d ≥ 2 values costs d/|H| for each of its rows."""
    data, k = instance(seed)
    model = build("pairwise", data, k, categorical="binary")

    def cost(labels):
        total = 0.0
        for label in np.unique(labels):
            codes = data.codes[labels == label]
            for column, size, weight in zip(
                codes.T, data.domain_sizes, data.nominal_weights, strict=True
            ):
                distinct = len(set(column.tolist()))
                total += len(codes) * weight * (distinct if distinct > 1 else 0) / size
        return total

    partitions = [labels_of(blocks) for blocks in all_partitions(data.n, k)]
    for labels in partitions:
        load_labels(model, labels)
        assert check_point(model) == pytest.approx(cost(labels))
    assert solve_model(model) == pytest.approx(min(map(cost, partitions)), abs=1e-6)


def test_health_records_come_out_as_printed(solve_model):
    """003, table 1b."""
    data = example("ehr")
    model = build("pairwise", data, 3)
    best = solve_model(model)
    labels, printed = read_labels(model), partition("ehr")
    assert ((labels[:, None] == labels) == (printed[:, None] == printed)).all()
    assert best == pytest.approx(total_cost(data, labels, "range"), abs=1e-6)
    low, high = read_ranges(model)
    assert low[0] == pytest.approx([35, 0, 22071])
    assert high[0] == pytest.approx([37, 0, 23061])
    assert low[6] == pytest.approx([61, 1, 55099])
    assert high[6] == pytest.approx([66, 1, 55324])


@pytest.mark.parametrize(
    ("weights", "name", "printed", "first"),
    [
        ((0.25, 0.25, 0.25, 0.25), "fars-equal", 4.816532258, [[20, 2, 0, 0], [64, 2, 4, 0]]),
        ((0.8, 0.05, 0.1, 0.05), "fars-unequal", 4.114516129, [[64, 1, 3, 0], [80, 2, 4, 0]]),
    ],
)
def test_printed_classes_of_fars(weights, name, printed, first, check_point):
    """003, tables 4b and 4c: the printed classes have the known value; see test_master for more."""
    frame = example("fars").frame
    named = dict(zip(frame.columns, weights, strict=True))
    data = kn.Microdata.from_frame(frame, weights=named, standardize=False)
    model = build("pairwise", data, 3)
    load_labels(model, partition(name))
    assert check_point(model) == pytest.approx(printed, abs=1e-9)
    low, high = read_ranges(model)
    assert [low[0].tolist(), high[0].tolist()] == first


def test_rows_linked_by_others_share_a_class():
    """003, definition 6: v need not link all rows of a class to each other."""
    data = kn.Microdata.from_frame(pd.DataFrame({"a": [0.0, 1.0, 2.0]}), standardize=False)
    model = build("pairwise", data, 2)
    load_labels(model, [0, 0, 0])
    model.alike[0, 2].set_value(0)
    assert read_labels(model).tolist() == [0, 0, 0]


def test_domains_of_variables():
    frame = pd.DataFrame({"whole": [1, 2, 4], "real": [0.5, 1.0, 2.0], "flat": [3, 3, 3]})
    frame["job"] = ["x", "y", "y"]
    data = kn.Microdata.from_frame(frame, domains={"job": 5})
    model = build("pairwise", data, 2)
    assert [c.name for c in model.columns] == ["whole", "real", "job", "job"]
    assert [model.high[0, c].is_integer() for c in range(4)] == [True, False, True, True]
    assert (0, 2) not in model.low
    assert model.columns[2].price == pytest.approx(1 / 5)
    named = build("pairwise", data, 2, discrete=["job"])
    assert [named.high[0, c].is_integer() for c in range(4)] == [False, False, True, True]
    with pytest.raises(KanopyError, match="unknown attribute in discrete 'age'"):
        build("pairwise", data, 2, discrete=["age"])
    with pytest.raises(KanopyError, match="categorical attributes 'x'"):
        build("pairwise", data, 2, categorical="x")
