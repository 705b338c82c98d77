"""What the project says of itself in several places is the same in each."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from autoreason.version import __version__

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_the_changelog_begins_with_the_version() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert re.findall(r"^## \[(.+?)\]", changes, re.MULTILINE)[0] == __version__


def test_every_supported_python_is_tested() -> None:
    version = re.compile(r"Programming Language :: Python :: (3\.\d+)")
    listed = [found[1] for each in PROJECT["classifiers"] if (found := version.fullmatch(each))]
    tested = (ROOT / ".github" / "workflows" / "test.yml").read_text("utf-8")
    assert PROJECT["requires-python"] == f">={listed[0]}"
    assert all(f'"{each}"' in tested for each in listed)
