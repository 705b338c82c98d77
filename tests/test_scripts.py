"""Scripts and styles of pages are formatted, and the types that scripts are annotated with hold."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from tools.machine import NODE_MODULES

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted(ROOT.glob("src/**/*.js"))
MODULES = [each for each in SCRIPTS if each.parent.name == "rating_page"]
OF_PAGES = [each for each in SCRIPTS if each.parent.name == "assets"]
STYLES = sorted(ROOT.glob("src/**/assets/*.css"))
CHECKED = ("--noEmit", "--checkJs", "--target", "es2023", "--lib", "es2023,dom,dom.iterable")


def run_tool(name: str, *arguments: str | Path) -> str:
    """What a tool complains of; nothing where all is well."""
    program = NODE_MODULES / ".bin" / name
    if not (program.exists() and shutil.which("node")):
        pytest.skip(f"needs {name}: install npm, then `make machine`")
    ended = subprocess.run(
        [program, *arguments], capture_output=True, text=True, check=False, cwd=ROOT
    )
    return (ended.stdout + ended.stderr).strip() if ended.returncode else ""


def test_scripts_and_styles_are_formatted_to_100_columns() -> None:
    options = ("--no-config", "--print-width", "100", "--tab-width", "2", "--list-different")
    assert run_tool("prettier", "--no-editorconfig", *options, *SCRIPTS, *STYLES) == ""


@pytest.mark.parametrize("script", OF_PAGES, ids=lambda each: each.name)
def test_annotated_types_hold(script: Path) -> None:
    base = ROOT / "src/autoreason/report/assets/base.js"
    assert run_tool("tsc", *CHECKED, "--strict", *{base, script}) == ""


def test_types_of_the_rating_page_hold_as_far_as_it_has_them() -> None:
    assert run_tool("tsc", *CHECKED, "--strict", "false", *MODULES) == ""
