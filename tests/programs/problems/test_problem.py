"""A problem is usable, or one sentence names it and what is wrong; a set tells what is in it."""

from __future__ import annotations

import time
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.cases import cases
from tests.programs.problems.made_up import humaneval, own

from autoreason.errors import InvalidInput
from autoreason.programs.assignment import Example
from autoreason.programs.problems.formats import read_humaneval, read_native, read_problems
from autoreason.programs.problems.problem import (
    Checker,
    Comparison,
    allows_any_case,
    canonical,
    compare,
    comparison,
    compile_error,
    find_problem,
    parse_python,
    shares,
    stated_checker,
    stated_tolerance,
    to_assignment,
)

steady = settings(derandomize=True)

TOKENS = Comparison()
EXACT = Comparison(checker="exact")
FLOAT = Comparison(checker="float")
ANY_CASE = Comparison(ignore_case=True)
HUGE = "7" * 5000

blanks = st.text(" \t\r\n\v\f", min_size=1, max_size=4)
words = st.lists(st.text("ab01.-éx", min_size=1, max_size=5), min_size=1, max_size=8)
comparisons = st.builds(
    Comparison,
    checker=st.sampled_from(["tokens", "exact", "float", "special"]),
    ignore_case=st.booleans(),
)


def said(expected: str, got: str, how: Comparison = TOKENS) -> str:
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
            before = (expected[: difference.expected_at], got[: difference.got_at])
            same, alike = (len(each.split()) for each in before)
            assert ours[:same] == theirs[:alike]


def test_the_blanks_of_unicode_are_no_blanks() -> None:
    assert not accepts("a b", "a\u00a0b", TOKENS)
    assert not accepts("a b", "a\x1cb", TOKENS)


@pytest.mark.parametrize(
    ("expected", "got", "words"),
    [
        ("1 2\n3 17\n", "1 2\n3 18\n", "line 2, token 2: expected 17, got 18"),
        ("1\n2\n", "12\n", "line 1, token 1: expected 1, got 12"),
        ("1 2 3 4", "1\n", "expected 4 tokens, got 1; the first that is missing: 2"),
        ("1", "1 2", "expected 1 token, got 2; the first that is superfluous: 2"),
        ("7", " \n", "expected 1 token, got 0; the first that is missing: 7"),
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


@cases(
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
        (HUGE, f"+0{HUGE}.000"),
    ],
)
def test_numbers_within_the_tolerance_pass(expected: str, got: str) -> None:
    assert accepts(expected, got, FLOAT)


@cases(
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
        # Integers never pass through doubles.
        ("9007199254740993", "9007199254740992"),
        ("9007199254740993", "9007199254740992.0"),
        ("1000000000", "1000000050"),
        (HUGE, HUGE[:-1] + "8"),
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
def test_a_megabyte_is_compared_in_a_moment(checker: Checker) -> None:
    text = "12345678 87654321\n" * 60_000
    how = Comparison(checker=checker)
    started = time.process_time()
    assert accepts(text, text[:-1] + "\n", how)
    assert not accepts(text, text[:-3] + "0\n", how)
    if checker != "exact":
        assert accepts(text, text.replace("\n", "\r\n"), how)
    assert time.process_time() - started < 1


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


CHECK = "def check(input, output, expected):\n    return output.strip() != ''\n"


def refusal(**changes: Any) -> str:
    with pytest.raises(InvalidInput) as refused:
        read_native(own(**changes))
    sentence = str(refused.value)
    assert "\n" not in sentence
    return sentence


@cases(
    ("changes", "said"),
    [
        ({"public_tests": [], "private_tests": None}, "no tests"),
        ({"statement": " \n"}, "`statement` is empty"),
        ({"statement": 7}, "`statement` must be text"),
        ({"time_limit_s": 61}, "`time_limit_s` must be a number <= 60"),
        ({"memory_limit_mb": 8}, "`memory_limit_mb` must be a whole number >= 16"),
        ({"memory_limit_mb": "much"}, "`memory_limit_mb` must be a whole number"),
        ({"checker": "fuzzy"}, "must be 'tokens', 'exact', 'float' or 'special', not 'fuzzy'"),
        ({"checker_program": "def check(:"}, "`checker_program` is not valid Python (line 1"),
        ({"checker_program": "x = 3"}, "must define `check(input, output, expected)`"),
        ({"tolerance": 2}, "`tolerance` must be a number <= 1"),
        ({"tolerance": 1e-6, "checker": "tokens"}, '`tolerance` needs `"checker": "float"`'),
        ({"tolerance": 1e-6, "checker_program": CHECK}, "`tolerance` needs"),
        ({"private_test": [["1", "2"]]}, "unknown field `private_test`; did you mean"),
        ({"tests": [["1", "2"]]}, "unknown field `tests`; did you mean `public_tests`"),
        ({"public_tests": "1 2"}, "`public_tests` must be a list"),
        ({"public_tests": [["1", "2"], {"in": "1"}]}, "`public_tests[1]` is not a test"),
        ({"public_tests": [{"input": 1}]}, "`public_tests[0].input` must be text"),
        ({"kind": "stdio", "public_tests": ["assert f(1)"]}, 'needs `"kind": "function"`'),
        (
            {"public_tests": ["assert f(1)"], "entry_point": "f"},
            "test 2 of a function needs `code`",
        ),
        ({"kind": "haiku"}, "`kind`"),
    ],
)
def test_what_cannot_be_used_is_named_with_its_remedy(changes: dict[str, Any], said: str) -> None:
    sentence = refusal(**changes)
    assert sentence.startswith("problem 'double': ")
    assert said in sentence


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 201, "a\x1b[2J"])
def test_an_id_is_a_line_that_can_be_printed(name: str) -> None:
    assert "`id` is not a name" in refusal(id=name)


