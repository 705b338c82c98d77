"""Which texts stand for a vote: first drafts, challengers, and what keeps a text off the ballot."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tournament.stage import CONTESTS, Answer, Played, document, play, shown_texts, vote
from tests.under_chance.luck import most_often

from autoreason.contract import Contract
from autoreason.errors import InvalidInput
from autoreason.events import (
    CandidateDropped,
    CandidateReady,
    DraftFailed,
    DraftReady,
    DraftWritten,
    PanelDecided,
)
from autoreason.exchange import Outcome, Reply, Request
from autoreason.journal import Journal
from autoreason.knowledge_records import Knowledge, ShownRecord
from autoreason.run.recorded import replay, resume
from autoreason.run.refine import refine
from autoreason.settings import Budget, Models, Settings, make_settings
from autoreason.story import build_story
from autoreason.testing import EchoModel
from autoreason.tournament import statements
from autoreason.tournament.challengers import is_worse
from autoreason.tournament.loop import likely_plan, max_plan
from autoreason.tournament.panel import EVALUATIONS
from autoreason.tournament.voting import (
    ballot_size,
    in_tie_order,
    revisers_by_slot,
    writes_synthesis,
)

pytestmark = pytest.mark.usefixtures("evaluator_here")

SHORT = Contract(max_words=4)
LONG = document("First text of far too many words.")
REFUSED = Reply(outcome=Outcome.REFUSED, text="", model="scripted/x")


def number(request: Request) -> int:
    """Which draft a request is for."""
    step = request.key.split("/")
    return int(step[1]) if step[0] == "drafts" else 1


def keeping_from(first: int) -> Answer:
    """An author whose drafts keep the contract from this one on."""

    def write(request: Request) -> str:
        n = number(request)
        return document(f"Draft number {n}.") if n >= first else LONG

    return write


async def drafted(author: Answer, **more: Any) -> Played:
    """A run of one pass, whose challengers are not drafts."""
    script = {"author": author, **more.pop("script", {})}
    return await play(script, passes=1, rivals=False, **more)


@pytest.mark.parametrize(
    ("author", "changes"),
    [
        (keeping_from(1), {"contract": SHORT}),
        # There is no contract.
        (LONG, {}),
        (LONG, {"contract": SHORT, "protocol": "paper", "script": {"critic": "Dull."}}),
    ],
)
async def test_one_draft_is_enough(author: Answer, changes: dict[str, Any]) -> None:
    played = await drafted(author, **changes)
    assert not played.of(DraftWritten)
    assert {request.key.split("/")[0] for request in played.asked("author")} == {"draft"}


async def test_drafts_are_written_until_one_keeps_the_contract() -> None:
    played = await drafted(keeping_from(4), contract=SHORT)
    written = [(each.number, bool(each.violations)) for each in played.of(DraftWritten)]
    assert written == [(1, True), (2, True), (3, True), (4, False)]
    (ready,) = played.of(DraftReady)
    assert (ready.text, ready.number, ready.of) == ("Draft number 4.", 4, 4)
    first_tries = [each for each in played.asked("author") if each.key.endswith("try/0")]
    assert len({request.messages for request in first_tries}) == 1, "none knows of the others"


async def test_where_none_keeps_it_the_run_begins_with_what_comes_nearest() -> None:
    def write(request: Request) -> str:
        return document(
            "Far too many words here." if number(request) == 2 else "Very many words are here."
        )

    contract = Contract(max_words=4, must_not_include=("Very",))
    played = await drafted(write, contract=contract, max_drafts=3)
    (ready,) = played.of(DraftReady)
    assert (ready.number, ready.of, len(ready.violations)) == (2, 3, 1)

    def nearest(request: Request) -> str:
        return document("word " * (5 if number(request) == 2 else 50) + str(number(request)))

    played = await drafted(nearest, contract=SHORT, max_drafts=3)
    assert played.of(DraftReady)[0].number == 2


async def test_a_draft_that_never_came_is_none_of_them_and_the_users_own_stands_alone() -> None:
    script: dict[str, Answer] = {"drafts/2/try/0": REFUSED, "drafts/2/try/1": REFUSED}
    played = await drafted(keeping_from(2), script=script, contract=SHORT)
    assert [each.attempt for each in played.of(DraftFailed)] == [1]
    (ready,) = played.of(DraftReady)
    assert (ready.number, ready.of) == (3, 2)
    played = await drafted(keeping_from(1), draft="A draft of far too many words.", contract=SHORT)
    assert not played.asked("author")
    assert played.of(DraftReady)[0].given


async def test_of_several_drafts_that_keep_it_blind_judges_choose_one() -> None:
    played = await drafted(
        keeping_from(2), contract=SHORT, drafts=3, script={"judge": vote("number 3")}
    )
    (held,) = [each for each in played.of(PanelDecided) if each.stage == "drafts"]
    assert held.verdict
    assert held.verdict.winner == "draft 3"
    judges = [each for each in played.asked("judge") if each.key.startswith("drafts/judge/")]
    assert len(judges) == 3
    for judge in judges:
        assert sorted(shown_texts(judge).values()) == [f"Draft number {n}." for n in (2, 3, 4)]
    assert played.of(DraftReady)[0].text == "Draft number 3."
    assert played.delivered.evidence.ballots >= 3


async def test_a_panel_of_drafts_that_fails_leaves_the_first_that_keeps_the_contract() -> None:
    def dead(request: Request) -> str:
        return "?" if request.key.startswith("drafts/") else vote("Draft")(request)

    played = await drafted(keeping_from(2), contract=SHORT, drafts=2, script={"judge": dead})
    assert played.of(DraftReady)[0].number == 2
    same = await drafted(document("The one text."), drafts=3)
    assert not [each for each in same.asked("judge") if each.key.startswith("drafts/")]
    assert same.of(DraftReady)[0].number == 1


async def test_another_draft_is_begun_only_if_the_budget_pays_for_a_pass_and_the_end_too() -> None:
    played = await drafted(
        LONG,
        contract=SHORT,
        budget=Budget(calls=30),
        script={"drafts/3/budget": "2 of 30 calls were left"},
    )
    assert [each.number for each in played.of(DraftWritten)] == [1, 2]


@given(kept=st.lists(st.booleans(), min_size=10, max_size=10), wanted=st.integers(1, 4))
async def test_no_more_drafts_are_written_than_it_takes(kept: list[bool], wanted: int) -> None:
    def write(request: Request) -> str:
        n = number(request)
        return document(f"Draft number {n}." if kept[n - 1] else f"Draft {n} is far too long.")

    played = await drafted(write, contract=SHORT, drafts=wanted)
    (ready,) = played.of(DraftReady)
    written = max(1, len(played.of(DraftWritten)))
    keepers = [n for n in range(1, written + 1) if kept[n - 1]]
    assert len(keepers) == wanted or written == 10
    assert (ready.number in keepers) == bool(keepers)


LENGTH = """
def score(artifact, seed):
    return len(artifact.text("text.md"))
