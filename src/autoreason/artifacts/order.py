"""The order in which trials are decided: asked and recorded, because it depends on which of them ends first."""

from __future__ import annotations

from collections.abc import Iterable

from autoreason.exchange import Query


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
