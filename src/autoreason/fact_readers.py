"""How each kind of fact is read: patterns, and the normal forms of what they find."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from functools import cache, lru_cache
from itertools import dropwhile, groupby, takewhile
from pathlib import Path
from typing import Any

from autoreason.facts import Fact, FactKind, code_tokens, stem, words_of

_Found = tuple[FactKind, int, int, str]
"""Kind, place and value of a fact; without a value, what is taken from the readers that follow."""
_TABLES: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("fact_words.toml").read_text(encoding="utf-8")
)
_MONTHS = {name: n for n, names in enumerate(_TABLES["months"], 1) for name in names.split()}
_DAYS = {name: names.split()[0] for names in _TABLES["days"] for name in names.split()}
_SCALES: dict[str, int] = _TABLES["scales"]
_NO_NAMES, _PRONOUNS = (frozenset(_TABLES[key].split()) for key in ("no_names", "pronouns"))


def _any_of(words: dict[str, str] | dict[str, int]) -> str:
    """A pattern for the words, the longest first, that soon gives up where none of them stands."""
    return "|".join(
        f"{head}(?:{'|'.join(sorted((each[1:] for each in group), key=len, reverse=True))})"
        for head, group in groupby(sorted(words), key=lambda each: each[:1])
    )


_MASK = "\0"
"""Stands for each character of what an earlier reader took."""
_INSERTS: dict[str, Any] = {
    **_TABLES["patterns"],
    **{key: "|".join(_TABLES[key].values()) for key in ("currencies", "units")},
    **{"months": _any_of(_MONTHS), "days": _any_of(_DAYS), "scales": _any_of(_SCALES)},
}


@cache
def _pattern(name: str, place: int | None = None, numerals: str = "") -> re.Pattern[str]:
    def insert(pattern: str) -> str:
        return re.sub("@([a-z]+)@", lambda each: insert(inserts[each[1]]), pattern)

    # Spaces count in tables, not in patterns.
    spaced = {key: _INSERTS[key].replace(" ", "[ ]") for key in ("currencies", "units")}
    inserts = _INSERTS | spaced | {"numerals": numerals.replace(" ", "[ ]")}
    return re.compile(insert(inserts[name] if place is None else inserts[name][place]), re.X)


def read_facts(text: str) -> Iterator[Fact]:
    language, rest = _language(text), text
    for reader in (_code, _links, _dates, _weekdays, _times, _parts, _numbers, _quotes, _names):
        found = list(reader(rest, language))
        for kind, start, end, value in found:
            if value:
                # Of a quotation, figures and names were taken before.
                value = " ".join(words_of(text[start:end])) if kind == "quotes" else value
                yield Fact(kind, text[start:end], value, start, end)
        rest = _masked(rest, [each[1:3] for each in found])


def _language(text: str) -> str:
    """The language most of whose common words stand in a text."""
    counts = Counter(re.findall(r"[^\W\d_]+", text[:20_000].casefold()))
    common: dict[str, str] = _TABLES["common"]
    return max(common, key=lambda each: sum(counts[word] for word in common[each].split()))


def _masked(text: str, spans: list[tuple[int, int]]) -> str:
    parts, end = [], 0
    for start, stop in sorted(spans):
        if stop > end:
            parts += [text[end:start], _MASK * (stop - max(start, end))]
            end = stop
    return "".join([*parts, text[end:]])


def _code(rest: str, _: str) -> Iterator[_Found]:
    blocks = list(_pattern("code_block").finditer(rest))
    for block in blocks:
        yield "code", *block.span(), ""
        for line in re.finditer(r"\S[^\n]*", block[2]):
            start, end = (block.start(2) + place for place in line.span())
            yield "code", start, end, " ".join(code_tokens(line[0]))
    for found in _pattern("code").finditer(_masked(rest, [block.span() for block in blocks])):
        yield "code", *found.span(), " ".join(code_tokens(found["span"] or found[0]))


def _links(rest: str, _: str) -> Iterator[_Found]:
    for found in _pattern("link").finditer(rest):
        link = found[0].rstrip(".,;:!?'*_’")
        link = link if "(" in link else link.partition(")")[0]
        host, slash, path = re.sub(r"(?i)^(?:https?://)?(?:www\.)?", "", link).partition("/")
        value = f"{host.casefold()}{slash}{path}".rstrip("/")
        yield "links", found.start(), found.start() + len(link), value


def _dates(rest: str, language: str) -> Iterator[_Found]:
    for pattern in (_pattern("dates", place) for place in range(len(_INSERTS["dates"]))):
        taken: list[_Found] = []
        for found in pattern.finditer(rest):
            parts = dict.fromkeys(("d", "m", "n", "y", "d0", "s")) | found.groupdict()
            if value := _date(parts, language):
                place = found.span(0 if parts["d"] or parts["y"] else "m")
                taken.append(("dates", *place, value))
                if parts["d0"]:
                    first = f"{value.rpartition('-')[0]}-{int(parts['d0']):02}"
                    yield "dates", *found.span("d0"), first
        yield from taken
        rest = _masked(rest, [each[1:3] for each in taken])


def _date(parts: dict[str, str | None], language: str) -> str:
    """A date as year, month and day, as far as it has them; nothing if it cannot be one."""
    year, month, day, sign = parts["y"], parts["m"] or parts["n"] or "", parts["d"], parts["s"]
    if (sign or parts["n"]) and not year and language == "en":
        return ""
    if not month.isdigit():
        if month.islower() and language in ("en", "de"):
            return ""
        month = str(_MONTHS[month.casefold()])
    english = bool(sign == "/" and language == "en" and day)
    if english and int(month) > 12:
        month, day = day or "", month
    if not 1 <= int(month) <= 12 or (day and not 1 <= int(day) <= 31):
        return ""
    # 03/04/2025 is in March or in April.
    either = "?" if english and int(day or 0) < 13 and day != month else ""
    year = f"20{year}" if year and len(year) == 2 else year or "-"
    return f"{year}-{int(month):02}" + (f"-{int(day):02}{either}" if day else "")


def _weekdays(rest: str, _: str) -> Iterator[_Found]:
    for found in _pattern("weekday").finditer(rest):
        name = found["day"].casefold()
        # Beside its date it adds nothing.
        value = "" if found["dated"] else _DAYS.get(name) or _DAYS[name[:-1]]
        yield "dates", *found.span("day"), value


def _times(rest: str, language: str) -> Iterator[_Found]:
    for found in _pattern("time").finditer(rest):
        hour, sign, clock = int(found["h"]), found["s"], found["half"] or found["clock"]
        if not sign and (not clock or (clock == "h" and language != "fr")):
            continue
        if (
            sign == "."
            and not clock
            and not _pattern("at").search(rest[max(found.start() - 7, 0) : found.start()])
        ):
            continue
        if half := found["half"]:
            hour = hour % 12 + (12 if half[0] in "pP" else 0)
        unsure = "?" if language == "en" and not half and 1 <= hour <= 12 else ""
        yield "dates", *found.span(), f"{hour:02}:{found['m'] or '00'}{unsure}"


def _parts(rest: str, _: str) -> Iterator[_Found]:
    return (("numbers", *found.span(), "") for found in _pattern("part").finditer(rest))


def _numbers(rest: str, language: str) -> Iterator[_Found]:
    numerals, pattern = _number(language)
    for found in pattern.finditer(rest):
        word, currency = found["word"], found["before"] or found["after"]
        value = numerals[word.casefold()] if word else _plain(found["digits"])
        if value and (scale := found["scale"]) and "/" not in value:
            value = f"{Decimal(value).scaleb(_SCALES[scale]).normalize():f}"
        if not value:
            continue
        value = f"{'-' if found['sign'] else ''}{value}"
        if currency:
            yield "money", *found.span(), f"{value} {_canonical('currencies', currency.strip())}"
        elif found["unit"]:
            yield "numbers", *found.span(), f"{value} {_canonical('units', found['unit'])}"
        else:
            year = re.fullmatch(r"(?:19|20)\d\d", found[0])
            yield "dates" if year else "numbers", *found.span(), value


@lru_cache(256)
def _canonical(table: str, word: str) -> str:
    named: dict[str, str] = _TABLES[table]
    return next(name for name, words in named.items() if re.fullmatch(f"(?i:{words})", word))


@lru_cache(1024)
def _plain(digits: str) -> str:
    """A number without its grouping: what could be thousands is read as that, whatever the language."""
    bare = re.sub(r"[\s'’]", "", digits)
    if "/" in bare or len(bare) > 30:
        return bare
    if re.fullmatch(r"[1-9]\d{0,2}([.,])\d{3}(?:\1\d{3})*", bare):
        return re.sub(r"\D", "", bare)
    whole, point, part = bare.replace(",", ".").rpartition(".")
    if not re.fullmatch(r"\d*|[1-9]\d{0,2}(?:\.\d{3})+", whole):
        return ""
    return f"{Decimal(whole.replace('.', '') + point + part).normalize():f}"


@lru_cache(8)
def _number(language: str) -> tuple[dict[str, str], re.Pattern[str]]:
    """What a language's words for numbers mean, and how numbers look among them."""
    words, compound = _TABLES["numerals"][language].split(), _TABLES["compounds"][language]
    numerals = dict(zip(words, (*range(1, 21), *range(30, 100, 10), 100, 1000), strict=True))
    for ten in words[19:27]:
        for one in words[:9]:
            # ventuno, ventotto; veintidós is written without an accent by many.
            start = ten[:-1] if language == "it" and one[0] in "uo" else ten
            both = f"veinti{one}" if ten == "veinte" else compound.format(ten=start, one=one)
            numerals[both] = numerals[ten] + numerals[one]
    del numerals[words[0]]
    pattern = _pattern("number", numerals=_any_of(numerals))
    return {word: str(value) for word, value in numerals.items()}, pattern


