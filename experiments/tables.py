"""From records to the cells of a table.

A value of an entry is a field of the record (``objective``, ``runtime``, …), a measure, or

============= ====================================================================================
``proven:x``  100·(x − b)/x, where b is the best bound that any record of the experiment or the
              best known solutions have for the same instance, k and cost (002, eq. 15); x may be
              ``weight``, of a clustering, or ``chi-ex``, the objective of Chi-ex for a release:
              χ² sum + deviation/n (000, 5.6.1), which is what the bound of Chi-ex is of
``gap:x``     (x − x*)/x*, where x* is the least x of the same column, instance and k (000, 6.1.1);
              none where there is nothing to compare with
``over:x``    x over that of the first row of the same column, instance and k (003, figs. 2 and 4);
              none where that has not been run
``optimal``   1 if proven, else 0
``option:x``  the option x of the task, for ``summary="best"``
============= ====================================================================================

The values of a cell are then summed up: ``mean``, ``median``, ``sum``, ``best`` (the value where
the objective is least, of each instance, then the mean over instances), ``spread`` (lowest,
highest, median, mean and variance, as columns), ``range``, ``count`` (how often each value occurs),
``ratios`` (rows against rows: mean of 100·x/y over the columns, 001, table 5.3), ``pairs`` (the
options of least median, 000, table 6.5) or ``behaviour`` (000, figure 6.2).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from kanopy.archive import known_bounds
from kanopy.experiments.specs import Entry, Experiment, Task, parts
from kanopy.experiments.store import Record
from kanopy.solution import OPTIMALITY_GAP
from kanopy.solvers.registry import all_methods

_SPREAD = {"lowest": "min", "highest": "max", "median": "median", "mean": "mean"}
_SPREAD |= {"variance": "var"}
_SAME = ["column", "instance", "k", "seed", "group"]


def values(entries: Sequence[Entry], records: Mapping[Task, Record]) -> pd.DataFrame:
    """One row per entry that has a record without error, with the value that it shows."""
    by_key = {task.key: record for task, record in records.items()}
    rows: list[dict[str, Any]] = []
    leading: dict[tuple[Any, ...], str] = {}
    for entry in entries:
        one = entry.task
        leading.setdefault((entry.column, one.instance, one.k, one.seed, entry.group), entry.row)
        record = by_key.get(entry.task.key)
        if record is None or record.error:
            continue
        name = entry.value.rpartition(":")[2]
        rows.append(
            {
                "row": entry.row,
                "column": entry.column,
                "instance": entry.task.instance,
                "k": entry.task.k,
                "cost": entry.task.cost or _only_cost(entry.task.method),
                "seed": entry.task.seed,
                "group": entry.group,
                "options": entry.task.options,
                "wanted": entry.value,
                "objective": record.objective,
                "bound": record.bound,
                "value": _plain(entry, record, name),
            }
        )
    names = ["row", "column", "instance", "k", "cost", "seed", "group", "options", "wanted"]
    frame = pd.DataFrame(rows, columns=[*names, "objective", "bound", "value"])
    frame = frame.astype(dict.fromkeys(("objective", "bound", "value"), float))
    kind = frame["wanted"].map(lambda wanted: wanted.partition(":")[0])
    frame.loc[kind == "proven", "value"] = _proven(frame)[kind == "proven"]
    same = frame.groupby(_SAME)["value"]
    # Where the best is 0 no gap is defined (000, 6.1.1, assumes it is not); nor is there one to
    # itself, while the others have not been run yet.
    best = same.transform("min").where(same.transform("count") > 1)
    frame.loc[kind == "gap", "value"] = ((frame["value"] - best) / best.where(best > 0))[
        kind == "gap"
    ]
    is_first = frame["row"] == [leading[key] for key in frame[_SAME].itertuples(index=False)]
    keys = [frame[name] for name in _SAME]
    first = frame["value"].where(is_first).groupby(keys).transform("first")
    frame.loc[kind == "over", "value"] = (frame["value"] / first.where(first > 0))[kind == "over"]
    return frame.dropna(subset="value")


def _only_cost(method: str) -> str:
    """The cost of a method that knows one only, which a task need not name."""
    costs = all_methods()[method].costs if method in all_methods() else ()
    return costs[0] if len(costs) == 1 else ""


def _plain(entry: Entry, record: Record, name: str) -> float | None:
    if entry.value == "optimal":
        return float(record.status == "optimal")
    if entry.value.startswith("option:"):
        return float(json.loads(entry.task.options).get(name, np.nan))
    if name in ("objective", "bound", "runtime", "cpu"):
        number = getattr(record, name)
        return None if number is None else float(number)
    if name == "chi-ex":
        return _chi_ex(entry.task.instance, record.measures)
    return record.measures.get(name)


def _chi_ex(instance: str, measures: Mapping[str, float]) -> float | None:
    """The objective of Chi-ex with the thesis' weight 1/n of the deviation (000, 3.2 and 5.6)."""
    parameters = parts(instance)[1]
    n = parameters.get("rows", parameters.get("n"))
    if n is None or not {"chi2", "deviation"} <= set(measures):
        return None
    return measures["chi2"] + measures["deviation"] / float(n)


