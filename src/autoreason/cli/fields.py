"""Fields of settings as the command line reads them, so that an option repeats none of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

import click

from autoreason.errors import InvalidInput
from autoreason.fields import FieldDoc

if TYPE_CHECKING:
    from decimal import Decimal

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}


class Money(click.ParamType["Decimal"]):
    """A sum in US dollars, with or without the sign."""

    name = "usd"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Decimal:
        """Exact, as typed."""
        from decimal import Decimal, InvalidOperation

        try:
            amount = Decimal(str(value).strip().removeprefix("$"))
        except InvalidOperation:
            amount = Decimal("NaN")
        if not amount.is_finite():
            self.fail(f"{value!r} is not a sum of money; write it like 0.50", param, ctx)
        return amount


class Figure(click.ParamType[float]):
    """A number as tables write it: 0.38, 0,38 or 38%."""

    name = "number"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Read it as a cell of its own."""
        from autoreason.knowledge.columns import guess_number_format

        try:
            return float(value)
        except ValueError:
            pass
        try:
            found = guess_number_format("", [value], commas=False).read(value)
        except ValueError:
            found = None
        if found is None:
            self.fail(f"{value!r} is no number; write it like 0.38 or 38%", param, ctx)
        return found


class Duration(click.ParamType[float]):
    """A time such as 90s, 30m or 2h, in seconds."""

    name = "time"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Read the number and its unit; seconds where there is none."""
        if isinstance(value, int | float):
            return float(value)
        found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([smh]?)", str(value).strip())
        if not found:
            self.fail(f"{value!r} is no time; write 90s, 30m or 2h", param, ctx)
        return float(found[1]) * _UNITS[found[2]]


class Number(click.ParamType[float]):
    """A number from `low` to `high`, refused out of range as a setting is; whole where `low` is."""

    name = "n"

    def __init__(self, low: float, high: float | None = None) -> None:
        self.low, self.high = low, high

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number, of the type that `low` has."""
        number: float = click.types.convert_type(type(self.low)).convert(value, param, ctx)
        # In this form, because NaN is in no range.
        if not self.low <= number <= (number if self.high is None else self.high):
            name = max(param.opts, key=len) if param else "it"
            span = f"{self.low} or more"
            if self.high is not None:
                span = f"a number from {self.low} to {self.high}"
            raise InvalidInput(f"{name} is {value}; give {span}")
        return number


def parameter_type(doc: FieldDoc) -> click.ParamType[Any]:
    """The click type of a field; of a union or a list the first member's."""
    from decimal import Decimal

    kind = doc.alternatives[0]
    if get_origin(kind) is Literal:
        return click.Choice(get_args(kind))
    if kind is Decimal:
        return Money()
    return click.types.convert_type(kind if kind in (int, float) else str)


def show_value(value: Any) -> str:
    """A value as it is typed; empty where there is none to be named."""
    if value is None or value is False or value in ((), {}):
        return ""
    # In quotes, because a shell would write files.
    return repr(">".join(value)) if isinstance(value, tuple) else str(value)
