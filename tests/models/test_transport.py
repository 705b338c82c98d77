"""HTTP that never hangs, never leaks a key, and says what went wrong by kind."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from codecs import BOM_UTF8
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import NetworkReached
from tests.models.fake_provider import Answer, FakeProvider, fake_provider, provider
from tests.patience import PATIENCE

from autoreason.errors import CallFailed, Failure, InvalidInput
from autoreason.models.api_keys import Secret
from autoreason.models.failures import read_error, refusal
from autoreason.models.retry_after import duration, retry_after
from autoreason.models.sse import ErrorEvent, SseParser, UnstreamedBody
from autoreason.models.transport import HttpCall, Timeouts, Transport

__all__ = ["provider"]

KEY = "sk-very-secret-0123456789"


@pytest.fixture
async def transport(request: pytest.FixtureRequest) -> AsyncIterator[Transport]:
    """One with patience for a busy machine, but for what a test hurries."""
    patient = dict.fromkeys(("connect", "total", "first_byte", "stall"), PATIENCE)
    made = Transport(Timeouts(**patient | getattr(request, "param", {})))
    yield made
    await made.close()


def hurried(**limits: float) -> pytest.MarkDecorator:
    """A transport with little patience in these matters."""
    return pytest.mark.parametrize("transport", [limits], indirect=True, ids=["hurried"])


def call_to(provider: FakeProvider, *, stream: bool = False) -> HttpCall:
    return HttpCall(
        who="acme",
        url=f"{provider.openai}/chat/completions",
        headers={"authorization": Secret(KEY, "Bearer ")},
        body=msgspec.json.encode({"stream": stream}),
    )


async def payloads(transport: Transport, call: HttpCall) -> list[bytes]:
    async with aclosing(transport.stream(call)) as arriving:
        return [payload async for payload in arriving]


# Server-sent events


@given(st.data())
def test_events_do_not_depend_on_how_the_bytes_are_cut(data: st.DataObject) -> None:
    line = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=20)
    texts = data.draw(st.lists(st.lists(line, min_size=1, max_size=3), max_size=5))
    end = data.draw(st.sampled_from(["\n", "\r\n", "\r"]))
    mark = data.draw(st.sampled_from(["", "\ufeff"]))
    noise = data.draw(st.sampled_from(["", ": keep-alive", "event: ping", "id: 7", "retry: 10"]))
    lines: list[str] = []
    for text in texts:
        lines += [noise] if noise else []
        lines += [f"data: {each}" for each in text] + [""]
    sent = (mark + "".join(each + end for each in lines)).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(sent)), max_size=10)))
    events = SseParser()
    got: list[bytes] = []
    for start, stop in zip([0, *cuts], [*cuts, len(sent)], strict=True):
        got += events.feed(sent[start:stop])
    got += events.end()
    assert got == ["\n".join(text).encode() for text in texts]


@given(st.data())
def test_a_body_that_is_no_stream_comes_whole_at_the_end(data: st.DataObject) -> None:
    mark = data.draw(st.sampled_from([b"", BOM_UTF8]))
    space = data.draw(st.text(" \r\n", max_size=4))
    sent = (
        mark
        + (space + data.draw(st.sampled_from(['{"a":\n\n1}', '[{"a": 1},\n{"b": 2}]']))).encode()
    )
    cuts = sorted(data.draw(st.lists(st.integers(0, len(sent)), max_size=5)))
    events = SseParser()
    for start, stop in zip([0, *cuts], [*cuts, len(sent)], strict=True):
        assert events.feed(sent[start:stop]) == []
    (whole,) = events.end()
    assert isinstance(whole, UnstreamedBody)
    assert whole.strip() == sent.removeprefix(mark).strip()


@given(st.lists(st.sampled_from(["\n", "\r\n", "\r"]), min_size=6, max_size=6), st.integers(0, 40))
def test_every_event_is_given_as_soon_as_its_blank_line_is_here(ends: list[str], cut: int) -> None:
    lines = ["data: 1", "", "event: error", "data: 2", "data: 3", ""]
    # A carriage return before a line feed is one end and not two.
    ends = ["\r\n" if end == "\r" else end for end in ends[:-1]] + ends[-1:]
    sent = "".join(line + end for line, end in zip(lines, ends, strict=True)).encode()
    events = SseParser()
    got = events.feed(sent[:cut]) + events.feed(sent[cut:])
    assert got == [b"1", b"2\n3"]
    assert [type(each) for each in got] == [bytes, ErrorEvent]


def test_a_last_event_without_its_blank_line_still_counts() -> None:
    events = SseParser()
    assert events.feed(b'data:{"a":1}\n\ndata: [DONE]') == [b'{"a":1}']
    assert events.end() == [b"[DONE]"]


# Calls that work


async def test_a_call_sends_what_it_was_given_and_returns_the_body(
    provider: FakeProvider, transport: Transport
) -> None:
    body = await transport.fetch(call_to(provider))
    assert msgspec.json.decode(body)["choices"][0]["message"]["content"] == "An answer."
    (received,) = provider.requests
    assert received.method == "POST"
    assert received.headers["authorization"] == f"Bearer {KEY}"
    assert received.headers["content-type"] == "application/json"


async def test_a_byte_order_mark_is_no_part_of_a_body(
    provider: FakeProvider, transport: Transport
) -> None:
    provider.will(Answer(body=BOM_UTF8 + b"{}"))
    assert await transport.fetch(call_to(provider)) == b"{}"
    assert read_error(BOM_UTF8 + b'{"error": "no"}').message == "no"


async def test_a_stream_gives_each_payload(provider: FakeProvider, transport: Transport) -> None:
    got = await payloads(transport, call_to(provider, stream=True))
    assert got[-1] == b"[DONE]"
    assert len(got) == 8


async def test_a_stream_may_leave_out_its_last_blank_line(
    provider: FakeProvider, transport: Transport
) -> None:
    provider.will(Answer(body=b"data: 1\n\n: still here\n\ndata: 2"))
    assert await payloads(transport, call_to(provider, stream=True)) == [b"1", b"2"]


async def test_connections_are_kept_for_the_next_call(
    provider: FakeProvider, transport: Transport
) -> None:
    for stream in (False, True, False):
        call = call_to(provider, stream=stream)
        await (payloads(transport, call) if stream else transport.fetch(call))
    session = transport._session
    assert session is not None
    assert session.connector is not None
    assert len(session.connector._conns) == 1


async def test_a_stream_that_is_left_early_can_be_followed_by_another_call(
    provider: FakeProvider, transport: Transport
) -> None:
    async with aclosing(transport.stream(call_to(provider, stream=True))) as arriving:
        await anext(arriving)
    assert await transport.fetch(call_to(provider))


async def test_many_calls_run_at_once(provider: FakeProvider, transport: Transport) -> None:
    provider.usual = Answer(delay=0.5)
    started = asyncio.get_running_loop().time()
    await asyncio.gather(*(transport.fetch(call_to(provider)) for _ in range(150)))
    assert asyncio.get_running_loop().time() - started < 150 * 0.5 / 2


def test_nothing_is_imported_before_the_first_call() -> None:
    check = "import sys, autoreason.models.open; sys.exit('aiohttp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


# Time


@hurried(total=0.5)
async def test_a_plain_call_that_takes_too_long_is_a_timeout(
    provider: FakeProvider, transport: Transport
) -> None:
    provider.will(Answer(delay=30))
    with pytest.raises(
        CallFailed, match=r"acme took too long: no whole reply within 0\.5"
    ) as caught:
        await transport.fetch(call_to(provider))
    assert caught.value.failure is Failure.TIMEOUT


@hurried(first_byte=0.5)
async def test_a_stream_that_never_starts_is_a_timeout(
    provider: FakeProvider, transport: Transport
) -> None:
    provider.will(Answer(delay=30))
    with pytest.raises(CallFailed, match=r"no reply within 0\.5 seconds") as caught:
        await payloads(transport, call_to(provider, stream=True))
    assert caught.value.failure is Failure.TIMEOUT


@pytest.mark.parametrize(
    ("stall_after", "transport", "limit"),
    [(0, {"first_byte": 2}, "2"), (2, {"stall": 0.2}, "0.2")],
    indirect=["transport"],
)
async def test_a_stream_that_goes_silent_is_a_timeout(
    provider: FakeProvider, transport: Transport, stall_after: int, limit: str
) -> None:
    provider.will(Answer(stall_after=stall_after))
    with pytest.raises(CallFailed, match=f"nothing came for {limit} seconds") as caught:
        await payloads(transport, call_to(provider, stream=True))
    assert caught.value.failure is Failure.TIMEOUT


@hurried(first_byte=2, stall=2)
async def test_a_stream_may_take_longer_in_all_than_it_may_be_silent(
    provider: FakeProvider, transport: Transport
) -> None:
    provider.will(Answer(pace=0.3))
    assert len(await payloads(transport, call_to(provider, stream=True))) == 8


@hurried(stall=0.2)
async def test_a_reader_who_takes_its_time_is_not_a_silent_server(
    provider: FakeProvider, transport: Transport
) -> None:
    received: list[bytes] = []
    async with aclosing(transport.stream(call_to(provider, stream=True))) as arriving:
        async for payload in arriving:
            received.append(payload)
            await asyncio.sleep(0.1)
    assert len(received) == 8


# Broken connections


async def test_a_server_that_is_not_there_cannot_be_reached(transport: Transport) -> None:
    call = HttpCall(who="acme", url="http://127.0.0.1:9/v1/models")
    with pytest.raises(CallFailed) as caught:
        await transport.fetch(call)
    assert str(caught.value) == "acme cannot be reached at 127.0.0.1:9 (Connection refused)"
    assert caught.value.failure is Failure.CONNECTION


async def test_a_connection_dropped_before_the_answer_is_a_connection_error(
    provider: FakeProvider, transport: Transport
) -> None:
    provider.will(Answer(drop=True))
    with pytest.raises(CallFailed) as caught:
        await transport.fetch(call_to(provider))
    assert caught.value.failure is Failure.CONNECTION


async def test_a_stream_cut_in_the_middle_is_a_broken_reply(
    provider: FakeProvider, transport: Transport
) -> None:
    provider.will(Answer(cut_after=3))
    with pytest.raises(CallFailed, match="broke off in the middle") as caught:
        await payloads(transport, call_to(provider, stream=True))
    assert caught.value.failure is Failure.BROKEN_REPLY


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_key_does_not_follow_a_redirect(
    provider: FakeProvider, transport: Transport, status: int
) -> None:
    async with fake_provider() as elsewhere:
        to = {"location": f"{elsewhere.url}/v1"}
        provider.will(Answer(status=status, headers=to), Answer(status=status, headers=to))
        for call in (call_to(provider), HttpCall(who="acme", url=provider.url)):
            with pytest.raises(CallFailed, match=f"answered {status} and points to http") as caught:
                await transport.fetch(call)
            assert caught.value.failure is Failure.NO_ACCESS
    assert len(provider.requests) == 2
    assert elsewhere.requests == []


# Proxies


async def test_the_environments_proxy_is_used(
    provider: FakeProvider, transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", provider.url)
    monkeypatch.delenv("no_proxy", raising=False)
    call = HttpCall(who="acme", url="http://far.example/v1/chat/completions", body=b"{}")
    await transport.fetch(call)
    assert provider.requests[0].headers["host"] == "far.example"


async def test_an_address_can_be_kept_from_the_proxy(
    provider: FakeProvider, transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", provider.url)
    monkeypatch.setenv("no_proxy", "far.example")
    with pytest.raises(NetworkReached):
        await transport.fetch(HttpCall(who="acme", url="http://far.example/v1/models"))
    assert provider.requests == []


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_server_on_this_machine_is_not_asked_through_a_proxy(
    provider: FakeProvider, transport: Transport, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    await transport.fetch(HttpCall(who="acme", url=provider.url.replace("127.0.0.1", host)))
    assert len(provider.requests) == 1


async def test_a_proxy_of_a_kind_we_cannot_use_is_named(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", "socks5://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    with pytest.raises(InvalidInput, match="socks5 proxy"):
        await transport.fetch(HttpCall(who="acme", url="https://far.example/v1/models"))


# Errors by kind

ANTHROPIC_BROKE = {
    "type": "error",
    "error": {
        "type": "invalid_request_error",
        "message": "Your credit balance is too low to access the Anthropic API. Please pay.",
    },
}
GEMINI_KEY = {
    "error": {
        "code": 400,
        "message": "API key not valid. Please pass a valid API key.",
        "status": "INVALID_ARGUMENT",
        "details": [
            {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
        ],
    }
}
OPENAI_QUOTA = {
    "error": {
        "message": "You exceeded your current quota, please check your plan and billing details.",
        "type": "insufficient_quota",
        "param": None,
        "code": "insufficient_quota",
    }
}
REGION = {
    "error": {
        "message": "Country, region, or territory not supported",
        "type": "request_forbidden",
        "code": "unsupported_country_region_territory",
    }
}
BLOCKED = (
    b"<!DOCTYPE html>\n<html><head><title>Access token &amp; cookies | Wall</title></head></html>"
)
GENERATE = {
    "error": {
        "message": "Cannot generate at this rate, billing aside",
        "type": "invalid_request_error",
    }
}


@pytest.mark.parametrize(
    ("status", "body", "failure"),
    [
        (400, {"error": {"message": "no"}}, Failure.BAD_REQUEST),
        (400, GENERATE, Failure.BAD_REQUEST),
        (400, GEMINI_KEY, Failure.BAD_KEY),
        (400, ANTHROPIC_BROKE, Failure.NO_CREDIT),
        (400, {"error": {"message": "no", "code": "json_validate_failed"}}, Failure.BROKEN_REPLY),
        (401, {}, Failure.BAD_KEY),
        (402, {}, Failure.NO_CREDIT),
        (403, {}, Failure.NO_ACCESS),
        (403, REGION, Failure.NO_ACCESS),
        (403, BLOCKED, Failure.NO_ACCESS),
        (403, {"error": {"message": "Missing scopes: model.read"}}, Failure.NO_ACCESS),
        (403, {"error": {"message": "Your API key may not use this model"}}, Failure.BAD_KEY),
        (403, {"error": {"code": "invalid_api_key"}}, Failure.BAD_KEY),
        (404, {}, Failure.BAD_REQUEST),
        (408, {}, Failure.TIMEOUT),
        (409, {}, Failure.OVERLOADED),
        (413, {}, Failure.BAD_REQUEST),
        (429, {}, Failure.RATE_LIMIT),
        (429, OPENAI_QUOTA, Failure.NO_CREDIT),
        (500, {}, Failure.OVERLOADED),
        (502, b"<html>Bad gateway</html>", Failure.OVERLOADED),
        (503, {}, Failure.OVERLOADED),
        (504, {}, Failure.TIMEOUT),
        (529, {"type": "error", "error": {"type": "overloaded_error"}}, Failure.OVERLOADED),
    ],
)
async def test_an_error_status_is_classed_by_its_fields(
    provider: FakeProvider, transport: Transport, status: int, body: Any, failure: Failure
) -> None:
    provider.will(Answer(status=status, body=body), Answer(status=status, body=body))
    for stream in (False, True):
        call = call_to(provider, stream=stream)
        with pytest.raises(CallFailed, match=f"acme answered {status}: ") as caught:
            await (payloads(transport, call) if stream else transport.fetch(call))
        assert (caught.value.failure, caught.value.status) == (failure, status)


@pytest.mark.parametrize(
    ("body", "message", "param"),
    [
        ({"error": {"message": "A.", "param": "temperature"}}, "A.", "temperature"),
        ({"code": "Client specified an invalid argument", "error": "B."}, "B.", None),
        ({"object": "error", "message": "C.", "type": "BadRequestError"}, "C.", None),
        (
            {"detail": [{"loc": ["body", "top"], "msg": "D", "type": "extra_forbidden"}]},
            "top: D",
            "top",
        ),
        (
            {"object": "error", "message": {"detail": [{"loc": ["body", "n"], "msg": "E"}]}},
            "n: E",
            "n",
        ),
        ([{"error": {"message": "F."}}], "F.", None),
        (b"plain words", "plain words", None),
        (BLOCKED, "a web page, 'Access token & cookies | Wall'", None),
        (b"\n<html><h1>Forbidden</h1></html>", "a web page without a title", None),
        (b"<3", "<3", None),
        ([], "", None),
        ("G", "G", None),
        (None, "None", None),
    ],
)
def test_every_shape_of_error_is_understood(body: Any, message: str, param: str | None) -> None:
    reported = read_error(body if isinstance(body, bytes) else msgspec.json.encode(body))
    assert (reported.message, reported.param) == (message, param)


FIELDS = ["error", "message", "detail", "details", "loc", "code", "type", "param", "metadata"]
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(0, 600) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(ANYTHING)
def test_no_error_body_is_too_strange(body: Any) -> None:
    reported = read_error(msgspec.json.encode(body))
    assert refusal("acme", 500, {}, reported, str).failure in Failure


async def test_a_key_never_appears_in_an_error(
    provider: FakeProvider, transport: Transport
) -> None:
    reported = {"error": {"message": "x" * 280 + f" Incorrect API key: {KEY}."}}
    provider.will(Answer(status=401, body=reported))
    with pytest.raises(CallFailed) as caught:
        await transport.fetch(call_to(provider))
    shown = str(caught.value) + repr(caught.value) + repr(call_to(provider))
    assert not any(KEY[at : at + 8] in shown for at in range(len(KEY) - 7))
    assert len(str(caught.value)) < 400


# When to ask again

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("status", "headers", "reported", "wait"),
    [
        (429, {"retry-after": "7"}, None, 7.0),
        (529, {"retry-after": "0.5"}, None, 0.5),
        (429, {"retry-after-ms": "250", "retry-after": "7"}, None, 0.25),
        (503, {"retry-after": "Thu, 01 Jan 2026 00:00:30 GMT"}, None, 30.0),
        (503, {"retry-after": "Wed, 31 Dec 2025 00:00:30 GMT"}, None, 0.0),
        (429, {"retry-after": "soon"}, None, None),
        (429, {"retry-after": "nan"}, None, None),
        (429, {}, 34.5, 34.5),
        (429, {"x-ratelimit-reset-requests": "6m0s"}, None, 360.0),
        (429, {"x-ratelimit-reset-tokens": "1.5s"}, None, 1.5),
        (
            429,
            {
                "x-ratelimit-remaining-requests": "12",
                "x-ratelimit-reset-requests": "6m0s",
                "x-ratelimit-remaining-tokens": "0",
                "x-ratelimit-reset-tokens": "20ms",
            },
            None,
            0.02,
        ),
        (429, {"retry-after": "2", "x-ratelimit-reset-requests": "6m0s"}, None, 2.0),
        (500, {"x-ratelimit-reset-requests": "6m0s"}, None, None),
        (429, {"anthropic-ratelimit-tokens-reset": "2026-01-01T00:00:12Z"}, None, 12.0),
        (
            429,
            {
                "anthropic-ratelimit-requests-remaining": "7",
                "anthropic-ratelimit-requests-reset": "2026-01-01T00:10:00Z",
                "anthropic-ratelimit-output-tokens-remaining": "0",
                "anthropic-ratelimit-output-tokens-reset": "2026-01-01T00:00:05Z",
            },
            None,
            5.0,
        ),
        (429, {"anthropic-ratelimit-tokens-reset": "tomorrow"}, None, None),
        (429, {}, None, None),
    ],
)
def test_the_wait_a_provider_asks_for_is_understood(
    status: int, headers: dict[str, str], reported: float | None, wait: float | None
) -> None:
    assert retry_after(status, headers, reported, NOW) == wait


def test_durations_are_read_and_nonsense_is_not() -> None:
    assert duration("1h2m3.5s") == 3723.5
    assert duration("12") == 12.0
    assert duration("s") is None
    assert duration("3 apples") is None


async def test_geminis_delay_comes_from_its_details(
    provider: FakeProvider, transport: Transport
) -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}]
    error = {"code": 429, "message": "slow", "status": "RESOURCE_EXHAUSTED", "details": details}
    provider.will(Answer(status=429, body={"error": error}))
    with pytest.raises(CallFailed) as caught:
        await transport.fetch(call_to(provider))
    assert (caught.value.failure, caught.value.retry_after) == (Failure.RATE_LIMIT, 34.0)


QUOTA = "GenerateRequestsPer{}PerProjectPerModel-FreeTier"


@pytest.mark.parametrize(("period", "retry"), [("Day", False), ("Minute", None)])
async def test_geminis_quota_for_a_day_is_not_waited_for(
    provider: FakeProvider, transport: Transport, period: str, retry: bool | None
) -> None:
    details = [
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"},
        {
            "@type": "type.googleapis.com/google.rpc.QuotaFailure",
            "violations": [{"quotaId": QUOTA.format(period), "quotaValue": "50"}],
        },
    ]
    error = {"code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED", "details": details}
    provider.will(Answer(status=429, body={"error": error}))
    with pytest.raises(CallFailed) as caught:
        await transport.fetch(call_to(provider))
    assert (caught.value.failure, caught.value.retry) == (Failure.RATE_LIMIT, retry)


@pytest.mark.parametrize(
    ("header", "retry"), [("true", True), ("false", False), ("maybe", None), (None, None)]
)
async def test_a_provider_may_say_whether_to_try_again(
    provider: FakeProvider, transport: Transport, header: str | None, retry: bool | None
) -> None:
    headers = {} if header is None else {"x-should-retry": header}
    provider.will(Answer(status=500, headers=headers))
    with pytest.raises(CallFailed) as caught:
        await transport.fetch(call_to(provider))
    assert caught.value.retry is retry
