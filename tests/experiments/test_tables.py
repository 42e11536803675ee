import numpy as np
import pandas as pd
import pytest

from kanopy.archive import list_best
from kanopy.experiments.specs import Entry, Experiment, Task, options
from kanopy.experiments.store import Record
from kanopy.experiments.tables import cells, compared, side_by_side, values


def records(*found):
    return {task: Record(task, "1", **kept) for task, kept in found}


def make(rows):
    """Entries and records of (row, column, instance, objective, bound, value)."""
    entries, kept = [], {}
    for number, (row, column, instance, objective, bound, value) in enumerate(rows):
        task = Task(instance, row, 3, "sse", seed=0, options=options(gamma=number))
        entries.append(Entry(row, column, task, value))
        kept[task] = Record(task, "1", objective, bound, "feasible", runtime=1.0 + number)
    return entries, kept


def test_proven_gaps_take_the_best_bound_of_the_instance():
    entries, kept = make(
        [
            ("exact", "c", "i", 10.0, 9.0, "proven:objective"),
            ("weak", "c", "i", 20.0, 5.0, "proven:objective"),
            ("none", "c", "j", 20.0, None, "proven:objective"),
        ]
    )
    frame = values(entries, kept)
    assert frame.set_index("row")["value"].to_dict() == {"exact": 10.0, "weak": 55.0}


def test_a_closed_gap_is_zero():
    entries, kept = make([("exact", "c", "i", 10.0, 10.0 - 1e-9, "proven:objective")])
    assert values(entries, kept)["value"].tolist() == [0.0]


def test_the_weight_of_a_pipeline_is_held_against_the_best_known_partition():
    name = "synthetic n=200 p=0.2 k=3 seed=1"
    (known,) = (one for one in list_best() if one["name"] == name)
    task = Task(name, "own-hhg", 3)
    record = Record(task, "1", 7.0, measures={"weight": 2 * known["objective"]})
    frame = values([Entry("own-hhg", "c", task, "proven:weight")], {task: record})
    assert frame["value"].tolist() == [50.0]


def test_a_release_is_held_against_the_objective_that_the_bound_of_chi_ex_is_of():
    """Its χ² sum alone can be below that bound, which counts the deviation, too."""
    instance = "synthetic n=50 p=0.2 k=3 seed=1"
    exact, greedy = Task(instance, "chi-ex", 3, control=3), Task(instance, "own-hhg", 3, control=3)
    kept = {
        exact: Record(exact, "1", 10.0, 10.0, measures={"chi2": 9.6, "deviation": 20.0}),
        greedy: Record(greedy, "1", 19.0, measures={"chi2": 19.0, "deviation": 50.0}),
    }
    entries = [Entry(task.method, "c", task, "proven:chi-ex") for task in kept]
    assert values(entries, kept)["value"].tolist() == [0.0, 50.0]


def test_gaps_of_the_thesis_are_to_the_best_of_the_column_and_instance():
    entries, kept = make(
        [
            ("a", "c", "i", 10.0, None, "gap:objective"),
            ("b", "c", "i", 15.0, None, "gap:objective"),
            ("a", "d", "i", 30.0, None, "gap:objective"),
            ("b", "d", "i", 60.0, None, "gap:objective"),
            ("b", "c", "j", 7.0, None, "gap:objective"),
            ("a", "c", "j", 7.0, None, "gap:objective"),
        ]
    )
    assert values(entries, kept)["value"].tolist() == [0.0, 0.5, 0.0, 1.0, 0.0, 0.0]


def test_nothing_has_a_gap_to_itself():
    """While the others have not been run, the only one is not the best of anything."""
    entries, kept = make(
        [("a", "c", "i", 10.0, None, "gap:objective"), ("b", "c", "i", 9.0, None, "gap:objective")]
    )
    del kept[entries[1].task]
    assert values(entries, kept).empty


def test_the_best_pair_is_told_where_all_were_tried():
    entries, kept = make([("a", "pair", "i", w, None, "objective") for w in (3.0, 2.0, 4.0)])
    experiment = Experiment("n", "t", "s", lambda quick: entries, "r", summary="pairs")
    assert compared(experiment, kept)["ours"].tolist() == [1.0]
    del kept[entries[2].task]
    assert compared(experiment, kept).empty


