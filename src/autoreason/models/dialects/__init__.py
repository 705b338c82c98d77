"""The wire formats: a request as each provider expects it, and its answer as a `Reply`. Pure, no I/O."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from autoreason.models.dialects.base import Dialect

DialectName = Literal["anthropic", "gemini", "openai_chat", "openai_responses"]


def find_dialect(name: DialectName) -> Dialect:
    """The wire format of that name, which is loaded when a model is first asked in it."""
    dialect: Dialect = import_module(f"{__name__}.{name}").DIALECT
    return dialect
