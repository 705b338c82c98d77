"""A request to a model, of which a test says no more than it needs."""

from __future__ import annotations

from typing import Any

from autoreason.exchange import Message, Request


def request(address: str = "acme/large", text: str = "Write.", **changes: Any) -> Request:
    """An author's, but for what is changed."""
    usual: dict[str, Any] = {"role": "author", "key": "draft/try/0", "max_tokens": 100}
    usual |= {"messages": (Message("user", text),)}
    return Request(model=address, **usual | changes)
