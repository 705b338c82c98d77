"""Varies sample inputs of programs token by token; numbers that announce a length stay correct."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple, TypeVar

_INTEGER = re.compile(r"-?\d{1,18}")
_FRACTION = re.compile(r"-?\d+\.\d+")

_HEAD_LINES = 3
_MAX_DISTANCE = 20
"""Lines at the beginning whose numbers may refer to a later line, and how far away that may be."""

Lines = list[list[str]]
T = TypeVar("T")


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


class Samples:
    """The common form of all samples, and other inputs of that form."""

    def __init__(self, samples: Sequence[str]) -> None:
        self._samples = [_split(sample) for sample in samples]
        self._cases = self._lines_per_case()
        if self._cases:
            size = self._cases
            self._case_samples = Samples(
                [
                    "\n".join(map(" ".join, case))
                    for lines in self._samples
                    for case in _cases(lines, size)
                ]
            )
        self._counts = self._find_counts()

    def vary(self, place: int, random: Random) -> str:
        """Another input like the sample at that place."""
        lines = self._vary([list(line) for line in self._samples[place]], random)
        return "\n".join(map(" ".join, lines)) + "\n"

    def _vary(self, lines: Lines, random: Random) -> Lines:
        if self._cases:
            return self._vary_cases(lines, random)
        for _ in range(random.choice([1, 1, 2, 3])):
            changes: list[Callable[[Lines, Random], None]] = [self._change_tokens] * 3
            changes += [self._reorder]
            changes += [self._resize] * (3 if self._counts else 0)
            random.choice(changes)(lines, random)
        return lines

    def _lines_per_case(self) -> int:
        """The lines of each case, where the first line is only the number of cases; 0 where it is not."""
        sizes = set()
        for lines in self._samples:
            cases = (
                int(lines[0][0]) if len(lines[0]) == 1 and _INTEGER.fullmatch(lines[0][0]) else 0
            )
            if cases < 1 or (len(lines) - 1) % cases:
                return 0
            sizes.add((len(lines) - 1) // cases)
        size = sizes.pop() if len(sizes) == 1 else 0
        # One line after a 1 is more likely what the 1 counts.
        return size if any(lines[0] != ["1"] for lines in self._samples) else 0

    def _vary_cases(self, lines: Lines, random: Random) -> Lines:
        cases = _cases(lines, self._cases)
        at = random.randrange(len(cases))
        match random.randrange(5):
            case 0 if len(cases) > 1:
                del cases[at]
            case 1:
                cases.append(self._case_samples._vary([list(line) for line in cases[at]], random))
            case 2 if len(cases) <= _MAX_DISTANCE:
                cases = [
                    self._case_samples._vary([list(line) for line in case], random)
                    for case in cases
                ]
            case _:
                cases[at] = self._case_samples._vary([list(line) for line in cases[at]], random)
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
        counts = [
            count for count in possible if all(_matches(count, each) for each in self._samples)
        ]
        # An exact count is not also a count of something else less one.
        exact = {(count.line, count.place) for count in counts if not count.less}
        return [count for count in counts if not count.less or count[:2] not in exact]

    def _resize(self, lines: Lines, random: Random) -> None:
        """Change a count, and everything it counts to that length."""
        true = [count for count in self._counts if _matches(count, lines)]
        if not true:
            return
        chosen = random.choice(true)
        size = max(
            1 + chosen.less,
            int(lines[chosen.line][chosen.place]) + random.choice([-3, -2, -1, -1, 1, 1, 2]),
        )
        for count in self._counts:
            if count[:2] != chosen[:2]:
                continue
            length = size - count.less
            if count.what == "lines":
                rest = _resize_items(lines[count.line + 1 :], length, random)
                lines[count.line + 1 :] = [list(line) for line in rest]
                continue
            for counted in _counted(count, lines):
                if count.what == "tokens":
                    counted[:] = _resize_items(counted, length, random)
                else:
                    counted[0] = "".join(_resize_items(list(counted[0]), length, random))
        lines[chosen.line][chosen.place] = str(size)

    def _change_tokens(self, lines: Lines, random: Random) -> None:
        counted = {(count.line, count.place) for count in self._counts}
        places = [
            (line, place)
            for line, tokens in enumerate(lines)
            for place in range(len(tokens))
            if (line, place) not in counted
        ]
        for line, place in random.sample(places, min(len(places), random.choice([1, 1, 2, 4]))):
            lines[line][place] = self._other(lines, line, place, random)

    def _other(self, lines: Lines, line: int, place: int, random: Random) -> str:
        token = lines[line][place]
        seen = self._similar_tokens(line, place)
        if _INTEGER.fullmatch(token):
            low, high = self._bounds(
                lines, line, [int(each) for each in seen if _INTEGER.fullmatch(each)]
            )
            value = random.choice(
                [
                    int(token) + random.choice([-1, 1]),
                    random.randint(low, high),
                    random.randint(low, min(high, low + 5)),
                    random.choice([low, high]),
                ]
            )
            return str(max(low, min(value, high)))
        if _FRACTION.fullmatch(token):
            digits = len(token.partition(".")[2])
            return f"{float(token) * random.choice([0.5, 2, 1.5, 0.9]):.{digits}f}"
        return self._word(token, seen, random)

    def _similar_tokens(self, line: int, place: int) -> list[str]:
        """Tokens of the samples at the same place, or in the same line."""
        alike = [lines[line] for lines in self._samples if line < len(lines)] or [
            lines[-1] for lines in self._samples
        ]
        if len(set(map(len, alike))) == 1 and len(alike) > 1 and len(alike[0]) <= 4:
            return [tokens[place] for tokens in alike if place < len(tokens)] or alike[0]
        return [token for tokens in alike for token in tokens]

    def _bounds(self, lines: Lines, line: int, seen: list[int]) -> tuple[int, int]:
        """The range of a number: of a sign seen in samples, and bounded by the first line if all samples are."""
        low = 1 if min(seen, default=0) >= 1 else min(0, *seen, 0)
        high = max([10, *(2 * each for each in seen)])
        if line and self._within_first_line():
            limits = [int(each) for each in lines[0] if _INTEGER.fullmatch(each)]
            high = max(limits, default=high)
        return low, max(low, high)

    def _within_first_line(self) -> bool:
        """Whether no later number is larger than every number of the first line."""
        for lines in self._samples:
            limits = [int(each) for each in lines[0] if _INTEGER.fullmatch(each)]
            rest = [int(each) for line in lines[1:] for each in line if _INTEGER.fullmatch(each)]
            if not limits or max(rest, default=0) > max(limits):
                return False
        return True

    def _word(self, token: str, seen: list[str], random: Random) -> str:
        letters = sorted(
            set("".join(each for each in seen if not _INTEGER.fullmatch(each)) or token)
        )
        at = random.randrange(len(token))
        changed = token[:at] + random.choice(letters) + token[at + 1 :]
        fixed = any(count.what == "letters" for count in self._counts)
        if len(set(map(len, seen))) == 1 and len(seen) > 1:
            fixed = True
        if fixed or random.random() < 0.4:
            return changed
        return random.choice(
            [
                token[:at] + token[at + 1 :] or token,
                token[:at] + changed[at:] * 2,
                random.choice(seen),
            ]
        )

    def _reorder(self, lines: Lines, random: Random) -> None:
        """Reorder the tokens of a line, or repeat one of them."""
        counted = {count.line for count in self._counts}
        free = [line for line in range(len(lines)) if line not in counted and len(lines[line]) > 2]
        if not free:
            self._change_tokens(lines, random)
            return
        line = lines[random.choice(free)]
        match random.randrange(4):
            case 0:
                line.sort(key=lambda token: (len(token), token))
            case 1:
                line.reverse()
            case 2:
                line[:] = [line[0]] * len(line)
            case _:
                random.shuffle(line)


def _targets(line: int, lines: int) -> Sequence[int]:
    """What a number may count: at the beginning all later lines or one of them, further on the next one."""
    if line < _HEAD_LINES:
        return (0, *range(line + 1, min(lines, _MAX_DISTANCE)))
    return range(line + 1, min(lines, line + 2))


def _split(sample: str) -> Lines:
    return [line.split() for line in sample.strip("\n").split("\n")]


def _cases(lines: Lines, size: int) -> list[Lines]:
    return [lines[start : start + size] for start in range(1, len(lines), size)]


def _matches(count: Count, lines: Lines) -> bool:
    if count.line >= len(lines) or count.place >= len(lines[count.line]):
        return False
    token = lines[count.line][count.place]
    if not _INTEGER.fullmatch(token):
        return False
    size = int(token) - count.less
    if count.what == "lines":
        return len(lines) - count.line - 1 == size > 0
    counted = _counted(count, lines)
    if count.what == "tokens":
        return bool(counted) and all(len(line) == size for line in counted)
    return bool(counted) and all(len(line) == 1 and len(line[0]) == size for line in counted)


def _counted(count: Count, lines: Lines) -> Lines:
    """The lines that a count refers to."""
    after = count.line + 1
    return lines[count.target : count.target + 1] if count.target else lines[after:]


def _resize_items(items: list[T], size: int, random: Random) -> list[T]:
    """The items without some of them, or with some of them repeated."""
    indices = sorted(random.sample(range(len(items)), min(size, len(items))))
    extra = [random.choice(items) for _ in range(size - len(indices))] if items else []
    return [*(items[at] for at in indices), *extra]
