"""HTTP: one pool of connections, time-outs that fit language models, failures by kind."""

from __future__ import annotations

import asyncio
import logging
import time
from codecs import BOM_UTF8
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing, contextmanager, suppress
from contextvars import ContextVar
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from msgspec import Struct

from autoreason.errors import CallFailed, Failure, InvalidInput
from autoreason.models.failures import read_error, refusal
from autoreason.models.providers import Secret

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession


LOG = logging.getLogger("autoreason")
# Here and not in the package's first module: help is printed without loading `logging`.
LOG.addHandler(logging.NullHandler())

_CALL: ContextVar[str] = ContextVar("call", default="")


@contextmanager
def attempt(key: str, number: int) -> Iterator[None]:
    """What is sent meanwhile is sent for this request, for the `number`th time."""
    token = _CALL.set(f"{key} (attempt {number}): ")
    try:
        yield
    finally:
        _CALL.reset(token)


def current_call() -> str:
    """The request under way, to begin a line with; empty outside of one."""
    return _CALL.get()


def redact_url(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def kind_of(failed: CallFailed) -> str:
    """Why a call failed, in our words only."""
    kind = failed.failure.value.replace("_", " ")
    return f"{kind}, status {failed.status}" if failed.status else kind


_PROXY_LOGIN = 407
_MAX_LENGTH = 200
_BAD_TLS = ("CERTIFICATE_VERIFY_FAILED", "WRONG_VERSION_NUMBER")


def is_loopback(url: str) -> bool:
    """Whether a server is on this machine, so that the network is not involved."""
    host = urlsplit(url).hostname or ""
    try:
        address = ip_address(host)
    except ValueError:
        return host == "localhost"
    return address.is_loopback or address.is_unspecified


def _unreachable(call: HttpCall, proxy: str | None, why: str | Exception) -> CallFailed:
    """The failure of a call that got no answer, or one that no API gives, with what to check."""
    from aiohttp import ClientHttpProxyError, ClientResponseError

    # What no waiting changes: an answer that is not HTTP, a certificate, a server without TLS.
    lasting = isinstance(why, str | ClientResponseError)
    if isinstance(why, ClientHttpProxyError):
        lasting = why.status < 500
    elif getattr(getattr(why, "os_error", None), "reason", "") in _BAD_TLS:
        lasting = True
    through = f" through the proxy at {_host(proxy)}" if proxy else ""
    return CallFailed(
        Failure.NO_ACCESS if lasting else Failure.CONNECTION,
        f"{call.who} cannot be reached at {_host(call.url)}{through} ({_in_a_line(why)}); check its base URL, "
        "HTTPS_PROXY (http://user:password@host:port), NO_PROXY, and SSL_CERT_FILE for certificates of your own",
    )


def _redirected(call: HttpCall, status: int, location: str) -> CallFailed:
    """A redirect; never followed, because the key would be sent along."""
    try:
        target = redact_url(urljoin(call.url, location))[:_MAX_LENGTH]
    except ValueError:
        target = "nowhere"
    return CallFailed(
        Failure.NO_ACCESS,
        f"{call.who} answered {status} and points to {target}; "
        "keys do not follow redirects, so correct its base URL",
        status=status,
    )


def _in_a_line(error: str | Exception) -> str:
    from aiohttp import ClientHttpProxyError, ClientResponseError

    message = str(getattr(error, "os_error", error))
    if isinstance(error, ClientHttpProxyError):
        message = f"the proxy answered {error.status}"
    elif isinstance(error, ClientResponseError):
        # After a colon it quotes what came, which may be a secret.
        message = f"the answer is not that of an API, {error.message.partition(':')[0]}"
    return " ".join(message.split()).rstrip(".: ")[:_MAX_LENGTH] or type(error).__name__


def _host(url: str | None) -> str:
    return urlsplit(url or "").netloc.rpartition("@")[2]


class UnstreamedBody(bytes):
    """A body that is not a stream: the server answered in one piece, though asked for many."""


class ErrorEvent(bytes):
    """The data of an event that the server marks as an error."""


class SseParser:
    """Cuts a byte stream into events, wherever the network happened to cut it."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: bytes | None = None
        self._failed = False
        self._has_started = False
        self._half_end = False
        """The last byte ended a line; a line feed that follows belongs to the same end."""
        self._whole: list[bytes] | None = None
        """Pieces of a body that is JSON, and so no stream."""

    def feed(self, received: bytes) -> list[bytes]:
        received = self._rest + received
        if not self._has_started:
            received = self._begin(received)
        if self._whole is not None:
            self._whole.append(received)
            self._rest = b""
            return []
        lines = self._lines(received)
        self._rest = lines.pop()
        events: list[bytes] = []
        for line in lines:
            self._read_line(line, events)
        return events

    def end(self) -> list[bytes]:
        """What the stream left unfinished; some servers forget the last blank line."""
        if self._whole is not None:
            return [UnstreamedBody(b"".join(self._whole))]
        events: list[bytes] = []
        if self._rest:
            self._read_line(self._rest, events)
            self._rest = b""
        self._read_line(b"", events)
        return events

    def _begin(self, received: bytes) -> bytes:
        """Distinguish a stream from a plain body by its first character, which begins no field of an event."""
        received = received.removeprefix(BOM_UTF8)
        bare = received.lstrip()
        # Part of a byte order mark may be all that has come so far.
        self._has_started = bool(bare) and not BOM_UTF8.startswith(bare)
        if bare.startswith((b"{", b"[")):
            self._whole = []
        return received

    def _lines(self, received: bytes) -> list[bytes]:
        if received and self._half_end:
            received = received.removeprefix(b"\n")
            self._half_end = False
        if b"\r" in received:
            self._half_end = received.endswith(b"\r")
            received = received.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return received.split(b"\n")

    def _read_line(self, line: bytes, events: list[bytes]) -> None:
        if line.startswith(b"data:"):
            data = line[6:] if line[5:6] == b" " else line[5:]
            self._data = data if self._data is None else self._data + b"\n" + data
        elif not line:
            if self._data is not None:
                events.append(ErrorEvent(self._data) if self._failed else self._data)
            self._data = None
            self._failed = False
        elif line.startswith(b"event:"):
            self._failed = line[6:].strip() == b"error"
        # Anything else is a comment, or a field whose content the data repeats.


_LINGER = 0.25
"""Seconds that the end of a body may come after its end mark."""
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MAX_HEADER = 65_536


class Timeouts(Struct, frozen=True, kw_only=True):
    """How long to wait for what, in seconds."""

    connect: float = 10.0
    total: float = 600.0
    """For a whole reply that is not streamed."""
    first_byte: float = 300.0
    """Until a stream begins: reasoning models are silent for minutes."""
    stall: float = 60.0
    """Between two pieces of a stream."""


class HttpCall(Struct, frozen=True, kw_only=True):
    """One HTTP request."""

    who: str
    url: str
    headers: Mapping[str, str | Secret] = {}
    body: bytes | None = None
    """JSON, unless the headers say otherwise; without it the call is a GET."""
    method: str = ""
    """Where it is another one."""

    def hide(self, text: str) -> str:
        for value in self.headers.values():
            if isinstance(value, Secret):
                text = value.hide(text)
        return text


class Transport:
    """Sends calls over shared connections; every failure is a `CallFailed`."""

    def __init__(self, timeouts: Timeouts | None = None) -> None:
        self._timeouts = timeouts or Timeouts()
        self._session: ClientSession | None = None

    async def fetch(self, call: HttpCall) -> bytes:
        from aiohttp import ClientError

        limit = self._timeouts.total
        try:
            async with asyncio.timeout(limit):
                response = await self._send(call)
                return (await response.read()).removeprefix(BOM_UTF8)
        except TimeoutError:
            raise _interrupted(call, f"no whole reply within {limit:g} seconds") from None
        except ClientError as error:
            raise _interrupted(call, error) from None

    async def stream(self, call: HttpCall) -> AsyncGenerator[bytes, None]:
        events = SseParser()
        async with aclosing(self._pieces(call)) as pieces:
            async for piece in pieces:
                for data in events.feed(piece):
                    yield data
        for data in events.end():
            yield data

    async def lines(self, call: HttpCall) -> AsyncGenerator[bytes, None]:
        rest = b""
        async with aclosing(self._pieces(call)) as pieces:
            async for piece in pieces:
                *whole, rest = (rest + piece).split(b"\n")
                for line in whole:
                    if line.strip():
                        yield line
        if rest.strip():
            yield rest

    async def _pieces(self, call: HttpCall) -> AsyncGenerator[bytes, None]:
        from aiohttp import ClientError

        now, limit = asyncio.get_running_loop().time, self._timeouts.first_byte
        response: ClientResponse | None = None
        try:
            async with asyncio.timeout(limit) as timer:
                response = await self._send(call)
                while True:
                    timer.reschedule(now() + limit)
                    received = await _read_some(response)
                    # A slow reader is not a silent server.
                    timer.reschedule(None)
                    if not received:
                        return
                    limit = self._timeouts.stall
                    yield received
        except GeneratorExit:
            # Read to the end, if that comes at once, so that the connection can serve again.
            with suppress(ClientError, TimeoutError):
                async with asyncio.timeout(_LINGER):
                    while response and await response.content.readany():
                        pass
            raise
        except TimeoutError:
            raise _interrupted(call, f"nothing came for {limit:g} seconds") from None
        except ClientError as error:
            raise _interrupted(call, error) from None
        finally:
            if response:
                # Gives the connection back after the last byte, and drops it before.
                response.release() if response.content.is_eof() else response.close()

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _send(self, call: HttpCall) -> ClientResponse:
        """The answer, once its head is here and promises success."""
        from aiohttp import ClientError

        session = self._session or self._open()
        proxy = _proxy_for(call.url)
        headers = {
            name: value.reveal() if isinstance(value, Secret) else value
            for name, value in call.headers.items()
        }
        method = call.method or ("GET" if call.body is None else "POST")
        LOG.debug("%s%s %s", current_call(), method, call.hide(redact_url(call.url)))
        started = time.perf_counter()
        try:
            response = await session.request(
                method,
                call.url,
                data=call.body,
                headers=headers,
                proxy=proxy,
                # A key must not follow to wherever a server points.
                allow_redirects=False,
            )
        except ClientError as error:
            LOG.debug("%sno answer in %.2f s", current_call(), time.perf_counter() - started)
            raise _unreachable(call, proxy, error) from None
        seconds = time.perf_counter() - started
        LOG.debug("%sstatus %d in %.2f s", current_call(), response.status, seconds)
        if response.status >= 300:
            if response.status in _REDIRECTS and (to := response.headers.get("location")):
                response.release()
                raise _redirected(call, response.status, call.hide(to))
            if response.status == _PROXY_LOGIN and proxy:
                response.release()
                raise _unreachable(call, proxy, "the proxy wants a login")
            body = b""
            with suppress(ClientError):
                body = await response.read()
            reported = read_error(body)
            raise refusal(call.who, response.status, response.headers, reported, call.hide)
        return response

    def _open(self) -> ClientSession:
        from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, TCPConnector

        self._session = ClientSession(
            # How many calls run at once is decided by the limiter.
            connector=TCPConnector(limit=0, keepalive_timeout=30),
            timeout=ClientTimeout(total=None, connect=self._timeouts.connect),
            cookie_jar=DummyCookieJar(),
            headers={"content-type": "application/json", "user-agent": "autoreason"},
            # Gateways add long policies and cookies of their own.
            max_field_size=_MAX_HEADER,
        )
        return self._session


async def _read_some(response: ClientResponse) -> bytes:
    """The next piece of a body; empty at its end."""
    from aiohttp import ClientError

    try:
        return await response.content.readany()
    except ClientError:
        # Once a connection is lost, aiohttp reports only that, although more had arrived before.
        received = response.content._read_nowait(-1)
        if not received:
            raise
        return received


def _proxy_for(url: str) -> str | None:
    from urllib.request import getproxies, proxy_bypass

    if is_loopback(url):
        # A remote proxy cannot reach this machine's servers, and must not see their keys.
        return None
    parts = urlsplit(url)
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    if "://" not in proxy:
        proxy = f"http://{proxy}"
    if urlsplit(proxy).scheme not in ("http", "https"):
        raise InvalidInput(
            f"the environment asks for a {urlsplit(proxy).scheme} proxy; only HTTP proxies are"
            " supported. Set HTTPS_PROXY to one, or add the provider to NO_PROXY"
        )
    return proxy


def _interrupted(call: HttpCall, why: str | Exception) -> CallFailed:
    if isinstance(why, str):
        return CallFailed(Failure.TIMEOUT, f"{call.who} took too long: {why}")
    message = f"{call.who} broke off in the middle of a reply ({_in_a_line(why)})"
    return CallFailed(Failure.BROKEN_REPLY, message)
