"""Results in one SQLite file: one row per finished run, written in one transaction each.

The file is in WAL mode, so that readers never wait and writers of several campaigns queue up; a
process that is killed leaves either the whole row or none. The key is the task and the version of
the code; the first record of a key stays, unless a later one brings measures that it lacks or it
was an error.

The version of the code is the package's version and a hash over all Python sources of
``instances``, ``models`` and ``solvers``, since any of them can change a result, while the command
line, the measures' report and the experiments cannot. Byte for byte, comments included: a hash of
the parsed code would depend on the Python that parses it. Where a change is known not to matter,
results of older versions are accepted on request.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd

import kanopy
from kanopy.experiments.specs import KEY, Task
from kanopy.instances.errors import KanopyError

_NUMBERS = ("objective", "bound", "runtime", "cpu")
_TEXTS = ("status", "error", "finished")
_JSON = ("measures", "trace", "versions")
_COLUMNS = (*KEY, "code", *_NUMBERS, *_TEXTS, *_JSON)
_KEY_TYPES = dict.fromkeys(KEY, "TEXT") | dict.fromkeys(("k", "seed", "control"), "INTEGER")
_KEY_TYPES |= {"seconds": "REAL"}
_LONGEST_WAIT = 120.0
"""Seconds that a writer waits for others."""


@dataclass(frozen=True)
class Record:
    """What is kept of a run; ``error`` is empty for one that ended well."""

    task: Task
    code: str
    objective: float | None = None
    bound: float | None = None
    status: str = ""
    runtime: float | None = None
    """Wall seconds, as the method itself saw them."""
    cpu: float | None = None
    """Processor seconds of the method, for tables of seconds: other load on the machine leaves
    them alone."""
    measures: Mapping[str, float] = field(default_factory=dict)
    trace: tuple[tuple[float, float | None, float | None], ...] = ()
    """Time, objective and bound of some events."""
    versions: Mapping[str, str] = field(default_factory=dict)
    error: str = ""
    finished: str = ""
    """UTC, ISO 8601."""


@lru_cache(maxsize=1)
def code_version() -> str:
    """Version of the package and hash of the sources that results depend on."""
    digest = hashlib.sha256()
    for name in ("instances", "models", "solvers"):
        folder = Path(importlib.import_module(f"kanopy.{name}").__path__[0])
        for path in sorted(folder.rglob("*.py")):
            digest.update(f"{name}/{path.relative_to(folder).as_posix()}\0".encode())
            digest.update(path.read_bytes())
    return f"{kanopy.__version__}+{digest.hexdigest()[:12]}"


class Store:
    """The file of results.

    >>> import tempfile
    >>> store = Store(Path(tempfile.mkdtemp()) / "results.sqlite")
    >>> task = Task("example:testdata", "mdav", 3)
    >>> store.add(Record(task, "1", objective=48.0))
    True
    >>> store.add(Record(task, "1", objective=50.0))
    False
    >>> [record.objective for record in store.records([task], "1").values()]
    [48.0]
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        with self._connection() as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            keys = ", ".join(f"{name} {kind} NOT NULL" for name, kind in _KEY_TYPES.items())
            others = [f"{name} REAL" for name in _NUMBERS]
            others += [f"{name} TEXT NOT NULL" for name in (*_TEXTS, *_JSON)]
            connection.execute(
                f"CREATE TABLE IF NOT EXISTS runs ({keys}, code TEXT NOT NULL, "
                f"{', '.join(others)}, PRIMARY KEY ({', '.join(KEY)}, code)) WITHOUT ROWID"
            )

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        try:
            connection = sqlite3.connect(self.path, timeout=_LONGEST_WAIT, isolation_level=None)
        except sqlite3.Error as error:
            raise KanopyError(
                f"cannot open the store {str(self.path)!r}: {error}; choose another with --store"
            ) from error
        try:
            connection.execute("PRAGMA synchronous=NORMAL")
            yield connection
        except (sqlite3.Error, pd.errors.DatabaseError, UnicodeDecodeError) as error:
            raise KanopyError(f"the store {str(self.path)!r} failed: {error}") from error
        finally:
            connection.close()

    def add(self, record: Record) -> bool:
        """Keep a record; False if there already is one as good."""
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                old = self._one(connection, record.task, record.code)
                if old is not None and not old.error:
                    if record.error or set(record.measures) <= set(old.measures):
                        return False
                    merged = {**old.measures, **record.measures}
                    record = Record(**{**vars(record), "measures": merged})
                marks = ", ".join("?" * len(_COLUMNS))
                connection.execute(
                    f"INSERT OR REPLACE INTO runs ({', '.join(_COLUMNS)}) VALUES ({marks})",
                    _row(record),
                )
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            finally:
                if connection.in_transaction:
                    connection.execute("COMMIT")
        return True

    def find(self, task: Task, code: str | None = None) -> Record | None:
        """The record of a task, of the given version or, with None, the newest of any."""
        with self._connection() as connection:
            return self._one(connection, task, code)

    def records(self, tasks: Iterable[Task], code: str | None = None) -> dict[Task, Record]:
        """Records of those tasks that have one, of the given version or the newest of any."""
        with self._connection() as connection:
            found = ((task, self._one(connection, task, code)) for task in tasks)
            return {task: record for task, record in found if record is not None}

    def _one(self, connection: sqlite3.Connection, task: Task, code: str | None) -> Record | None:
        where = " AND ".join(f"{name} = ?" for name in KEY)
        version = "" if code is None else " AND code = ?"
        row = connection.execute(
            f"SELECT {', '.join(_COLUMNS)} FROM runs WHERE {where}{version} "
            "ORDER BY error <> '', finished DESC LIMIT 1",
            (*task.key, *([] if code is None else [code])),
        ).fetchone()
        if row is None:
            return None
        kept: dict[str, Any] = dict(zip(_COLUMNS, row, strict=True))
        try:
            kept |= {name: json.loads(kept[name]) for name in _JSON}
            kept["trace"] = tuple(tuple(event) for event in kept["trace"])
        except (ValueError, TypeError, RecursionError) as error:
            raise KanopyError(
                f"a record in {str(self.path)!r} is damaged; delete its row or choose another store"
            ) from error
        return Record(task, **{name: kept[name] for name in _COLUMNS if name not in KEY})

    def frame(self) -> pd.DataFrame:
        """Everything, one row per run."""
        with self._connection() as connection:
            return pd.read_sql_query("SELECT * FROM runs", connection)


def is_done(record: Record | None, task: Task, retry: bool = False) -> bool:
    """Whether a task needs no more run: it has all its measures, or failed and is not retried."""
    if record is None:
        return False
    if record.error:
        return not retry
    return all(f"{name}:" in record.measures for name in task.measures)


def _row(record: Record) -> tuple[Any, ...]:
    kept = vars(record)
    values: list[Any] = [*record.task.key]
    values += [kept[name] for name in _COLUMNS[len(KEY) :] if name not in _JSON]
    return (*values, *(json.dumps(_plain(kept[name])) for name in _JSON))


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value
