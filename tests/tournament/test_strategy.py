"""One judge, a required lead, a plateau, short prompts: what they change in a run, and what is said of it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.tournament.stage import CONTESTS, Answer, Played, critique, document, play, vote

from autoreason.contract import Contract
from autoreason.errors import InvalidInput
from autoreason.events import (
    BallotCast,
    CandidateDropped,
    CandidateReady,
    PromptsShortened,
)
from autoreason.exchange import Outcome, Reply, Request
from autoreason.prompts import PromptSet, built_in
from autoreason.settings import Models, make_settings
from autoreason.tournament import statements
from autoreason.tournament.challengers import MAX_RIVALS
from autoreason.tournament.loop import Tournament

QUIET: dict[str, Any] = {"reviewers": 0, "confirmation": 0}


def divided(request: Request) -> str:
    """Two judges of three prefer B to A, and one A to B: B has 8 points and A has 7."""
    first = "/judge/0/" in request.key
    best_first = ("First", "Second", "Third") if first else ("Second", "First", "Third")
    return vote(*best_first)(request)


async def test_one_judge_decides_where_one_is_asked_for_by_name() -> None:
    played = await play(k=1, reviewers=0, confirmation=0, judges=1)
    (cast,) = played.of(BallotCast)
    (end,) = played.decided
    assert (end.outcome, end.winner, cast.ranking) == ("decided", "A", ("A", "B", "AB"))
    assert end.survival_chance == pytest.approx(1 / 3)
    # One vote puts one text first whatever it says: no margin of it is worth anything.
    assert end.verdict
    assert (end.verdict.chance, end.verdict.agreement) == (1.0, None)


@pytest.mark.parametrize(("lead", "winner"), [(1, "B"), (2, "A"), (9, "A")])
@pytest.mark.parametrize("early_stop", [True, False])
async def test_a_challenger_needs_the_lead_that_is_required(
    lead: int, winner: str, early_stop: bool
) -> None:
    changes = {**QUIET, "early_stop": early_stop, "passes": 1}
    played = await play({"judge": divided}, **changes, required_lead=lead)
    usual = await play({"judge": divided}, **changes)
    (end,), (before,) = played.decided, usual.decided
    assert end.winner == winner
    assert end.verdict
    assert before.verdict
    assert end.verdict.required_lead == lead
    if not early_stop:
        assert end.verdict.scores == before.verdict.scores == {"A": 7, "B": 8, "AB": 3}
        assert played.requests == usual.requests


async def test_a_stays_behind_where_no_lead_is_large_enough_but_only_on_the_ballot() -> None:
    played = await play(
        {"judge": vote("Second", "First", "Third")}, **QUIET, passes=1, required_lead=4
    )
    (end,) = played.decided
    assert end.verdict
    assert (end.winner, end.streak, end.verdict.margin) == ("A", 0, -3)
    assert (end.verdict.chance, end.verdict.tied) == (1.0, False)
    sentence = statements.decided(end)
    assert sentence.startswith("A stays")
    assert "3 points behind, and a challenger needs a lead of 4" in sentence
    assert sentence.endswith("; that confirms nothing")
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
    (end,) = played.decided
    assert end.verdict
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
        "judge": vote(*(f"new{number}x" for number in range(9, 0, -1)), "same"),
    }


DRAFT = " ".join(["same"] * 20)


@pytest.mark.parametrize(("plateau", "passes"), [(0, 5), (1, 1), (2, 2), (4, 4)])
async def test_passes_in_a_row_that_change_little_end_the_run(plateau: int, passes: int) -> None:
    played = await play(rewritten(2), draft=DRAFT, plateau=plateau, passes=5, **QUIET)
    assert len(played.decided) == passes
    assert played.delivered.status == "capped"
    named = "a plateau: " in played.delivered.reason
    assert named == bool(plateau)
    if plateau > 1:
        row = f"each of the last {plateau} changes was at most 10 % of the words"
        assert row in played.delivered.reason


async def test_a_survival_is_no_change_and_is_left_to_k() -> None:
    played = await play({"judge": vote("First")}, plateau=1, **QUIET)
    assert played.delivered.status == "converged"


@pytest.mark.parametrize(("share", "passes"), [(0.1, 5), (0.15, 2)])
async def test_a_larger_change_is_no_plateau_unless_it_is_allowed(
    share: float, passes: int
) -> None:
    played = await play(
        rewritten(3), draft=DRAFT, plateau=2, plateau_change=share, passes=5, **QUIET
    )
    assert len(played.decided) == passes


@pytest.mark.parametrize(
    ("lead", "fix", "changes"),
    [
        (7, "give 6 or less", {}),
        (4, "give 3 or less", {"candidates": "B"}),
        (4, "give 3 or less", {"voting": "majority"}),
        (5, "give 4 or less", {"voting": "copeland"}),
        (2, "no judge sees rounds: set `judges`", {"judges": 0, "candidates": "B"}),
    ],
)
def test_a_lead_that_none_can_have_is_refused(lead: int, fix: str, changes: dict[str, Any]) -> None:
    models = Models.everywhere("scripted/x")
    changes = CONTESTS | changes
    Tournament.check(make_settings(models, 1, required_lead=lead - 1, **changes))
    with pytest.raises(InvalidInput, match=f"no text can lead by `required_lead`; {fix}"):
        Tournament.check(make_settings(models, 1, required_lead=lead, **changes))


async def play_small(script: dict[str, Answer], **changes: Any) -> Played:
    given = {"prompts": built_in().with_small(), "contract": Contract(max_words=50), **changes}
    return await play(script, brief="Write.", seed=1, k=3, passes=2, reviewers=0, **given)


REFUSED = Reply(outcome=Outcome.OK, text=critique("Dull."), model="x", schema_refused=True)
FEW_WORDS = "Answer with the text and nothing else."


def in_few_words(played: Played) -> list[str]:
    return [r.key for r in played.asked("reviser") if FEW_WORDS in r.messages[-1].text]


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
    played = await play_small(script)
    (shortened,) = played.of(PromptsShortened)
    assert (shortened.number, shortened.reason) == (2, reason)
    assert in_few_words(played) == ["pass/2/reviser/try/0"]
    systems = {r.key.split("/")[1]: r.messages[0].text for r in played.asked("critic")}
    assert systems["1"] != systems["2"]


@pytest.mark.parametrize(
    ("script", "changes"),
    [
        # One unreadable answer among later ones.
        ({"pass/1/judge/1/try/0": "Hm."}, {}),
        # Another model than the author's.
        (
            {"pass/1/critic/0/try/0": REFUSED},
            {"models": Models(author="a/a", critic="b/b", synthesizer="a/a", judges=("b/b",))},
        ),
        # A run that recorded no short prompts.
        ({"critic": REFUSED}, {"prompts": built_in()}),
    ],
)
async def test_what_says_nothing_of_the_author_changes_no_prompt(
    script: dict[str, Answer], changes: dict[str, Any]
) -> None:
    played = await play_small(script, **changes)
    assert not played.of(PromptsShortened)
    assert not in_few_words(played)


def test_prompts_of_ones_own_are_never_replaced() -> None:
    own = PromptSet(built_in().sources | {"reviser": "Mine: {{ text }} {{ critique }}"})
    small = own.with_small().small
    assert small is not None
    assert small.sources["reviser"] == own.sources["reviser"]
    assert small.sources["critic"] == built_in(small=True).sources["critic"]
    assert built_in(writes="programs").with_small().small is None
    assert built_in(small=True).with_small().small is None


NOTHING = Reply(outcome=Outcome.OK, text=critique(), model="x", schema_refused=True)


async def test_a_weak_author_is_opposed_by_a_fresh_draft_unless_no_weakness_was_shown() -> None:
    played = await play_small({"critic": NOTHING, "pass/1/draft/0/try/0": "Another text."})
    assert [r.key for r in played.requests if "pass/1/draft" in r.key] == ["pass/1/draft/0/try/0"]
    ready = [each for each in played.of(CandidateReady) if each.number == 1]
    assert [(each.slot, each.text, each.fresh) for each in ready] == [("B", "Another text.", True)]
    decided = played.decided
    assert decided[0].outcome == "decided"
    author = next(r for r in played.requests if r.key == "draft/try/0")
    (fresh,) = [r for r in played.requests if r.key == "pass/1/draft/0/try/0"]
    assert fresh.messages == author.messages
    played = await play_small({"critic": critique()})
    assert not [r for r in played.requests if "/draft/" in r.key]
    assert {each.outcome for each in played.decided} == {"unopposed"}


async def test_a_revision_that_changes_nothing_is_replaced_whatever_the_author() -> None:
    same = {"author": "The very text.", "reviser": "The very text."}
    played = await play_small({**same, "pass/1/draft/0/try/0": "Another."})
    dropped = [each for each in played.of(CandidateDropped) if each.number == 1]
    assert [(each.slot, each.reason) for each in dropped] == [("B", "clone")]
    assert "pass/1/synthesizer/try/0" not in {each.key for each in played.asked("synthesizer")}
    assert played.decided[0].verdict


async def test_a_limit_that_no_revision_keeps_is_a_weakness_that_no_critic_has_to_show() -> None:
    long = " ".join(["word"] * 60)
    fresh = {"pass/1/draft/0/try/0": "Short at last."}
    played = await play_small({"author": long, "reviser": long, **fresh}, max_drafts=1)
    assert not [r for r in played.asked("critic") if r.key.startswith("pass/1/")]
    (shortened,) = played.of(PromptsShortened)
    reason = "it cannot put right what breaks the contract"
    assert (shortened.number, shortened.reason) == (2, reason)
    decided = played.decided
    assert decided[0].winner == "B"


@pytest.mark.parametrize(("said", "drafts"), [("", MAX_RIVALS), ("3 calls are left", 2)])
async def test_so_many_fresh_drafts_at_most_as_the_budget_allows_and_none_worse_than_a(
    said: str, drafts: int
) -> None:
    long = " ".join(["word"] * 60)
    short: dict[str, Answer] = {"critic": NOTHING, "author": long, "draft/try/0": "Short."}
    played = await play_small({**short, "pass/1/draft/2/budget": said})
    asked = [r.key for r in played.asked("author") if r.key.startswith("pass/1/draft/")]
    assert [key for key in asked if "try/0" in key] == [
        f"pass/1/draft/{n}/try/0" for n in range(drafts)
    ]
    end = played.decided[0]
    assert (end.outcome, end.reason) == ("unopposed", "two critics found nothing to fix")
