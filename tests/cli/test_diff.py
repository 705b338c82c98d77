"""Word-level differences read like edits."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from autoreason.cli.transcript import compare

TEXTS = st.text(alphabet="ab \n.", max_size=40)


def test_words_that_change_are_shown_whole_and_neighbours_as_one() -> None:
    assert compare("We should build old words.", "We will build new things.") == [
        ("same", "We "),
        ("gone", "should "),
        ("new", "will "),
        ("same", "build "),
        ("gone", "old words."),
        ("new", "new things."),
    ]


@given(TEXTS, TEXTS)
def test_both_texts_can_be_read_back(before: str, after: str) -> None:
    found = compare(before, after)
    assert "".join(text for kind, text in found if kind != "new") == before
    assert "".join(text for kind, text in found if kind != "gone") == after
