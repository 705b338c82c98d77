"""`judge`: a table, one plain sentence, and exit statuses that say what to do."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.cli.inside import Inside

TEXTS = {
    "alpha.md": "Alpha tides come twice a day. Boats wait for them.",
    "beta.md": "Beta tides are slow.",
    "gamma.md": "Gamma boats leave when the water is high.",
}
PANEL = ("-m", "echo/echo", "--seed", "7", "--judges", "3")


@pytest.fixture
def texts(inside: Inside) -> tuple[str, ...]:
    return tuple(inside.write(name, text) for name, text in TEXTS.items())


def test_a_panel_ends_with_three_lines_and_its_tables_are_evidence(
    inside: Inside, texts: tuple[str, ...]
) -> None:
    said = inside("judge", "Write about tides", *texts, *PANEL)
    assert said.status == 0
    assert re.match(r"Judges prefer \w+\.md: |No text is shown to be preferred: ", said.out)
    assert "All judges are echo/echo, asked " in said.out
    assert said.out.endswith("autoreason view last\n")
    assert "judge 1: " in said.err
    shown = inside("show", "--evidence").out
    assert all(name in shown for name in TEXTS)
    assert re.search(r"(?m)^(No winner|\w+\.md wins)", shown)


def test_the_report_is_a_page_too_and_the_same_once_more_with_show(
    inside: Inside, texts: tuple[str, ...]
) -> None:
    inside("judge", "Write about tides", *texts, *PANEL, "-q", "--html", "one.html")
    again = inside("show", "--html", "two.html")
    one, two = (inside.folder / name for name in ("one.html", "two.html"))
    assert one.read_text("utf-8") == two.read_text("utf-8")
    assert "<h1>" in one.read_text("utf-8")
    assert all(name in one.read_text("utf-8") for name in TEXTS)
    assert (again.out, again.err) == ("", "written to two.html\n")


def test_pairs_are_judged_in_both_orders(inside: Inside, texts: tuple[str, ...]) -> None:
    found = inside("judge", "Write about tides", *texts, *PANEL, "--pairwise", "--json", "-q").json
    assert found["calls"] == 3 * 3 * 2
    assert found["report"]["ballots"] + found["report"]["abstained"] == 9


def test_a_budget_pauses_a_panel_and_resume_prints_the_table(
    inside: Inside, texts: tuple[str, ...]
) -> None:
    paused = inside("judge", "Write about tides", *texts, *PANEL, "--token-limit", "4800", "-q")
    assert paused.status == 3
    shown = inside("show")
    assert shown.status == 0
    assert "autoreason resume" in shown.out
    resumed: Any = inside("resume", "--token-limit", "90000", "--json", "-q").json
    assert (resumed["status"], resumed["calls"]) == ("done", 3)
    assert inside("runs", "--json").json[0]["strategy"] == "judge"
    finished = inside("resume", resumed["run"])
    assert finished.status == 2
    assert f"`autoreason show {resumed['run']}` shows its result" in finished.sentence


RUN = ("-m", "echo/echo", "--seed", "1", "--rounds", "2", "-q")
SMALL_PANEL = ("-m", "echo/echo", "--judges", "2", "--seed", "3")


@pytest.fixture
def run(inside: Inside) -> str:
    assert inside("run", "Write about tides and boats", *RUN).status == 0
    return inside.runs()[0]


def test_every_decision_is_shown_beside_the_recorded_one(inside: Inside, run: str) -> None:
    said = inside("judge", run, *SMALL_PANEL)
    assert said.status == 0
    assert "nother panel would have decided" in said.out
    shown = inside("show", "--evidence").out
    assert "pass 1" in shown
    assert "review" in shown


@pytest.mark.parametrize("strategy", ["single", "improve"])
def test_a_run_without_panels_is_one_sentence(inside: Inside, strategy: str) -> None:
    assert inside("run", "Write about tides", *RUN, "--strategy", strategy).status == 0
    refused = inside("judge", "last", *SMALL_PANEL)
    assert refused.status == 2
    assert "has no round and no review of texts that a panel decided" in refused.sentence
    assert len(inside.runs()) == 1
