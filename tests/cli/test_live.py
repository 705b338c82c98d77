"""What a person sees of a run while it lasts: each round, what is under way, lines that fit."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from io import StringIO

import pytest
from msgspec.structs import replace
from rich.console import Console
from tests.artifacts.knob import research_settings, research_task
from tests.artifacts.test_research_report import FRESH, NOISE, trial
from tests.cli import made_up

from autoreason.artifacts.research_history import FinalistsMeasured
from autoreason.cli.live import Live
from autoreason.cli.progress import Plain, describe_progress, describe_spending
from autoreason.cli.screen import Screen, draw
from autoreason.events import (
    AnyEvent,
    BallotCast,
    DraftWritten,
    GuidanceGiven,
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
from autoreason.report.numbers import roughly
from autoreason.run.estimate import plan_run
from autoreason.settings import Budget

BEGUN = (made_up.STARTED, made_up.DRAFTED)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def ended(key: str, cost: str | None = "0.01", outcome: Outcome = Outcome.OK) -> CallEnded:
    price = None if cost is None else Decimal(cost)
    return CallEnded(key, outcome, 1.0, Usage(input=100, output=50), price)


def told(*events: AnyEvent) -> Live:
    """A view that heard of these."""
    live = Live("amber-fox", clock=Clock())
    for event in events:
        live.on_event(event)
    return live


def in_pass_three() -> Live:
    """A run whose third pass has a critique and a revision."""
    return told(
        *BEGUN,
        *made_up.a_pass(1, "AB", 0, made_up.verdict(6, 8, 4)),
        *made_up.a_pass(2, "A", 1, made_up.verdict(8, 6, 4)),
        PassStarted(number=3, words=9),
        made_up.critique(3),
        made_up.challengers(3)[0],
    )


def test_a_retry_is_in_sight_until_text_arrives() -> None:
    live = in_pass_three()
    live.on_signal(CallStarted("pass/3/synthesizer/try/0", "synthesizer", "m"))
    live.on_signal(CallRetried("pass/3/synthesizer/try/0", "the provider is busy (429)", 12))
    (call,) = live.calls.values()
    assert call.waiting(live.clock() + 2) == "waiting 10 s: the provider is busy (429)"
    assert call.waiting(live.clock() + 12) == "asked again: the provider is busy (429)"
    live.on_signal(TextArrived("pass/3/synthesizer/try/0", "x"))
    assert call.waiting(live.clock()) == ""


def spent(live: Live) -> list[str]:
    return describe_spending(live.story, live.spent)


def test_money_and_calls_add_up_and_a_call_of_unknown_price_is_never_free() -> None:
    live = in_pass_three()
    live.on_signal(ended("a", None))
    assert spent(live)[0] == "cost unknown of $1.50"
    live.on_signal(ended("b"))
    assert spent(live)[0] == "$0.01 of $1.50 and 1 call of unknown price"
    priced = in_pass_three()
    for key in ("a", "b"):
        priced.on_signal(ended(key))
    assert spent(priced) == ["$0.02 of $1.50", "2 of 120 calls"]
    free = replace(made_up.SETTINGS, budget=Budget())
    unpaid = told(replace(made_up.STARTED, settings=free))
    unpaid.on_signal(ended("a", "0"))
    assert spent(unpaid) == ["1 call"]


def test_the_time_left_is_said_once_the_pace_is_known_and_never_passes_a_limit() -> None:
    live = in_pass_three()
    live.started = live.clock() - 60
    settings = live.story.settings = replace(made_up.STARTED.settings, budget=Budget())
    for at in range(10):
        assert " left" not in describe_progress(live)
        live.on_signal(ended(f"pass/1/judge/{at}/try/0"))
    plans = plan_run(made_up.STARTED.task, settings) or ()
    _, likely, high = (sum(each.values()) for each in plans)
    # Six seconds a call.
    about = f"about {roughly(6 * likely - 60)} left, at most {roughly(6 * high - 60)}"
    assert f" · 1:00 · {about} · " in describe_progress(live)
    assert f"A{about[1:]}" in drawn(live)
    for budget in (Budget(seconds=70), Budget(cost=Decimal("0.1167"))):
        live.story.settings = replace(settings, budget=budget)
        assert " · at most 10 s left · " in describe_progress(live)


def test_a_batch_is_shown_until_it_has_ended() -> None:
    live = in_pass_three()
    sent = datetime(2026, 11, 16, 14, 3).timestamp()
    live.on_signal(BatchWaiting("pass/3/judge/0/try/0", "one", 120, 40, sent))
    live.on_signal(BatchWaiting("pass/3/judge/1/try/0", "two", 3, 0, sent))
    other = "batch of 3: 0 done, waiting since 14:03"
    assert live.batch_progress() == f"batch of 120: 40 done, waiting since 14:03 · {other}"
    live.on_signal(BatchWaiting("pass/3/judge/0/try/0", "one", 120, 120, sent))
    assert live.batch_progress() == other


def terminal(width: int = 80, height: int = 24) -> Console:
    return Console(
        width=width, height=height, force_terminal=True, file=StringIO(), color_system=None
    )


def seen(live: Live, console: Console) -> list[str]:
    with console.capture() as captured:
        console.print(draw(live, console))
    return captured.get().splitlines()


def busy() -> Live:
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


def test_the_view_is_a_line_for_each_round_and_the_steps_of_the_present_one() -> None:
    live = busy()
    live.stopping = False
    assert seen(live, terminal()) == [
        "A one-page proposal for … $0.01 of $1.50 · 1 of 120 calls · 0:00 · round 3 of 15",
        "",
        "○ first draft     11 words",
        "◆ round 1         the merge won, 2 of 3 judges",
        "■ round 2         kept on points, first places split 2 to 1",
        "  round 3",
        "    ✓ critic      2 faults, 1 serious: “build a library”",
        "    ✓ rewrite     9 words; put right once, to keep the limits",
        "    ⠋ merge       6 words …",
        "    ⠋ judges      0 of 6; waiting 4 s: overloaded",
        "",
        "Kept 1 time in a row; at 2 it stops.",
        "Ctrl-C stop, resume later · in another terminal, autoreason tell: guide, accept",
    ]
    live.watched = True
    assert seen(live, terminal())[-1] == "Ctrl-C end watching; the run goes on"
    live.stopping = True
    assert "Ctrl-C again ends at once" in " ".join(" ".join(seen(live, terminal())).split())


def test_a_round_is_given_in_the_words_of_a_judge() -> None:
    live = told(*BEGUN)
    *before, decided = made_up.a_pass(1, "AB", 0, made_up.verdict(6, 8, 4))
    for event in before:
        is_vote = isinstance(event, BallotCast)
        live.on_event(replace(event, reasoning="Q says who pays. R rambles.") if is_vote else event)
    live.on_event(decided)
    round_one = "◆ round 1         the merge won, 2 of 3 judges  “says who pays.”"
    assert round_one in seen(live, terminal())


def test_something_always_moves() -> None:
    live = told(made_up.STARTED)
    moving = []
    for event in made_up.whole_run()[1:-1]:
        live.on_event(event)
        moving.append(any("⠋" in line for line in seen(live, terminal())))
    assert all(moving)


def test_what_was_left_out_and_why_is_said() -> None:
    lost = DraftWritten(number=1, text="…", words=612, violations=made_up.BROKEN)
    live = told(made_up.STARTED, *(replace(lost, number=number) for number in (1, 2, 3)))
    live.on_signal(CallStarted("drafts/4/try/0", "author", "m"))
    tried = "⠋ first draft     try 4 of at most 10; three broke a limit (612 words, at most …"
    assert tried in seen(live, terminal())
    live.on_event(replace(made_up.DRAFTED, violations=made_up.BROKEN))
    live.on_event(PassStarted(number=1, words=9))
    live.on_event(made_up.LOST)
    live.on_signal(CallStarted("pass/1/draft/1/try/0", "author", "m"))
    text = "\n".join(seen(live, terminal(100)))
    assert "✓ merge       left out: it breaks a limit (612 words, at most 500 allowed)" in text
    assert "⠋ rewrite     new draft, try 2 of at most 4" in text
    assert "The text so far breaks a limit; until one keeps them, no round counts." in text


def test_a_new_draft_is_said_not_to_have_what_the_critic_was_told() -> None:
    guided = GuidanceGiven(number=1, text="Shorter.")
    live = told(*BEGUN, PassStarted(number=1, words=9), guided)
    said = live.on_event(replace(made_up.challengers(1)[0], repaired=False, fresh=True))
    assert said == "round 1: new draft: 9 words; written from the brief, without your message"
    assert f"✓ rewrite     {said.partition('draft: ')[2]}" in "\n".join(seen(live, terminal(100)))


def test_after_the_rounds_the_review_and_the_fresh_judges_are_shown() -> None:
    live = told(*made_up.whole_run()[:-2])
    text = "\n".join(seen(live, terminal()))
    assert "⠋ review          7 of 7: 6 for the text of round 1, 1 for the first draft" in text
    assert "· fresh judges    0 of 9" in text
    assert "The rounds are over." in text


def test_without_a_vote_in_each_round_the_next_review_is_named_and_what_the_last_one_did() -> None:
    begun = replace(made_up.STARTED, settings=made_up.UNSEEN)
    live = told(begun, made_up.DRAFTED, *made_up.unseen_pass(1)[:-1])
    assert seen(live, terminal())[2:-1] == [
        "○ first draft     11 words",
        "  round 1",
        "    ✓ critic      2 faults, 1 serious: “build a library”",
        "    ✓ rewrite     9 words; put right once, to keep the limits",
        "",
        "Next review after round 2.",
    ]
    for event in (made_up.unseen_pass(1)[-1], *made_up.unseen_pass(2), *made_up.back()[:2]):
        live.on_event(event)
    for seat in range(2, 7):
        live.on_signal(CallStarted(f"review/2/judge/{seat}/try/0", "judge", "m"))
    assert " review after round 2 · " in describe_progress(live)
    assert seen(live, terminal())[-4:-1] == [
        "⠋ review          2 of 7: 2 for the text of round 1",
        "",
        "It goes on from the text that judges put first.",
    ]
    live.calls.clear()
    for event in made_up.back()[2:]:
        live.on_event(event)
    assert seen(live, terminal())[3:-1] == [
        "▲ round 1         rewritten: 9 words; put right once, to keep the limits",
        "▲ round 2         rewritten: 9 words; put right once, to keep the limits",
        "← review          the text of round 1 is put first by 7 of 7 judges: back to it",
        "⠋ round 3         ",
        "",
        "Next review after round 4.",
    ]
    wide = "rewritten: 9 words; put right once, to keep the limits  “No cost.”"
    assert seen(live, terminal(120))[3] == f"▲ round 1         {wide}"
    live.on_signal(CallStarted("confirmation/judge/0/try/0", "judge", "m"))
    assert " fresh judges · " in describe_progress(live)
    assert "⠋ fresh judges    0 of 9" in seen(live, terminal())


def test_a_long_run_stays_within_the_height() -> None:
    won = made_up.verdict(6, 8, 4)
    rounds = [each for n in range(1, 41) for each in made_up.a_pass(n, "AB", 0, won)]
    live = told(*BEGUN, *rounds, PassStarted(number=41, words=9))
    lines = seen(live, terminal(80, 24))
    assert len(lines) < 24
    assert any("earlier rounds" in line for line in lines)
    assert any(line.startswith("◆ round 40 ") for line in lines)


def test_the_screen_is_given_back_clean() -> None:
    console = terminal()
    screen = Screen(busy(), console)
    screen.open()
    screen.on_stop()
    screen.close()
    assert isinstance(console.file, StringIO)
    assert console.file.getvalue().count("\x1b[?25l") == console.file.getvalue().count("\x1b[?25h")


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """What is printed of events into a file."""
    monkeypatch.setenv("COLUMNS", "200")

    def lines(*events: AnyEvent, skip: int = 0) -> list[str]:
        out = StringIO()
        view = Plain(Live("amber-fox", clock=Clock()), out, skip=skip)
        for event in events:
            view.on_event(event)
        return out.getvalue().splitlines()

    return lines


def test_a_whole_run_is_a_line_a_step(printed: Callable[..., list[str]]) -> None:
    lines = printed(*made_up.whole_run())
    assert lines[:6] == [
        "0:00 A one-page proposal for the town's new library · amber-fox",
        "0:00 first draft: 11 words",
        "0:00 round 1: critic: 2 faults, 1 serious (1 left out: quotes what is not in the text)",
        "0:00 round 1: rewrite: 9 words; put right once, to keep the limits",
        "0:00 round 1: merge: 6 words",
        "0:00 round 1: the merge won, 2 of 3 judges",
    ]
    assert lines[-2:] == [
        "0:00 round 3: kept on points, first places split 2 to 1",
        "0:00 review after round 3: the text of round 1 is put first by 6 of 7 judges",
    ]
    words = re.findall(r"\w+", " ".join(lines))
    assert {"A", "B", "AB", "pass", "ballot", "panel"} & {*words} == {"A"}, "of the title"


def test_what_was_printed_before_a_resume_is_not_printed_again(
    printed: Callable[..., list[str]],
) -> None:
    lines = printed(*BEGUN, *made_up.a_pass(1, "AB", 0, made_up.verdict(6, 8, 4)), skip=2)
    assert "new library" in lines[0]
    assert "critic" in lines[1]


def test_long_silence_is_broken_and_trouble_is_worth_a_line() -> None:
    clock, out = Clock(), StringIO()
    view = Plain(Live(clock=clock), out)
    view.live.on_event(made_up.STARTED)
    view.on_signal(CallStarted("draft/try/0", "author", "m"))
    clock.now += 10
    view.refresh()
    assert out.getvalue() == ""
    clock.now += 6
    view.refresh()
    assert "0:16 still at work: autoreason  first draft · $0.00 of $1.50 · " in out.getvalue()
    view.refresh()
    assert len(out.getvalue().splitlines()) == 1
    view.on_signal(CallStarted("pass/1/critic/0/try/0", "critic", "m"))
    view.on_signal(CallRetried("pass/1/critic/0/try/0", "overloaded", 2.5))
    assert "critic: overloaded; asked again in 2.5 s" in out.getvalue()


RESEARCH_STARTED = RunStarted(
    task=research_task(), settings=research_settings(), prompts={}, version="1"
)
REVIEW = FinalistsMeasured(trials=(0, 1), means=(0.70, 0.72), evaluations=4, chosen=1)


def drawn(live: Live) -> str:
    return "\n".join(seen(live, terminal(100, 30)))


def test_research_is_one_line_with_what_is_not_proven_yet() -> None:
    live = told(RESEARCH_STARTED)
    live.on_signal(QueryStarted("start/evaluation/0", "evaluation"))
    assert "research  0 of 60 evaluations · measuring the start · 0 calls" in drawn(live)
    live.on_signal(QueryEnded("start/evaluation/0"))
    for event in (NOISE, trial(1, "kept"), trial(2, incumbent=1), trial(3, incumbent=1)):
        live.on_event(event)
    live.on_signal(CallStarted("trial/3/proposer/try/0", "author", "a/b"))
    shown = " ".join(drawn(live).split())
    assert "score 0.7000 → 0.7200 so far (unproven) · 1 kept of 3" in shown
    assert "the last 2 not kept, at 25 it stops" in shown


def test_each_event_is_one_line(printed: Callable[..., list[str]]) -> None:
    refused = trial(2, "refused", reason="it was tried before")
    lines = printed(RESEARCH_STARTED, NOISE, trial(1, "kept"), refused, REVIEW, FRESH)
    assert [line.partition(" ")[2] for line in lines[1:]] == [
        "noise: 5 evaluations of the start: 0.7000 on average, spread 0.0080, 2 s each",
        "trial 1 kept: +0.020 (0.008 to 0.032), 3 evaluations; idea 1",
        "trial 2 refused: it was tried before; idea 2",
        "finalists: trial 1 chosen, by 4 fresh evaluations each: the start 0.7000, trial 1 0.7200",
        "end test: 8 pairs on fresh evaluations",
    ]
