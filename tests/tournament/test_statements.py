"""What happens in a tournament is said in sentences that a reader can use, and unknown stays unknown."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from tests.cli import made_up

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
from autoreason.report import numbers as shared
from autoreason.story import Story, build_story
from autoreason.tournament import statements


def test_a_verdict_says_what_its_margin_is_worth() -> None:
    sentence = statements.decided(
        PassDecided(
            number=1,
            outcome="decided",
            winner="AB",
            streak=0,
            words=9,
            verdict=made_up.verdict(6, 8, 4),
        )
    )
    assert sentence == (
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
    sentence = statements.decided(event, k=2)
    assert sentence.startswith("A survives, A 7 · AB 7 · B 4: a tie at the top, which goes to A")
    assert sentence.endswith("survival 1 of 2 in a row")
    sentence = statements.decided(replace(event, outcome="unconfirmed"), k=2)
    assert sentence.startswith("A stays, A 7 · AB 7 · B 4: a tie at the top, which goes to A")
    assert sentence.endswith("; that confirms nothing, still survival 1 of 2 in a row")


def test_a_pass_without_a_panel_says_why() -> None:
    alone = PassDecided(
        number=1,
        outcome="unopposed",
        winner="A",
        streak=1,
        words=9,
        reason="no challenger was left",
    )
    assert statements.decided(alone, 2).startswith("A is unopposed (no challenger was left)")
    nothing = PassDecided(
        number=1, outcome="inconclusive", winner=None, streak=0, words=9, reason="1 of 3 valid"
    )
    assert statements.decided(nothing) == "inconclusive (1 of 3 valid); A stays"


def test_critiques_are_counted_by_severity() -> None:
    assert statements.critique(made_up.critique(1)) == (
        "2 problems: 1 critical, 1 minor (1 left out: the quote is not in the text)"
    )
    empty = CritiqueWritten(number=1, critic=0)
    assert statements.critique(empty) == "found nothing to criticise"
    unreadable = CritiqueWritten(number=1, critic=0, readable=False)
    assert "could not be read" in statements.critique(unreadable)
    prose = CritiqueWritten(number=1, critic=0, prose="too long by far")
    assert statements.critique(prose) == "a critique of 4 words"


def test_a_dropped_text_names_the_rule_it_broke() -> None:
    assert statements.dropped(made_up.LOST) == (
        "left out: it breaks the contract (612 words, at most 500 allowed)"
    )
    clone = CandidateDropped(number=1, slot="AB", reason="clone")
    assert statements.dropped(clone) == "left out: it is the same text as another candidate"


def test_a_seat_without_a_ballot_is_not_a_vote() -> None:
    assert statements.ballot(made_up.ballot("pass/1", 1)) == "judge 2: no valid ballot"
    assert statements.ballot(made_up.ballot("pass/1", 0, "B", "A", "AB")) == "judge 1: B > A > AB"


def test_survival_is_set_against_chance() -> None:
    sentence = statements.survival(
        Survival(panels=5, survived=3, expected=2.0, chance=0.31, required_streak=2)
    )
    assert sentence == (
        "A survived 3 of 5 panels; judges ranking at random would let it survive 2, "
        "and 2 times in a row within as many passes in 31 % of runs"
    )
    assert "nothing is known" in statements.survival(None)


def test_a_streak_that_so_few_passes_cannot_have_is_not_mentioned() -> None:
    few = Survival(panels=2, survived=1, expected=0.7, chance=0.0, required_streak=3)
    assert statements.survival(few) == (
        "A survived 1 of 2 panels; judges ranking at random would let it survive 0.7"
    )


def test_a_lead_that_every_panel_has_is_called_certain() -> None:
    assert shared.by_chance("as much", 1.0) == "even judges ranking at random always reach as much"
    assert shared.by_chance("as much", 0.31, "people").endswith("give as much 31 % of the time")


def test_tau_is_stated_as_agreement_on_pairs() -> None:
    assert "73 % of the time (tau 0.46; chance is 50 %)" in shared.agreement(0.46)
    assert shared.agreement(None).startswith("unknown")


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
    sentence = statements.preference(Preference(judges=7, prefer=prefer, low=low, high=high))
    assert sentence.startswith(f"{prefer} of 7 fresh judges prefer the delivered text")
    assert sentence.endswith(doubt or ")")


def test_no_playoff_is_unknown_not_zero() -> None:
    assert statements.preference(None).startswith("no fresh judges")


def test_the_contract_is_kept_broken_or_absent() -> None:
    rules = Contract(max_words=500)
    assert statements.contract(Contract(), ()) == "none was set"
    assert statements.contract(rules, ()) == "kept: At most 500 words."
    assert statements.contract(rules, made_up.BROKEN) == "broken: 612 words, at most 500 allowed"


def test_evidence_prints_what_it_left_out() -> None:
    rows = dict(statements.evidence(made_up.EVIDENCE, build_story(made_up.whole_run()), ()))
    names = [
        "Survival",
        "Agreement",
        "Playoff",
        "Confirmation",
        "Position",
        "Contract",
        "Leaks",
        "Left out",
    ]
    assert list(rows) == names
    assert rows["Left out"] == "1 of 17 ballots not valid; 3 criticisms with a made-up quote"


def test_a_tie_was_counted_and_is_not_left_out() -> None:
    tied = replace(made_up.EVIDENCE, ties=2)
    rows = dict(statements.evidence(tied, build_story(made_up.whole_run()), ()))
    assert rows["Ties"] == "2 panels had a tie at the top, which confirms nothing"
    assert "tie" not in rows["Left out"]


def test_position_effects_are_stated_against_even_shares() -> None:
    assert "50 % / 25 % / 25 % of 8 (33 % each" in shared.positions((4, 2, 2))
    assert shared.positions((0, 0, 0)) == ""


def test_a_first_draft_that_was_delivered_is_sentence_to_be_the_one_preferred() -> None:
    found = replace(made_up.EVIDENCE, preference=None)
    rows = dict(statements.evidence(found, Story(), (), origin="draft"))
    assert rows["Confirmation"] == "the first draft itself is what was delivered"
    rows = dict(statements.evidence(found, Story(), (), origin="pass 1 AB"))
    assert rows["Confirmation"].endswith("so nothing can be claimed")


def test_the_ballots_that_chose_a_text_are_sentence_to_prove_nothing() -> None:
    decided = next(e for e in made_up.playoff() if isinstance(e, PlayoffDecided))
    sentence = statements.playoff(decided)
    assert "6 of 7 ballots put it above the first draft, which proves nothing" in sentence


def test_a_draft_in_breach_of_its_contract_is_why_no_judge_compared_it() -> None:
    draft = DraftReady(text="…", words=612, given=False, violations=made_up.BROKEN)
    assert "the first draft breaks the contract" in statements.preference(None, "pass 1 B", draft)


def test_of_many_winners_the_last_are_shown() -> None:
    assert statements.winners(("AB", "B", "A"), 3) == "AB B A"
    assert statements.winners(("AB", "B", "A", "A"), 3) == "… B A A"
    assert statements.winners((), 3) == ""


def test_a_run_that_began_from_one_of_several_drafts_is_measured_against_that_one() -> None:
    draft = DraftReady(text="Text.", words=1, given=False, number=3, of=4)
    found = Preference(judges=9, prefer=9, low=0.66, high=1.0)
    assert "to the draft it began from (" in statements.preference(found, "pass 1 B", draft)
    assert statements.preference(None, "draft", draft) == (
        "the draft it began from itself is what was delivered"
    )
    assert statements.draft(draft, draft.of) == "1 word; number 3 of 4 drafts"
    one = replace(draft, number=1, of=1)
    assert "to the first draft (" in statements.preference(found, "pass 1 B", one)
