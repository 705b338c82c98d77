"""How a strategy of whatever origin is checked, made and held."""

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

_OURS = "autoreason."
Kind = TypeVar("Kind", bound=Strategy)


def check_strategy(task: Task, settings: Settings, kind: type[Strategy]) -> None:
    """Raise `InvalidInput` where the strategy cannot be held with these settings."""
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


def made(kind: type[Kind], context: JobContext) -> Kind:
    """A strategy that is ready to be held."""
    name = context.settings.strategy
    with user_code_errors(kind, name):
        strategy = kind(context)
    if not hasattr(strategy, "story"):
        raise StrategyError(
            f"the strategy {name} is only half made; call super().__init__(venue) in its __init__"
        )
    return strategy


async def held(strategy: Strategy) -> Delivered:
    """A strategy's run, up to a text that was told to everybody."""
    name = strategy.settings.strategy
    with user_code_errors(type(strategy), name):
        # Somebody else's class may return what it likes.
        delivered: object = await strategy.run()
    if not isinstance(delivered, Delivered) or strategy.story.delivered != delivered:
        raise StrategyError(
            f"the strategy {name} ended with nothing delivered; "
            f"end its run with `return {strategy.ending}`"
        )
    return delivered


@contextmanager
def user_code_errors(kind: type[Strategy], name: str) -> Iterator[None]:
    """What somebody else's class raises is one sentence to them, and nothing is lost by it."""
    try:
        yield
    except AutoreasonError:
        raise
    except (Exception, SystemExit) as error:
        if kind.__module__.startswith(_OURS):
            raise
        file = getattr(sys.modules.get(kind.__module__), "__file__", None)
        raise StrategyError(
            f"the strategy {name} raised {describe(error, file)}; correct it"
        ) from error
