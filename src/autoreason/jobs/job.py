"""What a job is: its class, its options, and how it is checked, built and run."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

from msgspec import Struct

from autoreason.errors import AutoreasonError, InvalidInput, StrategyError
from autoreason.events import AnyEvent, Delivered, JobFinished
from autoreason.exchange import BudgetQuery, GuidanceQuery, Query, Role
from autoreason.fields import is_of, make_struct
from autoreason.job_types import Refine
from autoreason.jobs.context import JobContext
from autoreason.keys import first_attempt
from autoreason.plugins import describe
from autoreason.settings import Settings
from autoreason.story import RecordedPanel, Story
from autoreason.task import Task

Options = TypeVar("Options", bound=Struct)
Plan = Mapping[str, int]
"""Calls by role."""
Plans = tuple[Plan, Plan, Plan]
"""The least, the most likely and the most."""


class Job:
    """What is journalled, budgeted and resumable: `run` asks through the context, emits events, and ends.

    The same seed and the same replies must give the same events: resuming depends on it.
    """

    summary: ClassVar[str] = ""
    """What it does, in one line."""
    common_prompts: ClassVar[tuple[str, ...]] = ("system", "task")
    """The prompts that every job of its kind uses."""
    prompts: ClassVar[tuple[str, ...] | None] = None
    """The prompts it uses in addition to the common ones; None is all of them."""
    options_type: ClassVar[type[Struct] | None] = None
    """Options that only this strategy has, as the struct that they are read into; None where it has none."""
    used_settings: ClassVar[tuple[str, ...] | None] = None
    """The settings it looks at in addition to those of every author, models as `critic_model`; None is all of them."""
    ending: ClassVar[str] = "self.finish(...)"
    """How its `run` must end, as code, for an error message."""
    fewer_calls: ClassVar[str] = ""
    """What makes `min_calls` less, for an error message."""

    def __init__(self, context: JobContext) -> None:
        self.story = Story(task=context.task, settings=context.settings)
        self._emit_outside = context.emit
        self.context = replace(context, emit=self.emit)
        self.settings = context.settings

    @classmethod
    def prompt_names(cls) -> tuple[str, ...] | None:
        """Every prompt it uses; None is all there are."""
        return None if cls.prompts is None else (*cls.common_prompts, *cls.prompts)

    async def run(self) -> Delivered | JobFinished:
        """From the task to its end."""
        raise NotImplementedError

    @classmethod
    def plans(cls, settings: Settings) -> Plans | None:  # noqa: ARG003
        """Calls by role, from the least to the most, without a given draft; None where that is not known."""
        return None

    @classmethod
    def draft_count(cls, settings: Settings) -> int:  # noqa: ARG003
        """How many first drafts are planned, which a given draft saves."""
        return 1

    @classmethod
    def plan_count(cls, task: Task) -> int:  # noqa: ARG003
        """How often a plan is carried out for this task."""
        return 1

    @classmethod
    def fit_plans(cls, plans: Plans, task: Task, settings: Settings) -> Plans:  # noqa: ARG003
        """The plans as this task needs them."""
        times = cls.plan_count(task)
        low, likely, high = ({role: n * times for role, n in plan.items()} for plan in plans)
        return low, likely, high

    @classmethod
    def sample_answer(cls, task: Task, query: Query[Any]) -> Any:  # noqa: ARG003
        """What a dry run is answered on its way to the first request; None where it cannot go on."""
        return "" if isinstance(query, GuidanceQuery | BudgetQuery) else None

    @classmethod
    def min_calls(cls, task: Task, settings: Settings) -> int:  # noqa: ARG003
        """The limit of calls below which it would pause without a result; 0 where there is none."""
        return 0

    @classmethod
    def check(cls, settings: Settings) -> None:
        """Raise `InvalidInput` for options that it does not have, or cannot use."""
        if cls.options_type is not None:
            own_options(settings, cls.options_type)
        elif isinstance(settings.job, Refine) and settings.job.strategy_options:
            name = min(settings.job.strategy_options)
            raise InvalidInput(f"{settings.job.name} has no option `{name}`; leave it out")

    @classmethod
    def check_task(cls, task: Task, settings: Settings) -> None:
        """Raise `InvalidInput` for a task that this job has no use for."""
        name = "finished texts" if task.entries else task.work.name if task.work else ""
        if name:
            raise InvalidInput(f"{settings.job.name} has no use for {name}; leave them out")

    def emit(self, event: AnyEvent) -> None:
        """Apply an event to the story and pass it on."""
        self.story.apply(event)
        self._emit_outside(event)

    def accept(self, reason: str) -> Delivered | JobFinished | None:  # noqa: ARG002
        """End with what there is, because a person accepts it; None where there is nothing to accept."""
        return None

    async def conclude(self, reason: str) -> Delivered | JobFinished | None:  # noqa: ARG002
        """End at a limit or a stop by what needs no model; None where there is nothing, and the run pauses."""
        return None

    def finish(self, reason: str, text: str | None = None, origin: str = "") -> JobFinished:
        """End the run, with the text it chose where it chose one, and where that came from."""
        finished = JobFinished(reason=reason, text=text, origin=origin)
        self.emit(finished)
        return finished


def join_plans(*plans: Plan) -> Plan:
    joined: Counter[str] = Counter()
    for plan in plans:
        joined.update(plan)
    return joined


def own_options(settings: Settings, kind: type[Options]) -> Options:
    """The options that only a strategy has, as it declares them; from the command line they are strings."""
    job = settings.job_as(Refine)
    return make_struct(kind, job.strategy_options, f"{job.strategy}: ", strict=False)


J = TypeVar("J", bound=Job)


def check_job(task: Task, settings: Settings, kind: type[Job]) -> None:
    kind.check_task(task, settings)
    with user_code_errors(kind, settings.job.name):
        kind.check(settings)


def plan_calls(kind: type[Job], settings: Settings) -> Plans | None:
    name = settings.job.name
    with user_code_errors(kind, name):
        # A user's class may return anything.
        plans: Any = kind.plans(settings)
    if plans is None:
        return None
    known = is_of(plans, tuple[Mapping[Role, int], ...])
    totals = [sum(plan.values()) for plan in plans] if known else []
    if len(totals) != 3 or totals != sorted(totals) or totals[0] < 0:
        raise StrategyError(f"{name} has no valid plans; give three, each calls by role, rising")
    low, likely, high = plans
    return low, likely, high


def build_job(kind: type[J], context: JobContext) -> J:
    name = context.settings.job.name
    with user_code_errors(kind, name):
        job = kind(context)
    if not hasattr(job, "story"):
        raise StrategyError(f"{name} is not initialized; call super().__init__(context) first")
    return job


async def run_job(job: Job) -> Delivered | JobFinished:
    name = job.settings.job.name
    with user_code_errors(type(job), name):
        # A user's class may return anything.
        end: object = await job.run()
    if not isinstance(end, Delivered | JobFinished) or job.story.end != end:
        raise StrategyError(f"{name} delivered nothing; end its run with `return {job.ending}`")
    return end


@contextmanager
def user_code_errors(kind: type[Job], name: str) -> Iterator[None]:
    """Turn what a user's class raises into one sentence; what was recorded before is kept."""
    try:
        yield
    except AutoreasonError:
        raise
    except (Exception, SystemExit) as error:
        if kind.__module__.startswith("autoreason."):
            raise
        file = getattr(sys.modules.get(kind.__module__), "__file__", None)
        raise StrategyError(f"{name} raised {describe(error, file)}; correct it") from error


def panel_attempts(context: JobContext) -> range:
    """One, and one more for each time that the panel failed."""
    return range(context.recovery.failed_panels + 1)


def last_panel(panels: Mapping[str, RecordedPanel], stage: str) -> RecordedPanel | None:
    matching = [panel for name, panel in panels.items() if first_attempt(name) == stage]
    return matching[-1] if matching else None
