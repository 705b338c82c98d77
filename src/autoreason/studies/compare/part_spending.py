"""What each part of a comparison took."""

from __future__ import annotations

from msgspec.structs import replace

from autoreason.exchange import Spent
from autoreason.journal import Journal
from autoreason.keys import Key


def spent_by_part(journal: Journal, run: str) -> dict[str, Spent]:
    """What each part of a comparison took; a panel that was run again is one part with the first."""
    spent: dict[str, Spent] = {}
    for call in journal.calls(run):
        part = Key.parse(call.request.key).part
        if part:
            name = str(replace(part, attempt=0))
            spent[name] = spent.get(name, Spent()).plus(call.reply)
    return spent
