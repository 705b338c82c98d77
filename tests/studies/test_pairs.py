"""Preference pairs say what the judges of a run said, and nothing more."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from tests.journal.samples import create_run
from tests.run.comparisons import comparison, duel
from tests.run.runs import scripted, settings, start_run
from tests.studies.lab.rivals import compared, comparing
from tests.tournament.stage import UNSEEN, vote

from autoreason.contract import Contract
from autoreason.errors import InvalidInput
from autoreason.events import AnyEvent
from autoreason.exchange import Request
from autoreason.job_types import AnyJob, Judge, JudgePairs
from autoreason.journal import Journal
from autoreason.story import build_story
from autoreason.studies.audit_findings import AuditedRun
from autoreason.studies.pairs import Pairs, TrainingPair, find_pairs
from autoreason.studies.panel_jobs import recorded_panels
from autoreason.task import Entry, Task

FOR_TWO_PASSES = {"passes": 2, "k": 2, "early_stop": False, "reviewers": 0, "confirmation": 0}


def by_seat(*ballots: tuple[str, ...]) -> Callable[[Request], str]:
    def ballot(request: Request) -> str:
        key = request.key.split("/")
        seat = int(key[key.index("judge") + 1])
        return vote(*ballots[seat % len(ballots)])(request)

    return ballot


async def pairs_of(
    journal: Journal, judges: Callable[[Request], str] | str, changes: Any = None, **options: Any
) -> Pairs:
    """Those of a run with such judges, usually of one pass."""
    changes = changes or {**FOR_TWO_PASSES, "passes": 1}
    result = await start_run(journal, scripted({"judge": judges}), changes=changes)
    return find_pairs([result.run], journal=journal, **options)


def names(found: Pairs) -> set[tuple[str, str, int, int]]:
    return {(p.chosen_name, p.rejected_name, p.chosen_votes, p.rejected_votes) for p in found.pairs}


async def test_every_two_texts_of_a_panel_make_a_pair(journal: Journal) -> None:
    judges = by_seat(("First", "Second"), ("Second", "First"), ("Third", "Second"))
    found = await pairs_of(journal, judges)
    assert names(found) == {
        ("pass 1 B", "draft", 2, 1),
        ("draft", "pass 1 AB", 2, 1),
        ("pass 1 B", "pass 1 AB", 2, 1),
    }
    assert (found.panels, found.runs, found.ties, found.undecided) == (1, 1, 0, 0)
    pair = next(p for p in found.pairs if p.rejected_name == "draft")
    assert (pair.chosen, pair.rejected) == ("Second text, made in 1.", "First text.")
    assert pair.chosen_votes == 2 * pair.rejected_votes
    assert (pair.author, pair.judges, pair.seed) == ("scripted/scripted", ("scripted/scripted",), 7)


async def test_review_and_confirmation_add_their_votes_to_those_of_the_pass(
    journal: Journal,
) -> None:
    judges = by_seat(("Second", "First", "Third"))
    changes = {**FOR_TWO_PASSES, "passes": 1, "reviewers": 7, "confirmation": 4}
    found = await pairs_of(journal, judges, changes)
    assert ("pass 1 B", "draft", 14, 0) in names(found)
    assert found.merged == 2
    stages = {p.stages for p in found.pairs if p.rejected_name == "draft"}
    assert stages == {("pass/1", "review", "confirmation")}
    line = next(p for p in found.pairs if len(p.stages) == 3).as_object()
    assert line["provenance"]["stage"] == "pass/1 + review + confirmation"


async def test_a_review_in_two_stages_is_two_panels(journal: Journal) -> None:
    halves = {"review_every": 4, "passes": 4, "ballot_texts": 3, "reviewers": 3}
    judges = by_seat(("made in 2", "made in 4", "made in 3", "made in 1", "First"))
    result = await start_run(journal, scripted({"judge": judges}), changes=UNSEEN | halves)
    found = find_pairs([result.run], journal=journal)
    # Three and three texts, one of them in both.
    assert (found.panels, len(found.pairs)) == (2, 6)
    assert {p.stages for p in found.pairs} == {("review/4/older",), ("review/4",)}
    assert ("pass 2", "pass 4", 2, 0) in names(found)
    audited = AuditedRun(name="", story=result.story, task=Task(brief=""), settings=settings())
    assert [len(each.candidates) for each in audited.finals] == [3, 3]
    again = recorded_panels(result.story, result.run).entries
    assert [(each.stage, each.name) for each in again] == [
        ("again/review/4", name) for name in ("pass 4", "pass 3", "pass 2")
    ]


async def test_a_text_that_won_keeps_its_name_when_it_is_the_incumbent(journal: Journal) -> None:
    def newest(request: Request) -> str:
        return vote("made in 2", "Second", "made in 1", "First")(request)

    found = await pairs_of(journal, newest, FOR_TWO_PASSES)
    assert {p.rejected_name for p in found.pairs if p.stages == ("pass/2",)} >= {"pass 1 B"}


async def test_ties_and_panels_without_a_verdict_are_left_out_and_counted(journal: Journal) -> None:
    judges = by_seat(("First", "Second", "Third"), ("Second", "First", "Third"))
    found = await pairs_of(journal, judges, {**FOR_TWO_PASSES, "passes": 1, "judges": 4})
    assert found.ties == 1
    assert names(found) == {("draft", "pass 1 AB", 4, 0), ("pass 1 B", "pass 1 AB", 4, 0)}
    found = await pairs_of(journal, "I cannot decide.", FOR_TWO_PASSES)
    assert (found.pairs, found.panels, found.undecided) == ([], 0, 2)


async def test_pairs_below_the_agreement_asked_for_are_left_out(journal: Journal) -> None:
    judges = by_seat(("First", "Second"), ("First", "Third"), ("Second", "First"))
    found = await pairs_of(journal, judges, min_agreement=0.7)
    assert names(found) == {("draft", "pass 1 AB", 3, 0)}
    assert found.below_agreement == 2
    best = await pairs_of(journal, judges, winner_only=True)
    assert ({p.chosen_name for p in best.pairs}, best.not_won) == ({"draft"}, 1)
    with pytest.raises(InvalidInput, match="give one from 0 to 1"):
        find_pairs([], journal=journal, min_agreement=60)


@pytest.mark.parametrize("job", [Judge(), JudgePairs()])
async def test_a_text_that_breaks_the_contract_is_not_chosen_over_one_that_keeps_it(
    journal: Journal, job: AnyJob
) -> None:
    texts = {
        "broken.md": "First of all, synergy.",
        "kept.md": "Second.",
        "long.md": "Third synergy.",
    }
    entries = tuple(Entry(name=name, text=text) for name, text in texts.items())
    task = Task(brief="x", contract=Contract(must_not_include=("synergy",)), entries=entries)
    model = scripted({"judge": vote("First", "Second", "Third")})
    result = await start_run(journal, model, task=task, settings=settings(job=job, judges=3))
    found = find_pairs([result.run], journal=journal)
    assert names(found) == {("kept.md", "long.md", 3, 0), ("broken.md", "long.md", 3, 0)}
    assert found.in_breach == 1
    assert "throws out" not in found.pairs[0].prompt
    assert "1 pair whose chosen text breaks the contract that the other keeps" in found.conclusion


async def test_the_prompt_is_what_the_author_read(journal: Journal) -> None:
    task = Task(
        brief="Write about tea.", facts="Tea is hot.", contract=Contract(max_words=90, min_words=1)
    )
    result = await start_run(journal, scripted(), task=task)
    found = find_pairs([result.run], journal=journal)
    author = journal.replies(result.run)["draft/try/0"].request
    assert {p.prompt for p in found.pairs} == {author.messages[1].text}
    assert "Tea is hot." in found.pairs[0].prompt
    assert "At most 90 words." in found.pairs[0].prompt


async def test_the_two_layouts_carry_the_same_texts(journal: Journal) -> None:
    result = await start_run(journal, scripted())
    pair = find_pairs([result.run], journal=journal).pairs[0]
    plain, chat = pair.as_object("text"), pair.as_object("chat")
    assert (plain["prompt"], plain["chosen"], plain["rejected"]) == (
        pair.prompt,
        pair.chosen,
        pair.rejected,
    )
    assert chat["prompt"] == [{"role": "user", "content": pair.prompt}]
    assert chat["chosen"] == [{"role": "assistant", "content": pair.chosen}]
    assert chat["rejected"] == [{"role": "assistant", "content": pair.rejected}]
    assert chat["provenance"] == {
        "run": result.run,
        "stage": " + ".join(pair.stages),
        "chosen": pair.chosen_name,
        "rejected": pair.rejected_name,
        "models": {"author": "scripted/scripted", "judges": ["scripted/scripted"]},
        "seed": 7,
    }
    json.dumps(chat)


async def pairs_in(journal: Journal, events: Iterable[AnyEvent]) -> Pairs:
    """Those of a run that was made by hand."""
    create_run(journal, "20260101-by-hand", "Two texts", "0")
    for event in events:
        journal.append("20260101-by-hand", event)
    await journal.flush()
    return find_pairs(["20260101-by-hand"], journal=journal)


async def test_finished_texts_and_the_cells_of_a_suite_make_pairs_too(journal: Journal) -> None:
    found = await pairs_in(journal, comparison())
    assert names(found) == {("short", "long", 2, 1)}
    assert {pair.stages for pair in found.pairs} == {("panel/1",)}
    assert found.undecided == 1
    result, _ = await compared(journal, comparing("critique_revise", "single", repeats=1))
    found = find_pairs([result.run], journal=journal)
    assert names(found) == {("critique_revise", "single", 3, 0)}


async def test_a_judge_who_saw_two_texts_both_ways_round_has_one_vote_or_none(
    journal: Journal,
) -> None:
    found = await pairs_in(journal, duel())
    assert names(found) == {("short", "long", 2, 0)}


@hypothesis_settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.permutations(["First", "Second", "Third"]), min_size=3, max_size=3), st.floats(0, 1)
)
async def test_no_vote_is_lost_or_counted_twice(
    journal: Journal, ballots: list[list[str]], agreement: float
) -> None:
    judges = by_seat(*(tuple(each) for each in ballots))
    changes = {**FOR_TWO_PASSES, "passes": 1}
    result = await start_run(journal, scripted({"judge": judges}), changes=changes)
    found = find_pairs([result.run], journal=journal, min_agreement=agreement)
    assert len(found.pairs) + found.ties + found.below_agreement == 3
    story = build_story([recorded.event for recorded in journal.events(result.run)])
    cast = [ballot.ranking for held in story.passes for ballot in held.ballots if ballot.ranking]
    for pair in found.pairs:
        assert pair.chosen_votes + pair.rejected_votes == len(cast)
        assert pair.chosen_votes > pair.rejected_votes
        assert pair.chosen_votes >= agreement * (pair.chosen_votes + pair.rejected_votes)
        slots = [_slot(pair, name) for name in (pair.chosen_name, pair.rejected_name)]
        above = sum(ranking.index(slots[0]) < ranking.index(slots[1]) for ranking in cast)
        assert pair.chosen_votes == above


def _slot(pair: TrainingPair, name: str) -> str:
    assert pair.stages == ("pass/1",)
    return "A" if name == "draft" else name.split()[-1]
