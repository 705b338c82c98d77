"""How a strategy of whatever origin is held."""

from __future__ import annotations

from autoreason.errors import AutoreasonError, StrategyRaised
from autoreason.events import Delivered
from autoreason.strategies.finding import described
from autoreason.tournament.strategy import Strategy

_OURS = "autoreason."


async def held(strategy: Strategy) -> Delivered:
    """A strategy's run; what somebody else's class raises is theirs to mend, and nothing is lost by it."""
    name = strategy.settings.strategy
    try:
        delivered = await strategy.run()
    except AutoreasonError:
        raise
    except Exception as error:
        if type(strategy).__module__.startswith(_OURS):
            raise
        raise StrategyRaised(f"the strategy {name} raised {described(error)}; mend it") from error
    if not isinstance(delivered, Delivered):
        raise StrategyRaised(
            f"the strategy {name} ended without a text; end its run with self.deliver(...)"
        )
    return delivered
