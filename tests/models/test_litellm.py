"""LiteLLM's words become ours.

LiteLLM is too heavy for the development environment: where it is absent, a stand-in of a few lines
takes its place, so that what we pass to it and make of its answers is tested all the same.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import AsyncIterator
from decimal import Decimal
from types import ModuleType
from typing import Any

import pytest
from msgspec.structs import replace

from autoreason.errors import CallFailed, Failure, InvalidInput
from autoreason.exchange import Message, Outcome, Request, Schema, Signal, TextArrived
from autoreason.models.litellm import LiteLLMModel, arguments, call_failed

SCHEMA = Schema(name="ballot", definition={"type": "object"}, plain="Answer in JSON.")
REQUEST = Request(
    role="judge",
    key="pass/1/judge/0/try/0",
    model="bedrock/claude",
    messages=(Message("system", "Be fair."), Message("user", "Which is better?")),
    max_tokens=100,
    temperature=0.3,
    schema=SCHEMA,
)


class Answered:
    """A response or a piece of one, which dumps itself as LiteLLM's do."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def model_dump_json(self) -> str:
        return json.dumps(self.fields)


USAGE = {
    "prompt_tokens": 7,
    "completion_tokens": 3,
    "prompt_tokens_details": {"cached_tokens": 5, "cache_creation_tokens": 1},
    "completion_tokens_details": None,
}


def response(text: str | None = "A", finish: str = "stop", **more: Any) -> Answered:
    choice = {"message": {"content": text, **more}, "finish_reason": finish}
    return Answered(choices=[choice], usage=USAGE)


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("bedrock/anthropic.claude-v2:1", "bedrock/anthropic.claude-v2:1"),
        ("vertex/gemini-pro", "vertex_ai/gemini-pro"),
        ("azure/my-deployment", "azure/my-deployment"),
        ("litellm/openai/gpt-4.1", "openai/gpt-4.1"),
    ],
)
def test_an_address_becomes_the_name_litellm_knows(address: str, name: str) -> None:
    assert LiteLLMModel(address)._name == name


def test_a_request_is_passed_on_without_retries_and_in_words_where_no_schema_is_known() -> None:
    asked = replace(REQUEST, seed=7)
    assert arguments(asked, "bedrock/claude", shaped=True, stream=False) == {
        "model": "bedrock/claude",
        "messages": [
            {"role": "system", "content": "Be fair."},
            {"role": "user", "content": "Which is better?"},
        ],
        "max_tokens": 100,
        "num_retries": 0,
        "max_retries": 0,
        "drop_params": True,
        "temperature": 0.3,
        "seed": 7,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "ballot", "schema": {"type": "object"}, "strict": True},
        },
    }
    body = arguments(REQUEST, "bedrock/old", shaped=False, stream=True)
    assert "response_format" not in body
    assert body["messages"][-1]["content"] == "Which is better?\n\nAnswer in JSON."
    assert body["stream_options"] == {"include_usage": True}


def test_claude_is_reported_what_will_come_again() -> None:
    stable = (Message("system", "Be fair.", stable=True), Message("user", "Which?"))
    asked = replace(REQUEST, messages=stable, effort="low")
    mark = {"type": "text", "text": "Be fair.", "cache_control": {"type": "ephemeral"}}
    for name, content in (("vertex_ai/claude-opus-5", [mark]), ("azure/gpt-5", "Be fair.")):
        body = arguments(asked, name, shaped=True, stream=False)
        assert body["messages"] == [
            {"role": "system", "content": content},
            {"role": "user", "content": "Which?"},
        ]
        assert body["reasoning_effort"] == "low"


def error(name: str, parent: str = "APIError", text: str = "no", **fields: Any) -> Exception:
    kind = type(name, (type(parent, (Exception,), {}),), {})
    raised: Exception = kind(text)
    vars(raised).update(fields)
    return raised


@pytest.mark.parametrize(
    ("name", "parent", "failure"),
    [
        ("AuthenticationError", "APIError", Failure.BAD_KEY),
        ("RateLimitError", "APIError", Failure.RATE_LIMIT),
        ("Timeout", "APIConnectionError", Failure.TIMEOUT),
        ("APIConnectionError", "APIError", Failure.CONNECTION),
        ("MidStreamFallbackError", "ServiceUnavailableError", Failure.OVERLOADED),
        ("ContextWindowExceededError", "BadRequestError", Failure.BAD_REQUEST),
        ("SomethingNew", "APIError", Failure.BROKEN_REPLY),
    ],
)
def test_errors_are_reported_apart_by_class(name: str, parent: str, failure: Failure) -> None:
    headers = {"retry-after": "7"}
    raised = error(name, parent, status_code=429, litellm_response_headers=headers)
    failed = call_failed("azure/x", raised)
    assert failed is not None
    assert (failed.failure, failed.status, failed.retry_after) == (failure, 429, 7.0)


