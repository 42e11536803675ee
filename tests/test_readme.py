"""The README is true: its table of methods is the registry, its Python runs."""

import re
from pathlib import Path

from kanopy.catalogue import methods_markdown

README = Path(__file__).parents[1] / "README.md"


def test_table_of_methods_is_generated():
    text = README.read_text()
    table = re.search(r"<!-- methods -->\n(.*?)\n<!-- /methods -->", text, re.DOTALL)
    assert table is not None
    assert table[1] == methods_markdown(), "run `make readme`"


def test_python_examples_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "README", "exec"), {})


def test_picture_is_there():
    for picture in re.findall(r"!\[.*?\]\((.*?)\)", README.read_text()):
        assert (README.parent / picture).exists()
