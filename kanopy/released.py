"""Loss of a generalised release, read off its own cells.

So a release can be measured that was written by anyone, in any order of rows, and whose rows are
generalised each by itself (freeform). A cell of a numeric column is ``[low-high]`` or a number, one
of a nominal column a value, ``{value|value}`` or a node of the column's hierarchy; ``*`` is a
suppressed cell, which loses all there is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kanopy.instances.columns import spellings
from kanopy.instances.microdata import Microdata
from kanopy.release import parse_range, parse_set

SUPPRESSED = "*"


@dataclass(frozen=True)
class _Cell:
    """What a cell loses.

    By its range or value set (003, definition 8), by the size of its node in the hierarchy (001,
    definition 3.8) and by that node's height (001, end of 3.2).
    """

    values: float
    size: float
    height: float
    single: bool = False


def released_losses(data: Microdata, release: pd.DataFrame) -> dict[str, float] | None:
    """NCP, GCP, Total-IL and generalisation loss of a release of ranges, sets and nodes.

    None if a cell is none of those, or if nothing is generalised: then numbers are centroids and
    values those of members, whose loss only shows in the classes. With a hierarchy, the
    generalisation loss counts the values below a node, be they in the class or not.

    >>> frame = pd.DataFrame({"age": [20, 30, 60], "sex": ["f", "m", "m"]})
    >>> release = pd.DataFrame({"age": ["[20-30]", "[20-30]", "60"], "sex": ["{f|m}", "*", "m"]})
    >>> released_losses(Microdata.from_frame(frame), release)["generalisation_loss"]
    1.5
    """
    weights = dict(zip([*data.numeric, *data.nominal], data.weights.tolist(), strict=True))
    totals = {"ncp": 0.0, "gcp": 0.0, "total_il": 0.0, "generalisation_loss": 0.0}
    generalised = bool(data.numeric)
    for name in data.quasi_identifiers:
        cells = _cells(data, name, release[name])
        if cells is None:
            return None
        found, code = cells
        generalised |= not all(cell.single for cell in found)
        counts = np.bincount(code, minlength=len(found))
        for number, cell in zip(counts.tolist(), found, strict=True):
            totals["ncp"] += number * weights[name] * cell.size
            totals["gcp"] += number * cell.values
            totals["total_il"] += number * cell.height
            totals["generalisation_loss"] += number * weights[name] * cell.values
    return totals if generalised else None


def _cells(
    data: Microdata, name: str, column: pd.Series
) -> tuple[list[_Cell], NDArray[np.int64]] | None:
    """The different cells of a column and the number of each row's; None if one is unreadable."""
    numeric = name in data.numeric
    if numeric and pd.api.types.is_numeric_dtype(column):
        return None
    values = column.astype(object)
    code, texts = pd.factorize(values.where(values.notna(), None), use_na_sentinel=False)
    read = _Numbers(data, name) if numeric else _Values(data, name)
    cells = [read(spellings(None if pd.isna(text) else text)[0]) for text in texts]
    found = [cell for cell in cells if cell is not None]
    return (found, code.astype(np.int64)) if len(found) == len(cells) else None


class _Numbers:
    """Reads the cells of a numeric column."""

    def __init__(self, data: Microdata, name: str) -> None:
        j = data.numeric.index(name)
        low, high = data.unstandardize(np.array([data.lower, data.upper]))[:, j].tolist()
        self.ends, self.width = (low, high), high - low

    def __call__(self, text: str) -> _Cell | None:
        ends = self.ends if text.strip() == SUPPRESSED else parse_range(text)
        if ends is None:
            try:
                ends = (float(text), float(text))
            except ValueError:
                return None
        wide = ends[1] - ends[0]
        if not 0 <= wide < np.inf:
            return None
        loss = wide / self.width if self.width > 0 else 0.0
        return _Cell(loss, loss, loss, wide == 0)


class _Values:
    """Reads the cells of a nominal column."""

    def __init__(self, data: Microdata, name: str) -> None:
        j = data.nominal.index(name)
        categories = data.categories[j].tolist()
        self.domain = int(data.domain_sizes[j])
        self.known = {text: value for value in categories for text in spellings(value)[::-1]}
        self.tree = data.hierarchies.get(name)
        self.nodes: dict[str, object] = {}
        self.below: dict[object, int] = {}
        if self.tree is not None:
            for value in categories:
                for node in self.tree.ancestors(value):
                    self.nodes |= dict.fromkeys(spellings(node), node)
                    self.below[node] = self.below.get(node, 0) + 1

    def __call__(self, text: str) -> _Cell | None:
        values = [self.known.get(part) for part in parse_set(text) if part in self.known]
        readable = len(values) == len(parse_set(text))
        number = len(set(values))
        if text in self.nodes:
            node, number = self.nodes[text], self.below[self.nodes[text]]
        elif readable:
            node = self.tree.closest_common_ancestor(values) if self.tree else None
        elif text.strip() == SUPPRESSED:
            node, number = self.tree.root if self.tree else None, self.domain
        else:
            return None
        lost = (number - 1) / self.domain
        if self.tree is None:
            return _Cell(lost, lost, float(number > 1), number == 1)
        size = self.tree.size(node) / len(self.tree.leaves)
        return _Cell(
            lost, size, self.tree.height(node) / self.tree.height(self.tree.root), size == 0
        )
