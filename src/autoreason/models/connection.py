"""Why a connection failed, in plain words: no addresses, no line numbers of somebody's source."""

from __future__ import annotations

import os
from ipaddress import ip_address
from urllib.parse import urlsplit


def is_exposed(url: str) -> bool:
    """Whether what is sent there could be read on the way."""
    return urlsplit(url).scheme == "http" and not is_loopback(url)


def is_loopback(url: str) -> bool:
    """Whether a server is on this machine, so that nobody is on the way."""
    host = urlsplit(url).hostname or ""
    try:
        address = ip_address(host)
    except ValueError:
        return host == "localhost"
    return address.is_loopback or address.is_unspecified


def said_of(error: Exception) -> str:
    """What happened, in the system's words or in the error's own."""
    cause = getattr(error, "certificate_error", None) or getattr(error, "os_error", None)
    said = _plainly(cause) if isinstance(cause, OSError) else str(error)
    return said.rstrip(". ") or type(error).__name__


def _plainly(cause: OSError) -> str:
    import socket
    import ssl

    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {cause.verify_message}"
    if isinstance(cause, ssl.SSLError):
        reason = getattr(cause, "reason", None) or cause.strerror or "unknown"
        return f"no secure connection: {reason.replace('_', ' ').lower()}"
    if isinstance(cause, socket.gaierror) or not cause.errno:
        return cause.strerror or str(cause)
    return os.strerror(cause.errno)
