"""`advise`: should this be run at all, and how?"""

from __future__ import annotations

from tests.cli.inside import Inside

BRIEF = "Write about tides and boats"


def test_advice_ends_with_one_sentence_and_a_command_and_has_error_rates(inside: Inside) -> None:
    said = inside("advise", BRIEF, "-m", "echo/echo", "--seed", "1")
    assert said.status == 0
    assert said.out.startswith("One draft: in 3 pilots ")
    assert "\nTo print the first draft of pilot 1: autoreason show " in said.out
    assert said.err.startswith("Expect ")
    assert "judge check: no fault of the judge is shown in 12 questions" in " ".join(
        said.err.split()
    )
    assert "judge_check, defect" not in said.err
    (run,) = inside.runs()
    shown = inside("show", run, "--evidence")
    assert "planted defects" in shown.out
    assert "tosses coins" in shown.out
    assert inside("runs", "check", run).status == 0
    assert inside("audit", run).status == 0


def test_a_dry_run_says_what_advice_takes(inside: Inside) -> None:
    said = inside("advise", BRIEF, "-m", "echo/echo", "--dry-run")
    assert "most likely about 34" in said.out
    assert "advice takes at most 36 calls" in said.out
    assert not inside.journal_exists


def test_recorded_runs_are_advice_for_nothing(inside: Inside) -> None:
    for seed in ("5", "6"):
        inside("run", BRIEF, "-m", "echo/echo", "--seed", seed, "--rounds", "1", "-q")
    runs = inside.runs()
    said = inside("advise", "--from", *runs)
    assert said.status == 0
    assert "fresh judges prefer the result to the draft" in said.out
    assert "name all there are" in inside("advise", "--from", *runs, "--evidence").out
    found = inside("advise", "--from", runs[0], "--from", runs[1], "--json").json
    assert len(found["pilots"]) == 2
    assert inside.runs() == runs
