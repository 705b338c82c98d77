"""Watching a program is a query, and its answer is recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from tests.programs.stage import PROBLEM, MadeUpExaminer, program

from autoreason.exchange import Query, Request
from autoreason.jobs.context import JobContext
from autoreason.programs.assignment import Assignments, CodeVerdict, Observation, Observed, Probe
from autoreason.programs.examination import ExaminerService, NotExamined, ProbeQuery, observe
from autoreason.prompts import built_in
from autoreason.settings import Models, make_settings
from autoreason.task import Task

pytestmark = pytest.mark.asyncio


class Broken(MadeUpExaminer):
    """Its sandbox fails."""

    async def observe(self, probe: Probe) -> Observed:
        """Nothing can be seen."""
        failed = Observation(failure=CodeVerdict.SANDBOX_ERROR)
        return Observed(observations=(failed,) * len(probe.inputs))


async def look(
    examiner: MadeUpExaminer, text: str, inputs: Sequence[str]
) -> tuple[Observed, list[ProbeQuery]]:
    """What comes of watching a program, and what was asked."""
    asked: list[ProbeQuery] = []

    async def ask(request: Request | Query[Any]) -> Any:
        assert isinstance(request, ProbeQuery)
        asked.append(request)
        return await ExaminerService(examiner).answer(request)

    settings = make_settings(Models.everywhere("scripted/x"), 7)
    task = Task(brief=PROBLEM.statement, work=Assignments((PROBLEM,)))
    context = JobContext(task, settings, built_in(writes="programs"), ask, lambda _: None)
    return await observe(context, "draft/observed", text, inputs), asked


async def test_the_examiner_is_asked_under_a_key_and_answers_once_an_input() -> None:
    text = f"behaves = well\n{program(3)}"
    observed, [query] = await look(MadeUpExaminer(), text, ["1 2\n", "3 4\n"])
    assert observed.observations == (Observation(value="well"),) * 2
    assert (query.kind, query.key) == ("observation", "draft/observed")
    assert query.probe == Probe(problem=PROBLEM.id, program=text, inputs=("1 2\n", "3 4\n"))


async def test_a_sandbox_that_fails_says_nothing_of_the_program() -> None:
    with pytest.raises(NotExamined):
        await look(Broken(), program(3), ["1 2\n"])
