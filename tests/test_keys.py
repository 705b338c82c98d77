"""Keys and names of parts: read back as they are written, and read in one place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoreason.keys import (
    CellName,
    Key,
    attempt_stage,
    first_attempt,
    judge_key,
    order_by_number,
    pass_key,
    sub_key,
    try_key,
)

SOURCE = Path(__file__).parents[1] / "src" / "autoreason"

words = st.sampled_from(["draft", "pass", "judge", "panel", "attempt", "try", "examined", "naïve"])
numbers = st.integers(0, 20).map(str)
local = st.tuples(words, st.lists(words | numbers, max_size=6)).map(lambda it: (it[0], *it[1]))
counts = st.integers(1, 10**6)
names = st.sampled_from(["search", "single", "panel", "draft", "twice.py:Twice", "7"])
parts = st.builds(CellName, names, counts, counts)


@given(local, st.none() | parts)
def test_a_key_and_the_name_of_a_part_are_read_as_they_are_written(
    steps: tuple[str, ...], part: CellName | None
) -> None:
    key = Key(steps, part)
    assert Key.parse(str(key)) == key
    assert part is None or CellName.parse(str(part)) == part


@given(st.text(alphabet="/0127abp", max_size=12) | st.text(max_size=12))
def test_any_text_is_a_key_and_stays_as_it_is(text: str) -> None:
    assert str(Key.parse(text)) == text


@pytest.mark.parametrize(
    ("text", "part", "steps"),
    [
        ("pass/3/judge/2/try/0", None, ("pass", "3", "judge", "2", "try", "0")),
        ("17/search/1/attempt/2/examined", CellName("search", 1, 17), ("attempt", "2", "examined")),
        ("2/harsh/0", None, ("2", "harsh", "0")),
        ("017/search/1", None, ("017", "search", "1")),
    ],
)
def test_a_key_says_which_part_it_belongs_to(
    text: str, part: CellName | None, steps: tuple[str, ...]
) -> None:
    key = Key.parse(text)
    assert key.part == part
    assert key.steps == steps


@pytest.mark.parametrize("text", ["", "draft", "2/harsh", "2//1", "17/search/1/draft", "a/b/c"])
def test_what_is_no_name_of_a_part_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not the name of a cell"):
        CellName.parse(text)


def test_keys_are_built_from_their_steps_sorted_by_number_and_found_by_them() -> None:
    assert try_key(pass_key(3, "critic", 0), 1) == "pass/3/critic/0/try/1"
    assert sub_key(pass_key(3, "reviser"), "repair") == "pass/3/reviser/repair"
    assert judge_key(pass_key(1), 2) == "pass/1/judge/2"
    assert judge_key(pass_key(1), 2, 1) == "pass/1/judge/2/fresh/1"
    keys = ["10/single/1", "9/single/1"]
    assert sorted(keys, key=order_by_number) == keys[::-1]
    key = Key.parse("2/harsh/1/pass/3/judge/2/fresh/1/try/0")
    assert (key.head, key.number("pass"), key.number("judge")) == ("pass", 3, 2)
    assert key.number("harsh") is None, "a cell's numbers are its own"
    assert Key.parse("pass/budget").number("pass") is None
    assert str(key.before("judge")) == "2/harsh/1/pass/3"
    assert key.before("critic") == key
    assert Key.parse("17/search/1/pass/2/reviser/try/0").group == "17/search/1"
    assert Key.parse("panel/judge/2/try/0").group == "panel/judge/2"


@given(st.sampled_from(["panel", "review", "again/pass/3"]), st.integers(0, 99))
def test_a_panel_that_is_run_again_has_a_stage_of_its_own(stage: str, attempt: int) -> None:
    assert first_attempt(attempt_stage(stage, attempt)) == stage
    assert (attempt_stage(stage, attempt) == stage) == (attempt == 0)


def test_no_other_module_spells_a_key() -> None:
    spelt = re.compile(r'f"pass/|/try/[0-9{]|/judge/\{|f"\{(?:key|stage|part)\}/(?!labels|order)')
    assert [
        str(path)
        for path in SOURCE.rglob("*.py")
        if path.name != "keys.py" and spelt.search(_code(path.read_text("utf-8")))
    ] == []


def _code(source: str) -> str:
    """A module without its docstrings and comments."""
    return re.sub(r'"""(?s:.*?)"""|#.*', "", source)
