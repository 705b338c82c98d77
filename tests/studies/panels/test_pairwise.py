"""Pairs in both orders: who flips with the order abstains."""

from __future__ import annotations

import json
from itertools import combinations
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.run.leaving import Breaking, left_after_every_call
from tests.run.runs import settings, start_run
from tests.studies.panels.test_ranked import ENTRIES, JUDGING, TASK, TEXTS, hold_on
from tests.tournament.stage import play, shown_texts

from autoreason.errors import PanelFailed
from autoreason.events import BallotCast, PanelDecided
from autoreason.exchange import Request
from autoreason.job_types import JudgePairs
from autoreason.journal import Journal
from autoreason.report.numbers import listed
from autoreason.settings import Models
from autoreason.studies.panels.pairwise import pair_verdict, votes
from autoreason.studies.panels.panel_report import CountedBallot, report
from autoreason.studies.panels.panel_results import panel_report
from autoreason.tournament.voting import from_scores


def first_shown(request: Request) -> str:
    """A judge who prefers whatever stands first."""
    labels = list(shown_texts(request))
    return json.dumps({"reasoning": "the first", "ranking": " > ".join(labels)})


def pairing(**changes: Any) -> Any:
    """Settings of a panel in pairs."""
    return settings(job=JudgePairs(), **{"judges": 2, **changes})


async def test_every_judge_sees_every_pair_both_ways_round() -> None:
    played = await play(JUDGING, entries=ENTRIES, job=JudgePairs(), judges=3)
    assert len(played.asked("judge")) == 3 * 3 * 2
    ballots = played.of(BallotCast)
    pairs = list(combinations(TEXTS, 2))
    for at, pair in enumerate(pairs, 1):
        orders = [b.order for b in ballots if b.stage == f"pair/{at}"]
        assert [sorted(orders[2 * j : 2 * j + 2]) for j in range(3)] == [
            sorted([pair, pair[::-1]])
        ] * 3
        assert orders[0] != orders[2], "judges must not all begin with the same text"
    assert [held.stage for held in played.of(PanelDecided)] == ["pair/1", "pair/2", "pair/3"]


async def test_both_orders_are_judged_by_the_same_model() -> None:
    models = Models(author="m/a", critic="m/a", synthesizer="m/a", judges=("m/a", "m/b", "m/c"))
    played = await play(JUDGING, entries=ENTRIES, job=JudgePairs(), judges=4, models=models)
    for stage in ("pair/1", "pair/2", "pair/3"):
        asked = [b.model for b in played.of(BallotCast) if b.stage == stage]
        assert asked == ["m/a", "m/a", "m/b", "m/b", "m/c", "m/c", "m/a", "m/a"]


async def test_who_flips_with_the_order_abstains(journal: Journal) -> None:
    def one_flips(request: Request) -> str:
        seat = int(request.key.split("/judge/")[1].split("/")[0])
        message = first_shown(request) if seat < 2 else JUDGING["judge"](request)
        assert isinstance(message, str)
        return message

    result = await start_run(journal, Breaking({"judge": one_flips}), task=TASK, settings=pairing())
    report = panel_report(result.story)
    assert (report.ballots, report.abstained) == (3, 3)
    assert {each.name: each.points for each in report.standings} == {
        "rival.md": 2,
        "incumbent-final.md": 1,
        "draft-v1.md": 0,
    }
    assert result.origin == "rival.md"


async def test_no_one_wins_where_all_flip_and_the_panel_can_be_run_again(
    journal: Journal,
) -> None:
    played = await play({"judge": first_shown}, entries=ENTRIES, job=JudgePairs(), judges=2)
    assert isinstance(played.interruption, PanelFailed)
    assert all(held.verdict is None for held in played.of(PanelDecided))

    paused = await start_run(
        journal, Breaking({"judge": first_shown}), task=TASK, settings=pairing()
    )
    assert paused.status == "panel_failed"
    result = await hold_on(journal, paused.run, JUDGING)
    assert (result.status, result.origin) == ("done", "rival.md")
    report = panel_report(result.story)
    assert (report.ballots, report.abstained) == (6, 0)


