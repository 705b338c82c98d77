"""Numbers and dates as people and their tools write them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from math import inf
from typing import NamedTuple

_MISSING = frozenset({"", "-", "–", "—", "n/a", "na", "nan", "null", "none", "#n/a", "#div/0!"})
_MISSING |= {"k. a.", "k.a.", "n. v.", "n/d", "s/d"}
_EXPONENT = r"(?:[eE][+-]?\d+)"
_NUMBER = re.compile(rf"[+-]?(?:\d+|\d{{1,3}}(?:,\d{{2,3}})*,\d{{3}})(?:\.\d*)?{_EXPONENT}?")
"""With a point before decimals; thousands may be grouped, as in India also hundreds of them."""
_GROUPED = re.compile(r"\d{1,3}(?:[.,]\d{3})+")
_SWAP = str.maketrans(".,", ",.")
_NOT_IN_NUMBERS = re.compile(r"[\s\u00a0\u202f'’_%‰€$£¥+]")
_RATE = re.compile(r"rate|ctr|percent|prozent|porcent|taxa|tasa|taux|quote|anteil")
PERIODS = ("month", "week")
_MAX_NUMBER = 10**15
"""Nothing that is measured is more; squares of what is more are no numbers."""
_WEEK = re.compile(r"(\d{4})(?:-?[wW])?(\d{2})")
_YEAR_OR_MONTH = re.compile(r"(\d{4})(?:-(\d{2}))?")
_FORMATS = (
    *("%Y/%m/%d", "%Y/%m/%d %H:%M", "%Y/%m/%d %H:%M:%S", "%Y.%m.%d", "%Y-%m", "%Y%m%d"),
    *("%d.%m.%Y", "%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M:%S", "%d.%m.%y"),
    *("%m/%d/%Y", "%m/%d/%Y %H:%M", "%m/%d/%Y %H:%M:%S", "%m/%d/%Y %I:%M %p", "%m/%d/%y"),
    *("%d/%m/%Y", "%d/%m/%Y %H:%M", "%d/%m/%Y %H:%M:%S", "%d/%m/%y", "%d-%m-%Y"),
    *("%b %d, %Y %I:%M %p", "%b %d, %Y", "%B %d, %Y", "%d %b %Y", "%d %B %Y", "%b %d %Y"),
    *("%a, %d %b %Y %H:%M:%S %z", "%Y年%m月%d日"),
)


def is_missing(value: object) -> bool:
    """Whether a cell says nothing."""
    return value is None or (isinstance(value, str) and value.strip().casefold() in _MISSING)


def is_measurable(value: float) -> bool:
    """Whether a number can be one that was measured; infinite ones cannot."""
    return abs(value) <= _MAX_NUMBER


class NumberFormat(NamedTuple):
    """How the numbers of a column are written."""

    decimal: str = "."
    """The sign before decimals where a number leaves that open; the other one groups thousands."""
    percent: bool = False
    mixed: bool = False
    """Whether the column has both signs before decimals, so that it does not settle what is open."""

    def read(self, value: object) -> float | None:
        """A number; None where the cell says nothing. Raises ValueError where it says something else."""
        if is_missing(value):
            return None
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ValueError(f"{value!r:.60} is no number")
        plain = _NOT_IN_NUMBERS.sub("", value) if isinstance(value, str) else str(value)
        plain = plain.replace("\u2212", "-")
        decimal = _find_decimal(plain) if isinstance(value, str) else "."
        if not decimal and isinstance(value, str):
            # Thousands of per cent are rarer than three decimals.
            if self.mixed or ("%" in value and self.decimal not in plain):
                either = f"{plain}0 or {re.sub('[.,]', '', plain)}"
                raise ValueError(f"{value!r:.60} can be read in two ways; write {either}")
            decimal = self.decimal
        if decimal == ",":
            plain = plain.translate(_SWAP)
        found = float(plain.replace(",", "")) if _NUMBER.fullmatch(plain) else inf
        if not is_measurable(found):
            raise ValueError(f"{value!r:.60} is no number")
        return found / 100 if self.percent else found

    def read_count(self, value: object) -> int | None:
        """A whole number; either sign may group thousands."""
        if isinstance(value, str):
            if not {"%", "‰"}.isdisjoint(value):
                raise ValueError(f"{value!r:.60} is no count")
            plain = _NOT_IN_NUMBERS.sub("", value)
            if _GROUPED.fullmatch(plain) and not plain.startswith("0"):
                value = plain.replace(",", "").replace(".", "")
        found = self._replace(percent=False).read(value)
        if found is None:
            return None
        if found < 0 or abs(found - round(found)) > 1e-6:
            raise ValueError(f"{value!r:.60} is no count")
        return round(found)


def guess_number_format(header: str, values: Sequence[object], *, commas: bool) -> NumberFormat:
    """How a column writes numbers, from some of them; `commas` where decimal commas are likely."""
    texts = [value for value in values if isinstance(value, str) and not is_missing(value)]
    votes: Counter[str] = Counter()
    for text in texts:
        if re.search("[.,]", text) and (sign := _find_decimal(text)):
            votes[sign] += 1
    decimal = max(votes, key=votes.__getitem__) if votes else "," if commas else "."
    plain = NumberFormat(decimal, mixed=len(votes) > 1)
    percent = "%" in header or any("%" in text for text in texts)
    if not percent and is_rate(header):
        percent = any((_try_read(plain, value) or 0) > 1 for value in values)
    return plain._replace(percent=percent)


def _find_decimal(text: str) -> str:
    """The sign that alone can stand before decimals in a number; empty where either can."""
    digits = re.sub(rf"{_EXPONENT}$|[^\d.,]", "", text)
    at = max(digits.rfind("."), digits.rfind(","))
    if at < 0:
        return "."
    last, other = digits[at], "," if digits[at] == "." else "."
    if other not in digits and digits.count(last) > 1:
        return other
    return "" if _GROUPED.fullmatch(digits) and digits[0] != "0" and other not in digits else last


def is_rate(name: str) -> bool:
    """Whether a column or metric is called a rate, which is never negative."""
    return bool(_RATE.search(name.casefold()))


def _try_read(form: NumberFormat, value: object) -> float | None:
    try:
        return form.read(value)
    except ValueError:
        return None


def guess_date_format(values: Sequence[object], *, day_first: bool) -> str:
    """The format in which a column's dates can all be read; empty for those that need none."""
    texts = [str(value).strip() for value in values if not is_missing(value)]
    formats = sorted(_FORMATS, key=lambda form: form.startswith("%m/")) if day_first else _FORMATS
    if not texts or all(_iso(text) or _week(text) for text in texts):
        return ""
    return max(formats, key=lambda form: sum(bool(_formatted(text, form)) for text in texts))