def _quotes(rest: str, _: str) -> Iterator[_Found]:
    for found in _pattern("quote").finditer("" if rest.lstrip()[:1] in ("{", "[") else rest):
        # The strings of a JSON value are its text.
        real = len(found[0][1:-1].split()) > 2 or found[0][0] == "「"
        yield "quotes", *found.span(), "read" if real else ""


def _names(rest: str, language: str) -> Iterator[_Found]:
    rest = _pattern("not_named").sub(lambda line: _MASK * len(line[0]), rest)
    for found in _pattern("product").finditer(rest):
        yield "names", *found.span(), "-".join(map(stem, words_of(found[0])))
    common = set(re.findall(r"\b[^\W\d_]+", rest)) - set(
        re.findall(rf"\b[{_INSERTS['upper']}]\w*", rest)
    )
    for found in _pattern("name").finditer(rest):
        run = dropwhile(_no_name_part, _pattern("capital").finditer(found[0]))
        words = list(takewhile(lambda word: not _no_name_part(word), run))
        before = rest[max(found.start() - 12, 0) : found.start()]
        titled = _pattern("titled").match(found[0])
        if (
            words
            and not titled
            and _pattern("start").search(before)
            and not _pattern("inner").match(words[0][0])
        ):
            words = words[1:]
        # German nouns have capitals too: two in a row are a name unless they are an amount of something.
        lonely = len(words) < 2 or before.strip()[-1:] == _MASK or re.search(" [a-z]", found[0])
        if language == "de" and not titled and lonely:
            words = [word for word in words if _pattern("inner").match(word[0])]
        named = [word for word in words if _is_name(word[0], common)]
        if named:
            start, end = found.start() + words[0].start(), found.start() + words[-1].end()
            yield "names", start, end, "-".join(map(stem, words_of(named[-1][0])))


def _no_name_part(word: re.Match[str]) -> bool:
    return word[0].casefold() in _PRONOUNS


def _is_name(word: str, common: set[str]) -> bool:
    """Whether a word is neither short nor a title, nor also written small in the text."""
    low = word.casefold()
    return low not in _NO_NAMES and low not in common and len(word) > 2 + word.isupper()
