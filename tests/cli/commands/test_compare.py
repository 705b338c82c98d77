"""`compare`: does refinement help at all?"""

from __future__ import annotations

from tests.cli.inside import Inside

BRIEF = "Write about tides and boats"
SMALL = ("-m", "echo/echo", "--seed", "7", "--repeats", "2", "--rounds", "1", "--panel", "2")
TWO = ("--strategies", "improve,single")


def test_a_comparison_ends_with_what_is_shown_and_has_tables(inside: Inside) -> None:
    said = inside("compare", BRIEF, *SMALL, *TWO)
    assert said.status == 0
    first, last, *_ = said.out.splitlines()
    assert first == "Too close to call: improve and one draft are equal."
    assert last.startswith("2 repeats, 4 rankings · 8 calls, ")
    shown = inside("show", "--evidence").out
    assert "improve against" in shown
    assert "No winner" in shown
    assert all(f"try 1, {each}: " in said.err for each in ("first draft", "improve", "judges"))
    assert inside("show").out.startswith(f"{BRIEF} · ")
    assert f"comparison: {BRIEF}" in " ".join(inside("runs").out.replace("$", "").split())


def test_a_comparison_says_whose_texts_break_limits(inside: Inside) -> None:
    said = inside("compare", f"{BRIEF}. At most 5 words.", *SMALL, *TWO)
    assert "Limits are broken by improve in 2 of 2 and one draft in 2 of 2 tries." in said.out


def test_a_killed_comparison_is_shown_and_resumed(inside: Inside) -> None:
    for calls in ("1", "4", "7"):
        assert inside("compare", BRIEF, *SMALL, *TWO, "--call-limit", calls, "-q").status == 3
        shown = inside("show")
        assert shown.status == 0
        assert "autoreason resume" in shown.out
        assert inside("show", "--json").status == 0
    resumed = inside("resume", "--call-limit", "100", "--json", "-q").json
    assert resumed["status"] == "done"
