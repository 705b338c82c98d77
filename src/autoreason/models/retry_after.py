"""How long a provider asks us to wait, in its various formats."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_LIMITED = ("requests", "tokens", "input-tokens", "output-tokens")
_RESETS = (
    *((f"x-ratelimit-remaining-{what}", f"x-ratelimit-reset-{what}") for what in _LIMITED[:2]),
    *(
        (f"anthropic-ratelimit-{what}-remaining", f"anthropic-ratelimit-{what}-reset")
        for what in _LIMITED
    ),
)
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhd])")
_DURATION = re.compile(rf"(?:{_PART.pattern})+")


def retry_after(
    status: int, headers: Mapping[str, str], stated: float | None, now: datetime | None = None
) -> float | None:
    """Seconds to wait before asking again, or None where the provider does not state it."""
    wait = _milliseconds(headers.get("retry-after-ms"))
    if wait is None:
        wait = _wait(headers.get("retry-after"), _number, parsedate_to_datetime, now)
    if wait is None:
        wait = stated
    if wait is None and status == 429:
        wait = _until_reset(headers, now)
    return wait


def duration(text: str | None) -> float | None:
    """`6m0s`, `1.5s`, `250ms` or `12` as seconds."""
    text = (text or "").strip()
    number = _number(text)
    if number is not None:
        return number
    if not _DURATION.fullmatch(text):
        return None
    return sum(float(amount) * _UNITS[unit] for amount, unit in _PART.findall(text))


def _until_reset(headers: Mapping[str, str], now: datetime | None) -> float | None:
    """Until the limit that was hit is lifted; the longest where that one is not known."""
    resets = [
        (headers.get(left), _wait(headers.get(reset), duration, datetime.fromisoformat, now))
        for left, reset in _RESETS
    ]
    waits = [(left, wait) for left, wait in resets if wait is not None]
    spent = [wait for left, wait in waits if left == "0"]
    return max(spent or [wait for _, wait in waits], default=None)


def _milliseconds(text: str | None) -> float | None:
    number = _number(text)
    return None if number is None else number / 1000


def _wait(
    text: str | None,
    read_wait: Callable[[str | None], float | None],
    read_moment: Callable[[str], datetime],
    now: datetime | None,
) -> float | None:
    """A text that says how long to wait, or until when."""
    wait = read_wait(text)
    if wait is not None or not text:
        return wait
    try:
        moment = read_moment(text.strip())
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())


def _number(text: str | None) -> float | None:
    """Digits only: `float` would also take `nan` and `inf`."""
    text = (text or "").strip()
    return float(text) if re.fullmatch(r"\d+(\.\d+)?", text, re.ASCII) else None
