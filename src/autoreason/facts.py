"""Facts in texts, compared by code: what a rewrite loses, changes or invents."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple, get_args

from autoreason.fact_readers import FactKind as FactKind
from autoreason.fact_readers import code_tokens, read_facts, stem, words_of

FACT_KINDS: tuple[FactKind, ...] = get_args(FactKind)


class Fact(NamedTuple):
    """Something in a text that a person could check."""

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


_CLOCK = re.compile(r"(\d\d):(\d\d)(\?)?")
_DATE = re.compile(r"(-|\d{4})(?:-(\d\d)(?:-(\d\d))?)?(\?)?")
_SENTENCE_END = re.compile(r"[.!?…][\"'”»“)]*\s+(?=[^a-z\s])|\n\s*(?:\n|[-*#>|]|\d+[.)])\s*")
_REACH = 60
"""Characters on each side by which the place of a fact is known again."""
_MOST_PAIRS = 60
_ALIKE = 0.6
"""The share of words around two facts that must be the same for one to have replaced the other."""


@lru_cache(256)
def find_facts(text: str) -> tuple[Fact, ...]:
    """Every fact in a text, in its order."""
    found = sorted(read_facts(text), key=lambda each: (*each[1:3], each[0]))
    return tuple(Fact(kind, text[a:b], value, a, b) for kind, a, b, value in found)


def compare_facts(
    given: str,
    text: str,
    kinds: Sequence[FactKind] = FACT_KINDS,
    allowed: Sequence[str] = (),
) -> Difference:
    """What `given` states and `text` does not, and what `text` states that neither `given` nor `allowed` does."""
    missing, new = _unstated(given, text, kinds), _unstated(text, given, kinds)
    pairs = dict(_replacements(given, missing, text, new))
    known = {*pairs.values(), *(fact for fact in new if any(_states(it, fact) for it in allowed))}
    return Difference(
        lost=tuple(fact for fact in missing if fact not in pairs),
        changed=tuple(pairs.items()),
        added=tuple(fact for fact in new if fact not in known),
    )


def sentence_of(text: str, fact: Fact) -> str:
    return sentence_around(text, fact.start, fact.end)


def sentence_around(text: str, start: int, end: int) -> str:
    """The sentence, or the line where that is shorter, that contains a passage."""
    before = text[max(start - 400, 0) : start]
    begin = max((each.end() for each in _SENTENCE_END.finditer(before)), default=0)
    behind = _SENTENCE_END.search(text, end, end + 400)
    sentence = before[begin:] + text[start : behind.start() + 1 if behind else end + 400]
    return " ".join(sentence.split())


def _unstated(given: str, text: str, kinds: Sequence[FactKind]) -> list[Fact]:
    """The facts of a text, each value once, that another does not state."""
    facts = {(fact.kind, fact.value): fact for fact in reversed(find_facts(given))}
    missing = [each for each in facts.values() if each.kind in kinds and not _states(text, each)]
    return sorted(missing, key=lambda fact: fact.start)


def _states(text: str, fact: Fact) -> bool:
    stated = _stated(text)
    if fact.value in stated[fact.kind]:
        return True
    # In other words, or without marks.
    if fact.kind == "quotes":
        return stated["runs"].issuperset(_runs(fact.value.split()))
    if fact.kind == "code":
        return stated["tokens"].issuperset(fact.value.split())
    if fact.kind == "names":
        return stated["words"].issuperset(fact.value.split("-"))
    return fact.kind != "links" and not stated["implied"].isdisjoint(_forms(fact.value)[1])


@lru_cache(64)
def _stated(text: str) -> dict[str, set[str]]:
    """What a text states: its values by kind and what they imply, its words, and what code is made of."""
    stated: dict[str, set[str]] = defaultdict(set)
    for fact in find_facts(text):
        stated[fact.kind].add(fact.value)
        if fact.kind in ("numbers", "money", "dates"):
            stated["implied"] |= _forms(fact.value)[0]
    # An address does not state the names in it.
    links = [fact for fact in find_facts(text) if fact.kind == "links"]
    ends, starts = (0, *(link.end for link in links)), (*(link.start for link in links), len(text))
    plain = words_of(" ".join(map(text.__getitem__, map(slice, ends, starts))))
    stated["words"] = set(map(stem, plain))
    stated["runs"] = set(_runs(plain))
    stated["tokens"] = set(code_tokens(text))
    return stated


def _runs(words: list[str]) -> Iterator[str]:
    return map(" ".join, zip(words, words[1:], words[2:], strict=False))


@lru_cache(1024)
def _forms(value: str) -> tuple[set[str], set[str]]:
    """What a number or a date implies, and any of which implies it."""
    if clock := _CLOCK.fullmatch(value):
        hour, minute, unsure = int(clock[1]), clock[2], clock[3]
        half = f"~{hour % 12}:{minute}"
        hours = {f"{n} {it}" for n in (hour, hour % 12 or 12) for it in "-h" if minute == "00"}
        bare = {each[:-2] for each in hours}
        if unsure:
            return {half, f"?{half}"} | hours | bare, {half} | hours
        return {value, half} | hours | bare, {value, f"?{half}"} | hours
    if date := _DATE.fullmatch(value):
        year, month, day, unsure = date.groups()
        if not month:
            return {f"{year}~", year, f"{year} -"}, {f"{year}~", year}
        if unsure:
            both = _forms(value[:-1]), _forms(f"{year}-{day}-{month}")
            return both[0][0] | both[1][0], both[0][1] | both[1][1]
        ends = {f"-{month}-{day}", f"-{month}"} if day else {f"-{month}"}
        years = {year, "-"} if year != "-" else {"-", "?"}
        implied = {f"{each}{end}" for each in years for end in ends} | {f"{year}~"}
        return implied, {value, f"?-{month}-{day}" if day else f"?-{month}"}
    number, _, unit = value.partition(" ")
    return {number, value if unit else f"{number} -"}, {value, f"{number} -"} if unit else {number}


def _replacements(
    given: str, missing: list[Fact], text: str, new: list[Fact]
) -> Iterator[tuple[Fact, Fact]]:
    """Facts of a kind that stand between the same words, the most alike first."""
    scored: list[tuple[float, Fact, Fact]] = []
    for kind in FACT_KINDS:
        olds = [fact for fact in missing if fact.kind == kind][:_MOST_PAIRS]
        news = [(fact, _context(text, fact)) for fact in new if fact.kind == kind][:_MOST_PAIRS]
        for old in olds:
            around = _context(given, old)
            for fact, there in news:
                shared = len(around & there) if len(around & there) > 1 else 0
                scored.append((2 * shared / max(len(around) + len(there), 1), old, fact))
    paired: set[Fact] = set()
    for score, old, fact in sorted(scored, key=lambda each: -each[0]):
        if score >= _ALIKE and paired.isdisjoint((old, fact)):
            paired |= {old, fact}
            yield old, fact


def _context(text: str, fact: Fact) -> set[str]:
    """The words around a fact, and those of a long one."""
    before = words_of(text[max(fact.start - _REACH, 0) : fact.start])[-6:]
    after = words_of(text[fact.end : fact.end + _REACH])[:6]
    own = words_of(fact.text) if fact.kind in ("quotes", "links") else []
    return set(map(stem, [*before, *after, *own]))
