"""Results of full runs that come with kanopy: ``results/*.csv``, one file per paper, a row per run.

A row has what identifies the run, the version of the code that did it, what it found, and a column
for each measure; numbers have ten digits. Where a figure draws bounds over time, a last column has
them. The report shows these where the store has nothing
newer, and every number of the README is one of them. ``make results`` runs what is missing and
writes them anew.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from kanopy.experiments.specs import KEY, Experiment, Task, united
from kanopy.experiments.store import Record, Store, is_done
from kanopy.instances.files import write_whole

RESULTS = Path(__file__).with_name("results")
_TEXTS = ("code", "status", "error", "finished")
_NUMBERS = ("objective", "bound", "runtime", "cpu")
_KEY_TYPES = {name: type(value) for name, value in zip(KEY, Task("", "").key, strict=True)}

Key = tuple[str | int | float, ...]


def paper(experiment: Experiment) -> str:
    """The beginning of an experiment's name, which is also that of its file."""
    return experiment.name.partition("-")[0]


def write_results(
    store: Store, experiments: Sequence[Experiment], folder: Path = RESULTS
) -> list[Path]:
    """Write the files of the experiments' papers; runs that the store does not have stay.

    Of several versions the newest result counts, unless it lacks measures that an older one has.
    The order is that of the catalogue.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name in dict.fromkeys(map(paper, experiments)):
        path = folder / f"{name}.csv"
        kept = dict(_read(path)) if path.exists() else {}
        of_paper = [e for e in experiments if paper(e) == name]
        tasks = united(t for e in of_paper for t in e.tasks())
        traced = any(e.figure == "bounds" for e in of_paper)
        for task, record in store.records(tasks).items():
            if is_done(record, task) or not is_done(kept.get(task.key), task):
                kept[task.key] = record
        places = {task.key: i for i, task in enumerate(tasks)}
        keys = sorted(kept, key=lambda k: places.get(k, len(places)))
        rows = [_row(kept[key], traced) for key in keys]
        if rows:
            text = pd.DataFrame(rows).to_csv(index=False, float_format="%.10g", lineterminator="\n")
            write_whole(path, text.encode())
            written.append(path)
    _read.cache_clear()
    return written


def kept_results(tasks: Iterable[Task], folder: Path = RESULTS) -> dict[Task, Record]:
    """Those of the tasks that have a result in the files."""
    known: dict[Key, Record] = {}
    for path in sorted(folder.glob("*.csv")):
        known |= _read(path)
    return {task: known[task.key] for task in tasks if task.key in known}


def _row(record: Record, traced: bool) -> dict[str, Any]:
    row: dict[str, Any] = dict(zip(KEY, record.task.key, strict=True))
    row |= {name: getattr(record, name) for name in (*_TEXTS, *_NUMBERS)}
    row |= record.measures
    return row | {"trace": json.dumps(record.trace)} if traced else row


@cache
def _read(path: Path) -> Mapping[Key, Record]:
    texts = [name for name, kind in _KEY_TYPES.items() if kind is str]
    texts += [*_TEXTS, "trace"]
    types: Any = dict.fromkeys(texts, str)
    frame = pd.read_csv(path, dtype=types, keep_default_na=False, na_values={})
    others = [name for name in frame.columns if name not in texts]
    frame[others] = frame[others].apply(pd.to_numeric, errors="coerce")
    measures = [name for name in others if name not in (*KEY, *_NUMBERS)]
    found = (_record(row, measures) for row in frame.to_dict("records"))
    return {record.task.key: record for record in found}


def _record(row: Mapping[Any, Any], measures: Sequence[str]) -> Record:
    key: dict[str, Any] = {name: kind(row[name]) for name, kind in _KEY_TYPES.items()}
    found: dict[str, Any] = {name: row[name] for name in _TEXTS}
    found |= {name: None if math.isnan(row[name]) else float(row[name]) for name in _NUMBERS}
    measured = {name: float(row[name]) for name in measures if not math.isnan(row[name])}
    trace = tuple(tuple(event) for event in json.loads(row.get("trace", "[]")))
    return Record(Task(**key), measures=measured, trace=trace, **found)
