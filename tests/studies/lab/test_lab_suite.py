"""Cells: what is shared is one cell, and numbers do not depend on what came first."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace
from tests.studies.lab.test_suite_file import USUAL, read

from autoreason.studies.lab_suite import Suite, count_cells, groups


def suite(folder: Path, text: str = USUAL) -> Suite:
    return read(text, folder).suite


def names(found: Suite) -> list[list[str]]:
    return [[cell.part for cells in group for cell in cells] for group in groups(found)]


def test_arms_of_a_repeat_share_a_draft_and_a_panel_as_do_comparisons_of_the_same(
    tmp_path: Path,
) -> None:
    assert names(suite(tmp_path)) == [
        ["1/draft/1", "1/single/1", "1/revised/1", "1/panel/1"],
        ["1/draft/2", "1/single/2", "1/revised/2", "1/panel/2"],
    ]
    text = USUAL + "  - {name: again, question: Once more, arms: [single, revised]}\n"
    assert names(suite(tmp_path, text)) == names(suite(tmp_path))


def test_a_draft_depends_on_its_author_alone_and_an_arm_may_write_its_own(tmp_path: Path) -> None:
    text = USUAL.replace("strategy: single", "passes: 2")
    other = text.replace("passes: 2", "passes: 5, critic_model: echo/b")
    assert names(suite(tmp_path, other)) == names(suite(tmp_path, text))
    author = USUAL.replace("strategy: single", "strategy: single, author_model: echo/b")
    assert names(suite(tmp_path, author))[0][:2] == ["1/draft-1/1", "1/draft-2/1"]
    text = USUAL.replace("strategy: single", "strategy: single, draft: own")
    (group, _) = groups(suite(tmp_path, text))
    assert group.draft_of("single") is None
    assert group.draft_of("revised") == group.drafts[0]


def test_cells_are_numbered_in_order_and_added_repeats_come_last(tmp_path: Path) -> None:
    before = suite(tmp_path)
    numbers = [cell.number for group in groups(before) for cells in group for cell in cells]
    assert numbers == list(range(1, count_cells(before) + 1))
    more = replace(before, added={"revising": 2})
    assert names(more)[:2] == names(before)
    assert len(names(more)) == 4
