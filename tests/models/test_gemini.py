"""Google's generateContent format."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from autoreason.exchange import Effort, Message, Outcome, Reply, Request, Schema, Usage
from autoreason.models.api_keys import Secret
from autoreason.models.dialects import gemini
from autoreason.models.dialects.base import UnreadableReply
from autoreason.models.failures import ErrorReply
from autoreason.models.quirks import Quirks

SHAPE = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
REQUEST = Request(
    role="judge",
    key="pass/1/judge/0/try/0",
    model="gemini/gemini-2.5-flash",
    messages=(
        Message("system", "Be brief."),
        Message("user", "The task.", stable=True),
        Message("user", "Judge."),
        Message("assistant", "Whom?"),
        Message("user", "These."),
    ),
    max_tokens=700,
    temperature=0.0,
    schema=Schema("ballot", SHAPE, "End with RANKING."),
)


def body(request: Request = REQUEST, **quirks: bool) -> dict[str, Any]:
    return gemini.body(request, "gemini-2.5-flash", Quirks(**quirks), False)


def answer(parts: list[dict[str, Any]], finish: str | None = "STOP", **usage: int) -> bytes:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    payload = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-2.5"}
    return msgspec.json.encode(payload)


def read(payload: bytes) -> Reply:
    return gemini.read(payload, "gemini/gemini-2.5-flash")


# Requests


def test_the_model_is_named_in_the_path() -> None:
    assert gemini.path("gemini-2.5-flash", False) == "/models/gemini-2.5-flash:generateContent"
    streamed = gemini.path("models/gemini-2.5-flash", True)
    assert streamed == "/models/gemini-2.5-flash:streamGenerateContent?alt=sse"


@pytest.mark.parametrize(
    ("model", "effort", "config"),
    [
        ("gemini-3-pro", "none", {"thinkingLevel": "MINIMAL"}),
        ("gemini-3-pro", "low", {"thinkingLevel": "LOW"}),
        ("models/gemini-3.5-flash", "max", {"thinkingLevel": "HIGH"}),
        ("gemini-2.5-flash", "none", {"thinkingBudget": 0}),
        ("gemini-2.5-pro", "low", {"thinkingBudget": 1024}),
        ("gemini-2.5-flash", "max", {"thinkingBudget": 24_576}),
    ],
)
def test_effort_is_a_level_or_before_that_a_number_of_tokens(
    model: str, effort: Effort, config: dict[str, Any]
) -> None:
    asked = msgspec.structs.replace(REQUEST, effort=effort)
    sent = gemini.body(asked, model, Quirks(), False)
    assert sent["generationConfig"]["thinkingConfig"] == config
    without = gemini.body(asked, model, Quirks(no_effort=True), False)
    assert "thinkingConfig" not in without["generationConfig"]


def test_a_request_has_a_system_instruction_turns_and_a_schema() -> None:
    assert body() == {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "The task.\n\nJudge."}]},
            {"role": "model", "parts": [{"text": "Whom?"}]},
            {"role": "user", "parts": [{"text": "These."}]},
        ],
        "generationConfig": {
            "maxOutputTokens": 700,
            "temperature": 0.0,
            "responseMimeType": "application/json",
            "responseJsonSchema": SHAPE,
        },
    }


def test_quirks_change_what_is_sent() -> None:
    sent = body(no_schema=True, no_temperature=True)
    assert sent["generationConfig"] == {"maxOutputTokens": 700}
    assert sent["contents"][-1]["parts"][0]["text"] == "These.\n\nEnd with RANKING."


def test_the_key_goes_into_a_header_not_into_the_address() -> None:
    assert isinstance(gemini.headers(Secret("k"))["x-goog-api-key"], Secret)
    assert gemini.headers(None) == {}


# Replies


def test_a_reply_is_read_with_thoughts_apart_and_counted() -> None:
    reply = read(
        answer(
            [{"text": "Hmm.", "thought": True}, {"text": "A "}, {"text": "text."}],
            promptTokenCount=50,
            candidatesTokenCount=7,
            thoughtsTokenCount=20,
            cachedContentTokenCount=30,
            totalTokenCount=77,
        )
    )
    assert reply == Reply(
        outcome=Outcome.OK,
        text="A text.",
        model="gemini/gemini-2.5-flash",
        reasoning="Hmm.",
        finish="STOP",
        usage=Usage(input=50, output=27, cache_read=30, reasoning=20),
    )


@pytest.mark.parametrize(
    ("words", "finish", "outcome"),
    [
        ("Half a", "MAX_TOKENS", Outcome.TRUNCATED),
        ("", "MAX_TOKENS", Outcome.TRUNCATED),
        ("Half a", "OTHER", Outcome.TRUNCATED),
        ("", "OTHER", Outcome.EMPTY),
        ("", "STOP", Outcome.EMPTY),
        ("Half a", "SAFETY", Outcome.REFUSED),
        ("", "RECITATION", Outcome.REFUSED),
        ("", "PROHIBITED_CONTENT", Outcome.REFUSED),
    ],
)
def test_the_end_of_a_reply_decides_its_outcome(words: str, finish: str, outcome: Outcome) -> None:
    assert read(answer([{"text": words}] if words else [], finish)).outcome is outcome


def test_a_candidate_without_content_can_be_read() -> None:
    payload = b'{"candidates":[{"finishReason":"SAFETY","index":0}],"usageMetadata":{}}'
    assert read(payload).outcome is Outcome.REFUSED


def test_a_blocked_prompt_is_a_refusal() -> None:
    payload = b'{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{}}'
    reply = read(payload)
    assert (reply.outcome, reply.finish) == (Outcome.REFUSED, "PROHIBITED_CONTENT")


@pytest.mark.parametrize("payload", [b"{}", answer([{"text": "A"}], None)])
def test_a_reply_without_an_end_is_unreadable(payload: bytes) -> None:
    with pytest.raises(UnreadableReply):
        read(payload)


def test_an_error_where_a_reply_should_be_is_an_error() -> None:
    with pytest.raises(ErrorReply) as caught:
        read(b'{"error":{"code":503,"message":"Overloaded","status":"UNAVAILABLE"}}')
    assert caught.value.provider_error.status == 503


def test_a_stream_is_shown_in_pieces_and_adds_up_to_a_reply() -> None:
    reducer = gemini.Stream()
    shown = [
        reducer.feed(answer([{"text": "Hmm.", "thought": True}], None, promptTokenCount=4)),
        reducer.feed(answer([{"text": "A "}], None, promptTokenCount=4)),
        reducer.feed(
            answer([{"text": "text."}], "STOP", promptTokenCount=4, candidatesTokenCount=2)
        ),
    ]
    reply = reducer.finish("gemini/gemini-2.5-flash")
    assert shown == ["", "A ", "text."]
    assert (reply.text, reply.reasoning) == ("A text.", "Hmm.")
    assert reply.usage == Usage(input=4, output=2)


def test_models_are_listed_without_their_folder() -> None:
    payload = b'{"models":[{"name":"models/gemini-2.5-flash","displayName":"Flash"}]}'
    assert gemini.read_models(payload) == ["gemini-2.5-flash"]


def test_a_list_of_pieces_in_one_body_is_one_reply() -> None:
    pieces = [answer([{"text": "One "}], None), answer([{"text": "two."}])]
    reply = gemini.read(b"[" + b",\n".join(pieces) + b"]", "gemini/x")
    assert (reply.outcome, reply.text) == (Outcome.OK, "One two.")
