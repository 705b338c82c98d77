"""Answers are compared as a judge would."""

from __future__ import annotations

import time
from decimal import Decimal
from typing import Literal, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from autoreason.programs.problems.problem import Checker, Comparison, canonical, compare

steady = settings(derandomize=True)

TOKENS = Comparison()
EXACT = Comparison(checker="exact")
FLOAT = Comparison(checker="float")
ANY_CASE = Comparison(ignore_case=True)

blanks = st.text(" \t\r\n\v\f", min_size=1, max_size=4)
words = st.lists(st.text("ab01.-éx", min_size=1, max_size=5), min_size=1, max_size=8)
comparisons = st.builds(
    Comparison,
    checker=st.sampled_from(["tokens", "exact", "float", "special"]),
    ignore_case=st.booleans(),
)


def said(expected: str, got: str, how: Comparison = TOKENS) -> str:
    """The difference in words."""
    difference = compare(expected, got, how)
    assert difference is not None
    return difference.message


def accepts(expected: str, got: str, how: Comparison) -> bool:
    return compare(expected, got, how) is None


@steady
@given(st.text(), comparisons)
def test_every_text_equals_itself(text: str, how: Comparison) -> None:
    assert accepts(text, text, how)


@steady
@given(words, st.lists(blanks, min_size=18, max_size=18))
def test_white_space_does_not_matter(tokens: list[str], spaces: list[str]) -> None:
    spread = "".join(space + token for space, token in zip(spaces, tokens, strict=False))
    assert accepts(" ".join(tokens), spread + spaces[-1], TOKENS)


@steady
@given(words, words)
def test_other_tokens_do(ours: list[str], theirs: list[str]) -> None:
    assert accepts(" ".join(ours), "\n".join(theirs), TOKENS) == (ours == theirs)


@steady
@given(words, words, comparisons)
def test_a_difference_points_at_where_it_is(
    ours: list[str], theirs: list[str], how: Comparison
) -> None:
    expected, got = " ".join(ours), " ".join(theirs)
    difference = compare(expected, got, how)
    if difference is not None:
        assert expected[difference.expected_at :] != got[difference.got_at :]
        if how == TOKENS:
            assert (
                ours[: len(expected[: difference.expected_at].split())]
                == (theirs[: len(got[: difference.got_at].split())])
            )


def test_the_blanks_of_unicode_are_no_blanks() -> None:
    assert not accepts("a b", "a\u00a0b", TOKENS)
    assert not accepts("a b", "a\x1cb", TOKENS)


@pytest.mark.parametrize(
    ("expected", "got", "words"),
    [
        ("1 2\n3 17\n", "1 2\n3 18\n", "line 2, token 2: expected 17, got 18"),
        ("1\n2\n", "12\n", "line 1, token 1: expected 1, got 12"),
        (
            "1 2 3 4",
            "1\n",
            "the output ends too early: expected 3 more tokens, the next 2",
        ),
        ("1", "1 2", "the output goes on too long: 1 token too many, the first 2"),
        ("7", " \n", "nothing was printed; expected 1 token, the first 7"),
        ("", "7", "the output goes on too long: 1 token too many, the first 7"),
    ],
)
def test_a_difference_is_told_in_words(expected: str, got: str, words: str) -> None:
    assert said(expected, got) == words


def test_long_tokens_are_shown_around_the_difference() -> None:
    sentence = said("0" * 600 + "1" + "0" * 600, "0" * 1201)
    assert "character 601" in sentence
    assert "1" in sentence.partition("expected ")[2].partition(",")[0]
    assert len(sentence) < 200


@steady
@given(st.integers(), st.integers())
def test_integers_are_compared_to_the_last_digit(one: int, other: int) -> None:
    assert accepts(str(one), str(other), FLOAT) == (one == other)
    assert accepts(str(one), f"{other}.0", FLOAT) == (one == other)


def test_integers_never_pass_through_doubles() -> None:
    assert not accepts("9007199254740993", "9007199254740992", FLOAT)
    assert not accepts("9007199254740993", "9007199254740992.0", FLOAT)
    assert not accepts("1000000000", "1000000050", FLOAT)
    huge = "7" * 5000
    assert accepts(huge, f"+0{huge}.000", FLOAT)
    assert not accepts(huge, huge[:-1] + "8", FLOAT)


@pytest.mark.parametrize(
    ("expected", "got"),
    [
        ("2", "2.0"),
        ("2", "1.9999999"),
        ("2.5", "2.5000001"),
        ("0.000001", "0"),
        ("3.0", "3"),
        ("1e3", "1000.0001"),
        ("123456789012.5", "123456789099.5"),
        ("-0.0", "0"),
        ("0", "-0"),
        (".5", "5e-1"),
        ("YES", "Yes"),
        ("possible", "POSSIBLE"),
        ("nan", "nan"),
    ],
)
def test_numbers_within_the_tolerance_pass(expected: str, got: str) -> None:
    assert accepts(expected, got, FLOAT)


