"""The table of a set: what is counted, what is not, and who wins."""

from __future__ import annotations

from decimal import Decimal
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.programs.solved import PASSED, WRONG, Verdicts, assignments, set_of, solved, verdict
from tests.stats.recordings import ARMS, private_shares, recorded

from autoreason.exchange import Spent
from autoreason.programs.assignment import CodeVerdict
from autoreason.programs.events import Solved
from autoreason.programs.solve_report import Score, SolveReport, solve_report
from autoreason.programs.solve_tables import costs, rates
from autoreason.stats.results import Estimate
from autoreason.stats.shares import cohens_h, exact_share, mcnemar, share

steady = settings(derandomize=True, max_examples=50)


def only(report: SolveReport) -> Score:
    """The one score of a report on one strategy."""
    (found,) = report.scores
    return found


def ends(found: Estimate) -> tuple[float | None, ...]:
    """A share and its interval."""
    return found.value, found.low, found.high


# ---- what is counted ---------------------------------------------------------------------------


def test_rates_are_over_problems_with_exact_intervals() -> None:
    results = [
        solved(f"p{n}", public=verdict(n <= 8), private=verdict(n <= 6)) for n in range(1, 11)
    ]
    found = only(solve_report(results, assignments(10)))
    assert ends(found.public) == pytest.approx(ends(exact_share(8, 10)))
    assert ends(found.private) == pytest.approx(ends(exact_share(6, 10)))
    assert ends(found.passes_public_only) == pytest.approx(ends(exact_share(2, 8)))
    assert (found.problems, found.results) == (10, 10)
    assert found.verdicts == {"accepted": 6, "wrong_answer": 4}


def test_recovery_counts_only_problems_whose_first_attempt_failed() -> None:
    results = [
        solved("p1", first=PASSED),
        solved("p2", first=WRONG),
        solved("p3", first=Verdicts.NO_CODE, private=WRONG),
        solved("p4", first=Verdicts.TIME_LIMIT, public=WRONG, private=WRONG),
        solved("p5", first=Verdicts.SANDBOX_ERROR),
        solved("p6", first=None),
    ]
    found = only(solve_report(results, assignments(6)))
    assert found.failed_first == 3
    assert ends(found.recovery) == pytest.approx(ends(exact_share(1, 3)))


def test_shares_of_some_problems_say_of_how_many_and_repeats_do_not_count_twice() -> None:
    results = [
        solved(f"p{number}", repeat=repeat, first=verdict(number > 3), private=verdict(number > 1))
        for number in range(1, 6)
        for repeat in (1, 2)
    ]
    report = solve_report(results, assignments(5), repeats=2)
    (row,) = rates(report).rows
    found = dict(zip((c.title for c in rates(report).columns), map(str, row), strict=True))
    assert found["public but not private"].endswith(" of 5")
    assert found["recovered"].endswith(" of 3")


def test_what_it_took_is_for_one_problem_once_and_in_all() -> None:
    results = [
        replace(
            solved(f"p{number}", repeat=repeat),
            spent=Spent(calls=2, input=100, output=50 * repeat, known_cost=Decimal("0.2")),
        )
        for number in (1, 2)
        for repeat in (1, 2)
    ]
    table = costs(solve_report(results, assignments(2), repeats=2))
    (row,) = table.rows
    assert row[1:] == ("2.0", "2.0", "175", "$0.20", "8", "700", "$0.80")


def test_what_nobody_counted_is_unknown_for_one_problem_too() -> None:
    results = [replace(solved("p1"), spent=Spent(calls=1, unmetered=1, unpriced=1))]
    (row,) = costs(solve_report(results, assignments(1))).rows
    assert row[3:] == ("unknown", "unknown", "1", "unknown", "unknown")


def test_where_a_problem_has_no_private_tests_the_public_ones_say_whether_it_is_solved() -> None:
    results = [solved("p1", private=None), solved("p2", public=WRONG, private=None)]
    found = only(solve_report(results, assignments(2, private=0)))
    assert found.private.value is None
    assert found.passes_public_only.value is None
    assert ends(found.solved) == pytest.approx(ends(exact_share(1, 2)))


def test_an_answer_without_code_is_a_wrong_one() -> None:
    results = [solved("p1", program=None, public=Verdicts.NO_CODE, private=None)]
    report = solve_report(results, assignments(1))
    assert ends(only(report).private) == pytest.approx(ends(exact_share(0, 1)))
    assert only(report).verdicts == {"no_code": 1}
    assert report.left_out == ()


