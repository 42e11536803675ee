"""``make readme``: put the table of methods and the demo's picture into the README."""

from __future__ import annotations

import re
from pathlib import Path

from kanopy.catalogue import methods_markdown
from kanopy.cli.demo import demo
from kanopy.instances.files import write_whole

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Rewrite what is generated in the README and its picture."""
    readme = ROOT / "README.md"
    block = f"<!-- methods -->\n{methods_markdown()}\n<!-- /methods -->"
    pattern = re.compile("<!-- methods -->.*<!-- /methods -->", re.DOTALL)
    write_whole(readme, pattern.sub(lambda _: block, readme.read_text()).encode())
    (ROOT / "docs").mkdir(exist_ok=True)
    demo(ROOT / "docs" / "demo.png")


if __name__ == "__main__":
    main()
