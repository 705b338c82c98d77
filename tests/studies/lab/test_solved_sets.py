"""A set of problems as a suite: what is counted, what is left out, who is better, and its files."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.programs.solved import (
    PASSED,
    WRONG,
    Verdicts,
    assignments,
    set_cells,
    set_of,
    set_report,
    solved,
    verdict,
)
from tests.stats.recordings import ARMS, private_shares, recorded

from autoreason.characters import without_controls
from autoreason.programs.assignment import Assignment, CodeVerdict
from autoreason.programs.events import Solved
from autoreason.stats import Estimate
from autoreason.stats.shares import cohens_h, exact_share, share, sign_test
from autoreason.studies.lab_report import lab_files


def ends(found: Estimate) -> tuple[float | None, ...]:
    return found.value, found.low, found.high


def test_shares_are_over_problems_and_public_tests_decide_where_there_are_no_private() -> None:
    results = [
        solved(f"p{n}", public=verdict(n <= 8), private=verdict(n <= 6)) for n in range(1, 11)
    ]
    (arm,) = set_report(results, assignments(10)).arms
    assert ends(arm.shares["passed_public"]) == pytest.approx(ends(exact_share(8, 10)))
    assert ends(arm.shares["passed_private"]) == pytest.approx(ends(exact_share(6, 10)))
    assert ends(arm.shares["overfitted"]) == pytest.approx(ends(exact_share(2, 8)))
    assert arm.verdicts == {"accepted": 6, "wrong_answer": 4}
    assert (arm.spent.calls, arm.spent.cost) == (60, None)
    results = [solved("p1", private=None), solved("p2", public=WRONG, private=None)]
    results = [replace(each, private_tests=0) for each in results]
    (arm,) = set_report(results, assignments(2, private=0)).arms
    assert arm.means["passed_private"] is None
    assert arm.means["passed"] == 0.5


def test_recovery_counts_only_problems_whose_first_attempt_failed() -> None:
    results = [
        solved("p1", first=PASSED),
        solved("p2", first=WRONG),
        solved("p3", first=Verdicts.NO_CODE, private=WRONG),
        solved("p4", first=Verdicts.TIME_LIMIT, public=WRONG, private=WRONG),
        solved("p5", first=Verdicts.SANDBOX_ERROR),
        solved("p6", first=None),
    ]
    (arm,) = set_report(results, assignments(6)).arms
    assert ends(arm.shares["recovered"]) == pytest.approx(ends(exact_share(1, 3)))
    results = [solved(f"p{n}", "a") for n in range(1, 5)]
    results += [
        solved(f"p{n}", "b", first=verdict(n == 1), private=verdict(n == 2)) for n in range(1, 5)
    ]
    (pair,) = set_report(results, assignments(4)).recovery
    assert (pair.units, pair.wins, pair.losses) == (3, 2, 0)


@pytest.mark.parametrize(
    ("why", "event"),
    [
        ("sandbox error: no room", {"public": Verdicts.SANDBOX_ERROR, "private": None}),
        ("sandbox error: no room", {"private": Verdicts.SANDBOX_ERROR}),
        ("the provider failed", {"program": None, "public": None, "private": None}),
        ("the provider failed", {"private": None}),
    ],
)
def test_an_error_is_never_a_wrong_answer(why: str, event: dict[str, CodeVerdict | None]) -> None:
    lost = solved("p2", reason="the provider failed", detail="no room", **event)  # type: ignore[arg-type]
    results = [solved("p1"), lost, solved("p1", "single"), solved("p2", "single")]
    report = set_report(results, assignments(2))
    first = report.arms[0]
    assert ends(first.shares["passed"]) == pytest.approx(ends(exact_share(1, 1)))
    assert first.spent.calls == 12, "what it took was paid for all the same"
    (left_out,) = report.left_out
    assert (left_out.reason, left_out.items) == (why, ("2/tournament/1",))
    assert (report.pairs[0].units, report.pairs[0].missing) == (1, 1), "pairs need both"


def test_everything_that_is_left_out_is_counted_and_named() -> None:
    report = set_report(
        [solved("p1"), solved("p3", private=Verdicts.SANDBOX_ERROR)],
        assignments(4, remarks={2: "two public tests contradict each other"}),
        broken=["line 17: no statement"],
    )
    assert [str(each) for each in report.left_out] == [
        "1 line: no statement (line 17)",
        "1 problem: two public tests contradict each other (p2)",
        "1 part: sandbox error (2/tournament/1, r)",
    ]
    assert report.conclusion.startswith("unfinished: 2 of 3 parts have ended")
    assert report.sandbox == {"bubblewrap": 2}


def test_difficulties_are_told_apart_easy_ones_first() -> None:
    order = ("hard", "C", "easy", "", "A", "medium")
    results = [solved(f"p{n}", difficulty=tier) for n, tier in enumerate(order, start=1)]
    found = set_report(results, assignments(6)).by_difficulty
    assert [each.difficulty for each in found] == ["easy", "medium", "hard", "A", "C", "unrated"]
    assert set_report(results[:1], assignments(1)).by_difficulty == ()


@given(st.lists(st.booleans(), min_size=6, max_size=24), st.data())
@settings(derandomize=True, max_examples=12, deadline=None)
def test_one_repeat_is_tested_by_mcnemar_and_several_equal_ones_never_shrink_it(
    one: list[bool], data: st.DataObject
) -> None:
    other = data.draw(st.lists(st.booleans(), min_size=len(one), max_size=len(one)))
    results = set_of({"a": one, "b": other})
    (pair,) = set_report(results, assignments(len(one))).pairs
    gained = sum(a and not b for a, b in zip(one, other, strict=True))
    lost = sum(b and not a for a, b in zip(one, other, strict=True))
    assert (pair.wins, pair.losses) == (gained, lost)
    p = sign_test(gained, lost).p_value
    assert pair.test.p_value == pytest.approx(1.0 if p is None else p)
    assert pair.effect == pytest.approx(cohens_h(sum(one) / len(one), sum(other) / len(other)))
    again = set_report(results + set_of({"a": one, "b": other}, repeat=2), assignments(len(one)), 2)
    # The same twice is not news: a problem's repeats flip together.
    assert again.pairs[0].test.p_value == pytest.approx(pair.test.p_value)


def test_tests_are_corrected_and_the_winner_beats_every_other() -> None:
    results = set_of({"a": [False] * 12, "b": [True] * 12, "c": [False] * 12})
    report = set_report(results, assignments(12))
    raw = sign_test(12, 0).p_value or 0
    corrected = [pair.p_value_adjusted for pair in report.pairs]
    assert corrected == [pytest.approx(3 * raw), 1.0, pytest.approx(3 * raw)]
    assert report.winner == "b"
    often = "b passes the tests of a problem more often than"
    assert report.conclusion == (
        f"b wins on 12 problems: {often} a, by 100.0 points; {often} c, by 100.0 points"
    )
    results = set_of({"a": [True] * 12, "b": [True] * 12, "c": [False] * 12})
    none = set_report(results, assignments(12))
    assert not none.winner
    assert none.conclusion.startswith("no strategy is shown to be better than all others on 12")


def test_too_few_problems_and_programs_that_were_never_scored_say_so() -> None:
    few = set_report(set_of({"a": [True] * 5, "b": [False] * 5}), assignments(5))
    assert not few.winner
    assert "too few for any difference to show" in few.conclusion
    results = set_of({"search": [True, False, True]})
    assert set_report(results, assignments(3)).conclusion == (
        "search passes the tests of 67 % (9 to 99) of 3 problems"
    )
    lost = [solved("p1", private=Verdicts.SANDBOX_ERROR)]
    assert set_report(lost, assignments(1)).conclusion == "nothing was scored, so nothing is known"


def test_what_could_have_been_seen_is_said_at_the_corrected_level() -> None:
    one, other = [True] * 20 + [False] * 80, [False] * 10 + [True] * 20 + [False] * 70
    (two,) = set_report(set_of({"a": one, "b": other}), assignments(100)).pairs
    three = set_report(set_of({"a": one, "b": other, "c": one}), assignments(100)).pairs[0]
    assert two.detectable
    assert three.detectable
    assert 0.05 < (two.detectable.value or 0) < (three.detectable.value or 0) < 0.3


RESULTS = [
    *set_of({"single": [True, False, False], "tournament": [True, True, False]}),
    solved("p4", "single", difficulty="hard", private=WRONG),
    solved("p4", difficulty="hard", private=Verdicts.SANDBOX_ERROR),
]


def made(
    results: list[Solved], problems: list[Assignment], broken: tuple[str, ...] = ()
) -> dict[str, str]:
    _, cells = set_cells(results, problems, broken=broken)
    return lab_files(set_report(results, problems, broken=broken), cells)


def test_cells_are_a_row_each_and_what_is_unknown_is_empty() -> None:
    found = made(RESULTS, assignments(4))
    rows = list(csv.DictReader(io.StringIO(found["cells.csv"])))
    assert len(rows) == len(RESULTS)
    last = rows[-1]
    assert (last["task"], last["arms"], last["passed"]) == ("p4", "tournament", "")
    assert (last["missing"], last["passed_public"]) == ("sandbox error", "yes")
    assert {row["cost"] for row in rows} == {""}
    assert {row["level"] for row in rows} == {"bubblewrap"}
    assert json.loads(found["report.json"])["arms"][0]["spent"]["unpriced"] == 24
    assert "programs/4_p4/single-1.py" in found


@pytest.mark.timeout(600)
@given(st.text(), st.text(), st.text())
@example("hard\x1b[31m", "a\x1b]0;b\x07\u009b", "line 2: \x1b[2J")
@example("hard\r\n| x |\n", "a\n\n# b", "line 2: a\nb")
@example("\ufffe", "\uffff", "\x00")
@example("<img src=x onerror=alert(1)>", "a\u202eb</td>&lt;", "line 2: <!-- \u2067")
@settings(max_examples=2, deadline=None)
def test_no_text_of_a_problem_can_break_a_file(tier: str, name: str, broken: str) -> None:
    results = [
        solved("p1", difficulty="easy"),
        solved("p2", difficulty=tier, private=Verdicts.SANDBOX_ERROR, reason=name, detail=name),
    ]
    unfair = Assignment(id=name, statement=name, difficulty=tier, remark=broken or "unfair")
    found = made(results, [*assignments(2), unfair], (broken,))
    for path in ("report.md", "cells.csv", "report.tex"):
        assert without_controls(found[path]) == found[path]
    assert "<" not in found["report.md"].replace("<br>", "")
    for path in found:
        if path.endswith(".svg"):
            ElementTree.fromstring(found[path])
    json.loads(found["report.json"])
    assert len(list(csv.reader(io.StringIO(found["cells.csv"])))) == 3


def test_the_recorded_experiments_give_their_published_tables(shared: Path) -> None:
    for table, arms in ARMS.items():
        results = [event for arm, where in arms.items() for event in _recorded(shared, arm, *where)]
        names = dict.fromkeys(each.problem for each in results)
        report = set_report(results, [Assignment(id=n, statement="?", private=10) for n in names])
        published = private_shares(shared, table)
        for arm in report.arms:
            whole = share(round(published[arm.arm] * 150), 150, confidence=0.997)
            found = arm.means["passed_private"]
            # The shared part is 70 % of the problems.
            assert (whole.low or 0) <= (found or 0) <= (whole.high or 0), (table, arm.arm)
        if table == "Table 10":
            pair = next(e for e in report.pairs if (e.first, e.second) == ("autoreason", "single"))
            assert pair.wins <= 11
            assert pair.losses <= 5
            assert not report.winner
            assert pair.detectable
            assert (pair.detectable.value or 0) > 0.04, "four points cannot be results on these"


def test_the_published_tests_come_out_of_their_counts() -> None:
    """11 against 5 of 150 is p = 0.21; 33 and 23 of 53, 15 against 5 alone, p = 0.041 and h = 0.38."""
    one = [True] * 115 + [False] * 35
    other = [False] * 11 + [True] * 104 + [True] * 5 + [False] * 30
    (pair,) = set_report(set_of({"a": one, "b": other}), assignments(150)).pairs
    assert round(pair.test.p_value or 0, 2) == 0.21
    one = [True] * 33 + [False] * 20
    other = [False] * 15 + [True] * 18 + [True] * 5 + [False] * 15
    (found,) = set_report(set_of({"a": one, "b": other}), assignments(53)).recovery
    assert round(found.test.p_value or 0, 3) == 0.041
    assert round(found.effect or 0, 2) == 0.38
    assert (found.wins, found.losses, found.units) == (15, 5, 53)


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
        for line in recorded(shared, "code_results")
        if (line["experiment"], line["strategy"]) == (experiment, strategy)
        and model in line["model"]
    ]
