"""What each part of a comparison took."""

from __future__ import annotations

from autoreason.exchange import Spent
from autoreason.journal import Journal
from autoreason.keys import Key


def spent_by_part(journal: Journal, run: str) -> dict[str, Spent]:
    """What each part of a comparison took, by its name."""
    spent: dict[str, Spent] = {}
    for call in journal.calls(run):
        part = Key.parse(call.request.key).part
        if part:
            spent[str(part)] = spent.get(str(part), Spent()).plus(call.reply)
    return spent
