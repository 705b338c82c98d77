"""LiveCodeBench records, whose private tests are packed, and never unpickled."""

from __future__ import annotations

import base64
import json
import os
import pickle
import zlib
from pathlib import Path
from typing import Any

import pytest
from tests.programs.problems.made_up import livecodebench, method, packed, pickled

from autoreason.errors import InvalidInput
from autoreason.programs.assignment import Example
from autoreason.programs.problems import livecodebench as reading
from autoreason.programs.problems.livecodebench import read_livecodebench


class Evil:
    """Leaves a folder behind wherever it is unpickled."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.folder),)


def test_a_program_is_asked_for_by_tests_of_what_is_printed() -> None:
    problem = read_livecodebench(livecodebench())
    assert (problem.id, problem.title, problem.difficulty) == ("abc900_a", "Twice", "easy")
    assert (problem.kind, problem.source) == ("stdio", "LiveCodeBench/atcoder")
    assert problem.public_tests == (Example(input="2\n", output="4\n"),)
    assert problem.private_tests == (Example(input="5\n", output="10\n"),)


def test_a_method_is_called_with_python_literals() -> None:
    problem = read_livecodebench(method())
    assert (problem.kind, problem.entry_point) == ("function", "Solution")
    assert problem.public_tests[0].code == "assert Solution().pick([1, 2], 'a') == None"
    assert problem.private_tests[0].code == "assert Solution().pick([], '') == True"
    assert problem.starter.startswith("from typing import List, Optional\n")
    assert "`pick`" in problem.statement
    assert problem.starter.rstrip() in problem.statement


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_every_pickle_of_a_text_is_read(protocol: int) -> None:
    tests = json.dumps([{"input": "ä", "output": "ö"}], ensure_ascii=False)
    record = livecodebench(private_test_cases=pickled(tests, protocol))
    assert read_livecodebench(record).private_tests == (Example(input="ä", output="ö"),)


def test_private_tests_may_be_given_plainly() -> None:
    plain = [{"input": "5\n", "output": "10\n"}]
    for given in (plain, json.dumps(plain)):
        problem = read_livecodebench(livecodebench(private_test_cases=given))
        assert problem == read_livecodebench(livecodebench())
    assert read_livecodebench(livecodebench(private_test_cases="")).private_tests == ()


@pytest.mark.parametrize(
    "given",
    [
        pickled(["[]"]),
        pickled(b"[]"),
        pickled("no JSON"),
        packed({"input": "1"}),
        packed(["x"]),
        base64.b64encode(b"no zlib").decode(),
        base64.b64encode(zlib.compress(b"no pickle")).decode(),
        base64.b64encode(zlib.compress(pickle.dumps("[]"))[:-8]).decode(),
        "no base64!",
        7,
    ],
)
def test_what_is_no_packed_text_is_refused(given: object) -> None:
    with pytest.raises(InvalidInput, match="`private_test_cases` cannot be unpacked"):
        read_livecodebench(livecodebench(private_test_cases=given))


def test_a_pickle_that_would_run_something_runs_nothing(tmp_path: Path) -> None:
    evil = Evil(tmp_path / "left")
    for value in (evil, [evil], {"[]": evil}):
        with pytest.raises(InvalidInput, match="cannot be unpacked"):
            read_livecodebench(livecodebench(private_test_cases=pickled(value)))
    assert not evil.folder.exists()


def test_a_bomb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_UNPACKED_BYTES", 1000)
    with pytest.raises(InvalidInput, match="cannot be unpacked"):
        read_livecodebench(livecodebench(private_test_cases=packed([{"input": "0" * 10_000}])))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"metadata": "{}"}, "no `func_name` in `metadata`"),
        ({"metadata": None}, "no `func_name` in `metadata`"),
        ({"metadata": '{"func_name": "a b"}'}, "no `func_name`"),
        (
            {"public_test_cases": [{"input": "x", "output": "1", "testtype": "functional"}]},
            "'x' in a test is not JSON",
        ),
        ({"public_test_cases": [{"input": 3}]}, "`input` of a test is not text"),
        ({"question_content": None}, "`question_content` is missing"),
    ],
)
def test_a_broken_record_is_one_sentence(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput, match=r"^problem 'abc900_a': ") as refused:
        read_livecodebench(method(**fields))
    assert said in str(refused.value)
