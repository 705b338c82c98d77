"""Verdicts are remembered within bounds, and only where they are verdicts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.programs.examiner.made_up import adding

from autoreason.programs.assignment import CodeVerdict, Example, Trial
from autoreason.programs.examiner.cache import VerdictCache, cache_key, digest, settings_digest
from autoreason.programs.sandbox.base import RunLimits

ACCEPTED = Trial(number=0, verdict=CodeVerdict.ACCEPTED)


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 2000)), max_size=60))
def test_what_is_kept_never_takes_more_than_its_room(steps: list[tuple[int, int]]) -> None:
    cache = VerdictCache(max_bytes=5000)
    for number, length in steps:
        key = number.to_bytes(4, "big")
        cache.store(key, Trial(number=0, verdict=CodeVerdict.WRONG_ANSWER, got="x" * length))
        assert len(cache) <= 10
        assert cache.find(key) is not None


def test_the_one_longest_unused_makes_room() -> None:
    cache = VerdictCache(max_bytes=1000)
    cache.store(b"one", ACCEPTED)
    cache.store(b"two", ACCEPTED)
    assert cache.find(b"one") is not None
    cache.store(b"three", ACCEPTED)
    assert cache.find(b"one") is not None
    assert cache.find(b"two") is None


def test_what_is_no_result_is_not_kept() -> None:
    cache = VerdictCache()
    cache.store(b"one", Trial(number=0, verdict=CodeVerdict.SANDBOX_ERROR))
    assert cache.find(b"one") is None


def test_a_verdict_depends_on_all_that_could_change_it() -> None:
    problem, limits = adding(), RunLimits()
    settings_digests = {
        settings_digest(problem, limits, "landlock"),
        settings_digest(problem, limits, "none"),
        settings_digest(problem, RunLimits(seconds=1), "landlock"),
        settings_digest(problem, RunLimits(memory=1), "landlock"),
        settings_digest(replace(problem, checker="float"), limits, "landlock"),
        settings_digest(replace(problem, checker="float", tolerance=0.1), limits, "landlock"),
        settings_digest(replace(problem, ignore_case=True), limits, "landlock"),
        settings_digest(replace(problem, checker_program="x"), limits, "landlock"),
        settings_digest(replace(problem, setup="x"), limits, "landlock"),
        settings_digest(replace(problem, entry_point="x"), limits, "landlock"),
    }
    assert len(settings_digests) == 10
    keys = {
        cache_key(digest(program), settings, test)
        for program in ("a", "b")
        for settings in settings_digests
        for test in (Example(input="1"), Example(output="1"), Example(code="1"))
    }
    assert len(keys) == 60
