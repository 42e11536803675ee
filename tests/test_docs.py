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


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_tutorials_run(script, capsys):
    runpy.run_path(str(script))
    said = capsys.readouterr().out
    expected = {
        "anonymise_csv": "smallest class 3",
        "how_far_from_optimal": "proven bound",
        "reproduce_table": "7.12702 → 7.127",
    }
    assert expected[script.stem] in said


@pytest.mark.skipif(find_spec("material") is None, reason="needs mkdocs: pip install '.[docs]'")
def test_site_builds_without_warnings(tmp_path):
    environment = os.environ | {"KANOPY_DOCS_RUN": "0", "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    built = subprocess.run(
        [*command, "--site-dir", str(tmp_path / "site")],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    assert "WARNING" not in built.stderr
    pages = [path.read_text() for path in (tmp_path / "site").rglob("*.html")]
    assert len(pages) > 80
    loaded = r"""<(?:script|link|img)[^>]*(?:src|href)=["']?(?:https?:)?//"""
    assert not [page for page in pages if re.search(loaded, page)]  # works offline
