"""Tables of other people: which column is what, and how its letters, numbers and dates are written."""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from difflib import get_close_matches
from functools import lru_cache
from io import BytesIO
from itertools import filterfalse, islice
from math import inf
from typing import Any, Literal, NamedTuple

from msgspec import Struct

from autoreason.errors import InvalidInput

_ENCODINGS = ["cp1252", "gb18030", "big5hkscs", "cp932", "euc_jp", "cp949", "cp1251", "cp1256"]
"""What mail and campaign tools write."""
_SAMPLE = 1_000
"""Lines beyond ASCII from which an encoding is recognised."""
_LEAST = 80
"""Bytes beyond ASCII with which an encoding is recognised; measured: with half as many, one in forty is another."""
_MIN_SHARE = 0.8
"""Of signs beyond ASCII that must be whole for a text to be UTF-8, or usual for it to be Western."""
_RUN = re.compile(r"[^\x00-\x7f]+")
_MAX_RUN = 3
"""Signs beyond ASCII in a row, in languages that have few of them."""
_WESTERN = frozenset(
    "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝßàáâãäåæçèéêëìíîïñòóôõöøùúûüýÿŒœŠšŽžŸ€£°ºª«»¿¡§„“”‘’–—…•\u00a0"
)


def decode_text(data: bytes, named: str = "") -> tuple[str, str]:
    """The text of a file and its encoding, empty for UTF-8; `named` is that of files which are not."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace"), "utf-16"
    if b"\0" in data[:1000]:
        even, odd = data[:1000:2].count(0), data[1:1000:2].count(0)
        if max(even, odd) * 3 < len(data[:1000]):
            raise InvalidInput("it is a binary file; save a table as CSV, a text as .md")
        encoding = "utf-16-be" if even > odd else "utf-16-le"
        return data.decode(encoding, "replace"), encoding
    try:
        return data.decode("utf-8-sig"), ""
    except UnicodeDecodeError:
        encoding = named or _recognise(data)
    try:
        # Where UTF-8 is damaged, in a line that a full disk has cut, the rest can be read.
        errors = "replace" if encoding == "utf-8" else "strict"
        return data.decode(encoding, errors), encoding
    except (LookupError, ValueError):
        raise InvalidInput(f"it is neither UTF-8 nor {encoding!r:.60}; {_REMEDY}") from None


_REMEDY = 'name its encoding in kb.toml, such as encoding = "gbk"'


def _recognise(data: bytes) -> str:
    """The encoding in which a text reads best; refused where several are equally good."""
    from charset_normalizer import from_bytes

    lines = islice((line for line in BytesIO(data) if not line.isascii()), _SAMPLE)
    sample = b"".join(lines)
    signs = "".join(_RUN.findall(sample.decode("utf-8", "replace")))
    if signs.count("\ufffd") <= (1 - _MIN_SHARE) * len(signs):
        return "utf-8"
    # One letter or two between Latin ones say little, and Chinese is not written so.
    runs = _RUN.findall(sample.decode("cp1252", "replace"))
    usual = sum(sign in _WESTERN for run in runs if len(run) <= _MAX_RUN for sign in run)
    if usual >= _MIN_SHARE * sum(map(len, runs)):
        return "cp1252"
    found = from_bytes(sample, cp_isolation=_ENCODINGS)
    best = [each.encoding for each in found if each.chaos <= found[0].chaos]
    if len(best) == 1 and sum(byte > 127 for byte in sample) >= _LEAST:
        return best[0]
    perhaps = f" (it may be {' or '.join(best)})" if best else ""
    raise InvalidInput(f"it is not UTF-8, and its encoding is not recognised{perhaps}; {_REMEDY}")


_MISSING = frozenset({"", "-", "–", "—", "n/a", "na", "nan", "null", "none", "#n/a", "#div/0!"})
_MISSING |= {"k. a.", "k.a.", "n. v.", "n.a.", "n. a.", "n/d", "s/d", "--", "?", "#ref!", "#wert!"}
_EXPONENT = r"(?:[eE][+-]?\d+)"
_NUMBER = re.compile(rf"[+-]?(?:\d+|\d{{1,3}}(?:,\d{{2,3}})*,\d{{3}})(?:\.\d*)?{_EXPONENT}?")
"""With a point before decimals; thousands may be grouped, as in India also hundreds of them."""
_GROUPED = re.compile(r"\d{1,3}(?:[.,]\d{3})+")
_SWAP = str.maketrans(".,", ",.")
_NOT_IN_NUMBERS = re.compile(r"[\s\u00a0\u202f'’_%‰€$£¥+]")
_RATE = re.compile(r"rate|ctr|percent|prozent|porcent|taxa|tasa|taux|quote|anteil")
PERIODS = ("month", "week", "day")
_MAX_NUMBER = 10**15
"""Nothing that is measured is more; squares of what is more are not numbers."""
_WEEK = re.compile(r"(\d{4})(?:-?[wW])?(\d{2})")
_YEAR_OR_MONTH = re.compile(r"(\d{4})(?:-(\d{2}))?")
_MONTH_FIRST, _DAY_FIRST = "%m/", "%d/"
_WRITTEN = (
    "%Y/%m/%d|%Y/%m/%d %H:%M|%Y/%m/%d %H:%M:%S|%Y.%m.%d|%Y-%m-%d|%Y%m%d|%Y年%m月%d日|"
    "%d.%m.%Y|%d.%m.%Y %H:%M|%d.%m.%Y %H:%M:%S|%d.%m.%y|%d. %m. %Y|%d-%m-%Y|"
    "%m/%d/%Y|%m/%d/%Y %H:%M|%m/%d/%Y %H:%M:%S|%m/%d/%Y %I:%M %p|%m/%d/%y|"
    "%d/%m/%Y|%d/%m/%Y %H:%M|%d/%m/%Y %H:%M:%S|%d/%m/%y|%b %d, %Y|%b %d, %Y %I:%M %p|%b %d %Y|%d %b %Y|%d %b %y|"
    "%d-%b-%Y|%d-%b-%y|%d. %b %Y|%d. %b %y|%d.%b %Y|%d. %b %Y %H:%M|%d. %b %Y, %H:%M|%d %b %Y %H:%M:%S %z"
)
_FORMATS = _WRITTEN.split("|")
_MONTHS = "jan|jän|feb|mar|mär|mrz|apr|mai|may|jun|jul|aug|sep|okt|oct|nov|dez|dec"
_MONTH = re.compile(rf"(?<![^\W\d_])({_MONTHS})[^\W\d_]*\.?", re.IGNORECASE)
_GERMAN = {"jän": "jan", "mär": "mar", "mrz": "mar", "mai": "may", "okt": "oct", "dez": "dec"}
_AROUND = re.compile(r"^[^\W\d_]{2,10}(?:,|\.,?)\s+|\s+(?:Uhr|h)$")
"""The day of the week before a date, and what follows a time."""
_SIGNS_OF_DATES = re.compile("[/.,:年]")
"""By which the few formats are found that can fit a text: to try all of them takes long."""


def is_missing(value: object) -> bool:
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
            raise ValueError(f"{value!r:.60} is not a number")
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
            raise ValueError(f"{value!r:.60} is not a number")
        return found / 100 if self.percent else found

    def read_count(self, value: object) -> int | None:
        """A whole number; either sign may group thousands."""
        if isinstance(value, str):
            if not {"%", "‰"}.isdisjoint(value):
                raise ValueError(f"{value!r:.60} is not a count")
            plain = _NOT_IN_NUMBERS.sub("", value)
            if _GROUPED.fullmatch(plain) and not plain.startswith("0"):
                value = plain.replace(",", "").replace(".", "")
        found = self._replace(percent=False).read(value)
        if found is None:
            return None
        if found < 0 or abs(found - round(found)) > 1e-6:
            raise ValueError(f"{value!r:.60} is not a count")
        return round(found)


def guess_number_format(header: str, values: Sequence[object], *, commas: bool) -> NumberFormat:
    """How a column writes numbers, from some of them; `commas` where decimal commas are likely."""
    texts = [value for value in values if isinstance(value, str) and not is_missing(value)]
    signed = (text for text in texts if re.search("[.,]", text))
    votes = Counter(filter(None, map(_find_decimal, signed)))
    decimal = max(votes, key=votes.__getitem__) if votes else "," if commas else "."
    plain = NumberFormat(decimal, mixed=len(votes) > 1)
    percent = "%" in header or any("%" in text for text in texts)
    if not percent and is_rate(header):
        for value in values:
            with suppress(ValueError):
                percent |= (plain.read(value) or 0) > 1
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


def guess_day_first(values: Sequence[object], *, likely: bool) -> bool | None:
    """Whether dates such as 3/1/2024 begin with the day, as their column shows, or `likely`; None where it is open."""
    texts = [str(value).strip() for value in values if not is_missing(value)]
    orders = {_DAY_FIRST, _MONTH_FIRST}
    forms = [orders & {form[:3] for form in _find_formats(text)} for text in texts]
    day, month = {_DAY_FIRST} in forms, {_MONTH_FIRST} in forms
    if day or month:
        return None if day and month else day
    # A column that is written in several ways has several authors.
    return likely if all(forms) else None


def read_date(value: object, day_first: bool | None = None) -> str:
    """A date as YYYY-MM-DD, with hours and minutes where they are given; empty where there is none."""
    if is_missing(value):
        return ""
    if isinstance(value, datetime):
        return _written(value)
    if isinstance(value, date):
        return value.isoformat()
    text = str(value).strip()
    if found := _iso(text) or _week(text):
        return found
    if re.fullmatch(r"\d{10}(?:\d{3})?", text):
        # Seconds or milliseconds since 1970.
        return _written(datetime.fromtimestamp(int(text[:10]), UTC))
    left_out = "" if day_first is None else _MONTH_FIRST if day_first else _DAY_FIRST
    dates = {day for form, day in _find_formats(text).items() if form[:3] != left_out}
    if len(dates) > 1:
        raise ValueError(f"{text!r:.60} can be {' or '.join(sorted(dates))}; write one of these")
    if not dates:
        raise ValueError(f"{text!r:.60} is not a date")
    return dates.pop()


def _iso(text: str) -> str:
    if known := _YEAR_OR_MONTH.fullmatch(text):
        text = f"{known[1]}-{known[2] or '01'}-01"
    if text.isdigit():
        return ""
    try:
        return _written(datetime.fromisoformat(text), len(text) > 10)
    except ValueError:
        return ""


@lru_cache(10_000)
def _find_formats(text: str) -> dict[str, str]:
    """The formats by which a text is a date, and what it is by each."""
    month = _MONTH.sub(lambda each: _GERMAN.get(name := each[1].casefold(), name), text)
    text = text if month == text else _AROUND.sub("", month)
    found, signs = {}, _SIGNS_OF_DATES.findall(text)
    for form in _FORMATS:
        if _SIGNS_OF_DATES.findall(form) == signs:
            with suppress(ValueError):
                moment = datetime.strptime(text, form)
                found[form] = _written(moment, "%H" in form or "%I" in form)
    return found


def _week(text: str) -> str:
    """Weeks as 2013-W05 or 201305: their first day, counted from the first of January."""
    found = _WEEK.fullmatch(text)
    if not found or not (1900 < int(found[1]) < 2200 and int(found[2]) <= 53):
        return ""
    weeks = timedelta(weeks=max(0, int(found[2]) - 1))
    return (date(int(found[1]), 1, 1) + weeks).isoformat()


def _written(moment: datetime, has_time: bool = True) -> str:
    if moment.tzinfo:
        try:
            moment = moment.astimezone(UTC).replace(tzinfo=None)
        except OverflowError:
            raise ValueError(f"{moment} is not a date") from None
    return moment.isoformat(timespec="minutes") if has_time else moment.date().isoformat()


def read_period(when: str, period: str) -> str:
    """The month, week or day of a date, as 2025-03, 2025-W10 or 2025-03-04; empty where there is no date."""
    if not when or period != "week":
        return when[: 7 if period == "month" else 10]
    year, week, _ = date.fromisoformat(when[:10]).isocalendar()
    return f"{year}-W{week:02}"


def is_earlier(one: str, other: str) -> bool:
    """Whether a date surely comes before another; two of one day do not, unless both have a time."""
    length = min(len(one), len(other))
    return bool(length) and one[:length] < other[:length]


_NUMERIC = re.compile(r"[\s\u00a0\d.,'’%+eE-]+")
_DATES = 50
_ROUNDED = 0.006
"""Rates are written in whole per cent, or more precisely."""
_YES, _NO = (
    frozenset(words.split())
    for words in (
        "approved accepted approve accept yes y true 1 good published sim ja si oui",
        "rejected declined reject decline no n false 0 bad nao nein non",
    )
)


class Columns(Struct, frozen=True, forbid_unknown_fields=True):
    """Which column is what, by its name; empty where there is none. Some may also be the value itself."""

    text: str = ""
    value: str = ""
    """A rate or another number; where there are `count` and `n`, for lines in which they are missing."""
    count: str = ""
    """How many opened, clicked or bought."""
    n: str = ""
    se: str = ""
    group: str | tuple[str, ...] = ""
    """Also several; `month`, `week` and `day` are those of the date where no column has the name."""
    when: str = ""
    audience: str = ""
    verdict: str = ""
    score: str = ""
    pair: str = ""
    private: str = ""
    note: str = ""
    metric: str = ""
    better: str = ""
    chosen: str = ""
    encoding: str = ""
    """No column: what the table is encoded in where it is not UTF-8."""

    def named(self) -> dict[str, Any]:
        return {name: column for name in self.__struct_fields__ if (column := getattr(self, name))}

    def shown(self) -> dict[str, str]:
        group = {"group": " and ".join(self.group_parts)} if self.group else {}
        return {**self.named(), **group}

    @property
    def group_parts(self) -> tuple[str, ...]:
        return tuple(filter(None, [self.group] if isinstance(self.group, str) else self.group))


_CONSTANTS = ("metric", "better", "chosen")
_LISTS = "list*, liste*, audience*, segment*, newsletter, zielgruppe*, verteiler*, publico*"
_METRICS = {
    "open rate": "open*, offnung*, geoffnet*, apertur*, abiert*, abert*, ouvert*, 打开数, 開封数",
    "click rate": "click*, klick*, geklickt*, clic*, cliq*, ctr, 点击数",
    "conversion rate": "conver*, konver*, purchas*, signup*, successes",
}
"""What readers do, the preferred first; a column counts it or, where its name says so, is the rate itself."""
_WORDS = {
    "text": "text, subject line, email subject, subject, subject*, betreff*, asunto*, assunto*, objet*, sujet*, "
    "标题, 主题, 件名, headline*, uberschrift*, titular*, message, ad copy, copy, body, content, titel, titulo, titre, "
    "title, description, name",
    "n": "n, sample size, impress*, einblendung*, delivered, deliver*, zugestellt*, entreg*, delivr*, livr*, 送达数, "
    "sent, sends, emails sent, total sent, versendet*, versandt*, verschickt*, gesendet*, enviad*, envoy*, 发送数, "
    "配信数, recipient*, empfang*, destinat*, visitors, views, sessions, users",
    "rate": "rate, quote, result",
    "se": "se, standard error, stderr, std error",
    "group": "group, gruppe, grupo, groupe, test, test id, test name, testname, test nr, ab test, a b test, "
    "experiment, experiment id, experiment name, mailing*, aussendung*, ausgabe*, edition*, topic, "
    f"prompt, campaign, campaign name, campaign id, campanha, kampagne, kampagnenname, campana, campagne, {_LISTS}",
    "when": "when, send* date*, sent*, send time, versand*, versendet*, verschickt*, gesendet*, envoi*, envoy*, "
    "envio*, enviad*, publish*, date, date*, datum*, fecha*, data, data*, 日期, 日付, day, tag, week, woche, semaine, "
    "semana, month, monat, mois, mes, timestamp, zeitpunkt*, time, created at",
    "audience": _LISTS,
    "verdict": "verdict, decision, approved, status",
    "score": "score, rating, mark, nota",
    "private": "private, confidential",
    "note": "note, notes, comment, comments",
    "chosen": "chosen, how chosen",
}
"""What people and tools call columns, the likeliest first: a whole name, or, with stars, how words of it begin."""
_ABOUT_OTHERS = re.compile(
    r"\b(?:id|url|link|preview|vorschau|preheader|length|forwarded|weitergeleitet|not|nicht|no|non|nao|last|first|letzte|"
    r"erste|time|weekday|wochentag|type|status|cost|revenue|umsatz|modified|updated|mobile|desktop|bot|machine)\b"
)
_SEEN = "impress*, einblendung*, views, visitors, sessions, users"
"""What is clicked rather than opened."""


def plain_name(header: str) -> str:
    """A name as its words, without case and diacritics."""
    plain = unicodedata.normalize("NFKD", header.casefold())
    letters = plain if plain.isascii() else "".join(filterfalse(unicodedata.combining, plain))
    return " ".join(re.findall(r"[^\W_]+", letters))


def _find_phrase(header: str, phrases: str) -> int | None:
    """Which of some phrases a column is called by, the first that fits; None where none does."""
    name = plain_name(header)
    about_others = _ABOUT_OTHERS.search(name)

    def fits(phrase: str) -> bool:
        if "*" not in phrase:
            return name == phrase
        # German makes one word of several: a long stem may be anywhere in one.
        return not about_others and all(
            re.search(stem if len(stem) > 4 else rf"\b{stem}", name)
            for stem in phrase.replace("*", "").split()
        )

    return next((at for at, phrase in enumerate(phrases.split(", ")) if fits(phrase)), None)


def is_known(header: str) -> bool:
    """Whether a column can be called so."""
    return any(_find_phrase(header, e) is not None for e in (*_WORDS.values(), *_METRICS.values()))


@lru_cache(1000)
def find_metric(header: str) -> str:
    """What a column is about: `open rate`, `click rate`, `conversion rate`; empty where that is none or several."""
    found = [name for name, words in _METRICS.items() if _find_phrase(header, words) is not None]
    return found[0] if len(found) == 1 else ""


def read_verdict(value: object) -> Literal["approved", "rejected"] | None:
    """What a cell decides; None where that is nothing."""
    said = plain_name(str(value))
    return "approved" if said in _YES else "rejected" if said in _NO else None


class ColumnGuess:
    """Which column is what, by the columns' names and by what is in them."""

    def __init__(self, sample: Sequence[Mapping[str, Any]], given: Columns) -> None:
        self._sample = sample
        self.headers = list(dict.fromkeys(key for cells in sample for key in cells))
        self._chosen = given.named()
        if self.headers:
            self._check(given)

    def _check(self, given: Columns) -> None:
        """Refuse columns that are not there; parts of a group may be any word that is not nearly one's name."""
        named = {plain_name(header): header for header in reversed(self.headers)}
        if given.group:
            parts = (named.get(plain_name(part), part) for part in given.group_parts)
            self._chosen["group"] = tuple(parts)
        for role, column in self._chosen.items():
            for part in column if role == "group" else [column]:
                near = get_close_matches(part, self.headers, 1, 0.8)
                free = part in PERIODS or not near if role == "group" else role in _CONSTANTS
                if part not in self.headers and not free and role != "encoding":
                    hint = f"; did you mean {near[0]!r}?" if near else ""
                    raise InvalidInput(f"no column {part!r}, which kb.toml names for {role}{hint}")

    def columns(self) -> Columns:
        texts = sorted(self._candidates("text"), key=self._has_numbers)
        self._choose("text", texts or self._longest_texts())
        self._choose_result()
        for role in ("verdict", "pair", "private", "note", *_CONSTANTS):
            self._choose(role, self._candidates(role))
        # 1, 2, 3 are weeks of some year, and 1254 is a count.
        dates = {each: [v for v in self._known(each) if len(str(v)) > 5] for each in self.headers}
        self._choose("when", (each for each in self._candidates("when") if _are_dates(dates[each])))
        # A column in which every row differs groups nothing.
        groups = ((each, list(map(str, self._known(each)))) for each in self._candidates("group"))
        self._choose("group", (each for each, known in groups if len({*known}) < len(known)))
        self._choose("audience", self._candidates("audience"))
        verdicts = self._known(self._chosen.get("verdict", ""))
        if len(list(filter(read_verdict, verdicts))) * 2 <= len(verdicts):
            self._chosen.pop("verdict", None)
        return Columns(**self._chosen)

    def _choose_result(self) -> None:
        self._choose("n", (each for each in self._numeric("n") if not _is_rate(each)))
        # A thing that is seen is clicked, a mail is opened.
        seen = _find_phrase(self._chosen.get("n", ""), _SEEN) is not None
        metrics = sorted(_METRICS, key=lambda each: seen and each == "open rate")

        def order(header: str) -> tuple[int, bool, bool, int]:
            """What counts each reader once comes first, then the shorter name."""
            name, metric = plain_name(header), metrics.index(find_metric(header))
            once = re.search("unique|eindeutig|unic", name)
            return metric, not once, "total" in name, len(name.split())

        known = [each for each in self._free() if find_metric(each) and self._has_numbers(each)]
        results = sorted(known, key=order)
        if "n" in self._chosen and "value" not in self._chosen:
            self._choose("count", (each for each in results if not _is_rate(each)))
        rates = list(filter(_is_rate, results))
        if "count" in self._chosen:
            metric = find_metric(self._chosen["count"])
            others = filter(self._is_quotient, self._numeric("rate") if "n" in self._chosen else ())
            self._choose("value", [*(r for r in rates if find_metric(r) == metric), *others])
        else:
            self._choose("value", [*self._numeric("value"), *rates, *self._numeric("rate")])
        for role in ("se", "score"):
            self._choose(role, self._numeric(role))

    def _is_quotient(self, header: str) -> bool:
        """Whether a rate that is not called by what it is of is the count over n, by lines that have all three."""
        form, agree = guess_number_format(header, self._known(header), commas=False), []
        for cells in self._sample:
            with suppress(ValueError):
                counts = (cells.get(self._chosen[role]) for role in ("count", "n"))
                (hits, n), rate = map(form.read_count, counts), form.read(cells.get(header))
                if hits is not None and n and rate is not None:
                    agree.append(abs(hits / n - rate) < _ROUNDED)
        return sum(agree) * 2 > len(agree)

    def _choose(self, role: str, among: Iterable[str]) -> None:
        for first in islice(among, 1):
            self._chosen.setdefault(role, first)

    def _free(self) -> list[str]:
        taken = [column for other, column in self._chosen.items() if other != "audience"]
        return [each for each in self.headers if each not in taken]

    def _candidates(self, role: str) -> list[str]:
        phrases = _WORDS.get(role, role)
        found = [(_find_phrase(each, phrases), len(each.split()), each) for each in self._free()]
        fitting = [(at, words, each) for at, words, each in found if at is not None]
        return [each for *_, each in sorted(fitting, key=lambda each: each[:2])]

    def _numeric(self, role: str) -> list[str]:
        return list(filter(self._has_numbers, self._candidates(role)))

    def _known(self, header: str) -> list[Any]:
        values = (cells.get(header) for cells in self._sample)
        return [value for value in values if not is_missing(value)]

    def _has_numbers(self, header: str) -> bool:
        values = self._known(header)
        numbers = [each for each in values if not isinstance(each, str) or _NUMERIC.fullmatch(each)]
        signs = [each for each in values if isinstance(each, str) and not each.strip().isdigit()]
        return len(numbers) * 2 > len(values) and not _are_dates(signs)

    def _longest_texts(self) -> list[str]:
        """Columns of words by their length, the longest first."""
        texts = [each for each in self.headers if not self._has_numbers(each)]
        return sorted(texts, key=lambda each: -sum(len(str(value)) for value in self._known(each)))


def _is_rate(header: str) -> bool:
    return is_rate(header) or "%" in header


def _are_dates(values: Sequence[object]) -> bool:
    dates = 0
    for each in values[:_DATES]:
        with suppress(ValueError):
            dates += bool(_find_formats(str(each).strip()) or read_date(each))
    return dates * 2 > len(values[:_DATES])
