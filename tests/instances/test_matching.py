from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kanopy.instances.errors import KanopyError
from kanopy.instances.matching import matching_problem, three_dimensional_matching


def triples_of(problem):
    return [tuple(int(v) for v in row) for row in problem.data.combinations.to_numpy()]


def has_matching(q, triples):
    """Exact cover by trying every triple for the first uncovered element of W."""

    def cover(w, used_x, used_y):
        return w > q or any(
            cover(w + 1, used_x | {x}, used_y | {y})
            for a, x, y in triples
            if a == w and x not in used_x and y not in used_y
        )

    return cover(1, frozenset(), frozenset())


def three_anonym(problem, values=(0, 3)):
    """3-ANONYM (000, 3.1) by brute force."""
    width = len(problem.original)
    return any(
        problem.allows(counts) and problem.excess(counts) <= 0
        for counts in map(np.array, product(values, repeat=width))
    )


@pytest.mark.parametrize("solvable", [True, False])
@pytest.mark.parametrize("q", [3, 4, 5, 8, 12])
def test_answer_is_known(q, solvable):
    for seed in range(25):
        problem = three_dimensional_matching(q, seed, solvable)
        triples = triples_of(problem)
        assert len(triples) == len(set(triples)) == problem.data.n == 2 * q
        assert has_matching(q, triples) is solvable
        for j in range(3):
            degrees = np.bincount([t[j] for t in triples], minlength=q + 1)[1:]
            assert degrees.min() >= 1
            assert degrees.max() <= 3


@pytest.mark.parametrize("solvable", [True, False])
def test_every_allowed_number_of_extra_triples(solvable):
    for q in (3, 4, 6):
        for extra in range(0 if solvable else 1, (2 * q if solvable else 2 * q - 3) + 1):
            for seed in range(5):
                problem = three_dimensional_matching(q, seed, solvable, extra)
                assert problem.data.n == q + extra
                assert has_matching(q, triples_of(problem)) is solvable


@pytest.mark.parametrize("solvable", [True, False])
def test_matching_decides_three_anonym(solvable):
    for q, extra in ((3, 3), (4, 4), (5, 4)):
        for seed in range(4):
            problem = three_dimensional_matching(q, seed, solvable, extra)
            assert three_anonym(problem) is solvable


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(*[st.integers(1, 3)] * 3), min_size=3, max_size=7, unique=True))
def test_reduction_on_arbitrary_triples(triples):
    degrees = [np.bincount([t[j] for t in triples], minlength=4)[1:] for j in range(3)]
    if min(d.min() for d in degrees) < 1 or max(d.max() for d in degrees) > 3:
        with pytest.raises(KanopyError, match="one to three triples"):
            matching_problem(3, triples)
    else:
        assert three_anonym(matching_problem(3, triples)) is has_matching(3, triples)


def test_other_counts_than_0_and_3_do_not_help():
    """The proof's first step: tolerances of the full table leave only 0 and 3."""
    problem = three_dimensional_matching(3, 0, solvable=False, extra=2)
    assert not three_anonym(problem, values=(0, 3, 4, 5, 6))


def test_numbers_of_the_proof():
    problem = three_dimensional_matching(6, 3)
    assert (problem.k, problem.total) == (3, 18)
    assert problem.original.tolist() == [1] * 12
    assert [len(names) for names in problem.tables.names] == [1, 1, 1, 3]
    cells = problem.tables.values(problem.original)
    one = problem.tables.dimension == 1
    assert (problem.tolerance[one] == np.array([np.nan, 2, 1, 0])[cells[one]]).all()
    assert (problem.tolerance[~one] == 2).all()


def test_which_elements_clash_is_hidden():
    """Without a matching, the two clashing elements are not always the same ones."""
    assert len({tuple(triples_of(three_dimensional_matching(4, s, False))) for s in range(9)}) == 9


def test_same_seed_same_instance():
    first, again = (triples_of(three_dimensional_matching(9, 4)) for _ in range(2))
    assert first == again


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"q": 0}, "q = 0.*q ≥ 1"),
        ({"q": 2, "solvable": False}, "q = 2.*q ≥ 3"),
        ({"q": 5, "extra": 11}, "extra = 11.*0 to 10"),
        ({"q": 5, "extra": -1}, "extra = -1"),
        ({"q": 1, "extra": 1}, "extra = 1.*0 to 0"),
        ({"q": 5, "extra": 0, "solvable": False}, "extra = 0.*1 to 7"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(KanopyError, match=message):
        three_dimensional_matching(**parameters)


def test_smallest_instances():
    assert three_anonym(three_dimensional_matching(1))
    assert three_anonym(three_dimensional_matching(2, extra=4))
    with pytest.raises(KanopyError, match="different, with elements 1 to q = 2"):
        matching_problem(2, [(1, 1, 1), (1, 1, 1), (2, 2, 2)])
    with pytest.raises(KanopyError, match="different, with elements 1 to q = 2"):
        matching_problem(2, [(1, 1, 1), (2, 2, 3)])
