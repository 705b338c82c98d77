"""The options of a run, in the groups in which help teaches them."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import click

from autoreason.errors import InvalidInput
from autoreason.paths import config_file

Wrap = Callable[[Any], Any]
"""A decorator as click makes them."""
DEFAULT_MODEL = "local/smollm2"
FILE = click.Path(path_type=Path)
_DEFAULT = re.compile(r"\s*\[default: .*\]$")
_SETTING = re.compile(r"`([a-z_.]+)`")
_NOT_INHERITED = ("at_pass", "journal", "seed")


class Money(click.ParamType[Decimal]):
    """A sum in US dollars, with or without the sign."""

    name = "usd"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Decimal:
        """Exact, as typed."""
        try:
            amount = Decimal(str(value).strip().removeprefix("$"))
        except InvalidOperation:
            amount = Decimal("NaN")
        if not amount.is_finite():
            self.fail(f"{value!r} is not a sum of money; write it like 0.50", param, ctx)
        return amount


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


_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}


class Grouped(click.Option):
    """An option that knows under which heading help shows it."""

    def __init__(self, *args: Any, heading: str = "Options", **attrs: Any) -> None:
        super().__init__(*args, **attrs)
        self.heading = heading


class Taught(click.Command):
    """A command whose help shows its options by heading, and whose mistakes name them."""

    inherits = False
    """Its options stand in for what an older run had, so that no defaults count."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the options; those not given come from the user's `config.toml`."""
        named = {param.name for param in self.params if isinstance(param, click.Option)}
        wanted = "model" in named and not self.inherits and not ctx.resilient_parsing
        # Without such a file, help is shown without loading what would read it.
        if wanted and config_file().exists():
            from autoreason.cli.config import read_config

            found = read_config().defaults()
            ctx.default_map = {name: found[name] for name in found.keys() & named}
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run it; what is wrong with a setting is said of the option that gave it."""
        try:
            _check_server(ctx.params)
            return super().invoke(ctx)
        except InvalidInput as error:
            error.args = (self._with_flags(str(error)),)
            raise

    def _with_flags(self, sentence: str) -> str:
        from autoreason.cli.config import LIMITS
        from autoreason.task import FRONT_MATTER

        flags = {
            param.name: max(param.opts, key=len)
            for param in self.params
            # Keys of a brief may stand in its front matter, where they are named as here.
            if isinstance(param, click.Option) and param.name not in FRONT_MATTER
        }

        def flag(name: re.Match[str]) -> str:
            _, budget, limit = name[1].rpartition("budget.")
            return flags.get(LIMITS[limit] if budget else limit, name[0])

        return _SETTING.sub(flag, sentence)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Headings in the order in which the options were declared."""
        found: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record:
                found.setdefault(getattr(param, "heading", "Options"), []).append(record)
        for heading, records in found.items():
            with formatter.section(heading):
                formatter.write_dl(records)


class Inheriting(Taught):
    """A command whose options stand in for what an older run had, so our defaults do not count."""

    inherits = True

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """As always, without the defaults."""
        for param in self.params:
            if isinstance(param, Grouped) and param.help and param.name not in _NOT_INHERITED:
                param.help = _DEFAULT.sub("", param.help)
        super().format_options(ctx, formatter)


LEVELS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"]


def group(heading: str, *options: tuple[tuple[str, ...], dict[str, Any]]) -> Wrap:
    """Options under one heading, as one decorator."""

    def wrap(command: Any) -> Any:
        for names, attrs in reversed(options):
            command = click.option(*names, cls=Grouped, heading=heading, **attrs)(command)
        return command

    return wrap


def option(*names: str, **attrs: Any) -> tuple[tuple[str, ...], dict[str, Any]]:
    """One option, to be put under a heading."""
    return names, attrs


def _effort(name: str, who: str) -> tuple[tuple[str, ...], dict[str, Any]]:
    return option(name, type=click.Choice(LEVELS), metavar="LEVEL", help=who)


effort_option = _effort(
    "--effort", f"How much models reason: {', '.join(LEVELS)}. [default: the model's own]"
)
max_tokens_option = option(
    "--max-tokens",
    type=int,
    metavar="TOKENS",
    help="Most tokens of one reply, reasoning aside; one that is cut off is asked for once more with "
    "twice as much. [default: 4096]",
)


def _check_server(given: dict[str, Any]) -> None:
    """Refuse a server without a name beside models of several providers, also where one stands in for another."""
    if not isinstance(given.get("base_url"), str):
        return
    from autoreason.settings import providers_of, servers

    named = [given.get(name) for name in _ADDRESSES]
    flat = [each for one in named for each in (one if isinstance(one, tuple) else (one,)) if each]
    if len(providers_of(flat)) > 1:
        servers(given["base_url"], flat)


_ADDRESSES = (
    *("model", "author_model", "critic_model", "synthesizer_model", "judge_models", "addresses"),
)


