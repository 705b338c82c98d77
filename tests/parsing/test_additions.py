"""A text that was made by cutting says nothing that its sources do not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoreason.parsing.documents import find_additions

ONE = """\
# The ferry

The ferry leaves at nine, and it costs two pounds. Dogs
may come along. Bring a coat: it is cold on deck.

- tickets at the pier
- no cards
"""
OTHER = "Boats go twice a day.\n\nThe pier is **closed** on Sundays; call Ms. Dunn."


@pytest.mark.parametrize(
    "cut",
    [
        ONE,
        OTHER,
        "The ferry costs two pounds.",
        "The ferry leaves at nine, dogs may come along.",
        "Boats go twice a day. It is cold on deck.",
        "It is cold on deck.\n\nThe ferry leaves at nine!",
        "* NO CARDS\n* twice a day\n* Tickets",
        "The pier is closed; call Dunn.",
        "the ferry leaves\nat nine",
        "",
    ],
)
def test_words_may_be_left_out_and_sentences_moved(cut: str) -> None:
    assert find_additions(cut, ONE, OTHER) == ()


@pytest.mark.parametrize(
    ("text", "added"),
    [
        ("The ferry leaves at ten.", "The ferry leaves at ten."),
        ("The ferry leaves at nine. It is free.", "It is free."),
        ("At nine the ferry leaves.", "At nine the ferry leaves."),
        ("Boats leave at nine.", "Boats leave at nine."),
        ("Boats go twice a day, so call Ms. Dunn.", "Boats go twice a day, so call Ms."),
        ("Dogs may come. No cards, no dogs.", "No cards, no dogs."),
    ],
)
def test_a_word_that_is_not_there_in_this_order_is_an_addition(text: str, added: str) -> None:
    assert find_additions(text, ONE, OTHER) == (added,)


WORDS = st.lists(st.sampled_from(["tea", "two", "not", "pier", "nine"]), min_size=1, max_size=9)


@given(WORDS, WORDS)
def test_what_is_found_is_what_a_search_of_all_cuts_does_not_find(
    source: list[str], words: list[str]
) -> None:
    cuts: set[tuple[str, ...]] = {()}
    for word in source:
        cuts |= {(*cut, word) for cut in cuts}
    assert bool(find_additions(" ".join(words), " ".join(source))) == (tuple(words) not in cuts)
