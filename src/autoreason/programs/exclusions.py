"""What is excluded from the table, counted and named, with the reason."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from autoreason.programs.assignment import Assignment
from autoreason.programs.units import Unit
from autoreason.report.numbers import count

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