def _servers(
    _ctx: click.Context, _param: click.Parameter, given: tuple[str, ...]
) -> str | dict[str, str] | None:
    """A URL alone, or URLs by provider."""
    if not given:
        return None
    if len(given) == 1 and not _NAMED.match(given[0]):
        return given[0]
    named: dict[str, str] = {}
    for each in given:
        found = _NAMED.match(each)
        if not found:
            raise click.BadParameter(f"of several, each says whose it is; write provider={each}")
        name, url = found.groups()
        if name in named:
            raise click.BadParameter(f"{name} is given twice; give it once")
        named[name] = url
    return named


_NAMED = re.compile(r"([^=:/]+)=(.+)")
SERVERS = (
    option(
        "--base-url",
        metavar="[PROVIDER=]URL",
        multiple=True,
        callback=_servers,
        help="The server to ask instead of the provider's own; its key goes there. "
        "Repeatable: with several providers, say whose it is.",
    ),
    option(
        "--allow-http",
        is_flag=True,
        help="Send keys over plain http to other machines too; anyone on the way can read them.",
    ),
)
models_options = group(
    "Models",
    option(
        "-m",
        "--model",
        metavar="ADDRESS",
        help=f"Who plays every role, as provider/model. [default: {DEFAULT_MODEL}]",
    ),
    option("--author-model", metavar="ADDRESS", help="Who writes and revises."),
    option("--critic-model", metavar="ADDRESS", help="Who looks for problems."),
    option("--synthesizer-model", metavar="ADDRESS", help="Who joins A and B into AB."),
    option(
        "--judge-model",
        "judge_models",
        metavar="ADDRESS",
        multiple=True,
        help="Who judges; several make a mixed panel.",
    ),
    *SERVERS,
)
text_options = group(
    "What to start from",
    option(
        "--draft",
        type=FILE,
        metavar="FILE",
        help="A text to improve; without it the author writes one.",
    ),
    option(
        "--facts", type=FILE, metavar="FILE", help="Ground truth for critic, authors and judges."
    ),
)
contract_options = group(
    "Contract, checked by code in every text (also as front matter of the brief)",
    option("--min-words", type=int, metavar="N"),
    option("--max-words", type=int, metavar="N"),
    option(
        "--section",
        "sections",
        multiple=True,
        metavar="HEADING",
        help="A heading that must exist. Repeatable.",
    ),
    option(
        "--must-include", multiple=True, metavar="TEXT", help="Literal text or /regex/. Repeatable."
    ),
    option(
        "--must-not-include",
        multiple=True,
        metavar="TEXT",
        help="Literal text or /regex/. Repeatable.",
    ),
    option("--format", type=click.Choice(["markdown", "plain", "json"])),
    option(
        "--check",
        "checks",
        multiple=True,
        metavar="FILE.py:NAME",
        help="A function of your own, from a text to sentences on what it breaks. Repeatable.",
    ),
)
limit_options = group(
    "Limits over the whole run, resumes included",
    option(
        "--cost-limit",
        type=Money(),
        metavar="USD",
        help="Most dollars; needs models with known prices.",
    ),
    option("--token-limit", type=int, metavar="N", help="Most tokens, read and written."),
    option("--call-limit", type=int, metavar="N", help="Most calls to models."),
    option(
        "--time-limit",
        type=Duration(),
        metavar="TIME",
        help="Longest time at work, such as 90s, 30m or 2h; calls under way are waited for.",
    ),
)
strategy_options = group(
    "Strategy",
    option(
        "--strategy",
        metavar="NAME",
        help="autoreason, or a rival that judges nothing on the way: single, conservative, improve, "
        "harsh, critique_revise, best_of_n, self_refine; or your own, file.py:Class. "
        "[default: autoreason]",
    ),
    option(
        "--option",
        "strategy_options",
        metavar="NAME=VALUE",
        multiple=True,
        help="What only this strategy understands, such as n=4 for best_of_n. Repeatable.",
    ),
)
draft_options = group(
    "The drafts",
    option(
        "--drafts",
        type=int,
        metavar="N",
        help="Drafts that keep the contract before the passes begin; of several a panel chooses. "
        "One of your own (--draft) stands alone. [default: 1]",
    ),
    option(
        "--max-drafts",
        type=int,
        metavar="N",
        help="The most drafts written for that. [default: 10; paper: 1]",
    ),
)
stop_options = group(
    "When to stop",
    option(
        "-k",
        "k",
        type=int,
        metavar="N",
        help="Survivals of A in a row that end the run. [default: 3; paper: 2]",
    ),
    option("--passes", type=int, metavar="N", help="The most passes held. [default: 15]"),
    option("--playoff", type=int, metavar="N", help="Judges of the final panel. [default: 5]"),
    option("--no-playoff", is_flag=True, help="Deliver the last A as it stands."),
    option(
        "--confirmation",
        type=int,
        metavar="N",
        help="Fresh judges who compare the delivered text with the first draft; with 0 nothing can be "
        "claimed. [default: 9; paper: 0]",
    ),
    option(
        "--stop-rule",
        "stop_rules",
        multiple=True,
        metavar="FILE.py:NAME",
        help="A rule of your own, from the run's story to why it is over. Repeatable.",
    ),
)
panel_options = group(
    "The panel",
    option(
        "--protocol",
        type=click.Choice(["robust", "paper"]),
        help="robust, or the published procedure. [default: robust]",
    ),
    option("--judges", type=int, metavar="N", help="Judges a panel starts with. [default: 3]"),
    option(
        "--extra-judges",
        type=int,
        metavar="N",
        help="Judges added while the vote is close; 0 for none. [default: 3]",
    ),
    option(
        "--max-judges", type=int, metavar="N", help="The largest a panel may grow. [default: 6]"
    ),
    option(
        "--close-margin",
        type=int,
        metavar="POINTS",
        help="How near the best challenger must be to A. [default: 2]",
    ),
    option(
        "--style",
        metavar="NAME",
        help="How judges are asked: reasoned, holistic, specialists, or your own, file.py:name. "
        "[default: reasoned]",
    ),
    option(
        "--voting",
        metavar="NAME",
        help="How ballots are counted: borda, majority, copeland, or your own, file.py:name. "
        "[default: borda]",
    ),
    option(
        "--tie-order",
        metavar="ORDER",
        help="Who wins equal scores; A always first. [default: 'A>AB>B']",
    ),
)
model_options = group(
    "How models are asked",
    max_tokens_option,
    effort_option,
    _effort("--author-effort", "For everybody who writes."),
    _effort("--critic-effort", "For critics."),
    _effort("--judge-effort", "For judges."),
    option("--author-temperature", type=float, metavar="T", help="[default: 0.8]"),
    option("--critic-temperature", type=float, metavar="T", help="[default: 0.8]"),
    option("--judge-temperature", type=float, metavar="T", help="[default: 0.3]"),
    option(
        "--prompts",
        type=FILE,
        metavar="DIR|small",
        help="Your own prompts in place of ours, by file name; or ours in few words, for small models.",
    ),
    option(
        "--seed",
        type=int,
        metavar="N",
        help="All randomness of the run comes from it; sent on where a model takes one. [default: drawn]",
    ),
)
journal_option = group(
    "Record",
    option(
        "--journal",
        metavar="URL",
        help="The journal to use. [default: AUTOREASON_JOURNAL or your data folder]",
    ),
)
html_option = option(
    "--html",
    type=FILE,
    metavar="FILE",
    help="Also write the report there, as a page for a browser.",
)
view_options = group(
    "Output",
    option(
        "-o",
        "--output",
        type=FILE,
        metavar="FILE",
        help="Write the text there instead of to standard output.",
    ),
    option("--json", "as_json", is_flag=True, help="Print one JSON object instead of the text."),
    html_option,
    option(
        "--fail-on-contract",
        is_flag=True,
        help="Exit status 6 where the text breaks its contract; it is written all the same.",
    ),
    option("-q", "--quiet", is_flag=True, help="No progress and no summary."),
    option("--no-live", is_flag=True, help="A line per step instead of the live view."),
)
json_option = group("Output", option("--json", "as_json", is_flag=True, help="Print JSON."))


