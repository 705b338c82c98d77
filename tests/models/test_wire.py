"""A model over the wire: asks, streams, learns what its server will not take, counts the cost."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from decimal import Decimal
from functools import partial
from typing import Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.models import asking
from tests.models.fake_provider import Answer, FakeProvider, provider

from autoreason.errors import CallFailed, Failure
from autoreason.exchange import (
    REPEATS,
    Message,
    Outcome,
    Reply,
    Request,
    Role,
    Schema,
    Signal,
    TextArrived,
    Usage,
)
from autoreason.models.dialects import find_dialect
from autoreason.models.providers import PROVIDERS, DialectName, Secret
from autoreason.models.transport import Timeouts, Transport
from autoreason.models.wire import WireModel

__all__ = ["provider"]

KEY = "sk-very-secret-0123456789"
SHAPE = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
Opened = Callable[[str], WireModel]
ADDRESSES = [
    "openai/gpt-4.1",
    "openai-responses/gpt-4.1",
    "anthropic/claude-sonnet-4-5",
    "gemini/gemini-2.5-flash",
]
WITH_END_MARKS = ADDRESSES[:-1]


@pytest.fixture
async def opened(provider: FakeProvider) -> AsyncIterator[Opened]:
    """Opens models of the fake provider that share one transport with no more patience than a busy machine takes."""
    transport = Transport(Timeouts(total=20, first_byte=20, stall=2))
    yield partial(open_at, provider, transport)
    await transport.close()


def open_at(provider: FakeProvider, transport: Transport, address: str) -> WireModel:
    known = PROVIDERS[address.partition("/")[0]]
    openai = known.name not in ("anthropic", "gemini")
    base = known.base(provider.openai if openai else provider.url)
    return WireModel(address, known, base=base, key=Secret(KEY), transport=transport)


def request(address: str, role: Role = "author", *, schema: bool = False) -> Request:
    messages = (Message("system", "Be brief."), Message("user", "Write."))
    form = Schema("ballot", SHAPE, "End with RANKING.") if schema else None
    return asking.request(address, role=role, messages=messages, temperature=0.7, schema=form)


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("listening", [False, True])
async def test_every_format_answers_plainly_and_as_a_stream(
    provider: FakeProvider, opened: Opened, address: str, listening: bool
) -> None:
    provider.will(Answer(text="Über 3 € — ein Text. 🙂", reasoning="Hmm."))
    model = opened(address)
    signals: list[Signal] = []
    reply = await model.ask(request(address), signals.append if listening else None)
    assert model.address == address
    assert (reply.outcome, reply.text) == (Outcome.OK, "Über 3 € — ein Text. 🙂")
    assert (reply.reasoning, reply.model) == ("Hmm.", address)
    assert (reply.usage.input, reply.usage.output) == (10, 5)
    assert reply.cost is not None
    assert reply.cost > 0
    assert 0 < reply.seconds < 2
    texts = [each.text for each in signals if isinstance(each, TextArrived)]
    assert "".join(texts) == (reply.text if listening else "")
    assert len(texts) == len(signals) == (4 if listening else 0)


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("listening", [False, True])
async def test_a_server_that_streams_unasked_or_does_not_stream_is_read_all_the_same(
    provider: FakeProvider, opened: Opened, address: str, listening: bool
) -> None:
    provider.will(Answer(text="A text.", reasoning="Hmm.", whole=listening, unasked=not listening))
    signals: list[Signal] = []
    reply = await opened(address).ask(request(address), signals.append if listening else None)
    assert (reply.outcome, reply.text, reply.reasoning) == (Outcome.OK, "A text.", "Hmm.")
    assert (reply.usage.input, reply.usage.output) == (10, 5)
    assert signals == ([TextArrived("draft/try/0", "A text.")] if listening else [])


async def test_a_judge_is_never_streamed_and_the_price_the_tables_unless_a_router_bills(
    provider: FakeProvider, opened: Opened
) -> None:
    signals: list[Signal] = []
    await opened("openai/gpt-4.1").ask(request("openai/gpt-4.1", "judge"), signals.append)
    assert signals == []
    assert "stream" not in provider.bodies[0]
    assert (await opened("openai/no-such-model").ask(request("openai/x"))).cost is None
    assert (await opened("ollama/llama3.2").ask(request("ollama/x"))).cost == Decimal(0)
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "cost": 0.5}
    choice = {"message": {"content": "x"}, "finish_reason": "stop"}
    provider.will(Answer(body={"choices": [choice], "usage": usage}))
    reply = await opened("openrouter/openai/gpt-4.1").ask(request("openrouter/openai/gpt-4.1"))
    assert reply.cost == Decimal("0.5")


# The end of a stream


@pytest.mark.parametrize("address", WITH_END_MARKS)
@pytest.mark.parametrize("ending", ["closed", "reset", "open"])
async def test_a_reply_that_came_to_its_end_mark_is_taken_whatever_becomes_of_the_connection(
    provider: FakeProvider, address: str, ending: Literal["closed", "reset", "open"]
) -> None:
    provider.will(Answer(text="A text.", ending=ending))
    # It would wait for an hour.
    transport = Transport(Timeouts(stall=3600))
    async with asyncio.timeout(60):
        reply = await open_at(provider, transport, address).ask(request(address), lambda _: None)
    assert (reply.outcome, reply.text) == (Outcome.OK, "A text.")
    assert (reply.usage.input, reply.usage.output) == (10, 5)
    assert len(provider.requests) == 1
    await transport.close()


@pytest.mark.parametrize("how", [{"cut_after": 6}, {"stall_after": 6}])
async def test_a_text_whose_finish_reason_came_is_taken_without_its_accounts(
    provider: FakeProvider, opened: Opened, how: dict[str, Any]
) -> None:
    provider.will(Answer(text="A text.", **how))
    reply = await opened("openai/gpt-4.1").ask(request("openai/gpt-4.1"), lambda _: None)
    assert (reply.outcome, reply.text) == (Outcome.OK, "A text.")
    assert (reply.usage, reply.cost) == (Usage(), None)


@pytest.mark.parametrize("address", ADDRESSES)
async def test_a_connection_serves_again_after_the_end_mark(
    provider: FakeProvider, opened: Opened, address: str
) -> None:
    model = opened(address)
    for _ in range(3):
        await model.ask(request(address), lambda _: None)
    assert len({each.headers["x-connection"] for each in provider.requests}) == 1


# Accounts

ANY_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-10, 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                [
                    *("prompt_tokens", "completion_tokens", "total_tokens", "cost", "is_byok"),
                    *("prompt_tokens_details", "cached_tokens", "cost_details"),
                    *("input_tokens", "output_tokens", "output_tokens_details"),
                    *("promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount"),
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@given(usage=ANY_JSON, finish=st.integers() | st.sampled_from(["stop", "STOP", "end_turn"]))
def test_no_accounts_are_odd_enough_to_lose_a_text(usage: Any, finish: Any) -> None:
    answer_text = [{"text": "A text."}]
    chat = {"choices": [{"message": {"content": "A text."}, "finish_reason": finish}]}
    message = {"type": "message", "content": answer_text, "stop_reason": finish}
    item = {"type": "message", "content": answer_text}
    response = {"status": "completed", "output": [item]}
    candidate = {"content": {"parts": answer_text}, "finishReason": finish}
    dialect: DialectName
    for dialect, content in (
        ("openai_chat", chat | {"usage": usage}),
        ("anthropic", message | {"usage": usage}),
        ("openai_responses", response | {"usage": usage}),
        ("gemini", {"candidates": [candidate], "usageMetadata": usage}),
    ):
        reply = find_dialect(dialect).read(json.dumps(content).encode(), "some/model")
        assert reply.text == "A text."
        counts = (getattr(reply.usage, name) for name in Usage.__struct_fields__)
        assert all(each is None or (type(each) is int and each >= 0) for each in counts)
        assert reply.cost is None or reply.cost >= 0
        # What is recorded can be read again.
        assert msgspec.json.decode(msgspec.json.encode(reply), type=Reply) == reply


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("listening", [False, True])
async def test_no_tokens_for_a_text_are_unknown_tokens(
    provider: FakeProvider, opened: Opened, address: str, listening: bool
) -> None:
    provider.will(Answer(tokens_in=0, tokens_out=0))
    reply = await opened(address).ask(request(address), (lambda _: None) if listening else None)
    assert (reply.usage.input, reply.usage.output, reply.cost) == (None, None, None)


# Failures


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize(
    ("answer", "listening", "failure"),
    [
        (Answer(cut_after=2), True, Failure.BROKEN_REPLY),
        (Answer(stall_after=2), True, Failure.TIMEOUT),
        (Answer(whole=True, cut_after=0), True, Failure.BROKEN_REPLY),
        (Answer(cut_after=0), False, Failure.BROKEN_REPLY),
        (Answer(body=b'{"choices":[{"mess'), True, Failure.BROKEN_REPLY),
        (Answer(body=b'{"choices":[{"mess'), False, Failure.BROKEN_REPLY),
    ],
)
async def test_half_a_reply_is_a_failure(
    provider: FakeProvider,
    opened: Opened,
    address: str,
    answer: Answer,
    listening: bool,
    failure: Failure,
) -> None:
    provider.will(answer)
    with pytest.raises(CallFailed) as caught:
        await opened(address).ask(request(address), (lambda _: None) if listening else None)
    assert caught.value.failure is failure


@pytest.mark.parametrize("listening", [False, True])
async def test_an_error_under_a_good_status_is_still_an_error(
    provider: FakeProvider, opened: Opened, listening: bool
) -> None:
    body = {"error": {"message": "m", "code": 429}}
    streamed = b"data: " + msgspec.json.encode(body) + b"\n\n"
    provider.will(Answer(body=streamed if listening else body))
    with pytest.raises(CallFailed, match="answered 429: m") as caught:
        await opened("openai/x").ask(request("x"), (lambda _: None) if listening else None)
    assert (caught.value.failure, caught.value.status) == (Failure.RATE_LIMIT, 429)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, {"code": "content_filter", "message": "filtered"}),
        (400, {"code": "invalid_prompt", "message": "flagged"}),
        (403, {"code": 403, "message": "flagged", "metadata": {"flagged_input": "…"}}),
    ],
)
async def test_content_that_the_provider_will_not_take_is_a_refusal(
    provider: FakeProvider, opened: Opened, status: int, error: Any
) -> None:
    provider.will(Answer(status=status, body={"error": error}))
    reply = await opened("openai/gpt-4.1").ask(request("openai/gpt-4.1"))
    assert (reply.outcome, reply.text, reply.usage) == (Outcome.REFUSED, "", Usage())
    assert reply.cost is None


async def test_a_text_that_cannot_be_sent_is_reported(opened: Opened) -> None:
    messages = (Message("user", "half \ud83d a character"),)
    asked = msgspec.structs.replace(request("openai/x"), messages=messages)
    with pytest.raises(CallFailed, match="half a character") as caught:
        await opened("openai/x").ask(asked)
    assert caught.value.failure is Failure.BAD_REQUEST


# Learning


def complaint(message: str, *, status: int = 400, **fields: Any) -> Answer:
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    return Answer(status=status, body={"error": error | fields})


TEMPERATURE = [
    complaint(
        "Unsupported value: 'temperature' does not support 0.7 with this model.",
        param="temperature",
        code="unsupported_value",
    ),
    complaint("Unsupported parameter: 'temperature' is not supported.", param="temperature"),
    complaint("`temperature` is deprecated for this model."),
    complaint("temperature is deprecated for this model.", code="invalid_request_error"),
    complaint("temperature: Extra inputs are not permitted"),
    complaint(
        'litellm.BadRequestError: AnthropicException - {"type":"error","error":{"type":'
        '"invalid_request_error","message":"temperature: Extra inputs are not permitted"}}'
    ),
    complaint(
        "litellm.UnsupportedParamsError: gpt-5 models (including gpt-5-codex) don't support "
        "temperature=0.7. Only temperature=1 is supported."
    ),
    complaint("invalid temperature: only 1 is allowed for this model"),
    complaint(
        "Provider returned error",
        code=400,
        metadata={
            "provider_name": "OpenAI",
            "raw": '{"error": {"message": "Unsupported value", "param": "temperature"}}',
        },
    ),
]
SCHEMA = [
    complaint("This model does not support response format `json_schema`. See the docs."),
    complaint("Invalid parameter", param="response_format"),
    complaint("Invalid schema for response_format 'ballot'", param="response_format.json_schema"),
    complaint("output_config: Extra inputs are not permitted"),
    complaint("This model does not support output format."),
    complaint("claude-3-haiku does not support structured outputs"),
    complaint("JSON mode is not enabled for models/gemma-3-27b-it"),
    complaint("Invalid schema", param="text.format.schema"),
    complaint('Invalid JSON payload received. Unknown name "responseJsonSchema" at …'),
]


LESSONS = [
    *(("openai/new-model", "temperature", each) for each in TEMPERATURE),
    ("anthropic/x", "temperature", complaint("`temperature` may not be set")),
    ("gemini/x", "temperature", complaint("`temperature` may not be set")),
    *(("vllm/small", "response_format", each) for each in SCHEMA),
    ("anthropic/x", "format", complaint("output_config: Extra inputs")),
    ("gemini/x", "responseJsonSchema", complaint('Unknown name "responseJsonSchema" at …')),
    ("vllm/small", "stream_options", complaint("Unknown field: stream_options")),
    (
        "openai/new-model",
        "stream",
        complaint(
            "Your organization must be verified to stream this model.",
            param="stream",
            code="unsupported_value",
        ),
    ),
    *(
        ("openai/new-model", "stream", complaint(message))
        for message in (
            "litellm: Your organization must be verified to stream this model.",
            "Streaming is not supported for this model",
        )
    ),
    ("openai/x", "reasoning_effort", complaint("no", param="reasoning_effort")),
    ("openai/x", "reasoning_effort", complaint("Unrecognized argument: reasoning_effort")),
    ("openai-responses/x", "reasoning", complaint("no", param="reasoning.effort")),
    ("anthropic/x", "effort", complaint("This model does not support the effort parameter.")),
    ("anthropic/x", "effort", complaint("output_config.effort: Input should be 'low' or 'high'")),
    ("gemini/x", "thinkingConfig", complaint("Thinking level is not supported for this model.")),
    ("gemini/x", "thinkingConfig", complaint('Unknown name "thinkingLevel" at …')),
    *(
        (address, "seed", each)
        for address in ("openai/gpt-4.1", "gemini/gemini-2.5-flash")
        for each in (
            complaint("Unsupported parameter: 'seed' is not supported.", param="seed"),
            complaint("seed: Extra inputs are not permitted"),
            complaint("Invalid JSON payload. Unknown name \"seed\" at 'generation_config'"),
            complaint("property 'seed' is unsupported"),
        )
    ),
    (
        "openai/new-model",
        "max_tokens",
        complaint(
            "Unsupported parameter: 'max_tokens' is not supported with this model. "
            "Use 'max_completion_tokens' instead.",
            param="max_tokens",
            code="unsupported_parameter",
        ),
    ),
    ("openai/x", "max_tokens", complaint("max_tokens is gone, use max_completion_tokens")),
    (
        "openai/x",
        "max_tokens",
        Answer(
            status=422,
            body={"detail": [{"type": "extra_forbidden", "loc": ["body", "max_tokens"]}]},
        ),
    ),
]


@pytest.mark.parametrize(("address", "field", "answer"), LESSONS)
async def test_what_a_model_refuses_is_left_out_from_then_on(
    provider: FakeProvider, opened: Opened, address: str, field: str, answer: Answer
) -> None:
    provider.will(answer)
    model = opened(address)
    asked = msgspec.structs.replace(request(address, schema=True), effort="high", seed=7)
    signals: list[Signal] = []
    for _ in range(2):
        reply = await model.ask(asked, signals.append if "stream" in field else None)
        assert (reply.outcome, reply.text) == (Outcome.OK, "An answer.")
    bodies = [msgspec.json.encode(body).decode() for body in provider.bodies]
    assert [f'"{field}"' in body for body in bodies] == [True, False, False]
    # Nothing else is left out; a schema is asked for in words, and the limit sent under its other name.
    assert ("additionalProperties" in bodies[-1]) is (
        "ormat" not in field and "Schema" not in field
    )
    assert ("End with RANKING." in bodies[-1]) is ("additionalProperties" not in bodies[-1])
    assert ("max_completion_tokens" in bodies[-1]) is (field == "max_tokens")


@pytest.mark.parametrize(
    "answer_text",
    [
        complaint("Developer instruction is not enabled for models/gemma-3-27b-it"),
        complaint("System role not supported"),
    ],
)
@pytest.mark.parametrize("address", ["gemini/gemma-3-27b-it", "vllm/gemma"])
async def test_a_model_that_takes_no_system_message_hears_it_from_the_user(
    provider: FakeProvider, opened: Opened, answer_text: Answer, address: str
) -> None:
    provider.will(answer_text)
    await opened(address).ask(request(address))
    first, second = (msgspec.json.encode(body).decode() for body in provider.bodies)
    assert "system" in first
    assert "system" not in second
    assert r"Be brief.\n\nWrite." in second


async def test_claude_keeps_its_effort_where_only_its_thinking_cannot_be_switched(
    provider: FakeProvider, opened: Opened
) -> None:
    provider.will(
        complaint(
            '"thinking.type.disabled" is not supported for this model. Use '
            '"thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
        )
    )
    address = "anthropic/claude-opus-5-5"
    await opened(address).ask(msgspec.structs.replace(request(address), effort="none"))
    first, second = provider.bodies
    assert first["thinking"] == {"type": "disabled"}
    assert "thinking" not in second
    assert second["output_config"] == {"effort": "low"}


@pytest.mark.parametrize("status", [400, 404])
async def test_a_model_that_only_responses_serve_is_asked_there(
    provider: FakeProvider, opened: Opened, status: int
) -> None:
    answer_text = "This model is only supported in v1/responses and not in v1/chat/completions."
    provider.will(complaint(answer_text, status=status))
    model = opened("openai/new-pro")
    for _ in range(2):
        reply = await model.ask(request("openai/new-pro"), lambda _: None)
        assert (reply.outcome, reply.text) == (Outcome.OK, "An answer.")
    asked = [each.path for each in provider.requests]
    assert asked == ["/v1/chat/completions", "/v1/responses", "/v1/responses"]


@pytest.mark.parametrize("address", ADDRESSES)
async def test_an_error_inside_a_stream_may_be_plain_words(
    provider: FakeProvider, opened: Opened, address: str
) -> None:
    provider.will(Answer(body=b"event: error\ndata: upstream went away\n\n"))
    with pytest.raises(CallFailed, match="answered 500: upstream went away") as caught:
        await opened(address).ask(request(address), lambda _: None)
    assert caught.value.failure is Failure.OVERLOADED


async def test_a_router_without_anyone_who_keeps_to_schemas_is_asked_in_words(
    provider: FakeProvider, opened: Opened
) -> None:
    provider.will(complaint("No endpoints found", status=404, code=404))
    address = "openrouter/some/model"
    await opened(address).ask(request(address, schema=True))
    assert ["response_format" in body for body in provider.bodies] == [True, False]
    raw = '{"error": {"message": "The prompt is too long", "code": "insufficient_quota"}}'
    provider.will(complaint("Provider returned error", metadata={"raw": raw}))
    with pytest.raises(CallFailed, match="Provider returned error: The prompt is") as caught:
        await opened("openrouter/some/model").ask(request("openrouter/some/model"))
    # The router's account with that provider is not the user's.
    assert caught.value.failure is Failure.BAD_REQUEST


async def test_each_quirk_is_tried_once_then_the_error_stands(
    provider: FakeProvider, opened: Opened
) -> None:
    provider.usual = TEMPERATURE[0]
    with pytest.raises(CallFailed) as caught:
        await opened("vllm/small").ask(request("vllm/small"))
    assert caught.value.failure is Failure.BAD_REQUEST
    assert len(provider.requests) == 2


@pytest.mark.parametrize(
    "answer_text",
    [
        complaint("The temperature of the model is fine, but the prompt is too long."),
        complaint("too high", param="temperature", code="decimal_above_max_value"),
        complaint("max_tokens is too large: 100. At most 50 are supported.", param="max_tokens"),
        complaint("max_tokens: 100 > 64, which is the maximum"),
        complaint("`temperature` is not yours to set", status=403),
    ],
)
async def test_other_complaints_teach_nothing(
    provider: FakeProvider, opened: Opened, answer_text: Answer
) -> None:
    provider.will(answer_text)
    with pytest.raises(CallFailed):
        await opened("vllm/small").ask(request("vllm/small"))
    assert len(provider.requests) == 1


# Closing


async def test_a_model_closes_only_connections_of_its_own(provider: FakeProvider) -> None:
    shared = Transport()
    known = PROVIDERS["vllm"]
    one = WireModel("vllm/a", known, base=provider.openai, transport=shared)
    two = WireModel("vllm/b", known, base=provider.openai, transport=shared)
    await one.ask(request("vllm/a"))
    await one.close()
    assert (await two.ask(request("vllm/b"))).outcome is Outcome.OK
    await shared.close()
    alone = WireModel("vllm/a", known, base=provider.openai)
    await alone.ask(request("vllm/a"))
    await alone.close()


async def test_a_model_that_repeated_itself_is_watched_from_then_on(
    provider: FakeProvider, opened: Opened
) -> None:
    address = "openai/gpt-4.1"
    whole = Answer(text="The same again. " * 2000)
    streamed = Answer(text="The same again. " * 2000, pieces=400, stall_after=200)
    provider.will(whole, streamed, Answer(text="Another."))
    model = opened(address)
    replies = [await model.ask(request(address, "judge")) for _ in range(3)]
    assert [reply.finish == REPEATS for reply in replies] == [True, True, False]
    assert (len(replies[0].text), replies[0].usage.output) == (len(whole.text), 5)
    assert len(replies[1].text) < 5000
    assert replies[2].text == "Another."


# The seed

SEEDED = [
    "openai/gpt-4.1",
    "gemini/gemini-2.5-flash",
    "mistral/small",
    "ollama/small",
    "vllm/small",
]
UNSEEDED = ["anthropic/claude-sonnet-4-5", "openai-responses/gpt-4.1"]


def seed_in(body: Any) -> int | None:
    return next((body[name] for name in ("seed", "random_seed") if name in body), None)


@pytest.mark.parametrize("address", SEEDED)
async def test_a_seed_of_the_request_is_sent_where_the_format_has_one(
    provider: FakeProvider, opened: Opened, address: str
) -> None:
    asked = msgspec.structs.replace(request(address), seed=7)
    model = opened(address)
    for each in (
        asked,
        asked,
        asked.renamed("draft/try/1"),
        msgspec.structs.replace(asked, seed=8),
    ):
        await model.ask(each)
    sent = [seed_in(body.get("generationConfig", body)) for body in provider.bodies]
    assert sent[0] == sent[1] == asked.seed
    assert len(set(sent)) == 3
    assert ("random_seed" in provider.bodies[0]) == ("mistral" in address)


@pytest.mark.parametrize("address", [*SEEDED, *UNSEEDED])
async def test_no_seed_is_sent_where_none_is_known_or_taken(
    provider: FakeProvider, opened: Opened, address: str
) -> None:
    seed = 7 if address in UNSEEDED else None
    await opened(address).ask(msgspec.structs.replace(request(address), seed=seed))
    assert b"seed" not in msgspec.json.encode(provider.bodies[0])
