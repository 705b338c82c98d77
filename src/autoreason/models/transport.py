"""HTTP: one pool of connections, time-outs that fit language models, failures by kind."""

from __future__ import annotations

import asyncio
import math
import time
from codecs import BOM_UTF8
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from msgspec import Struct

from autoreason.errors import CallFailed, Failure, InvalidInput
from autoreason.models.api_keys import Secret
from autoreason.models.connection import (
    PROXY_LOGIN,
    Route,
    connection_message,
    is_loopback,
    no_answer,
    proxy_refused,
    redirected,
)
from autoreason.models.failures import read_error, refusal
from autoreason.models.log import LOG, current_call, redact_url
from autoreason.models.sse import SseParser

if TYPE_CHECKING:
    # Importing aiohttp takes a third of a second, so it waits for the first call.
    from aiohttp import ClientResponse, ClientSession


_LINGER = 0.25
"""Seconds that the end of a body may come after its end mark, so that the connection can serve again."""
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
    """The provider, as errors name it."""
    url: str
    headers: Mapping[str, str | Secret] = {}
    body: bytes | None = None
    """JSON, unless the headers say otherwise; without it the call is a GET."""
    method: str = ""
    """Where it is another one."""

    def hide(self, text: str) -> str:
        """The text without the keys that this call carries."""
        for value in self.headers.values():
            if isinstance(value, Secret):
                text = value.hide(text)
        return text


class Transport:
    """Sends calls over shared connections; every failure is a `CallFailed`."""

    def __init__(self, timeouts: Timeouts | None = None) -> None:
        self._timeouts = timeouts or Timeouts()
        self._session: ClientSession | None = None
        self._proxies: dict[str, str | None] = {}

    async def fetch(self, call: HttpCall) -> bytes:
        """The body of a successful answer."""
        from aiohttp import ClientError

        limit = self._timeouts.total
        try:
            async with asyncio.timeout(limit):
                response = await self._send(call)
                return (await response.read()).removeprefix(BOM_UTF8)
        except TimeoutError:
            raise _late(call, f"no whole reply within {limit:g} seconds") from None
        except ClientError as error:
            raise _cut(call, error) from None

    async def stream(self, call: HttpCall) -> AsyncGenerator[bytes, None]:
        """The data of each server-sent event of a successful answer."""
        events = SseParser()
        async with aclosing(self._pieces(call)) as pieces:
            async for piece in pieces:
                for data in events.feed(piece):
                    yield data
        for data in events.end():
            yield data

    async def lines(self, call: HttpCall) -> AsyncGenerator[bytes, None]:
        """Each line of a successful answer that is not blank."""
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
        """The body of a successful answer as it comes."""
        from aiohttp import ClientError

        try:
            async with asyncio.timeout(self._timeouts.first_byte):
                response = await self._send(call)
        except TimeoutError:
            raise _late(call, f"no reply within {self._timeouts.first_byte:g} seconds") from None
        watch = _Watch(response, self._timeouts)
        try:
            while received := await watch.next():
                yield received
        except GeneratorExit:
            await watch.linger()
            raise
        except ClientError as error:
            if watch.silent:
                raise _late(call, f"nothing came for {watch.limit:g} seconds") from None
            raise _cut(call, error) from None
        finally:
            watch.stop()
            # Gives the connection back after the last byte, and drops it before.
            response.release() if response.content.is_eof() else response.close()

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _send(self, call: HttpCall) -> ClientResponse:
        """The answer, once its head is here and promises success."""
        from aiohttp import ClientError

        session = self._session or self._open()
        route = Route(call.who, call.url, self._proxy(call.url))
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
                proxy=route.proxy,
                # A key must not follow to wherever a server points.
                allow_redirects=False,
            )
        except ClientError as error:
            LOG.debug("%sno answer in %.2f s", current_call(), time.perf_counter() - started)
            raise no_answer(route, error) from None
        seconds = time.perf_counter() - started
        LOG.debug("%sstatus %d in %.2f s", current_call(), response.status, seconds)
        if response.status >= 300:
            if response.status in _REDIRECTS and (to := response.headers.get("location")):
                response.release()
                raise redirected(route, response.status, call.hide(to))
            if response.status == PROXY_LOGIN and route.proxy:
                response.release()
                raise proxy_refused(route, response.status)
            raise refusal(
                call.who,
                response.status,
                response.headers,
                read_error(await _rest(response)),
                call.hide,
            )
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

    def _proxy(self, url: str) -> str | None:
        """The environment's proxy, looked up once: aiohttp's own way reads files on every call."""
        if url not in self._proxies:
            self._proxies[url] = _proxy_for(url)
        return self._proxies[url]


class _Watch:
    """Reads a response, and closes it when it goes silent; costs next to nothing until then."""

    def __init__(self, response: ClientResponse, timeouts: Timeouts) -> None:
        self.silent = False
        self.limit = timeouts.first_byte
        self._stall = timeouts.stall
        self._response = response
        self._loop = asyncio.get_running_loop()
        self._since = math.inf
        """When the wait began; each piece ends it, for a slow reader is not a silent server."""
        self._timer = self._loop.call_later(self.limit, self._look)

    async def next(self) -> bytes:
        """The next piece of the body; empty at the end."""
        self._since = self._loop.time()
        received = await self._read()
        self._since = math.inf
        if self.limit != self._stall:
            self.limit = self._stall
            self._timer.cancel()
            self._timer = self._loop.call_later(self.limit, self._look)
        return received

    async def linger(self) -> None:
        """Read the body to its end, if that comes at once."""
        from aiohttp import ClientError

        with suppress(ClientError, TimeoutError):
            async with asyncio.timeout(_LINGER):
                while await self._response.content.readany():
                    pass

    async def _read(self) -> bytes:
        from aiohttp import ClientError

        content = self._response.content
        try:
            return await content.readany()
        except ClientError:
            # Once a connection is lost, aiohttp reports only that, although more had arrived before.
            received = content._read_nowait(-1)
            if not received:
                raise
            return received

    def stop(self) -> None:
        """It is over."""
        self._timer.cancel()

    def _look(self) -> None:
        now = self._loop.time()
        due = min(self._since, now) + self.limit
        if now < due:
            self._timer = self._loop.call_at(due, self._look)
            return
        self.silent = True
        self._response.close()


async def _rest(response: ClientResponse) -> bytes:
    """The body of an error; empty where the connection is lost."""
    from aiohttp import ClientError

    try:
        return await response.read()
    except ClientError:
        return b""


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
            f"The environment asks for a {urlsplit(proxy).scheme} proxy; only HTTP proxies are"
            " supported. Set HTTPS_PROXY to one, or add the provider to NO_PROXY."
        )
    return proxy


def _late(call: HttpCall, what: str) -> CallFailed:
    return CallFailed(Failure.TIMEOUT, f"{call.who} took too long: {what}")


def _cut(call: HttpCall, error: Exception) -> CallFailed:
    return CallFailed(
        Failure.BROKEN_REPLY,
        f"{call.who} broke off in the middle of a reply ({connection_message(error)})",
    )
