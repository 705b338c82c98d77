"""Watching a program is a request like any other, and its answer is recorded."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from tests.programs.stage import PROBLEM, MadeUpExaminer, program

from autoreason.exchange import Reply, Request
from autoreason.jobs.context import JobContext
from autoreason.programs.assignment import CodeVerdict, Observation, Observed, Probe
from autoreason.programs.examination import NotExamined, answer, observe
from autoreason.programs.task import Assignments
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
) -> tuple[Observed, list[Request]]:
    """What comes of watching a program, and what was asked."""
    asked: list[Request] = []

    async def ask(request: Request) -> Reply:
        asked.append(request)
        return await answer(examiner, request)

    settings = make_settings(Models.everywhere("scripted/x"), 7)
    task = Task(brief=PROBLEM.statement, work=Assignments((PROBLEM,)))
    context = JobContext(task, settings, built_in(code=True), ask, lambda _: None)
    return await observe(context, "draft/observed", text, inputs), asked


async def test_the_examiner_is_asked_under_a_key_and_answers_once_an_input() -> None:
    text = f"behaves = well\n{program(3)}"
    observed, [request] = await look(MadeUpExaminer(), text, ["1 2\n", "3 4\n"])
    assert observed.observations == (Observation(value="well"),) * 2
    assert (request.role, request.key) == ("examiner", "draft/observed")


async def test_the_inputs_are_a_message_of_their_own_that_is_the_same_for_every_program() -> None:
    inputs = ["1 2\n", "3 4\n"]
    _, [one] = await look(MadeUpExaminer(), program(3), inputs)
    _, [other] = await look(MadeUpExaminer(), program(2), inputs)
    assert one.messages[0] == other.messages[0]
    assert msgspec.json.decode(one.messages[0].text) == inputs
    assert one.messages[1] != other.messages[1]


async def test_a_sandbox_that_fails_says_nothing_of_the_program() -> None:
    with pytest.raises(NotExamined):
        await look(Broken(), program(3), ["1 2\n"])
