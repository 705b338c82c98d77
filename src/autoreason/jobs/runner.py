"""Checking, building and running a job, built in or a user's."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from autoreason.errors import AutoreasonError, StrategyError
from autoreason.events import Delivered, JobFinished
from autoreason.exchange import Role
from autoreason.jobs.context import JobContext
from autoreason.jobs.job import Job, Plans
from autoreason.plugins import describe
from autoreason.settings import Settings
from autoreason.task import Task
from autoreason.type_hints import type_problem

_BUILT_IN_PREFIX = "autoreason."
Kind = TypeVar("Kind", bound=Job)


def check_job(task: Task, settings: Settings, kind: type[Job]) -> None:
    """Raise `InvalidInput` where the job cannot run this task with these settings."""
    kind.check_task(task, settings)
    with user_code_errors(kind, settings.strategy):
        kind.check(settings)


def plan_calls(kind: type[Job], settings: Settings) -> Plans | None:
    """The plans of a job: calls by role, from the least to the most; None where it does not say."""
    name = settings.strategy
    with user_code_errors(kind, name):
        # A user's class may return anything.
        plans: Any = kind.plans(settings)
    if plans is None:
        return None
    if not (problem := type_problem("plans", plans, tuple[Mapping[Role, int], ...])):
        totals = [sum(plan.values()) for plan in plans]
        if len(plans) != 3 or totals != sorted(totals):
            problem = f"their calls are {totals}; give three plans, from the least to the most"
        elif any(calls < 0 for plan in plans for calls in plan.values()):
            problem = "a number of calls is negative; give 0 or more"
    if problem:
        raise StrategyError(f"the strategy {name} has no valid plans: {problem}")
    low, likely, high = plans
    return low, likely, high


def build_job(kind: type[Kind], context: JobContext) -> Kind:
    """A job that is ready to run."""
    name = context.settings.strategy
    with user_code_errors(kind, name):
        job = kind(context)
    if not hasattr(job, "story"):
        raise StrategyError(
            f"the strategy {name} is not initialized; call super().__init__(context) in its __init__"
        )
    return job


async def run_job(job: Job) -> Delivered | JobFinished:
    """Run a job to its end."""
    name = job.settings.strategy
    with user_code_errors(type(job), name):
        # A user's class may return anything.
        end: object = await job.run()
    if not isinstance(end, Delivered | JobFinished) or job.story.end != end:
        raise StrategyError(
            f"the strategy {name} ended with nothing delivered; "
            f"end its run with `return {job.ending}`"
        )
    return end


@contextmanager
def user_code_errors(kind: type[Job], name: str) -> Iterator[None]:
    """Turn what a user's class raises into one sentence; what was recorded before is kept."""
    try:
        yield
    except AutoreasonError:
        raise
    except (Exception, SystemExit) as error:
        if kind.__module__.startswith(_BUILT_IN_PREFIX):
            raise
        file = getattr(sys.modules.get(kind.__module__), "__file__", None)
        raise StrategyError(
            f"the strategy {name} raised {describe(error, file)}; correct it"
        ) from error
