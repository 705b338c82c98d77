"""The page of evidence and this folder name each other."""

from __future__ import annotations

import ast
import re
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "evidence.md"
SOURCES = [HERE.parents[1] / name for name in ("src", "paper", "benchmarks")]


def named() -> set[str]:
    """Tests that the page names, as `test_panels.py::test_a_text_seldom_wins`."""
    return set(re.findall(r"`(test_\w+\.py::test_\w+)`", PAGE.read_text("utf-8")))


def there() -> set[str]:
    """Tests in this folder."""
    return {
        f"{file.name}::{node.name}"
        for file in HERE.glob("test_*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
    }


def test_every_test_that_the_page_names_is_there() -> None:
    assert named() - there() == set()


def test_the_page_names_every_test() -> None:
    assert there() - named() == set()


def sentences() -> str:
    """The source with strings joined; of a value in a sentence, the last wording it may have."""
    code = "\n".join(file.read_text("utf-8") for folder in SOURCES for file in folder.rglob("*.py"))
    joined = re.sub(r'"\s*\n\s*f?"', "", code)
    return re.sub(r"\{(?:[^{}]*'([^{}']*)')?[^{}]*\}", r"\1", joined)


def test_every_statement_that_the_page_quotes_is_in_the_source() -> None:
    source = sentences()
    quoted = re.findall(r'"([^"]+)"', " ".join(PAGE.read_text("utf-8").split()))
    # Capitals, an ellipsis and a fraction stand for values.
    parts = [
        part.strip(" ,()=") for each in quoted for part in re.split(r"…|\b[A-Z]\b(?: %)?|1 /", each)
    ]
    assert len(parts) > 20
    assert [part for part in parts if part not in source] == []
