"""OpenAI's chat format, with the accents of those who copied it."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoreason.exchange import Message, Outcome, Reply, Request, Schema, Usage
from autoreason.models.api_keys import Secret
from autoreason.models.dialects import openai_chat
from autoreason.models.dialects.base import UnreadableReply
from autoreason.models.dialects.thinking import Thinking
from autoreason.models.failures import ErrorReply
from autoreason.models.quirks import Quirks

SHAPE = {
    "type": "object",
    "properties": {"ranking": {"type": "array", "items": {"type": "integer"}}},
    "required": ["ranking"],
    "additionalProperties": False,
}
REQUEST = Request(
    role="author",
    key="draft/try/0",
    model="openai/gpt-4.1",
    messages=(
        Message("system", "Be brief."),
        Message("user", "The task.", stable=True),
        Message("user", "Write."),
    ),
    max_tokens=900,
    temperature=0.8,
)
JUDGE = msgspec.structs.replace(
    REQUEST, role="judge", schema=Schema("ballot", SHAPE, "End with RANKING: 1, 2, 3")
)


def body(request: Request = REQUEST, *, stream: bool = False, **quirks: bool) -> dict[str, Any]:
    return openai_chat.body(request, "gpt-4.1", Quirks(**quirks), stream)


def read(message: dict[str, Any], finish: str = "stop", **more: Any) -> Reply:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    payload = {"id": "chatcmpl-1", "object": "chat.completion", "choices": [choice], **more}
    return openai_chat.read(msgspec.json.encode(payload), "openai/gpt-4.1")


def stream(*chunks: dict[str, Any] | bytes) -> tuple[list[str], Reply]:
    reducer = openai_chat.Stream()
    shown = [
        reducer.feed(each if isinstance(each, bytes) else msgspec.json.encode(each))
        for each in chunks
    ]
    return [text for text in shown if text], reducer.finish("openai/gpt-4.1")


def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], "usage": None}


# Requests


def test_a_request_joins_what_one_speaker_says_in_a_row() -> None:
    assert body() == {
        "model": "gpt-4.1",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "The task.\n\nWrite."},
        ],
        "max_tokens": 900,
        "temperature": 0.8,
    }


def test_quirks_change_what_is_sent() -> None:
    sent = body(completion_tokens=True, no_temperature=True)
    assert sent["max_completion_tokens"] == 900
    assert "max_tokens" not in sent
    assert "temperature" not in sent


def test_effort_is_sent_where_it_is_given() -> None:
    asked = msgspec.structs.replace(REQUEST, effort="minimal")
    assert body(asked)["reasoning_effort"] == "minimal"
    assert "reasoning_effort" not in body(asked, no_effort=True)


def test_a_stream_asks_for_usage_unless_the_server_refuses_that() -> None:
    assert body(stream=True)["stream_options"] == {"include_usage": True}
    refused = body(stream=True, no_stream_options=True)
    assert refused["stream"] is True
    assert "stream_options" not in refused


def test_a_schema_is_sent_strict_and_as_it_is() -> None:
    sent = body(JUDGE)
    shape = {"name": "ballot", "strict": True, "schema": SHAPE}
    assert sent["response_format"] == {"type": "json_schema", "json_schema": shape}
    assert "RANKING" not in sent["messages"][-1]["content"]
    assert "provider" not in sent


def test_without_schemas_the_last_user_message_asks_for_the_shape() -> None:
    sent = body(JUDGE, no_schema=True)
    assert "response_format" not in sent
    assert sent["messages"][-1]["content"].endswith("Write.\n\nEnd with RANKING: 1, 2, 3")


def test_a_router_is_reported_that_the_schema_is_a_must() -> None:
    assert body(JUDGE, require_schema=True)["provider"] == {"require_parameters": True}


def test_requests_that_start_the_same_share_a_cache_key() -> None:
    first = body(cache_key=True)["prompt_cache_key"]
    again = msgspec.structs.replace(REQUEST, messages=(*REQUEST.messages, Message("user", "More.")))
    assert body(again, cache_key=True)["prompt_cache_key"] == first
    other = msgspec.structs.replace(REQUEST, messages=(Message("user", "Else.", stable=True),))
    assert body(other, cache_key=True)["prompt_cache_key"] != first
    nothing = msgspec.structs.replace(REQUEST, messages=(Message("user", "Once."),))
    assert "prompt_cache_key" not in body(nothing, cache_key=True)


def test_the_key_goes_into_the_header_and_is_optional() -> None:
    (header,) = openai_chat.headers(Secret("k")).values()
    assert isinstance(header, Secret)
    assert header.reveal() == "Bearer k"
    assert openai_chat.headers(None) == {}


# Replies


def test_a_reply_is_read_with_all_its_counts() -> None:
    usage = {
        "prompt_tokens": 1200,
        "completion_tokens": 300,
        "total_tokens": 1500,
        "prompt_tokens_details": {"cached_tokens": 1024, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 128, "accepted_prediction_tokens": 0},
    }
    reply = read({"content": "A text.", "refusal": None}, usage=usage, service_tier="default")
    assert reply == Reply(
        outcome=Outcome.OK,
        text="A text.",
        model="openai/gpt-4.1",
        finish="stop",
        usage=Usage(input=1200, output=300, cache_read=1024, reasoning=128),
    )


@pytest.mark.parametrize(
    ("message", "finish", "outcome"),
    [
        ({"content": "Half a"}, "length", Outcome.TRUNCATED),
        ({"content": ""}, "length", Outcome.TRUNCATED),
        ({"content": None}, "length", Outcome.TRUNCATED),
        ({"content": "Half a"}, "model_length", Outcome.TRUNCATED),
        ({"content": ""}, "stop", Outcome.EMPTY),
        ({"content": None}, "stop", Outcome.EMPTY),
        ({"content": " \n"}, "stop", Outcome.EMPTY),
        ({"content": ""}, "content_filter", Outcome.REFUSED),
        ({"content": None, "refusal": "I cannot help with that."}, "stop", Outcome.REFUSED),
        ({"content": "A text."}, "eos", Outcome.OK),
    ],
)
def test_the_end_of_a_reply_decides_its_outcome(
    message: dict[str, Any], finish: str, outcome: Outcome
) -> None:
    assert read(message, finish).outcome is outcome


@pytest.mark.parametrize(
    "message",
    [
        {"content": "A text.", "reasoning_content": "Hmm."},
        {"content": "A text.", "reasoning": "Hmm."},
        {"content": "<think>\nHmm.\n</think>\n\nA text."},
        {
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "Hmm."}]},
                {"type": "text", "text": "A text."},
            ]
        },
    ],
)
def test_thinking_is_kept_apart_however_it_comes(message: dict[str, Any]) -> None:
    reply = read(message)
    assert (reply.text, reply.reasoning) == ("A text.", "Hmm.")


def test_thinking_that_used_up_the_limit_leaves_a_truncated_reply() -> None:
    reply = read({"content": "<think>On and on"}, "length")
    assert (reply.outcome, reply.text) == (Outcome.TRUNCATED, "")
    assert reply.reasoning == "On and on"


def test_a_mark_in_the_middle_of_a_text_is_text() -> None:
    text = "HTML has no <think>tag</think>."
    assert read({"content": text}).text == text


def test_reasoning_counted_next_to_the_completion_is_part_of_the_output() -> None:
    details = {"reasoning_tokens": 94}
    usage = {"prompt_tokens": 32, "completion_tokens": 9, "total_tokens": 135}
    reply = read({"content": "x"}, usage={**usage, "completion_tokens_details": details})
    assert (reply.usage.output, reply.usage.reasoning) == (103, 94)


def test_missing_counts_are_unknown_not_zero() -> None:
    assert read({"content": "x"}).usage == Usage()


def test_a_routers_own_bill_is_the_cost() -> None:
    usage: dict[str, Any] = {"prompt_tokens": 1, "completion_tokens": 1, "cost": 0.0123}
    assert read({"content": "x"}, usage=usage).cost == Decimal("0.0123")
    usage |= {"is_byok": True, "cost_details": {"upstream_inference_cost": 0.2}}
    assert read({"content": "x"}, usage=usage).cost == Decimal("0.2123")


@pytest.mark.parametrize(
    "payload",
    [
        b'{"error":{"message":"Provider returned error","code":502}}',
        b'{"choices":[{"index":0,"message":{"content":""},"error":{"code":502,"message":"no"}}]}',
    ],
)
def test_an_error_where_a_reply_should_be_is_an_error(payload: bytes) -> None:
    with pytest.raises(ErrorReply) as caught:
        openai_chat.read(payload, "openrouter/x")
    assert caught.value.provider_error.status == 502


@pytest.mark.parametrize("payload", [b"{}", b'{"choices":[]}', b'{"choices":null}'])
def test_a_reply_without_a_choice_is_unreadable(payload: bytes) -> None:
    with pytest.raises(UnreadableReply):
        openai_chat.read(payload, "openai/x")


# Streams


def test_a_stream_is_shown_in_pieces_and_adds_up_to_a_reply() -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
    shown, reply = stream(
        chunk({"role": "assistant", "content": ""}),
        chunk({"content": "A "}),
        chunk({"content": "text."}),
        chunk({}, "stop"),
        {"choices": [], "usage": usage},
        b"[DONE]",
    )
    assert shown == ["A ", "text."]
    assert (reply.outcome, reply.text, reply.finish) == (Outcome.OK, "A text.", "stop")
    assert reply.usage == Usage(input=5, output=2)


def test_streamed_thinking_is_not_shown() -> None:
    shown, reply = stream(
        chunk({"reasoning_content": "Hm"}),
        chunk({"reasoning_content": "m."}),
        chunk({"content": "A text."}),
        chunk({}, "stop"),
    )
    assert shown == ["A text."]
    assert reply.reasoning == "Hmm."


def test_half_a_character_does_not_spoil_a_stream() -> None:
    half = b'{"choices":[{"index":0,"delta":{"content":"A \\ud83d text"},"finish_reason":"stop"}]}'
    assert stream(half)[1].text == "A ? text"
    with pytest.raises(msgspec.DecodeError):
        stream(half[:-5])


def test_a_streamed_refusal_is_a_refusal() -> None:
    _, reply = stream(chunk({"refusal": "I can"}), chunk({"refusal": "not."}), chunk({}, "stop"))
    assert (reply.outcome, reply.text) == (Outcome.REFUSED, "I cannot.")


def test_a_stream_without_its_end_is_unreadable() -> None:
    with pytest.raises(UnreadableReply, match="before its end"):
        stream(chunk({"content": "A "}))


def test_a_finish_reason_or_the_done_mark_is_an_end() -> None:
    assert stream(chunk({"content": "A"}, "stop"))[1].outcome is Outcome.OK
    assert stream(chunk({"content": "A"}), b"[DONE]")[1].outcome is Outcome.OK


def test_a_reply_that_the_server_gave_up_on_is_unreadable() -> None:
    with pytest.raises(UnreadableReply, match="insufficient_system_resource"):
        stream(chunk({"content": "A"}, "insufficient_system_resource"))


def test_an_error_inside_a_stream_is_an_error() -> None:
    with pytest.raises(ErrorReply):
        stream(chunk({"content": "A "}), {"error": {"code": "server_error", "message": "down"}})


@given(
    st.sampled_from(
        [
            ("<think>\nHm <b>m</thin </think>\n\nA text.", "A text.", "\nHm <b>m</thin "),
            ("  <think></think>A", "A", ""),
            ("<thinking>A", "<thinking>A", ""),
            ("<thi", "<thi", ""),
            ("<think>never ends </thi", "", "never ends </thi"),
            ("A <think>b</think>", "A <think>b</think>", ""),
            ("", "", ""),
        ]
    ),
    st.lists(st.integers(0, 60), max_size=8),
)
def test_thinking_is_parted_wherever_the_pieces_are_cut(
    case: tuple[str, str, str], cuts: list[int]
) -> None:
    written, text, reasoning = case
    places = sorted({min(cut, len(written)) for cut in cuts} | {0, len(written)})
    thinking = Thinking()
    shown = "".join(thinking.feed(written[start:stop]) for start, stop in pairwise(places))
    thinking.end()
    assert "".join(thinking.text) == text
    assert "".join(thinking.reasoning) == reasoning
    assert text.startswith(shown)


@pytest.mark.parametrize(
    "payload",
    [b'{"object":"list","data":[{"id":"a"},{"id":"b"}]}', b'[{"id":"a"},{"id":"b","type":"chat"}]'],
)
def test_models_are_listed_with_or_without_wrapping(payload: bytes) -> None:
    assert openai_chat.DIALECT.read_models(payload) == ["a", "b"]
