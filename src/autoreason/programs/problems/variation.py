"""Varies plain values and sample inputs within what the examples show: types, shapes, ranges, letters, order."""

from __future__ import annotations

import math
import re
import string
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple, TypeVar

Place = tuple[object, ...]
"""The place of a value: the argument's number, then one step per level inside it."""
T = TypeVar("T")

_TRIES = 8
_KEEP_RULE_SHARE = 0.85
"""How often a rule that all examples follow is kept."""
_FEW = 3
"""Letters of a class that examples must have before all of that class are used."""
_HUGE = 1e300
"""Integers may be larger; a float cannot represent those."""
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


class ValueKinds:
    """The values at each place of the examples, and similar values."""

    def __init__(self, examples: Iterable[Sequence[Any]], constants: Iterable[Any] = ()) -> None:
        """`constants`: values that the problem mentions, often the ones at which something changes."""
        self._constants = list(dict.fromkeys(constants))
        self._examples: defaultdict[Place, list[Any]] = defaultdict(list)
        for arguments in examples:
            for number, value in enumerate(arguments):
                self._add_example((number,), value)

    def _add_example(self, place: Place, value: Any) -> None:
        self._examples[place].append(value)
        inside: list[tuple[object, Any]] = []
        match value:
            case dict():
                inside = [("key", each) for each in value]
                inside += [("value", each) for each in value.values()]
            case tuple() if not _alike(value):
                inside = list(enumerate(value))
            case list() | tuple() | set() | frozenset():
                inside = [("item", each) for each in value]
        for step, each in inside:
            self._add_example((*place, step), each)

    def edges(self, place: Place, value: Any) -> list[Any]:
        """Edge cases for a place: empty, one item, repeated, the smallest, the largest."""
        match value:
            case bool():
                return [not value]
            case int() | float():
                numbers = self._numbers(place)
                low, high = min(numbers), max(numbers)
                edges = (0, 1, 2, value + 1, value - 1, low, high, high + 1)
                numbers = [type(value)(each) for each in edges if abs(each) <= _HUGE]
                return [each for each in numbers if self._allows(place, each)]
            case list() | tuple() if self._fixed(place):
                return []
            case str() | list() | tuple():
                # Inside another value it is empty only if an example has it so.
                empty = len(place) == 1 or not all(self._examples[place])
                one: Any = value[:1]
                others = [one, one * 3, value[::-1], value[1:], value + one]
                return [*([value[:0]] if empty else []), *others]
            case dict():
                return [{}, dict(list(value.items())[:1])]
            case set() | frozenset():
                return [type(value)(), type(value)(sorted(value, key=repr)[:1])]
        return []

    def vary(self, place: Place, value: Any, random: Random) -> Any:
        """Another value, like the examples at this place."""
        for _ in range(_TRIES):
            varied = self._vary(place, value, random)
            if self._allows(place, varied) or random.random() > _KEEP_RULE_SHARE:
                return varied
        return value

    def _vary(self, place: Place, value: Any, random: Random) -> Any:
        match value:
            case bool():
                return random.random() < 0.5
            case int():
                return self._vary_integer(place, value, random)
            case float():
                return self._vary_fraction(place, value, random)
            case str():
                return self._vary_text(place, value, random)
            case list():
                return self._vary_items(place, value, random)
            case tuple():
                if _alike(value) and not self._fixed(place):
                    return tuple(self._vary_items(place, list(value), random))
                return self._vary_record(place, value, random)
            case set() | frozenset():
                items = self._vary_items(place, sorted(value, key=repr), random)
                # Another example may have a list here, with items that are not hashable.
                return type(value)(filter(_is_hashable, items))
            case dict() if value:
                return self._vary_entries(place, value, random)
        return value

    def _numbers(self, place: Place) -> list[Any]:
        """The numbers at a place; a varied value may have come from another place."""
        return [each for each in self._examples[place] if isinstance(each, int | float)] or [0]

    def _vary_integer(self, place: Place, value: int, random: Random) -> int:
        numbers = [int(each) for each in self._numbers(place)]
        low, high = min(numbers), max(numbers)
        upper = max(10, 2 * high)
        mentioned = [each for each in self._constants if type(each) is int] or [value]
        return random.choice(
            [
                value + random.choice([-2, -1, 1, 2]),
                random.randint(min(0, low), max(3, high)),
                random.randint(min(0, low), upper),
                random.randint(low - 3, low + 10),
                random.choice(numbers),
                value * 2,
                value // 2,
                -value,
                random.choice([0, 1, 2, 3]),
                random.randint(high, 10 * upper),
                random.choice(mentioned) + random.choice([-1, 0, 0, 1]),
            ]
        )

    def _vary_fraction(self, place: Place, value: float, random: Random) -> float:
        examples = [each for each in self._numbers(place) if abs(each) <= _HUGE] or [1.0]
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

    def _vary_text(self, place: Place, value: str, random: Random) -> str:
        letters = self._letters(place) or "a"
        others = [each for each in self._examples[place] if isinstance(each, str)] or [value]
        mentioned = [each for each in self._constants if isinstance(each, str)] or others
        at, letter = random.randrange(len(value) + 1), random.choice(letters)
        changes = [
            value[:at] + letter + value[at:],
            value[:at] + letter + value[at + 1 :],
            value[:at] + value[at + 1 :],
            value[:at],
            value[at:],
            value[:at] + value[at : at + 1] * 2 + value[at + 1 :],
            "".join(random.choices(letters, k=random.randint(1, len(value) + 3))),
            "".join(random.sample(value, len(value))),
            value[::-1],
            random.choice(others) + value,
            *random.choices(mentioned, k=3),
            value + value[::-1],
        ]
        words = value.split(" ")
        if len(words) > 1:
            random.shuffle(words)
            other = self._vary_text(place, words[0], random)
            changes += [" ".join(words), " ".join(words[1:]), " ".join([other, *words[1:]])] * 2
        elif any(each.swapcase() in letters for each in value):
            changes.append(value.swapcase())
        changed = random.choice(changes)
        return self._vary_text(place, changed, random) if random.random() < 0.3 else changed

    def _letters(self, place: Place) -> str:
        """The letters of examples and constants, and all of a class of which several are."""
        letters = set("".join(each for each in self._examples[place] if isinstance(each, str)))
        letters |= {each for each in self._constants if isinstance(each, str) and len(each) == 1}
        for each in _LETTER_CLASSES:
            if len(letters & set(each)) >= _FEW:
                letters |= set(each)
        return "".join(sorted(letters))

    def _vary_items(self, place: Place, value: list[Any], random: Random) -> list[Any]:
        inside = (*place, "item")
        known = self._examples[inside]
        if not known:
            return value

        def other() -> Any:
            return self.vary(inside, random.choice(value or known), random)

        at = random.randrange(len(value) + 1)
        changes: list[Callable[[], list[Any]]] = [
            *[lambda: [*value[:at], other(), *value[at + 1 :]] if at < len(value) else value] * 2,
            lambda: [self.vary(inside, each, random) for each in value],
            lambda: random.sample(value, len(value)),
        ]
        if not self._fixed(place):
            changes += [
                lambda: [*value[:at], other(), *value[at:]],
                lambda: [*value[:at], *value[at + 1 :]],
                lambda: value[:at],
                lambda: [*value[:at], *value[at - 1 :]] if value else [other()],
                lambda: [other() for _ in range(random.randint(1, len(value) + 2))],
                lambda: value[::-1],
                lambda: [*value, *random.choices(known, k=2)],
            ]
        return self._in_order(place, random.choice(changes)(), random)

    def _in_order(self, place: Place, items: list[Any], random: Random) -> list[Any]:
        """The items in the order that all examples have."""
        examples = [each for each in self._examples[place] if isinstance(each, list | tuple)]
        if not examples or max(map(len, examples)) < _FEW or random.random() > _KEEP_RULE_SHARE:
            return items
        for backwards in (False, True):
            if all(_ascends(each[::-1] if backwards else each) for each in examples):
                try:
                    return sorted(items, reverse=backwards)
                except TypeError:
                    return items
        return items

    def _vary_record(self, place: Place, value: tuple[Any, ...], random: Random) -> tuple[Any, ...]:
        """A record with one of its fields varied, perhaps more."""
        steps = ["item"] * len(value) if _alike(value) else range(len(value))
        at = random.randrange(len(value)) if value else 0
        return tuple(
            self.vary((*place, step), each, random) if n == at or random.random() < 0.3 else each
            for n, (step, each) in enumerate(zip(steps, value, strict=True))
        )

    def _vary_entries(self, place: Place, value: dict[Any, Any], random: Random) -> dict[Any, Any]:
        entries = list(value.items())
        at = random.randrange(len(entries))
        key, item = entries.pop(at)
        other_key = self.vary((*place, "key"), key, random)
        other_item = self.vary((*place, "value"), item, random)
        replaced: list[tuple[Any, Any]] = random.choice(
            [
                [],
                [(other_key, item)],
                [(key, item), (other_key, other_item)],
                [(key, other_item)],
            ]
        )
        entries[at:at] = replaced
        return dict(entries)

    def _fixed(self, place: Place) -> bool:
        """Whether the value here is a record or, inside another value, always of one length."""
        examples = [each for each in self._examples[place] if isinstance(each, list | tuple)]
        if any(isinstance(each, tuple) and not _alike(each) for each in examples):
            return True
        return len(place) > 1 and len(examples) > 1 and len(set(map(len, examples))) == 1

    def _allows(self, place: Place, value: Any) -> bool:
        """Whether a value follows the rules that all examples follow."""
        examples = self._examples[place]
        if isinstance(value, str):
            texts = [each for each in examples if isinstance(each, str) and each]
            return not value or all(rule(value) for rule in _TEXT_RULES if all(map(rule, texts)))
        if isinstance(value, int | float) and not isinstance(value, bool):
            numbers = self._numbers(place)
            bits = len(examples) >= _FEW and all(each in (0, 1) for each in numbers)
            return (value >= 0 or min(numbers) < 0) and (not bits or value <= max(numbers))
        return True


