"""The figures of the report: boxes like the thesis', curves, histograms, profiles, bounds."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from kanopy.experiments.specs import Experiment, Task
from kanopy.experiments.store import Record
from kanopy.experiments.tables import cells
from kanopy.plot import BOUND, GAP, OBJECTIVE

COLOURS = ("#1b6e53", "#b3541e", "#3b5b92", "#8a6d1f", "#7a3b69", "#4f7f83", "#999999", "#c08a5a")
_STYLES = ("-", "--", ":")
_STYLE: Any = {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
_STYLE |= {"svg.fonttype": "none", "axes.grid": True, "grid.color": "#eeeeee"}
_STYLE |= {"axes.axisbelow": True}


def draw(
    experiment: Experiment, frame: pd.DataFrame, records: Mapping[Task, Record]
) -> Figure | None:
    """The experiment's figure from its values; None if it has none or nothing to show."""
    if not experiment.figure or frame.empty:
        return None
    with mpl.rc_context(_STYLE):
        if experiment.figure == "boxes":
            return boxes(frame, experiment.unit)
        if experiment.figure == "curves":
            over = re.search(r"\bby ([^,]+)", experiment.title)
            return curves(cells(frame, "mean"), experiment.unit, over[1] if over else "")
        if experiment.figure == "histogram":
            return histogram(frame, experiment.unit)
        if experiment.figure == "profile":
            return profile(frame)
        return bounds(records)


def boxes(frame: pd.DataFrame, unit: str) -> Figure:
    """A panel per column, a box per row: quartiles, whiskers to 1.5 times their distance."""
    panels = list(dict.fromkeys(frame["column"]))
    figure, axes = _panels(panels, per_row=3, height=2.9)
    for axis, panel in zip(axes, panels, strict=True):
        part = frame[frame["column"] == panel]
        names = list(dict.fromkeys(part["row"]))
        if len(names) > 10:  # the thesis sorts its combinations by their medians, and shows few
            medians = part.groupby("row")["value"].median().sort_values(kind="stable")
            names = [str(name) for name in medians.index[:10]]
        values = [part.loc[part["row"] == name, "value"].to_numpy() for name in names]
        drawn = axis.boxplot(
            values, patch_artist=True, widths=0.6, medianprops={"color": OBJECTIVE}
        )
        for box in drawn["boxes"]:
            box.set(facecolor=GAP, edgecolor="#555555")
        axis.set_xticks(range(1, len(names) + 1), names, rotation=45, ha="right")
        axis.set_title(panel, fontsize=9)
        axis.set_ylabel(unit)
    return figure


