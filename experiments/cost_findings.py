"""The qualitative findings of 000, chapter 6, as lines that hold or do not hold for our runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

HARD = ("200m5_20percent", "200m5_100percent", "adult200m5")
"""Scenarios in which the thesis' own methods beat SAFE."""


PROVEN = 1e-6
"""Relative gap of a proven optimum."""


@dataclass(frozen=True)
class Finding:
    """A claim of the thesis, and whether our means agree; None where something is missing."""

    claim: str
    holds: bool | None
    detail: str

    def __str__(self) -> str:
        verdict = {True: "holds", False: "does not hold", None: "not decided"}[self.holds]
        return f"{verdict}: {self.claim} ({self.detail})"


def of_methods(runs: pd.DataFrame) -> list[Finding]:
    """Findings that compare methods; ``runs`` as of :func:`cost_studies.compare_methods`.

    ``own*`` has no part in them, since the thesis does not know it.
    """
    found = []
    runs = runs[runs["method"] != "own*"]
    scenarios = list(dict.fromkeys(runs["scenario"]))
    for scenario in scenarios:
        for fractional in "eh":
            exact, greedy = f"own-{fractional}ee", f"own-{fractional}he"
            claim = f"{scenario}: the exact integer step beats the greedy one after "
            claim += "an optimal" if fractional == "e" else "a heuristic"
            claim += " fractional solution, in weight (6.2.4)"
            found.append(_less(runs, claim, scenario, "weight", exact, greedy))
    for scenario in (name for name in scenarios if name in HARD):
        for method in ("own-hee", "own-hhe"):
            claim = f"{scenario}: {method} beats SAFE in the χ² sum (6.2.7)"
            found.append(_less(runs, claim, scenario, "chi2", method, "safe"))
    if "200m5_2percent" in scenarios:
        claim = "200m5_2percent: SAFE has the least χ² sum (6.2.7, figure 6.14)"
        found.append(_least(runs, claim, "200m5_2percent", "chi2", "safe"))
    for scenario in scenarios:
        for dimension in (1, 2, 3):
            claim = f"{scenario}: SAFE has the least maximum absolute error, dimension {dimension}"
            found.append(_least(runs, claim, scenario, f"max_abs_{dimension}d", "safe"))
    for scenario in scenarios:
        for form, name in (("", "as we solve both"), (":formulation=paper", "as printed")):
            claim = f"{scenario}: mSAFE beats SAFE-basic in the χ² sum, {name} (6.2.7)"
            finding = _less(runs, claim, scenario, "chi2", f"msafe{form}", f"safe-basic{form}")
            found.append(_with_reason(finding, runs[runs["scenario"] == scenario], form))
    return found


def _with_reason(finding: Finding, runs: pd.DataFrame, form: str) -> Finding:
    """On how many instances the optimum of SAFE-basic that was returned is one of mSAFE, too.

    Both have the least excess of the maximum error, mSAFE also the least deviation of those that
    its weight allows. SAFE-basic leaves open which of its many optima a solver returns: one that
    deviates no more is optimal for mSAFE as well, and then neither has a reason to have the smaller
    χ² error.
    """
    if finding.holds is None:
        return finding
    by = runs.pivot_table(index="instance", columns="method", values="deviation")
    same = int((by[f"safe-basic{form}"] <= by[f"msafe{form}"]).sum())
    why = f"on {same} of {len(by)} instances SAFE-basic deviates no more: optimal for mSAFE, too"
    return replace(finding, detail=f"{finding.detail}; {why}")


def of_own_star(runs: pd.DataFrame) -> list[Finding]:
    """What is asked of our own pipeline beyond the thesis: the least weight, and the least χ².

    SAFE counts only on instances where it keeps the number of rows, as all others do.
    """
    found = []
    for scenario in dict.fromkeys(runs["scenario"]):
        found.append(_proven(runs[runs["scenario"] == scenario], scenario))
        found.append(
            _least(runs, f"{scenario}: own* has the least weight", scenario, "weight", "own*")
        )
        for other in ("own-eee", "own-hee", "own-hhe", "safe"):
            lost = runs[(runs["method"] == other) & ~runs["kept"].astype(bool)]
            changed = lost.set_index(["scenario", "instance"]).index
            same = ~runs.set_index(["scenario", "instance"]).index.isin(changed)
            claim = f"{scenario}: own* has a smaller χ² sum than {other}"
            found.append(_less(runs[same], claim, scenario, "chi2", "own*", other))
    return found