def _ascends(items: Sequence[Any]) -> bool:
    try:
        return all(one <= other for one, other in pairwise(items))
    except TypeError:
        return False


def _is_hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _alike(value: tuple[Any, ...]) -> bool:
    """Whether the items of a tuple are of one type, and it is not a record."""
    return len({type(each) for each in value}) <= 1


_INTEGER = re.compile(r"-?\d{1,18}")
_FRACTION = re.compile(r"-?\d+\.\d+")
_HEAD_LINES = 3
"""Lines at the beginning whose numbers may refer to any later line."""
_MAX_DISTANCE = 20
"""How far away that line may be."""

Lines = list[list[str]]


class Count(NamedTuple):
    """A number that is the length of something in every sample."""

    line: int
    place: int
    what: str
    """`lines` that follow, `tokens` of a line, or `letters` of the one token in it."""
    target: int = 0
    """The line it counts; 0: every line that follows."""
    less: int = 0
    """By how much the counted length is smaller, as a tree has one edge less than nodes."""

    def counted(self, lines: Lines) -> Lines:
        """The lines that it refers to."""
        return lines[self.target : self.target + 1] if self.target else lines[self.line + 1 :]

    def holds(self, lines: Lines) -> bool:
        """Whether it is that length in these lines."""
        if self.line >= len(lines) or self.place >= len(lines[self.line]):
            return False
        token = lines[self.line][self.place]
        counted = self.counted(lines)
        if not _INTEGER.fullmatch(token) or not counted:
            return False
        size = int(token) - self.less
        match self.what:
            case "lines":
                return len(counted) == size
            case "tokens":
                return all(len(line) == size for line in counted)
        return all(len(line) == 1 and len(line[0]) == size for line in counted)


