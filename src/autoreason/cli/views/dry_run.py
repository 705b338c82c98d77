"""`autoreason run --dry-run`: what would be done, without doing any of it."""

from __future__ import annotations

import sys
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import msgspec
from rich.console import Console
from rich.text import Text

from autoreason.cli.views import outcome, words
from autoreason.cli.views.console import stdout_console
from autoreason.errors import InvalidInput
from autoreason.models.budget import require_prices
from autoreason.models.pool import ModelPool
from autoreason.models.prices import rates
from autoreason.programs.task import assignments_of
from autoreason.reasoning import reasoning_room
from autoreason.run.estimate import RunEstimate, Span
from autoreason.settings import make_settings

if TYPE_CHECKING:
    from autoreason.exchange import Request
    from autoreason.run.prepared import PreparedRun
    from autoreason.settings import Budget, Models, Settings
    from autoreason.task import Task

"""Settings that only a resumed run has a use for."""
_IN_WORDS = (
    "drafts",
    "max_drafts",
    "k",
    "passes",
    "judges",
    "extra_judges",
    "max_judges",
    "playoff",
    "confirmation",
    "seed",
    "protocol",
)
"""Settings that the plan tells in words."""
_OF_STUDIES = ("strategy", "strategy_options")
_WIDEST_NAME = 20


def dry_run(prepared: PreparedRun, *, as_json: bool, verbose: bool | None = None) -> int:
    """Print estimate, settings and first prompt; call nothing and write nothing.

    Only a command that can tell every setting says whether it should.
    """
    task, settings, found = prepared.task, prepared.settings, prepared.estimate()
    if as_json:
        outcome.print_json(_as_object(task, settings, found))
    else:
        _print(task, settings, found, verbose=verbose)
    _warn(settings)
    return 0


def _warn(settings: Settings) -> None:
    """Say what would be refused, without reaching for any server."""
    try:
        pool = ModelPool.of(settings)
        require_prices(settings.budget, {each: rates(each) for each in settings.models.all()})
        for address in settings.models.all():
            pool.lend(address)
    except InvalidInput as refusal:
        print(f"autoreason: a real run would be refused: {refusal}", file=sys.stderr)


def _as_object(task: Task, settings: Settings, found: RunEstimate) -> dict[str, Any]:
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


def _print(task: Task, settings: Settings, found: RunEstimate, *, verbose: bool | None) -> None:
    console = stdout_console()
    _heading(console, "Estimate")
    outcome.print_rows(
        [
            ("calls", _numbers(found.calls)),
            ("tokens", _numbers(found.tokens)),
            ("cost", _cost(found, settings)),
            *_reasoning(found, settings),
        ],
        console,
    )
    _heading(console, "Settings")
    outcome.print_rows(_plan(task, settings), console)
    if verbose:
        _heading(console, "Every setting")
        for name, said in _every(settings).items():
            console.print(Text.assemble((f"{name:<{_WIDEST_NAME}}", "dim"), said), soft_wrap=True)
    if found.request:
        _heading(console, f"First prompt, to the {found.request.role} ({found.request.model})")
        _prompt(console, found.request)
    more = " --verbose shows every setting." if verbose is False else ""
    console.print(Text(f"\nNothing was called and nothing was written.{more}", style="dim"))


def _reasoning(found: RunEstimate, settings: Settings) -> list[tuple[str, str]]:
    """That what models reason is not in the estimate, where they do."""
    models = settings.models
    asked = [(address, settings.judge_effort) for address in models.judges]
    if models.author:
        asked += [(models.author, settings.author_effort), (models.critic, settings.critic_effort)]
    room = max(reasoning_room(address, effort) for address, effort in asked)
    if not room or not found.tokens:
        return []
    most = f"up to {room:,} tokens a call come on top and are charged as output"
    return [("reasoning", f"not counted: {most}")]


def _plan(task: Task, settings: Settings) -> list[tuple[str, str]]:
    """What would be done, as far as a person decides it."""
    tournament = [
        ("drafts", _drafts(task, settings)),
        ("panel", _panel(settings)),
        ("ends", _ends(settings)),
    ]
    rows = [
        *_models(settings.models),
        _problems(task, settings)
        if assignments_of(task)
        else ("contract", " ".join(task.contract.rules()) or "none"),
        *(tournament if settings.strategy == "autoreason" else ()),
        *(_compared(settings) if settings.strategy == "compare" else ()),
        ("limits", _limits(settings.budget)),
        ("held", _held(settings)),
    ]
    changed = _changed(settings)
    return [*rows, ("changed", " · ".join(changed))] if changed else rows


