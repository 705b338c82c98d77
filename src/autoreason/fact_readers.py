"""How each kind of fact is read: patterns, and the normal forms of what they find."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
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
_SPACE = "[ \u00a0\u202f\u2009]"
_YEAR = r"(?P<y>[12]\d{3})(?!\d)"
_MONTH = rf"(?i:(?P<m>{_any_of(_MONTHS)}))\b(?:\.(?=,?\s\d))?"
_NTH = r"(?:st|nd|rd|th|er|\.|º|°)?"
_TO = rf"(?:{_SPACE}?[-–]{_SPACE}?|{_SPACE}(?:bis|to|and|und|au|al|et|y|e){_SPACE}(?:zum )?)"
_DATES = [
    re.compile(pattern)
    for pattern in (
        r"(?<![\w.,/-])(?P<y>(?:19|20)\d\d)-(?P<m>0[1-9]|1[0-2])(?:-(?P<d>[0-3]\d))?(?![\d-])",
        r"(?<![\w.,/-])(?P<d>[0-3]?\d)(?P<s>[./])(?P<m>[01]?\d)(?P=s)(?P<y>(?:19|20)?\d\d)(?![\w/]|\.\d)",
        r"(?<![\w.,/-])(?P<d>[0-3]\d)(?:(?P<s>/)(?P<m>[01]\d)|\.(?P<n>[01]\d)\.)(?![\w/.])",
        r"(?i:\b(?:am|vom|bis|zum|ab|dem|den) )(?P<d>[0-3]?\d)\.(?P<m>[01]?\d)\.(?!\w)",
        rf"(?<![\w.,/:-])(?:(?P<d0>[0-3]?\d){_NTH}{_TO})?(?P<d>[0-3]?\d){_NTH}{_SPACE}?(?:(?:of|de|di){_SPACE})?"
        rf"{_MONTH}(?:,?{_SPACE}(?:del?{_SPACE})?{_YEAR})?",
        rf"\b{_MONTH}{_SPACE}(?P<d>[0-3]?\d){_NTH}(?:{_TO}(?P<d0>[0-3]?\d))?(?![\w:%]|[.,]\d)(?:,?{_SPACE}{_YEAR})?",
        rf"\b{_MONTH},?{_SPACE}(?:del?{_SPACE})?{_YEAR}",
        rf"(?i:\b(?:in|by|of|until|since|from|im|ab|bis|seit|en|de|à|a|di|da|dal){_SPACE}){_MONTH}(?=\W)(?!['’-])",
    )
]
_WEEKDAY = re.compile(
    rf"\b(?P<day>(?i:{_any_of(_DAYS)})s?)\b(?P<dated>,?{_SPACE}(?:(?:the|den|dem|le|el|il){_SPACE})?{_MASK})?"
)
_TIME = re.compile(
    rf"(?<![\w.,:/])(?P<h>[01]?\d|2[0-4])(?:(?P<s>[:.]|{_SPACE}?h{_SPACE}?)(?P<m>[0-5]\d)(?::[0-5]\d)?)?"
    rf"(?:{_SPACE}?(?P<half>(?i:[ap]\.?m\b\.?))|{_SPACE}?(?P<clock>Uhr|h|o['’]clock)\b)?(?![\w:]|[.,]\d)"
)
_AT = re.compile(r"\b(?:um|ab|bis|ore|alle|dalle|las)\s\Z", re.I)
_CODE_BLOCK = re.compile(r"^ {0,3}(```|~~~)[^\n]*\n?(.*?)(?:^ {0,3}\1|\Z)", re.M | re.S)
_CODE = re.compile(
    r"(?<!`)(`{1,2})(?P<span>[^`\n]{1,300})\1(?!`)"
    r"|(?<![\w-])--[a-zA-Z][\w-]{1,40}"
    r"|(?<![\w./~:-])(?:~|\.{1,2})?/(?:[\w.-]{1,80}/){0,20}[\w.-]{1,80}(?<![.-])(?=[\s,.;:)\]\"'”]|\Z)"
    r"|(?<![\w./:-])(?:[\w-]{1,80}/){0,20}[\w-]{1,80}\.(?:py|txt|md|json|ya?ml|toml|csv|pdf|docx?|xlsx?|odt|sh|cfg|ini|log"
    r"|html?|js|ts|c|h|cpp|rs|go|java|sql|xml|zip|gz|png|jpe?g|svg)\b(?![\w/])"
    r"|(?<![\w.])(?!\d{1,3}(?:\.\d{3})+(?![\d.])|\d\d?\.\d\d?\.(?:19|20)\d\d(?!\d)|\d\d\.\d\d\.\d\d(?![\d.]))v?\d{1,4}(?:\.\d{1,5}){2,4}"
    r"(?:[-+]?(?:rc|alpha|beta|a|b)\.?\d*)?(?!\w|\.\d)"
    r"|(?<![\w.])v\d{1,4}(?:\.\d{1,5})?(?!\w|\.\d)|(?<![\w-])[^\W_]+(?:_[^\W_]+)++(?!\w)"
)
_LINK = re.compile(
    r"(?i)(?:\bhttps?://|\bwww\.)[^\s<>\"“”„«»`|\0]+|(?<![\w.+-])[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,5}[a-z]{2,12}\b"
    r"|(?<![\w.@/-])(?:[a-z\d-]{1,63}\.){1,4}"
    r"(?:[a-z]{2,12}/[\w./?&=%#-]+|(?:com|org|net|edu|gov|eu|info|io|dev|de|fr|es|it|uk|ch|at)\b)"
)
_NO_FACT = re.compile(
    r"^[ \t>#*_|-]*\(?\d{1,3}(?:\.\d{1,3})*[.):](?=[\s*_])|^#+[ \t]*[*_]*\d{1,3}(?:\.\d{1,3})*\b|\[\^?\d{1,3}\]"
    rf"|\b(?i:{re.sub(r' *', '', _TABLES['parts'])}){_SPACE}#?\d{{1,3}}\b",
    re.M,
)
_QUOTE = re.compile(
    r"“[^“”\n]{1,600}”|„[^„“”\n]{1,600}[“”]|(?<![^\s(\['’])(?:«[^«»\n]{1,600}»|»(?=\w)[^«»\n]{1,600}(?<=\S)«)|\u2039[^\u2039\u203a\n]{1,600}\u203a|\u203a[^\u2039\u203a\n]{1,600}\u2039"
    r"|「[^「」\n]{1,600}」|(?<!\w)\"(?=\S)[^\"\n]{1,600}\"(?!\w)|(?<!\w)['‘](?=\S)[^'‘’\n]{1,600}['’](?!\w)"
)
_UPPER = "A-ZÀ-ÖØ-ÞŁŚŠŽŻČĆĐŘŞŰŹ"
_CAPITAL = rf"(?:(?:{_TABLES['titles']}|[A-Z])\.|[{_UPPER}][\w&]*(?:[-'’][{_UPPER}][\w&]*)*)"
_NAME = re.compile(
    rf"(?<![\w'’.-]){_CAPITAL}(?:{_SPACE}(?:(?:de|del|della|di|du|von|van|der|of|da){_SPACE}){{0,2}}{_CAPITAL}){{0,5}}"
)
_TITLED = re.compile(rf"(?:{_TABLES['titles']}|[A-Z])\.|(?:Herrn?|Frau)\b")
_START = re.compile(r"(?:\A|[\n.!?:;…|>#*•(\[\"“„«»'‘—–\0/]|(?:^|\s)[-+])[\s*_\"“„«'‘(]*\Z")
"""What stands before a word that has a capital wherever it comes from."""
_NOT_NAMED = re.compile(r"^#.*|^[ \t]*\|.*|^[ \t\d.)*+>\0-]*\*\*[^*\n]{1,80}\*\*:?", re.M)
_PRODUCT = re.compile(
    r"(?<![\w-])(?!(?:EUR|USD|GBP|CHF|JPY)\d)(?:[A-Z][A-Za-z]*\d|[A-Z]{1,20}-[A-Z]{0,20}\d)(?:[\w-]*\w)?"
)
_INNER = re.compile(rf"[\w&]*[a-z\d&][{_UPPER}]|[{_UPPER}&]{{4,}}\Z")
"""A name by its form: `GitHub`, `NASA`."""


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
    blocks = list(_CODE_BLOCK.finditer(rest))
    for block in blocks:
        yield "code", *block.span(), ""
        for line in re.finditer(r"\S[^\n]*", block[2]):
            start, end = (block.start(2) + place for place in line.span())
            yield "code", start, end, " ".join(code_tokens(line[0]))
    for found in _CODE.finditer(_masked(rest, [block.span() for block in blocks])):
        yield "code", *found.span(), " ".join(code_tokens(found["span"] or found[0]))


def _links(rest: str, _: str) -> Iterator[_Found]:
    for found in _LINK.finditer(rest):
        link = found[0].rstrip(".,;:!?'*_’")
        link = link if "(" in link else link.partition(")")[0]
        host, slash, path = re.sub(r"(?i)^(?:https?://)?(?:www\.)?", "", link).partition("/")
        value = f"{host.casefold()}{slash}{path}".rstrip("/")
        yield "links", found.start(), found.start() + len(link), value


def _dates(rest: str, language: str) -> Iterator[_Found]:
    for pattern in _DATES:
        taken: list[_Found] = []
        for found in pattern.finditer(rest):
            parts = dict.fromkeys(("d", "y", "d0", "s", "n")) | found.groupdict()
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
    for found in _WEEKDAY.finditer(rest):
        name = found["day"].casefold()
        # Beside its date it adds nothing.
        value = "" if found["dated"] else _DAYS.get(name) or _DAYS[name[:-1]]
        yield "dates", *found.span("day"), value


def _times(rest: str, language: str) -> Iterator[_Found]:
    for found in _TIME.finditer(rest):
        hour, sign, clock = int(found["h"]), found["s"], found["half"] or found["clock"]
        if not sign and (not clock or (clock == "h" and language != "fr")):
            continue
        if (
            sign == "."
            and not clock
            and not _AT.search(rest[max(found.start() - 7, 0) : found.start()])
        ):
            continue
        if half := found["half"]:
            hour = hour % 12 + (12 if half[0] in "pP" else 0)
        unsure = "?" if language == "en" and not half and 1 <= hour <= 12 else ""
        yield "dates", *found.span(), f"{hour:02}:{found['m'] or '00'}{unsure}"


def _parts(rest: str, _: str) -> Iterator[_Found]:
    return (("numbers", *found.span(), "") for found in _NO_FACT.finditer(rest))


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
    bare = re.sub(rf"{_SPACE}|['’]", "", digits)
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
    money, units = ("|".join(_TABLES[key].values()) for key in ("currencies", "units"))
    return {word: str(value) for word, value in numerals.items()}, re.compile(
        rf"(?<![\w.,/:])(?<![^\W\d_]-)(?P<sign>(?<![^\s(])[-\u2212])?"
        rf"(?P<before>(?:US\$|[$€£¥]|EUR|USD|GBP|CHF|JPY){_SPACE}?)?"
        rf"(?:(?P<digits>\d{{1,3}}(?:{_SPACE}\d{{3}})+(?!\d)(?:[.,]\d++)?|\d++(?:[.,]\d++|['’]\d{{3}})*+(?:/\d++)?)"
        rf"|(?P<word>(?i:{_any_of(numerals)}))(?!\w|-[^\W\d]))(?:,[-–]{{1,2}})?"
        rf"(?:{_SPACE}?(?P<scale>{_any_of(_SCALES)})\b\.?)?"
        rf"(?:[-{_SPACE[1:]}?(?:(?P<after>(?i:{money}))|(?P<unit>(?i:{units})))(?!\w))?(?![^\W\d_]|[.,]\d)"
    )


def _quotes(rest: str, _: str) -> Iterator[_Found]:
    for found in _QUOTE.finditer("" if rest.lstrip()[:1] in ("{", "[") else rest):
        # The strings of a JSON value are its text.
        real = len(found[0][1:-1].split()) > 2 or found[0][0] == "「"
        yield "quotes", *found.span(), "read" if real else ""


def _names(rest: str, language: str) -> Iterator[_Found]:
    rest = _NOT_NAMED.sub(lambda line: _MASK * len(line[0]), rest)
    for found in _PRODUCT.finditer(rest):
        yield "names", *found.span(), "-".join(map(stem, words_of(found[0])))
    common = set(re.findall(r"\b[^\W\d_]+", rest)) - set(re.findall(rf"\b[{_UPPER}]\w*", rest))
    for found in _NAME.finditer(rest):
        run = dropwhile(_no_name_part, re.finditer(_CAPITAL, found[0]))
        words = list(takewhile(lambda word: not _no_name_part(word), run))
        before = rest[max(found.start() - 12, 0) : found.start()]
        titled = _TITLED.match(found[0])
        if words and not titled and _START.search(before) and not _INNER.match(words[0][0]):
            words = words[1:]
        # German nouns have capitals too: two in a row are a name unless they are an amount of something.
        lonely = len(words) < 2 or before.strip()[-1:] == _MASK or re.search(" [a-z]", found[0])
        if language == "de" and not titled and lonely:
            words = [word for word in words if _INNER.match(word[0])]
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
