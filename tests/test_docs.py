"""The documentation is true: every Python block of it runs, and the site builds without warnings.

Blocks of a page run one after the other in one namespace, in a folder of their own.
"""

import os
import re
import runpy
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from kanopy.solvers.registry import _METHODS, all_methods

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
SCRIPTS = sorted((ROOT / "docs" / "tutorials").glob("*.py"))
WITHOUT_CODE = {"newcomer.md"}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """A folder to write to; what a page registers is forgotten after it."""
    from kanopy.solvers.backends import choice
    from kanopy.solvers.costs import _ADDED, CLUSTER_COSTS

    monkeypatch.chdir(tmp_path)
    all_methods()
    kept = [(names, dict(names)) for names in (_METHODS, CLUSTER_COSTS, _ADDED, choice._ADDED)]
    yield
    for names, before in kept:
        names.clear()
        names.update(before)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_python_blocks_run(page):
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    assert blocks or page.name in WITHOUT_CODE
    names = {}
    for block in blocks:
        exec(compile(block, page.name, "exec"), names)


PRINTED = {
    "anonymise_csv": "smallest class 3",
    "how_far_from_optimal": "proven bound",
    "reproduce_table": "7.12702 → 7.127",
}
HAS_MKDOCS = find_spec("material") is not None


@pytest.mark.skipif(HAS_MKDOCS, reason="tutorials run where the site is built")
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_tutorials_run(script, capsys):
    runpy.run_path(str(script))
    assert PRINTED[script.stem] in capsys.readouterr().out


@pytest.mark.skipif(not HAS_MKDOCS, reason="needs mkdocs: pip install '.[docs]'")
def test_site_builds_without_warnings_and_runs_all_its_code(tmp_path):
    environment = os.environ | {"KANOPY_DOCS_RUN": "1", "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    site = tmp_path / "site"
    built = subprocess.run(
        [*command, "--site-dir", str(site)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    assert "WARNING" not in built.stderr
    pages = {path.relative_to(site): path.read_text() for path in site.rglob("*.html")}
    assert len(pages) > 80
    loaded = r"""<(?:script|link|img)[^>]*(?:src|href)=["']?(?:https?:)?//"""
    assert not [path for path, page in pages.items() if re.search(loaded, page)]  # works offline
    for script in SCRIPTS:
        assert PRINTED[script.stem] in pages[Path("tutorials") / f"{script.stem}.html"]
    for name, method in all_methods().items():
        if not (method.run.__module__ or "").startswith("kanopy."):
            continue  # registered by a test of the README
        slug = name.replace("*", "-star").replace("+", "-plus")
        assert f"{name}: " in pages[Path("methods") / f"{slug}.html"] or name == "auto", name
