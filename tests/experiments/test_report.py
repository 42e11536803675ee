import re
import shutil
import subprocess
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from campaigns import EXPERIMENT

from kanopy.experiments.catalogue import catalogue
from kanopy.experiments.figures import profile_ratios
from kanopy.experiments.report import _marks, write_report
from kanopy.experiments.specs import choose
from kanopy.experiments.store import Record, Store, code_version
from kanopy.experiments.tables import timed
from kanopy.instances.errors import KanopyError

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
NAMES = ["cost-fig6.11", "cost-6.6", "thaeter-A.1", "thaeter-6.3", "gentile-3", "liang-fig7"]
NAMES += ["liang-4", "gaps-numeric", "bounds-over-time"]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A page over results that are made up: what is tested is the page."""
    folder = tmp_path_factory.mktemp("report")
    store = Store(folder / "results.sqlite")
    chance = np.random.default_rng(0)
    experiments = choose(catalogue(), NAMES)
    for experiment in experiments:
        wanted = {entry.value.rpartition(":")[2] for entry in experiment.entries(False)}
        for number, task in enumerate(experiment.tasks()[:60]):
            objective = 5 + chance.random()
            measures = {f"{name}:": 1.0 for name in task.measures}
            measures |= {name: float(chance.random()) + 1 for name in sorted(wanted)}
            trace = ((0.1, objective + 1, None), (0.5, objective, 4.0), (1.0, objective, 4.5))
            error = "KanopyError: <no>" if number == 3 else ""
            store.add(
                Record(task, code_version(), objective, 4.5, "feasible", 1.0, 1.0, measures, trace,
                       error=error)
            )  # fmt: skip
    page = write_report(store, folder / "out", experiments, results=folder / "none")
    return folder / "out", page.read_text()


class Outline(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.addresses, self.ids = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        for name, value in attrs:
            if name in ("src", "href", "xlink:href", "action", "data"):
                self.addresses.append(value)
            if name == "id":
                self.ids.append(value)


def test_the_page_needs_nothing_else(report):
    outline = Outline(report[1])
    assert all(address.startswith("#") for address in outline.addresses)
    assert not {"script", "link", "iframe", "object", "img"} & set(outline.tags)
    assert "@import" not in report[1]
    assert "url(http" not in report[1]


def test_every_reference_inside_the_page_has_its_one_target(report):
    outline = Outline(report[1])
    assert len(set(outline.ids)) == len(outline.ids)
    assert {address[1:] for address in outline.addresses} <= set(outline.ids)
    assert set(re.findall(r"url\(#([^)]+)\)", report[1])) <= set(outline.ids)


def test_published_and_ours_stand_side_by_side(report):
    assert re.search(r">5\.69 → [0-9.]+<", report[1])
    assert "&lt;no&gt;" in report[1]
    assert "<no>" not in report[1]
    assert report[1].count("<svg") == 5


def test_cells_are_coloured_by_their_difference_unless_they_are_seconds(tmp_path):
    (experiment,) = choose(catalogue(), ["gentile-3"])
    table = experiment.published()
    ours = {"MDAV": 1.0, "V-MDAV": 1.009, "MSTH": 1.03, "SRH": 2.0, "Time": 2.0, "Ex": 1.0}
    table["ours"] = table["published"] * table["column"].map(ours)
    marks = _marks(table).mask(timed(experiment, table), "")
    first = dict(zip(table["column"][:6], marks[:6], strict=True))
    assert first == dict(zip(ours, ["near", "near", "", "far", "", "near"], strict=True))


def test_figures_and_tables_are_files_too(report):
    folder = report[0]
    drawn = {path.stem for path in (folder / "figures").glob("*.svg")}
    assert drawn == {path.stem for path in (folder / "figures").glob("*.png")}
    names = {"cost-fig6.11", "thaeter-6.3", "liang-fig7", "gaps-numeric", "bounds-over-time"}
    assert drawn == names
    table = pd.read_csv(folder / "tables" / "gentile-3.csv")
    row = table[(table["row"] == "30 rows, k = 3, consecutive") & (table["column"] == "MDAV")]
    assert row["published"].tolist() == [23.5]
    assert row["ours"].notna().all()
    latex = (folder / "tables" / "cost-6.6.tex").read_text()
    assert r"200m5\_2percent, optimal" in latex
    assert r"20.6 $\to$" in latex


def test_profiles_compare_costs_not_gaps():
    frame = pd.DataFrame({"row": ["a", "b"], "column": "c", "instance": "i", "value": [0.0, 50.0]})
    assert profile_ratios(frame).iloc[0].to_dict() == {"a": 1.0, "b": 2.0}


def test_an_empty_store_gives_a_page_with_the_published_values(tmp_path):
    store = Store(tmp_path / "r.sqlite")
    chosen = choose(catalogue(), ["gentile-3"])
    page = write_report(store, tmp_path / "out", chosen, results=tmp_path / "none")
    assert "23.5 → –" in page.read_text()


def test_a_reading_says_what_has_not_been_run(tmp_path):
    store, tasks = Store(tmp_path / "r.sqlite"), EXPERIMENT.tasks()
    notes = []
    for number in (0, 1, len(tasks)):
        for task in tasks[:number]:
            store.add(Record(task, code_version(), 1.0, finished="2026"))
        page = write_report(store, tmp_path / "out", [EXPERIMENT], results=tmp_path / "none")
        notes += re.findall('<p class="note">(.*)</p>', page.read_text())
    assert notes == [
        "Not run yet. no reading",
        "Not run in full: 1 of 48 runs. no reading",
        "no reading",
    ]


def test_a_folder_that_cannot_be_is_refused(tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(KanopyError, match="cannot write"):
        write_report(Store(tmp_path / "r.sqlite"), tmp_path / "out", [])


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on this machine")
@pytest.mark.parametrize("width", [1200, 390])
def test_chromium_shows_every_figure_within_the_screen(report, width, tmp_path):
    """The page measures itself: nothing is wider than the screen, and every figure has a size.

    On a phone a figure scrolls in its frame, so that its letters stay large enough to read.
    """
    probe = """<script>addEventListener('load', () => {
      const boxes = [...document.querySelectorAll('svg')].map(s => s.getBoundingClientRect());
      document.title = [document.documentElement.scrollWidth, innerWidth, boxes.length,
        Math.min(...boxes.map(b => b.width)), Math.min(...boxes.map(b => b.height)),
        Math.max(...[...document.querySelectorAll('figure')].map(
          f => f.getBoundingClientRect().right)),
        Math.min(...[...document.querySelectorAll('svg text')].map(
          t => t.getBoundingClientRect()).map(b => Math.max(b.width, b.height)))].join(' ');
      document.body.setAttribute('data-measured', document.title); });</script>"""
    page = tmp_path / "page.html"
    page.write_text(report[1].replace("</head>", f"{probe}</head>"))
    said = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--window-size={width},900",
         f"--user-data-dir={tmp_path}/profile", "--dump-dom", page.as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    ).stdout  # fmt: skip
    found = re.search(r'data-measured="([^"]+)"', said)
    assert found
    measured = map(float, found.group(1).split())
    across, screen, number, narrowest, lowest, right, letters = measured
    assert number == report[1].count("<svg")
    assert across <= screen
    assert narrowest > 200
    assert lowest > 50
    assert right <= screen
    assert letters > 7
