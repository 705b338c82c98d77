"""A whole run on the embedded model: a real language model, inside the process, offline."""

from __future__ import annotations

import pytest
from tests.run.runs import settings

from autoreason.errors import InvalidInput
from autoreason.events import BallotCast, CritiqueWritten
from autoreason.journal import Journal
from autoreason.models.pool import ModelPool
from autoreason.models.weights import pull
from autoreason.run.driver import start
from autoreason.run.replay import replay_async
from autoreason.task import Task


@pytest.mark.timeout(1200)
async def test_a_whole_run_on_the_embedded_model(journal: Journal) -> None:
    try:
        pull()
    except InvalidInput as error:
        pytest.skip(f"the embedded model cannot be fetched here: {error}")
    task = Task(brief="Write one sentence about rain.", draft="Rain falls on the roof and sings.")
    chosen = settings(
        "local/smollm2",
        passes=1,
        judges=2,
        extra_judges=0,
        max_tokens=48,
        playoff=0,
        confirmation=0,
    )
    pool = ModelPool()
    result = await start(task, chosen, journal=journal, pool=pool)
    await pool.close()
    assert result.status in ("converged", "capped")
    assert result.text
    assert result.tokens
    assert result.cost == 0
    told = [item.event for item in journal.events(result.run)]
    assert any(isinstance(event, CritiqueWritten) for event in told)
    assert all(event.ranking for event in told if isinstance(event, BallotCast))
    assert (await replay_async(result.run, journal=journal)).same
