import sqlite3

import pytest

from kanopy.experiments.specs import Task
from kanopy.experiments.store import Record, Store, code_version, is_done
from kanopy.instances.errors import KanopyError

TASK = Task("example:testdata", "mdav", 3)


def test_a_record_comes_back_as_it_went(tmp_path):
    store = Store(tmp_path / "r.sqlite")
    record = Record(
        TASK, "1", 4.5, None, "feasible", 0.5, 0.25, {"a": 1.0}, ((0.1, 5.0, None),), {"b": "2"}
    )
    assert store.add(record)
    assert store.find(TASK, "1") == record
    assert store.find(TASK, "2") is None
    assert store.find(TASK) == record


def test_an_error_gives_way_to_a_result_but_not_the_other_way_round(tmp_path):
    store = Store(tmp_path / "r.sqlite")
    assert store.add(Record(TASK, "1", error="no"))
    assert store.add(Record(TASK, "1", objective=1.0))
    assert not store.add(Record(TASK, "1", error="no"))
    assert store.find(TASK, "1").objective == 1.0


def test_new_measures_are_added_to_the_old(tmp_path):
    store = Store(tmp_path / "r.sqlite")
    store.add(Record(TASK, "1", measures={"a": 1.0}))
    assert store.add(Record(TASK, "1", measures={"b": 2.0}))
    assert store.find(TASK, "1").measures == {"a": 1.0, "b": 2.0}


def test_of_several_versions_the_newest_without_error_is_taken(tmp_path):
    store = Store(tmp_path / "r.sqlite")
    store.add(Record(TASK, "1", objective=1.0, finished="2020"))
    store.add(Record(TASK, "2", objective=2.0, finished="2021"))
    store.add(Record(TASK, "3", error="no", finished="2022"))
    assert store.find(TASK).objective == 2.0


def test_the_file_is_in_wal_mode_and_has_one_row_a_key(tmp_path):
    store = Store(tmp_path / "r.sqlite")
    store.add(Record(TASK, "1"))
    with sqlite3.connect(store.path) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute("INSERT INTO runs SELECT * FROM runs")


def test_a_failed_transaction_leaves_nothing(tmp_path):
    store = Store(tmp_path / "r.sqlite")
    with pytest.raises(TypeError):
        store.add(Record(TASK, "1", measures={"a": object()}))
    assert store.frame().empty
    assert store.add(Record(TASK, "1"))


def test_a_file_that_is_no_store_is_refused(tmp_path):
    (tmp_path / "r.sqlite").write_text("something else, and long enough to be a header" * 9)
    with pytest.raises(KanopyError, match="failed"):
        Store(tmp_path / "r.sqlite")
    with pytest.raises(KanopyError, match="cannot open"):
        Store(tmp_path / "no" / "r.sqlite")


def test_the_version_of_the_code():
    number, _, digest = code_version().partition("+")
    assert number.count(".") == 2
    assert len(digest) == 12


def test_done():
    assert not is_done(None, TASK)
    assert is_done(Record(TASK, "1"), TASK)
    assert is_done(Record(TASK, "1", error="no"), TASK)
    assert not is_done(Record(TASK, "1", error="no"), TASK, retry=True)
    assert not is_done(Record(TASK, "1"), Task("example:testdata", "mdav", 3, measures=("loss",)))
