"""Sets are read in every format and written in ours; a broken line is told, and the rest is used."""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import DATA
from tests.programs.problems.made_up import (
    Record,
    contest,
    humaneval,
    livecodebench,
    mbpp,
    method,
    own,
)

from autoreason.errors import InvalidInput
from autoreason.programs.assignment import Example
from autoreason.programs.problems import formats
from autoreason.programs.problems.formats import FIELDS, format_of, read_native, read_problems
from autoreason.programs.problems.problem import (
    Problem,
    ProblemSet,
    compare,
    comparison,
    decode_set,
    encode_set,
    set_digest,
)

EXAMPLES = Path(__file__).parents[3] / "examples"


def lines(*records: Any) -> str:
    """Records one per line; texts as they are."""
    return "\n".join(one if isinstance(one, str) else json.dumps(one) for one in records)


@pytest.fixture
def read(tmp_path: Path) -> Any:
    """Reads a file with this text."""

    def reading(text: str | bytes, name: str = "set.jsonl") -> ProblemSet:
        file = tmp_path / name
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_problems(file)

    return reading


@pytest.mark.parametrize(
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


def test_formats_may_be_mixed(read: Any) -> None:
    found = read(lines(own(), contest(), humaneval(), mbpp(), livecodebench()))
    assert len(found.problems) == 5
    assert found.format == "CodeContests, HumanEval, LiveCodeBench, MBPP, autoreason"
    assert found.broken == ()


def test_what_is_read_can_be_written_and_read_again(read: Any) -> None:
    found = read(
        lines(own(), contest(), humaneval(), mbpp(), livecodebench(), method(question_id="m"))
    )
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


def test_a_first_line_that_is_broken_hides_no_other(read: Any) -> None:
    found = read(lines('{"id": "torn', own()))
    assert (found.broken[0].line, len(found.problems)) == (1, 1)


def test_entries_of_a_list_are_counted_as_such(read: Any) -> None:
    found = read(json.dumps([own(), 3, own()]), "list.json")
    assert [str(broken).partition(":")[0] for broken in found.broken] == ["entry 2", "entry 3"]
    assert "taken by entry 1" in found.broken[1].reason


def test_the_digest_is_that_of_the_usable_problems(read: Any) -> None:
    assert read(lines(own())).digest == read(lines("broken", own(), own())).digest
    assert read(lines(own())).digest != read(lines(own(title="Other"))).digest


@pytest.mark.parametrize(
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
    page = (EXAMPLES.parent / "docs" / "problems.md").read_text("utf-8")
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


steady = settings(derandomize=True, max_examples=50)

plain = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12)
problems = st.builds(
    Problem,
    id=st.text("abc/_ é", min_size=1, max_size=8).filter(str.strip),
    statement=plain.filter(str.strip),
    title=plain,
    difficulty=plain,
    time_limit_s=st.floats(0.1, 60),
    memory_limit_mb=st.integers(16, 4096),
    public_tests=st.lists(
        st.builds(Example, input=plain, output=plain), min_size=1, unique_by=lambda t: t.input
    ).map(tuple),
    checker=st.sampled_from(["tokens", "exact", "float", "special"]),
    ignore_case=st.booleans(),
    solution=plain,
    tags=st.lists(plain).map(tuple),
    source=plain,
)


@steady
@given(st.lists(problems, max_size=4).map(tuple))
def test_a_set_survives_being_written_and_read(held: tuple[Problem, ...]) -> None:
    data = encode_set(held)
    assert decode_set(data) == held
    assert encode_set(decode_set(data)) == data
    assert data.count(b"\n") == len(held)


@steady
@given(problems, problems)
def test_the_digest_names_what_is_in_a_set(one: Problem, other: Problem) -> None:
    assert (set_digest([one]) == set_digest([other])) == (one == other)
    assert len(set_digest([one])) == 64


def test_every_way_to_write_a_test_is_the_same_test() -> None:
    pairs = read_native(own())
    objects = read_native(own(public_tests=[{"input": "2\n", "output": "4\n"}]))
    assert pairs == objects


def test_notes_of_others_are_not_kept() -> None:
    assert read_native(
        own(contest="12", wrong_solutions=[{"code": "x"}], author="me")
    ) == read_native(own())


@pytest.mark.parametrize("data", [b"{}\n", b"nonsense", b"\xff\n", b'{"id":"x","statement":3}\n'])
def test_a_damaged_copy_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidInput, match="damaged"):
        decode_set(data)


def test_a_copy_that_was_tampered_with_is_checked_like_any_problem() -> None:
    with pytest.raises(InvalidInput, match="no tests"):
        decode_set(b'{"id":"x","statement":"y"}\n')
