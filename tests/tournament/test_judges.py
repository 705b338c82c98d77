"""How judges are asked: every style changes what it says it changes, on the wire, and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.tournament.stage import Played, document, play, shown_texts, vote

from autoreason.errors import InvalidInput
from autoreason.events import BallotCast, JobFinished, PassDecided
from autoreason.exchange import Request
from autoreason.settings import STYLES, Models, make_settings
from autoreason.studies.panels.ranked import RankedPanel
from autoreason.task import Entry
from autoreason.tournament.loop import likely_plan
from autoreason.tournament.statements import ballot

SHORT: dict[str, Any] = {
    "passes": 1,
    "k": 1,
    "extra_judges": 0,
    "early_stop": False,
    "playoff": 0,
    "confirmation": 0,
}
TEXTS = {
    "author": document("First text."),
    "reviser": document("Second text, which is longer."),
    "synthesizer": document("Third text."),
}
"""B is the longest, and A and AB have as many words."""


def is_check(request: Request) -> bool:
    """Whether a second judge is asked about the first one's ballot."""
    return bool(request.schema and request.schema.name == "length_check")


def judge(check: str, *best_first: str) -> Any:
    """A judge who ranks like this, and a second one who answers like that."""
    rank = vote(*best_first)
    return lambda request: check if is_check(request) else rank(request)


def said(first_place: str) -> str:
    """The answer of a second judge."""
    return json.dumps({"reasoning": "I looked.", "first_place": first_place})


async def judged(style: str, check: str = said("quality"), **changes: Any) -> Played:
    """One pass of three judges who put the revision first, then the synthesis."""
    answers = {**TEXTS, "judge": judge(check, "Second", "Third", "First")}
    return await play(answers, **{**SHORT, "style": style, **changes})


def ballots(played: Played) -> list[BallotCast]:
    """Those of the pass."""
    return played.of(BallotCast)


@pytest.mark.parametrize("style", STYLES)
async def test_a_style_changes_what_judges_are_asked_and_nothing_else(style: str) -> None:
    usual, changed = await judged("reasoned"), await judged(style)
    others = [[each for each in run.requests if each.role != "judge"] for run in (usual, changed)]
    assert others[0] == others[1]
    before, after = (
        [each.messages[-1].text for each in run.asked("judge") if not is_check(each)]
        for run in (usual, changed)
    )
    assert len(before) == len(after) == 3
    # What is verified is asked for in the usual way first, and A is the first draft, so that no reference is shown.
    assert (before == after) == (style in ("reasoned", "verified", "anchored"))
    assert [each.check is not None for each in ballots(changed)] == [style == "verified"] * 3
    assert [shown_texts(each) for each in usual.asked("judge")] == [
        shown_texts(each) for each in changed.asked("judge") if not is_check(each)
    ]


async def test_scope_aware_judges_are_asked_to_weigh_what_goes_beyond_the_task() -> None:
    for request in (await judged("scope_aware")).asked("judge"):
        assert "stays within what the task asks" in request.messages[-1].text


async def test_a_second_judge_sees_the_first_two_texts_and_the_reasons_and_confirms_the_ballot() -> (
    None
):
    played = await judged("verified")
    checks = [each for each in played.asked("judge") if is_check(each)]
    assert [each.key for each in checks] == [f"pass/1/judge/{n}/check/try/0" for n in range(3)]
    for request, cast in zip(checks, ballots(played), strict=True):
        shown = shown_texts(request)
        assert sorted(shown.values()) == ["Second text, which is longer.", "Third text."]
        assert [name for name in cast.labels if name in shown] == list(shown)
        assert "so it is" in request.messages[-1].text
        assert cast.ranking == cast.first_ranking == ("B", "AB", "A")
        assert "checked, B is not first for its length alone" in ballot(cast)


