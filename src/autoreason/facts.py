"""Facts in a text, found by code: what a rewrite must not lose, change or invent."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import groupby, takewhile
from typing import Literal, NamedTuple, get_args

FactKind = Literal["numbers", "dates", "money", "links", "quotes", "names", "code"]
FACT_KINDS: tuple[FactKind, ...] = get_args(FactKind)


class Fact(NamedTuple):
    """Something a text states that a person could check."""

    kind: FactKind
    text: str
    """As it is written."""
    value: str
    """Its normal form: facts of a kind with equal values are the same."""
    start: int
    end: int


class Difference(NamedTuple):
    """What one text states and another does not."""

    lost: tuple[Fact, ...]
    changed: tuple[tuple[Fact, Fact], ...]
    """A fact that is gone, and the one that stands in its place."""
    added: tuple[Fact, ...]


_Found = tuple[FactKind, int, int, str]
_MASK = "\0"
"""Stands for each character of what an earlier reader took."""

_COMMON = {
    "en": "the and of to is that for with you on at by",
    "de": "der die und das ist nicht mit für den ein wir sie im am",
    "fr": "le les et des est une dans pour vous que du au",
    "es": "el los y las una que para con del por es en",
    "it": "il e di che la per con una sono è gli della alle",
}
"""Words by which a language is recognised."""
_NUMERALS = {
    "en": "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    " seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand",
    "de": "ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn"
    " siebzehn achtzehn neunzehn zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig hundert tausend",
    "fr": "un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept"
    " dix-huit dix-neuf vingt trente quarante cinquante soixante soixante-dix quatre-vingts quatre-vingt-dix"
    " cent mille",
    "es": "uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis"
    " diecisiete dieciocho diecinueve veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa cien mil",
    "it": "uno due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici quindici sedici"
    " diciassette diciotto diciannove venti trenta quaranta cinquanta sessanta settanta ottanta novanta cento mille",
}
_COMPOUNDS = {
    "en": "{1}-{0}",
    "de": "{0}und{1}",
    "fr": "{1}-{0}",
    "es": "{1} y {0}",
    "it": "{1}{0}",
}
_MONTHS = (
    "january jan januar jänner janvier janv enero ene gennaio gen",
    "february feb februar février févr fév febrero febbraio",
    "march mar märz mrz mars marzo",
    "april apr avril avr abril abr aprile",
    "may mai mayo maggio mag",
    "june jun juni juin junio giugno giu",
    "july jul juli juillet juil julio luglio lug",
    "august aug août agosto",
    "september sept sep septembre septiembre settembre",
    "october oct oktober okt octobre octubre ottobre ott",
    "november nov novembre noviembre",
    "december dec dezember dez décembre déc diciembre dic dicembre",
)
_MONTH = {name: month for month, names in enumerate(_MONTHS, 1) for name in names.split()}
_DAYS = (
    "monday montag lundi lunes lunedì",
    "tuesday dienstag mardi martes martedì",
    "wednesday mittwoch mercredi miércoles mercoledì",
    "thursday donnerstag jeudi jueves giovedì",
    "friday freitag vendredi viernes venerdì",
    "saturday samstag sonnabend samedi sábado sabato",
    "sunday sonntag dimanche domingo domenica",
)
_DAY = {name: names.split()[0] for names in _DAYS for name in names.split()}
_UNITS = {
    "%": r"%|per ?cent|prozent|pour ?cent|por ciento|per cento",
    "ms": r"ms|milli?se[ckg]\w*",
    "s": r"s|secs?|se[ckg][ou]nd\w*|sekunden?",
    "min": r"mins?|minut\w*",
    "h": r"h|hrs?|hours?|stunden?|heures?|horas?|or[ae]",
    "d": r"days?|tage?n?|jours?|d[ií]as?|giorn[io]",
    "wk": r"weeks?|wochen?|semaines?|semanas?|settiman[ae]",
    "mo": r"months?|monate?n?|mois|mes(?:es)?|mesi",
    "yr": r"years?|jahre?n?|ans|années?|años?|anni",
    "km": r"km|(?:kil|chil)[oó]m[eèé]t\w*",
    "cm": r"cm|[cz]ent[ií]m[eèé]t\w*",
    "mm": r"mm|mil[il]*[ií]m[eèé]t\w*",
    "m": r"m|m[eèé]t(?:er|re|ro|ri)[sn]?",
    "kg": r"kg|kilos?|(?:kil|chil)ogram\w*",
    "g": r"g|gram\w*",
    "l": r"l|[lL]it(?:er|re|ro|ri)[sn]?",
    "kB": r"kb|kilobytes?",
    "MB": r"mi?b|megabytes?",
    "GB": r"gi?b|gigabytes?",
    "TB": r"ti?b|terabytes?",
    "°C": r"°\s?c|(?:degrees?|grad) celsius",
    "kWh": r"kwh",
    "x": r"x|×|-?fold|times|fois|veces|volte|-?fach",
}
_CURRENCIES = {
    "EUR": r"€|eur|euros?",
    "USD": r"us\$|\$|usd|us-dollar|dollars?|dólares|dollari",
    "GBP": r"£|gbp|pounds?|pfund|livres sterling|libras|sterline",
    "CHF": r"chf|franken|francs|franchi|francos",
    "JPY": r"¥|jpy|yen",
}
_SCALES = {
    "hundred": 2,
    **dict.fromkeys(("k", "K", "thousand", "tausend"), 3),
    **dict.fromkeys(("M", "Mio", "million", "millions", "Million", "Millionen"), 6),
    **dict.fromkeys(("millones", "millón", "milioni", "milione"), 6),
    **dict.fromkeys(("B", "bn", "billion", "billions", "Mrd", "Milliarde", "Milliarden"), 9),
    **dict.fromkeys(("milliard", "milliards", "miliardi", "miliardo"), 9),
}
_SPACE = "[ \u00a0\u202f\u2009]"
_YEAR = r"(?P<y>(?:19|20)\d\d)(?!\d)"
_M = rf"(?i:(?P<m>{'|'.join(sorted(_MONTH, key=len, reverse=True))}))\b\.?"
_NTH = r"(?:st|nd|rd|th|er|\.|º|°)?"
_TO = rf"(?:{_SPACE}?[-–]{_SPACE}?|{_SPACE}(?:bis|to|and|und|au|al|et|y|e){_SPACE}(?:zum )?)"
_DATES = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?<![\w.,/-])(?P<y>(?:19|20)\d\d)-(?P<m>0[1-9]|1[0-2])(?:-(?P<d>[0-3]\d))?(?![\d-])",
        r"(?<![\w.,/-])(?P<d>[0-3]?\d)(?P<s>[./])(?P<m>[01]?\d)(?:(?P=s)(?P<y>(?:19|20)?\d\d)?)?(?![\w/]|\.\d)",
        rf"(?<![\w.,/:-])(?:(?P<d0>[0-3]?\d){_NTH}{_TO})?(?P<d>[0-3]?\d){_NTH}{_SPACE}?(?:(?:of|de|di){_SPACE})?"
        rf"{_M}(?:,?{_SPACE}(?:del?{_SPACE})?{_YEAR})?",
        rf"\b{_M}{_SPACE}(?P<d>[0-3]?\d){_NTH}(?:{_TO}(?P<d0>[0-3]?\d))?(?![\w:%]|[.,]\d)(?:,?{_SPACE}{_YEAR})?",
        rf"\b{_M},?{_SPACE}(?:del?{_SPACE})?{_YEAR}",
        rf"(?i:\b(?:in|by|of|until|since|from|im|ab|bis|seit|en|de|à|a|di|da|dal){_SPACE}){_M}(?=\W)(?!['’-])",
    )
)
_WEEKDAY = re.compile(
    rf"\b(?P<day>(?i:{'|'.join(sorted(_DAY, key=len, reverse=True))})s?)\b"
    rf"(?P<dated>,?{_SPACE}(?:(?:the|den|dem|le|el|il){_SPACE})?{_MASK})?"
)
"""A day of the week; with its date it adds nothing."""
_TIME = re.compile(
    rf"(?<![\w.,:/])(?P<h>[01]?\d|2[0-4])(?:(?P<s>[:.]|{_SPACE}?h{_SPACE}?)(?P<m>[0-5]\d)(?::[0-5]\d)?)?"
    rf"(?:{_SPACE}?(?P<half>(?i:[ap]\.?m\b\.?))|{_SPACE}?(?P<clock>Uhr|h|o['’]clock)\b)?(?![\w:]|[.,]\d)"
)
_CODE_BLOCK = re.compile(r"^ {0,3}(```|~~~)[^\n]*\n?(.*?)(?:^ {0,3}\1|\Z)", re.M | re.S)
_CODE = re.compile(
    r"(?<!`)(`{1,2})(?P<span>[^`\n]{1,300})\1(?!`)"
    r"|(?<![\w-])--[a-zA-Z][\w-]{1,40}"
    r"|(?<![\w./~-])(?:~|\.{1,2})?/(?:[\w.-]{1,80}/){0,20}[\w.-]{1,80}(?<![.-])(?=[\s,.;:)\]\"'”]|\Z)"
    r"|(?<![\w./-])(?:[\w-]{1,80}/){0,20}[\w-]{1,80}\.(?:py|txt|md|json|ya?ml|toml|csv|pdf|docx?|xlsx?|odt|sh|cfg|ini|log"
    r"|html?|js|ts|c|h|cpp|rs|go|java|sql|xml|zip|gz|png|jpe?g|svg)\b(?![\w/])"
    r"|(?<![\w.])(?!\d\d?\.\d\d?\.(?:19|20)\d\d(?!\d)|\d\d\.\d\d\.\d\d(?![\d.]))v?\d{1,4}(?:\.\d{1,5}){2,4}(?:[-+]?(?:rc|alpha|beta|a|b)\.?\d*)?(?![\w]|\.\d)"
    r"|(?<![\w.])v\d{1,4}(?:\.\d{1,5})?(?![\w]|\.\d)"
    r"|(?<![\w-])[^\W_]+(?:_[^\W_]+)++(?!\w)"
)
_TOKEN = re.compile(r"[^\s`\"'“”„’,;(){}\[\]<>|=]+")
_LINK = re.compile(
    r"(?i)(?:\bhttps?://|\bwww\.)[^\s<>\"“”„«»`|\0]+"
    r"|(?<![\w.+-])[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,5}[a-z]{2,12}\b"
    r"|(?<![\w.@/-])(?:[a-z\d-]{1,63}\.){1,4}(?:[a-z]{2,12}/[\w./?&=%#-]+|(?:com|org|net|edu|gov|eu|info|io|dev|de|fr|es|it|uk|ch|at)\b)"
)
_NO_FACT = re.compile(
    r"^[ \t>#*_|-]*\(?\d{1,3}(?:\.\d{1,3})*[.):](?=[\s*_])|^#+[ \t]*[*_]*\d{1,3}(?:\.\d{1,3})*\b|\[\^?\d{1,3}\]"
    r"|\b(?i:steps?|phase|sections?|fig(?:ure|\.)?|table|chapter|problems?|option|proposal|version|pages?|schritt|abschnitt"
    r"|kapitel|abbildung|tabelle|seite|étape|chapitre|paso|capítulo|página|passo|capitolo|pagina|fase)[ \u00a0]\d{1,3}\b",
    re.M,
)
"""Numbers of lists, headings, references and other parts of a text."""
_QUOTE = re.compile(
    r"“([^“”\n]{8,600})”|„([^„“”\n]{8,600})[“”]|«([^«»\n]{8,600})»|»([^«»\n]{8,600})«|‹([^‹›\n]{8,600})›"
    r"|›([^‹›\n]{8,600})‹|「([^「」\n]{2,600})」|(?<!\w)\"(?=\S)([^\"\n]{8,600})\"(?!\w)"
    r"|(?<!\w)['‘](?=\S)([^'‘’\n]{8,600})['’](?!\w)"
)
_WORD = re.compile(r"\w+")
_UPPER = "A-ZÀ-ÖØ-ÞŁŚŠŽŻČĆĐŘŞŰŹ"
_TITLE = r"(?:Dr|Prof|Mrs?|Ms|Mme|Mlle|Sra?|Dott|Ing|Hr|Fr|St|Herrn?|Frau|Herr|[A-Z])"
_CAPITAL = rf"(?:{_TITLE}\.|[{_UPPER}][\w&]*(?:[-'’][{_UPPER}][\w&]*)*)"
_NAME = re.compile(
    rf"(?<![\w'’.-]){_CAPITAL}(?:{_SPACE}(?:(?:de|del|della|di|du|von|van|der|of|da){_SPACE}){{0,2}}{_CAPITAL}){{0,5}}"
)
_START = re.compile(r"(?:\A|[\n.!?:;…|>#*•(\[\"“„«»'‘—–\0/]|(?:^|\s)[-+])[\s*_\"“„«'‘(]*\Z")
"""What stands before a word that has a capital wherever it comes from."""
_NOT_NAMED = re.compile(r"^#.*|^[ \t]*\|.*|^[\s\d.)*+>-]*\*\*[^*\n]{1,80}\*\*:?", re.M)
_PRODUCT = re.compile(
    r"(?<![\w-])(?!(?:EUR|USD|GBP|CHF|JPY)\d)(?:[A-Z][A-Za-z]*\d|[A-Z]{1,20}-[A-Z]{0,20}\d)(?:[\w-]*\w)?"
)
_INNER = re.compile(rf"[\w&]*[a-z\d&][{_UPPER}]|[{_UPPER}&]{{4,}}\Z")
"""A name by its form: `GitHub`, `NASA`."""
_CLOCK = re.compile(r"(\d\d):(\d\d)(\?)?")
_DATE = re.compile(r"(-|\d{4})(?:-(\d\d(?:-\d\d)?))?")
_PRONOUNS = frozenset("i sie ihnen ihr ihre ihren ihrem ihrer ihres du dir dich lei".split())
_NO_NAME = frozenset(
    "ok dear hello hi mr mrs ms dr prof herr herrn frau"
    " madame monsieur señor señora signor signora ag gmbh ltd inc llc sa srl spa co kg uhr pm am".split()
)
_SENTENCE_END = re.compile(r"[.!?…][\"'”»“)]*\s+(?=[^a-z\s])|\n\s*(?:\n|[-*#>|]|\d+[.)])\s*")
_REACH = 60
_MOST_PAIRS = 60
_ALIKE = 0.6


@lru_cache(256)
def find_facts(text: str) -> tuple[Fact, ...]:
    """Every fact in a text, in its order."""
    language, rest, found = _language(text), text, []
    for reader in (_code, _links, _dates, _weekdays, _times, _numbers, _quotes, _names):
        facts = list(reader(rest, text, language))
        found += [fact for fact in facts if fact[3]]
        rest = _masked(rest, [(start, end) for _, start, end, _ in facts])
    ordered = sorted(found, key=lambda each: (each[1], each[2], each[0]))
    return tuple(Fact(kind, text[a:b], value, a, b) for kind, a, b, value in ordered)


def compare_facts(
    given: str,
    text: str,
    kinds: Sequence[FactKind] = FACT_KINDS,
    allowed: Sequence[str] = (),
) -> Difference:
    """What `given` states and `text` does not, and what `text` states that neither `given` nor `allowed` does."""
    missing = _unstated(given, text, kinds)
    new = _unstated(text, given, kinds)
    pairs = dict(_replacements(given, missing, text, new))
    taken = set(pairs.values())
    return Difference(
        lost=tuple(fact for fact in missing if fact not in pairs),
        changed=tuple(pairs.items()),
        added=tuple(
            fact
            for fact in new
            if fact not in taken and not any(_states(other, fact) for other in allowed)
        ),
    )


def sentence_of(text: str, fact: Fact) -> str:
    """The sentence, or the line where that is shorter, that contains a fact."""
    before = text[max(fact.start - 400, 0) : fact.start]
    start = max((each.end() for each in _SENTENCE_END.finditer(before)), default=0)
    end = _SENTENCE_END.search(text, fact.end, fact.end + 400)
    sentence = before[start:] + text[fact.start : end.start() + 1 if end else fact.end + 400]
    return " ".join(sentence.split())


def _unstated(given: str, text: str, kinds: Sequence[FactKind]) -> list[Fact]:
    """The facts of a text, each value once, that another does not state."""
    facts = {(fact.kind, fact.value): fact for fact in reversed(find_facts(given))}
    missing = [each for each in facts.values() if each.kind in kinds and not _states(text, each)]
    return sorted(missing, key=lambda fact: fact.start)


def _states(text: str, fact: Fact) -> bool:
    stated, words, runs, tokens = _stated(text)
    if fact.value in stated[fact.kind]:
        return True
    if fact.kind == "quotes":
        return all(run in runs for run in _runs(fact.value.split()))
    if fact.kind == "code":
        return all(token in tokens for token in fact.value.split())
    if fact.kind == "names":
        return all(word in words for word in fact.value.split("-"))
    if fact.kind == "links":
        return False
    return any(value in stated["any"] for value in _alternatives(fact.value))


@lru_cache(64)
def _stated(text: str) -> tuple[dict[str, set[str]], set[str], set[int], set[str]]:
    """What a text states: values by kind, its words, hashes of runs of three words, what code is made of."""
    stated: dict[str, set[str]] = defaultdict(set)
    for fact in find_facts(text):
        stated[fact.kind].add(fact.value)
        if fact.kind in ("numbers", "money", "dates"):
            stated["any"].update(_implied(fact.value))
    plain = _WORD.findall(text.casefold())
    tokens = {each.strip("*_.:!?") for each in _TOKEN.findall(text)}
    return stated, set(map(_stem, plain)), set(_runs(plain)), tokens


def _runs(words: list[str]) -> Iterator[int]:
    return (hash(run) for run in zip(words, words[1:], words[2:], strict=False))


def _implied(value: str) -> set[str]:
    """What a text also states that states a number or a date, in a form that `_alternatives` looks for."""
    if value.endswith("?") and value.count("-") == 2:
        return set().union(*map(_implied, _orders(value)))
    if clock := _CLOCK.fullmatch(value):
        hour, half, sure = int(clock[1]), f"~{int(clock[1]) % 12}:{clock[2]}", not clock[3]
        bare = {f"{n}{tail}" for n in (hour, hour % 12 or 12) for tail in ("", " -", " h")}
        return {value if sure else f"?{half}", half} | (bare if clock[2] == "00" else set())
    if date := _DATE.fullmatch(value):
        year, rest = date[1], f"-{date[2]}" if date[2] else ""
        if not rest:
            return {f"{year}~", year, f"{year} -"}
        forms = {rest, rest[:3]}
        return {f"{y}{form}" for y in ({year, "-"} if year != "-" else "-?") for form in forms} | {
            f"{year}~"
        }
    number, _, unit = value.partition(" ")
    return {number, value if unit else f"{number} -"}


def _alternatives(value: str) -> set[str]:
    """Any of these, among what is implied, states a number or a date."""
    if value.endswith("?") and value.count("-") == 2:
        return set().union(*map(_alternatives, _orders(value)))
    if clock := _CLOCK.fullmatch(value):
        hour, half = int(clock[1]), f"~{int(clock[1]) % 12}:{clock[2]}"
        bare = {f"{hour} -", f"{hour % 12 or 12} -", f"{hour} h"} if clock[2] == "00" else set()
        return {half if clock[3] else value, half if clock[3] else f"?{half}"} | bare
    if date := _DATE.fullmatch(value):
        return {value, f"?-{date[2]}"} if date[2] else {f"{value}~", value}
    number, _, unit = value.partition(" ")
    return {value, f"{number} -"} if unit else {number}


def _orders(value: str) -> tuple[str, str]:
    """Both dates that one like 03/04/2025 may be."""
    year, month, day = value.rstrip("?").split("-")
    return f"{year}-{month}-{day}", f"{year}-{day}-{month}"


def _replacements(
    given: str, missing: list[Fact], text: str, new: list[Fact]
) -> Iterator[tuple[Fact, Fact]]:
    """Facts of a kind that stand between the same words."""
    for kind in FACT_KINDS:
        olds = [(fact, _context(given, fact)) for fact in missing if fact.kind == kind]
        news = [(fact, _context(text, fact)) for fact in new if fact.kind == kind]
        scored = sorted(
            (
                (_alike(before, after), -i, -j)
                for i, (_, before) in enumerate(olds[:_MOST_PAIRS])
                for j, (_, after) in enumerate(news[:_MOST_PAIRS])
            ),
            reverse=True,
        )
        paired: set[tuple[str, int]] = set()
        for score, i, j in scored:
            if score >= _ALIKE and not paired & {("old", i), ("new", j)}:
                paired |= {("old", i), ("new", j)}
                yield olds[-i][0], news[-j][0]


def _context(text: str, fact: Fact) -> set[str]:
    """The words around a fact, and those of a longer one."""
    before = text[max(fact.start - _REACH, 0) : fact.start].casefold()
    after = text[fact.end : fact.end + _REACH].casefold()
    around = [*_WORD.findall(before)[-6:], *_WORD.findall(after)[:6]]
    own = _WORD.findall(fact.text.casefold()) if fact.kind in ("quotes", "links", "code") else []
    return set(map(_stem, [*around, *own]))


def _alike(before: set[str], after: set[str]) -> float:
    shared = len(before & after)
    return 2 * shared / (len(before) + len(after)) if shared > 1 else 0.0


def _masked(text: str, spans: list[tuple[int, int]]) -> str:
    parts, end = [], 0
    for start, stop in sorted(spans):
        if stop > end:
            parts += [text[end:start], _MASK * (stop - max(start, end))]
            end = stop
    return "".join([*parts, text[end:]])


def _language(text: str) -> str:
    """The language most of whose common words stand in a text."""
    counts = Counter(re.findall(r"[^\W\d_]+", text[:20_000].casefold()))
    return max(_COMMON, key=lambda each: sum(counts[word] for word in _COMMON[each].split()))


def _stem(word: str) -> str:
    """A word without the ending of a plural or a possessive."""
    return word[:-1] if len(word) > 3 and word.endswith("s") else word


def _code(rest: str, text: str, _: str) -> Iterator[_Found]:
    for block in _CODE_BLOCK.finditer(rest):
        yield "code", block.start(), block.end(), ""
        for line in re.finditer(r"\S[^\n]*", text[block.start(2) : block.end(2)]):
            start = block.start(2) + line.start()
            yield "code", start, start + len(line[0].rstrip()), _code_value(line[0])
    prose = _masked(rest, [block.span() for block in _CODE_BLOCK.finditer(rest)])
    for found in _CODE.finditer(prose):
        if "://" not in prose[max(found.start() - 12, 0) : found.start()]:
            yield "code", *found.span(), _code_value(found["span"] or found[0])


def _code_value(code: str) -> str:
    return " ".join(filter(None, (each.strip("*_.:!?") for each in _TOKEN.findall(code))))


def _links(rest: str, _text: str, _: str) -> Iterator[_Found]:
    for found in _LINK.finditer(rest):
        link = found[0].rstrip(".,;:!?'*_’")
        link = link if "(" in link else link.partition(")")[0]
        host, slash, path = re.sub(r"(?i)^https?://|^www\.", "", link).partition("/")
        host = re.sub("^www[.]", "", host.casefold())
        yield "links", found.start(), found.start() + len(link), (host + slash + path).rstrip("/")


def _quotes(rest: str, text: str, _: str) -> Iterator[_Found]:
    for found in _QUOTE.finditer(rest):
        words = _WORD.findall(text[found.start() : found.end()].casefold())
        real = len(found[0].split()) > 2 or found[0][0] in "「『"
        yield "quotes", *found.span(), " ".join(words) if real else ""


def _dates(rest: str, _text: str, language: str) -> Iterator[_Found]:
    for pattern in _DATES:
        taken = []
        for found in pattern.finditer(rest):
            parts = found.groupdict()
            if value := _date(parts, language):
                taken.append(found.span())
                alone = not parts.get("d") and not parts.get("y")
                yield "dates", *found.span("m" if alone else 0), value
                if first := parts.get("d0"):
                    yield "dates", *found.span("d0"), f"{value.rpartition('-')[0]}-{int(first):02}"
        rest = _masked(rest, taken)


def _date(parts: dict[str, str | None], language: str) -> str:
    """A date as year, month and day, as far as it has them; nothing if it cannot be one."""
    year, month, day, sign = parts.get("y"), parts["m"] or "", parts.get("d"), parts.get("s")
    if sign and not year and (language == "en" or (sign == "/" and len(f"{day}{month}") < 4)):
        return ""
    if month.isdigit():
        number = int(month)
    elif month[0].islower() and language in ("en", "de"):
        return ""
    else:
        number = _MONTH[month.casefold()]
    twelfth = sign == "/" and language == "en"
    if twelfth and number > 12 and day:
        number, day = int(day), month
    if not 1 <= number <= 12 or (day and not 1 <= int(day) <= 31):
        return ""
    either = "?" if twelfth and day and int(day) < 13 and int(day) != number else ""
    year = f"20{year}" if year and len(year) == 2 else year or "-"
    return f"{year}-{number:02}" + (f"-{int(day):02}{either}" if day else "")


def _weekdays(rest: str, _text: str, _: str) -> Iterator[_Found]:
    for found in _WEEKDAY.finditer(rest):
        name = found["day"].casefold()
        value = "" if found["dated"] else _DAY.get(name) or _DAY[name[:-1]]
        yield "dates", *found.span("day"), value


def _times(rest: str, _text: str, language: str) -> Iterator[_Found]:
    for found in _TIME.finditer(rest):
        hour, minute, sign = int(found["h"]), found["m"] or "00", found["s"]
        clock = found["half"] or found["clock"]
        if clock == "h" and not sign and language != "fr":
            continue
        if sign == "." and not clock:
            before = rest[max(found.start() - 7, 0) : found.start()].casefold()
            if not re.search(r"\b(?:um|ab|bis|ore|alle|dalle|las)\s\Z", before):
                continue
        if not sign and not clock:
            continue
        if half := found["half"]:
            hour = hour % 12 + (12 if half[0] in "pP" else 0)
        unsure = "?" if language == "en" and not half and 1 <= hour <= 12 else ""
        yield "dates", *found.span(), f"{hour:02}:{minute}{unsure}"


def _numbers(rest: str, _text: str, language: str) -> Iterator[_Found]:
    labels = [found.span() for found in _NO_FACT.finditer(rest)]
    for found in _number(language).finditer(_masked(rest, labels)):
        word, scale = found["word"], found["scale"]
        value = _numeral(language)[word.casefold()] if word else _plain(found["digits"])
        if not value:
            continue
        if scale and "/" not in value:
            value = f"{Decimal(value).scaleb(_SCALES[scale]).normalize():f}"
        value = f"-{value}" if found["sign"] else value
        currency, unit = found["before"] or found["after"], found["unit"]
        if currency:
            yield "money", *found.span(), f"{value} {_canonical(currency.strip())}"
        elif unit:
            yield "numbers", *found.span(), f"{value} {_canonical(unit)}"
        else:
            year = re.fullmatch(r"(?:19|20)\d\d", found[0])
            yield "dates" if year else "numbers", *found.span(), value


@lru_cache(256)
def _canonical(unit: str) -> str:
    units = {**_UNITS, **_CURRENCIES}
    return next(name for name, words in units.items() if re.fullmatch(f"(?i:{words})", unit))


def _plain(digits: str) -> str:
    """A number without its grouping: what could be thousands is read as that, whatever the language."""
    bare = re.sub(rf"{_SPACE}|['’]", "", digits)
    if "/" in bare or len(bare) > 30:
        return bare
    if re.fullmatch(r"[1-9]\d{0,2}(?:([.,])\d{3})(?:\1\d{3})*", bare):
        return bare.replace(".", "").replace(",", "")
    whole, _, part = bare.replace(",", ".").rpartition(".")
    if not re.fullmatch(r"\d*|[1-9]\d{0,2}(?:\.\d{3})+", whole):
        return ""
    number = Decimal(f"{whole.replace('.', '')}.{part}" if whole else part)
    return f"{number.normalize():f}"


@lru_cache(8)
def _numeral(language: str) -> dict[str, str]:
    """The words for numbers, and what they mean."""
    words = _NUMERALS[language].split()
    values = [*range(1, 21), *range(30, 100, 10), 100, 1000]
    table = dict(zip(words, map(str, values), strict=False))
    for ten in [*words[19:20], *words[20:27]]:
        for one in words[:9]:
            both = _COMPOUNDS[language].format(one, ten)
            if language == "it" and one[0] in "uo":
                both = ten[:-1] + one
            if language == "es" and ten == "veinte":
                both = f"veinti{one}"
            table[both] = str(int(table[ten]) + int(table[one]))
    del table[words[0]]
    return table


@lru_cache(8)
def _number(language: str) -> re.Pattern[str]:
    spelled = sorted(_numeral(language))
    words = "|".join(
        f"{head}(?:{'|'.join(sorted((each[2:] for each in group), key=len, reverse=True))})"
        for head, group in groupby(spelled, key=lambda each: each[:2])
    )
    scales = "|".join(sorted(_SCALES, key=len, reverse=True))
    money, units = "|".join(_CURRENCIES.values()), "|".join(_UNITS.values())
    return re.compile(
        rf"(?<![\w.,/:])(?<![^\W\d_]-)(?P<sign>(?<![^\s(])[-−])?"
        rf"(?P<before>(?:US\$|[$€£¥]|EUR|USD|GBP|CHF|JPY){_SPACE}?)?"
        rf"(?:(?P<digits>\d{{1,3}}(?:{_SPACE}\d{{3}})+(?!\d)(?:[.,]\d++)?|\d++(?:[.,]\d++|['’]\d{{3}})*+(?:/\d++)?)"
        rf"|(?P<word>(?i:{words}))(?!\w|-[^\W\d]))(?:,[-–]{{1,2}})?"
        rf"(?:{_SPACE}?(?P<scale>{scales})\b\.?)?"
        rf"(?:[-{_SPACE[1:-1]}]?(?:(?P<after>(?i:{money}))|(?P<unit>(?i:{units})))(?!\w))?(?![^\W\d_]|[.,]\d)"
    )


def _names(rest: str, _text: str, language: str) -> Iterator[_Found]:
    rest = _NOT_NAMED.sub(lambda line: _MASK * len(line[0]), rest)
    for found in _PRODUCT.finditer(rest):
        yield "names", *found.span(), "-".join(map(_stem, _WORD.findall(found[0].casefold())))
    common = set(re.findall(r"\b[^\W\d_]+", rest)) - set(re.findall(rf"\b[{_UPPER}]\w*", rest))
    for found in _NAME.finditer(rest):
        words = [*re.finditer(_CAPITAL, found[0])]
        words = [*takewhile(lambda word: word[0].casefold() not in _PRONOUNS, words)]
        titled = re.match(rf"{_TITLE}\.|(?:Herrn?|Frau)\b", found[0])
        first = _START.search(rest[max(found.start() - 12, 0) : found.start()])
        if first and not titled and words and not _INNER.match(words[0][0]):
            words = words[1:]
        if language == "de" and not titled:
            if (
                len(words) == 1
                or rest[max(found.start() - 2, 0) : found.start()].strip(" ") == _MASK
            ):
                words = [word for word in words if _INNER.match(word[0])]
        named = [
            word
            for word in words
            if word[0].casefold() not in _NO_NAME
            and word[0].casefold() not in common
            and len(word[0]) > 2 + word[0].isupper()
        ]
        if named:
            start, end = found.start() + words[0].start(), found.start() + words[-1].end()
            yield "names", start, end, "-".join(map(_stem, _WORD.findall(named[-1][0].casefold())))
