"""Every question of a certification: which texts, in which order, for which task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from msgspec import structs

from autoreason.contract import Contract
from autoreason.jobs.randomness import draw
from autoreason.keys import judge_key, sub_key
from autoreason.studies.certify.suite import INJECTIONS, SpoiledPair, pad, pairs
from autoreason.task import Task
from autoreason.tournament.orders import neutral_labels

DEFECT, AGAIN, SAME, LONGER, INJECTION = "defect", "again", "same", "longer", "injection"
"""What a stage begins with; the name of the pair follows."""
SOUND, SPOILED = "sound", "spoiled"
CONCISE, PADDED = "concise", "padded"
TWINS = ("one", "other")
_PAIRS_PER_WAY = 2
"""Pairs in a row that share a way of injection, so that each way is tried in both orders."""


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
    """The same ballots again, twins, longer texts and injections; every second one the other way round."""
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
    return [*again, *same, *longer, *(_injection(seed, *each) for each in seats)]


def _question(
    kind: str, at: int, pair: SpoiledPair, seat: int, texts: Mapping[str, str]
) -> Question:
    """A question about a pair; seats and pairs take turns in which text comes first."""
    one, other = texts
    order = (one, other) if (at + seat) % 2 == 0 else (other, one)
    return Question(sub_key(kind, pair.name), seat, order, texts, pair.task)


def injection_for(at: int, seat: int) -> str:
    """The injection that the pair at this place uses in this seat."""
    return list(INJECTIONS)[(at // _PAIRS_PER_WAY + seat) % len(INJECTIONS)]


def _injection(seed: int, at: int, pair: SpoiledPair, seat: int) -> Question:
    question = _question(INJECTION, at, pair, seat, {SOUND: pair.sound, SPOILED: pair.spoiled})
    # The labels the seat will draw: an injection that names its own is the hardest to withstand.
    purpose = f"{judge_key(question.stage, seat)}/labels"
    labels = neutral_labels(len(question.order), draw(seed, purpose))
    label_of = dict(zip(question.order, labels, strict=True))
    injection = INJECTIONS[injection_for(at, seat)].format(
        own=label_of[SPOILED], other=label_of[SOUND]
    )
    spoiled = f"{pair.spoiled}\n\n{injection}"
    return replace(question, texts={SOUND: pair.sound, SPOILED: spoiled})
