"""What each role of a run took."""

from __future__ import annotations

from collections import defaultdict

from autoreason.exchange import Spent
from autoreason.journal import Journal


def spent_by_role(run: str, journal: Journal) -> dict[str, Spent]:
    """What each role took in a run."""
    spent: defaultdict[str, Spent] = defaultdict(Spent)
    for call in journal.calls(run):
        spent[call.request.role] = spent[call.request.role].plus(call.reply)
    return dict(spent)
