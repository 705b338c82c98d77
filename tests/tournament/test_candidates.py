"""Every switch over candidates and critic changes what it says, on the wire, and nothing else."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tournament.stage import Played, document, play, shown_texts, vote

from autoreason.errors import InvalidInput
from autoreason.events import CandidateDropped, CandidateReady, PassDecided
from autoreason.exchange import Outcome, Reply, Request
from autoreason.knowledge_records import Knowledge, ShownRecord
from autoreason.settings import Models, Settings, make_settings
from autoreason.story import build_story
from autoreason.tournament import statements
from autoreason.tournament.candidates import ballot_size, in_tie_order, written_slots
from autoreason.tournament.loop import likely_plan, max_plan

ONE = Models.everywhere("scripted/x")
TWO = Models(
    author="scripted/x",
    critic="scripted/x",
    synthesizer="scripted/x",
    judges=("scripted/x",),
    revisers=("scripted/y", "scripted/z"),
)
FACTS = "The machine arrives on Monday."
CUT = document("Text, made.")
"""What can be cut from the texts of the usual script."""
SWITCHES: dict[str, dict[str, Any]] = {
    "usual": {},
    "without AB": {"candidates": "B"},
    "without B": {"candidates": "AB"},
    "blind": {"blind_revision": True},
    "subtractive": {"subtractive_synthesis": True},
    "no facts": {"critic_facts": False},
    "two revisers": {"models": TWO},
    "two revisers without B": {"models": TWO, "candidates": "AB"},
    "two revisers without AB": {"models": TWO, "candidates": "B"},
}


async def once(switch: str = "usual", **options: Any) -> Played:
    """Two passes that A survives, with facts, and without what comes after them."""
    script = {"synthesizer": CUT, **options.pop("script", {})}
    ends: dict[str, Any] = {"playoff": 0, "confirmation": 0, "extra_judges": 0, "early_stop": False}
    return await play(script, facts=FACTS, **ends, **SWITCHES[switch], **options)


def wire(played: Played, *but: str) -> dict[str, Request]:
    """What was sent, by key, but for these roles."""
    return {each.key: each for each in played.requests if each.role not in but}


def judged(played: Played) -> set[frozenset[str]]:
    """Each set of texts that a judge was shown."""
    return {frozenset(shown_texts(each).values()) for each in played.asked("judge")}


async def test_without_the_synthesis_none_is_written_and_judges_see_two_texts() -> None:
    usual, played = await once(), await once("without AB")
    assert not played.asked("synthesizer")
    assert wire(played, "judge") == wire(usual, "judge", "synthesizer")
    assert judged(played) == {
        frozenset({"First text.", f"Second text, made in {number}."}) for number in (1, 2)
    }


async def test_without_the_revision_it_is_written_for_the_synthesis_and_not_judged() -> None:
    usual, played = await once(), await once("without B")
    assert wire(played, "judge") == wire(usual, "judge")
    assert judged(played) == {frozenset({"First text.", "Text, made."})}
    assert {each.slot for each in played.of(CandidateReady)} == {"AB"}
    first = played.of(CandidateDropped)[0]
    assert (first.slot, first.reason, first.text) == (
        "B",
        "unlisted",
        "Second text, made in 1.",
    )


async def test_without_the_revision_no_fresh_draft_takes_its_place() -> None:
    clone = {"reviser": document("First text.")}
    played = await once("without B", script=clone)
    assert [each.outcome for each in played.of(PassDecided)] == ["unopposed", "unopposed"]
    assert len(played.asked("author")) == 1
    assert len((await once(script=clone)).asked("author")) > 1


async def test_a_synthesis_that_is_the_missing_revision_is_not_judged_in_its_place() -> None:
    same = {"synthesizer": lambda r: document(f"Second text, made in {r.key.split('/')[1]}.")}
    played = await once("without B", script=same)
    assert not played.asked("judge")
    assert {each.reason for each in played.of(CandidateDropped)} == {"unlisted", "clone"}


async def test_an_author_who_refuses_says_nothing_about_the_incumbent_without_the_revision() -> (
    None
):
    refused = Reply(outcome=Outcome.REFUSED, text="", model="x")
    played = await once("without B", script={"reviser": refused}, passes=1)
    assert [each.outcome for each in played.of(PassDecided)] == ["inconclusive"]


async def test_a_blind_reviser_sees_task_and_critique_and_never_the_text() -> None:
    usual, played = await once(), await once("blind")
    assert wire(played, "reviser") == wire(usual, "reviser")
    for request in played.asked("reviser"):
        said = "\n".join(each.text for each in request.messages)
        assert "It lacks an example." in said
        assert "Write one sentence." in said
        assert "First text" not in said
    assert all("First text" in each.messages[-1].text for each in usual.asked("reviser"))


async def test_only_the_synthesizer_is_asked_otherwise_where_it_may_only_cut() -> None:
    usual, played = await once(), await once("subtractive")
    assert wire(played, "synthesizer") == wire(usual, "synthesizer")
    assert wire(played).keys() == wire(usual).keys()
    assert "cutting alone" in played.asked("synthesizer")[0].messages[-1].text


async def test_a_synthesis_that_adds_is_sent_back_once_and_then_left_out() -> None:
    added = {"synthesizer": document("First text. Nobody wrote this before.")}
    played = await once("subtractive", script=added, passes=1)
    first, again = played.asked("synthesizer")
    assert again.messages[: len(first.messages)] == first.messages
    assert "“Nobody wrote this before.” cannot be cut" in again.messages[-1].text
    (left_out,) = played.of(CandidateDropped)
    assert (left_out.slot, left_out.reason) == ("AB", "added")
    assert judged(played) == {frozenset({"First text.", "Second text, made in 1."})}
    kept = added | {"pass/1/synthesizer/repair": CUT}
    assert not (await once("subtractive", script=kept, passes=1)).of(CandidateDropped)
    assert not (await once(script=added, passes=1)).of(CandidateDropped)


async def test_critics_alone_are_not_shown_the_facts() -> None:
    usual, played = await once(), await once("no facts")
    assert wire(played, "critic") == wire(usual, "critic")
    assert wire(played).keys() == wire(usual).keys()
    assert not any(FACTS in each.text for r in played.asked("critic") for each in r.messages)
    assert all(FACTS in r.messages[1].text for r in wire(played, "critic").values())


async def test_nor_the_facts_of_the_users_records() -> None:
    known = Knowledge(source="kb", digest="", facts=(ShownRecord(id="r1", text="Tea is dear."),))
    for switch, said in (("usual", True), ("no facts", False)):
        played = await once(switch, knowledge=known, passes=1)
        for role in ("critic", "reviser"):
            texts = [each.text for each in played.asked(role)[0].messages]
            assert any("Tea is dear." in text for text in texts) == (said or role != "critic")


def by_key(request: Request) -> str:
    """A revision that names its reviser."""
    _, number, _, who, *_ = request.key.split("/")
    return document(f"Second text, made in {number} by {who}.")


async def test_two_models_revise_side_by_side_and_the_synthesis_takes_them_by_turns() -> None:
    usual, played = await once(), await once("two revisers", script={"reviser": by_key})
    assert wire(played, "reviser", "synthesizer", "judge") == wire(
        usual, "reviser", "synthesizer", "judge"
    )
    asked = {each.key: each for each in played.asked("reviser")}
    assert [each.model for each in asked.values()] == ["scripted/y", "scripted/z"] * 2
    before = usual.asked("reviser")[0]
    for each in (asked["pass/1/reviser/1/try/0"], asked["pass/1/reviser/2/try/0"]):
        assert each.messages[:-1] == before.messages[:-1]
        assert "First text." in each.messages[-1].text
    for number, one in enumerate(played.asked("synthesizer"), 1):
        assert {f"made in {number} by {who}" in one.messages[-1].text for who in (1, 2)} == {
            True,
            False,
        }
        assert f"made in {number} by {number}." in one.messages[-1].text
    assert {len(texts) for texts in judged(played)} == {4}
    assert [each.slot for each in played.of(CandidateReady)] == ["B1", "B2", "AB"] * 2


async def test_the_second_revision_can_win_and_be_delivered() -> None:
    judge = vote("by 2", "First")
    played = await once("two revisers", script={"reviser": by_key, "judge": judge}, passes=1)
    assert played.delivered is not None
    assert (played.delivered.origin, played.delivered.text) == (
        "pass 1 B2",
        "Second text, made in 1 by 2.",
    )
    verdict = played.of(PassDecided)[0].verdict
    assert verdict is not None
    assert list(verdict.scores) == ["A", "AB", "B1", "B2"]
    assert verdict.scores["B2"] == 4 * 3


async def test_where_one_of_two_revisers_fails_the_other_is_joined() -> None:
    gone = {"reviser": by_key, "pass/1/reviser/1/try/0": "", "pass/1/reviser/1/try/1": ""}
    played = await once("two revisers", script=gone, passes=1)
    assert "by 2" in played.asked("synthesizer")[0].messages[-1].text
    assert [(each.slot, each.reason) for each in played.of(CandidateDropped)] == [("B1", "empty")]
    assert {len(texts) for texts in judged(played)} == {3}


async def test_a_revision_that_is_the_other_ones_clone_is_not_judged() -> None:
    same = {"reviser": document("Second text, made twice.")}
    played = await once("two revisers", script=same, passes=1)
    assert [(each.slot, each.reason) for each in played.of(CandidateDropped)] == [("B2", "clone")]


async def test_without_revisions_only_the_one_whose_turn_it_is_is_written() -> None:
    played = await once("two revisers without B", script={"reviser": by_key})
    assert [each.key for each in played.asked("reviser")] == [
        "pass/1/reviser/1/try/0",
        "pass/2/reviser/2/try/0",
    ]
    assert {len(texts) for texts in judged(played)} == {2}


@pytest.mark.parametrize("switch", SWITCHES)
async def test_a_pass_takes_the_calls_that_were_planned(switch: str) -> None:
    one = {"passes": 1, "k": 1, "max_drafts": 1}
    played = await once(switch, script={"reviser": by_key} if "two" in switch else {}, **one)
    changes = {"playoff": 0, "confirmation": 0, "extra_judges": 0, **SWITCHES[switch], **one}
    settings = make_settings(changes.pop("models", ONE), 7, **changes)
    assert Counter(each.role for each in played.requests) == Counter(likely_plan(settings))
    assert {len(texts) for texts in judged(played)} == {ballot_size(settings)}


@pytest.mark.parametrize("switch", SWITCHES)
async def test_the_most_that_can_go_wrong_is_within_the_most_planned(switch: str) -> None:
    leaky = "As requested, here is the revised version of the text:\n\nSummary of changes: none."
    played = await once(switch, script={"synthesizer": leaky, "reviser": leaky}, passes=1, k=1)
    changes = {"passes": 1, "k": 1, **SWITCHES[switch]}
    settings = make_settings(changes.pop("models", ONE), 7, **changes)
    asked, most = Counter(each.role for each in played.requests), max_plan(settings)
    assert all(number <= most[role] for role, number in asked.items())
    assert bool(asked["synthesizer"]) == bool(most["synthesizer"])


def test_what_contradicts_itself_is_refused() -> None:
    with pytest.raises(InvalidInput, match="`candidates` is B, without a synthesis"):
        make_settings(ONE, 1, candidates="B", subtractive_synthesis=True)
    with pytest.raises(InvalidInput, match="`candidates`"):
        make_settings(ONE, 1, candidates="A")
    with pytest.raises(InvalidInput, match="`reviser_models` are 4; give 3 at most"):
        Models(judges=("a/b",), revisers=("a/b",) * 4)


def with_revisers(number: int, **changes: Any) -> Settings:
    """Settings with so many revisers."""
    models = Models(author="a/x", judges=("a/x",), revisers=("a/x",) * number)
    return make_settings(models, 1, **changes)


@given(st.integers(0, 3), st.sampled_from(["B+AB", "B", "AB"]), st.integers(1, 9))
def test_a_ballot_has_the_incumbent_and_whatever_is_written_and_judged(
    number: int, candidates: str, turn: int
) -> None:
    settings = with_revisers(number, candidates=candidates)
    written = written_slots(settings, turn)
    assert ("AB" in written) == (candidates != "B")
    revisions = len(written) - ("AB" in written)
    assert revisions == (1 if candidates == "AB" else max(1, number))
    assert ballot_size(settings) == 1 + len(written) - (candidates == "AB")


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (("A", "AB", "B"), ["A", "AB", "B", "B1", "B2"]),
        (("A", "B", "AB"), ["A", "B", "B1", "B2", "AB"]),
    ],
)
def test_several_revisions_are_where_the_tie_order_has_one(
    order: tuple[str, ...], expected: list[str]
) -> None:
    settings = with_revisers(2, tie_order=order)
    assert in_tie_order(["B2", "AB", "B", "A", "B1"], settings) == expected


async def test_a_run_says_how_often_a_candidate_was_left_out() -> None:
    played = await once("subtractive", script={"synthesizer": document("Something else.")})
    assert played.delivered is not None
    story = build_story(played.events)
    rows = dict(statements.evidence(played.delivered.evidence, story, ()))
    assert f"AB in {len(story.passes)} of {len(story.passes)} passes" in rows["Left out"]
