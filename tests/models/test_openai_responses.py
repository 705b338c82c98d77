"""OpenAI's responses format, as the official client's types have it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from autoreason.exchange import Message, Outcome, Reply, Request, Schema, Usage
from autoreason.models import prices
from autoreason.models.api_keys import Secret
from autoreason.models.dialects import openai_chat, openai_responses
from autoreason.models.dialects.base import UnreadableReply
from autoreason.models.failures import ErrorReply, refusal
from autoreason.models.providers import PROVIDERS
from autoreason.models.quirks import Quirks

SHAPE = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
REQUEST = Request(
    role="author",
    key="draft/try/0",
    model="openai/gpt-5-pro",
    messages=(
        Message("system", "Be brief.", stable=True),
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
    return openai_responses.body(request, "gpt-5-pro", Quirks(**quirks), stream)


def message(*content: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": "msg_1", "type": "message", "role": "assistant", "content": content, **more}


def answer_text(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": []}


def response(*output: dict[str, Any], **more: Any) -> dict[str, Any]:
    usual = {"id": "resp_1", "object": "response", "status": "completed", "error": None}
    return usual | {"output": output, "incomplete_details": None} | more


def read(*output: dict[str, Any], **more: Any) -> Reply:
    return openai_responses.read(msgspec.json.encode(response(*output, **more)), "openai/gpt-5-pro")


def stream(*events: dict[str, Any] | bytes) -> tuple[list[str], Reply]:
    reducer = openai_responses.Stream()
    shown = [
        reducer.feed(each if isinstance(each, bytes) else msgspec.json.encode(each))
        for each in events
    ]
    return [text for text in shown if text], reducer.finish("openai/gpt-5-pro")


def delta(text: str, item: str = "msg_1") -> dict[str, Any]:
    return {"type": "response.output_text.delta", "delta": text, "item_id": item}


# Requests


def test_a_request_is_a_conversation_that_is_not_kept_there() -> None:
    assert body() == {
        "model": "gpt-5-pro",
        "input": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "The task.\n\nWrite."},
        ],
        "max_output_tokens": 900,
        "store": False,
        "temperature": 0.8,
    }


def test_effort_and_shape_have_fields_of_their_own() -> None:
    sent = body(msgspec.structs.replace(JUDGE, effort="low"), stream=True, no_temperature=True)
    shape = {"type": "json_schema", "name": "ballot", "strict": True, "schema": SHAPE}
    assert sent["text"] == {"format": shape}
    assert sent["reasoning"] == {"effort": "low"}
    assert sent["stream"] is True
    assert "temperature" not in sent


def test_quirks_leave_out_what_a_model_does_not_take() -> None:
    sent = body(msgspec.structs.replace(JUDGE, effort="low"), no_schema=True, no_effort=True)
    assert not {"text", "reasoning"} & set(sent)
    assert sent["input"][-1]["content"].endswith("Write.\n\nEnd with RANKING: 1, 2, 3")


def test_the_cache_key_is_that_of_the_chat_format() -> None:
    chat = openai_chat.body(REQUEST, "gpt-5-pro", Quirks(cache_key=True), False)
    assert body(cache_key=True)["prompt_cache_key"] == chat["prompt_cache_key"]


def test_the_key_is_a_bearer() -> None:
    key = openai_responses.DIALECT.headers(Secret("sk-1"))["authorization"]
    assert isinstance(key, Secret)
    assert key.reveal() == "Bearer sk-1"


# Replies


def test_a_reply_is_read_with_its_reasoning_and_accounts() -> None:
    reply = read(
        {"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": "Hmm."}]},
        message(answer_text("On it."), phase="commentary"),
        message(answer_text("A "), answer_text("text."), phase="final_answer"),
        usage={
            "input_tokens": 100,
            "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30},
            "output_tokens": 50,
            "output_tokens_details": {"reasoning_tokens": 40},
            "total_tokens": 150,
        },
    )
    assert reply == Reply(
        outcome=Outcome.OK,
        text="A text.",
        model="openai/gpt-5-pro",
        reasoning="Hmm.\n\nOn it.",
        finish="completed",
        usage=Usage(input=100, output=50, cache_read=60, cache_write=30, reasoning=40),
    )


@pytest.mark.parametrize(
    ("content", "reason", "outcome"),
    [
        (answer_text("Half a"), "max_output_tokens", Outcome.TRUNCATED),
        (answer_text(""), "max_output_tokens", Outcome.TRUNCATED),
        (answer_text("Half a"), "something new", Outcome.TRUNCATED),
        (answer_text("Half a"), "content_filter", Outcome.REFUSED),
        ({"type": "refusal", "refusal": "I will not."}, None, Outcome.REFUSED),
        (answer_text(" "), None, Outcome.EMPTY),
        (answer_text("A text."), None, Outcome.OK),
    ],
)
def test_the_end_of_a_reply_decides_its_outcome(
    content: dict[str, Any], reason: str | None, outcome: Outcome
) -> None:
    more = {"status": "incomplete", "incomplete_details": {"reason": reason}} if reason else {}
    reply = read(message(content), **more)
    assert (reply.outcome, reply.finish) == (outcome, reason or "completed")


def test_why_a_model_refuses_is_kept() -> None:
    assert read(message({"type": "refusal", "refusal": "I will not."})).text == "I will not."


@pytest.mark.parametrize(
    ("code", "status", "refused"),
    [("server_error", 500, False), ("rate_limit_exceeded", 429, False), ("bio_policy", 500, True)],
)
def test_a_response_that_failed_is_an_error(code: str, status: int, refused: bool) -> None:
    error = {"code": code, "message": "No."}
    failed = response(status="failed", error=error)
    for ask in (
        lambda: openai_responses.read(msgspec.json.encode(failed), "openai/x"),
        lambda: stream({"type": "response.failed", "response": failed}),
    ):
        with pytest.raises(ErrorReply) as caught:
            ask()
        reported = caught.value.provider_error
        assert (reported.message, reported.refused) == ("No.", refused)
        assert refusal("openai", 200, {}, reported, str).status == status


@pytest.mark.parametrize("status", ["cancelled", "in_progress", "queued", None])
def test_a_response_that_has_not_ended_well_is_unreadable(status: str | None) -> None:
    with pytest.raises(UnreadableReply, match=status or "without a status"):
        read(message(answer_text("Half a")), status=status)


# Streams


def test_a_stream_shows_the_answer_only_and_ends_with_all_of_it() -> None:
    commentary = message(answer_text("On it."), id="msg_0", phase="commentary")
    answer = message(answer_text("A text."))
    shown, reply = stream(
        {"type": "response.created", "response": response(status="in_progress")},
        {"type": "response.output_item.added", "item": commentary | {"content": []}},
        delta("On it.", "msg_0"),
        {"type": "response.output_item.added", "item": answer | {"content": []}},
        delta("A "),
        {"type": "something.new", "delta": {"kind": 7}},
        delta("text."),
        {"type": "response.completed", "response": response(commentary, answer)},
        b"[DONE]",
    )
    assert shown == ["A ", "text."]
    assert (reply.text, reply.reasoning) == ("A text.", "On it.")


def test_a_server_that_sends_the_text_in_pieces_only_is_understood() -> None:
    _, reply = stream(delta("A text."), {"type": "response.completed", "response": response()})
    assert reply.text == "A text."


def test_the_end_mark_is_the_last_event() -> None:
    reducer = openai_responses.Stream()
    reducer.feed(
        msgspec.json.encode({"type": "response.created", "response": {"status": "queued"}})
    )
    reducer.feed(msgspec.json.encode(delta("A text.")))
    ended = [reducer.ended]
    with pytest.raises(UnreadableReply, match="before its end mark"):
        reducer.finish("openai/x")
    cut = response(message(answer_text("A")), status="incomplete")
    reducer.feed(msgspec.json.encode({"type": "response.incomplete", "response": cut}))
    assert [*ended, reducer.ended] == [False, True]
    assert reducer.finish("openai/x").outcome is Outcome.TRUNCATED


@pytest.mark.parametrize(
    "event",
    [
        {"type": "error", "code": "server_error", "message": "m", "param": None},
        {"error": {"code": "server_error", "message": "m"}},
    ],
)
def test_an_error_inside_a_stream_is_an_error(event: dict[str, Any]) -> None:
    with pytest.raises(ErrorReply, match="m"):
        stream(event)


# Which models


@pytest.mark.parametrize(
    ("model", "only"),
    [
        ("o1-pro", True),
        ("o3-pro-2025-06-10", True),
        ("gpt-5-pro", True),
        ("gpt-5.2-pro", True),
        ("gpt-5.5-pro-2026-04-23", True),
        ("gpt-5-codex", True),
        ("gpt-5.1-codex-max", True),
        ("o3-deep-research", True),
        ("o4-mini-deep-research", True),
        ("gpt-5", False),
        ("gpt-5.6-sol", False),
        ("gpt-4.1-mini", False),
        ("o3-mini", False),
        ("gpt-5-programmer", False),
    ],
)
def test_models_that_only_this_format_serves_are_known_at_openai(model: str, only: bool) -> None:
    openai = PROVIDERS["openai"]
    assert openai.quirks_of(model, openai.base_url).responses is only
    assert openai.quirks_of(model, "http://localhost:4000/v1").responses is False


def test_the_format_can_be_chosen_and_costs_the_same() -> None:
    chosen = PROVIDERS["openai-responses"]
    assert chosen.dialect == "openai_responses"
    assert chosen.key_variables == PROVIDERS["openai"].key_variables
    usage = Usage(input=1000, output=1000)
    cost = prices.price("openai-responses/gpt-4.1", usage)
    assert cost is not None
    assert cost == prices.price("openai/gpt-4.1", usage)
    assert prices.window("openai-responses/gpt-4.1") == prices.window("openai/gpt-4.1")