class Samples:
    """The common form of all samples, and other inputs of that form; numbers that announce a length stay correct."""

    def __init__(self, samples: Sequence[str]) -> None:
        self._samples: list[Lines] = [
            [line.split() for line in sample.strip("\n").split("\n")] for sample in samples
        ]
        self._cases = self._lines_per_case()
        if self._cases:
            cases = (case for lines in self._samples for case in self._split_cases(lines))
            self._case_samples = Samples(["\n".join(map(" ".join, case)) for case in cases])
        self._counts = self._find_counts()
        self._counted = {(count.line, count.place) for count in self._counts}
        self._bounded = all(
            max((each for row in sample[1:] for each in _integers(row)), default=0)
            <= max(_integers(sample[0]), default=-1)
            for sample in self._samples
        )
        """Whether no later number is larger than every number of the first line."""

    def vary(self, number: int, random: Random) -> str:
        """Another input like the sample of that number."""
        lines = self._vary([list(line) for line in self._samples[number]], random)
        return "\n".join(map(" ".join, lines)) + "\n"

    def _vary(self, lines: Lines, random: Random) -> Lines:
        if self._cases:
            return self._vary_cases(lines, random)
        changes = [*[self._change_tokens] * 3, self._reorder]
        changes += [self._resize] * (3 if self._counts else 0)
        for _ in range(random.choice([1, 1, 2, 3])):
            random.choice(changes)(lines, random)
        return lines

    def _lines_per_case(self) -> int:
        """The lines of each case, where the first line is only the number of cases; 0 where it is not."""
        sizes = set()
        for lines in self._samples:
            first = lines[0]
            cases = int(first[0]) if len(first) == 1 and _INTEGER.fullmatch(first[0]) else 0
            if cases < 1 or (len(lines) - 1) % cases:
                return 0
            sizes.add((len(lines) - 1) // cases)
        # One line after a 1 is more likely what the 1 counts.
        several = any(lines[0] != ["1"] for lines in self._samples)
        return sizes.pop() if len(sizes) == 1 and several else 0

    def _split_cases(self, lines: Lines) -> list[Lines]:
        return [lines[at : at + self._cases] for at in range(1, len(lines), self._cases)]

    def _vary_cases(self, lines: Lines, random: Random) -> Lines:
        def varied(case: Lines) -> Lines:
            return self._case_samples._vary([list(line) for line in case], random)

        cases = self._split_cases(lines)
        at = random.randrange(len(cases))
        match random.randrange(5):
            case 0 if len(cases) > 1:
                del cases[at]
            case 1:
                cases.append(varied(cases[at]))
            case 2 if len(cases) <= _MAX_DISTANCE:
                cases = list(map(varied, cases))
            case _:
                cases[at] = varied(cases[at])
        return [[str(len(cases))], *(line for case in cases for line in case)]

    def _find_counts(self) -> list[Count]:
        first = self._samples[0]
        possible = [
            Count(line, place, what, target, less)
            for less in (0, 1)
            for line, tokens in enumerate(first)
            for place in range(len(tokens) if not line else len(tokens) == 1)
            for what in ("lines", "tokens", "letters")
            for target in (_targets(line, len(first)) if what != "lines" else (0,))
        ]
        counts = [each for each in possible if all(map(each.holds, self._samples))]
        # An exact count is not also a count of something else less one.
        exact = {each[:2] for each in counts if not each.less}
        return [each for each in counts if not each.less or each[:2] not in exact]

    def _resize(self, lines: Lines, random: Random) -> None:
        """Change a count, and everything it counts to that length."""
        true = [count for count in self._counts if count.holds(lines)]
        if not true:
            return
        chosen = random.choice(true)
        size = int(lines[chosen.line][chosen.place]) + random.choice([-3, -2, -1, -1, 1, 1, 2])
        size = max(1 + chosen.less, size)
        for count in self._counts:
            if count[:2] != chosen[:2]:
                continue
            length = size - count.less
            if count.what == "lines":
                rest = _resize_items(lines[count.line + 1 :], length, random)
                lines[count.line + 1 :] = [list(line) for line in rest]
                continue
            for counted in count.counted(lines):
                if count.what == "tokens":
                    counted[:] = _resize_items(counted, length, random)
                else:
                    counted[0] = "".join(_resize_items(list(counted[0]), length, random))
        lines[chosen.line][chosen.place] = str(size)

    def _change_tokens(self, lines: Lines, random: Random) -> None:
        places = [
            (line, place)
            for line, tokens in enumerate(lines)
            for place in range(len(tokens))
            if (line, place) not in self._counted
        ]
        for line, place in random.sample(places, min(len(places), random.choice([1, 1, 2, 4]))):
            lines[line][place] = self._other(lines, line, place, random)

    def _other(self, lines: Lines, line: int, place: int, random: Random) -> str:
        """Another token for a place, like those of the samples there or in the same line."""
        token = lines[line][place]
        alike = [each[line] for each in self._samples if line < len(each)]
        alike = alike or [each[-1] for each in self._samples]
        seen = [each for tokens in alike for each in tokens]
        if len(set(map(len, alike))) == 1 and len(alike) > 1 and place < len(alike[0]) <= 4:
            seen = [tokens[place] for tokens in alike]
        if _INTEGER.fullmatch(token):
            low, high = self._bounds(lines, line, _integers(seen))
            drawn = [int(token) + random.choice([-1, 1]), low, high, random.randint(low, high)]
            drawn.append(random.randint(low, min(high, low + 5)))
            return str(max(low, min(random.choice(drawn), high)))
        if _FRACTION.fullmatch(token):
            digits = len(token.partition(".")[2])
            return f"{float(token) * random.choice([0.5, 2, 1.5, 0.9]):.{digits}f}"
        letters = sorted(set("".join(e for e in seen if not _INTEGER.fullmatch(e)) or token))
        at = random.randrange(len(token))
        changed = token[:at] + random.choice(letters) + token[at + 1 :]
        one_length = len(set(map(len, seen))) == 1 and len(seen) > 1
        counted = any(count.what == "letters" for count in self._counts)
        if one_length or counted or random.random() < 0.4:
            return changed
        shorter = token[:at] + token[at + 1 :] or token
        return random.choice([shorter, token[:at] + changed[at:] * 2, random.choice(seen)])

    def _bounds(self, lines: Lines, line: int, seen: list[int]) -> tuple[int, int]:
        """The range of a number: of a sign seen in samples, and bounded by the first line if all samples are."""
        low = 1 if min(seen, default=0) >= 1 else min(0, *seen, 0)
        high = max([10, *(2 * each for each in seen)])
        if line and self._bounded:
            high = max(_integers(lines[0]), default=high)
        return low, max(low, high)

    def _reorder(self, lines: Lines, random: Random) -> None:
        """Reorder the tokens of a line, or repeat one of them."""
        counted = {line for line, _ in self._counted}
        free = [line for at, line in enumerate(lines) if at not in counted and len(line) > 2]
        if not free:
            self._change_tokens(lines, random)
            return
        line = random.choice(free)
        match random.randrange(4):
            case 0:
                line.sort(key=lambda token: (len(token), token))
            case 1:
                line.reverse()
            case 2:
                line[:] = [line[0]] * len(line)
            case _:
                random.shuffle(line)


def _integers(tokens: Iterable[str]) -> list[int]:
    return [int(each) for each in tokens if _INTEGER.fullmatch(each)]


def _targets(line: int, lines: int) -> Sequence[int]:
    """What a number may count: at the beginning all later lines or one of them, further on the next one."""
    if line < _HEAD_LINES:
        return (0, *range(line + 1, min(lines, _MAX_DISTANCE)))
    return range(line + 1, min(lines, line + 2))


def _resize_items(items: list[T], size: int, random: Random) -> list[T]:
    """The items without some of them, or with some of them repeated."""
    indices = sorted(random.sample(range(len(items)), min(size, len(items))))
    extra = random.choices(items, k=size - len(indices)) if items else []
    return [*(items[at] for at in indices), *extra]
