"""Sets are read in every format and written in ours; a broken line is named, and the rest is used."""

from __future__ import annotations

import base64
import gzip
import io
import json
import os
import pickle
import re
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest
from tests.cases import cases
from tests.conftest import DATA
from tests.programs.problems.made_up import (
    Record,
    contest,
    humaneval,
    livecodebench,
    mbpp,
    method,
    own,
    packed,
    pickled,
)

from autoreason.errors import InvalidInput
from autoreason.programs.assignment import Example
from autoreason.programs.problems import formats
from autoreason.programs.problems.formats import (
    FIELDS,
    called_function,
    example_asserts,
    expectations,
    format_of,
    read_contest,
    read_humaneval,
    read_livecodebench,
    read_mbpp,
    read_native,
    read_problems,
)
from autoreason.programs.problems.problem import (
    Problem,
    ProblemSet,
    compare,
    comparison,
    decode_set,
    encode_set,
    set_digest,
)


def test_humaneval_shows_its_docstrings_examples_and_hides_its_check() -> None:
    problem = read_humaneval(humaneval())
    assert (problem.id, problem.kind, problem.entry_point) == ("HumanEval/900", "function", "half")
    assert [test.code for test in problem.public_tests] == ["assert half(5) == 2"]
    (hidden,) = problem.private_tests
    assert hidden.code.startswith("def check(candidate):")
    assert hidden.code.endswith("\ncheck(half)")
    assert problem.setup == "import math"
    assert "`half`" in problem.statement
    assert problem.starter in problem.statement
    assert holds(problem)
    # What the tests contradict is not shown as one.
    assert "half(8)" in humaneval()["prompt"]
    # It goes round under other names.
    record = humaneval()
    record["id"], record["solution"] = record.pop("task_id"), record.pop("canonical_solution")
    assert read_humaneval(record | {"kind": "function"}) == problem


def test_an_example_with_names_that_nobody_defines_is_left_out() -> None:
    prompt = (
        "from math import pi\n\n\ndef shout(word):\n"
        "    \"\"\"In capitals.\n    shout(a) => 'A'\n    shout(str(pi)[0]) => '3'\n"
        "    shout(''.join(c for c in 'ab')) => 'AB'\n    shout('x') => 'Y'\n    \"\"\"\n"
    )
    test = "def check(candidate):\n    assert candidate('x') == 'X'\n"
    body = "    return word.upper()\n"
    record = humaneval(prompt=prompt, entry_point="shout", canonical_solution=body, test=test)
    problem = read_humaneval(record)
    assert [each.code for each in problem.public_tests] == [
        "assert shout(str(pi)[0]) == '3'",
        "assert shout(''.join((c for c in 'ab'))) == 'AB'",
    ]
    assert holds(problem)


def test_mbpp_shows_its_first_assert_and_hides_the_others() -> None:
    problem = read_mbpp(mbpp())
    assert (problem.id, problem.entry_point, problem.setup) == ("MBPP/900", "root", "import math")
    assert [test.code for test in problem.public_tests] == ["assert math.isclose(root(4), 2.0)"]
    assert [test.code for test in problem.private_tests] == [
        "assert root(9) == 3",
        "assert root(0) == 0",
    ]
    assert "`root`" in problem.statement
    assert problem.public_tests[0].code in problem.statement
    assert problem.private_tests[0].code not in problem.statement
    assert holds(problem)
    # The edition checked by hand has no challenge tests that fit.
    record = mbpp(prompt="Write it.", test_imports=["import math"])
    del record["text"], record["test_setup_code"]
    problem = read_mbpp(record)
    assert [test.code for test in problem.private_tests] == ["assert root(9) == 3"]
    assert problem.setup == "import math"


