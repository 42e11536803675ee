"""``kanopy report``: one page that needs nothing else, and each figure and table as a file.

The page has no script and no address outside itself: it opens from disk, prints, and reads on a
phone, where wide tables and figures scroll by themselves.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from kanopy.archive import list_best
from kanopy.experiments.figures import draw, svg
from kanopy.experiments.results import RESULTS, kept_results, paper
from kanopy.experiments.runner import available
from kanopy.experiments.specs import Experiment, Task
from kanopy.experiments.store import Record, Store, code_version
from kanopy.experiments.tables import (
    compared,
    in_order,
    last_digit,
    shown,
    side_by_side,
    timed,
    values,
)
from kanopy.instances.errors import KanopyError
from kanopy.instances.files import write_table, write_whole
from kanopy.plot import save_figure
from kanopy.solution import OPTIMALITY_GAP
from kanopy.solvers.stop import relative_gap

PAPERS = {
    "cost": "Cost: nominal data (000)",
    "thaeter": "Thaeter: microaggregation (001)",
    "gentile": "Gentile, Spagnolo-Arrizabalaga, Castro: column generation (002)",
    "liang": "Liang, Samavi: generalisation (003)",
    "gaps": "What no paper has: proven gaps",
    "bounds": "What no paper has: bounds over time",
}
NEAR, FAR = 1.0, 5.0
"""Percent of difference up to which a cell is called near, and from which far."""

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff; margin: 0 auto;
  max-width: 76rem; padding: 0 1rem 4rem; overflow-wrap: anywhere; }
p, nav { max-width: 60rem; }
h1 { font-size: 1.7rem; } h2 { margin-top: 3rem; border-bottom: 2px solid #1b6e53; }
h3 { margin: 2.2rem 0 .2rem; font-size: 1.1rem; }
.source, .note { color: #666; font-size: .85rem; margin: .1rem 0 .6rem; }
.wide { overflow-x: auto; -webkit-overflow-scrolling: touch; background:
  linear-gradient(#fff, #fff) left / 2rem 100% no-repeat local,
  linear-gradient(#fff, #fff) right / 2rem 100% no-repeat local,
  linear-gradient(to left, #bbb, #fff) right / .8rem 100% no-repeat scroll; }
table { border-collapse: collapse; font-size: .8rem; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .5rem; border-bottom: 1px solid #e6e6e6; text-align: right;
  white-space: nowrap; overflow-wrap: normal; }
th:first-child { text-align: left; position: sticky; left: 0; background: #fff; }
.near { background: #e3f1ea; } .far { background: #f8e6da; }
figure { margin: 0; overflow-x: auto; } svg { max-width: 100%; height: auto; }
@media (max-width: 40rem) { .boxes svg, .bounds svg, .profile svg { max-width: none; zoom: .8; } }
nav ul { columns: 14rem; padding-left: 1.1rem; font-size: .85rem; }
details > summary { cursor: pointer; color: #1b6e53; font-size: .85rem; margin: .4rem 0; }
"""


@dataclass(frozen=True)
class Section:
    """One experiment as far as there are results."""

    experiment: Experiment
    tasks: list[Task]
    records: Mapping[Task, Record]
    table: pd.DataFrame
    figure: str

    @property
    def done(self) -> int:
        """Runs that ended well."""
        return sum(not record.error for record in self.records.values())


def write_report(
    store: Store,
    folder: Path,
    experiments: Sequence[Experiment],
    quick: bool = False,
    accept_older: bool = False,
    results: Path = RESULTS,
) -> Path:
    """Write ``index.html`` and, beside it, ``tables`` (CSV, LaTeX) and ``figures`` (SVG, PNG).

    What the store does not have is taken from the results that come with kanopy.
    """
    try:
        for name in ("tables", "figures"):
            (folder / name).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise KanopyError(f"cannot write to {str(folder)!r}: {error.strerror}") from error
    sections = [_section(store, folder, e, quick, accept_older, results) for e in experiments]
    page = folder / "index.html"
    write_whole(page, _page(sections, quick).encode())
    return page


