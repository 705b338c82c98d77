"""How servers of one wire format differ, known beforehand or learned from their errors."""

from __future__ import annotations

import re
from typing import NamedTuple

from msgspec import Struct

from autoreason.exchange import Request
from autoreason.models.failures import ProviderError, Refused

_UNSUPPORTED = frozenset(
    {"unsupported_parameter", "unsupported_value", "unknown_parameter", "extra_forbidden"}
)
_OUT_OF_RANGE = ("_max_value", "_min_value")
_ONLY_RESPONSES = "v1/responses"


class Quirks(Struct, frozen=True, kw_only=True):
    """What to do differently for one model."""

    no_temperature: bool = False
    no_seed: bool = False
    random_seed: bool = False
    """Mistral's: the seed is called `random_seed`."""
    no_schema: bool = False
    """It supports no schema: ask in plain words."""
    no_stream: bool = False
    """It answers in one piece only."""
    no_stream_options: bool = False
    no_system: bool = False
    """It takes no system message: it is sent as the user's."""
    no_effort: bool = False
    no_thinking: bool = False
    """Anthropic's: its thinking cannot be switched on or off, though its effort may be set."""
    responses: bool = False
    """OpenAI's: it is served in the responses format only."""
    completion_tokens: bool = False
    """The limit is called `max_completion_tokens`, not `max_tokens`."""
    tokens_settled: bool = False
    """Which of the two it wants was learned; not to be swapped back."""
    cache_key: bool = False
    """It takes `prompt_cache_key`."""
    require_schema: bool = False
    """A router that drops a schema silently unless it is marked as required."""


class _Lesson(NamedTuple):
    """An error that teaches a quirk, by the names of parameters or by a pattern of its message."""

    quirk: str
    names: tuple[str, ...]
    pattern: str = r"(?!)"


_LESSONS = (
    _Lesson("no_temperature", ("temperature",)),
    _Lesson("no_seed", ("seed", "random_seed")),
    _Lesson("no_stream_options", ("stream_options",)),
    _Lesson(
        "no_stream",
        ("stream",),
        r"verified to stream|stream(ing)? (is )?not (supported|allowed|enabled)|not support stream",
    ),
    _Lesson("no_thinking", ("thinking",), r"adaptive thinking"),
    _Lesson(
        "no_effort",
        (
            *("reasoning_effort", "output_config.effort", "effort", "reasoning"),
            *("thinkingConfig", "thinking_config", "thinkingLevel", "thinking_level"),
            *("thinkingBudget", "thinking_budget"),
        ),
        r"thinking (level|budget|config)|effort parameter|reasoning effort",
    ),
    _Lesson(
        "no_schema",
        (
            *("response_format", "json_schema", "output_config", "output_format"),
            *("responseJsonSchema", "response_json_schema"),
            *("responseMimeType", "response_mime_type", "text.format"),
        ),
        r"output format|structured output|json mode",
    ),
    _Lesson("no_effort", ("output_config",)),
    _Lesson(
        "no_system",
        ("systemInstruction", "system_instruction"),
        r"(developer|system) (instruction|role|message|prompt)s?( is| are)? not (enabled|supported)",
    ),
)
"""In the order in which an error that names several is understood."""


def learn(quirks: Quirks, refused: Refused, request: Request, streamed: bool) -> dict[str, bool]:
    """The quirks to change before asking again; none if the error teaches nothing new."""
    provider_error = refused.provider_error
    sent = _relevant_quirks(request, streamed)
    if refused.status == 404 and quirks.require_schema and not quirks.no_schema:
        # No provider behind the router supports it; an unknown model will fail again.
        return {"no_schema": True} if "no_schema" in sent else {}
    if (
        not quirks.responses
        and _ONLY_RESPONSES in provider_error.message
        and refused.status in (400, 404)
    ):
        return {"responses": True}
    if refused.status not in (400, 422):
        return {}
    for lesson in _LESSONS:
        new = lesson.quirk in sent and not getattr(quirks, lesson.quirk)
        if new and _at_fault(provider_error, lesson):
            return {lesson.quirk: True}
    if not quirks.tokens_settled and _other_limit_wanted(quirks, provider_error):
        return {"completion_tokens": not quirks.completion_tokens, "tokens_settled": True}
    return {}


def _relevant_quirks(request: Request, streamed: bool) -> set[str]:
    """The quirks that would have changed this request."""
    changed = {
        "no_temperature": request.temperature is not None,
        "no_seed": request.seed is not None,
        "no_schema": request.schema is not None,
        "no_stream": streamed,
        "no_stream_options": streamed,
        "no_system": any(each.speaker == "system" for each in request.messages),
        "no_effort": request.effort is not None,
        "no_thinking": request.effort is not None,
    }
    return {name for name, would in changed.items() if would}


def _at_fault(provider_error: ProviderError, lesson: _Lesson) -> bool:
    """Whether the server objects to one of these parameters, not to its value being too high."""
    if any(word.endswith(_OUT_OF_RANGE) for word in provider_error.words):
        return False
    if provider_error.param:
        parts = re.split(r"[./\[\]]", provider_error.param)
        inside = tuple(f"{name}." for name in lesson.names)
        return not set(parts).isdisjoint(lesson.names) or f"{provider_error.param}.".startswith(
            inside
        )
    mentioned = any(_mentions(name, provider_error.message) for name in lesson.names)
    return mentioned or re.search(lesson.pattern, provider_error.message, re.IGNORECASE) is not None


def _other_limit_wanted(quirks: Quirks, provider_error: ProviderError) -> bool:
    sent, other = "max_tokens", "max_completion_tokens"
    if quirks.completion_tokens:
        sent, other = other, sent
    unsupported = provider_error.param == sent and not provider_error.words.isdisjoint(_UNSUPPORTED)
    return unsupported or _mentions(other, provider_error.message)


def _mentions(name: str, message: str) -> bool:
    """Whether a message names a parameter; one that is an English word must be quoted or assigned."""
    word = rf"(?<!\w){re.escape(name)}(?!\w)"
    if name.isalpha() and name.islower():
        word = rf"(?:^|['\"`]|invalid ){name}(?!\w)|(?<!\w){name}\s*="
    return re.search(word, message) is not None
