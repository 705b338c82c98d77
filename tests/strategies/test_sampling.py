"""One draft, or the best of several by one blind panel."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.run.runs import go_on, scripted, settings, start_run
from tests.tournament.stage import Answer, document, play, shown_texts, vote

from autoreason.errors import InvalidInput
from autoreason.events import CandidateDropped, PlayoffDecided
from autoreason.exchange import OnSignal, Outcome, Reply, Request
from autoreason.journal import Journal
from autoreason.run.recorded import replay
from autoreason.strategies.registry import find_strategy


def drafted(request: Request) -> str:
    """A draft that says which it is."""
    number = "1" if request.key.startswith("draft") else request.key.split("/")[1]
    return document(f"Draft number {number} of them.")


def best_of(n: int, **more: Any) -> dict[str, Any]:
    """Settings of best of n."""
    return {
        "strategy": "best_of_n",
        "strategy_options": {"n": n},
        "playoff": 3,
        "confirmation": 0,
        **more,
    }


@pytest.mark.parametrize("n", [2, 5, 10])
async def test_one_panel_sees_all_the_drafts(n: int) -> None:
    played = await play({"author": drafted, "judge": vote("number 2")}, **best_of(n))
    assert len(played.asked("author")) == n
    for judge in played.asked("judge"):
        assert set(shown_texts(judge).values()) == {
            f"Draft number {number} of them." for number in range(1, n + 1)
        }
    assert {judge.key.split("/")[0] for judge in played.asked("judge")} == {"playoff"}
    assert played.delivered is not None
    assert played.delivered.text == "Draft number 2 of them."
    assert played.delivered.status == "done"


async def test_drafts_are_independent_of_each_other() -> None:
    played = await play({"author": drafted}, **best_of(4))
    assert len({request.messages for request in played.asked("author")}) == 1


async def test_clones_are_not_judged_wherever_they_stand() -> None:
    texts = {"draft": "One.", "2": "Two.", "3": "One.", "4": " Two. "}

    def repeated(request: Request) -> str:
        step = request.key.split("/")
        return document(texts["draft" if step[0] == "draft" else step[1]])

    played = await play({"author": repeated, "judge": vote("One")}, **best_of(4))
    assert all(
        sorted(shown_texts(judge).values()) == ["One.", "Two."] for judge in played.asked("judge")
    )
    assert played.delivered is not None
    assert played.delivered.text == "One."


async def test_drafts_that_are_all_the_same_need_no_panel() -> None:
    played = await play({"author": document("The one text.")}, **best_of(3))
    assert not played.asked("judge")
    assert [drop.reason for drop in played.of(CandidateDropped)] == ["clone", "clone"]
    assert played.delivered is not None
    assert played.delivered.text == "The one text."
    assert played.delivered.reason == "the best of 1 draft"


async def test_a_given_draft_is_one_of_them() -> None:
    played = await play({"author": drafted, "judge": vote("Given")}, draft="Given.", **best_of(3))
    assert len(played.asked("author")) == 2
    assert played.delivered is not None
    assert played.delivered.text == "Given."
    assert len(played.of(PlayoffDecided)[0].texts) == 3


@pytest.mark.parametrize("n", ["1", "11", "0", "-3", "many", "2.5"])
def test_a_number_of_drafts_that_cannot_be_is_one_sentence(n: str) -> None:
    chosen = settings(strategy="best_of_n", strategy_options={"n": n})
    with pytest.raises(InvalidInput) as refusal:
        find_strategy("best_of_n").check(chosen)
    assert "n" in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_the_number_may_be_typed() -> None:
    find_strategy("best_of_n").check(settings(strategy="best_of_n", strategy_options={"n": "4"}))


def test_without_a_panel_there_is_nothing_to_choose_with() -> None:
    with pytest.raises(InvalidInput, match="set `playoff` to 2"):
        find_strategy("best_of_n").check(settings(strategy="best_of_n", playoff=0))


async def test_a_single_draft_asks_once() -> None:
    played = await play({"author": drafted}, strategy="single")
    assert [request.key for request in played.requests] == ["draft/try/0"]


async def test_a_single_draft_that_is_given_asks_nothing() -> None:
    played = await play(draft="Mine.", strategy="single")
    assert not played.requests
    assert played.delivered is not None
    assert (played.delivered.text, played.delivered.status) == ("Mine.", "done")


async def test_a_panel_that_decides_nothing_chooses_nothing(journal: Journal) -> None:
    dead: dict[str, Answer] = {"author": drafted, "judge": "I would rather not say."}
    paused = await start_run(journal, scripted(dead), changes=best_of(3))
    assert paused.status == "panel_failed"
    assert "too few ballots" in paused.reason
    model = scripted({"author": drafted, "judge": vote("number 2")})
    result = await go_on(journal, paused.run, model)
    assert (result.status, result.text) == ("done", "Draft number 2 of them.")
    assert {request.role for request in model.requests} == {"judge"}
    assert len(model.requests) == 3
    assert (await replay.aio(result.run, journal=journal)).same


REFUSED = Reply(outcome=Outcome.REFUSED, text="", model="scripted/scripted")


class Slow:
    """Answers late where drafts are asked for that others gave up on."""

    address = "scripted/scripted"

    def __init__(self, script: dict[str, Answer]) -> None:
        self.inner = scripted(script)

    async def ask(self, request: Request, on_signal: OnSignal | None = None) -> Reply:
        """Drafts after the third take their time."""
        reply = await self.inner.ask(request, on_signal)
        if request.key in ("pass/4/author/try/0", "pass/5/author/try/0"):
            await asyncio.sleep(0.05)
        return reply

    async def close(self) -> None:
        """Nothing to let go of."""


async def test_drafts_on_their_way_are_recorded_though_two_authors_declined(
    journal: Journal,
) -> None:
    declined: dict[str, Answer] = {"pass/2/*": REFUSED, "pass/3/*": REFUSED, "author": drafted}
    first = Slow(declined)
    paused = await start_run(journal, first, changes=best_of(5))
    assert paused.status == "panel_failed"
    second = scripted({"author": drafted})
    result = await go_on(journal, paused.run, second)
    assert result.status == "done"
    asked = [request.key for request in (*first.inner.requests, *second.requests)]
    assert len(set(asked)) == len(asked)


async def test_a_run_that_failed_at_its_first_passes_goes_on_when_resumed(journal: Journal) -> None:
    declined: dict[str, Answer] = {"pass/2/*": REFUSED, "pass/3/*": REFUSED, "author": drafted}
    paused = await start_run(journal, scripted(declined), changes=best_of(3))
    assert paused.status == "panel_failed"
    result = await go_on(journal, paused.run, scripted({"author": drafted}))
    assert result.status == "done"
