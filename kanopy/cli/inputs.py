"""From the command line's texts to an instance and a question."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kanopy.instances.errors import KanopyError, unknown

if TYPE_CHECKING:
    from kanopy.instances.microdata import Microdata

MISSING = ("error", "drop", "category")


@dataclass(frozen=True)
class Columns:
    """Roles of the columns, as typed."""

    numeric: str
    nominal: str
    confidential: str
    strata: str
    weights: str
    missing: str
    raw: bool
    hierarchies: list[str]
    drop: str = ""

    @property
    def given(self) -> bool:
        """Whether any role or weight was named."""
        named = (self.numeric, self.nominal, self.confidential, self.strata, self.weights)
        return any((*named, self.drop))


@dataclass(frozen=True)
class Question:
    """What to solve, as typed."""

    k: int
    method: str
    cost: str | None
    time: float | None
    seed: int
    options: list[str]
    apart: bool = False

    def parsed_options(self) -> dict[str, Any]:
        """Options by name; values are read as JSON where they can be, else as text."""
        parsed: dict[str, Any] = {}
        for text in self.options:
            name, equals, value = text.partition("=")
            if not equals or not name:
                raise KanopyError(f"option {text!r} must look like name=value")
            try:
                parsed[name] = json.loads(value)
            except (ValueError, RecursionError):  # no JSON, or more of it than Python reads
                parsed[name] = value
        return parsed


@dataclass(frozen=True)
class Kept:
    """What of the original a written release keeps, as typed."""

    shuffle: bool
    escape_formulas: bool
    keep_order: bool
    keep_identifiers: bool


def names(text: str) -> list[str]:
    """Column or method names separated by commas; a name with a comma stands in double quotes.

    >>> names('age, "born, in"')
    ['age', 'born, in']
    """
    (parts,) = csv.reader([text.replace("\n", " ")], skipinitialspace=True)
    return [part.strip() for part in parts if part.strip()]


def read_instance(file: str, columns: Columns, without: Sequence[str] = ()) -> Microdata:
    """Instance from a file, a named data set or an embedded example, with its hierarchies.

    The columns of ``without`` are left out, besides those that ``columns`` drops.
    """
    from kanopy.instances.hierarchy_file import read_hierarchy

    data = _read(file, columns, without)
    trees = {}
    for text in columns.hierarchies:
        column, equals, path = text.partition("=")
        if not (column and equals and path):
            raise KanopyError(f"hierarchy {text!r} must look like column=FILE")
        trees[column] = read_hierarchy(path)
    return data.with_hierarchies(trees) if trees else data


def is_named(file: str) -> bool:
    """Whether this names a data set or an embedded example, not a file."""
    from kanopy.instances.datasets import DATASETS

    return file.partition(":")[0] == "example" or file in DATASETS


def _read(file: str, columns: Columns, without: Sequence[str]) -> Microdata:
    from kanopy.instances.datasets import DATASETS, load
    from kanopy.instances.examples import example, examples
    from kanopy.instances.files import read_table

    prefix, _, name = file.partition(":")
    if is_named(file):
        standardize = not columns.raw
        data = example(name) if prefix == "example" else load(file, standardize=standardize)
        if columns.missing not in MISSING:  # there are no missing values, but typing errors
            raise unknown("treatment of missing values", columns.missing, MISSING)
        changed = columns.given or without
        frame = data.frame.drop(columns=[*without])
        return _with_columns(frame, columns, data.name) if changed else data
    if Path(file).suffix == "" and not Path(file).exists():
        named = [f"example:{known}" for known in examples()]
        raise unknown("file or data set", file, [*DATASETS, *named])
    frame = read_table(file).drop(columns=[*without])
    return _with_columns(frame, columns, Path(file).name)


def _with_columns(frame: Any, columns: Columns, name: str) -> Microdata:
    from kanopy.instances.microdata import Microdata

    for left_out in names(columns.drop):
        if left_out not in frame.columns:
            raise unknown("column to drop", left_out, map(str, frame.columns))
        frame = frame.drop(columns=left_out)
    named = bool(columns.numeric or columns.nominal)
    return Microdata.from_frame(
        frame,
        numeric=names(columns.numeric) if named else None,
        nominal=names(columns.nominal) if named else None,
        confidential=names(columns.confidential),
        strata=columns.strata or None,
        weights=_weights(columns.weights),
        missing=columns.missing,  # type: ignore[arg-type]
        standardize=not columns.raw,
        name=name,
    )


def _weights(text: str) -> dict[str, float]:
    weights: dict[str, float] = {}
    for part in names(text):
        name, _, value = part.rpartition("=")
        try:
            weights[name] = float(value)
        except ValueError:
            raise KanopyError(f"weight {part!r} must look like column=number") from None
    return weights
