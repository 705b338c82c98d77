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
from tests.programs.solved import WRONG, solved
from tests.programs.stage import PROBLEM, MadeUpExaminer, fenced, program
from tests.run.runs import open_journal, settings, start_run

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
    TextArrived,
)
from autoreason.journal import Journal
from autoreason.models.doubles import EchoModel, ScriptedModel
from autoreason.programs.assignment import Assignments
from autoreason.programs.events import Solved, solved_in
from autoreason.task import Task

STRATEGIES = ("single", "tournament")


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    """Empty, and closed afterwards."""
    with open_journal(tmp_path) as opened:
        yield opened


def begun(problems: int = 4, strategies: tuple[str, ...] = STRATEGIES, **own: Any) -> RunStarted:
    """A set of problems, at its start."""
    terms = {"set": "0" * 64, "strategies": list(strategies), **own}
    assigned = tuple(replace(PROBLEM, id=f"p{n}") for n in range(1, problems + 1))
    return RunStarted(
        task=Task(brief="Solve them", work=Assignments(assigned)),
        settings=settings(strategy="solve", strategy_options=terms),
        prompts={},
        version="1",
    )


def at_work(clock: Clock) -> Live:
    """Three of eight parts are done, and three things are under way."""
    live = Live("amber-fox", clock=clock)
    live.on_event(begun())
    clock.now += 30
    for event in (solved("p1", "single", private=WRONG), solved("p1"), solved("p2", "single")):
        live.on_event(event)
    live.on_signal(CallStarted("2/tournament/1/draft/try/0", "author", "m"))
    live.on_signal(TextArrived("2/tournament/1/draft/try/0", "import sys"))
    live.on_signal(QueryStarted("3/single/1/draft/examined", "examination"))
    live.on_signal(CallStarted("3/tournament/1/pass/1/critic/0", "critic", "m"))
    return live


def test_a_set_shows_how_far_it_is_and_how_long_it_may_take() -> None:
    lines = seen(at_work(Clock()), terminal(100))
    shown = "\n".join(lines)
    assert "single         2 of 4, public 100 %, private 50 %" in shown
    assert "tournament     1 of 4, public 100 %, private 100 %" in shown
    assert "3 of 8 parts done, about 50 s left" in shown
    assert "p2 tournament  author, 1 call under way" in shown
    assert "pass 1 critic" in shown
    assert "examination, tests under way" in shown


def test_a_strategy_is_ticked_off_when_all_of_it_is_done() -> None:
    live = Live("amber-fox", clock=Clock())
    live.on_event(begun(2, ("single", "critique_revise", "tournament")))
    for event in (solved("p1", "single"), solved("p2", "single"), solved("p1")):
        live.on_event(event)
    found = [(step.name, step.state, step.text[:6]) for step in live.steps()]
    assert found == [
        ("single", "done", "2 of 2"),
        ("critique_revise", "waiting", "0 of 2"),
        ("tournament", "working", "1 of 2"),
    ]
    assert any("critique_revise  0 of 2" in line for line in seen(live, terminal(80)))


def crowded() -> Live:
    """Thirty problems at once."""
    live = Live("amber-fox", clock=Clock())
    live.on_event(begun(30, ("single",), repeats=2))
    for number in range(30, 0, -1):
        live.on_signal(CallStarted(f"{number}/single/1/draft/try/0", "author", "m"))
    return live


def test_parts_come_in_the_order_of_their_problems_and_those_without_room_are_counted() -> None:
    _, *parts, more = crowded().steps()
    assert [step.name for step in parts] == [f"p{n} 1" for n in range(1, 11)]
    assert more.name == "and 20 more"


@pytest.mark.parametrize("height", [14, 24, 50])
def test_however_many_parts_there_are_what_it_took_stays_in_sight(height: int) -> None:
    lines = seen(crowded(), terminal(80, height))
    assert len(lines) < height
    assert "60 parts" in lines[-2]


def test_a_run_that_is_being_stopped_counts_down_what_it_waits_for() -> None:
    live = crowded()
    live.stopping = True
    assert "waiting at most 10 s for 30 replies" in " ".join(seen(live, terminal(100)))
    for number in range(2, 31):
        live.on_signal(CallEnded(f"{number}/single/1/draft/try/0", Outcome.OK, 0.4))
    assert "waiting at most 10 s for 1 reply already" in " ".join(seen(live, terminal(100)))


@pytest.mark.parametrize("width", [30, 60, 100])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    assert all(len(line) <= width for line in seen(at_work(Clock()), terminal(width)))


def test_running_tests_is_no_call_that_is_paid_for() -> None:
    live = at_work(Clock())
    live.on_signal(QueryEnded("3/single/1/draft/examined"))
    assert "3/single/1/draft/examined" not in live.calls
    assert live.spent.calls == 0
    live.on_signal(CallEnded("2/tournament/1/draft/try/0", Outcome.OK, 0.4))
    assert live.spent.calls == 1


def test_a_log_has_a_line_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    out = StringIO()
    plain = Plain(Live("amber-fox", clock=Clock()), out)
    plain.on_event(begun())
    plain.on_event(solved("p1", "single"))
    lost = solved("p1", program=None, public=None, private=None, reason="nobody can say why")
    plain.on_event(lost)
    lines = [line[8:] for line in out.getvalue().splitlines()]
    assert lines == [
        "run amber-fox: Solve them · scripted/scripted · seed 7",
        "1 of 8: p1, single: accepted, 3 of 3 public tests; accepted, 10 of 10 private tests; 6 calls",
        "2 of 8: p1, tournament: no verdict (nobody can say why); 6 calls",
    ]


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


@pytest.mark.parametrize("strategies", [("tournament",), ("single",), STRATEGIES])
async def test_every_moment_of_a_set_can_be_drawn(
    journal: Journal, strategies: tuple[str, ...]
) -> None:
    start = begun(1, strategies)
    chosen = replace(start.settings, models=settings("echo/echo").models)
    watcher = Watcher()
    result = await start_run(
        journal,
        Writing(),
        task=start.task,
        settings=chosen,
        on_event=watcher.on_event,
        on_signal=watcher.on_signal,
        examiner=MadeUpExaminer(),
    )
    assert result.status == "done"
    assert watcher.live.spent.calls == result.calls
    assert not watcher.live.calls
    assert len(solved_in(watcher.live.story)) == len(strategies)
    assert any("wrong answer" in drawn for drawn in watcher.drawn) == (len(strategies) == 1)
    log = watcher.out.getvalue()
    assert ("draft: written, 3 lines" in log) == (len(strategies) == 1)
    assert "words" not in log


async def test_a_problem_that_is_done_is_a_line_of_its_own(journal: Journal) -> None:
    start = begun(2, ("single",))
    told: list[AnyEvent] = []
    chosen = replace(start.settings, models=settings("echo/echo").models)
    await start_run(
        journal,
        Writing(),
        task=start.task,
        settings=chosen,
        on_event=told.append,
        examiner=MadeUpExaminer(),
    )
    assert [event.problem for event in told if isinstance(event, Solved)] == ["p1", "p2"]
