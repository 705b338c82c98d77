"""Several texts to choose from: what is said of them if all judges rank at random, who chose them before."""

from __future__ import annotations

import asyncio
import json
import random
import re
from typing import Any

import numpy as np
import pytest
from tests.under_chance.luck import misses, most_often, random_rankings
from tests.under_chance.random_runs import TASK

from autoreason.exchange import Outcome, Query, Reply, Request, Spent
from autoreason.jobs.context import JobContext
from autoreason.prompts import built_in
from autoreason.settings import Models, make_settings
from autoreason.story import Story
from autoreason.strategies import Alternatives
from autoreason.tournament.endings import summarize
from autoreason.tournament.evidence import standings

TIMES = 150
RUNS = 50


@pytest.mark.parametrize(("judges", "texts"), [(2, 2), (9, 2), (9, 3), (9, 7), (5, 4)])
def test_the_intervals_of_all_alternatives_hold_together(judges: int, texts: int) -> None:
    rng = np.random.default_rng(1)
    wrong = 0
    for _ in range(TIMES):
        found = standings(random_rankings(rng, judges, texts))
        wrong += any(misses(each, 0.5) for each in found.values())
    assert wrong <= most_often(TIMES)


def told(seed: int) -> Story:
    """A whole run of three texts whose judges, first and last, rank at random."""
    rng = random.Random(seed)

    async def ask(request: Request | Query[Any]) -> Any:
        if isinstance(request, Query):
            return ""
        if request.role == "judge":
            labels = re.findall(r"^## ([A-Z]{2})$", request.messages[-1].text, re.MULTILINE)
            rng.shuffle(labels)
            text = json.dumps({"reasoning": "", "ranking": " > ".join(labels)})
        else:
            texts = [f"text{n} of{n} mine{n}" for n in range(6)]
            text = json.dumps({"texts": texts[1:]}) if request.schema else texts[0]
        return Reply(outcome=Outcome.OK, text=text, model=request.model)

    own: dict[str, Any] = {"strategy": "alternatives", "strategy_options": {"n": 3}}
    settings = make_settings(Models.everywhere("random/x"), seed, **own)
    run = Alternatives(JobContext(TASK, settings, built_in(), ask, lambda _: None))
    asyncio.run(run.run())
    return run.story


def test_judges_at_random_seldom_prefer_the_first_although_others_chose_it() -> None:
    said = 0
    for seed in range(RUNS):
        story = told(seed)
        assert story.alternatives
        prefer = summarize(story, run="x", spent=Spent(), seconds=None)[0].startswith(
            "Judges prefer"
        )
        assert prefer == story.alternatives.leads
        said += prefer
    assert said <= most_often(RUNS)
