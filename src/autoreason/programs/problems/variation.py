"""Varies plain values within the kinds seen in examples: types, shapes, ranges, letters, order."""

from __future__ import annotations

import math
import string
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from random import Random
from typing import Any

Path = tuple[object, ...]
"""The place of a value: the argument's number, then one step per level inside it."""

_TRIES = 8
_KEEP_RULE_SHARE = 0.85
"""How often a rule that all examples follow is kept."""
_FEW = 3
"""Letters of a class that examples must have before all of that class are used."""
_HUGE = 1e300
"""Integers may be larger; a float cannot represent those."""
_LONG = 5
"""Items that are unlikely to be in order by chance."""
_LETTER_CLASSES = (string.ascii_lowercase, string.ascii_uppercase, string.digits)
_BRACKETS = {")": "(", "]": "[", "}": "{", ">": "<"}


def _balanced(text: str) -> bool:
    unclosed: list[str] = []
    for each in text:
        if each in _BRACKETS.values():
            unclosed.append(each)
        elif each in _BRACKETS and (not unclosed or unclosed.pop() != _BRACKETS[each]):
            return False
    return not unclosed


_TEXT_RULES: tuple[Callable[[str], bool], ...] = (
    str.isdigit,
    str.isalpha,
    str.islower,
    str.isupper,
    lambda text: text == text.strip(),
    lambda text: "  " not in text,
    lambda text: len(set(text)) == len(text),
    _balanced,
)


def _ascends(items: Sequence[Any]) -> bool:
    try:
        return all(one <= other for one, other in pairwise(items))
    except TypeError:
        return False


def _descends(items: Sequence[Any]) -> bool:
    return _ascends(items[::-1])


