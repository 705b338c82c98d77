"""What holds for every built-in strategy, whatever it does between draft and delivery."""

from __future__ import annotations

from typing import Any

import pytest
from tests.tournament.stage import Answer, Played, critique, cut_off, document, play, vote

from autoreason.contract import Contract
from autoreason.errors import InvalidInput, PanelFailed
from autoreason.events import CandidateDropped, CandidateReady, DraftReady, GuidanceGiven
from autoreason.exchange import Outcome, Reply, Request
from autoreason.settings import Models, make_settings
from autoreason.strategies.registry import BUILT_IN, find_strategy

BRIEF = "Say where the spare key of the boathouse is kept."
ITERATED = ("conservative", "improve", "harsh", "critique_revise")
REVISING = (*ITERATED, "self_refine")
TAKING = (*REVISING, "best_of_n")
"""Strategies that take a text as it comes, without a vote."""
SHORT: dict[str, Any] = {"passes": 3, "judges": 2, "playoff": 3}
TEN = Contract(max_words=10)
LONG = " ".join(["word"] * 20)


def numbered(request: Request) -> str:
    """A text that says where it was written."""
    return document(f"The text of {request.key.replace('/', ' ').replace('try 0', '').strip()}.")


VARIED: dict[str, Answer] = {
    "author": numbered,
    "reviser": numbered,
    "synthesizer": numbered,
    "judge": vote("pass 1 reviser", "pass 2 author"),
}


async def short(strategy: str, script: dict[str, Answer] | None = None, **changes: Any) -> Played:
    """A short run of one strategy, each text different."""
    return await play(
        {**VARIED, **(script or {})}, brief=BRIEF, strategy=strategy, **SHORT | changes
    )


def writer(strategy: str) -> str:
    """The role whose text a strategy takes in a pass."""
    return "author" if strategy == "best_of_n" else "reviser"


def first_pass(strategy: str) -> int:
    """The number of the first pass: the first draft of several is no pass."""
    return 2 if strategy == "best_of_n" else 1


@pytest.mark.parametrize("strategy", BUILT_IN)
async def test_every_role_sees_the_task_before_anything_else(strategy: str) -> None:
    played = await short(strategy, facts="The key hangs behind the oars.", contract=TEN)
    asked = played.requests
    assert asked
    for request in asked:
        assert request.messages[0].speaker == "system"
        opening = request.messages[1]
        assert opening.speaker == "user"
        assert opening.stable
        assert BRIEF in opening.text
        assert "The key hangs behind the oars." in opening.text
        assert "10 words" in opening.text


@pytest.mark.parametrize("strategy", BUILT_IN)
async def test_every_strategy_delivers_a_text_and_says_why_it_ended(strategy: str) -> None:
    delivered = (await short(strategy)).delivered
    assert delivered is not None
    assert delivered.text
    assert delivered.reason
    assert delivered.status in ("converged", "capped", "done")


@pytest.mark.parametrize("strategy", BUILT_IN)
async def test_no_key_is_asked_twice(strategy: str) -> None:
    keys = [request.key for request in (await short(strategy)).requests]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("strategy", BUILT_IN)
async def test_the_same_replies_tell_the_same_story(strategy: str) -> None:
    assert (await short(strategy)).events == (await short(strategy)).events


@pytest.mark.parametrize("strategy", TAKING)
async def test_a_breach_is_sent_back_once_and_then_not_taken(strategy: str) -> None:
    def too_long(request: Request) -> str:
        return document("Short first." if request.key.startswith("draft") else LONG)

    played = await short(strategy, {writer(strategy): too_long}, contract=TEN)
    repairs = [r.key for r in played.requests if r.key.endswith("/repair")]
    passes = {key.split("/")[1] for key in repairs}
    assert len(repairs) == len(passes) > 0
    assert all(drop.reason == "contract" for drop in played.of(CandidateDropped))
    assert not played.of(CandidateReady)
    assert played.delivered is not None
    assert played.delivered.text.startswith(("Short first.", "The text of draft"))


@pytest.mark.parametrize("strategy", TAKING)
async def test_a_text_mended_in_time_is_taken(strategy: str) -> None:
    number = first_pass(strategy)
    key = f"pass/{number}/{writer(strategy)}"
    script: dict[str, Answer] = {f"{key}/try/0": document(LONG), f"{key}/repair": document("Kept.")}
    played = await short(strategy, script, contract=TEN)
    ready = played.of(CandidateReady)[0]
    assert (ready.number, ready.text, ready.repaired) == (number, "Kept.", True)


