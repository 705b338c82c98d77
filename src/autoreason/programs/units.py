"""One problem solved once by one strategy: its result, or why there is none, and what is left out of the table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from autoreason.exchange import Spent
from autoreason.programs.assignment import Assignment, CodeVerdict, Examined
from autoreason.programs.events import Solved
from autoreason.report.numbers import count


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
    public, first, private = map(_passed, (event.public, event.first, event.private))
    scores = event.private is not None or bool(assignment and assignment.private)
    no_program = event.public is not None and event.public.verdict is CodeVerdict.NO_CODE
    if scores and event.private is None and no_program:
        private = False
    examined = event.private or event.public
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
        verdict=examined.verdict if examined else None,
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


def _why(event: Solved) -> str:
    """Why a unit has no result."""
    for examined in (event.public, event.private):
        if examined is not None and examined.verdict is CodeVerdict.SANDBOX_ERROR:
            failed = examined.failed
            return (
                f"sandbox error: {failed.detail}" if failed and failed.detail else "sandbox error"
            )
    return event.reason or "there is no verdict"


_NAMED = 5


class Exclusion(Struct, frozen=True, kw_only=True):
    """Things excluded for one reason."""

    reason: str
    items: tuple[str, ...]
    """Lines, problems or parts, by name."""
    kind: str = "part"

    def __str__(self) -> str:
        number = len(self.items)
        named = ", ".join(self.items[:_NAMED])
        more = f" and {number - _NAMED:,} more" if number > _NAMED else ""
        return f"{count(number, self.kind)}: {self.reason} ({named}{more})"


def find_exclusions(
    assignments: Sequence[Assignment],
    units: Sequence[Unit],
    strategies: Sequence[str],
    repeats: int,
    broken: Sequence[str] = (),
) -> tuple[Exclusion, ...]:
    """Everything that is in the set and not in the table."""
    exclusions = [
        Exclusion(reason=why, items=(line,), kind="line") for line, why in map(_split_line, broken)
    ]
    exclusions += _group_by_reason(
        ((each.remark, each.id) for each in assignments if each.remark), "problem"
    )
    exclusions += _group_by_reason(
        ((unit.missing, unit.part) for unit in units if unit.missing), "part"
    )
    finished = {(unit.problem, unit.strategy, unit.repeat) for unit in units}
    wanted = [
        (each.id, name, repeat)
        for each in assignments
        for name in strategies
        for repeat in range(1, repeats + 1)
        if not each.remark
    ]
    missing = tuple("/".join(map(str, each)) for each in wanted if each not in finished)
    if missing:
        exclusions.append(Exclusion(reason="the run has not reached it yet", items=missing))
    return tuple(exclusions)


def _group_by_reason(reasons: Iterable[tuple[str, str]], noun: str) -> list[Exclusion]:
    groups: dict[str, list[str]] = {}
    for why, name in reasons:
        groups.setdefault(why, []).append(name)
    return [Exclusion(reason=why, items=tuple(names), kind=noun) for why, names in groups.items()]


def _split_line(text: str) -> tuple[str, str]:
    """`line 17: no statement` as its name and its reason."""
    name, colon, why = text.partition(": ")
    return (name, why) if colon else (text, "it cannot be read")
