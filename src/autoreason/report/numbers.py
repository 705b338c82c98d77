"""Numbers and names as people read them, and sentences that several reports share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from decimal import Decimal

    from autoreason.exchange import Spent
    from autoreason.stats import Estimate


UNKNOWN = "–"
"""Shown in a table where nothing is known."""
_MOST_DIGITS = 4
_HEADING = re.compile(r"^\s*#+\s+", re.MULTILINE)
_FOLDER = re.compile(r"^.*/(?=[^/]+\.(?:py:|gguf))")


def count(number: int, noun: str, plural: str = "") -> str:
    """`1 call`, `2 calls`, `1,200 calls`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def capital(text: str) -> str:
    """The text with a capital at its beginning."""
    return text[:1].upper() + text[1:]


def lines(program: str) -> str:
    return count(len(program.splitlines()), "line")


def decimal(value: float) -> str:
    """`17`, `17.5`."""
    return f"{value:z,.1f}".removesuffix(".0")


def percent(share: float) -> str:
    """A share as a whole percentage; never a false 0 % or 100 %."""
    if 0 < share < 0.01:
        return "under 1 %"
    if 0.99 < share < 1:
        return "over 99 %"
    return f"{share * 100:z.0f} %"


def percent_range(low: float, high: float) -> str:
    """`62 to 91 %`."""
    return f"{low * 100:.0f} to {high * 100:.0f} %"


def p_value(p: float | None) -> str:
    """`0.041`, `< 0.001`: a cell of a table."""
    if p is None:
        return UNKNOWN
    return "< 0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def p_statement(p: float | None) -> str:
    """`p = 0.041`, `p < 0.001`: a part of a sentence."""
    return f"p {p_value(p)}" if p is not None and p < 0.001 else f"p = {p_value(p)}"


def money(cost: Decimal | None) -> str:
    """US dollars, with as many digits as a small sum needs; an unknown sum is called unknown."""
    if cost is None:
        return "unknown"
    if cost * 10 >= 1 or cost * 100 == int(cost * 100):
        return f"${cost:,.2f}"
    return f"${cost:.4f}" if cost * 10_000 >= 1 else "under $0.0001"


def duration(seconds: float) -> str:
    """`4.1 s`, `3 min 12 s`, `2 h 05 min`."""
    if seconds < 60:
        return f"{seconds:.{1 if seconds < 10 and seconds % 1 else 0}f} s"
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02} s"
    return f"{minutes // 60} h {minutes % 60:02} min"


def roughly(seconds: float) -> str:
    """`0.5 s`, `8 s`, `4 min`, `2 h 05 min`: a time that nobody will add up."""
    if round(seconds) < 60:
        return f"{seconds:{'.1g' if seconds < 1 else '.0f'}} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"


def count_within(number: int, limit: int | None, noun: str) -> str:
    """`3 calls`, or `3 of 20 calls` against a limit."""
    return count(number, noun) if limit is None else f"{number:,} of {count(limit, noun)}"


def show_tokens(spent: Spent, limit: int | None = None) -> str:
    """Tokens against their limit; where some are not known, what they are at least."""
    if spent.unmetered and not spent.known_tokens:
        return "tokens unknown" if limit is None else f"tokens unknown of {limit:,}"
    least = "at least " if spent.unmetered else ""
    return least + count_within(spent.known_tokens, limit, "token")


def show_cost(spent: Spent, limit: Decimal | None = None) -> str:
    """The cost against its limit; a part that is not known is named."""
    of = f" of {money(limit)}" if limit is not None else ""
    if spent.unpriced and not spent.known_cost:
        return f"cost unknown{of}"
    more = f" and {count(spent.unpriced, 'call')} of unknown price" if spent.unpriced else ""
    return f"{money(spent.known_cost)}{of}{more}"


def spending(spent: Spent, seconds: float | None = None) -> str:
    """`62 calls, 80,100 tokens, $0.27, 3 min 12 s`."""
    parts = [count(spent.calls, "call"), show_tokens(spent), show_cost(spent)]
    return ", ".join([*parts, duration(seconds)] if seconds is not None else parts)


def megabytes(size: int) -> str:
    return f"{size / 1_000_000:,.1f} MB"


def interval(found: Estimate, digits: int = 2) -> str:
    """`2.43 (1.86 to 2.86)`; a dash where nothing is known."""
    return _with_interval(found, *[lambda value: f"{value:z.{digits}f}"] * 2)


