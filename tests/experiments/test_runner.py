import multiprocessing
import random
import sys
import time
from dataclasses import replace
from functools import partial

import campaigns
import pytest
from sizes import how_many

from kanopy.experiments import quantities, runner
from kanopy.experiments.runner import campaign, execute, thinned, unavailable
from kanopy.experiments.specs import Task, options
from kanopy.experiments.store import Store, code_version, is_done
from kanopy.experiments.tables import compared
from kanopy.solvers.trace import Event, Trace

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
KILLS = how_many(2, 10)

TASK = Task("example:testdata", "mdav", 3, "sse", measures=("loss",))


def start(path):
    """The campaign in a process of its own, forked, since nothing need be imported then."""
    process = multiprocessing.get_context("fork").Process(target=run_all, args=(path,))
    process.start()
    return process


def run_all(path):
    runner.execute = slowly  # in the child only: most of its time is then in a run
    outcome = campaign(campaigns.EXPERIMENT.tasks(), Store(path))
    sys.exit(outcome.failed)


def slowly(task):
    time.sleep(0.01)
    return execute(task)


def number_of_runs(path):
    return len(Store(path).frame()) if path.exists() else 0


def table(path):
    tasks = campaigns.EXPERIMENT.tasks()
    return compared(campaigns.EXPERIMENT, Store(path).records(tasks, code_version()))


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "results.sqlite"
    outcome = campaign(campaigns.EXPERIMENT.tasks(), Store(path))
    assert outcome.run == 48
    assert outcome.failed == 0
    return table(path)


def test_a_killed_campaign_resumes_to_the_same_table(tmp_path, uninterrupted):
    path = tmp_path / "results.sqlite"
    chance = random.Random(1)
    for _ in range(KILLS):
        before = number_of_runs(path)
        process = start(path)
        while process.is_alive() and number_of_runs(path) <= before:
            time.sleep(0.005)
        time.sleep(chance.uniform(0, 0.02))
        process.kill()
        process.join()
        kept = number_of_runs(path)
        assert kept > before or kept == 48  # what was finished is there
    outcome = campaign(campaigns.EXPERIMENT.tasks(), Store(path))
    assert (outcome.kept, outcome.run) == (kept, 48 - kept)
    assert number_of_runs(path) == 48
    assert table(path).equals(uninterrupted)


def test_two_campaigns_at_once_lose_nothing(tmp_path, uninterrupted):
    path = tmp_path / "results.sqlite"
    both = [start(path), start(path)]
    for process in both:
        process.join()
    assert [process.exitcode for process in both] == [0, 0]
    assert number_of_runs(path) == 48
    assert table(path).equals(uninterrupted)


def test_several_processes_give_the_same_table(tmp_path, uninterrupted):
    path = tmp_path / "results.sqlite"
    campaign(campaigns.EXPERIMENT.tasks(), Store(path), jobs=2)
    assert table(path).equals(uninterrupted)


def test_a_finished_run_is_not_repeated_unless_it_lacks_a_measure(tmp_path):
    store = Store(tmp_path / "results.sqlite")
    plain = replace(TASK, measures=())
    assert campaign([plain], store).run == 1
    assert campaign([plain], store).kept == 1
    assert campaign([TASK], store).run == 1
    assert campaign([TASK, plain], store).kept == 1  # one key, asked for twice
    record = store.find(TASK, code_version())
    assert record.objective == 48
    assert record.measures["information_loss"] == pytest.approx(100 * 48 / 91.5)


def test_a_failed_run_is_recorded_and_does_not_stop_the_rest(tmp_path):
    store = Store(tmp_path / "results.sqlite")
    bad = replace(TASK, k=99)
    outcome = campaign([bad, TASK], store)
    assert (outcome.run, outcome.failed) == (1, 1)
    assert "choose k ≤ 6" in store.find(bad).error
    assert campaign([bad], store).kept == 1
    assert campaign([bad], store, retry=True).failed == 1


