"""Pictures of solutions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from kanopy.solution import Solution

OBJECTIVE, BOUND, GAP = "#b3541e", "#1b6e53", "#e9e2d0"


def plot_trace(solution: Solution, ax: Axes | None = None) -> Axes:
    """Objective and proven bound over time, the gap between them shaded.

    >>> import kanopy as kn
    >>> axes = kn.solve(kn.example("testdata"), k=3, method="mdav").plot()
    >>> axes.get_xlabel()
    'seconds'
    """
    if ax is None:
        from matplotlib.figure import Figure

        ax = Figure(figsize=(7, 4), layout="constrained").subplots()
    frame = solution.trace.frame()
    times = frame["time"]
    if frame["objective"].notna().any():
        ax.step(times, frame["objective"], where="post", color=OBJECTIVE, label="objective")
    if frame["bound"].notna().any():
        ax.step(times, frame["bound"], where="post", color=BOUND, label="proven bound")
        ax.fill_between(
            times, frame["bound"], frame["objective"], step="post", color=GAP, label="gap"
        )
    last = [event for event in solution.trace if event.objective is not None][-1:]
    for event in last:
        ax.plot([event.time], [event.objective], "o", color=OBJECTIVE)
        if event.bound is not None:
            ax.plot([event.time], [event.bound], "o", color=BOUND)
    gap = "" if solution.gap is None else f", gap {100 * solution.gap:.3g} %"
    ax.set_title(f"{solution.method}, k = {solution.k}: {solution.status}{gap}")
    ax.set_xlabel("seconds")
    ax.set_ylabel(solution.cost)
    ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    return ax
