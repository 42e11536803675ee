"""``kanopy experiment`` and ``kanopy report``."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from kanopy.experiments.catalogue import catalogue
from kanopy.experiments.results import kept_results
from kanopy.experiments.runner import available, campaign
from kanopy.experiments.specs import Experiment, Task, choose, united
from kanopy.experiments.store import Store, code_version, is_done
from kanopy.experiments.tables import compared, side_by_side

console = Console()
progress = Console(stderr=True)


def listing(store: Path, accept_older: bool) -> None:
    """Print every experiment, its runs, those in the store and those that come with kanopy."""
    kept = Store(store) if store.exists() else None
    code = None if accept_older else code_version()
    table = Table(title="experiments", title_justify="left")
    counts = ("runs", "done", "kept")
    for heading in ("name", "what", "source", *counts, "remark"):
        table.add_column(heading, justify="right" if heading in counts else "left")
    for experiment in catalogue():
        tasks = experiment.tasks()
        records = {} if kept is None else kept.records(tasks, code)
        done = sum(is_done(records.get(task), task) for task in tasks)
        remarks = [f"{number} × {reason}" for reason, number in available(tasks).items()]
        table.add_row(
            experiment.name,
            experiment.title,
            experiment.source,
            str(len(tasks)),
            str(done),
            str(len(kept_results(tasks))),
            "; ".join(remarks),
        )
    (console if console.is_terminal else Console(width=200)).print(table)


def run(
    names: Sequence[str],
    store: Path,
    quick: bool,
    jobs: int,
    dask: str | None,
    accept_older: bool,
    retry: bool,
) -> None:
    """Run what is missing of the named experiments and print their tables."""
    chosen = choose(catalogue(), names)
    kept = Store(store)
    tasks = united(task for experiment in chosen for task in experiment.tasks(quick))
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
        console=progress,
    )
    with bar if progress.is_terminal else nullcontext():
        shown = bar.add_task(", ".join(names), total=len(tasks))
        outcome = campaign(
            tasks,
            kept,
            jobs=jobs,
            dask=dask,
            accept_older=accept_older,
            retry=retry,
            listen=lambda done, total: bar.update(shown, completed=done, total=total),
        )
    for experiment in chosen:
        show(experiment, kept, quick, accept_older)
    print(outcome)


def show(experiment: Experiment, store: Store, quick: bool, accept_older: bool) -> None:
    """Print an experiment's table, published → ours, and what failed."""
    tasks: list[Task] = experiment.tasks(quick)
    records = store.records(tasks, None if accept_older else code_version())
    cells = side_by_side(compared(experiment, records, quick))
    arrow = "" if quick or experiment.published is None else ": published → ours"
    table = Table(
        title=f"{experiment.name} ({experiment.source}): {experiment.title}{arrow}",
        title_justify="left",
        caption=experiment.reading,
        caption_justify="left",
    )
    table.add_column("")
    for column in cells.columns:
        table.add_column(str(column), justify="right")
    for row, texts in cells.iterrows():
        table.add_row(str(row), *map(str, texts))
    (console if console.is_terminal else Console(width=160)).print(table)
    for reason, number in available(tasks).items():
        print(f"{number} runs left out: {reason}")
    for task, record in records.items():
        if record.error:
            print(f"failed: {task.instance}, {task.method}, k = {task.k}: {record.error}")


def report(
    store: Path, folder: Path, names: Sequence[str], quick: bool, accept_older: bool
) -> None:
    """Write the page, its figures and tables."""
    from kanopy.experiments.report import write_report

    page = write_report(Store(store), folder, choose(catalogue(), names), quick, accept_older)
    print(f"wrote {page}")
