"""What the project says of itself in several places is the same in each."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from autoreason.version import __version__

ROOT = Path(__file__).parents[1]
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def read(path: Path) -> dict[Any, Any]:
    content = yaml.safe_load(path.read_text("utf-8"))
    assert isinstance(content, dict), path
    return content


def workflow(name: str, key: str | bool = "jobs") -> dict[str, Any]:
    """What a workflow does, or when; YAML 1.1 reads a bare `on` as true."""
    found: dict[str, Any] = read(GITHUB / "workflows" / name)[key]
    return found


def supported() -> list[str]:
    """The versions of Python that the package's description lists."""
    version = re.compile(r"Programming Language :: Python :: (3\.\d+)")
    return [found[1] for each in PROJECT["classifiers"] if (found := version.fullmatch(each))]


def test_every_supported_python_is_tested_on_linux_and_the_ends_on_a_mac() -> None:
    matrix = workflow("test.yml")["test"]["strategy"]["matrix"]
    assert matrix["system"] == ["ubuntu"]
    assert matrix["python"] == supported()
    mac = [each["python"] for each in matrix["include"] if each["system"] == "macos"]
    assert mac == [supported()[0], supported()[-1]]
    assert PROJECT["requires-python"] == f">={supported()[0]}"


def test_what_is_tested_elsewhere_is_what_is_tested_here() -> None:
    (step,) = [each["run"] for each in workflow("test.yml")["test"]["steps"] if "make" in str(each)]
    assert step.startswith("make test ")
    assert "workflow_call" in workflow("test.yml", True)


def test_only_a_tested_tag_that_is_the_version_is_published_and_without_a_password() -> None:
    assert workflow("publish.yml", True) == {"push": {"tags": ["v*"]}}
    test, build, publish = workflow("publish.yml").values()
    assert test["uses"] == "./.github/workflows/test.yml"
    assert (build["needs"], publish["needs"]) == ("test", "build")
    assert any("$TAG" in str(step.get("run")) for step in build["steps"])
    assert publish["permissions"] == {"id-token": "write"}
    assert not any("password" in str(step) for step in publish["steps"])


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_may_read_and_nothing_else_unless_a_job_says_so(path: Path) -> None:
    assert read(path)["permissions"] == {"contents": "read"}


def test_the_changelog_begins_with_the_version() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert re.findall(r"^## \[(.+?)\]", changes, re.MULTILINE)[0] == __version__
