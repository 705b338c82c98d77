"""Moments as people type them: a date, a time, or how long ago."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

import click

_AGO = re.compile(r"(\d{1,6})\s*(m|min|h|d|w)")
_UNITS = {"m": "minutes", "min": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class Moment(click.ParamType[datetime]):
    """`2026-11-15`, `2026-11-15 14:30`, or `30d`, `2w`, `12h` ago."""

    name = "when"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        """The moment, in the time of this machine."""
        if isinstance(value, datetime):
            return value
        ago = _AGO.fullmatch(value.strip())
        try:
            if ago:
                return datetime.now().astimezone() - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
            return datetime.fromisoformat(value.strip()).astimezone()
        except (ValueError, OverflowError):
            self.fail(
                f"{value!r} is no moment; write a date as 2026-11-15, or how long ago as 30d, 2w or 12h",
                param,
                ctx,
            )


def when(moment: datetime) -> str:
    """A moment on this machine's clock, as short as it can be."""
    here, now = moment.astimezone(), datetime.now().astimezone()
    if here.date() == now.date():
        return f"today {here:%H:%M}"
    return f"{here:%d %b %H:%M}" if here.year == now.year else f"{here:%d %b %Y}"
