"""Independent check of freeform solutions: nothing here calls, or is called by, a method.

A freeform release promises less than k-anonymity in the sense of Samarati and Sweeney: each of its
rows is consistent with k originals and each original with k of its rows, by k disjoint perfect
matchings (Doka et al., ASIACCS 2015; 003, section 5).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kanopy.instances.microdata import Microdata
from kanopy.release import parse_ranges, parse_set


def match_problems(data: Microdata, matches: NDArray[np.int64], k: int) -> Iterable[str]:
    """What is wrong with k matchings of rows to originals; empty if nothing is."""
    if matches.shape != (data.n, k):
        yield f"matches have shape {matches.shape} for {data.n} rows and k = {k}"
        return
    if not np.issubdtype(matches.dtype, np.integer):
        yield f"matches are {matches.dtype}, not whole numbers"
        return
    outside = int(((matches < 0) | (matches >= data.n)).sum())
    if outside:
        yield f"{outside} matches are no rows of the table"
        return
    if matches[:, 0].tolist() != list(range(data.n)):
        yield "the first matching is not the true one"
    pairs = pd.DataFrame(matches).melt(ignore_index=False).reset_index()
    used = pairs.groupby("variable")["value"].nunique()
    if (used < data.n).any():
        yield f"{int((used < data.n).sum())} matchings use an original twice: they are not perfect"
    twice = int(pairs.duplicated(["index", "value"]).sum())
    if twice:
        yield f"the matchings share {twice} pairs of row and original: they are not disjoint"


def freeform_objective(data: Microdata, matches: NDArray[np.int64]) -> float:
    """The loss of every released cell, from the original table alone."""
    row, original = np.repeat(np.arange(data.n), matches.shape[1]), matches.ravel()
    weights = dict(zip([*data.numeric, *data.nominal], data.weights.tolist(), strict=True))
    total = 0.0
    for j, name in enumerate(data.numeric):
        width = float((data.upper[j] - data.lower[j]) * data.scale[j])
        ends = pd.Series(data.frame[name].to_numpy(dtype=float)[original]).groupby(row)
        if width > 0:
            total += weights[name] * float((ends.max() - ends.min()).sum()) / width
    for j, name in enumerate(data.nominal):
        values = pd.Series(data.frame[name].astype(object).to_numpy()[original])
        distinct = values.groupby(row).nunique(dropna=False)
        total += weights[name] * float((distinct - 1).sum()) / int(data.domain_sizes[j])
    return total


def coverage_problems(
    data: Microdata, release: pd.DataFrame, matches: NDArray[np.int64]
) -> Iterable[str]:
    """Which columns of a release do not cover the originals that its rows are matched with."""
    for name in data.quasi_identifiers:
        covers = _covers_number if name in data.numeric else _covers_value
        covered = covers(data, name, release[name].astype(str), matches)
        outside = int((~covered).any(axis=1).sum())
        if outside:
            yield f"release: {outside} rows do not cover their originals in column {name!r}"


def _covers_number(
    data: Microdata, name: str, released: pd.Series, matches: NDArray[np.int64]
) -> NDArray[np.bool_]:
    low, high = parse_ranges(released).T[:, :, None]
    values = data.frame[name].to_numpy(dtype=float)[matches]
    return np.asarray((low <= values) & (values <= high))


def _covers_value(
    data: Microdata, name: str, released: pd.Series, matches: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """By a table of different cells and different values."""
    cell, texts = pd.factorize(released)
    tree = data.hierarchies.get(name)
    code, values = pd.factorize(data.frame[name].astype(object), use_na_sentinel=False)
    spelt = []
    for value in values:
        known = None if pd.isna(value) else value
        above = tree.ancestors(known) if tree else (known,)
        spelt.append({"" if node is None else str(node) for node in above})
    held = [{text} if tree else set(parse_set(text)) for text in texts]
    table = np.array([[bool(words & names) for words in spelt] for names in held])
    return np.asarray(table[cell[:, None], code[matches]])
