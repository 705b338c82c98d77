"""Each look at a record says what is there, at the level it deserves."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from tests.studies.audit.example_runs import (
    SLOTS,
    TEXTS,
    critique,
    finding_of,
    judged,
    run,
    trajectory,
    vote,
    won_by,
)

from autoreason.contract import Contract
from autoreason.errors import InvalidInput
from autoreason.events import GuidanceGiven, RunPaused
from autoreason.exchange import Outcome
from autoreason.journal import RecordedEvent, ReplyText
from autoreason.keys import judge_key, try_key
from autoreason.studies import audit, audit_panels
from autoreason.studies.audit import (
    OF_CALLS,
    OF_PANELS,
    OF_PROGRAMS,
    OF_TEXTS,
    audit_runs,
    conclude,
)
from autoreason.studies.audit_findings import AuditedRun, Question
from autoreason.tournament.judges import balanced_orders

QUESTIONS = (*OF_PANELS, *OF_TEXTS, *OF_PROGRAMS, *OF_CALLS)
INVALID = vote()
B_FIRST = ("B", "AB", "A")


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_a_record_without_anything_is_unknown_and_says_why(question: Question) -> None:
    for runs in ((), (run(programs=True),)):
        finding = finding_of(question, runs)
        assert finding.level == "unknown"
        assert finding.number.value is None
        assert finding.statement == finding.number.reason
        assert finding.fix == ""


def test_every_look_has_a_name_of_its_own() -> None:
    names = [question.name for question in QUESTIONS]
    assert len(set(names)) == len(names)


# Ballots.


@pytest.mark.parametrize(
    ("invalid", "level"), [(0, "fine"), (3, "look"), (20, "alarm"), (100, "alarm")]
)
def test_invalid_ballots_are_counted(invalid: int, level: str) -> None:
    votes = [INVALID] * invalid + [vote(*B_FIRST)] * (100 - invalid)
    panels = [judged(*votes[at : at + 2]) for at in range(0, 100, 2)]
    finding = finding_of(audit_panels.invalid_ballots, [run(*panels)])
    assert finding.level == level
    assert finding.number.value == pytest.approx(invalid / 100)


def test_a_judge_model_that_loses_most_ballots_is_named() -> None:
    good = [won_by("B") for _ in range(40)]
    bad = judged(*(vote(judge="lossy/judge") for _ in range(9)))
    finding = finding_of(audit_panels.invalid_ballots, [run(*good, bad)])
    assert finding.level == "alarm"
    assert "9 of 9 by lossy/judge" in finding.statement


def test_a_decision_below_the_quorum_is_seen() -> None:
    short = judged(vote(*B_FIRST), INVALID, INVALID)
    finding = finding_of(audit_panels.below_quorum, [run(short)])
    assert finding.level == "alarm"
    assert "1 of 1 panel (100 %) decided below a quorum" in finding.statement
    assert finding_of(audit_panels.below_quorum, [run(won_by("A"))]).level == "fine"
    alone = finding_of(audit_panels.below_quorum, [run(judged(vote(*B_FIRST)))])
    assert "1 panel had a single judge" in alone.statement
    empty = finding_of(audit_panels.below_quorum, [run(won_by("A"), judged(INVALID, INVALID))])
    assert (empty.level, empty.statement) == ("look", "1 panel had no valid ballot")


def answered(text: str, *ranking: str) -> AuditedRun:
    """A run with one judge, who wrote this."""
    return run(judged(vote(*ranking)), replies={try_key(judge_key("pass/1", 0, 0), 0): text})


@pytest.mark.parametrize(
    ("text", "ranking", "level", "message"),
    [
        ("RANKING: 2, 3, 1", ("B", "AB", "A"), "fine", "all"),
        ("Well.\n\nRANKING: 2 > 3 > 1", ("B", "AB", "A"), "fine", "all"),
        ('{"reasoning": "so", "ranking": "2 > 3 > 1"}', ("B", "AB", "A"), "fine", "all"),
        ("**RANKING: 2, 3, 1**", ("B", "AB", "A"), "look", "reads 1 of the 1"),
        ("I cannot say.", (), "alarm", "reads 0 of the 1"),
    ],
)
def test_what_judges_wrote_is_compared_with_the_form_asked_for(
    text: str, ranking: tuple[str, ...], level: str, message: str
) -> None:
    finding = finding_of(audit_panels.ballot_form, [answered(text, *ranking)])
    assert finding.level == level
    assert message == "all" or message in finding.statement


def test_decisions_by_the_tie_rule_are_counted() -> None:
    tie = judged(vote("A", "B", "AB"), vote("B", "A", "AB"))
    finding = finding_of(audit_panels.ties, [run(*[tie] * 20)])
    assert finding.level == "alarm"
    assert "100 % of those that A won are such ties" in finding.statement
    assert finding_of(audit_panels.ties, [run(won_by("A"))]).level == "fine"


def test_a_panel_that_decides_nothing_needs_no_quorum() -> None:
    asked = judged(vote(*B_FIRST), verdict=None)
    assert finding_of(audit_panels.below_quorum, [run(asked)]).level == "unknown"
    finding = finding_of(audit_panels.below_quorum, [run(asked, won_by("A"))])
    assert finding.statement == "every one of 1 panel had its quorum"


# Judges.


def judged_by_position(panels: int, seed: int, first: float) -> AuditedRun:
    """Judges who put whatever stands first on the first place, so often."""
    rng = random.Random(seed)
    passes = []
    for number in range(panels):
        votes = []
        for order in balanced_orders(SLOTS, 3, rng.getrandbits(32)):
            ranking = list(order)
            if rng.random() > first:
                rng.shuffle(ranking)
            votes.append(vote(*ranking, order=order))
        passes.append(judged(*votes, number=number))
    return run(*passes)


def test_judges_who_like_the_first_position_are_an_alarm_and_fair_ones_are_not() -> None:
    biased = finding_of(audit_panels.position, [judged_by_position(30, 1, 0.5)])
    assert biased.level == "alarm"
    assert biased.p_value_adjusted is not None
    assert biased.p_value_adjusted < 0.001
    fair = finding_of(audit_panels.position, [judged_by_position(30, 1, 0.0)])
    assert fair.level == "fine"


def test_judges_with_nothing_in_common_are_an_alarm() -> None:
    split = judged(vote("A", "B", "AB"), vote("AB", "B", "A"))
    often = run(*[split] * 20)
    assert finding_of(audit_panels.judges_agree, [often]).level == "alarm"
    assert finding_of(audit_panels.judges_agree, [run(split)]).level == "look"
    assert finding_of(audit_panels.judges_agree, [run(won_by("A"))]).number.value == pytest.approx(
        1
    )


@pytest.mark.parametrize(("winner", "level"), [("B", "alarm"), ("A", "fine")])
def test_a_preference_for_longer_texts_is_seen(winner: str, level: str) -> None:
    words = {"A": 10, "B": 30, "AB": 20}
    votes = [vote(*sorted(SLOTS, key=words.__getitem__, reverse=winner == "B"))] * 3
    passes = [judged(*votes, words=words)] * 20
    assert finding_of(audit_panels.longer_preferred, [run(*passes)]).level == level


# Stopping.


def test_a_that_survives_more_than_chance_is_fine_and_less_is_an_alarm() -> None:
    assert finding_of(audit_panels.survival, [trajectory("A A A A A A A")]).level == "fine"
    assert finding_of(audit_panels.survival, [trajectory("B S B A S B")]).level == "look"
    never = finding_of(audit_panels.survival, [trajectory("B S " * 15)])
    assert never.level == "alarm"
    assert "handicap" in never.statement


def test_streaks_are_reported_from_coin_flips() -> None:
    real = [trajectory("B B B B B B B B A A A A A A A A") for _ in range(4)]
    assert finding_of(audit_panels.streaks, real).level == "fine"
    rng = random.Random(3)
    flips = [trajectory(" ".join(rng.choice("AB") for _ in range(12))) for _ in range(12)]
    finding = finding_of(audit_panels.streaks, [*flips, trajectory("B A A")])
    assert finding.level == "alarm"
    assert "no more than coin flips give" in finding.statement
    assert finding_of(audit_panels.streaks, [trajectory("B A B A A")]).level == "look"


def test_streaks_of_runs_that_none_of_them_ended_are_no_alarm() -> None:
    rng = random.Random(3)
    winners = [" ".join(rng.choice("AB") for _ in range(12)) for _ in range(12)]
    flips = [trajectory(each, status="capped") for each in winners]
    finding = finding_of(audit_panels.streaks, flips)
    assert finding.level == "look"
    assert finding.statement.endswith("; no run ended on a streak")
    converged = trajectory(winners[0], status="converged")
    assert finding_of(audit_panels.streaks, [converged, *flips[1:]]).level == "alarm"


def test_groups_with_other_rates_do_not_make_streaks() -> None:
    rng = random.Random(5)

    def flipped(rate: float, author: str) -> AuditedRun:
        winners = " ".join("A" if rng.random() < rate else "B" for _ in range(80))
        return trajectory(winners, author=author, status="converged")

    finding = finding_of(audit_panels.streaks, [flipped(0.05, "a/low"), flipped(0.95, "a/high")])
    assert finding.level == "alarm"


def test_a_convergence_on_a_tie_is_named() -> None:
    def ended(last: Any, name: str) -> AuditedRun:
        return run(won_by("A"), last, status="converged", name=name)

    on_a_tie = ended(judged(vote("A", "B", "AB"), vote("B", "A", "AB"), number=2), "tied")
    sound = [trajectory("B A A", name=f"sound {n}") for n in range(9)]
    finding = finding_of(audit_panels.convergence, [on_a_tie, *sound])
    assert finding.level == "look"
    assert "1 of 10 convergences (10 %)" in finding.statement
    assert "tied" in finding.statement
    assert finding_of(audit_panels.convergence, [on_a_tie]).level == "alarm"
    assert finding_of(audit_panels.convergence, sound).level == "fine"
    assert finding_of(audit_panels.convergence, [trajectory("B A B")]).level == "fine"


def test_a_playoff_that_prefers_the_draft_is_an_alarm() -> None:
    for preferred, level in (((7, 7), "unknown"), ((3, 7), "unknown"), ((0, 7), "alarm")):
        finding = finding_of(audit_panels.playoff, [run(preferred=preferred)])
        assert finding.level == level
        assert f"{preferred[0] or 'none'} of 7 judges" in finding.statement
        assert ("prove nothing" in finding.statement) == (level == "unknown")


@pytest.mark.parametrize(
    ("confirmed", "level", "message"),
    [
        ((9, 10), "fine", "9 of 10 fresh judges (90 %)"),
        ((7, 10), "look", "an even split is not ruled out"),
        ((0, 10), "alarm", "they prefer the draft"),
    ],
)
def test_only_fresh_judges_can_show_an_improvement(
    confirmed: tuple[int, int], level: str, message: str
) -> None:
    kept = run(texts=("The draft.", "The draft."))
    finding = finding_of(
        audit_panels.confirmation, [run(confirmed=confirmed, texts=("A", "B")), kept]
    )
    assert finding.level == level
    assert message in finding.statement
    assert "1 run that delivered the first draft is left out" in finding.statement
    oracle = binomtest(*confirmed).proportion_ci(method="exact")
    assert (finding.number.low, finding.number.high) == pytest.approx((oracle.low, oracle.high))


def test_over_many_runs_an_improvement_must_show_in_the_runs_too() -> None:
    # 70 of 120 judges, but all from runs that are split down the middle or wholly one way.
    split = [run(confirmed=(10, 10), texts=("A", "B"))] * 7 + [
        run(confirmed=(0, 10), texts=("A", "B"))
    ] * 5
    assert finding_of(audit_panels.confirmation, split).level == "look"
    steady = [run(confirmed=(6, 10), texts=("A", "B"))] * 12
    assert finding_of(audit_panels.confirmation, steady).level == "fine"


def recorded_events(*events: Any, minutes: float = 1) -> list[RecordedEvent]:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    return [
        RecordedEvent(at, start + at * timedelta(minutes=minutes), each)
        for at, each in enumerate(events)
    ]


def test_pauses_gaps_and_missing_calls_are_named() -> None:
    nothing = GuidanceGiven(number=1, text="")
    calm = run(events=recorded_events(nothing, nothing, nothing))
    assert finding_of(audit.outages, [calm]).level == "fine"
    late = recorded_events(*[nothing] * 4, minutes=0.1)
    late[-1] = late[-1]._replace(at=late[-1].at + timedelta(minutes=50))
    found = finding_of(audit.outages, [run(events=late)])
    assert "nothing happened for 50 minutes" in found.statement
    pause = RunPaused(status="provider_failed", reason="the provider is out of reach")
    paused = run(events=recorded_events(nothing, pause))
    assert "out of reach" in finding_of(audit.outages, [paused]).statement
    answers = [ReplyText("k", "author", Outcome.REFUSED, None)]
    calls = run(events=recorded_events(nothing), answers=answers, unanswered=2)
    message = finding_of(audit.outages, [calls]).statement
    assert "2 calls never answered; 1 reply refused or empty" in message


# Texts.


def test_challengers_that_speak_of_their_making_are_an_alarm() -> None:
    telling = TEXTS | {"B": "## Changes made\n\n- The price is lower."}
    passes = [won_by("A", n, texts=telling) for n in range(4)]
    finding = finding_of(audit.leaks, [run(*passes)])
    assert finding.level == "alarm"
    assert "4 of 4 revisions (100 %) and none of 4 syntheses" in finding.statement
    assert finding_of(audit.leaks, [run(*passes, brief="A list of changes made.")]).level == "fine"
    assert finding_of(audit.leaks, [run(won_by("A", texts=TEXTS))]).level == "fine"


def test_a_delivered_text_that_breaks_the_contract_is_an_alarm() -> None:
    limit = Contract(max_words=7)
    broken = run(won_by("B"), contract=limit, texts=(TEXTS["A"], TEXTS["B"]))
    finding = finding_of(audit.contract, [broken])
    assert finding.level == "alarm"
    assert "8 words, at most 7 allowed" in finding.statement
    assert "1 of 2 challengers (50 %)" in finding.statement
    only_judged = run(won_by("B"), contract=limit, texts=(TEXTS["A"], TEXTS["A"]))
    assert finding_of(audit.contract, [only_judged]).level == "look"
    assert finding_of(audit.contract, [run(texts=("x", "x"))]).level == "unknown"


def test_drift_is_reported_in_words_and_in_length() -> None:
    near = run(texts=(TEXTS["A"], TEXTS["A"] + " Come and see."))
    assert finding_of(audit.drift, [near]).level == "fine"
    assert "keeps 100 % of its wording" in finding_of(audit.drift, [near]).statement
    far = run(texts=(TEXTS["A"], "Something else altogether stands here now."))
    assert finding_of(audit.drift, [far]).level == "look"
    grown = run(texts=(TEXTS["A"], TEXTS["A"] * 2))
    assert finding_of(audit.drift, [grown]).level == "look"


def test_drift_is_that_of_the_text_delivered_not_of_the_last_incumbent() -> None:
    draft = "The tide comes in twice a day."
    kept = run(won_by("B", words={"A": 7, "B": 70, "AB": 7}), texts=(draft, draft))
    assert finding_of(audit.drift, [kept]).statement == (
        "the text at the end has 100 % of the first draft's length and keeps 100 % of its wording "
        "(runs of 3 words)"
    )
    some = [kept, run(texts=(draft, draft + draft))]
    assert "on average over 2 runs and keeps 100 %" in finding_of(audit.drift, some).statement


def test_critics_that_never_find_nothing_are_worth_a_look() -> None:
    eager = [won_by("A", critiques=[critique(2)])] * 5
    assert finding_of(audit.critics, [run(*eager)]).level == "look"
    content = won_by("A", critiques=[critique(0)])
    assert finding_of(audit.critics, [run(*eager, content)]).level == "fine"
    inventive = [won_by("A", critiques=[critique(1, invented=1)])] * 4
    finding = finding_of(audit.critics, [run(*inventive, content)])
    assert finding.level == "look"
    assert "critics invented 4 of 8 quotes (50 %)" in finding.statement


# The whole.


@settings(max_examples=25)
@given(st.lists(st.lists(st.sampled_from("ABS"), min_size=1, max_size=9), min_size=1, max_size=4))
def test_the_order_of_runs_makes_no_difference(winners: list[list[str]]) -> None:
    runs = [trajectory(" ".join(w), name=str(n)) for n, w in enumerate(winners)]
    one, other = audit_runs(runs), audit_runs(runs[::-1])
    assert [(f.name, f.level, f.number, f.p_value_adjusted) for f in one.findings] == [
        (f.name, f.level, f.number, f.p_value_adjusted) for f in other.findings
    ]
    assert one.passes == sum(map(len, winners))
    assert one.ballots == 3 * one.passes


def test_the_conclusion_names_what_is_worst() -> None:
    fine = finding_of(audit_panels.invalid_ballots, [run(won_by("A"))])
    worth = finding_of(audit_panels.ballot_form, [answered("**RANKING: 2, 3, 1**", *B_FIRST)])
    alarm = finding_of(audit_panels.invalid_ballots, [run(judged(*[INVALID] * 9))])
    silent = finding_of(audit.leaks, ())
    assert conclude([fine]) == "Nothing speaks against this record."
    assert conclude([fine, worth]).startswith("Nothing alarming, but look at ballot form")
    assert "before the alarm is dealt with: invalid ballots" in conclude([fine, worth, alarm])
    assert "1 of 2 questions it cannot answer" in conclude([fine, silent])
    assert "too little" in conclude([silent])


def test_nothing_cannot_be_audited() -> None:
    with pytest.raises(InvalidInput, match="nothing to audit"):
        audit_runs([])


# Why nothing can be said.


@pytest.mark.parametrize(
    ("question", "record", "why"),
    [
        (audit_panels.position, run(won_by("A")), "by one judge model; there are 3 at most"),
        (audit_panels.position, run(*[judged(vote("A", "B", "AB"))] * 20), "in orders that vary"),
        (
            audit_panels.longer_preferred,
            run(won_by("A", words={"A": 5, "B": 5, "AB": 5})),
            "no two texts of different lengths",
        ),
        (audit_panels.judges_agree, run(judged(vote("A", "B", "AB"))), "has two ballots"),
        (audit_panels.invalid_ballots, run(), "there was no panel"),
    ],
)
def test_what_cannot_be_said_has_its_true_reason(
    question: Question, record: AuditedRun, why: str
) -> None:
    finding = finding_of(question, [record])
    assert finding.level == "unknown"
    assert why in finding.statement


def test_a_preference_that_chance_explains_is_not_called_one() -> None:
    # 21 of 31 is p = 0.07: too little, whatever an interval says.
    longer, shorter = {"A": 1, "B": 9}, {"A": 9, "B": 1}
    two = vote("B", "A", order=("A", "B"))
    passes = [judged(two, words=longer if n < 21 else shorter) for n in range(31)]
    finding = finding_of(audit_panels.longer_preferred, [run(*passes)])
    assert finding.level == "fine"
    assert finding.p_value_adjusted == pytest.approx(binomtest(21, 31).pvalue)
    assert "more than chance" not in finding.statement


def test_every_question_that_is_tested_makes_the_others_harder_to_pass() -> None:
    record = [judged_by_position(12, 1, 0.35)]
    alone, among = finding_of(audit_panels.position, record), audit_runs(record)
    (together,) = [each for each in among.findings if each.name == "position"]
    assert alone.p_value_adjusted is not None
    assert together.p_value_adjusted == pytest.approx(min(1, alone.p_value_adjusted * among.tested))
    assert among.tested > 3


# Programs.


def test_replies_that_were_cut_off_say_what_they_count() -> None:
    answers = [ReplyText("k", "author", Outcome.OK, None)] * 72
    cut = finding_of(audit.cut_replies, [run(answers=answers)])
    assert cut.statement == "none of 72 replies cut off; every reply counts, second tries too"