def _proven(frame: pd.DataFrame) -> pd.Series:
    """Gaps in percent to the best bound for the same question.

    The weight of a clustering is the cost ``hamming``, the objective of Chi-ex the cost ``chi2``,
    whatever the method aimed at.
    """
    name = frame["wanted"].map(lambda wanted: wanted.rpartition(":")[2])
    asked = name.map({"weight": "hamming", "chi-ex": "chi2"}).fillna(frame["cost"])
    questions = list(zip(frame["instance"], frame["k"], asked, strict=True))
    bounds: dict[tuple[str, int, str], float] = known_bounds(questions)
    for instance, k, cost, bound in frame[["instance", "k", "cost", "bound"]].itertuples(
        index=False
    ):
        if not np.isnan(bound):
            bounds[instance, k, cost] = max(bound, bounds.get((instance, k, cost), -np.inf))
    best = pd.Series([bounds.get(key, np.nan) for key in questions], frame.index, dtype=float)
    gap = 100 * (frame["value"] - best) / frame["value"].where(frame["value"] > 0)
    gap = gap.where((frame["value"] != 0) | best.isna(), 0.0)
    return gap.where(gap.isna() | (gap.abs() > 100 * OPTIMALITY_GAP), 0.0)


def cells(frame: pd.DataFrame, summary: str) -> pd.DataFrame:
    """The values summed up by cell: columns ``row``, ``column`` and ``ours``."""
    if frame.empty:
        return pd.DataFrame(columns=["row", "column", "ours"])
    if summary == "best":
        best = frame.groupby(["row", "column", "instance"])["objective"].idxmin()
        frame, summary = frame.loc[best], "mean"
    if summary == "ratios":
        return _ratios(frame)
    if summary == "spread":
        return _spread(frame, _SPREAD)
    if summary == "range":
        return _spread(frame, {"least": "min", "most": "max"})
    if summary == "pairs":
        return _pairs(frame)
    if summary == "behaviour":
        return _behaviour(frame)
    if summary == "count":
        counted = frame.groupby(["row", "value"]).size().rename("ours").reset_index()
        counted["column"] = counted["value"].map("{:g}".format)
        return counted[["row", "column", "ours"]]
    groups: Any = frame.groupby(["row", "column"], sort=False)["value"]
    # How many are proven is a number, not a share (002, column Ex).
    kept = frame.assign(
        _counted=frame["wanted"] == "optimal",
        _sum=groups.transform("sum"),
        _ours=groups.transform(summary),
    ).drop_duplicates(["row", "column"])
    kept = kept.assign(ours=kept["_ours"].where(~kept["_counted"], kept["_sum"]))
    return kept[["row", "column", "ours"]].reset_index(drop=True)


def _pairs(frame: pd.DataFrame) -> pd.DataFrame:
    medians = frame.groupby(["row", "options"], sort=False)["value"].median().reset_index()
    least = medians.loc[medians.groupby("row", sort=False)["value"].idxmin()]
    chosen = [
        (row, json.loads(given)) for row, given in zip(least["row"], least["options"], strict=True)
    ]
    found = [(row, name, float(value)) for row, given in chosen for name, value in given.items()]
    return pd.DataFrame(found, columns=["row", "column", "ours"])


def _with_all_options(frame: pd.DataFrame, entries: Sequence[Entry]) -> pd.DataFrame:
    """Rows of which every option was tried: the best of some is not the best."""
    wanted: dict[str, set[str]] = {}
    for entry in entries:
        wanted.setdefault(entry.row, set()).add(entry.task.options)
    tried = frame.groupby("row")["options"].nunique()
    return frame[frame["row"].map(lambda row: bool(tried[row] == len(wanted[row])))]


def _behaviour(frame: pd.DataFrame) -> pd.DataFrame:
    """How values go over three columns, counted (000, figure 6.2), where all three are there."""
    wide = frame.pivot_table("value", ["row", "instance", "group"], "column").dropna()
    if len(wide.columns) != 3 or wide.empty:  # 0 of none would look like a result
        return pd.DataFrame(columns=["row", "column", "ours"])
    low, middle, high = (wide[name] for name in sorted(wide.columns))
    up, down = (low <= middle) & (middle <= high), (low >= middle) & (middle >= high)
    best = (middle < low) & (middle < high)
    kinds = {
        "not better with more": up,
        "not worse with more": down,
        "best in the middle": best,
        "other": ~(up | down | best),
    }
    found = [
        (row, name, float(kind[wide.index.get_level_values("row") == row].sum()))
        for row in dict.fromkeys(frame["row"])
        for name, kind in kinds.items()
    ]
    return pd.DataFrame(found, columns=["row", "column", "ours"])


