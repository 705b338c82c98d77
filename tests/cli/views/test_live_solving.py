"""The views of a set of problems: how far it is, how it goes, and what is under way."""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.cli.views.test_live import Clock
from tests.cli.views.test_screen import seen, terminal
from tests.programs.stage import MadeUpExaminer, fenced, program
from tests.run.runs import open_journal, settings, start_run
from tests.run.solve_runs import solve_set, task, terms

from autoreason.cli.views.live import Live
from autoreason.cli.views.plain import Plain
from autoreason.events import AnyEvent, RunStarted
from autoreason.exchange import (
    CallEnded,
    CallStarted,
    Outcome,
    QueryEnded,
    QueryStarted,
    Request,
    Signal,
)
from autoreason.journal import Journal
from autoreason.models.doubles import EchoModel, ScriptedModel
from autoreason.programs.assignment import CodeVerdict, Examined
from autoreason.programs.events import ProgramExamined, solved_in


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    """Empty, and closed afterwards."""
    with open_journal(tmp_path) as opened:
        yield opened


def begun(strategy: str = "tournament") -> RunStarted:
    """A problem, at its start."""
    return RunStarted(task=task(), settings=terms(strategy), prompts={}, version="1")


def at_work() -> Live:
    """One program was tried, and two things are under way."""
    live = Live("amber-fox", clock=Clock())
    live.on_event(begun())
    examined = Examined(which="public", verdict=CodeVerdict.WRONG_ANSWER, passed=1, run=3, total=3)
    live.on_event(ProgramExamined(stage="draft", program="print(1)", examined=examined))
    live.on_signal(CallStarted("pass/1/critic/0/try/0", "critic", "m"))
    live.on_signal(QueryStarted("pass/1/B/examined", "examination"))
    return live


def test_a_problem_shows_what_was_tried_and_what_is_under_way() -> None:
    shown = "\n".join(seen(at_work(), terminal(100)))
    assert "wrong answer, 1 of 3 public tests passed" in shown
    assert "critic" in shown
    assert "pass 1, examination" in shown


@pytest.mark.parametrize("width", [30, 60, 100])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    assert all(len(line) <= width for line in seen(at_work(), terminal(width)))


def test_running_tests_is_no_call_that_is_paid_for() -> None:
    live = at_work()
    live.on_signal(QueryEnded("pass/1/B/examined"))
    assert "pass/1/B/examined" not in live.calls
    assert live.spent.calls == 0
    live.on_signal(CallEnded("pass/1/critic/0/try/0", Outcome.OK, 0.4))
    assert live.spent.calls == 1


class Watcher:
    """Draws the live view and the log whenever anything changes."""

    def __init__(self) -> None:
        self.live = Live("amber-fox")
        self.out = StringIO()
        self.plain = Plain(Live("amber-fox"), self.out)
        self.drawn: list[str] = []

    def on_event(self, event: AnyEvent) -> None:
        """Something happened."""
        self.live.on_event(event)
        self.plain.on_event(event)
        self._draw()

    def on_signal(self, signal: Signal) -> None:
        """A sign of life."""
        self.live.on_signal(signal)
        self.plain.on_signal(signal)
        self._draw()

    def _draw(self) -> None:
        for width in (30, 80):
            lines = seen(self.live, terminal(width))
            assert all(len(line) <= width for line in lines)
        self.drawn.append("\n".join(lines))


def _writes(request: Request) -> str:
    if request.schema:
        return "not asked"
    return fenced(program(1 if "draft" in request.key else 2, request.key))


class Writing(EchoModel):
    """Programs that never pass everything, so that all roles are asked."""

    async def ask(self, request: Request, on_signal: Any = None) -> Any:
        """A program, or anything of the right shape."""
        if request.schema:
            return await super().ask(request, on_signal)
        return await ScriptedModel(_writes).ask(request, on_signal)


@pytest.mark.parametrize("strategy", ["tournament", "single"])
async def test_every_moment_of_a_problem_can_be_drawn(journal: Journal, strategy: str) -> None:
    chosen = replace(terms(strategy), models=settings("echo/echo").models)
    watcher = Watcher()
    result = await start_run(
        journal,
        Writing(),
        task=task(),
        settings=chosen,
        on_event=watcher.on_event,
        on_signal=watcher.on_signal,
        examiner=MadeUpExaminer(),
    )
    assert result.status == "done"
    assert watcher.live.spent.calls == result.calls
    assert not watcher.live.calls
    assert len(solved_in(watcher.live.story)) == 1
    assert any("wrong answer" in drawn for drawn in watcher.drawn)
    assert "draft: written, 3 lines" in watcher.out.getvalue()
    assert "words" not in watcher.out.getvalue()


async def test_every_moment_of_a_set_can_be_drawn_and_a_problem_is_a_line(
    journal: Journal,
) -> None:
    watcher = Watcher()
    hooks = {"on_event": watcher.on_event, "on_signal": watcher.on_signal}
    result = await solve_set(journal, Writing(), 2, ("single", "tournament"), hooks=hooks)
    assert result.status == "done"
    assert not watcher.live.calls
    assert any("of 4 cells done" in drawn for drawn in watcher.drawn)
    log = watcher.out.getvalue()
    assert "sum-2, tournament 1: wrong answer" in log
    assert "draft: written" not in log
