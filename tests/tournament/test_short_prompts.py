"""An author that cannot answer in a form is asked in few words, from the next pass on."""

from __future__ import annotations

from typing import Any

import pytest
from tests.tournament.stage import USUAL, Answer, critique

from autoreason.contract import Contract
from autoreason.events import (
    AnyEvent,
    CandidateDropped,
    CandidateReady,
    PassDecided,
    PromptsShortened,
)
from autoreason.exchange import Outcome, Query, Reply, Request
from autoreason.jobs.context import JobContext
from autoreason.prompts import PromptSet, built_in
from autoreason.settings import Models, make_settings
from autoreason.task import Task
from autoreason.tournament.challengers import MAX_RIVALS
from autoreason.tournament.loop import Tournament

REFUSED = Reply(outcome=Outcome.OK, text=critique("Dull."), model="x", schema_refused=True)
FEW_WORDS = "Answer with the text and nothing else."


async def told(
    script: dict[str, Answer], prompts: PromptSet | None = None, models: Models | None = None
) -> tuple[list[AnyEvent], list[Request]]:
    """The events and requests of two passes."""
    events: list[AnyEvent] = []
    requests: list[Request] = []
    answers = {**USUAL, **script}

    async def ask(request: Request | Query[Any]) -> Any:
        if isinstance(request, Query):
            return answers.get(request.key, "")
        requests.append(request)
        answer = answers.get(request.key, answers[request.role])
        said = answer(request) if callable(answer) else answer
        return said if isinstance(said, Reply) else Reply(outcome=Outcome.OK, text=said, model="x")

    settings = make_settings(models or Models.everywhere("scripted/x"), 1, passes=2, playoff=0)
    task = Task(brief="Write.", contract=Contract(max_words=50))
    chosen = prompts or built_in().with_small()
    await Tournament(JobContext(task, settings, chosen, ask, events.append)).run()
    return events, requests


def in_few_words(requests: list[Request]) -> list[str]:
    """Keys of revisions asked for in few words."""
    return [r.key for r in requests if r.role == "reviser" and FEW_WORDS in r.messages[-1].text]


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ({"pass/1/critic/0/try/0": REFUSED}, "it takes no schema"),
        ({"pass/1/critic/0/try/0": "Hm."}, "its first answer in a form could not be read"),
    ],
)
async def test_what_a_model_shows_in_a_pass_counts_from_the_next_on(
    script: dict[str, Answer], reason: str
) -> None:
    events, requests = await told(script)
    (shortened,) = [each for each in events if isinstance(each, PromptsShortened)]
    assert (shortened.number, shortened.reason) == (2, reason)
    assert in_few_words(requests) == ["pass/2/reviser/try/0"]
    systems = {r.key.split("/")[1]: r.messages[0].text for r in requests if r.role == "critic"}
    assert systems["1"] != systems["2"]


async def test_one_unreadable_answer_among_later_ones_changes_nothing() -> None:
    events, _ = await told({"pass/1/judge/1/try/0": "Hm."})
    assert not [each for each in events if isinstance(each, PromptsShortened)]


async def test_only_the_authors_model_matters() -> None:
    models = Models(author="a/a", critic="b/b", synthesizer="a/a", judges=("b/b",))
    events, _ = await told({"pass/1/critic/0/try/0": REFUSED}, models=models)
    assert not [each for each in events if isinstance(each, PromptsShortened)]


async def test_a_run_that_recorded_no_short_prompts_keeps_those_it_has() -> None:
    events, requests = await told({"critic": REFUSED}, prompts=built_in())
    assert not [each for each in events if isinstance(each, PromptsShortened)]
    assert not in_few_words(requests)


def test_prompts_of_ones_own_are_never_replaced() -> None:
    own = PromptSet(built_in().sources | {"reviser": "Mine: {{ text }} {{ critique }}"})
    small = own.with_small().small
    assert small is not None
    assert small.sources["reviser"] == own.sources["reviser"]
    assert small.sources["critic"] == built_in(small=True).sources["critic"]
    assert built_in(writes="programs").with_small().small is None
    assert built_in(small=True).with_small().small is None


