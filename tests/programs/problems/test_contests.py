"""CodeContests records become problems that read and print."""

from __future__ import annotations

from typing import Any

import pytest
from tests.programs.problems.made_up import contest

from autoreason.errors import InvalidInput
from autoreason.programs.assignment import Example
from autoreason.programs.problems.contests import read_contest, stated_checker


def test_a_record_of_the_data_set_is_read() -> None:
    problem = read_contest(contest())
    assert (problem.id, problem.title) == ("12_B. Twice the Tide", "Twice the Tide")
    assert problem.public_tests == (Example(input="2\n", output="4\n"),)
    assert [test.input for test in problem.private_tests] == ["5\n", "0\n"]
    assert problem.solution == "print(2*int(input()))"
    assert (problem.source, problem.tags) == ("CodeContests/Codeforces", ("math",))


def test_a_record_written_by_protocol_buffers_is_the_same_problem() -> None:
    written = {
        "name": "12_B. Twice the Tide",
        "description": "Print twice the number that is read.",
        "publicTests": [{"input": "2\n", "output": "4\n"}],
        "privateTests": [{"input": "5\n", "output": "10\n"}],
        "generatedTests": [{"input": "0\n", "output": "0\n"}],
        "source": "CODEFORCES",
        "difficulty": "B",
        "solutions": [
            {"language": "CPP", "solution": "int main(){}"},
            {"language": "PYTHON3", "solution": "print(2*int(input()))"},
        ],
        "timeLimit": "2.5s",
        "memoryLimitBytes": "256000000",
        "cfTags": ["math"],
    }
    assert read_contest(written) == read_contest(contest())


@pytest.mark.parametrize(
    ("fields", "difficulty"),
    [
        ({"difficulty": 7}, "A"),
        ({"difficulty": 11}, "E"),
        ({"difficulty": 28}, "V"),
        ({"difficulty": 1}, "easy"),
        ({"difficulty": 5}, "hardest"),
        ({"difficulty": "MEDIUM"}, "medium"),
        ({"difficulty": 0}, ""),
        ({"difficulty": 6}, ""),
        ({"difficulty": 99}, ""),
        ({"difficulty": None}, ""),
        ({"cf_rating": 800}, "easy"),
        ({"cf_rating": 1400}, "medium"),
        ({"cf_rating": 3500}, "hard"),
        ({"cf_rating": "x", "difficulty": 7}, "A"),
    ],
)
def test_difficulty_is_the_rating_or_the_letter(fields: dict[str, Any], difficulty: str) -> None:
    assert read_contest(contest(**fields)).difficulty == difficulty


@pytest.mark.parametrize(
    ("limit", "seconds"),
    [({"seconds": 2}, 10), ({"seconds": 15}, 15), ("20s", 20), (None, 10), ({"seconds": 99}, 60)],
)
def test_limits_for_compiled_languages_are_never_under_ours(limit: Any, seconds: float) -> None:
    problem = read_contest(contest(time_limit=limit, memory_limit_bytes=1_000_000_000))
    assert (problem.time_limit_s, problem.memory_limit_mb) == (seconds, 1000)
    assert read_contest(contest()).memory_limit_mb == 512


def test_the_statement_says_how_answers_are_compared() -> None:
    assert stated_checker("Print any of them.") == "special"
    assert stated_checker("The error must not exceed 10^{-6}.") == "float"
    assert stated_checker("Print the sum.") == "tokens"
    assert read_contest(contest(description="Print YES in any case.")).ignore_case


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"input_file": "tides.in"}, "it uses the file 'tides.in'"),
        ({"public_tests": {"input": ["1"], "output": []}}, "`public_tests` is not a set of"),
        ({"public_tests": 3}, "`public_tests` is not a set of"),
        (
            {"private_tests": {"input": [1], "output": ["1"]}},
            "`private_tests` has values that are not text",
        ),
        ({"solutions": [3]}, "`solutions` is not a set of"),
        ({"description": ""}, "`statement` is empty"),
        ({"description": None}, "`description` is missing"),
        ({"generated_tests": {"input": ["2\n"], "output": ["5\n"]}}, "contradict each other"),
    ],
)
def test_a_broken_record_is_one_sentence(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput, match=r"^problem '12_B\. Twice the Tide': ") as refused:
        read_contest(contest(**fields))
    assert said in str(refused.value)
