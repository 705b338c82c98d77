"""How each kind of fact is read: patterns, and the normal forms of what they find."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from decimal import Decimal
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal

FactKind = Literal["numbers", "dates", "money", "links", "quotes", "names", "code"]
Found = tuple[FactKind, int, int, str]
"""Kind, place and value of a fact; without a value, what is taken from the readers that follow."""
_MASK = "\0"
"""Stands for each character of what an earlier reader took."""
_TOKEN = re.compile(r"[^\s`\"'“”„’,;(){}\[\]<>|=/]+")


@cache
def _tables() -> dict[str, Any]:
    """The words and the patterns: few commands read facts, and none of the others waits for these."""
    import tomllib

    tables = tomllib.loads(Path(__file__).with_name("fact_words.toml").read_text("utf-8"))
    months = {name: n for n, names in enumerate(tables["months"], 1) for name in names.split()}
    days = {name: names.split()[0] for names in tables["days"] for name in names.split()}
    written = tables["currencies"] | tables["units"]
    words = {"months": months, "days": days, "scales": tables["scales"]}
    inserts = {name: _any_of(some) for name, some in words.items()}
    # Spaces count in tables, not in patterns.
    inserts |= {key: _any_of(tables[key].values()) for key in ("currencies", "units")}
    return {**tables, **words, "written": written, "inserts": tables["patterns"] | inserts}


def _any_of(words: Iterable[str]) -> str:
    return "|".join(sorted(words, key=len, reverse=True)).replace(" ", "[ ]")


@cache
def _pattern(name: str, place: int | None = None, numerals: str = "") -> re.Pattern[str]:
    def insert(pattern: str) -> str:
        return re.sub("@([a-z]+)@", lambda each: insert(inserts[each[1]]), pattern)

    inserts = _tables()["inserts"] | {"numerals": numerals}
    return re.compile(insert(inserts[name] if place is None else inserts[name][place]), re.X)


def words_of(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def code_tokens(text: str) -> list[str]:
    """What code is made of, without the signs of a language or of Markdown around it."""
    tokens = (each.strip("*_.:!?") for each in _TOKEN.findall(text.casefold()))
    return [each for each in tokens if any(map(str.isalnum, each))]


def stem(word: str) -> str:
    """A word without the ending of a plural or a possessive."""
    return word[:-1] if len(word) > 3 and word.endswith("s") else word


def read_facts(text: str) -> Iterator[Found]:
    """Every fact in a text, kind by kind."""
    language, rest = _language(text), text
    for reader in (_code, _links, _dates, _weekdays, _times, _parts, _numbers, _quotes, _names):
        found = list(reader(rest, language))
        for kind, start, end, value in found:
            if value:
                # Of a quotation, figures and names were taken before.
                value = " ".join(words_of(text[start:end])) if kind == "quotes" else value
                yield kind, start, end, value
        rest = _masked(rest, [each[1:3] for each in found])


def _language(text: str) -> str:
    """The language most of whose common words stand in a text."""
    counts = Counter(re.findall(r"[^\W\d_]+", text[:20_000].casefold()))
    common: dict[str, str] = _tables()["common"]
    return max(common, key=lambda each: sum(counts[word] for word in common[each].split()))


def _masked(text: str, spans: list[tuple[int, int]]) -> str:
    parts, end = [], 0
    for start, stop in sorted(spans):
        if stop > end:
            parts += [text[end:start], _MASK * (stop - max(start, end))]
            end = stop
    return "".join([*parts, text[end:]])


def _code(rest: str, _: str) -> Iterator[Found]:
    blocks = list(_pattern("code_block").finditer(rest))
    for block in blocks:
        yield "code", *block.span(), ""
        for line in re.finditer(r"\S[^\n]*", block[2]):
            start, end = (block.start(2) + place for place in line.span())
            yield "code", start, end, " ".join(code_tokens(line[0]))
    for found in _pattern("code").finditer(_masked(rest, [block.span() for block in blocks])):
        yield "code", *found.span(), " ".join(code_tokens(found["span"] or found[0]))


def _links(rest: str, _: str) -> Iterator[Found]:
    for found in _pattern("link").finditer(rest):
        link = found[0].rstrip(".,;:!?'*_’")
        link = link if "(" in link else link.partition(")")[0]
        host, slash, path = re.sub(r"(?i)^(?:https?://)?(?:www\.)?", "", link).partition("/")
        value = f"{host.casefold()}{slash}{path}".rstrip("/")
        yield "links", found.start(), found.start() + len(link), value


def _dates(rest: str, language: str) -> Iterator[Found]:
    for pattern in (
        _pattern("dates", place) for place in range(len(_tables()["patterns"]["dates"]))
    ):
        taken: list[Found] = []
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
        month = str(_tables()["months"][month.casefold()])
    english = bool(sign == "/" and language == "en" and day)
    if english and int(month) > 12:
        month, day = day or "", month
    if not 1 <= int(month) <= 12 or (day and not 1 <= int(day) <= 31):
        return ""
    # 03/04/2025 is in March or in April.
    either = "?" if english and int(day or 0) < 13 and day != month else ""
    year = f"20{year}" if year and len(year) == 2 else year or "-"
    return f"{year}-{int(month):02}" + (f"-{int(day):02}{either}" if day else "")


def _weekdays(rest: str, _: str) -> Iterator[Found]:
    days = _tables()["days"]
    for found in _pattern("weekday").finditer(rest):
        name = found["day"].casefold()
        # Beside its date it adds nothing.
        day = days.get(name) or days[name[:-1]]
        yield "dates", *found.span("day"), "" if found["dated"] else day


def _times(rest: str, language: str) -> Iterator[Found]:
    for found in _pattern("time").finditer(rest):
        hour, sign, half = int(found["h"]), found["s"], found["half"]
        clock = half or found["clock"]
        before = rest[max(found.start() - 7, 0) : found.start()]
        number = sign == "." and not clock and not _pattern("at").search(before)
        hours = clock == "h" and not sign and language != "fr"
        if number or hours or not (sign or clock):
            continue
        if half:
            hour = hour % 12 + (12 if half[0] in "pP" else 0)
        unsure = "?" if language == "en" and not half and 1 <= hour <= 12 else ""
        yield "dates", *found.span(), f"{hour:02}:{found['m'] or '00'}{unsure}"


def _parts(rest: str, _: str) -> Iterator[Found]:
    return (("numbers", *found.span(), "") for found in _pattern("part").finditer(rest))


def _numbers(rest: str, language: str) -> Iterator[Found]:
    words = [word.replace("_", " ") for word in _tables()["numerals"][language].split()]
    numerals = {word.casefold(): str(number) for number, word in enumerate(words, 2)}
    pattern = _pattern("number", numerals=_any_of(words))
    for found in pattern.finditer(rest):
        word, scale, currency = found["word"], found["scale"], found["before"] or found["after"]
        number = numerals[word.casefold()] if word else _plain(found["digits"])
        if number and scale and "/" not in number:
            number = f"{Decimal(number).scaleb(_tables()['scales'][scale]).normalize():f}"
        year = re.fullmatch(r"(?:19|20)\d\d", found[0])
        sign, tail = "-" if found["sign"] else "", _canonical(currency or found["unit"] or "")
        value = f"{sign}{number}{tail}" if number else ""
        yield "money" if currency else "dates" if year else "numbers", *found.span(), value


@cache
def _canonical(written: str) -> str:
    """A currency or a unit as values have it."""
    tables: dict[str, str] = _tables()["written"]
    same = (
        name for name, words in tables.items() if re.fullmatch(f"(?i:{words})", written.strip())
    )
    return f" {next(same)}" if written else ""


@lru_cache(1024)
def _plain(digits: str) -> str:
    """A number without its grouping: what could be thousands is read as that, whatever the language."""
    bare = re.sub(r"[\s'’]", "", digits)
    if "/" in bare or len(bare) > 28:
        return bare if "/" in bare else ""
    if re.fullmatch(r"[1-9]\d{0,2}([.,])\d{3}(?:\1\d{3})*", bare):
        return re.sub(r"\D", "", bare)
    whole, point, part = bare.replace(",", ".").rpartition(".")
    if not re.fullmatch(r"\d*|[1-9]\d{0,2}(?:\.\d{3})+", whole):
        return ""
    return f"{Decimal(whole.replace('.', '') + point + part).normalize():f}"


def _quotes(rest: str, _: str) -> Iterator[Found]:
    for found in _pattern("quote").finditer("" if rest.lstrip()[:1] in ("{", "[") else rest):
        # The strings of a JSON value are its text.
        real = len(found[0][1:-1].split()) > 2 or found[0][0] == "「"
        yield "quotes", *found.span(), "read" if real else ""


def _names(rest: str, language: str) -> Iterator[Found]:
    rest = _pattern("not_named").sub(lambda line: _MASK * len(line[0]), rest)
    products = list(_pattern("product").finditer(rest))
    for found in products:
        yield "names", *found.span(), "-".join(map(stem, words_of(found[0])))
    rest = _masked(rest, [found.span() for found in products])
    common = set(_tables()["no_names"].split()).union(
        filter(str.islower, re.findall(r"[^\W\d_]+", rest))
    )
    for found in _pattern("name").finditer(rest):
        words = list(_pattern("capital").finditer(found[0]))
        formed = [word for word in words if _pattern("inner").match(word[0])]
        if not _pattern("titled").match(found[0]):
            before = rest[max(found.start() - 12, 0) : found.start()]
            if _pattern("start").search(before) and words[0] not in formed:
                words = words[1:]
            # German nouns have capitals too: two in a row are a name unless they are an amount of something.
            lonely = (
                sum(len(word[0]) > 2 for word in words) < 2
                or before.strip()[-1:] == _MASK
                or re.search(" [a-z]", found[0])
            )
            words = formed if language == "de" and lonely else words
        named = [
            low
            for word in words
            if (low := word[0].casefold()) not in common and len(low) > 2 + word[0].isupper()
        ]
        if named:
            start, end = found.start() + words[0].start(), found.start() + words[-1].end()
            yield "names", start, end, "-".join(map(stem, words_of(named[-1])))
