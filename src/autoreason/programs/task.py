"""The problems of a task, as every role may see them."""

from __future__ import annotations

from msgspec import Struct

from autoreason.programs.assignment import Assignment
from autoreason.task import Task, Work


class Assignments(Work, Struct, frozen=True, tag_field="type", tag=True):
    """Programs to be written."""

    name = "problems"

    assignments: tuple[Assignment, ...]


def assignments_of(task: Task | None) -> tuple[Assignment, ...]:
    """The problems of a task; none where it is about texts."""
    work = task.work if task else None
    return work.assignments if isinstance(work, Assignments) else ()
