"""Long texts keep the part that helps, and say what was cut."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from autoreason.programs.examiner.excerpts import ending, excerpt


@given(st.text(max_size=300), st.integers(0, 300), st.integers(10, 100))
def test_an_excerpt_holds_the_place_that_matters_and_counts_what_it_left_out(
    text: str, at: int, most: int
) -> None:
    at = min(at, max(0, len(text) - 1))
    cut = excerpt(text, at, most)
    if len(text) <= most:
        assert cut == text
        return
    kept = re.sub(r"\A\[… [\d,]+ characters left out …\]\n", "", cut)
    kept = re.sub(r"\n\[… [\d,]+ characters left out …\]\Z", "", kept)
    assert kept in text
    assert text[at] in kept
    left_out = re.findall(r"\[… ([\d,]+) characters left out …\]", cut)
    assert sum(int(number.replace(",", "")) for number in left_out) + most >= len(text)


def test_an_ending_begins_with_a_whole_line() -> None:
    lines = [f"line {number}" for number in range(1000)]
    kept = ending("\n".join(lines), 100)
    head, *rest = kept.splitlines()
    assert head.startswith("[… ")
    assert rest == lines[-len(rest) :]
    assert ending("short") == "short"
    assert ending("x" * 200, 50).endswith("x" * 50)
