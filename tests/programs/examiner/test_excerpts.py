"""Long texts keep the part that helps, and say what was cut."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from autoreason.programs.examiner.examiner import end_of_text, excerpt


@given(st.text(max_size=300), st.integers(0, 300), st.integers(10, 100))
def test_an_excerpt_holds_the_place_that_matters_and_counts_what_it_left_out(
    text: str, at: int, max_length: int
) -> None:
    at = min(at, max(0, len(text) - 1))
    cut = excerpt(text, at, max_length)
    if len(text) <= max_length:
        assert cut == text
        return
    kept = re.sub(r"\A\[… [\d,]+ characters left out …\]\n", "", cut)
    kept = re.sub(r"\n\[… [\d,]+ characters left out …\]\Z", "", kept)
    assert kept in text
    assert text[at] in kept
    left_out = re.findall(r"\[… ([\d,]+) characters left out …\]", cut)
    assert sum(int(number.replace(",", "")) for number in left_out) + max_length >= len(text)


def test_an_ending_begins_with_a_whole_line() -> None:
    lines = [f"line {number}" for number in range(1000)]
    kept = end_of_text("\n".join(lines), 100)
    head, *rest = kept.splitlines()
    assert head.startswith("[… ")
    assert rest == lines[-len(rest) :]
    assert end_of_text("short") == "short"
    assert end_of_text("x" * 200, 50).endswith("x" * 50)
