"""The views show every strategy and every study without a slip, from the first event to the last."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.cli.test_live import Clock, seen, terminal
from tests.programs.stage import fenced, program
from tests.run.leaving import Breaking
from tests.run.runs import TASK, go_on, settings, start_run
from tests.run.solve_runs import solve_one, solve_set, task, terms
from tests.run.suites import run_suite
from tests.strategies.test_leaving import SCRIPT as WRITING
from tests.strategies.test_leaving import options
from tests.tournament.stage import vote

from autoreason.cli.live import Live
from autoreason.events import AnyEvent, RunStarted
from autoreason.exchange import CallStarted, QueryStarted, Request, Signal, TextArrived
from autoreason.job_types import Advise, Certify, Judge, JudgePairs, Rejudge
from autoreason.journal import Journal
from autoreason.models.doubles import EchoModel, ScriptedModel
from autoreason.programs.assignment import CodeVerdict, Examined
from autoreason.programs.events import ProgramExamined, solved_in
from autoreason.settings import Settings
from autoreason.strategies import BUILT_IN, sample_count
from autoreason.studies.certificate_questions import SUITE
from autoreason.studies.panel_jobs import make_entries
from autoreason.task import Task

ENTRIES = make_entries({f"{name}.md": f"{name} is a text." for name in ("one", "two", "three")})
SCRIPT = {**WRITING, "judge": vote("reviser", "two", "one")}
WIDTHS = (30, 80)
TEXTS = [*BUILT_IN, "reviewed", "judge", "judge_pairs", "rejudge", "certify", "advise"]
"""What writes or judges texts."""


class Watcher:
    """Draws the live view whenever anything changes."""

    def __init__(self) -> None:
        self.live = Live("amber-fox")
        self.drawn: list[str] = []
        self.lines: list[str] = []
        self.hooks: dict[str, Any] = {"on_event": self.on_event, "on_signal": self.on_signal}

    def on_event(self, event: AnyEvent) -> None:
        self.lines += filter(None, [self.live.on_event(event)])
        self._draw()

    def on_signal(self, signal: Signal) -> None:
        self.live.on_signal(signal)
        if not isinstance(signal, TextArrived):
            self._draw()

    def _draw(self) -> None:
        for width in WIDTHS:
            lines = seen(self.live, terminal(width))
            assert all(len(line) <= width for line in lines)
            self.drawn.append("\n".join(lines))


def case(name: str) -> tuple[Task, Settings]:
    """A task and settings for every strategy and every study."""
    if name in BUILT_IN:
        return TASK, settings(**options(name))
    if name == "reviewed":
        unseen: dict[str, Any] = {"judges": 0, "candidates": "B", "review_every": 2, "passes": 5}
        return TASK, settings(**unseen)
    if name == "certify":
        return TASK, settings(job=Certify(model="scripted/scripted", suite=SUITE))
    if name == "advise":
        # Of a shorter run it says at once that pilots cost as much.
        return TASK, settings(job=Advise(), k=3)
    texts = Task(brief=TASK.brief, entries=ENTRIES)
    if name == "rejudge":
        again = tuple(type(e)(name=e.name, text=e.text, stage="again/pass/1") for e in ENTRIES)
        texts = Task(brief=TASK.brief, entries=again)
    jobs = {"judge": Judge(), "judge_pairs": JudgePairs(), "rejudge": Rejudge(of="some-run")}
    return texts, settings(job=jobs[name], judges=2)


@pytest.mark.parametrize("name", TEXTS)
async def test_every_moment_of_a_run_can_be_drawn(journal: Journal, name: str) -> None:
    task, chosen = case(name)
    watcher = Watcher()
    model = Breaking(SCRIPT, luck=1)
    result = await start_run(journal, model, task=task, settings=chosen, **watcher.hooks)
    assert result.status in ("done", "capped", "converged")
    assert watcher.live.spent.calls == result.calls
    assert not watcher.live.calls
    assert all("\n" not in line for line in watcher.lines)
    assert any("calls" in drawn for drawn in watcher.drawn)


@pytest.mark.parametrize("name", TEXTS)
async def test_a_resumed_run_is_drawn_from_its_beginning(journal: Journal, name: str) -> None:
    task, chosen = case(name)
    paused = await start_run(journal, Breaking(SCRIPT, 0), task=task, settings=chosen)
    watcher = Watcher()
    result = await go_on(journal, paused.run, Breaking(SCRIPT), **watcher.hooks)
    assert watcher.live.story.end == result.story.end


async def test_independent_drafts_are_called_drafts(journal: Journal) -> None:
    task, chosen = case("best_of_n")
    watcher = Watcher()
    model = Breaking(SCRIPT, luck=1)
    await start_run(journal, model, task=task, settings=chosen, **watcher.hooks)
    lines = "\n".join(watcher.lines)
    n = sample_count(chosen)
    assert f"draft {n} of {n}: " in lines
    assert "review: draft 3 is put first on points" in lines
    assert "pass" not in lines
    assert "round" not in lines
    assert any(f"best of n  draft {n} of {n} · " in drawn for drawn in watcher.drawn)


async def test_every_moment_of_a_suite_can_be_drawn(tmp_path: Path, journal: Journal) -> None:
    watcher = Watcher()
    result = await run_suite(tmp_path, journal, **watcher.hooks)
    assert watcher.live.spent.calls == result.calls
    assert not watcher.live.calls
    assert any("lab tides  8 of 12 texts · 60 % · " in drawn for drawn in watcher.drawn)
    assert any(line.startswith("tides, contest 2: ") for line in watcher.lines)
    assert "judges of tides, revised/single 2: done" in watcher.lines


def at_work() -> Live:
    """One program was tried, and two things are under way."""
    live = Live("amber-fox", clock=Clock())
    settings = terms("tournament")
    live.on_event(RunStarted(task=task(), settings=settings, prompts={}, version="1"))
    examined = Examined(which="public", verdict=CodeVerdict.WRONG_ANSWER, passed=1, run=3, total=3)
    live.on_event(ProgramExamined(stage="draft", program="print(1)", examined=examined))
    live.on_signal(CallStarted("pass/1/critic/0/try/0", "critic", "m"))
    live.on_signal(QueryStarted("pass/1/B/examined", "examination"))
    return live


def test_a_problem_shows_what_was_tried_and_what_is_under_way_in_lines_that_fit() -> None:
    shown = "\n".join(seen(at_work(), terminal(100)))
    assert "solve  1 program · best so far passes 1 of 3 public tests · 0 of at most" in shown
    for width in (30, 60, 100):
        assert all(len(line) <= width for line in seen(at_work(), terminal(width)))


def _writes(request: Request) -> str:
    if request.schema:
        return "not asked"
    return fenced(program(1 if "draft" in request.key else 2, request.key))


class Writing(EchoModel):
    """Programs that never pass everything, so that all roles are asked."""

    async def ask(self, request: Request, on_signal: Any = None) -> Any:
        if request.schema:
            return await super().ask(request, on_signal)
        return await ScriptedModel(_writes).ask(request, on_signal)


@pytest.mark.parametrize("strategy", ["tournament", "single"])
async def test_every_moment_of_a_problem_can_be_drawn(journal: Journal, strategy: str) -> None:
    chosen = replace(terms(strategy), models=settings("echo/echo").models)
    watcher = Watcher()
    result = await solve_one(journal, Writing(), settings=chosen, **watcher.hooks)
    assert result.status == "done"
    assert watcher.live.spent.calls == result.calls
    assert not watcher.live.calls
    assert len(solved_in(watcher.live.story)) == 1
    assert any("best so far passes" in drawn for drawn in watcher.drawn)
    assert "first draft: 3 lines" in watcher.lines
    assert "words" not in "".join(watcher.lines)


async def test_every_moment_of_a_set_can_be_drawn_and_a_problem_is_a_line(journal: Journal) -> None:
    watcher = Watcher()
    names = ("single", "tournament")
    result = await solve_set(journal, Writing(), 2, names, hooks=watcher.hooks)
    assert result.status == "done"
    assert not watcher.live.calls
    assert any("solve  4 of 4 programs · 100 %" in drawn for drawn in watcher.drawn)
    log = "\n".join(watcher.lines)
    assert "sum-2, tournament 1: wrong answer" in log
    assert "first draft" not in log
