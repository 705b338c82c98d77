"""Findings about a record, and the phrases that all checks share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from msgspec import Struct

from autoreason.report.numbers import count, percent
from autoreason.stats.results import Estimate
from autoreason.stats.shares import holm
from autoreason.studies.audit.audited_run import AuditedRun

Level = Literal["alarm", "look", "fine", "unknown"]
Group = Literal["ballots", "judges", "stopping", "texts", "programs"]
LEVELS: tuple[Level, ...] = ("alarm", "look", "fine", "unknown")
"""From worst to best; unknown is neither."""
GROUPS: tuple[Group, ...] = ("ballots", "judges", "stopping", "texts", "programs")


class AuditFinding(Struct, frozen=True, kw_only=True):
    """One thing a record shows about itself."""

    name: str
    group: Group
    level: Level
    statement: str
    """The finding as a sentence with its number; where nothing is known, why."""
    normal: str
    """What a sound record shows."""
    fix: str = ""
    """What to do about it; empty where there is nothing to do."""
    number: Estimate
    p_value_adjusted: float | None = None
    """How likely chance alone is to give as much, where that was tested; corrected for all questions tested."""


@dataclass(frozen=True)
class PendingFinding:
    """A finding that depends on a test: it is concluded once its p-value is corrected for all tests."""

    p: float
    conclude: Callable[[float], AuditFinding]
    """The finding, given the corrected p-value."""


AuditResult = AuditFinding | PendingFinding
Conclusion = tuple[Level, str]
"""The level of a finding, and its statement."""


class Topic(Struct, frozen=True):
    """What a check is about: the part of a finding that does not depend on the record."""

    group: Group
    name: str
    normal: str
    fix: str

    def finding(
        self, level: Level, statement: str, number: Estimate | float, p: float | None = None
    ) -> AuditFinding:
        """The finding at a level; advice is only given where it is needed."""
        value = number if isinstance(number, Estimate) else Estimate(float(number))
        return AuditFinding(
            name=self.name,
            group=self.group,
            level=level,
            statement=statement,
            normal=self.normal,
            fix=self.fix if level in ("alarm", "look") else "",
            number=value,
            p_value_adjusted=p,
        )

    def pending(
        self, p: float, number: Estimate, conclude: Callable[[float], Conclusion]
    ) -> PendingFinding:
        """The finding that a test concludes from its corrected p-value."""
        return PendingFinding(p, lambda p: self.finding(*conclude(p), number, p))

    def unknown(self, reason: str) -> AuditFinding:
        """A finding without an answer, and why."""
        return self.finding("unknown", reason, Estimate(None, reason=reason))


LEVEL = 0.05
"""What a corrected p-value must reach before anything is called more than chance."""


def settle(results: Iterable[AuditResult]) -> tuple[AuditFinding, ...]:
    """The findings, each test corrected for being one of several (Holm 1979)."""
    results = list(results)
    corrected = holm([each.p if isinstance(each, PendingFinding) else None for each in results])
    return tuple(
        each.conclude(1.0 if p is None else p) if isinstance(each, PendingFinding) else each
        for each, p in zip(results, corrected, strict=True)
    )


def many(number: int, noun: str, plural: str = "") -> str:
    """`1 ballot`, `2 ballots`, `no ballot`."""
    return count(number, noun, plural) if number else f"no {noun}"


def number_of(runs: Iterable[AuditedRun]) -> str:
    """`2 runs`."""
    return many(len([*runs]), "run")


def part(number: int, total: int, noun: str, plural: str = "") -> str:
    """`70 of 2,231 ballots (3 %)`, `none of 78 ballots`."""
    nouns = noun if total == 1 else plural or noun + "s"
    if not number:
        return f"none of {total:,} {nouns}"
    return f"{number:,} of {total:,} {nouns} ({percent(number / total)})"


def listed(items: Iterable[str], shown: int = 3, joint: str = ", ") -> str:
    """The first few of some names, and how many more there are."""
    names = list(items)
    rest = f" and {len(names) - shown} more" if len(names) > shown else ""
    return joint.join(names[:shown]) + rest


def share_level(number: Estimate, look: float, alarm: float) -> Level:
    """The level of a share that is better the smaller it is; few data raise no alarm."""
    value, low = number.value or 0.0, number.low or 0.0
    if value > alarm and low > look:
        return "alarm"
    return "look" if value > look else "fine"
