"""From a request to a text that may stand: whole, free of leaks, within the contract."""

from __future__ import annotations

from typing import Literal, NamedTuple

from autoreason.contract import Violation
from autoreason.exchange import Outcome, Request
from autoreason.tournament.documents import read_document
from autoreason.tournament.leaks import find_leaks
from autoreason.tournament.venue import Venue, again, follow_up

ENDLESS = "it repeats itself without end"


class Written(NamedTuple):
    """A whole text, and what is still wrong with it."""

    text: str
    notes: str
    rewritten: bool
    repaired: bool
    leaks: tuple[str, ...]
    violations: tuple[Violation, ...]


class Unwritten(NamedTuple):
    """No text came of it."""

    reason: Literal["truncated", "refused", "empty"]
    detail: str


class _Draft(NamedTuple):
    text: str
    notes: str


async def write(venue: Venue, request: Request, key: str) -> Written | Unwritten:
    """Ask for a text; send it back once for a leak and once for a breach of contract."""
    draft = await _whole(venue, request, key)
    if isinstance(draft, Unwritten):
        return draft
    contract = venue.task.contract
    leaks = _leaks(venue, draft.text)
    rewritten = bool(leaks)
    if leaks:
        prompt = venue.prompts.render("mend_leak", leaks=leaks)
        draft = await _mended(venue, request, f"{key}/rewrite", draft, prompt)
    violations = contract.violations(draft.text)
    repaired = bool(violations)
    if violations:
        prompt = venue.prompts.render("mend_contract", violations=[v.message for v in violations])
        draft = await _mended(venue, request, f"{key}/repair", draft, prompt)
        violations = contract.violations(draft.text)
    if rewritten or repaired:
        leaks = _leaks(venue, draft.text)
    return Written(draft.text, draft.notes, rewritten, repaired, leaks, violations)


async def _whole(venue: Venue, request: Request, key: str) -> _Draft | Unwritten:
    """A text that ended by itself; asked for twice at most."""
    reply = await venue.ask(request)
    if reply.outcome is not Outcome.OK or not read_document(reply.text).text:
        reply = await venue.ask(again(request, f"{key}/try/1", longer=reply.needs_room))
    document = read_document(reply.text)
    match reply.outcome:
        case Outcome.TRUNCATED if not reply.needs_room:
            return Unwritten("truncated", ENDLESS)
        case Outcome.TRUNCATED:
            return Unwritten("truncated", "cut off twice, the second time with twice the room")
        case Outcome.REFUSED:
            return Unwritten("refused", reply.finish or "the model declined")
        case Outcome.OK if document.text:
            return _Draft(document.text, document.notes)
    return Unwritten("empty", "no text came back")


async def _mended(venue: Venue, request: Request, key: str, draft: _Draft, prompt: str) -> _Draft:
    """The text after one request to mend it; as it was where nothing whole came back."""
    reply = await venue.ask(follow_up(request, key, draft.text, prompt))
    text = read_document(reply.text).text
    return _Draft(text, draft.notes) if reply.outcome is Outcome.OK and text else draft


def _leaks(venue: Venue, text: str) -> tuple[str, ...]:
    task = venue.task
    return find_leaks(text, task.brief, task.facts or "", task.draft or "")