def percent_interval(found: Estimate, least: int = 0) -> str:
    """`77 % (69 to 83)`, `2.1 % (1.9 to 2.3)`, with `least` decimals; a dash where nothing is known."""
    digits = max(least, digits_of(found))

    def end(value: float) -> str:
        return f"{value * 100:z.{digits}f}"

    return _with_interval(found, lambda value: f"{end(value)} %" if digits else percent(value), end)


def points(found: Estimate) -> str:
    """`+4.0 (-2.1 to +9.8)`, `+0.21 (+0.02 to +0.40)`, in points of a hundred."""
    digits = max(digits_of(found), 1)
    # What is above or below 0 must look so.
    parts = [part * 100 for part in (found.value, found.low, found.high) if part]
    digits = max([digits, *map(_digits_to_differ, parts)])
    return _with_interval(found, *[lambda value: f"{value * 100:+z.{digits}f}"] * 2)


def signed(value: float) -> str:
    """`+1.8`, `-0.04`, `0.0`: one decimal, or as many as it takes to differ from 0."""
    return f"{value:{'+' if value else ''}z.{_digits_to_differ(value)}f}"


def _digits_to_differ(value: float) -> int:
    """From one on, those with which a number does not look like 0 unless it hardly differs from it."""
    return next(
        (at for at in range(1, _MOST_DIGITS) if round(value, at)), _MOST_DIGITS if value else 1
    )


def digits_of(found: Estimate) -> int:
    """Decimals of a percentage whose interval would otherwise be narrower than its last digit."""
    if found.low is None or found.high is None or found.low == found.high:
        return 0
    width = (found.high - found.low) * 100
    return next((each for each in range(_MOST_DIGITS) if 10**-each <= width), _MOST_DIGITS)


def _with_interval(
    found: Estimate, show: Callable[[float], str], show_end: Callable[[float], str]
) -> str:
    if found.value is None:
        return UNKNOWN
    if found.low is None or found.high is None:
        return show(found.value)
    return f"{show(found.value)} ({show_end(found.low)} to {show_end(found.high)})"


def listed(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def shorten(text: str, length: int) -> str:
    """The text on one line, its headings unmarked; where it is cut, after a whole word, unless that loses much."""
    line = " ".join(_HEADING.sub("", text).split())
    if len(line) <= length:
        return line
    whole = line[:length].rpartition(" ")[0]
    return (whole if len(whole) * 3 >= length * 2 else line[: length - 1].rstrip()) + "…"


def describe_tie(scores: Mapping[str, int], winner: str) -> str:
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
        return f"{who} ranking at random always give {result}"
    return f"{who} ranking at random give {result} {percent(share)} of the time"


def without_folder(model: str) -> str:
    """A model's name; of one in a file of the user's own without the folder."""
    return _FOLDER.sub("", model)


def jury(models: Iterable[str]) -> str:
    """`my/model, asked 7 times`: so many judges are not so many opinions; of several models their names."""
    asked = list(map(without_folder, models))
    names = list(dict.fromkeys(asked))
    return listed(names) if names[1:] else f"{names[0]}, asked {count(len(asked), 'time')}"


def longer(share: Estimate, over: str) -> str:
    if share.value is None:
        return "unknown: no vote was about two texts of different length"
    if share.low is None or share.high is None:
        return f"unknown: {share.reason}"
    interval = percent_range(share.low, share.high)
    return (
        f"the longer of two texts is preferred {percent(share.value)} of the time "
        f"(95 % interval {interval}, over {over}; chance is 50 %)"
    )


_MUCH_LONGER = 1.2
"""Times the words of another text, from which on a taste for length is worth a line."""


def taste_for_length(words: int, other: int, share: Estimate, than: str = "") -> list[str]:
    """A line where a text is much longer than the one it is compared with, and its judges like length."""
    if not other or words < _MUCH_LONGER * other or share.low is None or share.low <= 0.5:
        return []
    more = f"{percent(words / other - 1)} longer{f' than {than}' if than else ''}"
    return [f"It is {more}, and these judges like length: see show --evidence."]


def agreement(tau: float | None, who: str = "judges") -> str:
    """Kendall's tau as the share of pairs that two judges put in the same order.

    Chance is 50 % only among judges who were asked whatever the others answered.
    """
    if tau is None:
        return "unknown: no two valid ballots to compare"
    same = percent((1 + tau) / 2)
    return f"two {who} agree on {same} of pairs of texts (tau {round(tau, 2) + 0.0:.2f}; chance is 50 %)"


def positions(first_places: Sequence[int]) -> str:
    total = sum(first_places)
    if not total:
        return ""
    shares = " / ".join(percent(number / total) for number in first_places)
    even = percent(1 / len(first_places))
    return (
        f"first places by the position a text stood in: {shares} of {total} "
        f"({even} each if position does not matter)"
    )
