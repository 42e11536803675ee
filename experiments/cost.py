"""Cost's study of nominal data (000, chapter 6): means per method, and every finding tested.

``python -m kanopy.experiments.cost [scenario …] [method …] [--study name] [--instances 10]
[--seconds 60] [--quick]``. A scenario is ten instances of 200 rows and five attributes, k = 3, with
all control tables up to dimension 3. Any registered method can be named, with options as in
``safe-basic:formulation=paper``; methods that are not registered and scenarios whose data are not
at hand are skipped with a word. Studies:

=========== ===================================================================================
methods     means of every measure that the thesis compares (6.2.4 to 6.2.7)
dual        weight of the clustering for γ, over all λ (6.2.3, figure 6.1), on 200m5_20percent
control     χ² sums with control tables up to dimension 2 and 3 (6.2.6), on 200m5_20percent
scaling     seconds over n, k and the dimension of the control tables (6.2.9)
regression  multinomial logistic regression before and after (6.2.8), on adult200m5; needs
            ``kanopy[study]``
=========== ===================================================================================

The first three run unless others are named. At the end every qualitative finding of the thesis is a
line that begins with *holds*, *does not hold* or *not decided*, and so is what we ask of ``own*``;
the exit code counts those that do not hold.

The thesis compares modified SAFE with *any* optimum of SAFE-basic that a solver returns: that is
``formulation=paper``. Our own search goes by the least deviation within each level of the maximum
error, also for SAFE-basic: what it returns is often optimal for modified SAFE as well, and then
neither has a reason to have the smaller χ² sum. The finding says on how many instances it is so.
``branch-and-price`` has the least weight of a clustering, the measure of all others. Published
means (tables 6.6 and 6.10) stand beside ours. Seconds are processor seconds of this
process, without compilation; the thesis has wall seconds of its own machine. Exact methods stop
after ``--seconds`` and give the best they found. Pipelines have γ and λ of table 6.5,
as in the thesis. ``--quick`` has small tables and one instance.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import pandas as pd
from rich.console import Console
from rich.table import Table

from kanopy.experiments import cost_findings, cost_studies
from kanopy.experiments.bench_frequency import SCENARIOS, K
from kanopy.experiments.catalogue.cost import COMPARED, FILE, FRACTIONAL
from kanopy.experiments.cost_findings import Finding
from kanopy.experiments.cost_studies import split
from kanopy.experiments.specs import published
from kanopy.instances.errors import KanopyError, unknown
from kanopy.instances.microdata import Microdata
from kanopy.instances.synthetic import synthetic
from kanopy.solvers.registry import all_methods

METHODS = (
    "chi-ex",
    "branch-and-price",
    "own*",
    "own-eee",
    "own-ehe",
    "own-hee",
    "own-hhe",
    "own-hhg",
    "safe",
    "msafe",
    "safe-basic",
    "msafe:formulation=paper",
    "safe-basic:formulation=paper",
)
STUDIES = ("methods", "dual", "control", "scaling", "regression")
QUICK_ROWS = 40


def published_mean(scenario: str, method: str, measure: str) -> float | None:
    """A published mean: the weight of a pipeline (table 6.6) or the seconds of a method (6.10).

    >>> published_mean("200m5_20percent", "own-hee", "weight")
    79.4
    """
    method, _ = split(method)
    if measure == "weight":
        if not method.startswith("own-"):
            return None
        first, second = (FRACTIONAL[method[4]], {"e": "exact", "h": "heuristic"}[method[5]])
        table, place = "6.6", (f"{scenario}, {first}", second)
    else:
        labels = {name: label for label, name in COMPARED.items()}
        table, place = "6.10", (scenario, labels.get(method, ""))
    cells = published(FILE, table)().set_index(["row", "column"])["published"]
    return float(cells[place]) if place in cells else None


def quick_scenarios() -> dict[str, Callable[[int], Microdata]]:
    """The synthetic scenarios with fewer rows."""
    shares = {"200m5_2percent": 0.05, "200m5_20percent": 0.2, "200m5_100percent": 1.0}
    return {name: partial(_small, share) for name, share in shares.items()}


def _small(share: float, seed: int) -> Microdata:
    return synthetic(n=QUICK_ROWS, p=share, k=K, seed=seed)


def show_methods(runs: pd.DataFrame, *, beside: bool = True) -> Table:
    """Means per scenario and method; ``beside`` puts the thesis' in brackets.

    Errors are those of dimension 1, 2, … The gaps are to the best of the methods shown.
    """
    shown = Table(title="means over the instances (thesis)", title_justify="left")
    headings = ("χ² control", "gap %", "χ² all", "max abs error", "max rel error", "changed %")
    for heading in ("scenario", "method", *headings, "rows", "weight", "gap %", "seconds"):
        shown.add_column(heading, justify="left" if heading in ("scenario", "method") else "right")
    for (scenario, method), rows in runs.groupby(["scenario", "method"], sort=False):
        mean = rows.mean(numeric_only=True)
        least, most = int(rows["rows"].min()), int(rows["rows"].max())
        names = (str(scenario), str(method)) if beside else None
        shown.add_row(
            str(scenario),
            str(method),
            f"{mean['chi2']:.1f}",
            f"{100 * mean['gap']:.1f}",
            f"{mean['chi2_all']:.1f}",
            *(_by_dimension(mean, f"max_{kind}_") for kind in ("abs", "rel")),
            f"{100 * mean['changed']:.1f}",
            str(least) if least == most else f"{least}–{most}",
            _beside(mean["weight"], names, "weight"),
            "" if pd.isna(mean["weight_gap"]) else f"{100 * mean['weight_gap']:.1f}",
            _beside(mean["seconds"], names, "seconds"),
        )
    return shown


def _by_dimension(mean: pd.Series, prefix: str) -> str:
    return " ".join(f"{value:.1f}" for name, value in mean.items() if str(name).startswith(prefix))


def _beside(ours: float, names: tuple[str, str] | None, measure: str) -> str:
    theirs = None if names is None else published_mean(*names, measure)
    text = "" if pd.isna(ours) else f"{ours:.2f}"
    return text if theirs is None else f"{text} ({theirs:g})"


def show_rows_of_safe(runs: pd.DataFrame) -> list[str]:
    """Table 6.9: how many instances have so many rows after SAFE."""
    lines = []
    for scenario, rows in runs[runs["method"] == "safe"].groupby("scenario", sort=False):
        counts = rows["rows"].value_counts().sort_index()
        text = ", ".join(f"{n} rows: {times}" for n, times in counts.items())
        lines.append(f"{scenario}, instances by rows after SAFE: {text}")
    return lines


def pivot(runs: pd.DataFrame, index: Sequence[str], columns: str, values: str, title: str) -> Table:
    """Means as a table with one column per value of a variable."""
    means = runs.pivot_table(index=list(index), columns=columns, values=values, sort=False)
    shown = Table(title=title, title_justify="left")
    for heading in (*index, *(f"{columns} {name}" for name in means.columns)):
        shown.add_column(heading)
    for key, row in means.iterrows():
        parts = key if isinstance(key, tuple) else (key,)
        cells = ("" if pd.isna(value) else f"{value:.3g}" for value in row)
        shown.add_row(*(str(part) for part in parts), *cells)
    return shown


class Study:
    """What was asked for, and the findings so far."""

    def __init__(self, asked: argparse.Namespace, console: Console) -> None:
        self.console, self.quick, self.seconds = console, asked.quick, asked.seconds
        self.instances = asked.instances or (1 if asked.quick else 10)
        if asked.quick:
            self.seconds = min(self.seconds, 2.0)
        scenarios = quick_scenarios() if asked.quick else SCENARIOS
        self.scenarios = {
            name: make
            for name, make in scenarios.items()
            if self.available(name, make)
            and (name in asked.words or not set(asked.words) & set(SCENARIOS))
        }
        wanted = [word for word in asked.words if word not in SCENARIOS] or METHODS
        self.methods = [method for method in wanted if self.registered(method)]
        self.named = wanted is not METHODS
        self.findings: list[Finding] = []

    def say(self, text: str) -> None:
        """Progress, on the error stream."""
        print(text, file=sys.stderr, flush=True)

    def available(self, scenario: str, make: Callable[[int], Microdata]) -> bool:
        """Whether the data of a scenario are at hand."""
        try:
            make(1)
        except KanopyError as error:
            self.console.print(f"skipped {scenario}: {error}", highlight=False)
            return False
        return True

    def registered(self, method: str) -> bool:
        """Whether there is such a method."""
        if split(method)[0] not in all_methods():
            self.console.print(f"skipped {method}: not registered", highlight=False)
            return False
        return True

    def of(self, *preferred: str) -> list[str]:
        """The named methods, or those preferred by a study that are registered."""
        if self.named:
            return self.methods
        return [method for method in preferred if method in all_methods()]

    def run_methods(self) -> None:
        """Means of all methods, and the findings about them."""
        runs = cost_studies.compare_methods(
            self.scenarios, self.methods, self.instances, self.seconds, self.say
        )
        if len(runs):
            self.console.print(show_methods(runs, beside=not self.quick))
            for line in show_rows_of_safe(runs):
                self.console.print(line, highlight=False)
            self.findings += cost_findings.of_methods(runs) + cost_findings.of_own_star(runs)

    def run_dual(self) -> None:
        """γ, averaged over λ."""
        methods = [
            name
            for name in self.of("own-eee", "own-hee", "own-ehe", "own-hhe")
            if name.startswith("own-")
        ]
        make = self.scenarios.get("200m5_20percent")
        if not methods or make is None:
            claim = "a medium γ beats γ = 0 and γ = 1 in weight (6.2.3)"
            self.findings.append(Finding(claim, None, "needs own-eee or own-hee, 200m5_20percent"))
            return
        lambdas = (0.5, 1.5) if self.quick else cost_studies.LAMBDAS
        runs = cost_studies.dual_information(
            make, methods, self.instances, self.seconds, self.say, lambdas
        )
        self.console.print(pivot(runs, ["method"], "gamma", "weight", "weight of the clustering"))
        self.findings += cost_findings.of_dual_information(runs)

    def run_control(self) -> None:
        """Control tables up to dimension 2 and 3, by the thesis' Own-hee or else by Chi-ex."""
        make = self.scenarios.get("200m5_20percent")
        for method in self.of("own-hee", "chi-ex")[:1]:
            if make is None:
                return
            runs = cost_studies.control_dimensions(
                make, method, self.instances, self.seconds, self.say
            )
            self.findings += cost_findings.of_control(runs)

    def run_scaling(self) -> None:
        """Seconds over n, k and the control tables."""
        methods = self.of("own-hhg", "safe")
        runs = cost_studies.scaling(
            methods, self.instances, self.seconds, self.say, quick=self.quick
        )
        for over, rows in runs.groupby("over", sort=False):
            title = f"processor seconds over {over}"
            self.console.print(pivot(rows, ["method"], "value", "seconds", title))

    def run_regression(self) -> None:
        """Estimated probabilities before and after."""
        make = self.scenarios.get("adult200m5") or self.scenarios.get("200m5_20percent")
        methods = self.of("safe", "own-hhe", "chi-ex")
        if make is None or not methods:
            return
        runs = cost_studies.regressions(make, methods, self.instances, self.seconds, self.say)
        title = "mean ℓ₂ distance of the estimated probabilities"
        self.console.print(pivot(runs, ["attribute", "value"], "method", "distance", title))


