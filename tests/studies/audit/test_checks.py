"""Each look at a record says what is there, at the level it deserves."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from tests.studies.audit.example_runs import (
    ORDERS,
    audited_pass,
    finding_of,
    panel,
    run,
    trajectory,
    vote,
    won_by,
)

from autoreason.contract import Contract
from autoreason.errors import InvalidInput
from autoreason.studies.audit import (
    check_ballots,
    check_judges,
    check_programs,
    check_stopping,
    check_texts,
)
from autoreason.studies.audit.audit import CHECKS, Check, audit_runs, conclude
from autoreason.studies.audit.audited_record import SLOTS, AuditedCalls, AuditedPrograms, AuditedRun
from autoreason.tournament.orders import balanced_orders

INVALID = vote()
B_FIRST = ("B", "AB", "A")


@pytest.mark.parametrize("check", CHECKS)
def test_a_record_without_anything_is_unknown_and_says_why(check: Check) -> None:
    for runs in ((), (run(),)):
        finding = finding_of(check, runs)
        assert finding.level == "unknown"
        assert finding.number.value is None
        assert finding.statement == finding.number.reason
        assert finding.fix == ""


def test_every_look_has_a_name_of_its_own() -> None:
    names = [finding_of(check, ()).name for check in CHECKS]
    assert len(set(names)) == len(names)


# Ballots.


@pytest.mark.parametrize(
    ("invalid", "level"), [(0, "fine"), (3, "look"), (20, "alarm"), (100, "alarm")]
)
def test_invalid_ballots_are_counted(invalid: int, level: str) -> None:
    votes = [INVALID] * invalid + [vote(*B_FIRST)] * (100 - invalid)
    finding = finding_of(check_ballots.invalid_ballots, [run(audited_pass(panel(*votes)))])
    assert finding.level == level
    assert finding.number.value == pytest.approx(invalid / 100)


def test_a_judge_model_that_loses_most_ballots_is_named() -> None:
    good = [won_by("B") for _ in range(40)]
    bad = audited_pass(panel(*(vote(judge="lossy/judge") for _ in range(9))))
    finding = finding_of(check_ballots.invalid_ballots, [run(*good, bad)])
    assert finding.level == "alarm"
    assert "9 of 9 by lossy/judge" in finding.statement


def test_an_empty_panel_that_counts_as_a_win_for_a_is_an_alarm() -> None:
    empty = audited_pass(panel(INVALID, INVALID, INVALID), winner="A", streak=2)
    finding = finding_of(check_ballots.empty_panels, [run(won_by("A", streak=1), empty)])
    assert finding.level == "alarm"
    assert "1 run converged on one" in finding.statement
    decided_nothing = audited_pass(panel(INVALID, INVALID, INVALID))
    finding = finding_of(check_ballots.empty_panels, [run(won_by("A"), decided_nothing)])
    assert finding.level == "look"
    assert "none was taken for a decision" in finding.statement
    assert finding_of(check_ballots.empty_panels, [run(won_by("A"))]).level == "fine"


def test_a_decision_below_the_quorum_is_seen() -> None:
    short = audited_pass(panel(vote(*B_FIRST), INVALID, INVALID))
    finding = finding_of(check_ballots.below_quorum, [run(short)])
    assert finding.level == "alarm"
    assert "1 of 1 panel (100 %) decided below a quorum" in finding.statement
    assert finding_of(check_ballots.below_quorum, [run(won_by("A"))]).level == "fine"
    alone = audited_pass(panel(vote(*B_FIRST)))
    assert (
        "1 panel had a single judge"
        in finding_of(check_ballots.below_quorum, [run(alone)]).statement
    )


def test_a_ranking_that_names_a_text_twice_is_an_alarm() -> None:
    faulty = vote(faulty=True)
    assert (
        finding_of(check_ballots.partial_rankings, [run(audited_pass(panel(faulty)))]).level
        == "alarm"
    )
    assert finding_of(check_ballots.partial_rankings, [run(won_by("A"))]).level == "fine"


@pytest.mark.parametrize(
    ("text", "ranking", "level", "message"),
    [
        ("RANKING: 2, 3, 1", ("B", "AB", "A"), "fine", "all"),
        ("**RANKING: 2, 3, 1**", ("B", "AB", "A"), "look", "reads 1 of the 1"),
        ("**RANKING: 2, 3, 1**", (), "look", "the record counts as invalid"),
        ("RANKING: 1, 2, 3", ("B", "AB", "A"), "alarm", "1 recorded ballot says something else"),
        ("I cannot say.", (), "alarm", "reads 0 of the 1"),
    ],
)
def test_what_judges_wrote_is_read_again(
    text: str, ranking: tuple[str, ...], level: str, message: str
) -> None:
    finding = finding_of(
        check_ballots.ballot_form, [run(audited_pass(panel(vote(*ranking, text=text))))]
    )
    assert finding.level == level
    assert message == "all" or message in finding.statement


def test_decisions_by_the_tie_rule_are_counted() -> None:
    tie = panel(vote("A", "B", "AB"), vote("B", "A", "AB"))
    assert tie.tied
    finding = finding_of(check_ballots.ties, [run(*(audited_pass(tie) for _ in range(20)))])
    assert finding.level == "alarm"
    assert "100 % of those that A won are such ties" in finding.statement
    assert finding_of(check_ballots.ties, [run(won_by("A"))]).level == "fine"


def test_a_panel_that_decides_nothing_needs_no_quorum() -> None:
    asked = audited_pass(panel(vote(*B_FIRST), winner=None))
    assert finding_of(check_ballots.below_quorum, [run(asked)]).level == "unknown"
    finding = finding_of(check_ballots.below_quorum, [run(asked, won_by("A"))])
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
        passes.append(audited_pass(panel(*votes), number))
    return run(*passes)


def test_judges_who_like_the_first_position_are_an_alarm_and_fair_ones_are_not() -> None:
    biased = finding_of(check_judges.position, [judged_by_position(30, 1, 0.5)])
    assert biased.level == "alarm"
    assert biased.p_value_adjusted is not None
    assert biased.p_value_adjusted < 0.001
    fair = finding_of(check_judges.position, [judged_by_position(30, 1, 0.0)])
    assert fair.level == "fine"


def test_position_says_nothing_where_the_order_never_varied() -> None:
    fixed = run(*(audited_pass(panel(vote("A", "B", "AB"))) for _ in range(20)))
    assert finding_of(check_judges.position, [fixed]).level == "unknown"


def test_a_shared_order_is_an_alarm_and_its_effect_is_compared_within_judges() -> None:
    same = [vote(*B_FIRST, order=ORDERS[0]) for _ in range(3)]
    shared = [audited_pass(panel(*same)) for _ in range(12)]
    split = [
        vote(slot, *(s for s in SLOTS if s != slot), order=ORDERS[i])
        for i, slot in enumerate(SLOTS)
    ]
    own = [audited_pass(panel(*split)) for _ in range(12)]
    finding = finding_of(check_judges.one_order, [run(*shared, *own)])
    assert finding.level == "alarm"
    assert "in 100 % of them all judges put the same text first, against 0 %" in finding.statement
    alone = finding_of(check_judges.one_order, [run(*shared)])
    assert alone.level == "alarm"
    assert "to compare with" in alone.statement
    assert finding_of(check_judges.one_order, [run(*own)]).level == "fine"


def test_judges_with_nothing_in_common_are_an_alarm() -> None:
    split = panel(vote("A", "B", "AB"), vote("AB", "B", "A"))
    often = run(*(audited_pass(split, n) for n in range(20)))
    assert finding_of(check_judges.judges_agree, [often]).level == "alarm"
    assert finding_of(check_judges.concordance, [often]).level == "alarm"
    assert finding_of(check_judges.judges_agree, [run(audited_pass(split))]).level == "look"
    assert finding_of(check_judges.concordance, [run(audited_pass(split))]).level == "look"
    assert finding_of(check_judges.judges_agree, [run(won_by("A"))]).number.value == pytest.approx(
        1
    )
    assert finding_of(check_judges.concordance, [run(won_by("A"))]).number.value == pytest.approx(1)


@pytest.mark.parametrize(("winner", "level"), [("B", "alarm"), ("A", "fine")])
def test_a_preference_for_longer_texts_is_seen(winner: str, level: str) -> None:
    words = {"A": 10, "B": 30, "AB": 20}
    votes = [vote(*sorted(SLOTS, key=words.__getitem__, reverse=winner == "B"))] * 3
    passes = [audited_pass(panel(*votes), words=words) for _ in range(20)]
    assert finding_of(check_judges.longer_preferred, [run(*passes)]).level == level


# Stopping.


def test_a_that_survives_more_than_chance_is_fine_and_less_is_an_alarm() -> None:
    assert finding_of(check_stopping.survival, [trajectory("A A A A A A A")]).level == "fine"
    assert finding_of(check_stopping.survival, [trajectory("B S B A S B")]).level == "look"
    never = finding_of(check_stopping.survival, [trajectory("B S " * 15)])
    assert never.level == "alarm"
    assert "handicap" in never.statement


def test_streaks_are_reported_from_coin_flips() -> None:
    real = [trajectory("B B B B B B B B A A A A A A A A") for _ in range(4)]
    assert finding_of(check_stopping.streaks, real).level == "fine"
    rng = random.Random(3)
    flips = [trajectory(" ".join(rng.choice("AB") for _ in range(12))) for _ in range(12)]
    finding = finding_of(check_stopping.streaks, [*flips, trajectory("B A A")])
    assert finding.level == "alarm"
    assert "no more than coin flips give" in finding.statement
    assert finding_of(check_stopping.streaks, [trajectory("B A B A A")]).level == "look"


def test_streaks_of_runs_that_none_of_them_ended_are_no_alarm() -> None:
    rng = random.Random(3)
    flips = [
        trajectory(" ".join(rng.choice("AB") for _ in range(12)), status="capped")
        for _ in range(12)
    ]
    finding = finding_of(check_stopping.streaks, flips)
    assert finding.level == "look"
    assert finding.statement.endswith("; no run ended on a streak")
    converged = replace(flips[0], status="converged")
    assert finding_of(check_stopping.streaks, [converged, *flips[1:]]).level == "alarm"


def test_groups_with_other_rates_do_not_make_streaks() -> None:
    rng = random.Random(5)

    def flipped(rate: float, name: str) -> AuditedRun:
        winners = " ".join("A" if rng.random() < rate else "B" for _ in range(80))
        return trajectory(winners, group=name)

    finding = finding_of(check_stopping.streaks, [flipped(0.05, "low"), flipped(0.95, "high")])
    assert finding.level == "alarm"


def test_a_convergence_on_a_tie_or_an_empty_panel_is_named() -> None:
    tie = panel(vote("A", "B", "AB"), vote("B", "A", "AB"))
    on_a_tie = run(won_by("A", streak=1), audited_pass(tie, 2, streak=2), name="tied")
    sound = [replace(trajectory("B A A"), name=f"sound {n}") for n in range(9)]
    finding = finding_of(check_stopping.convergence, [on_a_tie, *sound])
    assert finding.level == "look"
    assert "1 of 10 convergences (10 %)" in finding.statement
    assert "tied" in finding.statement
    empty = audited_pass(panel(INVALID, INVALID), 2, winner="A", streak=2)
    on_nothing = run(won_by("A", streak=1), empty, name="empty")
    assert finding_of(check_stopping.convergence, [on_nothing, *sound]).level == "alarm"
    assert finding_of(check_stopping.convergence, sound).level == "fine"
    assert finding_of(check_stopping.convergence, [trajectory("B A B")]).level == "fine"


def test_fresh_winners_that_fall_are_an_alarm() -> None:
    last = panel(*(vote(*B_FIRST, order=order) for order in ORDERS))
    fading = finding_of(check_stopping.novelty, [run(*(audited_pass(last, n) for n in range(12)))])
    assert fading.level == "alarm"
    assert "3.0 points per ballot and 1.0 one pass later (11 winners)" in fading.statement
    assert finding_of(check_stopping.novelty, [trajectory("B A A B A A")]).level == "fine"


def test_a_playoff_that_prefers_the_draft_is_an_alarm() -> None:
    for preferred, level in (((7, 7), "unknown"), ((3, 7), "unknown"), ((0, 7), "alarm")):
        finding = finding_of(check_stopping.playoff, [run(preferred=preferred)])
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
    kept = run(first="The draft.", last="The draft.")
    finding = finding_of(check_stopping.confirmation, [run(confirmed=confirmed), kept])
    assert finding.level == level
    assert message in finding.statement
    assert "1 run that delivered the first draft is left out" in finding.statement
    oracle = binomtest(*confirmed).proportion_ci(method="exact")
    assert (finding.number.low, finding.number.high) == pytest.approx((oracle.low, oracle.high))


def test_over_many_runs_an_improvement_must_show_in_the_runs_too() -> None:
    # 70 of 120 judges, but all from runs that are split down the middle or wholly one way.
    split = [run(confirmed=(10, 10))] * 7 + [run(confirmed=(0, 10))] * 5
    assert finding_of(check_stopping.confirmation, split).level == "look"
    steady = [run(confirmed=(6, 10))] * 12
    assert finding_of(check_stopping.confirmation, steady).level == "fine"


def test_pauses_slow_passes_and_missing_calls_are_named() -> None:
    calm = run(*(won_by("A", seconds=90.0) for _ in range(5)), outages=())
    assert finding_of(check_stopping.outages, [calm]).level == "fine"
    slow = run(*(won_by("A", n, seconds=90.0 if n else 5000.0) for n in range(5)))
    assert "pass 0 took 56 times as long" in finding_of(check_stopping.outages, [slow]).statement
    paused = run(outages=("paused, the provider is out of reach",))
    assert "out of reach" in finding_of(check_stopping.outages, [paused]).statement
    calls = AuditedCalls(replies=9, truncated=0, refused=1, empty=0, unanswered=2)
    message = finding_of(check_stopping.outages, [run(calls=calls)]).statement
    assert "2 calls never answered; 1 reply refused or empty" in message


# Texts.

TEXTS = {
    "A": "We open the library in May.",
    "B": "The library opens in May, by the river.",
    "AB": "In May we open a library.",
}


def test_cut_off_texts_on_a_ballot_are_seen_and_whole_panels_of_them() -> None:
    cut = {slot: text + "\n\nAnd then we will go on to the" for slot, text in TEXTS.items()}
    finding = finding_of(check_texts.cut_texts, [run(won_by("A", texts=cut))])
    assert finding.level == "alarm"
    assert "in 1 panel every text is cut off" in finding.statement
    assert finding_of(check_texts.cut_texts, [run(won_by("A", texts=TEXTS))]).level == "fine"


def test_lengths_that_pile_up_are_all_there_is_to_see_without_texts() -> None:
    piled = run(*(won_by("A", words={"A": 500, "B": 990 + n, "AB": 1000}) for n in range(15)))
    finding = finding_of(check_texts.cut_texts, [piled])
    assert finding.level == "look"
    assert "30 of 30 in a run" in finding.statement
    spread = run(*(won_by("A", words={"A": 500, "B": 100 + 60 * n, "AB": 1000}) for n in range(15)))
    assert finding_of(check_texts.cut_texts, [spread]).level == "unknown"


def test_challengers_that_speak_of_their_making_are_an_alarm() -> None:
    telling = TEXTS | {"B": "## Changes made\n\n- The price is lower."}
    passes = [won_by("A", n, texts=telling) for n in range(4)]
    finding = finding_of(check_texts.leaks, [run(*passes)])
    assert finding.level == "alarm"
    assert "4 of 4 revisions (100 %) and none of 4 syntheses" in finding.statement
    assert (
        finding_of(check_texts.leaks, [run(*passes, allowed=("A list of changes made.",))]).level
        == "fine"
    )
    assert finding_of(check_texts.leaks, [run(won_by("A", texts=TEXTS))]).level == "fine"


def test_clones_on_a_ballot_are_an_alarm_and_clones_kept_off_it_are_not() -> None:
    cloned = TEXTS | {"B": TEXTS["A"] + "\n"}
    assert finding_of(check_texts.clones, [run(won_by("A", texts=cloned))]).level == "alarm"
    assert (
        finding_of(check_texts.clones, [run(won_by("A", clones=("clone_B_equals_A",)))]).level
        == "alarm"
    )
    two = panel(vote("A", "B", order=("A", "B")), candidates=("A", "B"))
    with_dropped = audited_pass(two, texts=TEXTS, dropped=(("AB", "clone"),))
    finding = finding_of(check_texts.clones, [run(with_dropped)])
    assert finding.level == "fine"
    assert "1 clone kept off the ballot" in finding.statement


def test_a_delivered_text_that_breaks_the_contract_is_an_alarm() -> None:
    limit = Contract(max_words=7)
    broken = run(won_by("B", texts=TEXTS), contract=limit, last=TEXTS["B"])
    finding = finding_of(check_texts.contract, [broken])
    assert finding.level == "alarm"
    assert "8 words, at most 7 allowed" in finding.statement
    assert "1 of 2 challengers (50 %)" in finding.statement
    only_judged = replace(broken, last=TEXTS["A"])
    assert finding_of(check_texts.contract, [only_judged]).level == "look"
    assert finding_of(check_texts.contract, [run(contract=Contract(), last="x")]).level == "unknown"


def test_a_length_that_swings_is_seen() -> None:
    swing = [
        won_by("B", n, words={"A": 100, "B": 200 if n % 2 else 100, "AB": 1}) for n in range(8)
    ]
    assert finding_of(check_texts.length_swings, [run(*swing)]).level == "look"
    growing = [won_by("B", n, words={"A": 100, "B": 200 * (n + 1), "AB": 1}) for n in range(8)]
    assert finding_of(check_texts.length_swings, [run(*growing)]).level == "fine"


def test_drift_is_reported_in_words_and_in_length() -> None:
    words = {"A": 6, "B": 6}
    near = run(won_by("B", words=words), first=TEXTS["A"], last=TEXTS["A"] + " Come and see.")
    assert finding_of(check_texts.drift, [near]).level == "fine"
    assert "keeps 100 % of its wording" in finding_of(check_texts.drift, [near]).statement
    far = replace(near, last="Something else altogether stands here now.")
    assert finding_of(check_texts.drift, [far]).level == "look"
    grown = run(won_by("B", words={"A": 100, "B": 200}))
    assert finding_of(check_texts.drift, [grown]).level == "look"


def test_drift_is_that_of_the_text_delivered_not_of_the_last_incumbent() -> None:
    draft = "The tide comes in twice a day."
    kept = run(won_by("B", words={"A": 7, "B": 70}), first=draft, last=draft)
    assert finding_of(check_texts.drift, [kept]).statement == (
        "the text at the end has 100 % of the first draft's length and keeps 100 % of its wording "
        "(runs of 3 words)"
    )
    some = [kept, run(won_by("B", words={"A": 10, "B": 20}))]
    assert (
        "has 150 % of the first draft's length on average over 2 runs and keeps 100 % of its wording "
        "in the 1 run whose texts were kept"
    ) in finding_of(check_texts.drift, some).statement


def test_critics_that_never_find_nothing_are_worth_a_look() -> None:
    eager = [won_by("A", n, no_problem=False, quotes=2, false_quotes=0) for n in range(5)]
    assert finding_of(check_texts.critics, [run(*eager)]).level == "look"
    content = replace(eager[0], no_problem=True)
    assert finding_of(check_texts.critics, [run(*eager, content)]).level == "fine"
    inventive = [replace(content, false_quotes=1) for _ in range(5)]
    finding = finding_of(check_texts.critics, [run(*inventive)])
    assert finding.level == "look"
    assert "critics invented 5 of 10 quotes (50 %)" in finding.statement
    by_length = finding_of(check_texts.critics, [run(won_by("A", critique_words=200))])
    assert by_length.level == "look"
    assert "200 words" in by_length.statement


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
    fine = finding_of(check_ballots.invalid_ballots, [run(won_by("A"))])
    worth = finding_of(
        check_ballots.ballot_form,
        [run(audited_pass(panel(vote(*B_FIRST, text="**RANKING: 2, 3, 1**"))))],
    )
    alarm = finding_of(
        check_ballots.partial_rankings, [run(audited_pass(panel(vote(faulty=True))))]
    )
    silent = finding_of(check_texts.leaks, ())
    assert conclude([fine]) == "Nothing speaks against this record."
    assert conclude([fine, worth]).startswith("Nothing alarming, but look at ballot form")
    assert "before the alarm is dealt with: partial rankings" in conclude([fine, worth, alarm])
    assert "1 of 2 questions it cannot answer" in conclude([fine, silent])
    assert "too little" in conclude([silent])


def test_nothing_cannot_be_audited() -> None:
    with pytest.raises(InvalidInput, match="nothing to audit"):
        audit_runs([])


# Why nothing can be said.

SCORELESS = panel(vote("A", "B", "AB"), scores=None)


@pytest.mark.parametrize(
    ("check", "record", "why"),
    [
        (check_judges.position, run(won_by("A")), "needs 12 valid votes over three texts by one"),
        (check_judges.position, run(audited_pass(panel(INVALID))), "no valid ballot was kept"),
        (
            check_judges.position,
            run(*(audited_pass(panel(vote("A", "B", "AB"))) for _ in range(20))),
            "every judge saw the texts in the same order",
        ),
        (
            check_judges.longer_preferred,
            run(won_by("A", words={"A": 5, "B": 5, "AB": 5})),
            "texts that were compared have the same length",
        ),
        (check_judges.longer_preferred, run(won_by("A")), "with the lengths of its texts"),
        (check_judges.longer_preferred, run(audited_pass(SCORELESS)), "kept with its scores"),
        (
            check_judges.judges_agree,
            run(audited_pass(panel(vote("A", "B", "AB")))),
            "two full ballots",
        ),
        (check_judges.judges_agree, run(audited_pass(panel(votes=None))), "no ballots were kept"),
    ],
)
def test_what_cannot_be_said_has_its_true_reason(
    check: Check, record: AuditedRun, why: str
) -> None:
    finding = finding_of(check, [record])
    assert finding.level == "unknown"
    assert why in finding.statement


def test_a_preference_that_chance_explains_is_not_called_one() -> None:
    # 21 of 31 is p = 0.07: too little, whatever an interval says.
    longer, shorter = {"A": 1, "B": 9}, {"A": 9, "B": 1}
    two = panel(vote("B", "A", order=("A", "B")), candidates=("A", "B"), scores={"A": 1, "B": 2})
    passes = [audited_pass(two, n, words=longer if n < 21 else shorter) for n in range(31)]
    finding = finding_of(check_judges.longer_preferred, [run(*passes)])
    assert finding.level == "fine"
    assert finding.p_value_adjusted == pytest.approx(binomtest(21, 31).pvalue)
    assert "more than chance" not in finding.statement


def test_every_question_that_is_tested_makes_the_others_harder_to_pass() -> None:
    record = [judged_by_position(12, 1, 0.35)]
    alone, among = finding_of(check_judges.position, record), audit_runs(record)
    (together,) = [each for each in among.findings if each.name == "position"]
    assert alone.p_value_adjusted is not None
    assert together.p_value_adjusted == pytest.approx(min(1, alone.p_value_adjusted * among.tested))
    assert among.tested > 3


def test_orders_drawn_at_random_are_shared_now_and_then() -> None:
    rng = random.Random(1)
    passes = []
    for n in range(150):
        votes = [vote(*rng.sample(SLOTS, 3), order=rng.sample(SLOTS, 3)) for _ in range(2)]
        passes.append(audited_pass(panel(*votes), n))
    finding = finding_of(check_judges.one_order, [run(*passes)])
    assert finding.number.value is not None
    assert finding.number.value > 0.1
    assert finding.level == "fine"


# Programs.


def test_replies_that_were_cut_off_and_answers_without_a_program_say_what_they_count() -> None:
    calls = AuditedCalls(replies=72, truncated=0, refused=0, empty=0, unanswered=0)
    written = run(calls=calls, programs=AuditedPrograms(answers=36, without=36))
    cut = finding_of(check_programs.cut_replies, [written])
    assert cut.statement == "none of 72 replies cut off; every reply counts, second tries too"
    without = finding_of(check_programs.no_program, [written])
    assert without.statement == (
        "36 of 36 answers (100 %) without a program; a second try counts with the first"
    )