NOTHING = Reply(outcome=Outcome.OK, text=critique(), model="x", schema_refused=True)


async def test_what_a_weak_author_leaves_unopposed_is_opposed_by_a_fresh_draft() -> None:
    events, requests = await told({"critic": NOTHING, "pass/1/draft/0/try/0": "Another text."})
    assert [r.key for r in requests if "pass/1/draft" in r.key] == ["pass/1/draft/0/try/0"]
    ready = [each for each in events if isinstance(each, CandidateReady) and each.number == 1]
    assert [(each.slot, each.text, each.fresh) for each in ready] == [("B", "Another text.", True)]
    decided = [each for each in events if isinstance(each, PassDecided)]
    assert decided[0].outcome == "decided"
    author = next(r for r in requests if r.key == "draft/try/0")
    (fresh,) = [r for r in requests if r.key == "pass/1/draft/0/try/0"]
    assert fresh.messages == author.messages


async def test_a_revision_that_changes_nothing_is_replaced_whatever_the_author() -> None:
    same = {"author": "The very text.", "reviser": "The very text."}
    events, requests = await told({**same, "pass/1/draft/0/try/0": "Another."})
    dropped = [each for each in events if isinstance(each, CandidateDropped) and each.number == 1]
    assert [(each.slot, each.reason) for each in dropped] == [("B", "clone")]
    assert not [r for r in requests if r.role == "synthesizer"]
    decided = [each for each in events if isinstance(each, PassDecided)]
    assert decided[0].verdict


async def test_a_limit_that_no_revision_keeps_is_a_weakness_that_no_critic_has_to_show() -> None:
    long = " ".join(["word"] * 60)
    fresh = {"pass/1/draft/0/try/0": "Short at last."}
    events, requests = await told({"author": long, "reviser": long, **fresh})
    assert not [r for r in requests if r.role == "critic" and r.key.startswith("pass/1/")]
    (shortened,) = [each for each in events if isinstance(each, PromptsShortened)]
    assert (shortened.number, shortened.reason) == (
        *(2, "it cannot put right what breaks the contract"),
    )
    decided = [each for each in events if isinstance(each, PassDecided)]
    assert decided[0].winner == "B"


async def test_so_many_fresh_drafts_at_most_and_none_that_break_more_than_a() -> None:
    long = " ".join(["word"] * 60)
    events, requests = await told({"critic": NOTHING, "author": long, "draft/try/0": "Short."})
    asked = [r.key for r in requests if r.key.startswith("pass/1/draft/") and "try/0" in r.key]
    assert asked == [f"pass/1/draft/{n}/try/0" for n in range(MAX_RIVALS)]
    decided = [each for each in events if isinstance(each, PassDecided)]
    assert (decided[0].outcome, decided[0].reason) == (
        *("unopposed", "two critics found nothing to fix"),
    )


async def test_a_further_fresh_draft_is_written_only_where_the_budget_leaves_a_pass_and_the_end() -> (
    None
):
    long = " ".join(["word"] * 60)
    short: dict[str, Answer] = {"critic": NOTHING, "author": long, "draft/try/0": "Short."}
    _, requests = await told({**short, "pass/1/draft/2/budget": "3 calls are left"})
    asked = [r.key for r in requests if r.key.startswith("pass/1/draft/") and "try/0" in r.key]
    assert asked == [f"pass/1/draft/{n}/try/0" for n in range(2)]


async def test_a_model_that_shows_no_weakness_survives_without_a_vote() -> None:
    events, requests = await told({"critic": critique()})
    assert not [r for r in requests if "/draft/" in r.key]
    assert {e.outcome for e in events if isinstance(e, PassDecided)} == {"unopposed"}
