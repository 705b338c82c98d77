"""A user's patterns mean what they mean in Python, and none can hang."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoreason.errors import InvalidInput
from autoreason.regex import Regex

_ATOMS = st.sampled_from(
    [
        *("a", "Ü", "é", " ", ".", r"\w", r"\W", r"\d", r"\D", r"\s", r"\S", r"\.", r"\n"),
        *("[a-c]", "[^a]", r"[\wé-]", r"[\s\S]", r"[^\W]", "[]a]", "[a-c-]", r"\x61", r"\u00e9"),
        *("(?:a|é)", r"(?:\ba)", r"(?:é\b|b)", "(a)", "(?i:É)", r"[^\s.]", r"[\D]", "_"),
    ]
)
_REPEATS = st.sampled_from(["", "", "", "*", "+", "?", "{2}", "{0,2}", "{,2}", "*?", "+?"])
_PARTS = st.one_of(st.tuples(_ATOMS, _REPEATS).map("".join), st.just(r"\b"))
_ROWS = st.lists(_PARTS, min_size=1, max_size=5).map("".join)
_STARTS = st.sampled_from(["", "", "^", r"\A"])
_ENDS = st.sampled_from(["", "", "$", r"\Z"])
_PATTERNS = st.tuples(
    st.sampled_from(["", "", "(?i)", "(?m)", "(?s)", "(?ims)"]),
    st.lists(st.tuples(_STARTS, _ROWS, _ENDS).map("".join), min_size=1, max_size=2),
).map(lambda both: both[0] + "|".join(both[1]))
_TEXTS = st.text(alphabet="aAbÜüéÉ _.1٣\n-\u2003", max_size=12)


@given(_PATTERNS, _TEXTS)
def test_a_pattern_is_found_where_python_finds_it(pattern: str, text: str) -> None:
    assert Regex(pattern).found_in(text) == bool(re.search(pattern, text)), (pattern, text)


@pytest.mark.parametrize("text", ["être", "Über", "naïve", "ver\u00e9"])
def test_a_word_ends_where_it_ends_in_any_script(text: str) -> None:
    assert not Regex(r"\b(?:tre|ber|ve|ver)\b").found_in(text)
    assert Regex(rf"\b{text}\b").found_in(f"({text}).")


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(a+)+$", "a" * 100_000 + "b"),
        (r"^(\w+\s?)*$", "word " * 20_000 + "!"),
        (r"\b(?:a|a)*\b!", "a" * 50_000),
        ("(x+x+)+y", "x" * 100_000),
    ],
)
def test_no_pattern_takes_more_than_a_moment(pattern: str, text: str) -> None:
    started = time.process_time()
    assert not Regex(pattern).found_in(text)
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (r"(a)\1", r"a back-reference \(\\1\)"),
        (r"(?P<x>a)(?P=x)", "a back-reference"),
        ("a(?=b)", "a look-ahead"),
        ("a(?!b)", "a look-ahead"),
        ("(?<=a)b", "a look-behind"),
        ("(?<!a)b", "a look-behind"),
        ("(?>a)b", "an atomic group"),
        ("a++b", "a possessive repeat"),
        (r"(a)?(?(1)b|c)", "a condition"),
        (r"a\Bb", r"has \\B"),
        ("(?x)a b", "a flag other than i, m and s"),
        ("(?s:.)", "a flag within a group other than i"),
        ("(?:a{900}){900}", "RE2 cannot search for"),
    ],
)
def test_what_only_backtracking_finds_is_refused_with_its_reason(
    pattern: str, message: str
) -> None:
    with pytest.raises(InvalidInput, match=message) as refused:
        Regex(pattern)
    assert "write it without" in str(refused.value)


@pytest.mark.parametrize("pattern", ["(", "[a", "a{2,1}", "*a", "(?P<1>a)"])
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidInput, match="is not a regular expression"):
        Regex(pattern)
