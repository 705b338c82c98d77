"""Criteria and grades on the command line: shown before a run, with each round, on the page, and in `--json`."""

from __future__ import annotations

from tests.cli.inside import Inside
from tests.pages.plays import unpack

BRIEF = "---\ncriteria: accurate\n---\nExplain tides.\n"
RUN = [
    "-m",
    "echo/echo",
    "--seed",
    "3",
    "--set",
    "judges=3",
    "--set",
    "review_every=0",
    "--rounds",
    "2",
]


def test_criteria_and_grades_are_shown_wherever_a_run_is(inside: Inside) -> None:
    inside.write("brief.md", BRIEF)
    said = inside("run", "brief.md", *RUN, "--set", "ballot=graded", "--json")
    assert said.status == 0
    assert said.json["criteria"] == ["accurate"]
    more = ("--criterion", "kind: warm words", "--criterion", "short")
    said = inside("run", "brief.md", *RUN, *more)
    assert "Criteria   accurate · kind: warm words · short" in said.err
    faults = "".join(inside("show", "last", "--round", str(number)).out for number in (1, 2))
    assert "[kind]" in faults or "[short]" in faults
    evidence = inside("show", "@2", "--evidence").out
    assert "criteria     accurate" in evidence
    assert "(grades: " in evidence
    inside("show", "last", "--html", "run.html")
    page = (inside.folder / "run.html").read_text()
    assert "Criteria: accurate · kind: warm words · short" in page
    faults = str(unpack(page))
    assert "[kind]" in faults or "[short]" in faults
    inside("export", "last", "out")
    written = (inside.folder / "out" / "criteria.md").read_text()
    assert written == "- accurate\n- kind: warm words\n- short\n"


def test_texts_are_judged_by_criteria_and_a_run_by_its_own(inside: Inside) -> None:
    brief = inside.write("brief.md", BRIEF)
    texts = [inside.write(name, f"{name} is high.") for name in ("a.md", "b.md")]
    asked = ("-m", "echo/echo", "--judges", "3", "--dry-run", "--json")
    for given, criteria in (((), ["accurate"]), (("--criterion", "short"), ["accurate", "short"])):
        said = inside("judge", brief, *texts, *asked, *given).json
        assert said["task"]["criteria"] == criteria
        assert "- " + criteria[0] in said["request"]["messages"][1]["text"]
    refused = inside("judge", "last", *asked, "--criterion", "short").sentence
    assert refused.startswith("`criteria` is for texts, and last is not a file")


def test_a_prompt_without_a_place_for_criteria_is_refused_before_anything_is_asked(
    inside: Inside,
) -> None:
    (inside.folder / "own").mkdir()
    inside.write("own/task.md", "{{ brief }} {{ facts }} {{ rules }}")
    inside.write("brief.md", BRIEF)
    refused = inside("run", "brief.md", *RUN, "--prompts", "own").sentence
    assert refused.startswith("there are no `criteria` in the prompt `task`")
    assert not inside.journal_exists
