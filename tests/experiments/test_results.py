from dataclasses import replace

import pandas as pd
import pytest

from kanopy.experiments.catalogue import catalogue
from kanopy.experiments.figures import draw
from kanopy.experiments.full import PARTS
from kanopy.experiments.results import RESULTS, kept_results, write_results
from kanopy.experiments.specs import KEY, Entry, Experiment, Task, choose
from kanopy.experiments.store import Record, Store, is_done
from kanopy.experiments.tables import compared, values

TASKS = [
    Task("adult rows=200 columns=5 seed=1", "own-hhg", 3, "", '{"gamma": 0.5}', measures=("loss",)),
    Task("example:fars weights=[0.8,0.05,0.1,0.05]", "mondrian", 3, "range", seconds=2.5),
    Task("census", "ona", 10, "sse", seed=7, start="mdav", control=2),
]


def experiment(*tasks):
    return Experiment(
        "test-1", "", "", lambda quick: [Entry("r", "c", task) for task in tasks], "no reading"
    )


def test_what_is_written_is_read(tmp_path):
    store = Store(tmp_path / "r.sqlite")
    measures = {"information_loss": 1 / 3, "loss:": 1.0}
    records = [
        Record(TASKS[0], "1", 2 / 3, None, "feasible", 0.25, 0.125, measures, finished="2026"),
        Record(TASKS[1], "1", error='KanopyError: a, "b"\nc', finished="2026"),
        Record(TASKS[2], "1", 0.0, -1e-12, "optimal", 1e5, 0.5, {"rounds": 3.0}, finished="2026"),
    ]
    for record in records:
        store.add(record)
    (path,) = write_results(store, [experiment(*TASKS)], tmp_path / "out")
    assert path.name == "test.csv"
    kept = kept_results(TASKS, tmp_path / "out")
    for task, record in zip(TASKS, records, strict=True):
        found = kept[task]
        assert found.task.key == task.key
        assert (found.code, found.status, found.error) == (
            record.code,
            record.status,
            record.error,
        )
        for name in ("objective", "bound", "runtime", "cpu"):
            assert getattr(found, name) == pytest.approx(getattr(record, name))
    assert kept[TASKS[0]].measures == pytest.approx(measures, rel=1e-9)
    assert is_done(kept[TASKS[0]], TASKS[0])
    assert not is_done(kept[TASKS[0]], replace(TASKS[0], measures=("loss", "tables")))
    assert kept[TASKS[2]].measures == {"rounds": 3.0}


def test_runs_that_the_store_lacks_stay_and_newer_ones_replace(tmp_path):
    one, two = TASKS[1], replace(TASKS[1], k=4)
    first, second = Store(tmp_path / "1.sqlite"), Store(tmp_path / "2.sqlite")
    first.add(Record(one, "1", 1.0, finished="2025"))
    first.add(Record(two, "1", 2.0, finished="2025"))
    second.add(Record(two, "2", 3.0, finished="2026"))
    for store in (first, second):
        write_results(store, [experiment(one, two)], tmp_path / "out")
    kept = kept_results([one, two], tmp_path / "out")
    assert [(r.objective, r.code) for r in kept.values()] == [(1.0, "1"), (3.0, "2")]


def test_bounds_over_time_are_kept_where_a_figure_draws_them(tmp_path):
    store = Store(tmp_path / "r.sqlite")
    trace = ((0.0, None, None), (0.25, 3.0, None), (0.5, 3.0, 2.5))
    store.add(Record(TASKS[1], "1", 3.0, 2.5, "feasible", trace=trace, finished="2026"))
    chosen = experiment(TASKS[1])
    for figure, kept in (("bounds", trace), ("", ())):
        folder = tmp_path / f"of{figure}"
        write_results(store, [replace(chosen, figure=figure)], folder)
        assert kept_results(TASKS, folder)[TASKS[1]].trace == kept


def test_a_newer_run_with_fewer_measures_does_not_replace(tmp_path):
    task = TASKS[0]
    full, bare = Store(tmp_path / "1.sqlite"), Store(tmp_path / "2.sqlite")
    full.add(Record(task, "1", 1.0, measures={"loss:": 1.0}, finished="2025"))
    bare.add(Record(task, "2", 2.0, finished="2026"))
    for store in (bare, full, bare):
        write_results(store, [experiment(task)], tmp_path / "out")
    (kept,) = kept_results([task], tmp_path / "out").values()
    assert (kept.objective, is_done(kept, task)) == (1.0, True)


def test_what_comes_with_kanopy_belongs_to_the_catalogue():
    """A changed declaration leaves no result behind that nothing shows."""
    tasks = {entry.task.key for e in catalogue() for entry in e.entries(False)}
    for path in RESULTS.glob("*.csv"):
        frame = pd.read_csv(path, keep_default_na=False)
        types = [type(value) for value in Task("", "").key]
        for row in frame[list(KEY)].itertuples(index=False):
            assert tuple(kind(value) for kind, value in zip(types, row, strict=True)) in tasks
        assert not (frame["error"] != "").any()
        assert path.stat().st_size < 2_000_000


def test_every_table_and_figure_can_be_made_of_the_files_however_little_they_have():
    for chosen in catalogue():
        if kept := kept_results(chosen.tasks()):
            compared(chosen, kept)
            draw(chosen, values(chosen.entries(False), kept), kept)


@pytest.mark.parametrize(
    ("names", "tolerance"),
    [(["thaeter-A.1"], 0.005), (["liang-1", "liang-4", "liang-5", "liang-6", "liang-7"], 1e-8)],
)
def test_what_the_readings_call_equal_is_equal(names, tolerance):
    """Half a unit of the last printed digit, and what rounding leaves of the printed classes."""
    for chosen in choose(catalogue(), names):
        table = compared(chosen, kept_results(chosen.tasks()))
        assert (table["ours"] - table["published"]).abs().max() <= tolerance
        assert table.notna().all(axis=None)


def test_make_results_runs_the_whole_catalogue_and_names_nothing_in_vain():
    every, seen = catalogue(), set()
    for names in PARTS:
        for name in names:
            keys = {task.key for e in choose(every, [name]) for task in e.tasks()}
            assert keys - seen, f"{name} has no run of its own"
            seen |= keys
    assert [e.name for e in every if {task.key for task in e.tasks()} - seen] == []