def read_date(value: object, form: str = "") -> str:
    """A date as YYYY-MM-DD, with hours and minutes where they are given; empty where there is none."""
    if is_missing(value):
        return ""
    if isinstance(value, datetime):
        return _written(value)
    if isinstance(value, date):
        return value.isoformat()
    text = str(value).strip()
    found = (_formatted(text, form) if form else "") or _iso(text) or _week(text) or _seconds(text)
    if not found:
        raise ValueError(f"{text!r:.60} is no date")
    return found


def _iso(text: str) -> str:
    if known := _YEAR_OR_MONTH.fullmatch(text):
        text = f"{known[1]}-{known[2] or '01'}-01"
    if text.isdigit():
        return ""
    try:
        return _written(datetime.fromisoformat(text), len(text) > 10)
    except ValueError:
        return ""


def _formatted(text: str, form: str) -> str:
    try:
        return _written(datetime.strptime(text, form), "%H" in form or "%I" in form)
    except ValueError:
        return ""


def _week(text: str) -> str:
    """Weeks as 2013-W05 or 201305: their first day, counted from the first of January."""
    found = _WEEK.fullmatch(text)
    if not found or not (1900 < int(found[1]) < 2200 and int(found[2]) <= 53):
        return ""
    weeks = timedelta(weeks=max(0, int(found[2]) - 1))
    return (date(int(found[1]), 1, 1) + weeks).isoformat()


def _seconds(text: str) -> str:
    """Seconds or milliseconds since 1970."""
    if not re.fullmatch(r"\d{10}(?:\d{3})?", text):
        return ""
    return _written(datetime.fromtimestamp(int(text[:10]), UTC))


def _written(moment: datetime, has_time: bool = True) -> str:
    if moment.tzinfo:
        try:
            moment = moment.astimezone(UTC).replace(tzinfo=None)
        except OverflowError:
            raise ValueError(f"{moment} is no date") from None
    return moment.isoformat(timespec="minutes") if has_time else moment.date().isoformat()


def read_period(when: str, period: str) -> str:
    """The month or week of a date, as 2025-03 or 2025-W10; empty where there is no date."""
    if not when or period == "month":
        return when[:7]
    year, week, _ = date.fromisoformat(when[:10]).isocalendar()
    return f"{year}-W{week:02}"


def is_earlier(one: str, other: str) -> bool:
    """Whether a date surely comes before another; two of one day do not, unless both have a time."""
    length = min(len(one), len(other))
    return bool(length) and one[:length] < other[:length]
