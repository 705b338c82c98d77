"""A run can be left at any moment and taken up again; nothing paid for is asked twice."""

from __future__ import annotations

import asyncio
import time
from decimal import Decimal
from math import inf
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.models.fake_provider import Answer, FakeProvider, provider
from tests.patience import PATIENCE
from tests.run.leaving import Breaking, emitted
from tests.run.runs import TASK, go_on, limited, scripted, start_run
from tests.run.suites import SMALL, run_suite
from tests.tournament.stage import UNSEEN, USUAL, critique, cut_off, vote

from autoreason.contract import Contract
from autoreason.errors import CallFailed, Failure, InvalidInput, ProviderFailed, RunLocked
from autoreason.events import (
    LIFECYCLE,
    AnyEvent,
    Delivered,
    GuidanceGiven,
    RunPaused,
    RunResumed,
)
from autoreason.exchange import (
    CallEnded,
    CallRetried,
    CallStarted,
    Outcome,
    Reply,
    Request,
    Signal,
    TextArrived,
    Usage,
)
from autoreason.journal import Journal
from autoreason.models.budget import BudgetTracker
from autoreason.models.doubles import EchoModel, ScriptedModel
from autoreason.models.layers import CircuitBreaker, ConcurrencyLimiter, RetryingModel
from autoreason.run.recorded import fork, replay
from autoreason.run.refine import refine
from autoreason.run.result import StopSwitch
from autoreason.settings import Budget

__all__ = ["provider"]


async def test_a_run_leaves_a_text_a_status_and_what_it_took(journal: Journal) -> None:
    model = EchoModel()
    result = await start_run(journal, model)
    assert result.status in ("converged", "capped")
    assert result.text
    assert journal.find(result.run).status == result.status
    spent = journal.spent(result.run)
    assert (result.calls, result.tokens, result.cost) == (spent.calls, spent.tokens, Decimal(0))


async def test_an_outage_in_the_middle_pauses_the_run_and_resume_asks_only_what_is_missing(
    journal: Journal,
) -> None:
    down = CallFailed(Failure.CONNECTION, "nobody answers")
    broken = scripted({"pass/2/reviser/try/0": down})
    paused = await start_run(journal, broken)
    assert paused.status == "provider_failed"
    assert "nobody answers" in paused.reason
    assert paused.text == "First text."

    repaired = scripted()
    result = await go_on(journal, paused.run, repaired)
    assert result.status == "converged"
    before = {request.key for request in broken.requests} - {"pass/2/reviser/try/0"}
    assert not before & {request.key for request in repaired.requests}
    assert repaired.requests[0].key == "pass/2/reviser/try/0"

    whole = await start_run(journal, scripted())
    assert emitted(journal, result.run) == emitted(journal, whole.run)


@pytest.mark.parametrize(
    ("stage", "contract", "changes", "text"),
    [
        ("pass/2", Contract(), {}, "First text."),
        ("pass/4", Contract(), {}, "Second text, made in 1."),
        ("review/4", Contract(), {}, "Second text, made in 1."),
        # No judge is to see it, or the first draft breaks a limit.
        ("pass/4", Contract(), {"reviewers": 0}, "Second text, made in 3."),
        ("pass/2", Contract(must_not_include=("First",)), {}, "Second text, made in 1."),
    ],
)
async def test_a_pause_hands_out_what_judges_put_first_and_resume_goes_on_from_the_latest(
    journal: Journal, stage: str, contract: Contract, changes: dict[str, Any], text: str
) -> None:
    usual = {"judge": vote("made in 1.")}
    down = CallFailed(Failure.CONNECTION, "nobody answers")
    options = UNSEEN | {"passes": 4, "review_every": 2, "max_drafts": 1} | changes
    task = replace(TASK, contract=contract)
    gone = scripted(usual | {f"{stage}/*": down})
    paused = await start_run(journal, gone, changes=options, task=task)
    assert (paused.text, journal.story(paused.run).text) == (text, text)
    assert fork.prepare(paused.run, journal=journal).task.draft == text
    resumed = await go_on(journal, paused.run, scripted(usual))
    whole = await start_run(journal, scripted(usual), changes=options, task=task)
    assert emitted(journal, resumed.run) == emitted(journal, whole.run)


