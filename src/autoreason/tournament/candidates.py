"""The slots of a pass: A, its revisions B, and AB, the synthesis; which of them there are, and in which order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from autoreason.events import Slot
from autoreason.settings import Settings

S = TypeVar("S", bound=str)

SLOT_NAMES: dict[str, str] = {
    "A": "A, the text before",
    "AB": "AB, a synthesis",
    "B": "B, a revision",
    "B1": "B1, a revision by the first model",
    "B2": "B2, a revision by the second model",
    "B3": "B3, a revision by the third model",
}
"""What each is, in the order in which readers are shown them."""
_ONE: tuple[Slot, ...] = ("B",)
_SEVERAL: tuple[Slot, ...] = ("B1", "B2", "B3")


def revisers_by_slot(settings: Settings, number: int = 1) -> dict[Slot, str]:
    """Who writes which revision in a pass; only the one that AB is made of where revisions are not judged."""
    models = settings.models.revisers or (settings.models.author,)
    slots = zip(_SEVERAL if len(models) > 1 else _ONE, models, strict=False)
    if judges_revisions(settings):
        return dict(slots)
    return dict([[*slots][turn(number, len(models))]])


def turn(number: int, revisers: int) -> int:
    """Whose revision is joined with A in a pass."""
    return (number - 1) % revisers


def written_slots(settings: Settings, number: int = 1) -> list[Slot]:
    revisions = [*revisers_by_slot(settings, number)]
    return [*revisions, "AB"] if writes_synthesis(settings) else revisions


def ballot_size(settings: Settings) -> int:
    """How many candidates a pass has, A included."""
    return 1 + len(written_slots(settings)) - (not judges_revisions(settings))


def judges_revisions(settings: Settings) -> bool:
    return settings.candidates != "AB"


def writes_synthesis(settings: Settings) -> bool:
    return settings.candidates != "B"


def is_revision(slot: str) -> bool:
    return slot.startswith("B")


def slots_and(other: str) -> list[str]:
    """The slots and what is none of them, in the order in which plots give them colours."""
    return [*[*SLOT_NAMES][:3], other, *[*SLOT_NAMES][3:]]


def in_tie_order(slots: Iterable[S], settings: Settings) -> list[S]:
    """Slots in the order in which ties are decided; several revisions are where B is, by number."""
    order = settings.tie_order
    return sorted(slots, key=lambda slot: (order.index("B" if is_revision(slot) else slot), slot))
