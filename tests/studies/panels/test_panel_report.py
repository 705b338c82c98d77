"""The report counts what was voted, and says nothing that the votes do not."""

from __future__ import annotations

from itertools import combinations, permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.run.runs import settings as run_settings

from autoreason.events import BallotCast
from autoreason.job_types import Judge
from autoreason.stats import BEYOND_CHANCE
from autoreason.story import Story
from autoreason.studies.panel_report import CountedBallot, PanelReport, report
from autoreason.task import Entry, Task

NAMES = ("a", "b", "c")
WORDS = {"a": 10, "b": 20, "c": 30}


def strict(*rankings: str, cluster: int = 0) -> list[CountedBallot]:
    """Ballots such as `bca`, best first."""
    return [
        CountedBallot(ranking=tuple((name,) for name in each), cluster=cluster) for each in rankings
    ]


def cast(*rankings: str | None) -> list[BallotCast]:
    """The same as they were cast, all in one order."""
    return [
        BallotCast(
            stage="panel",
            seat=seat,
            model="m",
            order=NAMES,
            labels=("P", "Q", "R"),
            ranking=tuple(each) if each else None,
        )
        for seat, each in enumerate(rankings)
    ]


def panel(*rankings: str, **known: Any) -> PanelReport:
    """The report on a panel whose ballots rank so."""
    return report(strict(*rankings), WORDS, cast(*rankings), **known)


_ballots = st.lists(
    st.sampled_from(["".join(p) for p in permutations("abc")]), min_size=1, max_size=8
)


@settings(max_examples=25)
@given(_ballots)
def test_points_first_places_and_duels_are_what_a_count_by_hand_gives(ballots: list[str]) -> None:
    found = panel(*ballots)
    standings = {each.name: each for each in found.standings}
    for name in NAMES:
        assert standings[name].points == sum(3 - each.index(name) for each in ballots)
        assert standings[name].first_places == sum(each[0] == name for each in ballots)
        assert standings[name].words == WORDS[name]
    for one, other in permutations(NAMES, 2):
        above = sum(each.index(one) < each.index(other) for each in ballots)
        assert found.wins[one][other] == above
    for duel, (one, other) in zip(found.duels, combinations(NAMES, 2), strict=True):
        assert (duel.first, duel.second) == (one, other)
        assert (duel.wins, duel.losses) == (found.wins[one][other], found.wins[other][one])
        assert (
            duel.p_value_adjusted is None
            or duel.test.p_value is None
            or duel.p_value_adjusted >= duel.test.p_value
        )
        back = duel.seen_from(other)
        assert (back.first, back.wins, back.losses) == (other, duel.losses, duel.wins)
        assert back.behind == duel.behind
        assert (back.preferred.value or 0) + (duel.preferred.value or 0) in (0, pytest.approx(1))
    points = [each.points for each in found.standings]
    assert points == sorted(points, reverse=True)
    assert found.ballots == len(ballots)
    assert found.positions == tuple(sum(b[0] == name for b in ballots) for name in NAMES)


def test_the_winner_leads_beyond_chance_and_few_voters_show_in_the_interval() -> None:
    assert panel(*["bac"] * 9, chance=0.001).winner == "b"
    assert panel(*["bac"] * 9).winner == "b"
    assert panel("bac", "bca", chance=0.3).winner is None
    assert panel("bac", "bca").winner is None
    at = panel("bac", chance=BEYOND_CHANCE)
    assert at.winner == "b"
    found = panel(*["abc"] * 7)
    best = found.standings[0].mean_points
    assert (best.value, best.high) == (3.0, 3.0)
    assert best.low == pytest.approx(1 + 2 * (0.05 / 3 / 2) ** (1 / 7))


def test_texts_that_are_the_same_share_their_place() -> None:
    shared = [CountedBallot(ranking=(("a", "b"), ("c",)), cluster=0)] * 4
    found = report(shared, WORDS, cast("abc"))
    standings = {each.name: each for each in found.standings}
    assert standings["a"].points == standings["b"].points == 4 * 2.5
    assert standings["a"].first_places == standings["b"].first_places == 2
    assert found.wins["a"]["b"] == found.wins["b"]["a"] == 0
    against = [*shared, CountedBallot(ranking=(("c",), ("a", "b")), cluster=0)][3:]
    assert report(against, WORDS, []).agreement == -1
    assert found.winner is None


