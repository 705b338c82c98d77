"""The long tail of providers (Bedrock, Vertex, Azure, …) through LiteLLM, where it is installed."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import os
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from decimal import Decimal
from typing import Any

import msgspec
from msgspec.structs import replace

from autoreason.errors import CallFailed, Failure, InvalidInput
from autoreason.exchange import OnSignal, Outcome, Reply, Request, Usage
from autoreason.models import dialects
from autoreason.models.dialects.anthropic import text_block
from autoreason.models.dialects.openai import OPENAI_CHAT, chat_body
from autoreason.models.failures import retry_after
from autoreason.models.providers import Quirks
from autoreason.models.transport import UnstreamedBody
from autoreason.models.wire import read_payloads

_PREFIXES = {"litellm": "", "bedrock": "bedrock/", "vertex": "vertex_ai/", "azure": "azure/"}
_FAILURES = {
    **dict.fromkeys(("AuthenticationError", "PermissionDeniedError"), Failure.BAD_KEY),
    **dict.fromkeys(("PaymentRequiredError", "BudgetExceededError"), Failure.NO_CREDIT),
    "RateLimitError": Failure.RATE_LIMIT,
    **dict.fromkeys(("Timeout", "APITimeoutError"), Failure.TIMEOUT),
    "APIConnectionError": Failure.CONNECTION,
    **dict.fromkeys(
        ("ServiceUnavailableError", "BadGatewayError", "InternalServerError"), Failure.OVERLOADED
    ),
    **dict.fromkeys(
        ("BadRequestError", "NotFoundError", "UnprocessableEntityError"), Failure.BAD_REQUEST
    ),
    **dict.fromkeys(("APIResponseValidationError", "APIError"), Failure.BROKEN_REPLY),
}
"""By the name of the error's class or the nearest of its parents."""
_REFUSAL = "ContentPolicyViolationError"
_MAX_MESSAGE = 300


class LiteLLMModel:
    """`bedrock/X`, `vertex/X`, `azure/X`, or `litellm/X` for anything else LiteLLM can name."""

    def __init__(self, address: str) -> None:
        self.address = address
        provider, _, model = address.partition("/")
        self._name = _PREFIXES[provider] + model
        self._library: Any = None

    def check(self) -> None:
        if importlib.util.find_spec("litellm") is None:
            raise InvalidInput(f"{self.address} needs LiteLLM; run `pip install litellm`")

    async def ask(self, request: Request, on_signal: OnSignal | None = None) -> Reply:
        if self._library is None:
            self.check()
            # It takes seconds to import, during which others have work to do.
            self._library = await asyncio.to_thread(_import)
        library, began = self._library, time.monotonic()
        shaped = request.schema is not None and library.supports_response_schema(model=self._name)
        body = arguments(request, self._name, shaped=shaped, stream=on_signal is not None)
        try:
            parts = _payloads(await library.acompletion(**body), streamed=on_signal is not None)
            reply = await read_payloads(parts, OPENAI_CHAT, request.model, request.key, on_signal)
        except Exception as error:
            if any(each.__name__ == _REFUSAL for each in type(error).__mro__):
                reply = Reply(
                    outcome=Outcome.REFUSED,
                    text="",
                    model=request.model,
                    finish="content_policy_violation",
                )
            elif failed := call_failed(request.model, error):
                raise failed from error
            else:
                raise
        usage = dialects.credible(reply.usage, reply.text)
        cost = _cost(library, self._name, usage)
        reply = replace(reply, usage=usage, cost=cost, seconds=time.monotonic() - began)
        return dialects.check_repetition(reply)

    async def close(self) -> None:
        if self._library is not None:
            await self._library.close_litellm_async_clients()


def arguments(request: Request, name: str, *, shaped: bool, stream: bool) -> dict[str, Any]:
    """A request as LiteLLM takes it; `shaped` where the model can be given a schema."""
    quirks = Quirks(no_schema=not shaped)
    body = chat_body(request, name, quirks, stream)
    # Retries are done and counted here; parameters a model does not take are left out.
    body |= {"num_retries": 0, "max_retries": 0, "drop_params": True}
    if "claude" in name.lower():
        # Claude caches only what is marked, on any host.
        messages = dialects.messages_of(request, quirks)
        last = dialects.last_stable(messages)
        body["messages"] = [
            {
                "role": each.speaker,
                "content": [text_block(each, cached=True)] if place == last else each.text,
            }
            for place, each in enumerate(messages)
        ]
    return body


async def _payloads(response: Any, *, streamed: bool) -> AsyncGenerator[bytes, None]:
    if not streamed:
        yield UnstreamedBody(response.model_dump_json().encode())
        return
    async with aclosing(response):
        async for chunk in response:
            yield chunk.model_dump_json().encode()
    yield b"[DONE]"


def call_failed(model: str, error: Exception) -> CallFailed | None:
    """The error as `CallFailed`; None for one that is not LiteLLM's."""
    if isinstance(error, dialects.UnreadableReply | msgspec.DecodeError):
        return CallFailed(Failure.BROKEN_REPLY, f"{model} sent a reply that cannot be read")
    names = [each.__name__ for each in type(error).__mro__]
    failure = next((_FAILURES[name] for name in names if name in _FAILURES), None)
    if failure is None:
        return None
    message = " ".join(str(error).split())
    if failure is Failure.RATE_LIMIT and "insufficient_quota" in message:
        failure = Failure.NO_CREDIT
    status = getattr(error, "status_code", None)
    # Headers of `response` are often invented by LiteLLM; what the provider sent is in another attribute.
    sent = getattr(error, "litellm_response_headers", None)
    headers = sent or getattr(getattr(error, "response", None), "headers", {})
    return CallFailed(
        failure,
        f"{model}: {message[:_MAX_MESSAGE]}",
        status=status,
        retry_after=retry_after(headers, None),
    )


def _cost(library: Any, name: str, usage: Usage) -> Decimal | None:
    if usage.input is None or usage.output is None:
        return None
    try:
        costs = library.cost_per_token(
            model=name,
            prompt_tokens=usage.input,
            completion_tokens=usage.output,
            cache_read_input_tokens=usage.cache_read or 0,
            cache_creation_input_tokens=usage.cache_write or 0,
        )
    # Whatever fails here, the price is unknown, and the reply is still paid for.
    except Exception:
        return None
    # It returns 0 both for what is free and for what it has no price of.
    return Decimal(str(sum(costs))) if any(costs) else None


def _import() -> Any:
    # It would otherwise fetch a price list over the network as it is imported.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    library: Any = importlib.import_module("litellm")
    library.suppress_debug_info = True
    return library
