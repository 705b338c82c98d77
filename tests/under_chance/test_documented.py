"""The page of evidence and this folder name each other."""

from __future__ import annotations

import ast
import re
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "evidence.md"


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