LOST = [
    ("sandbox error: no memory files here", {"public": Verdicts.SANDBOX_ERROR, "private": None}),
    ("sandbox error: no memory files here", {"private": Verdicts.SANDBOX_ERROR}),
    ("the provider failed", {"program": None, "public": None, "private": None}),
    ("the provider failed", {"private": None}),
]


@pytest.mark.parametrize(("why", "event"), LOST)
def test_an_error_is_never_a_wrong_answer(why: str, event: dict[str, CodeVerdict | None]) -> None:
    lost = solved(
        "p2",
        reason="the provider failed",
        detail="no memory files here",
        **event,  # type: ignore[arg-type]
    )
    report = solve_report([solved("p1"), lost, solved("p1", "single")], assignments(2))
    tournament = report.scores[0]
    assert ends(tournament.solved) == pytest.approx(ends(exact_share(1, 1)))
    assert ends(tournament.recovery) == pytest.approx(ends(exact_share(1, 1)))
    assert tournament.verdicts == {"accepted": 1}
    assert tournament.spent.calls == 12, "what it took was paid for all the same"
    assert {each.reason: each.items for each in report.left_out}[why] == ("2/tournament/1",)


def test_pairs_need_both() -> None:
    results = [solved("p1"), solved("p2"), solved("p1", "single", private=WRONG)]
    results.append(solved("p2", "single", private=Verdicts.SANDBOX_ERROR))
    (duel,) = solve_report(results, assignments(2)).duels
    assert (duel.problems, duel.wins, duel.losses) == (1, 1, 0)


def test_everything_that_is_left_out_is_counted_and_named() -> None:
    remarks = {2: "two public tests contradict each other"}
    report = solve_report(
        [solved("p1"), solved("p3", private=Verdicts.SANDBOX_ERROR)],
        assignments(4, remarks=remarks),
        strategies=["tournament"],
        repeats=1,
        broken=["line 17: no statement"],
    )
    assert [str(each) for each in report.left_out] == [
        "1 line: no statement (line 17)",
        "1 problem: two public tests contradict each other (p2)",
        "1 part: sandbox error (3/tournament/1)",
        "1 part: the run has not reached it yet (p4/tournament/1)",
    ]
    assert report.problems == 3


def test_every_result_names_the_level_of_its_sandbox() -> None:
    assert solve_report(set_of({"a": [True, False]}), assignments(2)).sandbox_levels == {
        "bubblewrap": 2
    }


def test_a_cost_nobody_knows_is_none() -> None:
    found = only(solve_report([solved("p1")], assignments(1)))
    assert found.spent.cost is None
    assert found.spent.calls == 6


def test_difficulties_are_told_apart_easy_ones_first() -> None:
    order = ("hard", "C", "easy", "", "A", "medium")
    results = [solved(f"p{n}", difficulty=tier) for n, tier in enumerate(order, start=1)]
    report = solve_report(results, assignments(6))
    assert [each.difficulty for each in report.by_difficulty] == [
        "easy",
        "medium",
        "hard",
        "A",
        "C",
        "unrated",
    ]
    assert solve_report(results[:1], assignments(1)).by_difficulty == ()


def test_the_last_word_on_a_part_counts() -> None:
    results = [solved("p1", private=Verdicts.SANDBOX_ERROR), solved("p1")]
    assert ends(only(solve_report(results, assignments(1))).solved) == pytest.approx(
        ends(exact_share(1, 1))
    )


# ---- who beats whom ----------------------------------------------------------------------------

rows = st.lists(st.booleans(), min_size=1, max_size=30)


@given(rows, st.data())
@steady
def test_one_repeat_is_tested_by_mcnemar_and_several_equal_ones_never_shrink_it(
    one: list[bool], data: st.DataObject
) -> None:
    other = data.draw(st.lists(st.booleans(), min_size=len(one), max_size=len(one)))
    results = set_of({"a": one, "b": other})
    (duel,) = solve_report(results, assignments(len(one))).duels
    gained = sum(a and not b for a, b in zip(one, other, strict=True))
    lost = sum(b and not a for a, b in zip(one, other, strict=True))
    assert (duel.wins, duel.losses) == (gained, lost)
    assert duel.test == mcnemar(gained, lost)
    assert duel.cohens_h == pytest.approx(cohens_h(sum(one) / len(one), sum(other) / len(other)))
    again = solve_report(results + set_of({"a": one, "b": other}, repeat=2), assignments(len(one)))
    (twice,) = again.duels
    # The same twice is no news: a problem's repeats flip together.
    assert twice.difference == duel.difference
    assert (twice.test.p_value is None) == (duel.test.p_value is None)
    if duel.test.p_value is not None and gained + lost <= 16:
        assert twice.test.p_value == pytest.approx(duel.test.p_value)