async def test_a_run_whose_reviews_cannot_be_read_goes_on_with_judges_who_can(
    journal: Journal,
) -> None:
    options = UNSEEN | {"passes": 6, "review_every": 2}
    paused = await start_run(journal, scripted({"judge": "I cannot say."}), changes=options)
    assert (paused.status, paused.text) == ("panel_failed", "First text.")
    assert (await replay.aio(paused.run, journal=journal)).same
    result = await go_on(journal, paused.run, scripted({"judge": vote("made in 5")}))
    assert (result.status, result.text) == ("capped", "Second text, made in 5.")


async def test_judges_beside_the_one_that_fails_are_still_recorded(journal: Journal) -> None:
    gone = CallFailed(Failure.CONNECTION, "gone")
    broken = scripted({"pass/1/judge/0/try/0": gone}, latency=0.01)
    paused = await start_run(journal, broken, changes={"early_stop": False})
    kept = set(journal.replies(paused.run))
    assert {"pass/1/judge/1/try/0", "pass/1/judge/2/try/0"} <= kept


async def test_a_budget_in_calls_is_never_overshot_and_is_carried_across_resume(
    journal: Journal,
) -> None:
    model = scripted()
    paused = await start_run(journal, model, changes=limited(6))
    assert (paused.status, paused.calls, len(model.requests)) == ("budget", 6, 6)
    again = scripted()
    still = await go_on(journal, paused.run, again)
    assert (still.status, len(again.requests)) == ("budget", 0)
    result = await go_on(journal, paused.run, again, changes={"budget": Budget(calls=50)})
    assert result.status == "converged"
    assert result.calls == 6 + len(again.requests)


async def test_a_budget_in_money_counts_what_was_really_charged(journal: Journal) -> None:
    def dear(request: Request) -> Reply:
        return Reply(
            outcome=Outcome.OK,
            text="<document>\nFirst text.\n</document>",
            model=request.model,
            usage=Usage(input=1000, output=1000),
            cost=Decimal("0.04"),
        )

    model = ScriptedModel(dear, address="openai/gpt-4.1")
    paused = await start_run(journal, model, changes={"budget": Budget(cost=Decimal("0.10"))})
    assert paused.status == "budget"
    assert paused.cost is not None
    assert paused.cost <= Decimal("0.10")


@pytest.mark.parametrize(("kind", "status"), [("stop", "stopped"), ("accept", "accepted")])
async def test_commands_left_in_the_journal_reach_a_live_run(
    journal: Journal, kind: Any, status: str
) -> None:
    names: list[str] = []

    def command(_: Request) -> str:
        journal.command(names[0], kind)
        return critique("thin")

    slow = scripted({"pass/1/critic/0/try/0": command}, latency=0.35)
    result = await start_run(journal, slow, on_started=names.append)
    assert result.status == status
    assert result.text == "First text."
    if status == "accepted":
        assert isinstance(emitted(journal, result.run)[-1], Delivered)
        with pytest.raises(InvalidInput, match="is finished"):
            await go_on(journal, result.run, scripted())


async def test_where_replies_on_the_way_end_a_review_the_text_accepted_is_the_one_it_chose(
    journal: Journal,
) -> None:
    names: list[str] = []

    def accept(request: Request) -> str:
        journal.command(names[0], "accept")
        return vote("First")(request)

    slow = scripted({"judge": accept}, latency=0.35)
    changes = {"judges": 0, "candidates": "B", "review_every": 1, "reviewers": 2}
    result = await start_run(journal, slow, on_started=names.append, changes=changes)
    assert (result.status, result.text) == ("accepted", "First text.")
    ended = "you accepted the first draft, which the last review chose."
    assert ended in " ".join(result.summary())


