"""Every try of a suite: what each arm delivered, the place that judges gave it, and the run that it is from."""

from __future__ import annotations

from tests.studies.lab.cells import a_cell, a_panel, a_suite
from tests.studies.lab.rivals import compared, comparing, story_of

from autoreason.journal import Journal
from autoreason.studies.lab_comparisons import ArmValues
from autoreason.studies.lab_suite import CellFinished
from autoreason.studies.lab_tries import (
    TrajectoryTree,
    find_tries,
    side_by_side,
    trajectory_trees,
)


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


def test_places_are_by_points_shared_by_equals_and_none_for_what_was_left_out() -> None:
    arms = [a_cell(arm, "B") for arm in a_suite().arms]
    judged = a_panel("revised single contest", "single revised contest")
    places = {each["arm"]: each["place"] for each in tried(*arms, judged)}
    assert places == {"single": 1, "revised": 1, "contest": 3}
    assert {each["place"] for each in tried(*arms)} == {None}
    suite = a_suite()
    cells = [a_cell("single", "B", finished=False, status="budget"), a_cell("revised", "B")]
    (found,) = find_tries(suite, cells, ArmValues(suite, cells), {})
    page = side_by_side([found], base="single", name=str).to_html()
    assert "left out: budget · r</p>" in page, "why, and the run"
    assert "no text" not in page, "where there is none at all"


CELLS = [
    a_cell("contest", "B AB A A", 1, words_by_pass=(100, 120, 140, 140, 140)),
    a_cell("contest", "B AB B", 2, status="capped", words_by_pass=(100, 130, 150, 160)),
    a_cell("contest", "A A", 3),
    a_cell("contest", "A A", 1, task="short"),
    a_cell("revised", "B B", 1),
]


def trees() -> list[TrajectoryTree]:
    return list(trajectory_trees(a_suite(), CELLS))


def test_repeats_share_nodes_until_their_winners_differ_and_ends_are_known() -> None:
    assert [(each.task, each.arm) for each in trees()] == [
        ("free", "contest"),
        ("short", "contest"),
    ]
    nodes = {" ".join(node.way): node for node in trees()[0].nodes}
    assert list(nodes) == ["", "A", "A A", "B", "B AB", "B AB A", "B AB A A", "B AB B"]
    assert nodes[""].repeats == (1, 2, 3)
    assert nodes["B AB"].repeats == (1, 2)
    assert (nodes["B AB"].drift, nodes["B AB"].words) == (1.5, 145.0)
    assert (nodes["B AB B"].drift, nodes["B AB A A"].drift, nodes["A A"].drift) == (2.5, 1.5, 0)
    tree = trees()[0]
    ends = {" ".join(node.way): (node.ended, node.converged) for node in tree.nodes if node.ended}
    assert ends == {"A A": ((3,), (3,)), "B AB A A": ((1,), (1,)), "B AB B": ((2,), ())}
    assert list(ends) == ["A A", "B AB A A", "B AB B"]