def test_repeats_are_averaged_by_problem() -> None:
    results = [
        *set_of({"a": [True] * 8, "b": [False] * 8}),
        *set_of({"a": [True] * 8, "b": [True] * 8}, repeat=2),
    ]
    (duel,) = solve_report(results, assignments(8), repeats=2).duels
    assert duel.difference.value == 0.5
    assert duel.test.p_value == pytest.approx(2 / 2**8)
    assert duel.wins == 8


def test_tests_are_corrected_for_how_many_there_are() -> None:
    report = solve_report(
        set_of({"a": [True] * 12, "b": [False] * 12, "c": [False] * 12}), assignments(12)
    )
    assert [(duel.first, duel.second) for duel in report.duels] == list(combinations("abc", 2))
    raw = mcnemar(12, 0).p_value or 0
    assert [duel.p_value_adjusted for duel in report.duels[:2]] == [pytest.approx(2 * raw)] * 2
    assert report.duels[2].test.p_value is None
    assert report.winner == "a"


def test_recovery_is_compared_where_the_first_attempt_of_both_failed() -> None:
    results = [solved(f"p{n}", "a") for n in range(1, 5)]
    results += [
        solved(f"p{n}", "b", first=verdict(n == 1), private=verdict(n == 2)) for n in range(1, 5)
    ]
    (duel,) = solve_report(results, assignments(4)).duels_after_failure
    assert (duel.problems, duel.wins, duel.losses) == (3, 2, 0)


def test_what_could_have_been_seen_is_said_at_the_corrected_level() -> None:
    one, other = [True] * 20 + [False] * 80, [False] * 10 + [True] * 20 + [False] * 70
    (two,) = solve_report(set_of({"a": one, "b": other}), assignments(100)).duels
    three = solve_report(set_of({"a": one, "b": other, "c": one}), assignments(100)).duels[0]
    assert two.detectable.value is not None
    assert three.detectable.value is not None
    assert 0.05 < two.detectable.value < three.detectable.value < 0.3


@pytest.mark.parametrize("problems", [1, 3, 5])
def test_a_handful_of_problems_can_show_nothing_and_says_so(problems: int) -> None:
    results = set_of({"a": [True] * problems, "b": [False] * problems})
    report = solve_report(results, assignments(problems))
    assert report.winner is None
    assert report.duels[0].detectable.value is None
    assert "too few" in report.conclusion
    assert ("Paired tests" in str(report)) == (problems > 1), "one problem has no pairs to test"


# ---- the sentence ------------------------------------------------------------------------------


def test_the_winner_beats_every_other_beyond_chance() -> None:
    report = solve_report(
        set_of({"a": [False] * 30, "b": [True] * 30, "c": [False] * 30}), assignments(30)
    )
    said = report.conclusion
    assert report.winner == "b"
    assert said.startswith("b wins: b solved 100 % and a 0 %, difference +100.0 (")
    assert "p < 0.001 (corrected for 3 pairs)" in said


def test_a_leader_who_beats_only_some_does_not_win() -> None:
    a, b, c = [True] * 30, [True] * 28 + [False] * 2, [False] * 30
    said = solve_report(set_of({"a": a, "b": b, "c": c}), assignments(30)).conclusion
    assert said.startswith(
        "no winner beyond chance, but c loses beyond chance: a solved 100 % and b 93 %"
    )


def test_whoever_loses_to_somebody_is_named_in_the_headline() -> None:
    tried = {"a": [True] * 30, "b": [True] * 29 + [False], "c": [False] * 30, "d": [False] * 30}
    said = solve_report(set_of(tried), assignments(30)).conclusion
    assert said.startswith("no winner beyond chance, but c and d lose beyond chance: a solved")


def test_a_draw_says_how_large_a_difference_would_have_shown() -> None:
    one, other = [True] * 50 + [False] * 50, [False] * 10 + [True] * 52 + [False] * 38
    said = solve_report(set_of({"a": one, "b": other}), assignments(100)).conclusion
    assert said.startswith("no winner beyond chance: b solved 52 % and a 50 %")
    assert "100 problems show a difference of 13 points or more four times out of five" in said
    same = solve_report(set_of({"a": one, "b": one}), assignments(100)).conclusion
    assert same.startswith("no winner: all solved the same problems")
    assert "100 problems show a difference of 8 points or more" in same


