"""Sample inputs of programs varied token by token, with what announces a length kept true."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple, TypeVar

_WHOLE = re.compile(r"-?\d{1,18}")
_FRACTION = re.compile(r"-?\d+\.\d+")

_HEAD = 3
_NEAR = 20
"""Lines at the beginning whose numbers may be about one that does not follow at once, and how far that may be."""

Lines = list[list[str]]
T = TypeVar("T")


class Count(NamedTuple):
    """A number that says how long something is, in every sample."""

    line: int
    place: int
    what: str
    """`lines` that follow, `tokens` of a line, or `letters` of the one token in it."""
    target: int = 0
    """The line meant; 0: every one that follows."""
    less: int = 0
    """By how much what it counts is shorter, as a tree has one edge less than it has nodes."""


class Samples:
    """The form that all samples have, and other inputs of that form."""

    def __init__(self, samples: Sequence[str]) -> None:
        self._samples = [_split(sample) for sample in samples]
        self._cases = self._lines_a_case()
        if self._cases:
            size = self._cases
            self._each = Samples(
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

    def _lines_a_case(self) -> int:
        """How many lines each case has, where the first line is the number of cases and nothing else."""
        sizes = set()
        for lines in self._samples:
            cases = int(lines[0][0]) if len(lines[0]) == 1 and _WHOLE.fullmatch(lines[0][0]) else 0
            if cases < 1 or (len(lines) - 1) % cases:
                return 0
            sizes.add((len(lines) - 1) // cases)
        size = sizes.pop() if len(sizes) == 1 else 0
        # One line after a 1 is more likely what the 1 is about.
        return size if any(lines[0] != ["1"] for lines in self._samples) else 0

    def _vary_cases(self, lines: Lines, random: Random) -> Lines:
        cases = _cases(lines, self._cases)
        at = random.randrange(len(cases))
        match random.randrange(5):
            case 0 if len(cases) > 1:
                del cases[at]
            case 1:
                cases.append(self._each._vary([list(line) for line in cases[at]], random))
            case 2 if len(cases) <= _NEAR:
                cases = [self._each._vary([list(line) for line in case], random) for case in cases]
            case _:
                cases[at] = self._each._vary([list(line) for line in cases[at]], random)
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
        found = [count for count in possible if all(_holds(count, each) for each in self._samples)]
        # What counts something exactly does not count something else less one as well.
        exact = {(count.line, count.place) for count in found if not count.less}
        return [count for count in found if not count.less or count[:2] not in exact]

    def _resize(self, lines: Lines, random: Random) -> None:
        """Give a count another value, and everything it counts that length."""
        true = [count for count in self._counts if _holds(count, lines)]
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
                rest = _resized(lines[count.line + 1 :], length, random)
                lines[count.line + 1 :] = [list(line) for line in rest]
                continue
            for counted in _counted(count, lines):
                if count.what == "tokens":
                    counted[:] = _resized(counted, length, random)
                else:
                    counted[0] = "".join(_resized(list(counted[0]), length, random))
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
        seen = self._like(line, place)
        if _WHOLE.fullmatch(token):
            low, high = self._bounds(
                lines, line, [int(each) for each in seen if _WHOLE.fullmatch(each)]
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

    def _like(self, line: int, place: int) -> list[str]:
        """Tokens of the samples that stand where this one does, or in lines like its own."""
        alike = [lines[line] for lines in self._samples if line < len(lines)] or [
            lines[-1] for lines in self._samples
        ]
        if len(set(map(len, alike))) == 1 and len(alike) > 1 and len(alike[0]) <= 4:
            return [tokens[place] for tokens in alike if place < len(tokens)] or alike[0]
        return [token for tokens in alike for token in tokens]

    def _bounds(self, lines: Lines, line: int, seen: list[int]) -> tuple[int, int]:
        """What a number may be: of the sign that was seen, and no more than what the first line says if none was."""
        low = 1 if min(seen, default=0) >= 1 else min(0, *seen, 0)
        high = max([10, *(2 * each for each in seen)])
        if line and self._within_first_line():
            limits = [int(each) for each in lines[0] if _WHOLE.fullmatch(each)]
            high = max(limits, default=high)
        return low, max(low, high)

    def _within_first_line(self) -> bool:
        """Whether no number after the first line is larger than all of that."""
        for lines in self._samples:
            limits = [int(each) for each in lines[0] if _WHOLE.fullmatch(each)]
            rest = [int(each) for line in lines[1:] for each in line if _WHOLE.fullmatch(each)]
            if not limits or max(rest, default=0) > max(limits):
                return False
        return True

    def _word(self, token: str, seen: list[str], random: Random) -> str:
        letters = sorted(set("".join(each for each in seen if not _WHOLE.fullmatch(each)) or token))
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
        """Another order of a line's numbers, or one of them all along."""
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
    """What a number may be about: at the beginning all lines that follow or one of them, further on the next."""
    if line < _HEAD:
        return (0, *range(line + 1, min(lines, _NEAR)))
    return range(line + 1, min(lines, line + 2))


def _split(sample: str) -> Lines:
    return [line.split() for line in sample.strip("\n").split("\n")]


def _cases(lines: Lines, size: int) -> list[Lines]:
    return [lines[start : start + size] for start in range(1, len(lines), size)]


def _holds(count: Count, lines: Lines) -> bool:
    if count.line >= len(lines) or count.place >= len(lines[count.line]):
        return False
    token = lines[count.line][count.place]
    if not _WHOLE.fullmatch(token):
        return False
    size = int(token) - count.less
    if count.what == "lines":
        return len(lines) - count.line - 1 == size > 0
    counted = _counted(count, lines)
    if count.what == "tokens":
        return bool(counted) and all(len(line) == size for line in counted)
    return bool(counted) and all(len(line) == 1 and len(line[0]) == size for line in counted)


def _counted(count: Count, lines: Lines) -> Lines:
    """The lines that a count is about."""
    after = count.line + 1
    return lines[count.target : count.target + 1] if count.target else lines[after:]


def _resized(items: list[T], size: int, random: Random) -> list[T]:
    """The items less some of them, or with some of them again."""
    kept = sorted(random.sample(range(len(items)), min(size, len(items))))
    more = [random.choice(items) for _ in range(size - len(kept))] if items else []
    return [*(items[at] for at in kept), *more]
