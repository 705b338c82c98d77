"""Tasks of a suite that another process reads: sets of problems, and artifacts with their evaluators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from autoreason.errors import InvalidInput
from autoreason.programs.assignment import Assignments
from autoreason.run.problem_sets import choose_problems
from autoreason.run.research import PreparedResearch, research
from autoreason.settings import DEFAULT_MODEL
from autoreason.studies.lab.lab_suite import SuiteTask
from autoreason.studies.lab.suite_file import SuiteFile, TaskSource
from autoreason.task import Task


class ReadTasks(NamedTuple):
    """All tasks of a suite, and the evaluators that are saved when it starts."""

    tasks: dict[str, SuiteTask]
    evaluators: tuple[PreparedResearch, ...]


async def read_tasks(file: SuiteFile) -> ReadTasks:
    """The tasks of a suite in their order, with those that its file only names."""
    tasks: Mapping[str, SuiteTask] = file.suite.tasks
    read: dict[str, SuiteTask] = {}
    evaluators: list[PreparedResearch] = []
    for name, task in tasks.items():
        source = file.sources.get(name)
        try:
            if source is None:
                read[name] = task
            elif source.job == "solve":
                read |= await _read_problems(name, source)
            else:
                prepared = research.prepare(source.path, DEFAULT_MODEL)
                evaluators.append(prepared)
                read[name] = SuiteTask(task=prepared.task, job=source.job)
        except InvalidInput as error:
            raise file.document.blame(("tasks", name), error) from None
    return ReadTasks(read, tuple(evaluators))


async def _read_problems(name: str, source: TaskSource) -> dict[str, SuiteTask]:
    """Every problem of a set that can be judged, as a task; the examiner keeps the set under its digest."""
    from autoreason.programs.examiner.client import ExaminerClient

    only = tuple(map(str, source.options.get("ids") or ()))
    client = await ExaminerClient.open(source.path, only=only)
    try:
        options = {name: source.options.get(name) for name in ("difficulty", "limit")}
        chosen = choose_problems(client.reply.assignments, options)
        terms = {"set": client.reply.digest}
        return {
            f"{name}/{each.id}": SuiteTask(
                task=Task(brief=f"Solve {each.title or each.id}", work=Assignments((each,))),
                job="solve",
                terms=terms,
            )
            for each in chosen
            if not each.remark
        }
    finally:
        await client.close()
