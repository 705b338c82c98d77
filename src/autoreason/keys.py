"""Keys of requests and names of cells: the one module that knows how both are spelt."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

_ATTEMPT = "attempt"
_TRY = "try"
_JUDGE = "judge"
PASS = "pass"
"""The first step of whatever belongs to a pass."""
PAIR = "pair"
"""The first step of a panel over two of several texts."""
_COUNT = re.compile(r"[1-9][0-9]*", re.ASCII)
_GROUP = 3
"""Steps that say what a request without a part belongs to, such as `panel/judge/2`."""


class CellName(Struct, frozen=True):
    """The name of a cell within its suite: `17/search/2`."""

    name: str
    """The arm, or `draft` or `panel` for what a suite does for all of them."""
    repeat: int
    """From 1."""
    problem: int
    """The number of the task, from 1."""

    @classmethod
    def parse(cls, text: str) -> CellName:
        """The name spelt by a text; raises `ValueError` for any other text."""
        part, rest = _split_part(text.split("/"))
        if part is None or rest:
            raise ValueError(f"{text!r} is not the name of a cell")
        return part

    def __str__(self) -> str:
        return f"{self.problem}/{self.name}/{self.repeat}"


class Key(Struct, frozen=True):
    """The stable address of a request: the cell it belongs to, if any, and its steps within that cell."""

    steps: tuple[str, ...]
    part: CellName | None = None

    @classmethod
    def parse(cls, text: str) -> Key:
        """The key spelt by a text, such as `2/harsh/1/pass/3/judge/2/try/0`."""
        part, rest = _split_part(text.split("/"))
        return cls(tuple(rest), part)

    def __str__(self) -> str:
        return "/".join((*((str(self.part),) if self.part else ()), *self.steps))

    @property
    def head(self) -> str:
        """The first step within its cell: `draft`, `pass`, `review`; empty where there is none."""
        return self.steps[0] if self.steps else ""

    @property
    def group(self) -> str:
        """What requests under way are listed under: their cell, or else the judge or the question."""
        return str(self.part or "/".join(self.steps[:_GROUP]))

    def number(self, word: str) -> int | None:
        """The number after a step: 3 for `pass` in `pass/3/judge/2`; None where there is none."""
        for step, following in zip(self.steps, self.steps[1:], strict=False):
            if step == word and following.isdecimal():
                return int(following)
        return None

    def before(self, word: str) -> Key:
        """The key up to a step: `pass/3/judge/2` is `pass/3` before `judge`; all of it without that step."""
        end = self.steps.index(word) if word in self.steps else len(self.steps)
        return Key(self.steps[:end], self.part)


def _split_part(steps: Sequence[str]) -> tuple[CellName | None, Sequence[str]]:
    match steps:
        case [problem, name, repeat, *rest] if (
            name and _COUNT.fullmatch(problem) and _COUNT.fullmatch(repeat)
        ):
            return CellName(name, int(repeat), int(problem)), rest
    return None, steps


def pass_key(number: int, *steps: str | int) -> str:
    """The key of a pass, or of something in it: `pass/3`, `pass/3/critic/0`."""
    return sub_key(PASS, number, *steps)


def is_in_pass(key: str) -> bool:
    return key.startswith(f"{PASS}/")


def try_key(key: str, attempt: int) -> str:
    """The key of the first request of a text, a critique or a ballot, or of the second: `draft/try/0`."""
    return f"{key}/{_TRY}/{attempt}"


def sub_key(key: str, *steps: str | int) -> str:
    """A key below another: `pass/3/reviser/repair`."""
    return "/".join((key, *map(str, steps)))


def attempt_stage(stage: str, attempt: int) -> str:
    """The stage of a panel, which has one of its own each time it is run again: `panel`, `panel/attempt/1`."""
    return f"{stage}/{_ATTEMPT}/{attempt}" if attempt else stage


def first_attempt(stage: str) -> str:
    """The stage under which a panel was run first."""
    return str(Key.parse(stage).before(_ATTEMPT))


def judge_key(stage: str, seat: int, fresh: int = 0) -> str:
    """What the keys of a judge begin with; a seat's second judge is `fresh`."""
    return sub_key(stage, _JUDGE, seat, *(("fresh", fresh) if fresh else ()))


def judge_of(stage: str, seat: int) -> tuple[int, bool]:
    """Which judge has a seat, from 1, and whether it is the second of two, for a pair in reversed order."""
    if Key.parse(stage).head != PAIR:
        return seat + 1, False
    return seat // 2 + 1, bool(seat % 2)


def order_by_number(name: str) -> list[tuple[int, str]]:
    """Sorts names of parts and keys so that the tenth comes after the ninth."""
    return [(int(step), "") if step.isdecimal() else (0, step) for step in name.split("/")]
