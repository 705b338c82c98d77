"""The report as files: a page, the numbers, a line a part, a picture and the programs."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.programs.solved import WRONG, Verdicts, assignments, set_of, solved

from autoreason.characters import without_controls
from autoreason.errors import InvalidInput
from autoreason.programs.assignment import Assignment
from autoreason.programs.report_files import files, write
from autoreason.programs.solve_report import solve_report

TOLD = [
    *set_of({"single": [True, False, False], "tournament": [True, True, False]}),
    solved("p4", "single", difficulty="hard", private=WRONG),
    solved("p4", difficulty="hard", private=Verdicts.SANDBOX_ERROR),
]
ABOUT = {"Model": "echo/echo", "Seed": "7"}


def made() -> dict[str, str]:
    """The files of a small set."""
    problems = assignments(4)
    return files(solve_report(TOLD, problems), TOLD, problems, ABOUT)


def test_the_page_says_everything_that_the_screen_says() -> None:
    page = made()["report.md"]
    assert page.startswith("# Programs\n\n**No winner beyond chance: ")
    assert "- Model: echo/echo\n- Seed: 7" in page
    for heading in ("Pass rates", "By difficulty", "Paired tests", "What it took", "Verdicts"):
        assert f"## {heading}" in page
    assert "1 part: sandbox error (4/tournament/1)" in page
    assert re.search(r"\| hard +\| single +\| +1 \|", page)


def test_every_row_of_a_table_has_as_many_cells_as_its_head() -> None:
    for table in made()["report.md"].split("\n\n"):
        lines = table.splitlines()
        if lines[0].startswith("|"):
            assert len({line.count("|") for line in lines}) == 1


def test_the_numbers_are_there_for_programs() -> None:
    found = json.loads(made()["report.json"])
    assert found["conclusion"].startswith("no winner beyond chance")
    assert [each["strategy"] for each in found["report"]["scores"]] == ["single", "tournament"]
    assert found["report"]["scores"][0]["spent"]["unpriced"] == 24


def test_units_are_a_line_a_part_and_what_is_unknown_is_empty() -> None:
    rows = list(csv.DictReader(made()["units.csv"].splitlines()))
    assert len(rows) == len(TOLD)
    last = rows[-1]
    assert (last["problem"], last["strategy"], last["private"]) == ("p4", "tournament", "")
    assert last["missing"] == "sandbox error"
    assert {row["cost"] for row in rows} == {""}
    assert {row["level"] for row in rows} == {"bubblewrap"}


def test_the_picture_shows_every_rate_that_is_known() -> None:
    root = ElementTree.fromstring(made()["rates.svg"])
    titles = [each.text for each in root.iter("{http://www.w3.org/2000/svg}title")]
    assert "tournament, easy: 67 % (9 to 99)" in titles
    assert not any(text and text.startswith("tournament, hard") for text in titles)


@given(st.text(), st.text(), st.text())
@example("hard\x1b[31m", "a\x1b]0;b\x07\u009b", "line 2: \x1b[2J")
@example("hard\r\n| x |\n", "a\n\n# b", "line 2: a\nb")
@example("\ufffe", "\uffff", "\x00")
@example("<img src=x onerror=alert(1)>", "a\u202eb</td>&lt;", "line 2: <!-- \u2067")
def test_no_text_of_a_problem_can_break_a_file(tier: str, name: str, broken: str) -> None:
    results = [
        solved("p1", difficulty="easy"),
        solved("p2", difficulty=tier, private=Verdicts.SANDBOX_ERROR, reason=name, detail=name),
    ]
    problems = (
        *assignments(1),
        Assignment(id=name, statement=name, difficulty=tier, remark=broken),
    )
    found = files(solve_report(results, problems, broken=[broken]), results, problems, ABOUT)
    for path in ("report.md", "units.csv", "rates.svg"):
        assert without_controls(found[path]) == found[path]
    assert "<" not in found["report.md"]
    ElementTree.fromstring(found["rates.svg"])
    json.loads(found["report.json"])
    usual = {line[:2] for line in made()["report.md"].splitlines()}
    assert {line[:2] for line in found["report.md"].splitlines()} <= usual
    assert len(list(csv.reader(io.StringIO(found["units.csv"])))) == 3


def test_programs_lie_by_problem_whatever_its_name(tmp_path: Path) -> None:
    odd = [solved("p1"), solved("p../../x"), solved("p1", "single", program=None, public=None)]
    write(tmp_path, files(solve_report(odd, []), odd, [], {}))
    found = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.py"))
    assert found == ["programs/1_p1/tournament-1.py", "programs/_p.._.._x/tournament-1.py"]


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InvalidInput, match="name another folder for the report"):
        write(tmp_path / "file", {"report.md": "text"})