def test_one_ballot_shows_nothing_and_a_circle_and_a_tie_are_said() -> None:
    found = panel("abc")
    assert (found.winner, found.agreement, found.detectable.value) == (None, None, None)
    assert "Power      1 vote can show nothing" in str(found)
    tied = panel("abc", "bac", chance=0.0)
    assert (tied.winner, tied.conclusion) == (None, "no winner: a and b are equal")
    circle = panel("abc", "bca", "cab")
    assert [set(cycle) for cycle in circle.cycles] == [set(NAMES)]


def test_without_a_ballot_everything_is_unknown_and_says_why() -> None:
    found = report([], WORDS, cast(None, None))
    assert (found.ballots, found.invalid, found.winner) == (0, 2, None)
    assert found.agreement is None
    for unknown in (found.longer_preferred, found.detectable):
        assert unknown.value is None
        assert unknown.reason
    assert found.position_test.p_value is None
    assert found.position_test.reason
    for each in found.standings:
        assert each.mean_points.value is None


def test_a_text_that_is_judged_under_another_name_is_not_said_to_be_cut() -> None:
    from autoreason.studies.panel_report import panel_report

    entries = tuple(Entry(name=n, text=f"{n} text") for n in ("a", "b"))
    lengths = {"a": 2, "b": 5, "same as a": 2}
    options = run_settings(job=Judge(cut_from=lengths))
    found = panel_report(Story(task=Task(brief="x", entries=entries), settings=options))
    assert found.words_before_cut == {"a": 2, "b": 5}
    assert dict(found.sections()[-1].sentences)["Cut"] == "b from 5 words to 2"


@pytest.mark.parametrize("repeats", [1, 2, 5])
def test_repeats_hang_together(repeats: int) -> None:
    judged = [each for number in range(repeats) for each in strict(*["bac"] * 7, cluster=number)]
    found: PanelReport = report(judged, WORDS, cast(*["bac"] * 7), clustered=True)
    assert found.repeats == repeats
    duel = next(each for each in found.duels if {each.first, each.second} == {"a", "b"})
    assert duel.test.p_value is not None
    # However many judges: so few repeats could all go one way by chance.
    assert duel.test.p_value >= 2 * 0.5**repeats - 1e-9
    assert found.winner is None


@settings(derandomize=True, deadline=None, max_examples=25)
@given(
    st.lists(st.lists(st.permutations("abc"), min_size=1, max_size=7), min_size=1, max_size=8),
    st.booleans(),
)
def test_sentence_p_and_interval_of_a_duel_say_the_same(
    repeats: list[list[list[str]]], clustered: bool
) -> None:
    judged = [
        each
        for number, rankings in enumerate(repeats)
        for each in strict(*map("".join, rankings), cluster=number)
    ]
    found = report(judged, WORDS, [], clustered=clustered)
    losers = set()
    for duel in found.duels:
        low, high = duel.preferred.low, duel.preferred.high
        beyond = low is not None and high is not None and not low <= 0.5 <= high
        assert beyond == ((duel.p_value_adjusted or 1.0) <= 0.05)
        losers |= {duel.behind} if beyond else set()
    said = any(f"{verb} beyond chance" in found.conclusion for verb in ("lose", "loses"))
    assert said == (bool(losers) and found.winner is None)
    assert losers or found.winner is None


def test_no_one_wins_who_lost_the_duel_that_decides() -> None:
    duels = {"ab": "b", "ac": "a", "ad": "a", "bc": "c", "bd": "b", "cd": "c"}
    judged = [
        CountedBallot(ranking=((won,), (pair.replace(won, ""),)), cluster=0)
        for pair, won in duels.items()
        for _ in range(15)
    ]
    words = dict.fromkeys("abcd", 10)
    found = report(judged, words, [], pairwise=True)
    assert found.winner is None
    assert found.detectable.n == 15


def test_who_is_missing_from_some_ballots_does_not_fall_behind_for_it() -> None:
    whole = [each for number in range(12) for each in strict(*["bac"] * 7, cluster=number)]
    without = [
        CountedBallot(ranking=(("a",), ("c",)), cluster=12 + number)
        for number in range(8)
        for _ in range(7)
    ]
    found = report([*whole, *without], WORDS, cast(*["bac"] * 7), clustered=True)
    assert [each.name for each in found.standings] == ["b", "a", "c"]
    assert found.winner == "b"