async def test_a_stop_that_came_too_late_does_not_stop_the_resumed_run(journal: Journal) -> None:
    paused = await start_run(journal, scripted(), changes={"budget": Budget(calls=4)})
    journal.command(paused.run, "stop")
    slow = scripted(latency=0.2)
    result = await go_on(journal, paused.run, slow, changes={"budget": Budget()})
    assert result.status == "converged"


async def test_guidance_reaches_one_critic_once_also_across_a_resume(journal: Journal) -> None:
    paused = await start_run(
        journal, scripted({"pass/1/reviser/try/0": CallFailed(Failure.CONNECTION, "gone")})
    )
    journal.command(paused.run, "guide", "Mention Lisbon.")
    model = scripted()
    await go_on(journal, paused.run, model)
    critics = [each for each in model.requests if each.role == "critic"]
    told_to = [each.key for each in critics if "Mention Lisbon." in each.messages[-1].text]
    assert told_to == ["pass/2/critic/0/try/0"]
    taken = [e for e in emitted(journal, paused.run) if isinstance(e, GuidanceGiven)]
    assert [(t.number, t.text) for t in taken] == [(2, "Mention Lisbon.")]


async def test_a_run_whose_panels_failed_or_that_has_no_draft_goes_on_with_other_models(
    journal: Journal,
) -> None:
    failed = await start_run(journal, scripted({"judge": "no comment"}))
    assert failed.status == "panel_failed"
    result = await go_on(journal, failed.run, scripted())
    assert result.status == "converged"
    assert result.story.trajectory == ("?", "?", "A", "A")
    failed = await start_run(journal, scripted({"author": cut_off()}))
    assert (failed.status, failed.story.text) == ("provider_failed", None)
    result = await go_on(journal, failed.run, scripted())
    assert result.status == "converged"


async def test_a_live_or_finished_run_and_one_whose_record_no_longer_fits_are_not_resumed(
    journal: Journal,
) -> None:
    result = await start_run(journal, scripted())
    with pytest.raises(InvalidInput, match="fork"):
        await go_on(journal, result.run, scripted())
    paused = await start_run(journal, scripted(), changes=limited(3))
    with journal.lock(paused.run), pytest.raises(RunLocked, match="locked by process"):
        await go_on(journal, paused.run, scripted())
    before = journal.events(paused.run)
    with pytest.raises(InvalidInput, match="asks something else"):
        await go_on(journal, paused.run, scripted(), changes={"seed": 8})
    assert journal.events(paused.run) == before


@pytest.mark.parametrize(("stage", "passes"), [("pass/3", 1), ("review/judge/4", 6)])
async def test_a_pass_cap_that_does_not_fit_the_record_is_refused_and_nothing_is_paid(
    journal: Journal, stage: str, passes: int
) -> None:
    newest = vote("made in 3", "made in 2", "made in 1")

    def until(request: Request) -> str:
        if request.key.startswith(stage):
            raise ProviderFailed("the provider is out of reach")
        return newest(request)

    paused = await start_run(journal, scripted({"judge": until}), changes={"passes": 3})
    assert paused.status == "provider_failed"
    again = scripted()
    changes = {"passes": passes}
    with pytest.raises(InvalidInput, match="leave them out, or fork the run") as refused:
        await go_on(journal, paused.run, again, changes=changes)
    assert "cannot go on with these changes of `passes` (" in str(refused.value)
    assert "another version" not in str(refused.value)
    assert not again.requests
    assert (await go_on(journal, paused.run, scripted({"judge": newest}))).text


@pytest.mark.parametrize("calls", [1, 2, 3, 4, 7])
async def test_accepting_a_paused_run_ends_it_without_another_call(
    journal: Journal, calls: int
) -> None:
    paused = await start_run(journal, scripted(), changes=limited(calls))
    journal.command(paused.run, "accept")
    model = scripted()
    result = await go_on(journal, paused.run, model)
    assert (result.status, result.text, model.requests) == ("accepted", "First text.", [])
    assert journal.pending_commands(paused.run) == []


