"""The README is true: its tables are the registry's and the results', its Python runs."""

import re
from pathlib import Path

import pytest

from kanopy.experiments.readme import TABLES

README = Path(__file__).parents[1] / "README.md"


@pytest.mark.parametrize("name", TABLES)
def test_tables_are_generated(name):
    table = re.search(rf"<!-- {name} -->\n(.*?)\n<!-- /{name} -->", README.read_text(), re.DOTALL)
    assert table is not None
    assert table[1] == TABLES[name](), "run `make readme`"


def test_python_examples_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "README", "exec"), {})


def test_picture_is_there():
    for picture in re.findall(r"!\[.*?\]\((.*?)\)", README.read_text()):
        assert (README.parent / picture).exists()