class ValueKinds:
    """The values at each place of the examples, and similar values."""

    def __init__(self, examples: Iterable[Sequence[Any]], constants: Iterable[Any] = ()) -> None:
        """`constants`: values that the problem mentions, often the ones at which something changes."""
        self._constants = list(dict.fromkeys(constants))
        self._examples: defaultdict[Path, list[Any]] = defaultdict(list)
        for arguments in examples:
            for place, value in enumerate(arguments):
                self._add_example((place,), value)

    def _add_example(self, path: Path, value: Any) -> None:
        self._examples[path].append(value)
        if isinstance(value, list | set | frozenset) or (
            isinstance(value, tuple) and _alike(value)
        ):
            for each in value:
                self._add_example((*path, "item"), each)
        elif isinstance(value, tuple):
            for place, each in enumerate(value):
                self._add_example((*path, place), each)
        elif isinstance(value, dict):
            for key, each in value.items():
                self._add_example((*path, "key"), key)
                self._add_example((*path, "value"), each)

    def edges(self, path: Path, value: Any) -> list[Any]:
        """Edge cases for a place: empty, one item, repeated, the smallest, the largest."""
        match value:
            case bool():
                return [not value]
            case int() | float():
                return [
                    kind for kind in self._edge_numbers(path, value) if self._allows(path, kind)
                ]
            case str():
                return [
                    *([""] if self._may_be_empty(path) else []),
                    value[:1],
                    value[:1] * 3,
                    value[::-1],
                    value * 2,
                ]
            case list() | tuple() if self._fixed(path):
                return []
            case list() | tuple():
                empty = [value[:0]] if self._may_be_empty(path) else []
                again = type(value)([*value, *value[:1]])
                return [*empty, value[:1], value[:1] * 3, value[::-1], value[1:], again]
            case dict():
                return [{}, dict(list(value.items())[:1])]
            case set() | frozenset():
                return [type(value)(), type(value)(sorted(value, key=repr)[:1])]
        return []

    def vary(self, path: Path, value: Any, random: Random) -> Any:
        """Another value, like the examples at this place."""
        for _ in range(_TRIES):
            varied = self._vary(path, value, random)
            if self._allows(path, varied) or random.random() > _KEEP_RULE_SHARE:
                return varied
        return value

    def _vary(self, path: Path, value: Any, random: Random) -> Any:
        match value:
            case bool():
                return random.random() < 0.5
            case int():
                return self._number(path, value, random)
            case float():
                return self._fraction(path, value, random)
            case str():
                return self._text(path, value, random)
            case list():
                return self._items(path, value, random)
            case tuple():
                if _alike(value) and not self._fixed(path):
                    return tuple(self._items(path, list(value), random))
                return tuple(self._parts(path, value, random))
            case set() | frozenset():
                items = self._items(path, sorted(value, key=repr), random)
                # Another example may have a list here, with items that are not hashable.
                return type(value)(filter(_hashable, items))
            case dict():
                return self._entries(path, value, random)
        return value

    def _edge_numbers(self, path: Path, value: Any) -> list[Any]:
        low, high = self._range(path)
        edges = [0, 1, 2, value + 1, value - 1, low, high, high + 1]
        whole = isinstance(value, int)
        return [type(value)(each) for each in edges if whole or abs(each) <= _HUGE]

    def _range(self, path: Path) -> tuple[float, float]:
        numbers = self._numbers(path)
        return min(numbers), max(numbers)

    def _number(self, path: Path, value: int, random: Random) -> int:
        low, high = (int(each) for each in self._range(path))
        upper = max(10, 2 * high)
        drawn: int = random.choice(
            [
                value + random.choice([-2, -1, 1, 2]),
                random.randint(min(0, low), max(3, high)),
                random.randint(min(0, low), upper),
                random.randint(low - 3, low + 10),
                int(random.choice(self._numbers(path))),
                value * 2,
                value // 2,
                -value,
                random.choice([0, 1, 2, 3]),
                random.randint(high, 10 * upper),
                random.choice(self._mentioned(int) or [value]) + random.choice([-1, 0, 0, 1]),
            ]
        )
        return drawn

    def _mentioned(self, kind: type) -> list[Any]:
        return [each for each in self._constants if type(each) is kind]

    def _numbers(self, path: Path) -> list[float]:
        """The numbers at a place; a varied value may have come from another place."""
        return [each for each in self._examples[path] if isinstance(each, int | float)] or [0]

    def _fraction(self, path: Path, value: float, random: Random) -> float:
        examples = [each for each in self._numbers(path) if abs(each) <= _HUGE] or [1.0]
        drawn = random.choice(
            [
                value + random.choice([-1, -0.5, 0.5, 1, 0.1]),
                random.uniform(min(0, *examples), max(1, *examples)),
                random.choice(examples),
                -value,
                value * 2,
                random.choice([0.0, 1.0, 0.5, 2.5]),
            ]
        )
        return value if math.isinf(drawn) else round(float(drawn), random.choice([0, 1, 2, 3]))

    def _text(self, path: Path, value: str, random: Random) -> str:
        letters = self._letters(path)
        others = [each for each in self._examples[path] if isinstance(each, str)] or [value]
        at = random.randrange(len(value) + 1)
        letter = random.choice(letters) if letters else "a"
        words = value.split(" ")
        random.shuffle(words)
        changes: list[Callable[[], str]] = [
            lambda: value[:at] + letter + value[at:],
            lambda: value[:at] + letter + value[at + 1 :],
            lambda: value[:at] + value[at + 1 :],
            lambda: value[:at],
            lambda: value[at:],
            lambda: value[:at] + value[at : at + 1] * 2 + value[at + 1 :],
            lambda: "".join(random.choices(letters or "a", k=random.randint(1, len(value) + 3))),
            lambda: "".join(random.sample(value, len(value))),
            lambda: value[::-1],
            lambda: random.choice(others) + value,
            *[lambda: random.choice(self._mentioned(str) or others)] * 3,
            lambda: value + value[::-1],
        ]
        if len(words) > 1:
            changes += 2 * [
                lambda: " ".join(words),
                lambda: " ".join(words[1:]),
                lambda: " ".join([*words, random.choice(words)]),
                lambda: " ".join([self._text(path, words[0], random), *words[1:]]),
            ]
        elif any(each.swapcase() in letters for each in value):
            changes.append(value.swapcase)
        changed = random.choice(changes)()
        return self._text(path, changed, random) if random.random() < 0.3 else changed

    def _letters(self, path: Path) -> str:
        """The letters of examples and constants, and all of a class of which several are."""
        examples = set("".join(each for each in self._examples[path] if isinstance(each, str)))
        examples |= {each for each in self._mentioned(str) if len(each) == 1}
        for each in _LETTER_CLASSES:
            if len(examples & set(each)) >= _FEW:
                examples |= set(each)
        return "".join(sorted(examples))

    def _items(self, path: Path, value: list[Any], random: Random) -> list[Any]:
        inside = (*path, "item")
        known = self._examples[inside]
        if not known:
            return value

        def other() -> Any:
            return self.vary(inside, random.choice(value or known), random)

        def change_one() -> list[Any]:
            at = random.randrange(len(value)) if value else 0
            return [*value[:at], other(), *value[at + 1 :]]

        changes: list[Callable[[], list[Any]]] = [
            change_one,
            change_one,
            lambda: [self.vary(inside, each, random) for each in value],
            lambda: random.sample(value, len(value)),
        ]
        if not self._fixed(path):
            at = random.randrange(len(value) + 1)
            changes += [
                lambda: [*value[:at], other(), *value[at:]],
                lambda: [*value[:at], *value[at + 1 :]],
                lambda: value[:at],
                lambda: [*value[:at], *value[at - 1 :]] if value else [other()],
                lambda: [other() for _ in range(random.randint(1, len(value) + 2))],
                lambda: value[::-1],
                lambda: [*value, *(random.choice(known) for _ in range(2))],
            ]
        changed = random.choice(changes)()
        return self._in_order(path, changed, random)

    def _in_order(self, path: Path, items: list[Any], random: Random) -> list[Any]:
        """The items in the order that all examples have."""
        for ordered, backwards in ((_ascends, False), (_descends, True)):
            examples = [each for each in self._examples[path] if isinstance(each, list | tuple)]
            if examples and all(map(ordered, examples)) and max(map(len, examples)) >= _FEW:
                certain = len(examples) > 1 or len(examples[0]) >= _LONG
                if random.random() < (_KEEP_RULE_SHARE if certain else 0.5):
                    try:
                        return sorted(items, reverse=backwards)
                    except TypeError:
                        return items
        return items

    def _parts(self, path: Path, value: tuple[Any, ...], random: Random) -> list[Any]:
        if not value:
            return []
        inside = [(*path, "item" if _alike(value) else place) for place in range(len(value))]
        at = random.randrange(len(value))
        return [
            self.vary(where, each, random) if place == at or random.random() < 0.3 else each
            for place, (where, each) in enumerate(zip(inside, value, strict=True))
        ]

    def _entries(self, path: Path, value: dict[Any, Any], random: Random) -> dict[Any, Any]:
        if not value:
            return value
        entries = list(value.items())
        at = random.randrange(len(entries))
        key, item = entries[at]
        match random.randrange(4):
            case 0:
                del entries[at]
            case 1:
                entries[at] = (self.vary((*path, "key"), key, random), item)
            case 2:
                entries.append(
                    (
                        self.vary((*path, "key"), key, random),
                        self.vary((*path, "value"), item, random),
                    )
                )
            case _:
                entries[at] = (key, self.vary((*path, "value"), item, random))
        return dict(entries)

    def _may_be_empty(self, path: Path) -> bool:
        """Whether an empty value is allowed here: at the top always, inside only if an example has it."""
        return len(path) == 1 or any(not each for each in self._examples[path])

    def _fixed(self, path: Path) -> bool:
        """Whether the value here is a record or, inside another value, always of one length."""
        examples = [each for each in self._examples[path] if isinstance(each, list | tuple)]
        if any(isinstance(each, tuple) and not _alike(each) for each in examples):
            return True
        return len(path) > 1 and len(examples) > 1 and len(set(map(len, examples))) == 1

    def _allows(self, path: Path, value: Any) -> bool:
        """Whether a value follows the rules that all examples follow."""
        examples = self._examples[path]
        if isinstance(value, str):
            texts = [each for each in examples if isinstance(each, str) and each]
            rules = [rule for rule in _TEXT_RULES if all(map(rule, texts))]
            return not value or all(rule(value) for rule in rules)
        if isinstance(value, int | float) and not isinstance(value, bool):
            low, high = self._range(path)
            digits = (
                all(isinstance(each, int) and 0 <= each <= 1 for each in examples)
                and len(examples) >= _FEW
            )
            return (value >= 0 or low < 0) and (value <= high or not digits)
        return True


def _hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _alike(value: tuple[Any, ...]) -> bool:
    """Whether the items of a tuple are of one type, and it is not a record."""
    return len({type(each) for each in value}) <= 1