@pytest.mark.parametrize(
    ("expected", "got"),
    [
        ("2.5", "2.50001"),
        ("2.5", "nan"),
        ("2.5", "inf"),
        ("inf", "1e999"),
        ("nan", "2.5"),
        ("nan", "NaN"),
        ("2.5", "2.5x"),
        ("2.5", "2_5"),
        ("25", "2_5"),
        ("2.5", "0x2"),
        ("2.5", "\uff12.5"),
        ("Alice", "alice"),
        ("no", "yes"),
        ("1e9999", "2e9999"),
        ("1e99999", "1e99998"),
    ],
)
def test_what_is_no_such_number_fails(expected: str, got: str) -> None:
    assert not accepts(expected, got, FLOAT)


@steady
@given(
    st.decimals(-(10**6), 10**6, places=6),
    st.sampled_from([1e-4, 1e-6, 1e-9]),
    st.sampled_from([-1, 1]),
)
def test_the_tolerance_is_absolute_or_relative_and_includes_its_bound(
    number: Decimal, tolerance: float, side: int
) -> None:
    how = Comparison(checker="float", tolerance=tolerance)
    bound = Decimal(str(tolerance)) * max(Decimal(1), abs(number))
    assert accepts(f"{number:f}", f"{number + side * bound:f}", how)
    assert not accepts(f"{number:f}", f"{number + side * bound * Decimal('1.001'):f}", how)


def test_without_a_tolerance_digits_count() -> None:
    for how in (TOKENS, EXACT, Comparison(checker="special")):
        assert not accepts("2.5", "2.50", how)
        assert not accepts("YES", "yes", how)


def test_words_match_in_any_case_where_the_problem_says_so() -> None:
    assert accepts("Alice YES", "ALICE yes", ANY_CASE)
    assert not accepts("Alice", "Bob", ANY_CASE)
    for word in ("YES!", "yes2", "a-B", "(No)", "Straße", "ÉTÉ", "x_1"):
        for how in (ANY_CASE, replace(ANY_CASE, checker="float")):
            assert accepts(word, word.swapcase(), how)
            assert not accepts(word, word.swapcase() + "x", how)
        assert not accepts(word, word.swapcase(), TOKENS)


def test_exact_means_every_character_but_the_last_line_end() -> None:
    assert accepts("a b", "a b\n", EXACT)
    assert accepts("a b\r\n", "a b", EXACT)
    assert said("a\nb c", "a\nb  c", EXACT) == "line 2: expected 'b c', got 'b  c'"
    assert said("a\nb", "a", EXACT) == "line 1: expected more lines"
    assert said("a", "a\nb", EXACT) == "line 1: expected an end"


@pytest.mark.parametrize("checker", ["tokens", "exact", "float"])
def test_ten_megabytes_are_compared_in_a_moment(checker: Checker) -> None:
    text = "12345678 87654321\n" * 600_000
    how = Comparison(checker=checker)
    started = time.process_time()
    assert accepts(text, text[:-1] + "\n", how)
    assert not accepts(text, text[:-3] + "0\n", how)
    if checker != "exact":
        assert accepts(text, text.replace("\n", "\r\n"), how)
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    "hostile", ["0" * 10**6 + "x", "1" * 10**6 + "x", "1." + "0" * 10**6 + "x"]
)
def test_no_output_makes_comparing_slow(hostile: str) -> None:
    started = time.process_time()
    assert not accepts("0.5", hostile, FLOAT)
    assert not accepts("5", hostile, FLOAT)
    assert time.process_time() - started < 2


@steady
@given(words, words, st.booleans())
def test_answers_have_one_canonical_form_where_they_count_as_the_same(
    ours: list[str], theirs: list[str], ignore_case: bool
) -> None:
    for checker in get_args(Literal["tokens", "exact"]):
        how = Comparison(checker=checker, ignore_case=ignore_case)
        one, other = " ".join(ours), "\n".join(theirs)
        assert (canonical(one, how) == canonical(other, how)) == accepts(one, other, how)


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("1.0000001\n", "1.0", True),
        ("2", "2.0000000001", True),
        ("YES 3.14159265", "yes 3.1415927", True),
        ("3.14", "3.15", False),
        ("123456789 1", "123456788 1", False),
    ],
)
def test_numbers_within_the_tolerance_have_one_canonical_form(
    one: str, other: str, alike: bool
) -> None:
    assert (canonical(one, FLOAT) == canonical(other, FLOAT)) == alike
