"""Recorded pairs as a task: two texts whose outcomes are known, and what judges are shown of earlier groups."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from random import Random

from msgspec import Struct
from msgspec.structs import replace

from autoreason.knowledge.index import LISTED, Index, Query, retrieve
from autoreason.knowledge.standing import Pair
from autoreason.knowledge.words import is_too_similar
from autoreason.knowledge_records import ShownOutcomes, ShownRecord
from autoreason.task import Work


class RecordedPair(Struct, frozen=True, kw_only=True):
    """Two texts of a group, which of them did better, and what is known from elsewhere."""

    better: str
    worse: str
    group: str
    when: str = ""
    known: ShownOutcomes = ShownOutcomes()
    placebo: ShownOutcomes = ShownOutcomes()
    """The same records, each with the outcome of another."""
    retrieval: float = 0.5
    """Whether retrieval alone is right: 1, 0, or 0.5 where both are the same to it."""


class RecordedPairs(Work, Struct, frozen=True, kw_only=True, tag_field="type", tag=True):
    """Pairs on which judges are tested."""

    name = "recorded pairs"

    source: str
    """The folder, as it was named."""
    pairs: tuple[RecordedPair, ...]
    of: int
    """How many the folder has."""
    withheld: int = 0
    """Private records of the folder, where judges on other machines are asked: none is in a pair or shown."""
    private: bool = False
    """Whether private records are among them, which only models on this machine may be shown."""


def recorded_pair(index: Index, pair: Pair, seed: int, *, private: bool) -> RecordedPair:
    """A pair with what judges would be shown of other groups before it; nothing that resembles either text."""
    texts = (pair.better.text, pair.worse.text)
    found = [retrieve(index, Query(text, pair.group, pair.when, private=private)) for text in texts]
    known = ShownOutcomes(
        well=_choose([each.judges.well for each in found], texts),
        badly=_choose([each.judges.badly for each in found], texts),
    )
    return RecordedPair(
        better=pair.better.text,
        worse=pair.worse.text,
        group=pair.group,
        when=pair.when,
        known=known,
        placebo=shuffle(known, seed),
    )


def shuffle(known: ShownOutcomes, seed: int) -> ShownOutcomes:
    """The same texts with the same figures in the same places, but each text with another's figure."""
    texts = Random(seed).sample(known.all, len(known.all))
    moved = [
        replace(place, id=text.id, text=text.text)
        for place, text in zip(known.all, texts, strict=True)
    ]
    cut = len(known.well)
    return ShownOutcomes(well=tuple(moved[:cut]), badly=tuple(moved[cut:]))


def _choose(
    lists: Sequence[Sequence[ShownRecord]], texts: Sequence[str]
) -> tuple[ShownRecord, ...]:
    """The first of each list by turns, each record once, and none that resembles one of the texts."""
    turns = chain.from_iterable(zip(*(_padded(each) for each in lists), strict=True))
    by_id = {
        record.id: record
        for record in turns
        if record and not any(is_too_similar(record.text, text) for text in texts)
    }
    return tuple(by_id.values())[:LISTED]


def _padded(records: Sequence[ShownRecord]) -> list[ShownRecord | None]:
    return [*records, *[None] * (LISTED - len(records))]