judges_options = group(
    "Models",
    option(
        "-m",
        "--model",
        metavar="ADDRESS",
        help=f"Who judges, as provider/model. [default: {DEFAULT_MODEL}]",
    ),
    option(
        "--judge-model",
        "judge_models",
        metavar="ADDRESS",
        multiple=True,
        help="Several of these make a mixed panel.",
    ),
    *SERVERS,
    option("--judge-temperature", type=float, metavar="T", help="[default: 0.3]"),
    effort_option,
    max_tokens_option,
    option("--facts", type=FILE, metavar="FILE", help="Ground truth that judges are shown."),
    option("--prompts", type=FILE, metavar="DIR", help="Your own prompts in place of ours."),
    option(
        "--seed",
        type=int,
        metavar="N",
        help="All randomness of the panel comes from it. [default: drawn]",
    ),
)
table_options = group(
    "Output",
    option("--json", "as_json", is_flag=True, help="Print one JSON object instead of the table."),
    html_option,
    option("-q", "--quiet", is_flag=True, help="No progress."),
    option("--no-live", is_flag=True, help="A line per step instead of the live view."),
    option("--dry-run", is_flag=True, help="Show what it would take; call nothing."),
)


def _together(*groups: Wrap) -> Wrap:
    """Several groups of options as one decorator, in this order."""

    def wrap(command: Any) -> Any:
        for each in reversed(groups):
            command = each(command)
        return command

    return wrap


_shape = (
    models_options,
    contract_options,
    limit_options,
    draft_options,
    stop_options,
    panel_options,
    model_options,
)
run_options = _together(models_options, strategy_options, *_shape[1:], journal_option, view_options)
"""Everything that shapes a run, apart from its text."""
writing_options = _together(*_shape, journal_option, table_options)
"""Everything that shapes the runs of a comparison."""
ASKED = (
    *("max_tokens", "author_temperature", "critic_temperature", "judge_temperature"),
    *("base_url", "allow_http"),
)
"""How models are asked, by the names that settings have for it."""
solving_options = _together(models_options, limit_options, model_options, journal_option)
"""Everything that shapes how models write programs."""
judging_options = _together(judges_options, limit_options, journal_option, table_options)
"""Everything that shapes a panel over finished texts."""
