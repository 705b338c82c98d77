"""Limits that a brief states in prose, read by code: “at most 80 words”, “in German”, “no emojis”.

A false one stops good texts, so a phrase counts only in an instruction and where it is about the whole text.
"""

import re
from bisect import bisect_right
from collections import Counter
from functools import cache, lru_cache
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import asdict

from autoreason.contract import CODE_BLOCK, COUNTED, Contract
from autoreason.errors import InvalidInput
from autoreason.facts import find_numerals, language_of
from autoreason.sentences import hide_points

_QUOTED = re.compile(
    rf"{CODE_BLOCK.pattern}|`[^`\n]+`|[“„«»\"][^“”„»«\"\n]{{1,200}}[”“»«\"]"
    r"|(?<!\w)['‘][^'’\n]{1,200}['’](?!\w)|^>[^\n]*$|https?://\S+",
    re.MULTILINE | re.DOTALL,
)
_QUOTATION = r"[“„«»\"‘']([^“”„»«\"]+?)[”“»«\"’'](?!\w)"
_AND = re.compile(r",? (?:and|und|et|y|e|&) |, ")
_STATED = {"up", "down", "most", "least", "exact", "about", "high"}
_LISTS = ("must_include", "must_not_include")
_FEW = 20
"""Fewer words than this are not a length without “at most” or the like; about 80 are a fifth fewer to a fifth more."""
_MOST_READ, _LONGEST, _MANY, _MOST_SHOWN = 50_000, 500, 200, 60
"""Characters of a brief that are read, and of a sentence around a phrase; phrases of a kind; characters shown."""


class Limit(NamedTuple):
    """A phrase of a brief, the keys of the contract it gives, none if it only looks like one; `kept` by a contract."""

    phrase: str
    start: int
    end: int
    keys: dict[str, Any]
    kept: bool = False


@cache
def _load_grammar() -> dict[str, Any]:
    """What `limits.toml` says."""
    # Few commands read TOML.
    import tomllib

    text = Path(__file__).with_suffix(".toml").read_text("utf-8")
    words = tomllib.loads(text.replace("\\\n", ""))
    for name in ("units", "bounds", "after", "languages"):
        words[name.upper()] = "|".join(f"(?P<{x}>{y})" for x, y in words[name].items())
    words["phrases"] = {x: rf"(?<![\w$€£])(?:{y})(?!\w)" for x, y in words["phrases"].items()}
    words["names"] = "|".join(sorted(filter(str.isupper, words), key=len, reverse=True))
    return words


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    """A pattern of the grammar, when it is first needed: a name in capitals stands for its entry."""
    words = _load_grammar()
    while re.search(words["names"], pattern):
        pattern = re.sub(words["names"], lambda name: f"(?:{words[name[0]]})", pattern)
    return re.compile(pattern, re.IGNORECASE | re.DOTALL)


def _behind_order(sentence: str) -> str:
    """What follows the order that a sentence begins with, after `>`; empty where it begins otherwise."""
    found = _compile("ORDER").match(sentence)
    return f">{sentence[found.end() :]}" if found else ""


def _judge(**context: str) -> str:
    """What a phrase is, by the first rule that fits what it is called, and what is before and after it."""
    context["order"] = _behind_order(context["before"])
    return next(
        str(rule["is"])
        for rule in _load_grammar()["rules"]
        if all(_compile(x).match(context[name]) for name, x in rule.items() if name != "is")
    )


@lru_cache(64)
def read_limits(brief: str) -> tuple[Limit, ...]:
    """The limits that a brief states, and what looks like one, in the order of the brief."""
    text, found, grammar = brief[:_MOST_READ], list[Limit](), _load_grammar()
    masked = _QUOTED.sub(lambda x: f"{x[0][0]}{'¤' * (len(x[0]) - 2)}{x[0][-1]}", text)
    hinted = [x for x, hint in grammar["hints"].items() if re.search(hint, masked, re.IGNORECASE)]
    # Most briefs state none, and to find their numbers takes longer than to see that.
    masked, numbers = _hide_numbers(masked) if hinted else (masked, {})
    phrases = [
        (kind, each)
        for kind in hinted
        for each in islice(_compile(grammar["phrases"][kind]).finditer(masked), _MANY)
    ]
    if not phrases:
        return ()
    points = hide_points(masked)
    starts = [0, *(each.end() for each in re.finditer(grammar["breaks"], points)), len(brief) + 1]
    label, order = _compile(grammar["label"]), _compile(grammar["object"])

    def read_line(start: int, end: int) -> str:
        return label.sub("", f"{' '.join(masked[start:end].split())} ", 1).rstrip("*_ ")

    orders = (order.match(_behind_order(read_line(*each))) for each in pairwise(starts))
    written = "|".join(re.escape(each["object"].split()[-1]) for each in orders if each) or "(?!)"
    # What is to be written may be called so afterwards: “The biography should …”
    own = re.compile(rf"\b(the|der|die|das|la|le|el) (?:{written})\b", re.IGNORECASE)
    for kind, match in phrases:
        (start, end), at = match.span(), bisect_right(starts, match.start())
        first, last = max(start - _LONGEST, starts[at - 1]), min(end + _LONGEST, starts[at])
        keys, called = _read(kind, match, brief, numbers)
        before = own.sub(r"\1 text", read_line(first, start))
        after, rest = masked[end:last].strip("*_ \n"), f"{masked[:first].strip()}>{masked[end:]}"
        sign = _judge(of=called, before=before, after=after, rest=rest)
        if sign != "-" and all(end <= x.start or start >= x.end for x in found):
            keys = keys if sign == "+" else {}
            begin = start if keys or end - first > _MOST_SHOWN else first
            found.append(Limit(" ".join(brief[begin:end].split()), start, end, keys))
    said = {(key, str(x)) for each in found for key, x in each.keys.items() if key not in _LISTS}
    values = Counter(key for key, _ in said)
    # Of two different ones neither is sure to be about the whole text.
    clear = (x if all(values[y] < 2 for y in x.keys) else x._replace(keys={}) for x in found)
    return tuple(sorted(clear, key=lambda each: each.start))


