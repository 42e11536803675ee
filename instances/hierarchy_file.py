"""Generalisation hierarchies in text files: a line for each value, from the value up to the root.

::

    dentist,medic,*
    surgeon,medic,*
    baker,craft,*

Cells are separated by commas or, if the first line has none, by semicolons, and quoted as in CSV
files; the text is UTF-8; blank lines and spaces after a separator do not count. Lines may have
different lengths, but all end in the same root, by custom ``*``, which stands for a suppressed
value. A node that is repeated side by side, as some tools do to fill levels, counts once. An empty
first cell is the missing value.
"""

from __future__ import annotations

import csv
import io
import os
from itertools import pairwise
from pathlib import Path

from kanopy.instances.errors import KanopyError
from kanopy.instances.files import write_whole
from kanopy.instances.hierarchy import Hierarchy


def read_hierarchy(path: str | os.PathLike[str]) -> Hierarchy:
    """Hierarchy from a file; errors name the line."""
    path = Path(path)
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise KanopyError(f"there is no file {str(path)!r}; check the path") from None
    except (OSError, ValueError) as error:
        raise KanopyError(f"cannot read {str(path)!r}; check the path") from error
    return parse_hierarchy(content, str(path))


def parse_hierarchy(content: bytes, label: str = "hierarchy") -> Hierarchy:
    r"""Hierarchy from the bytes of a file; ``label`` names it in errors.

    >>> tree = parse_hierarchy(b"dentist,medic,*\nsurgeon,medic,*\nbaker,craft,*\n")
    >>> tree.closest_common_ancestor(["dentist", "surgeon"]), tree.root
    ('medic', '*')
    """
    paths = _paths(content, label)
    parents: dict[str, tuple[str, int]] = {}
    root, first_line = "", 0
    for line, path in paths:
        if len(path) < 2:
            raise _error(label, line, "has a value alone; write value,…,root")
        if "" in path[1:]:
            raise _error(label, line, "has an empty cell after the value; fill or remove it")
        root, first_line = (root, first_line) if first_line else (path[-1], line)
        if path[-1] != root:
            raise _error(label, line, f"ends in another root than line {first_line}")
        if root in path[:-1]:
            raise _error(label, line, "has the root before its end")
        for node, parent in pairwise(path):
            known, where = parents.setdefault(node, (parent, line))
            if known != parent:
                raise _error(label, line, f"has a node with another parent than in line {where}")
    if not parents:
        raise KanopyError(f"{label!r} has no line; it needs one for each value")
    inner = dict(parents.values())
    for line, path in paths:
        if path[0] in inner:
            raise _error(
                label,
                line,
                f"starts with a node that has values below it, see line "
                f"{inner[path[0]]}; only values start a line",
            )
    return Hierarchy({node: parent for node, (parent, _) in parents.items()})


def write_hierarchy(tree: Hierarchy, path: str | os.PathLike[str]) -> None:
    """Write a hierarchy whole or not at all; :func:`read_hierarchy` reads it back."""
    write_whole(Path(path), format_hierarchy(tree).encode())


def format_hierarchy(tree: Hierarchy) -> str:
    r"""The text of a hierarchy's file.

    >>> format_hierarchy(Hierarchy({"dentist": "medic", "medic": "*"}))
    'dentist,medic,*\n'
    """
    nodes = [*tree.parents, tree.root]
    texts = {node: "" if node is None else str(node) for node in nodes}
    if len(set(texts.values())) < len(nodes):
        raise KanopyError("two nodes of the hierarchy have the same text; rename one")
    leaves = set(tree.leaves)
    if any(text == "" and node not in leaves for node, text in texts.items()):
        raise KanopyError("a node above others has no text; name it")
    # what the writer would leave bare and the reader would drop or refuse
    odd = any(text != text.strip() or "\r" in text for text in texts.values())
    out = io.StringIO(newline="")
    writer = csv.writer(
        out, lineterminator="\n", quoting=csv.QUOTE_ALL if odd else csv.QUOTE_MINIMAL
    )
    for leaf in tree.leaves:
        writer.writerow([texts[node] for node in tree.ancestors(leaf)])
    return out.getvalue()


def _paths(content: bytes, label: str) -> list[tuple[int, list[str]]]:
    """The cells of each line that is not blank, repeated neighbours merged, with its number."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _error(label, line, "is not UTF-8; save the file as UTF-8") from error
    paths = _split(text, ",", label)
    if paths and len(paths[0][1]) == 1 and ";" in paths[0][1][0]:
        paths = _split(text, ";", label)
    return [
        (line, [cell for i, cell in enumerate(cells) if i == 0 or cell != cells[i - 1]])
        for line, cells in paths
    ]


def _split(text: str, separator: str, label: str) -> list[tuple[int, list[str]]]:
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True, strict=True
    )
    try:
        return [(reader.line_num, cells) for cells in reader if cells]
    except csv.Error as error:
        raise _error(label, reader.line_num, f"is not readable: {error}") from error


def _error(label: str, line: int, what: str) -> KanopyError:
    return KanopyError(f"{label!r}: line {line} {what}")
