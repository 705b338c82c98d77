"""The context of research: every conversation begins with the goal and how it is measured."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

from autoreason.artifacts.research_task import ResearchTask, research_of
from autoreason.exchange import Message
from autoreason.jobs.context import JobContext


@dataclass(frozen=True)
class ResearchContext(JobContext):
    """A job context whose task is to improve an artifact."""

    preference: str = ""
    """What judges are asked to prefer; empty where a change is proposed."""

    @property
    def research(self) -> ResearchTask:
        """The task."""
        research = research_of(self.task)
        assert research is not None
        return research

    @cached_property
    def opening(self) -> tuple[Message, ...]:
        """The messages that begin every conversation."""
        research, brief = self.research, self.task.brief
        if self.preference:
            brief = f"{brief}\n\nOf two versions that measure alike: {self.preference}"
        text = self.prompt(
            "task",
            "task",
            brief=brief,
            metric=research.metric,
            better=research.better,
            patterns=research.artifact,
            constraints=research.constraints,
            guards=[f"{name} {condition.strip()}" for name, condition in research.guard.items()],
            seconds=f"{research.limits.seconds:g}",
            memory=research.limits.memory_mb,
            evaluator=research.evaluator_source,
        )
        return self.begin(text)


def over_artifact(context: JobContext) -> ResearchContext:
    """The same context for an artifact."""
    return ResearchContext(
        **{each.name: getattr(context, each.name) for each in fields(JobContext)}
    )
