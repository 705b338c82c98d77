"""Connection errors in plain words: one line, without memory addresses or source lines of libraries."""

from __future__ import annotations

import os
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

from autoreason.errors import CallFailed, Failure

PROXY_LOGIN = 407
_MAX_LENGTH = 200
_ODD_ANSWERS = {
    "content-encoding": "answered in a compression that was not asked for; switch that off there",
    "Got more than": "answered with larger headers than any API sends; check its address",
}
"""What the HTTP parser's messages begin with or contain, and what they mean."""


class Route(NamedTuple):
    """The way to a server."""

    who: str
    """The provider, as errors name it."""
    url: str
    proxy: str | None = None

    def __str__(self) -> str:
        through = f" (through the proxy at {_host(self.proxy)})" if self.proxy else ""
        return f"{_host(self.url)}{through}"


def is_exposed(url: str) -> bool:
    """Whether what is sent there could be read on the way."""
    return urlsplit(url).scheme == "http" and not is_loopback(url)


def is_loopback(url: str) -> bool:
    """Whether a server is on this machine, so that the network is not involved."""
    host = urlsplit(url).hostname or ""
    try:
        address = ip_address(host)
    except ValueError:
        return host == "localhost"
    return address.is_loopback or address.is_unspecified


def no_answer(route: Route, error: Exception) -> CallFailed:
    """The failure of a call that got no answer, or none that can be understood."""
    from aiohttp import (
        ClientConnectorError,
        ClientHttpProxyError,
        ClientProxyConnectionError,
        ClientResponseError,
        InvalidURL,
        ServerTimeoutError,
    )

    who, message = route.who, connection_message(error)
    match error:
        case ClientHttpProxyError():
            return proxy_refused(route, error.status)
        case ClientProxyConnectionError():
            what = f"{who} cannot be reached: its proxy at {_host(route.proxy)} is away ({message})"
        case ClientResponseError():
            odd = (reason for word, reason in _ODD_ANSWERS.items() if word in error.message)
            answered = next(odd, "answered, but not in HTTP; check its address")
            return CallFailed(Failure.NO_ACCESS, f"{who} at {route} {answered}")
        case ClientConnectorError() if _after_connecting(error.os_error):
            return _insecure(route, error.os_error)
        case ClientConnectorError() | ServerTimeoutError() | InvalidURL():
            what = f"{who} cannot be reached at {route} ({message})"
        case _:
            what = f"{who} at {route} closed the connection without an answer"
    return CallFailed(Failure.CONNECTION, what)


def proxy_refused(route: Route, status: int) -> CallFailed:
    """A proxy answered in the provider's place."""
    proxy, host = _host(route.proxy), urlsplit(route.url).hostname
    what = f"the proxy at {proxy} answered {status} and did not connect to {route.who} at {host}"
    if status == PROXY_LOGIN:
        what += "; put its user and password into HTTPS_PROXY, as http://user:password@host:port"
    elif status < 500:
        what += "; have it allow that host, or add the host to NO_PROXY"
    return CallFailed(Failure.NO_ACCESS if status < 500 else Failure.CONNECTION, what)


def redirected(route: Route, status: int, location: str) -> CallFailed:
    """A redirect; never followed, because the key would be sent along."""
    here = urlsplit(route.url)
    try:
        there = urlsplit(urljoin(route.url, location))
    except ValueError:
        there = urlsplit("")
    # What comes before the host or after the path may be a secret.
    target = there._replace(query="", fragment="", netloc=_host(there.geturl())).geturl()
    message = f"{route.who} answered {status} and points to {_one_line(target)[:_MAX_LENGTH] or 'nowhere'}"
    other_server = (there.scheme, there.netloc) != (here.scheme, here.netloc)
    if here.scheme == "http" and there.scheme == "https" and here.hostname == there.hostname:
        message += "; write https:// in its base URL"
    else:
        message += "; keys do not follow redirects, so correct its base URL"
    failure = Failure.NO_ACCESS if other_server else Failure.BAD_REQUEST
    return CallFailed(failure, message, status=status)


def connection_message(error: Exception) -> str:
    """The message of a connection error: the system's, or the error's."""
    from aiohttp import ClientPayloadError

    cause = getattr(error, "os_error", None)
    message = _one_line(_system_message(cause) if isinstance(cause, OSError) else str(error))
    if isinstance(error, ClientPayloadError):
        damaged = "content-encoding" in message
        return "its compression is damaged" if damaged else "the connection ended early"
    return message.rstrip(". ") or type(error).__name__


def _after_connecting(cause: OSError) -> bool:
    """Whether the connection was accepted and TLS failed."""
    import ssl

    return isinstance(cause, ssl.SSLError | ConnectionResetError | ConnectionAbortedError)


def _insecure(route: Route, cause: OSError) -> CallFailed:
    import ssl

    what = f"no secure connection to {route.who} at {route}"
    if isinstance(cause, ssl.SSLCertVerificationError):
        fix = "name the certificates you trust in SSL_CERT_FILE"
        message = f"its certificate is not trusted, {cause.verify_message}; {fix}"
        return CallFailed(Failure.NO_ACCESS, f"{what}: {message}")
    reason = getattr(cause, "reason", None) or "it closed the connection"
    what = f"{what}: {reason.replace('_', ' ').lower()}"
    # A server that answers TLS with something else will not change.
    plain = reason == "WRONG_VERSION_NUMBER"
    if plain or urlsplit(route.url).port not in (None, 443):
        what += "; if it speaks plain http, write http:// in its base URL"
    return CallFailed(Failure.NO_ACCESS if plain else Failure.CONNECTION, what)


def _system_message(cause: OSError) -> str:
    import socket

    if isinstance(cause, socket.gaierror) or not cause.errno:
        return cause.strerror or str(cause)
    return os.strerror(cause.errno)


def _host(url: str | None) -> str:
    return urlsplit(url or "").netloc.rpartition("@")[2]


def _one_line(text: str) -> str:
    return " ".join(text.split())
