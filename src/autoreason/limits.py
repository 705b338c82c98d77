"""Limits that a brief states in prose, read by code: “at most 80 words”, “in German”, “no emojis”.

A false one stops good texts, so a phrase counts only in an instruction and where it is about the whole text.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from functools import cache, lru_cache
from itertools import islice, pairwise
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
_QUOTATION = re.compile(r"[“„«»\"‘']([^“”„»«\"]+?)[”“»«\"’'](?!\w)")
_BREAK = re.compile(
    r"\n[ \t]*\n|\n(?=[ \t]*(?:[-*+•–]|\d+[.)])[ \t])|\n(?=#)|(?<=[^\s.][.!?])[\"”»)]*\s+(?=[^\sa-zà-ÿ\d(])"
    r"|(?<=:)[ \t]*\n|\n(?=[^\n]{1,60}\n[A-ZÄÖÜ])"
)
"""Where a sentence, an item or a short line ends."""
_AND = re.compile(r",? (?:and|und|et|y|e|&) |, ")
_ABOUT = 0.2
"""About 80 words are from a fifth fewer to a fifth more."""
_FEW = 20
"""Fewer words than this are no length without “at most” or the like."""
_FRENCH = re.compile(r"\b(?:le|la|les|une|des|en)\b", re.IGNORECASE)
_UNITS = ("words", "characters", "sentences", "paragraphs", "items", "other")
_STATED = {"up", "down", "most", "least", "exact", "about", "high", "after_most", "after_least"}
_HINT = re.compile(
    r"word|w[öo]rt|\bmots|palabra|parol|ch?ara[ck]|caratt|zeichen|sent|s[aä]tz|phrase|fras[ei]|oracion|p[aá]r+[aá][fg]"
    r"|abs[aä]tz|bullet|punkt|punti|puces|viñet|item|point|entries|page|seite|p[aá]gin|line|zeile|ligne|vers|stroph|stanz"
    r"|token|a4|emo[jt]i|smiley|markdown|text|json|section|heading|abschnitt|überschr|[“„«\"‘']|language|sprache|langue"
    r"|idioma|lingua|fran[cç]|espa[ñg]|ital|ingl|angl|\b(?:in|into|auf|ins|to|em)\s(?:\w+\s)?(?-i:[A-Z])",
    re.IGNORECASE,
)
"""Without any of this a brief has no limit, and the grammar, which takes a tenth of a second, is not needed."""
_MAX_SHOWN = 60
"""Characters of a sentence that are shown with a phrase that is not understood."""
_LISTS = ("must_include", "must_not_include")
_MOST_READ, _LONGEST, _MANY = 50_000, 500, 200
"""Characters of a brief that are read, and of a sentence around a phrase; phrases of a kind."""


class Limit(NamedTuple):
    """A phrase of a brief, and the keys of the contract it gives: none if it only looks like a limit."""

    phrase: str
    start: int
    end: int
    keys: dict[str, Any]


class _Grammar:
    """What `limits.toml` says: a name in capitals stands for its entry, lists and tables for alternatives."""

    def __init__(self) -> None:
        self._words = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
        given = self._words["numbers"].items()
        self.numbers = {each: int(n) for n, words in given for each in words.split("|")}
        longest = "|".join(sorted(self.numbers, key=len, reverse=True))
        self._words["NUMBER"] = rf"(?:\d{{1,3}}(?:[.,]\d{{3}})+|\d+|(?:{longest})(?!\w))"
        self._words["MANY"] = [each for each, n in self.numbers.items() if n > 1]
        for name in ("units", "bounds", "after", "languages"):
            self._words[name.upper()] = [f"(?P<{x}>{y})" for x, y in self._words[name].items()]
        self._names = "|".join(sorted(filter(str.isupper, self._words), key=len, reverse=True))
        self.object, self.label = map(self._compile, (self._words["object"], self._words["label"]))
        phrases = {"quantity": self._words["quantity"], **self._words["phrases"]}
        self.phrases = {x: self._compile(rf"(?<![\w$€£])(?:{y})(?!\w)") for x, y in phrases.items()}
        self.rules = [
            {x: self._compile(y) for x, y in each.items() if x != "is"} | {"is": each["is"]}
            for each in self._words["rules"]
        ]

    def _expand(self, found: re.Match[str]) -> str:
        entry = self._words[found[0]]
        text = "|".join(entry) if isinstance(entry, list) else entry
        return f"(?:{re.sub(self._names, self._expand, text)})"

    def _compile(self, pattern: str) -> re.Pattern[str]:
        return re.compile(re.sub(self._names, self._expand, pattern), re.IGNORECASE | re.DOTALL)

    def judge(self, **context: str) -> str:
        """What a phrase is, by the first rule that fits what is before and after it."""
        return next(
            str(rule["is"])
            for rule in self.rules
            if all(name not in rule or rule[name].match(text) for name, text in context.items())
        )

    def number(self, text: str) -> int:
        return self.numbers.get(text.lower()) or int(re.sub(r"[.,]", "", text))


_load_grammar = cache(_Grammar)


@lru_cache(64)
def read_limits(brief: str) -> tuple[Limit, ...]:
    """The limits that a brief states, and what looks like one, in the order of the brief."""
    if not _HINT.search(brief):
        return ()
    grammar, found = _load_grammar(), list[Limit]()
    masked = _QUOTED.sub(
        lambda x: f"{x[0][0]}{'¤' * (len(x[0]) - 2)}{x[0][-1]}", brief[:_MOST_READ]
    )
    starts = [0, *(each.end() for each in _BREAK.finditer(masked)), len(brief) + 1]

    def before(start: int, end: int) -> str:
        line = f"{' '.join(masked[start:end].split())} "
        label = grammar.label.match(line)
        return line[label.end() if label else 0 :].rstrip("*_ ")

    orders = (grammar.object.match(before(*each)) for each in pairwise(starts))
    written = "|".join(re.escape(each["object"].split()[-1]) for each in orders if each) or "(?!)"
    for kind, pattern in grammar.phrases.items():
        for match in islice(pattern.finditer(masked), _MANY):
            start, end = match.span()
            at = bisect_right(starts, start)
            first, last = max(start - _LONGEST, starts[at - 1]), min(end + _LONGEST, starts[at])
            # What is to be written may be called so afterwards: “The biography should …”
            named = re.sub(
                rf"(?i)\b(the|der|die|das|la|le|el) (?:{written})\b",
                r"\1 text",
                before(first, start),
            )
            keys, what = _read(kind, match, brief)
            after = masked[end:last].strip("*_ \n")
            is_limit = "-" if what == "-" else grammar.judge(before=named, after=after, of=what)
            free = all(end <= other.start or start >= other.end for other in found)
            if (
                is_limit != "-"
                and free
                and (keys or not what.endswith("bare") or what[:5] == "other")
            ):
                stated = is_limit == "+" and keys
                begin = start if stated or end - first > _MAX_SHOWN else first
                phrase = " ".join(brief[begin:end].split())
                found.append(Limit(phrase, start, end, keys if stated else {}))
    said = {(key, str(x)) for each in found for key, x in each.keys.items() if key not in _LISTS}
    twice = [key for key, _ in said]
    # Of two different ones neither is sure to be about the whole text.
    clear = (
        x._replace(keys={}) if any(twice.count(key) > 1 for key in x.keys) else x for x in found
    )
    return tuple(sorted(clear, key=lambda each: each.start))


def _read(kind: str, match: re.Match[str], brief: str) -> tuple[dict[str, Any], str]:
    """The keys of the contract that a phrase gives if it is a limit, and what the rules call it."""
    groups = {name: each for name, each in match.groupdict().items() if each}
    if kind == "quantity":
        unit = next((each for each in _UNITS if each in groups), "items")
        # In English a phrase is no sentence.
        if match[0].lower().endswith(("phrase", "phrases")) and not _FRENCH.search(brief):
            return {}, "-"
        bounds = zip(("min", "max"), _bounds(groups, unit), strict=True)
        how = f"{'listed' * ('listed' in groups)}{'dash' * ('dash' in groups)}"
        how += "stated" if _STATED & groups.keys() else "bare"
        return {f"{x}_{unit}": n for x, n in bounds if n and unit != "other"}, f"{unit} {how}"
    if kind == "language":
        code = next(name for name in groups if name.startswith("in_"))[3:]
        return ({} if code == "other" else {kind: code}), kind
    items = _QUOTATION.findall(brief[match.start() : match.end()])
    patterns = tuple(rf"/(?i)\b{re.escape(each)}\b/".replace("\\ ", " ") for each in items)
    keys: dict[str, dict[str, Any]] = {
        "emojis": {kind: "none"},
        "sections": {kind: tuple(items or _AND.split(groups.get("list", "")))},
        **{each: {each: patterns} for each in _LISTS},
        **{each: {"format": each} for each in ("plain", "markdown", "json")},
    }
    return keys.get(kind, {}), kind


def _bounds(groups: dict[str, str], unit: str) -> tuple[int | None, int | None]:
    """The fewest and the most that a quantity says; neither where that is not clear."""
    number, negated = _load_grammar().number, "no" in groups
    low, high = number(groups["low"]), number(groups["high"]) if "high" in groups else None
    if {"up", "down"} & groups.keys():
        is_least = ("up" in groups) != negated
        bound = low if negated else low + 1 if is_least else low - 1
        return (bound, None) if is_least else (None, bound)
    if negated:
        return None, None
    if {"most", "after_most"} & groups.keys():
        return None, high or low
    if {"least", "after_least"} & groups.keys():
        return low, None
    if high:
        apart = "between" in groups or not _AND.search(f" {groups['to']} ")
        return (low, high) if low < high and apart else (None, None)
    about = "about" in groups
    if "exact" in groups or unit in ("sentences", "paragraphs", "items"):
        return (max(low - about, 1), low + about)
    if unit == "characters" and not about:
        return None, low
    near = round(low * (1 - _ABOUT)), round(low * (1 + _ABOUT))
    return near if about or low >= _FEW else (None, None)


def add_limits(contract: Contract, brief: str) -> Contract:
    """The contract with the limits that a brief states: those that it does not have and that do not contradict it."""
    usual, given = asdict(Contract()), asdict(contract)
    for limit in read_limits(brief):
        keys = asdict(contract)
        for key, value in limit.keys.items():
            if given[key] == usual[key]:
                keys[key] = (*keys[key], *value) if key in _LISTS else value
        try:
            contract = Contract(**keys)
        except InvalidInput:
            continue
    return contract


def limits_kept(contract: Contract, brief: str) -> tuple[list[Limit], list[Limit]]:
    """The limits of a brief that a contract has, and what only looks like one."""
    has = asdict(contract)
    lists = {key for key, value in has.items() if isinstance(value, tuple)}
    stated = [
        limit
        for limit in read_limits(brief)
        if all(
            {*x} <= {*has[key]} if key in lists else x == has[key] for key, x in limit.keys.items()
        )
    ]
    return [x for x in stated if x.keys], [x for x in stated if not x.keys]
