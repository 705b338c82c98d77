"""What each part of a comparison took."""

from __future__ import annotations

from autoreason.exchange import Spent, is_model
from autoreason.journal import Journal

_PART_STEPS = 3
"""The first steps of a key name the part: `repeat/2/harsh`."""


def spent_by_part(journal: Journal, run: str) -> dict[str, Spent]:
    """What each part of a comparison took."""
    spent: dict[str, Spent] = {}
    for call in journal.calls(run):
        if not is_model(call.request.role):
            continue
        part = "/".join(call.request.key.split("/")[:_PART_STEPS])
        spent[part] = spent.get(part, Spent()).plus(call.reply)
    return spent
