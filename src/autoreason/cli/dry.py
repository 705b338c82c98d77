"""`autoreason run --dry-run`: what would be done, without doing any of it."""

from __future__ import annotations

import asyncio
import sys
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import msgspec
from rich.console import Console
from rich.text import Text

from autoreason.cli import ending, words
from autoreason.cli.consoles import stdout_console
from autoreason.errors import InvalidInput
from autoreason.models.budget import require_prices
from autoreason.models.pool import ModelPool
from autoreason.models.prices import rates
from autoreason.run import Estimate, estimate
from autoreason.run.estimate import Span

if TYPE_CHECKING:
    from autoreason.exchange import Request
    from autoreason.prompts import PromptSet
    from autoreason.settings import Settings
    from autoreason.task import Task

_BOOKKEEPING = ("forgiven", "failed_panels", "redrafts")
"""Settings that only a resumed run has a use for."""


def dry_run(task: Task, settings: Settings, prompts: PromptSet, *, as_json: bool) -> int:
    """Print settings, first prompt and estimate; call nothing and write nothing."""
    found = asyncio.run(estimate(task, settings, prompts))
    if as_json:
        ending.print_json(_as_object(task, settings, found))
    else:
        _print(task, settings, found)
    _warn(settings)
    return 0


def _warn(settings: Settings) -> None:
    """Say what would be refused, without reaching for any server."""
    pool = ModelPool(settings.base_url)
    try:
        require_prices(settings.budget, {each: rates(each) for each in settings.models.all()})
        for address in settings.models.all():
            pool.lend(address)
    except InvalidInput as refusal:
        print(f"autoreason: a real run would be refused: {refusal}", file=sys.stderr)


def _as_object(task: Task, settings: Settings, found: Estimate) -> dict[str, Any]:
    spans = {"calls": found.calls, "tokens": found.tokens, "cost": found.cost}
    return {
        "task": task,
        "settings": settings,
        "request": found.request,
        "estimate": {
            name: span and dict(zip(("low", "likely", "high"), span, strict=True))
            for name, span in spans.items()
        },
    }


def _print(task: Task, settings: Settings, found: Estimate) -> None:
    console = stdout_console()
    _heading(console, "Settings")
    ending.print_rows(_settings(task, settings), console)
    if found.request:
        _heading(console, f"First prompt, to the {found.request.role} ({found.request.model})")
        _prompt(console, found.request)
    _heading(console, "Estimate")
    ending.print_rows(
        [
            ("calls", _numbers(found.calls)),
            ("tokens", _numbers(found.tokens)),
            ("cost", _cost(found.cost)),
        ],
        console,
    )
    console.print(Text("\nNothing was called and nothing was written.", style="dim"))


def _settings(task: Task, settings: Settings) -> list[tuple[str, str]]:
    models = settings.models
    rows = [
        ("author", models.author),
        ("critic", models.critic),
        ("synthesis", models.synthesizer),
        ("judges", ", ".join(models.judges)),
        ("contract", " ".join(task.contract.rules()) or "none"),
    ]
    plain = msgspec.structs.asdict(settings)
    for name in ("models", "budget", *_BOOKKEEPING):
        plain.pop(name)
    limits = {
        f"max_{name}": limit for name, limit in msgspec.structs.asdict(settings.budget).items()
    }
    said = [
        f"{name} {_say(value)}" for name, value in (plain | limits).items() if value is not None
    ]
    return [*rows, ("settings", " · ".join(said))]


def _say(value: Any) -> str:
    if isinstance(value, tuple):
        return ">".join(value)
    if isinstance(value, Decimal):
        return words.money(value)
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _prompt(console: Console, request: Request) -> None:
    for message in request.messages:
        console.print(Text(f"── {message.speaker} ──", style="dim"))
        console.print(Text(message.text), soft_wrap=True)


def _span(low: str, likely: str, high: str) -> str:
    return f"{low} to {high}, most likely about {likely}"


def _numbers(span: Span | None) -> str:
    if span is None:
        return "unknown: the strategy does not say"
    return _span(*(f"{number:,}" for number in span))


def _cost(span: tuple[Decimal, Decimal, Decimal] | None) -> str:
    if span is None:
        return "unknown: the price of a model is not known"
    return _span(*map(words.money, span))


def _heading(console: Console, title: str) -> None:
    console.print(Text(f"\n{title}", style="bold"))
