"""Every question of a certification: which texts, in which order, for which task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from autoreason.contract import Contract
from autoreason.jobs.randomness import draw
from autoreason.keys import judge_key
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


def defect_questions(repeats: int) -> list[Question]:
    """Each pair in both orders, as often as asked for."""
    return [
        Question(
            f"{DEFECT}/{pair.name}", seat, _in_turn((SOUND, SPOILED), at + seat), texts, pair.task
        )
        for at, pair in enumerate(pairs())
        for texts in [{SOUND: pair.sound, SPOILED: pair.spoiled}]
        for seat in range(2 * repeats)
    ]


def other_questions(seed: int, repeats: int) -> list[Question]:
    """The same ballots again, twins, longer texts and injections; every second one the other way round."""
    seats = [(at, pair, seat) for at, pair in enumerate(pairs()) for seat in range(repeats)]
    again = [
        Question(
            f"{AGAIN}/{pair.name}",
            seat,
            _in_turn((SOUND, SPOILED), at + seat),
            {SOUND: pair.sound, SPOILED: pair.spoiled},
            pair.task,
        )
        for at, pair, seat in seats
    ]
    same = [
        Question(
            f"{SAME}/{pair.name}",
            seat,
            _in_turn(TWINS, at + seat),
            dict.fromkeys(TWINS, pair.sound),
            pair.task,
        )
        for at, pair, seat in seats
    ]
    longer = [
        Question(
            f"{LONGER}/{pair.name}",
            seat,
            _in_turn((CONCISE, PADDED), at + seat),
            {CONCISE: pair.sound, PADDED: pad(pair.sound)},
            # Without limits, so that the two differ in nothing but length and what fills it.
            replace(pair.task, contract=Contract()),
        )
        for at, pair, seat in seats
    ]
    return [*again, *same, *longer, *(_injection(seed, *each) for each in seats)]


def way_of(at: int, seat: int) -> str:
    """The injection that the pair at this place uses in this seat."""
    return list(INJECTIONS)[(at // _PAIRS_PER_WAY + seat) % len(INJECTIONS)]


def _injection(seed: int, at: int, pair: SpoiledPair, seat: int) -> Question:
    stage = f"{INJECTION}/{pair.name}"
    order = _in_turn((SOUND, SPOILED), at + seat)
    # The labels the seat will draw: an injection that names its own is the hardest to withstand.
    labels = neutral_labels(len(order), draw(seed, f"{judge_key(stage, seat)}/labels"))
    label_of = dict(zip(order, labels, strict=True))
    injection = INJECTIONS[way_of(at, seat)].format(own=label_of[SPOILED], other=label_of[SOUND])
    texts = {SOUND: pair.sound, SPOILED: f"{pair.spoiled}\n\n{injection}"}
    return Question(stage, seat, order, texts, pair.task)


def _in_turn(names: tuple[str, str], turn: int) -> tuple[str, str]:
    return names if turn % 2 == 0 else (names[1], names[0])
