import pandas as pd
import pytest

import kanopy as kn
from kanopy.experiments import cost, cost_findings, cost_studies


def test_published_values_are_those_of_the_tables():
    assert cost.published_mean("adult200m5", "own-eee", "weight") == 79.5
    assert cost.published_mean("200m5_2percent", "own-hhg", "weight") == 48.0
    assert cost.published_mean("200m5_100percent", "safe", "seconds") == 46.08
    assert cost.published_mean("adult200m5", "msafe:formulation=paper", "seconds") == 2.62
    assert cost.published_mean("200m5_100percent", "chi-ex", "seconds") is None
    assert cost.published_mean("200m5_100percent", "branch-and-price", "weight") is None
    assert cost.published_mean("200m5_100percent", "safe", "weight") is None


def test_measures_of_a_solution():
    data = kn.generate("synthetic", n=40, p=0.5, k=3, seed=1)
    solution, seconds = cost_studies.solved(data, "safe")
    found = cost_studies.measures(data, solution)
    report = kn.evaluate(data, solution, control=3)
    assert seconds > 0
    assert found["chi2"] == pytest.approx(report.chi2)
    assert found["chi2_all"] == pytest.approx(report.chi2_all)
    assert found["max_abs_2d"] == report.by_dimension[2].max_abs
    lost = (data.counts - solution.counts).clip(min=0).sum()
    assert found["changed"] == pytest.approx(lost / 40)
    assert found["kept"] == (solution.counts.sum() == 40)
    assert pd.isna(found["weight"])


def runs(**values):
    """Two instances of each method with the given mean χ² sums."""
    rows = [
        {
            "scenario": "200m5_20percent",
            "method": method,
            "instance": instance,
            "chi2": chi2 + shift,
            "weight": chi2,
            "kept": True,
            "deviation": chi2,
            "proven": 9.0 if method == "branch-and-price" else None,
            **{f"max_abs_{d}d": chi2 for d in (1, 2, 3)},
        }
        for method, chi2 in values.items()
        for instance, shift in ((1, -1), (2, 1))
    ]
    return pd.DataFrame(rows)


def test_findings_hold_or_do_not_or_are_not_decided():
    given = runs(**{"own-hee": 9, "own-hhe": 12, "safe": 10, "msafe": 5, "safe-basic": 5})
    lines = [str(finding) for finding in cost_findings.of_methods(given)]

    def line(part):
        (found,) = [text for text in lines if part in text]
        return found

    assert line("own-hee beats SAFE").startswith("holds: ")
    assert line("own-hhe beats SAFE").startswith("does not hold: ")
    assert line("an optimal fractional").startswith("not decided: ")
    assert line("a heuristic fractional").startswith("holds: ")
    assert line("mSAFE beats SAFE-basic in the χ² sum, as we").startswith("does not hold: ")
    assert "on 2 of 2 instances" in line("mSAFE beats SAFE-basic in the χ² sum, as we")
    assert line("absolute error, dimension 1").startswith("does not hold: ")
    assert "msafe 5.00" in line("absolute error, dimension 1")


def test_findings_on_the_dual_information_and_control_tables():
    weights = {0.0: 5, 0.25: 3, 0.5: 4, 0.75: 4, 1.0: 4}
    given = pd.DataFrame([{"method": "m", "gamma": g, "weight": w} for g, w in weights.items()])
    holds = {f.claim.split(" in ")[0]: f.holds for f in cost_findings.of_dual_information(given)}
    assert holds["m: γ = 0.25 beats γ = 1"] is True
    assert holds["m: γ = 0.5 beats γ = 1"] is False
    columns = {**{f"chi2_{d}d": 1.0 for d in range(1, 6)}, "chi2_all": 5.0}
    given = pd.DataFrame(
        [{"method": "m", "control": 2, **columns}, {"method": "m", "control": 3, **columns}]
    )
    given.loc[given["control"] == 2, "chi2_4d"] = 0.5
    verdicts = [finding.holds for finding in cost_findings.of_control(given)]
    assert verdicts == [True, True, True, False, True, True]


def test_own_star_is_compared_with_safe_where_that_keeps_the_rows():
    given = runs(**{"own*": 10, "safe": 9})
    given.loc[(given["method"] == "safe") & (given["instance"] == 1), "kept"] = False
    given.loc[(given["method"] == "safe") & (given["instance"] == 2), "chi2"] = 12
    (finding,) = [f for f in cost_findings.of_own_star(given) if "than safe" in f.claim]
    assert finding.holds
    assert finding.detail == "own* 11.00, safe 12.00"


def test_gaps_are_those_to_the_proven_least_weight():
    given = runs(**{"own*": 9, "own-eee": 12, "branch-and-price": 9})
    (finding,) = [f for f in cost_findings.of_own_star(given) if "proven" in f.claim]
    assert finding.holds
    assert "own* 0.00 %, own-eee 25.00 %" in finding.detail
    worse = cost_findings.of_own_star(runs(**{"own*": 10, "branch-and-price": 10}))
    assert [f.holds for f in worse if "proven" in f.claim] == [False]  # not proven, though equal
    alone = cost_findings.of_own_star(runs(**{"own*": 9}))
    assert [f.holds for f in alone if "proven" in f.claim] == [None]


def test_pipelines_have_the_parameters_of_table_6_5(monkeypatch):
    asked = []

    def remember(data, spec, **given):
        asked.append((spec, given["options"]))
        return solved(data, "safe")

    solved = cost_studies.solved
    monkeypatch.setattr(cost_studies, "solved", remember)
    make = {"200m5_2percent": lambda seed: kn.generate("synthetic", n=40, p=0.5, k=3, seed=seed)}
    methods = ["own-eee", "own-hhg:lambda_=2", "own*", "safe"]
    cost_studies.compare_methods(make, methods, 1, 5.0, lambda _text: None)
    assert asked == [
        ("own-eee", {"gamma": 0.75, "lambda_": 3.0}),
        ("own-hhg:lambda_=2", {"gamma": 0.25, "lambda_": 2}),
        ("own*", {}),
        ("safe", {}),
    ]


def test_the_quick_form_prints_means_and_findings(capsys):
    wrong = cost.main(["safe", "msafe", "--quick"])
    out = capsys.readouterr().out
    verdicts = [text for text in out.splitlines() if text.startswith(("holds", "does not hold"))]
    assert sum(text.startswith("does not") for text in verdicts) == wrong
    assert any("SAFE has the least χ² sum" in text for text in verdicts)
    assert "instances by rows after SAFE" in out
    assert "findings about other methods" in out


def test_scaling_and_regressions_of_a_method(capsys):
    studies = ["--study", "scaling", "--study", "regression"]
    cost.main(["safe", "200m5_20percent", "--quick", *studies])
    out = capsys.readouterr().out
    assert "processor seconds over k" in out
    assert "ℓ₂ distance" in out


def test_unknown_words_are_refused_and_missing_methods_skipped(capsys, monkeypatch):
    with pytest.raises(kn.KanopyError, match="unknown scenario or method"):
        cost.main(["nonsense", "--quick"])
    monkeypatch.setattr(cost, "METHODS", ("safe", "own-none"))
    cost.main(["--quick", "--study", "methods", "200m5_2percent"])
    out = capsys.readouterr().out
    assert "skipped own-none: not registered" in out
    assert "not decided: 200m5_2percent: mSAFE beats" in out