@cases(
    ("asserts", "solution", "name"),
    [
        ("assert f(1) == 2", "", "f"),
        ("assert set(f(1)) == set(g(2))", "", "f"),
        ("assert set(f(1)) == set(g(2))", "def g (x): ...", "g"),
        ("assert count([1]) == 1", "def count(x): ...", "count"),
        ("assert sum([1]) == 1", "def sum(x): ...", "sum"),
        ("assert not math.isclose(f(1), 2)", "", "f"),
        ("assert 1 ==", "", ""),
        ("assert len([1]) == 1", "", ""),
    ],
)
def test_the_function_that_is_called_is_found(asserts: str, solution: str, name: str) -> None:
    assert called_function(asserts, solution) == name


@cases(
    ("read", "record", "said"),
    [
        (read_mbpp, mbpp(test_list=[]), "it has no tests"),
        (read_mbpp, mbpp(test_list=["assert f(1) =="]), "`entry_point`"),
        (read_mbpp, mbpp(test_list="assert f(1)"), "`test_list` must be a list"),
        (read_humaneval, humaneval(test="def check("), "test 3 is not valid Python"),
        (read_humaneval, humaneval(test=None), "`test` is missing"),
        (read_contest, contest(input_file="tides.in"), "only streams are judged"),
        (read_contest, contest(public_tests={"input": ["1"]}), "some tests have no output"),
        (read_contest, contest(public_tests=3), "`public_tests` must be"),
        (read_contest, contest(description=""), "`statement` is empty"),
        (
            read_contest,
            contest(generated_tests={"input": ["2\n"], "output": ["5\n"]}),
            "contradict each other",
        ),
        (read_livecodebench, method(metadata="{}"), "no `func_name` in `metadata`"),
        (read_livecodebench, method(metadata='{"func_name": "a b"}'), "no `func_name`"),
        (
            read_livecodebench,
            method(public_test_cases='[{"input": "x", "output": "1"}]'),
            "values of a test are not JSON",
        ),
        (read_livecodebench, method(question_content=None), "`question_content` is missing"),
    ],
)
def test_a_broken_record_is_one_sentence(read: Any, record: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput, match=r"^problem '.*': ") as refused:
        read(record)
    assert said in str(refused.value)


@pytest.mark.parametrize("name", ["humaneval", "mbpp"])
def test_every_recorded_test_calls_the_function_that_is_asked_for(records: Path, name: str) -> None:
    for problem in read_problems(records / "problems" / f"{name}.jsonl").problems:
        assert f"def {problem.entry_point}" in problem.solution
        assert all(f"{problem.entry_point}" in test.code for test in problem.tests)
        assert problem.entry_point in problem.statement


def test_most_recorded_functions_have_a_test_that_may_be_seen(records: Path) -> None:
    problems = read_problems(records / "problems" / "humaneval.jsonl").problems
    assert sum(bool(problem.public_tests) for problem in problems) > 0.8 * len(problems)


def holds(problem: Problem) -> bool:
    names: dict[str, Any] = {}
    exec(problem.solution, names)
    exec(problem.setup, names)
    try:
        for test in problem.tests:
            exec(test.code, names)
    except AssertionError:
        return False
    return True


@cases(
    ("docstring", "asserts"),
    [
        (">>> f(1)\n2", ["assert f(1) == 2"]),
        (">>> f('a')\n'b'\n>>> f('b')\n\"c\"", ["assert f('a') == 'b'", "assert f('b') == 'c'"]),
        (">>> f(1)\n2\n>>> f(1)\n2", ["assert f(1) == 2"]),
        (">>> round(f([1, 2]), 2) # a root\n-0.5", ["assert round(f([1, 2]), 2) == -0.5"]),
        (">>> f(1) == [2, 3]", ["assert f(1) == [2, 3]"]),
        ("f(1, 2) == 3", ["assert f(1, 2) == 3"]),
        ("  * f([]) => [] ", ["assert f([]) == []"]),
        ("f('=>') ==> 'x'", ["assert f('=>') == 'x'"]),
        ("f(2) -> {'a': None}", ["assert f(2) == {'a': None}"]),
        ("f(2) ➞ True", ["assert f(2) == True"]),
        ("f(2) returns 16", ["assert f(2) == 16"]),
        ("f(2) should return 16.", ["assert f(2) == 16"]),
        ('f(15)   # returns "db"', ["assert f(15) == 'db'"]),
        ("for f(7) == 3", ["assert f(7) == 3"]),
    ],
)
def test_examples_become_asserts(docstring: str, asserts: list[str]) -> None:
    assert example_asserts(docstring, "f") == asserts


