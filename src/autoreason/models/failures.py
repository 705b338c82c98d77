"""Why a call failed: a provider's error, in any format, as a `Failure`, and how long it asks us to wait."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import msgspec
from msgspec import Struct

from autoreason.errors import CallFailed, Failure


def retry_after(
    headers: Mapping[str, str], stated: float | None, now: datetime | None = None
) -> float | None:
    """Seconds to wait before asking again, or None where the provider does not state it."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after", "").strip()
    wait = _number(text)
    if wait is None and text:
        try:
            moment = parsedate_to_datetime(text)
        except ValueError:
            return stated
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        wait = max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())
    return stated if wait is None else wait


def _number(text: str | None) -> float | None:
    """Digits only: `float` would also take `nan` and `inf`."""
    text = (text or "").strip()
    return float(text) if re.fullmatch(r"\d+(\.\d+)?", text, re.ASCII) else None


Hide = Callable[[str], str]
"""Removes the key from a text before it is shown."""

_MAX_MESSAGE = 300

_STATUS_OF_WORD = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "api_error": 500,
    "server_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""Within a stream the HTTP status was sent before, so the error's type is used for it."""

_NO_CREDIT = frozenset(
    {
        *("insufficient_quota", "insufficient_credits", "insufficient_balance", "credit_limit"),
        *("billing_error", "billing_not_active", "billing_hard_limit_reached", "payment_required"),
    }
)
_BAD_KEY = frozenset({"invalid_api_key", "authentication_error", "api_key_invalid"})
_ABOUT_KEY = re.compile(r"\b(api|access|auth\w*)[ _-]?(key|token)|credential|unauthori[sz]ed", re.I)
_PAGE = "web_page"
_HTML = re.compile(r"\s*<(!doctype|html|head|body)\b", re.I)
_TITLE = re.compile(r"<title[^>]*>([^<]+)", re.I)
_BAD_JSON = "json_validate_failed"
"""The model did not keep to the schema, so asking again may help."""
_REFUSED = frozenset(
    {
        *("content_filter", "content_policy_violation", "invalid_prompt", "flagged"),
        *("bio_policy", "misalignment_policy_violation"),
    }
)
_RETRY = {"true": True, "false": False}

_ANTHROPIC_NO_CREDIT = "Your credit balance is too low to access the Anthropic API."
"""Anthropic types this as an ordinary invalid request; its fixed first sentence is all there is."""

_OF_STATUS = {
    401: Failure.BAD_KEY,
    402: Failure.NO_CREDIT,
    403: Failure.NO_ACCESS,
    408: Failure.TIMEOUT,
    409: Failure.OVERLOADED,
    429: Failure.RATE_LIMIT,
    504: Failure.TIMEOUT,
}


class ProviderError(Struct, frozen=True, kw_only=True):
    """A provider's error, read from its fields."""

    message: str = ""
    words: frozenset[str] = frozenset()
    """Its own terms for the error: type, code, status and reasons, in lower case."""
    param: str | None = None
    """The parameter at fault, without its prefix."""
    status: int | None = None
    """The HTTP status that an error within a reply claims for itself."""
    wait: float | None = None
    daily: bool = False
    """A day's quota is used up: no wait that a call can make will help."""

    @property
    def refused(self) -> bool:
        """Whether the content was refused, rather than the call."""
        return not self.words.isdisjoint(_REFUSED)


class ErrorReply(Exception):
    """An error that came where a reply should be, under a status that promised success."""

    def __init__(self, provider_error: ProviderError) -> None:
        super().__init__(provider_error.message)
        self.provider_error = provider_error


class Refused(CallFailed):
    """A provider answered with an error, which is kept to learn from."""

    def __init__(
        self, failure: Failure, message: str, *, provider_error: ProviderError, **more: Any
    ) -> None:
        super().__init__(failure, message, **more)
        self.provider_error = provider_error


def refusal(
    who: str, status: int, headers: Mapping[str, str], provider_error: ProviderError, hide: Hide
) -> Refused:
    if status < 300:
        known = [_STATUS_OF_WORD[each] for each in provider_error.words if each in _STATUS_OF_WORD]
        status = provider_error.status or max(known, default=500)
    message = " ".join(hide(provider_error.message).split()) or "no reason given"
    if len(message) > _MAX_MESSAGE:
        message = message[: _MAX_MESSAGE - 1] + "…"
    return Refused(
        _kind(status, provider_error),
        f"{who} answered {status}: {message}",
        provider_error=provider_error,
        status=status,
        retry_after=retry_after(headers, provider_error.wait),
        retry=False if provider_error.daily else _RETRY.get(headers.get("x-should-retry", "")),
    )


