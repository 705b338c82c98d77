"""The models that README, help and messages name as examples: in service, and with a known price."""

from __future__ import annotations

from typing import TypeVar

MODEL = "anthropic/claude-sonnet-5-5"
OTHER = "openai/gpt-6-sol"
CHEAP = "openai/gpt-6-luna"
LOCAL = "ollama/llama3.1"
ALL = (MODEL, OTHER, CHEAP, LOCAL)

Documented = TypeVar("Documented")


def fill_examples(text: str) -> str:
    """A text with the examples in place of {model}, {other}, {cheap} and {local}."""
    return text.format(model=MODEL, other=OTHER, cheap=CHEAP, local=LOCAL)


def with_examples(command: Documented) -> Documented:
    """The same command, whose docstring names the examples."""
    if command.__doc__:
        command.__doc__ = fill_examples(command.__doc__)
    return command
