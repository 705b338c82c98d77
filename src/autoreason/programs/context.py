"""Where programs are written: every conversation begins with a problem and its public tests."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

from autoreason.errors import StrategyError
from autoreason.exchange import Message, Reply, Request, is_model
from autoreason.jobs.allowance import Allowance
from autoreason.jobs.context import JobContext
from autoreason.programs.feedback import unstated


@dataclass(frozen=True)
class ProgramContext(JobContext):
    """Where a program is written: the task everybody sees is a problem with its public tests."""

    @cached_property
    def opening(self) -> tuple[Message, ...]:
        """What every conversation begins with."""
        asked = self.task.assignments[0]
        examples = unstated(asked)
        shown = tuple(part for each in examples for part in (each.input, each.output, each.code))
        text = self.prompt(
            "task",
            "task",
            (asked.statement, asked.starter, *shown),
            title=asked.title,
            statement=asked.statement,
            entry_point=asked.entry_point,
            starter="" if asked.starter.strip() in asked.statement else asked.starter,
            seconds=f"{asked.seconds:g}",
            memory=asked.memory_mb,
            examples=examples,
        )
        return (
            Message("system", self.prompts.render("system"), stable=True),
            Message("user", text, stable=True),
        )


def over_program(context: JobContext, allowance: Allowance) -> ProgramContext:
    """The same venue for the problem that is its task, where nobody can be asked beyond the allowance."""
    asked = 0

    async def ask(request: Request) -> Reply:
        nonlocal asked
        asked += is_model(request.role)
        if allowance.amount is not None and asked > allowance.amount:
            raise StrategyError(
                f"the strategy {context.settings.strategy} asks for more than its {allowance.amount} calls; "
                "let it ask only while may_ask() is true"
            )
        return await context.ask(request)

    same = {each.name: getattr(context, each.name) for each in fields(JobContext)}
    return ProgramContext(**same | {"ask": ask})
