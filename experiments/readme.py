"""``make readme``: put the tables of methods and results and the demo's picture into the README."""

from __future__ import annotations

from pathlib import Path

from kanopy.catalogue import methods_markdown
from kanopy.cli.demo import demo
from kanopy.experiments.agreement import agreement_markdown
from kanopy.experiments.bench_branch_and_price import proofs_markdown
from kanopy.instances.files import write_whole

ROOT = Path(__file__).resolve().parents[1]


def proofs() -> str:
    """What was proven of whole tables and other single instances, and how fast."""
    return proofs_markdown(("instance", "objective", "bound", "gap %", "most s", "paper"), True)


TABLES = {"methods": methods_markdown, "results": agreement_markdown, "proofs": proofs}
"""What is generated between the marks of a name."""


def main() -> None:
    """Rewrite what is generated in the README and its picture."""
    readme = ROOT / "README.md"
    text = readme.read_text()
    for name, make in TABLES.items():
        block = f"<!-- {name} -->\n{make()}\n<!-- /{name} -->"
        before, _, rest = text.partition(f"<!-- {name} -->")
        text = before + block + rest.partition(f"<!-- /{name} -->")[2]
    write_whole(readme, text.encode())
    (ROOT / "docs").mkdir(exist_ok=True)
    demo(ROOT / "docs" / "demo.png")


if __name__ == "__main__":
    main()
