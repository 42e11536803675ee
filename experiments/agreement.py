"""The README's table of results: how near ours are to the published ones, from ``results/*.csv``.

Seconds are another matter than losses: there the median of published over ours is shown.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from kanopy.experiments.catalogue import catalogue
from kanopy.experiments.results import kept_results
from kanopy.experiments.specs import Experiment, choose
from kanopy.experiments.store import is_done
from kanopy.experiments.tables import compared, timed

SHOWN = (
    "thaeter-A.1",
    "thaeter-B.1",
    "gentile-3",
    "gentile-4",
    "cost-6.6",
    "cost-6.7",
    "cost-6.8",
    "cost-6.10",
    "liang-4",
)
HEADINGS = ("experiment", "runs", "cells", "median difference", "published seconds / ours")


def agreement_markdown(names: Sequence[str] = SHOWN) -> str:
    """One row for each experiment that has results."""
    lines = [HEADINGS, ("---",) * len(HEADINGS)]
    lines += [row for experiment in choose(catalogue(), names) if (row := _row(experiment))]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _row(experiment: Experiment) -> tuple[str, ...] | None:
    tasks = experiment.tasks()
    records = {t: record for t, record in kept_results(tasks).items() if is_done(record, t)}
    table = compared(experiment, records).dropna()
    if table.empty:
        return None
    clocked = timed(experiment, table)
    losses, seconds = table[~clocked], table[clocked]
    return (
        f"`{experiment.name}`: {experiment.title}",
        f"{len(records)} of {len(tasks)}",
        str(len(table)),
        _difference(losses),
        _speed(seconds),
    )


def _difference(table: pd.DataFrame) -> str:
    theirs, ours = table["published"], table["ours"]
    shares = ((ours - theirs).abs() / theirs.where(theirs != 0)).dropna()
    return f"{100 * shares.median():.2g} %" if len(shares) else ""


def _speed(table: pd.DataFrame) -> str:
    ratio = (table["published"] / table["ours"].where(table["ours"] > 0)).dropna()
    middle = float(np.median(ratio)) if len(ratio) else np.nan
    return "" if np.isnan(middle) else f"{middle:.0f}" if middle >= 10 else f"{middle:.2g}"
