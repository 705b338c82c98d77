"""Models that users bring: what they raise and return is checked before it can reach a record."""

from __future__ import annotations

from asyncio import CancelledError, current_task

from msgspec.structs import replace

from autoreason.errors import CallFailed, Failure, ProviderFailed
from autoreason.exchange import OnSignal, Reply, Request, Usage
from autoreason.models.log import LOG
from autoreason.models.wrapper import WrapperModel
from autoreason.plugins import describe, first_line
from autoreason.type_hints import type_problem

_MAX_NUMBER = 10**12
"""No call takes as many tokens, dollars or seconds, and the sum over a run can still be recorded."""


class UserModel(WrapperModel):
    """A model of the user's own: its mistakes are failures of a provider."""

    async def ask(self, request: Request, on_signal: OnSignal | None = None) -> Reply:
        """Answer one request; what goes wrong with a connection may be tried again, a mistake in the code is not."""
        try:
            reply = await self._model.ask(request, on_signal)
        except (CallFailed, ProviderFailed) as error:
            error.args = (first_line(error),)
            raise
        except OSError as error:
            raise CallFailed(Failure.CONNECTION, self._describe(error)) from error
        except (Exception, CancelledError, SystemExit) as error:
            if _is_cancelled(error):
                raise
            raise ProviderFailed(
                f"the model {self.address} raised {self._describe(error)}; "
                "correct it, then resume the run"
            ) from error
        self._check(reply)
        return reply if reply.model else replace(reply, model=self.address)

    async def close(self) -> None:
        """Close the model within; a run that is over does not fail because of it."""
        try:
            await self._model.close()
        except (Exception, CancelledError, SystemExit) as error:
            if _is_cancelled(error):
                raise
            LOG.warning("%s cannot be closed: %s", self.address, type(error).__name__)

    def _check(self, reply: Reply) -> None:
        """Refuse what is no reply, or one that could not be recorded or counted."""
        problem = type_problem("reply", reply, Reply)
        if not problem:
            numbers = {
                f"usage.{name}": getattr(reply.usage, name) for name in Usage.__struct_fields__
            }
            for name, number in {**numbers, "cost": reply.cost, "seconds": reply.seconds}.items():
                if number is not None and number < 0:
                    problem = f"`reply.{name}` is {number}; give 0 or more"
                elif number is not None and number > _MAX_NUMBER:
                    problem = f"`reply.{name}` is too large; give {_MAX_NUMBER:,} or less"
        if problem:
            raise ProviderFailed(
                f"the model {self.address} gave no valid reply: {problem}, then resume the run"
            )

    def _describe(self, error: BaseException) -> str:
        code = getattr(self._model.ask, "__code__", None)
        return describe(error, code and code.co_filename)


def _is_cancelled(error: BaseException) -> bool:
    """Whether the call is being cancelled, not just a model that raises what a cancellation does."""
    task = current_task()
    return isinstance(error, CancelledError) and task is not None and task.cancelling() > 0
