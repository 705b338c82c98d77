"""`judge RUN`: which decisions of a run would have come out otherwise."""

from __future__ import annotations

import pytest
from tests.cli.inside import Inside

RUN = ("-m", "echo/echo", "--seed", "1", "--passes", "2", "-q")
PANEL = ("-m", "echo/echo", "--judges", "2", "--seed", "3")


@pytest.fixture
def run(inside: Inside) -> str:
    """A recorded run."""
    assert inside("run", "Write about tides and boats", *RUN).status == 0
    return inside.runs()[0]


def test_every_decision_is_shown_beside_the_recorded_one(inside: Inside, run: str) -> None:
    said = inside("judge", run, *PANEL)
    assert said.status == 0
    assert "pass 1" in said.out
    assert "playoff" in said.out
    assert "nother panel would have decided" in said.out


def test_programs_get_the_decisions_and_only_judges_were_asked(inside: Inside, run: str) -> None:
    found = inside("judge", run, *PANEL, "--json", "-q").json
    assert found["rejudged_run"] == run
    stages = [each["stage"] for each in found["decisions"]]
    assert stages[-1] == "playoff"
    assert found["calls"] == 2 * len(stages)
    for each in found["decisions"]:
        assert each["changed"] == (each["new_winner"] != each["recorded_winner"])
    assert inside("show", found["run"], "--json").json == found
    listed = inside("runs", "--json").json
    assert [each["strategy"] for each in listed] == ["rejudge", "autoreason"]


def test_votes_are_counted_as_the_run_counted_them(inside: Inside) -> None:
    assert inside("run", "Write about tides", *RUN, "--set", "voting=copeland").status == 0
    paused = inside("judge", "last", *PANEL, "--token-limit", "4800", "-q")
    assert paused.status == 3
    assert inside("show", "--json").json["settings"]["voting"] == "copeland"


@pytest.mark.parametrize("strategy", ["single", "improve"])
def test_a_run_without_panels_is_one_sentence(inside: Inside, strategy: str) -> None:
    assert inside("run", "Write about tides", *RUN, "--strategy", strategy).status == 0
    refused = inside("judge", "last", *PANEL)
    assert refused.status == 2
    assert "has no pass over texts that a panel decided" in refused.sentence
    assert len(inside.runs()) == 1


def test_a_budget_pauses_it_and_resume_prints_the_table(inside: Inside, run: str) -> None:
    assert inside("judge", run, *PANEL, "--token-limit", "4800", "-q").status == 3
    resumed = inside("resume", "--token-limit", "900000", "-q")
    assert resumed.status == 0
    assert "nother panel would have decided" in resumed.out


def test_a_run_that_is_not_there_is_one_sentence(inside: Inside, run: str) -> None:
    refused = inside("judge", "no-such-run", *PANEL)
    assert refused.status == 2
    assert "no-such-run" in refused.sentence
    assert inside.runs() == [run]
