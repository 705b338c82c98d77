"""What the project says of itself in several places is the same in each."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from tools.readme import with_addresses

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


def test_the_demo_keeps_to_journals_of_its_own() -> None:
    target = (ROOT / "Makefile").read_text("utf-8").partition("\ndemo:")[2].partition("\n\n")[0]
    commands = re.findall(r"autoreason (?:run|view) .*", target)
    assert len(commands) == 3
    assert all(" --journal build/" in each for each in commands)


def test_the_readme_leads_from_a_package_index_to_the_repository() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    there = with_addresses(text, "https://host/ada/autoreason", "v1.0.0")
    assert "(https://host/ada/autoreason/blob/v1.0.0/docs/writing.md#limits)" in there
    assert "(https://host/ada/autoreason/raw/v1.0.0/docs/run-light.png)" in there
    links = re.findall(r"\]\((.*?)\)", there)
    assert links
    assert [each for each in links if not each.startswith("https://")] == []
    # Where nobody knows the repository, no link leads nowhere.
    assert "](" not in with_addresses(text, "", "v1.0.0")


def test_the_readme_is_read_in_a_minute() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 80
