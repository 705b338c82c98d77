"""One problem worked on once by one strategy: what it shows, and what it cannot show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from autoreason.assignment import Assignment, CodeVerdict, Examined
from autoreason.events import Solved
from autoreason.exchange import Spent


class Unit(Struct, frozen=True, kw_only=True):
    """One line of the table behind the tables; None is no result, never a wrong one."""

    part: str
    problem: str
    difficulty: str
    strategy: str
    repeat: int
    public: bool | None
    """Every public test passed."""
    private: bool | None
    """Every private test passed; None where there are none as well."""
    solved: bool | None
    """By the private tests, or by the public ones where there are no private ones."""
    first: bool | None
    """The first attempt passed every public test."""
    recovered: bool | None
    """Solved although the first attempt failed; None where it did not fail."""
    fooled: bool | None
    """Passes every public test and fails a private one; None where it passes not every public one."""
    verdict: CodeVerdict | None
    """How the program ended, by the private tests where there are any."""
    attempts: int
    spent: Spent
    level: str
    status: str
    reason: str
    """Why it ended."""
    lost: str
    """Why there is no result; empty where there is one."""


def units_of(solved: Sequence[Solved], assignments: Mapping[str, Assignment]) -> list[Unit]:
    """Every event as a unit, in the order told; the last word on a part counts."""
    latest = {event.part: event for event in solved}
    return [_unit(event, assignments.get(event.problem)) for event in latest.values()]


def _unit(event: Solved, assignment: Assignment | None) -> Unit:
    public, first = _passed(event.public), _passed(event.first)
    scores = _has_private_tests(event, assignment)
    private = _passed(event.private)
    if scores and event.private is None and _no_code(event):
        private = False
    solved = private if scores else public
    return Unit(
        part=event.part,
        problem=event.problem,
        difficulty=event.difficulty,
        strategy=event.strategy,
        repeat=event.repeat,
        public=public,
        private=private,
        solved=solved,
        first=first,
        recovered=solved if first is False else None,
        fooled=not private if public and private is not None else None,
        verdict=_verdict(event),
        attempts=event.attempts,
        spent=event.spent,
        level=next((e.level for e in (event.private, event.public) if e and e.level), ""),
        status=event.status,
        reason=event.reason,
        lost="" if solved is not None else _why(event),
    )


def _passed(found: Examined | None) -> bool | None:
    """Whether all tests were passed; None where nothing was tested, or could not be."""
    if found is None or found.verdict is CodeVerdict.SANDBOX_ERROR:
        return None
    if found.verdict is CodeVerdict.NO_CODE:
        return False
    return found.verdict is CodeVerdict.ACCEPTED if found.total else None


def _has_private_tests(event: Solved, assignment: Assignment | None) -> bool:
    return event.private is not None or bool(assignment and assignment.private)


def _no_code(event: Solved) -> bool:
    return event.public is not None and event.public.verdict is CodeVerdict.NO_CODE


def _verdict(event: Solved) -> CodeVerdict | None:
    found = event.private or event.public
    return found.verdict if found else None


def _why(event: Solved) -> str:
    """Why a unit shows nothing."""
    for found in (event.public, event.private):
        if found is not None and found.verdict is CodeVerdict.SANDBOX_ERROR:
            failed = found.failed
            return (
                f"sandbox error: {failed.detail}" if failed and failed.detail else "sandbox error"
            )
    return event.reason or "there is no verdict"