def test_spent_credit_is_not_a_rate_limit_and_an_error_of_our_own_is_not_hidden() -> None:
    failed = call_failed("azure/x", error("RateLimitError", text="insufficient_quota: pay up"))
    assert failed is not None
    assert failed.failure is Failure.NO_CREDIT
    assert call_failed("azure/x", ZeroDivisionError()) is None


def test_without_litellm_its_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(InvalidInput, match="run `pip install litellm`"):
        LiteLLMModel("bedrock/x").check()


class StandIn(ModuleType):
    """As much of LiteLLM as is used: it answers what it was given, or raises it."""

    def __init__(self, answer: Any) -> None:
        super().__init__("litellm")
        self.__spec__ = importlib.util.spec_from_loader("litellm", None)
        self.answer = answer
        self.asked: list[dict[str, Any]] = []
        self.closed = False
        self.heard = 0

    def supports_response_schema(self, model: str) -> bool:
        return model.startswith("bedrock/")

    async def acompletion(self, **body: Any) -> Any:
        self.asked.append(body)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self._stream() if body.get("stream") else self.answer

    async def _stream(self) -> AsyncIterator[Answered]:
        [choice] = self.answer.fields["choices"]
        for letter in choice["message"]["content"]:
            self.heard += 1
            yield Answered(choices=[{"delta": {"content": letter}}])
        yield Answered(choices=[{"delta": {}, "finish_reason": choice["finish_reason"]}])
        yield Answered(choices=[], usage=self.answer.fields["usage"])

    def cost_per_token(self, model: str, **tokens: int) -> tuple[float, float]:
        if model.endswith("unheard-of"):
            raise ValueError(model)
        assert tokens == {
            "prompt_tokens": 7,
            "completion_tokens": 3,
            "cache_read_input_tokens": 5,
            "cache_creation_input_tokens": 1,
        }
        return 0.2, 0.05

    async def close_litellm_async_clients(self) -> None:
        self.closed = True


needs_absence = pytest.mark.skipif(
    "litellm" not in sys.modules and importlib.util.find_spec("litellm") is not None,
    reason="LiteLLM itself is installed; its stand-in is for where it is not",
)


def put_in_place(monkeypatch: pytest.MonkeyPatch, answer: Any) -> StandIn:
    library = StandIn(answer)
    monkeypatch.setitem(sys.modules, "litellm", library)
    return library


@needs_absence
async def test_a_call_streams_where_someone_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    library = put_in_place(monkeypatch, response("Hello"))
    model = LiteLLMModel("bedrock/claude")
    heard: list[Signal] = []

    reply = await model.ask(REQUEST, heard.append)
    silent = await model.ask(REQUEST)

    assert heard == [TextArrived(REQUEST.key, letter) for letter in "Hello"]
    assert replace(reply, seconds=0) == replace(silent, seconds=0)
    assert (reply.outcome, reply.text, reply.usage.cache_write) == (Outcome.OK, "Hello", 1)
    assert reply.cost == Decimal("0.25")
    assert [each.get("stream") for each in library.asked[:2]] == [True, None]
    assert (await LiteLLMModel("azure/unheard-of").ask(REQUEST)).cost is None
    await model.close()
    assert library.closed


@needs_absence
async def test_a_refusal_is_an_outcome_an_error_raised_and_unknown_tokens_stay_unknown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = LiteLLMModel("bedrock/claude")
    library = put_in_place(monkeypatch, error("ContentPolicyViolationError", "BadRequestError"))
    assert (await model.ask(REQUEST)).outcome is Outcome.REFUSED

    library.answer = error("AuthenticationError")
    with pytest.raises(CallFailed) as caught:
        await model.ask(REQUEST)
    assert caught.value.failure is Failure.BAD_KEY
    counted = response()
    counted.fields["usage"] = {"prompt_tokens": 0, "completion_tokens": "3"}
    library = put_in_place(monkeypatch, counted)
    reply = await LiteLLMModel("azure/x").ask(REQUEST)
    assert (reply.usage.input, reply.usage.output, reply.cost) == (None, None, None)
    library.answer = Answered(choices=[])
    with pytest.raises(CallFailed, match="cannot be read"):
        await LiteLLMModel("azure/x").ask(REQUEST)
