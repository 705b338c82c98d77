"""What a run says of itself where its judges rank at random: nothing that chance does not say as often."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable, Sequence
from copy import copy, deepcopy
from math import sqrt
from statistics import fmean, stdev
from typing import Any

import pytest
from msgspec.structs import replace
from tests.once import once
from tests.tournament.stage import CONTESTS
from tests.under_chance.random_runs import random_story

from autoreason.events import Delivered, Evidence, Verdict
from autoreason.exchange import Query, Request, Spent
from autoreason.jobs.context import JobContext
from autoreason.knowledge_records import Knowledge, PredictorSeat
from autoreason.pages.votes import map_judges
from autoreason.report import numbers
from autoreason.settings import Models, Protocol, Settings, make_settings
from autoreason.story import CONFIRMATION, Story
from autoreason.studies.simulation import PROMPTS, Cast, named_protocol, tournament_of
from autoreason.studies.world import Judges, RandomDraws, Revision, Synthesis, World
from autoreason.task import Metric, Task
from autoreason.tournament import statements
from autoreason.tournament.endings import summarize
from autoreason.tournament.evidence import longer_preferred_in
from autoreason.tournament.loop import Tournament
from autoreason.tournament.panel import Prediction, PredictionQuery

# Hundreds of whole runs take their time on a busy machine.
pytestmark = pytest.mark.timeout(600)

RUNS = 40
SWITCHED = ["single", "lead", "runoff"]
"""Runs whose passes are decided by other rules; what comes after the passes is the same for all."""
PASSES_ALONE: dict[str, Any] = {"k": 2, "reviewers": 0, "confirmation": 0}
CODE = ["metric", "predictor"]
TASTES: dict[str, dict[str, float]] = {
    "robust": {},
    "first": {"first": 1.5},
    "newer": {"newer": 3.0},
    "longer": {"longer": 12.0},
}
"""Judges of runs with our defaults: at random, or by position, novelty or length."""
WEIGHTS = {"random/poor": 0.25, "random/usual": 1.0, "random/good": 2.5}
DRAFT_CHOSEN = " fresh judges prefer it to the text it had become."
ERRORS = 4
"""Standard errors by which a rate may miss its level before a test fails: once in thirty thousand."""


def world(**judges: float) -> World:
    """Every text is as good as any other, so that nothing but chance, or position, decides."""
    return World(
        about="Nothing matters.",
        kind="drift",
        revision=Revision(spread=0, growth=0.02, growth_spread=0.1),
        synthesis=Synthesis(spread=0),
        judges=Judges(**judges),
    )


class TextQuery(Query[float], frozen=True, kw_only=True):
    """Asks for the number of a text."""

    kind = "number"
    text: str


class TextNumber(Metric):
    """One judge among others: it prefers what is newest, so AB in every pass."""

    evaluate = "number"
    role = "judge"

    def query(self, key: str, text: str, seed: int) -> Query[Any]:  # noqa: ARG002
        """One look."""
        return TextQuery(key=key, text=text)

    def read(self, answer: float) -> float:
        """As it is."""
        return answer


def own_run(kind: str, settings: Settings, luck: RandomDraws, row: int) -> Story:
    """A run with a metric or a predictor of odd tastes on its panels, or judges of different weight in its review."""
    cast = Cast(world(), luck, row)

    async def ask(request: Request | Query[Any]) -> Any:
        if not isinstance(request, TextQuery | PredictionQuery):
            return await cast.ask(request)
        newest = int(request.text.removeprefix("t"))
        if isinstance(request, PredictionQuery):
            return Prediction(random.Random(f"{row}/{newest}").random())
        return newest

    task = Task(brief="Write.", work=TextNumber())
    if kind == "predictor":
        seat = PredictorSeat(predictor="words", fit="0", records=100)
        task = Task(brief="Write.", knowledge=Knowledge(source="kb", digest="", seat=seat))
    if kind == "weights":
        known = Knowledge(source="kb/", digest="", weights=WEIGHTS)
        task = Task(brief="Write.", knowledge=known)
        settings = replace(settings, models=replace(settings.models, judges=tuple(WEIGHTS)))
    settings = replace(settings, seed=luck.seed * 1_000_003 + row)
    tournament = Tournament(JobContext(task, settings, PROMPTS, ask, lambda _: None))
    asyncio.run(tournament.run())
    return tournament.story


@once
def played(kind: str) -> tuple[Story, ...]:
    """Runs whose judges rank at random, next to code or not, and some who look at nothing but the position."""
    protocol: Protocol = "paper" if kind == "paper" else "robust"
    changes = {
        "paper": {"confirmation": 9, "reviewers": 5},
        "drafts": {"drafts": 3},
        "single": {"judges": 1, **PASSES_ALONE},
        "lead": {"required_lead": 2, **PASSES_ALONE},
        "runoff": {"voting": "instant_runoff", **PASSES_ALONE},
        # What chance gives next to another ballot each time takes a while to work out over five texts.
        "predictor": {"review_texts": 3},
    }.get(kind, {})
    contests = {} if kind in ("paper", *TASTES) else CONTESTS
    settings = named_protocol(protocol, contests | changes).settings
    luck = RandomDraws(20, RUNS).cached()
    if kind in (*CODE, "weights"):
        return tuple(own_run(kind, settings, luck, row) for row in range(RUNS))
    biased = world(first=1.5) if kind == "position" else world(**TASTES.get(kind, {}))
    return tuple(tournament_of(biased, settings, luck, row)[1].story for row in range(RUNS))


def delivered(kind: str) -> list[Delivered]:
    """How they ended."""
    return [story.delivered for story in played(kind) if story.delivered]


def evidence(kind: str) -> list[Evidence]:
    """What they say for themselves."""
    return [each.evidence for each in delivered(kind)]


def verdicts(kind: str) -> list[Verdict]:
    """What the panels of passes decided."""
    return [
        each.decided.verdict
        for story in played(kind)
        for each in story.passes
        if each.decided and each.decided.verdict
    ]


def at_most(found: int, of: int, level: float) -> bool:
    """Whether a rate keeps its level, within error."""
    return found <= of * level + ERRORS * sqrt(of * level * (1 - level))


def near(values: Sequence[float], expected: float) -> bool:
    """Whether a mean is what it should be, within error."""
    return abs(fmean(values) - expected) <= ERRORS * stdev(values) / sqrt(len(values))


def small(chances: Iterable[float], level: float) -> bool:
    """Whether chances that are said to be at most `level` come up no more often than that."""
    found = list(chances)
    return at_most(sum(chance <= level for chance in found), len(found), level)


KINDS = ["robust", "contests", "paper", "position", "drafts", "weights", *CODE]
UNBIASED = ["contests", "paper", "weights", *CODE]


@pytest.mark.parametrize("kind", KINDS, scope="module")
def test_fresh_judges_prefer_the_delivered_text_half_of_the_time(kind: str) -> None:
    shares = [e.preference.prefer / e.preference.judges for e in evidence(kind) if e.preference]
    assert len(shares) > RUNS / 3
    assert near(shares, 0.5)


@pytest.mark.parametrize("kind", KINDS, scope="module")
def test_the_delivered_text_is_said_to_be_preferred_in_at_most_one_run_of_forty(kind: str) -> None:
    said = [
        statements.preference(each.evidence.preference, each.origin)
        for each in delivered(kind)
        if each.evidence.preference
    ]
    assert at_most(sum("is ruled out" in one for one in said), len(said), 0.025)
    assert at_most(sum("they prefer the draft" in one for one in said), len(said), 0.025)


@pytest.mark.parametrize("kind", KINDS, scope="module")
def test_the_interval_of_the_preference_holds_the_half_in_19_of_20_runs(kind: str) -> None:
    found = [each.preference for each in evidence(kind) if each.preference]
    outside = sum(not each.low <= 0.5 <= each.high for each in found)
    assert at_most(outside, len(found), 0.05)


@pytest.mark.parametrize("kind", TASTES, scope="module")
def test_the_first_draft_is_said_to_be_preferred_in_at_most_one_run_of_twenty(kind: str) -> None:
    chose_it = [summary(story)[0].endswith(DRAFT_CHOSEN) for story in played(kind)]
    assert at_most(sum(chose_it), RUNS, 0.05)
    assert chose_it == [story.is_draft_preferred for story in played(kind)]
    for story, is_draft in zip(played(kind), chose_it, strict=True):
        assert story.delivered is not None
        assert not is_draft or story.delivered.evidence.preference is None


@pytest.mark.parametrize("kind", TASTES, scope="module")
def test_later_texts_are_said_to_rank_no_higher_only_where_two_reviews_agree(kind: str) -> None:
    for story in played(kind):
        first = [each.decided.winner for each in story.reviews if each.decided]
        said = "later texts no longer ranked above" in " ".join(summary(story))
        assert said == (len(first) >= 3 and first[-1] == first[-2])


def summary(story: Story) -> list[str]:
    """The lines of its end."""
    return summarize(story, run="a-run", spent=Spent(), seconds=None)


def test_the_ballots_that_chose_a_text_lean_towards_it_and_are_said_to_prove_nothing() -> None:
    chosen = [
        s.closing_review
        for s in played("robust")
        if s.closing_review and s.closing_review.preferred is not None
    ]
    shares = [p.preferred / p.verdict.ballots for p in chosen if p.verdict and p.preferred]
    assert fmean(shares) > 0.6
    assert all("is not evidence" in statements.review(each) for each in chosen)


@pytest.mark.parametrize("kind", UNBIASED, scope="module")
def test_judges_who_rank_at_random_agree_half_of_the_time(kind: str) -> None:
    taus = [each.agreement for each in verdicts(kind) if each.agreement is not None]
    assert near(taus, 0)
    by_run = [each.agreement for each in evidence(kind) if each.agreement is not None]
    assert abs(fmean(by_run)) < 0.05


@pytest.mark.parametrize("kind", [*UNBIASED, *SWITCHED], scope="module")
@pytest.mark.parametrize("level", [0.01, 0.05, 0.2, 0.5])
def test_a_margin_is_called_rare_as_often_as_it_is(kind: str, level: float) -> None:
    assert small((each.chance for each in verdicts(kind)), level)
    finals = [
        s.closing_review.verdict
        for s in played(kind)
        if s.closing_review and s.closing_review.verdict
    ]
    assert small((each.chance for each in finals), level)


@pytest.mark.parametrize("kind", [*UNBIASED, *SWITCHED], scope="module")
def test_a_survives_as_often_as_chance_is_said_to_keep_it(kind: str) -> None:
    survival = [each.survival for each in evidence(kind) if each.survival]
    # By pass: the number of passes depends on the survivals, the sum of what each misses does not.
    missed = [each.survived - each.expected for each in survival]
    assert near(missed, 0)
    passes = [[each.decided for each in one.passes if each.decided] for one in played(kind)]
    ties = [sum((d.outcome == "unconfirmed") - d.tie_chance for d in each) for each in passes]
    assert near(ties, 0) if kind != "paper" else not any(ties)


@pytest.mark.parametrize("kind", [*UNBIASED, *SWITCHED], scope="module")
@pytest.mark.parametrize("level", [0.07, 0.2, 0.5])
def test_a_run_converges_as_early_as_chance_is_said_to(kind: str, level: float) -> None:
    ended = [
        each.evidence.survival.chance
        for each in delivered(kind)
        if each.status == "converged" and each.evidence.survival
    ]
    early = sum(chance <= level for chance in ended)
    assert at_most(early, len(played(kind)), level)


@pytest.mark.parametrize("kind", UNBIASED, scope="module")
def test_no_position_gets_more_first_places_than_another(kind: str) -> None:
    first, second, third = (
        sum(column) for column in zip(*(e.first_places for e in evidence(kind)), strict=True)
    )
    total = first + second + third
    for places in (first, second, third):
        assert abs(places - total / 3) <= ERRORS * sqrt(total * 2 / 9)


def test_a_metric_counts_in_choosing_and_in_no_evidence() -> None:
    def won_by_ab(kind: str) -> float:
        return fmean(winner == "AB" for story in played(kind) for winner in story.trajectory)

    assert won_by_ab("metric") > won_by_ab("contests") + 0.1
    for story, found in zip(played("metric"), evidence("metric"), strict=True):
        cast = sum(len(each.ballots) for each in story.passes) + len(story.closing_ballots)
        cast += sum(len(each.ballots) for each in story.panels.values())
        assert found.ballots + found.invalid == cast
        confirmed = story.panels.get(CONFIRMATION)
        assert confirmed is None or confirmed.verdict is None or confirmed.verdict.metric is None


@once
def of_any_length() -> list[Story]:
    """Runs whose texts have any length, which no judge looks at."""
    models = Models.everywhere("random/judge")
    passes: dict[str, Any] = {"passes": 4}
    return [
        random_story(make_settings(models, seed, **(CONTESTS if seed % 2 else {}) | passes))
        for seed in range(3 * RUNS)
    ]


def test_judges_who_rank_at_random_prefer_the_longer_text_half_of_the_time() -> None:
    longer = [each for each in of_any_length() if "Length" in said(each)]
    assert RUNS / 2 < len(longer) < len(of_any_length())
    for stories in (of_any_length(), longer):
        shares = [longer_preferred_in(each) for each in stories]
        outside = sum(
            each.low is None or each.high is None or not each.low <= 0.5 <= each.high
            for each in shares
        )
        assert at_most(outside, len(shares), 0.05)
    assert near([longer_preferred_in(each).value or 0 for each in of_any_length()], 0.5)


@pytest.mark.parametrize("models", [1, 3])
def test_hardly_anything_is_said_of_judges_who_rank_at_random(models: int) -> None:
    findings = 0
    for story in map(deepcopy, of_any_length()):
        panels = [p.ballots for p in story.passes] + [r.ballots for r in story.reviews]
        for ballots in panels + [each.ballots for each in story.panels.values()]:
            ballots[:] = [replace(each, model=f"random/{each.seat % models}") for each in ballots]
        found = map_judges(story)
        findings += bool(found and found.findings)
    assert at_most(findings, len(of_any_length()), 0.05)


def test_of_a_mixed_jury_it_is_said_that_only_other_models_do_not_share_its_taste() -> None:
    story = next(each for each in of_any_length() if "Length" in said(each))
    assert story.settings is not None
    mixed = replace(story.settings.models, judges=("random/one", "random/other"))
    twin = copy(story)
    twin.settings = replace(story.settings, models=mixed)
    assert "of the same models share what all of them like" in said(twin)["Length"]
    assert numbers.jury(mixed.judges) == "random/one and random/other"


def said(story: Story) -> dict[str, str]:
    """What a run says at its end."""
    assert story.delivered is not None
    return dict(statements.evidence(story.delivered.evidence, story, (), story.origin))


def test_a_taste_for_length_is_said_where_the_delivered_text_is_longer() -> None:
    for story in of_any_length():
        assert story.draft is not None
        sentence = said(story).get("Length", "")
        assert bool(sentence) == (len((story.text or "").split()) > story.draft.words)
        if sentence:
            assert "the longer of two texts is preferred" in sentence
            assert sentence.endswith("; a mixed jury (two or more --judge-model) is the remedy")
            assert "(random/judge, asked 9 times) prefer" in said(story)["Confirmation"]


def test_position_shows_where_it_is_all_that_counts() -> None:
    first, *others = (
        sum(column) for column in zip(*(e.first_places for e in evidence("position")), strict=True)
    )
    assert first > sum(others)


def test_one_vote_is_said_to_be_no_panel_and_shows_no_margin() -> None:
    assert {each.chance for each in verdicts("single")} == {1.0}
    settings = named_protocol("robust", {**CONTESTS, "judges": 1}).settings
    for story, end in zip(played("single"), delivered("single"), strict=True):
        story.settings = settings
        rows = dict(statements.evidence(end.evidence, story, (), end.origin))
        assert rows["Panel"] == statements.ONE_VOTE


def test_no_run_converges_on_a_tie_unless_it_follows_the_paper_which_is_said() -> None:
    ends = []
    for story in (*played("contests"), *played("paper")):
        assert story.delivered is not None
        counted = [each.decided for each in story.passes if each.decided and each.decided.survived]
        tied = [d for d in counted[-story.streak :] if d.verdict and d.verdict.tied]
        if story.delivered.status == "converged":
            assert ("on a tie" in story.delivered.reason) == bool(tied)
            ends.append((story in played("contests"), bool(tied)))
    assert {*ends} == {(True, False), (False, True), (False, False)}


def test_weights_count_in_the_review_and_are_said() -> None:
    finals = [story.closing_review for story in played("weights") if story.closing_review]
    assert len(finals) > RUNS / 3
    assert all(each.weights == WEIGHTS for each in finals)
    assert all("random/good 2.5" in statements.review(each) for each in finals if each.verdict)
    # The panels of passes count every ballot once: three judges give six points each.
    assert {sum(each.scores.values()) % 6 for each in verdicts("weights")} == {0}
