"""The catalogue is complete, its published values are the papers', and its quick forms run."""

import pandas as pd
import pytest
from sizes import LONG

from kanopy.experiments.catalogue import catalogue
from kanopy.experiments.figures import draw
from kanopy.experiments.runner import campaign, unavailable
from kanopy.experiments.specs import Task, choose, make_instance, parts
from kanopy.experiments.store import Store, code_version
from kanopy.experiments.tables import compared, values
from kanopy.instances.errors import KanopyError

BY_NAME = {experiment.name: experiment for experiment in catalogue()}
SAMPLE = (
    "gentile-4",
    "thaeter-7.3",
    "thaeter-A.9",
    "liang-fig3",
    "liang-fig10",
    "cost-6.3",
    "gaps-numeric",
)


def test_every_table_and_figure_of_the_papers_is_there():
    wanted = {f"cost-6.{i}" for i in (2, 3, 5, 6, 7, 8, 9, 10)}
    wanted |= {f"cost-fig6.{i}" for i in range(1, 25)} | {f"cost-figB.{i}" for i in range(1, 12)}
    wanted |= {
        f"thaeter-{t}"
        for t in ["5.3", "5.4", "5.5", "5.6", "5.7", "6.2", "6.3", "6.5", "6.6", "6.7", "6.8"]
    }
    wanted |= {f"thaeter-{t}" for t in ["7.3", "7.4", "7.5", "7.6", "8.1", "8.4", "fig6.4"]}
    wanted |= {f"thaeter-fig7.{i}" for i in (7, 8, 9)}
    wanted |= {
        f"thaeter-{a}.{i}" for a, n in (("A", 9), ("B", 8), ("C", 6)) for i in range(1, n + 1)
    }
    wanted |= {"gentile-3", "gentile-4"} | {f"liang-{i}" for i in (1, 4, 5, 6, 7, 8)}
    assert wanted <= set(BY_NAME)
    for figure in range(2, 11):
        assert any(name.startswith(f"liang-fig{figure}") for name in BY_NAME)
    assert len(BY_NAME) == len(catalogue())


@pytest.mark.parametrize("experiment", catalogue(), ids=lambda e: e.name)
def test_a_declaration_is_sound(experiment):
    entries = experiment.entries(False)
    assert len(entries) > 0
    assert len(experiment.tasks(True)) <= 60
    assert len(experiment.reading) > 20
    for entry in experiment.entries(True):
        parts(entry.task.instance)
        assert entry.row
    if experiment.published is not None:
        theirs = experiment.published()
        assert not theirs.duplicated(["row", "column"]).any()
        assert theirs["published"].notna().all()


@pytest.mark.parametrize(
    "name", [e.name for e in catalogue() if e.published and e.summary == "mean"]
)
def test_every_published_cell_has_a_run_of_ours(name):
    experiment = BY_NAME[name]
    ours = {(entry.row, entry.column) for entry in experiment.entries(False)}
    theirs = experiment.published()
    if name != "liang-8":  # a distribution, by sizes that occur
        assert set(zip(theirs["row"], theirs["column"], strict=True)) <= ours


def cell(name, row, column):
    table = BY_NAME[name].published().set_index(["row", "column"])["published"]
    return table[row, column]


def test_no_reading_has_a_gap_left():
    assert not [e.name for e in catalogue() if "{" in e.reading]


def test_published_values_are_those_printed():
    assert cell("gentile-3", "200 rows, k = 5, random", "Time") == 2125.44
    assert cell("gentile-4", "40 rows, k = 4, norm", "Ex") == 3
    assert cell("cost-6.6", "200m5_100percent, heuristic", "exact") == 207.8
    assert cell("cost-6.8", "200m5_20percent, rand", "clique") == 20.88
    assert cell("thaeter-A.1", "census: mdav", "k = 3") == 5.69
    assert cell("thaeter-5.4", "gamma: mdav*-gamma", "k = 10") == 1.2
    assert cell("thaeter-6.6", "seconds: ona runs=100", "k = 3") == 97.59
    assert cell("thaeter-7.5", "loss: mona-2d rho=0.7", "k = 10") == 17.54
    assert cell("thaeter-7.3", "mondrian", "ona*") == 22.6
    assert cell("liang-4", "unequal weights", "objective") == 4.114516129


