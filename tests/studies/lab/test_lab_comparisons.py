"""What a report says of two arms, in plain sentences and with units."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace
from tests.cases import cases
from tests.studies.lab.cells import a_cell, a_panel, a_suite

from autoreason.stats import Estimate, Test
from autoreason.studies.lab_comparisons import (
    ArmPair,
    ArmValues,
    add_repeats,
    answer,
    compare_arms,
    difference,
    number,
)
from autoreason.studies.lab_suite import CellFinished, SuiteComparison


def a_pair(measure: Any, value: float, **known: Any) -> ArmPair:
    """A pair of arms with a difference that is not beyond chance."""
    known = {
        "first_mean": None,
        "second_mean": None,
        "units": 8,
        "missing": 0,
        "wins": 5,
        "losses": 3,
        **known,
    }
    return ArmPair(
        comparison="a",
        question="Which?",
        measure=measure,
        first="contest",
        second="single",
        difference=Estimate(value=value, low=value - 1, high=value + 1, n=8),
        effect=None,
        test=Test(p_value=0.5, statistic=0.0, n=8),
        p_value_adjusted=1.0,
        repeats=4,
        **known,
    )


@cases(
    ("measure", "value", "said"),
    [
        ("words", 1.0, "contest writes 1 word more than single on average"),
        ("passes", 2.0, "contest takes 2 rounds more than single on average"),
        ("cost", -0.25, "contest costs $0.25 less than single on average"),
        ("kept_contract", 0.125, "contest keeps its limits more often than single, by 12.5 points"),
        ("passed", 0.0, "contest and single are equal by the measure passed"),
        ("preferred", -0.04, "judges prefer single to contest in 52 % of votes, but that could"),
        ("preferred", -0.004, "judges prefer neither contest nor single (8 pairs)"),
        ("preferred", 0.0, "judges prefer neither contest nor single (8 pairs)"),
    ],
)
def test_a_difference_is_a_plain_sentence(measure: str, value: float, said: str) -> None:
    assert answer(a_pair(measure, value), "pair").startswith(f"not shown: {said}")


def test_differences_and_means_have_units_and_slight_ones_enough_digits() -> None:
    found = Estimate(value=-0.042, low=-0.5, high=0.4, n=8)
    assert difference("preferred", found) == ("-4.2 points", "(-50.0 to 40.0)")
    assert difference("cost", found) == ("-$0.0420", "(-$0.50 to $0.40)")
    assert difference("seconds", found)[0] == "-0.042 s"
    assert number("words", 12345.6) == "12,345.6"
    assert number("cost", 0.1234567) == "$0.12"
    pair = replace(a_pair("preferred", 0.008), p_value_adjusted=0.01)
    assert answer(pair, "pair").startswith("judges prefer contest to single in 50.4 % of votes,")


def _panel_of_same_texts(repeat: int) -> CellFinished:
    panel = a_panel("revised contest", repeat=repeat)
    judged_as = {"revised": "revised", "single": "revised", "contest": "contest"}
    return CellFinished(cell=panel.cell, result=panel.result, judged_as=judged_as)


def test_texts_that_are_the_same_are_said_to_count_half() -> None:
    suite = a_suite()
    panels = [a_panel("revised single contest"), _panel_of_same_texts(2)]
    single, contest = compare_arms(suite, ArmValues(suite, panels))
    assert (single.same, single.units) == (1, 2)
    assert "in 1 pair both texts are the same, which counts half for each" in answer(single, "pair")
    assert contest.same == 0
    assert "the same" not in answer(contest, "pair")


def test_a_contract_is_missing_only_where_there_is_one() -> None:
    kept = SuiteComparison(
        name="b", question="Kept?", arms=("contest", "single"), measure="kept_contract"
    )
    suite = replace(a_suite(), comparisons=(kept,))
    cells = [
        a_cell(arm, "A", repeat, "short", kept_contract=True)
        for arm in kept.arms
        for repeat in (1, 2, 3)
    ]
    (pair,) = compare_arms(suite, ArmValues(suite, cells))
    assert (pair.units, pair.missing) == (3, 0)


def test_repeats_that_are_added_are_counted_together() -> None:
    assert add_repeats(add_repeats(a_suite(), {"a": 1}), {"a": 2, "b": 1}).added == {"a": 3, "b": 1}