@cases(
    "docstring",
    [
        "",
        "What f(1) gives is 2.",
        ">>> f(1)\nTraceback (most recent call last):",
        ">>> f(1)\na word",
        ">>> g(1)\n2",
        ">>> f(\"a\nb\")\n'c'",
        ">>> f(1)",
        "f(1) == 1 + 9",
        'f(1) == ""a"',
        "f(1) -> 5 - 3 = 2",
        "f(1) => ...",
        "f(1) =>",
    ],
)
def test_what_cannot_be_read_exactly_is_left_out(docstring: str) -> None:
    assert example_asserts(docstring, "f") == []


def test_what_calls_should_give_is_found_anywhere_in_a_source() -> None:
    source = (
        "def check(candidate):\n    assert candidate( 'a',k=1) == (1,)\n    assert other(1) == 2\n"
    )
    assert expectations(source, "candidate") == {"'a', k=1": "(1,)"}


def test_a_record_of_the_data_set_is_read() -> None:
    problem = read_contest(contest())
    assert (problem.id, problem.title) == ("12_B. Twice the Tide", "Twice the Tide")
    assert problem.public_tests == (Example(input="2\n", output="4\n"),)
    assert [test.input for test in problem.private_tests] == ["5\n", "0\n"]
    assert problem.solution == "print(2*int(input()))"
    assert (problem.source, problem.tags) == ("CodeContests/Codeforces", ("math",))
    assert not problem.ignore_case
    assert read_contest(contest(description="Print YES in any case.")).ignore_case


@cases(
    ("fields", "difficulty"),
    [
        ({"difficulty": 7}, "A"),
        ({"difficulty": 28}, "V"),
        ({"difficulty": 1}, "easy"),
        ({"difficulty": 5}, "hardest"),
        ({"difficulty": 6}, ""),
        ({"difficulty": 99}, ""),
        ({"difficulty": None}, ""),
        ({"cf_rating": 800}, "easy"),
        ({"cf_rating": 1400}, "medium"),
        ({"cf_rating": 3500}, "hard"),
    ],
)
def test_difficulty_is_the_rating_or_the_letter(fields: dict[str, Any], difficulty: str) -> None:
    assert read_contest(contest(**fields)).difficulty == difficulty


@pytest.mark.parametrize(
    ("limit", "seconds"),
    [({"seconds": 2}, 10), ({"seconds": 15}, 15), (None, 10), ({"seconds": 99}, 60)],
)
def test_limits_for_compiled_languages_are_never_under_ours(limit: Any, seconds: float) -> None:
    problem = read_contest(contest(time_limit=limit, memory_limit_bytes=1_000_000_000))
    assert (problem.time_limit_s, problem.memory_limit_mb) == (seconds, 1000)
    assert read_contest(contest()).memory_limit_mb == 512


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


@cases("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_every_pickle_of_a_text_is_read(protocol: int) -> None:
    tests = json.dumps([{"input": "ä", "output": "ö"}], ensure_ascii=False)
    record = livecodebench(private_test_cases=pickled(tests, protocol))
    assert read_livecodebench(record).private_tests == (Example(input="ä", output="ö"),)


@cases(
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
    ],
)
def test_what_is_no_packed_text_is_refused(given: object) -> None:
    with pytest.raises(InvalidInput, match="`private_test_cases` cannot be unpacked"):
        read_livecodebench(livecodebench(private_test_cases=given))


def test_a_pickle_that_would_run_something_runs_nothing(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "left"),)

    evil = Evil()
    for value in (evil, [evil], {"[]": evil}):
        with pytest.raises(InvalidInput, match="cannot be unpacked"):
            read_livecodebench(livecodebench(private_test_cases=pickled(value)))
    assert not (tmp_path / "left").exists()