def _proven(runs: pd.DataFrame, scenario: str) -> Finding:
    """Whether the weight of own* is the proven least; the gaps of all who have one are told."""
    claim = f"{scenario}: own* has a gap of 0 to the proven least weight"
    least = runs.dropna(subset="proven").set_index("instance")["proven"]
    by = runs.pivot_table(index="method", columns="instance", values="weight", sort=False)
    if least.empty or "own*" not in by.index:
        return Finding(claim, None, "needs runs of own* and branch-and-price")
    gaps = (by - least).clip(lower=0) / by.where(by > 0)
    means = gaps.fillna(0).mean(axis=1)
    told = ", ".join(f"{method} {100 * gap:.2f} %" for method, gap in means.items())
    return Finding(claim, bool(means["own*"] <= PROVEN), f"mean gaps: {told}")


def of_dual_information(runs: pd.DataFrame) -> list[Finding]:
    """A medium γ beats γ = 0 and γ = 1 (6.2.3); weights are averaged over λ and instances.

    The thesis solves the integer step exactly there, after optimal duals (γ up to 0.75 is medium)
    and after heuristic ones (γ up to 0.5). What it says of these is also asked of the greedy step.
    """
    found = []
    for method in dict.fromkeys(runs["method"]):
        mean = _means(runs[runs["method"] == method], "gamma", "weight")
        name = str(method)
        where = "6.2.3" if name[5:6] != "h" else "not in the thesis: its integer step is exact"
        for gamma in (0.25, 0.5, 0.75) if name.startswith("own-e") else (0.25, 0.5):
            for extreme in (0.0, 1.0):
                low, high = mean[gamma], mean[extreme]
                claim = f"{method}: γ = {gamma:g} beats γ = {extreme:g} in weight ({where})"
                found.append(Finding(claim, low < high, f"{low:.1f} and {high:.1f}"))
    return found


def of_control(runs: pd.DataFrame) -> list[Finding]:
    """Fewer control tables serve those better, more serve the others (6.2.6, figures 6.9, 6.10)."""
    (method,) = runs["method"].unique()
    columns = {f"dimension {d}": f"chi2_{d}d" for d in (1, 2, 3, 4, 5)}
    columns["all tables"] = "chi2_all"
    found = []
    for where, column in columns.items():
        mean = _means(runs, "control", column)
        better, worse = (2, 3) if where in ("dimension 1", "dimension 2") else (3, 2)
        low, high = mean[better], mean[worse]
        claim = (
            f"{method}: control tables up to dimension {better} have the smaller χ² sum, {where}"
        )
        found.append(Finding(claim, low <= high, f"{low:.1f} and {high:.1f}"))
    return found


def _less(
    runs: pd.DataFrame, claim: str, scenario: str, column: str, better: str, worse: str
) -> Finding:
    mean = _means(runs[runs["scenario"] == scenario], "method", column)
    if missing := [method for method in (better, worse) if method not in mean]:
        return Finding(claim, None, f"no runs of {' and '.join(missing)}")
    low, high = mean[better], mean[worse]
    return Finding(claim, low < high, f"{better} {low:.2f}, {worse} {high:.2f}")


def _least(runs: pd.DataFrame, claim: str, scenario: str, column: str, method: str) -> Finding:
    mean = _means(runs[runs["scenario"] == scenario], "method", column)
    if method not in mean or len(mean) == 1:
        return Finding(claim, None, f"needs runs of {method} and of others")
    own = mean.pop(method)
    best = min(mean, key=lambda other: mean[other])
    return Finding(claim, own <= mean[best], f"{method} {own:.2f}, {best} {mean[best]:.2f}")


def _means(runs: pd.DataFrame, by: str, column: str) -> dict[Any, float]:
    """Means of a column, where there are any."""
    means = runs.groupby(by, sort=False)[column].mean().dropna()
    return {key: float(value) for key, value in means.to_dict().items()}
