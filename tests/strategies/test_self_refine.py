"""The author's own feedback: it ends when the author says so, and remembers a few rounds."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.tournament.stage import Answer, Played, document, play

from autoreason.contract import Contract
from autoreason.errors import PanelFailed
from autoreason.events import CritiqueWritten, PassDecided
from autoreason.exchange import Outcome, Reply, Request


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
    ["DONE", "done", "**DONE.**", " DONE! \n", '"DONE"', "# Done", "`DONE`", "DONE\n\nIt is fine."],
)
async def test_it_ends_when_the_author_says_it_is_done(message: str) -> None:
    played = await refined(message)
    assert not played.asked("reviser")
    assert played.delivered is not None
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
    assert played.delivered is not None
    assert (played.delivered.status, played.delivered.text) == ("capped", "Round 3.")


async def test_it_remembers_three_rounds_at_most() -> None:
    played = await refined("Shorter.", passes=6)
    for request in (*played.asked("critic"), *played.asked("reviser")):
        rounds = min(int(request.key.split("/")[1]) - 1, 3)
        remembered = [m for m in request.messages if m.speaker == "assistant"]
        assert len(remembered) == rounds
        assert len(request.messages) == 3 + 2 * rounds
    last = played.asked("reviser")[-1]
    assert [m.text for m in last.messages if m.speaker == "assistant"] == [
        "Round 3.",
        "Round 4.",
        "Round 5.",
    ]


async def test_author_and_critic_are_one_model_in_one_voice() -> None:
    played = await refined("Shorter.")
    assert len({(request.model, request.temperature) for request in played.requests}) == 1


async def test_what_the_author_thinks_is_emitted_and_shown_to_the_refiner() -> None:
    played = await refined("Name the hook.", passes=1)
    assert [made.prose for made in played.of(CritiqueWritten)] == ["Name the hook."]
    assert "Name the hook." in played.asked("reviser")[0].messages[-1].text


def _once(bad: Reply) -> Callable[[Request], str | Reply]:
    return lambda request: "Shorter." if request.key.endswith("try/1") else bad


@pytest.mark.parametrize("outcome", [Outcome.EMPTY, Outcome.TRUNCATED, Outcome.REFUSED])
async def test_feedback_that_cannot_be_read_is_asked_for_once_more(outcome: Outcome) -> None:
    bad = Reply(outcome=outcome, text="DONE", model="scripted/x")
    played = await refined(_once(bad), passes=1)
    first, second = played.asked("critic")
    assert second.max_tokens == first.max_tokens * (2 if outcome is Outcome.TRUNCATED else 1)
    assert played.delivered is not None
    assert played.delivered.text == "Round 1."


async def test_feedback_that_is_never_read_pauses_the_run() -> None:
    played = await refined(Reply(outcome=Outcome.REFUSED, text="", model="scripted/x"))
    assert isinstance(played.interruption, PanelFailed)
    assert [p.outcome for p in played.of(PassDecided)] == ["inconclusive", "inconclusive"]


async def test_an_author_who_is_content_with_a_broken_contract_goes_on() -> None:
    script: dict[str, Answer] = {
        "critic": "DONE",
        "author": document("A text of far too many words."),
        "reviser": document("A text of far too many words."),
        "pass/3/reviser/try/0": document("Short."),
    }
    played = await play(script, strategy="self_refine", passes=5, contract=Contract(max_words=4))
    assert played.delivered is not None
    assert (played.delivered.status, played.delivered.text) == ("converged", "Short.")
    asked = next(r for r in played.asked("reviser") if r.key == "pass/1/reviser/try/0")
    assert "7 words, at most 4 allowed; cut 3 or more" in asked.messages[-1].text
    assert "DONE" not in asked.messages[-1].text
