"""The context of strategies for programs: every conversation begins with a problem and its public tests."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from autoreason.errors import StrategyError
from autoreason.exchange import Message, Query, Request
from autoreason.jobs.allowance import Allowance
from autoreason.jobs.context import JobContext
from autoreason.programs.feedback import unstated_tests
from autoreason.programs.task import assignments_of


@dataclass(frozen=True)
class ProgramContext(JobContext):
    """A job context whose task is a problem with its public tests."""

    @cached_property
    def opening(self) -> tuple[Message, ...]:
        """The messages that begin every conversation."""
        assignment = assignments_of(self.task)[0]
        examples = unstated_tests(assignment)
        text = self.prompt(
            "task",
            "task",
            title=assignment.title,
            statement=assignment.statement,
            entry_point=assignment.entry_point,
            starter=""
            if assignment.starter.strip() in assignment.statement
            else assignment.starter,
            seconds=f"{assignment.seconds:g}",
            memory=assignment.memory_mb,
            examples=examples,
        )
        return self.begin(text)


def program_context(context: JobContext, allowance: Allowance) -> ProgramContext:
    """The same context for a problem, where no request may exceed the allowance."""
    calls = 0

    async def ask(request: Request | Query[Any]) -> Any:
        nonlocal calls
        calls += isinstance(request, Request)
        if allowance.amount is not None and calls > allowance.amount:
            raise StrategyError(
                f"the strategy {context.settings.strategy} asks for more than its {allowance.amount} calls; "
                "let it ask only while may_ask() is true"
            )
        return await context.ask(request)

    same = {each.name: getattr(context, each.name) for each in fields(JobContext)}
    return ProgramContext(**same | {"ask": ask})
