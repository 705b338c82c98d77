"""How servers of one wire format differ, known beforehand or learned from their complaints."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

from autoreason.exchange import Request
from autoreason.models.failures import Refused, Told

_SCHEMA_NAMES = (
    "response_format",
    "json_schema",
    "output_config",
    "responseJsonSchema",
    "response_json_schema",
    "responseMimeType",
    "response_mime_type",
)
_UNSUPPORTED = frozenset(
    {"unsupported_parameter", "unsupported_value", "unknown_parameter", "extra_forbidden"}
)
_OUT_OF_RANGE = ("_max_value", "_min_value")


class Quirks(Struct, frozen=True, kw_only=True):
    """What to do differently for one model."""

    no_temperature: bool = False
    no_schema: bool = False
    """It cannot be held to a schema: ask in plain words."""
    no_stream_options: bool = False
    completion_tokens: bool = False
    """The limit is called `max_completion_tokens`, not `max_tokens`."""
    tokens_settled: bool = False
    """Which of the two it wants was learned; not to be swapped back."""
    cache_key: bool = False
    """It takes `prompt_cache_key`."""
    require_schema: bool = False
    """A router that drops a schema in silence unless told that it is a must."""


def learn(quirks: Quirks, refused: Refused, request: Request, streamed: bool) -> dict[str, bool]:
    """The quirks to change before asking again; none if the complaint teaches nothing new."""
    told = refused.told
    held = request.schema is not None and not quirks.no_schema
    if refused.status == 404 and held and quirks.require_schema:
        # Nobody behind the router honours it; if it is the model that is unknown, it says so again.
        return {"no_schema": True}
    if refused.status not in (400, 422):
        return {}
    warm = request.temperature is not None and not quirks.no_temperature
    if warm and _at_fault(told, ("temperature",)):
        return {"no_temperature": True}
    if held and _at_fault(told, _SCHEMA_NAMES):
        return {"no_schema": True}
    if streamed and not quirks.no_stream_options and _at_fault(told, ("stream_options",)):
        return {"no_stream_options": True}
    if not quirks.tokens_settled and _other_limit_wanted(quirks, told):
        return {"completion_tokens": not quirks.completion_tokens, "tokens_settled": True}
    return {}


def _at_fault(told: Told, names: Iterable[str]) -> bool:
    """Whether the server objects to one of these parameters, not to its value being too high."""
    if any(word.endswith(_OUT_OF_RANGE) for word in told.words):
        return False
    if told.param:
        return not set(re.split(r"[./\[\]]", told.param)).isdisjoint(names)
    return any(_named(name, told.message) for name in names)


def _other_limit_wanted(quirks: Quirks, told: Told) -> bool:
    sent, other = "max_tokens", "max_completion_tokens"
    if quirks.completion_tokens:
        sent, other = other, sent
    unsupported = told.param == sent and not told.words.isdisjoint(_UNSUPPORTED)
    return unsupported or _named(other, told.message)


def _named(name: str, message: str) -> bool:
    """Whether a message names a parameter; an English word must be quoted or come first."""
    word = rf"(?<!\w){name}(?!\w)"
    if name.isalpha() and name.islower():
        word = rf"['\"`]{name}['\"`]|^{name}(?!\w)"
    return re.search(word, message) is not None
