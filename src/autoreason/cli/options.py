"""The options of commands, in the groups in which help teaches them, and the values they take."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

import click
from msgspec import Struct

from autoreason.contract import Contract, Keep
from autoreason.fields import FieldDoc, read_docs
from autoreason.job_types import Refine
from autoreason.settings import (
    DEFAULT_MODEL,
    PANEL_JUDGES,
    Budget,
    Models,
    Settings,
    describe_default,
)

if TYPE_CHECKING:
    from decimal import Decimal

Wrap = Callable[[Any], Any]
Spec = tuple[tuple[str, ...], dict[str, Any]]
_NAMED = re.compile(r"([^=:/?]+)=(.*)")
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}
_AGO = re.compile(r"(\d{1,6})\s*(m|min|h|d|w)")
_AGO_UNITS = {"m": "minutes", "min": "minutes", "h": "hours", "d": "days", "w": "weeks"}


# ---- values ------------------------------------------------------------------------------------


def money(value: Any) -> Decimal:
    """A sum in US dollars, with or without the sign, exact as typed."""
    from decimal import Decimal, InvalidOperation

    with suppress(InvalidOperation):
        if (amount := Decimal(str(value).strip().removeprefix("$"))).is_finite():
            return amount
    raise click.BadParameter(f"{value!r} is not a sum of money; write it like 0.50")


def figure(value: str) -> float:
    """A number as tables write it: 0.38, 0,38 or 38%."""
    from autoreason.knowledge.columns import guess_number_format

    for read in (float, lambda text: guess_number_format("", [text], commas=False).read(text)):
        with suppress(ValueError):
            if (found := read(value)) is not None:
                return found
    raise click.BadParameter(f"{value!r} is not a number; write it like 0.38 or 38%")


def whole_number(value: object) -> int:
    """A count as tables write it: 2100, 2,100 or 2.100."""
    from autoreason.knowledge.columns import NumberFormat

    with suppress(ValueError):
        if found := NumberFormat().read_count(str(value)):
            return found
    raise click.BadParameter(f"{value!r} is not a count; write it like 12098")


def duration(value: float | str) -> float:
    """A time such as 90s, 30m or 2h, in seconds, which need no unit."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([smh]?)", str(value).strip())
    if not found:
        raise click.BadParameter(f"{value!r} is not a time; write 90s, 30m or 2h")
    return float(found[1]) * _UNITS[found[2]]


def moment(value: str) -> datetime:
    """`2026-11-15`, `2026-11-15 14:30`, or `30d`, `2w`, `12h` ago, in the time of this machine."""
    with suppress(ValueError, OverflowError):
        if ago := _AGO.fullmatch(value.strip()):
            return datetime.now().astimezone() - timedelta(**{_AGO_UNITS[ago[2]]: int(ago[1])})
        return datetime.fromisoformat(value.strip()).astimezone()
    remedy = "write a date as 2026-11-15, or how long ago as 30d, 2w or 12h"
    raise click.BadParameter(f"{value!r} is not a moment; {remedy}")


def parameter_type(doc: FieldDoc) -> click.ParamType[Any]:
    """The click type of a field; of a union or a list the first member's."""
    from decimal import Decimal

    kind = doc.alternatives[0]
    if get_origin(kind) is Literal:
        return click.Choice(get_args(kind))
    if kind is Decimal:
        return click.types.convert_type(money)
    return click.types.convert_type(kind if kind in (int, float) else str)


def show_value(value: Any) -> str:
    """A value as it is typed; empty where there is none to be named."""
    if value is None or value is False or value in ((), {}):
        return ""
    # In quotes, because a shell would write files.
    return repr(">".join(value)) if isinstance(value, tuple) else str(value)


# ---- options -----------------------------------------------------------------------------------

FILE = click.Path(path_type=Path)
FILE.name = "file"
_TYPES: dict[str, Any] = {
    **dict.fromkeys(("FILE", "DIR", "FOLDER"), FILE),
    **dict.fromkeys(("N", "MB"), int),
    **dict.fromkeys(("SHARE", "SECONDS"), float),
    "NUMBER": figure,
    "COUNT": whole_number,
    "TIME": duration,
    "WHEN": moment,
}
"""What is read from values that help calls so; all others are text."""