def _spread(frame: pd.DataFrame, statistics: Mapping[str, str]) -> pd.DataFrame:
    grouped = frame.groupby("row", sort=False)["value"].agg(list(statistics.values()))
    grouped = grouped.rename(columns={old: new for new, old in statistics.items()})
    return grouped.reset_index().melt("row", var_name="column", value_name="ours")


def _ratios(frame: pd.DataFrame) -> pd.DataFrame:
    wide = frame.pivot_table("value", "column", "row")
    names = [name for name in dict.fromkeys(frame["row"]) if name in wide]
    rows = []
    for i, source in enumerate(names):
        for target in names[i:]:
            both = wide[[source, target]].dropna() if source != target else wide[[source]].dropna()
            share = both[target] / both[source].where(both[source] > 0)
            rows.append((source, target, float(100 * share.mean())))
    return pd.DataFrame(rows, columns=["row", "column", "ours"])


def compared(
    experiment: Experiment, records: Mapping[Task, Record], quick: bool = False
) -> pd.DataFrame:
    """Cells with ``published`` and ``ours`` side by side, in the order of the table.

    The quick form has other instances than the paper: no published value stands beside it.
    """
    entries = experiment.entries(quick)
    frame = values(entries, records)
    if experiment.summary == "pairs":
        frame = _with_all_options(frame, entries)
    found = cells(frame, experiment.summary)
    if quick or experiment.published is None:
        theirs = pd.DataFrame(columns=["row", "column", "published"])
    else:
        theirs = experiment.published()
    table = theirs.merge(found, on=["row", "column"], how="outer")
    order = {
        name: i for i, name in enumerate(dict.fromkeys((*theirs["row"], *(e.row for e in entries))))
    }
    columns = (*theirs["column"], *(e.column for e in entries), *found["column"])
    if experiment.summary == "ratios":  # of each to each
        columns = (*order, *columns)
    across = {name: i for i, name in enumerate(in_order(columns))}
    table = table.assign(
        _row=table["row"].map(order).fillna(len(order)), _column=table["column"].map(across)
    )
    table = table.sort_values(["_row", "_column"], kind="stable")
    table = table.astype({"published": float, "ours": float})
    return table[["row", "column", "published", "ours"]].reset_index(drop=True)


def in_order(columns: Iterable[str]) -> list[str]:
    """Each column once: numbers by size, names as they come.

    >>> in_order(["20", "100", "3", "20"]), in_order(["k = 10", "k = 3"])
    (['3', '20', '100'], ['k = 10', 'k = 3'])
    """
    names = list(dict.fromkeys(columns))
    try:
        return sorted(names, key=float)
    except ValueError:
        return names


def timed(experiment: Experiment, table: pd.DataFrame) -> pd.Series:
    """Which cells are seconds: of another machine, so that they need not agree."""
    entries = experiment.entries(False)
    places = {(e.row, e.column) for e in entries if e.value == "cpu" or "seconds_" in e.value}
    return pd.Series(
        [place in places for place in zip(table["row"], table["column"], strict=True)],
        table.index,
        dtype=bool,
    )


def last_digit(numbers: pd.Series) -> float:
    """Half a unit of the last digit that any of the printed numbers has.

    >>> last_digit(pd.Series([0.2, 5.69, float("nan"), 12.0]))
    0.005
    """
    decimals = [len(f"{x:.10g}".partition(".")[2]) for x in numbers.dropna()]
    return 0.5 * 10.0 ** -max(decimals, default=0)


def side_by_side(table: pd.DataFrame) -> pd.DataFrame:
    """The cells as text, published → ours, rows and columns as in the table."""
    text = [
        shown(theirs, ours) for theirs, ours in zip(table["published"], table["ours"], strict=True)
    ]
    rows, columns = list(dict.fromkeys(table["row"])), in_order(table["column"])
    wide = table.assign(text=text).pivot_table("text", "row", "column", aggfunc="first")
    return wide.reindex(index=rows, columns=columns).fillna("")


def shown(published: float, ours: float) -> str:
    """A cell.

    >>> shown(5.69, 5.6922), shown(5.69, float("nan")), shown(float("nan"), 5.6922)
    ('5.69 → 5.692', '5.69 → –', '5.692')
    """
    here = "–" if np.isnan(ours) else f"{ours:.4g}"
    return here if np.isnan(published) else f"{published:g} → {here}"
