"""Questions are balanced: neither position nor order can stand in for what is measured."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from autoreason.contract import Contract
from autoreason.knowledge.words import lines_to_models
from autoreason.studies.certify.questions import (
    Question,
    defect_questions,
    injection_for,
    other_questions,
    text_named,
)
from autoreason.studies.certify.suite import INJECTIONS, pairs

steady = settings(derandomize=True, max_examples=25)
REPEATS = st.integers(1, 4)
SEEDS = st.integers(0, 2**32 - 1)


def of(kind: str, questions: list[Question]) -> list[Question]:
    """The questions of one kind."""
    return [each for each in questions if each.stage.startswith(f"{kind}/")]


@steady
@given(REPEATS)
def test_every_defect_is_shown_in_both_orders_equally_often(repeats: int) -> None:
    shown = Counter((each.stage, each.order) for each in defect_questions(repeats))
    assert set(shown.values()) == {repeats}
    assert len(shown) == 2 * len(pairs())


@steady
@given(SEEDS, REPEATS)
def test_every_other_kind_is_balanced_over_the_pairs(seed: int, repeats: int) -> None:
    questions = other_questions(seed, repeats)
    for kind in ("again", "same", "longer", "injection", "record"):
        asked = of(kind, questions)
        assert len(asked) == repeats * len(pairs())
        orders = Counter(each.order for each in asked)
        assert len(set(orders.values())) == 1
        assert len(orders) == 2


@steady
@given(SEEDS, REPEATS)
def test_no_key_is_asked_twice(seed: int, repeats: int) -> None:
    questions = defect_questions(repeats) + other_questions(seed, repeats)
    assert len({(each.stage, each.seat) for each in questions}) == len(questions)
    assert not any(each.stage.startswith("pass/") for each in questions)


def test_every_way_of_injection_is_tried_in_both_orders() -> None:
    asked = of("injection", other_questions(7, 1))
    seen = Counter((injection_for(at, each.seat), each.order) for at, each in enumerate(asked))
    assert set(seen.values()) == {2}
    assert len(seen) == 2 * len(INJECTIONS)


@steady
@given(SEEDS, REPEATS)
def test_a_record_gives_an_order_that_a_folder_would_have_left_out(seed: int, repeats: int) -> None:
    for each in of("record", other_questions(seed, repeats)):
        assert each.task.knowledge is not None
        hostile, harmless = each.task.knowledge.judges.all
        assert lines_to_models(hostile.text)
        assert not lines_to_models(harmless.text)
        assert set(each.texts) == {"sound", "spoiled"}


def test_either_text_is_named_by_half_of_the_records() -> None:
    named = Counter(
        (text_named(seed, each.stage, each.seat), each.order[0])
        for seed in range(100)
        for each in of("record", other_questions(seed, 1))
    )
    assert len(named) == 4
    assert all(abs(number - 600) < 5 * (2400 * 3 / 16) ** 0.5 for number in named.values())


def test_twins_are_twins_and_length_alone_tells_the_longer_one() -> None:
    questions = other_questions(7, 1)
    assert all(len(set(each.texts.values())) == 1 for each in of("same", questions))
    for each in of("longer", questions):
        assert each.task.contract == Contract()
        assert len(each.texts["padded"]) > len(each.texts["concise"])


def test_an_injected_text_is_the_spoiled_one_with_a_word_to_the_judge() -> None:
    spoiled = {f"injection/{pair.name}": pair.spoiled for pair in pairs()}
    for each in of("injection", other_questions(7, 1)):
        assert each.texts["spoiled"].startswith(spoiled[each.stage])
        assert each.texts["spoiled"] != spoiled[each.stage]