"""


@pytest.fixture
def metric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a metric of one's own is written."""
    monkeypatch.chdir(tmp_path)
    return Path("metric.py")


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=EVALUATIONS))
def test_what_is_not_below_on_average_is_never_worse(differences: list[float]) -> None:
    if sum(differences) >= 0:
        assert not is_worse(differences)


def test_a_difference_must_exceed_the_noise_which_alone_leaves_out_one_text_in_forty() -> None:
    assert is_worse([-0.001] * EVALUATIONS)
    assert not is_worse([0.0] * EVALUATIONS)
    assert not is_worse([-3.0, 2.0, -2.0, 1.0])
    assert is_worse([-3.0, -3.1, -2.9, -3.0])
    assert not is_worse([])
    chance, times = random.Random(1), 4000
    dropped = sum(is_worse([chance.gauss(0, 1) for _ in range(EVALUATIONS)]) for _ in range(times))
    assert dropped <= most_often(times, 0.025)


@pytest.mark.parametrize("better", ["higher", "lower"])
def test_candidates_that_the_metric_calls_worse_are_left_out_and_the_run_replays(
    metric: Path, better: Literal["higher", "lower"]
) -> None:
    metric.write_text(LENGTH)
    result = refine(
        "Write a note about the coffee machine.",
        EchoModel(),
        passes=3,
        seed=4,
        metric="metric.py:score",
        metric_better=better,
    )
    metric.unlink()
    assert result.finished
    assert "metric.py:score left out" in " ".join(str(result).split())
    assert replay(result.run).same
    with Journal.open(None, create=False) as journal:
        events = [each.event for each in journal.events(result.run)]
        looks = [key for key in journal.answers(result.run) if "/metric/" in key]
    sign = 1 if better == "higher" else -1
    compared = 0
    for at, recorded in enumerate(result.story.passes, 1):
        for event in events:
            if isinstance(event, CandidateReady | CandidateDropped) and event.number == at:
                if isinstance(event, CandidateDropped) and event.reason != "metric":
                    continue
                worse = sign * (len(event.text) - len(recorded.incumbent)) < 0
                assert worse == isinstance(event, CandidateDropped)
                compared += 1
    assert compared
    assert f"pass/1/metric/A/evaluation/{EVALUATIONS - 1}" in looks


