"""One judge, a required lead, a plateau, short prompts: what they change in a run, and what is said of it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.tournament.stage import USUAL, Answer, Played, critique, document, play, vote

from autoreason.contract import Contract
from autoreason.errors import InvalidInput
from autoreason.events import (
    AnyEvent,
    BallotCast,
    CandidateDropped,
    CandidateReady,
    PassDecided,
    PromptsShortened,
)
from autoreason.exchange import Outcome, Query, Reply, Request
from autoreason.jobs.context import JobContext
from autoreason.prompts import PromptSet, built_in
from autoreason.settings import Models, make_settings
from autoreason.story import build_story
from autoreason.task import Task
from autoreason.tournament import statements
from autoreason.tournament.challengers import MAX_RIVALS
from autoreason.tournament.loop import Tournament

QUIET: dict[str, Any] = {"extra_judges": 0, "playoff": 0, "confirmation": 0}


def decided(played: Played) -> list[PassDecided]:
    """How the passes ended."""
    return played.of(PassDecided)


def divided(request: Request) -> str:
    """Two judges of three prefer B to A, and one A to B: B has 8 points and A has 7."""
    first = "/judge/0/" in request.key
    best_first = ("First", "Second", "Third") if first else ("Second", "First", "Third")
    return vote(*best_first)(request)


async def test_one_judge_decides_where_one_is_asked_for_by_name() -> None:
    played = await play(k=1, playoff=0, confirmation=0, single_judge=True)
    (cast,) = played.of(BallotCast)
    (end,) = decided(played)
    assert (end.outcome, end.winner, cast.ranking) == ("decided", "A", ("A", "B", "AB"))
    assert end.survival_chance == pytest.approx(1 / 3)
    # One vote puts one text first whatever it says: no margin of it is worth anything.
    assert end.verdict is not None
    assert (end.verdict.chance, end.verdict.agreement) == (1.0, None)


async def test_of_one_vote_it_is_said_that_it_is_no_panel() -> None:
    for single in (True, False):
        changes: dict[str, Any] = {"single_judge": True} if single else {}
        played = await play(k=1, playoff=0, confirmation=0, **changes)
        assert played.delivered is not None
        story = build_story(played.events)
        story.settings = played.settings
        rows = dict(statements.evidence(played.delivered.evidence, story, ()))
        assert rows.get("Panel", "") == (statements.ONE_VOTE if single else "")
        assert "nothing can be claimed" in rows["Confirmation"]


async def test_an_unreadable_vote_of_a_single_judge_decides_nothing() -> None:
    played = await play({"judge": "?"}, single_judge=True, playoff=0, confirmation=0)
    assert {each.outcome for each in decided(played)} == {"inconclusive"}


@pytest.mark.parametrize(("lead", "winner"), [(1, "B"), (2, "A"), (9, "A")])
@pytest.mark.parametrize("early_stop", [True, False])
async def test_a_challenger_needs_the_lead_that_is_required(
    lead: int, winner: str, early_stop: bool
) -> None:
    changes = {**QUIET, "early_stop": early_stop, "passes": 1}
    played = await play({"judge": divided}, **changes, required_lead=lead)
    usual = await play({"judge": divided}, **changes)
    (end,), (before,) = decided(played), decided(usual)
    assert end.winner == winner
    assert end.verdict is not None
    assert before.verdict is not None
    assert end.verdict.required_lead == lead
    if not early_stop:
        assert end.verdict.scores == before.verdict.scores == {"A": 7, "B": 8, "AB": 3}
        assert played.requests == usual.requests


async def test_a_stays_behind_where_no_lead_is_large_enough_and_it_is_said() -> None:
    played = await play(
        {"judge": vote("Second", "First", "Third")}, **QUIET, passes=1, required_lead=4
    )
    (end,) = decided(played)
    assert end.verdict is not None
    assert (end.winner, end.streak, end.verdict.margin) == ("A", 0, -3)
    assert (end.verdict.chance, end.verdict.tied) == (1.0, False)
    sentence = statements.decided(end)
    assert sentence.startswith("A stays")
    assert "3 points behind, and a challenger needs a lead of 4" in sentence
    assert sentence.endswith("; that confirms nothing")


async def test_where_a_is_not_on_the_ballot_no_lead_is_required() -> None:
    script: dict[str, Any] = {
        "reviser": document("Second text."),
        "synthesizer": document("Third text."),
        "judge": vote("Second", "Third"),
    }
    played = await play(
        script,
        draft="First text is too long to be any good.",
        contract=Contract(max_words=3),
        required_lead=9,
        passes=1,
        **QUIET,
    )
    (end,) = decided(played)
    assert end.verdict is not None
    assert (end.winner, end.verdict.required_lead) == ("B", 1)


def rewritten(words: int) -> dict[str, Any]:
    """An author who changes so many of twenty words in every pass, and judges who like it."""

    def revise(request: Request) -> str:
        number = request.key.split("/")[1]
        return document(
            " ".join([*(f"new{number}x{n}" for n in range(words)), *["same"] * (20 - words)])
        )

    return {
        "reviser": revise,
        "synthesizer": document("A text that no one likes."),
        "judge": vote("new", "same"),
    }


DRAFT = " ".join(["same"] * 20)


@pytest.mark.parametrize(("plateau", "passes"), [(0, 5), (1, 1), (2, 2), (4, 4)])
async def test_passes_in_a_row_that_change_little_end_the_run(plateau: int, passes: int) -> None:
    played = await play(rewritten(2), draft=DRAFT, plateau=plateau, passes=5, **QUIET)
    assert len(decided(played)) == passes
    assert played.delivered is not None
    assert played.delivered.status == "capped"
    named = "a plateau: " in played.delivered.reason
    assert named == bool(plateau)
    if plateau > 1:
        row = f"each of the last {plateau} changes was at most 10 % of the words"
        assert row in played.delivered.reason


async def test_a_survival_is_no_change_and_is_left_to_k() -> None:
    played = await play({"judge": vote("First")}, plateau=1, **QUIET)
    assert played.delivered is not None
    assert played.delivered.status == "converged"


@pytest.mark.parametrize(("share", "passes"), [(0.1, 5), (0.15, 2)])
async def test_a_larger_change_is_no_plateau_unless_it_is_allowed(
    share: float, passes: int
) -> None:
    played = await play(
        rewritten(3), draft=DRAFT, plateau=2, plateau_change=share, passes=5, **QUIET
    )
    assert len(decided(played)) == passes


@pytest.mark.parametrize(
    ("lead", "most", "changes"),
    [
        (13, 12, {}),
        (7, 6, {"extra_judges": 0}),
        (4, 3, {"extra_judges": 0, "candidates": "B"}),
        (4, 3, {"extra_judges": 0, "voting": "majority"}),
        (5, 4, {"voting": "copeland"}),
    ],
)
def test_a_lead_that_none_can_have_is_refused(
    lead: int, most: int, changes: dict[str, Any]
) -> None:
    models = Models.everywhere("scripted/x")
    Tournament.check(make_settings(models, 1, required_lead=most, **changes))
    with pytest.raises(InvalidInput, match=f"none can lead by more than {most}; give {most} or"):
        Tournament.check(make_settings(models, 1, required_lead=lead, **changes))


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