def test_tests_that_contradict_each_other_are_refused() -> None:
    sentence = refusal(private_tests=[["1\n", "2\n"], ["2\n", "5\n"]])
    assert "tests 1 and 3 contradict each other" in sentence
    # The same answer may be written otherwise, and several may be right.
    again = [["2\n", " 4"], ["5\n", "10\n"]]
    assert len(read_native(own(private_tests=again)).tests) == 3
    close = own(checker="float", public_tests=[["2", "0.5"]], private_tests=[["2", "0.5000001"]])
    for several in ({"checker": "special"}, {"checker_program": CHECK}):
        assert len(read_native(own(**several, private_tests=[["2\n", "5\n"]])).tests) == 2
    assert len(read_native(close).tests) == 2


def function(**changes: Any) -> dict[str, Any]:
    record = {
        "entry_point": "twice",
        "public_tests": ["assert twice(1) == 2"],
        "private_tests": ["assert twice(2) == 4"],
    }
    return own(**(record | changes))


def test_a_function_is_tested_by_statements_that_can_be_compiled() -> None:
    problem = read_native(function(setup="import math"))
    assert (problem.kind, problem.public_tests[0].code) == ("function", "assert twice(1) == 2")
    for changes, said in (
        ({"private_tests": ["assert twice(2) ="]}, "test 2 is not valid Python"),
        ({"setup": "import"}, "`setup` is not valid Python"),
        ({"entry_point": None}, "a test that is code calls a function; name it in `entry_point`"),
        ({"entry_point": "2x"}, "`entry_point`"),
        ({"checker_program": CHECK}, "drop `checker_program`"),
        ({"setup": "(" * 5000}, "`setup`"),
    ):
        with pytest.raises(InvalidInput, match="problem 'double'") as refused:
            read_native(function(**changes))
        assert said in str(refused.value)


def test_an_assignment_holds_nothing_that_nobody_may_see() -> None:
    problem = read_native(
        own(
            solution="print(2 * int(input()))  # secret-solution",
            private_tests=[["secret-input", "secret-output"]],
            checker_program=CHECK + "# secret-checker\n",
            time_limit_s=3,
            memory_limit_mb=64,
            difficulty=7,
        )
    )
    assignment = to_assignment(problem)
    assert b"secret" not in msgspec.json.encode(assignment)
    assert (assignment.private, assignment.public) == (1, (Example(input="2\n", output="4\n"),))
    assert (assignment.seconds, assignment.memory_mb, assignment.difficulty) == (3.0, 64, "7")
    assert assignment.remark == ""


def test_several_right_answers_without_a_checker_cannot_be_judged() -> None:
    assert "give a `checker_program`" in to_assignment(read_native(own(checker="special"))).remark
    assert to_assignment(read_native(own(checker_program=CHECK))).remark == ""
    assert to_assignment(read_native(own())).remark == ""


def test_the_tolerance_is_the_problems_or_the_statements_or_ours() -> None:
    stated = "Print a root with an error of at most 10^{-9}."
    numbers = own(checker="float", statement=stated)
    assert comparison(read_native(numbers)).tolerance == 1e-9
    assert comparison(read_native(numbers | {"tolerance": 1e-3})).tolerance == 1e-3
    assert comparison(read_native(own(checker="float"))).tolerance == 1e-6
    assert comparison(read_native(own(statement=stated))).checker == "tokens"
    how = comparison(read_native(own(tolerance=0.01)))
    assert (how.checker, how.tolerance) == ("float", 0.01)


