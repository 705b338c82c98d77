"""Every strategy can be left at any moment; limits, stops and replays hold for all of them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.run.leaving import Breaking, emitted, left_after_every_call
from tests.run.runs import TASK, go_on, scripted, settings, start_run
from tests.strategies.test_rivals import VARIED
from tests.tournament.stage import USUAL, vote

from autoreason.errors import ProviderFailed
from autoreason.events import FINISHED
from autoreason.exchange import Request
from autoreason.journal import Journal
from autoreason.run.recorded import replay
from autoreason.run.result import StopSwitch
from autoreason.settings import Budget
from autoreason.strategies import BUILT_IN

SHORT: dict[str, Any] = {"passes": 2, "judges": 2, "reviewers": 3, "confirmation": 2, "k": 1}
LONGER = {**SHORT, "passes": 6, "k": 6, "judges": 3, "early_stop": False}
NEWEST = vote(*(f"made in {number}" for number in range(6, 0, -1)))
SCRIPT: dict[str, Any] = {**USUAL, **VARIED}


KINDS = ("single", "harsh", "critique_revise", "self_refine", "best_of_n")
"""One of each class beside the tournament."""


def options(strategy: str) -> dict[str, Any]:
    """A strategy at its shortest."""
    own = {"strategy_options": {"n": 3}} if strategy == "best_of_n" else {}
    return {**SHORT, **own, "strategy": strategy}


@pytest.mark.parametrize("strategy", BUILT_IN)
async def test_left_after_any_call_a_strategy_ends_the_same_and_asks_nothing_twice(
    journal: Journal, strategy: str
) -> None:
    ended = await left_after_every_call(journal, TASK, settings(**options(strategy)), SCRIPT)
    assert ended.text


@pytest.mark.parametrize("strategy", KINDS)
async def test_a_spent_budget_pauses_a_strategy_and_a_higher_one_lets_it_go_on(
    journal: Journal, strategy: str
) -> None:
    whole = await start_run(journal, Breaking(SCRIPT), settings=settings(**options(strategy)))
    for calls in range(1, whole.calls):
        limited = settings(**options(strategy), budget=Budget(calls=calls))
        first = Breaking(SCRIPT)
        paused = await start_run(journal, first, settings=limited)
        assert (paused.status, paused.calls) == ("budget", calls)
        second = Breaking(SCRIPT)
        higher = {"budget": Budget(calls=whole.calls)}
        result = await go_on(journal, paused.run, second, changes=higher)
        ended = (result.status, result.text, result.calls)
        assert ended == (whole.status, whole.text, whole.calls)
        assert not set(first.asked) & set(second.asked)


async def test_passes_leave_the_review_and_the_confirmation_their_share_of_the_budget(
    journal: Journal,
) -> None:
    a_pass, after = 6, LONGER["reviewers"] + LONGER["confirmation"]
    for calls in (1, 11, 12, 17, 18, 24, 39):
        limited = settings(**LONGER, budget=Budget(calls=calls))
        ended = await start_run(journal, scripted({"judge": NEWEST}), settings=limited)
        assert ended.calls <= calls
        if calls < 1 + a_pass + after:
            assert (ended.status, ended.calls) == ("budget", 1)
            assert "fewer judges of review and confirmation" in ended.reason
        else:
            passes = min(6, (calls - 1 - after) // a_pass)
            assert (ended.status, ended.passes) == ("capped", passes)
            left = calls - 1 - passes * a_pass
            short = f"{left} of {calls} calls were left before review and confirmation"
            assert (short in ended.reason) == (passes < 6)
            assert ended.evidence.preference is not None
            assert (await replay.aio(ended.run, journal=journal)).same


async def test_a_higher_budget_lets_a_run_go_on_whatever_it_decided_under_the_lower_one(
    journal: Journal,
) -> None:
    limited = settings(**LONGER, budget=Budget(calls=18))

    def dead(request: Request) -> str:
        if request.key.startswith("review/"):
            return "I would rather not say."
        return NEWEST(request)

    # Judges who have to be asked again and again take what was set aside for the confirmation.
    paused = await start_run(journal, scripted({"judge": dead}), settings=limited)
    assert (paused.status, paused.passes) == ("budget", 2)
    higher = {"budget": Budget(calls=100)}
    result = await go_on(journal, paused.run, scripted({"judge": NEWEST}), changes=higher)
    assert (result.status, result.passes) == ("capped", 2)
    assert (await replay.aio(result.run, journal=journal)).same


@pytest.mark.parametrize("budget", [Budget(calls=24), Budget(tokens=30_000)])
async def test_a_limited_run_has_its_confirmation_or_never_began_a_pass(
    journal: Journal, budget: Budget
) -> None:
    chosen = settings("echo/echo", seed=1, k=3, budget=budget, max_tokens=600)
    ended = await start_run(journal, settings=chosen)
    assert (ended.status, ended.passes) == ("budget", 0) or ended.status in FINISHED
    row = journal.find(ended.run)
    assert row.spent.calls == ended.calls, "what it is asked about its budget is not a call"
    assert (row.spent.unpriced, row.spent.unmetered) == (0, 0)


async def test_a_run_that_pauses_after_its_review_shows_what_that_chose(journal: Journal) -> None:
    most = {**SHORT, "passes": 4, "k": 4, "reviewers": 3}

    def judge(request: Request) -> str:
        if request.key.startswith("confirmation/"):
            raise ProviderFailed("out of reach")
        return (vote("made in 2") if request.key.startswith("review/") else NEWEST)(request)

    paused = await start_run(journal, scripted({"judge": judge}), changes=most)
    assert paused.status == "provider_failed"
    assert paused.origin.startswith("pass 2")
    assert "made in 2" in (paused.text or "")
    result = await go_on(journal, paused.run, scripted({"judge": NEWEST}))
    assert result.text == paused.text


@pytest.mark.parametrize("strategy", ["autoreason", "best_of_n"])
async def test_a_person_can_stop_a_strategy_before_it_asks_anything(
    journal: Journal, strategy: str
) -> None:
    switch = StopSwitch()
    switch.stop()
    model = Breaking(SCRIPT)
    stopped = await start_run(
        journal, model, settings=settings(**options(strategy)), stop_switch=switch
    )
    assert (stopped.status, model.asked) == ("stopped", [])
    result = await go_on(journal, stopped.run, model)
    assert result.text
    assert (await replay.aio(result.run, journal=journal)).same


@pytest.mark.parametrize("strategy", ["autoreason", *KINDS])
async def test_the_order_of_replies_changes_no_story(journal: Journal, strategy: str) -> None:
    stories = []
    for luck in range(2):
        model = Breaking(SCRIPT, luck=luck)
        result = await start_run(journal, model, settings=settings(**options(strategy)))
        stories.append(emitted(journal, result.run))
    assert stories[0] == stories[1]
