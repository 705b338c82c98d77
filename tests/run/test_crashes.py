"""A process that ends after any event leaves a record that goes on to the same story."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.cli.test_live_strategies import SCRIPT, case
from tests.run.leaving import Breaking, emitted
from tests.run.runs import go_on, open_journal, start_run

from autoreason.events import AnyEvent
from autoreason.journal import Journal


class Crashed(BaseException):
    """The end of a process."""


class Fuse:
    """Ends the process after so many events."""

    def __init__(self, events: int) -> None:
        self.left = events

    def __call__(self, event: AnyEvent) -> None:  # noqa: ARG002
        self.left -= 1
        if self.left == 0:
            raise Crashed


def crashed(journal: Journal, name: str, events: int) -> str:
    task, chosen = case(name)
    started: list[str] = []
    told: dict[str, Any] = {"on_event": Fuse(events), "on_started": started.append}
    model = Breaking(SCRIPT, luck=events)
    with pytest.raises(Crashed):
        asyncio.run(start_run(journal, model, task=task, settings=chosen, **told))
    return started[0]


@pytest.mark.parametrize(
    "name", ["critique_revise", "self_refine", "best_of_n", "judge", "judge_pairs"]
)
def test_ended_after_any_event_a_run_goes_on_to_the_same_story(tmp_path: Path, name: str) -> None:
    task, chosen = case(name)
    with open_journal(tmp_path) as journal:
        whole = asyncio.run(start_run(journal, Breaking(SCRIPT), task=task, settings=chosen))
        story = emitted(journal, whole.run)
        for events in range(1, len(story) + 1):
            run = crashed(journal, name, events)
            before = set(journal.replies(run))
            model = Breaking(SCRIPT)
            result = asyncio.run(go_on(journal, run, model))
            assert (result.status, result.text) == (whole.status, whole.text)
            assert emitted(journal, run) == story
            assert not before & set(model.asked)
