"""On a terminal words are whole, and no number is parted from its unit."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from autoreason.report.layout import wrap
from autoreason.report.table import Column, Table

NUMBERS = (
    *("33 %", "under 1 %", "over 99 %", "3 min 12 s", "4.1 s", "1,200.5 MB", "2 h 05 min"),
    *("p = 0.041", "p < 0.001"),
)
WORDS = st.text("abcdefgh", min_size=1, max_size=9)
SENTENCES = st.lists(st.sampled_from(NUMBERS) | WORDS, min_size=1, max_size=30)


@given(SENTENCES, st.integers(20, 100))
@example(["first", "places:", "33 %", "/", "33 %", "/", "34 %", "of", "9"], 24)
def test_a_number_stays_with_its_unit_in_a_sentence(words: list[str], width: int) -> None:
    sentence = " ".join(words)
    lines = wrap(sentence, width)
    assert " ".join(lines) == sentence
    assert all(len(line) <= width for line in lines)
    for number in NUMBERS:
        assert sum(line.count(number) for line in lines) >= words.count(number)


@pytest.mark.parametrize("width", range(12, 40))
def test_a_number_stays_with_its_unit_in_a_table(width: int) -> None:
    columns = [Column("per ballot (95 % for all)"), Column("note", figures=False)]
    table = Table(columns, [("2.4", "it took 3 min 12 s of the 5 min that were left")])
    shown = table.to_text(width)
    for number in ("(95 %", "3 min 12 s", "5 min"):
        assert number in shown