async def test_texts_with_equally_many_votes_lead_nowhere_and_the_first_is_delivered(
    journal: Journal,
) -> None:
    first, second, third = TEXTS
    circle = {(first, second): first, (second, third): second, (first, third): third}

    def in_a_circle(request: Request) -> str:
        shown = shown_texts(request)
        best = next(
            best for pair, best in circle.items() if set(shown.values()) == {TEXTS[n] for n in pair}
        )
        ranked = sorted(shown, key=lambda label: shown[label] != TEXTS[best])
        return json.dumps({"reasoning": "round and round", "ranking": " > ".join(ranked)})

    result = await start_run(
        journal, Breaking({"judge": in_a_circle}), task=TASK, settings=pairing()
    )
    equal = f"{first}, {second} and {third} are equal"
    assert panel_report(result.story).conclusion == f"no winner: {equal}"
    assert result.reason == (
        f"no text leads: {equal}, and {first} is first on the list; each has 2 of 6 votes over all pairs"
    )
    assert result.origin == first == panel_report(result.story).standings[0].name


async def test_left_after_any_call_pairs_end_the_same(journal: Journal) -> None:
    task = TASK
    ended = await left_after_every_call(journal, task, pairing(), JUDGING)
    assert ended.origin == "rival.md"


_votes = st.lists(st.sampled_from(["ab", "ba", "ac", "ca", "bc", "cb"]), min_size=1, max_size=12)


@given(_votes)
def test_record_and_report_name_the_same_leaders(cast: list[str]) -> None:
    points = {name: sum(vote[0] == name for vote in cast) for name in "abc"}
    judged = [CountedBallot(ranking=((vote[0],), (vote[1],)), cluster=0) for vote in cast]
    found = report(judged, dict.fromkeys("abc", 10), [], pairwise=True)
    result = from_scores(points, "abc")
    assert found.standings[0].name == result.winner
    equal = [name for name in "abc" if points[name] == points[result.winner]]
    assert found.conclusion.endswith(f": {listed(equal)} are equal") == result.tied


_rankings = st.sampled_from([("x", "y"), ("y", "x"), None])


@given(st.lists(st.tuples(_rankings, _rankings), max_size=9))
def test_a_duel_counts_those_who_keep_to_their_choice(judges: list[tuple[Any, Any]]) -> None:
    cast = [
        BallotCast(
            stage="pair/1", seat=seat, model="m", order=("x", "y"), labels=("P", "Q"), ranking=r
        )
        for seat, r in enumerate(ranking for pair in judges for ranking in pair)
    ]
    counted = votes(cast)
    steady = [pair[0][0] for pair in judges if pair[0] is not None and pair[0] == pair[1]]
    assert [vote.winner for vote in counted if vote.winner] == steady
    assert sum(vote.flipped for vote in counted) == sum(
        None not in pair and pair[0] != pair[1] for pair in judges
    )
    verdict = pair_verdict(counted)
    if not steady:
        assert verdict is None
        return
    assert verdict is not None
    assert verdict.margin == abs(steady.count("x") - steady.count("y"))
    assert verdict.tied == (verdict.margin == 0)
    assert (verdict.ballots, verdict.invalid) == (len(steady), len(judges) - len(steady))
    assert steady.count(verdict.winner) * 2 >= len(steady)


async def test_too_few_judges_who_can_be_read_decide_nothing() -> None:
    def mostly_mute(request: Request) -> str:
        return JUDGING["judge"](request) if "/judge/0/" in request.key else "no comment"

    script = {**JUDGING, "judge": mostly_mute}
    played = await play(script, entries=ENTRIES, job=JudgePairs(), judges=6)
    assert isinstance(played.interruption, PanelFailed)
    assert "gave valid ballots both ways round" in str(played.interruption)