async def test_a_first_place_for_length_alone_goes_to_the_second_text_and_the_ballot_says_so() -> (
    None
):
    played = await judged("verified", said("length"))
    for cast in ballots(played):
        assert (cast.first_ranking, cast.ranking) == (("B", "AB", "A"), ("AB", "B", "A"))
        assert cast.check is not None
        assert "I looked." in cast.check.reasoning
        assert "B was first, for its length alone by the check, and goes behind AB" in ballot(cast)
    assert played.of(PassDecided)[0].winner == "AB"


async def test_a_check_that_cannot_be_read_leaves_the_ballot_as_it_is() -> None:
    played = await judged("verified", "Hard to say.")
    assert [cast.ranking for cast in ballots(played)] == [("B", "AB", "A")] * 3
    assert "could not be read" in ballot(ballots(played)[0])


async def test_a_first_text_that_is_no_longer_than_the_second_needs_no_check() -> None:
    answers = {**TEXTS, "judge": judge(said("length"), "Third", "Second", "First")}
    played = await play(answers, **SHORT, style="verified")
    assert not any(map(is_check, played.requests))
    assert [cast.check for cast in ballots(played)] == [None] * 3


async def test_of_a_mixed_panel_another_model_checks() -> None:
    models = Models(author="m/a", critic="m/a", synthesizer="m/a", judges=("m/x", "m/y"))
    played = await judged("verified", models=models)
    asked = [(each.model, is_check(each)) for each in played.asked("judge")]
    assert sorted(asked) == sorted(
        [
            ("m/x", False),
            ("m/y", False),
            ("m/x", False),
            ("m/y", True),
            ("m/x", True),
            ("m/y", True),
        ]
    )


@pytest.mark.parametrize(
    "changes", [{"style": "verified"}, {"single_judge": True}, {"style": "anchored", "judges": 5}]
)
async def test_a_run_takes_the_calls_that_are_planned_for_it(changes: dict[str, Any]) -> None:
    played = await judged(**{"style": "reasoned", **changes})
    planned = likely_plan(make_settings(Models.everywhere("x/y"), 1, **{**SHORT, **changes}))
    assert {role: len(played.asked(role)) for role in planned} == planned


async def test_an_anchored_judge_sees_the_first_draft_once_it_is_no_longer_a() -> None:
    script: dict[str, Any] = {
        "author": document("First text."),
        "reviser": lambda request: document(f"Second text, made in {request.key.split('/')[1]}."),
        "judge": vote("Second", "Third", "First"),
    }
    played = await play(
        script, **{**SHORT, "passes": 2, "confirmation": 2, "playoff": 2, "style": "anchored"}
    )
    for request in played.asked("judge"):
        shown, prompt = shown_texts(request), request.messages[-1].text
        is_anchored = "<<<REFERENCE" in prompt
        assert is_anchored == request.key.startswith("pass/2/"), request.key
        # It is there once, as a reference or as one of the texts.
        assert prompt.count("First text.") == 1
        assert is_anchored == ("First text." not in shown.values())
    anchored = [cast for cast in ballots(played) if cast.anchored]
    assert {cast.stage for cast in anchored} == {"pass/2"}
    assert "judge 1 (shown the first draft): " in ballot(anchored[0])


async def test_finished_texts_can_be_judged_by_verified_judges_at_the_price_that_is_named() -> None:
    names = {"one": "A long text about the tide.", "two": "A short text."}
    entries = tuple(Entry(name=name, text=text) for name, text in names.items())
    terms: dict[str, Any] = {"judges": 3, "style": "verified", "strategy": "judge"}
    judging = Models.judging("x/y")
    answers = {"judge": judge(said("length"), "long", "short")}
    played = await play(answers, entries=entries, models=judging, **terms)
    assert isinstance(played.end, JobFinished)
    assert played.end.origin == "two"
    least, likely, most = RankedPanel.plans(make_settings(judging, 1, **terms))
    assert (least, likely, most) == ({"judge": 3}, {"judge": 6}, {"judge": 15})
    assert len(played.requests) == 6


def test_where_there_is_no_first_draft_no_judge_can_be_anchored() -> None:
    with pytest.raises(InvalidInput, match="shows judges a run's first draft, and there is none"):
        make_settings(Models.judging("x/y"), 1, style="anchored")
