"""The marks around texts: the same in every run of a record, and never part of what they enclose."""

from __future__ import annotations

from autoreason.jobs.context import boundary

FIRST, SECOND, THIRD = "8448fe055a1a457a", "690642e10642396c", "e40eaf895e1e2542"


def test_a_boundary_follows_from_seed_and_purpose_as_records_have_it() -> None:
    assert boundary(7, "pass/1/critic/0") == FIRST
    assert boundary(7, "pass/1/critic/1") != FIRST != boundary(8, "pass/1/critic/0")


def test_a_boundary_that_stands_in_any_of_the_texts_is_drawn_again() -> None:
    assert boundary(7, "pass/1/critic/0", "One.", f"<<<TEXT {FIRST}>>>") == SECOND
    assert boundary(7, "pass/1/critic/0", f"{SECOND} and", FIRST) == THIRD
