"""Each question about a record says what is there, at the level it deserves."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases import cases
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
from autoreason.events import GuidanceGiven, RunPaused, Status
from autoreason.exchange import Outcome
from autoreason.journal import RecordedEvent, ReplyText
from autoreason.studies import audit, audit_panels
from autoreason.studies.audit import QUESTIONS, audit_runs, conclude
from autoreason.studies.audit_findings import AuditCheck, AuditedRun
from autoreason.tournament.judges import balanced_orders

INVALID = vote()
B_FIRST = ("B", "AB", "A")


@cases("question", QUESTIONS)
def test_a_record_without_anything_is_unknown_and_says_why(question: AuditCheck) -> None:
    for runs in ((), (run(programs=True),)):
        finding = finding_of(question, runs)
        assert finding.level == "unknown"
        assert finding.number.value is None
        assert finding.statement == finding.number.reason
        assert finding.fix == ""


def invalid(number: int) -> AuditedRun:
    """A run of a hundred ballots, so many of which cannot be read."""
    votes = [INVALID] * number + [vote(*B_FIRST)] * (100 - number)
    return run(*(judged(*votes[at : at + 2]) for at in range(0, 100, 2)))


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


def by_length(longer: bool) -> AuditedRun:
    """A run whose judges go by length alone."""
    words = {"A": 10, "B": 30, "AB": 20}
    votes = [vote(*sorted(SLOTS, key=words.__getitem__, reverse=longer))] * 3
    return run(*[judged(*votes, words=words)] * 20)


def coin_flips(status: Status, rate: float = 0.5, **changes: Any) -> list[AuditedRun]:
    """Runs in which A survives by chance."""
    rng = random.Random(3)
    winners = [" ".join("AB"[rng.random() > rate] for _ in range(12)) for _ in range(12)]
    return [trajectory(each, status=status, **changes) for each in winners]


SPLIT = judged(vote("A", "B", "AB"), vote("AB", "B", "A"))
TIE = judged(vote("A", "B", "AB"), vote("B", "A", "AB"))
LOSSY = judged(*(vote(judge="lossy/judge") for _ in range(9)))
ASKED = judged(vote(*B_FIRST), verdict=None)
TIED = run(won_by("A"), TIE, status="converged", name="tied")
SOUND = [trajectory("B A A", name=f"sound {n}") for n in range(9)]
TELLING = TEXTS | {"B": "## Changes made\n\n- The price is lower."}
LEAKING = [won_by("A", n, texts=TELLING) for n in range(4)]
LIMIT = Contract(max_words=7)
DRAFT = "The tide comes in twice a day."
EAGER = [won_by("A", critiques=[critique(2)])] * 5
CONTENT = won_by("A", critiques=[critique(0)])
INVENTING = won_by("A", critiques=[critique(0, invented=1)])
INVENTIVE = [won_by("A", critiques=[critique(1, invented=1)])] * 4
KEPT = run(texts=("The draft.", "The draft."))
UNSEEN = judged(outcome="unjudged", winner="B")
EQUAL = dict.fromkeys(SLOTS, 5)
REPLY = ReplyText("k", "author", Outcome.OK, None)
NOTHING = GuidanceGiven(number=1, text="")


def confirmed(*votes: tuple[int, int]) -> list[AuditedRun]:
    """Runs whose fresh judges voted so."""
    return [run(confirmed=each, texts=("A", "B")) for each in votes]


def timed(*events: Any, minutes: float = 1, pause: float = 0, **changes: Any) -> AuditedRun:
    """A run of these events, the last of which comes late."""
    at = [datetime(2026, 1, 1, tzinfo=UTC) + n * timedelta(minutes=minutes) for n in range(9)]
    last = len(events) - 1
    return run(
        events=[
            RecordedEvent(n, at[n] + (n == last) * timedelta(minutes=pause), each)
            for n, each in enumerate(events)
        ],
        **changes,
    )


Row = tuple[AuditCheck, list[AuditedRun], str, str]
FINDINGS: list[Row] = [
    # Ballots.
    (audit_panels.invalid_ballots, [invalid(0)], "fine", "none of 100 ballots"),
    (audit_panels.invalid_ballots, [invalid(3)], "check", "3 of 100 ballots (3 %)"),
    (audit_panels.invalid_ballots, [invalid(20)], "alarm", "20 of 100"),
    (audit_panels.invalid_ballots, [run(*[won_by("B")] * 40, LOSSY)], "alarm", "9 of 9 by lossy"),
    (audit_panels.ties, [run(*[TIE] * 20)], "alarm", "100 % of those that A won are such ties"),
    (audit_panels.ties, [run(won_by("A"))], "fine", "none of 1 decision"),
    # Judges.
    (audit_panels.position, [judged_by_position(30, 1, 0.5)], "alarm", "p < 0.001"),
    (audit_panels.position, [judged_by_position(30, 1, 0.0)], "fine", "first places by position"),
    (audit_panels.position, [run(won_by("A"))], "unknown", "judge model; there are 3 at most"),
    (audit_panels.agreement, [run(*[SPLIT] * 20)], "alarm", "mean tau -1.00"),
    (audit_panels.agreement, [run(SPLIT)], "check", "not shown to be more than chance"),
    (audit_panels.agreement, [run(won_by("A"))], "fine", "mean tau 1.00"),
    (audit_panels.agreement, [run(judged(vote("A", "B", "AB")))], "unknown", "two ballots"),
    (audit_panels.length_preferred, [by_length(True)], "alarm", "more than chance explains"),
    (audit_panels.length_preferred, [by_length(False)], "fine", "none of 60 comparisons"),
    (audit_panels.length_preferred, [run(won_by("A", words=EQUAL))], "unknown", "no two texts of"),
    # Stopping.
    (audit_panels.survival, [trajectory("A A A A A A A")], "fine", "more often than chance"),
    (audit_panels.survival, [trajectory("B S B A S B")], "check", "so chance explains it"),
    (audit_panels.survival, [trajectory("B S " * 15)], "alarm", "handicap"),
    (audit_panels.streaks, [trajectory("B " * 8 + "A " * 8)] * 4, "fine", "more than coin flips"),
    (audit_panels.streaks, [*coin_flips("capped"), trajectory("B A A")], "alarm", "no more than c"),
    (audit_panels.streaks, [trajectory("B A B A A")], "check", ""),
    (audit_panels.streaks, coin_flips("capped"), "check", "; no run ended on a streak"),
    # Groups with other rates do not make streaks.
    (
        audit_panels.streaks,
        [
            *coin_flips("converged", 0.1, author="a/low"),
            *coin_flips("converged", 0.9, author="a/high"),
        ],
        "alarm",
        "",
    ),
    (audit_panels.convergence, [TIED, *SOUND], "check", "1 of 10 convergences (10 %) rests on a"),
    (audit_panels.convergence, [TIED], "alarm", "tied"),
    (audit_panels.convergence, SOUND, "fine", "none of 9 convergences rests on a tie"),
    (audit_panels.convergence, [trajectory("B A B")], "fine", "the run did not converge"),
    (audit_panels.confirmation, [*confirmed((9, 10)), KEPT], "fine", "judges prefer it (p "),
    (
        audit_panels.confirmation,
        [*confirmed((7, 10)), KEPT],
        "check",
        "without 1 run that only had the first draft to deliver; an even split is not ruled out",
    ),
    (audit_panels.confirmation, confirmed((0, 10)), "alarm", "they prefer the draft"),
    # Over many runs a preference must show in the runs, too.
    (audit_panels.confirmation, confirmed(*[(10, 10)] * 7, *[(0, 10)] * 5), "check", "70 of 120"),
    (audit_panels.confirmation, confirmed(*[(6, 10)] * 12), "fine", "72 of 120"),
    # Texts.
    (audit.leaks, [run(*LEAKING)], "alarm", "4 of 4 revisions (100 %) and none of 4 syntheses"),
    (audit.leaks, [run(*LEAKING, brief="A list of changes made.")], "fine", ""),
    (audit.leaks, [run(won_by("A", texts=TEXTS))], "fine", "no leak in 2 challengers"),
    (audit.leaks, [run(UNSEEN)], "fine", "no leak in 1 challenger"),
    (audit.leaks, [run(texts=(DRAFT, DRAFT))], "unknown", "no text but the first draft"),
    (
        audit.contract,
        [run(won_by("B"), contract=LIMIT, texts=(TEXTS["A"], TEXTS["B"]))],
        "alarm",
        "8 words, at most 7 allowed), and in 1 of 2 challengers (50 %)",
    ),
    (
        audit.contract,
        [run(won_by("B"), contract=LIMIT, texts=("x", "x"))],
        "check",
        "none of 1 text",
    ),
    (audit.contract, [run(texts=("x", "x"))], "unknown", ""),
    (audit.drift, [run(texts=(DRAFT, f"{DRAFT} Come."))], "fine", "keeps 100 % of its wording"),
    (audit.drift, [run(texts=(TEXTS["A"], "Something else altogether is here now."))], "check", ""),
    (audit.drift, [run(texts=(TEXTS["A"], TEXTS["A"] * 2))], "check", "has 183 % of the first"),
    # Not that of the last incumbent.
    (
        audit.drift,
        [run(won_by("B", words={"A": 7, "B": 70, "AB": 7}), texts=(DRAFT, DRAFT))],
        "fine",
        "has 100 % of the first draft's length and keeps 100 % of its wording (runs of 3 words)",
    ),
    (audit.critics, [run(*EAGER)], "check", "none of 5 critiques found nothing to fix"),
    (audit.critics, [run(*EAGER, CONTENT)], "fine", "1 of 6 critiques"),
    (audit.critics, [run(*EAGER, INVENTING)], "check", "none of 6 critiques"),
    (audit.critics, [run(*INVENTIVE, CONTENT)], "check", "invented 4 of 8 quotes (50 %)"),
    # Calls.
    (audit.outages, [timed(NOTHING, NOTHING, NOTHING)], "fine", "no pause, no gap"),
    (audit.outages, [timed(*[NOTHING] * 4, minutes=0.1, pause=50)], "check", "for 50 minutes"),
    (
        audit.outages,
        [timed(NOTHING, RunPaused(status="provider_failed", reason="out of reach"))],
        "check",
        "paused, out of reach",
    ),
    (
        audit.outages,
        [timed(NOTHING, answers=[ReplyText("k", "author", Outcome.REFUSED, None)], unanswered=2)],
        "check",
        "2 calls never answered; 1 reply refused or empty",
    ),
    (audit.cut_off_replies, [run(answers=[REPLY] * 72)], "fine", "none of 72 replies cut off"),
]


@cases(
    ("question", "runs", "level", "says"),
    FINDINGS,
)
def test_each_question_says_what_is_there_at_the_level_it_deserves(
    question: AuditCheck, runs: list[AuditedRun], level: str, says: str
) -> None:
    finding = finding_of(question, runs)
    assert (finding.level, says in finding.statement) == (level, True), finding.statement


def test_a_confirmation_has_an_exact_interval_and_chance_is_no_preference() -> None:
    number = finding_of(audit_panels.confirmation, confirmed((7, 10))).number
    oracle = scipy.stats.binomtest(7, 10).proportion_ci(method="exact")
    assert (number.low, number.high) == pytest.approx((oracle.low, oracle.high))
    # 21 of 31 is p = 0.07: too little, whatever an interval says.
    longer, shorter = {"A": 1, "B": 9}, {"A": 9, "B": 1}
    two = vote("B", "A", order=("A", "B"))
    passes = [judged(two, words=longer if n < 21 else shorter) for n in range(31)]
    finding = finding_of(audit_panels.length_preferred, [run(*passes)])
    assert finding.level == "fine"
    assert finding.p_value_adjusted == pytest.approx(scipy.stats.binomtest(21, 31).pvalue)
    assert "more than chance" not in finding.statement


@settings(max_examples=10)
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
    with pytest.raises(InvalidInput, match="nothing to audit"):
        audit_runs([])
    fine = finding_of(audit_panels.invalid_ballots, [run(won_by("A"))])
    worth = finding_of(audit_panels.invalid_ballots, [invalid(3)])
    alarm = finding_of(audit_panels.invalid_ballots, [run(judged(*[INVALID] * 9))])
    silent = finding_of(audit.leaks, ())
    assert conclude([fine]) == "Nothing speaks against this record."
    assert conclude([fine, worth]).startswith("Nothing alarming, but check invalid ballots")
    assert "before the alarm is dealt with: invalid ballots" in conclude([fine, worth, alarm])
    assert "1 of 2 questions it cannot answer" in conclude([fine, silent])
    assert "too little" in conclude([silent])


def test_every_question_that_is_tested_makes_the_others_harder_to_pass() -> None:
    record = [judged_by_position(12, 1, 0.35)]
    alone, among = finding_of(audit_panels.position, record), audit_runs(record)
    (together,) = [each for each in among.findings if each.name == "position"]
    assert alone.p_value_adjusted is not None
    assert together.p_value_adjusted == pytest.approx(min(1, alone.p_value_adjusted * among.tested))
    assert among.tested > 3
