"""One evaluation of an artifact: the question, what came of it, and who answers it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any, Protocol

from msgspec import Struct

from autoreason.errors import InvalidInput, MetricFailed
from autoreason.exchange import Query
from autoreason.keys import Key

Files = dict[str, str]
"""An artifact: texts by path, relative to the task's folder, with `/` between folders."""


class EvaluationOutcome(StrEnum):
    """How an evaluation ended. Only `ok` has a value; `evaluator_error` says nothing about the artifact."""

    OK = "ok"
    INVALID = "invalid"
    FAILED = "failed"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    EVALUATOR_ERROR = "evaluator_error"


class Evaluation(Struct, frozen=True, kw_only=True):
    """What is to be measured: an artifact, with this seed, on these items."""

    files: Files
    seed: int
    """`AUTOREASON_SEED`; artifacts that are compared share it evaluation by evaluation."""
    items: tuple[int, ...] = ()
    """Items by their place in the file, from 0; none where the task has none."""
    sealed: bool = False
    """Whether the items are those of the sealed set."""
    alone: bool = False
    """Whether nothing else is measured at the same time, because the number is a time."""


class Measurement(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of an evaluation."""

    outcome: EvaluationOutcome
    value: float | None = None
    """The number that decides, as the evaluator returned it; None unless the outcome is `ok`."""
    metrics: dict[str, float] = {}
    """Every number that the evaluator returned, by name."""
    by_item: tuple[float, ...] = ()
    """One number for each item, where the evaluator returned them."""
    seconds: float = 0.0
    """By the clock."""
    tail: str = ""
    """The end of what was printed; never from a evaluation of sealed items."""
    detail: str = ""
    """Why there is no value, in one sentence."""
    shared: int = 0
    """Runs of eight words that the artifact shares with an item, or with a sealed one, and the start does not."""
    level: str = ""
    """How the artifact was kept from everything else: the level of the sandbox."""
    opened: int = 0
    """How many end tests have opened the sealed set, this one included; 0 on other items."""
    repeated: bool = False
    """Known from an earlier evaluation of the same artifact with the same seed and items, and not charged again."""


class EvaluationQuery(Query[Measurement], frozen=True, kw_only=True):
    """One evaluation: recorded, so that it is never paid for twice."""

    kind = "evaluation"
    evaluation: Evaluation


class FinalEvaluationQuery(EvaluationQuery, frozen=True, kw_only=True):
    """An evaluation of the playoff or the end test, which are made whatever ended the search."""

    free = False
    set_aside = True


class KnownEvaluationQuery(EvaluationQuery, frozen=True, kw_only=True):
    """An evaluation that was made under another key; the same question as any other, so its answer may be on record."""

    deferred = True
    known: Measurement | None = None
    """What it showed."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EvaluationQuery) and (self.key, self.evaluation) == (
            other.key,
            other.evaluation,
        )


class Evaluator(Protocol):
    """Measures artifacts; it alone has the items and the sealed set."""

    async def measure(self, evaluation: Evaluation) -> Measurement:
        """Make one evaluation."""
        ...


class OrderQuery(Query[int], frozen=True, kw_only=True):
    """How many decisions were made before this moment; one that `decides` is the next itself."""

    kind = "order"
    deferred = True
    decides: bool = False


class Orders:
    """Counts the decisions of a run."""

    def __init__(self, recorded: Iterable[OrderQuery] = ()) -> None:
        self._decided = sum(query.decides for query in recorded)

    def answer(self, query: OrderQuery) -> int:
        """The place of a question that is new."""
        before = self._decided
        self._decided += query.decides
        return before


_ATTEMPTS = 3


class EvaluationService:
    """Answers evaluations; where the evaluator itself fails three times in a row, the run pauses.

    So it does after `max_without` evaluations in a row without a value, where a number is given; and at the
    last evaluation of a text that needs one and got none.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        max_without: int | None = None,
        needs_value: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._evaluator = evaluator
        self._max_without = max_without
        self._needs_value = needs_value
        """Of the key of an evaluation: whether it is the last at a text that needs a value."""
        self._without = 0
        self._valued: Key | None = None
        """The text that had a value last, by the key of its evaluations."""

    async def answer(self, query: Query[Any]) -> Any:
        """Evaluate, and again where the evaluator itself failed."""
        if not isinstance(query, EvaluationQuery):
            raise InvalidInput(
                f"an evaluator has no answer to a {type(query).__name__}; ask a model"
            )
        detail = ""
        for _ in range(_ATTEMPTS):
            measurement = await self._evaluator.measure(query.evaluation)
            if measurement.outcome is not EvaluationOutcome.EVALUATOR_ERROR:
                self._count(query.key, measurement)
                return measurement
            detail = measurement.detail or detail
        raise MetricFailed(
            f"the evaluator could not be run {_ATTEMPTS} times in a row ({detail or 'no reason given'}); "
            "what was measured is kept"
        )

    def _count(self, key: str, measurement: Measurement) -> None:
        """Pause before an evaluation is recorded that is one too many without a value, so that it is taken again."""
        text = Key.parse(key).before("evaluation")
        if measurement.outcome is EvaluationOutcome.OK:
            self._without, self._valued = 0, text
            return
        self._without += 1
        lacking = self._needs_value(key) and self._valued != text
        if lacking or self._without == self._max_without:
            why = measurement.detail or measurement.outcome
            times = "" if self._without == 1 else f" {self._without} times in a row, the last time"
            raise MetricFailed(
                f"the metric gave no number{times} because: {why}; what was measured is kept"
            )
