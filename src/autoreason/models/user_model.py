"""Models that users bring: what they raise and return is checked before it can reach a record."""

from __future__ import annotations

from autoreason.errors import AutoreasonError, CallFailed, Failure, InvalidInput, ProviderFailed
from autoreason.exchange import OnSignal, Reply, Request, Usage
from autoreason.models.log import LOG
from autoreason.models.wrapper import WrapperModel
from autoreason.plugins import describe
from autoreason.type_hints import check_type


class UserModel(WrapperModel):
    """A model of the user's own: its mistakes are failures of a provider."""

    async def ask(self, request: Request, on_signal: OnSignal | None = None) -> Reply:
        """Answer one request; what goes wrong with a connection may be tried again, a mistake in the code is not."""
        try:
            reply = await self._model.ask(request, on_signal)
        except AutoreasonError:
            raise
        except OSError as error:
            raise CallFailed(Failure.CONNECTION, self._describe(error)) from error
        except Exception as error:
            raise ProviderFailed(
                f"the model {self.address} raised {self._describe(error)}; "
                "correct it, then resume the run"
            ) from error
        self._check(reply)
        return reply

    async def close(self) -> None:
        """Close the model within; a run that is over does not fail because of it."""
        try:
            await self._model.close()
        except Exception as error:
            LOG.warning("%s cannot be closed: %s", self.address, type(error).__name__)

    def _check(self, reply: Reply) -> None:
        """Refuse what is no reply, or one that could not be recorded or counted."""
        try:
            check_type("reply", reply, Reply)
            (reply.text + reply.reasoning + reply.finish + reply.model).encode()
            numbers = {
                f"usage.{name}": getattr(reply.usage, name) for name in Usage.__struct_fields__
            }
            for name, number in {**numbers, "cost": reply.cost, "seconds": reply.seconds}.items():
                if number is not None and number < 0:
                    raise InvalidInput(f"`reply.{name}` is {number}; give 0 or more")
        except UnicodeEncodeError:
            problem = "its text contains half of a character (a lone surrogate); give UTF-8 text"
        except InvalidInput as error:
            problem = str(error)
        else:
            return
        raise ProviderFailed(
            f"the model {self.address} gave no valid reply: {problem}, then resume the run"
        )

    def _describe(self, error: Exception) -> str:
        code = getattr(self._model.ask, "__code__", None)
        return describe(error, code and code.co_filename)
