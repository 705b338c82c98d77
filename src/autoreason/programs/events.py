"""What happens in a job that writes programs, besides what happens in every job."""

from __future__ import annotations

from autoreason.events import Event, Status
from autoreason.exchange import Spent
from autoreason.programs.assignment import Examined
from autoreason.story import Story


class ProgramExamined(Event, frozen=True, kw_only=True):
    """A program was run on the public tests."""

    stage: str
    """`draft`, `attempt/3`, `repair/4`, `merge/5`, `pass/2/AB`."""
    program: str
    examined: Examined

    @property
    def line(self) -> str:
        """What came of it."""
        from autoreason.programs.program_statements import examined

        return f"{self.stage.replace('/', ' ')}: {examined(self.examined)}"


class Solved(Event, frozen=True, kw_only=True):
    """One problem was worked on by one strategy, once, and scored; emitted for failures, too."""

    sentences = ("reason",)
    part: str = ""
    """Of a set the number of the problem, strategy and repeat: `17/search/2`."""
    problem: str
    difficulty: str = ""
    strategy: str
    repeat: int = 1
    program: str | None
    """What was handed in; None where nothing was written."""
    public: Examined | None
    private: Examined | None
    """None where there are no private tests, or nothing to score."""
    first: Examined | None
    """The first attempt under the public tests."""
    attempts: int
    """Programs written."""
    status: Status
    reason: str
    spent: Spent

    @property
    def line(self) -> str:
        """What came of it."""
        from autoreason.programs.program_statements import solved

        return f"{self.problem}, {self.strategy}: {solved(self)}"


def examined_in(story: Story) -> list[ProgramExamined]:
    """Programs under the public tests, in order."""
    return story.of(ProgramExamined)


def solved_in(story: Story) -> list[Solved]:
    """What came of the problem of a run."""
    return story.of(Solved)
