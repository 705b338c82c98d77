"""Sentences that several reports share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from autoreason.report.numbers import count, percent, percent_range

if TYPE_CHECKING:
    from autoreason.stats.results import Estimate


def listed(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def shorten(text: str, length: int) -> str:
    """The beginning of a text in one line."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def describe_tie(scores: Mapping[str, int], winner: str) -> str:
    """The texts at the top of a list, and which of them is taken."""
    leaders = [name for name, score in scores.items() if score == scores[winner]]
    return f"no text leads: {listed(leaders)} are equal, and {winner} is first on the list"


def describe_losers(names: Sequence[str]) -> str:
    """`, but c and d lose beyond chance`: what follows where none wins; empty where none loses either."""
    if not names:
        return ""
    return f", but {listed(names)} {'lose' if len(names) > 1 else 'loses'} beyond chance"


def by_chance(result: str, share: float, who: str = "judges") -> str:
    """`judges ranking at random give as much 31 % of the time`; a result that is certain is called that."""
    if share == 1:
        return f"even {who} ranking at random always reach {result}"
    return f"{who} ranking at random give {result} {percent(share)} of the time"


def jury(models: Iterable[str]) -> str:
    """`my/model, asked 7 times`: so many judges are not so many opinions; of several models their names."""
    asked = list(models)
    names = list(dict.fromkeys(asked))
    return listed(names) if names[1:] else f"{names[0]}, asked {count(len(asked), 'time')}"


def longer(share: Estimate, over: str) -> str:
    """How often the longer of two texts won."""
    if share.value is None:
        return "unknown: no vote was about two texts of different length"
    if share.low is None or share.high is None:
        return f"unknown: {share.reason}"
    interval = percent_range(share.low, share.high)
    return (
        f"the longer of two texts is preferred {percent(share.value)} of the time "
        f"(95 % interval {interval}, over {over}; chance is 50 %)"
    )


def agreement(tau: float | None, who: str = "judges") -> str:
    """Kendall's tau as the share of pairs that two judges put in the same order.

    Chance is 50 % only among judges who were asked whatever the others answered.
    """
    if tau is None:
        return "unknown: no two valid ballots to compare"
    same = percent((1 + tau) / 2)
    return (
        f"shown two texts, two {who} prefer the same one {same} of the time "
        f"(tau {tau:.2f}; chance is 50 %)"
    )


def positions(first_places: Sequence[int]) -> str:
    """Whether where a text stood mattered."""
    total = sum(first_places)
    if not total:
        return ""
    shares = " / ".join(percent(number / total) for number in first_places)
    even = percent(1 / len(first_places))
    return (
        f"first places by the position a text stood in: {shares} of {total} "
        f"({even} each if position does not matter)"
    )