def _words(words: Sequence[str]) -> Iterator[str]:
    known = [*SCENARIOS, *METHODS, *all_methods()]
    for word in words:
        if split(word)[0] not in known:
            raise unknown("scenario or method", word, known)
        yield word


def main(arguments: Sequence[str]) -> int:
    """Run the studies asked for; the number of findings that do not hold."""
    parser = argparse.ArgumentParser(prog="cost", description=__doc__.partition("\n")[0])
    parser.add_argument("words", nargs="*", help="scenarios and methods")
    parser.add_argument("--study", action="append", choices=STUDIES, help="instead of the first 3")
    parser.add_argument("--instances", type=int, help="10, or 1 with --quick")
    parser.add_argument("--seconds", type=float, default=60.0, help="limit of each run")
    parser.add_argument("--quick", action="store_true", help="small tables, one instance")
    asked = parser.parse_args(arguments)
    asked.words = list(_words(asked.words))
    study = Study(asked, Console(width=230))
    cost_studies.compile_kernels(study.methods)
    for name in asked.study or STUDIES[:3]:
        getattr(study, f"run_{name}")()
    undecided = sum(finding.holds is None for finding in study.findings)
    for finding in study.findings:
        if finding.holds is not None or not study.named:
            study.console.print(str(finding), highlight=False, soft_wrap=True)
    if study.named and undecided:
        study.console.print(f"not decided: {undecided} findings about other methods")
    return sum(finding.holds is False for finding in study.findings)


if __name__ == "__main__":
    try:
        sys.exit(min(main(sys.argv[1:]), 99))
    except KanopyError as error:
        sys.exit(str(error))
