"""One problem solved once by one strategy: its result, or why there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from autoreason.exchange import Spent
from autoreason.programs.assignment import Assignment, CodeVerdict, Examined
from autoreason.programs.events import Solved


class Unit(Struct, frozen=True, kw_only=True):
    """One row of the raw table; None is a missing result, never a wrong one."""

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
    first_attempt: bool | None
    """The first attempt passed every public test."""
    recovered: bool | None
    """Solved although the first attempt failed; None where it did not fail."""
    passes_public_only: bool | None
    """Passes every public test and fails a private one; None where it passes not every public one."""
    verdict: CodeVerdict | None
    """How the program ended, by the private tests where there are any."""
    attempts: int
    spent: Spent
    level: str
    status: str
    reason: str
    """Why it ended."""
    missing: str
    """Why there is no result; empty where there is one."""


def units_of(solved: Sequence[Solved], assignments: Mapping[str, Assignment]) -> list[Unit]:
    """Every event as a unit, in order of emission; the last event of a part counts."""
    latest = {event.part: event for event in solved}
    return [_unit(event, assignments.get(event.problem)) for event in latest.values()]


def _unit(event: Solved, assignment: Assignment | None) -> Unit:
    public, first = _passed(event.public), _passed(event.first)
    scores = _has_private_tests(event, assignment)
    private = _passed(event.private)
    if scores and event.private is None and _has_no_program(event):
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
        first_attempt=first,
        recovered=solved if first is False else None,
        passes_public_only=not private if public and private is not None else None,
        verdict=_verdict(event),
        attempts=event.attempts,
        spent=event.spent,
        level=next((e.level for e in (event.private, event.public) if e and e.level), ""),
        status=event.status,
        reason=event.reason,
        missing="" if solved is not None else _why(event),
    )


def _passed(examined: Examined | None) -> bool | None:
    """Whether all tests were passed; None where none were run, or could not be."""
    if examined is None or examined.verdict is CodeVerdict.SANDBOX_ERROR:
        return None
    if examined.verdict is CodeVerdict.NO_CODE:
        return False
    return examined.verdict is CodeVerdict.ACCEPTED if examined.total else None


def _has_private_tests(event: Solved, assignment: Assignment | None) -> bool:
    return event.private is not None or bool(assignment and assignment.private)


def _has_no_program(event: Solved) -> bool:
    return event.public is not None and event.public.verdict is CodeVerdict.NO_CODE


def _verdict(event: Solved) -> CodeVerdict | None:
    examined = event.private or event.public
    return examined.verdict if examined else None


def _why(event: Solved) -> str:
    """Why a unit has no result."""
    for examined in (event.public, event.private):
        if examined is not None and examined.verdict is CodeVerdict.SANDBOX_ERROR:
            failed = examined.failed
            return (
                f"sandbox error: {failed.detail}" if failed and failed.detail else "sandbox error"
            )
    return event.reason or "there is no verdict"
