"""A person's sheet: what they have clicked, and what it adds up to."""

from __future__ import annotations

from dataclasses import dataclass, field

from msgspec import Struct

from autoreason.errors import InvalidInput
from autoreason.studies.raters.packet import Packet
from autoreason.studies.raters.rubric import HIGHEST, LINES, LOWEST

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

    def take(self, what: Click) -> None:
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


def check_click(what: Click, packet: Packet) -> None:
    """Refuse what does not fit the packet."""
    if not _fits(what, packet):
        raise InvalidInput(f"this does not fit the packet: {what}")


def _fits(what: Click, packet: Packet) -> bool:
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
