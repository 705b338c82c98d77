"""Words in any script."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoreason.knowledge.words import is_too_similar, plain_text, similarity, split_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don't MISS 3 things!", ["don", "t", "miss", "3", "things"]),
        ("Última hora: promoção", ["ultima", "hora", "promocao"]),
        ("Straße", ["strasse"]),
        ("عرضٌ خاصّ", ["عرض", "خاص"]),
        ("限时优惠", ["限时", "时优", "优惠", "惠"]),
        ("茶", ["茶"]),
        ("한국어", ["한국", "국어", "어"]),
        ("हिन्दी में", ["हिनदी", "में"]),
        ("snake_case", ["snake", "case"]),
        ("…", []),
    ],
)
def test_case_and_diacritics_do_not_matter_and_scripts_without_spaces_are_pairs_of_signs(
    text: str, words: list[str]
) -> None:
    assert split_words(text) == words


@given(st.text())
def test_words_of_words_are_the_same_words_in_scripts_with_spaces(text: str) -> None:
    words = split_words(text.encode("ascii", "ignore").decode())
    assert split_words(" ".join(words)) == words


@given(st.text(min_size=1), st.text())
def test_similarity_is_a_share_and_the_same_both_ways(one: str, other: str) -> None:
    assert 0 <= similarity(one, other) <= 1
    assert similarity(one, other) == similarity(other, one)
    assert similarity(one, one) == bool(split_words(one))


def test_a_copy_with_a_word_changed_or_added_is_too_similar() -> None:
    text = "seven habits of people who never miss a train again"
    assert is_too_similar(text, text.replace("seven", "Eight"))
    assert is_too_similar(text, f"{text}, they say")
    assert not is_too_similar(text, "seven reasons why trains are late")
    assert not is_too_similar("of the", f"{text} of the")


def test_a_text_without_words_is_itself() -> None:
    assert plain_text("!!!") == "!!!"
    assert plain_text("¡Hola, José!") == "hola jose"
