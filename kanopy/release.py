"""The anonymised table of a solution.

=========== =================================================== =================================
kind        every class becomes                                 default for cost
=========== =================================================== =================================
centroids   its mean (numbers only; 001, definition 2.12)       sse
ranges      ``[low-high]`` and ``{value|value}``, or the        range
            closest common ancestor (003; 001, definition 3.6)
members     one of its rows (000, 5.1)                          hamming
counts      the rows of a frequency vector (000, 1.1)           max-error, chi2
freeform    nothing: each *row* becomes the ranges and sets of  range, by a freeform method
            the k originals it covers (Doka et al. 2015)
=========== =================================================== =================================

A freeform release is **not** k-anonymous in the sense of Samarati and Sweeney: its rows differ.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kanopy.instances.arguments import checked_seed, is_known
from kanopy.instances.columns import spellings
from kanopy.instances.errors import KanopyError, unknown
from kanopy.instances.merge import merge_rows
from kanopy.instances.microdata import Microdata
from kanopy.solvers.kernels.transport import similar_first

if TYPE_CHECKING:
    from kanopy.solution import Solution

KINDS = ("centroids", "ranges", "members", "counts", "freeform")
_DEFAULT = {"sse": "centroids", "hamming": "members", "range": "ranges"}
_NUMBER = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_RANGE = re.compile(rf"\[\s*({_NUMBER})\s*-\s*({_NUMBER})\s*\]")
_RANGE_OF_ARROW = rf"^\s*\[\s*(?P<low>{_NUMBER})\s*-\s*(?P<high>{_NUMBER})\s*\]\s*$"


def default_kind(solution: Solution) -> str:
    """The kind of release that a solution's objective speaks about."""
    if solution.counts is not None:
        return "counts"
    if solution.representatives is not None:
        return "members"
    if solution.matches is not None:
        return "freeform"
    return _DEFAULT.get(solution.cost, "members")


def make_release(
    solution: Solution,
    kind: str | None = None,
    *,
    shuffle: bool = False,
    seed: int = 0,
    keep_order: bool = True,
    keep_identifiers: bool = True,
) -> pd.DataFrame:
    """The anonymised table: same index, columns and, where values allow it, dtypes.

    Columns that are no quasi-identifiers come back as they were. A frequency vector that does
    not keep the number of rows gives a table of its quasi-identifiers alone.

    Before a release leaves the house, it should keep neither the order nor identifiers of the
    original, as the command line does by default. Without ``keep_order`` the rows are sorted by
    what they contain, with a new index, so that neither tells who is who; ``shuffle`` then puts
    them in a random order. Without ``keep_identifiers`` the columns of :func:`identifiers` are
    left out.

    Examples
    --------
    >>> import kanopy as kn
    >>> s = kn.solve(kn.example("testdata"), k=3, method="mdav")
    >>> print(s.release("ranges").drop_duplicates().to_string(index=False))
    Attribute 1 Attribute 2
          [3-9]       [3-6]
         [9-12]       [3-9]
    """
    kind = default_kind(solution) if kind is None else kind
    if not is_known(kind, KINDS):
        raise unknown("kind of release", kind, KINDS)
    data = solution.data
    if kind == "counts":
        released = _rows_of_counts(data, _needed(solution.counts, kind))
    elif kind == "freeform":
        matches = _needed(solution.matches, kind)
        row = np.repeat(np.arange(data.n), matches.shape[1])
        released = _ranges(data, np.arange(data.n), row, matches.ravel())
    else:
        labels = _needed(solution.labels, kind)
        if kind == "centroids":
            released = _centroids(data, labels)
        elif kind == "ranges":
            released = _ranges(data, labels, labels, np.arange(data.n))
        else:
            chosen = solution.representatives
            rows = medoids(data, labels) if chosen is None else chosen
            released = _replaced(data, rows[labels])
    if not keep_identifiers:
        released = released.drop(columns=identifiers(data), errors="ignore")
    if shuffle or not keep_order:
        released = _by_content(released)
    if shuffle:  # of sorted rows: whoever knows the seed learns nothing
        order = np.random.default_rng(checked_seed(seed)).permutation(len(released))
        released = released.iloc[order].reset_index(drop=True)
    return released


