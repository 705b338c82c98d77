"""What happens in a tournament is said in sentences that a reader can use, and unknown stays unknown."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from tests.cli import made_up

from autoreason.contract import Contract
from autoreason.events import (
    CritiqueWritten,
    DraftReady,
    PassDecided,
    Preference,
    Survival,
)
from autoreason.report import numbers as shared
from autoreason.story import Story, build_story
from autoreason.task import Task
from autoreason.tournament import statements


def test_a_verdict_says_what_its_margin_is_worth_and_a_survival_counts_towards_the_end() -> None:
    verdict = made_up.verdict(6, 8, 4)
    won = PassDecided(number=1, outcome="decided", winner="AB", streak=0, words=9, verdict=verdict)
    assert statements.decided(won) == (
        "AB wins, A 6 · AB 8 · B 4: 2 points ahead; "
        "judges ranking at random give as much 41 % of the time (3 ballots)"
    )
    verdict = made_up.verdict(7, 7, 4)
    event = PassDecided(number=2, outcome="decided", winner="A", streak=1, words=9, verdict=verdict)
    sentence = statements.decided(event, k=2)
    assert sentence.startswith("A survives, A 7 · AB 7 · B 4: a tie at the top, which goes to A")
    assert sentence.endswith("survival 1 of 2 in a row")
    sentence = statements.decided(replace(event, outcome="unconfirmed"), k=2)
    assert sentence.startswith("A stays, A 7 · AB 7 · B 4: a tie at the top, which goes to A")
    assert sentence.endswith("; that confirms nothing, still survival 1 of 2 in a row")


def test_a_pass_without_a_panel_says_why() -> None:
    alone = PassDecided(number=1, outcome="unopposed", winner="A", streak=1, words=9, reason="no B")
    assert statements.decided(alone, 2).startswith("A is unopposed (no B)")
    silent = replace(alone, reason="two critics found nothing to fix")
    assert "(two critics named no fault that is there)" in statements.decided(silent)
    nothing = replace(alone, outcome="inconclusive", winner=None, streak=0, reason="1 of 3 valid")
    assert statements.decided(nothing) == "inconclusive (1 of 3 valid); A stays"


def test_survival_is_set_against_chance_as_are_figures() -> None:
    found = Survival(panels=5, survived=3, expected=2.0, chance=0.31, required_streak=2)
    assert statements.survival(found) == (
        "A survived 3 of 5 panels; judges ranking at random would let it survive 2, "
        "and 2 times in a row within as many passes in 31 % of runs"
    )
    # So few passes cannot have the streak.
    few = Survival(panels=2, survived=1, expected=0.7, chance=0.0, required_streak=3)
    assert statements.survival(few).endswith("ranking at random would let it survive 0.7")
    assert "nothing is known" in statements.survival(None)
    assert shared.by_chance("as much", 0.31, "people").endswith("give as much 31 % of the time")
    assert "agree on 73 % of pairs of texts (tau 0.46; chance is 50 %)" in shared.agreement(0.46)
    assert shared.agreement(None).startswith("unknown")
    assert "50 % / 25 % / 25 % of 8 (33 % each" in shared.positions((4, 2, 2))
    unreadable = CritiqueWritten(number=1, critic=0, readable=False)
    assert "could not be read" in statements.critique(unreadable)


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


def test_evidence_prints_what_it_left_out() -> None:
    story = build_story(made_up.whole_run())
    rows = dict(statements.evidence(made_up.EVIDENCE, story, ()))
    names = "Survival Agreement Review Confirmation Position Contract Leaks"
    assert list(rows) == [*names.split(), "Left out"]
    assert rows["Left out"] == "1 of 17 ballots not valid; 3 criticisms with a made-up quote"
    # A tie was counted, and is not left out.
    rows = dict(statements.evidence(replace(made_up.EVIDENCE, ties=2), story, ()))
    assert rows["Ties"] == "2 panels had a tie at the top, which confirms nothing"
    assert "tie" not in rows["Left out"]


def test_without_a_comparison_it_is_said_why_there_is_none() -> None:
    found = replace(made_up.EVIDENCE, preference=None)
    rows = dict(statements.evidence(found, Story(), (), origin="draft"))
    assert rows["Confirmation"] == "the first draft itself is what was delivered"
    rows = dict(statements.evidence(found, Story(), (), origin="pass 1 AB"))
    assert rows["Confirmation"].endswith("with the first draft, so nothing can be claimed")
    draft = DraftReady(text="…", words=612, given=False, violations=made_up.BROKEN)
    assert "the first draft breaks the contract" in statements.preference(None, "pass 1 B", draft)
    assert statements.preference(None, asked=" (a/b)").startswith("too few ballots of fresh")


RULES = Task(brief="Write.", contract=Contract(max_words=500))


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (statements.winners(("AB", "B", "A"), 3), "AB B A"),
        (statements.winners(("AB", "B", "A", "A"), 3), "… B A A"),
        (statements.winners((), 3), ""),
        (statements.contract(Task(brief="Write."), ()), "none was set"),
        (statements.contract(RULES, ()), "kept: At most 500 words."),
        (statements.contract(RULES, made_up.BROKEN), "broken: 612 words, at most 500 allowed"),
        (statements.ballot(made_up.ballot("pass/1", 1)), "judge 2: no valid ballot"),
        (statements.ballot(made_up.ballot("pass/1", 0, "B", "A", "AB")), "judge 1: B > A > AB"),
        (
            statements.dropped(made_up.LOST),
            "left out: it breaks a limit (612 words, at most 500 allowed)",
        ),
        (
            statements.critique(made_up.critique(1)),
            "2 problems: 1 critical, 1 minor (1 left out: quotes what is not in the text)",
        ),
        (statements.critique(CritiqueWritten(number=1, critic=0)), "found nothing to criticise"),
        (
            statements.critique(CritiqueWritten(number=1, critic=0, dropped=1)),
            "no problem (1 left out: quotes what is not in the text)",
        ),
        (
            statements.critique(CritiqueWritten(number=1, critic=0, prose="too long by far")),
            "a critique of 4 words",
        ),
        (
            shared.by_chance("as much", 1.0),
            "judges ranking at random always give as much",
        ),
        (shared.positions((0, 0, 0)), ""),
    ],
)
def test_what_is_known_is_said_and_no_more(said: str, sentence: str) -> None:
    assert said == sentence


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
