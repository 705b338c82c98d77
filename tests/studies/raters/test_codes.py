"""Codes mean nothing and are easily told apart."""

from __future__ import annotations

import random
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoreason.errors import InvalidInput
from autoreason.studies.raters.codes import draw_codes

steady = settings(derandomize=True)

seeds = st.integers(0, 2**32)


@steady
@given(st.integers(1, 60), seeds)
def test_codes_are_four_letters_and_differ_in_two_or_more(count: int, seed: int) -> None:
    codes = draw_codes(count, [], random.Random(seed))
    assert len(codes) == count
    assert all(len(code) == 4 and code.isascii() and code.isupper() for code in codes)
    for one, other in combinations(codes, 2):
        assert sum(a != b for a, b in zip(one, other, strict=True)) >= 2


@steady
@given(seeds)
def test_no_code_of_a_small_packet_begins_like_another(seed: int) -> None:
    codes = draw_codes(16, [], random.Random(seed))
    assert len({code[0] for code in codes}) == 16


@steady
@given(seeds)
def test_a_code_occurs_in_no_text_in_whatever_letters(seed: int) -> None:
    usual = draw_codes(10, [], random.Random(seed))
    texts = [f"We met {usual[0].lower()} there.", f"pre{usual[1].title()}fix", " ".join(usual[2:])]
    codes = draw_codes(10, texts, random.Random(seed))
    assert not any(code in text.upper() for code in codes for text in texts)


@steady
@given(seeds)
def test_the_same_seed_gives_the_same_codes(seed: int) -> None:
    assert draw_codes(9, ["x"], random.Random(seed)) == draw_codes(9, ["x"], random.Random(seed))


@pytest.mark.parametrize("word", ["NAZI", "TAXI", "NOVA", "JUDO"])
def test_words_with_a_meaning_are_no_codes(word: str) -> None:
    # With all but words like it written somewhere, there is no code left to draw.
    letters = "BDFGKLMNPRTVWZXJ"
    every = (f"{a}{b}{c}{d}" for a in letters for b in "AIOU" for c in letters for d in "AIOU")
    others = " ".join(code for code in every if code != word)
    with pytest.raises(InvalidInput, match="two packets"):
        draw_codes(1, [others], random.Random(1))
