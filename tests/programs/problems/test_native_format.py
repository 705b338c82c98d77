"""Our own format: what is written is read again, byte for byte."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.programs.problems.made_up import own

from autoreason.errors import InvalidInput
from autoreason.programs.assignment import Example
from autoreason.programs.problems.native_format import decode_set, encode_set, read_native
from autoreason.programs.problems.problem import Problem
from autoreason.programs.problems.sets import set_digest

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