def read_error(body: bytes) -> ProviderError:
    """Understand an error body; anything at all is allowed to be in it."""
    body = body.removeprefix(BOM_UTF8)
    try:
        content = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        text = body.decode("utf-8", "replace")
        if not _HTML.match(text):
            return ProviderError(message=text)
        # Its source would not help a reader.
        title = _TITLE.search(text)
        message = f"a web page, {title[1].strip()!r}" if title else "a web page without a title"
        return ProviderError(message=message, words=frozenset({_PAGE}))
    return read_error_value(content)


def read_error_value(content: Any) -> ProviderError:
    if isinstance(content, list):
        content = content[0] if content else {}
    if not isinstance(content, dict):
        return ProviderError(message=str(content))
    error = content.get("error")
    fields: dict[str, Any] = {**content, **error} if isinstance(error, dict) else content
    message = error if isinstance(error, str) else fields.get("message")
    faults = list(_faults(fields))
    if not isinstance(message, str):
        message = "; ".join(f"{loc}: {msg}" for loc, msg, _ in faults)
    param = fields.get("param") if isinstance(fields.get("param"), str) else None
    code = fields.get("code")
    details = [each for each in _list(fields.get("details")) if isinstance(each, dict)]
    provider_error = ProviderError(
        message=message,
        words=frozenset(_words(fields, faults, details)),
        param=param or (faults[0][0] if faults else None),
        status=code if isinstance(code, int) and 400 <= code < 600 else None,
        wait=next(
            filter(None, (_number(str(each.get("retryDelay")).rstrip("s")) for each in details)),
            None,
        ),
        daily=any("PerDay" in str(each.get("violations")) for each in details),
    )
    return _with_upstream(provider_error, fields.get("metadata"))


def _with_upstream(provider_error: ProviderError, metadata: Any) -> ProviderError:
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    if not isinstance(raw, str) or not raw.strip():
        return provider_error
    upstream = read_error(raw.encode("utf-8", "replace"))
    # The account behind a router is the router's, so its key and its credit are none of the user's.
    return msgspec.structs.replace(
        provider_error,
        message=": ".join(filter(None, (provider_error.message, upstream.message))),
        words=provider_error.words | (upstream.words - _NO_CREDIT - _BAD_KEY),
        param=provider_error.param or upstream.param,
    )


def _faults(fields: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """The (place, message, kind) of each fault, where a server lists them as Pydantic does."""
    message = fields.get("message")
    nested = message.get("detail") if isinstance(message, dict) else message
    for each in [*_list(fields.get("detail")), *_list(nested)]:
        if isinstance(each, dict) and _list(each.get("loc")):
            place = str(each["loc"][-1])
            yield place, str(each.get("msg", "")), str(each.get("type", ""))


def _words(
    fields: dict[str, Any], faults: list[tuple[str, str, str]], details: list[dict[str, Any]]
) -> Iterator[str]:
    reasons = [each.get("reason") for each in details]
    kinds = [kind for _, _, kind in faults]
    for word in (fields.get("type"), fields.get("code"), fields.get("status"), *reasons, *kinds):
        if isinstance(word, str) and word:
            yield word.lower()
    metadata = fields.get("metadata")
    if isinstance(metadata, dict) and "flagged_input" in metadata:
        yield "flagged"


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _kind(status: int, provider_error: ProviderError) -> Failure:
    words = provider_error.words
    if not words.isdisjoint(_NO_CREDIT) or provider_error.message.startswith(_ANTHROPIC_NO_CREDIT):
        return Failure.NO_CREDIT
    if provider_error.refused:
        return Failure.BAD_REQUEST
    # Whether the key is forbidden something, rather than the place or the network.
    about_key = _PAGE not in words and _ABOUT_KEY.search(provider_error.message) is not None
    if not words.isdisjoint(_BAD_KEY) or (status == 403 and about_key):
        return Failure.BAD_KEY
    if _BAD_JSON in words:
        return Failure.BROKEN_REPLY
    if status in _OF_STATUS:
        return _OF_STATUS[status]
    return Failure.OVERLOADED if status >= 500 else Failure.BAD_REQUEST
