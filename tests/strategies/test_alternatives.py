"""Several texts to choose from: they differ, keep their limits, and are ranked by judges who chose none of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from tests.run.leaving import Breaking, left_after_every_call
from tests.run.runs import TASK, go_on, scripted, settings, start_run
from tests.tournament.stage import Answer, Played, play, shown_texts, vote

from autoreason import refine
from autoreason.contract import Contract
from autoreason.errors import InvalidInput
from autoreason.events import Alternative, AlternativesRanked, CandidateDropped, CandidateReady
from autoreason.exchange import Outcome, Reply, Request
from autoreason.job_types import Refine
from autoreason.journal import Journal
from autoreason.parsing.documents import too_alike
from autoreason.run.record import recorded_result
from autoreason.run.result import Result
from autoreason.settings import Budget, Matched

FIRST = "Sunday is library day"
LINES = (
    "Books wait for you all weekend",
    "Your quietest hour has a door",
    "Free coffee and ten thousand stories",
    "Bring the children, leave with dragons",
    "Nobody checks out early here",
    "We open when others close",
)
CHOOSE: dict[str, Any] = {"reviewers": 3, "confirmation": 7}
LONG = " ".join(f"word{number}" for number in range(60))


def long(request: Request) -> str:
    return " ".join(f"{request.key.replace('/', '')}{word}" for word in LONG.split())


def listing(*lines: str) -> Answer:
    """An author who writes a first text, and these lines whenever several are asked for."""
    return lambda request: json.dumps({"texts": lines}) if request.schema else FIRST


def several(n: int, **more: Any) -> dict[str, Any]:
    return {"strategy": "alternatives", "strategy_options": {"n": n}, **CHOOSE, **more}


def by_stage(fresh: Callable[[Request], str]) -> Answer:
    """Judges of whom those who choose like dragons best, and these are asked afterwards."""
    first = vote("dragons", "coffee", "door")
    return lambda request: (fresh if request.key.startswith("confirmation") else first)(request)


SCRIPT: dict[str, Answer] = {
    "author": listing(*LINES),
    "judge": by_stage(vote("coffee", "dragons", "door")),
}


def torn(request: Request) -> str:
    """Judges who agree on nothing."""
    best = ["coffee", "dragons", "door"]
    seat = int(request.key.split("/judge/")[1][0]) % 3
    return vote(*best[seat:], *best[:seat])(request)


async def chosen(n: int = 3, script: dict[str, Answer] | None = None, **more: Any) -> Played:
    return await play({**SCRIPT, **(script or {})}, **several(n, **more))


def ranked(played: Played) -> Sequence[Alternative]:
    return played.of(AlternativesRanked)[0].texts


async def test_judges_choose_the_best_of_texts_in_one_reply_or_one_by_one() -> None:
    played = await chosen()
    assert [each.text for each in ranked(played)] == [LINES[2], LINES[3], LINES[1]]
    assert played.delivered.text == LINES[2]
    stages = {"review": 6, "confirmation": 3}
    for stage, texts in stages.items():
        judges = [each for each in played.asked("judge") if each.key.startswith(f"{stage}/")]
        assert {len(shown_texts(each)) for each in judges} == {texts}
        assert len(judges) == CHOOSE[{"review": "reviewers"}.get(stage, stage)]
    # Of two rivals the first is put before both, the second before one, and so on.
    assert [each.share for each in ranked(played)] == [1.0, 0.5, 0.0]
    for each in ranked(played):
        assert each.low is not None
        assert each.high is not None
        assert each.low <= (each.share or 0) <= each.high
    assert [each.key for each in played.asked("author")] == ["draft/try/0", "drafts/0/try/0"]
    played = await chosen(2, {"author": long})
    asked = played.asked("author")
    assert len(asked) == 4
    assert not any(each.schema for each in asked)
    # Each author sees what is there, so as to write something else.
    assert all(long(asked[0]) in each.messages[-1].text for each in asked[1:])
    limited = await chosen(2, {"author": long}, contract=Contract(max_words=9))
    assert any(each.schema for each in limited.asked("author"))


@examples(max_examples=40)
@given(
    st.lists(
        st.lists(
            st.sampled_from(["ant", "bee", "cat", "dog", "elk", "fox", "gnu"]),
            min_size=1,
            max_size=8,
        ),
        max_size=9,
    ),
    st.integers(2, 7),
)
async def test_texts_differ_and_one_that_was_left_out_is_like_one_that_was_not(
    words: list[list[str]], n: int
) -> None:
    lines = [" ".join(line) for line in words]
    played = await chosen(n, {"author": listing(*lines)}, reviewers=2, confirmation=0)
    assert not any(too_alike(a.text, b.text) for a, b in combinations(ranked(played), 2))
    kept = [FIRST, *(each.text for each in played.of(CandidateReady))]
    for left in played.of(CandidateDropped):
        assert left.reason == ("alike" if lines else "empty")
        assert not lines or any(too_alike(left.text, other) for other in kept)
    assert len(ranked(played)) == min(n, len(kept))


async def test_limits_come_first_and_what_is_missing_is_asked_for_again() -> None:
    more = ("Come and read", "Doors open early today")
    script: dict[str, Answer] = {"drafts/1/*": json.dumps({"texts": more})}
    played = await chosen(2, script, contract=Contract(max_words=5))
    texts = {each.text for each in ranked(played)}
    assert texts <= {FIRST, *more, LINES[4], LINES[5]}
    asked = next(each for each in played.requests if each.key.startswith("drafts/1/"))
    assert "6 words, at most 5 allowed" in asked.messages[-1].text
    assert FIRST in asked.messages[-1].text


@pytest.mark.parametrize(
    ("lines", "contract", "said"),
    [
        ((), None, "You have 1 of 3 texts: 3 left out (the reply was empty)."),
        (
            (FIRST, LINES[0]),
            None,
            "You have 2 of 3 texts: 5 left out (it is too much like another text).",
        ),
        (
            LINES[:2],
            Contract(max_words=4),
            "You have 1 of 3 texts: 6 left out (it breaks a limit).",
        ),
    ],
)
async def test_fewer_texts_are_delivered_with_the_reason(
    journal: Journal, lines: tuple[str, ...], contract: Contract | None, said: str
) -> None:
    script = {**SCRIPT, "author": listing(*lines)}
    options: dict[str, Any] = {"contract": contract} if contract else {}
    task = TASK if not contract else type(TASK)(brief=TASK.brief, **options)
    result = await start_run(journal, scripted(script), task=task, settings=settings(**several(3)))
    assert result.summary()[0] == said
    assert result.status == "done"


async def test_a_broken_limit_is_told_and_under_matched_budgets_only_what_fits_is_begun(
    journal: Journal,
) -> None:
    task = type(TASK)(brief=TASK.brief, contract=Contract(max_words=2))
    result = await start_run(journal, scripted(SCRIPT), task=task, settings=settings(**several(3)))
    assert [each.text for each in result.alternatives] == [result.text]
    assert result.violations
    assert any("It breaks a limit: 4 words, at most 2 allowed" in line for line in result.summary())
    most = 4 + CHOOSE["reviewers"] + CHOOSE["confirmation"]
    chosen = settings(**several(3), matched=Matched("calls", Decimal(most)))
    result = await start_run(journal, scripted({**SCRIPT, "author": long}), settings=chosen)
    assert (result.calls, len(result.alternatives)) == (most, 3)


@pytest.mark.parametrize("more", range(4))
async def test_a_text_that_is_sent_back_is_expected_of_the_next_one_too(
    journal: Journal, more: int
) -> None:
    def longer(request: Request) -> str:
        return long(request) if "repair" in request.key else f"{long(request)} and more"

    most = 6 + more + CHOOSE["reviewers"] + CHOOSE["confirmation"]
    chosen = settings(**several(5), matched=Matched("calls", Decimal(most)))
    task = type(TASK)(brief=TASK.brief, contract=Contract(max_words=60))
    result = await start_run(
        journal, scripted({**SCRIPT, "author": longer}), task=task, settings=chosen
    )
    assert len(result.alternatives) == 3 + more // 2
    assert result.calls == most - more % 2


async def test_a_given_draft_is_one_of_them_and_authors_who_decline_leave_what_is_there() -> None:
    played = await chosen(draft="Read on Sundays.")
    assert [each.key for each in played.asked("author")] == ["drafts/0/try/0"]
    shown = shown_texts(next(each for each in played.asked("judge")))
    assert "Read on Sundays." in shown.values()

    def declines(request: Request) -> str | Reply:
        declined = Reply(outcome=Outcome.REFUSED, text="", model="scripted/x")
        return LONG if request.key == "draft/try/0" else declined

    played = await chosen(2, {"author": declines})
    assert [each.text for each in ranked(played)] == [LONG]


@pytest.mark.parametrize(
    ("fresh", "said"),
    [
        (
            vote("coffee", "dragons", "door"),
            "Judges prefer the first of 3 texts: fresh judges put the first before another 100 %",
        ),
        (
            torn,
            "Too close to call which is best of 3 texts: fresh judges put the first before another",
        ),
        (lambda _: "I cannot say.", "Their order is that of the judges who chose them"),
    ],
)
async def test_the_first_is_said_to_be_preferred_only_if_fresh_judges_show_it(
    journal: Journal, fresh: Callable[[Request], str], said: str
) -> None:
    model = scripted({**SCRIPT, "judge": by_stage(fresh)})
    result = await start_run(journal, model, settings=settings(**several(3)))
    summary = result.summary()
    assert summary[0].startswith(said)
    assert summary[1] == "Judges asked before chose from 6 different texts."
    assert len(result.alternatives) == 3


async def test_a_run_that_is_left_anywhere_ends_the_same(journal: Journal) -> None:
    ended = await left_after_every_call(journal, TASK, settings(**several(3)), SCRIPT)
    assert len(ended.alternatives) == 3


async def test_a_spent_budget_pauses_it_with_the_text_so_far(journal: Journal) -> None:
    limited = settings(**several(3), budget=Budget(calls=4))
    paused = await start_run(journal, Breaking(SCRIPT), settings=limited)
    assert (paused.status, paused.alternatives) == ("budget", ())
    assert paused.text
    summary = " ".join(paused.summary())
    assert "→" not in summary
    assert "fresh judges" not in summary
    result = await go_on(
        journal, paused.run, Breaking(SCRIPT), changes={"budget": Budget(calls=99)}
    )
    assert [each.text for each in result.alternatives] == [LINES[2], LINES[3], LINES[1]]


async def test_the_record_has_them_and_so_has_every_result(journal: Journal) -> None:
    ended = await start_run(journal, scripted(SCRIPT), settings=settings(**several(3)))
    row = journal.find(ended.run)
    again: Result = recorded_result(row, journal.story(row.id), journal)
    assert again.alternatives == ended.alternatives
    assert again.to_dict()["alternatives"][0]["text"] == ended.text
    assert ended.story.output == "\n".join((LINES[2], LINES[3], LINES[1]))
    assert all(each.text in ended.to_html() for each in ended.alternatives)


def test_the_option_is_a_strategy(journal: Journal) -> None:
    prepared = refine.prepare("Name it.", "echo/echo", alternatives=4, journal=journal)
    assert prepared.settings.job == Refine(strategy="alternatives", strategy_options={"n": 4})
    calls = prepared.estimate().calls
    assert calls
    assert calls.low < calls.likely < calls.high
    for wrong in ({"alternatives": 8}, {"alternatives": 3, "strategy": "single"}):
        with pytest.raises(InvalidInput, match="alternatives"):
            refine.prepare("Name it.", "echo/echo", **wrong)