@pytest.mark.real_data
def test_one_run_of_every_quick_form(tmp_path):
    """``kanopy experiment all --quick`` in a smaller cut."""
    first: dict[str, list[Task]] = {}
    for experiment in catalogue():
        tasks = [task for task in experiment.tasks(True) if not unavailable(task)]
        assert tasks or experiment.missing
        first[experiment.name] = tasks[:1]
    store = Store(tmp_path / "results.sqlite")
    outcome = campaign((task for tasks in first.values() for task in tasks), store)
    assert outcome.failed == 0, store.frame()["error"].tolist()
    for experiment in catalogue():
        records = store.records(first[experiment.name], code_version())
        compared(experiment, records, quick=True)
        draw(experiment, values(experiment.entries(True), records), records)


@pytest.mark.real_data
@pytest.mark.parametrize("name", BY_NAME if LONG else SAMPLE)
def test_quick_forms_run(name, tmp_path):
    experiment = BY_NAME[name]
    store = Store(tmp_path / "results.sqlite")
    tasks = [task for task in experiment.tasks(True) if not unavailable(task)]
    if not tasks:
        pytest.skip(f"data not to be had: {experiment.missing}")
    outcome = campaign(tasks, store)
    assert outcome.failed == 0, store.frame()["error"].tolist()
    records = store.records(tasks, code_version())
    table = compared(experiment, records, quick=True)
    assert pd.notna(table["ours"]).any()


@pytest.mark.real_data
def test_no_ratio_to_a_proven_optimum_is_below_one(tmp_path):
    experiment, store = BY_NAME["liang-fig2a"], Store(tmp_path / "results.sqlite")
    campaign(experiment.tasks(True), store)
    table = compared(experiment, store.records(experiment.tasks(True)), quick=True)
    assert set(table["row"]) == {"optimum", "Split & Carry", "Greedy Search"}
    assert (table["ours"] >= 1 - 1e-6).all()


@pytest.mark.real_data
def test_printed_classes_of_liang_are_optimal(tmp_path):
    """Tables 1, 4, 5 and 6 have no quick form of their own: they are small."""
    store = Store(tmp_path / "results.sqlite")
    for name in ("liang-1", "liang-4", "liang-5", "liang-6"):
        experiment = BY_NAME[name]
        campaign(experiment.tasks(), store)
        table = compared(experiment, store.records(experiment.tasks(), code_version()))
        assert table["ours"].tolist() == pytest.approx(table["published"].tolist(), rel=1e-8)


def test_instances_by_name():
    assert make_instance("example:fars weights=[0.8,0.05,0.1,0.05]").weights.tolist() == [
        0.8,
        0.05,
        0.1,
        0.05,
    ]
    few = make_instance("example:fars restrict=[12,1,11]")
    assert few.n == 3
    assert few.domains == make_instance("example:fars").domains
    with pytest.raises(KanopyError, match="name=value"):
        make_instance("simu n")


def test_choosing():
    assert [e.name for e in choose(catalogue(), ["gentile"])] == ["gentile-3", "gentile-4"]
    assert [e.name for e in choose(catalogue(), ["cost-6.1"])] == ["cost-6.10"]
    assert len(choose(catalogue(), ["all"])) == len(catalogue())
    with pytest.raises(KanopyError, match=r"'gentile-5'; the closest are gentile-[34]") as error:
        choose(catalogue(), ["gentile-5"])
    assert len(str(error.value)) < 200
    with pytest.raises(KanopyError, match="'qqqq'; kanopy experiment list shows all"):
        choose(catalogue(), ["qqqq"])
