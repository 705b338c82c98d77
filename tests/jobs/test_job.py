"""A job is what is journalled, budgeted and resumable; only some jobs write."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest
from tests.run.runs import settings

from autoreason.errors import InvalidInput
from autoreason.events import AnyEvent, JobFinished
from autoreason.exchange import Query, Request
from autoreason.job_types import (
    Advise,
    AnyJob,
    Certify,
    HostCheck,
    Judge,
    JudgePairs,
    KnowledgeTest,
    Lab,
    Refine,
    Rejudge,
    Research,
    Solve,
)
from autoreason.jobs.context import JobContext
from autoreason.jobs.job import Job, check_job, run_job
from autoreason.prompts import built_in
from autoreason.strategies import job_class
from autoreason.task import Entry, Task
from autoreason.tournament.strategy import Strategy


class Nothing(Job):
    """Ends at once."""

    async def run(self) -> JobFinished:
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


JUDGING = (Judge(), JudgePairs(), Rejudge(of="x"), Certify(model="a/b", suite=2))
CHECK = HostCheck(word="w", file="f", folder="d")
JOBS = (*JUDGING, CHECK, Refine(), KnowledgeTest(folder="x"), Advise(), Solve(), Research(), Lab())


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_a_job_is_a_value_whose_code_is_found_and_which_is_read_again(job: AnyJob) -> None:
    assert {type(each) for each in JOBS} == set(get_args(AnyJob))
    assert issubclass(job_class(job), Strategy) == (job.writes == "text")
    assert msgspec.json.decode(msgspec.json.encode(job), type=AnyJob) == job


@pytest.mark.parametrize("job", JUDGING, ids=lambda job: job.name)
def test_a_job_that_judges_records_no_prompt_of_an_author(job: AnyJob) -> None:
    names = job_class(job).prompt_names()
    assert names is not None
    # Certify also shows a judge records.
    of_judges = {"system", "task", "judge", "ballot_again", "length_check"}
    assert set(names) - {"knowledge"} == of_judges
    assert ("knowledge" in names) == isinstance(job, Certify)


def test_a_task_that_a_job_has_no_use_for_is_refused() -> None:
    task = Task(brief="x", entries=(Entry(name="a", text="A."), Entry(name="b", text="B.")))
    with pytest.raises(InvalidInput, match="no use for finished texts"):
        check_job(task, settings(), job_class(Refine()))
    with pytest.raises(InvalidInput, match="was given no problem"):
        check_job(task, settings(job=Solve()), job_class(Solve()))
