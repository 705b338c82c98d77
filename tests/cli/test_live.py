"""What a person sees of a run while it lasts: the account, what is under way, lines that fit."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from io import StringIO

import pytest
from rich.console import Console
from tests.artifacts.knob import research_settings, research_task
from tests.artifacts.test_research_report import FRESH, NOISE, trial
from tests.cli import made_up

from autoreason.artifacts.research_history import FinalistsMeasured
from autoreason.cli.live import Live, Plain
from autoreason.cli.screen import Screen, draw
from autoreason.events import (
    JobFinished,
    PassStarted,
    RunStarted,
)
from autoreason.exchange import (
    BatchWaiting,
    CallEnded,
    CallRetried,
    CallStarted,
    Outcome,
    QueryEnded,
    QueryStarted,
    TextArrived,
    Usage,
)


class Clock:
    """A clock that goes where it is told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def ended(key: str, cost: str | None = "0.01", outcome: Outcome = Outcome.OK) -> CallEnded:
    """A call that is over."""
    price = None if cost is None else Decimal(cost)
    return CallEnded(key, outcome, 1.0, Usage(input=100, output=50), price)


def in_pass_three() -> Live:
    """A run whose third pass has a critique and a revision."""
    live = Live("amber-fox", clock=Clock())
    for event in (
        made_up.STARTED,
        made_up.DRAFTED,
        *made_up.a_pass(1, "AB", 0, made_up.verdict(6, 8, 4)),
        *made_up.a_pass(2, "A", 1, made_up.verdict(8, 6, 4)),
        PassStarted(number=3, words=9),
        made_up.critique(3),
        made_up.challengers(3)[0],
    ):
        live.on_event(event)
    return live


def test_calls_under_way_are_named_by_what_they_are_for() -> None:
    live = in_pass_three()
    live.on_signal(CallStarted("pass/3/synthesizer/try/0", "synthesizer", "m"))
    for seat in range(3):
        live.on_signal(CallStarted(f"pass/3/judge/{seat}/try/0", "judge", "m"))
    live.on_signal(ended("pass/3/judge/1/try/0"))
    live.on_signal(CallStarted("draft/try/0", "author", "m"))
    names = ["draft, author", "pass 3, 2 judges", "pass 3, synthesizer"]
    assert sorted(live.under_way()) == names


def test_a_retry_is_in_sight_until_text_arrives() -> None:
    live = in_pass_three()
    live.on_signal(CallStarted("pass/3/synthesizer/try/0", "synthesizer", "m"))
    live.on_signal(CallRetried("pass/3/synthesizer/try/0", "overloaded", 4))
    assert live.calls["pass/3/synthesizer/try/0"].trouble == "overloaded; again in 4 s"
    live.on_signal(TextArrived("pass/3/synthesizer/try/0", "x"))
    assert live.calls["pass/3/synthesizer/try/0"].trouble == ""


def test_money_tokens_and_calls_add_up() -> None:
    live = in_pass_three()
    live.on_signal(ended("a"))
    live.on_signal(ended("b"))
    assert live.progress()[-1] == "2 of 120 calls · 300 tokens · $0.02 of $1.50"


def test_a_call_of_unknown_price_is_never_free() -> None:
    live = in_pass_three()
    live.on_signal(ended("a", None))
    assert "cost unknown of $1.50" in live.progress()[-1]
    live.on_signal(ended("b"))
    assert "$0.01 of $1.50 and 1 call of unknown price" in live.progress()[-1]


def test_the_view_says_what_would_end_the_run() -> None:
    live = in_pass_three()
    assert live.progress()[0] == "A needs 1 more survival, pass 3 of 15"
    fresh = Live(clock=Clock())
    fresh.on_event(made_up.STARTED)
    assert fresh.progress()[0] == "A needs 2 survivals in a row, at most 15 passes"