def test_a_bomb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "MAX_UNPACKED_BYTES", 1000)
    with pytest.raises(InvalidInput, match="cannot be unpacked"):
        read_livecodebench(livecodebench(private_test_cases=packed([{"input": "0" * 10_000}])))


EXAMPLES = Path(__file__).parents[3] / "examples"


def lines(*records: Any) -> str:
    return "\n".join(one if isinstance(one, str) else json.dumps(one) for one in records)


@pytest.fixture
def read(tmp_path: Path) -> Any:

    def reading(text: str | bytes, name: str = "set.jsonl") -> ProblemSet:
        file = tmp_path / name
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_problems(file)

    return reading


@cases(
    ("record", "name"),
    [
        (own(), "autoreason"),
        (contest(), "CodeContests"),
        (humaneval(), "HumanEval"),
        (mbpp(), "MBPP"),
        ({"id": "MBPP/1", "prompt": "x", "tests": []}, "MBPP"),
        (livecodebench(), "LiveCodeBench"),
        (method(), "LiveCodeBench"),
        ({"some": "thing"}, None),
    ],
)
def test_a_record_is_known_by_its_fields(record: Record, name: str | None) -> None:
    assert format_of(record) == name


def test_formats_may_be_mixed_and_what_is_read_can_be_written_and_read_again(read: Any) -> None:
    found = read(
        lines(own(), contest(), humaneval(), mbpp(), livecodebench(), method(question_id="m"))
    )
    assert (len(found.problems), found.broken) == (6, ())
    assert found.format == "CodeContests, HumanEval, LiveCodeBench, MBPP, autoreason"
    again = read(encode_set(found.problems))
    assert again.problems == found.problems
    assert again.digest == found.digest == set_digest(found.problems)


def test_one_problem_a_list_and_lines_are_read_alike(read: Any) -> None:
    pretty = json.dumps(own(), indent=2)
    for text, name in (
        (pretty, "one.json"),
        (f"[{pretty}]", "list.json"),
        (json.dumps(own()), "lines.jsonl"),
        (json.dumps(own()) + "\r\n\r\n", "windows.jsonl"),
        ("\ufeff" + pretty, "marked.json"),
    ):
        assert [problem.id for problem in read(text, name).problems] == ["double"]


def test_a_broken_line_is_told_and_the_rest_is_used(read: Any) -> None:
    found = read(
        lines(
            own(),
            '{"id": "torn", "statement": ',
            "",
            own(id="second"),
            own(id="empty", public_tests=[], private_tests=[]),
            own(),
            {"some": "thing"},
            "[1]",
        )
    )
    assert [problem.id for problem in found.problems] == ["double", "second"]
    assert [str(broken).partition(";")[0] for broken in found.broken] == [
        "line 2: this is not valid JSON",
        "line 5: problem 'empty': it has no tests",
        "line 6: the id 'double' is taken by line 1",
        "line 7: this is not a problem in a known format",
        "line 8: this is not a problem in a known format",
    ]
    found = read(lines('{"id": "torn', own()))
    assert (found.broken[0].line, len(found.problems)) == (1, 1)


def test_entries_of_a_list_are_counted_as_such(read: Any) -> None:
    found = read(json.dumps([own(), 3, own()]), "list.json")
    assert [str(broken).partition(":")[0] for broken in found.broken] == ["entry 2", "entry 3"]
    assert "taken by entry 1" in found.broken[1].reason


def test_the_digest_is_that_of_the_usable_problems(read: Any) -> None:
    assert read(lines(own())).digest == read(lines("broken", own(), own())).digest
    assert read(lines(own())).digest != read(lines(own(title="Other"))).digest


