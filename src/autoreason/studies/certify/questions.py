"""Every question of a certification: which texts, in which order, for which task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from msgspec import structs

from autoreason.contract import Contract
from autoreason.jobs.context import draw
from autoreason.keys import judge_key, sub_key
from autoreason.studies.certify.suite import (
    INJECTIONS,
    RECORD_ORDERS,
    SpoiledPair,
    hostile_knowledge,
    pad,
    pairs,
)
from autoreason.task import Task
from autoreason.tournament.judges import neutral_labels

DEFECT, AGAIN, SAME, LONGER = "defect", "again", "same", "longer"
INJECTION, RECORD = "injection", "record"
"""What a stage begins with; the name of the pair follows."""
SOUND, SPOILED = "sound", "spoiled"
CONCISE, PADDED = "concise", "padded"
TWINS = ("one", "other")
_PAIRS_PER_WAY = 2
"""Pairs in a row that share a way of giving orders, so that each way is tried in both orders of texts."""


@dataclass(frozen=True)
class Question:
    """One seat: what a judge is to compare."""

    stage: str
    seat: int
    order: tuple[str, ...]
    texts: Mapping[str, str]
    task: Task
    judge: int | None = None
    """Which of a mixed panel's judges is asked; None goes by the seat."""


def defect_questions(repeats: int) -> list[Question]:
    """Each pair in both orders, as often as asked for."""
    return [
        _question(DEFECT, at, pair, seat, {SOUND: pair.sound, SPOILED: pair.spoiled})
        for at, pair in enumerate(pairs())
        for seat in range(2 * repeats)
    ]


def other_questions(seed: int, repeats: int) -> list[Question]:
    """The same ballots again, twins, longer texts and orders to the judge; every second the other way round."""
    seats = [(at, pair, seat) for at, pair in enumerate(pairs()) for seat in range(repeats)]
    again = [
        _question(AGAIN, *each, {SOUND: each[1].sound, SPOILED: each[1].spoiled}) for each in seats
    ]
    same = [_question(SAME, *each, dict.fromkeys(TWINS, each[1].sound)) for each in seats]
    longer = [
        replace(
            _question(LONGER, *each, {CONCISE: each[1].sound, PADDED: pad(each[1].sound)}),
            # Without limits, so that the two differ in nothing but length and what fills it.
            task=structs.replace(each[1].task, contract=Contract()),
        )
        for each in seats
    ]
    return [
        *(*again, *same, *longer),
        *(_injection(seed, *each) for each in seats),
        *(_hostile_record(seed, *each) for each in seats),
    ]


def _question(
    kind: str, at: int, pair: SpoiledPair, seat: int, texts: Mapping[str, str]
) -> Question:
    """A question about a pair; seats and pairs take turns in which text comes first."""
    one, other = texts
    order = (one, other) if (at + seat) % 2 == 0 else (other, one)
    return Question(sub_key(kind, pair.name), seat, order, texts, pair.task)


def injection_for(at: int, seat: int) -> str:
    """The injection that the pair at this place uses in this seat."""
    return _way_for(INJECTIONS, at, seat)


def _way_for(ways: Mapping[str, str], at: int, seat: int) -> str:
    return list(ways)[(at // _PAIRS_PER_WAY + seat) % len(ways)]


def text_named(seed: int, stage: str, seat: int) -> str:
    """The text that a record names: drawn, so that only a judge who follows the record prefers it."""
    return draw(seed, f"{judge_key(stage, seat)}/record").choice((SOUND, SPOILED))


def _injection(seed: int, at: int, pair: SpoiledPair, seat: int) -> Question:
    question = _question(INJECTION, at, pair, seat, {SOUND: pair.sound, SPOILED: pair.spoiled})
    injection = _order(seed, question, INJECTIONS[injection_for(at, seat)], SPOILED)
    spoiled = f"{pair.spoiled}\n\n{injection}"
    return replace(question, texts={SOUND: pair.sound, SPOILED: spoiled})


def _hostile_record(seed: int, at: int, pair: SpoiledPair, seat: int) -> Question:
    question = _question(RECORD, at, pair, seat, {SOUND: pair.sound, SPOILED: pair.spoiled})
    named = text_named(seed, question.stage, seat)
    order = _order(seed, question, RECORD_ORDERS[_way_for(RECORD_ORDERS, at, seat)], named)
    return replace(question, task=structs.replace(pair.task, knowledge=hostile_knowledge(order)))


def _order(seed: int, question: Question, wording: str, named: str) -> str:
    """An order to rank a text first."""
    # The labels the seat will draw: an order that names them is the hardest to withstand.
    purpose = f"{judge_key(question.stage, question.seat)}/labels"
    labels = neutral_labels(len(question.order), draw(seed, purpose))
    label_of = dict(zip(question.order, labels, strict=True))
    (other,) = set(question.order) - {named}
    place = "first" if named == question.order[0] else "second"
    return wording.format(own=label_of[named], other=label_of[other], place=place)
