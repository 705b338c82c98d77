"""What holds for every built-in strategy, and what each of the simpler ones does of its own."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.run.runs import go_on, scripted, settings, start_run
from tests.tournament.stage import (
    Answer,
    Played,
    critique,
    cut_off,
    document,
    play,
    shown_texts,
    vote,
)

from autoreason.contract import Contract
from autoreason.errors import InvalidInput, PanelFailed
from autoreason.events import (
    CandidateDropped,
    CandidateReady,
    CritiqueWritten,
    DraftReady,
    GuidanceGiven,
    PassDecided,
    ReviewDecided,
)
from autoreason.exchange import OnSignal, Outcome, Reply, Request
from autoreason.journal import Journal
from autoreason.run.recorded import replay
from autoreason.settings import Models, make_settings
from autoreason.strategies import BUILT_IN, find_strategy

BRIEF = "Say where the spare key of the boathouse is kept."
ITERATED = ("conservative", "improve", "harsh", "critique_revise")
REVISING = (*ITERATED, "self_refine")
TAKING = (*REVISING, "best_of_n")
"""Strategies that take a text as it comes, without a vote."""
SHORT: dict[str, Any] = {"passes": 3, "judges": 2, "reviewers": 3}
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
    """The number of the first pass: the first draft of several is not a pass."""
    return 2 if strategy == "best_of_n" else 1


@pytest.mark.parametrize("strategy", BUILT_IN)
async def test_every_strategy_delivers_and_every_role_sees_the_task_before_anything_else(
    strategy: str,
) -> None:
    facts = "The key hangs behind the oars."
    played = await short(strategy, facts=facts, contract=TEN)
    assert played.requests
    for request in played.requests:
        system, opening = request.messages[:2]
        assert (system.speaker, opening.speaker, opening.stable) == ("system", "user", True)
        assert all(said in opening.text for said in (BRIEF, facts, "10 words"))
    keys = [request.key for request in played.requests]
    assert len(set(keys)) == len(keys)
    assert played.delivered.text
    assert played.delivered.reason
    assert played.delivered.status in ("converged", "capped", "done")
    assert (await short(strategy, facts=facts, contract=TEN)).events == played.events


@pytest.mark.parametrize("strategy", TAKING)
async def test_a_breach_or_leak_is_sent_back_once_and_a_text_taken_if_repaired(
    strategy: str,
) -> None:
    def too_long(request: Request) -> str:
        return document("Short first." if request.key.startswith("draft") else LONG)

    played = await short(strategy, {writer(strategy): too_long}, contract=TEN)
    repairs = [r.key for r in played.requests if r.key.endswith("/repair")]
    passes = {key.split("/")[1] for key in repairs}
    assert len(repairs) == len(passes) > 0
    assert all(drop.reason == "contract" for drop in played.of(CandidateDropped))
    assert not played.of(CandidateReady)
    assert played.delivered.text.startswith(("Short first.", "The text of draft"))
    number = first_pass(strategy)
    key = f"pass/{number}/{writer(strategy)}"
    script: dict[str, Answer] = {f"{key}/try/0": document(LONG), f"{key}/repair": document("Kept.")}
    played = await short(strategy, script, contract=TEN)
    ready = played.of(CandidateReady)[0]
    assert (ready.number, ready.text, ready.repaired) == (number, "Kept.", True)
    leak = "Here is the revised version of the text, which addresses the critique.\n\nThe key is there."
    script = {f"{key}/try/0": document(leak), f"{key}/rewrite": document("The key is there.")}
    ready = (await short(strategy, script)).of(CandidateReady)[0]
    assert (ready.text, ready.rewritten, ready.leaks) == ("The key is there.", True, ())


@pytest.mark.parametrize("strategy", ["autoreason", *TAKING])
async def test_a_first_text_in_breach_yields_to_any_that_keeps_the_contract(strategy: str) -> None:
    script: dict[str, Answer] = {"draft/try/0": document(LONG), "draft/repair": document(LONG)}
    played = await short(strategy, script, contract=TEN, max_drafts=1)
    assert played.of(DraftReady)[0].violations
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
    assert not played.delivered.text.startswith("Half")


@pytest.mark.parametrize("strategy", TAKING)
async def test_a_clone_changes_nothing_and_authors_who_write_nothing_pause_the_run(
    strategy: str,
) -> None:
    same = document("The  text\nof draft.")
    played = await short(
        strategy, {writer(strategy): same, "draft/try/0": document("The text of draft.")}
    )
    assert {drop.reason for drop in played.of(CandidateDropped)} == {"clone"}
    assert played.delivered.text == "The text of draft."
    assert not played.asked("judge")
    nothing = Reply(outcome=Outcome.REFUSED, text="", model="scripted/x")
    answers: dict[str, Answer] = {writer(strategy): nothing, "draft/try/0": document("A draft.")}
    played = await short(strategy, answers)
    assert isinstance(played.interruption, PanelFailed)
    assert "2 passes in a row" in str(played.interruption)


@pytest.mark.parametrize("strategy", REVISING)
async def test_guidance_reaches_the_next_pass(strategy: str) -> None:
    played = await short(strategy, {"pass/2/guidance": "Name the hook."})
    assert played.of(GuidanceGiven) == [GuidanceGiven(number=2, text="Name the hook.")]
    guided = [each.key for each in played.requests if "Name the hook." in str(each.messages)]
    role = "critic/0" if strategy in ("critique_revise", "self_refine") else "reviser"
    assert guided[0] == f"pass/2/{role}/try/0"
    assert not any(key.startswith("pass/1/") for key in guided)


async def test_iterated_revisions_take_one_call_a_pass_each_in_its_own_words() -> None:
    words = set()
    for strategy in ("conservative", "improve", "harsh"):
        played = await short(strategy)
        asked = played.asked("reviser")
        assert [r.key for r in asked] == [f"pass/{n}/reviser/try/0" for n in (1, 2, 3)]
        assert not played.asked("judge")
        assert played.delivered.text == "The text of pass 3 reviser."
        assert (played.delivered.status, played.delivered.origin) == ("capped", "pass 3")
        words.add(asked[0].messages[-1].text)
    assert len(words) == 3


async def test_a_critique_that_finds_nothing_changes_nothing() -> None:
    played = await short("critique_revise", {"critic": critique()})
    assert not played.asked("reviser")
    assert played.delivered.origin == "draft"


async def test_a_strategy_that_knows_no_options_says_so() -> None:
    for strategy in BUILT_IN:
        settings = make_settings(
            Models.everywhere("echo/echo"), 1, strategy=strategy, strategy_options={"pace": 3}
        )
        with pytest.raises(InvalidInput, match="option `pace`"):
            find_strategy(strategy).check(settings)


def drafted(request: Request) -> str:
    """A draft that says which it is."""
    number = "1" if request.key.startswith("draft") else request.key.split("/")[1]
    return document(f"Draft number {number} of them.")


def best_of(n: int, **more: Any) -> dict[str, Any]:
    own = {"strategy": "best_of_n", "strategy_options": {"n": n}}
    return {**own, "reviewers": 3, "confirmation": 0, **more}


@pytest.mark.parametrize("n", [2, 10])
async def test_one_panel_sees_all_the_drafts(n: int) -> None:
    played = await play({"author": drafted, "judge": vote("number 2")}, **best_of(n))
    assert len(played.asked("author")) == n
    for judge in played.asked("judge"):
        assert set(shown_texts(judge).values()) == {
            f"Draft number {number} of them." for number in range(1, n + 1)
        }
    assert {judge.key.split("/")[0] for judge in played.asked("judge")} == {"review"}
    assert len({request.messages for request in played.asked("author")}) == 1
    assert played.delivered.text == "Draft number 2 of them."
    assert played.delivered.status == "done"


async def test_clones_are_not_judged_wherever_they_stand() -> None:
    texts = {"draft": "One.", "2": "Two.", "3": "One.", "4": " Two. "}

    def repeated(request: Request) -> str:
        step = request.key.split("/")
        return document(texts["draft" if step[0] == "draft" else step[1]])

    played = await play({"author": repeated, "judge": vote("One")}, **best_of(4))
    for judge in played.asked("judge"):
        assert sorted(shown_texts(judge).values()) == ["One.", "Two."]
    assert played.delivered.text == "One."
    same = await play({"author": document("The one text.")}, **best_of(3))
    assert not same.asked("judge")
    assert [drop.reason for drop in same.of(CandidateDropped)] == ["clone", "clone"]
    assert same.delivered.reason == "the best of 1 draft"


async def test_a_given_draft_is_one_of_them() -> None:
    played = await play({"author": drafted, "judge": vote("Given")}, draft="Given.", **best_of(3))
    assert len(played.asked("author")) == 2
    assert played.delivered.text == "Given."
    assert len(played.of(ReviewDecided)[0].texts) == 3


@pytest.mark.parametrize("n", ["1", "11", "many", "2.5"])
def test_a_number_of_drafts_that_cannot_be_is_one_sentence(n: str) -> None:
    check = find_strategy("best_of_n").check
    check(settings(strategy="best_of_n", strategy_options={"n": "4"}))
    with pytest.raises(InvalidInput, match="n") as refusal:
        check(settings(strategy="best_of_n", strategy_options={"n": n}))
    assert "\n" not in str(refusal.value)
    with pytest.raises(InvalidInput, match="set `reviewers` to 2"):
        check(settings(strategy="best_of_n", reviewers=0))


async def test_one_draft_is_asked_for_once_unless_it_is_given() -> None:
    played = await play({"author": drafted}, strategy="single")
    assert [request.key for request in played.requests] == ["draft/try/0"]
    played = await play(draft="Mine.", strategy="single")
    assert not played.requests
    assert (played.delivered.text, played.delivered.status) == ("Mine.", "done")


async def test_a_panel_that_decides_nothing_chooses_nothing(journal: Journal) -> None:
    dead: dict[str, Answer] = {"author": drafted, "judge": "I would rather not say."}
    paused = await start_run(journal, scripted(dead), changes=best_of(3))
    assert paused.status == "panel_failed"
    assert "too few rankings" in paused.reason
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


async def refined(feedback: Answer, *, passes: int = 3, **script: Answer) -> Played:
    """A run in which the author says this of every text."""
    answers: dict[str, Answer] = {
        "critic": feedback,
        "reviser": lambda request: document(f"Round {request.key.split('/')[1]}."),
        **script,
    }
    return await play(answers, strategy="self_refine", passes=passes)


@pytest.mark.parametrize(
    "message",
    ["DONE", "done", "**DONE.**", " DONE! \n", '"DONE"', "DONE\n\nIt is fine."],
)
async def test_it_ends_when_the_author_says_it_is_done(message: str) -> None:
    played = await refined(message)
    assert not played.asked("reviser")
    assert (played.delivered.status, played.delivered.origin) == ("converged", "draft")
    assert [(p.outcome, p.winner) for p in played.of(PassDecided)] == [("unopposed", "A")]


@pytest.mark.parametrize(
    "message",
    [
        "This is not DONE yet.",
        "DONE well, but the ending is weak.",
        "When the list is complete you are done.",
        "The list is short.\n\nDONE",
        "UNDONE",
    ],
)
async def test_the_word_in_a_longer_sentence_ends_nothing(message: str) -> None:
    played = await refined(message)
    assert len(played.asked("reviser")) == 3
    assert (played.delivered.status, played.delivered.text) == ("capped", "Round 3.")


async def test_it_remembers_three_rounds_at_most() -> None:
    played = await refined("Shorter.", passes=6)
    for request in (*played.asked("critic"), *played.asked("reviser")):
        rounds = min(int(request.key.split("/")[1]) - 1, 3)
        remembered = [m for m in request.messages if m.speaker == "assistant"]
        assert len(remembered) == rounds
        assert len(request.messages) == 3 + 2 * rounds
    last = played.asked("reviser")[-1]
    texts = [m.text for m in last.messages if m.speaker == "assistant"]
    assert texts == ["Round 3.", "Round 4.", "Round 5."]
    assert len({(request.model, request.temperature) for request in played.requests}) == 1


async def test_feedback_is_shown_to_the_refiner_and_pauses_the_run_where_it_is_never_read() -> None:
    played = await refined("Name the hook.", passes=1)
    assert [made.prose for made in played.of(CritiqueWritten)] == ["Name the hook."]
    assert "Name the hook." in played.asked("reviser")[0].messages[-1].text
    played = await refined(Reply(outcome=Outcome.REFUSED, text="", model="scripted/x"))
    assert isinstance(played.interruption, PanelFailed)
    assert [p.outcome for p in played.of(PassDecided)] == ["inconclusive", "inconclusive"]


@pytest.mark.parametrize("outcome", [Outcome.EMPTY, Outcome.TRUNCATED, Outcome.REFUSED])
async def test_feedback_that_cannot_be_read_is_asked_for_once_more(outcome: Outcome) -> None:
    bad = Reply(outcome=outcome, text="DONE", model="scripted/x")
    played = await refined(
        lambda request: "Shorter." if request.key.endswith("try/1") else bad, passes=1
    )
    first, second = played.asked("critic")
    assert second.max_tokens == first.max_tokens * (2 if outcome is Outcome.TRUNCATED else 1)
    assert played.delivered.text == "Round 1."


async def test_an_author_who_is_content_with_a_broken_contract_goes_on() -> None:
    script: dict[str, Answer] = {
        "critic": "DONE",
        "author": document("A text of far too many words."),
        "reviser": document("A text of far too many words."),
        "pass/3/reviser/try/0": document("Short."),
    }
    played = await play(script, strategy="self_refine", passes=5, contract=Contract(max_words=4))
    assert (played.delivered.status, played.delivered.text) == ("converged", "Short.")
    asked = next(r for r in played.asked("reviser") if r.key == "pass/1/reviser/try/0")
    assert "7 words, at most 4 allowed; cut 3 or more" in asked.messages[-1].text
    assert "DONE" not in asked.messages[-1].text
