import pandas as pd
import pytest

from kanopy.experiments import thaeter
from kanopy.instances.errors import KanopyError


def test_published_values_are_complete_and_plausible():
    table = thaeter.published()
    assert {"table", "data", "method", "k", "value"} <= set(table.columns)
    cell = table[(table["data"] == "census") & (table["method"] == "mdav") & (table["k"] == 3)]
    assert 5.69 in cell["value"].tolist()


def test_tolerances():
    def cell(data, method, published, ours):
        return thaeter.Cell(data, method, "", 3, published, ours, 0.0, 3.0, None)

    assert cell("census", "mdav", 5.69, 5.6922).agrees
    assert not cell("census", "mdav", 5.69, 5.70).agrees
    assert cell("adult-numeric", "mdav", 1.0, 1.014).agrees
    assert cell("census", "ona*", 5.0, 5.04).agrees
    assert not cell("credit", "mona", 10.0, 10.02).agrees
    assert cell("simu", "mdav", 20.0, 20.3).agrees


def test_a_simulated_cell_is_reproduced_small():
    """The quick form: three draws instead of 25 must already be near the published mean."""
    table = thaeter.published()
    row = table[(table["data"] == "simu") & (table["method"] == "mdav") & (table["k"] == 5)]
    value = float(row["value"].iloc[0])
    cell = thaeter.reproduce("simu", "mdav", "", 5, value, draws=3)
    assert abs(cell.relative) < 4


@pytest.mark.real_data
def test_the_script_prints_both_side_by_side(capsys, monkeypatch):
    tables = {measure: thaeter.published(measure) for measure in ("loss", "size", "gamma")}
    rows = tables["loss"]
    tables["loss"] = rows[(rows["data"] == "tarragona") & rows["k"].isin([3, 5])]
    monkeypatch.setattr(thaeter, "published", lambda measure="loss": tables[measure])
    wrong = thaeter.main(["mdav", "mdav+", "mdav*"])
    printed = capsys.readouterr().out
    assert "16.93" in printed
    assert "average size" in printed
    assert wrong == 0


def test_nothing_to_compare(capsys, monkeypatch):
    monkeypatch.setattr(
        thaeter, "published", lambda: pd.DataFrame(columns=["data", "method", "options", "k"])
    )
    assert thaeter.main([]) == 0
    assert "nothing to compare" in capsys.readouterr().err


def test_words_choose_data_and_methods(monkeypatch):
    asked = []

    def reproduce(name, method, options, k, value):
        asked.append((name, method))
        raise KanopyError("not now")

    monkeypatch.setattr(thaeter, "reproduce", reproduce)
    thaeter.main(["eia", "census", "mdav"])
    assert set(asked) == {("eia", "mdav"), ("census", "mdav")}
    with pytest.raises(KanopyError, match="mdva"):
        thaeter.main(["eia", "mdva"])