async def test_accepting_a_run_whose_last_call_then_fails_is_still_obeyed(
    journal: Journal,
) -> None:
    names: list[str] = []

    def accept(_: Request) -> Exception:
        journal.command(names[0], "accept")
        return CallFailed(Failure.CONNECTION, "gone")

    model = scripted({"pass/1/reviser/try/0": accept}, latency=0.6)
    result = await start_run(journal, model, on_started=names.append)
    assert (result.status, result.text) == ("accepted", "First text.")


def patient(model: ScriptedModel) -> RetryingModel:
    return RetryingModel(model, limiter=ConcurrencyLimiter(), breaker=CircuitBreaker("scripted"))


async def test_a_stop_does_not_wait_for_a_call_that_only_waits_to_be_tried_again(
    journal: Journal,
) -> None:
    switch = StopSwitch()
    down = ScriptedModel(lambda _: CallFailed(Failure.RATE_LIMIT, "slow down", retry_after=119))

    def hear(signal: Signal) -> None:
        if isinstance(signal, CallRetried):
            switch.stop()

    started = time.monotonic()
    result = await start_run(journal, patient(down), stop_switch=switch, on_signal=hear)
    assert result.status == "stopped"
    assert time.monotonic() - started < PATIENCE


async def test_a_stop_waits_for_a_reply_that_is_on_its_way(journal: Journal) -> None:
    switch = StopSwitch()

    def stop(_: Request) -> str:
        switch.stop()
        return "Too late to stop this one."

    slow = patient(scripted({"author": stop}, latency=1.2))
    result = await start_run(journal, slow, stop_switch=switch)
    assert (result.status, result.calls) == ("stopped", 1)


async def test_events_and_signals_can_be_followed(journal: Journal) -> None:
    events: list[AnyEvent] = []
    signals: list[Signal] = []
    result = await start_run(journal, scripted(), on_event=events.append, on_signal=signals.append)
    assert events == [item.event for item in journal.events(result.run)]
    started = [s.key for s in signals if isinstance(s, CallStarted)]
    ended = [s.key for s in signals if isinstance(s, CallEnded)]
    assert sorted(started) == sorted(ended)
    assert len(started) == result.calls
    streamed = "".join(
        s.text for s in signals if isinstance(s, TextArrived) and s.key == "draft/try/0"
    )
    assert "First text." in streamed


async def test_a_resumed_run_tells_its_story_from_the_start(journal: Journal) -> None:
    paused = await start_run(journal, scripted(), changes=limited(7))
    events, signals = list[AnyEvent](), list[Signal]()
    told: dict[str, Any] = {"on_event": events.append, "on_signal": signals.append}
    limits = {"budget": Budget()}
    result = await go_on(journal, paused.run, scripted(), changes=limits, **told)
    assert [e for e in events if not isinstance(e, LIFECYCLE)] == emitted(journal, result.run)
    assert sum(isinstance(s, CallEnded) and s.replayed for s in signals) == 7
    kinds = [
        type(item.event) for item in journal.events(result.run) if isinstance(item.event, LIFECYCLE)
    ]
    assert kinds[1:] == [RunPaused, RunResumed]


async def test_limits_changed_at_resume_are_kept_for_the_next_one(journal: Journal) -> None:
    paused = await start_run(journal, scripted(), changes=limited(2))
    await go_on(journal, paused.run, scripted(), changes={"budget": Budget(calls=4)})
    third = await go_on(journal, paused.run, scripted())
    assert third.calls == 4


@pytest.mark.parametrize(
    ("before", "after"), [(None, 400), (400, None), (400, 300), (None, 9), (None, None)]
)
async def test_a_run_takes_any_limit_it_keeps_to_when_it_goes_on(
    journal: Journal, before: int | None, after: int | None
) -> None:
    left = await start_run(
        journal, Breaking(USUAL, calls=7), changes={"budget": Budget(calls=before)}
    )
    assert left.status == "provider_failed"
    changed = {"budget": Budget(calls=after)}
    result = await go_on(journal, left.run, Breaking(USUAL), changes=changed)
    assert result.status == ("budget" if after == 9 else "converged")
    assert after is None or result.calls <= max(after, left.calls)


