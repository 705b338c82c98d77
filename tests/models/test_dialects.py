"""Every wire format: recorded requests and replies, as the official clients' types have them."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.cases import cases

from autoreason.exchange import Effort, Message, Outcome, Reply, Request, Schema, Usage
from autoreason.models import providers
from autoreason.models.dialects import UnreadableReply, find_dialect
from autoreason.models.dialects.openai import Thinking
from autoreason.models.failures import ErrorReply, refusal
from autoreason.models.providers import PROVIDERS, DialectName, Quirks, Secret

SHAPE = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
MARK = {"type": "ephemeral"}
MODELS: dict[DialectName, str] = {
    "anthropic": "claude-sonnet-4-5",
    "gemini": "gemini-2.5-flash",
    "openai_chat": "gpt-4.1",
    "openai_responses": "gpt-5-pro",
}
REQUEST = Request(
    role="judge",
    key="pass/1/judge/0/try/0",
    model="acme/x",
    messages=(
        Message("system", "Be brief."),
        Message("user", "The task.", stable=True),
        Message("user", "Judge."),
        Message("assistant", "Whom?"),
        Message("user", "These."),
    ),
    max_tokens=700,
    temperature=0.5,
)
SHAPED = replace(REQUEST, schema=Schema("ballot", SHAPE, "End with RANKING."))


def body(
    name: DialectName, request: Request = REQUEST, *, stream: bool = False, **quirks: bool
) -> dict[str, Any]:
    return find_dialect(name).body(request, MODELS[name], Quirks(**quirks), stream)


def read(name: DialectName, payload: Any) -> Reply:
    content = payload if isinstance(payload, bytes) else msgspec.json.encode(payload)
    return find_dialect(name).read(content, "acme/x")


def stream(name: DialectName, *events: Any) -> tuple[list[str], Reply]:
    reducer = find_dialect(name).reducer()
    shown = [
        reducer.feed(each if isinstance(each, bytes) else msgspec.json.encode(each))
        for each in events
    ]
    return [text for text in shown if text], reducer.finish("acme/x")


# Replies as each format has them


def claude(*content: dict[str, Any], stop: str = "end_turn", **usage: Any) -> dict[str, Any]:
    return {"type": "message", "content": content, "stop_reason": stop, "usage": usage}


def block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def delta(**fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": 0, "delta": fields}


def gemini(*parts: dict[str, Any], finish: str | None = "STOP", **usage: int) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    return {
        "candidates": [candidate | ({"finishReason": finish} if finish else {})],
        "usageMetadata": usage,
        "modelVersion": "gemini-2.5",
    }


def chat(content: Any, finish: str = "stop", **more: Any) -> dict[str, Any]:
    message = {"role": "assistant"} | (
        content if isinstance(content, dict) else {"content": content}
    )
    return {"choices": [{"index": 0, "message": message, "finish_reason": finish}], **more}


def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], "usage": None}


def item(*content: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": "msg_1", "type": "message", "role": "assistant", "content": content, **more}


def output(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": []}


def response(*items: dict[str, Any], cut: str = "", **more: Any) -> dict[str, Any]:
    usual: dict[str, Any] = {"object": "response", "status": "completed", "error": None}
    if cut:
        usual |= {"status": "incomplete", "incomplete_details": {"reason": cut}}
    return usual | {"output": items} | more


def piece(text: str, of: str = "msg_1") -> dict[str, Any]:
    return {"type": "response.output_text.delta", "delta": text, "item_id": of}


# Requests

CONVERSATION = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "The task.\n\nJudge."},
    {"role": "assistant", "content": "Whom?"},
    {"role": "user", "content": "These."},
]
STRICT = {"name": "ballot", "strict": True, "schema": SHAPE}
REQUESTS: dict[DialectName, dict[str, Any]] = {
    "anthropic": {
        "model": "claude-sonnet-4-5",
        "max_tokens": 700,
        "temperature": 0.5,
        "system": [block("Be brief.")],
        "messages": [
            {
                "role": "user",
                "content": [block("The task.") | {"cache_control": MARK}, block("Judge.")],
            },
            {"role": "assistant", "content": [block("Whom?")]},
            {"role": "user", "content": [block("These.")]},
        ],
        "output_config": {"format": {"type": "json_schema", "schema": SHAPE}},
    },
    "gemini": {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "The task.\n\nJudge."}]},
            {"role": "model", "parts": [{"text": "Whom?"}]},
            {"role": "user", "parts": [{"text": "These."}]},
        ],
        "generationConfig": {
            "maxOutputTokens": 700,
            "temperature": 0.5,
            "responseMimeType": "application/json",
            "responseJsonSchema": SHAPE,
        },
    },
    "openai_chat": {
        "model": "gpt-4.1",
        "messages": CONVERSATION,
        "max_tokens": 700,
        "temperature": 0.5,
        "response_format": {"type": "json_schema", "json_schema": STRICT},
    },
    "openai_responses": {
        "model": "gpt-5-pro",
        "input": CONVERSATION,
        "max_output_tokens": 700,
        "store": False,
        "temperature": 0.5,
        "text": {"format": {"type": "json_schema", **STRICT}},
    },
}


@pytest.mark.parametrize("name", MODELS)
def test_a_request_has_the_conversation_its_limits_and_a_schema(name: DialectName) -> None:
    assert body(name, SHAPED) == REQUESTS[name]


@pytest.mark.parametrize("name", MODELS)
def test_what_a_model_does_not_take_is_left_out_and_the_schema_asked_for_in_words(
    name: DialectName,
) -> None:
    asked = replace(SHAPED, effort="high", seed=7)
    left_out = ("no_schema", "no_temperature", "no_effort", "no_thinking", "no_seed")
    sent = msgspec.json.encode(body(name, asked, **dict.fromkeys(left_out, True))).decode()
    assert r"These.\n\nEnd with RANKING." in sent
    for word in ("additionalProperties", "temperature", "effort", "hinking", "seed"):
        assert word not in sent


@pytest.mark.parametrize("name", ["anthropic", "openai_chat", "openai_responses"])
def test_a_stream_is_asked_for(name: DialectName) -> None:
    assert "stream" not in body(name)
    assert body(name, stream=True)["stream"] is True


@pytest.mark.parametrize(
    ("name", "path", "header"),
    [
        ("anthropic", "/v1/messages", "x-api-key"),
        ("gemini", "/models/gemini-2.5-flash:generateContent", "x-goog-api-key"),
        ("openai_chat", "/chat/completions", "authorization"),
        ("openai_responses", "/responses", "authorization"),
    ],
)
def test_the_key_goes_into_a_header_not_into_the_address(
    name: DialectName, path: str, header: str
) -> None:
    dialect = find_dialect(name)
    assert dialect.path(MODELS[name], False) == path
    key = dialect.headers(Secret("k"))[header]
    assert isinstance(key, Secret)
    assert key.reveal() == ("Bearer k" if header == "authorization" else "k")
    assert header not in dialect.headers(None)


@cases(
    ("name", "model", "effort", "sent"),
    [
        (
            "anthropic",
            "x",
            "none",
            '"thinking":{"type":"disabled"},"output_config":{"effort":"low"}',
        ),
        ("anthropic", "x", "minimal", '{"type":"adaptive"},"output_config":{"effort":"low"}'),
        ("anthropic", "x", "medium", '{"type":"adaptive"},"output_config":{"effort":"medium"}'),
        ("anthropic", "x", "max", '"output_config":{"effort":"max"}'),
        ("gemini", "gemini-3-pro", "none", '"thinkingConfig":{"thinkingLevel":"MINIMAL"}'),
        ("gemini", "gemini-3-pro", "low", '"thinkingConfig":{"thinkingLevel":"LOW"}'),
        ("gemini", "models/gemini-3.5-flash", "max", '{"thinkingLevel":"HIGH"}'),
        ("gemini", "gemini-2.5-flash", "none", '"thinkingConfig":{"thinkingBudget":0}'),
        ("gemini", "gemini-2.5-pro", "low", '{"thinkingBudget":1024}'),
        ("gemini", "gemini-2.5-flash", "max", '{"thinkingBudget":24576}'),
        ("openai_chat", "x", "minimal", '"reasoning_effort":"minimal"'),
        ("openai_responses", "x", "low", '"reasoning":{"effort":"low"}'),
    ],
)
def test_effort_is_sent_in_the_words_the_format_has(
    name: DialectName, model: str, effort: Effort, sent: str
) -> None:
    made = find_dialect(name).body(replace(REQUEST, effort=effort), model, Quirks(), False)
    assert sent in msgspec.json.encode(made).decode()


def test_claude_is_told_what_to_cache_and_nothing_empty() -> None:
    stable = (Message("system", "Be brief.", stable=True), Message("user", "Go."))
    sent = body("anthropic", replace(REQUEST, messages=stable))
    assert sent["system"] == [block("Be brief.") | {"cache_control": MARK}]
    sent = body("anthropic", replace(REQUEST, messages=(Message("system", ""), stable[1])))
    assert b"cache_control" not in msgspec.json.encode(sent)
    assert "system" not in sent


def test_gemini_streams_under_another_path() -> None:
    path = find_dialect("gemini").path("models/gemini-2.5-flash", True)
    assert path == "/models/gemini-2.5-flash:streamGenerateContent?alt=sse"


def test_servers_of_the_chat_format_have_accents() -> None:
    sent = body("openai_chat", completion_tokens=True)
    assert (sent["max_completion_tokens"], "max_tokens" in sent) == (700, False)
    assert body("openai_chat", stream=True)["stream_options"] == {"include_usage": True}
    assert "stream_options" not in body("openai_chat", stream=True, no_stream_options=True)
    assert body("openai_chat", SHAPED, require_schema=True)["provider"] == {
        "require_parameters": True
    }


@pytest.mark.parametrize("name", ["openai_chat", "openai_responses"])
def test_requests_that_start_the_same_share_a_cache_key(name: DialectName) -> None:
    def key(*messages: Message) -> str | None:
        return body(name, replace(REQUEST, messages=messages), cache_key=True).get(
            "prompt_cache_key"
        )

    first = body("openai_chat", cache_key=True)["prompt_cache_key"]
    assert key(*REQUEST.messages, Message("user", "More.")) == first
    assert key(Message("user", "Else.", stable=True)) not in (first, None)
    assert key(Message("user", "Once.")) is None


# Replies

WHOLE: dict[DialectName, tuple[dict[str, Any], Usage, str]] = {
    "anthropic": (
        claude(
            {"type": "thinking", "thinking": "Hmm.", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "eA=="},
            *(block("A "), block("text.")),
            input_tokens=20,
            cache_read_input_tokens=1000,
            cache_creation_input_tokens=300,
            output_tokens=40,
            output_tokens_details={"thinking_tokens": 30},
        ),
        Usage(input=1320, output=40, cache_read=1000, cache_write=300, reasoning=30),
        "end_turn",
    ),
    "gemini": (
        gemini(
            *({"text": "Hmm.", "thought": True}, {"text": "A "}, {"text": "text."}),
            promptTokenCount=50,
            candidatesTokenCount=7,
            thoughtsTokenCount=20,
            cachedContentTokenCount=30,
            totalTokenCount=77,
        ),
        Usage(input=50, output=27, cache_read=30, reasoning=20),
        "STOP",
    ),
    "openai_chat": (
        chat(
            {"content": "A text.", "refusal": None, "reasoning_content": "Hmm."},
            service_tier="default",
            usage={
                "prompt_tokens": 1200,
                "completion_tokens": 300,
                "total_tokens": 1500,
                "prompt_tokens_details": {"cached_tokens": 1024, "audio_tokens": 0},
                "completion_tokens_details": {"reasoning_tokens": 128},
            },
        ),
        Usage(input=1200, output=300, cache_read=1024, reasoning=128),
        "stop",
    ),
    "openai_responses": (
        response(
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hmm."}]},
            item(output("A "), output("text."), phase="final_answer"),
            usage={
                "input_tokens": 100,
                "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30},
                "output_tokens": 50,
                "output_tokens_details": {"reasoning_tokens": 40},
                "total_tokens": 150,
            },
        ),
        Usage(input=100, output=50, cache_read=60, cache_write=30, reasoning=40),
        "completed",
    ),
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_reply_is_read_with_its_reasoning_and_all_its_counts(name: DialectName) -> None:
    payload, usage, finish = WHOLE[name]
    assert read(name, payload) == Reply(
        outcome=Outcome.OK,
        text="A text.",
        model="acme/x",
        reasoning="Hmm.",
        finish=finish,
        usage=usage,
    )


@cases(
    ("name", "payload", "outcome"),
    [
        ("anthropic", claude(block("Half a"), stop="max_tokens"), Outcome.TRUNCATED),
        ("anthropic", claude(stop="max_tokens"), Outcome.TRUNCATED),
        ("anthropic", claude(block("A"), stop="model_context_window_exceeded"), Outcome.TRUNCATED),
        ("anthropic", claude(block("I "), stop="refusal"), Outcome.REFUSED),
        ("anthropic", claude(stop="refusal"), Outcome.REFUSED),
        ("anthropic", claude(), Outcome.EMPTY),
        ("anthropic", claude(block("A text."), stop="stop_sequence"), Outcome.OK),
        ("gemini", gemini({"text": "Half a"}, finish="MAX_TOKENS"), Outcome.TRUNCATED),
        ("gemini", gemini(finish="MAX_TOKENS"), Outcome.TRUNCATED),
        ("gemini", gemini({"text": "Half a"}, finish="OTHER"), Outcome.TRUNCATED),
        ("gemini", gemini(finish="OTHER"), Outcome.EMPTY),
        ("gemini", gemini(), Outcome.EMPTY),
        ("gemini", gemini({"text": "Half a"}, finish="SAFETY"), Outcome.REFUSED),
        ("gemini", gemini(finish="RECITATION"), Outcome.REFUSED),
        ("gemini", {"candidates": [{"finishReason": "SAFETY", "index": 0}]}, Outcome.REFUSED),
        ("gemini", {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}, Outcome.REFUSED),
        ("openai_chat", chat("Half a", "length"), Outcome.TRUNCATED),
        ("openai_chat", chat("", "length"), Outcome.TRUNCATED),
        ("openai_chat", chat(None, "length"), Outcome.TRUNCATED),
        ("openai_chat", chat("Half a", "model_length"), Outcome.TRUNCATED),
        ("openai_chat", chat("<think>On and on", "length"), Outcome.TRUNCATED),
        ("openai_chat", chat(None), Outcome.EMPTY),
        ("openai_chat", chat(" \u200b\n"), Outcome.EMPTY),
        ("openai_chat", chat("", "content_filter"), Outcome.REFUSED),
        ("openai_chat", chat({"content": None, "refusal": "I cannot."}), Outcome.REFUSED),
        ("openai_chat", chat("A text.", "eos"), Outcome.OK),
        (
            "openai_responses",
            response(item(output("A")), cut="max_output_tokens"),
            Outcome.TRUNCATED,
        ),
        (
            "openai_responses",
            response(item(output("")), cut="max_output_tokens"),
            Outcome.TRUNCATED,
        ),
        ("openai_responses", response(item(output("A")), cut="something new"), Outcome.TRUNCATED),
        ("openai_responses", response(item(output("A")), cut="content_filter"), Outcome.REFUSED),
        ("openai_responses", response(item({"refusal": "I will not."})), Outcome.REFUSED),
        ("openai_responses", response(item(output(" "))), Outcome.EMPTY),
    ],
)
def test_the_end_of_a_reply_decides_its_outcome(
    name: DialectName, payload: Any, outcome: Outcome
) -> None:
    assert read(name, payload).outcome is outcome


OVERLOADED = {"type": "overloaded_error", "message": "no"}
SERVER_ERROR = {"code": "server_error", "message": "no"}
ERRORS: list[tuple[DialectName, Any, int]] = [
    ("anthropic", {"type": "error", "error": OVERLOADED}, 529),
    ("gemini", {"error": {"code": 503, "message": "no", "status": "UNAVAILABLE"}}, 503),
    ("openai_chat", {"error": {"message": "no", "code": 502}}, 502),
    ("openai_chat", chat("") | {"choices": [{"error": {"code": 502, "message": "no"}}]}, 502),
]


@pytest.mark.parametrize(("name", "payload", "status"), ERRORS)
def test_an_error_where_a_reply_should_be_is_an_error(
    name: DialectName, payload: Any, status: int
) -> None:
    for ask in (read, stream):
        with pytest.raises(ErrorReply, match="no") as caught:
            ask(name, payload)
        assert refusal("acme", 200, {}, caught.value.provider_error, str).status == status


@pytest.mark.parametrize(
    ("code", "status", "refused"),
    [("server_error", 500, False), ("rate_limit_exceeded", 429, False), ("bio_policy", 500, True)],
)
def test_a_response_that_failed_is_an_error(code: str, status: int, refused: bool) -> None:
    failed = response(status="failed", error={"code": code, "message": "No."})
    for ask, payload in ((read, failed), (stream, {"type": "response.failed", "response": failed})):
        with pytest.raises(ErrorReply, match="No") as caught:
            ask("openai_responses", payload)
        reported = caught.value.provider_error
        assert reported.refused is refused
        assert refusal("openai", 200, {}, reported, str).status == status


@cases(
    ("name", "payload"),
    [
        ("anthropic", {"type": "message"}),
        ("gemini", {}),
        ("gemini", gemini({"text": "A"}, finish=None)),
        ("openai_chat", {}),
        ("openai_chat", {"choices": []}),
        ("openai_chat", {"choices": None}),
        ("openai_chat", chat("A", "insufficient_system_resource")),
        *(
            ("openai_responses", response(item(output("Half a")), status=status))
            for status in ("cancelled", "in_progress", "queued", None)
        ),
    ],
)
def test_a_reply_without_an_answer_or_an_end_is_unreadable(name: DialectName, payload: Any) -> None:
    with pytest.raises(UnreadableReply):
        read(name, payload)


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
    "usage": {"output_tokens": 15, "output_tokens_details": {"thinking_tokens": 9}},
}
COMMENTARY = item(output("On it."), id="msg_0", phase="commentary")
STREAMS: dict[DialectName, tuple[list[Any], Usage]] = {
    "anthropic": (
        [
            START,
            {"type": "ping"},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking"}},
            delta(type="thinking_delta", thinking="On it."),
            delta(type="signature_delta", signature="c2ln"),
            {"type": "content_block_start", "index": 1, "content_block": block("")},
            delta(type="text_delta", text="A "),
            delta(type="text_delta", text="text."),
            {"type": "something_new", "delta": {"kind": 7}},
            END,
            {"type": "message_stop"},
        ],
        Usage(input=100, output=15, cache_read=75, reasoning=9),
    ),
    "gemini": (
        [
            gemini({"text": "On it.", "thought": True}, finish=None, promptTokenCount=4),
            gemini({"text": "A "}, finish=None, promptTokenCount=4),
            gemini({"text": "text."}, promptTokenCount=4, candidatesTokenCount=2),
        ],
        Usage(input=4, output=2),
    ),
    "openai_chat": (
        [
            chunk({"role": "assistant", "content": ""}),
            chunk({"reasoning_content": "On "}),
            chunk({"reasoning_content": "it."}),
            chunk({"content": "A "}),
            chunk({"content": "text."}),
            chunk({}, "stop"),
            {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}},
            b"[DONE]",
        ],
        Usage(input=5, output=2),
    ),
    "openai_responses": (
        [
            {"type": "response.created", "response": response(status="in_progress")},
            {"type": "response.output_item.added", "item": COMMENTARY | {"content": []}},
            piece("On it.", "msg_0"),
            {"type": "response.output_item.added", "item": item()},
            piece("A "),
            {"type": "something.new", "delta": {"kind": 7}},
            piece("text."),
            {
                "type": "response.completed",
                "response": response(COMMENTARY, item(output("A text."))),
            },
            b"[DONE]",
        ],
        Usage(),
    ),
}


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_shows_the_answer_only_and_adds_up_to_a_reply(name: DialectName) -> None:
    events, usage = STREAMS[name]
    shown, reply = stream(name, *events)
    assert shown == ["A ", "text."]
    assert (reply.outcome, reply.text, reply.reasoning) == (Outcome.OK, "A text.", "On it.")
    assert reply.usage == usage


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_without_its_end_is_unreadable(name: DialectName) -> None:
    with pytest.raises(UnreadableReply, match="before its end"):
        stream(name, *STREAMS[name][0][:2])


@pytest.mark.parametrize(
    ("name", "event"),
    [
        ("anthropic", {"type": "error", "error": OVERLOADED}),
        ("openai_chat", {"error": SERVER_ERROR}),
        ("openai_responses", {"type": "error", **SERVER_ERROR, "param": None}),
        ("openai_responses", {"error": SERVER_ERROR}),
    ],
)
def test_an_error_inside_a_stream_is_an_error(name: DialectName, event: Any) -> None:
    with pytest.raises(ErrorReply, match="no"):
        stream(name, STREAMS[name][0][0], event)


def test_a_list_of_geminis_pieces_in_one_body_is_one_reply() -> None:
    reply = read("gemini", [gemini({"text": "One "}, finish=None), gemini({"text": "two."})])
    assert (reply.outcome, reply.text) == (Outcome.OK, "One two.")


def test_half_a_character_does_not_spoil_a_stream() -> None:
    half = b'{"choices":[{"index":0,"delta":{"content":"A \\ud83d text"},"finish_reason":"stop"}]}'
    assert stream("openai_chat", half)[1].text == "A ? text"
    with pytest.raises(msgspec.DecodeError):
        stream("openai_chat", half[:-5])


def test_a_streamed_refusal_is_a_refusal_and_text_in_pieces_only_is_understood() -> None:
    refused = (chunk({"refusal": "I can"}), chunk({"refusal": "not."}), chunk({}, "stop"))
    _, reply = stream("openai_chat", *refused)
    assert (reply.outcome, reply.text) == (Outcome.REFUSED, "I cannot.")
    completed = {"type": "response.completed", "response": response()}
    assert stream("openai_responses", piece("A text."), completed)[1].text == "A text."


# Accents of the chat format


@pytest.mark.parametrize(
    "content",
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
def test_thinking_is_kept_apart_however_it_comes(content: dict[str, Any]) -> None:
    reply = read("openai_chat", chat(content))
    assert (reply.text, reply.reasoning) == ("A text.", "Hmm.")


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


def test_reasoning_beside_the_completion_is_output_and_a_routers_bill_the_cost() -> None:
    tokens = {"prompt_tokens": 32, "completion_tokens": 9, "total_tokens": 135}
    details = {"completion_tokens_details": {"reasoning_tokens": 94}}
    counted = read("openai_chat", chat("x", usage=tokens | details)).usage
    assert (counted.output, counted.reasoning) == (103, 94)
    assert read("openai_chat", chat("x")).usage == Usage()
    usage: dict[str, Any] = {"prompt_tokens": 1, "completion_tokens": 1, "cost": 0.0123}
    assert read("openai_chat", chat("x", usage=usage)).cost == Decimal("0.0123")
    usage |= {"is_byok": True, "cost_details": {"upstream_inference_cost": 0.2}}
    assert read("openai_chat", chat("x", usage=usage)).cost == Decimal("0.2123")


# Which models


@pytest.mark.parametrize(
    ("name", "payload"),
    [
        ("anthropic", {"data": [{"type": "model", "id": "a"}, {"id": "b"}], "has_more": False}),
        ("gemini", {"models": [{"name": "models/a", "displayName": "A"}, {"name": "models/b"}]}),
        ("openai_chat", {"object": "list", "data": [{"id": "a"}, {"id": "b"}]}),
        ("openai_chat", [{"id": "a"}, {"id": "b", "type": "chat"}]),
    ],
)
def test_models_are_listed(name: DialectName, payload: Any) -> None:
    assert find_dialect(name).read_models(msgspec.json.encode(payload)) == ["a", "b"]


@cases(
    ("model", "only"),
    [
        *((model, True) for model in ("o1-pro", "o3-pro-2025-06-10", "gpt-5-pro", "gpt-5.2-pro")),
        *(
            (model, True)
            for model in ("gpt-5.5-pro-2026-04-23", "gpt-5-codex", "gpt-5.1-codex-max")
        ),
        *((model, True) for model in ("o3-deep-research", "o4-mini-deep-research")),
        *((model, False) for model in ("gpt-5", "gpt-5.6-sol", "gpt-4.1-mini", "o3-mini")),
        ("gpt-5-programmer", False),
    ],
)
def test_models_that_only_responses_serve_are_known_at_openai(model: str, only: bool) -> None:
    openai = PROVIDERS["openai"]
    assert openai.quirks_of(model, openai.base_url).responses is only
    assert openai.quirks_of(model, "http://localhost:4000/v1").responses is False


def test_the_responses_format_can_be_chosen_and_costs_the_same() -> None:
    chosen = PROVIDERS["openai-responses"]
    assert chosen.dialect == "openai_responses"
    assert chosen.key_variables == PROVIDERS["openai"].key_variables
    usage = Usage(input=1000, output=1000)
    cost = providers.price("openai-responses/gpt-4.1", usage)
    assert cost is not None
    assert cost == providers.price("openai/gpt-4.1", usage)
    assert providers.window("openai-responses/gpt-4.1") == providers.window("openai/gpt-4.1")
