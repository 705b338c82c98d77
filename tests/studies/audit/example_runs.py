"""Records that never were, in the form in which they are audited."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autoreason.studies.audit.audit import Check
from autoreason.studies.audit.audited_record import (
    SLOTS,
    AuditedPanel,
    AuditedPass,
    AuditedRun,
    AuditedVote,
    shared_order,
)
from autoreason.studies.audit.findings import AuditFinding, settle
from autoreason.tournament.voting import count_votes

ORDERS = (("A", "B", "AB"), ("B", "AB", "A"), ("AB", "A", "B"))


def vote(
    *ranking: str, order: Sequence[str] = SLOTS, judge: str = "one/judge", **also: Any
) -> AuditedVote:
    """A ballot; without a ranking, an invalid one."""
    labels = tuple(str(place + 1) for place in range(len(order)))
    return AuditedVote(
        judge=judge, order=tuple(order), ranking=ranking or None, labels=labels, **also
    )


def panel(*votes: AuditedVote, **changes: Any) -> AuditedPanel:
    """What these votes come to, with a tie to A."""
    cast = [v.ranking for v in votes if v.ranking and len(v.ranking) == len(SLOTS)]
    tally = count_votes("borda", cast, ("A", "AB", "B")) if cast else None
    known: dict[str, Any] = {
        "candidates": SLOTS,
        "rule": "borda",
        "judge": votes[0].judge if votes else "one/judge",
        "seats": len(votes),
        "valid": len(cast),
        "votes": votes,
        "scores": tally.scores if tally else dict.fromkeys(SLOTS, 0),
        "winner": tally.winner if tally else None,
        "shared_order": shared_order(votes),
    }
    return AuditedPanel(**(known | changes))


def won_by(winner: str, number: int = 1, **changes: Any) -> AuditedPass:
    """A pass that three judges with orders of their own give to one text."""
    rest = [slot for slot in SLOTS if slot != winner]
    votes = [vote(winner, *rest, order=order) for order in ORDERS]
    return audited_pass(panel(*votes), number, **changes)


def audited_pass(panel: AuditedPanel | None, number: int = 1, **changes: Any) -> AuditedPass:
    """A pass with this panel."""
    known: dict[str, Any] = {
        "number": number,
        "winner": panel.winner if panel else None,
        "streak": None,
        "panel": panel,
        "texts": {},
        "words": {},
    }
    return AuditedPass(**(known | changes))


def run(*passes: AuditedPass, **changes: Any) -> AuditedRun:
    """A run of these passes, numbered as they come."""
    known: dict[str, Any] = {"name": "a run", "group": "a group", "k": 2, "passes": passes}
    return AuditedRun(**(known | changes))


def trajectory(winners: str, **changes: Any) -> AuditedRun:
    """A run by its winners, such as `S B A A` with S for the synthesis, and streaks as they follow."""
    passes, streak = [], 0
    for number, letter in enumerate(winners.split(), 1):
        streak = streak + 1 if letter == "A" else 0
        passes.append(won_by("AB" if letter == "S" else letter, number, streak=streak))
    return run(*passes, **changes)


def finding_of(check: Check, runs: Sequence[AuditedRun]) -> AuditFinding:
    """What one look finds, asked alone."""
    (finding,) = settle([check(runs)])
    return finding
