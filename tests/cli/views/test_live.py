"""The view model: what is under way, what it took, and what would end the run."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from time import process_time

from tests.cli import made_up

from autoreason.cli.views.live import Live
from autoreason.events import PassStarted
from autoreason.exchange import (
    BatchWaiting,
    CallEnded,
    CallRetried,
    CallStarted,
    Outcome,
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


def test_streamed_text_only_counts() -> None:
    live = in_pass_three()
    live.on_signal(CallStarted("pass/3/synthesizer/try/0", "synthesizer", "m"))
    arrived = [TextArrived("pass/3/synthesizer/try/0", "some words ") for _ in range(400)]
    before = process_time()
    for signal in arrived:
        live.on_signal(signal)
    assert process_time() - before < 0.05
    call = live.calls["pass/3/synthesizer/try/0"]
    assert call.tokens == 1100
    assert len(call.tail) <= 240


def test_a_retry_is_in_sight_until_text_arrives() -> None:
    live = in_pass_three()
    live.on_signal(CallStarted("pass/3/synthesizer/try/0", "synthesizer", "m"))
    live.on_signal(CallRetried("pass/3/synthesizer/try/0", "overloaded", 4))
    assert live.calls["pass/3/synthesizer/try/0"].trouble == "overloaded; again in 4.0 s"
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


def test_a_call_without_a_reply_is_not_counted() -> None:
    live = in_pass_three()
    live.on_signal(ended("a", None, Outcome.PROVIDER_ERROR))
    assert live.spent.calls == 0


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
