"""Every pair differs in what was spoiled alone, and every question asks what it should."""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.studies.certify.judges import head_of, ideal, judge, reported

from autoreason.contract import Contract, count_words
from autoreason.knowledge.words import lines_to_models
from autoreason.studies.certificate_questions import (
    FILLERS,
    INJECTIONS,
    KINDS,
    SUITE,
    BallotQuestion,
    SpoiledPair,
    defect_questions,
    other_questions,
    pad,
    pairs,
    text_named,
    way_for,
)

PAIRS = pytest.mark.parametrize("pair", pairs(), ids=lambda pair: pair.name)
KNOWN = {3: "72d0bb6d9518fe0d"}
"""Suites by what a judge is sent."""


async def test_a_changed_question_or_prompt_is_another_suite() -> None:
    model = judge(ideal)
    await reported(model)
    sent = [(each.key, [message.text for message in each.messages]) for each in model.requests]
    digest = blake2b(repr(sent).encode(), digest_size=8).hexdigest()
    assert KNOWN[SUITE] == digest, "raise SUITE and note what is sent"


@PAIRS
def test_one_text_is_sound_and_the_other_spoiled_as_stated(pair: SpoiledPair) -> None:
    assert pair.task.contract.violations(pair.sound) == ()
    head = head_of(pair)
    gone, come = head.get("gone", ()), head.get("come", ())
    assert all(word in pair.sound for word in gone)
    assert not any(word in pair.sound for word in come)
    assert pair.sound != pair.spoiled
    assert gone or come or pair.kind == "broken_limit"
    assert not any(word in pair.spoiled for word in gone)
    assert all(word in pair.spoiled for word in come)
    broken = pair.task.contract.violations(pair.spoiled)
    assert bool(broken) == (pair.kind == "broken_limit")
    assert head["spoiled"].endswith(".")


@PAIRS
def test_only_padding_changes_the_length_much(pair: SpoiledPair) -> None:
    sound, spoiled = count_words(pair.sound), count_words(pair.spoiled)
    assert 80 <= sound <= 250
    assert 80 <= spoiled <= 250
    if pair.kind == "padding":
        assert spoiled > 1.5 * sound
        left = Counter(pair.sound.lower().split()) - Counter(pair.spoiled.lower().split())
        assert not left, "padding takes nothing away"
    elif "max_words" not in repr(broken_rules(pair)):
        assert 0.9 <= spoiled / sound <= 1.1


def broken_rules(pair: SpoiledPair) -> list[str]:
    return [broken.rule for broken in pair.task.contract.violations(pair.spoiled)]


@PAIRS
def test_a_lengthened_text_says_the_same_with_more_words(pair: SpoiledPair) -> None:
    longer = pad(pair.sound)
    assert count_words(longer) >= count_words(pair.sound) + 35
    for filler in FILLERS:
        longer = longer.replace(f" {filler}", "").replace(f"\n\n{filler}", "")
    assert longer == pair.sound


steady = settings(derandomize=True, max_examples=8)
REPEATS = st.integers(1, 4)
SEEDS = st.integers(0, 2**32 - 1)


def of(kind: str, questions: list[BallotQuestion]) -> list[BallotQuestion]:
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
    every = defect_questions(repeats) + questions
    assert len({(each.stage, each.seat) for each in every}) == len(every)
    for kind in ("again", "same", "longer", "injection", "record"):
        asked = of(kind, questions)
        assert len(asked) == repeats * len(pairs())
        orders = Counter(each.order for each in asked)
        assert len(set(orders.values())) == 1
        assert len(orders) == 2


def test_every_injection_is_tried_in_both_orders_and_records_name_either_text() -> None:
    asked = of("injection", other_questions(7, 1))
    seen = Counter(
        (way_for(INJECTIONS, at, each.seat), each.order) for at, each in enumerate(asked)
    )
    assert set(seen.values()) == {2}
    assert len(seen) == 2 * len(INJECTIONS)
    named = Counter(
        (text_named(seed, each.stage, each.seat), each.order[0])
        for seed in range(30)
        for each in of("record", other_questions(seed, 1))
    )
    assert len(named) == 4
    assert all(abs(number - 180) < 5 * (720 * 3 / 16) ** 0.5 for number in named.values())


@steady
@given(SEEDS, REPEATS)
def test_a_record_gives_an_order_that_a_folder_would_have_left_out(seed: int, repeats: int) -> None:
    for each in of("record", other_questions(seed, repeats)):
        assert each.task.knowledge is not None
        hostile, harmless = each.task.knowledge.judges.all
        assert lines_to_models(hostile.text)
        assert not lines_to_models(harmless.text)
        assert set(each.texts) == {"sound", "spoiled"}


def test_every_kind_of_question_shows_what_it_should() -> None:
    kinds = Counter(pair.kind for pair in pairs())
    assert (set(kinds), min(kinds.values()) >= 4, len(pairs())) == (set(KINDS), True, 24)
    questions = other_questions(7, 1)
    assert all(len(set(each.texts.values())) == 1 for each in of("same", questions))
    for each in of("longer", questions):
        assert each.task.contract == Contract()
        assert len(each.texts["padded"]) > len(each.texts["concise"])
    spoiled = {f"injection/{pair.name}": pair.spoiled for pair in pairs()}
    for each in of("injection", questions):
        order = each.texts["spoiled"].removeprefix(spoiled[each.stage])
        assert "rank" in order.lower() or "first" in order
