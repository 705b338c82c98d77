"""Panels, their seats that code fills, and weights in the review."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import permutations, product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tournament.stage import CONTESTS, Played, play, vote

from autoreason.events import BallotCast, CodeBallot, ReviewDecided
from autoreason.exchange import Query, Request
from autoreason.journal import Journal
from autoreason.knowledge_records import Knowledge, PredictorSeat
from autoreason.run.recorded import replay, resume
from autoreason.run.refine import refine
from autoreason.settings import Budget, Models
from autoreason.studies.audit_findings import read_run
from autoreason.task import Metric
from autoreason.testing import EchoModel
from autoreason.tournament import statements
from autoreason.tournament.evidence import chance_of_margin, survival_chances
from autoreason.tournament.panel import (
    EVALUATIONS,
    Prediction,
    PredictionQuery,
    rank,
    verdict_of,
)
from autoreason.tournament.voting import QUARTERS, PanelSize, count_votes

A_AB_B = ("A", "AB", "B")
NEWEST = "First", "Second", "Third"
"""Texts of the stage, the newest last."""
LENGTH = """
def score(artifact, seed):
    return len(artifact.text("text.md"))
"""


class TextQuery(Query[float], frozen=True, kw_only=True):
    """Asks for the number of a text."""

    kind = "number"
    text: str


class Number(Metric):
    """A metric whose numbers the script gives."""

    evaluate = "number"
    role = "judge"

    def query(self, key: str, text: str, seed: int) -> Query[Any]:  # noqa: ARG002
        """One look."""
        return TextQuery(key=key, text=text)

    def read(self, answer: float | None) -> float | None:
        return answer


async def judged(number: Callable[[str], float | None], **more: Any) -> tuple[Played, list[str]]:
    """A run with such a metric, and the texts that were measured."""
    measured: list[str] = []

    def answer(query: TextQuery) -> float | None:
        measured.append(query.text)
        return number(query.text)

    return await play({"number": answer, **more.pop("script", {})}, work=Number(), **more), measured


def seated(size: PanelSize, *rankings: tuple[str, ...]) -> PanelSize:
    """Judges next to such ballots of code."""
    return size.with_code([CodeBallot(ranking=each, values={}) for each in rankings], A_AB_B)


def newest(text: str) -> float:
    return next(place for place, word in enumerate(NEWEST) if word in text)


# ---- its ballot ------------------------------------------------------------------------------------


@given(
    st.dictionaries(st.sampled_from("ABCDEF"), st.none() | st.floats(allow_nan=False), min_size=1)
)
def test_it_ranks_by_number_and_votes_only_where_a_ballot_can_say_what_it_found(
    values: dict[str, float | None],
) -> None:
    ranking = rank(values)
    if None in values.values() or len(set(values.values())) < len(values):
        assert ranking is None
    else:
        assert ranking == tuple(sorted(values, key=lambda name: -(values[name] or 0.0)))


async def test_three_judges_and_a_metric_have_four_ballots_and_the_fourth_is_no_judges() -> None:
    run, _ = await judged(newest, k=1, early_stop=False)
    (decided,), (verdict,) = run.decided, run.verdicts
    assert verdict.scores == {"A": 3 * 3 + 1, "AB": 3 * 1 + 3, "B": 3 * 2 + 2}
    assert verdict.metric == CodeBallot(ranking=("AB", "B", "A"), values={"A": 0, "AB": 2, "B": 1})
    assert verdict.ballots == len(run.of(BallotCast)) == 3
    assert verdict.agreement == 1
    assert statements.ballots(verdict) == "3 ballots and the metric's"
    size = seated(PanelSize(3), ("AB", "B", "A"))
    assert verdict.chance == chance_of_margin(size, 2)
    assert (decided.survival_chance, decided.tie_chance) == survival_chances(size)


async def test_a_text_is_measured_once_and_judges_who_cannot_be_read_are_not_replaced() -> None:
    run, measured = await judged(newest, k=3)
    assert len(run.decided) == 3
    assert measured.count("First text.") == EVALUATIONS
    assert {measured.count(text) for text in measured} == {EVALUATIONS}
    run, _ = await judged(newest, script={"judge": "no idea"})
    assert {each.outcome for each in run.decided} == {"inconclusive"}
    assert run.interruption is not None


@pytest.mark.parametrize("number", [None, math.nan, math.inf, 1.0])
async def test_without_a_number_or_with_equal_ones_it_does_not_vote(number: float | None) -> None:
    def measure(text: str) -> float | None:
        return number if "Third" in text else 1.0

    run, _ = await judged(measure, k=1)
    without = await play(k=1)
    (found,), (usual,) = run.verdicts, without.verdicts
    ballot = found.metric
    assert ballot
    assert ballot.ranking is None
    assert (found.scores, found.chance) == (usual.scores, usual.chance)
    shown = "two texts had the same number" if number == 1.0 else "a text had no number"
    assert statements.code_ballot(ballot, "metric") == f"no vote: {shown}"


# ---- a predictor --------------------------------------------------------------------------------------

SEAT = PredictorSeat(
    predictor="words", fit="0", records=812, verdict="helps", right=0.63, low=0.6, high=0.66
)
KNOWLEDGE = Knowledge(source="kb", digest="", seat=SEAT)


async def predicted(number: Callable[[str], float | None], **more: Any) -> tuple[Played, list[str]]:
    """A run with a predictor on its panels, and the texts that it was asked about."""
    asked: list[str] = []

    def answer(query: PredictionQuery) -> Prediction:
        asked.append(query.text)
        return Prediction(number(query.text))

    script = {"prediction": answer, **more.pop("script", {})}
    return await play(script, knowledge=more.pop("knowledge", KNOWLEDGE), **more), asked


async def test_a_text_is_predicted_once_and_without_a_number_there_is_no_vote() -> None:
    run, asked = await predicted(newest, k=3)
    assert len(run.decided) == 3
    assert len(asked) == len(set(asked)) > 3
    run, _ = await predicted(lambda text: None if "Third" in text else newest(text), k=1)
    (verdict,) = run.verdicts
    assert verdict.predictor
    assert verdict.predictor.ranking is None
    assert statements.ballots(verdict) == f"{verdict.ballots} ballots"


async def test_a_metric_and_a_predictor_have_a_ballot_each() -> None:
    script = {"number": lambda query: -newest(query.text)}
    run, _ = await predicted(newest, script=script, work=Number(), k=1, early_stop=False)
    (verdict,) = run.verdicts
    assert list(verdict.code) == ["metric", "predictor"]
    assert sum(verdict.scores.values()) == 6 * 5
    assert statements.ballots(verdict) == "3 ballots and the metric's and the predictor's"
    size = seated(PanelSize(3), ("A", "B", "AB"), ("AB", "B", "A"))
    assert verdict.chance == chance_of_margin(size, verdict.margin)


@given(
    st.lists(st.permutations(A_AB_B).map(tuple), min_size=5, max_size=5),
    st.lists(st.permutations(A_AB_B).map(tuple), max_size=2),
)
def test_seats_of_code_are_counted_in_scores_and_in_nothing_that_counts_judges(
    votes: list[tuple[str, ...]], code: list[tuple[str, ...]]
) -> None:
    ballots = [
        BallotCast(stage="pass/1", seat=at, model="m", order=each, labels=each, ranking=each)
        for at, each in enumerate(votes)
    ]
    names = ("metric", "predictor")
    by_code = {
        name: CodeBallot(ranking=each, values={}) for name, each in zip(names, code, strict=False)
    }
    size = PanelSize(5).with_code(by_code.values(), A_AB_B)
    with_code = verdict_of(ballots, A_AB_B, "borda", size, code=by_code)
    without = verdict_of(ballots, A_AB_B, "borda", 5)
    assert with_code.scores == count_votes("borda", [*votes, *code], A_AB_B).scores
    assert with_code.code == by_code
    assert (with_code.ballots, with_code.invalid, with_code.agreement) == (
        without.ballots,
        without.invalid,
        without.agreement,
    )


# ---- whom a panel asks next, and what chance gives -------------------------------------------------

rankings = st.permutations(A_AB_B).map(tuple)
SIZES = [PanelSize(3, early_stop=True), PanelSize(4, early_stop=True), PanelSize(4)]


@given(st.lists(rankings, min_size=9, max_size=9), rankings, st.sampled_from(["borda", "copeland"]))
def test_a_judge_who_is_not_asked_would_have_changed_nothing(
    votes: list[tuple[str, ...]], metric: tuple[str, ...], rule: str
) -> None:
    for size in (PanelSize(judges, early_stop=True) for judges in (3, 5, 9)):
        beside = seated(size, metric)
        asked = 0
        while wave := beside.wave(votes[:asked], A_AB_B, rule):
            asked += wave
        early = count_votes(rule, [metric, *votes[:asked]], A_AB_B)
        assert early.winner == count_votes(rule, [metric, *votes[: size.judges]], A_AB_B).winner


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("metric", [("AB", "B", "A"), ("A", "B", "AB")])
@pytest.mark.parametrize("rule", ["borda", "majority", "copeland"])
def test_chances_are_those_of_all_ballots_judges_could_cast_next_to_the_metrics(
    size: PanelSize, metric: tuple[str, ...], rule: str
) -> None:
    beside = seated(size, metric)
    ends = []
    for votes in product(permutations(A_AB_B), repeat=size.judges):
        asked = 0
        while wave := beside.wave(votes[:asked], A_AB_B, rule):
            asked += wave
        ends.append(count_votes(rule, [metric, *votes[:asked]], A_AB_B))
    for margin in range(5):
        share = sum(end.margin >= margin for end in ends) / len(ends)
        assert chance_of_margin(beside, margin, 3, rule) == pytest.approx(share)
    stayed = [end.margin > 0 for end in ends if end.winner == "A"]
    expected = [stayed.count(led) / len(ends) for led in (True, False)]
    assert survival_chances(beside, 3, rule) == pytest.approx(expected)


# ---- whole runs ------------------------------------------------------------------------------------


def test_a_run_replays_and_says_what_the_metric_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("metric.py").write_text(LENGTH)
    paused = refine(
        "Write a note about the coffee machine.",
        EchoModel(),
        **CONTESTS | {"passes": 4, "reviewers": 0},
        seed=4,
        drafts=2,
        metric="metric.py:score",
        metric_role="judge",
        budget=Budget(calls=24),
        confirmation=0,
    )
    Path("metric.py").unlink()
    assert paused.status == "budget"
    result = resume(paused, budget=Budget(calls=200))
    assert result.finished
    assert replay(result.run).same
    with Journal.open(None, create=False) as journal:
        looks = [key for key in journal.answers(result.run) if "/metric/" in key]
        (audited,) = read_run(result.run, journal)
    decided = [each.decided for each in result.story.passes if each.decided]
    verdicts = [each.verdict for each in decided if each.verdict]
    assert verdicts
    assert all(each.metric for each in verdicts)
    texts = {each.text for one in result.story.passes for each in one.candidates.values()}
    texts |= {each.text for each in result.story.drafts}
    assert len(looks) <= EVALUATIONS * len(texts)
    assert any(each.metric and each.metric.ranking for each in verdicts)
    assert [each.panel.chances_of_a for each in audited.passes if each.panel] == [
        (each.survival_chance, each.tie_chance) for each in decided if each.verdict
    ]
    assert "metric.py:score voted in" in " ".join(str(result).split())
    assert "lines" not in dict(result.sections()[0].sentences)["Text"]


GOOD, POOR = "scripted/good", "scripted/poor"
NAMES = ("x", "y", "z")


def judge(request: Request) -> str:
    """In the review, the good judge alone prefers the first text."""
    newest = ("made in 2", "made in 1", "First")
    first = request.key.startswith("review") and request.model == GOOD
    return vote(*(reversed(newest) if first else newest))(request)


async def panel_of(*judges: str, **weights: float) -> Played:
    """A run over two passes with these judges by turns."""
    models = Models(author=GOOD, critic=GOOD, synthesizer=GOOD, judges=judges)
    tested = {f"scripted/{name}": weight for name, weight in weights.items()}
    known = Knowledge(source="kb/", digest="", weights=tested)
    return await play({"judge": judge}, models=models, knowledge=known, passes=2, reviewers=5)


def final(played: Played) -> ReviewDecided:
    (event,) = played.of(ReviewDecided)
    return event


async def test_a_judge_that_was_right_more_often_outvotes_more_judges() -> None:
    # Seats are taken in turn: poor, good, poor, good, poor.
    plain_vote, weighted = await panel_of(POOR, GOOD), await panel_of(POOR, GOOD, poor=0.5, good=2)
    assert final(plain_vote).winner != "draft"
    assert final(plain_vote).weights == {}
    assert final(weighted).winner == "draft"
    assert final(weighted).weights == {POOR: 0.5, GOOD: 2}
    said = "weighted by how often judges were right about your records (scripted/poor 0.5 and scripted/good 2)"
    assert said in statements.review(final(weighted))
    assert "weighted" not in statements.review(final(plain_vote))


@pytest.mark.parametrize(
    ("judges", "weights"),
    [
        ((GOOD,), {"good": 2.0}),
        ((GOOD, POOR), {"good": 2.0}),
        ((GOOD, POOR), {"good": 2.0, "poor": 2.0}),
        ((GOOD, GOOD), {"good": 2.0, "poor": 0.5}),
    ],
)
async def test_weights_change_nothing_unless_every_judge_was_tested_and_they_differ(
    judges: tuple[str, ...], weights: dict[str, float]
) -> None:
    assert final(await panel_of(*judges, **weights)) == final(await panel_of(*judges))


# Few sizes, because what chance gives is drawn anew for each.
ballots = st.lists(st.permutations(NAMES), min_size=2, max_size=4)


def cast(rankings: list[list[str]]) -> list[BallotCast]:
    return [
        BallotCast(
            stage="review", seat=at, model="m", order=NAMES, labels=NAMES, ranking=tuple(one)
        )
        for at, one in enumerate(rankings)
    ]


@settings(max_examples=8)
@given(ballots, st.sampled_from(["borda", "majority", "copeland"]), st.sampled_from([1, 7]))
def test_equal_weights_decide_as_no_weights_do(
    rankings: list[list[str]], rule: str, weight: int
) -> None:
    size = len(rankings)
    without = verdict_of(cast(rankings), NAMES, rule, PanelSize(size))
    weighted = verdict_of(cast(rankings), NAMES, rule, PanelSize(size, weights=(weight,)))
    assert (weighted.winner, weighted.tied) == (without.winner, without.tied)
    assert (weighted.ballots, weighted.agreement) == (without.ballots, without.agreement)
    assert weighted.chance == pytest.approx(without.chance, abs=0.05)


@settings(max_examples=8)
@given(ballots, st.sampled_from([[1, 6], [2, 12, 3]]))
def test_a_ballot_of_weight_three_counts_as_three(
    rankings: list[list[str]], weights: list[int]
) -> None:
    found = verdict_of(
        cast(rankings), NAMES, "borda", PanelSize(len(rankings), weights=tuple(weights))
    )
    repeated = [one for at, one in enumerate(rankings) for _ in range(weights[at % len(weights)])]
    assert found.scores == count_votes("borda", repeated, NAMES).scores


def test_the_chance_of_a_margin_with_weights_is_that_of_all_panels() -> None:
    weights = (1, 6, 1)
    margins = [
        count_votes("borda", [one, *[two] * 6, three], NAMES).margin
        for one, two, three in product(permutations(NAMES), repeat=3)
    ]
    size = PanelSize(3, weights=weights)
    for margin in sorted(set(margins)):
        exact = sum(each >= margin for each in margins) / len(margins)
        assert chance_of_margin(size, margin) == pytest.approx(exact, abs=0.04)
    assert chance_of_margin(PanelSize(3, weights=weights), 99) > 0


def test_a_metric_counts_as_a_judge_of_whom_nothing_is_known() -> None:
    metric = CodeBallot(ranking=("z", "y", "x"), values={"x": 0.0, "y": 1.0, "z": 2.0})
    size = PanelSize(2, weights=(1, 6)).with_code([metric], NAMES)
    found = verdict_of(cast([list(NAMES)] * 2), NAMES, "borda", size, code={"metric": metric})
    votes = [*[("z", "y", "x")] * QUARTERS, *[NAMES] * 7]
    assert found.scores == count_votes("borda", votes, NAMES).scores
    margins = [
        count_votes("borda", [*votes[:QUARTERS], one, *[two] * 6], NAMES).margin
        for one, two in product(permutations(NAMES), repeat=2)
    ]
    exact = sum(each >= found.margin for each in margins) / len(margins)
    assert found.chance == pytest.approx(exact, abs=0.04)
