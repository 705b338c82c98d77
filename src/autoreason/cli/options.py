"""The options of commands, in the groups in which help teaches them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import click
from msgspec import Struct

from autoreason.cli.fields import Duration, parameter_type, show_value
from autoreason.cli.help import GroupedOption
from autoreason.cli.shared import FILE as FILE
from autoreason.contract import Contract
from autoreason.fields import read_docs
from autoreason.job_types import Refine
from autoreason.settings import (
    DEFAULT_MODEL,
    LIMITS,
    PANEL_JUDGES,
    Budget,
    Models,
    Settings,
    describe_default,
)

Wrap = Callable[[Any], Any]
"""A decorator as click makes them."""
Spec = tuple[tuple[str, ...], dict[str, Any]]
"""The names and attributes of an option."""
_NAMED = re.compile(r"([^=:/?]+)=(.*)")


def group(heading: str, *options: Spec) -> Wrap:
    """Options under one heading, as one decorator."""

    def wrap(command: Any) -> Any:
        for names, attrs in reversed(options):
            known: dict[str, Any] = {"cls": GroupedOption, "heading": heading}
            command = click.option(*names, **known | attrs)(command)
        return command

    return wrap


def option(*names: str, **attrs: Any) -> Spec:
    """One option, to be put under a heading; `--to FOLDER` says the word for its value, too."""
    flags, _, words = zip(*(name.partition(" ") for name in names), strict=True)
    word = "".join(words)
    if (default := attrs.get("default")) and "[default" not in attrs.get("help", ""):
        attrs.setdefault("usual", str(default))
    return flags, {"metavar": word} | attrs if word else attrs


def flag(*names: str, **attrs: Any) -> Spec:
    """An option without a value."""
    return option(*names, is_flag=True, **attrs)


def file(*names: str, **attrs: Any) -> Spec:
    """An option whose value is a file or a folder."""
    return option(*names, type=FILE, **attrs)


def field_option(owner: type[Struct], name: str, *names: str, **attrs: Any) -> Spec:
    """An option for a field, named after it unless other names are given."""
    doc = read_docs(owner)[name]
    attrs.setdefault("help", doc.sentence.replace("`", ""))
    if doc.type is bool:
        attrs |= {"is_flag": True, "default": None}
    else:
        attrs.setdefault("type", parameter_type(doc))
        if not any(" " in each for each in names):
            attrs.setdefault("metavar", doc.metavar or None)
        default = describe_default(name, show_value) if owner is Settings else None
        attrs.setdefault("usual", show_value(doc.default) if default is None else default)
    return option(*(names or (f"--{name.replace('_', '-')}",)), **attrs)


def setting(name: str, *names: str, **attrs: Any) -> Spec:
    """An option for a field of `Settings`."""
    return field_option(Settings, name, *names, **attrs)


def _contract(name: str, *names: str, **attrs: Any) -> Spec:
    return field_option(Contract, name, *names, **attrs)


def _model(role: str, *names: str, **attrs: Any) -> Spec:
    return field_option(Models, role, *names, **{"metavar": "MODEL", **attrs})


def _limit(name: str, **attrs: Any) -> Spec:
    return field_option(Budget, name, f"--{LIMITS[name].replace('_', '-')}", **attrs)


def _read_servers(
    _ctx: click.Context, _param: click.Parameter, urls: tuple[str, ...]
) -> str | dict[str, str] | None:
    """A URL alone, or URLs by provider."""
    if not urls:
        return None
    if len(urls) == 1 and not _NAMED.match(urls[0]):
        return urls[0]
    named: dict[str, str] = {}
    for each in urls:
        found = _NAMED.match(each)
        if not found:
            raise click.BadParameter(f"of several, each says whose it is; write provider={each}")
        name, url = found.groups()
        if not url:
            raise click.BadParameter(f"there is no address after {each}; write {each}URL")
        if name in named:
            raise click.BadParameter(f"{name} is given twice; give it once")
        named[name] = url
    return named


server_option = setting(
    "base_url",
    metavar="[PROVIDER=]URL",
    multiple=True,
    callback=_read_servers,
    brief="A server to ask instead of the provider's own.",
)
batch_option = setting("batch", rare=True)


def _who(**attrs: Any) -> Spec:
    return _model("author", "-m", "--model", usual=DEFAULT_MODEL, **attrs)


def _judges(**attrs: Any) -> Spec:
    return _model("judges", "--judge-model", "judge_models", multiple=True, **attrs)


models_options = group(
    "Models",
    _who(help="Who plays every role, as provider/model.", brief="Who plays every role."),
    _judges(brief="Who judges instead; several make a mixed panel."),
    server_option,
    batch_option,
)
role_models_options = group(
    "Models",
    *(_model(role, f"--{role}-model", rare=True) for role in ("author", "critic", "synthesizer")),
)
judges_options = group(
    "Models",
    _who(help="Who judges, as provider/model."),
    _judges(help="Several of these make a mixed panel."),
    server_option,
    batch_option,
)
research_models_options = group(
    "Models",
    _who(help="Who proposes changes, as provider/model."),
    _judges(help="Judges to ask where the task has `judge` and the score does not decide."),
    server_option,
)
facts_option = file("--facts", help="What is true: writers and judges rely on it.")
text_options = group(
    "Start from",
    file("--draft", help="A text of yours to improve."),
    facts_option,
)
contract_options = group(
    "Contract, checked by code in every text (or at the top of the brief)",
    _contract("min_words", brief="The fewest words."),
    _contract("max_words", brief="The most words."),
    _contract("sections", "--section", "sections", multiple=True, metavar="HEADING"),
    _contract("must_include", multiple=True, metavar="TEXT", brief="A text, or /regex/."),
    _contract("must_not_include", multiple=True, metavar="TEXT", brief="A text, or /regex/."),
    _contract("format", rare=True),
    _contract("checks", "--check", "checks", multiple=True, metavar="FILE.py:NAME", rare=True),
)
_LIMITS = "Limits over the whole run, resumes included"
limit_options = group(
    _LIMITS,
    _limit("cost", metavar="USD", brief="Stop before more is spent."),
    _limit("tokens", rare=True),
    _limit("calls", rare=True),
    _limit(
        "seconds",
        type=Duration(),
        metavar="TIME",
        help=f"{read_docs(Budget)['seconds'].sentence} Write 90s, 30m or 2h.",
        brief="Such as 90s, 30m or 2h; waiting counts.",
    ),
)
set_option = option(
    "--set NAME=VALUE",
    "changes",
    multiple=True,
    rare=True,
    help="Change any setting of the method, such as k=2 or style=holistic; listed below.",
)
effort_option = setting(
    "author_effort",
    "--effort LEVEL",
    help="How much models reason: none, minimal, low, medium, high, xhigh, max.",
    usual="the model's own",
    rare=True,
)
seed_option = setting("seed", usual="drawn", rare=True)
_OWN_PROMPTS = "Your own prompts in place of ours, by file name"
_prompts = file("--prompts DIR|small", help=f"{_OWN_PROMPTS}; or ours in few words.", rare=True)
own_prompts_option = file("--prompts DIR", help=f"{_OWN_PROMPTS}.", rare=True)
_ASKED = "How models are asked"
asking_options = group(_ASKED, effort_option, _prompts, seed_option, set_option)
"""Where texts are written."""
asking_judges_options = group(_ASKED, effort_option, own_prompts_option, seed_option, set_option)
"""Where they are not: judges, programs and artifacts have no prompts in few words."""
passes_option = group(_LIMITS, setting("passes"))
run_options = group(
    "The method",
    setting("k", "-k", "k", rare=True),
    setting("judges", rare=True),
    setting("protocol", rare=True),
    field_option(Refine, "strategy", metavar="NAME", rare=True),
)
panel_judges_option = setting("judges", help="How many judges vote.", usual=str(PANEL_JUDGES))
output_options = group(
    "Result",
    file("-o", "--output", help="Write the text there, not to standard output."),
    flag(
        "--fail-on-contract",
        rare=True,
        help="Exit status 6 where the text breaks its contract; it is written all the same.",
    ),
)
dry_run_option = group(
    "Result", flag("--dry-run", help="Only say what it would do, cost and take.")
)
RECORDED = "as_json html progress journal"
"""What every command that records a run shares with all others."""
REPORT = "as_json html"
"""What every command that prints a report does."""


def together(*groups: Wrap) -> Wrap:
    """Several groups of options as one decorator, in this order."""

    def wrap(command: Any) -> Any:
        for each in reversed(groups):
            command = each(command)
        return command

    return wrap


studying_options = together(
    text_options, models_options, limit_options, passes_option, asking_options, dry_run_option
)
"""Everything that shapes the runs of a study."""