def _section(
    store: Store,
    folder: Path,
    experiment: Experiment,
    quick: bool,
    accept_older: bool,
    results: Path,
) -> Section:
    tasks = experiment.tasks(quick)
    records = kept_results(tasks, results) | store.records(
        tasks, None if accept_older else code_version()
    )
    table = compared(experiment, records, quick)
    write_table(table, folder / "tables" / f"{experiment.name}.csv")
    latex = to_latex(side_by_side(table))
    write_whole(folder / "tables" / f"{experiment.name}.tex", latex.encode())
    picture = ""
    figure = draw(experiment, values(experiment.entries(quick), records), records)
    if figure is not None:
        picture = svg(figure, experiment.name)
        file = folder / "figures" / experiment.name  # no with_suffix: names have dots
        write_whole(Path(f"{file}.svg"), picture.encode())
        figure.set_layout_engine("none")  # it stays as the first drawing laid it out
        save_figure(figure, Path(f"{file}.png"))
    return Section(experiment, tasks, records, table, picture)


def to_latex(table: pd.DataFrame) -> str:
    r"""The table in LaTeX, for the package booktabs.

    >>> print(to_latex(pd.DataFrame({"5 %": ["1 → 2"]}, ["Split & Carry"])))
    \begin{tabular}{lr}
    \toprule
     & 5 \% \\
    \midrule
    Split \& Carry & 1 $\to$ 2 \\
    \bottomrule
    \end{tabular}
    <BLANKLINE>
    """
    lines = [" & ".join(["", *map(_latex, table.columns)])]
    lines += [
        " & ".join(map(_latex, [row, *texts]))
        for row, texts in zip(table.index, table.values, strict=True)
    ]
    head, *body = (line + r" \\" for line in lines)
    form = "l" + "r" * table.shape[1]
    parts = [rf"\begin{{tabular}}{{{form}}}", r"\toprule", head, r"\midrule", *body]
    return "\n".join([*parts, r"\bottomrule", r"\end{tabular}", ""])


def _latex(text: object) -> str:
    signs = {"_": r"\_", "%": r"\%", "&": r"\&", "#": r"\#", "γ": r"$\gamma$", "λ": r"$\lambda$"}
    signs |= {"→": r"$\to$", "–": "--", "χ²": r"$\chi^2$"}
    written = str(text)
    for sign, command in signs.items():
        written = written.replace(sign, command)
    return written


def _page(sections: Sequence[Section], quick: bool) -> str:
    body = ["<h1>kanopy: the papers' tables and figures, and ours beside them</h1>"]
    body.append(f"<p>{_summary(sections, quick)}</p>")
    body.append(_contents(sections))
    before = ""
    for section in sections:
        name = paper(section.experiment)
        if name != before:
            body.append(f"<h2>{html.escape(PAPERS.get(name, name))}</h2>")
            before = name
        body.append(_html(section, quick))
    body.append(_best_known())
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>kanopy report</title><style>{STYLE}</style></head><body>"
        + "\n".join(body)
        + "</body></html>\n"
    )


def _summary(sections: Sequence[Section], quick: bool) -> str:
    runs = {task.key: record for s in sections for task, record in s.records.items()}
    failed = sum(bool(record.error) for record in runs.values())
    both = pd.concat([s.table for s in sections]) if sections else pd.DataFrame()
    beside = both.dropna(subset=["published", "ours"]) if len(both) else both
    versions = Counter(record.code for record in runs.values())
    said = [f"{len(runs)} runs, {failed} of them failed."]
    if versions:
        of = (f"{code} ({number})" for code, number in versions.most_common())
        said.append(f"Versions of the code: {', '.join(of)}.")
    if quick:
        said.append("Quick form: tiny instances, so no published value stands beside them.")
    elif len(beside):
        said.append(
            f"{len(beside)} cells have a published value and ours: published → ours, green "
            f"within {NEAR:g} % or the last printed digit, brown from {FAR:g} % on, seconds in "
            "neither colour."
        )
    return html.escape(" ".join(said))


def _contents(sections: Sequence[Section]) -> str:
    items = [
        f'<li><a href="#{s.experiment.name}">{s.experiment.name}</a> ({s.done}/{len(s.tasks)})</li>'
        for s in sections
    ]
    summary = f"<summary>Contents: {len(items)} tables and figures, runs done</summary>"
    return f"<nav><details>{summary}<ul>{''.join(items)}</ul></details></nav>"


