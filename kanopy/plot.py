"""Pictures of solutions."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kanopy.instances.errors import KanopyError
from kanopy.instances.files import check_place, write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from kanopy.solution import Solution

OBJECTIVE, BOUND, GAP = "#b3541e", "#1b6e53", "#e9e2d0"


def plot_trace(solution: Solution, ax: Axes | None = None) -> Axes:
    """Objective and proven bound over time, the gap between them shaded.

    >>> import kanopy as kn
    >>> axes = kn.solve(kn.example("testdata"), k=3, method="mdav").plot()
    >>> axes.get_xlabel()
    'seconds'
    """
    ax = ax if ax is not None else _new_axes()
    frame = solution.trace.frame()
    times = frame["time"]
    if frame["objective"].notna().any():
        ax.step(times, frame["objective"], where="post", color=OBJECTIVE, label="objective")
    if frame["bound"].notna().any():
        ax.step(times, frame["bound"], where="post", color=BOUND, label="proven bound")
        ax.fill_between(
            times, frame["bound"], frame["objective"], step="post", color=GAP, label="gap"
        )
    for name, color in (("objective", OBJECTIVE), ("bound", BOUND)):
        known = frame[["time", name]].dropna()
        ax.plot(known["time"].iloc[-1:], known[name].iloc[-1:], "o", color=color)
    gap = "" if solution.gap is None else f", gap {100 * solution.gap:.3g} %"
    ax.set_title(f"{solution.method}, k = {solution.k}: {solution.status}{gap}")
    ax.set_xlabel("seconds")
    ax.set_ylabel(solution.cost)
    ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def plot_comparison(solutions: Sequence[Solution], bound: float, ax: Axes | None = None) -> Axes:
    """Objectives of several methods on one problem as bars, and the bound none can pass.

    >>> import kanopy as kn
    >>> data = kn.example("testdata")
    >>> found = [kn.solve(data, k=3, method=name) for name in ("random", "mdav")]
    >>> axes = plot_comparison(found, kn.lower_bound(data, 3))
    >>> [label.get_text() for label in axes.get_yticklabels()][-1]
    'mdav'
    """
    ax = ax if ax is not None else _new_axes()
    ordered = sorted(solutions, key=lambda s: -s.objective)
    places = range(len(ordered))
    ax.barh(places, [s.objective for s in ordered], color=GAP, edgecolor=OBJECTIVE)
    bounds = [bound if s.matches is None else 0.0 for s in ordered]  # one of partitions alone
    ax.barh(places, bounds, color=BOUND, label=f"proven bound {bound:.4g}")
    for place, solution in zip(places, ordered, strict=True):
        ax.annotate(
            f" {solution.objective:.4g}", (solution.objective, place), va="center", fontsize=9
        )
    ax.set_yticks(places, [s.method for s in ordered])
    ax.set_xlabel(ordered[0].cost)
    ax.margins(x=0.12)
    ax.legend(frameon=False, loc="upper right")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def save_axes(ax: Axes, path: Path) -> None:
    """Write the picture that the axes stand in."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    save_figure(figure, path)


def save_figure(figure: Figure, path: Path) -> None:
    """Write a picture whole or not at all, in the format its suffix names."""
    suffix = _format(path)
    picture = io.BytesIO()
    figure.savefig(picture, format=suffix, dpi=150)
    write_whole(path, picture.getvalue())


def check_picture(path: Path) -> None:
    """Raise if no picture can be drawn there: before hours of work, not after."""
    _format(path)
    check_place(path)


def _format(path: Path) -> str:
    suffix = path.suffix.lstrip(".").lower()
    if suffix not in ("png", "svg", "pdf"):
        raise KanopyError(f"cannot draw into {path.name!r}; choose .png, .svg or .pdf")
    return suffix


def _new_axes() -> Axes:
    from matplotlib.figure import Figure

    return Figure(figsize=(7, 4), layout="constrained").subplots()