MODEL = "ollama/fake-large"
LIMIT = Budget(seconds=5)


class Clock:
    """Time that passes when a test says so."""

    left = 1.0

    def run_out(self, answer: Answer) -> Answer:
        self.left = 0.0
        return answer


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of every budget with a time limit."""
    clock = Clock()

    def seconds_left(tracker: BudgetTracker) -> float:
        return clock.left if tracker._budget.seconds else inf

    monkeypatch.setattr(BudgetTracker, "seconds_left", property(seconds_left))
    return clock


def refusing(status: int) -> Answer:
    """An answer that asks to wait for longer than any test does."""
    body = {"error": {"message": "not now"}}
    return Answer(status=status, body=body, headers={"retry-after": "110"})


@pytest.mark.parametrize("status", [429, 500])
async def test_a_time_limit_ends_the_wait_for_a_retry_and_says_what_was_answered(
    provider: FakeProvider, clock: Clock, status: int
) -> None:
    provider.minded = lambda body: clock.run_out(refusing(status)) if body else Answer()
    async with asyncio.timeout(PATIENCE):
        paused = await refine.aio("Tides.", MODEL, base_url=provider.openai, budget=LIMIT)
    answered = f"ollama answered {status}: not now"
    reached = f"paused at the budget: the time limit of 5 s is reached; {answered}"
    assert paused.conclusion == reached
    assert f"autoreason resume {paused.run} --time-limit " in paused.to_text()
    assert paused.summary()[0] == f"Paused at your limit of 5 s, while {answered}."


async def test_a_call_under_way_at_the_time_limit_is_still_waited_for(
    provider: FakeProvider, clock: Clock
) -> None:
    provider.minded = lambda body: clock.run_out(Answer(delay=1.5)) if body else Answer()
    paused = await refine.aio("Tides.", MODEL, base_url=provider.openai, budget=LIMIT)
    assert paused.status == "budget"
    assert paused.calls == 1


async def test_the_time_limit_of_a_suite_ends_the_waits_of_its_cells(
    tmp_path: Path, journal: Journal, provider: FakeProvider, clock: Clock
) -> None:
    provider.minded = lambda body: clock.run_out(refusing(429)) if body else Answer()
    options: dict[str, Any] = {"base_url": provider.openai, "budget": LIMIT}
    async with asyncio.timeout(PATIENCE):
        paused = await run_suite(tmp_path, journal, SMALL, model=MODEL, **options)
    reached = "the time limit of 5 s is reached; ollama answered 429: not now"
    assert paused.reason == f"all cells together: {reached}"


async def test_the_time_limit_of_a_suite_ends_the_waits_in_other_processes(
    tmp_path: Path, journal: Journal, provider: FakeProvider
) -> None:
    provider.minded = lambda body: refusing(429) if body else Answer()
    options: dict[str, Any] = {"base_url": provider.openai, "budget": LIMIT, "workers": 1}
    async with asyncio.timeout(PATIENCE):
        paused = await run_suite(tmp_path, journal, SMALL, model=MODEL, **options)
    assert paused.reason.startswith("all cells together: the time limit")


async def test_a_stop_that_waited_long_enough_ends_a_reply_under_way(
    provider: FakeProvider,
) -> None:
    switch = StopSwitch()

    def answer(body: object) -> Answer:
        if body:
            switch.stop(wait=0.0)
        return Answer(delay=3600 if body else 0)

    provider.minded = answer
    async with asyncio.timeout(PATIENCE):
        stopped = await refine.aio("Tides.", MODEL, base_url=provider.openai, stop_switch=switch)
    assert stopped.status == "stopped"
    assert "asked again" in stopped.reason