def test_python_of_others_is_read_and_never_run_nor_warned_about(tmp_path: Path) -> None:
    source = f"x = '\\w'; open({str(tmp_path / 'left')!r}, 'w')"
    assert parse_python(source).body
    assert compile_error(source) is None
    assert list(tmp_path.iterdir()) == []
    assert compile_error("x = 1\ny = (") == "line 2 is not valid Python"
    for wrong in ("x = ", "\0", "(" * 5000):
        assert not parse_python(wrong).body
        assert compile_error(wrong)


@cases(
    ("statement", "tolerance"),
    [
        ("its absolute or relative error does not exceed 10^{-6}.", 1e-6),
        ("The absolute error must not be over 10 - 4.", 1e-4),
        ("with a precision of 1e-9 or better", 1e-9),
        ("An error of up to 10^−5 is accepted.", 1e-5),  # noqa: RUF001
        ("accurate to within an error of 0.001", 1e-3),
        ("an error of at most $10^{-9}$", 1e-9),
        ("an error of at most 10<sup>-7</sup>", 1e-7),
        ("Heights lie between 10 - 6 and 10.", None),
        ("The error of a gauge is 10^6 and more.", None),
        ("An error of 10^-99 cannot be seen.", None),
        ("Print the sum.", None),
    ],
)
def test_the_tolerance_is_read_where_errors_are_spoken_of(
    statement: str, tolerance: float | None
) -> None:
    assert stated_tolerance(statement) == tolerance


@cases(
    ("statement", "checker", "any_case"),
    [
        ("If there are multiple answers, print any.", "special", False),
        ("If there are several solutions, print any of them.", "special", False),
        ("Print the days in any order.", "special", False),
        ("You may output any valid answer.", "special", False),
        ("If there is more than one solution, choose one.", "special", False),
        ("Print the number of ways to choose any two of n gauges.", "tokens", False),
        ("The error must not exceed 10^{-6}.", "float", False),
        ("You can print each letter in any case (upper or lower).", "tokens", True),
        ("Print YES (case insensitive) if there is one.", "tokens", True),
        ("In that case print NO.", "tokens", False),
    ],
)
def test_a_statement_says_how_answers_are_compared(
    statement: str, checker: str, any_case: bool
) -> None:
    assert (stated_checker(statement), allows_any_case(statement)) == (checker, any_case)


def test_recorded_problems_say_whether_several_answers_are_right_and_how_closely(
    records: Path,
) -> None:
    one = read_problems(records / "problems" / "stdio.jsonl").problems
    several = read_problems(records / "problems" / "stdio_special.jsonl").problems
    assert not [each.id for each in one if stated_checker(each.statement) == "special"]
    found = sum(stated_checker(each.statement) == "special" for each in several)
    assert found >= 0.8 * len(several)
    problems = read_problems(records / "problems" / "stdio.jsonl").problems
    for problem in problems:
        stated = stated_tolerance(problem.statement)
        assert (stated is not None) == (problem.checker == "float"), problem.id


def test_problems_are_counted_by_kind_and_difficulty() -> None:
    problems = [
        read_native(own(difficulty="hard", checker="special")),
        read_native(own(difficulty="easy")),
        read_native(own(difficulty="easy", public_tests=[])),
        read_humaneval(humaneval()),
    ]
    counted = shares(problems)
    assert [(one.kind, one.difficulty, one.problems) for one in counted] == [
        ("function", "", 1),
        ("stdio", "easy", 2),
        ("stdio", "hard", 1),
    ]
    easy, hard = counted[1:]
    assert (easy.public_tests, easy.private_tests, easy.without_public_tests) == (1, 4, 1)
    assert (easy.unfair, hard.unfair) == (0, 1)


def test_a_problem_is_found_by_its_id() -> None:
    problems = [read_native(own(id=name)) for name in ("cc/1_a_tides", "cc/1_b_boats", "z")]
    assert find_problem(problems, "z").id == "z"
    for name, meant in (("TIDES", "cc/1_a_tides"), ("cc/1_c_boats", "cc/1_b_boats"), ("?", "z")):
        with pytest.raises(InvalidInput, match="no problem") as refused:
            find_problem(problems, name)
        assert meant in str(refused.value)
