"""HTTP that never hangs, never leaks a key, and says what went wrong by kind."""

from __future__ import annotations

import asyncio
import logging
import re
import ssl
from codecs import BOM_UTF8
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from aiohttp import ClientConnectorCertificateError
from aiohttp.client_reqrep import ConnectionKey
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.server import answer
from tests.conftest import NetworkReached
from tests.models.asking import request
from tests.models.fake_provider import Answer, FakeProvider, fake_provider, provider
from tests.patience import PATIENCE

from autoreason.errors import CallFailed, Failure, InvalidInput
from autoreason.models.layers import RetryPolicy
from autoreason.models.pool import ModelPool
from autoreason.models.providers import Secret
from autoreason.models.transport import (
    ErrorEvent,
    HttpCall,
    SseParser,
    Timeouts,
    Transport,
    UnstreamedBody,
    _redirected,
    _unreachable,
)
from autoreason.run.refine import refine

LOGGED_KEY = "sk-quux-7731"
BRIEF = "Describe gulls over Zanzibar harbour."
QUOTED = f"cannot serve {BRIEF!r} with the key {LOGGED_KEY}"
KEYS = r"[a-z]+(/(\d+|[a-z]+))*"
URL = r"http://127\.0\.0\.1:\d+/v1/(chat/completions|models)"
LINES = re.compile(
    rf"{KEYS} \(attempt \d+\): POST {URL}"
    rf"|GET {URL}"
    rf"|({KEYS} \(attempt \d+\): )?(status \d+|no answer) in \d+\.\d\d s"
    rf"|{KEYS} again in \d+\.\d s: (rate limit|overloaded|connection)(, status \d+)?"
    r"|acme/fake-large: at most \d+ at once now: (rate limit|overloaded), status \d+"
)


def mind(body: Any) -> Answer:
    """What the echo model would say; it has an event loop of its own for that, and so a thread."""
    with ThreadPoolExecutor() as thread:
        return Answer(text=thread.submit(answer, body).result() if body else "")


