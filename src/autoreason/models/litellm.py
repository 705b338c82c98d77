"""The long tail of providers (Bedrock, Vertex, Azure, …) through LiteLLM, where it is installed."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import os
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from decimal import Decimal
from typing import Any

from autoreason.errors import CallFailed, Failure, InvalidInput
from autoreason.exchange import OnSignal, Outcome, Reply, Request, TextArrived, Usage
from autoreason.models.dialects import (
    LoopDetector,
    check_repetition,
    count,
    credible,
    last_stable,
    messages_of,
    outcome_of,
)
from autoreason.models.dialects.anthropic import text_block
from autoreason.models.dialects.openai import shape
from autoreason.models.failures import retry_after
from autoreason.models.providers import Quirks

_PREFIXES = {
    "litellm": "",
    "bedrock": "bedrock/",
    "vertex": "vertex_ai/",
    "azure": "azure/",
}
_CUT = ("length", "max_tokens")
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
        """`provider/model`."""
        self._name = litellm_name(address)
        self._library: Any = None

    def check(self) -> None:
        """Raise `InvalidInput` if LiteLLM is not installed; imports nothing."""
        if importlib.util.find_spec("litellm") is None:
            raise InvalidInput(
                f"{self.address} needs LiteLLM; run `pip install litellm`, or choose another model"
            )

    async def ask(self, request: Request, on_signal: OnSignal | None = None) -> Reply:
        """Answer one request, or raise `CallFailed`."""
        if self._library is None:
            self.check()
            # It takes seconds to import, during which others have work to do.
            self._library = await asyncio.to_thread(_import)
        library, began = self._library, time.monotonic()
        shaped = request.schema is not None and library.supports_response_schema(model=self._name)
        body = arguments(request, self._name, shaped=shaped, stream=on_signal is not None)
        try:
            response = await library.acompletion(**body)
            if on_signal is not None:
                chunks = [chunk async for chunk in _stream_chunks(response, request.key, on_signal)]
                response = library.stream_chunk_builder(chunks, messages=body["messages"])
        except Exception as error:
            if any(each.__name__ == _REFUSAL for each in type(error).__mro__):
                return Reply(
                    outcome=Outcome.REFUSED,
                    text="",
                    model=request.model,
                    finish="content_policy_violation",
                    seconds=time.monotonic() - began,
                )
            failed = call_failed(request.model, error)
            if failed is None:
                raise
            raise failed from error
        return to_reply(
            response,
            model=request.model,
            cost=_cost(library, response, self._name),
            seconds=time.monotonic() - began,
        )

    async def close(self) -> None:
        """Close connections."""
        if self._library is not None:
            await self._library.close_litellm_async_clients()


def litellm_name(address: str) -> str:
    """What LiteLLM calls the model of an address."""
    provider, _, model = address.partition("/")
    if provider not in _PREFIXES or not model:
        raise InvalidInput(
            f"{address!r} is not a model LiteLLM is asked for; "
            f"write {', '.join(f'{each}/MODEL' for each in _PREFIXES)}"
        )
    return _PREFIXES[provider] + model


def arguments(request: Request, name: str, *, shaped: bool, stream: bool) -> dict[str, Any]:
    """A request as LiteLLM takes it; `shaped` where the model can be given a schema."""
    body: dict[str, Any] = {
        "model": name,
        "messages": _messages(request, name, shaped=shaped),
        "max_tokens": request.max_tokens,
        # Retries are done and counted here; parameters a model does not take are left out.
        "num_retries": 0,
        "max_retries": 0,
        "drop_params": True,
    }
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.seed is not None:
        body["seed"] = request.seed
    if request.effort is not None:
        body["reasoning_effort"] = request.effort
    if request.schema is not None and shaped:
        body["response_format"] = {"type": "json_schema", "json_schema": shape(request.schema)}
    if stream:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    return body


def _messages(request: Request, name: str, *, shaped: bool) -> list[dict[str, Any]]:
    """The conversation; Claude caches only what is marked, on any host."""
    messages = messages_of(request, Quirks(no_schema=not shaped))
    last = last_stable(messages) if "claude" in name.lower() else None
    return [
        {
            "role": each.speaker,
            "content": [text_block(each, cached=True)] if place == last else each.text,
        }
        for place, each in enumerate(messages)
    ]


def to_reply(response: Any, *, model: str, cost: Decimal | None, seconds: float) -> Reply:
    """What LiteLLM returned, in our words."""
    choices = getattr(response, "choices", None)
    if not choices:
        raise CallFailed(Failure.BROKEN_REPLY, f"{model} sent a reply without an answer")
    choice = choices[0]
    text = choice.message.content or ""
    finish = choice.finish_reason or ""
    return check_repetition(
        Reply(
            outcome=outcome_of(text, cut=finish in _CUT, refused=finish == "content_filter"),
            text=text,
            model=model,
            reasoning=getattr(choice.message, "reasoning_content", None) or "",
            finish=finish,
            usage=credible(to_usage(getattr(response, "usage", None)), text),
            cost=cost,
            seconds=seconds,
        )
    )


def to_usage(usage: Any) -> Usage:
    """Tokens; None where LiteLLM does not report them."""
    read = getattr(usage, "prompt_tokens_details", None)
    written = getattr(usage, "completion_tokens_details", None)
    return Usage(
        input=count(getattr(usage, "prompt_tokens", None)),
        output=count(getattr(usage, "completion_tokens", None)),
        cache_read=count(getattr(read, "cached_tokens", None)),
        cache_write=count(getattr(read, "cache_creation_tokens", None)),
        reasoning=count(getattr(written, "reasoning_tokens", None)),
    )


def call_failed(model: str, error: Exception) -> CallFailed | None:
    """The error as `CallFailed`; None for one that is not LiteLLM's."""
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
        retry_after=retry_after(status or 0, headers, None),
    )


async def _stream_chunks(stream: Any, key: str, on_signal: OnSignal) -> AsyncIterator[Any]:
    detector = LoopDetector()
    async with aclosing(stream):
        async for chunk in stream:
            yield chunk
            if chunk.choices and (text := chunk.choices[0].delta.content):
                on_signal(TextArrived(key, text))
                if detector.feed(text):
                    break


def _cost(library: Any, response: Any, name: str) -> Decimal | None:
    try:
        cost = library.completion_cost(completion_response=response, model=name)
    # Whatever fails here, the price is unknown, and the reply is still paid for.
    except Exception:
        return None
    # It returns 0 both for what is free and for what it has no price of.
    return Decimal(str(cost)) if cost else None


def _import() -> Any:
    # It would otherwise fetch a price list over the network as it is imported.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    library: Any = importlib.import_module("litellm")
    library.suppress_debug_info = True
    return library
