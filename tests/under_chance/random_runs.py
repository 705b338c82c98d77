"""Whole runs in memory whose judges rank at random."""

from __future__ import annotations

import asyncio
import random
import re
from typing import Any

from autoreason.exchange import Outcome, Query, Reply, Request
from autoreason.jobs.context import JobContext
from autoreason.settings import Models, Settings, make_settings
from autoreason.story import Story
from autoreason.studies.audit_findings import AuditedRun
from autoreason.studies.simulation import PROMPTS
from autoreason.task import Task
from autoreason.tournament.loop import Tournament

TASK = Task(brief="Write.")
_LABEL = re.compile(r"\b[A-Z]{2}\b")


class RandomCast:
    """Authors who write any number of words and judges who rank them in any order."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.written = 0

    async def ask(self, request: Request | Query[Any]) -> Any:
        """Answer without reading the texts."""
        if isinstance(request, Query):
            return ""
        shown = request.messages[-1].text
        match request.role:
            case "critic":
                quote = shown.split()[0]
                text = (
                    '{"problems": [{"severity": "major", "kind": "quote", '
                    f'"quote": "{quote}", "problem": "It is weak."}}]}}'
                )
            case "judge":
                labels = _LABEL.findall(shown)
                self.rng.shuffle(labels)
                text = f'{{"reasoning": "", "ranking": "{" > ".join(labels)}"}}'
            case _:
                self.written += 1
                text = f"text{self.written}" + " more" * self.rng.randrange(1, 40) + "."
        return Reply(outcome=Outcome.OK, text=text, model=request.model)


def random_story(settings: Settings) -> Story:
    cast = RandomCast(random.Random(f"cast {settings.seed}"))
    tournament = Tournament(JobContext(TASK, settings, PROMPTS, cast.ask, lambda _: None))
    asyncio.run(tournament.run())
    tournament.story.settings = settings
    return tournament.story


def random_run(seed: int, **changes: Any) -> AuditedRun:
    settings = make_settings(Models.everywhere("random/judge"), seed, **changes)
    story = random_story(settings)
    return AuditedRun(name=f"run {seed}", story=story, task=TASK, settings=settings)
