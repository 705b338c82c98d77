"""What went wrong on the way to a server is said in plain words, in one line, and of whom it is true."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import cast

import pytest
from aiohttp import ClientConnectorCertificateError, ClientConnectorError
from aiohttp.client_reqrep import ConnectionKey

from autoreason.errors import CallFailed, Failure
from autoreason.models.connection import Route, connection_message, no_answer, redirected
from autoreason.models.open import check
from autoreason.models.transport import HttpCall, Timeouts, Transport

HOST = cast("ConnectionKey", SimpleNamespace(host="far.example", port=443, ssl=True, is_ssl=True))
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


async def failed(url: str) -> CallFailed:
    """How a call to it fails."""
    transport = Transport(Timeouts(connect=20, total=20))
    try:
        with pytest.raises(CallFailed) as caught:
            await transport.fetch(HttpCall(who="acme", url=url))
    finally:
        await transport.close()
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    ("answer", "failure", "message"),
    [
        ("ssh", Failure.NO_ACCESS, "acme at {at} answered, but not in HTTP; check its address"),
        ("json", Failure.NO_ACCESS, "acme at {at} answered, but not in HTTP; check its address"),
        (
            "brotli",
            Failure.NO_ACCESS,
            "acme at {at} answered in a compression that was not asked for; switch that off there",
        ),
        (
            "huge",
            Failure.NO_ACCESS,
            "acme at {at} answered with larger headers than any API sends; check its address",
        ),
        ("nothing", Failure.CONNECTION, "acme at {at} closed the connection without an answer"),
        (
            "gzip",
            Failure.BROKEN_REPLY,
            "acme broke off in the middle of a reply (its compression is damaged)",
        ),
        (
            "short",
            Failure.BROKEN_REPLY,
            "acme broke off in the middle of a reply (the connection ended early)",
        ),
    ],
)
async def test_an_answer_no_one_can_use_is_not_called_out_of_reach(
    answer: str, failure: Failure, message: str
) -> None:
    async with server(ANSWERS[answer]) as at:
        found = await failed(f"http://{at}/v1")
    assert str(found) == message.format(at=at)
    assert (found.failure, found.status) == (failure, None)


async def test_headers_larger_than_usual_are_read() -> None:
    answer = OK + b"x: " + b"a" * 60_000 + b"\r\ncontent-length: 2\r\n\r\n{}"
    async with server(answer) as at:
        transport = Transport()
        assert await transport.fetch(HttpCall(who="acme", url=f"http://{at}/v1")) == b"{}"
        await transport.close()


@pytest.mark.parametrize(
    ("answer", "failure", "message"),
    [
        ("json", Failure.NO_ACCESS, "wrong version number"),
        ("nothing", Failure.CONNECTION, "it closed the connection"),
    ],
)
async def test_https_to_a_server_without_it_says_so(
    answer: str, failure: Failure, message: str
) -> None:
    async with server(ANSWERS[answer]) as at:
        found = await failed(f"https://{at}/v1")
    hint = "if it speaks plain http, write http:// in its base URL"
    assert str(found) == f"no secure connection to acme at {at}: {message}; {hint}"
    assert found.failure is failure


@pytest.mark.parametrize(
    ("status", "failure", "fix"),
    [
        (407, Failure.NO_ACCESS, "put its user and password into HTTPS_PROXY"),
        (403, Failure.NO_ACCESS, "have it allow that host, or add the host to NO_PROXY"),
        (502, Failure.CONNECTION, ""),
    ],
)
async def test_the_answer_of_a_proxy_is_not_reported_as_the_provider_s(
    monkeypatch: pytest.MonkeyPatch, status: int, failure: Failure, fix: str
) -> None:
    monkeypatch.delenv("no_proxy", raising=False)
    async with server(b"HTTP/1.1 %d No\r\ncontent-length: 0\r\n\r\n" % status) as at:
        monkeypatch.setenv("https_proxy", f"http://bob:hunter2@{at}")
        found = await failed("https://far.example/v1/models")
    reported = f"the proxy at {at} answered {status} and did not connect to acme at far.example"
    assert str(found).startswith(reported)
    assert fix in str(found)
    assert "hunter2" not in str(found)
    assert (found.failure, found.status) == (failure, None)


async def test_a_proxy_that_wants_a_password_for_plain_http_is_named_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("no_proxy", raising=False)
    async with server(b"HTTP/1.1 407 No\r\ncontent-length: 0\r\n\r\n") as at:
        monkeypatch.setenv("http_proxy", f"http://{at}")
        found = await failed("http://far.example/v1/models")
    assert str(found).startswith(f"the proxy at {at} answered 407")


async def test_a_proxy_that_is_away_is_not_reported_as_the_provider_being_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    found = await failed("https://far.example/v1/models")
    assert str(found) == (
        "acme cannot be reached: its proxy at 127.0.0.1:9 is away (Connection refused)"
    )


@pytest.mark.parametrize(
    ("location", "shown", "fix"),
    [
        ("https://h.example/v1/models", "https://h.example/v1/models", "write https:// in its"),
        ("https://bob:pw@sso.example/in?t=1#x", "https://sso.example/in", "correct its base URL"),
        ("/v1/models/", "http://h.example/v1/models/", "correct its base URL"),
        ("http://[", "nowhere", "correct its base URL"),
        ("//other.example/a\r\nb", "http://other.example/ab", "correct its base URL"),
    ],
)
def test_a_redirect_says_where_it_points_and_what_to_do(
    location: str, shown: str, fix: str
) -> None:
    found = redirected(Route("acme", "http://h.example/v1/models"), 301, location)
    assert str(found).startswith(f"acme answered 301 and points to {shown}; ")
    assert fix in str(found)
    assert "\n" not in str(found)


@pytest.mark.parametrize(
    "answer",
    [
        ANSWERS["ssh"],
        ANSWERS["nothing"],
        b"HTTP/1.1 301 Moved\r\nlocation: https://far.example/v1\r\ncontent-length: 0\r\n\r\n",
    ],
)
async def test_a_check_of_such_a_server_fails(answer: bytes) -> None:
    async with server(answer) as at:
        found = await check("acme/x", base_url=f"http://{at}/v1")
    assert (found.reachable, found.key_accepted) == (False, None)
    assert found.problem


@pytest.mark.parametrize(
    ("cause", "message"),
    [
        (ConnectionRefusedError(111, "Connect call failed ('::1', 9)"), "Connection refused"),
        (TimeoutError(110, "Connect call failed ('10.0.0.1', 80)"), "Connection timed out"),
        (socket.gaierror(-2, "Name or service not known"), "Name or service not known"),
        (OSError("Multiple exceptions:\none, two"), "Multiple exceptions: one, two"),
    ],
)
def test_a_failed_connection_is_reported_without_its_tail(cause: OSError, message: str) -> None:
    assert connection_message(ClientConnectorError(HOST, cause)) == message


def test_a_certificate_no_one_trusts_is_named_with_the_remedy() -> None:
    cause = ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED] (_ssl.c:1006)")
    cause.verify_message = "self-signed certificate"
    error = ClientConnectorCertificateError(HOST, cause)
    found = no_answer(Route("acme", "https://far.example/v1"), error)
    assert str(found) == (
        "no secure connection to acme at far.example: its certificate is not trusted, "
        "self-signed certificate; name the certificates you trust in SSL_CERT_FILE"
    )
    assert found.failure is Failure.NO_ACCESS


def test_other_errors_speak_for_themselves() -> None:
    assert connection_message(ValueError("no\nno")) == "no no"
    assert connection_message(ValueError()) == "ValueError"