def test_a_run_whose_process_dies_is_found_and_recorded(tmp_path, monkeypatch):
    store = Store(tmp_path / "results.sqlite")
    monkeypatch.setattr(runner, "execute", campaigns.dies_for_seed_7)
    tasks = [replace(TASK, seed=seed) for seed in (7, 8)]
    outcome = campaign(tasks, store, jobs=2)
    assert (outcome.run, outcome.failed) == (1, 1)
    assert "process died" in store.find(tasks[0]).error


def test_a_run_whose_process_dies_once_is_run_again_and_counted_once(tmp_path, monkeypatch):
    store = Store(tmp_path / "results.sqlite")
    monkeypatch.setattr(runner, "execute", partial(campaigns.deadly, str(tmp_path)))
    tasks = [replace(TASK, seed=seed) for seed in (5, 6, 7)]
    outcome = campaign(tasks, store, jobs=2)
    assert (tmp_path / "met").exists()
    assert (outcome.run, outcome.failed) == (3, 0)
    assert number_of_runs(store.path) == 3


def test_results_of_older_code_count_only_on_request(tmp_path, monkeypatch):
    store = Store(tmp_path / "results.sqlite")
    monkeypatch.setattr(runner, "code_version", lambda: "0+old")
    campaign([TASK], store)
    monkeypatch.undo()
    assert campaign([TASK], store, accept_older=True).kept == 1
    assert campaign([TASK], store).run == 1


def test_what_is_not_available_is_said_and_not_recorded(tmp_path):
    store = Store(tmp_path / "results.sqlite")
    tasks = [
        replace(TASK, method="no-such"),
        replace(TASK, instance="winnipeg"),
        replace(TASK, measures=("no-such",)),
    ]
    outcome = campaign(tasks, store)
    assert sorted(outcome.unavailable) == [
        "data winnipeg not to be had",
        "measure no-such not available",
        "method no-such not available",
    ]
    assert store.frame().empty
    assert unavailable(TASK) == ""


def test_a_run_that_ignores_its_limit_is_given_up(monkeypatch):
    monkeypatch.setattr(runner, "_PATIENCE", -29.9)  # of one second: a tenth
    monkeypatch.setitem(quantities.QUANTITIES, "sleep", lambda *_: time.sleep(5) or {})
    began = time.perf_counter()
    record = execute(replace(TASK, seconds=1.0, measures=("sleep",)))
    assert "not ended after" in record.error
    assert time.perf_counter() - began < 4


def test_a_record_has_what_the_report_needs():
    record = execute(replace(TASK, method="univariate", instance="simu n=12 d=1 seed=1"))
    assert record.error == ""
    assert record.status == "optimal"
    assert record.bound == pytest.approx(record.objective)
    assert record.trace
    assert 0 <= record.cpu < 60  # of the method alone: no import, no compilation
    assert {"python", "numpy", "highspy"} <= set(record.versions)
    assert is_done(record, record.task)


def test_traces_are_thinned_to_the_last_event():
    events = [Event(float(i), objective=100.0 - i) for i in range(1000)]
    kept = thinned(Trace(events))
    assert len(kept) == 60
    assert kept[0][0] == 0
    assert kept[-1] == (999.0, -899.0, None)


def test_a_dask_cluster_that_loses_a_worker(tmp_path, monkeypatch):
    """The lost worker's task is run again and counted once."""
    distributed = pytest.importorskip("distributed", reason="needs the extra `distributed`")
    store = Store(tmp_path / "results.sqlite")
    tasks = [replace(TASK, seed=seed) for seed in range(5, 9)]
    monkeypatch.setattr(runner, "execute", partial(campaigns.deadly, str(tmp_path)))
    cluster = distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None)
    with cluster:
        outcome = campaign(tasks, store, dask=cluster.scheduler_address)
    assert (tmp_path / "met").exists()
    assert (outcome.run, outcome.failed) == (3, 1)
    assert number_of_runs(store.path) == 4
    assert {store.find(task).objective for task in tasks[:3]} == {48.0}
    assert "no such luck" in store.find(tasks[3]).error


def test_options_are_part_of_the_key():
    assert replace(TASK, options=options(gamma=0.5)).key != TASK.key
    assert replace(TASK, measures=()).key == TASK.key
