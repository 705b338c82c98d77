"""Groups that can be tested: what is known before each of them, and lists that are divided by time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import ceil, log2

from msgspec.structs import replace

from autoreason.knowledge.standing import find_first_days
from autoreason.knowledge.values import is_earlier, read_period
from autoreason.knowledge_records import Record
from autoreason.stats.results import BEYOND_CHANCE

MIN_KNOWN = 20
"""Records of other groups of which more must be known before a pair to test anything on it."""
MIN_GROUPS = ceil(log2(2 / BEYOND_CHANCE))
"""Groups below which even all of them agreeing could be chance."""
_MIN_TEXTS = 5
"""Texts of a list in a week with which weeks are groups, and not months."""


class KnownBefore:
    """Whether enough is known before a group."""

    def __init__(self, records: Sequence[Record]) -> None:
        self._sizes = Counter(record.group for record in records)
        # Of one day, what has a time comes first: it may be surely earlier than something.
        dates = sorted((each.when for each in records if each.when), key=lambda day: f"{day:~<16}")
        self._since = "".join(dates[MIN_KNOWN : MIN_KNOWN + 1])

    def is_enough(self, group: str, when: str) -> bool:
        """Of a group with a date what is surely earlier counts, without one all other groups do."""
        if when:
            return is_earlier(self._since, when)
        return self._sizes.total() - self._sizes[group] > MIN_KNOWN


def divide(records: Sequence[Record], period: str) -> list[Record]:
    """The records grouped by the time as well, unless that leaves most of a group alone; it is the audience then."""
    times = [read_period(each.when, period) for each in records]
    sizes = Counter(each.group for each in records)
    parts = Counter(
        group for group, _ in {(each.group, at) for each, at in zip(records, times, strict=True)}
    )
    return [
        replace(
            each,
            group=", ".join(filter(None, (each.group, at))),
            audience=each.audience or each.group,
        )
        if sizes[each.group] >= 2 * parts[each.group]
        else each
        for each, at in zip(records, times, strict=True)
    ]


def choose_period(records: Sequence[Record], others: Sequence[Record]) -> str:
    """What groups that run side by side are divided by, so that more can be tested; empty where nothing helps."""
    before = _count_testable(records, others)
    weeks = {(each.group, read_period(each.when, "week")) for each in records}
    period = "week" if len(records) >= _MIN_TEXTS * len(weeks) else "month"
    more = before < MIN_GROUPS and _count_testable(divide(records, period), others) > before
    return period if more else ""


def _count_testable(records: Sequence[Record], others: Sequence[Record]) -> int:
    """Groups of two texts or more before which enough is known."""
    texts = Counter(group for group, _ in {(each.group, each.text) for each in records})
    texts[""] = 0
    known = KnownBefore([*(each for each in records if texts[each.group] > 1), *others])
    starts = find_first_days(records)
    several = [group for group in texts if texts[group] > 1]
    return sum(known.is_enough(group, starts.get(group, "")) for group in several)
