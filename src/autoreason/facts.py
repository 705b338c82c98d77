"""Facts in texts, found and compared by code: what a rewrite loses, changes or invents."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import cache, lru_cache, partial
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

FactKind = Literal["money", "dates", "quotes", "links", "numbers", "names", "code"]
Kinds = Sequence[FactKind]
FACT_KINDS: tuple[FactKind, ...] = get_args(FactKind)
"""A wrong one of the first harms most."""
_MOST_READ = 500_000
"""Characters of a text that are read: few books have more."""
_FIGURES = ("numbers", "dates", "money")
_ROUND = (10**9, 10**6, 1000, 100)
_MOST_PAIRED, _REACH, _ALIKE = 150, 60, 0.6
"""Facts paired by what is around them, in how many characters on each side, and which share of words must be equal."""


class Fact(NamedTuple):
    """Something in a text that a person could check."""

    kind: FactKind
    text: str
    """As it is written."""
    value: str
    """Its normal form, which begins with what is always said: `14 d`, `03-04 2025`, `2:30 pm`."""
    start: int
    end: int


@lru_cache(256)
def find_facts(text: str) -> tuple[Fact, ...]:
    """Every fact in a text, in its order; `\\0` stands for what one reader took from the next."""
    facts, rest, tables, low = list[Fact](), text[:_MOST_READ], _tables(), text.lower()
    for name, (reader, hint) in tables["readers"].items():
        known = tables.get(language_of(text) if hint == "numerals" else hint, ())
        some = tuple(word for word in known if word in low)
        if not (some if known else re.search(hint, rest)):
            continue
        known, read = pattern(name, some), _READERS[reader]
        pieces, at = list[str](), 0
        while found := known.search(rest, at):
            new = [Fact(kind, text[a:b], it, a, b) for kind, it, a, b in read(found, text)]
            start, end = new[0][3:] if new else (found.end(), found.end())
            pieces += [rest[at:start], "\0" * (end - start)]
            facts += new
            at = end
        rest = "".join([*pieces, rest[at:]])
    return tuple(sorted((fact for fact in facts if fact.value), key=lambda fact: fact[3:]))


def sentence_of(text: str, place: Fact | tuple[int, int]) -> str:
    """The sentence, or the line where that is shorter, that contains a fact or a passage."""
    start, end = place[-2:]
    before = pattern("ends").split(text[max(start - 400, 0) : start + 1])[-1][:-1]
    after = pattern("ends").split(text[end : end + 400], maxsplit=1)[0]
    return " ".join(f"{before}{text[start:end]}{after}".split())


def compare_facts(given: str, text: str, kinds: Kinds = FACT_KINDS) -> dict[Fact, Fact | None]:
    """What `given` states and `text` does not, and what stands between the same words instead."""
    missing, new = find_unstated(given, [text], kinds), find_unstated(text, [given], kinds)
    around = {fact: _around(given, fact) for fact in missing[:_MOST_PAIRED]}
    around_new = {fact: _around(text, fact) for fact in new[:_MOST_PAIRED]}
    alike = [
        (2 * shared / (len(here) + len(there)), old, fact)
        for old, here in around.items()
        for fact, there in around_new.items()
        if old.kind == fact.kind and (shared := len(here & there)) > 1
    ]
    changed: dict[Fact, Fact] = {}
    for share, old, fact in sorted(alike, key=lambda each: -each[0]):
        if share >= _ALIKE and old not in changed and fact not in changed.values():
            changed[old] = fact
    # A weekday may go from its date, but it may not become another.
    lost = {old: changed.get(old) for old in missing if old in changed or old.value[-1] != "\t"}
    # Sentences of the same words have the same figures in the same places.
    after = _sentences_of_figures(text)
    for key, words in _sentences_of_figures(given).items():
        for old, fact in _aligned(words, after.get(key, [])):
            differ = _forms(old.value).isdisjoint(_forms(fact.value, stated=True))
            if differ and old.kind == fact.kind in kinds:
                lost.setdefault(old, fact)
    return lost


_Words = list[tuple[str, Fact | None]]
"""Words of a sentence; a figure has none."""


def _aligned(one: _Words, other: _Words) -> list[tuple[Fact, Fact]]:
    """Figures in the same places of two sentences, if most of their words are the same and none moved."""
    here, there = ([word for word, _ in each[:_MOST_PAIRED]] for each in (one, other))
    same = SequenceMatcher(None, here, there, autojunk=False)
    stays = [(i + n, j + n) for i, j, size in same.get_matching_blocks() for n in range(size)]
    moved = Counter(here) & (Counter(there) - Counter(here[i] for i, _ in stays))
    pairs = ((one[i][1], other[j][1]) for i, j in stays if same.ratio() >= _ALIKE and not moved)
    return [(old, fact) for old, fact in pairs if old and fact]


@lru_cache(64)
def _sentences_of_figures(text: str) -> dict[object, _Words]:
    """Sentences by their words other than figures, and by the values of several; none where two have the same."""
    found: dict[object, _Words] = {}
    some = (x for x in find_facts(text) if x.kind in _FIGURES and x.value[-1] != "\t")
    for sentence, group in groupby(some, partial(sentence_of, text)):
        facts, rest, words = [*group], sentence, _Words()
        for fact in facts:
            before, _, rest = rest.partition(" ".join(fact.text.split()))
            words += [*((word, None) for word in _stems(before)), ("", fact)]
        words += [(word, None) for word in _stems(rest)]
        plain = " ".join(word for word, _ in words if word)
        for key in (plain, *[tuple(sorted(x.value for x in facts))] * (len(facts) > 1)):
            found[key] = [] if key in found else words
    return found


def _around(text: str, fact: Fact) -> set[str]:
    """The words around a fact, and those of a long one."""
    before = _stems(text[max(fact.start - _REACH, 0) : fact.start])[-6:]
    after = _stems(text[fact.end : fact.end + _REACH])[:6]
    return {*before, *after, *(_stems(fact.text) if fact.kind in ("quotes", "links") else ())}


def find_unstated(text: str, others: Sequence[str], kinds: Kinds = FACT_KINDS) -> list[Fact]:
    """The facts of a text, each value once, that none of the others states."""
    found = (fact for fact in reversed(find_facts(text)) if fact.kind in kinds)
    facts = {(fact.kind, fact.value.partition("\t")[0]): fact for fact in found}
    if not any(each.value[-1] == "\t" for other in others for each in find_facts(other)):
        # To add the weekday of a date is not news.
        facts = {each: fact for each, fact in facts.items() if fact.value[-1] != "\t"}
    # A date has its year unless it stands there without as well, or the year by itself.
    years = (x for each in others for x in _stated(each)["dates"] if x.isdigit())
    known = {*years, *(value for _, value in facts)}
    new = [x for x in facts.values() if not any(_states(other, x, known) for other in others)]
    return sorted(new, key=lambda fact: fact.start)


def _states(text: str, fact: Fact, known: set[str]) -> bool:
    """Whether a text states a fact, perhaps in other words, less exactly or without its marks."""
    stated = _stated(text)[fact.kind]
    value, tab, _ = fact.value.partition("\t")
    if fact.kind in _FIGURES:
        dated = re.fullmatch(r"(\d\d-\S*) (\d{4})", value)
        lacks_year = dated and known.isdisjoint(dated.groups())
        return not (lacks_year or stated.isdisjoint(_forms(value)))
    # A last name beside another first name is somebody else's.
    for last, firsts in _last_names(fact).items():
        same = {*" ".join(firsts[:1]).split(), *(f"{last}\t{each}" for each in firsts)}
        if firsts and f"{last}\t" in stated and stated.isdisjoint(same):
            return False
    as_initials = bool(tab) and "".join(re.findall(r"\b[^\W\da-z_]", fact.text)) in _words(text)
    parts = set(_runs(value.split()) if fact.kind == "quotes" else value.split())
    return as_initials or value in stated or stated >= parts


@lru_cache(64)
def _stated(text: str) -> dict[str, set[str]]:
    """What a text states, by kind: values, and what they are made of."""
    # An address does not state the names in it.
    words, figures = _stems(pattern("link").sub(" ", text)), set[str]()
    stated = {"names": set(words), "quotes": set(_runs(words)), "code": set(_tokens(text))}
    stated |= {"links": set(), **dict.fromkeys(_FIGURES, figures)}
    for word in pattern("one").findall(text):
        figures |= _forms(f"1 {_look_up('units', word)}") - {"1"}
    numerals = _tables()[language_of(text)]
    for run in pattern("compound", tuple(numerals)).findall(text):
        figures |= _forms(str(_first_number(run, numerals, between=False)[0]), stated=True)
    for fact in find_facts(text):
        for last, firsts in _last_names(fact).items():
            forms = _forms(last, stated=True) if fact.kind in _FIGURES else {last}
            stated[fact.kind] |= forms | {f"{last}\t{x}" for x in ("", *firsts[:1]) if firsts}
    return stated


def _last_names(fact: Fact) -> dict[str, list[str]]:
    """The last word of a name and that before `of` and the like, with what stands before each, the nearest first."""
    words = fact.value.split("\t")
    heads = [" ".join(_stems(x)) for x in re.findall(r"[\w'’-]+(?=\s[a-z])", fact.text)]
    return {word: words[at:] for at, word in enumerate(words, 1) if at == 1 or word in heads}


@lru_cache(1024)
def _forms(value: str, *, stated: bool = False) -> set[str]:
    """By which of its forms a figure is known; one that is `stated` states less exact ones too."""
    values = [value]
    if date := re.fullmatch(r"(\d\d)-(\d\d)?(\?)?( \d{4})?", value):
        month, day, unsure, year = date.groups("")
        values = [f"{month}-{day}{year}", *[f"{day}-{month}{year}"] * bool(unsure)]
        values += [*(f"{each[:3]}{year}" for each in values), year.strip()] * stated
    elif clock := re.fullmatch(r"(\d+):00( pm)?.*", value):
        hour = int(clock[1])
        half = clock[2] or " am"
        values += [f"{hour or 12}{half}", f"{hour + 12 * bool(clock[2])} h"]
    found = set[str]()
    for each in values:
        always, _, exact = each.partition(" ")
        found |= {each, f"{always} *"} if stated else {each, always} if exact else {f"{always} *"}
    (number, _, unit), made_of = value.partition(" "), _tables()["made_of"]
    # Meters may be millions.
    found |= {f"{_plain(number, 6)} *"} if unit == "m" else set()
    while number.isdigit() and unit in made_of:
        times, unit = made_of[unit]
        found.add(f"{(number := str(times * int(number)))} {unit}")
    return found


def _runs(words: list[str]) -> Iterator[str]:
    return map(" ".join, zip(words, words[1:], words[2:], strict=False))


def _stems(text: str) -> list[str]:
    """Words without the endings of plurals and possessives."""
    return re.findall(r"\w+", re.sub(r"(?<=\w\w\w)s\b", "", text.casefold()))


def _tokens(text: str) -> list[str]:
    """What code is made of, without the signs of a language or of Markdown around it."""
    found = re.findall(r"[^\s`\"'“”„’,;(){}\[\]<>|=/]+", text.casefold())
    words = [each for it in found if any(map(str.isalnum, each := it.strip("*_.:!?")))]
    return [*words, *re.findall(r"[<>!=]=|[-+*/%]=|&&|\|\||(?<=\s)[<>](?=\s)", text)]


@lru_cache(256)
def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W\d_]+", text))


@lru_cache(1024)
def language_of(text: str) -> str:
    """The language of which most common words stand in a text."""
    common: dict[str, str] = _tables()["common"]
    return max(common, key=lambda each: len(_words(text).intersection(common[each].split())))


@cache
def _tables() -> dict[str, Any]:
    """The words and the patterns: few commands read facts, and none of the others waits for these."""
    import tomllib

    tables = tomllib.loads(Path(__file__).with_name("fact_words.toml").read_text("utf-8"))
    for name in ("months", "days", "scales", "currencies", "units", "no_names"):
        tables[name] = {word: key for key, words in tables[name].items() for word in words.split()}
    tables["units"] |= tables["currencies"]
    numbers = [*range(1, 21), *range(30, 91, 10), *reversed(_ROUND), 500, 700, 900]
    for code, words in tables.pop("numerals").items():
        ways = zip(words.split(), numbers, strict=False)
        tables[code] = {word: n for each, n in ways for word in each.split("/")}
    return tables


@lru_cache(256)
def pattern(name: str, words: tuple[str, ...] = ()) -> re.Pattern[str]:
    """A pattern with others in their places, and of a table those words that a text has."""
    tables = _tables()

    def insert(key: str) -> str:
        if written := tables["patterns"].get(key):
            return re.sub("@([a-z]+)@", lambda each: insert(each[1]), written)
        some = sorted(tables["scales"] if key == "scales" else words, key=len, reverse=True)
        # Spaces count in tables, not in patterns.
        either = "|".join(some).replace(" ", "[ ]")
        return f"(?=[{''.join({word[0] for word in some})}])(?:{either})"

    return re.compile(insert(name), re.VERBOSE)


def _look_up(table: str, word: str | None) -> str:
    """What a word of a text is read as, also as a plural; nothing if it is not in the table."""
    entries, bare = _tables()[table], re.sub(r"[\s-]", "", word or "")
    ways = (bare, bare.lower(), *_stems(bare))
    return next((entries[each] for each in ways if each in entries), "")


_Read = tuple[FactKind, str, int, int]
"""Kind, value and place of a fact; without a value, what is only taken from the readers that follow."""


def _read_code(found: re.Match[str], _: str) -> Iterator[_Read]:
    yield "code", "", *found.span()
    part = "block" if found.groupdict().get("fence") else 0
    for line in re.finditer(r"\S[^\n]*", found[part]):
        start = found.start(part) + line.start()
        yield "code", " ".join(_tokens(line[0])), start, start + len(line[0])


def _read_link(found: re.Match[str], _: str) -> Iterator[_Read]:
    host, slash, path = found[found.lastgroup or 0].partition("/")
    yield "links", f"{host.casefold()}{slash}{path}".rstrip("/"), *found.span()


def _read_date(found: re.Match[str], text: str) -> Iterator[_Read]:
    part, language, unsure = defaultdict(str, found.groupdict("")), language_of(text), ""
    year, month, day, other = part["y"], part["m"], part["d"] or part["e"], part["d0"] or part["e0"]
    if part["s"] and language == "en":
        if not year:
            return
        # 03/04/2025 is in March or in April.
        unsure = "?" if part["s"] == "/" and int(day) < 13 > int(month) and day != month else ""
        month, day = (day, month) if int(month) > 12 else (month, day)
    if not month.isdigit():
        # `de sept` says a number, unless a point follows.
        said = part["in"] and (found[0][-1] == "." or month not in _tables()[language])
        if (month.islower() and language in ("en", "de")) or not (day or year or said):
            return
        month = _look_up("months", month)
    if 1 <= int(month) <= 12 and 1 <= int(day or 1) <= 31:
        ends = unsure + (f" {year:0>4}".replace(" 00", " 20") if year else "")
        value = f"{month:0>2}-{day and f'{day:0>2}'}{ends}"
        yield "dates", value, found.start() + len(part["in"]), found.end()
        if other:
            place = found.span("d0" if part["d0"] else "e0")
            yield "dates", f"{month:0>2}-{other:0>2}{ends}", *place


def _read_time(found: re.Match[str], text: str) -> Iterator[_Read]:
    hour, half, language = int(found["h"]), found["half"], language_of(text)
    # But for French, `8 h` are hours.
    if found["clock"] != "h" or found["m"] or language == "fr":
        hour = hour % 12 + 12 * (half[0] in "pP") if half else hour % 24
        unsure = language == "en" and not half and 1 <= hour <= 12
        value = f"{hour % 12}:{found['m'] or '00'}{'' if unsure else ' am' if hour < 12 else ' pm'}"
        yield "dates", value, found.start("h"), found.end()


def _read_number(found: re.Match[str], text: str) -> Iterator[_Read]:
    tables, (digits, scale, tail) = _tables(), found.group("digits", "scale", "tail")
    currency, unit = (_look_up("units", found[name]) for name in ("before", "unit"))
    end = found.end() if unit else found.end("scale") if scale else found.start("tail")
    if digits[-1].isalpha():
        numerals = tables[language_of(text)]
        number, length = _first_number(digits, numerals, text.endswith("etween ", 0, found.start()))
        # Alone they are an article, and thanks.
        thanks = digits.lower() in numerals and not number % 1000
        exact = pattern("exact").search(text, found.start() - 20, end)
        if number == 1 or (thanks and not exact) or (tail[:1] == "-" and not unit):
            return
        if length < len(digits):
            scale, tail, unit, end = "", "", "", found.start("digits") + length
        digits = str(number)
    money = (currency or unit) in tables["currencies"].values()
    power, _, only = tables["scales"].get(scale, "").partition(" ")
    # £5m are millions, £4-5m too, but `5 m` are meters.
    if only and not (money or pattern("range").search(text, found.start() - 20, found.start())):
        tail, unit, power, end = scale, _look_up("units", scale), "", found.end("scale")
    # `14 people` are a number without a unit, `14th` is none.
    if unit or not tail[:1].isalpha():
        of, part, hundredth = (currency or unit).partition("/100")
        plain = _plain(digits, int(power or (-2 if part else 0)))
        value = f"{found['sign'] or ''}{plain} {of}{hundredth.strip()}".rstrip()
        year = re.fullmatch(r"(?:19|20)\d\d", text[found.start() : end])
        yield "money" if money else "dates" if year else "numbers", value, found.start(), end


def find_numerals(text: str) -> Iterator[tuple[int, int, int]]:
    """Numbers in words of any of the languages: where each stands, and what it says."""
    tables, low, found, end = _tables(), text.lower(), dict[int, tuple[int, int]](), 0
    for values in (tables[language] for language in tables["common"]):
        at, some = 0, tuple(word for word in values if word in low)
        while some and (run := pattern("alone", some).search(text, at)):
            number, length = _first_number(run[0], values, text.endswith("etween ", 0, run.start()))
            at = run.start() + length
            found[run.start()] = max((at, number), found.get(run.start(), (0, 0)))
    for start, (at, number) in sorted(found.items()):
        if start >= end:
            yield start, (end := at), number


def _first_number(run: str, values: dict[str, int], between: bool) -> tuple[int, int]:
    """The first number that words in a row say, and how long it is."""
    parts = list[tuple[int, str, int]]()
    for word in pattern("spelled", tuple(values)).finditer(run):
        new, by, times = values[word["word"].lower()], (word["by"] or "").lower(), 0
        while new in _ROUND and not by and parts and parts[-1][0] < new:
            part, joined, _ = parts.pop()
            times += part
            # `five hundred and two thousand` are two numbers after `between`, `cincuenta y trescientos` always.
            if part < 10 and joined and (new == 100 or (joined == "and" and between)):
                break
        new *= times or 1
        old = parts[-1][0] if parts else 0
        room = {10: 1, 60: 20, 80: 20}.get(old) or next(n for n in (*_ROUND, 10, 1) if not old % n)
        joins = by in ("", "und") or (by == "and") == (old >= 100)
        # `five` goes on with `twenty`, but not with `six`; `zwanzig` does with `fünfund`.
        if parts and not (joins and new < (100 if by == "und" and old < 10 else room)):
            break
        parts.append((new, by, word.end()))
    return sum(part for part, *_ in parts), parts[-1][2]


def _plain(digits: str, power: int) -> str:
    """A number without its grouping: what could be thousands is read as that, whatever the language."""
    bare = re.sub(r"[\s'’]", "", digits)
    *whole, part = re.split("[.,]", bare)
    if not whole or re.fullmatch(r"[1-9]\d{0,2}([.,])\d{3}(?:\1\d{3})*", bare):
        whole, part = [*whole, part], ""
    ones = "".join(whole).zfill(2)
    every, point = f"{ones}{part:0<{max(power, 0)}}", len(ones) + power
    return f"{every[:point]}.{every[point:]}".strip("0").rstrip(".") or "0"


def _read_quote(found: re.Match[str], text: str) -> Iterator[_Read]:
    # Figures in it were read before; a word or two are a title or a joke.
    real = len(found[0][1:-1].split()) > 2 or found[0][0] == "「"
    yield "quotes", " ".join(_stems(text[slice(*found.span())])) * real, *found.span()


def _read_name(found: re.Match[str], text: str) -> Iterator[_Read]:
    words = list(pattern("capital").finditer(found.string, *found.span()))
    formed, first = [word for word in words if pattern("inner").match(word[0])], list[str]()
    if not found["titled"]:
        before = found.string[max(found.start() - 12, 0) : found.start()]
        if pattern("start").search(before) and words[0] not in formed:
            signed = pattern("signed").match(found.string, found.start() - 2)
            first, words = [words[0][0].casefold()] * bool(signed), words[1:]
        # German nouns have capitals too: two in a row are a name unless they are an amount of something.
        lonely = sum(len(word[0]) > 2 for word in words) < 2 or re.search(" [a-z]", found[0])
        # Without a common word it may be German as well.
        usual = " ".join(_tables()["common"].values()).split()
        german = language_of(text) == "de" or _words(text).isdisjoint(usual)
        if german and (lonely or before.strip()[-1:] == "\0"):
            words = formed
    bare = [word[0].strip(".") for word in words]
    long = [word.casefold() for word in bare if len(word) > 2 + word.isupper()]
    # What a text has without a capital is not a name.
    common = _words(found.string)
    if named := [low for low in long if low not in common and low not in _tables()["no_names"]]:
        value = "\t".join(" ".join(_stems(name)) for name in [*reversed(named), *first])
        yield "names", value, found.start() if first else words[0].start(), words[-1].end()


def _read_phone(found: re.Match[str], _: str) -> Iterator[_Read]:
    digits = re.sub(r"\D", "", found["own"]).lstrip("0")
    yield "numbers", f"{digits} {found['abroad'] or ''}".rstrip(), *found.span("number")


# Of what a pattern found in the masked text, and the text as it is.
_READERS: dict[str, Callable[[re.Match[str], str], Iterable[_Read]]] = {
    "code": _read_code,
    "date": _read_date,
    "link": _read_link,
    "name": _read_name,
    "number": _read_number,
    "phone": _read_phone,
    "product": lambda found, _: [("names", " ".join(_stems(found[0])), *found.span())],
    "quote": _read_quote,
    "time": _read_time,
    "weekday": lambda x, _: [("dates", _look_up("days", x[0]) + "\t" * (not x[1]), *x.span())],
    "nothing": lambda found, _: [("names", "", *found.span())],
}
