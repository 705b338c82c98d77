"""Every try of a suite: what each arm delivered, the place that judges gave it, and the run that it is from."""

from __future__ import annotations

from tests.studies.lab.cells import a_cell, a_panel, a_suite
from tests.studies.lab.rivals import compared, comparing, story_of

from autoreason.journal import Journal
from autoreason.studies.lab_comparisons import ArmValues
from autoreason.studies.lab_suite import CellFinished
from autoreason.studies.lab_tries import find_tries, side_by_side


async def test_a_comparison_has_the_texts_and_places_of_every_try(journal: Journal) -> None:
    result, _ = await compared(journal, comparing("critique_revise", "single"))
    tries = result.to_dict()["report"]["tries"]
    assert [(each["task"], each["repeat"], each["ballots"]) for each in tries] == [
        ("brief", 1, 3),
        ("brief", 2, 3),
    ]
    for each in tries:
        assert each["panel"].startswith(f"{result.run}.")
        assert {text["arm"] for text in each["texts"]} == {"critique_revise", "single"}
        assert sorted(text["place"] for text in each["texts"]) in ([1, 2], [1, 1])
        for text in each["texts"]:
            own = story_of(journal, result, f"{text['arm']} {each['repeat']}")
            assert text["text"] == own.text
            assert text["run"].startswith(f"{result.run}.")
    assert result.report.tries[0].texts[0].run in result.to_html()


def tried(*cells: CellFinished) -> list[dict[str, object]]:
    suite = a_suite()
    (found,) = find_tries(suite, cells, ArmValues(suite, cells), {"1/arm/1": "A text."})
    return [{"arm": e.arm, "place": e.place, "left out": e.left_out} for e in found.texts]


def test_places_are_by_points_and_equal_points_share_one() -> None:
    arms = [a_cell(arm, "B") for arm in a_suite().arms]
    judged = a_panel("revised single contest", "single revised contest")
    places = {each["arm"]: each["place"] for each in tried(*arms, judged)}
    assert places == {"single": 1, "revised": 1, "contest": 3}
    assert {each["place"] for each in tried(*arms)} == {None}


def test_what_was_left_out_says_why_and_shows_no_place() -> None:
    suite = a_suite()
    cells = [a_cell("single", "B", finished=False, status="budget"), a_cell("revised", "B")]
    (found,) = find_tries(suite, cells, ArmValues(suite, cells), {})
    page = side_by_side([found], base="single").to_html()
    assert "left out: budget · r</p>" in page, "why, and the run"
    assert "no text" not in page, "where there is none at all"