def _read(
    kind: str, match: re.Match[str], brief: str, numbers: dict[int, int]
) -> tuple[dict[str, Any], str]:
    """The keys of the contract that a phrase gives if it is a limit, and what the rules call it."""
    groups = {x.removeprefix("after_"): y for x, y in match.groupdict().items() if y}
    if kind == "quantity":
        unit = next((x for x in (*COUNTED, "other") if x in groups), "items")
        if groups.get("other", "").startswith("phrase") and language_of(brief) == "fr":
            unit = "sentences"
        said = [(match.end(x), groups.get(x, "")) for x in ("low", "high")]
        low, high = (numbers.get(at) or int(re.sub(r"\D", "", x) or bool(x)) for at, x in said)
        bounds = zip(("min", "max"), _bounds(groups, unit, low, high), strict=True)
        keys = {f"{x}_{unit}": n for x, n in bounds if n}
        called = "stated" if _STATED & groups.keys() else "bare" if keys else "unclear"
        called = " ".join([unit, *(groups.keys() & {"listed", "dash"}), called])
        return ({} if unit == "other" else keys), called
    if kind == "language":
        code = next(name for name in groups if name.startswith("in_"))[3:]
        return ({} if code == "other" else {kind: code}), kind
    quoted = re.findall(_QUOTATION, brief[match.start() : match.end()])
    if kind == "sections":
        return {kind: tuple(quoted or _AND.split(groups["list"]))}, kind
    if kind in _LISTS:
        # Behind a sign, as in “C++”, no word ends.
        found = (re.sub(r"^(?=\w)|(?<=\w)$", r"\\b", re.escape(each)) for each in quoted)
        return {kind: tuple(f"/(?i){each}/".replace("\\ ", " ") for each in found)}, kind
    key, _, value = kind.partition("=")
    return ({key: (value,) if key in _LISTS else value} if value else {}), kind


def _hide_numbers(text: str) -> tuple[str, dict[int, int]]:
    """The text with ⁿ for the letters of numbers above one, and what these are, by where they end."""
    numbers = dict[int, int]()
    for start, end, number in find_numerals(text):
        round_one = _compile("ROUND").search(text, max(start - _FEW, 0), end)
        if number > 1 and not (round_one and round_one["vague"]):
            start -= len(round_one["a"]) if round_one else 0
            numbers[end] = number
            text = f"{text[:start]}{'ⁿ' * (end - start)}{text[end:]}"
    return text, numbers


def _bounds(
    groups: dict[str, str], unit: str, low: int, high: int
) -> tuple[int | None, int | None]:
    """The fewest and the most that a quantity says; neither where that is not clear."""
    negated, about = "no" in groups, "about" in groups
    if not re.search(r"\d", groups["low"] + groups.get("high", "")):
        # “two to three hundred” are not two.
        times = next(x for x in (1000, 100, 1) if high % x == 0)
        low = low * times if low * times < high else low
    if {"up", "down"} & groups.keys():
        is_least = ("up" in groups) != negated
        bound = low if negated else low + 1 if is_least else low - 1
        return (bound, None) if is_least else (None, bound)
    whole = not high or {"between", "least"} & groups.keys() or not _AND.search(f" {groups['to']} ")
    if negated or not whole or low >= high > 0:
        return None, None
    if "most" in groups or (unit == "characters" and not _STATED & groups.keys()):
        return None, high or low
    if high or {"exact", "least"} & groups.keys():
        return low, high or (None if "least" in groups else low)
    if unit in ("sentences", "paragraphs", "items"):
        return max(low - about, 1), low + about
    return (round(low * 0.8), round(low * 1.2)) if about or low >= _FEW else (None, None)


def _add(contract: Contract, keys: dict[str, Any]) -> Contract | None:
    has = asdict(contract)
    lists = {key: tuple(dict.fromkeys((*has[key], *keys[key]))) for key in _LISTS if key in keys}
    try:
        return Contract(**has | keys | lists)
    except InvalidInput:
        return None


def add_limits(contract: Contract, brief: str) -> Contract:
    """The contract with the limits that a brief states: those that it does not have and that do not contradict it."""
    own = {key for key, value in asdict(contract).items() if value not in (None, ())}
    for limit in read_limits(brief):
        new = {key: value for key, value in limit.keys.items() if key not in own}
        contract = _add(contract, new) or contract
    return contract


def limits_kept(contract: Contract, brief: str) -> list[Limit]:
    """The limits of a brief that a contract has or overrides, and without keys what only looks like one."""
    read, own = ((x, _add(contract, x.keys)) for x in read_limits(brief)), asdict(contract)
    some = ((x, new) for x, new in read if new in (contract, None) or any(own[y] for y in x.keys))
    return [limit._replace(kept=bool(limit.keys) and new == contract) for limit, new in some]


def without_limits(brief: str) -> str:
    """A brief without these phrases, which are about a text that need not state them."""
    limits = read_limits(brief)
    starts, ends = (0, *(x.end for x in limits)), (*(x.start for x in limits), len(brief))
    return " ".join(map(brief.__getitem__, map(slice, starts, ends)))
