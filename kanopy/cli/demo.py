"""``kanopy demo``: the main job in half a minute, on tables made on the spot."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kanopy.cli.commands import best_bound, comparison, console, working
from kanopy.instances.generators import generate
from kanopy.plot import plot_comparison, save_figure
from kanopy.solvers.registry import find_method
from kanopy.solvers.stop import MaxIterations, MaxRuntime
from kanopy.solving import solve


@dataclass(frozen=True)
class Scenario:
    """A generated table and the methods that are shown on it."""

    title: str
    generator: str
    parameters: dict[str, Any]
    methods: tuple[str, ...]


SCENARIOS = (
    Scenario(
        "Numbers: 200 uniform rows × 10 (SimU of Thaeter's thesis), squared error of averaging",
        "simu",
        {"n": 200, "seed": 1},
        ("random", "mondrian", "mdav", "mdav*", "ona*", "ils", "branch-and-price"),
    ),
    Scenario(
        "Categories: 200 people of Cost's thesis, a fifth of them too rare to publish",
        "synthetic",
        {"n": 200, "p": 0.2, "k": 3, "seed": 1},
        ("random", "ils", "branch-and-price"),
    ),
)

SMALL = 40
"""Rows on which each method is run first, so that its time is not that of compiling it."""


def demo(output: Path, k: int = 3, seconds: float = 20.0) -> None:
    """Compare methods on two synthetic tables and draw the comparison."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.2), layout="constrained")
    axes = figure.subplots(1, len(SCENARIOS))
    for ax, scenario in zip(axes, SCENARIOS, strict=True):
        title = scenario.title
        data = generate(scenario.generator, **scenario.parameters)
        small = data.restrict(np.arange(SMALL))
        solutions = []
        for method in scenario.methods:
            with working(f"{method}: compiling, the first time only"):
                solve(small, k, method, stop=MaxIterations(10 * SMALL), seed=1)
            with working(f"{method} on {title}"):
                limit = MaxRuntime(seconds if find_method(method).exact else min(seconds, 3.0))
                solutions.append(solve(data, k, method, stop=limit, seed=1))
        bound = best_bound(solutions)
        console.print(comparison(f"{title} (n = {data.n}, k = {k})", solutions, bound))
        plot_comparison(solutions, bound, ax)
        ax.set_title(title.partition(",")[0], loc="left", fontsize=10)
    save_figure(figure, output)
    console.print(f"picture: {output}", highlight=False)
