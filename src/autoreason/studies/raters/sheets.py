"""A person's sheet: what they have clicked, and what it adds up to."""

from __future__ import annotations

from dataclasses import dataclass, field

from msgspec import Struct

from autoreason.errors import InvalidInput
from autoreason.studies.raters.packet import Packet
from autoreason.studies.raters.rubric import HIGHEST, LINES, LOWEST

LONGEST_COMMENT = 10_000


class Scored(Struct, frozen=True, tag="scored"):
    """One line of the rubric for one text."""

    code: str
    line: str
    score: int


class Ranked(Struct, frozen=True, tag="ranked"):
    """The texts of a task that are placed so far, best first."""

    task: int
    codes: tuple[str, ...]


class Commented(Struct, frozen=True, tag="commented"):
    """What somebody has to say of a text, or of a task where no code is given."""

    task: int
    code: str | None
    text: str


class Went(Struct, frozen=True, tag="went"):
    """Which step is on the screen."""

    step: int


class Finished(Struct, frozen=True, tag="finished"):
    """Somebody said that they are done."""


Click = Scored | Ranked | Commented | Went | Finished
"""What a person can do on the page."""


@dataclass
class Sheet:
    """What one person has said so far."""

    rater: str
    seat: int
    scores: dict[str, dict[str, int]] = field(default_factory=dict)
    """By code, then by line of the rubric."""
    rankings: dict[int, tuple[str, ...]] = field(default_factory=dict)
    comments: dict[tuple[int, str | None], str] = field(default_factory=dict)
    step: int = 0
    finished: bool = False

    def take(self, what: Click) -> None:
        """Take one more click in."""
        match what:
            case Scored():
                self.scores.setdefault(what.code, {})[what.line] = what.score
            case Ranked():
                self.rankings[what.task] = what.codes
            case Commented():
                self.comments[what.task, what.code] = what.text
            case Went():
                self.step = what.step
            case Finished():
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


def check_click(what: Click, packet: Packet) -> None:
    """Refuse what does not fit the packet."""
    if not _fits(what, packet):
        raise InvalidInput(f"this does not fit the packet: {what}")


def _fits(what: Click, packet: Packet) -> bool:
    match what:
        case Scored():
            known = any(what.code in task.codes for task in packet.tasks)
            return known and what.line in LINES and LOWEST <= what.score <= HIGHEST
        case Ranked():
            once = len(set(what.codes)) == len(what.codes)
            return once and set(what.codes) <= set(_codes(packet, what.task))
        case Commented():
            codes = _codes(packet, what.task)
            return bool(codes) and what.code in (None, *codes) and len(what.text) <= LONGEST_COMMENT
        case Went():
            return 0 <= what.step <= steps_in(packet)
        case Finished():
            return True


def _codes(packet: Packet, task: int) -> tuple[str, ...]:
    return packet.tasks[task].codes if 0 <= task < len(packet.tasks) else ()