def test_a_batch_is_shown_until_it_has_ended() -> None:
    live = in_pass_three()
    sent = datetime(2026, 11, 16, 14, 3).timestamp()
    live.on_signal(BatchWaiting("pass/3/judge/0/try/0", "one", 120, 40, sent))
    live.on_signal(BatchWaiting("pass/3/judge/1/try/0", "two", 3, 0, sent))
    assert live.batch_progress() == (
        "batch of 120: 40 done, waiting since 14:03 · batch of 3: 0 done, waiting since 14:03"
    )
    live.on_signal(BatchWaiting("pass/3/judge/0/try/0", "one", 120, 120, sent))
    assert live.batch_progress() == "batch of 3: 0 done, waiting since 14:03"


def terminal(width: int = 80, height: int = 24) -> Console:
    """A terminal on paper."""
    return Console(
        width=width, height=height, force_terminal=True, file=StringIO(), color_system=None
    )


def seen(live: Live, console: Console) -> list[str]:
    """What a person would see."""
    with console.capture() as captured:
        console.print(draw(live, console))
    return captured.get().splitlines()


def busy() -> Live:
    """A run with everything going on at once."""
    live = in_pass_three()
    live.on_signal(ended("x"))
    live.on_signal(CallStarted("pass/3/synthesizer/try/0", "synthesizer", "m"))
    live.on_signal(TextArrived("pass/3/synthesizer/try/0", "and so the river\nis where it belongs"))
    for seat in range(6):
        live.on_signal(CallStarted(f"pass/3/judge/{seat}/try/0", "judge", "m"))
    live.on_signal(CallRetried("pass/3/judge/2/try/0", "overloaded", 4))
    live.stopping = True
    return live


@pytest.mark.parametrize("width", [30, 50, 80, 120])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    assert all(len(line) <= width for line in seen(busy(), terminal(width)))


def test_the_view_shows_trajectory_steps_and_limits() -> None:
    text = "\n".join(seen(busy(), terminal(100)))
    assert "amber-fox  A one-page proposal for the town's new library" in text
    assert "pass 1: AB wins, A 6 · AB 8 · B 4" in text
    assert "pass 3: critique: 2 problems: 1 critical, 1 minor" in text
    assert "and so the river is where it belongs" in text
    assert "A needs 1 more survival, pass 3 of 15" in text
    assert "1 of 120 calls · 150 tokens · $0.01 of $1.50" in text
    assert "Ctrl-C again ends at once" in text


def test_a_long_run_stays_within_the_height() -> None:
    live = Live("amber-fox", clock=Clock())
    live.on_event(made_up.STARTED)
    live.on_event(made_up.DRAFTED)
    for number in range(1, 41):
        for event in made_up.a_pass(number, "AB", 0, made_up.verdict(6, 8, 4)):
            live.on_event(event)
    live.on_event(PassStarted(number=41, words=9))
    lines = seen(live, terminal(80, 24))
    assert len(lines) < 24
    assert any("earlier" in line for line in lines)
    assert any(line.startswith("pass 40: ") for line in lines)


def test_the_screen_is_given_back_clean() -> None:
    console = terminal()
    screen = Screen(busy(), console)
    screen.open()
    screen.on_stop()
    screen.close()
    assert isinstance(console.file, StringIO)
    assert console.file.getvalue().count("\x1b[?25l") == console.file.getvalue().count("\x1b[?25h")


def test_a_whole_run_is_a_line_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    out = StringIO()
    view = Plain(Live("amber-fox", clock=Clock()), out)
    events = made_up.whole_run()
    for event in events:
        view.on_event(event)
    lines = out.getvalue().splitlines()
    assert len(lines) == len(events)
    assert lines[0].endswith(
        "A one-page proposal for the town's new library · anthropic/claude-sonnet-4 · robust · seed 4711"
    )
    assert lines[1].endswith("draft: written, 11 words")
    assert any("pass 1: critique: 2 problems" in line for line in lines)
    assert any("pass 1: revision B: 9 words; repaired" in line for line in lines)
    assert any("pass 1: judge 2: A > AB > B" in line for line in lines)
    assert any("playoff: pass 1 AB wins" in line for line in lines)
    assert lines[-1].endswith("converged: A survived 2 passes in a row; delivered is pass 1 AB")


