"""A job is what is journalled, budgeted and resumable; only some jobs write."""

from __future__ import annotations

from typing import Any

import pytest
from tests.run.runs import settings

from autoreason.errors import InvalidInput
from autoreason.events import AnyEvent, JobFinished
from autoreason.exchange import Query, Request
from autoreason.jobs.context import JobContext
from autoreason.jobs.job import Job, check_job, run_job
from autoreason.prompts import built_in
from autoreason.run.kinds import OTHER_JOBS, job_class, written_by
from autoreason.strategies.registry import BUILT_IN
from autoreason.task import Entry, Task
from autoreason.tournament.strategy import Strategy


class Nothing(Job):
    """Ends at once."""

    async def run(self) -> JobFinished:
        """Ask nothing."""
        return self.finish("there was nothing to do", "The best.", "rival.md")


async def silent(request: Request | Query[Any]) -> Any:
    """Asked only by mistake."""
    raise AssertionError(request.key)


async def test_a_job_ends_without_a_text_of_its_own() -> None:
    events: list[AnyEvent] = []
    context = JobContext(Task(brief="x"), settings(), built_in(), silent, events.append)
    job = Nothing(context)
    end = await run_job(job)
    assert events == [end] == [job.story.end]
    assert (job.story.status, job.story.delivered) == ("done", None)
    assert (job.story.text, job.story.origin) == ("The best.", "rival.md")


@pytest.mark.parametrize("name", [*BUILT_IN, *OTHER_JOBS])
def test_what_a_job_writes_is_known_by_its_name(name: str) -> None:
    chosen = settings(strategy=name)
    kind = job_class(chosen)
    assert kind.writes == written_by(chosen)
    assert issubclass(kind, Strategy) == (kind.writes == "text")


@pytest.mark.parametrize("name", ["judge", "judge_pairs", "rejudge", "certify"])
def test_a_job_that_judges_records_no_prompt_of_an_author(name: str) -> None:
    names = job_class(settings(strategy=name)).prompt_names()
    assert names is not None
    # Certify also shows a judge records.
    of_judges = {"system", "task", "judge", "ballot_again", "length_check"}
    assert set(names) - {"knowledge"} == of_judges
    assert ("knowledge" in names) == (name == "certify")


def test_a_task_that_a_job_has_no_use_for_is_refused() -> None:
    task = Task(brief="x", entries=(Entry(name="a", text="A."), Entry(name="b", text="B.")))
    with pytest.raises(InvalidInput, match="no use for finished texts"):
        check_job(task, settings(), job_class(settings()))
    with pytest.raises(InvalidInput, match="was given no problem"):
        check_job(task, settings(strategy="solve"), job_class(settings(strategy="solve")))