@pytest.mark.parametrize("strategy", ["autoreason", *TAKING])
async def test_a_first_text_in_breach_yields_to_any_that_keeps_the_contract(strategy: str) -> None:
    script: dict[str, Answer] = {"draft/try/0": document(LONG), "draft/repair": document(LONG)}
    played = await short(strategy, script, contract=TEN, max_drafts=1)
    assert played.of(DraftReady)[0].violations
    assert played.delivered is not None
    assert not played.delivered.violations


@pytest.mark.parametrize("strategy", TAKING)
async def test_a_text_that_was_cut_off_is_never_taken(strategy: str) -> None:
    number = first_pass(strategy)
    key = f"pass/{number}/{writer(strategy)}"
    script: dict[str, Answer] = {f"{key}/try/0": cut_off(), f"{key}/try/1": cut_off("Half as")}
    played = await short(strategy, script)
    asked = {request.key: request for request in played.requests}
    assert asked[f"{key}/try/1"].max_tokens == 2 * asked[f"{key}/try/0"].max_tokens
    assert [d.reason for d in played.of(CandidateDropped) if d.number == number] == ["truncated"]
    assert not any(ready.text.startswith("Half") for ready in played.of(CandidateReady))
    assert played.delivered is not None
    assert not played.delivered.text.startswith("Half")


@pytest.mark.parametrize("strategy", TAKING)
async def test_a_clone_changes_nothing(strategy: str) -> None:
    same = document("The  text\nof draft.")
    played = await short(
        strategy, {writer(strategy): same, "draft/try/0": document("The text of draft.")}
    )
    assert {drop.reason for drop in played.of(CandidateDropped)} == {"clone"}
    assert played.delivered is not None
    assert played.delivered.text == "The text of draft."
    assert not played.asked("judge")


@pytest.mark.parametrize("strategy", TAKING)
async def test_a_text_about_its_own_making_is_sent_back(strategy: str) -> None:
    number = first_pass(strategy)
    key = f"pass/{number}/{writer(strategy)}"
    leak = "Here is the revised version of the text, which addresses the critique.\n\nThe key is there."
    script: dict[str, Answer] = {
        f"{key}/try/0": document(leak),
        f"{key}/rewrite": document("The key is there."),
    }
    ready = (await short(strategy, script)).of(CandidateReady)[0]
    assert (ready.text, ready.rewritten, ready.leaks) == ("The key is there.", True, ())


@pytest.mark.parametrize("strategy", REVISING)
async def test_guidance_reaches_the_next_pass(strategy: str) -> None:
    played = await short(strategy, {"pass/2/guidance": "Name the hook."})
    assert played.of(GuidanceGiven) == [GuidanceGiven(number=2, text="Name the hook.")]
    told = [
        request.key
        for request in played.requests
        if any("Name the hook." in message.text for message in request.messages)
    ]
    role = "critic/0" if strategy in ("critique_revise", "self_refine") else "reviser"
    assert told[0] == f"pass/2/{role}/try/0"
    assert not any(key.startswith("pass/1/") for key in told)


@pytest.mark.parametrize("strategy", TAKING)
async def test_authors_who_write_nothing_pause_the_run(strategy: str) -> None:
    nothing = Reply(outcome=Outcome.REFUSED, text="", model="scripted/x")
    answers: dict[str, Answer] = {writer(strategy): nothing, "draft/try/0": document("A draft.")}
    played = await short(strategy, answers)
    assert isinstance(played.interruption, PanelFailed)
    assert "2 passes in a row" in str(played.interruption)


@pytest.mark.parametrize("strategy", ["conservative", "improve", "harsh"])
async def test_iterated_revisions_take_one_call_a_pass(strategy: str) -> None:
    played = await short(strategy)
    assert [r.key for r in played.asked("reviser")] == [
        f"pass/{n}/reviser/try/0" for n in (1, 2, 3)
    ]
    assert not played.asked("judge")
    assert played.delivered is not None
    assert played.delivered.text == "The text of pass 3 reviser."
    assert (played.delivered.status, played.delivered.origin) == ("capped", "pass 3")


async def test_each_iterated_strategy_asks_in_its_own_words() -> None:
    message = {
        strategy: (await short(strategy)).asked("reviser")[0].messages[-1].text
        for strategy in ("conservative", "improve", "harsh")
    }
    assert len(set(message.values())) == 3


async def test_a_critique_that_finds_nothing_changes_nothing() -> None:
    played = await short("critique_revise", {"critic": critique()})
    assert not played.asked("reviser")
    assert played.delivered is not None
    assert played.delivered.origin == "draft"


async def test_a_strategy_that_knows_no_options_says_so() -> None:
    for strategy in BUILT_IN:
        settings = make_settings(
            Models.everywhere("echo/echo"), 1, strategy=strategy, strategy_options={"pace": 3}
        )
        with pytest.raises(InvalidInput, match="option `pace`"):
            find_strategy(strategy).check(settings)
