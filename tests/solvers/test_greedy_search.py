import liang_literal
import numpy as np
import pandas as pd
import pytest

import kanopy as kn
from kanopy.solvers.generalisation.greedy_search import greedy_search

TABLE_7 = [
    (12, [14, 7, 10, 16, 19, 13, 6, 9, 5, 8, 2, 15, 17, 0, 4, 18, 3], [12, 1, 11]),
    (14, [16, 19, 13, 6, 9, 5, 8, 2, 15, 17, 0, 4, 18, 3], [14, 7, 10]),
    (16, [19, 13, 6, 8, 2, 15, 17, 0, 4, 18, 3], [16, 5, 9]),
    (19, [8, 2, 15, 17, 0, 4, 18, 3], [19, 13, 6]),
    (8, [2, 15, 4, 18, 3], [8, 0, 17]),
    (2, [4, 18], [2, 15, 3]),
]


@pytest.mark.parametrize("search", ["scan", "tree"])
def test_table_7_step_by_step(search):
    steps = list(greedy_search(kn.example("fars"), 3, search).steps())
    sets = []
    for (index, remaining, added), step in zip(TABLE_7, steps, strict=False):
        sets.append(added)
        assert step == (index, remaining, sets)
    sets[1] = [14, 7, 10, 4]
    assert steps[6] == (4, [18], sets)
    sets[3] = [19, 13, 6, 18]
    assert steps[7] == (18, [], sets)
    assert len(steps) == 8


def test_its_cost_and_the_other_rule_for_leftovers():
    data = kn.example("fars")
    printed = kn.solve(data, 3, "greedy-search")
    assert printed.objective == pytest.approx(7.127016129)
    other = kn.solve(data, 3, "greedy-search", options={"leftovers": "increase"})
    assert greedy_search(data, 3, leftovers="increase").joined == ((4, 1), (18, 1))
    assert other.objective < printed.objective


@pytest.mark.parametrize("kind", ["numeric", "nominal", "mixed"])
def test_against_the_algorithm_as_printed(kind):
    rng = np.random.default_rng(5)
    for _ in range(40):
        k = int(rng.integers(2, 5))
        data = liang_literal.dyadic_instance(rng, int(rng.integers(k, 25)), kind)
        expected = liang_literal.greedy_search(data, k)
        for search in ("scan", "tree"):
            course = greedy_search(data, k, search)
            assert list(course.steps())[-1][2] == expected


@pytest.mark.parametrize("columns", [["a", "b"], ["a", "c", "d"], ["c", "d"]])
def test_the_tree_builds_the_same_classes(columns):
    """Enough rows for several rebuilds, many ties, and more categories than a node's set has."""
    rng = np.random.default_rng(8)
    frame = pd.DataFrame(
        {
            "a": rng.integers(0, 40, 3000),
            "b": rng.normal(size=3000),
            "c": rng.integers(0, 100, 3000).astype(str),
            "d": rng.choice(list("xyz"), 3000),
        }
    )
    data = kn.Microdata.from_frame(frame[columns])
    for k in (2, 7):
        scan, tree = (greedy_search(data, k, search) for search in ("scan", "tree"))
        assert (scan.sets == tree.sets).all()
        assert scan.joined == tree.joined


def test_stopped_it_cuts_the_rest_in_sorted_order():
    data = kn.example("fars")
    course = greedy_search(data, 3, "scan", stopping=lambda: True)
    assert np.bincount(course.labels).min() >= 3
    s = kn.solve(data, 3, "greedy-search", stop=kn.MaxRuntime(0))
    assert s.sizes.min() >= 3


def test_unknown_words_are_refused():
    with pytest.raises(kn.KanopyError, match="tree"):
        kn.solve(kn.example("fars"), 3, "greedy-search", options={"search": "bush"})
    with pytest.raises(kn.KanopyError, match="increase"):
        kn.solve(kn.example("fars"), 3, "greedy-search", options={"leftovers": "drop"})
