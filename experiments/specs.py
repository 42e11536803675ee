"""What an experiment is: tasks, each with its place in a table, beside the published values.

A *task* is one call of ``solve`` with the measures wanted of it; an *entry* puts a task's value
into a cell, and several entries in one cell are summed up (a mean over ten instances, a box). So a
table of any paper is a list of entries, and runner, store and report know nothing of papers.

An instance is named by a text, so that it is the same key on every machine:

=============================================== ==================================================
``census``                                      the named data set
``adult rows=200 columns=5 seed=3``             a sample, with the arguments of ``load``
``census subset=random size=30 number=2``       a subset as 002 cuts them
``synthetic n=200 p=0.2 k=3 seed=1``            a generated one
``example:fars weights=[0.8,0.05,0.1,0.05]``    an example of the papers, with weights
``census-income rows=200 numbers=true``         categories replaced by their numbers (003)
``example:fars restrict=[12,1,11]``             some rows, bounded by all of them (003, table 5)
=============================================== ==================================================
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kanopy.instances.datasets import DATASETS, find_file, load
from kanopy.instances.errors import KanopyError
from kanopy.instances.examples import example
from kanopy.instances.generators import GENERATORS, generate
from kanopy.instances.microdata import Microdata
from kanopy.instances.samplers import sample

PUBLISHED = Path(__file__).with_name("published")
UNTRIED = "data"
"""The method of a task that only looks at the data."""


@dataclass(frozen=True)
class Task:
    """One run: everything but ``measures`` identifies it."""

    instance: str
    method: str
    k: int = 3
    cost: str = ""
    """Empty for what the kind of data suggests."""
    options: str = "{}"
    """JSON with sorted keys; :func:`options` writes it."""
    seed: int = 0
    seconds: float = 0.0
    """Time limit, 0 for none."""
    control: int = 0
    """Control tables up to this dimension, 0 for none."""
    start: str = ""
    """Method whose partition is given as ``initial``, or empty."""
    measures: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str | int | float, ...]:
        """What makes two runs the same, besides the version of the code."""
        return (
            self.instance,
            self.method,
            self.options,
            self.k,
            self.cost,
            self.seed,
            self.seconds,
            self.control,
            self.start,
        )

    @property
    def given(self) -> dict[str, Any]:
        """The method's options."""
        return dict(json.loads(self.options))


KEY = ("instance", "method", "options", "k", "cost", "seed", "seconds", "control", "start")
"""Names of the parts of :attr:`Task.key`."""


@dataclass(frozen=True)
class Entry:
    """A task's place in a table, and the value that stands there.

    ``value`` names a field of the record (``objective``, ``runtime``, …), a measure, or one of the
    derived values of :mod:`kanopy.experiments.tables`.
    """

    row: str
    column: str
    task: Task
    value: str = "objective"
    group: str = ""
    """Entries are compared with each other within an instance and this group."""


Maker = Callable[[bool], Sequence[Entry]]


@dataclass(frozen=True)
class Experiment:
    """A published table or figure, or one of our own."""

    name: str
    title: str
    source: str
    entries: Maker
    """Called with True for the quick form."""
    reading: str
    """What agrees with the paper, what differs, and why."""
    published: Callable[[], pd.DataFrame] | None = None
    """Columns ``row``, ``column`` and ``published``."""
    summary: str = "mean"
    """How the entries of a cell become a number; see :mod:`kanopy.experiments.tables`."""
    figure: str = ""
    """``boxes``, ``curves``, ``histogram``, ``bounds``, ``profile`` or none."""
    unit: str = ""
    missing: str = ""
    """Data that are not to be had."""

    def tasks(self, quick: bool = False) -> list[Task]:
        """Every task once, with all the measures that its entries want."""
        return united(entry.task for entry in self.entries(quick))


