"""How a research run looks while it lasts: stages, counts, looks under way, one line per step."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console
from tests.artifacts.knob import research_settings, research_task
from tests.artifacts.test_research_report import FRESH, NOISE, trial

from autoreason.artifacts.trial_events import FinalistsMeasured
from autoreason.cli.views.live import Live
from autoreason.cli.views.plain import Plain
from autoreason.cli.views.screen import draw
from autoreason.events import JobFinished, RunStarted
from autoreason.exchange import CallStarted, QueryEnded, QueryStarted

STARTED = RunStarted(task=research_task(), settings=research_settings(), prompts={}, version="1")
PLAYOFF = FinalistsMeasured(trials=(0, 1), means=(0.70, 0.72), looks=4, chosen=1)


def drawn(live: Live) -> str:
    """The screen as text."""
    out = StringIO()
    Console(file=out, width=100, height=30).print(draw(live, Console(width=100, height=30)))
    return out.getvalue()


def test_the_live_view_shows_trials_counts_and_evaluations_under_way() -> None:
    live = Live("amber-fox", clock=lambda: 100.0)
    live.on_event(STARTED)
    live.on_signal(QueryStarted("start/look/0", "evaluation"))
    assert "measuring the start" in drawn(live)
    assert "start, evaluation" in drawn(live)
    live.on_signal(QueryEnded("start/look/0"))
    for event in (NOISE, trial(1, "kept"), trial(2, incumbent=1)):
        live.on_event(event)
    live.on_signal(CallStarted("trial/3/proposer/try/0", "author", "a/b"))
    live.on_signal(QueryStarted("trial/4/look/0", "evaluation"))
    shown = drawn(live)
    assert "trial 1 kept" in shown
    assert "1 kept of 2 proposals; trial 2 dropped: -0.010" in shown
    assert "trial 3, author" in shown
    assert "trial 4, evaluation" in shown
    assert "13 of 60 evaluations, 1 of 25 proposals without a keep" in " ".join(shown.split())


def test_each_event_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    out = StringIO()
    view = Plain(Live("amber-fox"), out)
    refused = trial(2, "refused", reason="it was tried before")
    for event in (STARTED, NOISE, trial(1, "kept"), refused, PLAYOFF, FRESH):
        view.on_event(event)
    view.on_event(JobFinished(reason="60 evaluations used", origin="trial 2"))
    lines = [line.strip().partition("  ")[2] for line in out.getvalue().splitlines()]
    assert lines[1:] == [
        "noise floor: 5 evaluations of the start: 0.7000 on average, spread 0.0080, 2.0 s each",
        "trial 1 kept: +0.020 (0.008 to 0.032), 3 looks; idea 1",
        "trial 2 refused: it was tried before; idea 2",
        "playoff: trial 1 chosen, by 4 fresh evaluations each: the start 0.7000, trial 1 0.7200",
        "end test: 8 pairs on fresh evaluations",
        "done: 60 evaluations used; delivered is trial 2",
    ]
