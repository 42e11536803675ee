"""From our docstrings, a little reStructuredText with numpy's headings, to Markdown."""

from __future__ import annotations

import inspect
import re

HEADINGS = ("Parameters", "Attributes", "Returns", "Raises", "Examples", "Notes")


def markdown(docstring: str | None) -> str:
    """Markdown of a docstring: literal blocks, tables and examples fenced, roles as code."""
    lines = inspect.cleandoc(docstring or "").split("\n")
    out: list[str] = []
    entries = False
    i = 0
    while i < len(lines):
        line = lines[i]
        following = lines[i + 1] if i + 1 < len(lines) else ""
        if line in HEADINGS and set(following) == {"-"}:
            out += ["", f"**{line}**", ""]
            entries = line in ("Parameters", "Attributes", "Raises")
            i += 2
        elif line.startswith(">>>"):
            i = _fenced(lines, i, out, "pycon", lambda text: text != "")
        elif re.match(r"^=+ =", line):
            i = _fenced(lines, i, out, "text", lambda text: text != "")
        elif line.rstrip().endswith("::"):
            out += [inline(line.rstrip()[:-1]), ""]
            while i + 1 < len(lines) and not lines[i + 1]:
                i += 1
            indented = lambda text: not text or text.startswith(" ")  # noqa: E731
            i = _fenced(lines, i + 1, out, "text", indented)
        elif entries and line and not line.startswith(" "):
            names = ", ".join(f"`{name.strip()}`" for name in line.split(","))
            out += ["", names]
            body = []
            while i + 1 < len(lines) and (not lines[i + 1] or lines[i + 1].startswith("    ")):
                i += 1
                body.append(lines[i].strip())
            out += [f":   {inline(' '.join(body).strip())}", ""]
            i += 1
        else:
            out.append(inline(line))
            i += 1
    return "\n".join(out)


def _fenced(lines: list[str], i: int, out: list[str], language: str, inside) -> int:  # type: ignore[no-untyped-def]
    block = []
    while i < len(lines) and inside(lines[i]):
        block.append(lines[i])
        i += 1
    text = inspect.cleandoc("\n" + "\n".join(block)) if language == "text" else "\n".join(block)
    out += ["", f"```{language}", text.rstrip(), "```", ""]
    return i


def inline(text: str) -> str:
    """One line: code and roles in backticks, everything else safe from Markdown."""
    parts = re.split(r"(:\w+:`[^`]*`|``[^`]*``|`[^`]*`)", text)
    return "".join(_code(part) if k % 2 else _plain(part) for k, part in enumerate(parts))


def _code(part: str) -> str:
    name = re.sub(r"^:\w+:", "", part).strip("`").lstrip("~")
    return f"`{name}`"


def _plain(part: str) -> str:
    part = part.replace("<", "&lt;").replace("\\|", "|").replace("|", "\\|").replace("[", "\\[")
    pieces = re.split(r"((?<!\w)\*{1,2}[^\s*][^*]*\*{1,2}(?!\w))", part)
    return "".join(p if k % 2 else p.replace("*", "\\*") for k, p in enumerate(pieces))
