"""Questions about a record, their findings, and the phrases that all of them share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

from msgspec import Struct

from autoreason.report.numbers import count, percent
from autoreason.stats import Estimate
from autoreason.stats.shares import holm
from autoreason.studies.audit.audited_run import AuditedRun, Runs

Level = Literal["alarm", "look", "fine", "unknown"]
Group = Literal["ballots", "judges", "stopping", "texts", "programs", "calls"]
LEVELS: tuple[Level, ...] = ("alarm", "look", "fine", "unknown")
"""From worst to best; unknown is neither."""
GROUPS: tuple[Group, ...] = ("ballots", "judges", "stopping", "texts", "programs", "calls")
LEVEL = 0.05
"""What a corrected p-value must reach before anything is called more than chance."""


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


class Found(NamedTuple):
    """An answer that needs no test."""

    level: Level
    statement: str
    number: Estimate


Conclusion = tuple[Level, str] | str
"""The level of a finding and its statement, or why nothing is known."""


class Pending(NamedTuple):
    """An answer that depends on a test: it is concluded once its p-value is corrected for all tests."""

    p: float
    number: Estimate
    conclude: Callable[[float], Conclusion]


Answer = Found | Pending | str
"""A string says why nothing is known."""


class Question(NamedTuple):
    """What is asked of a record: what is normal, what to do where it is not, and the function that answers."""

    group: Group
    name: str
    normal: str
    fix: str
    answer: Callable[[Runs], Answer]

    def finding(
        self, level: Level, statement: str, number: Estimate, p: float | None = None
    ) -> AuditFinding:
        """The finding at a level; advice is only given where it is needed."""
        return AuditFinding(
            name=self.name,
            group=self.group,
            level=level,
            statement=statement,
            normal=self.normal,
            fix=self.fix if level in ("alarm", "look") else "",
            number=number,
            p_value_adjusted=p,
        )


def question(
    group: Group, name: str, normal: str, fix: str
) -> Callable[[Callable[[Runs], Answer]], Question]:
    """Make a function that answers it a question."""
    return lambda answer: Question(group, name, normal, fix, answer)


def find(questions: Sequence[Question], runs: Runs) -> tuple[AuditFinding, ...]:
    """What these questions find, each test corrected for being one of several (Holm 1979)."""
    answers = [each.answer(runs) for each in questions]
    corrected = holm([each.p if isinstance(each, Pending) else None for each in answers])
    findings = []
    for asked, answer, p in zip(questions, answers, corrected, strict=True):
        if isinstance(answer, Pending) and p is not None:
            said = answer.conclude(p)
            answer = said if isinstance(said, str) else Found(*said, answer.number)
        if isinstance(answer, str):
            findings.append(asked.finding("unknown", answer, Estimate(None, reason=answer), p))
        elif isinstance(answer, Found):
            findings.append(asked.finding(*answer, p))
    return tuple(findings)


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
