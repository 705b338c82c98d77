"""Verdicts are remembered within bounds, and only where they are verdicts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.programs.examiner.made_up import adding

from autoreason.assignment import CodeVerdict, Example, Trial
from autoreason.programs.examiner.cache import VerdictCache, digest_of, key_of, manner_of
from autoreason.programs.sandbox.base import RunLimits

ACCEPTED = Trial(number=0, verdict=CodeVerdict.ACCEPTED)


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 2000)), max_size=60))
def test_what_is_kept_never_takes_more_than_its_room(steps: list[tuple[int, int]]) -> None:
    cache = VerdictCache(room=5000)
    for number, length in steps:
        key = number.to_bytes(4, "big")
        cache.keep(key, Trial(number=0, verdict=CodeVerdict.WRONG_ANSWER, got="x" * length))
        assert len(cache) <= 10
        assert cache.find(key) is not None


def test_the_one_longest_unused_makes_room() -> None:
    cache = VerdictCache(room=1000)
    cache.keep(b"one", ACCEPTED)
    cache.keep(b"two", ACCEPTED)
    assert cache.find(b"one") is not None
    cache.keep(b"three", ACCEPTED)
    assert cache.find(b"one") is not None
    assert cache.find(b"two") is None


def test_what_is_no_result_is_not_kept() -> None:
    cache = VerdictCache()
    cache.keep(b"one", Trial(number=0, verdict=CodeVerdict.SANDBOX_ERROR))
    assert cache.find(b"one") is None


def test_a_verdict_depends_on_all_that_could_change_it() -> None:
    problem, limits = adding(), RunLimits()
    manners = {
        manner_of(problem, limits, "landlock"),
        manner_of(problem, limits, "none"),
        manner_of(problem, RunLimits(seconds=1), "landlock"),
        manner_of(problem, RunLimits(memory=1), "landlock"),
        manner_of(replace(problem, checker="float"), limits, "landlock"),
        manner_of(replace(problem, checker="float", tolerance=0.1), limits, "landlock"),
        manner_of(replace(problem, ignore_case=True), limits, "landlock"),
        manner_of(replace(problem, checker_program="x"), limits, "landlock"),
        manner_of(replace(problem, setup="x"), limits, "landlock"),
        manner_of(replace(problem, entry_point="x"), limits, "landlock"),
    }
    assert len(manners) == 10
    keys = {
        key_of(digest_of(program), manner, test)
        for program in ("a", "b")
        for manner in manners
        for test in (Example(input="1"), Example(output="1"), Example(code="1"))
    }
    assert len(keys) == 60
