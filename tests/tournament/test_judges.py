"""How judges are asked: orders, labels, styles, and once more where an answer cannot be read."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Hashable, Sequence
from itertools import pairwise, permutations
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models.fake_provider import Answer, FakeProvider, provider
from tests.tournament.stage import CONTESTS, Played, critique, document, play, shown_texts, vote

from autoreason.errors import InvalidInput, PanelFailed
from autoreason.events import BallotCast, CritiqueWritten, JobFinished
from autoreason.exchange import Request
from autoreason.job_types import Judge
from autoreason.jobs.context import JobContext
from autoreason.models.providers import PROVIDERS
from autoreason.models.wire import WireModel
from autoreason.parsing.ballots import rests_on_length
from autoreason.prompts import load
from autoreason.settings import Models, Style, make_settings
from autoreason.studies.panel_jobs import RankedPanel
from autoreason.task import Entry, Task
from autoreason.tournament.judges import balanced_orders, cast_ballot, neutral_labels, random_orders
from autoreason.tournament.loop import likely_plan
from autoreason.tournament.statements import ballot
from autoreason.tournament.writing import criticise

steady = settings(derandomize=True)
seeds = st.integers(0, 2**64 - 1)
fields = st.integers(2, 8).map(lambda n: tuple("ABCDEFGH"[:n]))


def in_position(orders: Sequence[Sequence[str]]) -> Counter[tuple[int, str]]:
    return Counter((place, name) for order in orders for place, name in enumerate(order))


def neighbours(orders: Sequence[Sequence[str]]) -> Counter[tuple[str, str]]:
    return Counter(pair for order in orders for pair in pairwise(order))


@given(seeds)
@steady
def test_six_judges_see_every_order_of_three_candidates_once(seed: int) -> None:
    orders = balanced_orders(("A", "B", "AB"), 12, seed)
    for block in (orders[:6], orders[6:]):
        assert sorted(block) == sorted(permutations(("A", "B", "AB")))


@given(fields, st.integers(1, 25), seeds)
@steady
def test_positions_are_shared_as_evenly_as_the_number_of_judges_allows(
    candidates: tuple[str, ...], judges: int, seed: int
) -> None:
    orders = balanced_orders(candidates, judges, seed)
    assert len(orders) == judges
    assert all(sorted(order) == sorted(candidates) for order in orders)
    counts = in_position(orders)
    every = [counts[place, name] for place in range(len(candidates)) for name in candidates]
    assert max(every) - min(every) <= 1


@given(fields, seeds)
@steady
def test_everybody_follows_everybody_else_equally_often(
    candidates: tuple[str, ...], seed: int
) -> None:
    rounds = 1 + len(candidates) % 2
    counts = neighbours(balanced_orders(candidates, rounds * len(candidates), seed))
    assert counts == Counter(dict.fromkeys(permutations(candidates, 2), rounds))


@given(fields, st.integers(1, 12), st.integers(0, 12), seeds)
@steady
def test_a_later_panel_goes_on_with_the_orders_where_the_one_before_left_them(
    candidates: tuple[str, ...], judges: int, more: int, seed: int
) -> None:
    for spread in (balanced_orders, random_orders):
        both = spread(candidates, judges, seed) + spread(candidates, more, seed, judges)
        assert both == spread(candidates, judges + more, seed)


@pytest.mark.parametrize("spread", [balanced_orders, random_orders])
def test_orders_come_from_the_seed_and_from_nothing_else(
    spread: Callable[[str, int, int], Hashable],
) -> None:
    several = [spread("ABC", 6, seed) for seed in range(20)]
    assert several == [spread("ABC", 6, seed) for seed in range(20)]
    assert len(set(several)) > 10


def test_random_orders_are_drawn_independently() -> None:
    orders = random_orders(("A", "B", "AB"), 6000, seed=1)
    counts = Counter(orders)
    assert sorted(counts) == sorted(permutations(("A", "B", "AB")))
    assert all(900 < count < 1100 for count in counts.values())


@given(st.integers(1, 40), seeds)
@steady
def test_labels_are_different_pairs_of_different_consonants(count: int, seed: int) -> None:
    labels = neutral_labels(count, random.Random(seed))
    assert len(set(labels)) == count
    for label in labels:
        assert len(set(label)) == 2
        assert set(label) <= set("BCDFGHJKLMNPQRSTVWXZ")


def test_labels_mean_nothing() -> None:
    drawn = {label for seed in range(500) for label in neutral_labels(6, random.Random(seed))}
    assert len(drawn) > 200
    assert not drawn & {"TV", "PC", "KG", "DB", "VS", "PR", "MR", "DR", "QR", "CV", "HR", "PS"}


SHORT: dict[str, Any] = {
    "passes": 1,
    "k": 1,
    "early_stop": False,
    "reviewers": 0,
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


@pytest.mark.parametrize("style", get_args(Style))
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
    assert [each.check is not None for each in changed.of(BallotCast)] == [style == "verified"] * 3
    if style == "scope_aware":
        assert all("stays within what the task asks" in each for each in after)
    assert [shown_texts(each) for each in usual.asked("judge")] == [
        shown_texts(each) for each in changed.asked("judge") if not is_check(each)
    ]


async def test_a_second_judge_sees_first_two_texts_and_reasons_and_confirms_the_ballot() -> None:
    played = await judged("verified")
    checks = [each for each in played.asked("judge") if is_check(each)]
    assert [each.key for each in checks] == [f"pass/1/judge/{n}/check/try/0" for n in range(3)]
    for request, cast in zip(checks, played.of(BallotCast), strict=True):
        shown = shown_texts(request)
        assert sorted(shown.values()) == ["Second text, which is longer.", "Third text."]
        assert [name for name in cast.labels if name in shown] == list(shown)
        assert "so it is" in request.messages[-1].text
        assert cast.ranking == cast.first_ranking == ("B", "AB", "A")
        assert "checked, B is not first for its length alone" in ballot(cast)


async def test_a_first_place_for_length_alone_goes_to_the_second_as_the_ballot_says() -> None:
    played = await judged("verified", said("length"))
    for cast in played.of(BallotCast):
        assert (cast.first_ranking, cast.ranking) == (("B", "AB", "A"), ("AB", "B", "A"))
        assert cast.check is not None
        assert "I looked." in cast.check.reasoning
        assert "B was first, for its length alone by the check, and goes behind AB" in ballot(cast)
    assert played.decided[0].winner == "AB"


async def test_a_ballot_stays_as_it_is_where_no_check_can_be_read_or_none_is_needed() -> None:
    played = await judged("verified", "Hard to say.")
    assert [cast.ranking for cast in played.of(BallotCast)] == [("B", "AB", "A")] * 3
    assert "could not be read" in ballot(played.of(BallotCast)[0])
    # The first text is no longer than the second.
    answers = {**TEXTS, "judge": judge(said("length"), "Third", "Second", "First")}
    played = await play(answers, **SHORT, style="verified")
    assert not any(map(is_check, played.requests))
    assert [cast.check for cast in played.of(BallotCast)] == [None] * 3


async def test_of_a_mixed_panel_another_model_checks() -> None:
    models = Models(author="m/a", critic="m/a", synthesizer="m/a", judges=("m/x", "m/y"))
    played = await judged("verified", models=models)
    asked = [(each.model, is_check(each)) for each in played.asked("judge")]
    ranked, checked = ("m/x", "m/x", "m/y"), ("m/x", "m/y", "m/y")
    assert sorted(asked) == sorted(
        [*((each, False) for each in ranked), *((each, True) for each in checked)]
    )


@pytest.mark.parametrize(
    "changes", [{"style": "verified"}, {"judges": 1}, {"style": "anchored", "judges": 5}]
)
async def test_a_run_takes_the_calls_that_are_planned_for_it(changes: dict[str, Any]) -> None:
    played = await judged(**{"style": "reasoned", **changes})
    planned = likely_plan(make_settings(Models.everywhere("x/y"), 1, **CONTESTS | SHORT | changes))
    assert {role: len(played.asked(role)) for role in planned} == planned


async def test_an_anchored_judge_sees_the_first_draft_once_it_is_no_longer_a() -> None:
    script: dict[str, Any] = {
        "author": document("First text."),
        "reviser": lambda request: document(f"Second text, made in {request.key.split('/')[1]}."),
        "judge": vote("Second", "Third", "First"),
    }
    played = await play(
        script, **{**SHORT, "passes": 2, "confirmation": 2, "reviewers": 2, "style": "anchored"}
    )
    for request in played.asked("judge"):
        shown, prompt = shown_texts(request), request.messages[-1].text
        is_anchored = "<<<REFERENCE" in prompt
        assert is_anchored == request.key.startswith("pass/2/"), request.key
        # It is there once, as a reference or as one of the texts.
        assert prompt.count("First text.") == 1
        assert is_anchored == ("First text." not in shown.values())
    anchored = [cast for cast in played.of(BallotCast) if cast.anchored]
    assert {cast.stage for cast in anchored} == {"pass/2"}
    assert "judge 1 (shown the first draft): " in ballot(anchored[0])


async def test_finished_texts_can_be_judged_by_verified_judges_at_the_price_that_is_named() -> None:
    names = {"one": "A long text about the tide.", "two": "A short text."}
    entries = tuple(Entry(name=name, text=text) for name, text in names.items())
    terms: dict[str, Any] = {"judges": 3, "style": "verified", "job": Judge()}
    judging = Models.judging("x/y")
    answers = {"judge": judge(said("length"), "long", "short")}
    played = await play(answers, entries=entries, models=judging, **terms)
    assert isinstance(played.end, JobFinished)
    assert played.end.origin == "two"
    least, likely, most = RankedPanel.plans(make_settings(judging, 1, **terms))
    assert (least, likely, most) == ({"judge": 3}, {"judge": 6}, {"judge": 15})
    assert len(played.requests) == 6


def test_where_there_is_no_first_draft_no_judge_can_be_anchored() -> None:
    with pytest.raises(InvalidInput, match="but there is no first draft"):
        make_settings(Models.judging("x/y"), 1, style="anchored")


__all__ = ["provider"]

TEXT = "The tide rises twice a day."
PROBLEM = (
    '{"problems": [{"severity": "major", "kind": "quote", "quote": "twice a day", '
    '"problem": "not everywhere"}]}'
)


def unbound(body: Any) -> Answer:
    """Who keeps to a form only where it is told one in words."""
    assert "response_format" in body
    last = body["messages"][-1]["content"]
    if "RANKING: " in last:
        shown = re.findall(r"^## (\S+)", body["messages"][1]["content"], re.MULTILINE)
        assert f"RANKING: {' > '.join(shown)}" in last.splitlines()
        return Answer(text=f"RANKING: {' > '.join(shown)}")
    if '{"problems": [' in last:
        return Answer(text=PROBLEM)
    return Answer(text="I like how all of this was done, most of it anyway.")


@pytest.fixture
def emitted() -> list[Any]:
    return []


@pytest.fixture
async def context(provider: FakeProvider, emitted: list[Any]) -> AsyncIterator[JobContext]:
    """One whose only model never heard of the schema."""
    provider.minded = unbound
    model = WireModel("vllm/small", PROVIDERS["vllm"], base=provider.openai)

    async def ask(request: Any) -> Any:
        return await model.ask(request)

    settings = make_settings(Models.everywhere("vllm/small"), 7)
    yield JobContext(Task(brief="Write about tides."), settings, load(None), ask, emitted.append)
    await model.close()


async def test_a_judge_gives_its_ballot_once_it_is_shown_the_form(
    context: JobContext, provider: FakeProvider
) -> None:
    texts = {"A": TEXT, "B": TEXT + " Mostly.", "AB": "Tides come and go."}
    ballot = await cast_ballot(context, "pass/1", 0, ("B", "A", "AB"), texts)
    assert (ballot.ranking, ballot.asked) == (("B", "A", "AB"), 2)
    assert len(provider.requests) == 2


async def test_a_judge_without_schemas_is_asked_for_reasons_first(
    context: JobContext, provider: FakeProvider
) -> None:
    provider.will(Answer(status=400, body={"error": {"message": "no", "param": "response_format"}}))
    provider.minded = lambda _: Answer(text="RANKING: ? > ?")
    ballot = await cast_ballot(
        context, "pass/1", 0, ("B", "A"), {"A": TEXT, "B": "Tides."}, max_requests=2
    )
    assert ballot.ranking is None
    _, first, second = (body["messages"][-1]["content"] for body in provider.bodies)
    names = ", ".join(sorted(ballot.labels))
    assert first.index(f"REASONS: and below it write, for each of {names},") < first.index(
        "RANKING:"
    )
    assert "REASONS" not in second
    for one, other in (ballot.labels, ballot.labels[::-1]):
        assert second.count(f"RANKING: {one} > {other}") == 1


async def test_what_a_judge_copies_beside_a_label_is_no_boundary(
    context: JobContext, provider: FakeProvider
) -> None:
    ballot = await cast_ballot(context, "pass/1", 0, ("B", "A"), {"A": TEXT, "B": "Tides."})
    shown = provider.bodies[0]["messages"][-1]["content"]
    for label in ballot.labels:
        assert [line for line in shown.splitlines() if label in line] == [f"## {label}"]
    boundaries = re.findall(r"<<<(?:END )?TEXT ([0-9a-f]{16})>>>", shown)
    assert len(boundaries) == 4
    assert len(set(boundaries)) == 1


async def test_a_critic_gives_its_problems_once_it_is_shown_the_form(
    context: JobContext, provider: FakeProvider, emitted: list[Any]
) -> None:
    findings = await criticise(context, 1, TEXT, "")
    assert findings.outcome == "problems"
    (made,) = emitted
    assert isinstance(made, CritiqueWritten)
    assert [each.quote for each in made.problems] == ["twice a day"]
    assert len(provider.requests) == 2


async def test_a_form_is_stated_once_where_no_schema_can_be_sent(
    context: JobContext, provider: FakeProvider
) -> None:
    provider.will(Answer(status=400, body={"error": {"message": "no", "param": "response_format"}}))
    provider.minded = None
    await criticise(context, 1, TEXT, "")
    said = [body["messages"][-1]["content"] for body in provider.bodies[1:]]
    assert [each.count("Answer with one JSON object") for each in said] == [1] * len(said)


@pytest.mark.parametrize("said", ["\\ud83d", "half \\udc00 way"])
async def test_half_a_character_in_an_answer_is_replaced_and_ends_nothing(said: str) -> None:
    def judge(request: Request) -> str:
        answer = json.loads(vote("First")(request))
        return json.dumps(answer).replace("so it is", said)

    problem = critique("It lacks an example.").replace("an example", said)
    played = await play({"judge": judge, "critic": problem})
    spoken = [each.reasoning for each in played.of(BallotCast)]
    spoken += [fault.problem for made in played.of(CritiqueWritten) for fault in made.problems]
    assert all("\ufffd" in each and each.encode() for each in spoken)


async def test_an_answer_nested_without_end_is_not_a_ballot() -> None:
    played = await play({"judge": "[" * 100_000}, passes=2)
    assert isinstance(played.interruption, PanelFailed)
    assert all(each.ranking is None for each in played.of(BallotCast))
    assert rests_on_length("[" * 100_000) is None