async def test_a_run_shows_each_request_and_none_of_its_texts(
    provider: FakeProvider,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("ACME_API_KEY", LOGGED_KEY)
    monkeypatch.setattr(RetryPolicy, "wait", lambda *_: 0.01)
    provider.minded = mind
    refused = {"error": {"message": QUOTED}}
    provider.will(
        Answer(),  # which models there are
        Answer(status=503, body=refused),
        Answer(status=429, body=refused),
        Answer(drop=True),
    )
    caplog.set_level(logging.DEBUG, "autoreason")
    result = await refine.aio(
        BRIEF,
        "acme/fake-large",
        base_url=provider.openai,
        passes=1,
        journal=tmp_path / "journal.db",
    )
    assert (result.status, result.passes) == ("capped", 1)
    lines = [each.getMessage() for each in caplog.records if each.name == "autoreason"]
    assert [line for line in lines if not LINES.fullmatch(line)] == []
    sent = [line for line in lines if "POST" in line or "GET" in line]
    answered = [line for line in lines if re.search(r"(status \d+|no answer) in ", line)]
    assert len(sent) == len(answered) == len(provider.requests)
    assert sum("draft/try/0 (attempt" in line for line in sent) == 4
    assert [each.split(": ")[-1] for each in lines if " again in " in each] == [
        "overloaded, status 503",
        "rate limit, status 429",
        "connection",
    ]
    assert any(LOGGED_KEY in str(each.headers) for each in provider.requests)


async def test_a_program_that_wants_no_log_sees_none(capfd: pytest.CaptureFixture[str]) -> None:
    await ModelPool().model("echo/echo").ask(request())
    assert capfd.readouterr() == ("", "")
    handlers = logging.getLogger("autoreason").handlers
    assert any(isinstance(each, logging.NullHandler) for each in handlers)


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


# Time


@pytest.mark.parametrize(
    ("answer", "streamed", "transport", "message"),
    [
        (Answer(delay=30), False, {"total": 0.5}, r"no whole reply within 0\.5 seconds"),
        (Answer(delay=30), True, {"first_byte": 0.5}, r"nothing came for 0\.5 seconds"),
        (Answer(stall_after=0), True, {"first_byte": 2}, "nothing came for 2 seconds"),
        (Answer(stall_after=2), True, {"stall": 0.2}, r"nothing came for 0\.2 seconds"),
    ],
    indirect=["transport"],
)
async def test_a_reply_that_is_late_begins_late_or_goes_silent_is_a_timeout(
    provider: FakeProvider, transport: Transport, answer: Answer, streamed: bool, message: str
) -> None:
    provider.will(answer)
    call = call_to(provider, stream=streamed)
    with pytest.raises(CallFailed, match=f"acme took too long: {message}") as caught:
        await (payloads(transport, call) if streamed else transport.fetch(call))
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
    assert "acme cannot be reached at 127.0.0.1:9 (" in str(caught.value)
    assert "check its base URL" in str(caught.value)
    assert caught.value.failure is Failure.CONNECTION


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


async def test_the_environments_proxy_is_used_but_for_addresses_kept_from_it(
    provider: FakeProvider, transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", provider.url)
    monkeypatch.delenv("no_proxy", raising=False)
    call = HttpCall(who="acme", url="http://far.example/v1/chat/completions", body=b"{}")
    await transport.fetch(call)
    assert provider.requests[0].headers["host"] == "far.example"
    monkeypatch.setenv("no_proxy", "far.example")
    with pytest.raises(NetworkReached):
        await transport.fetch(HttpCall(who="acme", url="http://far.example/v1/models"))
    assert len(provider.requests) == 1


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


# Errors on the way

OK = b"HTTP/1.1 200 OK\r\n"
ANSWERS = {
    "ssh": b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
    "json": b'{"error":\n "no"}\n',
    "brotli": OK + b"content-encoding: br\r\ncontent-length: 3\r\n\r\nabc",
    "gzip": OK + b"content-encoding: gzip\r\ncontent-length: 3\r\n\r\nabc",
    "short": OK + b"content-length: 30\r\n\r\nabc",
    "huge": OK + b"x: " + b"a" * 200_000 + b"\r\ncontent-length: 2\r\n\r\n{}",
    "nothing": b"",
}


@asynccontextmanager
async def server(answer: bytes) -> AsyncIterator[str]:
    """Something that listens, says this to everybody and hangs up; by host and port."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(answer)
        if answer:
            # What is still unread would turn the hanging up into a reset.
            await reader.read(65_536)
        writer.close()

    listening = await asyncio.start_server(handle, "127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    finally:
        listening.close()


async def failed(transport: Transport, url: str) -> CallFailed:
    with pytest.raises(CallFailed) as caught:
        await transport.fetch(HttpCall(who="acme", url=url))
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    ("scheme", "answer", "failure", "message"),
    [
        ("http", "ssh", Failure.NO_ACCESS, "acme cannot be reached at {at} (the answer is not"),
        ("http", "json", Failure.NO_ACCESS, "acme cannot be reached at {at} (the answer is not"),
        ("http", "brotli", Failure.NO_ACCESS, "acme cannot be reached at {at} (the answer is not"),
        ("http", "huge", Failure.NO_ACCESS, "acme cannot be reached at {at} (the answer is not"),
        ("http", "nothing", Failure.CONNECTION, "acme cannot be reached at {at} (Server discon"),
        ("http", "gzip", Failure.BROKEN_REPLY, "acme broke off in the middle of a reply"),
        ("http", "short", Failure.BROKEN_REPLY, "acme broke off in the middle of a reply"),
        ("https", "json", Failure.NO_ACCESS, "acme cannot be reached at {at} ("),
        ("https", "nothing", Failure.CONNECTION, "acme cannot be reached at {at} ("),
    ],
)
async def test_an_answer_no_one_can_use_is_named_by_its_kind(
    transport: Transport, scheme: str, answer: str, failure: Failure, message: str
) -> None:
    async with server(ANSWERS[answer]) as at:
        found = await failed(transport, f"{scheme}://{at}/v1")
    assert str(found).startswith(message.format(at=at))
    assert (found.failure, found.status) == (failure, None)


@pytest.mark.parametrize(
    ("scheme", "status", "failure"),
    [
        ("https", 407, Failure.NO_ACCESS),
        ("http", 407, Failure.NO_ACCESS),
        ("https", 403, Failure.NO_ACCESS),
        ("https", 502, Failure.CONNECTION),
    ],
)
async def test_the_answer_of_a_proxy_is_not_reported_as_the_provider_s(
    monkeypatch: pytest.MonkeyPatch,
    transport: Transport,
    scheme: str,
    status: int,
    failure: Failure,
) -> None:
    monkeypatch.delenv("no_proxy", raising=False)
    async with server(b"HTTP/1.1 %d No\r\ncontent-length: 0\r\n\r\n" % status) as at:
        monkeypatch.setenv(f"{scheme}_proxy", f"http://bob:hunter2@{at}")
        found = await failed(transport, f"{scheme}://far.example/v1/models")
    reported = f"acme cannot be reached at far.example through the proxy at {at} (the proxy"
    assert str(found).startswith(reported)
    assert "NO_PROXY" in str(found)
    assert "hunter2" not in str(found)
    assert (found.failure, found.status) == (failure, None)


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("https://bob:pw@sso.example/in?t=1#x", "https://sso.example/in"),
        ("/v1/models/", "http://h.example/v1/models/"),
        ("http://[", "nowhere"),
    ],
)
def test_a_redirect_says_where_it_points_and_what_to_do(location: str, shown: str) -> None:
    found = _redirected(HttpCall(who="acme", url="http://h.example/v1/models"), 301, location)
    fix = "keys do not follow redirects, so correct its base URL"
    assert str(found) == f"acme answered 301 and points to {shown}; {fix}"


HOST = cast("ConnectionKey", SimpleNamespace(host="far.example", port=443, ssl=True, is_ssl=True))


def test_a_certificate_no_one_trusts_is_named_with_the_remedy() -> None:
    cause = ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED] (_ssl.c:1006)")
    cause.reason = "CERTIFICATE_VERIFY_FAILED"
    error = ClientConnectorCertificateError(HOST, cause)
    found = _unreachable(HttpCall(who="acme", url="https://far.example/v1"), None, error)
    assert str(found).startswith("acme cannot be reached at far.example (")
    assert "CERTIFICATE_VERIFY_FAILED" in str(found)
    assert "SSL_CERT_FILE" in str(found)
    assert found.failure is Failure.NO_ACCESS
