"""Numbers become sentences a reader can use, and unknown stays unknown."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.cli import made_up

from autoreason.cli.views import outcome, words
from autoreason.contract import Contract
from autoreason.events import (
    CandidateDropped,
    CritiqueWritten,
    DraftReady,
    PassDecided,
    PlayoffDecided,
    Preference,
    Survival,
)
from autoreason.exchange import Spent
from autoreason.programs.assignment import CodeVerdict, Examined
from autoreason.report.layout import lay_out
from autoreason.story import Story, build_story


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(4.06, "4.1 s"), (42.4, "42 s"), (192, "3 min 12 s"), (7500, "2 h 05 min")],
)
def test_durations(seconds: float, said: str) -> None:
    assert words.duration(seconds) == said


@pytest.mark.parametrize(
    ("spent", "limit", "said"),
    [
        (Spent(), None, "0 tokens"),
        (Spent(calls=1, input=900, output=300), None, "1,200 tokens"),
        (Spent(calls=1, input=900, output=300), 5000, "1,200 of 5,000 tokens"),
        (Spent(calls=2, input=900, output=300, unmetered=1), None, "at least 1,200 tokens"),
        (Spent(calls=2, input=900, unmetered=1), 5000, "at least 900 of 5,000 tokens"),
        (Spent(calls=1, unmetered=1), None, "tokens unknown"),
        (Spent(calls=1, unmetered=1), 5000, "tokens unknown of 5,000"),
    ],
)
def test_tokens_that_no_provider_counted_are_unknown(
    spent: Spent, limit: int | None, said: str
) -> None:
    assert words.tokens(spent, limit) == said


@pytest.mark.parametrize(
    ("cost", "said"),
    [
        (None, "unknown"),
        (Decimal(0), "$0.00"),
        (Decimal("0.00001"), "under $0.0001"),
        (Decimal("0.0123"), "$0.0123"),
        (Decimal("0.456"), "$0.46"),
        (Decimal("1234.5"), "$1,234.50"),
    ],
)
def test_money_is_never_zero_where_it_is_unknown(cost: Decimal | None, said: str) -> None:
    assert words.money(cost) == said


def test_percentages_never_round_to_certainty() -> None:
    assert words.percent(0.004) == "under 1 %"
    assert words.percent(0.997) == "over 99 %"
    assert words.percent(0) == "0 %"
    assert words.percent(1) == "100 %"


def test_a_verdict_says_what_its_margin_is_worth() -> None:
    said = words.decided(
        PassDecided(
            number=1,
            outcome="decided",
            winner="AB",
            streak=0,
            words=9,
            verdict=made_up.verdict(6, 8, 4),
        )
    )
    assert said == (
        "AB wins, A 6 · AB 8 · B 4: 2 points ahead; "
        "judges ranking at random give as much 41 % of the time (3 ballots)"
    )


def test_a_survival_counts_towards_the_end() -> None:
    event = PassDecided(
        number=2,
        outcome="decided",
        winner="A",
        streak=1,
        words=9,
        verdict=made_up.verdict(7, 7, 4),
    )
    said = words.decided(event, k=2)
    assert said.startswith("A survives, A 7 · AB 7 · B 4: a tie at the top, which goes to A")
    assert said.endswith("survival 1 of 2 in a row")


def test_a_pass_without_a_panel_says_why() -> None:
    alone = PassDecided(
        number=1,
        outcome="unopposed",
        winner="A",
        streak=1,
        words=9,
        reason="no challenger was left",
    )
    assert words.decided(alone, 2).startswith("A stands alone (no challenger was left)")
    nothing = PassDecided(
        number=1, outcome="inconclusive", winner=None, streak=0, words=9, reason="1 of 3 valid"
    )
    assert words.decided(nothing) == "inconclusive (1 of 3 valid); A stays"


def test_a_pass_over_programs_is_told_in_words_for_programs() -> None:
    equal = PassDecided(
        number=1,
        outcome="unopposed",
        winner="A",
        words=4,
        streak=1,
        reason="A and B pass equally many public tests, and too few calls are left for judges",
    )
    assert words.program_decided(equal, 2) == (
        "A goes on (A and B pass equally many public tests, and too few calls are left for judges); "
        "survival 1 of 2 in a row"
    )
    taken = replace(equal, outcome="unjudged", winner="B", streak=0, reason="")
    assert words.program_decided(taken, 2) == "taken as it comes"


def test_critiques_are_counted_by_severity() -> None:
    assert words.critique(made_up.critique(1)) == (
        "2 problems: 1 critical, 1 minor (1 left out: the quote is not in the text)"
    )
    empty = CritiqueWritten(number=1, critic=0)
    assert words.critique(empty) == "found nothing to criticise"
    unreadable = CritiqueWritten(number=1, critic=0, readable=False)
    assert "could read" in words.critique(unreadable)
    prose = CritiqueWritten(number=1, critic=0, prose="too long by far")
    assert words.critique(prose) == "a critique of 4 words"


def test_a_dropped_text_names_the_rule_it_broke() -> None:
    assert words.dropped(made_up.LOST) == (
        "left out: it breaks the contract (612 words, at most 500 allowed)"
    )
    clone = CandidateDropped(number=1, slot="AB", reason="clone")
    assert words.dropped(clone) == "left out: it is the same text as another candidate"


def test_a_seat_without_a_ballot_is_not_a_vote() -> None:
    assert words.ballot(made_up.ballot("pass/1", 1)) == "judge 2: no valid ballot"
    assert words.ballot(made_up.ballot("pass/1", 0, "B", "A", "AB")) == "judge 1: B > A > AB"


def test_survival_is_set_against_chance() -> None:
    said = words.survival(Survival(panels=5, survived=3, expected=2.0, chance=0.31, streak=2))
    assert said == (
        "A survived 3 of 5 panels; judges ranking at random would keep it in 2, "
        "and 2 times in a row within as many passes in 31 % of runs"
    )
    assert "nothing is known" in words.survival(None)


def test_tau_is_told_as_agreement_on_pairs() -> None:
    assert "73 % of the time (tau 0.46; chance is 50 %)" in words.agreement(0.46)
    assert words.agreement(None).startswith("unknown")


@pytest.mark.parametrize(
    ("prefer", "low", "high", "doubt"),
    [
        (7, 0.65, 1.0, "an even split is ruled out"),
        (5, 0.36, 0.92, "an even split is not ruled out"),
        (0, 0.0, 0.35, "they prefer the draft"),
    ],
)
def test_a_preference_never_claims_more_than_its_interval(
    prefer: int, low: float, high: float, doubt: str
) -> None:
    said = words.preference(Preference(judges=7, prefer=prefer, low=low, high=high))
    assert said.startswith(f"{prefer} of 7 fresh judges prefer the delivered text")
    assert said.endswith(doubt or ")")


def test_no_playoff_is_unknown_not_zero() -> None:
    assert words.preference(None).startswith("no fresh judges")


def test_the_contract_is_kept_broken_or_absent() -> None:
    rules = Contract(max_words=500)
    assert words.contract(Contract(), ()) == "none was set"
    assert words.contract(rules, ()) == "kept: At most 500 words."
    assert words.contract(rules, made_up.BROKEN) == "broken: 612 words, at most 500 allowed"


def test_evidence_prints_what_it_left_out() -> None:
    rows = dict(words.evidence(made_up.EVIDENCE, build_story(made_up.whole_run()), ()))
    names = ["Survival", "Agreement", "Playoff", "Confirmation", "Contract", "Leaks", "Left out"]
    assert list(rows) == names
    assert rows["Left out"] == "1 of 17 ballots not valid; 3 criticisms with a made-up quote"


def test_position_effects_are_told_against_even_shares() -> None:
    assert "50 % / 25 % / 25 % of 8 (33 % each" in words.positions((4, 2, 2))
    assert words.positions((0, 0, 0)) == ""


def test_a_first_draft_that_was_delivered_is_said_to_be_the_one_preferred() -> None:
    found = replace(made_up.EVIDENCE, preference=None)
    rows = dict(words.evidence(found, Story(), (), origin="draft"))
    assert rows["Confirmation"] == "the first draft itself is what was delivered"
    rows = dict(words.evidence(found, Story(), (), origin="pass 1 AB"))
    assert rows["Confirmation"].endswith("so nothing can be claimed")


def test_the_ballots_that_chose_a_text_are_said_to_prove_nothing() -> None:
    decided = next(e for e in made_up.playoff() if isinstance(e, PlayoffDecided))
    said = words.playoff(decided)
    assert "6 of 7 ballots put it above the first draft, which proves nothing" in said


def test_a_draft_in_breach_of_its_contract_is_why_nobody_compared_it() -> None:
    draft = DraftReady(text="…", words=612, given=False, violations=made_up.BROKEN)
    assert "the first draft breaks the contract" in words.preference(None, "pass 1 B", draft)


def test_of_many_winners_the_last_are_shown() -> None:
    assert words.winners(("AB", "B", "A"), 3) == "AB B A"
    assert words.winners(("AB", "B", "A", "A"), 3) == "… B A A"
    assert words.winners((), 3) == ""


@given(st.lists(st.sampled_from(["A", "B", "AB", "?"]), min_size=1, max_size=1000))
def test_however_many_passes_there_were_they_are_one_line(won: list[str]) -> None:
    said = outcome._passes(tuple(won))
    assert len(lay_out([("Passes", said)], 80)) == 1
    assert said.startswith(f"{len(won)}, won by ")


@pytest.mark.parametrize(
    ("verdict", "passed", "run", "said"),
    [
        ("accepted", 25, 25, "accepted, 25 of 25 private tests"),
        ("wrong_answer", 10, 11, "wrong answer at private test 11 of 25"),
        ("wrong_answer", 10, 25, "wrong answer, 10 of 25 private tests passed"),
        ("no_code", 0, 0, "no program"),
    ],
)
def test_a_failure_that_ended_the_tests_says_where(
    verdict: str, passed: int, run: int, said: str
) -> None:
    found = Examined(
        which="private", verdict=CodeVerdict(verdict), passed=passed, run=run, total=25
    )
    assert words.examined(found) == said


def test_a_run_that_began_from_one_of_several_drafts_is_measured_against_that_one() -> None:
    draft = DraftReady(text="Text.", words=1, given=False, number=3, of=4)
    found = Preference(judges=9, prefer=9, low=0.66, high=1.0)
    assert "to the draft it began from (" in words.preference(found, "pass 1 B", draft)
    assert words.preference(None, "draft", draft) == (
        "the draft it began from itself is what was delivered"
    )
    assert words.draft(draft, draft.of) == "1 word; number 3 of 4 drafts"
    one = replace(draft, number=1, of=1)
    assert "to the first draft (" in words.preference(found, "pass 1 B", one)