def test_a_metric_that_cannot_be_used_is_refused_and_nothing_is_written(
    metric: Path,
) -> None:
    with pytest.raises(InvalidInput, match=r"metric\.py"):
        refine("Write.", EchoModel(), metric="metric.py:score")
    metric.write_text(LENGTH)
    with pytest.raises(InvalidInput, match="single has no use for a metric"):
        refine("Write.", EchoModel(), metric="metric.py:score", strategy="single")


@pytest.mark.parametrize("body", ["return float('nan')", "raise ValueError('no scale')"])
def test_without_a_number_for_the_text_as_it_is_the_run_pauses_with_the_reason(
    metric: Path, body: str
) -> None:
    metric.write_text(f"def score(artifact, seed):\n    {body}\n")
    paused = refine("Write a note.", EchoModel(), passes=3, seed=4, metric="metric.py:score")
    assert paused.status == "metric_failed"
    assert paused.calls <= 4
    assert (
        "paused: the metric failed: the metric gave no number 4 times in a row" in paused.conclusion
    )
    assert "no scale" in paused.conclusion or "NaN" in paused.conclusion
    again = resume(paused)
    assert (again.status, again.calls) == ("metric_failed", paused.calls)


def test_a_candidate_without_a_number_is_left_out_and_the_reason_is_shown(
    metric: Path,
) -> None:
    first = "This is the text as it is."
    metric.write_text(
        "def score(artifact, seed):\n"
        f"    if artifact.text('text.md').strip() != {first!r}:\n"
        "        raise ValueError('no scale')\n"
        "    return 1\n"
    )
    result = refine(
        "Write a note.", EchoModel(), draft=first, passes=2, seed=4, metric="metric.py:score"
    )
    assert result.finished
    left_out = [each for one in result.story.passes for each in one.dropped]
    unmeasured = [each for each in left_out if each.reason == "number"]
    assert unmeasured
    assert all("no scale" in statements.dropped(each) for each in unmeasured)
    assert "left out: the metric gives it no number" in statements.dropped(unmeasured[0])
    assert f"{len(unmeasured)} for which it gave no number" in " ".join(str(result).split())
    assert replay(result.run).same


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
    ends: dict[str, Any] = {"reviewers": 0, "confirmation": 0, "early_stop": False}
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


async def test_without_the_revision_it_is_written_for_the_synthesis_alone() -> None:
    usual, played = await once(), await once("without B")
    assert wire(played, "judge") == wire(usual, "judge")
    assert judged(played) == {frozenset({"First text.", "Text, made."})}
    assert {each.slot for each in played.of(CandidateReady)} == {"AB"}
    first = played.of(CandidateDropped)[0]
    assert (first.slot, first.reason) == ("B", "unlisted")
    assert first.text == "Second text, made in 1."
    clone = {"reviser": document("First text.")}
    played = await once("without B", script=clone)
    assert [each.outcome for each in played.decided] == ["unopposed", "unopposed"]
    assert len(played.asked("author")) == 1
    assert len((await once(script=clone)).asked("author")) > 1


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