def _html(section: Section, quick: bool) -> str:
    experiment = section.experiment
    notes = [f"{section.done} of {len(section.tasks)} runs"]
    if experiment.missing:
        notes.append(f"data not to be had: {experiment.missing}")
    lacking = available(section.tasks).items()
    notes += [
        f"{number} × {reason}"
        for reason, number in lacking
        if not (experiment.missing and reason.endswith("not to be had"))  # said already
    ]
    failed = [record.error for record in section.records.values() if record.error]
    if failed:
        notes.append(f"{len(failed)} failed, e.g. {failed[0]}")
    parts = [
        f'<section id="{experiment.name}">',
        f"<h3>{experiment.name}: {html.escape(experiment.title)}</h3>",
        f'<p class="source">{html.escape(experiment.source)} · {html.escape("; ".join(notes))}</p>',
    ]
    if section.figure:
        parts.append(f'<figure class="{experiment.figure}">{section.figure}</figure>')
    if section.table[["published", "ours"]].notna().any(axis=None):
        marks = _marks(section.table).mask(timed(experiment, section.table), "")
        table = f'<div class="wide">{_html_table(section.table, marks)}</div>'
        drawn = bool(section.figure) and experiment.figure != "profile"  # it shows no gaps
        folded = drawn or len(section.table) > 200
        parts.append(f"<details><summary>table</summary>{table}</details>" if folded else table)
    reading = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(_reading(section)))
    parts.append(f'<p class="note">{reading}</p></section>')
    return "\n".join(parts)


def _reading(section: Section) -> str:
    """The experiment's reading; where runs are missing that could be done, it says so first."""
    possible = len(section.tasks) - sum(available(section.tasks).values())
    if section.done >= possible:
        return section.experiment.reading
    state = f"run in full: {section.done} of {possible} runs" if section.done else "run yet"
    return f"Not {state}. {section.experiment.reading}"


def _marks(table: pd.DataFrame) -> pd.Series:
    """Near, far or neither, for each cell."""
    difference = (table["ours"] - table["published"]).abs()
    share = 100 * difference / table["published"].abs()
    near = (share <= NEAR) | (difference <= last_digit(table["published"]))
    marks = pd.Series("", table.index).mask(share >= FAR, "far").mask(near, "near")
    return marks.mask(difference.isna(), "")


def _html_table(table: pd.DataFrame, marks: pd.Series) -> str:
    rows, columns = list(dict.fromkeys(table["row"])), in_order(table["column"])
    cell = {
        (r, c): _td(p, o, mark)
        for (r, c, p, o), mark in zip(table.itertuples(index=False), marks, strict=True)
    }
    head = "".join(f"<th>{html.escape(str(c))}</th>" for c in columns)
    lines = [
        f"<tr><th>{html.escape(str(r))}</th>"
        + "".join(cell.get((r, c), "<td></td>") for c in columns)
        + "</tr>"
        for r in rows
    ]
    return f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _td(published: float, ours: float, mark: str) -> str:
    if not np.isfinite(published) and not np.isfinite(ours):
        return "<td></td>"
    return f'<td class="{mark}">{html.escape(shown(published, ours))}</td>'


def _best_known() -> str:
    kept = list_best()
    if not kept:
        return ""
    lines = []
    for one in kept:
        bound = one["bound"]
        share = None if bound is None else relative_gap(one["objective"], bound)
        gap = "" if share is None else "0" if share <= OPTIMALITY_GAP else f"{100 * share:.4g}"
        cells = (
            one["rows"],
            one["k"],
            one["cost"],
            f"{one['objective']:.9g}",
            "" if bound is None else f"{bound:.9g}",
            gap,
            one["method"],
        )
        texts = "".join(f"<td>{html.escape(str(c))}</td>" for c in cells)
        lines.append(f"<tr><th>{html.escape(one['name'])}</th>{texts}</tr>")
    head = "".join(
        f"<th>{name}</th>"
        for name in ("instance", "rows", "k", "cost", "objective", "bound", "gap in %", "method")
    )
    return (
        '<h2 id="best-known">Best known solutions</h2><div class="wide"><table><thead><tr>'
        f"{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )
