"""What people are asked and what they answered: one file per person, one line per click, durable before it counts."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from autoreason.errors import InvalidInput
from autoreason.jobs.context import draw
from autoreason.studies.raters.packet import RATINGS, Packet, write_durably
from autoreason.tournament.judges import balanced_orders

LOWEST, HIGHEST = 1, 5
SCORES = {1: "very poor", 2: "poor", 3: "fair", 4: "good", 5: "very good"}


RUBRIC = {
    "clarity": "Can you follow it at first reading?",
    "usefulness": "Does it do what the task asks, for the person who asked?",
    "correctness": "Is what it says right, as far as you can tell?",
    "concision": "Does it say what it has to say without waste?",
    "overall": "All in all, how good is this text?",
}
"""What people are asked about each text."""
LINES = tuple(RUBRIC)


MAX_COMMENT_LENGTH = 10_000


class ScoreClick(Struct, frozen=True, tag="scored"):
    """One line of the rubric for one text."""

    code: str
    line: str
    score: int


class RankingClick(Struct, frozen=True, tag="ranked"):
    """The texts of a task that are placed so far, best first."""

    task: int
    codes: tuple[str, ...]


class CommentClick(Struct, frozen=True, tag="commented"):
    """A comment on a text, or on a task where no code is given."""

    task: int
    code: str | None
    text: str


class StepClick(Struct, frozen=True, tag="went"):
    """Which step is on the screen."""

    step: int


class FinishClick(Struct, frozen=True, tag="finished"):
    """A person is done."""


Click = ScoreClick | RankingClick | CommentClick | StepClick | FinishClick
"""What a person can do on the page."""


@dataclass
class Sheet:
    """The ratings of one person so far."""

    rater: str
    seat: int
    scores: dict[str, dict[str, int]] = field(default_factory=dict)
    """By code, then by line of the rubric."""
    rankings: dict[int, tuple[str, ...]] = field(default_factory=dict)
    comments: dict[tuple[int, str | None], str] = field(default_factory=dict)
    step: int = 0
    finished: bool = False

    def apply(self, what: Click) -> None:
        """Apply one more click."""
        match what:
            case ScoreClick():
                self.scores.setdefault(what.code, {})[what.line] = what.score
            case RankingClick():
                self.rankings[what.task] = what.codes
            case CommentClick():
                self.comments[what.task, what.code] = what.text
            case StepClick():
                self.step = what.step
            case FinishClick():
                self.finished = True

    def ranking(self, packet: Packet, task: int) -> tuple[str, ...] | None:
        """The whole ranking of a task; None where texts are still to be placed."""
        placed = self.rankings.get(task, ())
        return placed if len(placed) == len(packet.tasks[task].codes) else None

    def answered(self, packet: Packet) -> int:
        """Steps that are complete: a text with every line rated, or a whole ranking."""
        rated = sum(len(lines) == len(LINES) for lines in self.scores.values())
        ranked = sum(self.ranking(packet, task) is not None for task in range(len(packet.tasks)))
        return rated + ranked

    @property
    def empty(self) -> bool:
        """Whether they sat down and did nothing."""
        return not self.scores and not any(self.rankings.values())


def steps_in(packet: Packet) -> int:
    """How many steps there are to complete: every text, and one ranking for each task."""
    return sum(len(task.codes) + 1 for task in packet.tasks)


def fits(what: Click, packet: Packet) -> bool:
    """Whether a click is about this packet."""
    match what:
        case ScoreClick():
            is_code = any(what.code in task.codes for task in packet.tasks)
            return is_code and what.line in LINES and LOWEST <= what.score <= HIGHEST
        case RankingClick():
            once = len(set(what.codes)) == len(what.codes)
            return once and set(what.codes) <= set(_codes(packet, what.task))
        case CommentClick():
            codes = _codes(packet, what.task)
            return (
                bool(codes) and what.code in (None, *codes) and len(what.text) <= MAX_COMMENT_LENGTH
            )
        case StepClick():
            return 0 <= what.step <= steps_in(packet)
        case FinishClick():
            return True


def _codes(packet: Packet, task: int) -> tuple[str, ...]:
    return packet.tasks[task].codes if 0 <= task < len(packet.tasks) else ()


class RatingStep(Struct, frozen=True):
    """One screen: a text to rate, or the texts of a task to rank."""

    kind: Literal["text", "ranking"]
    task: int
    codes: tuple[str, ...]
    """The one text, or all of the task in the order in which they were shown."""


def plan(packet: Packet, seat: int) -> tuple[RatingStep, ...]:
    """The steps of the person in a seat: over people, every text is equally often in every place."""
    tasks = _order(packet, "tasks", [str(number) for number in range(len(packet.tasks))], seat)
    steps: list[RatingStep] = []
    for number in map(int, tasks):
        codes = _order(packet, f"task {number}", packet.tasks[number].codes, seat)
        steps += [RatingStep("text", number, (code,)) for code in codes]
        steps.append(RatingStep("ranking", number, codes))
    return tuple(steps)


def _order(
    packet: Packet, purpose: str, names: list[str] | tuple[str, ...], seat: int
) -> tuple[str, ...]:
    seed = draw(packet.orders_seed, purpose).getrandbits(32)
    return balanced_orders(names, seat + 1, seed)[seat]


MAX_NAME_LENGTH = 60


class SheetStart(Struct, frozen=True, tag="began"):
    """A person started."""

    packet: str
    rater: str
    seat: int


class SheetLine(Struct, frozen=True):
    """One line of a file."""

    at: datetime
    what: SheetStart | Click


class OpenSheet:
    """A sheet that can be written on."""

    def __init__(self, path: Path, sheet: Sheet, packet: Packet) -> None:
        self.sheet = sheet
        self._path = path
        self._packet = packet

    def add(self, what: Click, now: datetime) -> None:
        """Store a click."""
        if not fits(what, self._packet):
            raise InvalidInput(f"this does not fit the packet: {what}")
        try:
            with self._path.open("ab") as file:
                file.write(_line(SheetLine(now, what)))
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            _drop_partial_line(self._path)
            raise
        self.sheet.apply(what)


def open_sheet(folder: Path, packet: Packet, rater: str, now: datetime) -> OpenSheet:
    """The sheet of a person by name: as they left it, or a new one."""
    name = check_name(rater)
    sheets = {path: read_sheet(path, packet) for path in _files(folder)}
    for path, sheet in sheets.items():
        if sheet.rater.casefold() == name.casefold():
            _drop_partial_line(path)
            return OpenSheet(path, sheet, packet)
    seat = 1 + max((sheet.seat for sheet in sheets.values()), default=-1)
    path = folder / RATINGS / f"rater-{seat + 1:02}.jsonl"
    path.parent.mkdir(exist_ok=True)
    # Whole or not at all: a sheet without its first line belongs to no one.
    write_durably(path, _line(SheetLine(now, SheetStart(packet.id, name, seat))))
    return OpenSheet(path, Sheet(name, seat), packet)


def check_name(rater: str) -> str:
    """A person's name without stray white space."""
    name = " ".join(rater.split())
    if not name or len(name) > MAX_NAME_LENGTH or not name.isprintable():
        raise InvalidInput(
            f"a rater needs a name of 1 to {MAX_NAME_LENGTH} characters; give another"
        )
    return name


def read_sheets(folder: Path, packet: Packet) -> list[Sheet]:
    """All sheets, in the order in which people started."""
    sheets = (read_sheet(path, packet) for path in _files(folder))
    return sorted(sheets, key=lambda sheet: sheet.seat)


def read_sheet(path: Path, packet: Packet) -> Sheet:
    """What is written on one sheet; half a last line is a click that was never confirmed."""
    sheet = None
    for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], 1):
        try:
            what = msgspec.json.decode(line, type=SheetLine).what
        except (msgspec.MsgspecError, UnicodeDecodeError):
            what = None
        if number == 1 and isinstance(what, SheetStart) and what.packet == packet.id:
            sheet = Sheet(what.rater, what.seat)
        elif sheet and what and not isinstance(what, SheetStart) and fits(what, packet):
            sheet.apply(what)
        elif sheet:
            raise InvalidInput(f"{path} is damaged in line {number}; fix that line or remove it")
    if sheet is None:
        raise InvalidInput(f"{path} does not belong to this packet; move it to another folder")
    return sheet


def _files(folder: Path) -> list[Path]:
    return sorted((folder / RATINGS).glob("*.jsonl"))


def _line(mark: SheetLine) -> bytes:
    return msgspec.json.encode(mark) + b"\n"


def _drop_partial_line(path: Path) -> None:
    """Cut off half a last line, so that the next one starts on a line of its own."""
    data = path.read_bytes()
    whole = data.rfind(b"\n") + 1
    if whole < len(data):
        os.truncate(path, whole)
