"""Print how large the house is beside what docs/architecture.md allows."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
ROW = re.compile(r"^\| `?([^|`]+?)`? \| ([\d,]+) \|", re.MULTILINE)


class Size(NamedTuple):
    """One row: what is counted, how much there is, and how much there may be."""

    name: str
    now: int
    limit: int


def count_lines(*patterns: str) -> int:
    """The lines of all files that match."""
    return sum(
        len(path.read_text().splitlines()) for pattern in patterns for path in ROOT.glob(pattern)
    )


def measure() -> list[Size]:
    """Every row of the table of sizes, counted."""
    _, _, section = (ROOT / "docs/architecture.md").read_text().partition("\n## Sizes\n")
    limits = {name: int(limit.replace(",", "")) for name, limit in ROW.findall(section)}
    now = {
        "source lines": count_lines("src/**/*.py"),
        "source files": len(list(ROOT.glob("src/**/*.py"))),
        "test lines": count_lines("tests/**/*.py"),
        "words of docs and README": sum(
            len(path.read_text().split())
            for path in (ROOT / "README.md", *ROOT.glob("docs/**/*.md"))
        ),
        "lines of paper": count_lines("paper/**/*.py"),
        "lines of scripts, styles and templates": count_lines(
            *(f"src/**/*.{kind}" for kind in ("js", "css", "html"))
        ),
    }
    rooms = {name: count_lines(f"src/autoreason/{name}/**/*.py") for name in limits.keys() - now}
    rooms |= {"nouns": count_lines("src/autoreason/*.py")} if "nouns" in limits else {}
    return [Size(name, (now | rooms)[name], limit) for name, limit in limits.items()]


if __name__ == "__main__":
    for size in measure():
        over = "  over" if size.now > size.limit else ""
        sys.stdout.write(f"{size.name:40}{size.now:8,} of {size.limit:7,}{over}\n")
