"""Word-level differences read like edits."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from autoreason.cli.views.diff import DiffPart, compare

TEXTS = st.text(alphabet="ab \n.", max_size=40)


def test_words_that_change_are_shown_whole() -> None:
    assert compare("We should build a library.", "We will build one library.") == [
        DiffPart("same", "We "),
        DiffPart("gone", "should"),
        DiffPart("new", "will"),
        DiffPart("same", " build "),
        DiffPart("gone", "a"),
        DiffPart("new", "one"),
        DiffPart("same", " library."),
    ]


def test_neighbouring_changes_are_one() -> None:
    assert compare("x old words y", "x new things y")[1:3] == [
        DiffPart("gone", "old words"),
        DiffPart("new", "new things"),
    ]


@given(TEXTS, TEXTS)
def test_both_texts_can_be_read_back(before: str, after: str) -> None:
    found = compare(before, after)
    assert "".join(text for kind, text in found if kind != "new") == before
    assert "".join(text for kind, text in found if kind != "gone") == after