def united(tasks: Iterable[Task]) -> list[Task]:
    """Each key once, with the measures of all tasks that have it."""
    known: dict[tuple[str | int | float, ...], Task] = {}
    for task in tasks:
        before = known.get(task.key, task)
        every = dict.fromkeys((*before.measures, *task.measures))
        known[task.key] = replace(task, measures=tuple(every))
    return list(known.values())


def options(given: Mapping[str, Any] | None = None, **more: Any) -> str:
    """Options as a task keeps them.

    >>> options(runs=10, gamma=0.5)
    '{"gamma": 0.5, "runs": 10}'
    """
    return json.dumps({**(given or {}), **more}, sort_keys=True)


def published(file: str, table: str) -> Callable[[], pd.DataFrame]:
    """The cells of one table of a file with the columns table, row, column and value."""

    def read() -> pd.DataFrame:
        frame = pd.read_csv(PUBLISHED / file, dtype={"table": str}, comment="#")
        frame = frame[frame["table"] == table]
        return frame[["row", "column", "value"]].rename(columns={"value": "published"})

    return read


def parts(instance: str) -> tuple[str, dict[str, Any]]:
    """Name and parameters of an instance.

    >>> parts("adult rows=200 seed=3")
    ('adult', {'rows': 200, 'seed': 3})
    """
    name, *words = instance.split()
    parameters: dict[str, Any] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            raise KanopyError(f"{word!r} in instance {instance!r} is not of the form name=value")
        try:
            parameters[key] = json.loads(value)
        except json.JSONDecodeError:
            parameters[key] = value
    return name, parameters


@lru_cache(maxsize=4)
def make_instance(instance: str) -> Microdata:
    """The instance of a name, as the module's docstring describes them.

    >>> make_instance("synthetic n=40 p=1 k=3 seed=1").n
    40
    """
    name, parameters = parts(instance)
    weights, numbers = parameters.pop("weights", None), parameters.pop("numbers", False)
    kept = parameters.pop("restrict", None)
    subset = {key: parameters.pop(key) for key in ("subset", "size", "number") if key in parameters}
    data: Microdata
    if name.startswith("example:"):
        data = example(name.removeprefix("example:"))
    elif name in GENERATORS:
        data = generate(name, **parameters)
    else:
        data = load(name, **parameters)
    if subset:
        data = sample(data, subset["size"], subset["subset"], subset.get("number", 0))
    if numbers:
        codes = {name: data.codes[:, j] for j, name in enumerate(data.nominal)}
        frame = data.frame[list(data.quasi_identifiers)].assign(**codes)
        data = Microdata.from_frame(frame, numeric=list(frame.columns), name=data.name)
    if weights is not None:
        frame = data.frame[list(data.quasi_identifiers)]
        data = Microdata.from_frame(
            frame,
            numeric=data.numeric,
            nominal=data.nominal,
            weights=dict(zip(frame.columns, weights, strict=True)),
            name=data.name,
        )
    return data if kept is None else data.restrict(np.array(kept))


def lacking(instance: str) -> str:
    """Why an instance is not to be had, or an empty text."""
    name = parts(instance)[0]
    if name.startswith("example:") or name in GENERATORS:
        return ""
    if name not in DATASETS:
        return f"data {name} not to be had"
    return "" if find_file(DATASETS[name].file) else f"data {name} not here"


def choose(experiments: Iterable[Experiment], names: Sequence[str]) -> list[Experiment]:
    """Experiments by name; ``all`` takes every one, a beginning (``thaeter-A``) several."""
    every = list(experiments)
    chosen: dict[str, Experiment] = {}
    for name in names:
        exact = [e for e in every if e.name == name]
        found = exact or [e for e in every if name == "all" or e.name.startswith(name)]
        if not found:
            near = get_close_matches(name, [e.name for e in every], n=5, cutoff=0.5)
            closest = f"the closest are {', '.join(near)}; " if near else ""
            raise KanopyError(
                f"unknown experiment {name!r}; {closest}kanopy experiment list shows all"
            )
        chosen |= {e.name: e for e in found}
    return list(chosen.values())
