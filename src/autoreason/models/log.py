"""What goes over the wire and why it went again, for the logger `autoreason`: never a key, never a word of a text.

A provider's own words are left out too: they may repeat what it was sent.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from urllib.parse import urlsplit

from autoreason.errors import CallFailed

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
    """An address without the parts that may contain a secret."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def kind_of(failed: CallFailed) -> str:
    """Why a call failed, in our words only."""
    kind = failed.failure.value.replace("_", " ")
    return f"{kind}, status {failed.status}" if failed.status else kind