def test_ratios_to_the_first_row():
    entries, kept = make(
        [
            ("optimum", "20", "i", 10.0, None, "over:objective"),
            ("greedy", "20", "i", 15.0, None, "over:objective"),
        ]
    )
    assert values(entries, kept)["value"].tolist() == [1.0, 1.5]
    del kept[entries[0].task]
    assert values(entries, kept).empty


def test_failed_runs_leave_their_cell():
    entries, _kept = make([("a", "c", "i", 1.0, None, "objective")])
    task = entries[0].task
    assert values(entries, {task: Record(task, "1", error="no")}).empty
    assert values(entries, {}).empty


def test_best_of_each_instance():
    frame = pd.DataFrame(
        {
            "row": "m",
            "column": "k = 3",
            "instance": ["i", "i", "j", "j"],
            "objective": [2.0, 1.0, 3.0, 4.0],
            "wanted": "option:gamma",
            "value": [0.1, 0.2, 0.3, 0.4],
        }
    )
    assert cells(frame, "best")["ours"].tolist() == [0.25]


def test_ratios_between_rows():
    frame = pd.DataFrame(
        {
            "row": ["a", "b", "a", "b"],
            "column": ["x", "x", "y", "y"],
            "value": [1.0, 2.0, 4.0, 2.0],
        }
    )
    found = cells(frame, "ratios").set_index(["row", "column"])["ours"]
    assert found["a", "b"] == pytest.approx(100 * (2 + 0.5) / 2)
    assert found["a", "a"] == 100


def test_counts_spread_and_pairs():
    frame = pd.DataFrame(
        {
            "row": "safe",
            "column": "rows",
            "options": [options(gamma=1), options(gamma=1), options(gamma=2)],
            "value": [200.0, 200.0, 199.0],
        }
    )
    counted = cells(frame, "count")
    assert counted.values.tolist() == [["safe", "199", 1], ["safe", "200", 2]]
    assert cells(frame, "pairs")["ours"].tolist() == [2.0]
    assert cells(frame, "range")["ours"].tolist() == [199, 200]


def test_behaviour_over_three_values():
    rows = []
    for instance, three in {
        "up": (1, 2, 3),
        "down": (3, 2, 1),
        "mid": (2, 1, 2),
        "x": (1, 2, 1),
    }.items():
        rows += [
            ("all", gamma, instance, "", value) for gamma, value in zip("123", three, strict=True)
        ]
    frame = pd.DataFrame(rows, columns=["row", "column", "instance", "group", "value"])
    assert cells(frame, "behaviour")["ours"].tolist() == [1, 1, 1, 1]
    assert cells(frame[frame["column"] != "2"], "behaviour").empty


def test_published_beside_ours_in_the_published_order():
    entries, kept = make(
        [("b", "y", "i", 2.0, None, "objective"), ("a", "x", "i", 1.0, None, "objective")]
    )
    theirs = pd.DataFrame({"row": ["a", "c"], "column": ["x", "x"], "published": [1.5, 9.0]})
    experiment = Experiment("n", "t", "s", lambda quick: entries, "r", lambda: theirs)
    table = compared(experiment, kept)
    assert table["row"].tolist() == ["a", "c", "b"]
    wide = side_by_side(table)
    assert wide.loc["a", "x"] == "1.5 → 1"
    assert wide.loc["c", "x"] == "9 → –"
    assert wide.loc["b", "y"] == "2"
    assert compared(experiment, kept, quick=True)["published"].isna().all()


def test_known_bounds_count(monkeypatch):
    entries, kept = make([("a", "c", "census", 10.0, None, "proven:objective")])
    monkeypatch.setattr(
        "kanopy.experiments.tables.known_bounds", lambda asked: {("census", 3, "sse"): 9.5}
    )
    assert values(entries, kept)["value"].tolist() == [pytest.approx(5.0)]
    assert np.isfinite(values(entries, kept)["objective"]).all()


def test_behaviour_of_no_instance_is_no_count():
    """As long as no instance has all three values, there is nothing to be counted."""
    parts = {"row": "r", "instance": ["a", "b", "c"], "group": "", "value": 1.0}
    assert cells(pd.DataFrame({**parts, "column": ["0.25", "0.5", "0.75"]}), "behaviour").empty
