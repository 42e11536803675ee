"""3-dimensional matching as frequency problems: hard instances with a known answer (000, 3.1)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kanopy.instances.arguments import checked_seed, whole_number
from kanopy.instances.errors import KanopyError
from kanopy.instances.frequency import FrequencyProblem
from kanopy.instances.microdata import Microdata

Triple = tuple[int, int, int]
_ATTEMPTS = 1000


def three_dimensional_matching(
    q: int = 10, seed: int = 0, solvable: bool = True, extra: int | None = None
) -> FrequencyProblem:
    """The frequency problem of a random 3DM-3 instance (000, theorem 3.1.1).

    M holds q + extra triples over three sets of q elements, and every element occurs in one to
    three of them. Some counts that the problem allows have ``excess(counts) ≤ 0`` if and only if M
    contains q triples that agree in no coordinate: those that occur three times.

    The thesis' frequency vector has an entry for each of the q³ triples. Outside M the original
    count and the tolerance are 0, which forces the new count to 0, so only the triples of M are
    kept. With counts of 0 or 3 and S = 3q, cells with g_t = 3 − (A y⁰)_t then allow exactly the
    values that the proof needs.

    Parameters
    ----------
    q
        Elements of each of the three sets.
    solvable
        True plants a matching. False makes two elements of one set occur only with the same element
        of another, so that no matching can hold both; which sets and elements is drawn at random.
        (The linear relaxation sees such a clash, too.)
    extra
        Triples beyond q, by default q of them, or as many as there can be.

    Examples
    --------
    >>> problem = three_dimensional_matching(q=4, seed=1)
    >>> problem.data.n, problem.k, problem.total
    (8, 3, 12)
    """
    least = 1 if solvable else 3
    if whole_number(q, "q") < least:
        raise KanopyError(f"q = {q}; with solvable = {solvable} choose q ≥ {least}")
    # without a matching, two elements have one triple each and share at most one more
    most = min(2 * q, q**3 - q) if solvable else 2 * q - 3
    fewest = 0 if solvable else 1
    extra = min(q, most) if extra is None else extra
    if not fewest <= whole_number(extra, "extra") <= most:
        raise KanopyError(
            f"extra = {extra}; with q = {q} and solvable = {solvable} choose {fewest} to {most}, "
            "so that every element occurs in one to three triples"
        )
    rng = np.random.default_rng(checked_seed(seed))
    for _ in range(_ATTEMPTS):
        triples = _with_matching(rng, q, extra) if solvable else _without_matching(rng, q, extra)
        if len(set(triples)) == len(triples):
            break
    else:
        raise KanopyError(
            f"found no {q + extra} different triples over {q} elements; choose a smaller extra"
        )
    return matching_problem(q, [triples[i] for i in rng.permutation(len(triples))])


def matching_problem(q: int, triples: list[Triple]) -> FrequencyProblem:
    """The frequency problem of given triples over the elements 1…q of three sets (000, 3.1).

    >>> problem = matching_problem(1, [(1, 1, 1)])
    >>> problem.excess(np.array([3]))
    0.0
    """
    rows = np.array(triples, dtype=np.int64).reshape(-1, 3)
    degrees = [np.bincount(column, minlength=q + 1)[1:] for column in rows.T]
    if len(rows) == 0 or rows.min() < 1 or rows.max() > q or len(set(triples)) < len(triples):
        raise KanopyError(f"triples must be different, with elements 1 to q = {q}")
    if any(degree.min() < 1 or degree.max() > 3 for degree in degrees):
        raise KanopyError("every element must occur in one to three triples")
    names = ["W", "X", "Y"]
    data = Microdata.from_frame(
        pd.DataFrame(rows, columns=names), nominal=names, name=f"3dm q={q} triples={len(rows)}"
    )
    tables = data.tables([["W"], ["X"], ["Y"], names])
    occurrences = tables.values(data.counts)
    tolerance = np.where(tables.dimension == 1, 3 - occurrences, 2).astype(np.float64)
    return FrequencyProblem(data, k=3, tables=tables, tolerance=tolerance, total=3 * q)


def _with_matching(rng: np.random.Generator, q: int, extra: int) -> list[Triple]:
    matching = [np.arange(1, q + 1), rng.permutation(q) + 1, rng.permutation(q) + 1]
    # two more places for every element keep it to three triples
    places = [rng.permutation(np.repeat(np.arange(1, q + 1), 2))[:extra] for _ in range(3)]
    return _triples([np.concatenate(pair) for pair in zip(matching, places, strict=True)])


def _without_matching(rng: np.random.Generator, q: int, extra: int) -> list[Triple]:
    """As with a matching, but elements 1 and 2 of the first set occur only with 1 of the second."""
    first = np.arange(1, q + 1)
    second = np.concatenate([[1, 1], rng.permutation(np.arange(3, q + 1))])
    third = rng.permutation(q) + 1
    # element 2 of the second set was displaced: the first extra triple brings it back
    shared = int(rng.integers(0, 2)) if extra < 2 * q - 3 and extra > 1 else int(extra > 1)
    free = extra - shared
    more_first = rng.permutation(np.repeat(np.arange(3, q + 1), 2))[:free]
    left = rng.permutation(np.concatenate([[2, 2], np.repeat(np.arange(3, q + 1), 2)]))
    more_second = np.concatenate([[2], left])[:free]
    more_third = rng.permutation(np.repeat(np.arange(1, q + 1), 2))[:extra]
    columns = [
        np.concatenate([first, more_first, rng.integers(1, 3, shared)]),
        np.concatenate([second, more_second, np.ones(shared, dtype=np.int64)]),
        np.concatenate([third, more_third]),
    ]
    renamed = [(rng.permutation(q) + 1)[column - 1] for column in columns]
    return _triples([renamed[j] for j in rng.permutation(3)])


def _triples(columns: list[NDArray[np.int64]]) -> list[Triple]:
    return [(int(w), int(x), int(y)) for w, x, y in zip(*columns, strict=True)]
