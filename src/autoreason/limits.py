"""Limits that a brief states in prose, read by code: “at most 80 words”, “in German”, “no emojis”.

A false one stops good texts, so a phrase counts only in an instruction and where it is about the whole text.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import asdict

from autoreason.contract import CODE_BLOCK, Contract
from autoreason.errors import InvalidInput

_QUOTED = re.compile(
    rf"{CODE_BLOCK.pattern}|`[^`\n]+`|[“„«»\"][^“”„»«\"\n]{{1,200}}[”“»«\"]"
    r"|(?<!\w)['‘][^'’\n]{1,200}['’](?!\w)|^>[^\n]*$|https?://\S+",
    re.MULTILINE | re.DOTALL,
)
_BREAK = re.compile(
    r"\n[ \t]*\n|\n(?=[ \t]*(?:[-*+•–]|\d+[.)])[ \t])|\n(?=#)|(?<=[^\s.][.!?])[\"”»)]*\s+(?=[^\sa-zà-ÿ\d(])"
    r"|(?<=:)[ \t]*\n|\n(?=[^\n]{1,60}\n[A-ZÄÖÜ])"
)
"""Where a sentence, an item or a short line ends."""
_ABOUT = 0.2
"""About 80 words are from a fifth fewer to a fifth more."""
_FEW = 20
"""Fewer words than this are no length without “at most” or the like."""


class Limit(NamedTuple):
    """A phrase of a brief, and the keys of the contract it gives: none if it only looks like a limit."""

    phrase: str
    start: int
    end: int
    keys: dict[str, Any]


class _Grammar:
    """What `limits.toml` says, compiled."""

    def __init__(self) -> None:
        words = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
        lines = (line.split(" ", 1) for line in words["numbers"].strip().splitlines())
        self.numbers = {each: int(n) for n, given in lines for each in given.split("|")}
        longest = sorted(self.numbers, key=len, reverse=True)
        self._words = words | {
            "NUMBER": rf"(?:\d{{1,3}}(?:[.,]\d{{3}})+|\d+|(?:{'|'.join(longest)})(?!\w))",
            "SEVERAL": "|".join(each for each, n in self.numbers.items() if n > 1),
            "LANGUAGES": self._alternatives(words["languages"], "in_"),
        }
        self._places = {name: self._compile(each) for name, each in words["places"].items()}
        self.phrases = {
            name: self._compile(rf"(?<!\w)(?:{each})(?!\w)")
            for name, each in words["phrases"].items()
        }
        bounds, units = self._alternatives(words["bounds"]), self._alternatives(words["units"])
        after = self._alternatives(words["after"], "after_")
        self.quantity = self._compile(
            rf"(?:\b(?P<no>NOT)\s+(?:[a-z]+\s+){{0,2}}?)?(?:(?<!\w)(?:{bounds})\s*)?(?<![\w.,$€£])"
            rf"(?P<low>NUMBER)(?:\s*(?P<to>[-–—]|to|and|or|bis|und|oder|à|et|ou|y|o|e|a)\s*(?P<high>NUMBER))?"
            rf"(?:(?P<dash>-)|\s+)(?:(?!(?:PREPOSITION|AND)\s)[a-zà-ÿ]+\s+){{0,2}}?(?:{units})(?!\w)"
            rf"(?:,?\s+(?:{after}))?"
        )

    def _alternatives(self, patterns: dict[str, str], prefix: str = "") -> str:
        return "|".join(f"(?P<{prefix}{name}>{each})" for name, each in patterns.items())

    def _compile(self, pattern: str) -> re.Pattern[str]:
        """A pattern in which names in capitals stand for entries, which may be lists of alternatives."""
        names = sorted((name for name in self._words if name.isupper()), key=len, reverse=True)

        def fill(found: re.Match[str]) -> str:
            entry = self._words[found[0]]
            return f"(?:{expand('|'.join(entry) if isinstance(entry, list) else entry)})"

        def expand(text: str) -> str:
            return re.sub("|".join(names), fill, text)

        return re.compile(expand(pattern), re.IGNORECASE | re.DOTALL)

    def at(self, place: str, text: str) -> re.Match[str] | None:
        return self._places[place].match(text)

    def number(self, text: str) -> int:
        return self.numbers.get(text.lower()) or int(re.sub(r"[.,]", "", text))


@cache
def _load_grammar() -> _Grammar:
    return _Grammar()


class _Brief:
    """A brief whose quotations and code are hidden, and where its sentences begin."""

    def __init__(self, brief: str) -> None:
        self._grammar, self._text = _load_grammar(), brief
        self._masked = _QUOTED.sub(lambda x: f"{x[0][0]}{'¤' * (len(x[0]) - 2)}{x[0][-1]}", brief)
        self._starts = [0, *(each.end() for each in _BREAK.finditer(self._masked)), len(brief)]
        orders = (self._grammar.at("object", self._before(start, end)) for start, end in self._sentences())
        self._objects = {word for each in orders if each for word in each["object"].lower().split()}

    def _sentences(self) -> Iterator[tuple[int, int]]:
        return zip(self._starts, self._starts[1:], strict=False)

    def _before(self, start: int, end: int) -> str:
        """What stands before a place in its sentence, on one line and without a label."""
        text = " ".join(self._masked[start:end].split())
        label = self._grammar.at("label", text)
        return text[label.end() if label else 0 :].rstrip("*_ ")

    def is_whole(self, start: int, end: int, *, unit: str = "", item: bool = False) -> bool | None:
        """Whether a phrase is about the whole text; False where that is open, None where it instructs nobody."""
        at = self._grammar.at
        first = max(each for each in self._starts[:-1] if each <= start)
        last = min([each for each in self._starts if each > start], default=end)
        before, after = self._before(first, start), self._masked[end:last].strip("*_ \n")
        if item:
            listed = at("list_of", before)
            if not listed:
                return None
            before = f"{listed['rest']}in"
        order, ends = at("order", before), at("ends", after)
        on = ends or at("goes_on", after)
        if at("rate", after) or not (order or (ends and not before) or at("subject", before) or at("fragment", before)):
            return None
        part = at("part", before)
        if at("each", before) or at("after_each", after) or at("several", before) or at("adds", before):
            return False
        if part and part["part"].lower() not in self._objects:
            return False
        if unit not in ("words", "characters") and (at("joined", before) or at("another", after)):
            return False
        if ends and (not before or at("closed", before)):
            return True
        if on and any(at(each, before) for each in ("at_once", "of_object", "after_preposition", "subject")):
            return True
        if at("topic" if not unit else "finite", before):
            return None
        return bool(not unit and order and (ends or (on and at("direct", before))))

    def quantities(self) -> Iterator[Limit]:
        for found in self._grammar.quantity.finditer(self._masked):
            groups = {name for name, each in found.groupdict().items() if each}
            unit = next(each for each in _UNITS if each in groups)
            said = found[unit].lower()
            if said.startswith("phrase") and not re.search(r"\b(?:le|la|les|une|des|en)\b", self._text):
                continue
            bounds = self._bounds(found, groups, unit)
            whole = self.is_whole(*found.span(), unit=unit, item=said in ("items", "points", "entries"))
            stated = groups & {"up", "down", "most", "least", "exact", "after_most", "after_least"}
            if whole is None or not (whole or stated):
                continue
            keys = {f"{x}_{unit}": n for x, n in zip(("min", "max"), bounds, strict=True) if n}
            yield self._limit(found, keys if whole and unit != "other" else {})

    def _bounds(self, found: re.Match[str], groups: set[str], unit: str) -> tuple[int | None, int | None]:
        """The fewest and the most that a quantity says; neither where that is not clear."""
        low, negated = self._grammar.number(found["low"]), "no" in groups
        high = self._grammar.number(found["high"]) if "high" in groups else None
        if groups & {"up", "down"}:
            least = ("up" in groups) != negated
            by = 0 if negated else 1 if least else -1
            return (low + by, None) if least else (None, low + by)
        if negated:
            return None, None
        if groups & {"most", "after_most"}:
            return None, high or low
        if groups & {"least", "after_least"}:
            return low, None
        if high:
            apart = found["to"].lower() not in _TOGETHER or "between" in groups
            return (low, high) if low < high and apart else (None, None)
        if "exact" in groups or unit in ("sentences", "paragraphs", "items"):
            return (max(low - 1, 1), low + 1) if "about" in groups else (low, low)
        if unit == "characters" and "about" not in groups:
            return None, low
        few = low < _FEW and "about" not in groups
        return (None, None) if few else (round(low * (1 - _ABOUT)), round(low * (1 + _ABOUT)))

    def phrases(self) -> Iterator[Limit]:
        for kind, pattern in self._grammar.phrases.items():
            for found in pattern.finditer(self._masked):
                whole = self.is_whole(*found.span())
                if whole is not None:
                    yield self._limit(found, self._keys(kind, found) if whole else {})

    def _keys(self, kind: str, found: re.Match[str]) -> dict[str, Any]:
        if kind == "emojis":
            return {kind: False}
        if kind == "language":
            code = next(name[3:] for name, each in found.groupdict().items() if each)
            return {kind: code} if code != "other" else {}
        if kind in ("plain", "markdown", "json"):
            return {"format": kind}
        text = self._text[found.start() : found.end()]
        items = [each.strip(" ,.") for each in re.findall(r"[“„«»\"‘']([^“”„«»\"]+?)[”“«»\"’'](?!\w)", text)]
        if kind == "sections":
            listed = re.split(r",? (?:and|und|et|y|e|&) |, ", found[0][found.start("list") - found.start() :])
            return {kind: tuple(items or listed)}
        return {kind: tuple(rf"/(?i)\b{re.escape(each)}\b/".replace("\\ ", " ") for each in items)}

    def _limit(self, found: re.Match[str], keys: dict[str, Any]) -> Limit:
        start = found.start() + len(found[0]) - len(found[0].lstrip())
        return Limit(" ".join(self._text[start : found.end()].split()), start, found.end(), keys)


_UNITS = ("words", "characters", "sentences", "paragraphs", "items", "other")
_TOGETHER = ("and", "und", "et", "y", "e")
_LISTS = ("must_include", "must_not_include")


@lru_cache(64)
def read_limits(brief: str) -> tuple[Limit, ...]:
    """The limits that a brief states, and what looks like one, in the order of the brief."""
    read = _Brief(brief)
    found: list[Limit] = []
    for each in (*read.quantities(), *read.phrases()):
        if all(each.end <= other.start or each.start >= other.end for other in found):
            found.append(each)
    stated = {(key, str(value)) for each in found for key, value in each.keys.items() if key not in _LISTS}
    keys = [key for key, _ in stated]
    # Of two different ones neither is sure to be about the whole text.
    clear = (each._replace(keys={}) if any(keys.count(x) > 1 for x in each.keys) else each for each in found)
    return tuple(sorted(clear, key=lambda each: each.start))


def add_limits(contract: Contract, brief: str) -> Contract:
    """A contract with the limits of a brief as well, where it has none of its own and none that contradicts them."""
    given = asdict(contract)
    for each in read_limits(brief):
        new = {key: value for key, value in each.keys.items() if given[key] == asdict(Contract())[key]}
        before = asdict(contract)
        new |= {key: before[key] + new[key] for key in _LISTS if key in new}
        try:
            contract = Contract(**before | new)
        except InvalidInput:
            continue
    return contract
