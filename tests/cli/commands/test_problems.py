"""`problems`: sets shown and converted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.inside import Inside
from tests.programs.problems.made_up import contest, own

SECRET = "314159"


@pytest.fixture
def source(inside: Inside) -> str:
    hidden = own(difficulty="easy", private_tests=[[SECRET, SECRET]], solution=SECRET)
    return inside.write("set.jsonl", "\n".join([json.dumps(hidden), "{", json.dumps(contest())]))


def test_a_set_is_shown_by_kind_and_difficulty(inside: Inside, source: str) -> None:
    done = inside("problems", "show", source)
    assert done.status == 0
    assert done.out.startswith("2 problems (CodeContests, autoreason), digest ")
    assert [line.split()[:3] for line in done.out.splitlines()[3:5]] == [
        ["stdio", "easy", "1"],
        ["stdio", "B", "1"],
    ]
    assert "Left out   line 2: this is not valid JSON; correct it" in done.out


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_one_problem_is_shown_without_what_nobody_may_see(
    inside: Inside, source: str, options: tuple[str, ...]
) -> None:
    done = inside("problems", "show", source, "--problem", "double", *options)
    assert done.status == 0
    assert "Print twice the number" in done.out
    assert SECRET not in done.out
    assert ("1 private" in done.out) != bool(options)
    assert not options or done.json["private"] == 1


def test_converting_writes_our_own_format(inside: Inside, source: str) -> None:
    done = inside("problems", "convert", source)
    assert (done.status, len(done.out.splitlines())) == (0, 2)
    assert json.loads(done.out.splitlines()[1])["id"] == "12_B. Twice the Tide"
    assert done.err.splitlines() == [
        "2 problems (CodeContests, autoreason)",
        "left out: line 2: this is not valid JSON; correct it",
    ]
    shown = inside("problems", "convert", source, "--to", "new.jsonl", "--json")
    assert (inside.folder / "new.jsonl").read_text("utf-8") == done.out
    assert "written to new.jsonl" in shown.err
    again = inside("problems", "show", "new.jsonl", "--json").json
    assert (again["digest"], again["format"]) == (shown.json["digest"], "autoreason")
    assert again["broken"] == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("show", "nowhere.jsonl"),
            "cannot read nowhere.jsonl: No such file or directory; name a file",
        ),
        (("show", "set.jsonl", "--problem", "triple"), "no problem 'triple'"),
        (("convert", "set.jsonl", "--json"), "name it with --to"),
        (("convert", "set.jsonl", "--to", "no/such/file"), "choose another --to"),
    ],
)
def test_a_mistake_is_one_clear_sentence(
    inside: Inside, source: str, arguments: tuple[str, ...], said: str
) -> None:
    assert source == "set.jsonl"
    done = inside("problems", *arguments)
    assert done.status == 2
    assert said in done.sentence


def test_a_set_is_never_written_over_itself(inside: Inside, source: str) -> None:
    before = Path(source).read_bytes()
    done = inside("problems", "convert", source, "--to", source)
    assert done.status == 2
    assert "itself" in done.err
    assert Path(source).read_bytes() == before