def curves(table: pd.DataFrame, unit: str, over: str = "") -> Figure:
    """A line per row over the columns, which are numbers.

    Of rows like "Mondrian, 1000" and "Mondrian, 2000", when there are many, the first part has a
    colour and the second a style.
    """
    names = [str(name) for name in dict.fromkeys(table["row"])]
    figure = Figure(figsize=(6.5, 3.4 + 0.2 * -(-len(names) // 3)), layout="constrained")
    axis = figure.subplots()
    paired = len(names) > len(COLOURS) and all(", " in name for name in names)
    pairs = [name.rsplit(", ", 1) if paired else [name, ""] for name in names]
    first, second = ([*dict.fromkeys(column)] for column in zip(*pairs, strict=True))
    for name, (colour, style) in zip(names, pairs, strict=True):
        part = table[table["row"] == name]
        x = part["column"].astype(float).to_numpy()
        order = np.argsort(x)
        axis.plot(
            x[order],
            part["ours"].to_numpy()[order],
            _STYLES[(second.index(style) + first.index(colour) // len(COLOURS)) % len(_STYLES)],
            marker="o",
            markersize=3,
            color=COLOURS[first.index(colour) % len(COLOURS)],
            label=name,
        )
    axis.set_ylabel(unit)
    axis.set_xlabel(over)
    _log(axis, table["ours"].to_numpy(dtype=float))
    figure.legend(frameon=False, fontsize=8, loc="outside lower center", ncols=3)
    return figure


def histogram(frame: pd.DataFrame, unit: str) -> Figure:
    """How often each value occurs, bins of 0.1 as in 001, figure 6.4."""
    figure = Figure(figsize=(6.5, 3.2), layout="constrained")
    axis = figure.subplots()
    low, high = np.floor(frame["value"].min() * 10) / 10, frame["value"].max() + 0.1
    bins = np.arange(low, high + 0.05, 0.1)
    for number, name in enumerate(dict.fromkeys(frame["row"])):
        part = frame.loc[frame["row"] == name, "value"]
        axis.hist(part, bins=list(bins), color=COLOURS[number], alpha=0.7, label=name)
    axis.set_xlabel(unit)
    axis.set_ylabel("runs")
    axis.legend(frameon=False)
    return figure


def profile(frame: pd.DataFrame) -> Figure:
    """Performance profile: the share of instances that a method has within a factor of the best."""
    figure = Figure(figsize=(6.5, 4), layout="constrained")
    axis = figure.subplots()
    ratios = profile_ratios(frame)
    most = float(np.nanmax(ratios[np.isfinite(ratios)], initial=1.0))
    factors = np.unique(np.concatenate([[1.0], ratios.to_numpy().ravel(), [most * 1.02]]))
    factors = factors[np.isfinite(factors)]
    # The best on average come first, so that the legend reads from the top.
    ranked = ratios.fillna(np.inf).replace(np.inf, 10 * most).mean().sort_values().index
    for number, name in enumerate(ranked):
        reached = [float((ratios[name] <= factor * (1 + 1e-9)).mean()) for factor in factors]
        style = _STYLES[number // len(COLOURS) % len(_STYLES)]
        axis.step(
            factors, reached, style, where="post", color=COLOURS[number % len(COLOURS)], label=name
        )
    axis.set_xlabel("factor of the best")
    axis.set_ylabel("share of instances")
    axis.set_xscale("log")
    marks = [1, *(1 + share for share in (0.02, 0.05, 0.1, 0.2, 0.5) if most < 2 + 5 * share)]
    marks += [digit * 10**zeros for zeros in range(7) for digit in (2, 5, 10)]
    axis.set_xticks([mark for mark in marks if mark <= most * 1.02])
    axis.xaxis.set_major_formatter(mpl.ticker.FormatStrFormatter("%g"))
    axis.xaxis.set_minor_locator(mpl.ticker.NullLocator())
    axis.legend(frameon=False, fontsize=7, loc="upper left", bbox_to_anchor=(1, 1))
    return figure


def profile_ratios(frame: pd.DataFrame) -> pd.DataFrame:
    """Cost of each method over the least, by instance; gaps in percent are turned into costs.

    With a gap g = 100·(x − b)/x the ratio of two costs is (1 − g'/100)/(1 − g/100).
    """
    kept = 1 - frame["value"] / 100
    frame = frame.assign(cost=1 / kept.where(kept > 0))
    wide = frame.pivot_table("cost", ["column", "instance"], "row")
    return wide.div(wide.min(axis=1), axis=0)


def bounds(records: Mapping[Task, Record]) -> Figure | None:
    """Objective and bound over time, one panel a run."""
    shown = {t: r for t, r in records.items() if r.trace and not r.error}
    if not shown:
        return None
    names = [f"{task.instance}, {task.cost}" for task in shown]
    figure, axes = _panels(names, per_row=2, height=2.6)
    for axis, (name, record) in zip(axes, zip(names, shown.values(), strict=True), strict=True):
        times, objective, bound = _columns(record.trace)
        axis.step(times, objective, where="post", color=OBJECTIVE, label="objective")
        axis.step(times, bound, where="post", color=BOUND, label="proven bound")
        axis.fill_between(times, bound, objective, step="post", color=GAP)
        axis.set_title(name, fontsize=9)
        axis.set_xlabel("seconds")
        finite = objective[np.isfinite(objective)]
        if len(finite):
            axis.set_ylim(0.9 * finite[-1], 1.1 * finite[-1])
    axes[0].legend(frameon=False, fontsize=8)
    return figure


def svg(figure: Figure, salt: str) -> str:
    """The figure as an SVG element to stand in a page; the salt keeps its names apart there."""
    with mpl.rc_context(_STYLE | {"svg.hashsalt": salt}):
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    return re.sub(r'(id="|href="#|url\(#)', rf"\1{salt}-", text[text.index("<svg") :])


def _columns(
    trace: Sequence[tuple[float, float | None, float | None]],
) -> tuple[NDArray[np.float64], ...]:
    table = np.array(
        [[np.nan if value is None else value for value in event] for event in trace], dtype=float
    )
    return table[:, 0], table[:, 1], table[:, 2]


def _panels(names: Sequence[str], per_row: int, height: float) -> tuple[Figure, list[Axes]]:
    columns = min(per_row, len(names))
    rows = -(-len(names) // columns)
    figure = Figure(figsize=(min(9.0, 1.5 + 3.0 * columns), height * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for extra in axes[len(names) :]:
        extra.set_visible(False)
    return figure, axes[: len(names)]


def _log(axis: Axes, values: NDArray[np.float64]) -> None:
    """A logarithmic axis where values differ by more than two orders."""
    positive = values[values > 0]
    if len(positive) and positive.max() > 100 * positive.min():
        axis.set_yscale("log")