def identifiers(data: Microdata) -> list[str]:
    """Columns without a role whose values (texts, whole numbers, …) all differ: names and keys.

    >>> frame = pd.DataFrame({"name": ["Ann", "Bob"], "age": [30, 40], "sick": [True, False]})
    >>> identifiers(Microdata.from_frame(frame, numeric=["age"], confidential=["sick"]))
    ['name']
    """
    roles = {*data.quasi_identifiers, *data.confidential, data.strata}
    frame = data.frame
    return [
        name
        for name in frame.columns
        if name not in roles
        and not pd.api.types.is_float_dtype(frame[name])
        and not frame[name].astype(str).duplicated().any()
    ]


def _by_content(released: pd.DataFrame) -> pd.DataFrame:
    """The rows in an order that follows from their cells alone."""
    keys = [pd.factorize(column.astype(str), sort=True)[0] for _, column in released.items()]
    return released.iloc[np.lexsort(keys[::-1])].reset_index(drop=True)


def _needed(decision: NDArray[np.int64] | None, kind: str) -> NDArray[np.int64]:
    if decision is None:
        raise KanopyError(f"this solution cannot be released as {kind!r}; leave the kind out")
    return decision


def _centroids(data: Microdata, labels: NDArray[np.int64]) -> pd.DataFrame:
    if data.nominal:
        raise KanopyError(
            f"nominal columns {', '.join(data.nominal)} have no mean; release 'members' or 'ranges'"
        )
    released = data.frame
    for name in data.numeric:
        column = released[name]
        values = pd.Series(column.to_numpy(dtype=float))
        # An offset near the values keeps the digits that summing large numbers would lose.
        offset = float(values.iloc[0])
        means = (values - offset).groupby(labels).mean().to_numpy()[labels] + offset
        released[name] = _as_dtype(means, column)
    return released


def _as_dtype(values: NDArray[np.float64], column: pd.Series) -> pd.Series:
    whole = pd.api.types.is_integer_dtype(column) and bool((values == np.round(values)).all())
    dtype = column.dtype if whole or pd.api.types.is_float_dtype(column) else np.float64
    return pd.Series(values, index=column.index).astype(dtype)


def _ranges(
    data: Microdata,
    labels: NDArray[np.int64],
    box: NDArray[np.int64],
    member: NDArray[np.int64],
) -> pd.DataFrame:
    """Each row as the box of its label; box ``box[i]`` covers row ``member[i]``."""
    released = data.frame
    for name in data.numeric:
        values = pd.Series(released[name].to_numpy()[member])
        groups = values.groupby(box)
        low, high = _plain(groups.min()), _plain(groups.max())
        texts = pc.binary_join_element_wise("[", low, "-", high, "]", "").to_pylist()
        released[name] = _spread(texts, labels, released.index)
    for j, name in enumerate(data.nominal):
        tree = data.hierarchies.get(name)
        categories = data.categories[j]
        code = data.codes[member, j]
        first = merge_rows([box, code])[0]  # lexicographic: one run of distinct values a box
        ends = [0, *np.flatnonzero(np.diff(box[first])) + 1, len(first)]
        codes = code[first].tolist()
        known: dict[tuple[int, ...], str] = {}
        texts = []
        for start, end in pairwise(ends):
            held = tuple(codes[start:end])
            if held not in known:
                chosen = categories[list(held)]
                known[held] = (
                    spellings(tree.closest_common_ancestor(chosen))[0]
                    if tree
                    else format_set(chosen)
                )
            texts.append(known[held])
        released[name] = _spread(texts, labels, released.index)
    return released


def _spread(texts: Sequence[str], labels: NDArray[np.int64], index: pd.Index) -> pd.Series:
    """The text of its label for each row; taken by pandas, which need not look at each again."""
    return pd.Series(texts).take(labels).set_axis(index)


def _plain(values: pd.Series) -> pa.Array:
    """Numbers as Python spells them, whole ones without a point.

    Arrow writes the same shortest digits several times faster, but takes to exponents elsewhere.
    """
    numbers = values.to_numpy(dtype=float)
    size = np.abs(numbers)
    other = ~((size >= 1e-4) & (size < 1e10))
    texts = [
        str(int(value)) if abs(value) < 1e15 and value == int(value) else repr(value)
        for value in values[other].tolist()
    ]
    return pc.replace_with_mask(
        pa.array(numbers).cast(pa.string()), other, pa.array(texts, pa.string())
    )


def format_set(values: Sequence[object] | NDArray[np.object_]) -> str:
    r"""A value set as text; a single value stands as it is.

    >>> format_set(["a"]), format_set(["a", "b|c"])
    ('a', '{a|b\\|c}')
    """
    texts = [re.sub(r"([\\|{}])", r"\\\1", "" if v is None else str(v)) for v in values]
    return texts[0] if len(texts) == 1 else "{" + "|".join(texts) + "}"


