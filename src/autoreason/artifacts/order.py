"""The order in which trials are decided: asked and recorded, because it depends on which of them ends first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from autoreason.exchange import Query
from autoreason.keys import Key


class OrderQuery(Query[int], frozen=True, kw_only=True):
    """How many decisions were made before this moment; one that `decides` is the next itself."""

    kind = "order"
    deferred = True
    decides: bool = False


class Orders:
    """Counts the decisions of a run, part by part."""

    def __init__(self, recorded: Iterable[OrderQuery] = ()) -> None:
        self._decided = Counter(_part(query) for query in recorded if query.decides)

    def answer(self, query: OrderQuery) -> int:
        """The place of a question that is new."""
        before = self._decided[_part(query)]
        self._decided[_part(query)] += query.decides
        return before


def _part(query: OrderQuery) -> str:
    return str(Key.parse(query.key).part or "")