@cases(
    ("text", "name", "said"),
    [
        (" \n\n", "set.json", "is empty"),
        ('{"id": "x",\n "statement": }', "one.json", "is not valid JSON (JSON is malformed"),
        (b'{"id": "\xff"}', "one.json", "is not valid JSON ('utf-8' codec"),
        ("[" * 100_000, "one.json", "is not valid JSON (maximum recursion depth"),
        ('{"id": 1e999}', "one.json", "is not valid JSON (Number out of range"),
        ("3", "one.json", "one.json is not a JSON object; correct it"),
        ("# Problems\nnone\n", "set.md", "has no usable problem; the first: line 1: "),
        (gzip.compress(b"{}", mtime=0), "set.jsonl.gz", "set.jsonl.gz is compressed; unpack it"),
        (json.dumps(own(statement="")), "one.json", "line 1: problem 'double': `statement`"),
        ("[]", "none.json", "none.json has no usable problem"),
    ],
)
def test_a_file_without_a_usable_problem_is_one_sentence(
    read: Any, text: str | bytes, name: str, said: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        read(text, name)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_that_cannot_be_read_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InvalidInput, match="No such file"):
        read_problems(tmp_path / "nowhere.json")
    with pytest.raises(InvalidInput, match="name a file"):
        read_problems(tmp_path)
    monkeypatch.setattr(formats, "MAX_FILE_BYTES", 10)
    (tmp_path / "large.json").write_text(json.dumps(own()))
    with pytest.raises(InvalidInput, match="split it"):
        read_problems(tmp_path / "large.json")


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(json.dumps(own()).encode()))
    monkeypatch.setattr(sys, "stdin", stream)
    assert len(read_problems("-").problems) == 1


def test_the_example_is_a_problem() -> None:
    (problem,) = read_problems(EXAMPLES / "problem.json").problems
    assert problem.public_tests
    assert problem.private_tests
    compile((EXAMPLES / "solution.py").read_text(), "solution.py", "exec")


@pytest.mark.parametrize(
    ("name", "count"), [("stdio", 151), ("stdio_special", 74), ("humaneval", 115), ("mbpp", 299)]
)
def test_every_recorded_problem_is_read(records: Path, name: str, count: int) -> None:
    path = records / "problems" / f"{name}.jsonl"
    found = read_problems(path)
    assert found.broken == ()
    assert len(found.problems) == (
        count if records != DATA else len(path.read_bytes().splitlines())
    )
    assert all(problem.solution for problem in found.problems)


def test_the_page_shows_problems_that_can_be_used(tmp_path: Path) -> None:
    page = (EXAMPLES.parent / "docs" / "programs.md").read_text("utf-8")
    shown, checker = (
        re.findall(rf"^```{language}\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[0]
        for language in ("json", "python")
    )
    record = json.loads(shown) | {"checker": "special", "checker_program": checker}
    for number, text in enumerate((shown, json.dumps(record))):
        (tmp_path / f"{number}.json").write_text(text)
        assert len(read_problems(tmp_path / f"{number}.json").problems) == 1
    how = comparison(read_problems(tmp_path / "0.json").problems[0])
    for got, right in (("7", True), ("7.0", True), ("6.9999999", True), ("8", False)):
        assert (compare("7", got, how) is None) == right
        assert f"`{got}`" in page
    assert compare("1000000", "1000001", how)
    for field in FIELDS:
        assert f"`{field}`" in page


def test_every_way_to_write_a_test_is_the_same_test() -> None:
    pairs = read_native(own())
    assert pairs == read_native(own(public_tests=[{"input": "2\n", "output": "4\n"}]))
    notes = {"contest": "12", "wrong_solutions": [{"code": "x"}], "author": "me"}
    assert pairs == read_native(own(**notes)), "notes of others are not kept"


@pytest.mark.parametrize("data", [b"{}\n", b"nonsense", b"\xff\n", b'{"id":"x","statement":3}\n'])
def test_a_damaged_copy_is_refused_and_any_checked_like_other_problems(data: bytes) -> None:
    with pytest.raises(InvalidInput, match="damaged"):
        decode_set(data)
    with pytest.raises(InvalidInput, match="no tests"):
        decode_set(b'{"id":"x","statement":"y"}\n')
