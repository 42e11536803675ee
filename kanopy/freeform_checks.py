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
from kanopy.release import parse_range, parse_set


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
        groups = values.where(values.notna(), "missing value").groupby(row)
        total += weights[name] * float((groups.nunique() - 1).sum()) / int(data.domain_sizes[j])
    return total


def coverage_problems(
    data: Microdata, release: pd.DataFrame, matches: NDArray[np.int64]
) -> Iterable[str]:
    """Which columns of a release do not cover the originals that its rows are matched with."""
    for name in data.numeric:
        cells = [parse_range(text) for text in release[name].astype(str)]
        ends = np.array([cell or (np.inf, -np.inf) for cell in cells])
        covered = data.frame[name].to_numpy(dtype=float)[matches]
        outside = int(((covered < ends[:, [0]]) | (covered > ends[:, [1]])).any(axis=1).sum())
        if outside:
            yield f"release: {outside} rows do not cover their originals in column {name!r}"
    for name in data.nominal:
        values = data.frame[name].astype(object)
        texts = [
            "" if gone else str(value) for gone, value in zip(values.isna(), values, strict=True)
        ]
        tree = data.hierarchies.get(name)
        above = {
            text: {str(node) for node in tree.ancestors(value)} if tree else set()
            for text, value in dict(zip(texts, values, strict=True)).items()
        }
        outside = 0
        for cell, row in zip(release[name].astype(str), matches.tolist(), strict=True):
            held = {cell} if tree else set(parse_set(cell))
            outside += any(texts[i] not in held and not held & above[texts[i]] for i in row)
        if outside:
            yield f"release: {outside} rows do not cover their originals in column {name!r}"