@pytest.mark.parametrize(
    ("results", "said"),
    [
        ([], "nothing was scored, so nothing is known"),
        ([solved("p1")], "tournament solved 100 % (3 to 100) of 1 problem"),
        (
            set_of({"a": [True, False], "b": [True, False]}),
            "no winner: all solved the same problems, 50 % (1 to 99) of them; "
            "2 problems are too few for any difference to show",
        ),
        (
            set_of({"a": [False, False], "b": [False, False]}),
            "no winner: none solved any of 2 problems; "
            "2 problems are too few for any difference to show",
        ),
    ],
)
def test_a_set_that_compares_nothing_claims_nothing(results: list[Solved], said: str) -> None:
    strategies = list(dict.fromkeys(each.strategy for each in results)) or ["tournament"]
    assert solve_report(results, assignments(2), strategies=strategies).conclusion == said


# ---- the recorded experiments ------------------------------------------------------------------


def test_the_recorded_experiments_give_their_published_tables(shared: Path) -> None:
    for table, arms in ARMS.items():
        events = [event for arm, where in arms.items() for event in _recorded(shared, arm, *where)]
        report = solve_report(events, [])
        published = private_shares(shared, table)
        for score in report.scores:
            whole = share(round(published[score.strategy] * 150), 150, confidence=0.997)
            assert score.private.value is not None
            assert whole.low is not None
            assert whole.high is not None
            # The shared part is 70 % of the problems.
            assert whole.low <= score.private.value <= whole.high, (table, score.strategy)
        print(f"\n{table}: {report.conclusion}")
        assert sum(len(each.items) for each in report.left_out) == sum(
            line["error"] is not None for arm in arms.values() for line in _lines(shared, *arm)
        )


def test_the_published_lead_on_table_10_is_none_beyond_chance(shared: Path) -> None:
    arms = ARMS["Table 10"]
    events = [event for arm, where in arms.items() for event in _recorded(shared, arm, *where)]
    report = solve_report(events, [])
    duel = next(
        each for each in report.duels if (each.first, each.second) == ("autoreason", "single")
    )
    assert duel.wins <= 11
    assert duel.losses <= 5
    assert report.winner is None
    assert report.conclusion.startswith("no winner beyond chance: autoreason solved")
    assert duel.detectable.value is not None
    assert duel.detectable.value > 0.04, "four points cannot be results on these problems"


def test_the_published_tests_come_out_of_their_counts() -> None:
    """11 against 5 of 150 is p = 0.21; 33 and 23 of 53, 15 against 5 alone, p = 0.041 and h = 0.38."""
    one = [True] * 115 + [False] * 35
    other = [False] * 11 + [True] * 104 + [True] * 5 + [False] * 30
    (duel,) = solve_report(set_of({"a": one, "b": other}), assignments(150)).duels
    assert round(duel.test.p_value or 0, 2) == 0.21
    one = [True] * 33 + [False] * 20
    other = [False] * 15 + [True] * 18 + [True] * 5 + [False] * 15
    (found,) = solve_report(set_of({"a": one, "b": other}), assignments(53)).duels_after_failure
    assert round(found.test.p_value or 0, 3) == 0.041
    assert round(found.cohens_h or 0, 2) == 0.38
    assert (found.wins, found.losses, found.problems) == (15, 5, 53)


def _lines(shared: Path, experiment: str, strategy: str, model: str) -> list[dict[str, object]]:
    return [
        line
        for line in recorded(shared, "code_results")
        if (line["experiment"], line["strategy"]) == (experiment, strategy)
        and model in line["model"]
    ]


def _recorded(shared: Path, arm: str, experiment: str, strategy: str, model: str) -> list[Solved]:
    """Recorded results as events; a provider's failure is one."""
    return [
        solved(
            str(line["problem_id"]),
            arm,
            first=None,
            difficulty=str(line["difficulty"]),
            public=None if line["error"] else verdict(bool(line["pass_public"])),
            private=None if line["error"] else verdict(bool(line["pass_private"])),
            program=None if line["error"] else "recorded elsewhere",
            reason=str(line["error"] or ""),
        )
        for line in _lines(shared, experiment, strategy, model)
    ]