def parse_set(text: str) -> tuple[str, ...]:
    r"""The values behind :func:`format_set`.

    >>> parse_set('{a|b\\|c}'), parse_set("a")
    (('a', 'b|c'), ('a',))
    """
    several = len(text) > 1 and text.startswith("{") and text.endswith("}")
    parts = [""]
    for escaped, plain in re.findall(r"\\(.)|([^\\])", text[1:-1] if several else text, re.DOTALL):
        if plain == "|" and several:
            parts.append("")
        else:
            parts[-1] += escaped or plain
    return tuple(parts)


def parse_range(text: str) -> tuple[float, float] | None:
    """The two ends of ``[low-high]``; None if the text is no range.

    >>> parse_range("[35-37]"), parse_range("[-3--1.5]"), parse_range("35")
    ((35.0, 37.0), (-3.0, -1.5), None)
    """
    match = _RANGE.fullmatch(text.strip())
    return (float(match[1]), float(match[2])) if match else None


def parse_ranges(texts: pd.Series) -> NDArray[np.float64]:
    """The two ends of many ranges, a row each; ∞ and −∞, which hold nothing, for other texts.

    >>> parse_ranges(pd.Series(["[35-37]", "35"])).tolist()
    [[35.0, 37.0], [inf, -inf]]
    """
    found = pc.extract_regex(pa.array(texts, pa.string()), _RANGE_OF_ARROW)
    ends = [
        pc.struct_field(found, end).cast(pa.float64()).to_numpy(zero_copy_only=False)
        for end in ("low", "high")
    ]
    none = np.isnan(ends[0])
    return np.column_stack([np.where(none, np.inf, ends[0]), np.where(none, -np.inf, ends[1])])


def medoids(data: Microdata, labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each class the member closest to all others in sum; the first row on ties.

    Closeness is squared distance for numbers and Hamming distance for categories, weighted. Both
    sums need one pass: squared distances through the mean (001, theorem 2.15), mismatches through
    the frequency of the member's own value in its class.
    """
    far = np.zeros(data.n)
    sizes = np.bincount(labels)
    for column, weight in zip(data.X.T, data.numeric_weights, strict=True):
        mean = np.bincount(labels, weights=column) / sizes
        far += weight * sizes[labels] * (column - mean[labels]) ** 2
    for column, weight in zip(data.codes.T, data.nominal_weights, strict=True):
        held = pd.factorize(labels * (column.max() + 1) + column)[0]  # class and value
        far += weight * (sizes[labels] - np.bincount(held)[held])
    order = np.lexsort((np.arange(data.n), np.round(far, 12), labels))
    starts = np.searchsorted(labels[order], np.arange(len(sizes)))
    return order[starts].astype(np.int64)


def _replaced(data: Microdata, source: NDArray[np.int64]) -> pd.DataFrame:
    """Every row with the quasi-identifiers of its source row."""
    released = data.frame
    for name in data.quasi_identifiers:
        released[name] = released[name].iloc[source].set_axis(released.index)
    return released


def _rows_of_counts(data: Microdata, counts: NDArray[np.int64]) -> pd.DataFrame:
    if counts.sum() != data.n:
        rows = np.repeat(np.arange(len(counts)), counts)
        return data.combinations.iloc[rows].reset_index(drop=True)
    return _replaced(data, data.first_rows[assign_counts(data, counts)])


def assign_counts(data: Microdata, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """A combination for each row such that combination i is used counts[i] times.

    Rows keep their own combination as far as its new count allows, first rows first; the others
    take a free one in order of Hamming distance, most similar pairs first, ties by number.
    """
    order = np.argsort(data.types, kind="stable")
    starts = np.cumsum(data.counts) - data.counts
    position = np.empty(data.n, dtype=np.int64)
    position[order] = np.arange(data.n) - np.repeat(starts, data.counts)
    given = np.where(position < counts[data.types], data.types, -1)
    free = np.maximum(counts - data.counts, 0)
    waiting = np.flatnonzero(given < 0)
    targets = np.flatnonzero(free)
    codes = data.codes[data.first_rows]
    own, start = np.unique(data.types[waiting], return_inverse=True)
    need = np.bincount(start, minlength=len(own))
    new: list[list[int]] = [[] for _ in own]
    for i, j, moved in similar_first(codes[own], codes[targets], need, free[targets]).tolist():
        new[i].extend([int(targets[j])] * moved)
    for row, i in zip(waiting.tolist(), start.tolist(), strict=True):
        given[row] = new[i].pop()
    return given
