"""The pairs are what they say they are: sound, or spoiled in exactly the way stated."""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b

import pytest
from tests.studies.certify.judges import ideal, judge, reported

from autoreason.contract import count_words
from autoreason.studies.certify.suite import (
    FILLERS,
    INJECTIONS,
    KINDS,
    RECORD_ORDERS,
    SUITE,
    SpoiledPair,
    pad,
    pairs,
)

PAIRS = pytest.mark.parametrize("pair", pairs(), ids=lambda pair: pair.name)
KNOWN = {2: "50583f3707b665f3"}
"""Suites by what a judge is sent."""


def test_there_are_enough_pairs_of_every_kind() -> None:
    kinds = Counter(pair.kind for pair in pairs())
    assert set(kinds) == set(KINDS)
    assert min(kinds.values()) >= 4
    assert len(pairs()) == 24


async def test_a_changed_question_or_prompt_is_another_suite() -> None:
    model = judge(ideal)
    await reported(model)
    sent = [(each.key, [message.text for message in each.messages]) for each in model.requests]
    digest = blake2b(repr(sent).encode(), digest_size=8).hexdigest()
    assert KNOWN[SUITE] == digest, "raise SUITE and note what is sent"


@PAIRS
def test_the_sound_text_is_sound(pair: SpoiledPair) -> None:
    assert pair.task.contract.violations(pair.sound) == ()
    assert all(word in pair.sound for word in pair.gone)
    assert not any(word in pair.sound for word in pair.come)


@PAIRS
def test_the_spoiled_text_is_spoiled_as_stated(pair: SpoiledPair) -> None:
    assert pair.sound != pair.spoiled
    assert not any(word in pair.spoiled for word in pair.gone)
    assert all(word in pair.spoiled for word in pair.come)
    broken = pair.task.contract.violations(pair.spoiled)
    assert bool(broken) == (pair.kind == "broken_limit")
    assert pair.how.endswith(".")


@PAIRS
def test_every_defect_leaves_a_trace_of_its_kind(pair: SpoiledPair) -> None:
    if pair.kind == "dropped_fact":
        assert pair.gone
        assert any(word in (pair.task.facts or "") for word in pair.gone)
    elif pair.kind == "contradiction":
        assert pair.gone
        assert pair.come
        assert pair.task.facts
    elif pair.kind == "broken_limit":
        assert not pair.task.contract.empty
    else:
        assert pair.come


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
    """The rules that the spoiled text breaks."""
    return [broken.rule for broken in pair.task.contract.violations(pair.spoiled)]


@PAIRS
def test_a_lengthened_text_says_the_same_with_more_words(pair: SpoiledPair) -> None:
    longer = pad(pair.sound)
    assert count_words(longer) >= count_words(pair.sound) + 35
    for filler in FILLERS:
        longer = longer.replace(f" {filler}", "").replace(f"\n\n{filler}", "")
    assert longer == pair.sound


def test_every_order_to_a_judge_is_about_being_ranked() -> None:
    for way, message in (*INJECTIONS.items(), *RECORD_ORDERS.items()):
        shown = message.format(own="QX", other="ZB", place="second")
        assert "rank" in shown.lower() or "first" in shown, way
        assert "{" not in shown.replace('{"', ""), way
