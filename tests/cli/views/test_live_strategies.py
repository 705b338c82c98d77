"""The views show every strategy and every study without a slip, from the first event to the last."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.views.test_screen import seen, terminal
from tests.run.leaving import Breaking
from tests.run.runs import TASK, go_on, open_journal, settings, start_run
from tests.run.suites import run_suite
from tests.strategies.test_leaving import SCRIPT as WRITING
from tests.strategies.test_leaving import options
from tests.tournament.stage import vote

from autoreason.cli.views.live import Live
from autoreason.cli.views.plain import step
from autoreason.events import AnyEvent
from autoreason.exchange import Signal, TextArrived
from autoreason.job_types import Advise, Certify, Judge, JudgePairs, Rejudge
from autoreason.journal import Journal
from autoreason.settings import Settings
from autoreason.strategies.registry import BUILT_IN
from autoreason.strategies.rivals import sample_count
from autoreason.studies.certify.suite import SUITE
from autoreason.studies.panels.entries import make_entries
from autoreason.task import Task

ENTRIES = make_entries({f"{name}.md": f"{name} is a text." for name in ("one", "two", "three")})
SCRIPT = {**WRITING, "judge": vote("reviser", "two", "one")}
WIDTHS = (30, 80)
TEXTS = [*BUILT_IN, "judge", "judge_pairs", "rejudge", "certify", "advise"]
"""What writes or judges texts."""


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    """Empty, and closed afterwards."""
    with open_journal(tmp_path) as opened:
        yield opened


class Watcher:
    """Draws the live view whenever anything changes."""

    def __init__(self) -> None:
        self.live = Live("amber-fox")
        self.drawn: list[str] = []
        self.lines: list[str] = []

    def on_event(self, event: AnyEvent) -> None:
        """Something happened."""
        self.live.on_event(event)
        self.lines.append(step(event, self.live.story))
        self._draw()

    def on_signal(self, signal: Signal) -> None:
        """A sign of life."""
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
    result = await start_run(
        journal,
        Breaking(SCRIPT, luck=1),
        task=task,
        settings=chosen,
        on_event=watcher.on_event,
        on_signal=watcher.on_signal,
    )
    assert result.status in ("done", "capped", "converged")
    assert watcher.live.spent.calls == result.calls
    assert not watcher.live.calls
    assert all("\n" not in line for line in watcher.lines)
    assert all(watcher.lines) or name in ("best_of_n", "advise")
    assert any("calls" in drawn for drawn in watcher.drawn)


@pytest.mark.parametrize("name", TEXTS)
async def test_a_resumed_run_is_drawn_from_its_beginning(journal: Journal, name: str) -> None:
    task, chosen = case(name)
    paused = await start_run(journal, Breaking(SCRIPT, 0), task=task, settings=chosen)
    watcher = Watcher()
    result = await go_on(
        journal,
        paused.run,
        Breaking(SCRIPT),
        on_event=watcher.on_event,
        on_signal=watcher.on_signal,
    )
    assert watcher.live.story.end == result.story.end


async def test_a_playoff_that_is_held_again_is_seen(journal: Journal) -> None:
    task, chosen = case("best_of_n")
    dead = Breaking({**SCRIPT, "judge": "I would rather not say."})
    paused = await start_run(journal, dead, task=task, settings=chosen)
    assert paused.status == "panel_failed"
    watcher = Watcher()
    await go_on(
        journal,
        paused.run,
        Breaking(SCRIPT),
        on_event=watcher.on_event,
        on_signal=watcher.on_signal,
    )
    assert any("playoff" in drawn for drawn in watcher.drawn)
    assert any("confirmation" in drawn for drawn in watcher.drawn[-12:])


async def test_independent_drafts_are_called_drafts(journal: Journal) -> None:
    task, chosen = case("best_of_n")
    watcher = Watcher()
    await start_run(
        journal,
        Breaking(SCRIPT, luck=1),
        task=task,
        settings=chosen,
        on_event=watcher.on_event,
        on_signal=watcher.on_signal,
    )
    lines = "\n".join(watcher.lines)
    n = sample_count(chosen)
    assert f"draft {n} of {n}: written, " in lines
    assert "pass" not in lines
    assert any(f"draft {n} of {n}  written, " in drawn for drawn in watcher.drawn)
    assert any(f"a panel chooses one of {n} drafts" in drawn for drawn in watcher.drawn)


async def test_every_moment_of_a_suite_can_be_drawn(tmp_path: Path, journal: Journal) -> None:
    watcher = Watcher()
    result = await run_suite(
        tmp_path, journal, on_event=watcher.on_event, on_signal=watcher.on_signal
    )
    assert watcher.live.spent.calls == result.calls
    assert not watcher.live.calls
    assert all(watcher.lines)
    assert any("7 of 20 cells done" in drawn for drawn in watcher.drawn)
    assert any("tides, contest 2 " in drawn for drawn in watcher.drawn)
