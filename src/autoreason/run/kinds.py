"""Every kind of run by name, and how a strategy of whatever origin is held."""

from __future__ import annotations

from autoreason.errors import AutoreasonError, StrategyRaised
from autoreason.events import Delivered
from autoreason.settings import Settings
from autoreason.strategies.finding import RIVALS, described, find_strategy
from autoreason.tournament.strategy import Strategy

STUDIES: dict[str, str] = {}
"""Runs that judge texts instead of writing one."""


def kind_of(settings: Settings) -> type[Strategy]:
    """The strategy a run's settings name."""
    return find_strategy(settings.strategy, STUDIES)


async def held(strategy: Strategy) -> Delivered:
    """A strategy's run; what somebody else's class raises is theirs to mend, and nothing is lost by it."""
    name = strategy.settings.strategy
    try:
        delivered = await strategy.run()
    except AutoreasonError:
        raise
    except Exception as error:
        if name in RIVALS or name in STUDIES:
            raise
        raise StrategyRaised(f"the strategy {name} raised {described(error)}; mend it") from error
    if not isinstance(delivered, Delivered):
        raise StrategyRaised(
            f"the strategy {name} ended without a text; end its run with self.deliver(...)"
        )
    return delivered