def test_the_lengths_that_count_are_those_of_the_texts_that_were_judged() -> None:
    judged = [*strict(*["abc"] * 7, cluster=1), *strict(*["cba"] * 7, cluster=2)]
    lengths = {1: {"a": 30, "b": 20, "c": 10}, 2: {"a": 10, "b": 20, "c": 30}}
    found = report(judged, WORDS, [], clustered=True, lengths=lengths)
    assert (found.longer_preferred.value, found.longer_preferred.n) == (1.0, 2)


def test_a_lead_in_votes_is_stated_with_what_it_is_worth() -> None:
    torn = (["abc", "bac"] * 15)[:-1]
    said = panel(*torn, chance=0.3).conclusion
    assert said.startswith("no winner beyond chance, but c loses beyond chance: a leads")
    close, clear = ["abc", "bac"] * 4 + ["abc"], ["abc"] * 30
    found = panel(*close)
    assert ": a leads, but its 5 votes to 4 against b could be chance (p = " in found.conclusion
    found = panel(*clear)
    assert found.conclusion.startswith("a wins: its 30 votes to 0 against b are more than chance")
    assert found.conclusion.endswith("corrected for 3 pairs)")


def test_the_end_counts_judges_and_warns_of_a_taste_for_length() -> None:
    found = panel(*["cba"] * 7, chance=0.001)
    assert found.summary()[2] == (
        "It is 50 % longer than b, and these judges like length: see show --evidence."
    )
    assert len(panel(*["abc"] * 7, chance=0.001).summary()) == 3
    torn = ["abc", "cba", "acb", "bca", "bac", "cab", "bac"]
    led = panel(*torn, "cba", "cba", chance=0.9)
    assert led.summary()[1] == (
        "To tell two texts apart takes about 9 of 9 rankings; with --judges 27 about 21."
    )
    few = panel("abc", "bac", "abc", chance=0.9)
    assert (
        few.summary()[1] == "3 rankings can show no favourite; with --judges 9 about 9 must agree."
    )
    # Most points without most first places.
    odd = ["bca", "bac", "abc", "abc", "abc", "cba", "cba"]
    said = panel(*odd, chance=0.9).summary()[0]
    assert "b leads, placed best on average, and first in 2 of 7 rankings" in said


def test_the_end_says_that_the_text_in_the_lead_breaks_a_limit() -> None:
    broken = {"a": ("18 words, at most 10 allowed",), "b": ("no table",)}
    found = replace(panel(*["abc"] * 7, chance=0.001), violations=broken)
    assert found.summary()[2] == "a breaks a limit: 18 words, at most 10 allowed."
    assert replace(found, violations={"a": (), "b": ("no table",)}).summary()[3:] == []


def test_many_texts_have_a_winner_by_a_wide_lead_or_where_all_put_it_first() -> None:
    words = dict.fromkeys("abcdef", 9)
    known: dict[str, Any] = {"chance": 0.11, "wins_by_chance": 0.04}
    torn = report(strict(*["abcdef"] * 6, "fedcba"), words, [], **known)
    assert torn.summary()[1] == "7 rankings can show a favourite only by a wide lead."
    # Where all agree on the second, too, the lead of the first is small.
    same = report(strict(*["abcdef"] * 7), words, [], **known)
    assert (same.winner, same.conclusion) == ("a", "a wins: all of 7 rankings put it first")


def test_position_says_where_it_is_not_that_of_all_votes() -> None:
    pair = BallotCast(
        stage="panel", seat=2, model="m", order=("a", "b"), labels=("P", "Q"), ranking=("b", "a")
    )
    judged = [*strict("abc", "bac", cluster=1), *strict("ba", cluster=2)]
    some = report(judged, WORDS, [*cast("abc", "bac"), pair], clustered=True)
    note = dict(some.sections()[-1].sentences)["Position"]
    assert " of 2 " in note
    assert note.endswith("; over panels of 3 texts only, with 2 of 3 votes")
    every = report(judged[:2], WORDS, cast("abc", "bac"), clustered=True)
    assert "panels of" not in dict(every.sections()[-1].sentences)["Position"]