def _problems(task: Task, settings: Settings) -> tuple[str, str]:
    """What is to be solved, by whom and how often."""
    from autoreason.jobs.job import read_options
    from autoreason.plugins import short
    from autoreason.programs.solve import SolveTerms

    options = read_options(settings, SolveTerms)
    said = [
        words.count(sum(not each.remark for each in assignments_of(task)), "problem"),
        " and ".join(short(name) for name in options.strategies),
        "once each" if options.repeats == 1 else f"{options.repeats} times each",
        f"at most {words.count(options.calls, 'call')} a time",
    ]
    left_out = sum(bool(each.remark) for each in assignments_of(task)) + len(options.broken)
    return "solves", "; ".join(said) + (f"; {left_out} left out" if left_out else "")


def _compared(settings: Settings) -> list[tuple[str, str]]:
    """Which strategies, how often, at what, and who judges what they deliver."""
    from autoreason.jobs.job import read_options
    from autoreason.plugins import short
    from autoreason.studies.compare.comparison import ComparisonOptions

    options = read_options(settings, ComparisonOptions)
    often = "once" if options.repeat_count == 1 else f"{options.repeat_count} times"
    return [
        ("compares", f"{', '.join(map(short, options.strategies))}; {often} each"),
        ("matched", f"by {options.match}"),
        ("panel", f"{words.count(options.judges, 'judge')} over what the strategies deliver"),
    ]


def _models(models: Models) -> list[tuple[str, str]]:
    if not models.author:
        return [("judges", ", ".join(models.judges))]
    if len(models.all()) == 1:
        return [("model", f"{models.author} in every role")]
    return [
        ("author", models.author),
        ("critic", models.critic),
        ("synthesis", models.synthesizer),
        ("judges", ", ".join(models.judges)),
    ]


def _drafts(task: Task, settings: Settings) -> str:
    if task.draft is not None:
        return "one, given"
    if settings.drafts == 1:
        said = "one"
    else:
        said = f"{settings.drafts}, one of them chosen by {words.count(settings.judges, 'judge')}"
    if task.contract.empty or settings.max_drafts == settings.drafts:
        return said
    return f"{said}; {settings.max_drafts} at most while too few keep the contract"


def _panel(settings: Settings) -> str:
    said = words.count(settings.judges, "judge")
    if settings.extra_judges and settings.max_judges > settings.judges:
        said += (
            f", {settings.extra_judges} more while the vote is close, {settings.max_judges} at most"
        )
    ends = (("playoff", settings.playoff), ("confirmation", settings.confirmation))
    last = (f"a {name} of {judges}" if judges else f"no {name}" for name, judges in ends)
    return "; ".join([said, *last])


def _ends(settings: Settings) -> str:
    survived = "survives" if settings.k == 1 else f"survives {settings.k} passes in a row"
    return f"when A {survived}, after {words.count(settings.passes, 'pass', 'passes')} at most"


def _held(settings: Settings) -> str:
    seed = f"seed {settings.seed}"
    # Programs are written by other rules than texts, which no protocol has a say in.
    return seed if settings.strategy == "solve" else f"{settings.protocol} protocol, {seed}"


def _limits(budget: Budget) -> str:
    limits = (
        words.money(budget.cost) if budget.cost is not None else "",
        words.count(budget.tokens, "token") if budget.tokens is not None else "",
        words.count(budget.calls, "call") if budget.calls is not None else "",
        words.duration(budget.seconds) if budget.seconds is not None else "",
    )
    return ", ".join(filter(None, limits)) or "none"


def _changed(settings: Settings) -> list[str]:
    """Settings that are not the usual ones of the protocol, apart from those told in words."""
    usual = _every(make_settings(settings.models, settings.seed, settings.protocol))
    told = (*_IN_WORDS, *(_OF_STUDIES if settings.strategy in ("solve", "compare") else ()))
    return [
        f"{name} {said}"
        for name, said in _every(settings).items()
        if name not in told and usual.get(name) != said
    ]


def _every(settings: Settings) -> dict[str, str]:
    plain = msgspec.structs.asdict(settings)
    for name in ("models", "budget"):
        plain.pop(name)
    return {name: _say(value) for name, value in plain.items() if value is not None}


def _say(value: Any) -> str:
    if isinstance(value, tuple):
        return ">".join(value)
    if isinstance(value, dict):
        return ", ".join(f"{name}={each}" for name, each in value.items())
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


def _cost(found: RunEstimate, settings: Settings) -> str:
    if found.cost is not None:
        return _span(*map(words.money, found.cost))
    unpriced = [each for each in settings.models.all() if rates(each) is None]
    if unpriced:
        return f"unknown: the price of {' and '.join(unpriced)} is not known"
    return "unknown: the strategy does not say how many calls it makes"


def _heading(console: Console, title: str) -> None:
    console.print(Text(f"\n{title}", style="bold"))
