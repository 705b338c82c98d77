"""Every field that a command prints with `--json` is on its page, and counts are whole numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import BRIEF, FAST
from tests.cli.inside import Inside

from autoreason.cli.__main__ import OTHERS, SECTIONS

PAGE = Path(__file__).parents[2].joinpath("docs", "json.md").read_text("utf-8")
KINDS = ("Every run", "Numbers")
"""Sections with what objects of several commands have."""
BY_NAME = {
    *("wins", "scores", "violations", "words_before_cut", "quality", "claimed", "best", "panels"),
    *("origin", "quotes", "spent_by_role"),
}
"""Fields whose values are numbers by the name of a text or a world."""
ELSEWHERE = {"settings", "task", "schema", "passes", "draft", "drafts", "delivered"}
ELSEWHERE |= {"reviews", "confirmation", "worlds", "evidence"}
"""Fields that contain what other pages or classes describe, or a test of its own."""
JUDGES = ("-m", "echo/echo", "--judges", "3", "--seed", "1", "-q")
PROBLEM = {
    "id": "double",
    "statement": "Read a number and print twice that number.",
    "public_tests": [["2", "4"]],
    "private_tests": [["3", "6"]],
    "solution": "print(2 * int(input()))",
}
ALSO = {"`compare`": ["`judge`", "`lab`"]}
"""Sections that others refer to."""
COMMANDS = {
    "--dry-run": [
        "run {brief} {fast} --dry-run --json",
        "judge {brief} a.md b.md -m echo/echo --dry-run --json",
    ],
    "`run`, `resume`, `fork` and `show`": ["show --json", "run {brief} {fast} -q --json"],
    "`judge`": [
        "judge {brief} a.md b.md {judges} --json",
        "judge {brief} a.md b.md {judges} --pairwise --json",
    ],
    "`compare`": [
        "compare {brief} --strategies improve,single --repeats 2 --rounds 1 --seed 1 -m echo/echo --panel 2 -q --json"
    ],
    "`judge` of a run": ["judge last {judges} --json"],
    "`certify`": ["certify echo/echo -q --json", "models --certificates --json"],
    "`audit`": ["audit --json"],
    "`problems`": [
        "problems show problem.json --json",
        "problems show problem.json --problem double --json",
        "problems convert problem.json --to converted.jsonl --json",
    ],
    "`export --pairs`": ["export --pairs pairs.jsonl --json"],
    "`simulate`": ["simulate --runs 2 --world help --json -q"],
    "`runs`": [
        *("runs --json", "runs delete last --dry-run --json", "runs check last --json"),
        *("runs check --json", "runs backup copy.db --json", "runs compact --json"),
    ],
    "`models`, `prompts` and `doctor`": [
        *("models --json", "models check echo/echo --json"),
        *("prompts judge --json", "doctor --json"),
    ],
}


def fields(value: Any) -> Iterator[str]:
    for each in value if isinstance(value, list) else []:
        yield from fields(each)
    for name, each in value.items() if isinstance(value, dict) else []:
        yield name
        if name not in BY_NAME | ELSEWHERE:
            yield from fields(each)


def documented(*sections: str) -> set[str]:
    found = set()
    for section in sections:
        (text,) = re.findall(rf"^## {re.escape(section)}\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S)
        found |= set(re.findall(r"`(\w+)`", text))
    return found


@pytest.fixture
def prepared(inside: Inside) -> Inside:
    inside.write("a.md", "The sea rises and falls.")
    inside.write("b.md", "The moon pulls the water.")
    inside.write("problem.json", json.dumps(PROBLEM))
    assert inside("run", BRIEF, *FAST, "-q").status == 0
    return inside


@pytest.mark.parametrize("section", COMMANDS)
def test_every_field_is_on_the_page(prepared: Inside, section: str) -> None:
    heading = f"`{section}`" if section.startswith("--") else section
    known = documented(*KINDS, heading, *ALSO.get(section, ()))
    for command in COMMANDS[section]:
        parts = [
            word
            for part in command.split()
            for word in {"{brief}": [BRIEF], "{fast}": FAST, "{judges}": JUDGES}.get(part, [part])
        ]
        printed = prepared(*parts)
        assert printed.out, printed.err
        assert set(fields(printed.json)) - known == set(), command


def test_points_and_first_places_are_whole_where_no_place_is_shared(prepared: Inside) -> None:
    judged = prepared("judge", BRIEF, "a.md", "b.md", *JUDGES, "--json")
    for standing in judged.json["report"]["standings"]:
        assert isinstance(standing["points"], int)
        assert isinstance(standing["first_places"], int)


def test_every_command_that_prints_json_is_on_the_page() -> None:
    headings = " ".join(re.findall(r"^## (.*)$", PAGE, re.M))
    listed = (*SECTIONS.values(), OTHERS)
    names = [name for section in listed for name in section if name not in ("mcp", "tell", "view")]
    assert [name for name in names if f"`{name}" not in headings] == []