async def test_a_synthesis_that_adds_is_sent_back_once_and_then_left_out_which_is_told() -> None:
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
    played = await once("subtractive", script={"synthesizer": document("Something else.")})
    story = build_story(played.events)
    rows = dict(statements.evidence(played.delivered.evidence, story, ()))
    assert f"AB in {len(story.passes)} of {len(story.passes)} passes" in rows["Left out"]


async def test_critics_alone_are_not_shown_the_facts_nor_those_of_the_users_records() -> None:
    usual, played = await once(), await once("no facts")
    assert wire(played, "critic") == wire(usual, "critic")
    assert wire(played).keys() == wire(usual).keys()
    assert not any(FACTS in each.text for r in played.asked("critic") for each in r.messages)
    assert all(FACTS in r.messages[1].text for r in wire(played, "critic").values())
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


async def test_two_models_revise_side_by_side_for_the_synthesis_and_either_can_win() -> None:
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
        shown = [who for who in (1, 2) if f"made in {number} by {who}" in one.messages[-1].text]
        assert shown == [number]
    assert {len(texts) for texts in judged(played)} == {4}
    assert [each.slot for each in played.of(CandidateReady)] == ["B1", "B2", "AB"] * 2
    judge = vote("by 2", "First")
    played = await once("two revisers", script={"reviser": by_key, "judge": judge}, passes=1)
    delivered = played.delivered
    assert (delivered.origin, delivered.text) == ("pass 1 B2", "Second text, made in 1 by 2.")
    (verdict,) = played.verdicts
    assert list(verdict.scores) == ["A", "AB", "B1", "B2"]
    assert verdict.scores["B2"] == 4 * 3


async def test_a_reviser_who_fails_or_repeats_the_other_leaves_that_one_to_be_joined() -> None:
    gone = {"reviser": by_key, "pass/1/reviser/1/try/0": "", "pass/1/reviser/1/try/1": ""}
    played = await once("two revisers", script=gone, passes=1)
    assert "by 2" in played.asked("synthesizer")[0].messages[-1].text
    assert [(each.slot, each.reason) for each in played.of(CandidateDropped)] == [("B1", "empty")]
    assert {len(texts) for texts in judged(played)} == {3}
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
async def test_a_pass_takes_the_calls_that_were_planned_and_never_more_than_the_most(
    switch: str,
) -> None:
    one = {"passes": 1, "k": 1, "max_drafts": 1}
    played = await once(switch, script={"reviser": by_key} if "two" in switch else {}, **one)
    changes = CONTESTS | {"reviewers": 0, "confirmation": 0, **SWITCHES[switch], **one}
    settings = make_settings(changes.pop("models", ONE), 7, **changes)
    assert Counter(each.role for each in played.requests) == Counter(likely_plan(settings))
    assert {len(texts) for texts in judged(played)} == {ballot_size(settings)}
    leaky = "As requested, here is the revised version of the text:\n\nSummary of changes: none."
    worst = await once(switch, script={"synthesizer": leaky, "reviser": leaky}, **one)
    asked, most = Counter(each.role for each in worst.requests), max_plan(settings)
    assert all(number <= most[role] for role, number in asked.items())
    assert bool(asked["synthesizer"]) == bool(most["synthesizer"])


def with_revisers(number: int, **changes: Any) -> Settings:
    models = Models(author="a/x", judges=("a/x",), revisers=("a/x",) * number)
    return make_settings(models, 1, **CONTESTS | changes)


@given(st.integers(0, 3), st.sampled_from(["B+AB", "B", "AB"]), st.integers(1, 9))
def test_a_ballot_has_the_incumbent_and_whatever_is_written_and_judged(
    number: int, candidates: str, turn: int
) -> None:
    settings = with_revisers(number, candidates=candidates)
    written = [*revisers_by_slot(settings, turn), *["AB"] * writes_synthesis(settings)]
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


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"candidates": "B", "subtractive_synthesis": True}, "`subtractive_synthesis` needs AB"),
        ({"candidates": "A"}, "`candidates`"),
        ({"drafts": 11}, "drafts"),
        ({"drafts": 3, "max_drafts": 2}, "max_drafts"),
    ],
)
def test_what_contradicts_itself_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        make_settings(ONE, 1, **changes)