def test_what_was_told_before_a_resume_is_not_told_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    out = StringIO()
    view = Plain(Live(clock=Clock()), out, skip=2)
    view.on_event(made_up.STARTED)
    view.on_event(made_up.DRAFTED)
    for event in made_up.a_pass(1, "AB", 0, made_up.verdict(6, 8, 4)):
        view.on_event(event)
    lines = out.getvalue().splitlines()
    assert "seed 4711" in lines[0]
    assert "critique" in lines[1]


def test_long_silence_is_broken() -> None:
    clock, out = Clock(), StringIO()
    view = Plain(Live(clock=clock), out)
    view.on_signal(CallStarted("pass/1/judge/1/try/0", "judge", "m"))
    view.on_signal(TextArrived("pass/1/judge/1/try/0", "x" * 400))
    clock.now += 10
    view.refresh()
    assert out.getvalue() == ""
    clock.now += 6
    view.refresh()
    assert "still at work: pass 1, judge for 16 s, about 100 tokens so far" in out.getvalue()
    view.refresh()
    assert len(out.getvalue().splitlines()) == 1


def test_trouble_is_worth_a_line() -> None:
    out = StringIO()
    view = Plain(Live(clock=Clock()), out)
    view.on_signal(CallStarted("pass/1/critic/0/try/0", "critic", "m"))
    view.on_signal(CallRetried("pass/1/critic/0/try/0", "overloaded", 2.5))
    assert "pass 1 critic 1 try 1: overloaded; asking again in 2.5 s" in out.getvalue()


RESEARCH_STARTED = RunStarted(
    task=research_task(), settings=research_settings(), prompts={}, version="1"
)
PLAYOFF = FinalistsMeasured(trials=(0, 1), means=(0.70, 0.72), evaluations=4, chosen=1)


def drawn(live: Live) -> str:
    """The screen as text."""
    out = StringIO()
    Console(file=out, width=100, height=30).print(draw(live, Console(width=100, height=30)))
    return out.getvalue()


def test_the_live_view_shows_trials_counts_and_evaluations_under_way() -> None:
    live = Live("amber-fox", clock=lambda: 100.0)
    live.on_event(RESEARCH_STARTED)
    live.on_signal(QueryStarted("start/evaluation/0", "evaluation"))
    assert "measuring the start" in drawn(live)
    assert "start, evaluation" in drawn(live)
    live.on_signal(QueryEnded("start/evaluation/0"))
    for event in (NOISE, trial(1, "kept"), trial(2, incumbent=1)):
        live.on_event(event)
    live.on_signal(CallStarted("trial/3/proposer/try/0", "author", "a/b"))
    live.on_signal(QueryStarted("trial/4/evaluation/0", "evaluation"))
    shown = drawn(live)
    assert "trial 1 kept" in shown
    assert "1 kept of 2 proposals; trial 2 dropped: -0.010" in shown
    assert "trial 3, author" in shown
    assert "trial 4, evaluation" in shown
    assert "13 of 60 evaluations, 1 of 25 proposals in a row not kept" in " ".join(shown.split())


def test_each_event_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    out = StringIO()
    view = Plain(Live("amber-fox"), out)
    refused = trial(2, "refused", reason="it was tried before")
    for event in (RESEARCH_STARTED, NOISE, trial(1, "kept"), refused, PLAYOFF, FRESH):
        view.on_event(event)
    view.on_event(JobFinished(reason="60 evaluations used", origin="trial 2"))
    lines = [line.strip().partition("  ")[2] for line in out.getvalue().splitlines()]
    assert lines[1:] == [
        "noise floor: 5 evaluations of the start: 0.7000 on average, spread 0.0080, 2 s each",
        "trial 1 kept: +0.020 (0.008 to 0.032), 3 evaluations; idea 1",
        "trial 2 refused: it was tried before; idea 2",
        "playoff: trial 1 chosen, by 4 fresh evaluations each: the start 0.7000, trial 1 0.7200",
        "end test: 8 pairs on fresh evaluations",
        "done: 60 evaluations used; delivered is trial 2",
    ]
