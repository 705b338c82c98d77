"""Checking, building and running a strategy, built in or a user's."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from autoreason.errors import AutoreasonError, InvalidInput, StrategyError
from autoreason.events import Delivered
from autoreason.jobs.context import JobContext
from autoreason.plugins import describe
from autoreason.settings import Settings
from autoreason.task import Task
from autoreason.tournament.strategy import Strategy

_BUILT_IN_PREFIX = "autoreason."
Kind = TypeVar("Kind", bound=Strategy)


def check_strategy(task: Task, settings: Settings, kind: type[Strategy]) -> None:
    """Raise `InvalidInput` where the strategy cannot run this task with these settings."""
    if task.entries and not kind.over_texts:
        raise InvalidInput(f"{settings.strategy} has no use for finished texts; leave them out")
    if kind.over_texts and not task.entries:
        raise InvalidInput(f"{settings.strategy} has no texts to judge; give the task its entries")
    if task.assignments and not kind.over_programs:
        raise InvalidInput(
            f"{settings.strategy} writes texts, not programs; leave the problems out"
        )
    if kind.over_programs and not task.assignments:
        raise InvalidInput(
            f"{settings.strategy} writes programs and was given no problem; use `autoreason solve`"
        )
    with user_code_errors(kind, settings.strategy):
        kind.check(settings)


def build_strategy(kind: type[Kind], context: JobContext) -> Kind:
    """A strategy that is ready to run."""
    name = context.settings.strategy
    with user_code_errors(kind, name):
        strategy = kind(context)
    if not hasattr(strategy, "story"):
        raise StrategyError(
            f"the strategy {name} is not initialized; call super().__init__(context) in its __init__"
        )
    return strategy


async def run_strategy(strategy: Strategy) -> Delivered:
    """Run a strategy until it delivers."""
    name = strategy.settings.strategy
    with user_code_errors(type(strategy), name):
        # A user's class may return anything.
        delivered: object = await strategy.run()
    if not isinstance(delivered, Delivered) or strategy.story.delivered != delivered:
        raise StrategyError(
            f"the strategy {name} ended with nothing delivered; "
            f"end its run with `return {strategy.ending}`"
        )
    return delivered


@contextmanager
def user_code_errors(kind: type[Strategy], name: str) -> Iterator[None]:
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
