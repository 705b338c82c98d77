"""Anthropic's messages format."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from autoreason.exchange import Effort, Message, Outcome, Reply, Request, Schema, Usage
from autoreason.models.api_keys import Secret
from autoreason.models.dialects import anthropic
from autoreason.models.dialects.base import UnreadableReply
from autoreason.models.failures import ErrorReply
from autoreason.models.quirks import Quirks

REQUEST = Request(
    role="critic",
    key="pass/1/critic/0",
    model="anthropic/claude-sonnet-4-5",
    messages=(
        Message("system", "Be brief.", stable=True),
        Message("user", "The task.", stable=True),
        Message("user", "Criticise."),
        Message("assistant", "What?"),
        Message("user", "This."),
    ),
    max_tokens=700,
    temperature=0.5,
)
MARK = {"type": "ephemeral"}


def body(request: Request = REQUEST, *, stream: bool = False, **quirks: bool) -> dict[str, Any]:
    return anthropic.body(request, "claude-sonnet-4-5", Quirks(**quirks), stream)


def read(content: list[dict[str, Any]], stop: str = "end_turn", **usage: int) -> Reply:
    payload = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5-20250929",
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"service_tier": "standard", **usage},
    }
    return anthropic.read(msgspec.json.encode(payload), "anthropic/claude-sonnet-4-5")


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words, "citations": None}


def stream(*events: dict[str, Any]) -> tuple[list[str], Reply]:
    reducer = anthropic.Stream()
    shown = [reducer.feed(msgspec.json.encode(event)) for event in events]
    return [each for each in shown if each], reducer.finish("anthropic/claude-sonnet-4-5")


def delta(**fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": 0, "delta": fields}


# Requests


def test_a_request_has_system_blocks_turns_and_one_cache_mark() -> None:
    assert body() == {
        "model": "claude-sonnet-4-5",
        "max_tokens": 700,
        "temperature": 0.5,
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "The task.", "cache_control": MARK},
                    {"type": "text", "text": "Criticise."},
                ],
            },
            {"role": "assistant", "content": [{"type": "text", "text": "What?"}]},
            {"role": "user", "content": [{"type": "text", "text": "This."}]},
        ],
    }


def test_a_stable_system_message_alone_carries_the_mark() -> None:
    messages = (Message("system", "Be brief.", stable=True), Message("user", "Go."))
    sent = body(msgspec.structs.replace(REQUEST, messages=messages))
    assert sent["system"] == [{"type": "text", "text": "Be brief.", "cache_control": MARK}]


def test_nothing_stable_means_no_mark_and_nothing_empty_is_sent() -> None:
    messages = (Message("system", ""), Message("user", "Go."))
    sent = body(msgspec.structs.replace(REQUEST, messages=messages))
    assert b"cache_control" not in msgspec.json.encode(sent)
    assert "system" not in sent


def test_a_schema_goes_into_the_output_config_or_into_words() -> None:
    shape = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    request = msgspec.structs.replace(REQUEST, schema=Schema("ballot", shape, "End with RANKING."))
    assert body(request)["output_config"] == {"format": {"type": "json_schema", "schema": shape}}
    plain = body(request, no_schema=True)
    assert "output_config" not in plain
    assert plain["messages"][-1]["content"][-1]["text"] == "This.\n\nEnd with RANKING."


def test_quirks_and_streaming_change_what_is_sent() -> None:
    sent = body(stream=True, no_temperature=True)
    assert sent["stream"] is True
    assert "temperature" not in sent


def test_the_headers_name_the_version_and_carry_the_key() -> None:
    headers = anthropic.headers(Secret("k"))
    assert headers["anthropic-version"] == "2023-06-01"
    assert isinstance(headers["x-api-key"], Secret)
    assert "x-api-key" not in anthropic.headers(None)


@pytest.mark.parametrize(
    ("effort", "thinking", "sent"),
    [
        ("none", "disabled", "low"),
        ("minimal", "adaptive", "low"),
        ("medium", "adaptive", "medium"),
        ("max", "adaptive", "max"),
    ],
)
def test_effort_is_sent_in_the_words_the_format_has(
    effort: Effort, thinking: str, sent: str
) -> None:
    shape = Schema("ballot", {"type": "object"}, "In words.")
    asked = msgspec.structs.replace(REQUEST, effort=effort, schema=shape)
    made = body(asked)
    assert made["thinking"] == {"type": thinking}
    assert made["output_config"]["effort"] == sent
    assert set(made["output_config"]) == {"effort", "format"}
    assert "thinking" not in body(asked, no_thinking=True)
    assert set(body(asked, no_effort=True)["output_config"]) == {"format"}


def test_the_version_is_the_last_one_that_takes_a_temperature() -> None:
    assert anthropic.headers(None) == {"anthropic-version": "2023-06-01"}
    assert body()["temperature"] == 0.5


# Replies


def test_a_reply_is_read_and_cached_tokens_count_as_input() -> None:
    reply = read(
        [
            {"type": "thinking", "thinking": "Hmm.", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "eA=="},
            text("A "),
            text("text."),
        ],
        input_tokens=20,
        cache_read_input_tokens=1000,
        cache_creation_input_tokens=300,
        output_tokens=40,
    )
    assert reply == Reply(
        outcome=Outcome.OK,
        text="A text.",
        model="anthropic/claude-sonnet-4-5",
        reasoning="Hmm.",
        finish="end_turn",
        usage=Usage(input=1320, output=40, cache_read=1000, cache_write=300),
    )


@pytest.mark.parametrize(
    ("content", "stop", "outcome"),
    [
        ([text("Half a")], "max_tokens", Outcome.TRUNCATED),
        ([], "max_tokens", Outcome.TRUNCATED),
        ([text("Half a")], "model_context_window_exceeded", Outcome.TRUNCATED),
        ([text("I ")], "refusal", Outcome.REFUSED),
        ([], "refusal", Outcome.REFUSED),
        ([], "end_turn", Outcome.EMPTY),
        ([text("A text.")], "stop_sequence", Outcome.OK),
    ],
)
def test_the_end_of_a_reply_decides_its_outcome(
    content: list[dict[str, Any]], stop: str, outcome: Outcome
) -> None:
    assert read(content, stop).outcome is outcome


def test_an_error_where_a_reply_should_be_is_an_error() -> None:
    payload = b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'
    with pytest.raises(ErrorReply) as caught:
        anthropic.read(payload, "anthropic/x")
    assert "overloaded_error" in caught.value.provider_error.words


def test_a_reply_without_content_is_unreadable() -> None:
    with pytest.raises(UnreadableReply):
        anthropic.read(b'{"type":"message"}', "anthropic/x")


# Streams

START = {
    "type": "message_start",
    "message": {
        "type": "message",
        "content": [],
        "stop_reason": None,
        "usage": {"input_tokens": 25, "cache_read_input_tokens": 75, "output_tokens": 1},
    },
}
END = {
    "type": "message_delta",
    "delta": {"stop_reason": "end_turn", "stop_sequence": None},
    "usage": {"output_tokens": 15},
}
STOP = {"type": "message_stop"}


def test_a_stream_is_shown_in_pieces_and_adds_up_to_a_reply() -> None:
    shown, reply = stream(
        START,
        {"type": "ping"},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking"}},
        delta(type="thinking_delta", thinking="Hmm."),
        delta(type="signature_delta", signature="c2ln"),
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": text("")},
        delta(type="text_delta", text="A "),
        delta(type="text_delta", text="text."),
        {"type": "content_block_stop", "index": 1},
        {"type": "something_new", "delta": {"kind": 7}},
        END,
        STOP,
    )
    assert shown == ["A ", "text."]
    assert (reply.text, reply.reasoning, reply.finish) == ("A text.", "Hmm.", "end_turn")
    assert reply.usage == Usage(input=100, output=15, cache_read=75)


def test_a_stream_without_its_end_is_unreadable() -> None:
    with pytest.raises(UnreadableReply, match="before its end"):
        stream(START, delta(type="text_delta", text="A "))


def test_tokens_of_thinking_are_counted_once_as_output() -> None:
    counted: dict[str, Any] = {
        "output_tokens": 50,
        "output_tokens_details": {"thinking_tokens": 30},
    }
    assert read([text("A")], input_tokens=9, **counted).usage == Usage(
        input=9, output=50, reasoning=30
    )
    _, reply = stream(START, END | {"usage": counted}, STOP)
    assert (reply.usage.output, reply.usage.reasoning) == (50, 30)


def test_an_error_inside_a_stream_is_an_error() -> None:
    error = {"type": "overloaded_error", "message": "Overloaded"}
    with pytest.raises(ErrorReply):
        stream(START, {"type": "error", "error": error})


def test_models_are_listed() -> None:
    payload = b'{"data":[{"type":"model","id":"claude-sonnet-4-5-20250929"}],"has_more":false}'
    assert anthropic.DIALECT.read_models(payload) == ["claude-sonnet-4-5-20250929"]
