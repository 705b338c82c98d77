"""One look at an artifact: the question, what came of it, and who answers it."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from autoreason.exchange import Query

Files = dict[str, str]
"""An artifact: texts by path, relative to the task's folder, with `/` between folders."""
MAX_VALUE = 1e150
"""The largest number that is a value: sums of squares of such numbers are finite."""


class LookOutcome(StrEnum):
    """How a look ended. Only `ok` has a value; `evaluator_error` says nothing about the artifact."""

    OK = "ok"
    INVALID = "invalid"
    FAILED = "failed"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    EVALUATOR_ERROR = "evaluator_error"


class Look(Struct, frozen=True, kw_only=True):
    """What is to be measured: an artifact, with this seed, on these items."""

    files: Files
    seed: int
    """`AUTOREASON_SEED`; artifacts that are compared share it look by look."""
    items: tuple[int, ...] = ()
    """Items by their place in the file, from 0; none where the task has none."""
    sealed: bool = False
    """Whether the items are those of the sealed set."""
    alone: bool = False
    """Whether nothing else is measured at the same time, because the number is a time."""


class Measurement(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of a look."""

    outcome: LookOutcome
    value: float | None = None
    """The number that decides, as the evaluator returned it; None unless the outcome is `ok`."""
    metrics: dict[str, float] = {}
    """Every number that the evaluator returned, by name."""
    by_item: tuple[float, ...] = ()
    """One number for each item, where the evaluator returned them."""
    seconds: float = 0.0
    """By the clock."""
    tail: str = ""
    """The end of what was printed; never from a look at sealed items."""
    detail: str = ""
    """Why there is no value, in one sentence."""
    shared: int = 0
    """Runs of eight words that the artifact shares with an item, or with a sealed one, and the start does not."""
    level: str = ""
    """How the artifact was kept from everything else: the level of the sandbox."""
    opened: int = 0
    """How many end tests have opened the sealed set, this one included; 0 on other items."""
    repeated: bool = False
    """Known from an earlier look at the same artifact with the same seed and items, and not charged again."""


def refuse_huge(found: Measurement) -> Measurement:
    """A measurement without numbers that are too large to compute with; where one decides, it is invalid."""
    metrics = {name: each for name, each in found.metrics.items() if abs(each) <= MAX_VALUE}
    by_item = found.by_item if all(abs(each) <= MAX_VALUE for each in found.by_item) else ()
    found = replace(found, metrics=metrics, by_item=by_item)
    if found.value is None or abs(found.value) <= MAX_VALUE:
        return found
    detail = f"{found.value:g} is too large to compute with; the limit is {MAX_VALUE:g}"
    return replace(found, outcome=LookOutcome.INVALID, value=None, detail=detail)


class LookQuery(Query[Measurement], frozen=True, kw_only=True):
    """One evaluation: recorded, so that it is never paid for twice."""

    kind = "evaluation"
    look: Look


class EndLookQuery(LookQuery, frozen=True, kw_only=True):
    """A look of the playoff or the end test, which are made whatever ended the search."""

    free = False
    set_aside = True


class KnownLookQuery(LookQuery, frozen=True, kw_only=True):
    """A look that was taken under another key; the same question as any other look, so its answer may be on record."""

    deferred = True
    known: Measurement | None = None
    """What it showed."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LookQuery) and (self.key, self.look) == (other.key, other.look)


class Evaluator(Protocol):
    """Measures artifacts; it alone has the items and the sealed set."""

    async def measure(self, look: Look) -> Measurement:
        """Take one look."""
        ...