class GroupedOption(click.Option):
    """An option that knows under which heading help shows it."""

    def __init__(
        self, *args: Any, heading: str, usual: str = "", rare: bool = False, **attrs: Any
    ) -> None:
        super().__init__(*args, **attrs)
        self.heading = heading
        self.usual = usual
        """The default as help shows it, unless the command changes a recorded run."""
        self.rare = rare
        """Whether only `--help-all` shows it."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        record = super().get_help_record(ctx)
        if record is None:
            return None
        names, sentence = record
        if self.multiple and "repeat" not in sentence:
            sentence += " Repeatable."
        shown = self.usual and not getattr(ctx.command, "inherits", False)
        return names, f"{sentence} [default: {self.usual}]" if shown else sentence


def group(heading: str, *options: Spec) -> Wrap:
    """Options under one heading, as one decorator."""

    def wrap(command: Any) -> Any:
        for names, attrs in reversed(options):
            command = click.option(*names, cls=GroupedOption, heading=heading, **attrs)(command)
        return command

    return wrap


def option(flags: str, help: str = "", *, name: str = "", **attrs: Any) -> Spec:
    """One option, to be put under a heading.

    `-o, --output FILE`, `--better higher|lower` and `--model NAME...` say its value, too, and that it
    may be given several times; without a value it is a switch.
    """
    *short, (long, _, word) = (each.partition(" ") for each in flags.split(", "))
    names = (*(each for each, *_ in short), long, *([name] if name else []))
    known: dict[str, Any] = {"help": help}
    if not word and "type" not in attrs:
        return names, known | {"is_flag": True} | attrs
    if word.endswith("..."):
        known["multiple"] = True
        word = word.removesuffix("...")
    known["metavar"] = word or None
    is_choice = "|" in word and word.islower()
    known["type"] = click.Choice(word.split("|")) if is_choice else _TYPES.get(word)
    if (default := attrs.get("default")) and "[default" not in help:
        known["usual"] = str(default)
    if isinstance(kind := attrs.get("type"), click.IntRange):
        # What click calls an `integer range` in its refusals is one number.
        kind.name = click.INT.name
    return names, known | attrs


def field_option(owner: type[Struct], field: str, flags: str = "", **attrs: Any) -> Spec:
    """An option for a field, named after it unless flags are given."""
    doc, flags = read_docs(owner)[field], flags or f"--{field.replace('_', '-')}"
    attrs.setdefault("help", doc.sentence.replace("`", ""))
    if doc.type is bool:
        return option(flags, **{"default": None} | attrs)
    if " " not in flags.rpartition(", ")[2]:
        flags = f"{flags} {doc.metavar}".strip()
    attrs.setdefault("type", parameter_type(doc))
    default = describe_default(field, show_value) if owner is Settings else None
    attrs.setdefault("usual", show_value(doc.default) if default is None else default)
    return option(flags, **attrs)


setting = partial(field_option, Settings)
_contract = partial(field_option, Contract)


def _read_servers(
    _ctx: click.Context, _param: click.Parameter, urls: tuple[str, ...]
) -> str | dict[str, str] | None:
    """A URL alone, or URLs by provider."""
    if len(urls) == 1 and not _NAMED.match(urls[0]):
        return urls[0]
    named = {found[1]: found[2] for each in urls if (found := _NAMED.fullmatch(each))}
    if len(named) < len(urls) or not all(named.values()):
        said = " ".join(urls)
        raise click.BadParameter(f"{said} leaves doubt; write provider=URL, once for each provider")
    return named or None


server_option = setting(
    "base_url",
    "--base-url [PROVIDER=]URL...",
    callback=_read_servers,
    help="A server of your own; repeatable.",
    rare=True,
)
batch_option = setting("batch", rare=True)


def model_options(who: str, judges: str, *others: Spec) -> Wrap:
    """Who is asked, in the words of a command."""
    return group(
        "Models",
        field_option(Models, "author", "-m, --model MODEL", help=who, usual=DEFAULT_MODEL),
        field_option(Models, "judges", "--judge-model MODEL...", help=judges, name="judge_models"),
        server_option,
        *others,
    )


models_options = model_options(
    "Who writes and judges.", "Who judges instead; repeat for a mixed jury.", batch_option
)
role_models_options = group(
    "Models",
    *(
        field_option(Models, role, f"--{role}-model MODEL", rare=True)
        for role in ("author", "critic", "synthesizer")
    ),
)
facts_option = option("--facts FILE", "What is true; writers and judges keep to it.")
criterion_option = option("--criterion TEXT...", "What matters, in your words.", name="criteria")
brief_option = option(
    "--no-limits-from-brief",
    "Limits in the brief's prose, such as “at most 80 words”, are none.",
    name="limits_from_brief",
    flag_value=False,
    default=True,
    rare=True,
)
text_options = group(
    "Start from",
    option("--draft FILE", "A text of yours to improve."),
    *(facts_option, criterion_option, brief_option),
)
contract_options = group(
    "Limits on the text (also at the top of the brief)",
    _contract("max_words", help="The most words; --min-words for the fewest."),
    _contract("min_words", rare=True),
    _contract("sections", "--section HEADING...", name="sections"),
    _contract("must_include", "--must-include TEXT...", rare=True),
    _contract("must_not_include", "--must-not-include TEXT...", rare=True),
    _contract("format", rare=True),
    option(
        "--limit NAME=VALUE...",
        "Any other, such as max_sentences=3, max_characters=160, emojis=none, language=de.",
        rare=True,
    ),
    _contract("checks", "--check FILE.py:NAME...", name="checks", rare=True),
    _contract("keep", "--keep KIND...", type=click.Choice(get_args(Keep)), rare=True),
    option("--no-keep", "Facts of your draft may change; else they must stay.", rare=True),
)
_LIMITS = "Limits on the run, resumes included"
limit_options = group(
    _LIMITS,
    field_option(Budget, "cost", "--cost-limit USD", help="Stop before this is spent."),
    field_option(Budget, "tokens", "--token-limit N", rare=True),
    field_option(Budget, "calls", "--call-limit N", rare=True),
    option("--time-limit TIME", "Such as 90s, 30m or 2h; waiting counts."),
)
set_option = option(
    "--set NAME=VALUE...",
    "Change any setting of the method, such as k=2 or style=holistic; listed below.",
    name="changes",
    rare=True,
)
effort_option = setting(
    "author_effort",
    "--effort LEVEL",
    help="How much models reason: none, minimal, low, medium, high, xhigh, max.",
    usual="the model's own",
    rare=True,
)
seed_setting = partial(setting, "seed", type=click.IntRange(0))
seed_option = seed_setting(usual="drawn", rare=True)
_OWN_PROMPTS = "Your own prompts in place of ours, by file name"
_prompts = option(
    "--prompts DIR|small", f"{_OWN_PROMPTS}; or ours in few words.", type=FILE, rare=True
)
own_prompts_option = option("--prompts DIR", f"{_OWN_PROMPTS}.", rare=True)
_ASKED = "How models are asked"
asking_options = group(_ASKED, effort_option, _prompts, seed_option, set_option)
"""Where texts are written."""
asking_judges_options = group(_ASKED, effort_option, own_prompts_option, seed_option, set_option)
"""Where they are not: judges, programs and artifacts have no prompts in few words."""
passes_option = group(
    _LIMITS, setting("passes", "--rounds N", name="passes", help="At most this many rounds.")
)
run_options = group(
    "The method",
    setting("judges", rare=True, help="Judges in every round; 0: none, reviews decide."),
    *(setting(name, rare=True) for name in ("protocol", "anyway")),
    setting("k", "-k N", rare=True, help="Rounds in a row that keep the text and so end the run."),
    field_option(Refine, "strategy", "--strategy NAME", rare=True),
)
panel_judges_option = setting("judges", help="How many judges vote.", usual=str(PANEL_JUDGES))
output_options = group(
    "Result",
    option("-o, --output FILE", "Write the text there."),
    option(
        "--fail-on-contract",
        "Exit status 6 where the text breaks a limit; it is written all the same.",
        rare=True,
    ),
)
dry_run_option = group("Result", option("--dry-run", "Only say what it would do, cost and take."))


def _together(*groups: Wrap) -> Wrap:
    """Several groups as one decorator, in the order of help."""
    return lambda command: reduce(lambda made, each: each(made), reversed(groups), command)


studying_options = _together(
    text_options, models_options, limit_options, passes_option, asking_options, dry_run_option
)
writing_options = _together(
    *(models_options, role_models_options, contract_options, limit_options, passes_option),
    *(run_options, asking_options, output_options),
)
